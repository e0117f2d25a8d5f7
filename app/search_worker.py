"""A search for plans with its report, in a module that loads without Streamlit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from perfmodel.decide.planning import Goal, SearchResult, search
from perfmodel.decide.planning.caveats import harder_batches
from perfmodel.decide.planning.plans import Plans
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.reports.page import Page
from perfmodel.interfaces.reports.planned import page_of_plan


class PlanAnswer(NamedTuple):
    """Answer of a search for plans, with its report."""

    report: dict[str, Any]
    """As of ``perfmodel plan --json``, with lines on convergence."""
    page: Page | None
    """The report without its shell command; None if a service searched."""


def in_question(answer: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the plan that an answer is about: the chosen one, or the surest; None without plans."""
    plan: Mapping[str, Any] | None = answer["chosen"] or answer["surest"]
    return plan


def search_plans(goal: Goal, catalogue: Catalogue) -> PlanAnswer:
    """Search for plans; return the answer with lines on convergence, and the report.

    Raises
    ------
    InputError : the goal has an unknown name or an impossible value, or nothing fits
    """
    result = search(goal, catalogue)
    answer = Plans.of(result).report() | {"convergence": convergence_lines(result)}
    return PlanAnswer(answer, page_of_plan(result, None, catalogue))


def convergence_lines(result: SearchResult) -> list[str]:
    """Return lines on the length of training by the plan in question, or on the risk of a large batch."""
    if result.fit is None or result.in_question is None:
        return harder_batches(result)
    return [length_line(result.in_question, result.fit.target)]


def length_line(plan: Mapping[str, Any], target: str) -> str:
    """Return the line on the epochs or samples until a plan reaches a published target."""
    length = f"{plan['epochs']:.4g} epochs" if plan["epochs"] else f"{plan['samples']:,.0f} samples"
    batch = f"{plan['global_batch_size']:,}"
    return f"counted are {length} at a global batch of {batch}, until the published target: {target}"
