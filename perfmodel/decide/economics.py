"""What a predicted job costs: where specs and prices meet the equations of money, energy and failures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.core.errors import refusal
from perfmodel.decide.failures import goodput_of, states_bytes
from perfmodel.decide.prices import (
    DEFAULT_SERVICE_YEARS,
    HOUR,
    Price,
    carbon_intensity_of,
    price_of,
    server_price_of,
)
from perfmodel.equations.cost import (
    amount_over,
    both_costs,
    both_energies,
    carbon_mass,
    job_energy,
    rent,
    run_time,
    share_of_time,
    sum_of_terms,
    three_state_power,
    work_time,
)
from perfmodel.equations.reliability import expected_failures
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.prediction.result import Prediction
from perfmodel.model.step.terms import only_kind
from perfmodel.workloads import workload

KWH = 3.6e6
COMMUNICATING, IDLE = 0.5, 0.15
"""Power over the rated one while only communicating, and while waiting: assumed, not measured."""
NO_SERVER_PRICE = "price of {}, a parameter server: give --server-price, USD per hour of one"


class Servers(NamedTuple):
    """The machines of parameter servers; each a number or an array over jobs."""

    count: Any = 0
    usd_per_hour: Any = None
    """Of one; None is unknown."""
    idle_power: Any = 0.0
    """Of the accelerators of one, which wait [W]."""


NO_SERVERS = Servers()


class Rates(NamedTuple):
    """What one second of a job comes to; each a number or an array over jobs."""

    cost: Any
    """[$/s]; None where the price is unknown."""
    energy: Any
    """[J/s] at the meter of the building; None where the accelerator's power is unknown."""
    carbon: Any
    """[g/s]; None without an intensity."""
    goodput: Any
    """Share of the wall clock that ends up as work kept."""
    checkpoint_interval: Any
    """[s] of work; None where nothing is known of failures, infinite where it is best to write none."""
    failure_interval: Any
    """[s], of the whole job; None likewise."""


def idle_power(accelerators: int, accelerator: Accelerator | None) -> float:
    """Return what the accelerators of a machine draw that only serves parameters [W]; 0 where unknown."""
    if accelerator is None or accelerator.tdp is None:
        return 0.0
    return IDLE * accelerators * accelerator.tdp.value


def rates(
    iteration_time: Any,
    busy_time: Any,
    communicating_time: Any,
    world_size: Any,
    nodes: Any,
    *,
    rated_power: Any,
    usd_per_hour: Any,
    conditions: Conditions,
    carbon_intensity: Any = None,
    own_electricity: bool = False,
    work_time: Any = None,
    servers: Servers = NO_SERVERS,
    checkpoint_bytes: Any = None,
) -> Rates:
    """Return what a second of each job comes to; numbers and arrays alike, as numpy broadcasts them.

    Parameters
    ----------
    iteration_time, busy_time, communicating_time : [s], the last two parts of the first
    world_size, nodes : [1], those that train
    rated_power : of one accelerator [W], or None
    usd_per_hour : of one node, or None
    conditions : prices, power and failures
    carbon_intensity : of the electricity [g CO2/kWh]; by default what ``conditions`` say
    own_electricity : whether electricity is paid on top of the price
    work_time : of the whole run if nothing failed [s], or None; a run that is over before a checkpoint would
        have paid for itself writes none
    servers : machines of parameter servers, on top of the nodes
    checkpoint_bytes : of one checkpoint, for conditions with a bandwidth at which it is written

    Raises
    ------
    InputError : failures without the time a checkpoint takes
    """
    cost = energy = carbon = None
    if rated_power is not None:
        power = three_state_power(
            share_of_time(busy_time, iteration_time),
            share_of_time(communicating_time, iteration_time),
            rated_power,
            COMMUNICATING * rated_power,
            IDLE * rated_power,
        )
        hosts = conditions.host_power or 0.0, conditions.pue or 1.0, 1.0
        energy = job_energy(world_size, power, nodes, *hosts)
        if np.any(servers.count):
            energy = both_energies(
                energy, job_energy(servers.count, servers.idle_power, servers.count, *hosts)
            )
        grams = conditions.carbon_intensity if carbon_intensity is None else carbon_intensity
        if grams is not None:
            carbon = carbon_mass(energy, grams / KWH)
    if usd_per_hour is not None:
        cost = rent(nodes, usd_per_hour / HOUR, 1.0)
        if np.any(servers.count):
            each = np.nan if servers.usd_per_hour is None else servers.usd_per_hour
            cost = both_costs(cost, rent(servers.count, each / HOUR, 1.0))
        if own_electricity and energy is not None and conditions.electricity_price is not None:
            cost = both_costs(cost, energy * (conditions.electricity_price / KWH))
    return Rates(
        cost, energy, carbon, *goodput_of(nodes, servers.count, conditions, work_time, checkpoint_bytes)
    )


class Span(NamedTuple):
    """What a span of time comes to; None where it is not known."""

    time: float
    """[s]"""
    cost: float | None
    """[$]"""
    energy: float | None
    """[J]"""
    carbon: float | None
    """[g]"""

    def report(self) -> dict[str, float | None]:
        """Return the span as people script against it: energy in kWh."""
        energy = None if self.energy is None else self.energy / KWH
        return {"time": self.time, "cost": self.cost, "energy": energy, "carbon": self.carbon}


class Spending(NamedTuple):
    """What a predicted job comes to, in SI units."""

    price: Price | None
    server_price: Price | None
    iteration: Span
    epoch: Span | None
    """None where the size of the data set is not known."""
    run: Span | None
    """None where nobody says how long the run is."""
    samples: float | None
    """Of the run."""
    rates: Rates
    failures: float | None
    """To expect in the run."""


def spending(prediction: Prediction, conditions: Conditions, catalogue: Catalogue) -> Spending:
    """Return what a prediction comes to; every amount is the result of a formula.

    Raises
    ------
    InputError : as ``economics``
    """
    asked, times = prediction.scenario, prediction.terms
    node, served = asked["node"], asked["servers"] or 0
    accelerator = catalogue.accelerator(asked["accelerator"])
    price = price_of(catalogue, node, conditions)
    server_node = asked.get("server_node") or node
    server_price = server_price_of(catalogue, server_node, node, price, conditions)
    machine = catalogue.node(server_node)
    held = (
        accelerator
        if server_node == node
        else machine.accelerator and catalogue.accelerator(machine.accelerator)
    )
    servers = Servers(
        served, server_price and server_price.usd_per_hour, idle_power(machine.accelerators, held or None)
    )
    samples = _samples(prediction, conditions)
    work = work_time(samples, prediction.samples_per_second) if samples else None
    states = None
    if conditions.checkpoint_bandwidth is not None:
        network = workload(asked["workload"], asked.get("sequence_length"))
        states = states_bytes(network.parameters, asked["optimizer"])
    result = rates(
        prediction.iteration_time,
        sum_of_terms(**only_kind(times, "busy")),
        sum_of_terms(**only_kind(times, "network")),
        asked["world_size"],
        asked["nodes"],
        rated_power=accelerator.tdp.value if accelerator.tdp else None,
        usd_per_hour=price.usd_per_hour if price else None,
        conditions=conditions,
        carbon_intensity=carbon_intensity_of(price, conditions),
        own_electricity=price is not None and price.basis != "on demand",
        work_time=work,
        servers=servers,
        checkpoint_bytes=states,
    )
    if servers.usd_per_hour is None and served:
        result = result._replace(cost=None)
    if not result.goodput > 0:
        raise refusal("failures.never_ends", "node_failure_interval")
    run: Any = work
    failures: Any = None
    if work is not None and result.failure_interval is not None:
        run = run_time(work, result.goodput)
        failures = expected_failures(run, result.failure_interval)
    epoch = prediction.epoch_time
    return Spending(
        price,
        server_price,
        _span(result, prediction.iteration_time),
        _span(result, epoch) if epoch else None,
        _span(result, run) if run else None,
        samples,
        result,
        failures,
    )


def economics(
    prediction: Prediction, conditions: Conditions, catalogue: Catalogue, spent: Spending | None = None
) -> dict[str, Any]:
    """Return what a prediction costs, with what was assumed and what is not known; ``spent`` if worked out.

    Returns
    -------
    price : a node's, with its basis, region, date and source, or None
    servers : their count, their node and its price likewise, or None where there are none
    per_iteration, per_epoch, run : time [s], cost [$], energy [kWh], carbon [g]; None where not known.
        A run's time is what the user sees: failures, checkpoints and restarts included, at the mean
        power of an iteration; with its ``samples``, and its ``epochs`` or ``tokens`` where those were said
    reliability : goodput [1], failure_interval [s], checkpoint_interval [s], failures of the run, or
        None; the checkpoint interval is None where the run is too short to write any
    assumed, unknown : what was taken for granted, and what to give for the rest

    Raises
    ------
    InputError : options that exclude each other; a job that fails faster than it restarts
    """
    asked = prediction.scenario
    node, served = asked["node"], asked["servers"] or 0
    powered = catalogue.accelerator(asked["accelerator"]).tdp is not None
    spent = spent or spending(prediction, conditions, catalogue)
    price, server_price = spent.price, spent.server_price
    server_node = asked.get("server_node") or node
    length = {"epochs": conditions.epochs, "samples": spent.samples, "tokens": conditions.tokens}
    return {
        "price": price._asdict() if price else None,
        "servers": {"count": served, "node": server_node, "price": server_price and server_price._asdict()}
        if served
        else None,
        "per_iteration": spent.iteration.report(),
        "per_epoch": spent.epoch.report() if spent.epoch else None,
        "run": {**length, **spent.run.report()} if spent.run else None,
        "reliability": _reliability(spent),
        "assumed": _assumed(conditions, price, powered, bool(served)),
        "unknown": _unknown(conditions, price, node, powered)
        + ([NO_SERVER_PRICE.format(server_node)] if served and price and not server_price else []),
    }


def spans(result: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return time, cost, energy and carbon of one iteration, one epoch and the run, as far as they are known.

    Parameters
    ----------
    result : what ``economics`` returned
    """
    named = {"iteration": "per_iteration", "epoch": "per_epoch", "run": "run"}
    return {name: result[key] for name, key in named.items() if result[key]}


def _samples(prediction: Prediction, conditions: Conditions) -> float | None:
    """Samples of the run; None where nobody says how long it is."""
    length = conditions.epochs, conditions.samples, conditions.tokens
    if sum(each is not None for each in length) > 1:
        raise refusal("length.several" if conditions.tokens else "length.both")
    if conditions.tokens is not None:
        tokens = prediction.scenario["sequence_length"]
        if not tokens:
            name = prediction.scenario["workload"]
            raise refusal("length.no_tokens", name=name)
        return conditions.tokens / tokens
    if conditions.epochs is None:
        return conditions.samples
    if prediction.epoch_time is None:
        raise refusal("length.unknown_data_set", workload=prediction.scenario["workload"])
    return conditions.epochs * prediction.epoch_time * prediction.samples_per_second


def _span(result: Rates, time: float) -> Span:
    def total(rate: Any) -> Any:
        return None if rate is None else amount_over(rate, time)

    return Span(time, total(result.cost), total(result.energy), total(result.carbon))


def _reliability(spent: Spending) -> dict[str, float | None] | None:
    result = spent.rates
    if result.failure_interval is None:
        return None
    interval = ops.plain(result.checkpoint_interval)
    return {
        "goodput": ops.number(result.goodput),
        "failure_interval": ops.number(result.failure_interval),
        "checkpoint_interval": float(interval) if math.isfinite(interval) else None,
        "failures": None if spent.failures is None else ops.number(spent.failures),
    }


def _assumed(conditions: Conditions, price: Price | None, powered: bool, servers: bool) -> list[str]:
    lines = []
    if powered:
        lines.append(
            f"accelerators draw their rated power at work, {COMMUNICATING:.0%} of it communicating, "
            f"{IDLE:.0%} waiting"
        )
        if conditions.host_power is None:
            lines.append("hosts draw nothing (--host-power)")
        if conditions.pue is None:
            lines.append("cooling draws nothing (--pue)")
        grid = carbon_intensity_of(price, conditions)
        if price is not None and grid is not None and conditions.carbon_intensity is None:
            lines.append(f"the grid of {price.region} emits {grid:.0f} g CO2/kWh (--carbon-intensity)")
    if price is not None and price.basis == "purchase":
        if conditions.service_years is None:
            lines.append(f"written off in {DEFAULT_SERVICE_YEARS:g} years (--service-years)")
        if conditions.used_fraction is None:
            lines.append("always at work (--used-fraction)")
    if conditions.node_failure_interval is not None and conditions.restart_time is None:
        lines.append("a restart takes no time (--restart-time)")
    if servers:
        lines.append("a parameter server draws what a host does, and its accelerators wait (--server-node)")
    return lines


def _unknown(conditions: Conditions, price: Price | None, node: str, powered: bool) -> list[str]:
    lines = []
    if price is None:
        lines.append(f"price of {node}: give --price, USD per hour of one node, or --purchase-price")
    elif price.basis == "purchase" and conditions.electricity_price is None:
        lines.append("electricity: give --electricity-price, USD per kWh; left out of the cost")
    if not powered:
        lines.append("power of the accelerator: its data sheet does not say")
    elif carbon_intensity_of(price, conditions) is None:
        lines.append("carbon: give --carbon-intensity, grams per kWh")
    return lines
