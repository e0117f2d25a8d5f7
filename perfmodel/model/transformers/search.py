"""Search over all layouts of a transformer on a number of accelerators; the fastest that fits first."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.core.candidates import tries
from perfmodel.model.options.layout import (
    SELECTIVE,
    ZERO_3,
    Layout,
)
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.transformers.enumeration import enumerated
from perfmodel.model.transformers.evaluate import case_of_setting
from perfmodel.model.transformers.grid import TOO_LARGE, Cell, grid_of
from perfmodel.model.transformers.job import Case, Job, bare_job, rows
from perfmodel.model.transformers.many import job_of_many, layers_of_many, step_of_many
from perfmodel.model.transformers.memory import host_bytes_of, memory_of
from perfmodel.model.transformers.parameters import fitted
from perfmodel.model.transformers.remedies import remedies_of
from perfmodel.model.transformers.step import interleaved, step_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Places = NDArray[np.intp]

ALIKE_DIGITS = 9
"""Digits of log time that must agree for layouts to take as long; the one of least memory then comes first,
then the one with the smallest product of degrees, then the one of least context degree."""
HOST_TOO_SMALL = "need more memory of the hosts than there is"
GUESSED = 4
"""Layouts that are timed first: the fastest of all is at least as fast as the fastest of these."""
ROUNDING = 1e-6
"""More than what times that count as equal differ by."""


class Changed(NamedTuple):
    """A changed layout that fits into memory."""

    words: str
    """The change, as text."""
    layout: Layout
    iteration_time: float
    bytes: float


class RuledOut(NamedTuple):
    """The fastest layout, if it does not fit into memory, with changes that make it fit."""

    layout: Layout
    iteration_time: float
    bytes: float
    remedies: list[Changed]
    """Changes that make it fit, the fastest first."""


class Untimed(NamedTuple):
    """Layouts that divide a job, and what else the enumeration found."""

    case: Case
    """With all layouts, as arrays."""
    memory_bytes: Array
    """On the fullest rank [B]."""
    rejected: Counter[str]
    """Reason -> number of layouts rejected for it."""
    refused: dict[tuple[int, int], str]
    """Reason why a tensor-parallel degree and a number of stages have no layout."""


class SearchResult(NamedTuple):
    """Layouts that fit, the fastest first; shape (layouts,) each."""

    layouts: Layout
    iteration_time: Array
    """[s]"""
    memory_bytes: Array
    """On the fullest rank [B]."""
    candidates: int
    """Number of layouts timed, whether they fit or not."""
    rejected: dict[str, int]
    """Reason -> number of layouts rejected for it."""
    least_bytes: float
    """Least memory that any candidate needs [B]."""
    ruled_out: RuledOut | None
    """The fastest of all layouts, if it does not fit and others do."""
    grid: list[Cell]
    """Outcome for every tensor-parallel degree and number of stages."""

    def layout(self, row: int) -> Layout:
        """Return the layout in one row."""
        return Layout(*(column[row] for column in self.layouts))


def search(setting: Setting, global_batch_size: int) -> SearchResult:
    """Time every layout of a setting's transformer on its machines, and keep those that fit into memory.

    The search covers tensor-parallel degrees inside the domain of the fast link, any number of stages up to
    the number of layers, equal or not, chunks that divide a stage, context parallelism down to
    ``LEAST_POSITIONS``, all expert-parallel degrees of experts that are whole or split like other products,
    the shardings that the software supports, recomputation that has an effect, and micro-batches of powers
    of 2.  Groups that share states, and the exchange of context parallelism, are those of the scenario.

    Parameters
    ----------
    setting : with any layout, which is ignored
    global_batch_size : samples of a step
    """
    possible = untimed(setting, global_batch_size)
    layouts, total, rejected = possible.case.layout, possible.memory_bytes, possible.rejected
    count = len(total)
    fits = total <= setting.accelerator.memory_capacity
    if count > fits.sum():
        rejected[TOO_LARGE] = int(count - fits.sum())
    times = times_of(possible.case)
    order = in_order(layouts, np.where(fits, times, math.inf), total)[: int(fits.sum())]
    return SearchResult(
        rows(layouts, order),
        times[order],
        total[order],
        count,
        dict(rejected.most_common()),
        float(total.min()) if count else math.inf,
        _ruled_out(layouts, times, total, fits) if fits.any() else None,
        grid_of(layouts, times, total, fits, possible.refused),
    )


def untimed(setting: Setting, global_batch_size: int) -> Untimed:
    """Return every layout that ``search`` times, with the memory that each needs.

    Parameters
    ----------
    As for ``search``.
    """
    enumeration = enumerated(setting, global_batch_size)
    tries(enumeration.count)
    case = case_of_setting(setting, enumeration.layouts)
    software = case.stack
    has_effect = (not software.flash) | software.checkpoints_operations | any(software.modules)
    changes = (case.layout.recompute != SELECTIVE) | has_effect
    passes = case.layout.pipeline_parallel * case.layout.accumulation_steps
    able = (case.layout.sharding == ZERO_3) | (not software.host_weights)
    case = chosen(case, changes & able & ((not software.in_backward) | (passes == 1)))
    rejected = Counter(enumeration.rejected)
    lacking = np.broadcast_to(_lacks_hosts(setting, bare_job(case)), case.layout.recompute.shape)
    if lacking.any():
        rejected[HOST_TOO_SMALL] = int(lacking.sum())
        case = chosen(case, ~lacking)
    count = len(case.layout.recompute)
    total = np.broadcast_to(memory_of(bare_job(case)).total, (count,))
    return Untimed(case, total, rejected, enumeration.refused)


def _lacks_hosts(setting: Setting, job: Job) -> Any:
    """Return whether the hosts are known to have less memory than each layout of a job needs there."""
    there = setting.node.host_memory_bytes
    needed = host_bytes_of(job) * setting.accelerators_per_node
    return False if there is None else needed > there.value


def chosen(case: Case, which: Flags | Places) -> Case:
    """Return a case with some of its layouts: flags, or indices."""
    return case._replace(layout=rows(case.layout, which), stack=rows(case.stack, which))


def times_of(case: Case) -> Array:
    """Return the times of steps with every layout of a case, as arrays; shape (layouts,) [s]."""
    with np.errstate(divide="ignore", invalid="ignore"):
        step = step_of_many(job_of_many(case), fitted().parameters)
    return np.broadcast_to(step.iteration_time, (len(case.layout.recompute),))


def in_order(layouts: Layout, times: Array, total: Array) -> Places:
    """Return the indices of layouts, the fastest first; of equal times the one of least memory.

    Parameters
    ----------
    layouts, times, total : shape (layouts,) each: layouts, times [s], memory [B]
    """
    with np.errstate(divide="ignore"):
        alike, alike_bytes = (np.round(np.log(each), ALIKE_DIGITS) for each in (times, total))
    return np.lexsort((layouts.context_parallel, layouts.complexity, alike_bytes, alike))


def near_the_fastest(case: Case, total: Array, ratio: float) -> tuple[Places, Array]:
    """Return the indices of the fastest layout and of those nearly as fast, in order, with their times [s].

    How long chunks of interleaved pipelines wait for each other takes most of the time to compute, so that it
    is left out first: a layout that is slower without these waits than another is with them is never timed.

    Parameters
    ----------
    case, total : layouts as arrays, and the memory that each needs [B]
    ratio : largest ratio to the time of the first
    """
    at, count = case.layout, len(case.layout.recompute)
    job, p = job_of_many(case), fitted().parameters
    waits = np.broadcast_to(interleaved(at), (count,))
    with np.errstate(divide="ignore", invalid="ignore"):
        layers = layers_of_many(job, p)
        least = np.broadcast_to(step_of(job, p, layers, least=True).iteration_time, (count,))

        def times_at(which: Places) -> Array:
            """Return the times with the waits of interleaved pipelines, which others do not have."""
            times, longer = least[which], waits[which]
            if longer.any():
                late = which[longer]
                times[longer] = step_of(rows(job, late), p, rows(layers, late)).iteration_time
            return times

        guess = least * (1 + (at.pipeline_parallel - 1) / (at.virtual_stages * at.accumulation_steps))
        fastest = np.fmin.reduce(times_at(np.argsort(guess)[:GUESSED]))
        near = np.flatnonzero(least <= ratio * (1 + ROUNDING) * fastest)
        times = times_at(near)
    order = in_order(rows(at, near), times, total[near])
    order = order[times[order] <= ratio * times[order[0]]]
    return near[order], times[order]


def _ruled_out(layouts: Layout, times: Array, total: Array, fits: Flags) -> RuledOut | None:
    """Return the fastest of all layouts with changes that make it fit; None if it fits."""

    def row_of(row: int) -> tuple[Layout, float, float]:
        return Layout(*(column[row] for column in layouts)), float(times[row]), float(total[row])

    first = int(np.argmin(times))
    if fits[first]:
        return None
    changes = remedies_of(layouts, times, fits, first)
    return RuledOut(*row_of(first), [Changed(each.words, *row_of(each.row)) for each in changes])
