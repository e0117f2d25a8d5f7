"""Which measured rows are held out: used in no fit and in no table of the report.

New rows of a file of ``validation/measured/`` are only appended.  ``validation/held_out.csv`` names, for each
file, the first row added after the first ledger: that row and all below are held out until the column
``learned`` is ``yes``.  A fit then refuses each of them that has no entry in the ledger.
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
"""Shipped sources of training runs that no fit learns from; they are a test set.  When a fit did learn from
them, the out-of-sample error of the others on one accelerator from specs grew: mean 15.6 instead of 14.8 %,
median 11.6 instead of 11.3 %."""


@cache
def _first_new() -> dict[str, tuple[str, bool]]:
    """Return by file the id of the first row added after the first ledger, and whether fits learn from it."""
    rows = records(folder("validation") / "held_out.csv")
    return {row["file"]: (row["first_row"], row["learned"] == "yes") for row in rows}


def learned_part(name: str) -> tuple[Path, str | None]:
    """Return the path of a file of ``validation/measured/``, and the id of its first held-out row or None."""
    first, is_learned = _first_new().get(name, (None, True))
    return folder("validation") / "measured" / name, None if is_learned else first


def learned_bytes(name: str) -> bytes:
    """Return the content of a file of ``validation/measured/`` above its held-out rows, for a checksum."""
    path, before = learned_part(name)
    return read_table(path, before=before).getvalue().encode()


def require_entries(name: str, learned: Iterable[str]) -> None:
    """Check that every new row that a fit learns from was predicted first: that it is in the ledger.

    Parameters
    ----------
    name : of a file in ``validation/measured/``
    learned : ids of its rows that a fit learns from, in their order

    Raises
    ------
    InputError : one of them was added after the first ledger, and has no entry in the ledger
    """
    first, _ = _first_new().get(name, (None, True))
    ids = [next(iter(row.values())) for row in records(learned_part(name)[0])]
    fresh = set(ids[ids.index(first) :]) if first in ids else set()
    known = {each.id for each in ledger()}
    missing = [each for each in learned if each in fresh and each not in known]
    if missing:
        raise refusal("ledger.missing_rows", name=name, count=len(missing), missing=missing[0])
