"""What a run of so many tokens costs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import TypedDict

from perfmodel.economics import economics
from perfmodel.errors import InputError
from perfmodel.prediction import Prediction, predict
from perfmodel.specs.conditions import Conditions, checked
from perfmodel.specs.layout import DEGREES
from perfmodel.specs.run import MOST_TOKENS
from perfmodel.specs.store import Catalogue

if TYPE_CHECKING:
    from perfmodel.api.layouts import Layouts


class SpanCosts(TypedDict):
    """What a span of time costs; None where that is not known."""

    time: float
    """[s]"""
    cost: float | None
    """[USD]"""
    energy: float | None
    """[kWh]"""
    carbon: float | None
    """[g]"""


class RunCosts(SpanCosts):
    """What a whole run costs."""

    epochs: float | None
    samples: float
    tokens: float | None


class Costs(TypedDict):
    """What ``perfmodel.economics.economics`` returns."""

    price: dict[str, float | str | None] | None
    servers: dict[str, object] | None
    per_iteration: SpanCosts
    per_epoch: SpanCosts | None
    run: RunCosts | None
    reliability: dict[str, float | None] | None
    assumed: list[str]
    unknown: list[str]


def first_scenario(answer: Layouts) -> dict[str, Any]:
    """Return the first layout as the options of a prediction."""
    layout, asked = answer.rows[0].layout, dict(answer.question)
    asked["world_size"] = asked.pop("gpus", 1)
    asked |= {name: layout[name] for name in (*DEGREES, "sharding", "recompute", "micro_batch_size")}
    return {name: value for name, value in asked.items() if value is not None}


def with_costs(
    answer: Layouts, tokens: float | None, conditions: Conditions | None, catalogue: Catalogue
) -> Layouts:
    """Return layouts with what a run of so many tokens by the first costs, as ``costs_of_tokens``."""
    first = predict(first_scenario(answer), catalogue)
    return replace(answer, economics=costs_of_tokens(first, tokens, conditions or Conditions(), catalogue))


def costs_of_tokens(
    prediction: Prediction, tokens: float | None, conditions: Conditions, catalogue: Catalogue
) -> Costs:
    """Return what ``economics`` does, of a run of so many tokens where they are known.

    Raises
    ------
    InputError : as ``economics``; the length of the run given twice
    """
    conditions = checked(conditions)
    if tokens is not None:
        if not 0 < tokens <= MOST_TOKENS:
            raise InputError(f"tokens = {tokens!r}: expected a number above 0, up to {MOST_TOKENS:g}")
        if conditions.samples is not None or conditions.epochs is not None:
            raise InputError("tokens, samples and epochs are each the length of the run: give one of them")
        conditions = conditions._replace(samples=tokens / prediction.scenario["sequence_length"])
    result = economics(prediction, conditions, catalogue)
    if result["run"] is not None:
        result["run"]["tokens"] = tokens
    return cast("Costs", result)
