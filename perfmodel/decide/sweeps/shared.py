"""Sweeps of model-parallel transformers: many layouts of one place as arrays."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.core.errors import InputError
from perfmodel.decide.sweeps.axes import COMPUTATION, LAYOUT, PLACE, PLAN, WAY, Axes
from perfmodel.decide.sweeps.columns import Block, words_of
from perfmodel.decide.sweeps.layout_rows import Codes, LayoutRows, kinds_of_layouts, numbers_of, picked
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.exchanges import EXCHANGES, context_ranks, shard_groups
from perfmodel.model.options.laid_out import LaidOut
from perfmodel.model.options.layout import DEGREES, FULL, ZERO_3, Layout, end_slots, schedules
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.layout_numbers import job_of_layouts
from perfmodel.model.prediction.numbers import numbers
from perfmodel.model.prediction.open_options import left_open_by
from perfmodel.model.setting.anchor import Anchor, parse_anchors
from perfmodel.model.setting.resolve import Setting, accelerator_of, resolve
from perfmodel.model.setting.routing import usual_expert_tensor
from perfmodel.model.setting.sharing import layout_setting, stack_of
from perfmodel.model.step.evaluate import outcome_of
from perfmodel.model.transformers.evaluate import case_of_setting, fabric_of_setting, network_of, with_layout
from perfmodel.model.transformers.job import rows as chosen
from perfmodel.model.transformers.many import distinct, evaluated
from perfmodel.model.transformers.own_runs import measured_run, runs_of_file, update_of
from perfmodel.workloads import workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfmodel.model.transformers.levels import Update

    Array = NDArray[np.float64]

UNSAID = ("recompute", "sharding")
"""Options for which no layout is refused, except ``sharding`` where the strategy determines it."""
OF_SIZE = ("scenario", "world_size", "nodes", "global_batch_size", "layout", "defaults", "warnings")
"""Fields of a ``Setting`` that depend on the number of accelerators, or that layouts do not need."""


def by_stack(fixed: dict[str, Any], axes: Axes, catalogue: Catalogue) -> dict[str | InputError | None, bool]:
    """Return the software that trains a group's layouts, and whether rows without a requested one count.

    The key is the name of the software, None for a data-parallel job, or the error where nothing trains it.
    """
    result: dict[str | InputError | None, bool] = {}
    for is_asked, values in kinds_of_layouts(axes).items():
        scenario = Scenario.model_construct(**fixed, **dict(zip(LAYOUT, values, strict=True)))
        stack: str | InputError | None
        try:
            network = workload(scenario.workload, scenario.sequence_length, scenario.image_tokens)
            stack = stack_of(scenario, network, accelerator_of(scenario, catalogue), catalogue)
        except InputError as error:
            stack = error
        result[stack] = result.get(stack, False) or not is_asked
    return result


def shares_out(axes: Axes, catalogue: Catalogue) -> bool:
    """Return whether any group of a sweep has a model-parallel transformer."""
    if all(workload(name, None).architecture is None for name in axes["workload"]):
        return False
    for values in itertools.product(*(axes[name] for name in COMPUTATION + WAY)):
        stacks = by_stack(dict(zip(COMPUTATION + WAY, values, strict=True)), axes, catalogue)
        if any(isinstance(stack, str) for stack in stacks):
            return True
    return False


class _Runs(NamedTuple):
    """Measured runs of one anchor, one per layout of a sweep."""

    anchor: Anchor
    setting: Setting
    layout: Layout


def _layouts(at: dict[str, Any], setting: Setting) -> tuple[Layout, Any]:
    """Return rows as layouts, and which of them are possible: numbers, or arrays of shape (rows,).

    The rules are those of ``layout_of`` and ``check``, which give the reason why a layout is impossible.
    """
    model, length = network_of(setting.workload)
    tensor, stages, chunks, context, expert = (at[name] for name in DEGREES)
    copies = expert if setting.framework.copies_tokens else 1
    world, replica = at["world_size"], tensor * stages * context * copies
    data = np.maximum(world // replica, 1)
    micro, local = at["micro_batch_size"], at["local_batch_size"]
    able = (world % replica == 0) & ((micro == 0) | (local == 0) | (micro == local))
    micro = np.maximum(micro, local)
    whole, steps = at["global_batch_size"], at["accumulation_steps"]
    parts = data * np.maximum(micro, 1) * np.maximum(steps, 1)
    able = able & ((whole == 0) | (whole % parts == 0))
    able = able & ((whole == 0) | (micro == 0) | (steps == 0) | (whole == parts))
    rest = np.where(whole > 0, np.maximum(whole // parts, 1), 1)
    of_steps = (steps > 0) & (micro == 0)
    passes = np.where(steps > 0, steps, rest)
    micro = np.where(of_steps, rest, np.maximum(micro, 1))
    able = able & (model.heads % tensor == 0) & (length % context == 0)
    schedule, chunks, can_run = schedules(setting.scenario.schedule, stages, chunks, passes)
    able = able & can_run & ((chunks == 1) | (schedule > 0) | (passes % stages == 0))
    slots = end_slots(setting.scenario.embedding_slots, setting.framework) * (stages > 1)
    able = able & (stages * chunks <= model.layers + 2 * slots)
    if setting.scenario.strategy == "fsdp":
        able = able & ((at["sharding"] < 0) | (at["sharding"] == ZERO_3))
    usual = usual_expert_tensor(setting.framework.whole_experts, model, tensor)
    parts = np.where(at["expert_tensor_parallel"] > 0, at["expert_tensor_parallel"], usual)
    if model.experts:
        able = able & (model.experts % expert == 0) & (model.expert_feed_forward % parts == 0)
        able = able & (tensor * data * context * copies % (expert * parts) == 0)
    else:
        able = able & (expert == 1) & (parts == 1)
    base = setting.layout
    assert base is not None
    sharding = np.where(at["sharding"] < 0, base.sharding, at["sharding"])
    recompute = np.where(at["recompute"] < 0, base.recompute, at["recompute"])
    # replicas that experts are distributed over
    apart = np.maximum(expert * parts / (tensor * copies), 1)
    group, can_group = shard_groups(at["shard_group"], sharding, data * context, apart)
    method = np.where(at["context_method"] < 0, base.context_method, at["context_method"])
    heads = model.heads, model.kv_heads, tensor
    inner, can_exchange = context_ranks(method, at["context_inner"], context, *heads)
    able = able & can_group & can_exchange
    columns = tensor, stages, chunks, context, expert, parts, data, sharding, recompute
    again, exchanges = np.where(recompute == FULL, 1.0, 0.0), (group, method, inner, copies)
    every = *columns, again, micro, passes, schedule, slots, *exchanges
    return Layout(*(np.asarray(each, np.float64) if np.ndim(each) else float(each) for each in every)), able


def shared_blocks(
    fixed: dict[str, Any],
    stack: str,
    copies: bool,
    axes: Axes,
    catalogue: Catalogue,
    constants: Calibration,
    refuse: Callable[[int, str], None],
) -> Iterator[Block]:
    """Yield the blocks of a group's model-parallel layouts.

    Parameters
    ----------
    fixed : the options that the group shares
    stack : software that trains them
    copies : whether it also trains rows without a requested layout
    axes : of which places, accelerators, layouts and batches are crossed
    catalogue, constants : as for ``predict``
    refuse : called with a number of refused scenarios and the reason
    """
    scaling = "weak" if axes["global_batch_size"] == (None,) else "strong"
    for place in itertools.product(*(axes[name] for name in PLACE)):
        options: dict[str, Any] = fixed | dict(zip(PLACE, place, strict=True))
        settings: list[Setting] = []
        for world in axes["world_size"]:
            try:
                setting = _any_setting(options | {"framework": stack, "world_size": world}, catalogue)
                settings.append(setting._replace(scaling=scaling))
            except InputError as error:
                refuse(len(LayoutRows((world,), axes, copies)), error.note())
        # the effect of an anchor on a job depends on its size
        alike = itertools.groupby(settings, _alone if fixed["anchor"] else _but_for_size)
        for some in (list(each) for _, each in alike):
            rows = LayoutRows(tuple(setting.world_size for setting in some), axes, copies)
            yield from _blocks(options, some, rows, catalogue, constants, refuse)


def _alone(setting: Setting) -> tuple[object, ...]:
    """Return a key that separates settings of every size."""
    return (setting.world_size,)


def _but_for_size(setting: Setting) -> tuple[object, ...]:
    """Return a key of a setting without its size: settings of one key are evaluated as arrays."""
    same = (value for name, value in setting._asdict().items() if name not in OF_SIZE)
    return fabric_of_setting(setting), *same


def _blocks(
    base_options: dict[str, Any],
    settings: list[Setting],
    rows: LayoutRows,
    catalogue: Catalogue,
    constants: Calibration,
    refuse: Callable[[int, str], None],
) -> Iterator[Block]:
    """Yield the blocks of settings that differ in their number of accelerators only."""
    setting = settings[0]
    nodes = np.array([each.nodes for each in settings])
    anchors = [] if base_options["anchor"] is None else parse_anchors(base_options["anchor"])
    places = [_place_of_runs(each, base_options, setting, catalogue) for each in anchors]
    for codes in rows.parts():
        numbers, runs = rows.numbers(codes), list[_Runs]()
        layout, able = _layouts(numbers, setting)
        for anchor, place in zip(anchors, places, strict=True):
            if place is None:
                able = False
                continue
            of_anchor, possible = _runs(anchor, place, numbers)
            able = able & possible
            runs.append(of_anchor)
        able = np.broadcast_to(able, codes["world_size"].shape)
        for reason, count in _reasons(base_options, rows, picked(codes, ~able), setting, catalogue):
            refuse(count, reason)
        which = np.flatnonzero(able)
        if not len(which):
            continue
        some = picked(codes, which)
        runs = [each._replace(layout=chosen(each.layout, which)) for each in runs]
        picked_numbers = rows.numbers(some)
        size = picked_numbers["world_size"]
        of_size = {"world_size": size, "nodes": nodes[some["world_size"]] if np.ndim(size) else nodes[0]}
        options = base_options | rows.options(some)
        sharding = (base_options["strategy"] != "fsdp") * (picked_numbers["sharding"] < 0) * (size > 1)
        others = {"sharding": sharding, "recompute": picked_numbers["recompute"] < 0}
        opened = left_open_by(base_options["framework"], others)
        yield _block(setting, chosen(layout, which), of_size, runs, options, len(which), constants, opened)


def _place_of_runs(
    anchor: Anchor, options: dict[str, Any], setting: Setting, catalogue: Catalogue
) -> Setting | None:
    """Return the setting in which the runs of an anchor were measured; None where it is impossible."""
    job = options | {"framework": setting.software, "precision": setting.precision}
    try:
        place = _any_setting(anchor.of_run(job), catalogue)
        anchor.iteration_time(1, place.workload.sequence_length)
    except InputError:
        return None
    return place


def _runs(anchor: Anchor, place: Setting, numbers: dict[str, Any]) -> tuple[_Runs, Any]:
    """Return the measured runs of an anchor for rows of numbers, and which of them are possible."""
    usual = {name: Scenario.model_fields[name].default for name in (*LAYOUT, *PLAN)}
    own = {name: anchor.options.get(name, usual[name]) for name in anchor.own_options if name in usual}
    layout, able = _layouts(numbers | numbers_of(own | {"world_size": place.world_size}), place)
    return _Runs(anchor, place, layout), able


def _reasons(
    options: dict[str, Any], rows: LayoutRows, codes: Codes, setting: Setting, catalogue: Catalogue
) -> Iterator[tuple[str, int]]:
    """Yield the reasons why ``predict`` refuses rows, with the number of rows."""
    if not len(codes["world_size"]):
        return
    matters = [code for name, code in codes.items() if name not in UNSAID or options["strategy"] == "fsdp"]
    first, which = distinct(*matters)
    counts = np.bincount(which)
    for one in np.argsort(first).tolist():
        yield _why(options | rows.of(codes, first[one]), setting, catalogue), int(counts[one])


def _why(options: dict[str, Any], setting: Setting, catalogue: Catalogue) -> str:
    """Return the reason why ``predict`` refuses a scenario."""
    scenario = Scenario.model_construct(**options)
    try:
        layout_setting(scenario, setting.workload, setting.accelerator, catalogue, lambda _: None)
        resolve(scenario, catalogue)  # minds the runs of an anchor as well
    except InputError as error:
        return error.note()
    raise AssertionError(f"refused for no reason: {options}")


def _any_setting(options: dict[str, Any], catalogue: Catalogue) -> Setting:
    """Return a setting of the place, with a layout that is always possible: replicas of one sample each."""
    plain: dict[str, Any] = dict.fromkeys(DEGREES, 1) | dict.fromkeys(PLAN)
    open_options = ("expert_tensor_parallel", "sharding", "recompute", "anchor", *EXCHANGES)
    plain |= {"micro_batch_size": 1, **dict.fromkeys(open_options)}
    return resolve(LaidOut.model_construct(**{**options, **plain}), catalogue)


def _block(
    setting: Setting,
    layout: Layout,
    of_size: dict[str, Any],
    runs: list[_Runs],
    options: dict[str, Any],
    rows: int,
    constants: Calibration,
    opened: Mapping[str, Any],
) -> Block:
    """Return a function that predicts the layouts of a block."""

    def answer() -> dict[str, Any]:
        named = {"workload": setting.workload.id, **words_of(setting)}
        columns = answers(setting, layout, constants, runs, of_size, opened)
        columns["iteration_time"] = np.broadcast_to(columns["iteration_time"], (rows,))
        return options | named | {name: _upright(each) for name, each in columns.items()}

    return answer


def _upright(column: Any) -> Any:
    """Return a column in shape (rows, 1), or a function that returns one."""
    return (lambda: _upright(column())) if callable(column) else np.asarray(column)[..., None]


def answers(
    setting: Setting,
    layout: Layout,
    constants: Calibration,
    runs: Sequence[_Runs] = (),
    of_size: dict[str, Any] | None = None,
    opened: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return every number of ``predict`` by its name; arrays of shape (layouts,), or a number that all share.

    Parameters
    ----------
    setting, layout : one of the settings of a place, and all layouts there
    constants, runs : as for ``predict``, and the measured runs of anchors
    of_size : fields of a ``Setting`` that differ between the layouts with their number of accelerators
    opened : whether options have their defaults, as of ``left_open_by``
    """
    block = with_layout(setting, layout)._replace(**of_size or {})
    start = _start(runs, block, constants)
    result = job_of_layouts(block, case_of_setting(setting, layout), constants, start, opened)
    return numbers(result.job, constants) | {
        "nodes": block.nodes,
        "local_batch_size": layout.micro_batch_size,
        "global_batch_size": layout.global_batch_size,
        "accumulation_steps": layout.accumulation_steps,
    }


def _start(runs: Sequence[_Runs], block: Setting, constants: Calibration) -> Update | None:
    """Return the update of learned numbers by measured runs of anchors and of a calibration; None without."""
    measured = [] if constants.own is None else runs_of_file(constants.own)
    for each in runs:
        run = with_layout(each.setting, each.layout)
        step = evaluated(case_of_setting(each.setting, each.layout))[1]
        time = each.anchor.iteration_time(run.global_batch_size, run.workload.sequence_length)
        measured.append(measured_run(run, time, outcome_of(run, step, constants).iteration_time))
    return update_of(block, measured) if measured else None
