"""Times of the ranges that a program marks: NVTX in Nsight Systems, ``record_function`` in PyTorch."""

from __future__ import annotations

import re
from typing import NamedTuple

MOST_NAMES = 2000
"""Largest number of names; further ranges are summed under ``OTHERS``."""
LONGEST_NAME = 120
OTHERS = "other ranges"
_COUNTER = re.compile(r"(?:, ?(?:op_id|seq|id) ?= ?\d+)+|(?<=[#_ :-])\d+$|\[[^\]]{0,99}\]$|\d{2,}$")


class Range(NamedTuple):
    """All ranges of one name, without numbers at its end."""

    name: str
    occurrences: int
    host_time: float
    """Time on the host; nested ranges count in both [s]."""
    device_time: float | None
    """Time of the kernels launched in it, or that the profiler assigns to it [s]; None if unknown."""


class Ranges:
    """Sums the times of ranges by name."""

    def __init__(self) -> None:
        self._sums: dict[str, list[float]] = {}

    def name(self, text: str) -> str:
        """Return the name under which a range is summed: its text without numbers at the end.

        >>> Ranges().name("ProfilerStep#7"), Ranges().name("aten::mm, op_id = 317")
        ('ProfilerStep#', 'aten::mm')
        """
        plain = _COUNTER.sub("", text[:LONGEST_NAME]).strip() or text[:LONGEST_NAME]
        return plain if plain in self._sums or len(self._sums) < MOST_NAMES else OTHERS

    def add(
        self, name: str, host_time: float = 0.0, device_time: float | None = None, count: int = 0
    ) -> None:
        """Add times [s] and a count to a name that ``name`` returned."""
        sums = self._sums.setdefault(name, [0, 0.0, float("nan")])
        sums[0] += count
        sums[1] += host_time
        if device_time is not None:
            sums[2] = device_time if sums[2] != sums[2] else sums[2] + device_time

    def listed(self) -> tuple[Range, ...]:
        """Return the ranges, by descending time on the device."""
        result = [
            Range(name, int(count), host, device if device == device else None)
            for name, (count, host, device) in self._sums.items()
        ]
        return tuple(sorted(result, key=lambda one: (-(one.device_time or 0.0), -one.host_time, one.name)))
