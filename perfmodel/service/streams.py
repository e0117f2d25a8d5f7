"""A sweep as a stream: rows leave as they are calculated, and memory does not grow with their number."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from perfmodel.attachments import only_attached
from perfmodel.errors import InputError, needed
from perfmodel.service.answers import encoded, sweep_of
from perfmodel.service.commands import files_of, table_of
from perfmodel.service.other_requests import SweepRequest
from perfmodel.service.problems import refused
from perfmodel.specs.store import Catalogue
from perfmodel.sweeps import Sweep

NDJSON, ARROW = "application/x-ndjson", "application/vnd.apache.arrow.stream"
Parts = Iterator[bytes]


def stream_of(kind: str, body: bytes, seconds: float) -> Parts:
    """Return a sweep in parts, the first of them calculated.

    Parameters
    ----------
    kind : ``NDJSON``, a row on each line; ``ARROW``, the stream format of Arrow
    body : of the request
    seconds : that the whole may take; after them it is cut off

    Raises
    ------
    Refused : the body is no sweep, or not one of its scenarios can be predicted
    """
    table = table_of(body)
    parts = _parts(kind, table, seconds)
    try:
        first = next(parts)
    except InputError as error:
        raise refused(error, table) from None
    return _from_first(first, parts)


def _from_first(first: bytes, rest: Parts) -> Parts:
    yield first
    yield from rest


def _parts(kind: str, table: dict[str, Any], seconds: float) -> Parts:
    end = time.monotonic() + seconds
    chunks = _chunks(table)
    sweep, chunk = next(chunks)
    write = _FORMS[kind](sweep)
    while True:
        yield write(chunk)
        if time.monotonic() > end:
            raise TimeoutError(f"longer than {seconds:g} s")
        try:
            _, chunk = next(chunks)
        except StopIteration:
            break
    if last := write(None):
        yield last


def _chunks(table: dict[str, Any]) -> Iterator[tuple[Sweep, Any]]:
    """Yield the sweep and each part of its table; nothing of the server is opened while one is calculated."""
    files = files_of(table)
    with only_attached(files):
        request = SweepRequest(**table)
        catalogue = Catalogue.with_tables(request.specs) if request.specs else Catalogue.built_in()
        sweep = sweep_of(request, catalogue)
        chunks = sweep.chunks()
        chunk = next(chunks, None)
    while chunk is not None:
        yield sweep, chunk
        with only_attached(files):  # between two parts others may use this thread
            chunk = next(chunks, None)


def _lines(sweep: Sweep) -> Callable[[Any], bytes]:
    columns = sweep.columns

    def write(chunk: Any) -> bytes:
        if chunk is None:
            return b""
        rows = zip(*(chunk[name].tolist() for name in columns), strict=True)
        return b"".join(encoded(dict(zip(columns, row, strict=True))) + b"\n" for row in rows)

    return write


class _Sink:
    """Keeps what a writer wrote until it is taken."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, part: Any) -> int:
        """Take a part."""
        self._parts.append(bytes(part))
        return len(part)

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is to be let go."""

    def taken(self) -> bytes:
        """Return what was written since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


def _arrow(sweep: Sweep) -> Callable[[Any], bytes]:
    needed("pyarrow", "parquet", "an Arrow stream")
    import pyarrow

    sink, state = _Sink(), dict[str, Any]()

    def write(chunk: Any) -> bytes:
        if chunk is None:
            state["writer"].close()
            return sink.taken()
        table = sweep.as_arrow(chunk)
        if "writer" not in state:
            state["writer"] = pyarrow.ipc.new_stream(pyarrow.PythonFile(sink, "w"), table.schema)
        state["writer"].write_table(table)
        return sink.taken()

    return write


_FORMS: dict[str, Callable[[Sweep], Callable[[Any], bytes]]] = {NDJSON: _lines, ARROW: _arrow}
