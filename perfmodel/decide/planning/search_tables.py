"""A search as one nested answer, for ``--json``."""

from __future__ import annotations

from typing import Any

from perfmodel.core.errors import InputError
from perfmodel.decide.planning.alternatives import alternatives
from perfmodel.decide.planning.launch import predict_command, slurm_job, torchrun
from perfmodel.decide.planning.plan_verdict import notes, verdict
from perfmodel.decide.planning.results import SearchResult


def report(result: SearchResult) -> dict[str, Any]:
    """Return what was asked, chosen and left out; times in seconds, energy in kWh, carbon in grams.

    Returns
    -------
    goal : what was asked, as ``Goal`` has it
    verdict, notes : sentences
    met : whether a plan of known price meets every limit
    chosen, cheapest, fastest, surest : plans, or None
    alternatives : other values of defaults that may decide, where no plan meets the limits
    front, energy_front : plans, the fastest first
    lost : plans, each with ``reason`` and ``why``
    candidates : how many plans were tried
    layouts : how many layouts were timed, of which each plan that has one is the fastest that fits
    left_out : how many could not be, by the reason
    impossible : machines on which none could
    unpriced : machines without a price
    prices : of the machines, with basis, region, date and source
    recipe : how training to it goes, or None
    target : quality that ends the run, or None
    launch : ``predict``, ``torchrun`` and ``slurm`` of the plan chosen; None where that cannot start it
    """
    goal = vars(result.goal) | {"conditions": result.goal.conditions.model_dump()}
    return {
        "goal": goal,
        "verdict": verdict(result),
        "met": result.met,
        "chosen": result.chosen,
        "cheapest": result.cheapest,
        "fastest": result.fastest,
        "surest": result.surest,
        "alternatives": [one._asdict() for one in alternatives(result)],
        "front": result.front,
        "energy_front": result.energy_front,
        "lost": result.rejected,
        "candidates": len(result),
        "layouts": result.layouts,
        "left_out": result.left_out,
        "impossible": result.impossible,
        "unpriced": result.unpriced,
        "prices": result.prices(),
        "target": result.fit.target if result.fit else None,
        "recipe": result.goal.recipe,
        "launch": launch(result),
        "notes": notes(result),
    }


def launch(result: SearchResult) -> dict[str, str | None] | None:
    """Return the lines that predict and start the plan chosen; None where torchrun cannot start it."""
    chosen, workload = result.chosen, result.goal.workload
    if chosen is None:
        return None
    lines: dict[str, str | None] = {"predict": predict_command(chosen, workload, result.goal.options)}
    for name, written in (("torchrun", torchrun), ("slurm", slurm_job)):
        try:
            lines[name] = written(chosen, workload)
        except InputError:
            lines[name] = None
    return lines
