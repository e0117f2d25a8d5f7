"""The framework and the network of a measured run, from the words of its source.

``validation/training_software.csv`` and ``mlperf_software.csv`` have rules, of which the first match applies.
A rule matches if all its conditions hold: texts are compared in lower case, and one of its notes must occur
in the row's.  ``validation/network_variants.csv`` has the variant of a network that the code of a source
builds.
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
    """A software, and conditions on the rows that it ran; a blank condition always holds."""

    name: str
    """Id of the software."""
    framework: str
    """Text that the row's framework must contain."""
    source: str
    notes: str
    """Texts, separated by ``|``, of which the row's note must contain one."""
    family: str
    """Family of the network."""
    first_year: str
    last_year: str
    why: str
    """Reason for the rule."""

    def fits(self, run: Run, family: str) -> bool:
        """Whether all conditions hold for a run of a network of ``family``."""
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
    """Return the variant of a network that a source's code builds, by source and its name for the network."""
    rows = records(folder("validation") / "network_variants.csv")
    return {(row["source"], row["network"]): row["variant"] for row in rows}


def software_of(run: Run, family: str, table: str = "training_software.csv") -> str | None:
    """Return the software of a run as ``NAME@YEAR``, None if it is unknown.

    Parameters
    ----------
    run : measured run
    family : of its network
    table : file of rules in ``validation/``
    """
    name = next((rule.name for rule in _rules(table) if rule.fits(run, family)), None)
    if name is None:
        try:
            name = software_id(run.framework, Catalogue.built_in())
        except InputError:
            return None
    return name if parts(name)[1] else with_year(name, run.year or None)


def optimizer_of(run: Run) -> str | None:
    """Return ``none`` if the run's note says that no optimizer step was timed, else None: the default."""
    return "none" if re.search(r"no optimizer step", run.note, re.IGNORECASE) else None
