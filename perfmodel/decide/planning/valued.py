"""Run time with its interval, money, energy and losses of predicted plans, in place of their terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from perfmodel.core.errors import refusal
from perfmodel.decide.chance import loss_widths, widened
from perfmodel.decide.commitments import reserved_too, whole_and_unused
from perfmodel.decide.economics import KWH, Servers, idle_power, rates
from perfmodel.decide.failures import machines_of_job, states_bytes
from perfmodel.decide.planning.goal import Goal
from perfmodel.decide.planning.machines import Machine, server_of
from perfmodel.decide.planning.within import judged
from perfmodel.decide.price_kinds import TERMS, expected_interruptions
from perfmodel.decide.prices import OWN, carbon_intensity_of
from perfmodel.equations.cost import both_energies, job_energy
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.step.terms import TERMS as TERMS_OF_A_STEP
from perfmodel.model.step.terms import of_kind
from perfmodel.workloads.recipes.epochs_to_target import EpochsFit
from perfmodel.workloads.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = dict[str, NDArray[Any]]

_PARTS: Final = (
    "node",
    "low_80",
    "high_80",
    "fits",
    "optimizer",
)
"""Columns from which others are computed; they are dropped afterwards."""


def valued(
    table: Table,
    goal: Goal,
    machines: Sequence[Machine],
    network: Workload,
    fit: EpochsFit | None,
    catalogue: Catalogue,
    rate_spread: Sequence[float] = (),
) -> Table:
    """Return a table with run time, money, energy and risks in place of the terms of an iteration.

    Parameters
    ----------
    table : columns ``machine`` (an index of ``machines``) and ``PREDICTED``, shape (plans,)
    goal, machines : give the length of the run and the price of a node
    network, fit : of the goal's workload
    catalogue : has the power of the accelerators
    rate_spread : of each machine, as of ``price_kinds.rate_spread``; by default none
    """
    machine_of = table["machine"]
    server_counts = np.nan_to_num(table["servers"].astype(np.float64))
    batch = table["global_batch_size"].astype(np.float64)
    samples = samples_of(goal, network, fit, batch)
    own = np.array([machine.price is not None and machine.price.basis in OWN for machine in machines])
    with np.errstate(divide="ignore"):
        work_time = samples / table["samples_per_second"]
    result = _rates(table, server_counts, machine_of, work_time, machines, goal, own, network, catalogue)
    goodput = np.broadcast_to(np.asarray(result["goodput"], dtype=np.float64), machine_of.shape)
    with np.errstate(divide="ignore", over="ignore"):
        run_time = work_time / goodput
    of_prices = _of_prices(table["nodes"], server_counts, run_time, machine_of, machines, goal, catalogue)
    widths = loss_widths(
        of_prices["interruptions"],
        result["checkpoint_interval"],
        result["failure_interval"],
        goodput=goodput,
        work_time=work_time,
        run_time=run_time,
        restart_time=goal.conditions.restart_time or 0.0,
        rate_spread=np.asarray(rate_spread)[machine_of] if len(rate_spread) else 0.0,
    )
    of_fit = 0.0 if fit is None else NORMAL_80 * fit.residual
    point = table["iteration_time"]
    # a lower end cut at the physical limit is cut for the run too
    below, near = (
        widened(widened(factor.astype(np.float64), of_fit), width)
        for factor, width in zip((point / table["low_80"], table["high_80"] / point), widths, strict=True)
    )
    report = {name: column for name, column in table.items() if name not in (*_PARTS, *TERMS_OF_A_STEP)}
    report["servers"] = server_counts.astype(np.int64)
    report["sequence_length"] = np.full(machine_of.shape, network.sequence_length)  # None of an image
    per_epoch = network.dataset_samples
    with np.errstate(over="ignore"):
        report |= {
            "iteration_time_high_80": table["high_80"],
            "samples": samples,
            "epochs": samples / per_epoch if per_epoch else np.full(machine_of.shape, np.nan),
            "goodput": goodput,
            "run_time": run_time,
            "run_time_low_80": run_time / below,
            "run_time_high_80": run_time * near,
            "power": result["power"],
            "cost": result["cost"] * run_time,
            "energy": result["energy"] * run_time / KWH,
            "carbon": result["carbon"] * run_time,
            **of_prices,
        }
    return report | judged(report, goal.limits)


def _of_prices(
    nodes: Any,
    servers: Any,
    run_time: Any,
    machine_of: Any,
    machines: Sequence[Machine],
    goal: Goal,
    catalogue: Catalogue,
) -> dict[str, Any]:
    """Return interruptions expected at spot prices, and what reserved ones commit to; nan at others.

    Parameters
    ----------
    nodes, servers : machines of each plan that train, and of parameter servers
    run_time : of each [s]
    """
    nodes = nodes.astype(np.float64)
    prices = [machine.price for machine in machines]
    of_kinds = [None if price is None else price.kind for price in prices]
    per_hour = goal.conditions.interruptions or np.nan
    rate = np.array([per_hour if kind == "spot" else np.nan for kind in of_kinds])[machine_of]
    term = np.array([TERMS.get(kind or "", np.nan) for kind in of_kinds])[machine_of]
    each = np.array([np.nan if price is None else price.usd_per_hour for price in prices])[machine_of]
    of_server = np.array(
        [
            reserved_too(server_of(machine, goal, catalogue).price, price)
            if price is not None and price.kind in TERMS
            else np.nan
            for machine, price in zip(machines, prices, strict=True)
        ]
    )[machine_of]
    of_server = np.where(servers > 0, of_server, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        whole, unused = whole_and_unused(nodes, each, servers, of_server, term, run_time)
        return {
            "interruptions": expected_interruptions(run_time, rate, machines_of_job(nodes, servers)),
            "committed_cost": whole,
            "unused_cost": unused,
        }


def samples_of(goal: Goal, network: Workload, fit: EpochsFit | None, batch: Any) -> Any:
    """Return the samples of the whole run, for each global batch size.

    Raises
    ------
    InputError : tokens of a network without a sequence length; epochs of an unknown data set
    """
    if goal.samples is not None:
        return goal.samples + 0 * batch
    if goal.tokens is not None:
        if not network.sequence_length:
            raise refusal("length.no_tokens", name=goal.workload)
        return goal.tokens / network.sequence_length + 0 * batch
    if fit is not None and fit.unit == "samples":
        return fit.epochs(batch)
    if not network.dataset_samples:
        raise refusal("length.unknown_data_set", workload=goal.workload)
    epochs = goal.epochs or 0.0 if fit is None else fit.epochs(batch)
    return epochs * network.dataset_samples + 0 * batch


def _rates(
    table: Table,
    server_counts: Any,
    machine_of: Any,
    work_time: Any,
    machines: Sequence[Machine],
    goal: Goal,
    owns_machine: Any,
    network: Workload,
    catalogue: Catalogue,
) -> dict[str, Any]:
    """Return cost, energy, carbon per second, goodput and rated power [W] of plans; nan where unknown."""
    conditions, unknown = goal.conditions, np.full(len(machines), np.nan)
    price, power, carbon_intensity = unknown.copy(), unknown.copy(), unknown.copy()
    server_price, waiting = unknown.copy(), unknown.copy()
    for i, machine in enumerate(machines):
        accelerator = catalogue.accelerator(machine.accelerator)
        price[i] = machine.price.usd_per_hour if machine.price else np.nan
        grid = carbon_intensity_of(machine.price, conditions)
        carbon_intensity[i] = np.nan if grid is None else grid
        power[i] = accelerator.tdp.value if accelerator.tdp else np.nan
        server = server_of(machine, goal, catalogue)
        server_price[i] = server.price.usd_per_hour if server.price else np.nan
        waiting[i] = idle_power(server.accelerators, server.held)
    servers = Servers(
        server_counts, np.where(server_counts > 0, server_price[machine_of], 0.0), waiting[machine_of]
    )
    state_bytes = None
    if conditions.checkpoint_bandwidth is not None:
        parameters = network.parameters
        state_bytes = np.array([states_bytes(parameters, name) for name in table["optimizer"].tolist()])
    terms = {name: table[name] for name in TERMS_OF_A_STEP if name in table}
    busy, communicating = of_kind(terms, "busy"), of_kind(terms, "network")

    def rates_with(own_electricity: bool) -> Any:
        return rates(
            table["iteration_time"],
            busy,
            communicating,
            table["world_size"].astype(np.float64),
            table["nodes"].astype(np.float64),
            rated_power=power[machine_of],
            usd_per_hour=price[machine_of],
            conditions=conditions,
            carbon_intensity=carbon_intensity[machine_of],
            own_electricity=own_electricity,
            work_time=work_time,
            servers=servers,
            checkpoint_bytes=state_bytes,
        )

    rented = rates_with(False)
    cost = rented.cost
    if conditions.electricity_price is not None:
        cost = np.where(owns_machine[machine_of], rates_with(True).cost, cost)
    carbon = rented.carbon
    hosts = conditions.host_power or 0.0, conditions.pue or 1.0, 1.0
    rated = job_energy(table["world_size"], power[machine_of], table["nodes"], *hosts)
    serving = job_energy(server_counts, waiting[machine_of], server_counts, *hosts)
    return {
        "cost": cost,
        "energy": rented.energy,
        "carbon": carbon,
        "goodput": rented.goodput,
        "checkpoint_interval": rented.checkpoint_interval,
        "failure_interval": rented.failure_interval,
        "power": both_energies(rated, serving),  # of one second
    }
