"""``perfmodel.layouts``: every way to share a transformer out over accelerators, the fastest first."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from perfmodel.api.ruled_out import RuledOut
from perfmodel.api.run_costs import Costs, with_costs
from perfmodel.arguments import COUNT, FLAG, TEXT, expect
from perfmodel.candidates import TooManyCandidates
from perfmodel.errors import InputError, unknown_name
from perfmodel.link_caveats import doubt_adapters
from perfmodel.prediction.bound import end_at, least_layout_time
from perfmodel.prediction.layout_order import Timed, slower_than_first
from perfmodel.prediction.memory_odds import memory_figures
from perfmodel.prediction.open_options import left_open_by
from perfmodel.sharing import transformer_software
from perfmodel.specs.conditions import Conditions
from perfmodel.specs.layout import caveats, check_adapters
from perfmodel.specs.software import DEFAULT_FOR_LAYOUTS, parts, release
from perfmodel.specs.store import Catalogue
from perfmodel.step.profiled import NORMAL_80
from perfmodel.step.terms import PART_OF_STEP
from perfmodel.tables import Record, Table, aligned, flat
from perfmodel.transformers.figures import again_over_model, mfu_of, peak_of
from perfmodel.transformers.flags import flags
from perfmodel.transformers.flops import COMPUTED, NOMINAL
from perfmodel.transformers.machine import fabric_on
from perfmodel.transformers.parameters import fitted
from perfmodel.transformers.search import SearchResult, search
from perfmodel.transformers.software import PRECISIONS, Options
from perfmodel.transformers.uncertainty import Novelty, novelty, why_wider, widenings, with_open
from perfmodel.transformers.words import short
from perfmodel.units import show
from perfmodel.workloads import workload as workload_named

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from perfmodel.specs.architecture import Architecture
    from perfmodel.transformers.machine import Fabric

    Array = NDArray[np.float64]

Precision = Literal["fp16", "bf16", "fp8"]
SHOWN = 10
"""Layouts of a table, unless more are asked for."""
ORDERED = 50
"""Of the fastest layouts, which know how likely they are slower than the first."""
SAME_TIME = 1e-8
"""Relative difference of times that are the same."""
DOUBLINGS = 6
"""Of the accelerators, to see where something fits."""


@dataclass(frozen=True)
class LayoutRow:
    """One layout, and what it takes; times in seconds."""

    layout: dict[str, int | str]
    """Degrees by name, ``sharding`` and ``recompute``."""
    iteration_time: float
    interval: dict[str, float]
    """``low_80`` and ``high_80``, the former no less than peaks allow."""
    terms: dict[str, float]
    """Exposed times by the names of ``Prediction.terms``, which sum to ``iteration_time``."""
    memory: dict[str, float]
    """``bytes``, ``low_80``, ``high_80``, ``capacity``, ``fits_probability``, and what fills it, by name."""
    mfu: float
    """By the model's FLOP that are computed."""
    mfu_nominal: float
    """By what publications count, masked scores and embeddings too."""
    hfu: float
    """With what is computed again."""
    tokens_per_second: float
    bubble_fraction: float
    """Share of the step in which stages wait for each other."""
    flags: list[str]
    """Options that start it, where the stack has such."""
    caveats: list[str]
    """What is possible and poor of it."""
    slower_than_first: float | None = None
    """Probability that it is slower than the first layout; None of the first, and beyond ``ORDERED``."""

    @property
    def words(self) -> str:
        """The layout in short: degrees above 1, sharding and recomputation."""
        return short(self.layout)


@dataclass(frozen=True)
class LayoutCell:
    """The layouts of one degree of tensor parallelism on one number of stages."""

    tensor_parallel: int
    pipeline_parallel: int
    iteration_time: float | None
    """Of the fastest that fits [s]; None where none does."""
    memory: float | None
    """The least that any of them needs on its fullest rank [B]; None where there is none."""
    reason: str
    """Why none can be trained by: none fits, or what does not divide; empty where one can."""


@dataclass(frozen=True, repr=False)
class Layouts(Table):
    """Layouts that fit, the fastest first."""

    workload: str
    machine: str
    """The node, by its id."""
    rows: tuple[LayoutRow, ...]
    fitting: int
    """Layouts that fit; ``rows`` holds the fastest of them."""
    candidates: int
    """Layouts that were timed."""
    rejected: dict[str, int]
    """How many a reason kept out: layouts that do not fit, and degrees that were not tried."""
    capacity: float
    """Memory of one accelerator [B]."""
    ruled_out: RuledOut | None = None
    """The fastest layout, where memory alone keeps it out."""
    grid: tuple[LayoutCell, ...] = ()
    """Of every degree of tensor parallelism on every number of stages that a layout has."""
    question: Mapping[str, object] = field(default_factory=dict)
    """What was asked for, by the parameters of ``layouts``."""
    notes: tuple[str, ...] = ()
    """What to know of the network."""
    wider_because: tuple[str, ...] = ()
    """What makes the intervals of all layouts wider than usual."""
    economics: Costs | None = None
    """Time, cost, energy and carbon of a run by the first layout, where asked for."""

    def distinct(self) -> list[tuple[LayoutRow, int]]:
        """Return the rows that differ in time, each the one of least memory, with how many more take as long.

        More samples on more context-parallel ranks are often alike, and so is what replicas share where they
        do so once in a step.
        """
        result: list[tuple[LayoutRow, int]] = []
        for row in self.rows:
            if result and math.isclose(result[-1][0].iteration_time, row.iteration_time, rel_tol=SAME_TIME):
                result[-1] = (result[-1][0], result[-1][1] + 1)
            else:
                result.append((row, 0))
        return result

    def records(self) -> list[Record]:
        """Return the rows, each on one line."""
        return [flat(vars(row)) for row in self.rows]

    def to_json(self) -> str:
        """Return what ``perfmodel layouts --json`` prints."""
        report = {name: value for name, value in vars(self).items() if name not in ("rows", "question")}
        report |= {"layouts": [vars(row) for row in self.rows], "grid": [vars(cell) for cell in self.grid]}
        report["ruled_out"] = None if self.ruled_out is None else asdict(self.ruled_out)
        if self.economics is None:
            del report["economics"]
        return json.dumps(report, allow_nan=False)

    def __repr__(self) -> str:
        rows = [
            (row.words, show(row.iteration_time, "s"), f"{row.mfu:.1%}") for row, _ in self.distinct()[:SHOWN]
        ]
        title = f"{self.workload} on {self.machine}: {self.fitting} of {self.candidates} layouts fit"
        return aligned(title, ("layout", "iteration", "MFU"), rows)


def layouts(
    workload: str,
    *,
    gpus: int,
    global_batch_size: int,
    node: str | None = None,
    accelerator: str | None = None,
    inter_link: str | None = None,
    nics: int | None = None,
    connections: int | None = None,
    network_cap: bool = True,
    sequence_length: int | None = None,
    framework: str = DEFAULT_FOR_LAYOUTS,
    precision: Precision = "bf16",
    lora: int | None = None,
    top: int | None = None,
    conditions: Conditions | None = None,
    catalogue: Catalogue | None = None,
) -> Layouts:
    """Time every layout of a transformer on so many accelerators; those that fit, the fastest first.

    Parameters
    ----------
    workload : a transformer, by name or the path of its ``config.json``
    gpus : accelerators in all
    global_batch_size : samples of one step
    node : machine, by default the accelerator's usual one
    accelerator : by default the machine's
    inter_link, nics : between machines, by default the machine's
    connections : over TCP between two machines; by default NCCL's 16
    network_cap : whether the network limit of a rented machine holds, over its own link or another
    sequence_length : tokens of a sample, by default the network's own
    framework : NAME or NAME@YEAR: megatron-core, nemo, fsdp, torchtitan, ...
    precision : of products: bf16, fp16 or fp8
    lora : rank of adapters that are trained instead of the weights
    top : so many layouts at most, by default all
    conditions : prices, power and failures, and the length of a run whose cost by the first layout is told
    catalogue : hardware to choose from; by default what comes with the package

    Raises
    ------
    InputError : an unknown name, a network that is no transformer, or nothing that fits

    Examples
    --------
    >>> found = layouts("llama-3-8b", gpus=8, node="dgx-h100", global_batch_size=64)
    >>> found.rows[0].iteration_time <= found.rows[-1].iteration_time
    True
    """
    expect(TEXT, workload=workload, framework=framework, precision=precision)
    expect(TEXT.or_none, node=node, accelerator=accelerator, inter_link=inter_link)
    expect(COUNT, gpus=gpus, global_batch_size=global_batch_size)
    expect(COUNT.or_none, nics=nics, connections=connections, sequence_length=sequence_length)
    expect(COUNT.or_none, top=top, lora=lora)
    expect(FLAG, network_cap=network_cap)
    if precision not in PRECISIONS:
        raise unknown_name("precision", precision, PRECISIONS)
    network = workload_named(workload, sequence_length)
    model, length = network.architecture, network.tokens
    if model is None or length is None:
        raise InputError(
            f"workload: {network.name} is no transformer whose architecture is known; try llama-3-8b"
        )
    check_adapters(lora, model)
    known = Catalogue.of(catalogue)
    software = transformer_software(framework, network, None, known)
    name, facts = parts(software)[0], release(software, known)
    where: dict[str, Any] = {"node": node, "accelerator": accelerator, "inter_link": inter_link}
    where |= {"nics": nics, "connections": connections, "network_cap": network_cap}
    fabric = fabric_on(known, gpus, **where)
    if precision == "fp8" and "fp8" not in fabric.accelerator.peak_flops:
        raise InputError(f"{fabric.accelerator.id} has no fp8 products")

    def on(world: int) -> SearchResult:
        return search(
            model,
            fabric_on(known, world, **where),
            facts,
            Options(precision=precision, adapter_rank=lora or 0),
            fitted().parameters,
            world_size=world,
            global_batch_size=global_batch_size,
            sequence_length=length,
        )

    result = on(gpus)
    fitting = len(result.layouts.sharding)
    if not fitting:
        raise InputError(_nothing(result, network.name, gpus, fabric, on))
    shown = range(min(fitting, top or fitting))
    again = _again(result, model, length)
    adapts, samples = lora is not None, global_batch_size / gpus
    least = least_layout_time(network, fabric.accelerator, precision, samples, adapts)

    def new_at(mfu: Any) -> Novelty:
        new = novelty(model, fabric.accelerator.id, name, others=widenings(model, length, precision, mfu))
        return with_open(new, left_open_by(framework, {}))

    peak = peak_of(fabric.accelerator, precision)
    times: Any = sum(np.asarray(getattr(result.steps, part)) for part in PART_OF_STEP.values())
    spreads = new_at(mfu_of(model, result.layouts, length, adapts, times, peak)).spread
    rows = tuple(
        _row(result, row, model, fabric, name, length, precision, adapts, float(again[row]), least, spread)
        for row, spread in zip(shown, np.broadcast_to(spreads, (fitting,)).tolist(), strict=False)
    )
    machine = f"{gpus} x {fabric.accelerator.id}"
    if fabric.link.kind == "torus" and fabric.per_node == gpus:
        machine += f", one slice joined by {fabric.link.id}"
    if gpus > fabric.domain and fabric.inter_link is not known.link(fabric.inter_link.id):
        limit = fabric.nics * fabric.inter_link.bandwidth.value
        machine += f", a machine of which may send {show(limit, 'B/s')}"
    capacity = fabric.accelerator.memory_capacity
    ruled_out = None if result.ruled_out is None else RuledOut.of(result.ruled_out)
    counts = fitting, result.candidates, result.rejected
    asked = {"workload": workload, "gpus": gpus, "global_batch_size": global_batch_size, **where}
    asked |= {"sequence_length": length, "framework": framework, "precision": precision, "lora": lora}
    notes = list(network.notes)
    if gpus > fabric.domain and not network_cap and node is not None:
        doubt_adapters(known.node(node), fabric.inter_link, int(fabric.nics), network_cap, notes)
    new = new_at(rows[0].mfu)
    rows = _with_order(rows, network.id, length, (fabric.accelerator.id, name, precision), new.common)
    said = tuple(notes), tuple(why_wider(new))
    answer = Layouts(network.name, machine, rows, *counts, capacity, ruled_out, _grid(result), asked, *said)
    return answer if conditions is None else with_costs(answer, conditions, known)


def _with_order(
    rows: tuple[LayoutRow, ...], network: str, length: int, where: tuple[str, str, str], scale: float
) -> tuple[LayoutRow, ...]:
    """Return rows that know how likely each is slower than the first, without the ledger's scale."""
    near = rows[:ORDERED]
    halves = [math.log(row.interval["high_80"] / row.iteration_time) / scale for row in near]
    timed = [Timed(row.layout, row.iteration_time, half) for row, half in zip(near, halves, strict=True)]
    chances = slower_than_first(network, length, where, timed)
    later = (replace(row, slower_than_first=chance) for row, chance in zip(near[1:], chances, strict=True))
    return rows[0], *later, *rows[ORDERED:]


def _grid(result: SearchResult) -> tuple[LayoutCell, ...]:
    def known(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return tuple(
        LayoutCell(*cell[:2], known(cell.iteration_time), known(cell.least_bytes), cell.reason)
        for cell in result.grid
    )


def _nothing(
    result: SearchResult, name: str, gpus: int, fabric: Fabric, on: Callable[[int], SearchResult]
) -> str:
    """Say why nothing fits, and on how many accelerators something would."""
    if not result.candidates:
        why = "; ".join(result.rejected)
        return f"no layout of {name} on {gpus} accelerators: {why}"
    least, most = (
        f"{each / 2**30:.1f} GiB" for each in (result.least_bytes, fabric.accelerator.memory_capacity)
    )
    chip = fabric.accelerator.id
    message = f"no layout of {name} fits {gpus} x {chip}: the least needs {least} of {most}; "
    for world in (gpus * 2**doubled for doubled in range(1, DOUBLINGS + 1)):
        more = _on_more(on, world)
        if more is not None and len(more.layouts.sharding):
            first, time = more.layout(0).words(), float(more.steps.iteration_time[0])
            return f"{message}{world} are enough: {short(first)} takes {show(time, 's')} a step"
    return f"{message}take more accelerators, or a smaller batch or sequence"


def _on_more(on: Callable[[int], SearchResult], world: int) -> SearchResult | None:
    """Return what a search on more accelerators finds; None where nothing joins so many, or may."""
    try:
        return on(world)
    except (InputError, TooManyCandidates):
        return None


def _row(
    result: SearchResult,
    row: int,
    model: Architecture,
    fabric: Fabric,
    framework: str,
    length: int,
    precision: str,
    adapts: bool,
    again: float,
    least: float,
    spread: float,
) -> LayoutRow:
    layout = result.layout(row)
    terms = {name: float(getattr(result.steps, part)[row]) for name, part in PART_OF_STEP.items()}
    memory = {name: float(column[row]) for name, column in result.memory._asdict().items()}
    time = sum(terms.values())
    rate = float(layout.global_batch_size) * length / time
    peak = peak_of(fabric.accelerator, precision)
    mfu, nominal = (
        float(mfu_of(model, layout, length, adapts, time, peak, count)) for count in (COMPUTED, NOMINAL)
    )
    factor = math.exp(NORMAL_80 * spread)
    return LayoutRow(
        layout.words(),
        time,
        {"low_80": end_at(time / factor, time, least), "high_80": time * factor},
        terms,
        memory_figures(memory, fabric.accelerator.memory_capacity),
        mfu,
        nominal,
        mfu * again,
        rate,
        (terms["bubble_time"] + terms["unequal_stages_time"]) / time,
        [] if adapts else flags(framework, layout, model, length, precision),
        caveats(layout, model),
    )


def _again(result: SearchResult, model: Architecture, length: int) -> Array:
    """Return what layouts run over the model's FLOP, shape (layouts,): one number for a way to recompute."""
    ways = np.stack([result.layouts.recompute, result.software.checkpoints_operations])
    _, first, way = np.unique(ways, axis=1, return_index=True, return_inverse=True)
    each = [
        again_over_model(model, result.layout(row), result.software_of(row), length) for row in first.tolist()
    ]
    return np.array(each)[np.ravel(way)]
