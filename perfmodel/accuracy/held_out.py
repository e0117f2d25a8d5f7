"""Which measured rows are held out: in no fit and in no table of the report.

A file of ``validation/measured/`` grows at its end alone.  ``validation/held_out.csv`` names the first row of
each that came after the last fit: it and all below are held out, until its line there is deleted.
"""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

from perfmodel.reading import read_table
from perfmodel.resources import folder

UNSEEN = frozenset({"abci2-benchmark", "csc-ml-benchmarks", "flagperf", "sarus-horovod"})
"""Shipped sources of training runs that no fit has seen: they judge it.  With them in it, those fitted before
were predicted worse from specs by a fit to the others, one accelerator, mean and median: 15.6 and 11.6 %
instead of 14.8 and 11.3 %."""


@cache
def _first_held_out() -> dict[str, str]:
    """The id of the first row held out, by file of ``validation/measured/``."""
    with read_table(folder("validation") / "held_out.csv") as file:
        return {row["file"]: row["first_row"] for row in csv.DictReader(file)}


def learned_part(name: str) -> tuple[Path, str | None]:
    """Return the path of a file of ``validation/measured/``, and the id of the row where it is held out."""
    return folder("validation") / "measured" / name, _first_held_out().get(name)


def learned_bytes(name: str) -> bytes:
    """Return what a file of ``validation/measured/`` holds above its held-out rows, to be hashed."""
    path, before = learned_part(name)
    return read_table(path, before=before).getvalue().encode()
