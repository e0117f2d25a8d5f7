"""Read a trace of any supported format, which is recognised by its content, not by its name."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.files.attachments import attached, is_request
from perfmodel.core.files.reading import LARGEST_TEXT, opened, read_bytes
from perfmodel.evidence.traces.device_trace import DeviceTrace
from perfmodel.evidence.traces.json_stream import LARGEST_FILE
from perfmodel.evidence.traces.kineto import read_kineto
from perfmodel.evidence.traces.nccl_tests import Timings, is_nccl_tests, read_nccl_tests
from perfmodel.evidence.traces.nsight import SQLITE_MAGIC, read_nsight

Progress = Callable[[int], None]
SUFFIXES = (".json", ".json.gz", ".sqlite", ".sqlite.gz", ".db", ".txt", ".out", ".log")
"""Suffixes of the files that are read from a folder."""
NSIGHTS_OWN = (".nsys-rep", ".qdrep")
"""Suffixes of Nsight Systems' own files, which must be exported first."""


def files_of(paths: Sequence[str]) -> list[Path]:
    """Return the files that paths name, and the traces in the folders that they name, in order of name.

    Raises
    ------
    InputError : a path does not exist, or a folder has no trace
    """
    result: list[Path] = []
    for name in paths:
        path = Path(name)
        if attached(name) is not None:
            result.append(path)
        elif os.path.isdir(path):  # unlike Path's own, also for a name too long to be one
            inside = sorted(p for p in path.iterdir() if p.is_file() and p.name.endswith(SUFFIXES))
            own = sorted(p for p in path.iterdir() if p.suffix in NSIGHTS_OWN)
            if own and not inside:
                raise _not_exported(own[0])
            if not inside:
                raise refusal("trace.empty_folder", known=tuple(SUFFIXES[:4])).under(path)
            result += inside
        elif os.path.exists(path):
            result.append(path)
        else:
            raise refusal("file.missing").under(path)
    return result


def read_all(
    names: Sequence[str], read: Callable[[Path], list[DeviceTrace] | Timings] | None = None
) -> tuple[list[DeviceTrace], list[Timings]]:
    """Return the device traces in files and folders, and the outputs of nccl-tests among them.

    Parameters
    ----------
    names : paths of files and folders
    read : function that reads one file; by default ``read_trace``

    Raises
    ------
    InputError : a file cannot be read, or has no known format
    """
    traces: list[DeviceTrace] = []
    timings: list[Timings] = []
    for path in files_of(names):
        content = (read or read_trace)(path)
        if isinstance(content, list):
            traces += content
        else:
            timings.append(content)
    if not traces and not timings:
        raise refusal("trace.none")
    return traces, timings


def read_trace(path: Path, progress: Progress | None = None) -> list[DeviceTrace] | Timings:
    """Return the device traces of a file, or the timings if it is an output of nccl-tests.

    Parameters
    ----------
    path : of the file
    progress : function called with the position in the file [B]

    Raises
    ------
    InputError : the file cannot be read, or has no known format
    """
    if path.suffix in NSIGHTS_OWN:
        raise _not_exported(path)
    head = _head(path)
    if head.startswith(SQLITE_MAGIC):
        if is_request():
            raise refusal("trace.sqlite_text").under(path)
        return read_nsight(path)
    if head.lstrip()[:1] in (b"{", b"["):
        return read_kineto(path, progress)
    text = _text(path, head)
    if is_nccl_tests(text):
        return read_nccl_tests(path, text)
    raise refusal("trace.unknown").under(path)


def _not_exported(path: Path) -> InputError:
    """Return the error for a file of Nsight Systems that must be exported first."""
    return refusal("trace.nsight", name=path.with_suffix(".sqlite").name, path=path.name).under(path)


def _head(path: Path) -> bytes:
    """Return the first bytes of a file, decompressed."""
    with opened(path, LARGEST_FILE) as file:
        start = file.read(2)
        file.seek(0)
        if start == b"\x1f\x8b":
            try:
                return gzip.GzipFile(fileobj=file).read(4096)
            except zlib.error as error:
                raise refusal("file.unreadable", reason=str(error)).under(path) from None
        return file.read(4096)


def _text(path: Path, head: bytes) -> str:
    """Return the text of a file, "" if it is binary."""
    return "" if b"\x00" in head else read_bytes(path, LARGEST_TEXT).decode("utf-8", "replace")
