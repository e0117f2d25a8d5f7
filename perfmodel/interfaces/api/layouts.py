"""Every way to share a transformer out over accelerators, the fastest first."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from perfmodel.core.candidates import TooManyCandidates
from perfmodel.core.choices import LowPrecision
from perfmodel.core.errors import InputError, refusal
from perfmodel.core.files.tables import Record, Table, aligned, flat
from perfmodel.core.problem import Words
from perfmodel.core.units import per_cent, show
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import accelerator_words, link_words
from perfmodel.interfaces.api.layout_card import card_of_layouts
from perfmodel.interfaces.api.layout_row import LayoutRow, rows_of
from perfmodel.interfaces.api.layout_ties import SAME_TIME, AgainstFirst, Ties
from perfmodel.interfaces.api.ruled_out import RuledOut
from perfmodel.interfaces.api.run_costs import Costs, costs_of, options_of_layout
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.laid_out import LaidOut
from perfmodel.model.options.layout import Layout
from perfmodel.model.options.pairs import AGAINST, stated_pairs
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.layout_numbers import Layouts as Evaluated
from perfmodel.model.prediction.layout_numbers import job_of_layouts
from perfmodel.model.prediction.layout_order import Order, Timed, order_of, preferred
from perfmodel.model.prediction.memory import host_chance
from perfmodel.model.prediction.memory_odds import CERTAIN, stated_odds
from perfmodel.model.prediction.open_options import left_open_by
from perfmodel.model.setting.accelerator_caveats import of_hardware
from perfmodel.model.setting.link_caveats import GENERIC_NODE, warn_of_network_limit, without_machine
from perfmodel.model.setting.low_precision import of_low_precision
from perfmodel.model.setting.resolve import Setting, resolve
from perfmodel.model.transformers.evaluate import case_of_setting, fabric_of_setting, network_of, with_layout
from perfmodel.model.transformers.job import rows as chosen
from perfmodel.model.transformers.layout_words import options_of_short, short
from perfmodel.model.transformers.levels import traits_of
from perfmodel.model.transformers.search import SearchResult, search
from perfmodel.model.transformers.uncertainty import why_wider
from perfmodel.workloads import workload as workload_named

Precision = Literal["fp16", "bf16", LowPrecision]
SHOWN = 10
"""Layouts of a table, unless more are asked for."""
NICS_OF_ACCELERATOR = 4
"""The most network adapters of a machine for each accelerator; AWS's p5 has so many."""
DOUBLINGS = 6
"""Of the accelerators, to see where something fits."""


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
    """Layouts that fit, the fastest first.

    CSV has a line for each layout, with the card in its last columns.
    """

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
    ties: Ties
    """The layouts of which the model cannot tell whether they or the first are faster."""
    card: Card
    """The answer in short: which layout to take, and how likely it is the fastest."""
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
    against: AgainstFirst | None = None
    """The layout that was named, against the first."""
    economics: Costs | None = None
    """Time, cost, energy and carbon of a run by the layout to take, where asked for."""

    @property
    def taken(self) -> LayoutRow:
        """The layout to take."""
        return self.ties.preferred

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
        report["ties"] = asdict(self.ties)
        report["card"] = self.card.model_dump()
        report |= {"layouts": [vars(row) for row in self.rows], "grid": [vars(cell) for cell in self.grid]}
        report["ruled_out"] = None if self.ruled_out is None else asdict(self.ruled_out)
        report["against"] = None if self.against is None else asdict(self.against)
        if self.economics is None:
            del report["economics"]
        return json.dumps(report, allow_nan=False)

    def __repr__(self) -> str:
        rows = [
            (row.words, show(row.iteration_time, "s"), per_cent(row.mfu))
            for row, _ in self.distinct()[:SHOWN]
        ]
        title = f"{self.workload} on {self.machine}: {self.fitting} of {self.candidates} layouts fit"
        return aligned(f"{title}\n{self.card.advice}", ("layout", "iteration", "MFU"), rows)


def searched(
    question: Mapping[str, Any],
    top: int | None,
    against: str | None,
    conditions: Conditions | None,
    known: Catalogue,
    confidence: float = CERTAIN,
) -> Layouts:
    """Time every layout of a transformer on so many accelerators; those that fit, the fastest first.

    Parameters
    ----------
    question : the job by the parameters of ``layouts``
    top : so many layouts at most, by default all
    against : a layout to compare with the first: options and values, separated by commas
    conditions : prices, power and failures, and the length of a run whose cost by the layout to take is told
    known : hardware to choose from
    confidence : least probability of fitting of the layout to take

    Raises
    ------
    InputError : an unknown name, a network that is no transformer, a layout that is impossible, or nothing
        that fits
    """
    options = dict(question)
    gpus, global_batch_size = options.pop("gpus"), options.pop("global_batch_size")
    node, accelerator = options["node"], options["accelerator"]
    network = workload_named(options["workload"], options["sequence_length"], options["image_tokens"])
    network_of(network)  # refuses what is no transformer
    if node is None and accelerator is None:
        raise refusal("layout.no_machine")
    if node is None and known.accelerator(str(accelerator)).usual_node is None:
        raise without_machine(
            "machine.unusual", known.accelerator(str(accelerator)), known.node(GENERIC_NODE)
        )
    stated = {name: value for name, value in options.items() if value is not None}

    def on(world: int) -> Setting:
        return resolve(LaidOut(**stated, world_size=world, micro_batch_size=1), known)

    setting, named = on(gpus), None
    if against is not None:
        named = _named(against, {**stated, "world_size": gpus, "global_batch_size": global_batch_size}, known)
    own, held = setting.node.nics or 1, setting.node.accelerators
    if setting.nics > (most := max(own, NICS_OF_ACCELERATOR * held)):
        raise refusal(
            "machine.nics",
            nics=options["nics"],
            node=setting.node.id,
            own=own,
            most=most,
            nics_of_accelerator=NICS_OF_ACCELERATOR,
        )
    result = search(setting, global_batch_size)
    fitting = len(result.iteration_time)
    if not fitting:
        raise _nothing(setting, result, lambda world: search(on(world), global_batch_size))

    def evaluated(layout: Layout, of: Setting = setting) -> Evaluated:
        job, case = with_layout(of, layout), case_of_setting(of, layout)
        return job_of_layouts(job, case, calibration(), None, left_open_by(options["framework"], {}))

    every, new = evaluated(result.layouts), evaluated(result.layout(0)).new
    timed = _timed(setting, every, new.common)
    order = order_of(timed.at(0), timed)
    need = every.job.need
    odds = stated_odds(result.memory_bytes, need.known(()), need.capacity).fits_probability
    odds = odds * host_chance(need)
    taken = preferred(order, odds, result.layouts, confidence)

    def rows(some: slice) -> list[LayoutRow]:
        part = every if some == slice(None) else evaluated(chosen(result.layouts, some))
        return rows_of(setting, part, Order(*(column[some] for column in order)))

    listed = rows(slice(top))
    to_take = listed[taken] if taken < len(listed) else rows(slice(taken, taken + 1))[0]
    compared = None
    if named is not None:
        layout = Layout(*(np.array([value]) for value in named.layout or ()))
        part = evaluated(layout, named)
        row = rows_of(named, part, order_of(timed.at(0), _timed(named, part, new.common)))[0]
        compared = AgainstFirst.of(row, layout, named.framework, listed[0], result)
    notes = [
        *network.notes,
        *of_hardware(setting.accelerator, setting.intra_link, setting.software),
        *of_low_precision(setting.precision, setting.software, setting.framework),
    ]
    if setting.domains > 1 and not options["network_cap"]:
        warn_of_network_limit(setting.node, setting.inter_link, setting.nics, False, notes)
    prediction = predict(LaidOut(**options_of_layout(to_take.layout, question)), known)
    costs = None if conditions is None else costs_of(prediction, conditions, known)
    later = order.slower[~order.is_first]
    next_slower = float(later[0]) if len(later) else None
    ties = Ties.of(order, to_take, confidence)
    return Layouts(
        network.name,
        _machine(setting),
        tuple(listed),
        fitting,
        result.candidates,
        result.rejected,
        setting.accelerator.memory_capacity,
        ties,
        card_of_layouts(ties, listed[0], fitting, next_slower, prediction, costs),
        None if result.ruled_out is None else RuledOut.of(result.ruled_out),
        _grid(result),
        question,
        tuple(notes),
        tuple(why_wider(new)),
        compared,
        costs,
    )


def _machine(setting: Setting) -> str:
    """Return what a job runs on, and what limits its network."""
    words = f"{setting.world_size} x {accelerator_words(setting.accelerator)}"
    if setting.is_slice:
        words += f", one slice joined by {link_words(setting.intra_link)}"
    link = fabric_of_setting(setting).inter_link
    if setting.domains > 1 and link is not setting.inter_link:
        words += f", a machine of which may send {show(setting.nics * link.bandwidth.value, 'B/s')}"
    return words


def _named(text: str, options: Mapping[str, Any], known: Catalogue) -> Setting:
    """Return the setting of a layout that was named, on the machines of a search.

    Parameters
    ----------
    text : options of the layout and their values, or the layout as tables print it
    options : of the search
    known : hardware to choose from

    Raises
    ------
    InputError : not such a text, or an impossible layout
    """
    if "=" in text:
        layout = stated_pairs("against", text, text.split(","), AGAINST, "--against")
    elif (printed := options_of_short(text)) is not None:
        layout = printed
    else:
        raise refusal("layout.notation", "against", text=text)
    replicas = layout.pop("data_parallel", None)
    try:
        setting = resolve(LaidOut(**{**options, **layout}), known)
    except InputError as error:
        raise error.under("against", said=f"--against {text}") from None
    left = int(setting.layout.data_parallel) if setting.layout else 1
    if replicas not in (None, left):
        raise refusal(
            "layout.replicas", "against", text=text, stated=replicas, left=left, gpus=setting.world_size
        )
    return setting


def _timed(setting: Setting, every: Evaluated, scale: float) -> Timed:
    """Return layouts with their times and intervals.

    Parameters
    ----------
    setting : of their job
    every : the layouts, shape (layouts,)
    scale : factor of their half-widths that all of them share
    """
    layouts, high = every.ranks.layout, every.job.ends["high_80"]
    times = np.broadcast_to(every.job.iteration_time, layouts.sharding.shape)
    return Timed(traits_of(setting)._replace(layout=layouts), times, np.log(high / times) / scale)


def _grid(result: SearchResult) -> tuple[LayoutCell, ...]:
    def known(value: float) -> float | None:
        return value if math.isfinite(value) else None

    return tuple(
        LayoutCell(*cell[:2], known(cell.iteration_time), known(cell.least_bytes), cell.reason)
        for cell in result.grid
    )


def _nothing(setting: Setting, result: SearchResult, on: Callable[[int], SearchResult]) -> InputError:
    """Return why nothing fits, and on how many accelerators something would."""
    name, gpus, chip = setting.workload.name, setting.world_size, setting.accelerator
    if not result.candidates:
        rejected = Words("; ".join(result.rejected))
        return refusal("layout.none", "gpus", name=name, gpus=gpus, rejected=rejected)
    least, most = (f"{each / 2**30:.1f} GiB" for each in (result.least_bytes, chip.memory_capacity))
    job = {"name": name, "gpus": gpus, "chip": chip.id, "least": least, "most": most}
    for world in (gpus * 2**doubled for doubled in range(1, DOUBLINGS + 1)):
        try:
            more = on(world)
        except (InputError, TooManyCandidates):  # nothing joins so many, or may
            continue
        if len(more.iteration_time):
            first, time = more.layout(0).words(), float(more.iteration_time[0])
            fast = {"layout": short(first), "time": show(time, "s")}
            return refusal("layout.too_few", "gpus", **job, enough=world, **fast)
    return refusal("layout.no_memory", "gpus", **job)
