"""The software of a row: the stack of ``hardware_specs/software`` whose facts predict it."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy.measured_table import records
from perfmodel.evidence.accuracy.scenarios import Refused


class Software(NamedTuple):
    """The stack that predicts rows with a given software: a line of ``transformer_software.csv``."""

    name: str
    """Text that the source's name of the software contains, in lower case."""
    stack: str
    """Stack whose facts predict it."""
    nearest: str
    """Why that is the nearest stack; empty if it is the software itself."""


@cache
def _table() -> tuple[Software, ...]:
    return tuple(Software(**row) for row in records(folder("validation") / "transformer_software.csv"))


def software_named(framework: str) -> Software | None:
    """Return the software of a row by the source's name for it, None if it is unknown."""
    name = framework.lower()
    return next((each for each in _table() if each.name in name), None)


def software_of_row(framework: str) -> Software:
    """Return the software of a row by the source's name for it.

    Raises
    ------
    Refused : the software is unknown
    """
    known = software_named(framework)
    if known is None:
        raise Refused("unknown framework", framework)
    return known
