"""Searches for plans as bounded ``Work``."""

from __future__ import annotations

from app import bounded, search_worker
from app.search_worker import PlanAnswer
from perfmodel.decide.planning import Goal
from perfmodel.decide.planning.machines import machines_of
from perfmodel.hardware.catalogue.store import Catalogue

FEW_MACHINES, FEW_GPUS = 4, 1024
"""Machines and GPUs up to which a search takes less time than starting a process."""


def answer(question: tuple[str, ...], goal: Goal, catalogue: Catalogue) -> PlanAnswer:
    """Return the answer of a search, from a cache by ``question`` or a process, with progress on the page.

    Raises
    ------
    InputError : the goal has an unknown name or an impossible value, nothing fits, or it takes too long
    """
    few = len(machines_of(goal.by_id(catalogue), catalogue)) <= FEW_MACHINES
    result: PlanAnswer = bounded.answer(question, work(goal, catalogue, few and goal.max_gpus <= FEW_GPUS))
    return result


def work(goal: Goal, catalogue: Catalogue, is_quick: bool = False) -> bounded.Work:
    """Return a search for plans as ``Work``; ``is_quick`` runs it in this process."""
    return bounded.Work(
        call=search_worker.search_plans,
        arguments=(goal, catalogue),
        noun="search",
        doing="Trying every machine, count and batch, which takes up to a minute",
        less="choose from fewer machines",
        is_quick=is_quick,
    )
