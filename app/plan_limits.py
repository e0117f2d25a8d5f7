"""Sentences on what limits the chosen plan, and on the next best plan."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from perfmodel.core.units import dollars, duration, percent
from perfmodel.decide.planning import Goal
from perfmodel.decide.planning.price_words import basis_words
from perfmodel.model.prediction.intervals.ratio import chance_above_one
from perfmodel.workloads.recipes.epochs_to_target import EpochsFit

Row = Mapping[str, Any]


def plan_in_question(answer: Mapping[str, Any]) -> Row | None:
    """Return the chosen plan of an answer of ``perfmodel plan --json``, or the surest; None without plans."""
    plan: Row | None = answer["chosen"] or answer["surest"]
    return plan


def mark(answer: Mapping[str, Any]) -> str:
    """Return the label of the plan in question in charts: ``chosen``, or ``surest`` where none is."""
    return "chosen" if answer["met"] else "surest"


def limits(answer: Mapping[str, Any], goal: Goal, fit: EpochsFit | None) -> list[str]:
    """Return sentences on which limit of the goal binds, and the next best plan.

    Parameters
    ----------
    answer : as of ``perfmodel plan --json``
    goal : of the search
    fit : growth of epochs with the batch; None if the length of the run was given
    """
    plan = plan_in_question(answer)
    if plan is None:
        return []
    return [*_binding(answer, goal, plan, fit), *_next_best(answer, goal)]


def _binding(answer: Mapping[str, Any], goal: Goal, plan: Row, fit: EpochsFit | None) -> list[str]:
    """Return sentences on which limits (deadline, budget, GPUs, batch) exclude a better plan, if any."""
    lines, by_cost = [], goal.limits.by_cost
    able = [row for row in answer["front"] if row["memory"]["fits_probability"] >= goal.confidence] or [plan]
    better, least = (able[-1], "cheaper") if by_cost else (able[0], "faster")
    limit, key = ("deadline", "cost") if by_cost else ("budget", "run_time")
    if not answer["met"] and None not in (goal.deadline, goal.budget):
        lines.append(_both_bind(able[-1], goal))
    elif answer["met"] and getattr(goal, limit) is not None:
        if better[key] < plan[key]:
            lines.append(f"The {limit} binds: without it {better['machines']} would do, {_words(better)}.")
        else:
            lines.append(f"The {limit} does not bind: no plan is {least}.")
    if 2 * plan["world_size"] > goal.max_gpus and not (answer["chosen"] and by_cost):
        lines.append(f"The limit of {goal.max_gpus:,} GPUs binds: more may be faster.")
    if fit is not None and plan["global_batch_size"] >= fit.largest_batch_size:
        lines.append(
            f"The batch binds: {plan['global_batch_size']:,} samples are the most that a publication reached "
            "the target with, so more GPUs would have less to do each."
        )
    return lines


def _both_bind(cheapest: Row, goal: Goal) -> str:
    """Return the sentence on the plan that would meet the budget, if none in time does."""
    most, sure = cheapest["cost_at_most"] or cheapest["cost"], percent(goal.confidence)
    if most <= (goal.budget or 0.0):
        words = f"without the deadline {cheapest['machines']} would do, {_words(cheapest)}"
        return f"The deadline and the budget bind together: {words}."
    words = f"without the deadline the cheapest, {cheapest['machines']}, {_words(cheapest)}"
    return f"The budget binds: even {words}, costs at most {dollars(most)} with {sure}."


def _next_best(answer: Mapping[str, Any], goal: Goal) -> list[str]:
    """Return the sentence on the best rejected plan within the limits, and the chance that it is better."""
    chosen, rejected = answer["chosen"], answer["lost"]
    able = [row for row in rejected if not row["reason"].startswith(("over", "at risk"))]
    if chosen is None:
        return []
    if not able:
        return ["No other machine or size meets the limits."] if rejected else []
    row, key = able[0], "cost" if goal.limits.by_cost else "run_time"
    chance = _chance(chosen, row, key)
    better = "cheaper" if goal.limits.by_cost else "faster"
    close = "" if chance is None else f" The chance that it is the {better} one is {percent(chance)}."
    behind = row["why"].removeprefix("dominated: ")
    return [f"Next best is {row['machines']}, {_words(row)}: {behind}.{close}"]


def _chance(chosen: Row, row: Row, key: str) -> float | None:
    """Return the probability that a plan is better than the chosen one in ``key``; None if unknown."""
    ratio = row["ratio"]
    if ratio["high_80"] is None or not chosen[key]:
        return None
    return chance_above_one(chosen[key] / row[key], math.log(ratio["high_80"] / ratio["value"]))


def _words(row: Row) -> str:
    return f"{duration(row['run_time'])} for {dollars(row['cost'])}{basis_words(row)}"
