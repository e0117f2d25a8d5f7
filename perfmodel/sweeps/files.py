"""Writes a sweep to a file chunk by chunk; the file appears when it is complete."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from perfmodel.errors import needed
from perfmodel.writing import replacing

if TYPE_CHECKING:
    import pyarrow
    from numpy.typing import NDArray

    Table = dict[str, NDArray[Any]]


def write_csv(path: str, columns: Sequence[str], chunks: Iterator[Table]) -> int:
    """Write chunks as CSV, ``-`` for standard output; return the rows written.

    Numbers are written with all their digits; what is not known is an empty cell.
    """
    if path == "-":
        return _write_rows(sys.stdout, columns, chunks)
    with replacing(Path(path)) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        return _write_rows(stream, columns, chunks)


def _write_rows(stream: TextIO, columns: Sequence[str], chunks: Iterator[Table]) -> int:
    writer = csv.writer(stream, lineterminator="\n")
    written = 0
    for chunk in chunks:
        if not written:
            writer.writerow(columns)
        texts = [_cells(chunk[name]) for name in columns]
        writer.writerows(zip(*texts, strict=True))
        written += len(texts[0])
    return written


def _cells(column: NDArray[Any]) -> list[Any]:
    values: list[Any] = column.tolist()
    if column.dtype.kind == "f":
        return ["" if value != value else value for value in values]
    if column.dtype.kind == "b":
        return ["true" if value else "false" for value in values]
    return values


def write_parquet(path: str, columns: Sequence[str], chunks: Iterator[Table]) -> int:
    """Write chunks as Parquet; return the rows written.

    Raises
    ------
    MissingPackage : pyarrow is not installed
    """
    needed("pyarrow.parquet", "parquet", "writing Parquet")
    import pyarrow.parquet

    with replacing(Path(path)) as temporary:
        return _write_parquet_file(pyarrow, temporary, columns, chunks)


def _write_parquet_file(pyarrow: Any, path: Path, columns: Sequence[str], chunks: Iterator[Table]) -> int:
    written, writer = 0, None
    try:
        for chunk in chunks:
            table = arrow_table(columns, chunk)
            writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
            written += len(table)
    finally:
        if writer is not None:
            writer.close()
    return written


def arrow_table(columns: Sequence[str], chunk: Table) -> pyarrow.Table:
    """Return one array for each column as an Arrow table."""
    import pyarrow

    return pyarrow.table({name: _arrow(pyarrow, name, chunk[name]) for name in columns})


def _arrow(pyarrow: Any, name: str, column: NDArray[Any]) -> Any:
    """A column of one type in every chunk: numbers that may be missing are floats, the rest is text."""
    if column.dtype.kind != "O":
        return pyarrow.array(column, from_pandas=True)
    from perfmodel.sweeps.axes import is_number

    if is_number(name):
        return pyarrow.array(column.tolist(), type=pyarrow.float64(), from_pandas=True)
    texts = [None if value is None else str(value) for value in column.tolist()]
    return pyarrow.array(texts, type=pyarrow.string())
