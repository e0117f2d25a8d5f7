"""The Pareto front of plans by time and cost, and the best of several plans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = dict[str, NDArray[Any]]

TIE = 1e-9
"""Relative difference below which two numbers are equal but for rounding."""


def front(time: Any, cost: Any, tie: Any = None) -> NDArray[np.intp]:
    """Return the indices of the Pareto front: no other pair is smaller in one and not larger in the other.

    Of equal pairs one is kept.  Ordered by rising time, hence falling cost.  A pair with a number that is not
    finite is never on the front.

    Parameters
    ----------
    time, cost : shape (plans,); any two quantities of which less is better
    tie : shape (plans,); of equal pairs the one with the least is kept, by default the first

    Examples
    --------
    Three hours for $2 beat three hours for $4 and five hours for $3; one hour for $9 stays.

    >>> front([3.0, 1.0, 5.0, 3.0], [4.0, 9.0, 3.0, 2.0]).tolist()
    [1, 3]

    Of two that are as fast and cost as much, the one that draws less power.

    >>> front([1.0, 1.0], [2.0, 2.0], [5.0, 4.0]).tolist()
    [1]
    """
    time, cost = np.asarray(time, dtype=np.float64), np.asarray(cost, dtype=np.float64)
    able = np.flatnonzero(np.isfinite(time) & np.isfinite(cost))
    if not len(able):
        return able
    costs = ranks(cost[able])
    third = np.zeros(len(able)) if tie is None else np.asarray(tie, dtype=np.float64)[able]
    order = np.lexsort((able, third, costs, ranks(time[able])))
    costs = costs[order]
    before = np.concatenate(([len(able)], np.minimum.accumulate(costs)[:-1]))
    best: NDArray[np.intp] = able[order[costs < before]]
    return best


def best_of(rows: Any, first: Any, second: Any, tie: Any) -> int:
    """Return the row with the least of one quantity, of equal rows that with the least second, then third.

    Parameters
    ----------
    rows : indices, at least one
    first, second, tie : shape (plans,), the first two finite at the rows
    """
    order = np.lexsort((rows, tie[rows], ranks(second[rows]), ranks(first[rows])))
    return int(rows[order[0]])


def ranks(values: Any) -> NDArray[np.intp]:
    """Return the rank of each number; numbers that differ by rounding alone share one.

    >>> ranks([3.0, 1.0, 3.0000000000001, 2.0]).tolist()
    [2, 0, 2, 1]
    """
    values = np.asarray(values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    rising = values[order]
    place = np.empty(len(values), dtype=np.intp)
    place[order] = np.concatenate(([0], np.cumsum(np.diff(rising) > TIE * np.abs(rising[1:]))))
    return place


def evenly_spaced(count: int, most: int) -> list[int]:
    """Return at most ``most`` evenly spaced indices of ``count`` elements, first and last included.

    >>> evenly_spaced(3, 10), evenly_spaced(43, 4)
    ([0, 1, 2], [0, 14, 28, 42])
    """
    if count <= most:
        return list(range(count))
    return [round(i * (count - 1) / (most - 1)) for i in range(most)]
