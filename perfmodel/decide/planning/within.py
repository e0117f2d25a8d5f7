"""Which plans keep within a deadline and a budget, with which probability, and what they take at most.

Time and cost of a plan are off by the same factor, log-normal with the interval of the plan: a plan is within
both limits with the smaller of the two probabilities.  It must fit into memory too, of which the error is
another: the probabilities of both multiply.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from perfmodel.decide.planning.front import TIE
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.prediction.memory_odds import stated_odds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = dict[str, NDArray[Any]]

SETTINGS: Final = (0.5, 0.8, 0.95)
"""How sure a buyer usually wants to be: as likely as not, likely, all but certain (a choice)."""

CERTAIN_WIDTH: Final = 1e-3
"""Width in logarithm that stands for none, to order plans that certainly exceed a limit (a choice)."""
HOPELESS = 0.01
"""Probability up to which a plan surely misses the limits (a choice)."""


class Limits(NamedTuple):
    """What a run must keep within, and how surely."""

    deadline: float | None
    """[s]"""
    budget: float | None
    """[$]"""
    confidence: float
    """Least probability of fitting into memory and keeping within both."""

    @property
    def by_cost(self) -> bool:
        """Whether the cheapest plan is wanted: always, except with a budget and no deadline."""
        return self.deadline is not None or self.budget is None

    @property
    def words(self) -> str:
        """Which limits there are: "deadline and budget"."""
        return " and ".join(name for name in ("deadline", "budget") if getattr(self, name) is not None)


def judged(table: Table, limits: Limits) -> Table:
    """Return what each plan takes at most, its risks and its probability, as columns; nan where unknown.

    ``run_time_at_most``, ``cost_at_most`` and ``samples_per_second_at_least`` hold with the ``confidence`` of
    the limits, the memory's risk included; they are unknown where the memory alone has more risk.
    At a reserved price the budget is for the whole term, which ``cost_at_most`` includes.
    ``probability`` is that of fitting into memory and keeping within all limits.

    Parameters
    ----------
    table : with times, costs and memory of plans, shape (plans,) each
    limits : of the run
    """
    time, cost, owed = _numbers(table, "run_time"), _numbers(table, "cost"), paid(table)
    with np.errstate(divide="ignore", invalid="ignore"):
        low, high = (_numbers(table, f"run_time_{end}") / time for end in ("low_80", "high_80"))
        odds = _memory_odds(table)
        deviations = _deviations(limits.confidence / odds.fits_probability)
        at_most = np.exp(np.log(high) * deviations)
        slower = np.exp(
            np.log(_numbers(table, "iteration_time_high_80") / table["iteration_time"]) * deviations
        )
        risks = {
            name: _risk(amount, low, high, limit)
            for name, amount, limit in (
                ("deadline_risk", time, limits.deadline),
                ("budget_risk", cost, limits.budget),
            )
        }
        if limits.budget is not None:
            beyond = _commits_beyond(cost, owed, limits.budget)
            risks["budget_risk"] = np.where(beyond, 1.0, risks["budget_risk"])
        rate = table["samples_per_second"] / slower
    columns = {
        "cost_low_80": cost * low,
        "cost_high_80": cost * high,
        "run_time_at_most": time * at_most,
        "cost_at_most": np.where(owed > cost * at_most, owed, cost * at_most),
        "samples_per_second_at_least": rate,
        "fits_probability": odds.fits_probability,
        "memory_low_80": odds.low_80,
        "memory_high_80": odds.high_80,
        **risks,
    }
    return columns | {"probability": _probability(columns, limits)}


def paid(table: Table) -> NDArray[np.float64]:
    """Return what must be paid for each plan: its run, at a reserved price the whole term [$]; (plans,).

    >>> paid({"cost": np.array([3.0, 3.0]), "committed_cost": np.array([np.nan, 8.0])}).tolist()
    [3.0, 8.0]
    """
    cost = _numbers(table, "cost")
    if "committed_cost" not in table:
        return cost
    committed = _numbers(table, "committed_cost")
    with np.errstate(invalid="ignore"):
        return np.where(committed > cost, committed, cost)


def payment(row: Mapping[str, Any]) -> float:
    """Return what must be paid for one plan of known price [$]."""
    return float(max(row["cost"], row.get("committed_cost") or 0.0))


def owes_more(row: Mapping[str, Any]) -> bool:
    """Return whether a plan of known price pays for a whole term, more than its run uses."""
    return payment(row) > float(row["cost"])


def wanted(row: Mapping[str, Any], by_cost: bool) -> float:
    """Return of what a plan should have little: what must be paid [$], or the time of the run [s]."""
    return payment(row) if by_cost else float(row["run_time"])


def likely(table: Table, limits: Limits) -> NDArray[np.bool_]:
    """Return which plans fit and keep within all limits with the probability asked for; shape (plans,).

    Plans without an interval are taken as predicted; those without a price keep within no budget.

    Parameters
    ----------
    table : with the columns of ``judged``
    limits : those it was judged by, or fewer of them, with any confidence
    """
    sure = _probability(table, limits)
    as_predicted = np.ones(len(sure), dtype=bool)
    for amount, limit in _amounts(table, limits):
        as_predicted &= amount <= limit
    no_interval = ~np.isfinite(np.asarray(table["run_time_high_80"], dtype=np.float64))
    fits = table["fits_probability"] >= limits.confidence
    return np.where(no_interval, as_predicted & fits, sure >= limits.confidence)


def surest_first(table: Table, limits: Limits) -> NDArray[np.float64]:
    """Return minus the logarithm of each plan's probability, which also orders those near 0 and 1.

    Where none is likely, the logarithm of how far each is beyond a limit instead, with what it needs of that
    as surely as asked: of chances that small the widest interval would be the surest.  Not a number where no
    interval was learned or an amount is unknown.

    Parameters
    ----------
    table : with the columns of ``judged``
    limits : of the run
    """
    margins = np.full(len(table["run_time"]), np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        time = _numbers(table, "run_time")
        ends = [np.log(_numbers(table, f"run_time_{end}") / time) for end in ("low_80", "high_80")]
        amounts = [] if limits.deadline is None else [(limits.deadline, time, np.zeros(len(time), bool))]
        if limits.budget is not None:
            cost, owed = _numbers(table, "cost"), paid(table)
            certain = _commits_beyond(cost, owed, limits.budget)
            amounts.append((limits.budget, np.where(certain, owed, cost), certain))
        for limit, amount, certain in amounts:
            room = np.log(limit / amount)
            beyond_end = certain | (_is_cut(*np.exp(ends)) & (room < ends[0]))
            width = np.where(beyond_end, CERTAIN_WIDTH + 0 * ends[1], ends[1])
            margins = np.minimum(margins, room / width)
        margins = margins * NORMAL_80
        risk = -_log_normal(margins) - np.log(table["fits_probability"])
        if np.isfinite(risk).any() and np.nanmin(risk) >= -np.log(HOPELESS):
            needed = {"deadline": "run_time_at_most", "budget": "cost_at_most"}
            kept = {name: getattr(limits, name) for name in needed if getattr(limits, name) is not None}
            nearness = np.log([_numbers(table, needed[name]) / limit for name, limit in kept.items()]).max(0)
            if not np.isfinite(nearness[np.isfinite(risk)]).any():  # each has more risk not to fit
                nearness = -np.log(table["fits_probability"])
            return np.where(np.isfinite(risk), nearness, risk)
        return risk


def _probability(table: Table, limits: Limits) -> NDArray[np.float64]:
    """Return the probability of fitting and of keeping within all limits; shape (plans,)."""
    risk = np.zeros(len(table["fits_probability"]))
    for name in ("deadline", "budget"):
        if getattr(limits, name) is not None:
            risk = np.maximum(risk, table[f"{name}_risk"])  # whoever misses the wider limit misses both
    result: NDArray[np.float64] = (1 - risk) * table["fits_probability"]
    return result


def _memory_odds(table: Table) -> Any:
    """Return the odds of fitting; where the capacity is not known, plans fit."""
    needed = _numbers(table, "memory_bytes")
    known = np.nan_to_num(_numbers(table, "memory_known")) if "memory_known" in table else 0.0 * needed
    capacity = _numbers(table, "memory_capacity") if "memory_capacity" in table else needed + math.nan
    return stated_odds(needed, known, np.where(capacity > 0, capacity, math.inf))


def _deviations(share: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the normal quantile of each share, in half-widths of an 80 % interval; nan from 1 on."""
    each, place = np.unique(share, return_inverse=True)
    quantile = NormalDist().inv_cdf
    values = [quantile(one) / NORMAL_80 if one < 1 else math.nan for one in each.tolist()]
    return np.asarray(values, dtype=np.float64)[place].reshape(share.shape)


def _risk(amount: Any, low: Any, high: Any, limit: float | None) -> NDArray[np.float64]:
    """Return the probability that amounts exceed a limit.

    Parameters
    ----------
    low, high : ends of the 80 % interval, relative to the amount
    """
    if limit is None:
        return np.full(len(amount), np.nan)
    width = np.log(high)
    chance = np.where(width == 0, amount > limit, _normal(np.log(amount / limit) / width * NORMAL_80))
    chance = np.where(np.isposinf(amount), 1.0, chance)  # of a run that never ends
    return np.where(_is_cut(low, high) & (limit < low * amount), 1.0, chance)


def _is_cut(low: Any, high: Any) -> Any:
    """Return whether the lower end is the physical limit, below which no time is."""
    return low * high > 1 + TIE


def _normal(deviations: Any) -> NDArray[np.float64]:
    """Return the normal distribution function."""
    tail = np.frompyfunc(math.erfc, 1, 1)(-np.asarray(deviations) / math.sqrt(2))
    return 0.5 * np.asarray(tail, dtype=np.float64)


def _log_normal(deviations: Any) -> NDArray[np.float64]:
    """Return the logarithm of the normal distribution function, far below the mean by its tail.

    >>> _log_normal(np.array([0.0, -40.0])).round(3).tolist()
    [-0.693, -804.608]
    """
    far = np.minimum(deviations, -30.0)
    tail = -far * far / 2 - np.log(-far * math.sqrt(2 * math.pi))
    # above the mean by what is missing to 1, which is precise there
    with np.errstate(divide="ignore"):  # far beyond either end, of which the other arm is taken
        near = np.where(deviations > 0, np.log1p(-_normal(-deviations)), np.log(_normal(deviations)))
    return np.where(deviations < -30.0, tail, near)


def _numbers(table: Table, name: str) -> NDArray[np.float64]:
    """Return a column as numbers."""
    return np.asarray(table[name], dtype=np.float64)


def _commits_beyond(cost: NDArray[np.float64], owed: NDArray[np.float64], budget: float) -> NDArray[np.bool_]:
    """Return which plans commit to more than the budget, whatever their run costs; shape (plans,).

    Parameters
    ----------
    cost, owed : of the runs, and what must be paid for them [$]
    """
    with np.errstate(invalid="ignore"):
        return (owed > cost) & (owed > budget)


def _amounts(table: Table, limits: Limits) -> list[tuple[NDArray[np.float64], float]]:
    """Return times and payments of plans, each with its limit, of the limits that there are."""
    pairs = ((_numbers(table, "run_time"), limits.deadline), (paid(table), limits.budget))
    return [(amount, limit) for amount, limit in pairs if limit is not None]
