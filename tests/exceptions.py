"""Exceptions to the properties, each with its reason: what looks wrong and is so.

Not compared at all is an input that changes the factor of an anchor: the measured time of one accelerator
stays as it is, so after a change of that accelerator, or of what feeds it, the factor means something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Allowed(NamedTuple):
    """One exception."""

    name: str
    reason: str
    holds: Callable[[Any], bool]
    """Whether it explains a violation, but for its size."""
    most: Callable[[Any], float]
    """Excess it may explain, as a part of the iteration time."""

    def allows(self, violation: Any) -> bool:
        """Return whether it explains a violation."""
        return bool(self.holds(violation) and violation.excess <= self.most(violation))


def _of_hardware_or_batch(violation: Any) -> bool:
    return violation.check in ("better_hardware", "larger_batch") or violation.of.endswith(" slower")


def _of_algorithms(violation: Any) -> bool:
    return bool(violation.check == "best_choices" and violation.of.startswith("algorithm "))


EXCEPTIONS = (
    Allowed(
        "fused: a faster job fuses less",
        "Horovod's thread sends what is there when it wakes.  On a faster network or after faster layers it "
        "wakes earlier, finds less, and leaves more for the end: an anomaly of greedy schedules (Graham "
        "1969).  What is late is at most the longest message of either schedule and one cycle.",
        lambda v: v.overlap == "fused" and (_of_hardware_or_batch(v) or _of_algorithms(v)),
        lambda v: v.longest_message,
    ),
    Allowed(
        "optimal: monotone in the hardware only where messages take a + b S",
        "The best of all partitions is found where a message of S bytes takes a + b S; where algorithms or "
        "protocols take turns by size, messages are merged by a chord of that curve, and the partition found "
        "for faster hardware may suit it less.  That optimal is no slower than any other overlap holds.",
        lambda v: (
            v.overlap == "optimal"
            and _of_hardware_or_batch(v)
            and v.strategy == "all-reduce"
            and v.algorithm in ("best", "auto", "ring", "tree", "nvls", "nvls-tree")
        ),
        lambda v: 0.05,
    ),
    Allowed(
        "optimal: merging for servers leaves out what hiding costs",
        "What accelerators add up among themselves before servers do slows the computation that hides it, "
        "by a share of all communication; merging weighs the finish alone there, so that faster hardware may "
        "get a partition that hides a little more.  That optimal is no slower than any other overlap holds.",
        lambda v: v.overlap == "optimal" and _of_hardware_or_batch(v) and v.strategy == "parameter-server",
        lambda v: 0.001,
    ),
    Allowed(
        "peak: what launches and memory take less, products take more",
        "Where learned efficiencies would beat the peak, all passes are slowed until the iteration takes "
        "what the peak does, launches and update included.  Faster ones leave more of that to products, and "
        "less to layers of many launches: where those come last, gradients of the others are ready later.",
        lambda v: (
            v.check == "better_hardware"
            and v.at_peak
            and v.of.startswith(("kernel_floor ", "dispatch_time ", "memory_bandwidth "))
        ),
        lambda v: 0.001,
    ),
    Allowed(
        "profile: only its passes spread",
        "The spread that goes with a profile is that of the passes, not of the update.  Where the host sets "
        "the pace, a faster update hides less of the host's work, which then counts to the passes: the "
        "iteration of one worker is shorter, but more of it spreads.",
        lambda v: v.check == "better_hardware" and {"profile", "jitter"} <= v.asked.keys(),
        lambda v: 0.05,
    ),
    Allowed(
        "optimal: the best algorithm's messages are not another's",
        "Under optimal each algorithm merges messages by its own line.  The best of all algorithms, whose "
        "line is a chord, may merge them worse than one that has a straight line, and be slower than that.",
        lambda v: v.overlap == "optimal" and _of_algorithms(v),
        lambda v: 0.05,
    ),
)
