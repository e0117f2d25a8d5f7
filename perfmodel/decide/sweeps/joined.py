"""A sweep as one file evaluated by several processes: each writes parts, which are joined in order."""

from __future__ import annotations

import csv
import math
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from perfmodel.core.errors import needed
from perfmodel.core.files.writing import check_writable, replacing
from perfmodel.decide.sweeps.files import column_types, write_tables
from perfmodel.decide.sweeps.part_files import PIECE, PartSummary, PartWriter, part_name
from perfmodel.decide.sweeps.parts import Parts, nothing_to_predict
from perfmodel.decide.sweeps.running import written_parts

if TYPE_CHECKING:
    import pyarrow


def write_joined(parts: Parts, path: str, suffix: str, jobs: int) -> tuple[int, dict[str, int]]:
    """Write a sweep as one file, equal to that of one process: byte for byte as CSV, row for row as Parquet.

    Parameters
    ----------
    parts : of the sweep
    path : of the file; ``-`` for standard output
    suffix : ``.csv`` or ``.parquet``
    jobs : number of processes

    Returns
    -------
    rows : number of rows written
    refused : number of refused scenarios, by reason

    Raises
    ------
    InputError : the file cannot be written; every scenario is refused
    MissingPackage : pyarrow is not installed
    """
    if suffix == ".parquet":
        needed("pyarrow.parquet", "parquet", "writing Parquet")
    home = None if path == "-" else Path(path).resolve().parent
    if home is not None:
        check_writable(Path(path))
    refused = Counter[str]()
    with tempfile.TemporaryDirectory(prefix=".perfmodel-", dir=home) as folder:
        writer = PartWriter(parts, folder, suffix)
        with closing(written_parts(writer, range(len(parts)), jobs)) as ready:
            files = _in_order(writer, ready, refused)
            if path == "-":
                rows = _join_csv(sys.stdout, parts.columns, files)
            elif suffix == ".csv":
                with (
                    replacing(Path(path)) as temporary,
                    temporary.open("w", encoding="utf-8", newline="") as stream,
                ):
                    rows = _join_csv(stream, parts.columns, files)
            else:
                types = column_types(parts.axes, parts.columns)
                with replacing(Path(path)) as temporary:
                    rows = write_tables(temporary, types, _tables(files))
    return rows, dict(refused)


def _in_order(
    writer: PartWriter, ready: Iterable[PartSummary], refused: Counter[str]
) -> Iterator[tuple[Path, int]]:
    """Yield file and rows of each part in order, and remove the file after it was read."""
    early: dict[int, PartSummary] = {}
    following = rows = 0
    for summary in ready:
        early[summary.number] = summary
        while following in early:
            part = early.pop(following)
            path = Path(writer.folder) / part_name(following, writer.suffix)
            if part.rows:
                yield path, part.rows
            path.unlink()
            refused.update(part.refused)
            rows += part.rows
            following += 1
    if not rows:
        raise nothing_to_predict(math.prod(map(len, writer.parts.axes.values())), refused)


def _join_csv(stream: TextIO, columns: tuple[str, ...], files: Iterable[tuple[Path, int]]) -> int:
    """Write the files of parts to a stream under one header; return the number of rows."""
    written = 0
    for path, rows in files:
        if not written:
            csv.writer(stream, lineterminator="\n").writerow(columns)
        with path.open(encoding="utf-8", newline="") as part:
            shutil.copyfileobj(part, stream, PIECE)
        written += rows
    return written


def _tables(files: Iterable[tuple[Path, int]]) -> Iterator[pyarrow.Table]:
    """Yield the row groups of Parquet files."""
    import pyarrow.parquet

    for path, _ in files:
        with pyarrow.parquet.ParquetFile(path) as part:
            for group in range(part.num_row_groups):
                yield part.read_row_group(group)
