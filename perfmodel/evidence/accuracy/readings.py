"""How rows are read, as data: what a prediction needs, where a row states it, and the rule where it does not.

``validation/readings.csv`` has a line for each, in the order in which ``validate --explain-row`` says them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy.measured_table import Line, records


class Reading(NamedTuple):
    """One thing that a prediction needs, as a row states it and as it was read."""

    what: str
    stated: str
    """Cells of the row; empty where it is silent."""
    read_as: str
    why: str = ""

    @property
    def is_assumed(self) -> bool:
        """Whether the row does not say it."""
        return not self.stated


class Fact(NamedTuple):
    """A line of the table."""

    kind: str
    what: str
    columns: str
    """That state it, with blanks between."""
    value: str
    """Where the case has it, a path of attributes, or a word for it; of training an option."""
    only_above_one: str
    """What must be above 1 for it to matter; empty where it always does."""
    rule: str
    """By which it is filled where the row is silent."""

    def stated(self, line: Line) -> str:
        """Return what a row says of it, in short."""
        return cells_of(line, self.columns.split())


@cache
def facts(kind: str) -> list[Fact]:
    """Return the lines of one kind of rows."""
    every = (Fact(**row) for row in records(folder("validation") / "readings.csv"))
    return [fact for fact in every if fact.kind == kind]


def read_facts(
    kind: str, line: Line, case: object, words: Mapping[str, Callable[[Any], Any]], unused: str
) -> list[Reading]:
    """Return what a row states of each fact, and what it was read as.

    Parameters
    ----------
    kind : of rows
    line, case : the row, and what it was read as
    words : values that are no attribute of the case, from the case
    unused : what to say of what is stated and does not matter
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
    for name in path.split("."):
        of = None if of is None else getattr(of, name)
    return of


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.0f}" if value % 1 == 0 else f"{value:g}"
    return str(value)


def cells_of(line: Line, columns: Sequence[str]) -> str:
    """Return what a row says in some columns, in short.

    >>> from pathlib import Path
    >>> cells_of(Line(Path("a.csv"), 2, {"nodes": "2", "nics": "", "link": "a"}), ("nodes", "nics"))
    '2'
    """
    stated = [(column, cell) for column in columns if (cell := line.cells.get(column))]
    if len(columns) == 1:
        return "".join(cell for _, cell in stated)
    return ", ".join(cell if len(stated) == 1 else f"{column} {cell}" for column, cell in stated)
