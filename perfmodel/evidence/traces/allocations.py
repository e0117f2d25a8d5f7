"""Allocated memory of a device over time, and its peak by the pass that allocated it."""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from perfmodel.core.arrays import Array

MOST = 2_000_000
"""Largest number of events kept of a device; a file of a few steps has some ten thousand."""
POINTS = 120
"""Largest number of points of a curve."""
LARGEST = 1e15
"""Numbers of this size or larger in a file are ignored [B]."""
CATEGORIES = {
    "before": "held before the trace began",
    "forward": "allocated in the forward pass",
    "backward": "allocated in the backward pass",
    "update": "allocated in the update",
}
"""Keys of ``peak_by_category``, in words."""


class Memory(NamedTuple):
    """Memory that the allocator of a device held."""

    peak: float
    """Largest amount allocated [B]."""
    peak_time: float
    """Time of the peak [s]."""
    peak_reserved: float | None
    """Largest amount reserved from the driver [B]; None if the file does not state it."""
    peak_by_category: dict[str, float] | None
    """Memory at the peak [B] by the keys of ``CATEGORIES``; None if allocations have no address."""
    curve: tuple[tuple[float, float], ...]
    """Time [s] and bytes: the maximum of each of at most ``POINTS`` groups of events."""
    relative: bool
    """Whether the file has only changes, so that all amounts exclude what was held when it began."""
    whole: bool
    """False if the file has more events than are kept."""


class Allocations:
    """Collects the events of one device's allocator."""

    def __init__(self) -> None:
        self._rows = array("d")
        self._more = False

    def add(self, time: float, arguments: dict[str, Any]) -> None:
        """Add one event at a time [s]; arguments of a wrong type are ignored."""
        if len(self._rows) >= 5 * MOST:
            self._more = True
            return
        size = _number(arguments.get("Bytes"))
        if size is not None:
            self._rows.extend(
                (
                    time,
                    size,
                    *(
                        np.nan if number is None else number
                        for number in (
                            _number(arguments.get(name))
                            for name in ("Addr", "Total Allocated", "Total Reserved")
                        )
                    ),
                )
            )

    def memory(self, backwards: Array, updates: Array) -> Memory | None:
        """Return the memory held over time; None without events.

        Parameters
        ----------
        backwards, updates : intervals of backward passes and updates on the host, disjoint and sorted [s]
        """
        rows = np.array(self._rows, dtype=np.float64).reshape(-1, 5)
        rows = rows[np.argsort(rows[:, 0], kind="stable")]
        if not len(rows):
            return None
        relative = bool(np.isnan(rows[:, 3]).any())
        held = np.cumsum(rows[:, 1]) if relative else rows[:, 3]
        held = held - min(0.0, float(held.min()))
        at = int(np.argmax(held))
        reserved = rows[:, 4][~np.isnan(rows[:, 4])]
        return Memory(
            float(held[at]),
            float(rows[at, 0]),
            float(reserved.max()) if len(reserved) else None,
            None
            if np.isnan(rows[:, 2]).any()
            else _categories(rows[: at + 1], float(held[at]), backwards, updates),
            _curve(rows[:, 0], held),
            relative,
            not self._more,
        )


def _number(value: Any) -> float | None:
    """Return a value as a number, None if it is not one or too large."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LARGEST:
        return None
    return float(value)


def _categories(rows: Array, peak: float, backwards: Array, updates: Array) -> dict[str, float]:
    """Return the memory that is alive after the last event, by the pass that allocated it [B]."""
    alive: dict[float, tuple[float, float]] = {}
    for time, size, address in rows[:, :3].tolist():
        if size > 0:
            alive[address] = (time, size)
        else:
            alive.pop(address, None)
    held = np.array(list(alive.values())).reshape(-1, 2)
    in_update = _inside(held[:, 0], updates)
    in_backward = ~in_update & _inside(held[:, 0], backwards)
    sizes = {
        "forward": float(held[~in_update & ~in_backward, 1].sum()),
        "backward": float(held[in_backward, 1].sum()),
        "update": float(held[in_update, 1].sum()),
    }
    return {"before": max(0.0, peak - sum(sizes.values())), **sizes}


def _inside(times: Array, spans: Array) -> Any:
    """Return which times lie in one of the disjoint, sorted intervals."""
    if not len(spans):
        return np.zeros(len(times), dtype=bool)
    index = np.searchsorted(spans[:, 0], times, side="right") - 1
    return (index >= 0) & (times <= spans[np.maximum(index, 0), 1])


def _curve(times: Array, held: Array) -> tuple[tuple[float, float], ...]:
    """Return the event with the largest memory in each of at most ``POINTS`` groups of successive events."""
    bins = np.linspace(0, len(times), min(POINTS, len(times)) + 1).astype(int)
    largest = [first + int(np.argmax(held[first:last])) for first, last in pairwise(bins)]
    return tuple((float(times[at]), float(held[at])) for at in largest)
