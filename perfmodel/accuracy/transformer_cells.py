"""The cells of one row of a table of runs, with checks."""

from __future__ import annotations

from perfmodel.accuracy.measured_table import Line, number, one_of, whole

_number = number(low=0.0, expected="a number, not negative")
_whole = whole(10**12, least=0)


class Cells(Line):
    """The cells of one row, with checks: blank is None, or no text; InputError for what does not fit."""

    def number(self, column: str) -> float | None:
        """Return a number, not negative."""
        return self.read(column, _number)

    def whole(self, column: str) -> int | None:
        """Return a whole number."""
        return self.read(column, _whole)

    def word(self, column: str, known: tuple[str, ...]) -> str:
        """Return one of some words, or nothing."""
        return self.read(column, one_of(known)) or ""
