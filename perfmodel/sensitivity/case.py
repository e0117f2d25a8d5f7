"""One case of a sensitivity: a setting and constants, one of them changed, with its time and cost."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.calibration import Calibration
from perfmodel.economics import Servers, idle_power, rates
from perfmodel.failures import states_bytes
from perfmodel.prices import Price
from perfmodel.resolve import Setting
from perfmodel.specs.accelerator import Accelerator
from perfmodel.specs.conditions import Conditions
from perfmodel.step.evaluate import outcome
from perfmodel.step.terms import of_kind


class Case(NamedTuple):
    """What a time and a cost are computed from."""

    setting: Setting
    constants: Calibration
    conditions: Conditions = Conditions()
    price: Price | None = None
    """Of one node; None where nobody knows it, and then there is no cost."""
    server_price: Price | None = None
    """Of one parameter server's machine, likewise."""
    server_accelerator: Accelerator | None = None
    """The accelerator in a parameter server of another machine type, if any."""


class Answer(NamedTuple):
    """Time and cost of a case."""

    iteration_time: float
    """[s]"""
    cost_per_sample: float | None
    """Failures included [$]; None where the price is unknown."""


def answer(case: Case) -> Answer:
    """Return the iteration time and the cost of a case."""
    setting = case.setting
    step = outcome(setting, case.constants)
    time = float(step.iteration_time)
    if case.price is None or (setting.servers and case.server_price is None):
        return Answer(time, None)
    result = rates(
        time,
        of_kind(step.terms, "busy"),
        of_kind(step.terms, "network"),
        setting.world_size,
        setting.nodes,
        rated_power=setting.accelerator.tdp.value if setting.accelerator.tdp else None,
        usd_per_hour=case.price.usd_per_hour,
        conditions=case.conditions,
        own_electricity=case.price.basis != "on demand",
        servers=servers_of(case),
        checkpoint_bytes=states_bytes(setting.workload.parameters, setting.optimizer),
    )
    kept = float(result.goodput)
    if not kept > 0:
        return Answer(time, None)
    return Answer(time, float(result.cost) * time / (kept * setting.global_batch_size))


def servers_of(case: Case) -> Servers:
    """Return the machines of a case's parameter servers, with what one costs and its accelerators draw."""
    setting, price = case.setting, case.server_price
    same_machine = setting.server_node.id == setting.node.id
    held = setting.accelerator if same_machine else case.server_accelerator
    waiting = idle_power(setting.server_node.accelerators, held)
    return Servers(setting.servers, price.usd_per_hour if price else None, waiting)


def scaled_quantity(quantity: Any, factor: float) -> Any:
    """Return a spec's quantity with its value multiplied; None stays None."""
    if quantity is None:
        return None
    return quantity.model_copy(update={"value": quantity.value * factor})


def scaled_spec(spec: Any, factor: float, *fields: str) -> Any:
    """Return a spec with some of its quantities multiplied."""
    return spec.model_copy(update={name: scaled_quantity(getattr(spec, name), factor) for name in fields})
