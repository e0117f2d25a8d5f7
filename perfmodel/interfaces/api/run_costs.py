"""What a run by one of some layouts costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from typing_extensions import TypedDict

from perfmodel.decide.commitments import Commitment
from perfmodel.decide.economics import economics
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.layout import CHOSEN
from perfmodel.model.prediction import Prediction


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
    """What ``perfmodel.decide.economics.economics`` returns."""

    price: dict[str, float | str | None] | None
    servers: dict[str, object] | None
    per_iteration: SpanCosts
    per_epoch: SpanCosts | None
    run: RunCosts | None
    commitment: Commitment | None
    reliability: dict[str, float | None] | None
    assumed: list[str]
    unknown: list[str]


def options_of_layout(layout: Mapping[str, Any], question: Mapping[str, object]) -> dict[str, Any]:
    """Return a layout as the options of a prediction.

    Parameters
    ----------
    layout : by the names of options
    question : the parameters that ``layouts`` was called with
    """
    asked: dict[str, Any] = dict(question)
    asked["world_size"] = asked.pop("gpus", 1)
    asked |= {name: layout[name] for name in CHOSEN}
    if asked["recompute"] != "selective":  # modules are chosen for layouts that recompute some
        asked.pop("recompute_modules", None)
    return {name: value for name, value in asked.items() if value is not None}


def costs_of(prediction: Prediction, conditions: Conditions, catalogue: Catalogue) -> Costs:
    """Return what a run by the layout of a prediction costs."""
    return cast("Costs", economics(prediction, Conditions.model_validate(conditions), catalogue))
