"""One search for plans and all that is said of it, which needs no page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from perfmodel.decide.planning import Goal, SearchResult, search
from perfmodel.decide.planning.caveats import harder_batches
from perfmodel.decide.planning.plans import Plans
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.reports.page import Page
from perfmodel.interfaces.reports.planned import page_of_plan


class Searched(NamedTuple):
    """What a search found, and what a report says of it."""

    report: dict[str, Any]
    page: Page | None
    """Without the command, which people write in several ways; None where a service searched."""


def searched(goal: Goal, catalogue: Catalogue) -> Searched:
    """Return the report of a search, with what is said of its convergence, and the page to hand on.

    Raises
    ------
    InputError : the goal names something unknown or impossible; nothing fits
    """
    result = search(goal, catalogue)
    answer = Plans.of(result).report() | {"convergence": convergence(result)}
    return Searched(answer, page_of_plan(result, None, catalogue))


def convergence(result: SearchResult) -> list[str]:
    """Say how long the plan chosen trains, and what its batch costs in epochs where that is not counted."""
    if result.fit is None or result.chosen is None:
        return harder_batches(result)
    return [counted(result.chosen, result.fit.target)]


def counted(chosen: Mapping[str, Any], target: str) -> str:
    """Say how long a plan trains until a published target."""
    length = f"{chosen['epochs']:.4g} epochs" if chosen["epochs"] else f"{chosen['samples']:,.0f} samples"
    batch = f"{chosen['global_batch_size']:,}"
    return f"counted are {length} at a global batch of {batch}, until the published target: {target}"
