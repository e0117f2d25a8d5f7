"""The software of a row: whose facts, in ``hardware_specs/software``, it is read by."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy.measured_table import records
from perfmodel.evidence.accuracy.scenarios import Refused


class Software(NamedTuple):
    """A line of ``validation/transformer_software.csv``."""

    name: str
    """Part of what sources call it, in lower case."""
    stack: str
    """Whose facts it is read by."""
    nearest: str
    """Why that is the nearest stack; empty where it is the software itself."""


@cache
def _table() -> tuple[Software, ...]:
    return tuple(Software(**row) for row in records(folder("validation") / "transformer_software.csv"))


def software_named(framework: str) -> Software | None:
    """Return the first line whose name is part of a row's, None where there is none."""
    name = framework.lower()
    return next((each for each in _table() if each.name in name), None)


def software_of_row(framework: str) -> Software:
    """Return the line for what a row calls its software.

    Raises
    ------
    Refused : no line is of it
    """
    known = software_named(framework)
    if known is None:
        raise Refused("unknown framework", framework)
    return known
