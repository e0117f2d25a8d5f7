"""A search as one nested answer, for ``--json`` and whoever reads it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from perfmodel.errors import InputError
from perfmodel.planning.found import Found
from perfmodel.planning.launch import predict_command, slurm_job, torchrun
from perfmodel.planning.verdict import notes, verdict


def report(found: Found) -> dict[str, Any]:
    """Return what was asked, chosen and left out; times in seconds, energy in kWh, carbon in grams.

    Returns
    -------
    goal : what was asked, as ``Goal`` has it
    verdict, notes : sentences
    met : whether a plan of known price meets every limit
    chosen, cheapest, fastest, surest : plans, or None
    front, energy_front : plans, the fastest first
    lost : plans, each with ``reason`` and ``why``
    candidates : how many plans were tried
    left_out : how many could not be, by the reason
    impossible : machines on which none could
    unpriced : machines without a price
    prices : of the machines, with basis, region, date and source
    recipe : how training to it goes, or None
    target : quality that ends the run, or None
    launch : ``predict``, ``torchrun`` and ``slurm`` of the plan chosen; None where that cannot start it
    """
    goal = asdict(found.goal)
    goal["conditions"] = found.goal.conditions._asdict()
    return {
        "goal": goal,
        "verdict": verdict(found),
        "met": found.met,
        "chosen": found.chosen,
        "cheapest": found.cheapest,
        "fastest": found.fastest,
        "surest": found.surest,
        "front": found.front,
        "energy_front": found.energy_front,
        "lost": found.lost,
        "candidates": len(found),
        "left_out": found.left_out,
        "impossible": found.impossible,
        "unpriced": found.unpriced,
        "prices": found.prices(),
        "target": found.fit.target if found.fit else None,
        "recipe": recipe.name if found.fit and (recipe := found.goal.chosen_recipe()) else None,
        "launch": launch(found),
        "notes": notes(found),
    }


def launch(found: Found) -> dict[str, str | None] | None:
    """Return the lines that predict and start the plan chosen; None where torchrun cannot start it."""
    chosen, workload = found.chosen, found.goal.workload
    if chosen is None:
        return None
    told: dict[str, str | None] = {"predict": predict_command(chosen, workload, found.goal.options)}
    for name, written in (("torchrun", torchrun), ("slurm", slurm_job)):
        try:
            told[name] = written(chosen, workload)
        except InputError:
            told[name] = None
    return told
