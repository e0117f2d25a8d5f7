"""A prediction with what may be asked beside it: time to a quality, time to a loss, money."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel.model.options.risk import PLANNING_CONFIDENCE
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.answer_card import Card

if TYPE_CHECKING:
    from perfmodel.hardware.catalogue.store import Catalogue
    from perfmodel.model.options.conditions import Conditions
    from perfmodel.model.options.scenario import Scenario


BESIDE = ("time_to_target", "time_to_loss", "economics")
"""What may be asked beside a prediction."""


class Predicted(NamedTuple):
    """What ``perfmodel predict`` answers; None is what nobody asked for."""

    prediction: Prediction
    time_to_target: dict[str, Any] | None = None
    time_to_loss: dict[str, Any] | None = None
    economics: dict[str, Any] | None = None
    confidence: float = PLANNING_CONFIDENCE
    """How sure to be of what the card plans with."""

    @property
    def card(self) -> Card:
        """The answer card, with the cost where it was asked for."""
        from perfmodel.interfaces.reports.figures import card_with

        return card_with(self.prediction, self.economics, self.confidence)

    @property
    def extras(self) -> dict[str, dict[str, Any]]:
        """What was asked for beside the prediction, by its key in the JSON, and the card with its cost."""
        asked = {name: value for name in BESIDE if (value := getattr(self, name))}
        return asked if self.economics is None else asked | {"card": self.card.model_dump()}

    def to_json(self) -> str:
        """Return what ``perfmodel predict --json`` prints."""
        text = self.prediction.to_json()
        return json.dumps(json.loads(text) | self.extras) if self.extras else text


def predicted(
    scenario: Scenario,
    catalogue: Catalogue,
    *,
    target: bool = False,
    recipe: str | None = None,
    tokens: float | None = None,
    loss: float | None = None,
    conditions: Conditions | None = None,
    confidence: float = PLANNING_CONFIDENCE,
) -> Predicted:
    """Predict one training iteration, and what is asked beside it.

    Parameters
    ----------
    target : whether the time to a published accuracy is asked for; a recipe asks for it too
    recipe, tokens : how training to it goes, and for how many tokens where the recipe counts them; without
        target, or beside ``conditions`` of no other length, those of the run whose costs are asked for
    loss : to which the time of every way to update is asked for
    conditions : prices, power and failures, where costs are asked for
    confidence : how sure to be of what the card plans with

    Raises
    ------
    InputError : as ``predict``; nothing published for the network
    """
    for_cost_alone = not target and recipe is None
    if tokens is not None and conditions is None and for_cost_alone:
        from perfmodel.model.options.conditions import Conditions

        conditions = Conditions()
    if tokens is not None and conditions is not None and conditions.tokens is None:
        if for_cost_alone or conditions.epochs is conditions.samples is None:
            conditions = conditions.model_copy(update={"tokens": tokens})
        tokens = None if for_cost_alone else tokens
    target = target or recipe is not None or tokens is not None
    chosen: list[str] = []
    if target:
        from perfmodel.model.prediction.training.target import for_target, recipe_defaults, recipe_name

        recipe, asked = recipe_name(scenario, recipe, tokens), scenario
        scenario = for_target(scenario, recipe, catalogue, tokens)
        chosen = recipe_defaults(asked, scenario)
    prediction = predict(scenario, catalogue, confidence=confidence)
    prediction.defaults.extend(chosen)
    money = reached = lost = None
    if conditions is not None:
        from perfmodel.decide.economics import economics

        money = economics(prediction, conditions, catalogue)
    if target:
        from perfmodel.model.prediction.training.target import time_to_target

        reached = time_to_target(prediction, recipe, catalogue, tokens=tokens)
    if loss is not None:
        from perfmodel.model.prediction.training.time_to_loss import time_to_loss

        lost = time_to_loss(prediction, loss, catalogue)
    return Predicted(prediction, reached, lost, money, confidence)
