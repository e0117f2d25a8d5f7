"""One prediction of a comparison, with its name and its costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from perfmodel.core.errors import InputError
from perfmodel.core.units import three_digits
from perfmodel.decide.chance import NO_LOSSES, Losses, losses_of_run
from perfmodel.decide.economics import at_the_price, economics
from perfmodel.decide.failures import machines_of_job
from perfmodel.decide.price_kinds import expected_interruptions, rate_spread
from perfmodel.decide.prices import Price
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import AnyScenario, scenario_of
from perfmodel.model.prediction import Prediction, predict
from perfmodel.workloads.catalogue import LENGTHS


class Case(NamedTuple):
    """A named prediction of a comparison, with its costs and its time to a target."""

    name: str
    prediction: Prediction
    economics: dict[str, Any] | None
    """As ``perfmodel.decide.economics.economics`` returns it; None where costs could not be computed."""
    reached: dict[str, Any] | None = None
    """As ``time_to_target`` returns it; None where no target was requested."""
    catalogue: Catalogue | None = None
    """Where its hardware is looked up; None: the built-in catalogue."""
    conditions: Conditions = Conditions()
    """Prices, power and failures of its costs."""

    @property
    def price(self) -> Price | None:
        """The price of one of its machines; None where it is unknown."""
        known = self.economics and self.economics["price"]
        return Price(**known) if known else None

    @property
    def machines(self) -> int:
        """Number of its machines, parameter servers included."""
        scenario = self.prediction.scenario
        return int(machines_of_job(scenario["nodes"], scenario["servers"]))

    @property
    def losses(self) -> Losses:
        """How far its speed is off by interruptions."""
        money = self.economics
        lost = money and money["reliability"]
        if not money or not lost:
            return NO_LOSSES
        catalogue, price, run = Catalogue.of(self.catalogue), self.price, money["run"]
        return losses_of_run(
            run and run["time"],
            lost["goodput"],
            lost["checkpoint_interval"] or math.inf,
            lost["failure_interval"],
            self.machines,
            at_the_price(self.conditions, price, catalogue),
            rate_spread(self.conditions, price and price.provider, catalogue),
        )

    @property
    def goodput(self) -> float:
        """Share of the time that is kept work; 1 without failures, which are interruptions too."""
        losses = self.economics and self.economics["reliability"]
        return float(losses["goodput"]) if losses else 1.0

    @property
    def rate(self) -> float:
        """Samples per second of the whole job that are kept."""
        return self.prediction.samples_per_second * self.goodput

    @property
    def cost_to_target(self) -> float | None:
        """Cost of training to the target [$]; None where no price is known or no target was requested."""
        if self.reached is None or self.cost is None:
            return None
        samples: float = self.reached["time"] * self.prediction.samples_per_second
        return self.cost * samples

    @property
    def cost(self) -> float | None:
        """Cost of one sample that is kept [$]; None where no price is known."""
        return self.of_a_sample("cost")

    @property
    def owed(self) -> float | None:
        """What must be paid for one sample that is kept [$]: its cost, or more where a commitment is more."""
        cost, money = self.cost, self.economics
        if cost is None or not money or not money["commitment"] or not money["run"]:
            return cost
        return max(cost, float(money["commitment"]["cost"] / money["run"]["samples"]))

    @property
    def interruptions(self) -> float:
        """Expected interruptions of its run at a spot price; 0 where its length is not known."""
        money = self.economics
        if not money or not money["run"]:
            return 0.0
        per_hour = at_the_price(self.conditions, self.price, Catalogue.of(self.catalogue)).interruptions
        time = money["run"]["time"]
        return float(expected_interruptions(time, per_hour, self.machines)) if per_hour else 0.0

    def of_a_sample(self, amount: str) -> float | None:
        """Return cost [$], energy [kWh] or carbon [g] of one sample that is kept; None where unknown."""
        if self.economics is None:
            return None
        one: float | None = self.economics["per_iteration"][amount]
        samples = self.prediction.scenario["global_batch_size"] * self.goodput
        return None if one is None else one / samples


def case_of(
    name: str,
    scenario: AnyScenario,
    catalogue: Catalogue | None = None,
    conditions: Conditions | None = None,
    *,
    target: bool = False,
    recipe: str | None = None,
) -> Case:
    """Return a scenario's prediction with its costs, and with its time to a target if requested.

    Parameters
    ----------
    name : of the case
    scenario, catalogue, conditions : as for ``predict`` and ``economics``
    target : whether to predict the time to a published quality; a recipe implies it
    recipe : name of the training recipe; by default the usual one of the scenario's framework

    Raises
    ------
    InputError : as ``predict`` and ``economics``, with the case's name before it
    """
    catalogue = Catalogue.of(catalogue)
    try:
        options = scenario_of(scenario)
        if target or recipe is not None:
            from perfmodel.model.prediction.training.target import for_target, recipe_name

            recipe = recipe_name(options, recipe)
            options = for_target(options, recipe, catalogue)
        prediction = predict(options, catalogue)
        conditions = conditions or Conditions()
        money = economics(prediction, conditions, catalogue)
        case = Case(name, prediction, money, None, catalogue, conditions)
        if not target and recipe is None:
            return case
        from perfmodel.model.prediction.training.target import time_to_target

        return case._replace(reached=time_to_target(prediction, recipe, catalogue))
    except InputError as error:
        raise error.under(name) from None


def paid_words(cases: Sequence[Case]) -> str:
    """Return what ``owed`` of some cases is: the cost of a sample, or more where a commitment is more."""
    more = any(case.owed != case.cost for case in cases)
    return "what must be paid for a sample, commitments in full" if more else "the cost of a sample"


def cost_words(case: Case, first: Case, same: float) -> str:
    """Return a clause with what is paid for a sample of a case over the first; empty where it is unknown.

    Parameters
    ----------
    same : relative difference below which both cost the same
    """
    cost, base = case.owed, first.owed
    if cost is None or base is None:
        return ""
    paid = paid_words((case, first))
    if abs(cost / base - 1) < same:
        return f", at the same {paid.removeprefix('the ')}" if paid.startswith("the ") else f", at 1 x {paid}"
    return f", at {three_digits(cost / base)} x {paid}"


def same_work(cases: Sequence[Case]) -> bool:
    """Return whether all cases train the same network on samples of the same length."""
    works = [
        (scenario["workload"], *map(scenario.get, LENGTHS))
        for scenario in (case.prediction.scenario for case in cases)
    ]
    return all(work == works[0] for work in works)
