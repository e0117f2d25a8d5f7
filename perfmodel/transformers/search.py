"""Every layout of a transformer on so many accelerators, timed at once; the fastest that fits comes first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.candidates import tries
from perfmodel.specs.architecture import Architecture
from perfmodel.specs.layout import FULL, RECOMPUTE, SELECTIVE, SHARDING, Layout
from perfmodel.specs.stack import Stack
from perfmodel.tracing import remembered
from perfmodel.transformers.architecture import dimensions_of
from perfmodel.transformers.grid import TOO_LARGE, Cell, grid_of
from perfmodel.transformers.job import Case
from perfmodel.transformers.machine import Fabric, chip_of
from perfmodel.transformers.many import job_of_many, step_of_many
from perfmodel.transformers.memory import Memory, memory_of
from perfmodel.transformers.parameters import Values
from perfmodel.transformers.remedies import remedies_of
from perfmodel.transformers.software import Options, Software, software_of
from perfmodel.transformers.step import Step

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
    steps: Step
    memory: Memory
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
    software: Software
    """By which the layouts run."""

    def layout(self, row: int) -> Layout:
        """Return one of the layouts."""
        return Layout(*(column[row] for column in self.layouts))

    def software_of(self, row: int) -> Software:
        """Return how the stack runs one of the layouts."""
        return Software(*map(itemgetter(row), self.software))


def search(
    model: Architecture,
    fabric: Fabric,
    stack: Stack,
    options: Options,
    p: Values,
    *,
    world_size: int,
    global_batch_size: int,
    sequence_length: int,
) -> SearchResult:
    """Time every layout, and keep those that fit into memory.

    Tried are degrees of tensor parallelism inside the domain of the fast link, any number of stages up to the
    layers, equal or not, chunks that divide a stage, context parallelism down to ``LEAST_POSITIONS``, all
    expert parallelism, what replicas can share by the stack, all recomputation that changes anything, and
    micro-batches of powers of 2.

    Parameters
    ----------
    model, fabric, stack, options, p : what runs, on what, by what, and what was learned
    world_size : accelerators
    global_batch_size : samples of a step
    sequence_length : tokens of a sample
    """
    tried = _tried(model, fabric, stack, world_size, global_batch_size, sequence_length)
    tries(tried.count)
    rejected, layouts, chip = Counter(tried.rejected), tried.layouts, chip_of(fabric.accelerator)
    dimensions = dimensions_of(model, sequence_length)
    software = software_of(stack, chip, dimensions, layouts, options)
    changes = (layouts.recompute != SELECTIVE) | (not software.flash) | software.checkpoints_operations
    layouts = Layout(*(column[changes] for column in layouts))
    software = software_of(stack, chip, dimensions, layouts, options)
    case = Case(dimensions, layouts, chip, software, fabric, sequence_length)
    job = job_of_many(case)
    count = len(layouts.recompute)
    memory = Memory(*(np.broadcast_to(column, (count,)) for column in memory_of(job)))
    total = np.asarray(memory.total)
    fits = total <= fabric.accelerator.memory_capacity
    if count > fits.sum():
        rejected[TOO_LARGE] = int(count - fits.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        steps = Step(*(np.broadcast_to(column, (count,)) for column in step_of_many(job, p)))
    times = np.asarray(steps.iteration_time)
    alike = np.where(fits, np.round(np.log(times), ALIKE_DIGITS), math.inf)
    order = np.lexsort((layouts.context_parallel, np.round(np.log(total), ALIKE_DIGITS), alike))
    order = order[: int(fits.sum())]
    return SearchResult(
        Layout(*(column[order] for column in layouts)),
        Step(*(column[order] for column in steps)),
        Memory(*(column[order] for column in memory)),
        count,
        dict(rejected.most_common()),
        float(total.min()) if count else math.inf,
        _ruled_out(layouts, times, total, fits) if fits.any() else None,
        grid_of(layouts, times, total, fits, tried.refused),
        Software(*(np.broadcast_to(column, (count,))[order] for column in software)),
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


def count_layouts(
    model: Architecture,
    fabric: Fabric,
    stack: Stack,
    *,
    world_size: int,
    global_batch_size: int,
    sequence_length: int,
) -> int:
    """Return how many layouts a search would look at, at least as many as it times.

    Parameters
    ----------
    As of ``search``.
    """
    return _tried(model, fabric, stack, world_size, global_batch_size, sequence_length).count


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


def _tried(model: Architecture, fabric: Fabric, stack: Stack, *size: int) -> _Tried:
    """Return the layouts of a job; ``size`` are its accelerators, samples and tokens of a sample."""
    shardings = tuple(stack.shardings), tuple(stack.pipelined_shardings)
    return _remembered(model.heads, model.layers, model.experts or 1, fabric.domain, shardings, *size)


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
