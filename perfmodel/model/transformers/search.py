"""Every layout of a transformer on so many accelerators, timed at once; the fastest that fits comes first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.core.candidates import tries
from perfmodel.core.tracing.tracing import remembered
from perfmodel.model.options.layout import FULL, RECOMPUTE, SELECTIVE, SHARDING, Layout
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.transformers.evaluate import case_of_setting, fabric_of_setting, network_of
from perfmodel.model.transformers.grid import TOO_LARGE, Cell, grid_of
from perfmodel.model.transformers.job import rows
from perfmodel.model.transformers.many import job_of_many, step_of_many
from perfmodel.model.transformers.memory import memory_of
from perfmodel.model.transformers.parameters import fitted
from perfmodel.model.transformers.remedies import remedies_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]

LEAST_POSITIONS = 4096
"""Of a rank: fewer are not shared out further (assumed; a ring of short blocks hides nothing)."""
MOST_CHUNKS = 8
NO_BATCH = "the batch does not divide among replicas"
LARGEST_MICRO_BATCH = 64
ALIKE_DIGITS = 9
"""Of a logarithm: times that agree in these are the same; then the least memory goes first, then context."""


class Changed(NamedTuple):
    """A layout by which one that does not fit comes to fit."""

    words: str
    """What changes."""
    layout: Layout
    iteration_time: float
    bytes: float


class RuledOut(NamedTuple):
    """A layout that memory alone keeps from being the fastest."""

    layout: Layout
    iteration_time: float
    bytes: float
    remedies: list[Changed]
    """The cheapest first."""


class SearchResult(NamedTuple):
    """Layouts that fit, the fastest first; shape (layouts,) each."""

    layouts: Layout
    iteration_time: Array
    """[s]"""
    memory_bytes: Array
    """On the fullest rank [B]."""
    candidates: int
    """Timed, whether they fit or not."""
    rejected: dict[str, int]
    """How many layouts a reason kept out."""
    least_bytes: float
    """That any candidate needs [B]."""
    ruled_out: RuledOut | None
    """The fastest of all, where it does not fit and others do."""
    grid: list[Cell]
    """Of every degree of tensor parallelism on every number of stages."""

    def layout(self, row: int) -> Layout:
        """Return one of the layouts."""
        return Layout(*(column[row] for column in self.layouts))


def search(setting: Setting, global_batch_size: int) -> SearchResult:
    """Time every layout of a setting's transformer on its machines, and keep those that fit into memory.

    Tried are degrees of tensor parallelism inside the domain of the fast link, any number of stages up to the
    layers, equal or not, chunks that divide a stage, context parallelism down to ``LEAST_POSITIONS``, all
    expert parallelism, what replicas can share by the software, all recomputation that changes anything, and
    micro-batches of powers of 2.

    Parameters
    ----------
    setting : with any layout, which does not count
    global_batch_size : samples of a step
    """
    tried = _tried(setting, global_batch_size)
    tries(tried.count)
    case = case_of_setting(setting, tried.layouts)
    software = case.stack
    changes = (case.layout.recompute != SELECTIVE) | (not software.flash) | software.checkpoints_operations
    layouts = rows(case.layout, changes)
    job = job_of_many(case._replace(layout=layouts, stack=rows(software, changes)))
    count = len(layouts.recompute)
    total = np.broadcast_to(memory_of(job).total, (count,))
    fits = total <= setting.accelerator.memory_capacity
    rejected = Counter(tried.rejected)
    if count > fits.sum():
        rejected[TOO_LARGE] = int(count - fits.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        times = np.broadcast_to(step_of_many(job, fitted().parameters).iteration_time, (count,))
    alike = np.where(fits, np.round(np.log(times), ALIKE_DIGITS), math.inf)
    order = np.lexsort((layouts.context_parallel, np.round(np.log(total), ALIKE_DIGITS), alike))
    order = order[: int(fits.sum())]
    return SearchResult(
        rows(layouts, order),
        times[order],
        total[order],
        count,
        dict(rejected.most_common()),
        float(total.min()) if count else math.inf,
        _ruled_out(layouts, times, total, fits) if fits.any() else None,
        grid_of(layouts, times, total, fits, tried.refused),
    )


def _ruled_out(layouts: Layout, times: Array, total: Array, fits: Flags) -> RuledOut | None:
    """Return the fastest of all layouts with what would make it fit; None where it does."""

    def row_of(row: int) -> tuple[Layout, float, float]:
        return Layout(*(column[row] for column in layouts)), float(times[row]), float(total[row])

    first = int(np.argmin(times))
    if fits[first]:
        return None
    changes = remedies_of(layouts, times, fits, first)
    return RuledOut(*row_of(first), [Changed(each.words, *row_of(each.row)) for each in changes])


def count_layouts(setting: Setting, global_batch_size: int) -> int:
    """Return how many layouts a search would look at, at least as many as it times.

    Parameters
    ----------
    As of ``search``.
    """
    return _tried(setting, global_batch_size).count


class _Tried:
    """Layouts that divide a job, the same for any accelerators with as large a domain of the fast link."""

    def __init__(self, *job: Any) -> None:
        self.rejected: Counter[str] = Counter()
        self.refused: dict[tuple[int, int], str] = {}
        self.degrees = list(_degrees(self.rejected, self.refused, *job))
        self.count = sum(one.layouts for one in self.degrees)

    @cached_property
    def layouts(self) -> Layout:
        """All of them, shape (layouts,)."""
        rows = [row for one in self.degrees for row in one.rows()]
        return Layout(*np.array(rows, dtype=np.float64).reshape(-1, len(Layout._fields)).T)


_remembered = remembered(128)(_Tried)


def _tried(setting: Setting, global_batch_size: int) -> _Tried:
    """Return the layouts of a job."""
    (model, length), software = network_of(setting.workload), setting.framework
    shardings = tuple(software.shardings), tuple(software.pipelined_shardings)
    shape = model.heads, model.layers, model.experts or 1
    domain = fabric_of_setting(setting).domain
    return _remembered(*shape, domain, shardings, setting.world_size, global_batch_size, length)


class _Degrees(NamedTuple):
    """Degrees of parallelism, and what each leaves open."""

    tensor: int
    stages: int
    context: int
    replicas: int
    batches: list[tuple[int, int, list[int]]]
    """Samples of a micro-batch, how many there are, and chunks that a stage may then be cut into."""
    experts: list[int]
    shardings: list[int]

    @property
    def layouts(self) -> int:
        """Layouts of these degrees."""
        chunks = sum(len(chunks) for _, _, chunks in self.batches)
        return chunks * len(self.experts) * len(self.shardings) * len(RECOMPUTE)

    def rows(self) -> Iterator[tuple[float, ...]]:
        """Yield layouts as rows of ``Layout``."""
        tensor, stages, context, replicas = self[:4]
        for micro, steps, chunks in self.batches:
            for virtual in chunks:
                for expert in self.experts:
                    for sharding in self.shardings:
                        for recompute in range(len(RECOMPUTE)):
                            yield (
                                tensor,
                                stages,
                                virtual,
                                context,
                                expert,
                                replicas,
                                sharding,
                                recompute,
                                float(recompute == FULL),
                                micro,
                                steps,
                            )


def _degrees(
    rejected: Counter[str],
    refused: dict[tuple[int, int], str],
    heads: int,
    layers: int,
    experts: int,
    domain: float,
    shardings: Sequence[Sequence[str]],
    world: int,
    batch: int,
    length: int,
) -> Iterator[_Degrees]:
    """Yield degrees that can be; count what divides no way, and note where."""
    shared = [[SHARDING.index(word) for word in words] for words in shardings]
    for tensor in _divisors(world):
        if tensor > domain:
            rejected["tensor parallelism beyond the fast link"] += 1
            continue
        if heads % tensor:
            rejected["heads do not divide"] += 1
            continue
        for stages in _divisors(world // tensor):
            if stages > layers:
                rejected["more stages than layers"] += 1
                continue
            for context in _divisors(world // (tensor * stages)):
                if context > 1 and (length % context or length // context < LEAST_POSITIONS):
                    rejected["too few positions for context parallelism"] += 1
                    continue
                replicas = world // (tensor * stages * context)
                if batch % replicas:
                    rejected[NO_BATCH] += 1
                    refused[tensor, stages] = NO_BATCH
                    continue
                yield _Degrees(
                    tensor,
                    stages,
                    context,
                    replicas,
                    _micro_batches(layers, stages, batch // replicas),
                    _experts(experts, replicas * context),
                    shared[stages > 1] if replicas * context > 1 else [0],
                )


def _micro_batches(layers: int, stages: int, local: int) -> list[tuple[int, int, list[int]]]:
    chunks = _chunks(layers, stages)
    sizes = [2**power for power in range(int(math.log2(LARGEST_MICRO_BATCH)) + 1)]
    return [
        (micro, local // micro, [each for each in chunks if each == 1 or local // micro % stages == 0])
        for micro in sizes
        if local % micro == 0
    ]


def _experts(experts: int, ranks: int) -> list[int]:
    return [each for each in _divisors(experts) if ranks % each == 0 or each == 1]


def _chunks(layers: int, stages: int) -> list[int]:
    """Return into how many chunks stages may be cut: what divides their layers, of unequal ones any's.

    >>> _chunks(96, 16), _chunks(126, 16)
    ([1, 2, 3, 6], [1, 2, 4, 7])
    """
    if stages == 1:
        return [1]
    least = layers // stages
    divisors = {*_divisors(least), *_divisors(-(-layers // stages))}
    return sorted(each for each in divisors if each <= min(least, MOST_CHUNKS))


def _divisors(number: int) -> list[int]:
    small = [each for each in range(1, math.isqrt(number) + 1) if number % each == 0]
    return sorted({*small, *(number // each for each in small)})
