"""The result of a search as nested dictionaries, for ``--json``."""

from __future__ import annotations

from typing import Any

from perfmodel.core.errors import InputError
from perfmodel.decide.planning.alternatives import alternatives
from perfmodel.decide.planning.launch import predict_command, slurm_job, torchrun
from perfmodel.decide.planning.plan_verdict import notes, verdict
from perfmodel.decide.planning.results import SearchResult


def report(result: SearchResult) -> dict[str, Any]:
    """Return goal, plans, rejected plans and notes of a search; times in seconds, energy in kWh, carbon in g.

    Returns
    -------
    goal : fields of the ``Goal``
    verdict, notes : sentences
    met : whether a plan of known price meets every limit
    chosen, cheapest, fastest, surest : plans, or None
    alternatives : other values of defaults that may help, where no plan meets the limits
    front, energy_front : plans, the fastest first
    lost : plans that were not chosen, each with ``reason`` and ``why``
    candidates : number of plans tried
    layouts : number of layouts timed; a plan with a layout has the fastest of its machine, size and precision
    left_out : number of impossible plans, by reason
    impossible : machines without a possible plan
    unpriced : machines without a price
    prices : of the machines, with basis, region, date and source
    recipe : name of the training recipe, or None
    target : quality that ends the run, or None
    launch : ``predict``, ``torchrun`` and ``slurm`` of the chosen plan; None where torchrun cannot start it
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
    """Return the commands that predict and start the chosen plan; None where there is no such plan."""
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
