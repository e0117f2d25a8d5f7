"""How money, energy and failures follow from an iteration time: what ``perfmodel.economics`` works out."""

from __future__ import annotations

from typing import Any

from perfmodel.economics import COMMUNICATING, IDLE, KWH
from perfmodel.equations.cost import (
    amortised_machine_price,
    carbon_mass,
    energy_cost,
    job_energy,
    rent,
    three_state_power,
)
from perfmodel.equations.reliability import (
    daly_checkpoint_interval,
    expected_failures,
    goodput_fraction,
    job_failure_interval,
)
from perfmodel.explain.assembly import rule
from perfmodel.explain.derivation import Derivation
from perfmodel.explain.node import Node, given, worked
from perfmodel.ops import Real
from perfmodel.prices import DEFAULT_SERVICE_YEARS, HOUR, YEAR, price_words
from perfmodel.sensitivity.case import Case, servers_of

TOLERANCE = 1e-9
"""Relative; the same sums in another order."""


@rule
def computing_share(forward_time: Real, backward_time: Real, update_time: Real, iteration_time: Real) -> Real:
    r"""Share of an iteration in which an accelerator computes.

    .. math:: u = (t_f + t_b + t_u) / T
    """
    return (forward_time + backward_time + update_time) / iteration_time


@rule
def communicating_share(exposed_communication_time: Real, straggler_time: Real, iteration_time: Real) -> Real:
    r"""Share in which it only communicates, or waits for others that are to communicate.

    .. math:: v = (t_x + t_s) / T
    """
    return (exposed_communication_time + straggler_time) / iteration_time


@rule
def both_costs(first_cost: Real, second_cost: Real) -> Real:
    r"""Machines and electricity, or those that train and those that serve.

    .. math:: C = C_1 + C_2
    """
    return first_cost + second_cost


@rule
def both_energies(first_energy: Real, second_energy: Real) -> Real:
    r"""Of the machines that train and of those that serve parameters.

    .. math:: E = E_1 + E_2
    """
    return first_energy + second_energy


@rule
def work_time(run_samples: Real, global_batch_size: Real, iteration_time: Real) -> Real:
    r"""What a run takes where nothing fails.

    .. math:: w = \frac{N_r}{B} T
    """
    return run_samples / global_batch_size * iteration_time


@rule
def run_time(work_time: Real, goodput: Real) -> Real:
    r"""What a user sees a run take: checkpoints, restarts and work done twice included.

    .. math:: t = w / g
    """
    return work_time / goodput


def costs(case: Case, found: Derivation, told: dict[str, Any]) -> dict[str, Node]:
    """Return how the answer of ``perfmodel.economics.economics`` is worked out, what was told alone.

    Parameters
    ----------
    case : with the conditions and the price that were asked for
    found : of its iteration time
    told : the answer; a quantity the derivation does not bring to it is given as it stands there
    """
    time = found.iteration_time
    work = _work(case, time, told["run"]["samples"]) if told["run"] else None
    reliability = _reliability(case, work, told["reliability"])
    power, price = _power(case, found), _price(case)
    nodes = {f"{name}_of_iteration": node for name, node in _span(case, power, price, time).items()}
    nodes |= reliability
    if work is not None:
        kept = reliability.get("goodput") or given("goodput", 1.0, "nothing is said of failures")
        wall_time = worked("wall_time", run_time, work_time=work, goodput=kept)
        nodes["time_of_run"] = wall_time
        nodes |= {f"{name}_of_run": node for name, node in _span(case, power, price, wall_time).items()}
        if reliability:
            nodes["failures_of_run"] = worked(
                "failures",
                expected_failures,
                wall_time=wall_time,
                failure_interval=reliability["failure_interval"],
            )
    return _held_to(nodes, amounts(told))


def amounts(told: dict[str, Any]) -> dict[str, tuple[float, str]]:
    """Return every amount of an answer of ``perfmodel.economics.economics``, in SI, with its unit."""
    found = _amounts("iteration", told["per_iteration"])
    if kept := told["reliability"]:
        units = {"failure_interval": "s", "checkpoint_interval": "s", "goodput": "1"}
        found |= {name: (kept[name], unit) for name, unit in units.items()}
    if told["run"]:
        found["time_of_run"] = (told["run"]["time"], "s")
        found |= _amounts("run", told["run"])
    if kept:
        found["failures_of_run"] = (kept["failures"], "1")
    return {name: (value, unit) for name, (value, unit) in found.items() if value is not None}


def _amounts(span: str, of: dict[str, float | None]) -> dict[str, tuple[float | None, str]]:
    energy = of["energy"]
    return {
        f"cost_of_{span}": (of["cost"], "$"),
        f"energy_of_{span}": (None if energy is None else energy * KWH, "J"),
        f"carbon_of_{span}": (of["carbon"], "g"),
    }


def _held_to(nodes: dict[str, Node], told: dict[str, tuple[float, str]]) -> dict[str, Node]:
    def same(node: Node, value: float) -> bool:
        return bool(abs(float(node.value) - value) <= TOLERANCE * abs(value))

    return {
        name: node if same(node, told[name][0]) else given(node.name, told[name][0], "as it was worked out")
        for name, node in nodes.items()
        if name in told
    }


def _power(case: Case, found: Derivation) -> Node | None:
    """Mean power of one accelerator; None where its data sheet does not say."""
    chip = case.setting.accelerator
    if chip.tdp is None:
        return None
    rated, terms = chip.tdp.value, found.terms
    computing = ("forward_time", "backward_time", "update_time")
    waiting = ("exposed_communication_time", "straggler_time")
    time = {"iteration_time": found.iteration_time}
    return worked(
        "accelerator_power",
        three_state_power,
        busy_fraction=worked(
            "busy_fraction", computing_share, **{name: terms[name] for name in computing}, **time
        ),
        communicating_fraction=worked(
            "communicating_fraction", communicating_share, **{name: terms[name] for name in waiting}, **time
        ),
        busy_power=given("busy_power", rated, f"{chip.id}: tdp"),
        communicating_power=given(
            "communicating_power", COMMUNICATING * rated, f"{COMMUNICATING:.0%} of it, assumed"
        ),
        idle_power=given("idle_power", IDLE * rated, f"{IDLE:.0%} of it, assumed"),
    )


def _count(case: Case) -> Node:
    return given("nodes", float(case.setting.nodes), "of accelerators")


def _server_count(case: Case) -> Node:
    return given("nodes", float(case.setting.servers), "parameter servers")


def _machines(case: Case) -> Node:
    words = "of accelerators, and parameter servers" if case.setting.servers else "of the job"
    return given("nodes", float(case.setting.nodes + case.setting.servers), words)


def _price(case: Case) -> Node | None:
    """Of one machine, each second; None where nobody knows it."""
    price, asked = case.price, case.conditions
    if price is None:
        return None
    if asked.purchase_price is None:
        return given("machine_price", price.usd_per_hour / HOUR, price_words(price))
    life = (asked.service_years or DEFAULT_SERVICE_YEARS) * YEAR
    return worked(
        "machine_price",
        amortised_machine_price,
        purchase_price=given("purchase_price", asked.purchase_price, "as given"),
        service_life=given("service_life", life, _said(asked.service_years)),
        used_fraction=given("used_fraction", asked.used_fraction or 1.0, _said(asked.used_fraction)),
    )


def _said(value: float | None) -> str:
    return "assumed" if value is None else "as given"


def _span(case: Case, power: Node | None, price: Node | None, wall_time: Node) -> dict[str, Node]:
    """Cost, energy and carbon of a span of time, as far as they are known."""
    asked, machines = case.conditions, _count(case)
    found: dict[str, Node] = {}
    if power is not None:
        found["energy"] = energy = worked(
            "energy",
            job_energy,
            world_size=given("world_size", float(case.setting.world_size)),
            accelerator_power=power,
            nodes=machines,
            host_power=given("host_power", asked.host_power or 0.0, _said(asked.host_power)),
            pue=given("pue", asked.pue or 1.0, _said(asked.pue)),
            wall_time=wall_time,
        )
        if case.setting.servers:
            found["energy"] = energy = worked(
                "energy", both_energies, first_energy=energy, second_energy=_of_servers(case, wall_time)
            )
        if asked.carbon_intensity is not None:
            intensity = given("carbon_intensity", asked.carbon_intensity / KWH, "as given")
            found["carbon"] = worked("carbon", carbon_mass, energy=energy, carbon_intensity=intensity)
    unknown = bool(case.setting.servers) and case.server_price is None
    if price is not None and case.price is not None and not unknown:
        cost = worked("cost", rent, nodes=machines, machine_price=price, wall_time=wall_time)
        if case.setting.servers:
            cost = worked(
                "cost", both_costs, first_cost=cost, second_cost=_rent_of_servers(case, price, wall_time)
            )
        if case.price.basis != "on demand" and power is not None and asked.electricity_price is not None:
            rate = given("electricity_price", asked.electricity_price / KWH, "as given")
            drawn = worked("cost", energy_cost, energy=found["energy"], electricity_price=rate)
            cost = worked("cost", both_costs, first_cost=cost, second_cost=drawn)
        found["cost"] = cost
    return found


def _of_servers(case: Case, wall_time: Node) -> Node:
    """Energy of the parameter servers' hosts and of the accelerators that wait in them."""
    asked, each = case.conditions, servers_of(case).idle_power
    return worked(
        "energy",
        job_energy,
        world_size=given("world_size", float(case.setting.servers), "parameter servers"),
        accelerator_power=given("accelerator_power", each, "of the accelerators of one, waiting"),
        nodes=_server_count(case),
        host_power=given("host_power", asked.host_power or 0.0, _said(asked.host_power)),
        pue=given("pue", asked.pue or 1.0, _said(asked.pue)),
        wall_time=wall_time,
    )


def _rent_of_servers(case: Case, price: Node, wall_time: Node) -> Node:
    of_one = case.server_price
    if of_one is not None and of_one != case.price:
        price = given("machine_price", of_one.usd_per_hour / HOUR, price_words(of_one))
    return worked("cost", rent, nodes=_server_count(case), machine_price=price, wall_time=wall_time)


def _work(case: Case, time: Node, samples: float) -> Node:
    return worked(
        "work_time",
        work_time,
        run_samples=given("run_samples", float(samples), "of the whole run"),
        global_batch_size=given("global_batch_size", float(case.setting.global_batch_size)),
        iteration_time=time,
    )


def _reliability(case: Case, work: Node | None, told: dict[str, float | None] | None) -> dict[str, Node]:
    """What failures leave of the time; nothing where nobody says how often a node fails."""
    asked = case.conditions
    if told is None:
        return {}
    failures = worked(
        "failure_interval",
        job_failure_interval,
        node_failure_interval=given("node_failure_interval", asked.node_failure_interval, "as given"),
        nodes=_machines(case),
    )
    found = {"failure_interval": failures}
    checkpoint = given("checkpoint_time", asked.checkpoint_time, "as given")
    if told["checkpoint_interval"] is None and work is not None:
        interval = work
        checkpoint = given("checkpoint_time", 0.0, "none is written: the run is too short to gain by it")
    else:
        interval = found["checkpoint_interval"] = worked(
            "checkpoint_interval",
            daly_checkpoint_interval,
            checkpoint_time=checkpoint,
            failure_interval=failures,
        )
    found["goodput"] = worked(
        "goodput",
        goodput_fraction,
        checkpoint_interval=interval,
        checkpoint_time=checkpoint,
        restart_time=given("restart_time", asked.restart_time or 0.0, _said(asked.restart_time)),
        failure_interval=failures,
    )
    return found
