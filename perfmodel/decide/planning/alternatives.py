"""Other values of defaults, tried where no plan likely meets the limits."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from perfmodel.core.candidates import TooManyCandidates
from perfmodel.core.errors import InputError
from perfmodel.core.problem import Note
from perfmodel.decide.planning.goal import BATCH_TOO_LARGE, Goal
from perfmodel.decide.planning.results import SearchResult
from perfmodel.decide.planning.searches import search
from perfmodel.model.options.run import Run
from perfmodel.model.setting.sharing import predicts_tokens
from perfmodel.workloads import workload
from perfmodel.workloads.catalogue import LENGTHS

TIMES = (2, 4, 8)
"""Multiples of a default that are tried, the nearest first (a choice)."""


class Alternative(NamedTuple):
    """Another value of an option that was left at its default, with the plan it leads to."""

    option: str
    """Name of the option on the command line."""
    default: int
    """Value that the search used."""
    value: int
    """Value tried instead."""
    meets: bool
    """Whether a plan then meets every limit, as predicted."""
    is_likely: bool
    """Whether a plan then meets them with a probability of 80 %."""
    plan: dict[str, Any]
    """The chosen or nearest plan with that value."""


@lru_cache(maxsize=1)
def alternatives(result: SearchResult) -> list[Alternative]:
    """Return other values of defaults that help to meet the limits, at most one per option.

    Of each option it is the first value with which a plan likely meets them, else the best one.  Values are
    tried on the machine of the nearest plan only.  Empty where the limits are met with a probability of 80 %
    or nothing helps.
    """
    nearest = result.nearest if result.chosen is None else result.chosen
    if nearest is None or (result.met and result.likely_row is not None):
        return []
    helping = []
    for option, field, default in _defaults(result, nearest):
        best: Alternative | None = None
        for times in TIMES:
            one = _tried(result, nearest, option, field, default, default * times)
            if one is not None and (best is None or _better(result, one.plan, best.plan)):
                best = one
            if one is not None and one.is_likely:
                break
        if best is not None and ((best.meets and not result.met) or _better(result, best.plan, nearest)):
            helping.append(best)
    return helping


def _defaults(result: SearchResult, nearest: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Yield the defaults that may keep plans from the limits: option, field of a goal, value used."""
    goal = result.goal
    network = workload(goal.workload, *map(goal.options.get, LENGTHS))
    if goal.global_batch_size is None and goal.max_global_batch_size is None:
        if predicts_tokens(network):
            yield "global-batch-size", "global_batch_size", int(nearest["global_batch_size"])
        elif any(isinstance(each, Note) and each.about == BATCH_TOO_LARGE for each in result.left_out):
            yield "max-global-batch-size", "max_global_batch_size", int(goal.most_samples(network))
    if goal.max_gpus == Run.model_fields["max_gpus"].value:
        yield "max-gpus", "max_gpus", goal.max_gpus


def _tried(
    result: SearchResult, nearest: dict[str, Any], option: str, field: str, default: int, value: int
) -> Alternative | None:
    """Return the result of a search with another value of one default; None where no plan is possible."""
    offer = nearest["instance"]
    where = {"instances": (offer,), "nodes": ()} if offer else {"instances": (), "nodes": (nearest["node"],)}
    goal: Goal = result.goal.model_copy(update={field: value, **where})
    try:
        answer = search(goal, result.catalogue, result.constants)
    except (InputError, TooManyCandidates):
        return None
    plan = answer.chosen or answer.nearest
    if plan is None:
        return None
    is_likely = answer.met and answer.likely_row is not None
    return Alternative(option, default, value, answer.met, is_likely, plan)


def _better(result: SearchResult, one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether one plan is better than another by 1 %.

    It is less likely to miss the limit where the limits are met; nearer to the deadline, else the budget,
    where they are not.
    """
    risk = "deadline_risk" if result.goal.deadline is not None else "budget_risk"
    if result.met and None not in (one[risk], other[risk]):
        return bool(one[risk] < 0.99 * other[risk])
    key = "run_time" if result.goal.deadline is not None else "cost"
    return bool(one[key] < 0.99 * other[key])
