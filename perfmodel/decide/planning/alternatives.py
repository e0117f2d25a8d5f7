"""What would make a goal possible that no plan meets: other limits, and other values of defaults."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core.candidates import TooManyCandidates
from perfmodel.core.errors import InputError
from perfmodel.core.problem import Note
from perfmodel.core.units import dollars, duration
from perfmodel.decide.planning.goal import BATCH_TOO_LARGE, Goal
from perfmodel.decide.planning.results import SearchResult
from perfmodel.decide.planning.searches import search
from perfmodel.decide.planning.within import HOPELESS, likely, wanted
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.run import Run
from perfmodel.model.setting.sharing import predicts_tokens

TIMES = (2, 4, 8)
"""Multiples of a default that are tried, the nearest first (a choice)."""
FASTER = {"bf16": "fp8", "amp": "fp8", "fp16": "fp8"}
"""Precision -> a faster one that is tried, of accelerators that have it."""
ROUNDING = 1.00503
"""Factor after which three digits are never below the number itself."""


class Alternative(NamedTuple):
    """Another limit, or another value of an option left at its default, with the plan it leads to."""

    option: str
    """Name of the option on the command line."""
    default: float | int | str
    """Limit that was given, or default that the search used."""
    value: float | int | str
    """Value that would do, or that was tried instead; a deadline in seconds, a budget in dollars."""
    meets: bool
    """Whether a plan then meets every limit with the probability asked for."""
    plan: dict[str, Any]
    """The chosen plan with that value, else the surest."""

    @property
    def words(self) -> str:
        """The other value, as text."""
        if self.option in SHOWN:
            shown = SHOWN[self.option]
            value, default = float(self.value), float(self.default)
            return f"a {self.option} of {shown(value)} ({shown(value - default)} more)"
        return f"--{self.option} {self.value} (default: {self.default})"


class BeyondTheCap(NamedTuple):
    """One limit that would do with more GPUs than a search tried, the other being kept."""

    max_gpus: int
    option: str
    """``deadline`` or ``budget``."""
    value: float
    """Of that limit [s], [$]."""
    plan: dict[str, Any]
    """That keeps both limits then."""


def cap_binds(result: SearchResult) -> bool:
    """Return whether even the fastest plan is too late, on most of the GPUs that may be tried."""
    if result.met or not len(result.front_rows):
        return False
    fastest = result.row(int(result.front_rows[0]))
    return fastest["meets_deadline"] is False and 2 * fastest["world_size"] > result.goal.max_gpus


@lru_cache(maxsize=1)
def beyond_the_cap(result: SearchResult) -> BeyondTheCap | None:
    """Return the fewest GPUs beyond the default limit with which one of two limits can be kept.

    None where another limit was given, or where a single limit is missed, of which ``alternatives`` has it.
    """
    surest, goal = result.surest, result.goal
    if surest is None or not cap_binds(result) or goal.deadline is None or goal.budget is None:
        return None
    for option, field, _, values in _defaults(result, surest):
        for value in values if option == "max-gpus" else ():
            answer = _searched(result, field, value)
            if answer is None or answer.met:
                return None  # it is an alternative of its own
            kept = [one for one in _limits(answer) if one.meets and one.option == "budget"]
            if kept:
                return BeyondTheCap(int(value), "budget", float(kept[0].value), kept[0].plan)
    return None


SHOWN = {"deadline": duration, "budget": dollars}
"""Limits of a goal -> how they are written."""


@lru_cache(maxsize=1)
def alternatives(result: SearchResult) -> list[Alternative]:
    """Return what would help to meet the limits: the limits that some plan meets, then values of defaults.

    Of each option it is the first value with which a plan meets them with the probability asked for, else the
    best one.  Values are tried on the machine of the surest plan only.  Empty where the limits are met or
    nothing helps.
    """
    surest = result.surest
    if surest is None or result.met:
        return []
    helping = _limits(result)
    for option, field, default, values in _defaults(result, surest):
        best: Alternative | None = None
        for value in values:
            one = _tried(result, option, field, default, value)
            if one is not None and (best is None or _better(one.plan, best.plan, result.by_cost)):
                best = one
            if one is not None and one.meets:
                break
        if best is not None and (best.meets or _better(best.plan, surest, result.by_cost)):
            helping.append(best)
    return helping


def unkept(result: SearchResult) -> dict[str, dict[str, Any]]:
    """Return the limits of two that no plan keeps, even alone, each with the plan that needs least of it."""
    table, limits = result.candidates, result.goal.limits
    if None in (limits.deadline, limits.budget):
        return {}
    nearest = {}
    for name, amount in _at_most(result).items():
        known = np.isfinite(table["cost"]) & np.isfinite(amount)
        alone = limits._replace(budget=None) if name == "deadline" else limits._replace(deadline=None)
        if known.any() and not (known & likely(table, alone)).any():
            nearest[name] = result.row(int(np.argmin(np.where(known, amount, np.inf))))
    return nearest


def _at_most(result: SearchResult) -> dict[str, Any]:
    """Return the limits of a goal -> what each plan needs of it with the probability asked for."""
    amounts = {"deadline": result.candidates["run_time_at_most"], "budget": result.candidates["cost_at_most"]}
    return {name: amount for name, amount in amounts.items() if getattr(result.goal.limits, name) is not None}


def _limits(result: SearchResult) -> list[Alternative]:
    """Return the deadline that a plan keeps within the budget, and the budget that one keeps in time.

    Where each takes the other to give way, both of the plan that is least beyond them.
    """
    table, limits = result.candidates, result.goal.limits
    amounts = _at_most(result)
    beyond = [amount / getattr(limits, name) for name, amount in amounts.items()]
    if not beyond:
        return []
    known = np.isfinite(table["cost"]) & np.isfinite(sum(beyond))
    limits_kept = []
    for name, amount in amounts.items():
        others = limits._replace(deadline=None) if name == "deadline" else limits._replace(budget=None)
        able = known & likely(table, others)
        if able.any():
            limits_kept.append(
                _limit(result, name, amount, int(np.argmin(np.where(able, amount, np.inf))), True)
            )
    if not limits_kept and known.any():
        row = int(np.argmin(np.where(known, np.maximum(*beyond), np.inf)))
        limits_kept = [_limit(result, name, amount, row, False) for name, amount in amounts.items()]
    return limits_kept


def _limit(result: SearchResult, name: str, amount: Any, row: int, meets: bool) -> Alternative:
    """Return the value of a limit that a plan keeps, which three digits do not fall below."""
    value = ROUNDING * float(amount[row])
    return Alternative(name, float(getattr(result.goal, name)), value, meets, result.row(row))


def _defaults(
    result: SearchResult, surest: dict[str, Any]
) -> Iterator[tuple[str, str, int | str, tuple[int | str, ...]]]:
    """Yield the defaults that may keep plans from the limits: option, field of a goal, value used, others."""
    goal = result.goal
    network = goal.network()
    if goal.global_batch_size is None and goal.max_global_batch_size is None:
        if predicts_tokens(network):
            used = int(surest["global_batch_size"])
            yield "global-batch-size", "global_batch_size", used, tuple(used * times for times in TIMES)
        elif any(isinstance(each, Note) and each.about == BATCH_TOO_LARGE for each in result.left_out):
            used = int(goal.most_samples(network))
            yield "max-global-batch-size", "max_global_batch_size", used, tuple(used * n for n in TIMES)
    if goal.max_gpus == Run.model_fields["max_gpus"].value:
        yield "max-gpus", "max_gpus", goal.max_gpus, tuple(goal.max_gpus * times for times in TIMES)
    if surest["layout"] and not goal.precisions:
        held = Catalogue.of(result.catalogue).accelerator(surest["accelerator"])
        faster = FASTER.get(surest["precision"])
        if faster in held.peak_flops:
            yield "precision", "precisions", surest["precision"], (faster,)


def _tried(
    result: SearchResult, option: str, field: str, default: int | str, value: int | str
) -> Alternative | None:
    """Return the result of a search with another value of one default; None where no plan is possible."""
    answer = _searched(result, field, value)
    plan = None if answer is None else answer.in_question
    return None if answer is None or plan is None else Alternative(option, default, value, answer.met, plan)


@lru_cache(maxsize=16)
def _searched(result: SearchResult, field: str, value: int | str) -> SearchResult | None:
    """Return a search on the machine of the surest plan with another value of one field of its goal."""
    surest = result.surest
    if surest is None:
        return None
    offer = surest["instance"]
    where = {"instances": (offer,), "nodes": ()} if offer else {"instances": (), "nodes": (surest["node"],)}
    given = (value,) if field == "precisions" else value
    goal: Goal = result.goal.model_copy(update={field: given, **where})
    try:
        return search(goal, result.catalogue, result.constants, result.known)
    except (InputError, TooManyCandidates):
        return None


def _better(one: dict[str, Any], other: dict[str, Any], by_cost: bool) -> bool:
    """Return whether one plan is 1 % less likely to miss the limits than another.

    Of plans that surely miss them, or of an unknown risk, it is the one nearer to the deadline, else to the
    budget, by 1 %.
    """
    sure, less_sure = one["probability"], other["probability"]
    if None not in (sure, less_sure) and max(sure, less_sure) > HOPELESS:
        return bool(1 - sure < 0.99 * (1 - less_sure))
    return wanted(one, not by_cost) < 0.99 * wanted(other, not by_cost)
