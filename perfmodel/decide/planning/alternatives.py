"""Other values of defaults, tried where no plan meets the limits as surely as asked for."""

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
HOPELESS = 0.01
"""Probability up to which a plan surely misses the limits (a choice)."""


class Alternative(NamedTuple):
    """Another value of an option that was left at its default, with the plan it leads to."""

    option: str
    """Name of the option on the command line."""
    default: int
    """Value that the search used."""
    value: int
    """Value tried instead."""
    meets: bool
    """Whether a plan then meets every limit with the probability asked for."""
    plan: dict[str, Any]
    """The chosen plan with that value, else the surest."""


@lru_cache(maxsize=1)
def alternatives(result: SearchResult) -> list[Alternative]:
    """Return other values of defaults that help to meet the limits, at most one per option.

    Of each option it is the first value with which a plan meets them with the probability asked for, else the
    best one.  Values are tried on the machine of the surest plan only.  Empty where the limits are met or
    nothing helps.
    """
    surest = result.surest
    if surest is None or result.met:
        return []
    helping = []
    for option, field, default in _defaults(result, surest):
        best: Alternative | None = None
        for times in TIMES:
            one = _tried(result, surest, option, field, default, default * times)
            if one is not None and (best is None or _better(one.plan, best.plan, result.by_cost)):
                best = one
            if one is not None and one.meets:
                break
        if best is not None and (best.meets or _better(best.plan, surest, result.by_cost)):
            helping.append(best)
    return helping


def _defaults(result: SearchResult, surest: dict[str, Any]) -> Iterator[tuple[str, str, int]]:
    """Yield the defaults that may keep plans from the limits: option, field of a goal, value used."""
    goal = result.goal
    network = workload(goal.workload, *map(goal.options.get, LENGTHS))
    if goal.global_batch_size is None and goal.max_global_batch_size is None:
        if predicts_tokens(network):
            yield "global-batch-size", "global_batch_size", int(surest["global_batch_size"])
        elif any(isinstance(each, Note) and each.about == BATCH_TOO_LARGE for each in result.left_out):
            yield "max-global-batch-size", "max_global_batch_size", int(goal.most_samples(network))
    if goal.max_gpus == Run.model_fields["max_gpus"].value:
        yield "max-gpus", "max_gpus", goal.max_gpus


def _tried(
    result: SearchResult, surest: dict[str, Any], option: str, field: str, default: int, value: int
) -> Alternative | None:
    """Return the result of a search with another value of one default; None where no plan is possible."""
    offer = surest["instance"]
    where = {"instances": (offer,), "nodes": ()} if offer else {"instances": (), "nodes": (surest["node"],)}
    goal: Goal = result.goal.model_copy(update={field: value, **where})
    try:
        answer = search(goal, result.catalogue, result.constants)
    except (InputError, TooManyCandidates):
        return None
    plan = answer.in_question
    return None if plan is None else Alternative(option, default, value, answer.met, plan)


def _better(one: dict[str, Any], other: dict[str, Any], by_cost: bool) -> bool:
    """Return whether one plan is 1 % less likely to miss the limits than another.

    Of plans that surely miss them, or of an unknown risk, it is the one nearer to the deadline, else to the
    budget, by 1 %.
    """
    sure, less_sure = one["probability"], other["probability"]
    if None not in (sure, less_sure) and max(sure, less_sure) > HOPELESS:
        return bool(1 - sure < 0.99 * (1 - less_sure))
    key = "run_time" if by_cost else "cost"
    return bool(one[key] < 0.99 * other[key])
