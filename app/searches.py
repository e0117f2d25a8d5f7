"""Searches for plans as bounded pieces of work."""

from __future__ import annotations

from app import bounded, search_worker
from app.search_worker import Searched
from perfmodel.decide.planning import Goal
from perfmodel.decide.planning.machines import machines_of
from perfmodel.hardware.catalogue.store import Catalogue

FEW_MACHINES, FEW_GPUS = 4, 1024
"""A search of no more is over before a process has started."""


def answer(question: tuple[str, ...], goal: Goal, catalogue: Catalogue) -> Searched:
    """Return what a search finds, drawing its progress and a button that ends it; kept by ``question``.

    Raises
    ------
    InputError : the goal names something unknown or impossible; nothing fits; it takes too long
    """
    few = len(machines_of(goal.by_id(catalogue), catalogue)) <= FEW_MACHINES
    result: Searched = bounded.answer(question, work(goal, catalogue, few and goal.max_gpus <= FEW_GPUS))
    return result


def work(goal: Goal, catalogue: Catalogue, is_quick: bool = False) -> bounded.Work:
    """Return a search as a piece of work."""
    return bounded.Work(
        call=search_worker.searched,
        arguments=(goal, catalogue),
        noun="search",
        doing="Trying every machine, count and batch, which takes some ten seconds",
        less="choose from fewer machines",
        is_quick=is_quick,
    )
