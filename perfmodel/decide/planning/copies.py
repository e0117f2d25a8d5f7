"""Data-parallel plans: machines, sizes, strategies, precisions and batches crossed by sweeps."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from perfmodel.core.candidates import will_try
from perfmodel.core.errors import InputError
from perfmodel.core.problem import Note
from perfmodel.decide.failures import machines_of_job
from perfmodel.decide.planning.goal import ALGORITHMS, BATCH_TOO_LARGE, Goal
from perfmodel.decide.planning.gpu_counts import sized
from perfmodel.decide.planning.machines import Machine
from perfmodel.decide.sweeps import sweep
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.formats import OPERANDS
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.embedding_tables import usual_embedding
from perfmodel.model.setting.sharing import predicts_tokens
from perfmodel.model.step.all_reduce import NOT_ON_LINKS
from perfmodel.model.step.terms import COPIES, names_of
from perfmodel.workloads import workload
from perfmodel.workloads.workload import Workload

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
"""Precisions tried by default: those that train as well as fp32; pure fp16 must be requested."""
SERVERS: Final = (1, 4, 16)
"""Numbers of parameter servers tried; never more than the machines they serve."""
NOT_THERE: Final = "all-reduce algorithms that their links cannot do"
"""Reason for plans whose algorithm the links do not support."""
NO_MEMORY: Final = "does not fit in memory"
LARGEST_BATCH = 2**20
"""Largest batch of one accelerator, for networks so small that memory sets no limit."""

PREDICTED: Final = (
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
    "samples_per_second",
    "mfu",
    "mfu_nominal",
    "memory_bytes",
    "memory_known",
    "memory_capacity",
    "fits",
    "optimizer",
)
"""Columns of a plan, of any workload."""


def tables_of_copies(
    goal: Goal,
    machines: Sequence[Machine],
    network: Workload,
    catalogue: Catalogue,
    constants: Calibration,
    left_out: Counter[str],
) -> list[Table]:
    """Return tables with a row for each data-parallel plan that fits in memory.

    Parameters
    ----------
    goal, machines : what to cross
    network : of the goal's workload
    catalogue, constants : as for ``predict``
    left_out : counter of plans left out, by reason; updated
    """
    frameworks = {
        name: goal.framework_on(network, catalogue.accelerator(name), catalogue)
        for name in dict.fromkeys(machine.accelerator for machine in machines)
    }
    index_of = {(machine.node, machine.accelerator): i for i, machine in enumerate(machines)}
    crossings, between = [], Counter[str]()
    for accelerator, options in _crossings(goal, frameworks, machines, catalogue, constants, between):
        crossings.append((accelerator, options, between.copy()))
        between.clear()
    will_try(math.prod(map(_length, options.values())) for _, options, _ in crossings)
    tables = []
    for accelerator, options, before in crossings:
        left_out.update(before)
        crossed = sweep(
            workload=goal.workload,
            accelerator=accelerator,
            catalogue=catalogue,
            constants=constants,
            columns=(*PREDICTED, *names_of(*COPIES)),
            **options,
            **goal.under(frameworks[accelerator]).options,
        )
        try:
            table = crossed.table()
        except InputError:
            if not crossed.refused:
                raise
            table = None
        for report, count in crossed.refused.items():
            not_there = isinstance(report, Note) and report.about == NOT_ON_LINKS
            reason = NOT_THERE if not_there else report
            left_out[reason] += count
        if table is not None:
            table["machine"] = np.array([index_of[node, accelerator] for node in table["node"].tolist()])
            table["framework"] = np.full(len(table["machine"]), frameworks[accelerator], dtype=object)
            tables.append(_allowed(goal, table, goal.most_samples(network), left_out))
    left_out.update(between)
    return tables


def _length(values: Any) -> int:
    """Return how many values of an option are crossed."""
    return len(values) if isinstance(values, list) else 1


def _crossings(
    goal: Goal,
    frameworks: Mapping[str, str | None],
    machines: Sequence[Machine],
    catalogue: Catalogue,
    constants: Calibration,
    left_out: Counter[str],
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the accelerator and the options to cross, for each group of machines of the same shape."""
    same_shape: dict[tuple[str, int, bool], list[str]] = {}
    for machine in machines:
        key = machine.accelerator, machine.accelerators, machine.joins
        same_shape.setdefault(key, []).append(machine.node)
    offered_sizes = {
        (accelerator, per_machine, joins): sized(goal.most_gpus(per_machine, joins), per_machine)
        for accelerator, per_machine, joins in same_shape
    }
    batches: dict[str, dict[int, list[str]]] = {}
    for (accelerator, per_machine, joins), nodes in same_shape.items():
        sizes = offered_sizes[accelerator, per_machine, joins]
        if accelerator not in batches:
            most = max(max(some) for (name, *_), some in offered_sizes.items() if name == accelerator)
            under = goal.under(frameworks[accelerator])
            batches[accelerator] = _largest_batches(under, accelerator, most, catalogue, constants, left_out)
        for largest, precisions in batches[accelerator].items():
            offered = goal.local_batch_sizes or [2**i for i in range(largest.bit_length())]
            fitting = [batch for batch in offered if batch < 2 * largest]
            if not fitting:
                left_out[NO_MEMORY] += len(offered) * len(sizes)
                continue
            shared = {"node": nodes, "precision": precisions, "local_batch_size": fitting}
            for strategy_options in _ways(goal, per_machine, sizes):
                yield accelerator, shared | strategy_options


def _largest_batches(
    goal: Goal,
    accelerator: str,
    most: int,
    catalogue: Catalogue,
    constants: Calibration,
    left_out: Counter[str],
) -> dict[int, list[str]]:
    """Return the precisions of an accelerator by the largest power of two of samples that fits with each.

    With sharded embedding tables it is the batch of ``most`` accelerators, which keep the smallest shards;
    plans of fewer are checked when they are predicted.
    """
    network = workload(goal.workload)
    embedding = goal.options.get("embedding") or usual_embedding(network, "all-reduce")
    # of networks that predict tokens, all-reduce is that of layouts
    strategy = goal.strategies[0] if predicts_tokens(network) else "all-reduce"
    result: dict[int, list[str]] = {}
    for precision in goal.precisions or PRECISIONS:
        if precision in OPERANDS:
            if goal.precisions:
                left_out[
                    f"--precision {precision}: no copy of a whole network is known to be trained in it"
                ] += 1
            continue
        try:
            catalogue.accelerator(accelerator).training_peak(precision)
        except InputError:
            continue
        largest_batch = sweep(
            workload=goal.workload,
            accelerator=accelerator,
            strategy=strategy,
            precision=precision,
            local_batch_size=1,
            world_size=most if embedding == "sharded" else 1,
            catalogue=catalogue,
            constants=constants,
            columns=("largest_local_batch_size",),
            **goal.options,
        )
        try:
            largest = int(largest_batch.table()["largest_local_batch_size"][0])
        except InputError:
            if not largest_batch.refused:
                raise
            for report in largest_batch.refused:
                left_out[report] += 1
            continue
        if largest < 1:
            reason = f"no whole copy of {goal.workload} with one sample fits in the memory of {accelerator}"
            left_out[reason] += 1
        else:
            result.setdefault(min(2 ** (largest.bit_length() - 1), LARGEST_BATCH), []).append(precision)
    return result


def _ways(goal: Goal, per_machine: int, sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield the options of each strategy."""
    strategies = goal.strategies or OFFERED
    if "all-reduce" in strategies:
        one_accelerator = [n for n in sizes if n == 1]
        if one_accelerator:  # no gradients travel, whatever the algorithm
            first = (goal.algorithms or ALGORITHMS)[0]
            yield {"strategy": "all-reduce", "algorithm": first, "world_size": one_accelerator}
        if len(sizes) > len(one_accelerator):
            algorithms = list(goal.algorithms or ALGORITHMS)
            several = [n for n in sizes if n > 1]
            yield {"strategy": "all-reduce", "algorithm": algorithms, "world_size": several}
    whole_machines = [n for n in sizes if n >= per_machine]
    if "parameter-server" in strategies and len(whole_machines) > 1:
        yield {
            "strategy": "parameter-server",
            "servers": list(SERVERS),
            "server_node": goal.server_node,
            "world_size": whole_machines[1:],
        }
    inside = [n for n in sizes if 1 < n <= per_machine]
    within = [name for name in strategies if name in STRATEGIES[2:]]
    if within and inside:
        yield {"strategy": within, "world_size": inside}


def _allowed(goal: Goal, table: Table, most: float, left_out: Counter[str]) -> Table:
    """Return the rows that fit in memory and keep the requested limits on batches and machines."""
    keep = np.ones(len(table["fits"]), dtype=bool)
    servers = np.nan_to_num(table["servers"].astype(np.float64))
    batch, only = table["global_batch_size"], goal.global_batch_size
    for reason, able in (
        (NO_MEMORY, table["fits"].astype(bool)),
        ("more parameter servers than machines", servers <= table["nodes"]),
        (
            f"more than {goal.max_nodes} machines with the parameter servers (--max-nodes)",
            machines_of_job(table["nodes"], servers) <= (goal.max_nodes or np.inf),
        ),
        (
            Note(f"a global batch over {most:,.0f} (--max-global-batch-size)", BATCH_TOO_LARGE),
            batch <= most,
        ),
        (f"another global batch than {only} (--global-batch-size)", (batch == only) | (only is None)),
    ):
        unable = int(np.count_nonzero(keep & ~able))
        if unable:
            left_out[reason] += unable
        keep &= able
    return {name: column[keep] for name, column in table.items()}
