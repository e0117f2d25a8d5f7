"""Sweeps of transformers that are shared out: many layouts of one place as arrays."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.anchor import Anchor, parse_anchor
from perfmodel.calibration import Calibration
from perfmodel.errors import InputError
from perfmodel.prediction.bound import cut_ends, least_computation_time
from perfmodel.prediction.shared import largest_micro_batch
from perfmodel.resolve import Setting, accelerator_of, resolve
from perfmodel.sharing import stack_of
from perfmodel.specs.layout import DEGREES, FULL, RECOMPUTE, SHARDING, ZERO_3, Layout
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue
from perfmodel.step.evaluate import MeasuredRun, outcome_of
from perfmodel.step.input_wait import shared_input_time
from perfmodel.step.parts import figures
from perfmodel.step.terms import sent
from perfmodel.sweeps.axes import COMPUTATION, LAYOUT, PLACE, PLAN, WAY, Axes
from perfmodel.transformers.anchor import weight_between
from perfmodel.transformers.evaluate import case_of_setting, network_of, one_replica
from perfmodel.transformers.figures import ends, mfu_of, spread_of
from perfmodel.transformers.job import Job, bare_job
from perfmodel.transformers.job import rows as chosen
from perfmodel.transformers.machine import groups_of_many
from perfmodel.transformers.memory import ROOM, memory_of
from perfmodel.transformers.parameters import fitted
from perfmodel.transformers.step import step_of
from perfmodel.transformers.traffic import traffic_of
from perfmodel.workloads import workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Block = Callable[[], dict[str, Any]]
ROWS = 2**14
"""Layouts of a block."""
NOTHING_ASKED = frozenset((1, None, "none"))
"""Values of ``LAYOUT`` by which nothing is asked for; a micro-batch of 1 is any network's."""
_WORDS: dict[str, tuple[str, ...]] = {"sharding": SHARDING, "recompute": RECOMPUTE}


def by_stack(fixed: dict[str, Any], axes: Axes, catalogue: Catalogue) -> dict[str | None, list[Any]]:
    """Return the layouts of a group, tuples of the values of ``LAYOUT``, by the stack that trains them.

    That is None for those of copies of a network.

    Raises
    ------
    InputError : as ``predict``
    """
    result: dict[str | None, list[Any]] = {}
    trained: dict[bool, str | None] = {}
    for one in itertools.product(*(axes[name] for name in LAYOUT)):
        asks = not NOTHING_ASKED.issuperset(one)
        if asks not in trained:
            asked = Scenario.model_construct(**fixed, **dict(zip(LAYOUT, one, strict=True)))
            network = workload(asked.workload, asked.sequence_length)
            trained[asks] = stack_of(asked, network, accelerator_of(asked, catalogue))
        result.setdefault(trained[asks], []).append(one)
    return result


def shares_out(axes: Axes, catalogue: Catalogue) -> bool:
    """Return whether a transformer is shared out in any group of a sweep."""
    if all(workload(name, None).architecture is None for name in axes["workload"]):
        return False
    for values in itertools.product(*(axes[name] for name in COMPUTATION + WAY)):
        try:
            stacks = by_stack(dict(zip(COMPUTATION + WAY, values, strict=True)), axes, catalogue)
        except InputError:
            continue
        if any(stack is not None for stack in stacks):
            return True
    return False


class _Rows:
    """Layouts crossed with batches: the options as they were given, and as whole numbers, 0 for None."""

    def __init__(self, layouts: list[Any], axes: Axes) -> None:
        self._layouts, self._plans = layouts, list(itertools.product(*(axes[name] for name in PLAN)))
        self._table = np.empty((len(layouts), len(LAYOUT)), dtype=object)
        self._table[:] = layouts
        each = len(self._plans)
        of_layouts = zip(LAYOUT, zip(*layouts, strict=True), strict=True)
        of_plans = zip(PLAN, zip(*self._plans, strict=True), strict=True)
        self.numbers = {name: np.repeat(_numbers(name, values), each) for name, values in of_layouts}
        self.numbers |= {name: np.tile(_numbers(name, values), len(layouts)) for name, values in of_plans}

    def __len__(self) -> int:
        return len(self._layouts) * len(self._plans)

    def of(self, row: int) -> dict[str, Any]:
        """Return the options of one row."""
        layout, plan = divmod(row, len(self._plans))
        return dict(zip(_NAMES, (*self._layouts[layout], *self._plans[plan]), strict=True))

    def of_runs(self, anchor: Anchor) -> dict[str, NDArray[np.int64]]:
        """Return the numbers of the runs that an anchor is of, one for each row."""
        usual = {name: Scenario.model_fields[name].default for name in _NAMES}
        own = {name: anchor.options.get(name, usual[name]) for name in anchor.unlike if name in usual}
        return self.numbers | {name: np.repeat(_numbers(name, (own[name],)), len(self)) for name in own}

    def some(self, which: NDArray[np.intp]) -> dict[str, Any]:
        """Return the options of the layouts of some rows, as columns."""
        table = self._table[which // len(self._plans)]
        return {name: table[:, position, None] for position, name in enumerate(LAYOUT)}


_NAMES = (*LAYOUT, *PLAN)


def _numbers(name: str, values: tuple[Any, ...]) -> NDArray[np.int64]:
    words = _WORDS.get(name)
    if words is not None:
        return np.array([-1 if each is None else words.index(each) for each in values])
    return np.array([each or 0 for each in values])


class _Runs(NamedTuple):
    """The measured runs of an anchor, one for each layout of a sweep."""

    anchor: Anchor
    setting: Setting
    layout: Layout


def _layouts(at: dict[str, NDArray[np.int64]], setting: Setting) -> tuple[Layout, NDArray[np.bool_]]:
    """Return every row as a layout on the setting's accelerators, and which of them are possible.

    The rules are those of ``layout_of`` and ``check``, which say of the others why they are not.
    """
    model, length = network_of(setting.workload)
    tensor, stages, chunks, context, expert = (at[name] for name in DEGREES)
    replica = tensor * stages * context
    data = np.maximum(setting.world_size // replica, 1)
    micro, local = at["micro_batch_size"], at["local_batch_size"]
    able = (setting.world_size % replica == 0) & ((micro == 0) | (local == 0) | (micro == local))
    micro = np.maximum(micro, local)
    whole, steps = at["global_batch_size"], at["accumulation_steps"]
    parts = data * np.maximum(micro, 1) * np.maximum(steps, 1)
    able &= (whole == 0) | (whole % parts == 0)
    able &= (whole == 0) | (micro == 0) | (steps == 0) | (whole == parts)
    rest = np.where(whole > 0, np.maximum(whole // parts, 1), 1)
    of_steps = (steps > 0) & (micro == 0)
    passes = np.where(steps > 0, steps, rest)
    micro = np.where(of_steps, rest, np.maximum(micro, 1))
    able &= (model.heads % tensor == 0) & (stages * chunks <= model.layers) & (length % context == 0)
    able &= (chunks == 1) | (passes % stages == 0)
    if setting.scenario.strategy == "fsdp":
        able &= (at["sharding"] < 0) | (at["sharding"] == ZERO_3)
    if model.experts:
        able &= (model.experts % expert == 0) & (data * context * tensor % expert == 0)
    else:
        able &= expert == 1
    base = setting.layout
    assert base is not None
    sharding = np.where(at["sharding"] < 0, base.sharding, at["sharding"])
    recompute = np.maximum(at["recompute"], 0)
    columns = tensor, stages, chunks, context, expert, data, sharding, recompute
    every = *columns, np.where(recompute == FULL, 1.0, 0.0), micro, passes
    return Layout(*(column.astype(np.float64) for column in every)), able


def shared_blocks(
    fixed: dict[str, Any],
    stack: str,
    layouts: list[Any],
    axes: Axes,
    world_sizes: tuple[int, ...],
    catalogue: Catalogue,
    constants: Calibration,
    refuse: Callable[[int, str], None],
) -> Iterator[Block]:
    """Yield the blocks of a group's layouts that share a network out.

    Parameters
    ----------
    fixed : the options that the group shares
    stack, layouts : that trains them, and the values of ``LAYOUT``
    axes : of which places and batches are crossed
    world_sizes : accelerators
    catalogue, constants : as for ``predict``
    refuse : takes a number of scenarios, and why ``predict`` refuses them
    """
    rows = _Rows(layouts, axes)
    scaling = "weak" if axes["global_batch_size"] == (None,) else "strong"
    for place in itertools.product(*(axes[name] for name in PLACE)):
        for world in world_sizes:
            asked: dict[str, Any] = fixed | dict(zip(PLACE, place, strict=True)) | {"world_size": world}
            try:
                setting = _any_setting(asked | {"framework": stack}, catalogue)
            except InputError as error:
                refuse(len(rows), str(error))
                continue
            setting = setting._replace(scaling=scaling)
            layout, able = _layouts(rows.numbers, setting)
            runs = None
            if fixed["anchor"] is not None:
                runs, possible = _runs(rows, asked | {"framework": stack}, setting, catalogue)
                able &= possible
            for row in np.flatnonzero(~able).tolist():
                refuse(1, _why(asked | rows.of(row), catalogue))
            which = np.flatnonzero(able)
            for first in range(0, len(which), ROWS):
                some = which[first : first + ROWS]
                of_runs = runs and runs._replace(layout=chosen(runs.layout, some))
                yield _block(setting, chosen(layout, some), of_runs, asked | rows.some(some), constants)


def _runs(
    rows: _Rows, asked: dict[str, Any], setting: Setting, catalogue: Catalogue
) -> tuple[_Runs | None, NDArray[np.bool_]]:
    """Return the measured runs of an anchor, and which of them are possible."""
    anchor = parse_anchor(asked["anchor"])
    try:
        place = _any_setting(anchor.of_run(asked | {"precision": setting.precision}), catalogue)
        anchor.iteration_time(1, place.workload.sequence_length)
    except InputError:
        return None, np.zeros(len(rows), dtype=bool)
    layout, able = _layouts(rows.of_runs(anchor), place)
    return _Runs(anchor, place, layout), able


def _any_setting(asked: dict[str, Any], catalogue: Catalogue) -> Setting:
    """Return a setting of the place, with a layout that is always possible: replicas, each of one sample."""
    plain: dict[str, Any] = dict.fromkeys(DEGREES, 1) | dict.fromkeys(PLAN)
    plain |= {"micro_batch_size": 1, "sharding": None, "recompute": None, "anchor": None}
    return resolve(Scenario.model_construct(**{**asked, **plain}), catalogue)


def _why(asked: dict[str, Any], catalogue: Catalogue) -> str:
    try:
        resolve(Scenario.model_construct(**asked), catalogue)
    except InputError as error:
        return str(error)
    raise AssertionError(f"refused for no reason: {asked}")


def _block(
    setting: Setting, layout: Layout, runs: _Runs | None, options: dict[str, Any], constants: Calibration
) -> Block:
    def answer() -> dict[str, Any]:
        named = {
            "workload": setting.workload.id,
            "accelerator": setting.accelerator.id,
            "node": setting.node.id,
            "nodes": setting.nodes,
            "precision": setting.precision,
            "optimizer": setting.optimizer,
            "scaling": setting.scaling,
        }
        columns = answers(setting, layout, constants, runs)
        return options | named | {name: np.asarray(each)[..., None] for name, each in columns.items()}

    return answer


def answers(
    setting: Setting, layout: Layout, constants: Calibration, runs: _Runs | None = None
) -> dict[str, Any]:
    """Return every number of ``predict`` by its name; arrays of shape (layouts,), or a number all share."""
    model, length = network_of(setting.workload)
    block = _with_arrays(setting, layout)
    job = _job(setting, layout)
    step = step_of(job, fitted().parameters)
    start = None if runs is None else _start(runs, block, constants)
    time, terms, factor = outcome_of(block, step, constants, start)
    single = one_replica(layout, setting.scaling == "strong")
    baseline = step_of(_job(setting, single), fitted().parameters).iteration_time * factor
    baseline = baseline + shared_input_time(setting, single, baseline, constants)
    traffic = sent(terms)
    memory = memory_of(job)
    capacity = setting.accelerator.memory_capacity
    report: dict[str, Any] = {"iteration_time": time, **terms}
    report |= figures(block, time, baseline, traffic, layout.data_parallel)
    report |= cut_ends(
        ends(time, spread_of(model, start and start.weight)), time, least_computation_time(block)
    )
    return report | {
        "mfu": mfu_of(model, layout, length, bool(job.stack.adapts), time, setting.peak_flops),
        "local_batch_size": layout.micro_batch_size,
        "global_batch_size": layout.global_batch_size,
        "accumulation_steps": layout.accumulation_steps,
        "baseline_time": baseline,
        "communication_time": sum(row.time for row in traffic_of(job, step, fitted().parameters)) * factor,
        "memory_bytes": memory.total,
        "memory_capacity": capacity,
        "fits": memory.total <= ROOM * capacity,
        "largest_local_batch_size": largest_micro_batch(job, memory.total, ROOM * capacity),
    }


def _with_arrays(setting: Setting, layout: Layout) -> Setting:
    return setting._replace(
        layout=layout,
        local_batch_size=layout.micro_batch_size,
        accumulation_steps=layout.accumulation_steps,
        global_batch_size=layout.global_batch_size,
    )


def _start(runs: _Runs, block: Setting, constants: Calibration) -> MeasuredRun:
    """Return what was measured of the runs of an anchor, and what is predicted of them."""
    run = _with_arrays(runs.setting, runs.layout)
    step = step_of(_job(runs.setting, runs.layout), fitted().parameters)
    return MeasuredRun(
        runs.anchor.iteration_time(run.global_batch_size, run.workload.sequence_length),
        outcome_of(run, step, constants).iteration_time,
        weight_between(run, block),
    )


def _job(setting: Setting, layout: Layout) -> Job:
    case = case_of_setting(setting, layout)
    return bare_job(case, groups_of_many(case.fabric, layout))
