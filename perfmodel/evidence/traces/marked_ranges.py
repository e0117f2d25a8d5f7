"""Time by the ranges that a program marks: NVTX under Nsight Systems, ``record_function`` under PyTorch."""

from __future__ import annotations

import re
from typing import NamedTuple

MOST_NAMES = 2000
"""Kept apart; further ones go into ``OTHERS``."""
LONGEST_NAME = 120
OTHERS = "other ranges"
_COUNTER = re.compile(r"(?:, ?(?:op_id|seq|id) ?= ?\d+)+|(?<=[#_ :-])\d+$|\[[^\]]{0,99}\]$|\d{2,}$")


class Range(NamedTuple):
    """All ranges of one name, numbers at its end left out."""

    name: str
    occurrences: int
    host_time: float
    """[s], of ranges within ranges both."""
    device_time: float | None
    """Of the kernels that were launched in it, or that the profiler puts in it [s]; None where unknown."""


class Ranges:
    """Sums by name, as ranges are read."""

    def __init__(self) -> None:
        self._sums: dict[str, list[float]] = {}

    def name(self, text: str) -> str:
        """Return the name a range is summed under.

        >>> Ranges().name("ProfilerStep#7"), Ranges().name("aten::mm, op_id = 317")
        ('ProfilerStep#', 'aten::mm')
        """
        plain = _COUNTER.sub("", text[:LONGEST_NAME]).strip() or text[:LONGEST_NAME]
        return plain if plain in self._sums or len(self._sums) < MOST_NAMES else OTHERS

    def add(
        self, name: str, host_time: float = 0.0, device_time: float | None = None, count: int = 0
    ) -> None:
        """Add times [s] to a name of ``name``."""
        sums = self._sums.setdefault(name, [0, 0.0, float("nan")])
        sums[0] += count
        sums[1] += host_time
        if device_time is not None:
            sums[2] = device_time if sums[2] != sums[2] else sums[2] + device_time

    def listed(self) -> tuple[Range, ...]:
        """Return them, the longest on the device first."""
        result = [
            Range(name, int(count), host, device if device == device else None)
            for name, (count, host, device) in self._sums.items()
        ]
        return tuple(sorted(result, key=lambda one: (-(one.device_time or 0.0), -one.host_time, one.name)))
