"""Which case of a comparison to take, by speed, cost, or the lesser of two equal ones."""

from __future__ import annotations

from collections.abc import Sequence

from perfmodel.decide.comparison.case import Case
from perfmodel.decide.comparison.price_advice import SAME_COST
from perfmodel.decide.comparison.price_advice import differ_in_price as are_one_job
from perfmodel.decide.comparison.reasons import differ_in_network, differing
from perfmodel.decide.comparison.standing import Best, Standing
from perfmodel.model.prediction.intervals.ratio import network_order

LITTLE = 1.05
"""Speed ratio below which a difference is small."""


def case_to_take(standing: Standing) -> Case | None:
    """Return the case that the advice says to take; None where a price or a measurement has to decide."""
    able, best = standing.able, standing.best
    if not standing.same_work or not able:
        return None
    if best is None:
        return able[0]
    if standing.differ_in_price:
        return standing.price_to_take
    if best.gains_nothing:
        pair = (best.first, best.case)
        return cheapest(pair) if are_one_job(pair) else lesser(best)[0]
    fastest = best.case if best.ratio.value > 1 else best.first
    if best.is_sure(standing.confidence):
        return fastest
    least = cheapest(able)
    return least if best.ratio.may_be_nothing or least is fastest else None


def lesser(best: Best) -> tuple[Case, Case]:
    """Return two equally fast cases, the lesser first: the cheaper, else that of fewer or slower parts."""
    return (best.case, best.first) if _is_less(best.case, best.first) else (best.first, best.case)


def _is_less(case: Case, other: Case) -> bool:
    """Return whether a case is the lesser of two equally fast ones: cheaper, else fewer or slower parts."""
    cost, another = case.owed, other.owed
    if cost is not None and another is not None and abs(cost / another - 1) > SAME_COST:
        return cost < another
    if differing(case, other) == {"world_size"}:
        return bool(case.prediction.scenario["world_size"] < other.prediction.scenario["world_size"])
    return network_order(case.prediction, other.prediction, case.catalogue) < 0


def cheapest(able: Sequence[Case]) -> Case | None:
    """Return the case that costs least; None where a price is unknown or all cost the same."""
    costs = [case.owed for case in able if case.owed is not None]
    if len(costs) < len(able) or max(costs) / min(costs) - 1 < SAME_COST:
        return None
    return able[costs.index(min(costs))]


def network_hardly_matters(standing: Standing) -> bool:
    """Return whether cases differ in their network alone, and none is expected to gain or lose much by it."""
    first, *others = standing.able
    return all(
        differ_in_network(first, case) and 1 / LITTLE < standing.speed(case, first).value < LITTLE
        for case in others
    )
