"""How money, energy and failures follow from an iteration time: ``economics`` on traced numbers."""

from __future__ import annotations

from typing import Any

from perfmodel.core.tracing.traced import Traced, leaf
from perfmodel.core.tracing.traced_run import tracing
from perfmodel.core.tracing.tracing import Trace
from perfmodel.decide.economics import COMMUNICATING, IDLE, Span, Spending, spending
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
    "samples",
)
"""Numbers of ``Conditions`` that amounts follow from as they are."""


def costs(
    case: Case, result: Derivation, prediction: Prediction, conditions: Conditions, catalogue: Catalogue
) -> tuple[Spending, dict[str, Node], Trace]:
    """Return what a prediction comes to, how every amount of it is worked out, and the formulas that ran.

    Parameters
    ----------
    case : what was predicted
    result : its derivation
    prediction : the same, whose times become those of the derivation
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
        spent = spending(
            prediction.model_copy(update=traced | {"scenario": prediction.scenario | counts}),
            conditions.model_copy(update=given),
            catalogue,
        )
    nodes = Nodes(case.setting, _notes(case, spent), result.nodes)
    made = {name: value for name, value in amounts(spent).items() if isinstance(value, Traced)}
    return spent, {name: nodes.of(value, name) for name, value in made.items()}, trace


def _notes(case: Case, spent: Spending) -> dict[str, str]:
    """Return where numbers that only costs depend on come from, by parameter."""
    asked, chip = case.conditions, case.setting.accelerator.id
    grid = "as given" if case.price is None else f"the grid of {case.price.region}, mean of a year"
    prices = dict.fromkeys(price for price in (spent.price, spent.server_price) if price)
    return {
        "machine_price": "; ".join(map(price_words, prices)),
        "busy_power": f"{chip}: tdp",
        "communicating_power": f"{COMMUNICATING:.0%} of it, assumed",
        "idle_power": f"{IDLE:.0%} of it, assumed",
        "accelerator_power": "its data sheet does not say",
        "carbon_intensity": grid,
        "purchase_price": "as given",
        "goodput": "nothing is said of failures",
        "wall_time": "one second, or an iteration",
    } | {
        name: "assumed" if value is None else "as given"
        for name, value in {
            "host_power": asked.host_power,
            "pue": asked.pue,
            "service_life": asked.service_years,
            "used_fraction": asked.used_fraction,
            "restart_time": asked.restart_time,
        }.items()
    }


def amounts(spent: Spending) -> dict[str, Any]:
    """Return every amount that is known, in SI."""
    result = _amounts("iteration", spent.iteration)
    result |= {
        name: getattr(spent.rates, name) for name in ("failure_interval", "checkpoint_interval", "goodput")
    }
    if spent.rates.failure_interval is None:
        del result["goodput"]
    if spent.run:
        result |= {"time_of_run": spent.run.time} | _amounts("run", spent.run)
        result |= {"failures_of_run": spent.failures}
    return {name: value for name, value in result.items() if value is not None}


def _amounts(span: str, of: Span) -> dict[str, Any]:
    return {f"cost_of_{span}": of.cost, f"energy_of_{span}": of.energy, f"carbon_of_{span}": of.carbon}
