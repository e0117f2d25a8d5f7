"""One part of a sweep as a file, written by the process that evaluates it; a summary is returned."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path
from typing import Final, NamedTuple

from perfmodel.core.errors import refusal
from perfmodel.core.files.writing import replacing
from perfmodel.decide.sweeps.parts import Parts

PIECE: Final = 2**20
"""Bytes that are read at a time."""


class PartSummary(NamedTuple):
    """Summary of a written part."""

    number: int
    rows: int
    refused: dict[str, int]
    """Number of refused scenarios, by reason."""
    bytes: int
    sha256: str
    seconds: float = 0.0
    """Duration of writing; manifests keep neither this nor what follows."""
    peak_bytes: int = 0
    """Peak memory of the process so far."""


class PartWriter(NamedTuple):
    """Folder and format in which parts are written; sent to every process."""

    parts: Parts
    folder: str
    suffix: str
    """``.parquet``, or ``.csv`` without a header."""
    sweep: str = ""
    """SHA-256 of the sweep's description, by which other machines check that they write the same."""


def part_name(number: int, suffix: str = ".parquet") -> str:
    """Return the name of a part's file.

    >>> part_name(12)
    'part-00012.parquet'
    """
    return f"part-{number:05}{suffix}"


def write_part(writer: PartWriter, number: int) -> PartSummary:
    """Write one part under a temporary name and rename it; return its summary.

    Raises
    ------
    InputError : the file cannot be written, or an answer is no number
    """
    from perfmodel.decide.sweeps.files import arrow_table, column_types, write_rows, write_tables

    began = time.monotonic()
    parts, refused = writer.parts, dict[str, int]()
    path = Path(writer.folder) / part_name(number, writer.suffix)
    chunks = parts.chunks(number, refused)
    with replacing(path) as temporary:
        if writer.suffix == ".csv":
            with temporary.open("w", encoding="utf-8", newline="") as stream:
                rows = write_rows(stream, parts.columns, chunks, headed=False)
        else:
            types = column_types(parts.axes, parts.columns)
            rows = write_tables(temporary, types, (arrow_table(types, chunk) for chunk in chunks))
        size, sha256 = os.path.getsize(temporary), file_sha256(temporary)
    return PartSummary(number, rows, refused, size, sha256, time.monotonic() - began, peak_bytes())


def is_intact(writer: PartWriter, part: PartSummary) -> bool:
    """Return whether the file of a part is unchanged since it was written."""
    path = Path(writer.folder) / part_name(part.number, writer.suffix)
    try:
        return path.stat().st_size == part.bytes and file_sha256(path) == part.sha256
    except OSError:
        return False


def check_seen(writer: PartWriter, part: PartSummary) -> None:
    """Check that this machine sees the file of a part that another machine wrote.

    Raises
    ------
    InputError : no such file, or one of another size
    """
    path = Path(writer.folder) / part_name(part.number, writer.suffix)
    if not path.is_file() or path.stat().st_size != part.bytes:
        raise refusal("sweep.part_unseen").under(path)


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(PIECE):
            digest.update(piece)
    return digest.hexdigest()


def peak_bytes() -> int:
    """Return the peak memory of this process [B]; 0 where the system does not report it."""
    try:
        import resource
    except ImportError:
        return 0
    from sys import platform

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if platform == "darwin" else most * 1024
