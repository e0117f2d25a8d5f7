"""What sources say of their rows outside the tables that these are from: in text, configurations, code."""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from typing import NamedTuple

from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy.measured_table import Line, records

ADDED = "options"
"""Column whose words are added to those of the row; in all others the detail replaces the cell."""


class Detail(NamedTuple):
    """One fact of some rows of a source: a line of ``transformer_details.csv``."""

    source: str
    rows: str
    """Pattern of the rows' ids; ``*`` stands for any text."""
    column: str
    value: str
    where: str
    """Where the source says so, or what excludes what the row says."""


@cache
def _details() -> tuple[Detail, ...]:
    return tuple(Detail(**row) for row in records(folder("validation") / "transformer_details.csv"))


def details_of(line: Line, id_column: str) -> list[Detail]:
    """Return what a row's source says of it outside its table, in the order of the file."""
    name = line.text(id_column)
    return [
        each for each in _details() if each.source == line.text("source") and fnmatchcase(name, each.rows)
    ]


def with_details(line: Line, id_column: str) -> Line:
    """Return a row completed, or corrected, by what its source says of it outside its table."""
    cells = dict(line.cells)
    for each in details_of(line, id_column):
        before = cells.get(ADDED, "") if each.column == ADDED else ""
        cells[each.column] = f"{before}+{each.value}" if before else each.value
    return line._replace(cells=cells)
