"""The lines of a table of measured rows: a CSV file whose header names all columns that its reader needs."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from perfmodel.errors import InputError
from perfmodel.reading import read_table


class Line(NamedTuple):
    """One measured row as it was published."""

    path: Path
    number: int
    cells: dict[str, str]
    """By column, without the blanks around them."""

    @property
    def where(self) -> str:
        """File and line, as errors name them."""
        return f"{self.path}: line {self.number}"

    @property
    def published(self) -> dict[str, str]:
        """The cells that are not blank."""
        return {column: cell for column, cell in self.cells.items() if cell}


def measured_lines(path: Path, columns: Sequence[str], before: str | None = None) -> Iterator[Line]:
    """Yield the rows of a file.

    Parameters
    ----------
    columns : that must be there
    before : first cell of the row to stop at; None, the file is read to its end

    Raises
    ------
    InputError : a file that cannot be read, a missing column, a row of another length than the header
    """
    try:
        with read_table(path, before=before) as file:
            reader = csv.reader(file, strict=True)
            header = [name.strip() for name in next(reader, [])]
            missing = [name for name in columns if name not in header]
            if missing:
                more = ", ..." if missing[4:] else ""
                raise InputError(
                    f"{path}: line 1: no column {', '.join(missing[:4])}{more}; "
                    f"validation/README.md describes them"
                )
            if twice := [name for name in columns if header.count(name) > 1]:
                raise InputError(f"{path}: line 1: column {twice[0]} is there twice")
            for cells in reader:
                if not cells:
                    continue
                if len(cells) != len(header):
                    raise InputError(
                        f"{path}: line {reader.line_num}: {len(cells)} cells; the header has {len(header)}"
                    )
                named = {name: cell.strip() for name, cell in zip(header, cells, strict=True) if name}
                yield Line(path, reader.line_num, named)
    except csv.Error as error:
        raise InputError(f"{path}: line {reader.line_num}: not CSV: {error}") from None
