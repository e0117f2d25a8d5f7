"""Which plans keep within a deadline and a budget, with which probability, and what they take at most.

Time and cost of a plan are off by the same factor, log-normal with the interval of the plan: a plan is within
both limits with the smaller of the two probabilities.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from perfmodel.model.fitted.calibration import NORMAL_80

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = dict[str, NDArray[Any]]

SETTINGS: Final = (0.5, 0.8, 0.95)
"""How sure a buyer usually wants to be: as likely as not, likely, all but certain (a choice)."""


class Limits(NamedTuple):
    """What a run must keep within, and how surely."""

    deadline: float | None
    """[s]"""
    budget: float | None
    """[$]"""
    confidence: float
    """Least probability of keeping within both."""

    @property
    def by_cost(self) -> bool:
        """Whether the cheapest plan is wanted: always, except with a budget and no deadline."""
        return self.deadline is not None or self.budget is None

    @property
    def words(self) -> str:
        """Which limits there are: "deadline and budget"."""
        return " and ".join(name for name in ("deadline", "budget") if getattr(self, name) is not None)


def beyond(half_width: Any, confidence: float) -> Any:
    """Return by how much the logarithm of a time may exceed its median, with a probability.

    Parameters
    ----------
    half_width : of the 80 % interval, in log time
    confidence : probability that it is no more

    >>> round(beyond(0.3, 0.9), 3), beyond(0.3, 0.5)
    (0.3, 0.0)
    """
    return half_width * (NormalDist().inv_cdf(confidence) / NORMAL_80)


def at_most(table: Table, confidence: float) -> NDArray[np.float64]:
    """Return by what factor each plan takes longer and costs more than predicted at most; shape (plans,).

    It is 1 where no interval was learned.

    Parameters
    ----------
    table : with ``run_time`` and ``run_time_high_80``
    confidence : probability that it is no more
    """
    with np.errstate(invalid="ignore"):
        factor = np.exp(beyond(_half_width(table), confidence))
    return np.where(np.isnan(factor), 1.0, factor)


def likely(table: Table, limits: Limits) -> NDArray[np.bool_]:
    """Return which plans keep within all limits with the probability asked for; shape (plans,).

    Plans without an interval are taken as predicted; those without a price keep within no budget.
    """
    factor = at_most(table, limits.confidence)
    result = np.ones(len(factor), dtype=bool)
    for amount, limit in _amounts(table, limits):
        result &= factor * amount <= limit
    return result


def spreads_within(table: Table, limits: Limits) -> NDArray[np.float64]:
    """Return the margin of each plan below its limits, over the half-width of its interval; shape (plans,).

    Margin and half-width are in log time; of two limits it is the smaller margin.  A larger value is more
    probable.  Not a number where no interval was learned or an amount is unknown.
    """
    room = np.full(len(table["run_time"]), np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        for amount, limit in _amounts(table, limits):
            room = np.minimum(room, np.log(limit / amount))
        spreads: NDArray[np.float64] = room / _half_width(table)
    return spreads


def share_within(spreads: float) -> float:
    """Return the probability of a margin of so many half-widths of the 80 % interval.

    >>> round(share_within(1.0), 3), share_within(0.0)
    (0.9, 0.5)
    """
    return NormalDist().cdf(spreads * NORMAL_80)


def _amounts(table: Table, limits: Limits) -> list[tuple[NDArray[np.float64], float]]:
    """Return times and costs of plans, each with its limit, of the limits that there are."""
    pairs = (("run_time", limits.deadline), ("cost", limits.budget))
    return [(np.asarray(table[name], dtype=np.float64), limit) for name, limit in pairs if limit is not None]


def _half_width(table: Table) -> NDArray[np.float64]:
    """Return the half-width of each plan's 80 % interval, in log time; not a number where there is none."""
    time, high = (np.asarray(table[name], dtype=np.float64) for name in ("run_time", "run_time_high_80"))
    with np.errstate(invalid="ignore", divide="ignore"):
        width: NDArray[np.float64] = np.log(high / time)
    return width


def share_words(share: float) -> str:
    """Return a probability in per cent, with as many digits as are known.

    >>> share_words(0.123), share_words(0.0123), share_words(0.0001), share_words(0.9999)
    ('12 %', '1.2 %', 'under 1 in 1,000', 'over 99 %')
    """
    if share < 0.001:
        return "under 1 in 1,000"
    return f"{100 * share:.2g} %" if share <= 0.99 else "over 99 %"


def percent(confidence: float) -> str:
    """Return a probability that was asked for, in per cent.

    >>> percent(0.8), percent(0.975)
    ('80 %', '97.5 %')
    """
    return f"{round(100 * confidence, 6):g} %"
