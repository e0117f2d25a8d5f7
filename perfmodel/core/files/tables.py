"""Answers that are tables: rows of plain values, converted to pandas, Arrow, CSV, Markdown and text."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, get_args

from perfmodel.core.errors import needed

if TYPE_CHECKING:
    import pandas
    import pyarrow

Cell: TypeAlias = bool | str | int | float | None
Record: TypeAlias = dict[str, Cell]
_Row = TypeVar("_Row")

MOST_SHOWN = 12
"""Most rows in the repr of a table; a longer one shows its first and last rows."""


class Table(ABC):
    """Base of answers that convert to pandas and Arrow; a subclass defines ``records``."""

    @abstractmethod
    def records(self) -> list[Record]:
        """Return the rows, each from column name to value; an unknown value is None."""

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a pandas table, a column for each name.

        Raises
        ------
        MissingPackage : pandas is not installed
        """
        needed("pandas", "pandas", "a pandas table")
        import pandas

        return pandas.DataFrame(self.records())

    def to_arrow(self) -> pyarrow.Table:
        """Return the rows as an Arrow table, a column for each name.

        Raises
        ------
        MissingPackage : pyarrow is not installed
        """
        needed("pyarrow", "parquet", "an Arrow table")
        import pyarrow

        return pyarrow.Table.from_pylist(self.records())


class Rows(Table):
    """Base of answers that are dataclasses with a field ``rows`` of dataclasses."""

    rows: Any

    def records(self) -> list[Record]:
        """Return the rows."""
        return [asdict(row) for row in self.rows]

    def to_json(self) -> str:
        """Return what the command prints with ``--json``."""
        answer: Any = self
        return json.dumps(asdict(answer))


class ListAnswer(list[_Row], Table):
    """Base of answers that are lists of rows, dataclasses or dicts; their JSON is a list."""

    def records(self) -> list[Record]:
        """Return the rows."""
        return [row if isinstance(row, dict) else asdict(row) for row in self]  # type: ignore[call-overload]

    def to_json(self) -> str:
        """Return what the command prints with ``--json``."""
        return json.dumps(self.records())

    @classmethod
    def row_type(cls) -> Any:
        """Return the type of a row: ``Row`` of a subclass of ``ListAnswer[Row]``."""
        return get_args(cls.__orig_bases__[0])[0]  # type: ignore[attr-defined]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Return pydantic's schema, which checks each row as ``Row`` of ``ListAnswer[Row]``."""
        from pydantic_core import core_schema

        row = cls.row_type()
        return core_schema.no_info_after_validator_function(cls, handler.generate_schema(list[row]))  # type: ignore[valid-type]


class Report(dict[str, Any]):
    """An answer that is a dict, whose keys are also attributes."""

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise AttributeError(f"the answer has no {name}; it has {', '.join(self)}")
        return self[name]

    def to_json(self) -> str:
        """Return what the command prints with ``--json``."""
        return json.dumps(self, allow_nan=False)


def flat(table: Mapping[str, Any], prefix: str = "") -> Record:
    """Return a nested answer as one row: keys joined by dots, texts of a list by semicolons.

    >>> flat({"time": 1.5, "memory": {"fits": True}, "warnings": ["a", "b"]})
    {'time': 1.5, 'memory.fits': True, 'warnings': 'a; b'}
    """
    row: Record = {}
    for key, value in table.items():
        if isinstance(value, Mapping):
            row |= flat(value, f"{prefix}{key}.")
        elif isinstance(value, (list, tuple)):
            row[prefix + key] = "; ".join(map(cell_text, value))
        else:
            row[prefix + key] = value
    return row


def with_values(rows: Sequence[Record], columns: Mapping[str, str]) -> dict[str, str]:
    """Return the columns, key -> heading, that have a value in at least one row.

    >>> with_values([{"gpus": 8, "cost": None}], {"gpus": "GPUs", "cost": "USD"})
    {'gpus': 'GPUs'}
    """
    return {key: words for key, words in columns.items() if any(row[key] is not None for row in rows)}


def cell_text(value: Any) -> str:
    """Return a value as text with all digits; None, NaN and infinity are blank, numpy scalars as Python's."""
    if hasattr(value, "item"):
        value = value.item()
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def csv_text(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] | None = None) -> str:
    r"""Return rows as CSV, numbers with all digits; None, NaN and infinity are blank.

    Parameters
    ----------
    rows : nested tables are spread over columns such as ``interval.low_80``
    columns : those to print, in order; by default every key, in the order of its first appearance

    >>> csv_text([{"gpus": 1, "fits": True}, {"gpus": 2, "fits": None}])
    'gpus,fits\n1,true\n2,\n'
    """
    import csv
    import io

    spread = [flat(row) for row in rows]
    names = columns_of(spread, columns)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([cell_text(row.get(name)) for name in names] for row in spread)
    return text.getvalue()


def columns_of(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | Mapping[str, str] | None = None
) -> list[str]:
    """Return the names of ``columns``; by default every key of the rows, in order of first appearance."""
    if columns is not None:
        return list(columns)
    return list(dict.fromkeys(name for row in rows for name in row))


def markdown_table(
    rows: Iterable[Mapping[str, Any]],
    columns: Sequence[str] | Mapping[str, str] | None = None,
    digits: int = 4,
) -> str:
    r"""Return rows as a Markdown table, columns of numbers aligned to the right.

    Parameters
    ----------
    rows, columns : as of ``csv_text``; a mapping gives the columns their headings
    digits : significant digits of a number

    >>> rows = [{"link": "a|b", "time": 0.123456}]
    >>> print(markdown_table(rows, {"link": "link", "time": "time [s]"}), end="")
    | link | time [s] |
    | :--- | ---: |
    | a\|b | 0.1235 |
    """
    spread = [flat(row) for row in rows]
    names = columns_of(spread, columns)
    headings = columns if isinstance(columns, Mapping) else {name: name for name in names}
    sides = [":---" if any(isinstance(row.get(name), str) for row in spread) else "---:" for name in names]
    lines = [[markdown_cell(headings[name]) for name in names], sides]
    lines += [[markdown_cell(_short(row.get(name), digits)) for name in names] for row in spread]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _short(value: Any, digits: int) -> str:
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and math.isfinite(value):
        return _figures(value, digits)
    return {"true": "yes", "false": "no"}[cell_text(value)] if isinstance(value, bool) else cell_text(value)


def _figures(value: float, digits: int) -> str:
    """Return a number with ``digits`` significant digits, but all digits before the point: no exponent."""
    if 10**digits <= abs(value) < 1e15:
        return f"{value:.0f}"
    return f"{value:.{digits}g}"


def markdown_cell(text: str) -> str:
    r"""Return text escaped for a cell of a Markdown table.

    >>> print(markdown_cell("a|b"))
    a\|b
    """
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ")


def aligned(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """Return a small table as text: a title, the headings, and the rows in columns as wide as they need.

    Parameters
    ----------
    title, headings, rows : texts
    left : number of columns aligned to the left, as text is; the others align to the right

    >>> print(aligned("two links", ["link", "time"], [["a", "1 ms"], ["bb", "12 ms"]]))
    two links
      link   time
      a      1 ms
      bb    12 ms
    """
    lines = [list(headings), *map(list, rows)]
    gap = len(lines) - 1 - MOST_SHOWN
    if gap > 0:
        half = MOST_SHOWN // 2
        lines[1 + half : 1 + half + gap] = [["..."] + [""] * (len(headings) - 1)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    shown = (
        "  ".join(
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
    return "\n".join([title, *(f"  {line}" for line in shown)])
