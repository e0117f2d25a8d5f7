"""Shares of the time by type of work, and utilisation of the multiprocessors, as profilers show them."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perfmodel.evidence.traces.device_trace import intervals, length, union, within

if TYPE_CHECKING:
    from perfmodel.evidence.traces.device_trace import Activity, Array, DeviceTrace

SHARES = {
    "kernels": "kernels",
    "copies": "copies and fills of memory",
    "communication": "communication without a kernel",
    "runtime": "calls of the GPU's runtime",
    "loader": "waiting for the loader",
    "cpu": "operators on the host",
    "other": "nothing recorded",
}
"""Keys of ``shares`` in words.  Time in which several ran counts for the first of them."""
MOST_HELD = 400_000
"""Numbers (two for each interval) that are collected before overlapping intervals are merged."""


class Spans:
    """Collects intervals, and merges overlapping ones from time to time to limit memory."""

    def __init__(self) -> None:
        self._ends = array("d")
        self._held = MOST_HELD

    def add(self, span: tuple[float, float]) -> None:
        """Add one interval: start and end [s]."""
        self._ends.extend(span)
        if len(self._ends) > self._held:
            united = self.united()
            self._ends = array("d", united.ravel().tolist())
            self._held = len(self._ends) + MOST_HELD

    def united(self) -> Array:
        """Return the union of the intervals, shape (n, 2)."""
        spans = np.array(self._ends, dtype=np.float64).reshape(-1, 2)
        return union(spans[np.argsort(spans[:, 0], kind="stable")])


class Filling(NamedTuple):
    """Utilisation of a device's multiprocessors in a time window; None if the file does not state it."""

    sm_efficiency: float | None
    """Mean share of the multiprocessors that had a block: min(1, blocks per SM) of the kernels, weighted by
    their time and over the whole window, as PyTorch's own view estimates it."""
    achieved_occupancy: float | None
    """Active threads over the most that a multiprocessor can hold, mean over kernels weighted by their
    time."""


def shares(trace: DeviceTrace, start: float, end: float) -> dict[str, float] | None:
    """Return the share of each type of work in a time window; None if the file has only kernels.

    Parameters
    ----------
    trace : of one device
    start, end : of the window [s]
    """
    activity = trace.activity
    if activity is None or end <= start:
        return None
    by_kind = {
        "kernels": trace.compute,
        "copies": activity.moved,
        "communication": trace.communication,
        "runtime": activity.runtime,
        "loader": trace.input_waits,
        "cpu": activity.cpu,
    }
    result, taken, covered = {}, intervals([]), 0.0
    for name, spans in by_kind.items():
        both = np.concatenate([taken, within(spans, start, end)])
        taken = union(both[np.argsort(both[:, 0], kind="stable")])
        result[name] = float((length(taken) - covered) / (end - start))
        covered = length(taken)
    return {**result, "other": float(max(0.0, 1 - covered / (end - start)))}


def filling(activity: Activity | None, start: float, end: float, utilisation: float) -> Filling:
    """Return the utilisation of a device's multiprocessors in a time window.

    Parameters
    ----------
    activity : None if the file has only kernels
    start, end : of the window [s]
    utilisation : share of the time in which a kernel ran, an upper bound of the share of the multiprocessors
    """
    if activity is None or not len(activity.kernels) or end <= start:
        return Filling(None, None)
    rows = activity.kernels
    times = np.maximum(0.0, np.minimum(rows[:, 1], end) - np.maximum(rows[:, 0], start))
    blocks, occupied = np.minimum(1.0, rows[:, 2]), rows[:, 3]
    sized, known = ~np.isnan(blocks) & (times > 0), ~np.isnan(occupied) & (times > 0)
    return Filling(
        min(utilisation, float((times * blocks)[sized].sum() / (end - start))) if sized.any() else None,
        float((times * occupied)[known].sum() / times[known].sum()) if known.any() else None,
    )
