"""The Pareto front of plans by time and cost, and the best of several plans."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = dict[str, NDArray[Any]]

TIE = 1e-9
"""Relative difference of numbers that are the same but for rounding."""


LIKELY = 0.8
"""Probability with which a plan should keep within a limit to be recommended."""
SLACK = 0.1
"""Share that a plan may be dearer, or slower, to be surer, where none is ``LIKELY`` (a choice)."""
_Z_LIKELY, _Z_80 = NormalDist().inv_cdf(LIKELY), NormalDist().inv_cdf(0.9)
"""Standard deviations to that, and to an end of an interval of 80 %."""


def likely_time(table: Table) -> NDArray[np.float64]:
    """Return what the run of each plan takes at most with the probability ``LIKELY`` [s]; shape (plans,).

    Where no interval was learned, that is what is predicted.
    """
    time = np.asarray(table["run_time"], dtype=np.float64)
    high = np.asarray(table["run_time_high_80"], dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        longer = (high / time) ** (_Z_LIKELY / _Z_80)
    return time * np.where(np.isfinite(longer), longer, 1.0)


def likely(table: Table, deadline: float | None, budget: float | None) -> NDArray[np.bool_]:
    """Return which plans keep within the limits with the probability ``LIKELY``; shape (plans,).

    That is of the deadline, and the budget is kept as predicted; of a budget alone, of that.
    """
    times, cost = likely_time(table), np.asarray(table["cost"], dtype=np.float64)
    if deadline is None:
        with np.errstate(invalid="ignore"):
            cost = cost * times / np.asarray(table["run_time"], dtype=np.float64)
    most_time, most_cost = (np.inf if limit is None else limit for limit in (deadline, budget))
    within: NDArray[np.bool_] = (times <= most_time) & ((cost <= most_cost) | (budget is None))
    return within


def spreads_within(table: Table, deadline: float | None, budget: float | None) -> NDArray[np.float64]:
    """Return by how many spreads each plan keeps within the deadline, or a budget alone; shape (plans,).

    The larger, the more probable.  Not a number where no interval was learned.
    """
    time, high = (np.asarray(table[name], dtype=np.float64) for name in ("run_time", "run_time_high_80"))
    cost = np.asarray(table["cost"], dtype=np.float64)
    most_time, most_cost = (np.inf if limit is None else limit for limit in (deadline, budget))
    with np.errstate(invalid="ignore", divide="ignore"):
        room = np.log(most_cost / cost if deadline is None else most_time / time)
        spreads: NDArray[np.float64] = room / np.log(high / time)
    return spreads


def front(time: Any, cost: Any, tie: Any = None) -> NDArray[np.intp]:
    """Return the indices of the pairs that none other is at most as large as in both and smaller in one.

    Of equal pairs one is kept, so each index differs from the next in both.  Ordered by time rising,
    hence cost falling.  A pair with a number that is not finite is never on the front.

    Parameters
    ----------
    time, cost : shape (plans,); any two quantities of which less is better
    tie : shape (plans,); of equal pairs the one with the least of it is kept, or else the first

    Examples
    --------
    Three hours for $2 beat three hours for $4 and five hours for $3; one hour for $9 stays.

    >>> front([3.0, 1.0, 5.0, 3.0], [4.0, 9.0, 3.0, 2.0]).tolist()
    [1, 3]

    Of two that are as fast and as dear, the one that draws less.

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
    """Return the one of some rows with the least of one quantity, then of another, then of a third.

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
    """Return evenly spaced indices of ``count`` things, at most ``most`` of them, first and last included.

    >>> evenly_spaced(3, 10), evenly_spaced(43, 4)
    ([0, 1, 2], [0, 14, 28, 42])
    """
    if count <= most:
        return list(range(count))
    return [round(i * (count - 1) / (most - 1)) for i in range(most)]
