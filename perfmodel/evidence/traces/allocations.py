"""Memory of a device over time, and what held it when it was fullest."""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from perfmodel.core.arrays import Array

MOST = 2_000_000
"""Events kept of a device; a file of a few steps has some ten thousand."""
POINTS = 120
"""Of a curve."""
LARGEST = 1e15
"""[B]"""
CATEGORIES = {
    "before": "held before the trace began",
    "forward": "allocated in the forward pass",
    "backward": "allocated in the backward pass",
    "update": "allocated in the update",
}
"""Keys of ``peak_by_category``, in words."""


class Memory(NamedTuple):
    """What the allocator of a device held."""

    peak: float
    """Largest amount allocated [B]."""
    peak_time: float
    """[s]"""
    peak_reserved: float | None
    """Largest amount taken from the driver [B]; None where the file does not say."""
    peak_by_category: dict[str, float] | None
    """[B], by the keys of ``CATEGORIES``; None where allocations have no address."""
    curve: tuple[tuple[float, float], ...]
    """Time [s] and bytes, the largest of each of at most ``POINTS`` stretches of time."""
    relative: bool
    """Whether the file has changes alone, so that all is on top of what was held when it began."""
    whole: bool
    """False where the file has more events than are kept."""


class Allocations:
    """Events of one device's allocator, as they are read."""

    def __init__(self) -> None:
        self._rows = array("d")
        self._more = False

    def add(self, time: float, arguments: dict[str, Any]) -> None:
        """Take one event, whose arguments may be anything."""
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
        """Return what was held; None without events.

        Parameters
        ----------
        backwards, updates : spans of these passes on the host, disjoint and sorted
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
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < LARGEST:
        return None
    return float(value)


def _categories(rows: Array, peak: float, backwards: Array, updates: Array) -> dict[str, float]:
    """What is alive after the last event, by the pass in which it was allocated."""
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
    if not len(spans):
        return np.zeros(len(times), dtype=bool)
    index = np.searchsorted(spans[:, 0], times, side="right") - 1
    return (index >= 0) & (times <= spans[np.maximum(index, 0), 1])


def _curve(times: Array, held: Array) -> tuple[tuple[float, float], ...]:
    bins = np.linspace(0, len(times), min(POINTS, len(times)) + 1).astype(int)
    largest = [first + int(np.argmax(held[first:last])) for first, last in pairwise(bins)]
    return tuple((float(times[at]), float(held[at])) for at in largest)
