"""Output of nccl-tests: one line for each message size, out of place and in place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from perfmodel.errors import InputError

MICROSECOND = 1e-6
LARGEST_TEXT = 64 << 20
_ROW = re.compile(r"^\s*\d+\s+\d+\s+\w+\s+\w+\s+-?\d+\s+[\d.]+\s")
_RANK = re.compile(r"#\s+Rank\s+\d+", re.IGNORECASE)


class Timing(NamedTuple):
    """One message size."""

    message_bytes: float
    time: float
    """Out of place [s]."""
    algorithm_bandwidth: float
    """[B/s]"""
    bus_bandwidth: float
    """[B/s]"""


class Timings(NamedTuple):
    """What one run of a test printed."""

    file: str
    group_size: int | None
    """Ranks in the header; None where it was cut off."""
    rows: tuple[Timing, ...]


def is_nccl_tests(text: str) -> bool:
    """Whether a text is what the tests print.

    >>> is_nccl_tests("# nThread 1 nGpus 8"), is_nccl_tests("iteration_time")
    (True, False)
    """
    return "nGpus" in text or "algbw" in text or any(_ROW.match(line) for line in text.splitlines()[:50])


def read_nccl_tests(path: Path, text: str) -> Timings:
    """Return the sizes and times in a test's output.

    Raises
    ------
    InputError : no line of results, or one that is cut off
    """
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not _ROW.match(line):
            continue
        cells = line.split()
        try:
            size, time, algorithm, bus = float(cells[0]), float(cells[5]), float(cells[6]), float(cells[7])
        except (IndexError, ValueError):
            raise InputError(
                f"{path}: line {number}: expected size, count, type, ..., time, algbw, busbw"
            ) from None
        if size > 0 and time > 0:
            rows.append(Timing(size, time * MICROSECOND, algorithm * 1e9, bus * 1e9))
    if not rows:
        raise InputError(f"{path}: no line of results; expected the output of an nccl-tests program")
    ranks = sum(bool(_RANK.match(line)) for line in text.splitlines())
    return Timings(str(path), ranks or None, tuple(rows))
