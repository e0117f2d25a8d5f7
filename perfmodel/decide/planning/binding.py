"""Which limit of a goal binds the plan in question, and the next best plan, in sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from perfmodel.core.sentences import likely_to_be
from perfmodel.core.units import dollars, duration
from perfmodel.decide.chance import half_width
from perfmodel.decide.planning.alternatives import alternatives, cap_binds
from perfmodel.decide.planning.price_words import offered, offered_at, paid_words, to_pay
from perfmodel.decide.planning.results import SearchResult
from perfmodel.decide.planning.table_words import mark_of
from perfmodel.decide.planning.within import owes_more, payment, wanted
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.prediction.intervals.ratio import chance_above_one, ratio_between

Row = Mapping[str, Any]

EVEN = 0.1
"""By how much a chance to be better may be off one half between plans that are called about as good."""


def binding(result: SearchResult) -> list[str]:
    """Return sentences on which limits (deadline, budget, GPUs, batch) exclude a better plan, if any.

    Where no plan meets deadline and budget, the advice says with which it would be possible.
    """
    plan = result.in_question
    if plan is None:
        return []
    lines = _deadline_or_budget(result) if result.met else []
    goal, fit = result.goal, result.fit
    would_help = cap_binds(result) or any(one.option == "max-gpus" for one in alternatives(result))
    if 2 * plan["world_size"] > goal.max_gpus and not (result.met and result.by_cost) and not would_help:
        lines.append(f"The limit of {goal.max_gpus:,} GPUs binds: more may be faster.")
    if fit is not None and plan["within_published"] and plan["global_batch_size"] >= fit.largest_batch_size:
        lines.append(
            f"The batch binds: {plan['global_batch_size']:,} samples are the most that a publication reached "
            "the target with, so more GPUs would have less to do each."
        )
    return lines


def _deadline_or_budget(result: SearchResult) -> list[str]:
    """Return the sentence on what a goal without its deadline, or without its budget, would choose.

    A plan that keeps the limit as predicted, at a larger risk, has a sentence of its own in the verdict.
    """
    goal, plan, by_cost = result.goal, result.chosen, result.by_cost
    limit, superlative = ("deadline", "cheaper") if by_cost else ("budget", "faster")
    if plan is None or getattr(goal, limit) is None:
        return []
    able = [row for row in result.front if row["memory"]["fits_probability"] >= goal.confidence] or [plan]
    better, risky = (able[-1], result.cheapest) if by_cost else (able[0], result.fastest)
    if wanted(better, by_cost) >= wanted(plan, by_cost):
        return [f"The {limit} does not bind: no plan is {superlative}."]
    if better == risky:
        return []
    return [f"The {limit} binds: without it {offered(better)} would do, {_words(better)}."]


def next_best(result: SearchResult) -> list[str]:
    """Return the sentence on the best rejected plan within the limits, and the chance that it is better."""
    chosen, rejected = result.chosen, result.rejected
    if chosen is None:
        return []
    by_cost = result.by_cost
    able = [row for row in rejected if not row["reason"].startswith(("over", "at risk"))] or [
        row
        for row in sorted(result.front, key=lambda row: wanted(row, by_cost))
        if not mark_of(row, result.in_short)
    ]
    if not able:
        return ["No other machine or size meets the limits."] if rejected else []
    row = able[0]
    price = "" if row["cost"] is None else f", {to_pay(row)}"
    plan = f"{offered_at(row)}: {duration(row['run_time'])}{price}"
    words = f"Next best is {plan}"
    if by_cost and owes_more(row) and owes_more(chosen):
        return [f"{words}, {_dearer(payment(row) - payment(chosen))}."]
    chance = _chance(result, chosen, row)
    if chance is None:
        return [f"{words}."]
    better = "cheaper" if by_cost else "faster"
    if abs(chance - 0.5) <= EVEN:
        positive = "cheap" if by_cost else "fast"
        words = f"About as {positive} is {plan}"
    return [f"{words}; {likely_to_be(f'the {better}', chance)} one."]


def _dearer(more: float) -> str:
    """Return what one commitment costs more than another, which no error of a prediction changes.

    >>> _dearer(61016.0), _dearer(-2000.0), _dearer(0.0)
    ('dearer by $61,016', 'cheaper by $2,000', 'as much')
    """
    if not more:
        return "as much"
    return f"{'dearer' if more > 0 else 'cheaper'} by {dollars(abs(more))}"


def _chance(result: SearchResult, chosen: Row, row: Row) -> float | None:
    """Return the probability that a plan is better than the chosen one; None if unknown.

    A commitment is fixed: against it only the error of the other plan's cost counts.  Else the two share most
    of their error, but for what interruptions at spot prices cost, which is taken as independent.
    """
    amount, least = wanted(row, result.by_cost), wanted(chosen, result.by_cost)
    ratio = (
        row.get("ratio")
        or ratio_between(
            result.predicted(dict(row)), result.predicted(dict(chosen)), chosen["machines"]
        ).model_dump()
    )
    if ratio["high_80"] is None or not least or not amount:
        return None
    fixed = owes_more(row) if result.by_cost else False
    if fixed or (result.by_cost and owes_more(chosen)):
        width = _width(chosen if fixed else row)
    else:
        shared = math.log(ratio["high_80"] / ratio["value"])
        width = math.hypot(shared, _of_losses(result, row), _of_losses(result, chosen))
    return chance_above_one(least / amount, width)


def _width(row: Row) -> float:
    """Return the half-width of a run's time, hence of its cost, in logarithm."""
    return half_width(row["run_time"], row["run_time_high_80"])


def _of_losses(result: SearchResult, row: Row) -> float:
    """Return by how much interruptions widen a run's interval: half-width in logarithm, 0 without any."""
    if not row["interruptions"]:
        return 0.0
    step = result.predicted(dict(row))
    assert step.interval is not None
    others = half_width(step.iteration_time, step.interval.high_80) ** 2
    if result.fit is not None:
        others += (NORMAL_80 * result.fit.residual) ** 2
    return math.sqrt(max(0.0, _width(row) ** 2 - others))


def _words(row: Row) -> str:
    return f"{duration(row['run_time'])} for {paid_words(row)}"
