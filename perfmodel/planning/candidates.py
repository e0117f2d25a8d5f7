"""Every plan a goal leaves open, as one table: predicted by sweeps, then priced in arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from perfmodel.calibration import Calibration
from perfmodel.economics import KWH, Servers, idle_power, rates, unknown_data_set
from perfmodel.epochs_to_target import EpochsFit
from perfmodel.errors import InputError
from perfmodel.planning.goal import ALGORITHMS, Goal, sized
from perfmodel.planning.machines import Machine, server_of
from perfmodel.prediction.limits import replicas_alone
from perfmodel.specs.store import Catalogue
from perfmodel.specs.workload import Workload
from perfmodel.step.terms import ANY_TERM, ONE_PROCESS_TERMS, TERMS, of_kind
from perfmodel.sweeps import sweep
from perfmodel.workloads import workload
from perfmodel.workloads.tables import usual_embedding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = dict[str, NDArray[Any]]

STRATEGIES: Final = (
    "all-reduce",
    "parameter-server",
    "parameter-server-local",
    "data-parallel-single-process",
)
OFFERED: Final = STRATEGIES[:2]
"""Strategies tried by default; the others have no measurements on machines for hire."""
PRECISIONS: Final = ("amp", "bf16", "tf32", "fp32")
"""Precisions tried by default: those that train as well as fp32; pure fp16 must be asked for."""
SERVERS: Final = (1, 4, 16)
"""Parameter servers offered; never more than the machines they serve."""
NOT_THERE: Final = "all-reduce algorithms that their links cannot do"
NO_MEMORY: Final = "does not fit in memory"
LARGEST_BATCH = 2**20
"""Largest batch of one accelerator, for networks so small that memory sets no limit."""

Z_80, Z_95 = NormalDist().inv_cdf(0.9), NormalDist().inv_cdf(0.975)
"""Standard deviations to either end of an interval of 80 and of 95 %."""

_PREDICTED: Final = (
    "node",
    "world_size",
    "nodes",
    "servers",
    "strategy",
    "algorithm",
    "precision",
    "local_batch_size",
    "global_batch_size",
    "iteration_time",
    "low_80",
    "high_80",
    "high_95",
    "samples_per_second",
    "memory_bytes",
    "fits",
)
_PARTS: Final = (
    "node",
    "low_80",
    "high_80",
    "high_95",
    "fits",
)
"""Columns used to compute others, and dropped."""


def candidates(
    goal: Goal,
    machines: Sequence[Machine],
    network: Workload,
    fit: EpochsFit | None,
    catalogue: Catalogue,
    constants: Calibration,
) -> tuple[Table, dict[str, int]]:
    """Return a row for each plan that fits in memory, and how many were left out, by the reason.

    Parameters
    ----------
    goal, machines : what to cross
    network, fit : of the goal's workload
    catalogue, constants : as for ``predict``

    Raises
    ------
    InputError : no plan is possible, with what is said of the first that is not
    """
    # what is wrong with the run or its conditions is known before anything is predicted
    _samples(goal, network, fit, 1.0)
    rates(1.0, 1.0, 0.0, 1.0, 1.0, rated_power=None, usd_per_hour=None, conditions=goal.conditions)
    left_out: dict[str, int] = {}
    tables = []
    index_of = {(machine.node, machine.accelerator): i for i, machine in enumerate(machines)}
    for accelerator, options in _crossings(goal, machines, catalogue, constants, left_out):
        crossed = sweep(
            workload=goal.workload,
            accelerator=accelerator,
            catalogue=catalogue,
            constants=constants,
            columns=(*_PREDICTED, *TERMS, *ONE_PROCESS_TERMS),
            **options,
            **goal.options,
        )
        try:
            table = crossed.table()
        except InputError:
            if not crossed.refused:
                raise
            table = None
        for report, count in crossed.refused.items():
            reason = NOT_THERE if report.startswith("unknown algorithm on these links") else report
            left_out[reason] = left_out.get(reason, 0) + count
        if table is not None:
            table["machine"] = np.array([index_of[node, accelerator] for node in table["node"].tolist()])
            tables.append(_allowed(table, goal.most_samples(network.sample), left_out))
    if not sum(len(table["machine"]) for table in tables):
        raise InputError(_none_left(goal, left_out))
    whole = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    return valued(whole, goal, machines, network, fit, catalogue), left_out


def _crossings(
    goal: Goal,
    machines: Sequence[Machine],
    catalogue: Catalogue,
    constants: Calibration,
    left_out: dict[str, int],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return the options to cross, for each group of machines with the same accelerators."""
    same_shape: dict[tuple[str, int, bool], list[str]] = {}
    for machine in machines:
        key = machine.accelerator, machine.accelerators, machine.joins
        same_shape.setdefault(key, []).append(machine.node)
    offered_sizes = {
        (accelerator, held, joins): sized(goal.max_gpus if joins else min(goal.max_gpus, held), held)
        for accelerator, held, joins in same_shape
    }
    batches: dict[str, dict[int, list[str]]] = {}
    for (accelerator, held, joins), nodes in same_shape.items():
        sizes = offered_sizes[accelerator, held, joins]
        if accelerator not in batches:
            most = max(max(some) for (name, *_), some in offered_sizes.items() if name == accelerator)
            batches[accelerator] = _largest_batches(goal, accelerator, most, catalogue, constants, left_out)
        for largest, precisions in batches[accelerator].items():
            offered = goal.local_batch_sizes or [2**i for i in range(largest.bit_length())]
            fitting = [batch for batch in offered if batch < 2 * largest]
            if not fitting:
                left_out[NO_MEMORY] = left_out.get(NO_MEMORY, 0) + len(offered) * len(sizes)
                continue
            shared = {"node": nodes, "precision": precisions, "local_batch_size": fitting}
            for way in _ways(goal, held, sizes):
                yield accelerator, shared | way


def _largest_batches(
    goal: Goal,
    accelerator: str,
    most: int,
    catalogue: Catalogue,
    constants: Calibration,
    left_out: dict[str, int],
) -> dict[int, list[str]]:
    """Precisions the accelerator has, by the largest power of two of samples that fits with each.

    Of tables that are shared out, ``most`` accelerators keep the least each: that plans of fewer fit is seen
    when each is predicted.
    """
    embedding = goal.options.get("embedding") or usual_embedding(workload(goal.workload), "all-reduce")
    result: dict[int, list[str]] = {}
    for precision in goal.precisions or PRECISIONS:
        try:
            catalogue.accelerator(accelerator).training_peak(precision)
        except InputError:
            continue
        asked = sweep(
            workload=goal.workload,
            accelerator=accelerator,
            precision=precision,
            local_batch_size=1,
            world_size=most if embedding == "sharded" else 1,
            catalogue=catalogue,
            constants=constants,
            columns=("largest_local_batch_size",),
            **goal.options,
        )
        try:
            largest = int(asked.table()["largest_local_batch_size"][0])
        except InputError:
            if not asked.refused:
                raise
            for report in asked.refused:
                left_out[report] = left_out.get(report, 0) + 1
            continue
        if largest < 1:
            reason = f"not one sample of {goal.workload} fits in the memory of {accelerator}"
            left_out[reason] = left_out.get(reason, 0) + 1
        else:
            result.setdefault(min(2 ** (largest.bit_length() - 1), LARGEST_BATCH), []).append(precision)
    return result


def _ways(goal: Goal, held: int, sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Strategies, each with what is its own."""
    strategies = goal.strategies or OFFERED
    if "all-reduce" in strategies:
        alone = [n for n in sizes if n == 1]
        if alone:  # no gradients travel, whatever the algorithm
            first = (goal.algorithms or ALGORITHMS)[0]
            yield {"strategy": "all-reduce", "algorithm": first, "world_size": alone}
        if len(sizes) > len(alone):
            algorithms = list(goal.algorithms or ALGORITHMS)
            several = [n for n in sizes if n > 1]
            yield {"strategy": "all-reduce", "algorithm": algorithms, "world_size": several}
    whole = [n for n in sizes if n >= held]
    if "parameter-server" in strategies and len(whole) > 1:
        yield {
            "strategy": "parameter-server",
            "servers": list(SERVERS),
            "server_node": goal.server_node,
            "world_size": whole[1:],
        }
    inside = [n for n in sizes if 1 < n <= held]
    within = [name for name in strategies if name in STRATEGIES[2:]]
    if within and inside:
        yield {"strategy": within, "world_size": inside}


def _allowed(table: Table, most: float, left_out: dict[str, int]) -> Table:
    """The rows that fit in memory and keep within the batches that are known to train."""
    keep = np.ones(len(table["fits"]), dtype=bool)
    servers = np.nan_to_num(table["servers"].astype(np.float64))
    for reason, able in (
        (NO_MEMORY, table["fits"].astype(bool)),
        ("more parameter servers than machines", servers <= table["nodes"]),
        (
            f"a global batch over {most:,.0f} (--max-global-batch-size)",
            table["global_batch_size"] <= most,
        ),
    ):
        unable = int(np.count_nonzero(keep & ~able))
        if unable:
            left_out[reason] = left_out.get(reason, 0) + unable
        keep &= able
    return {name: column[keep] for name, column in table.items()}


def _none_left(goal: Goal, left_out: dict[str, int]) -> str:
    if not left_out:
        asked = f" with --precision {','.join(goal.precisions)}" if goal.precisions else ""
        return f"none of these machines can train {goal.workload}{asked}"
    reason, count = max(left_out.items(), key=lambda item: item[1])
    alone = replicas_alone(workload(goal.workload))
    why = f"{reason}; {alone}" if alone else reason
    return f"no plan is left of {sum(left_out.values()):,}; {count:,} of them: {why}"


def valued(
    table: Table,
    goal: Goal,
    machines: Sequence[Machine],
    network: Workload,
    fit: EpochsFit | None,
    catalogue: Catalogue,
) -> Table:
    """Return a table with the run's time, its interval, money and energy in place of the iteration's parts.

    Parameters
    ----------
    table : columns ``machine`` (an index of ``machines``) and those a sweep was asked for, shape (plans,)
    goal, machines : what says how long the run is, and what a node costs
    network, fit : of the goal's workload
    catalogue : knows the accelerators' power
    """
    which = table["machine"]
    of_servers = np.nan_to_num(table["servers"].astype(np.float64))
    batch = table["global_batch_size"].astype(np.float64)
    samples = _samples(goal, network, fit, batch)
    own = np.array([machine.price is not None and machine.price.basis != "on demand" for machine in machines])
    with np.errstate(divide="ignore"):
        work_time = samples / table["samples_per_second"]
    result = _rates(table, of_servers, which, work_time, machines, goal, own, catalogue)
    goodput = np.broadcast_to(np.asarray(result["goodput"], dtype=np.float64), which.shape)
    with np.errstate(divide="ignore"):
        run_time = work_time / goodput
    point = table["iteration_time"]
    # a lower end cut at the physical limit is cut for the run too
    below, near, far = (
        _widened(factor.astype(np.float64), z, fit)
        for factor, z in (
            (point / table["low_80"], Z_80),
            (table["high_80"] / point, Z_80),
            (table["high_95"] / point, Z_95),
        )
    )
    report = {name: column for name, column in table.items() if name not in (*_PARTS, *ANY_TERM)}
    report["servers"] = of_servers.astype(np.int64)
    report["sequence_length"] = np.full(which.shape, network.sequence_length)  # None of an image
    per_epoch = network.dataset_samples
    report |= {
        "samples": samples,
        "epochs": samples / per_epoch if per_epoch else np.full(which.shape, np.nan),
        "goodput": goodput,
        "run_time": run_time,
        "run_time_low_80": run_time / below,
        "run_time_high_80": run_time * near,
        "run_time_high_95": run_time * far,
        "cost": result["cost"] * run_time,
        "energy": result["energy"] * run_time / KWH,
        "carbon": result["carbon"] * run_time,
    }
    return report


def _widened(factor: Any, z: float, fit: EpochsFit | None) -> Any:
    """Return the uncertainty of a run, from that of its iterations and of its epochs to a target."""
    return factor if fit is None else np.exp(np.hypot(np.log(factor), z * fit.residual))


def _samples(goal: Goal, network: Workload, fit: EpochsFit | None, batch: Any) -> Any:
    """Samples of the whole run, one for each batch."""
    if goal.samples is not None:
        return goal.samples + 0 * batch
    if fit is not None and fit.unit == "samples":
        return fit.epochs(batch)
    if not network.dataset_samples:
        raise InputError(unknown_data_set(goal.workload))
    epochs = goal.epochs or 0.0 if fit is None else fit.epochs(batch)
    return epochs * network.dataset_samples + 0 * batch


def _rates(
    table: Table,
    of_servers: Any,
    which: Any,
    work_time: Any,
    machines: Sequence[Machine],
    goal: Goal,
    own: Any,
    catalogue: Catalogue,
) -> dict[str, Any]:
    """Return the rates of each plan: cost, energy, carbon a second; nan where unknown."""
    conditions, unknown = goal.conditions, np.full(len(machines), np.nan)
    price, power = unknown.copy(), unknown.copy()
    server_price, waiting = unknown.copy(), unknown.copy()
    for i, machine in enumerate(machines):
        accelerator = catalogue.accelerator(machine.accelerator)
        price[i] = machine.price.usd_per_hour if machine.price else np.nan
        power[i] = accelerator.tdp.value if accelerator.tdp else np.nan
        server = server_of(machine, goal, catalogue)
        server_price[i] = server.price.usd_per_hour if server.price else np.nan
        waiting[i] = idle_power(server.accelerators, server.held)
    servers = Servers(of_servers, np.where(of_servers > 0, server_price[which], 0.0), waiting[which])
    terms = {name: table[name] for name in ANY_TERM if name in table}
    busy, communicating = of_kind(terms, "busy"), of_kind(terms, "network")

    def asked(own_electricity: bool) -> Any:
        return rates(
            table["iteration_time"],
            busy,
            communicating,
            table["world_size"].astype(np.float64),
            table["nodes"].astype(np.float64),
            rated_power=power[which],
            usd_per_hour=price[which],
            conditions=conditions,
            own_electricity=own_electricity,
            work_time=work_time,
            servers=servers,
        )

    rented = asked(False)
    cost = rented.cost
    if conditions.electricity_price is not None:
        cost = np.where(own[which], asked(True).cost, cost)
    carbon = rented.carbon if rented.carbon is not None else np.full(which.shape, np.nan)
    return {"cost": cost, "energy": rented.energy, "carbon": carbon, "goodput": rented.goodput}
