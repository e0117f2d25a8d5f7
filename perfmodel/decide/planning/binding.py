"""Which limit of a goal binds the plan in question, and the next best plan, in sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from perfmodel.core.units import dollars, duration, percent
from perfmodel.decide.planning.alternatives import alternatives, cap_binds
from perfmodel.decide.planning.price_words import basis_words
from perfmodel.decide.planning.results import SearchResult
from perfmodel.decide.planning.table_words import mark_of
from perfmodel.model.prediction.intervals.ratio import chance_above_one, ratio_between

Row = Mapping[str, Any]


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
    limit, key, superlative = ("deadline", "cost", "cheaper") if by_cost else ("budget", "run_time", "faster")
    if plan is None or getattr(goal, limit) is None:
        return []
    able = [row for row in result.front if row["memory"]["fits_probability"] >= goal.confidence] or [plan]
    better, risky = (able[-1], result.cheapest) if by_cost else (able[0], result.fastest)
    if better[key] >= plan[key]:
        return [f"The {limit} does not bind: no plan is {superlative}."]
    if better == risky:
        return []
    return [f"The {limit} binds: without it {better['machines']} would do, {_words(better)}."]


def next_best(result: SearchResult) -> list[str]:
    """Return the sentence on the best rejected plan within the limits, and the chance that it is better."""
    chosen, rejected = result.chosen, result.rejected
    if chosen is None:
        return []
    key, better = ("cost", "cheaper") if result.by_cost else ("run_time", "faster")
    able = [row for row in rejected if not row["reason"].startswith(("over", "at risk"))] or [
        row
        for row in sorted(result.front, key=lambda row: float(row[key]))
        if not mark_of(row, result.in_short)
    ]
    if not able:
        return ["No other machine or size meets the limits."] if rejected else []
    row = able[0]
    ratio = row.get("ratio") or _ratio(result, row, chosen)
    chance = _chance(chosen, row, key, ratio)
    if chance is None:
        return [f"Next best is {row['machines']}."]
    return [f"Next best is {row['machines']}, {better} with a probability of {percent(chance)}."]


def _ratio(result: SearchResult, row: dict[str, Any], chosen: dict[str, Any]) -> Row:
    """Return the speed of a plan of the front over that of the chosen one, with its interval."""
    ratio = ratio_between(result.predicted(row), result.predicted(chosen), chosen["machines"])
    return ratio.model_dump()


def _chance(chosen: Row, row: Row, key: str, ratio: Row) -> float | None:
    """Return the probability that a plan is better than the chosen one in ``key``; None if unknown."""
    if ratio["high_80"] is None or not chosen[key]:
        return None
    return chance_above_one(chosen[key] / row[key], math.log(ratio["high_80"] / ratio["value"]))


def _words(row: Row) -> str:
    return f"{duration(row['run_time'])} for {dollars(row['cost'])}{basis_words(row)}"
