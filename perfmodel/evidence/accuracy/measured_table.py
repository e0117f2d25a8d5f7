"""Tables of measured rows: reading CSV files, and checking and converting their cells."""

from __future__ import annotations

import csv
import io
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from perfmodel.core.errors import refusal
from perfmodel.core.files.reading import read_table
from perfmodel.core.files.writing import write_whole
from perfmodel.core.records.names import NONE, word_of

AnyValue = TypeVar("AnyValue")
NOT_STATED = "not stated"
"""Source of the rows that name none."""
UNSTATED_TRUST = "B"
"""Trust class of the rows that state none."""


def records(path: Path, before: str | None = None) -> list[dict[str, str]]:
    """Return the rows of a shipped CSV table as dictionaries by column.

    Parameters
    ----------
    path : of the table
    before : first cell of the row to stop before; None reads the file to its end
    """
    with read_table(path, before=before) as file:
        return list(csv.DictReader(file, restval=""))


def write_records(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table as CSV.

    Raises
    ------
    InputError : the file cannot be written; it is then unchanged
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    write_whole(path, text.getvalue())


def whole(largest: int, least: int = 1) -> Callable[[str], int]:
    """Return a function that converts a cell to a whole number from ``least`` to ``largest``.

    It raises ``ValueError``, whose message names what is expected.
    """

    @lru_cache(maxsize=512)  # so many texts are most of the cells
    def check(cell: str) -> int:
        value = float(cell) if re.fullmatch(r"[0-9]{1,12}(\.0*)?", cell) else math.nan
        if not least <= value <= largest:
            raise ValueError(f"a whole number from {least} to {largest}")
        return int(value)

    return check


def number(
    low: float = sys.float_info.min, high: float = sys.float_info.max, expected: str = "a positive number"
) -> Callable[[str], float]:
    """Return a function that converts a cell to a number from ``low`` to ``high``.

    It raises ``ValueError`` with the message ``expected``.
    """

    def check(cell: str) -> float:
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise ValueError(expected)
        return value

    return check


def one_of(words: Sequence[str], synonyms: Mapping[str, str] = NONE) -> Callable[[str], str]:
    """Return a function that converts a cell to one of the known words, in any usual spelling.

    It raises ``ValueError``, whose message lists the words.

    Parameters
    ----------
    words : known words
    synonyms : other spellings -> known word
    """

    def check(cell: str) -> str:
        word = word_of(cell, words, synonyms)
        if word not in words:
            raise ValueError(f"one of {', '.join(words)}")
        return word

    return check


_number = number(low=0.0, expected="a number, not negative")
_whole = whole(10**12, least=0)


class Line(NamedTuple):
    """One measured row as it was published."""

    path: Path
    place: int
    """Line number in the file, from 1."""
    cells: dict[str, str]
    """Cells by column, without surrounding blanks."""

    @property
    def where(self) -> str:
        """File and line number, as error messages name them."""
        return f"{self.path}: line {self.place}"

    @property
    def published(self) -> dict[str, str]:
        """The cells that are not blank."""
        return {column: cell for column, cell in self.cells.items() if cell}

    @property
    def source(self) -> str:
        """Source that published the row."""
        return self.text("source") or NOT_STATED

    @property
    def trust(self) -> str:
        """Trust class, from A to D."""
        return self.text("trust") or UNSTATED_TRUST

    def id(self, column: str) -> str:
        """Return the cell of the id column; the line number if that is blank."""
        return self.text(column) or f"line {self.place}"

    def text(self, column: str) -> str:
        """Return the text of a cell; "" if the table has no such column."""
        return self.cells.get(column, "")

    def read(self, column: str, check: Callable[[str], AnyValue]) -> AnyValue | None:
        """Return the converted value of a cell, None if it is blank or the table has no such column.

        Parameters
        ----------
        column : name of the column
        check : converts the text of the cell; raises ``ValueError`` if it does not fit

        Raises
        ------
        InputError : the cell does not fit
        """
        cell = self.text(column)
        return self.checked(column, cell, check) if cell else None

    def number(self, column: str) -> float | None:
        """Return a cell as a number of at least 0, None if it is blank; InputError if it is no number."""
        return self.read(column, _number)

    def whole(self, column: str) -> int | None:
        """Return a cell as a whole number, None if it is blank; InputError if it is none."""
        return self.read(column, _whole)

    def word(self, column: str, known: Sequence[str]) -> str:
        """Return a cell as one of the known words, "" if it is blank; InputError if it is none of them."""
        return self.read(column, one_of(known)) or ""

    def checked(self, column: str, cell: str, check: Callable[[str], AnyValue]) -> AnyValue:
        """Return the converted text of a cell, blank or not; InputError if it does not fit the column."""
        try:
            return check(cell)
        except ValueError as error:
            raise refusal(
                "table.cell", where=self.where, column=column, cell=cell[:60], error=str(error)
            ) from None


def measured_table(path: Path | str, before: str | None = None) -> tuple[list[str], list[Line]]:
    """Return the header of a CSV file, and its rows that are not blank.

    Parameters
    ----------
    path : of the file
    before : first cell of the row to stop before; None reads the file to its end

    Raises
    ------
    InputError : the file cannot be read, has a column twice, or a row of another length than the header
    """
    header, lines = _opened(Path(path), before)
    return header, list(lines)


def measured_lines(path: Path, columns: Sequence[str], before: str | None = None) -> Iterator[Line]:
    """Yield the rows of ``measured_table``; InputError at once if the table lacks one of ``columns``."""
    header, lines = _opened(path, before)
    if missing := [name for name in columns if name not in header]:
        more = ", ..." if missing[4:] else ""
        raise refusal("table.no_column", known=tuple(missing[:4]), more=more).under(path)
    return lines


def _opened(path: Path, before: str | None) -> tuple[list[str], Iterator[Line]]:
    """Return the header of a table, and its rows, each read when it is asked for."""
    reader = csv.reader(read_table(path, before=before), strict=True)
    with _csv_errors(path, reader):
        header = [name.strip() for name in next(reader, [])]
    if twice := [name for name in header if name and header.count(name) > 1]:
        raise refusal("table.twice", twice=twice[0]).under(path)
    return header, _lines(path, reader, header)


def _lines(path: Path, reader: Any, header: Sequence[str]) -> Iterator[Line]:
    """Yield the rows of a table; equal texts in many rows are one object, kept once."""
    known: dict[str, str] = {}
    with _csv_errors(path, reader):
        for cells in reader:
            if cells and len(cells) != len(header):
                counts = {"count": len(cells), "columns": len(header)}
                raise refusal("table.cells", line_num=reader.line_num, **counts).under(path)
            if any(cells):
                texts = (known.setdefault(text, text) for text in map(str.strip, cells))
                named = {name: text for name, text in zip(header, texts, strict=True) if name}
                yield Line(path, reader.line_num, named)


@contextmanager
def _csv_errors(path: Path, reader: Any) -> Iterator[None]:
    """Refuse a file that is no CSV."""
    try:
        yield
    except csv.Error as error:
        raise refusal("table.not_csv", line_num=reader.line_num, error=str(error)).under(path) from None
