"""The framework and the network of a measured run, from its source's words for them.

``validation/training_software.csv`` and ``mlperf_software.csv`` hold rules; the first that matches is
taken: all that one states must hold, texts are sought in lower case, and any of its notes in the row's.
``validation/network_variants.csv`` says which variant of a network the code of a source builds.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from perfmodel.core.errors import InputError
from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy.measured_table import records
from perfmodel.evidence.accuracy.training_rows import Run
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.releases import software_id
from perfmodel.hardware.software import parts, with_year


class Rule(NamedTuple):
    """A framework, and the rows it ran; what is blank holds of any."""

    name: str
    """Id of the software."""
    framework: str
    source: str
    notes: str
    """With bars between."""
    family: str
    """Of the network."""
    first_year: str
    last_year: str
    why: str

    def fits(self, run: Run, family: str) -> bool:
        """Whether the rule is of a run of a network of ``family``."""
        note, year = run.note.lower(), run.year or 0
        return (
            self.framework in run.framework.lower()
            and self.source in ("", run.source)
            and any(text in note for text in self.notes.split("|"))
            and self.family in ("", family)
            and int(self.first_year or 0) <= year <= int(self.last_year or 9999)
        )


@cache
def _rules(table: str) -> tuple[Rule, ...]:
    return tuple(Rule(**row) for row in records(folder("validation") / table))


@cache
def variants() -> dict[tuple[str, str], str]:
    """Return the variant that a source's code builds, by source and network as it says."""
    rows = records(folder("validation") / "network_variants.csv")
    return {(row["source"], row["network"]): row["variant"] for row in rows}


def software_of(run: Run, family: str, table: str = "training_software.csv") -> str | None:
    """Return ``NAME@YEAR`` of what ran ``run``, a network of ``family``; None where nobody knows it."""
    name = next((rule.name for rule in _rules(table) if rule.fits(run, family)), None)
    if name is None:
        try:
            name = software_id(run.framework, Catalogue.built_in())
        except InputError:
            return None
    return name if parts(name)[1] else with_year(name, run.year or None)


def optimizer_of(run: Run) -> str | None:
    """Return ``none`` where the source timed forward and backward alone."""
    return "none" if re.search(r"no optimizer step", run.note, re.IGNORECASE) else None
