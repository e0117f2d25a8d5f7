"""The cells of one row of a table of runs, with checks."""

from __future__ import annotations

import math

from perfmodel.errors import InputError


class Cells:
    """The cells of one row, with checks."""

    def __init__(self, cells: dict[str, str], where: str) -> None:
        """Take the cells by column, and where the row stands."""
        self.cells, self.where = cells, where

    def text(self, column: str) -> str:
        """Return a cell; nothing where there is no such column."""
        return self.cells.get(column, "")

    def number(self, column: str) -> float | None:
        """Return a number of a row, None where it states none.

        Raises
        ------
        InputError : something else, or below 0
        """
        cell = self.text(column)
        if not cell:
            return None
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= 0):
            expected = "expected a number, not negative"
            raise InputError(f"{self.where}, column {column}: {cell[:60]!r}; {expected}")
        return value

    def whole(self, column: str) -> int | None:
        """Return a whole number of a row, None where it states none; InputError for another."""
        value = self.number(column)
        if value is not None and value != int(value):
            raise InputError(f"{self.where}, column {column}: {value:g}; expected a whole number")
        return None if value is None else int(value)

    def word(self, column: str, known: tuple[str, ...]) -> str:
        """Return one of some words, or nothing; InputError for another."""
        cell = self.text(column)
        if cell and cell not in known:
            expected = f"expected {', '.join(known)} or nothing"
            raise InputError(f"{self.where}, column {column}: {cell[:60]!r}; {expected}")
        return cell
