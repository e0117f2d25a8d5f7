"""Exceptions to the properties, each with its reason: what looks wrong and is so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

ONE_ACCELERATOR = (
    "peak_flops",
    "vector_peak_flops",
    "memory_bandwidth",
    "kernel_floor",
    "dispatch_time",
    "loader_workers",
    "decode_rate",
    "storage_bandwidth",
    "host_link_bandwidth",
)
"""What the time of one accelerator hangs on, its samples included."""


class Allowed(NamedTuple):
    """One exception."""

    name: str
    reason: str
    holds: Callable[[Any], bool]
    """Whether it explains a violation, but for its size."""
    most: float
    """Excess it may explain, as a part of the iteration time."""

    def allows(self, violation: Any) -> bool:
        """Return whether it explains a violation."""
        return bool(violation.excess <= self.most and self.holds(violation))


EXCEPTIONS = (
    Allowed(
        "a measured accelerator",
        "An anchor fixes the time of one accelerator, so a faster part of it only shifts time between the "
        "forward and the backward pass, which hide communication unequally, or makes of a measured "
        "computation a measured wait for samples, which accelerators of one node share.",
        lambda v: (
            v.check == "better_hardware"
            and bool(v.asked.keys() & {"anchor", "profile"})
            and v.of.split()[0] in ONE_ACCELERATOR
        ),
        1.0,
    ),
    Allowed(
        "messages fused by what is ready",
        "Horovod's thread sends what is there when it wakes.  On a faster network or after faster layers it "
        "wakes earlier, finds less, and may leave one message more for the end: an anomaly of greedy "
        "schedules (Graham 1969), bounded by a message and its start-up.",
        lambda v: v.overlap == "fused" and v.check in ("better_hardware", "larger_batch", "best_choices"),
        0.10,
    ),
    Allowed(
        "messages merged by a straight line",
        "The best of all partitions is found where a message of S bytes takes a + b S.  Where algorithms "
        "take turns by size the time bends, and messages are merged by its chord.",
        lambda v: (
            v.overlap == "optimal"
            and (v.of.startswith("algorithm best") or v.algorithm in ("best", "auto", "tree", "nvls"))
        ),
        0.05,
    ),
)
