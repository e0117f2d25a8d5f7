"""Which measured rows are held out: in no fit and in no table of the report.

A file of ``validation/measured/`` grows at its end alone.  ``validation/held_out.csv`` names the first row of
each that came after the first ledger: it and all below are held out until ``learned`` says ``yes`` there, and
a fit then refuses each that the ledger has no entry of.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from perfmodel.core.errors import refusal
from perfmodel.core.files.reading import read_table
from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy.ledger.ledger import ledger
from perfmodel.evidence.accuracy.measured_table import records

UNSEEN = frozenset({"abci2-benchmark", "csc-ml-benchmarks", "flagperf", "sarus-horovod"})
"""Shipped sources of training runs that no fit has seen: they judge it.  With them in it, those fitted before
were predicted worse from specs by a fit to the others, one accelerator, mean and median: 15.6 and 11.6 %
instead of 14.8 and 11.3 %."""


@cache
def _first_new() -> dict[str, tuple[str, bool]]:
    """The id of the first row after the first ledger, and whether fits take it, by file of the measured."""
    rows = records(folder("validation") / "held_out.csv")
    return {row["file"]: (row["first_row"], row["learned"] == "yes") for row in rows}


def learned_part(name: str) -> tuple[Path, str | None]:
    """Return the path of a file of ``validation/measured/``, and the id of the row where it is held out."""
    first, is_learned = _first_new().get(name, (None, True))
    return folder("validation") / "measured" / name, None if is_learned else first


def learned_bytes(name: str) -> bytes:
    """Return what a file of ``validation/measured/`` holds above its held-out rows, to be hashed."""
    path, before = learned_part(name)
    return read_table(path, before=before).getvalue().encode()


def require_entries(name: str, learned: Iterable[str]) -> None:
    """Refuse to learn from rows that were not predicted before.

    Parameters
    ----------
    name : of a file of ``validation/measured/``
    learned : ids of its rows that a fit learns from, in their order

    Raises
    ------
    InputError : one of them came after the first ledger, and has no entry there
    """
    first, _ = _first_new().get(name, (None, True))
    ids = [next(iter(row.values())) for row in records(learned_part(name)[0])]
    fresh = set(ids[ids.index(first) :]) if first in ids else set()
    known = {each.id for each in ledger()}
    missing = [each for each in learned if each in fresh and each not in known]
    if missing:
        raise refusal("ledger.missing_rows", name=name, count=len(missing), missing=missing[0])
