"""Model-parallel plans of transformers: for each machine, size and precision the fastest layout that fits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.core import progress
from perfmodel.core.candidates import will_try
from perfmodel.core.errors import InputError
from perfmodel.decide.planning.goal import ALGORITHMS, Goal
from perfmodel.decide.planning.gpu_counts import dividing, doubled
from perfmodel.decide.planning.machines import Machine
from perfmodel.decide.sweeps.shared import answers
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.layout import Layout
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.memory_odds import share_for
from perfmodel.model.prediction.open_options import left_open_by
from perfmodel.model.setting.resolve import Setting, resolve
from perfmodel.model.setting.sharing import layout_setting
from perfmodel.model.step.terms import names_of
from perfmodel.model.transformers.enumeration import count_layouts
from perfmodel.model.transformers.job import rows
from perfmodel.model.transformers.layout_words import changes
from perfmodel.model.transformers.search import chosen, in_order, near_the_fastest, times_of, untimed
from perfmodel.workloads.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = dict[str, NDArray[Any]]

ALIKE = 1.01
"""Ratio to the fastest layout's time below which no model distinguishes another layout from it."""
MOST_ALIKE = 3
"""Layouts listed in addition to the fastest."""
NONE_FITS = "no layout fits in memory"
NONE_WHOLE = "no layout that fits keeps each replica on machines of one kind"
WITHIN = (
    ("tensor_parallel", "pipeline_parallel", "context_parallel"),
    ("expert_tensor_parallel", "pipeline_parallel", "expert_parallel"),
)
"""Degrees whose ranks communicate within a layer or between stages, many times per step: without and with
experts."""
NONE_DIVIDES = "no layout divides the network and its batch"
_NUMBERS = (
    "iteration_time",
    "low_80",
    "high_80",
    "samples_per_second",
    "mfu",
    "mfu_nominal",
    "memory_bytes",
    "memory_capacity",
)


Fastest = dict[tuple[Any, ...], tuple[dict[str, Any] | None, int, str]]
"""Machine, size, precision and batch -> what ``fastest_layout`` returns."""


class Job(NamedTuple):
    """A machine, size and precision for which the fastest layout is searched."""

    machine: int
    """Index of the machine."""
    size: int
    """Number of accelerators."""
    precision: str | None
    """None for the usual one."""


def jobs_of(goal: Goal, machines: Sequence[Machine]) -> list[Job]:
    """Return every machine, size and precision for which layouts are tried first."""
    jobs = []
    for index, machine in enumerate(machines):
        most = goal.most_gpus(machine.accelerators, machine.joins)
        sizes = doubled(most, machine.accelerators)
        if goal.global_batch_size is not None:
            more = dividing(goal.global_batch_size, most, machine.accelerators)
            sizes = tuple(sorted({*sizes, *more}))
        jobs += [
            Job(index, size, precision) for precision, size in product(goal.precisions or (None,), sizes)
        ]
    return jobs


def tables_of_layouts(
    goal: Goal,
    machines: Sequence[Machine],
    jobs: Sequence[Job],
    network: Workload,
    catalogue: Catalogue,
    constants: Calibration,
    left_out: Counter[str],
    known: Fastest,
) -> tuple[list[Table], int]:
    """Return a table with the fastest layout that fits, for each machine, size and precision.

    Parameters
    ----------
    goal, machines : the run, and the machines to train on
    jobs : machines, sizes and precisions to try
    network : of the goal's workload, a transformer
    catalogue, constants : as for ``predict``
    left_out : counter of plans left out, by reason; updated
    known : plans of a search with the same options but for machines, sizes, precisions, batch and limits;
        updated

    Returns
    -------
    tables : empty where no layout is possible
    tried : number of layouts that were tried

    Raises
    ------
    InputError : a strategy or an algorithm that the transformer model does not support
    """
    _check_options(goal, network, catalogue.accelerator(machines[0].accelerator), catalogue)
    settings: list[tuple[int, Setting]] = []
    for index, size, precision in jobs:
        try:
            settings.append((index, _setting(goal, machines[index], size, precision, catalogue)))
        except InputError as error:
            left_out[error.note()] += 1
    will_try(count_layouts(each, goal.batch_of_layouts(network, each.world_size)) for _, each in settings)
    plans: list[dict[str, Any]] = []
    tried = 0
    for count, (index, setting) in enumerate(settings):
        progress.tried(count, len(settings))
        batch, size = goal.batch_of_layouts(network, setting.world_size), setting.world_size
        key = (*machines[index][:2], size, setting.precision, batch)
        if key not in known:
            known[key] = fastest_layout(goal, setting, network, constants)
        plan, among, reason = known[key]
        tried += among
        if plan is None:
            left_out[reason] += 1
        else:
            plans.append({"machine": index, **plan})
    progress.tried(len(settings), len(settings))
    return [_table(plans)] if plans else [], tried


def _check_options(goal: Goal, network: Workload, accelerator: Accelerator, catalogue: Catalogue) -> None:
    """Raise an InputError for a strategy or algorithm that the transformer model does not support."""
    for strategy, algorithm in product(goal.strategies or ("all-reduce",), goal.algorithms or ALGORITHMS):
        scenario = Scenario(workload=goal.workload, strategy=strategy, algorithm=algorithm)
        layout_setting(scenario, network, accelerator, catalogue, lambda _: None)


def _setting(goal: Goal, machine: Machine, size: int, precision: str | None, catalogue: Catalogue) -> Setting:
    """Return the setting of one machine, size and precision, with no layout chosen yet."""
    options: dict[str, Any] = {"workload": goal.workload, "world_size": size, "precision": precision}
    options |= {"node": machine.node, "accelerator": machine.accelerator}
    return resolve(Scenario(**options, **goal.options, micro_batch_size=1), catalogue)


def fastest_layout(
    goal: Goal, setting: Setting, network: Workload, constants: Calibration, whole: int | None = None
) -> tuple[dict[str, Any] | None, int, str]:
    """Return the fastest layout that fits as a plan or None, the number tried, and why there is none.

    Of the risk that the goal accepts half may be that of the memory, the other half being that of time and
    cost (a choice); layouts of more risk are taken only where there is no other.

    Parameters
    ----------
    goal, setting, network : the run, its machines, and its transformer
    constants : as for ``predict``
    whole : accelerators on machines of one type, which the ranks of a replica must divide; by default all
    """
    possible = untimed(setting, goal.batch_of_layouts(network, setting.world_size))
    layouts, held = possible.case.layout, possible.memory_bytes
    allowed = held <= setting.accelerator.memory_capacity
    if goal.local_batch_sizes:
        allowed &= np.isin(layouts.micro_batch_size, goal.local_batch_sizes)
    if not allowed.any():
        return None, len(held), NONE_FITS if len(held) else NONE_DIVIDES
    if whole is not None:
        ranks = (np.prod([getattr(layouts, name) for name in names], axis=0) for names in WITHIN)
        allowed &= np.logical_and.reduce([whole % each == 0 for each in ranks])
        if not allowed.any():
            return None, len(held), NONE_WHOLE
    sure = allowed & (held <= share_for((1 + goal.confidence) / 2) * setting.accelerator.memory_capacity)
    which = np.flatnonzero(sure if sure.any() else allowed)
    case = chosen(possible.case, which)
    if _waits(setting):  # how long depends on the layout
        in_turn = rows(case.layout, in_order(case.layout, times_of(case), held[which]))
        times = answers(setting, in_turn, constants)["iteration_time"]
        order = np.argsort(times, kind="stable")
        near = rows(in_turn, order[times[order] <= ALIKE * times[order[0]]])
    else:
        near = rows(case.layout, near_the_fastest(case, held[which], ALIKE)[0])
    first = Layout(*(float(column[0]) for column in near))
    open_options = left_open_by(setting.scenario.framework, {})
    numbers = answers(setting, rows(near, np.arange(1)), constants, opened=open_options)
    plan = {name: float(np.ravel(numbers[name])[0]) for name in (*_NUMBERS, *names_of("layout"))}
    common: dict[str, Any] = {
        "framework": setting.software,
        "layout": first.words(),
        "also": changes(near, MOST_ALIKE),
        "node": setting.node.id,
        "world_size": setting.world_size,
        "nodes": setting.nodes,
        "servers": 0.0,
        "strategy": "all-reduce",
        "algorithm": "auto",
        "precision": setting.precision,
        "local_batch_size": int(first.micro_batch_size),
        "global_batch_size": int(first.global_batch_size),
        "memory_known": float(np.ravel(numbers["memory_known"]())[0]),
        "fits": True,
        "optimizer": setting.optimizer,
    }
    return plan | common, len(held), ""


def _waits(setting: Setting) -> bool:
    """Return whether steps wait for samples or for stragglers."""
    return setting.scenario.input != "synthetic" or setting.scenario.jitter is not None


def _table(plans: Sequence[dict[str, Any]]) -> Table:
    """Return plans as a table of columns; columns of numbers are numeric arrays, others of objects."""
    table: Table = {}
    for name in plans[0]:
        table[name] = np.empty(len(plans), dtype=object)
        table[name][:] = [plan[name] for plan in plans]
        if isinstance(plans[0][name], int | float):
            table[name] = np.array(table[name].tolist())
    return table
