"""Every plan that a goal allows, as one table: data-parallel copies and layouts, predicted and priced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from perfmodel.core.candidates import TooManyCandidates
from perfmodel.core.errors import ErrorNote, InputError, refusal
from perfmodel.core.problem import Words
from perfmodel.core.units import show
from perfmodel.decide.economics import KWH, Servers, idle_power, rates
from perfmodel.decide.failures import goodput_of, states_bytes
from perfmodel.decide.planning.between import MOST, between
from perfmodel.decide.planning.copies import tables_of_copies
from perfmodel.decide.planning.goal import Goal
from perfmodel.decide.planning.layouts import jobs_of, tables_of_layouts
from perfmodel.decide.planning.machines import Machine, server_of
from perfmodel.decide.planning.within import judged
from perfmodel.decide.prices import carbon_intensity_of
from perfmodel.equations.cost import both_energies, job_energy
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.prediction.limits import replicas_alone
from perfmodel.model.setting.sharing import predicts_tokens
from perfmodel.model.step.terms import TERMS, of_kind
from perfmodel.workloads.recipes.epochs_to_target import EpochsFit
from perfmodel.workloads.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = dict[str, NDArray[Any]]

Z_80 = NormalDist().inv_cdf(0.9)
"""Standard deviations from the mean to either end of an interval of 80 %."""

_PARTS: Final = (
    "node",
    "low_80",
    "high_80",
    "fits",
    "optimizer",
)
"""Columns from which others are computed; they are dropped afterwards."""


class Candidates(NamedTuple):
    """Every possible plan, and the reasons why others were left out."""

    table: Table
    """A row for each plan that fits in memory."""
    left_out: dict[str, int]
    """Number of impossible plans, by reason."""
    layouts: int
    """Layouts that were timed; for each machine, size and precision the fastest that fits is a plan."""


def candidates(
    goal: Goal,
    machines: Sequence[Machine],
    network: Workload,
    fit: EpochsFit | None,
    catalogue: Catalogue,
    constants: Calibration,
) -> Candidates:
    """Return every plan that a goal allows: data-parallel copies, and layouts of a transformer.

    Parameters
    ----------
    goal, machines : what to cross
    network, fit : of the goal's workload
    catalogue, constants : as for ``predict``

    Raises
    ------
    InputError : no plan is possible: the refusal of every candidate, or the most frequent reason
    """
    # raises for an invalid run or conditions before anything is predicted
    _samples(goal, network, fit, 1.0)
    goodput_of(1.0, 0.0, goal.conditions, None, 1.0)
    left_out: Counter[str] = Counter()
    tables, layouts = [], 0
    as_copies, under_layouts = goal.by_model(network)
    jobs = jobs_of(under_layouts, machines) if under_layouts else []
    if as_copies:
        tables += tables_of_copies(as_copies, machines, network, catalogue, constants, left_out)
    if under_layouts:
        table, layouts = tables_of_layouts(
            under_layouts, machines, jobs, network, catalogue, constants, left_out
        )
        tables += table
        under_layouts = under_layouts if table else None
    if not sum(len(table["machine"]) for table in tables):
        raise _none_left(goal, network, left_out)
    result = valued(_joined(tables), goal, machines, network, fit, catalogue)
    tried, most = set(jobs), MOST
    while under_layouts and (more := between(goal, machines, result, tried, most)):
        tried.update(more)
        most -= len(more)
        try:
            table, timed = tables_of_layouts(
                under_layouts, machines, more, network, catalogue, constants, left_out
            )
        except TooManyCandidates as error:  # the plans tried so far are an answer
            left_out[f"a count next to the best, beyond {error.most:,} candidates in all"] += len(more)
            break
        layouts += timed
        if table:
            tables += table
            result = valued(_joined(tables), goal, machines, network, fit, catalogue)
    return Candidates(_within_power(result, machines, goal.power_limit, left_out), left_out, layouts)


def _joined(tables: Sequence[Table]) -> Table:
    """Return several tables as one; a missing column is 0 for a time and None for anything else."""
    names = dict.fromkeys(name for table in tables for name in table)

    def column(table: Table, name: str) -> NDArray[Any]:
        if name in table:
            return table[name]
        return np.full(len(table["machine"]), 0.0 if name in TERMS else None)

    return {name: np.concatenate([column(table, name) for table in tables]) for name in names}


def _within_power(
    table: Table, machines: Sequence[Machine], most: float | None, left_out: Counter[str]
) -> Table:
    """Return the plans whose rated power is within a limit [W]; the others are counted in ``left_out``."""
    if most is None:
        return table
    able = table["power"] <= most  # not where the power is unknown
    unknown = np.isnan(table["power"])
    if unknown.all():
        names = ", ".join(dict.fromkeys(machines[i].accelerator for i in table["machine"].tolist()))
        raise refusal("power_limit.unknown", most=show(most, "W"), names=names)
    if not able.any():
        least = show(float(np.nanmin(table["power"])), "W")
        raise refusal("power_limit.too_low", most=show(most, "W"), least=least)
    for reason, unable in (
        ("an unknown power (--power-limit)", unknown),
        (f"a power over {show(most, 'W')} (--power-limit)", table["power"] > most),
    ):
        if unable.any():
            left_out[reason] = int(unable.sum())
    return {name: column[able] for name, column in table.items()}


def _none_left(goal: Goal, network: Workload, left_out: Counter[str]) -> InputError:
    """Return why no plan is left: the refusal itself where one and the same refuses every candidate."""
    if not left_out:
        precision_option = f" with --precision {','.join(goal.precisions)}" if goal.precisions else ""
        said = f"none of these machines can train {goal.workload}{precision_option}"
        return refusal("plan.none_left", said=Words(said))
    reason, count = max(left_out.items(), key=lambda item: item[1])
    if isinstance(reason, ErrorNote) and len(left_out) == 1:
        return reason.error
    alone = None if predicts_tokens(network) else replicas_alone(network)
    why = f"{reason}; {alone}" if alone else reason
    said = f"no plan is left of {sum(left_out.values()):,}; {count:,} of them: {why}"
    return refusal("plan.none_left", said=Words(said))


def valued(
    table: Table,
    goal: Goal,
    machines: Sequence[Machine],
    network: Workload,
    fit: EpochsFit | None,
    catalogue: Catalogue,
) -> Table:
    """Return a table with run time, money, energy and risks in place of the terms of an iteration.

    Parameters
    ----------
    table : columns ``machine`` (an index of ``machines``) and ``PREDICTED``, shape (plans,)
    goal, machines : give the length of the run and the price of a node
    network, fit : of the goal's workload
    catalogue : has the power of the accelerators
    """
    machine_of = table["machine"]
    server_counts = np.nan_to_num(table["servers"].astype(np.float64))
    batch = table["global_batch_size"].astype(np.float64)
    samples = _samples(goal, network, fit, batch)
    own = np.array([machine.price is not None and machine.price.basis != "on demand" for machine in machines])
    with np.errstate(divide="ignore"):
        work_time = samples / table["samples_per_second"]
    result = _rates(table, server_counts, machine_of, work_time, machines, goal, own, network, catalogue)
    goodput = np.broadcast_to(np.asarray(result["goodput"], dtype=np.float64), machine_of.shape)
    with np.errstate(divide="ignore"):
        run_time = work_time / goodput
    point = table["iteration_time"]
    # a lower end cut at the physical limit is cut for the run too
    below, near = (
        _widened(factor.astype(np.float64), fit)
        for factor in (point / table["low_80"], table["high_80"] / point)
    )
    report = {name: column for name, column in table.items() if name not in (*_PARTS, *TERMS)}
    report["servers"] = server_counts.astype(np.int64)
    report["sequence_length"] = np.full(machine_of.shape, network.sequence_length)  # None of an image
    per_epoch = network.dataset_samples
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
    }
    return report | judged(report, goal.limits)


def _widened(factor: Any, fit: EpochsFit | None) -> Any:
    """Return the factor of a run's interval, from that of its iterations and of its epochs to a target."""
    return factor if fit is None else np.exp(np.hypot(np.log(factor), Z_80 * fit.residual))


def _samples(goal: Goal, network: Workload, fit: EpochsFit | None, batch: Any) -> Any:
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
    terms = {name: table[name] for name in TERMS if name in table}
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
        "power": both_energies(rated, serving),  # of one second
    }
