"""Read the output of nccl-tests: one line for each message size, out of place and in place."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import NamedTuple

from perfmodel.core.errors import refusal
from perfmodel.equations.bandwidths import bus_bandwidth

MICROSECOND = 1e-6
_ROW = re.compile(r"^\s*\d+\s+\d+\s+[a-z]\w*\s")
"""Matches size, count and type, which every version prints first."""
_NUMBER = re.compile(r"[\d.]+(?:[eE][-+]?\d+)?")
TOLERANCE = 0.03, 0.006
"""Relative [1] and absolute [GB/s] tolerance of the bandwidth, for rounding of the printed digits."""
_RANK = re.compile(r"#\s+Rank\s+\d+", re.IGNORECASE)
_HOST = re.compile(r"#\s+Rank\s+\d+.*\bon\s+(\S+)\s+device", re.IGNORECASE)
_DEVICE = re.compile(r"#\s+Rank\s+\d+.*\bdevice\s+\d+\s+\[[^\]]*\]\s+(\S.*?)\s*$", re.IGNORECASE)
_PROGRAM = re.compile(r"\b(all_reduce|all_gather|reduce_scatter|alltoall|broadcast|sendrecv)_perf")
COLLECTIVES = {
    "all_reduce": "all-reduce",
    "all_gather": "all-gather",
    "reduce_scatter": "reduce-scatter",
    "alltoall": "all-to-all",
    "broadcast": "broadcast",
    "sendrecv": "send-receive",
}
"""Collectives by the names of the programs that time them."""


class Timing(NamedTuple):
    """Time and bandwidths of one message size, out of place."""

    message_bytes: float
    time: float
    """Time of the collective [s]."""
    algorithm_bandwidth: float
    """Algorithm bandwidth, as printed [B/s]."""
    bus_bandwidth: float
    """Bus bandwidth, as printed [B/s]."""


class Timings(NamedTuple):
    """The output of one run of nccl-tests."""

    file: str
    group_size: int | None
    """Number of ranks; None if the header is missing."""
    rows: tuple[Timing, ...]
    """One entry for each message size."""
    collective: str | None = None
    """By the operation of its rows; where nothing is reduced, by the program that the output names, else
    None."""
    hosts: int | None = None
    """Number of hosts of the ranks; None if the header is missing."""
    accelerator: str | None = None
    """Name that the driver gives the accelerators; None if the header is missing, or they differ."""


def is_nccl_tests(text: str) -> bool:
    """Whether a text is an output of nccl-tests.

    >>> is_nccl_tests("# nThread 1 nGpus 8"), is_nccl_tests("iteration_time")
    (True, False)
    """
    return "nGpus" in text or "algbw" in text or any(_ROW.match(line) for line in text.splitlines()[:50])


def read_nccl_tests(path: Path, text: str) -> Timings:
    """Return the message sizes and times in an output of nccl-tests.

    Parameters
    ----------
    path : of the file, which messages name
    text : of the file

    Raises
    ------
    InputError : the text has no line of results, or an incomplete one
    """
    rows: list[Timing] = []
    kinds: set[str | None] = set()
    names: list[str] = []
    ranks = sum(bool(_RANK.match(line)) for line in text.splitlines())
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#") and "algbw" in line and "time" in line:
            names = line.replace("#wrong", " wrong ").replace("#", " ").split()
        if not _ROW.match(line):
            continue
        cells = line.split()
        row = _timing(cells, names or _guessed(cells))
        if row is None:
            raise refusal("trace.nccl_line", number=number).under(path)
        if row.message_bytes > 0 and row.time > 0:
            rows.append(row)
            kinds.add(_kind(cells, names or _guessed(cells), row, ranks))
    if not rows:
        raise refusal("trace.nccl_empty").under(path)
    kind = kinds.pop() if len(kinds) == 1 else None
    hosts = {match[1] for line in text.splitlines() if (match := _HOST.match(line))}
    devices = {match[1] for line in text.splitlines() if (match := _DEVICE.match(line))}
    device = devices.pop() if len(devices) == 1 else None
    return Timings(str(path), ranks or None, tuple(rows), kind or _program(text), len(hosts) or None, device)


def _program(text: str) -> str | None:
    """Return the collective whose program an output names; None without one, or with several."""
    programs = set(_PROGRAM.findall(text))
    return COLLECTIVES[programs.pop()] if len(programs) == 1 else None


def _guessed(cells: list[str]) -> list[str]:
    """Return the likely column names of a row without heading: operation and root are optional."""
    names = ["size", "count", "type"]
    if len(cells) > len(names) and not _NUMBER.fullmatch(cells[len(names)]):
        names.append("redop")
    rooted = [*names, "root", "time", "algbw", "busbw"]
    plain = [*names, "time", "algbw", "busbw"]
    return rooted if _timing(cells, rooted) else plain


def _timing(cells: list[str], names: list[str]) -> Timing | None:
    """Return a row's out-of-place timing; None if columns are missing or contradict each other."""
    try:
        at = names.index("time")
        size, time, algorithm, bus = float(cells[0]), *(float(cell) for cell in cells[at : at + 3])
    except (IndexError, ValueError):
        return None
    if not all(math.isfinite(value) and value >= 0 for value in (size, time, algorithm, bus)):
        return None
    expected = size / time / 1e3 if time else algorithm
    if abs(expected - algorithm) > TOLERANCE[0] * expected + TOLERANCE[1]:
        return None
    return Timing(size, time * MICROSECOND, algorithm * 1e9, bus * 1e9)


def _kind(cells: list[str], names: list[str], row: Timing, ranks: int) -> str | None:
    """Return the reducing collective of a row, by operation, root, and bus over algorithm bandwidth."""
    by_name = dict(zip(names, cells, strict=False))
    if by_name.get("redop", "none") == "none":
        return None
    if by_name.get("root", "-1") != "-1":
        return "reduce"
    if ranks > 1 and row.algorithm_bandwidth > 0:
        factors = {kind: float(bus_bandwidth(kind, 1.0, ranks)) for kind in ("all-reduce", "reduce-scatter")}
        factor = row.bus_bandwidth / row.algorithm_bandwidth
        return min(factors, key=lambda kind: abs(factors[kind] - factor))
    return "all-reduce"
