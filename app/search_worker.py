"""A search for plans with its report, in a module that loads without Streamlit."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.decide.planning import Goal, search
from perfmodel.decide.planning.plans import Plans
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.reports.page import Page
from perfmodel.interfaces.reports.planned import page_of_plan


class PlanAnswer(NamedTuple):
    """Answer of a search for plans, with its report."""

    report: dict[str, Any]
    """As of ``perfmodel plan --json``."""
    page: Page | None
    """The report without its shell command; None if a service searched."""


def search_plans(goal: Goal, catalogue: Catalogue) -> PlanAnswer:
    """Search for plans; return the answer and its report.

    Raises
    ------
    InputError : the goal has an unknown name or an impossible value, or nothing fits
    """
    result = search(goal, catalogue)
    return PlanAnswer(Plans.of(result).report(), page_of_plan(result, None, catalogue))
