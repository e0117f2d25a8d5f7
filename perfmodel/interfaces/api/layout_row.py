"""One layout of a transformer, and what it takes: a row of the answer of ``layouts``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from perfmodel.model.options.layout import Layout, caveats
from perfmodel.model.prediction.layout_numbers import Layouts as Evaluated
from perfmodel.model.prediction.layout_order import Order
from perfmodel.model.prediction.memory import host_chance
from perfmodel.model.prediction.memory_odds import stated_odds
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.transformers.evaluate import network_of
from perfmodel.model.transformers.figures import again_over_model
from perfmodel.model.transformers.flags import flags, with_chosen
from perfmodel.model.transformers.job import rows as chosen
from perfmodel.model.transformers.layout_words import short
from perfmodel.model.transformers.many import distinct
from perfmodel.model.transformers.start_files import start_lines


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
    time_ratio: dict[str, float]
    """``value`` of its time over that of the first layout, ``low_80`` and ``high_80``."""
    ties_with_first: bool
    """Whether 1 is inside that interval."""
    slower_than_first: float | None = None
    """Probability that it is slower than the first layout; None of the first itself."""

    @property
    def words(self) -> str:
        """The layout in short: degrees above 1, sharding and recomputation."""
        return short(self.layout)


def rows_of(setting: Setting, evaluated: Evaluated, order: Order) -> list[LayoutRow]:
    """Return layouts with what each takes.

    Parameters
    ----------
    setting : of the job
    evaluated : the layouts, shape (layouts,)
    order : how each compares with the first
    """
    job, layouts = evaluated.job, evaluated.ranks.layout
    (model, length), adapts = network_of(setting.workload), setting.scenario.lora is not None
    count, capacity, needed = len(layouts.sharding), job.need.capacity, job.need.bytes
    odds = stated_odds(needed, job.need.known(()), capacity)
    odds = odds._replace(fits_probability=odds.fits_probability * host_chance(job.need))
    kept = {"bytes": needed, "capacity": capacity, **odds._asdict()}
    idle = (job.terms["bubble_time"] + job.terms["unequal_stages_time"]) / job.iteration_time
    figures = {"again": _again(setting, evaluated), "idle": idle, "time": job.iteration_time}
    chances = order.slower.tolist()
    columns = (
        (Layout._make(row) for row in zip(*layouts, strict=True)),
        _each({**figures, **job.figures}, count),
        _each({end: job.ends[end] for end in ("low_80", "high_80")}, count),
        _each(job.terms, count),
        _each({**kept, **job.need.rows}, count),
        _each(_ratios(order), count),
        order.is_tie.tolist(),
        [None if same else chance for same, chance in zip(order.is_first, chances, strict=True)],
    )
    return [
        LayoutRow(
            layout.words(),
            of["time"],
            interval,
            terms,
            memory,
            of["mfu"],
            of["mfu_nominal"],
            of["mfu"] * of["again"],
            of["samples_per_second"] * length,
            of["idle"],
            []
            if adapts
            else start_lines(setting.software_name, setting, layout, length)
            or with_chosen(
                flags(setting.software_name, layout, model, length, setting.precision),
                layout,
                setting.scenario,
            ),
            caveats(layout, model),
            ratio,
            tie,
            slower,
        )
        for layout, of, interval, terms, memory, ratio, tie, slower in zip(*columns, strict=True)
    ]


def _ratios(order: Order) -> dict[str, Any]:
    """Return the ratios of times to that of the first, with the ends of their intervals."""
    factor = np.exp(order.half_width)
    return {"value": order.ratio, "low_80": order.ratio / factor, "high_80": order.ratio * factor}


def _each(values: Mapping[str, Any], count: int) -> list[dict[str, float]]:
    """Return the values of each of many layouts by name; a value may be an array, or a number all share."""
    numbers = {name: value for name, value in values.items() if value is not None}
    columns = [np.broadcast_to(value, (count,)).tolist() for value in numbers.values()]
    return [dict(zip(numbers, row, strict=True)) for row in zip(*columns, strict=True)]


def _again(setting: Setting, evaluated: Evaluated) -> Any:
    """Return what layouts run over the model's FLOP, shape (layouts,): one number for a way to recompute."""
    layouts, stack = evaluated.ranks.layout, evaluated.ranks.stack
    first, way = distinct(layouts.recompute, stack.checkpoints_operations)
    (model, length) = network_of(setting.workload)
    each = [
        again_over_model(model, chosen(layouts, row), chosen(stack, row), length) for row in first.tolist()
    ]
    return np.array(each)[way]
