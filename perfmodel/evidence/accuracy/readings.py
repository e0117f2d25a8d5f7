"""How measured rows are read, as data: facts that a prediction needs, their columns, and rules without them.

``validation/readings.csv`` has a line for each fact, in the order of ``validate --explain-row``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy.measured_table import Line, records


class Reading(NamedTuple):
    """One fact that a prediction needs, as a row states it and as it was read."""

    what: str
    """Name of the fact."""
    stated: str
    """Cells of the row that state it; empty if none does."""
    read_as: str
    """Value that the prediction uses."""
    why: str = ""
    """Reason for that value; empty if the row states it."""

    @property
    def is_assumed(self) -> bool:
        """Whether the row does not state the fact."""
        return not self.stated


class Fact(NamedTuple):
    """One fact that predictions of a kind of rows need: a line of ``readings.csv``."""

    kind: str
    """Kind of the measured rows."""
    what: str
    """Name of the fact."""
    columns: str
    """Columns that state it, separated by blanks."""
    value: str
    """Path of the case's attributes that has its value, or a key of ``words``; for training runs an
    option."""
    only_above_one: str
    """Attribute that must exceed 1 for the fact to matter; empty if it always matters."""
    rule: str
    """Rule by which the value is chosen if the row does not state it."""

    def stated(self, line: Line) -> str:
        """Return the cells of a row that state the fact, in short."""
        return cells_of(line, self.columns.split())


@cache
def facts(kind: str) -> list[Fact]:
    """Return the facts that predictions of one kind of rows need."""
    every = (Fact(**row) for row in records(folder("validation") / "readings.csv"))
    return [fact for fact in every if fact.kind == kind]


def read_facts(
    kind: str, line: Line, case: object, words: Mapping[str, Callable[[Any], Any]], unused: str
) -> list[Reading]:
    """Return what a row states of each fact, and the value it was read as.

    Parameters
    ----------
    kind : of the measured rows
    line : the row
    case : the case that it was read as
    words : values that are not attributes of the case -> function that computes each from the case
    unused : value to show for a fact that is stated but does not matter
    """
    result = []
    for fact in facts(kind):
        matters = not fact.only_above_one or _attribute(case, fact.only_above_one) > 1
        taken = words.get(fact.value, lambda of, path=fact.value: _attribute(of, path))
        stated, value = fact.stated(line), taken(case) if matters else None
        if value is None and stated:
            value = unused
        if value is not None:
            result.append(Reading(fact.what, stated, _shown(value), "" if stated else fact.rule))
    return result


def _attribute(of: Any, path: str) -> Any:
    """Return the attribute at a dotted path, None if an attribute before it is None."""
    for name in path.split("."):
        of = None if of is None else getattr(of, name)
    return of


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if value % 1 == 0 else f"{value:g}"
    return str(value)


def cells_of(line: Line, columns: Sequence[str]) -> str:
    """Return the cells of a row in some columns as text, with column names if several are filled.

    >>> from pathlib import Path
    >>> cells_of(Line(Path("a.csv"), 2, {"nodes": "2", "nics": "", "link": "a"}), ("nodes", "nics"))
    '2'
    """
    stated = [(column, cell) for column in columns if (cell := line.cells.get(column))]
    if len(columns) == 1:
        return "".join(cell for _, cell in stated)
    return ", ".join(cell if len(stated) == 1 else f"{column} {cell}" for column, cell in stated)
