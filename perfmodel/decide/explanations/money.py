"""Derivation of money, energy and failures from an iteration time: ``spending`` on traced numbers."""

from __future__ import annotations

from typing import Any

from perfmodel.core.tracing.traced import Traced, leaf
from perfmodel.core.tracing.traced_run import tracing
from perfmodel.core.tracing.tracing import Trace
from perfmodel.core.units import per_cent
from perfmodel.decide.cost_words import COMMUNICATING, IDLE
from perfmodel.decide.economics import Span, Spending, spending
from perfmodel.decide.explanations.derivation import Derivation, Nodes
from perfmodel.decide.explanations.node import Node
from perfmodel.decide.prices import price_words
from perfmodel.decide.sensitivity.case import Case
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.prediction.result import Prediction

GIVEN = (
    "electricity_price",
    "pue",
    "host_power",
    "carbon_intensity",
    "node_failure_interval",
    "checkpoint_time",
    "checkpoint_bandwidth",
    "restart_time",
    "interruptions",
    "samples",
)
"""Numbers of ``Conditions`` that enter the formulas unchanged."""


def costs(
    case: Case, result: Derivation, prediction: Prediction, conditions: Conditions, catalogue: Catalogue
) -> tuple[Spending, dict[str, Node], Trace]:
    """Return the amounts of a prediction, the derivation of each, and a trace of the formulas that ran.

    Parameters
    ----------
    case : the predicted case
    result : its derivation
    prediction : of the same case; its times are replaced by those of the derivation
    conditions, catalogue : as for ``perfmodel.decide.economics.economics``

    Raises
    ------
    InputError : as ``perfmodel.decide.economics.economics``
    """
    with tracing() as trace:
        given: dict[str, Any] = {
            name: leaf(value, name, "as given")
            for name in GIVEN
            if (value := getattr(conditions, name)) is not None
        }
        step, setting = result.step, result.leaves.setting
        rate = setting.global_batch_size / step.iteration_time
        traced = {"iteration_time": step.iteration_time, "terms": step.terms, "samples_per_second": rate}
        if prediction.epoch_time is not None:
            traced["epoch_time"] = setting.workload.dataset_samples / rate
        counts = {name: getattr(setting, name) for name in ("world_size", "nodes")}
        amounts_spent = spending(
            prediction.model_copy(update=traced | {"scenario": prediction.scenario | counts}),
            conditions.model_copy(update=given),
            catalogue,
        )
    nodes = Nodes(case.setting, _notes(case, amounts_spent), result.nodes)
    traced_amounts = {
        name: value for name, value in amounts(amounts_spent).items() if isinstance(value, Traced)
    }
    return amounts_spent, {name: nodes.of(value, name) for name, value in traced_amounts.items()}, trace


def _notes(case: Case, amounts_spent: Spending) -> dict[str, str]:
    """Return the sources of inputs that only costs depend on, by parameter."""
    conditions, chip = case.conditions, case.setting.accelerator.id
    grid = "as given" if case.price is None else f"the grid of {case.price.region}, mean of a year"
    prices = dict.fromkeys(price for price in (amounts_spent.price, amounts_spent.server_price) if price)
    return {
        "machine_price": "; ".join(map(price_words, prices)),
        "busy_power": f"{chip}: tdp",
        "communicating_power": f"{per_cent(COMMUNICATING, 0)} of it, assumed",
        "idle_power": f"{per_cent(IDLE, 0)} of it, assumed",
        "accelerator_power": "its data sheet does not say",
        "carbon_intensity": grid,
        "purchase_price": "as given",
        "interruption_rate": "as given" if conditions.interruptions else "as measured of spot machines",
        "goodput": "no failure rate is given",
        "wall_time": "one second, or an iteration",
    } | {
        name: "assumed" if value is None else "as given"
        for name, value in {
            "host_power": conditions.host_power,
            "pue": conditions.pue,
            "service_life": conditions.service_years,
            "used_fraction": conditions.used_fraction,
            "restart_time": conditions.restart_time,
        }.items()
    }


def amounts(amounts_spent: Spending) -> dict[str, Any]:
    """Return every known amount by name, in SI units."""
    result = _amounts("iteration", amounts_spent.iteration)
    result |= {
        name: getattr(amounts_spent.rates, name)
        for name in ("failure_interval", "checkpoint_interval", "goodput")
    }
    if amounts_spent.rates.failure_interval is None:
        del result["goodput"]
    if amounts_spent.run:
        result |= {"time_of_run": amounts_spent.run.time} | _amounts("run", amounts_spent.run)
        result |= {"failures_of_run": amounts_spent.failures}
    return {name: value for name, value in result.items() if value is not None}


def _amounts(span: str, amounts_of_span: Span) -> dict[str, Any]:
    """Return cost, energy and carbon of a span, named ``cost_of_SPAN`` and so on."""
    return {
        f"cost_of_{span}": amounts_of_span.cost,
        f"energy_of_{span}": amounts_of_span.energy,
        f"carbon_of_{span}": amounts_of_span.carbon,
    }
