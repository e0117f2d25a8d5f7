"""Read SQLite exports of Nsight Systems, whose columns vary between versions."""

from __future__ import annotations

import gzip
import os
import re
import sqlite3
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote

import numpy as np

from perfmodel.core.errors import refusal
from perfmodel.core.files.reading import opened
from perfmodel.evidence.traces.activity import Spans
from perfmodel.evidence.traces.collective_names import algorithm_of, is_collective, kind_of, protocol_of
from perfmodel.evidence.traces.device_trace import Activity, Collective, DeviceTrace, intervals
from perfmodel.evidence.traces.marked_ranges import Range, Ranges
from perfmodel.evidence.traces.products import formats_of

if TYPE_CHECKING:
    from perfmodel.evidence.traces.device_trace import Array

NANOSECOND = 1e-9
KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
FILLS = "CUPTI_ACTIVITY_KIND_MEMSET"
RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
MARKS = "NVTX_EVENTS"
HOST_TO_DEVICE = 1
LARGEST_EXPORT = 4 << 30
"""Largest size of an export after decompression [B]."""
MOST_KERNELS = 50_000_000
"""Largest number of kernels that are read."""
DEEPEST = 200
"""Largest depth of nested ranges."""
_STEP = re.compile(r"(?:step|iter(?:ation)?)[ _#:-]*\d+$", re.IGNORECASE)
SQLITE_MAGIC = b"SQLite format 3\x00"


def read_nsight(path: Path) -> list[DeviceTrace]:
    """Return the trace of each device in an export: kernels, copies, calls of the runtime, marks, names.

    Raises
    ------
    InputError : the file is not an export, has no kernel, or unpacks to too much
    """
    with _plain(path) as plain, closing(_opened(plain, path)) as database:
        try:
            return _devices(database, path)
        except (sqlite3.Error, UnicodeDecodeError, OverflowError, MemoryError) as error:
            reason = str(error) or "too large a value"
            raise refusal("trace.nsight_part", reason=reason).under(path) from None


@contextmanager
def _plain(path: Path) -> Iterator[Path]:
    """Yield the path of the file or, if it is compressed, of its content in a temporary folder."""
    with opened(path, LARGEST_EXPORT) as file:
        packed = os.fstat(file.fileno()).st_size
        compressed = file.read(2) == b"\x1f\x8b"
        if not compressed:
            yield path
            return
        file.seek(0)
        with tempfile.TemporaryDirectory() as folder:
            plain = Path(folder) / "export.sqlite"
            with plain.open("wb") as target:
                written = 0
                for piece in _unpacked(file, path):
                    written += len(piece)
                    if written > LARGEST_EXPORT or written > 200 * max(packed, 1 << 20):
                        raise refusal("trace.nsight_unpacked", written=written).under(path)
                    target.write(piece)
            yield plain


def _unpacked(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield the content of a gzip file in pieces; InputError if it is damaged."""
    source = gzip.GzipFile(fileobj=file)
    try:
        while piece := source.read(1 << 20):
            yield piece
    except zlib.error as error:
        raise refusal("file.unreadable", reason=str(error)).under(path) from None


def _opened(plain: Path, path: Path) -> sqlite3.Connection:
    """Return a connection to a database that can only be read; InputError if the file is none."""
    try:
        # immutable: SQLite writes no journal next to the file
        database = sqlite3.connect(f"file:{quote(str(plain.absolute()))}?mode=ro&immutable=1", uri=True)
        database.text_factory = lambda text: text.decode("utf-8", "replace")
        database.execute("pragma trusted_schema = off")
        return database
    except sqlite3.Error as error:
        raise refusal("trace.not_sqlite", error=str(error)).under(path) from None


def _columns(database: sqlite3.Connection, table: str) -> list[str]:
    """Return the columns of a table; none if it is missing, or a view."""
    kind = database.execute("select type from sqlite_master where name = ?", (table,)).fetchone()
    if kind is None or kind[0] != "table":
        return []
    return [row[1] for row in database.execute(f'pragma table_info("{table}")')]


def _devices(database: sqlite3.Connection, path: Path) -> list[DeviceTrace]:
    """Return the trace of each device in a database; InputError if it has no kernel."""
    columns = _columns(database, KERNELS)
    missing = [name for name in ("start", "end", "deviceId") if name not in columns]
    if missing:
        raise refusal("trace.no_table", kernels=KERNELS).under(path)
    names = _strings(database)
    label = next((name for name in ("demangledName", "shortName", "mangledName") if name in columns), None)
    compute: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    talk: defaultdict[int, list[Collective]] = defaultdict(list)
    kernels: set[str] = set()
    chosen = f'start, "end", deviceId, {label or "null"}'
    for start, end, device, name in database.execute(f"select {chosen} from {KERNELS} limit {MOST_KERNELS}"):
        span = _span(start, end)
        if span is None or not isinstance(device, int):
            continue
        text = names.get(name, "") if isinstance(name, int) else str(name or "")
        compute[device]  # a device that only communicates is one, too
        if is_collective(text):
            talk[device].append(
                Collective(
                    kind_of(text),
                    span[0],
                    span[1] - span[0],
                    None,
                    None,
                    None,
                    algorithm_of(text),
                    protocol_of(text),
                )
            )
        else:
            compute[device].append(span)
            kernels.add(text)
    if not compute:
        raise refusal("trace.no_gpu_kernel").under(path)
    copies, cards, steps = _copies(database), _cards(database), _steps(database, names)
    moved, runtime, ranges = _moved(database), _runtime(database), _ranges(database, names)
    formats = formats_of(kernels)
    return [
        DeviceTrace(
            str(path),
            device,
            cards.get(device),
            None,
            None,
            intervals(compute[device]),
            intervals((c.start, c.start + c.duration) for c in talk[device]),
            intervals(copies[device]),
            tuple(sorted(talk[device], key=lambda c: c.start)),
            intervals(steps),
            intervals([]),
            None,
            False,
            activity=Activity(
                moved[device].united(),
                runtime,
                intervals([]),
                np.empty((0, 4)),
                np.empty((0, 3)),
                ranges,
                None,
            ),
            formats=formats,
        )
        for device in sorted(compute)
    ]


def _span(start: Any, end: Any) -> tuple[float, float] | None:
    """Return start and end [s] of an interval in nanoseconds, None if they are not valid."""
    if not (isinstance(start, int) and isinstance(end, int) and 0 <= start <= end):
        return None
    return start * NANOSECOND, end * NANOSECOND


def _strings(database: sqlite3.Connection) -> dict[int, str]:
    """Return the texts of the export by id."""
    if not {"id", "value"} <= set(_columns(database, "StringIds")):
        return {}
    return {key: str(value) for key, value in database.execute("select id, value from StringIds")}


def _copies(database: sqlite3.Connection) -> defaultdict[int, list[tuple[float, float]]]:
    """Return the copies from host to device, by device."""
    result: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    if {"start", "end", "deviceId", "copyKind"} <= set(_columns(database, COPIES)):
        chosen = f'select start, "end", deviceId from {COPIES} where copyKind = {HOST_TO_DEVICE}'
        for start, end, device in database.execute(chosen):
            span = _span(start, end)
            if span is not None and isinstance(device, int):
                result[device].append(span)
    return result


def _moved(database: sqlite3.Connection) -> defaultdict[int, Spans]:
    """Return copies in every direction and fills of memory, by device."""
    result: defaultdict[int, Spans] = defaultdict(Spans)
    for table in (COPIES, FILLS):
        if {"start", "end", "deviceId"} <= set(_columns(database, table)):
            for start, end, device in database.execute(f'select start, "end", deviceId from {table}'):
                span = _span(start, end)
                if span is not None and isinstance(device, int):
                    result[device].add(span)
    return result


def _runtime(database: sqlite3.Connection) -> Array:
    """Return the intervals of calls of the GPU's runtime."""
    result = Spans()
    if {"start", "end"} <= set(_columns(database, RUNTIME)):
        for start, end in database.execute(f'select start, "end" from {RUNTIME}'):
            span = _span(start, end)
            if span is not None:
                result.add(span)
    return result.united()


def _ranges(database: sqlite3.Connection, names: dict[int, str]) -> tuple[Range, ...]:
    """Return the times of NVTX ranges: on their thread, and of kernels launched there while they were open.

    Ranges and launches of all threads are read in the order of their starts, so that only open ranges are in
    memory.
    """
    columns = set(_columns(database, MARKS))
    if not {"start", "end", "text"} <= columns:
        return ()
    key = "textId" if "textId" in columns else "null"
    thread = "globalTid" if "globalTid" in columns else "null"
    chosen = f'select start, "end", text, {key}, {thread}, null from {MARKS}'
    launches = {"correlationId", "start", "globalTid"} <= set(_columns(database, RUNTIME))
    if launches and "correlationId" in _columns(database, KERNELS):
        # a globalTid has the thread in its lowest 24 bits, where a globalPid has zeros
        same = (
            " and r.globalTid >> 24 = k.globalPid >> 24" if "globalPid" in _columns(database, KERNELS) else ""
        )
        chosen += (
            f' union all select r.start, null, null, null, r.globalTid, k."end" - k.start from {KERNELS} k '
            f"join {RUNTIME} r on r.correlationId = k.correlationId{same}"
        )
    result = Ranges()
    open_ranges: defaultdict[Any, list[tuple[int, str]]] = defaultdict(list)
    for start, end, text, number, on, kernel_time in database.execute(f"{chosen} order by 1"):
        stack = open_ranges[on]
        while stack and isinstance(start, int) and stack[-1][0] <= start:
            stack.pop()
        if isinstance(kernel_time, int) and 0 <= kernel_time < 10**15:
            for name in {name for _, name in stack}:
                result.add(name, device_time=kernel_time * NANOSECOND)
            continue
        span = _span(start, end)
        label = text if isinstance(text, str) else names.get(number, "") if isinstance(number, int) else ""
        if span is None or not label:
            continue
        name = result.name(label)
        result.add(name, span[1] - span[0], count=1)
        if len(stack) < DEEPEST:
            stack.append((end, name))
    return result.listed()


def _cards(database: sqlite3.Connection) -> dict[int, str]:
    """Return the names of the GPUs by device number."""
    if not {"id", "name"} <= set(_columns(database, "TARGET_INFO_GPU")):
        return {}
    return {key: str(name) for key, name in database.execute("select id, name from TARGET_INFO_GPU")}


def _steps(database: sqlite3.Connection, names: dict[int, str]) -> list[tuple[float, float]]:
    """Return the ranges that a program marked as its steps, such as ``step 3`` and ``iteration_4``."""
    columns = set(_columns(database, MARKS))
    if not {"start", "end", "text"} <= columns:
        return []
    key = "textId" if "textId" in columns else "null"
    result = []
    for start, end, text, number in database.execute(f'select start, "end", text, {key} from {MARKS}'):
        report = text if isinstance(text, str) else names.get(number, "") if isinstance(number, int) else ""
        span = _span(start, end)
        if span is not None and span[1] > span[0] and _STEP.search(report):
            result.append(span)
    return result
