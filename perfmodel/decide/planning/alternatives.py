"""What another value of a default would do, where no plan likely meets the limits with it."""

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

TIMES = (2, 4, 8)
"""The default, by which other values are tried, the nearest first (a choice)."""


class Alternative(NamedTuple):
    """Another value of an option that nobody gave."""

    option: str
    """As on the command line."""
    default: int
    """What was taken."""
    value: int
    """What was tried in its place."""
    meets: bool
    """Whether a plan then meets every limit, as predicted."""
    is_likely: bool
    """Whether one does with a probability of 80 %."""
    plan: dict[str, Any]
    """The plan that is chosen then, or comes nearest."""


@lru_cache(maxsize=1)
def alternatives(result: SearchResult) -> list[Alternative]:
    """Return for each default that may decide the first value that likely meets the limits, else the best.

    They are tried on the machine of the nearest plan alone.  None where the limits are met with a probability
    of 80 %, or nothing helps.
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
    """Yield the defaults that may decide: option, field of a goal, and what was taken."""
    goal = result.goal
    network = workload(goal.workload, goal.options.get("sequence_length"))
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
    """Whether a plan comes nearer to the limit that is looked at first, or is likelier within it."""
    risk = "deadline_risk" if result.goal.deadline is not None else "budget_risk"
    if result.met and None not in (one[risk], other[risk]):
        return bool(one[risk] < 0.99 * other[risk])
    key = "run_time" if result.goal.deadline is not None else "cost"
    return bool(one[key] < 0.99 * other[key])
