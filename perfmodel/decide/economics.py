"""Cost, energy, carbon and losses to failures of a predicted job, from specs, prices and conditions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.core.errors import refusal
from perfmodel.decide.chance import losses_of_run
from perfmodel.decide.commitments import commitment_of, reserved_too
from perfmodel.decide.cost_words import COMMUNICATING, IDLE, assumed, unknown
from perfmodel.decide.failures import goodput_of, machines_of_job, states_bytes
from perfmodel.decide.price_kinds import HOUR, interrupted, rate_spread, uninterrupted
from perfmodel.decide.prices import OWN, Price, carbon_intensity_of, kind_of, price_of, server_price_of
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
NO_SERVER_PRICE = "price of {}, a parameter server: give --server-price, USD per hour of one"


class Servers(NamedTuple):
    """Number, price and idle power of the parameter servers; each field is a number or an array over jobs."""

    count: Any = 0
    usd_per_hour: Any = None
    """Price of one server machine; None where it is unknown."""
    idle_power: Any = 0.0
    """Power of the idle accelerators of one server machine [W]."""


NO_SERVERS = Servers()


class Rates(NamedTuple):
    """Cost, energy and carbon of a job per second, and losses to failures; numbers or arrays over jobs."""

    cost: Any
    """[$/s]; None where the price is unknown."""
    energy: Any
    """[J/s] at the meter of the building; None where the accelerator's power is unknown."""
    carbon: Any
    """[g/s]; None without an intensity."""
    goodput: Any
    """Share of the wall-clock time that is kept work [1]."""
    checkpoint_interval: Any
    """Work between two checkpoints [s]; None without a failure rate, infinite where writing none is best."""
    failure_interval: Any
    """Mean time between failures of the whole job [s]; None without a failure rate."""


def idle_power(accelerators: int, accelerator: Accelerator | None) -> float:
    """Return the power of the idle accelerators of a parameter server [W]; 0 where it is unknown."""
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
    """Return cost, energy, carbon per second and losses to failures; numbers or arrays that broadcast.

    Parameters
    ----------
    iteration_time, busy_time, communicating_time : whole, computing, only communicating [s]
    world_size, nodes : accelerators and nodes that train [1]
    rated_power : of one accelerator [W]; None where it is unknown
    usd_per_hour : price of one node; None where it is unknown
    conditions : prices, power and failures
    carbon_intensity : of the electricity [g CO2/kWh]; by default the one of ``conditions``
    own_electricity : whether electricity is paid on top of the price
    work_time : of the whole run without failures [s], or None; a run too short for checkpoints to pay off
        writes none
    servers : machines of parameter servers, in addition to the nodes
    checkpoint_bytes : size of one checkpoint [B], where ``conditions`` give a write bandwidth

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
    """Time, cost, energy and carbon of an iteration, an epoch or a run; None where an amount is unknown."""

    time: float
    """[s]"""
    cost: float | None
    """[$]"""
    energy: float | None
    """[J]"""
    carbon: float | None
    """[g]"""

    def report(self) -> dict[str, float | None]:
        """Return the amounts by name, as JSON answers have them: energy in kWh."""
        energy = None if self.energy is None else self.energy / KWH
        return {"time": self.time, "cost": self.cost, "energy": energy, "carbon": self.carbon}


class Spending(NamedTuple):
    """Prices of a predicted job, and what its iterations, epochs and whole run cost, in SI units."""

    price: Price | None
    server_price: Price | None
    iteration: Span
    epoch: Span | None
    """None where the size of the data set is not known."""
    run: Span | None
    """None where the length of the run is not given."""
    samples: float | None
    """Samples of the run; None where its length is not given."""
    rates: Rates
    failures: float | None
    """Expected failures in the run; None without a failure rate or a length."""


def spending(prediction: Prediction, conditions: Conditions, catalogue: Catalogue) -> Spending:
    """Return what a predicted job costs; every amount is the result of a formula.

    Parameters
    ----------
    prediction : of the job
    conditions : prices, power, failures and the length of the run
    catalogue : where specs and prices are looked up

    Raises
    ------
    InputError : as ``economics``
    """
    scenario, terms = prediction.scenario, prediction.terms
    node, server_count = scenario["node"], scenario["servers"] or 0
    accelerator = catalogue.accelerator(scenario["accelerator"])
    price = price_of(catalogue, node, conditions)
    conditions = at_the_price(conditions, price, catalogue)
    server_node = scenario.get("server_node") or node
    server_price = server_price_of(catalogue, server_node, node, price, conditions)
    machine = catalogue.node(server_node)
    server_accelerator = (
        accelerator
        if server_node == node
        else machine.accelerator and catalogue.accelerator(machine.accelerator)
    )
    servers = Servers(
        server_count,
        server_price and server_price.usd_per_hour,
        idle_power(machine.accelerators, server_accelerator or None),
    )
    samples = _samples(prediction, conditions)
    work = work_time(samples, prediction.samples_per_second) if samples else None
    state_bytes = None
    if conditions.checkpoint_bandwidth is not None:
        network = workload(
            scenario["workload"], scenario.get("sequence_length"), scenario.get("image_tokens")
        )
        state_bytes = states_bytes(network.parameters, scenario["optimizer"])
    result = rates(
        prediction.iteration_time,
        sum_of_terms(**only_kind(terms, "busy")),
        sum_of_terms(**only_kind(terms, "network")),
        scenario["world_size"],
        scenario["nodes"],
        rated_power=accelerator.tdp.value if accelerator.tdp else None,
        usd_per_hour=price.usd_per_hour if price else None,
        conditions=conditions,
        carbon_intensity=carbon_intensity_of(price, conditions),
        own_electricity=price is not None and price.basis in OWN,
        work_time=work,
        servers=servers,
        checkpoint_bytes=state_bytes,
    )
    if servers.usd_per_hour is None and server_count:
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


def at_the_price(conditions: Conditions, price: Price | None, catalogue: Catalogue) -> Conditions:
    """Return conditions with the interruptions of a spot price among the failures.

    Raises
    ------
    InputError : interruptions without a spot price, or a spot price without a known rate
    """
    kind = kind_of(price, conditions)
    if kind == "spot":
        return interrupted(conditions, price and price.provider, catalogue)
    return uninterrupted(conditions, (kind,))


def economics(
    prediction: Prediction, conditions: Conditions, catalogue: Catalogue, amounts: Spending | None = None
) -> dict[str, Any]:
    """Return what a predicted job costs, as ``--json`` prints it, with assumptions and unknown inputs.

    Parameters
    ----------
    prediction, conditions, catalogue : as of ``spending``
    amounts : result of ``spending`` for the same arguments, if the caller has it already

    Returns
    -------
    price : of one node, with its basis, region, date and source, or None
    servers : count, node and price of the parameter servers, or None where there are none
    per_iteration, per_epoch, run : time [s], cost [$], energy [kWh], carbon [g]; None where unknown.
        The time of a run includes failures, checkpoints and restarts, and its energy assumes the mean
        power of an iteration; with its ``samples``, and its ``epochs`` or ``tokens`` where those were given
    commitment : of a reserved price: term [s], its cost [$] and that of the rest which the run leaves unused;
        None at another
    reliability : goodput [1], failure_interval [s], checkpoint_interval [s], failures of the run, and
        ``loss_low_80``, ``loss_high_80``, the half-widths of the run's interval due to interruptions; or
        None; the checkpoint interval is None where the run is too short to write any
    assumed : assumptions, one sentence each
    unknown : missing inputs, each with the option that gives it

    Raises
    ------
    InputError : options that exclude each other; a job that fails faster than it restarts
    """
    scenario = prediction.scenario
    node, server_count = scenario["node"], scenario["servers"] or 0
    powered = catalogue.accelerator(scenario["accelerator"]).tdp is not None
    amounts = amounts or spending(prediction, conditions, catalogue)
    price, server_price = amounts.price, amounts.server_price
    server_node = scenario.get("server_node") or node
    committed = price and commitment_of(
        price.kind,
        scenario["nodes"],
        price.usd_per_hour,
        amounts.run and amounts.run.time,
        server_count,
        reserved_too(server_price, price) if server_count else 0.0,
    )
    length = {"epochs": conditions.epochs, "samples": amounts.samples, "tokens": conditions.tokens}
    return {
        "price": price._asdict() if price else None,
        "servers": {
            "count": server_count,
            "node": server_node,
            "price": server_price and server_price._asdict(),
        }
        if server_count
        else None,
        "per_iteration": amounts.iteration.report(),
        "per_epoch": amounts.epoch.report() if amounts.epoch else None,
        "run": {**length, **amounts.run.report()} if amounts.run else None,
        "commitment": committed or None,
        "reliability": _reliability(amounts, prediction, conditions, catalogue),
        "assumed": assumed(conditions, price, powered, bool(server_count), catalogue),
        "unknown": unknown(conditions, price, node, powered, catalogue)
        + ([NO_SERVER_PRICE.format(server_node)] if server_count and price and not server_price else []),
    }


def spans(result: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the known amounts of a result of ``economics``: of ``iteration``, ``epoch`` and ``run``."""
    named = {"iteration": "per_iteration", "epoch": "per_epoch", "run": "run"}
    return {name: result[key] for name, key in named.items() if result[key]}


def _samples(prediction: Prediction, conditions: Conditions) -> float | None:
    """Return the samples of the run; None where its length is not given."""
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
    """Return what a time [s] costs at given rates."""

    def total(rate: Any) -> Any:
        return None if rate is None else amount_over(rate, time)

    return Span(time, total(result.cost), total(result.energy), total(result.carbon))


def _reliability(
    amounts: Spending, prediction: Prediction, conditions: Conditions, catalogue: Catalogue
) -> dict[str, float | None] | None:
    """Return goodput, failure and checkpoint intervals and failures by name; None without a failure rate."""
    result = amounts.rates
    if result.failure_interval is None:
        return None
    interval, price = ops.plain(result.checkpoint_interval), amounts.price
    run = amounts.run and ops.plain(amounts.run.time)
    losses = losses_of_run(
        run or None,
        ops.plain(result.goodput),
        interval,
        ops.plain(result.failure_interval),
        ops.plain(machines_of_job(prediction.scenario["nodes"], prediction.scenario["servers"])),
        at_the_price(conditions, price, catalogue),
        rate_spread(conditions, price and price.provider, catalogue),
    )
    return {
        "goodput": ops.number(result.goodput),
        "failure_interval": ops.number(result.failure_interval),
        "checkpoint_interval": float(interval) if math.isfinite(interval) else None,
        "failures": None if amounts.failures is None else ops.number(amounts.failures),
        "loss_low_80": min(losses.whole, losses.most_gained) if run else None,
        "loss_high_80": losses.whole if run else None,
    }
