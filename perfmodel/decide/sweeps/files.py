"""Writing a sweep to a file chunk by chunk; the file appears when it is complete."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TextIO, TypeAlias

import numpy as np

from perfmodel.core.errors import needed
from perfmodel.core.files.writing import replacing
from perfmodel.decide.sweeps.columns import WHOLE, Columns, unit_of

if TYPE_CHECKING:
    import pyarrow
    from numpy.typing import NDArray

    from perfmodel.decide.sweeps.axes import Axes

ColumnType: TypeAlias = Literal["whole", "number", "truth", "text"]
ROW_GROUP: Final = 2**16
"""Rows that a Parquet file compresses together."""


def write_csv(path: str, columns: Sequence[str], chunks: Iterator[Columns]) -> int:
    """Write chunks as CSV, ``-`` for standard output; return the number of rows.

    Numbers are written with all their digits; an unknown value is an empty cell.
    """
    if path == "-":
        return write_rows(sys.stdout, columns, chunks)
    with replacing(Path(path)) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        return write_rows(stream, columns, chunks)


def write_rows(stream: TextIO, columns: Sequence[str], chunks: Iterator[Columns], headed: bool = True) -> int:
    """Write chunks as lines of CSV, with a header where ``headed``; return the number of rows."""
    writer = csv.writer(stream, lineterminator="\n")
    written = 0
    for chunk in chunks:
        if headed and not written:
            writer.writerow(columns)
        texts = [_cells(chunk[name]) for name in columns]
        writer.writerows(zip(*texts, strict=True))
        written += len(texts[0])
    return written


def _cells(column: NDArray[Any]) -> list[Any]:
    """Return the cells of a column; an unknown number is empty, a truth value ``true`` or ``false``."""
    values: list[Any] = column.tolist()
    if column.dtype.kind == "f":
        return ["" if value != value else value for value in values]
    if column.dtype.kind == "b":
        return ["true" if value else "false" for value in values]
    return values


def write_parquet(path: str, axes: Axes, columns: Sequence[str], chunks: Iterator[Columns]) -> int:
    """Write chunks as Parquet; return the number of rows.

    Parameters
    ----------
    path : of the file
    axes : of the sweep, which determine the type of each column
    columns, chunks : of the table

    Raises
    ------
    MissingPackage : pyarrow is not installed
    """
    needed("pyarrow.parquet", "parquet", "writing Parquet")
    types = column_types(axes, columns)
    with replacing(Path(path)) as temporary:
        return write_tables(temporary, types, (arrow_table(types, chunk) for chunk in chunks))


def write_tables(path: Path, types: dict[str, ColumnType], tables: Iterable[pyarrow.Table]) -> int:
    """Write Arrow tables of the same types as one Parquet file; return the number of rows."""
    import pyarrow.parquet

    texts = [name for name, of in types.items() if of == "text"]
    written = 0
    with pyarrow.parquet.ParquetWriter(
        path, _schema(types), use_dictionary=texts, compression="zstd"
    ) as writer:
        for some in _gathered(tables):
            # each block has the texts of its own
            group = pyarrow.concat_tables(some).unify_dictionaries()
            writer.write_table(group, row_group_size=len(group))
            written += len(group)
    return written


def _gathered(tables: Iterable[pyarrow.Table]) -> Iterator[list[pyarrow.Table]]:
    """Yield lists of tables that together make a row group."""
    some: list[pyarrow.Table] = []
    rows = 0
    for table in tables:
        if some and rows + len(table) > ROW_GROUP:
            yield some
            some, rows = [], 0
        some.append(table)
        rows += len(table)
    if some:
        yield some


def column_types(axes: Axes, columns: Sequence[str]) -> dict[str, ColumnType]:
    """Return the type of each column of a sweep's table, which is the same in all its parts."""
    return {name: _type(name, axes) for name in columns}


def _type(name: str, axes: Axes) -> ColumnType:
    """Return the type of one column."""
    from perfmodel.decide.sweeps.axes import is_number

    if name in WHOLE:
        return "whole"
    if name == "fits":
        return "truth"
    if name not in axes:
        return "text" if name in ("model", "scaling") else "number"
    if not is_number(name):
        return "text"
    # servers are as many as the strategy has, which may be none
    return "whole" if name != "servers" and all(isinstance(v, int) for v in axes[name]) else "number"


def arrow_table(types: dict[str, ColumnType], chunk: Columns) -> pyarrow.Table:
    """Return a table of arrays as an Arrow table; texts are dictionary-encoded.

    The table's metadata has the version of perfmodel, that of a column its unit.
    """
    import pyarrow

    schema = _schema(types)
    arrays = [_arrow(field.type, chunk[field.name]) for field in schema]
    return pyarrow.Table.from_arrays(arrays, schema=schema)


def _schema(types: dict[str, ColumnType]) -> pyarrow.Schema:
    """Return the Arrow schema of columns of these types."""
    import pyarrow

    of_type = {
        "whole": pyarrow.int64(),
        "number": pyarrow.float64(),
        "truth": pyarrow.bool_(),
        "text": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
    }
    fields = [
        pyarrow.field(name, of_type[of], metadata={"unit": unit} if (unit := unit_of(name)) else None)
        for name, of in types.items()
    ]
    return pyarrow.schema(fields, metadata={"perfmodel": sys.modules["perfmodel"].__version__})


def _arrow(as_type: pyarrow.DataType, column: NDArray[Any]) -> pyarrow.Array:
    """Return a column as an Arrow array."""
    import pyarrow

    if pyarrow.types.is_dictionary(as_type):
        return _texts(pyarrow, column.tolist())
    if column.dtype.kind == "O" or pyarrow.types.is_boolean(as_type):
        return pyarrow.array(column.tolist(), type=as_type, from_pandas=True)
    if pyarrow.types.is_floating(as_type):
        column = column.astype(np.float64)
    return pyarrow.array(column, type=as_type, from_pandas=True)


def _texts(pyarrow: Any, values: list[Any]) -> Any:
    """Return texts as a dictionary-encoded Arrow array."""
    known = {value: None if value is None else str(value) for value in dict.fromkeys(values)}
    texts = [text for text in known.values() if text is not None]
    place = {value: None if text is None else texts.index(text) for value, text in known.items()}
    if len(place) == 1:  # as of most columns in a block
        codes = np.zeros(len(values), dtype=np.int32)
        missing = None if texts else np.ones(len(values), dtype=bool)
        indices = pyarrow.array(codes, mask=missing)
    else:
        indices = pyarrow.array([place[value] for value in values], type=pyarrow.int32())
    return pyarrow.DictionaryArray.from_arrays(indices, pyarrow.array(texts, type=pyarrow.string()))
