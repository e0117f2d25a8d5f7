"""Which case of a comparison to take, and what decides that: speed, cost, or memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from perfmodel.decide.comparison.case import Case
from perfmodel.decide.comparison.price_advice import SAME_COST
from perfmodel.decide.comparison.price_advice import differ_in_price as are_one_job
from perfmodel.decide.comparison.reasons import differ_in_network, differing
from perfmodel.decide.comparison.standing import Best, Standing
from perfmodel.model.prediction.intervals.ratio import network_order

LITTLE = 1.05
"""Speed ratio below which a difference is small."""
Ground = Literal[
    "other work",
    "nothing fits",
    "memory",
    "kind of price",
    "price of equals",
    "lesser of equals",
    "speed",
    "little",
    "speed and cost",
    "measurement",
]
"""What decides: ``little`` is a gain that may be nothing, ``measurement`` an order that is too unsure."""


class Choice(NamedTuple):
    """What a comparison decides: which case to take, by what."""

    ground: Ground
    taken: Case | None
    """The case to take; None where a price or a measurement has to decide."""


def choose(standing: Standing) -> Choice:
    """Return which case to take of those to choose from, and what decides it."""
    able, best = standing.able, standing.best
    if not standing.same_work:
        return Choice("other work", None)
    if not able:
        return Choice("nothing fits", None)
    if best is None:
        return Choice("memory", able[0])
    if standing.differ_in_price:
        return Choice("kind of price", standing.price_to_take)
    if best.gains_nothing:
        pair = (best.first, best.case)
        if are_one_job(pair):
            return Choice("price of equals", cheapest(pair))
        return Choice("lesser of equals", lesser(best)[0])
    if best.is_sure(standing.confidence):
        return Choice("speed", best.faster)
    least = cheapest(able)
    if best.ratio.may_be_nothing:
        return Choice("little", least)
    return Choice("speed and cost", least) if least is best.faster else Choice("measurement", None)


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
