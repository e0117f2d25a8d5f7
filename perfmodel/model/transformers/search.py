"""Search over all layouts of a transformer on a number of accelerators; the fastest that fits first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.core.candidates import tries
from perfmodel.core.choices import Schedule
from perfmodel.core.tracing.tracing import remembered
from perfmodel.model.options.exchanges import context_ranks, shard_groups
from perfmodel.model.options.layout import (
    CONTEXT_METHODS,
    FULL,
    RECOMPUTE,
    SELECTIVE,
    SHARDING,
    Layout,
    end_slots,
    schedules,
)
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
"""Fewest positions of a rank under context parallelism (assumed; rings of short blocks hide nothing)."""
MOST_CHUNKS, MOST_CHUNKS_OF_EXPERTS = 8, 24
"""Most chunks of a stage, without and with experts; Megatron-Bridge runs Qwen3-30B with 24 on two stages."""
NO_BATCH = "the batch does not divide among replicas"
NO_HEADS = "context-parallel ranks cannot exchange keys and values so"
NO_GROUP = "the shard group does not divide the replicas"
LARGEST_MICRO_BATCH = 64
ALIKE_DIGITS = 9
"""Digits of log time that must agree for a tie, which least memory, then least context degree, breaks."""


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
    enumeration = _enumerated(setting, global_batch_size)
    tries(enumeration.count)
    case = case_of_setting(setting, enumeration.layouts)
    software = case.stack
    has_effect = (not software.flash) | software.checkpoints_operations | any(software.modules)
    changes = (case.layout.recompute != SELECTIVE) | has_effect
    passes = case.layout.pipeline_parallel * case.layout.accumulation_steps
    changes = changes & ((not software.in_backward) | (passes == 1))
    layouts = rows(case.layout, changes)
    job = job_of_many(case._replace(layout=layouts, stack=rows(software, changes)))
    count = len(layouts.recompute)
    total = np.broadcast_to(memory_of(job).total, (count,))
    fits = total <= setting.accelerator.memory_capacity
    rejected = Counter(enumeration.rejected)
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
        grid_of(layouts, times, total, fits, enumeration.refused),
    )


def _ruled_out(layouts: Layout, times: Array, total: Array, fits: Flags) -> RuledOut | None:
    """Return the fastest of all layouts with changes that make it fit; None if it fits."""

    def row_of(row: int) -> tuple[Layout, float, float]:
        return Layout(*(column[row] for column in layouts)), float(times[row]), float(total[row])

    first = int(np.argmin(times))
    if fits[first]:
        return None
    changes = remedies_of(layouts, times, fits, first)
    return RuledOut(*row_of(first), [Changed(each.words, *row_of(each.row)) for each in changes])


def count_layouts(setting: Setting, global_batch_size: int) -> int:
    """Return the number of layouts that a search enumerates; it times at most as many.

    Parameters
    ----------
    As for ``search``.
    """
    return _enumerated(setting, global_batch_size).count


class _Enumeration:
    """Layouts that divide a job; they depend on the accelerators only by the domain of the fast link."""

    def __init__(self, *job: Any) -> None:
        self.rejected: Counter[str] = Counter()
        self.refused: dict[tuple[int, int], str] = {}
        self.degrees = list(_degrees(self.rejected, self.refused, *job))
        self.count = sum(one.layouts for one in self.degrees)

    @cached_property
    def layouts(self) -> Layout:
        """All layouts, shape (layouts,)."""
        rows = [row for one in self.degrees for row in one.rows()]
        return Layout(*np.array(rows, dtype=np.float64).reshape(-1, len(Layout._fields)).T)


_remembered = remembered(128)(_Enumeration)


def _enumerated(setting: Setting, global_batch_size: int) -> _Enumeration:
    """Return the enumerated layouts of a job, cached."""
    (model, length), software = network_of(setting.workload), setting.framework
    shardings = tuple(software.shardings), tuple(software.pipelined_shardings)
    shape = model.heads, model.layers, model.experts, model.expert_feed_forward
    of, usual = setting.scenario, setting.framework.context_method
    method = CONTEXT_METHODS.index(of.context_method or usual)
    exchanges = _Exchanges(of.shard_group or 0, method, of.context_inner or 0, model.kv_heads)
    domain = fabric_of_setting(setting).domain
    job = *shape, of.expert_tensor_parallel, domain, shardings, setting.world_size, global_batch_size, length
    return _remembered(*job, of.schedule, end_slots(of.embedding_slots, software), exchanges)


class _Exchanges(NamedTuple):
    """Exchanges that all layouts of a search share, as the scenario gives them."""

    shard_group: int
    context_method: int
    context_inner: int
    kv_heads: int


class _Degrees(NamedTuple):
    """Degrees of parallelism, with the batches, chunks, experts and shardings they allow."""

    tensor: int
    stages: int
    context: int
    replicas: int
    batches: list[tuple[int, int, list[int]]]
    """Samples of a micro-batch, number of micro-batches, and possible numbers of chunks of a stage."""
    schedule: int
    """Index into ``SCHEDULES``."""
    end_slots: int
    shared: list[tuple[int, int, int, int]]
    """Degrees of experts and of the products of each, stages of ZeRO, and the groups that shard by them."""
    context_method: int
    context_inner: int

    @property
    def layouts(self) -> int:
        """Number of layouts with these degrees."""
        chunks = sum(len(chunks) for _, _, chunks in self.batches)
        return chunks * len(self.shared) * len(RECOMPUTE)

    def rows(self) -> Iterator[tuple[float, ...]]:
        """Yield layouts as rows of ``Layout``."""
        tensor, stages, context, replicas = self[:4]
        for micro, steps, chunks in self.batches:
            for virtual in chunks:
                for expert, parts, sharding, group in self.shared:
                    for recompute in range(len(RECOMPUTE)):
                        yield (
                            tensor,
                            stages,
                            virtual,
                            context,
                            expert,
                            parts,
                            replicas,
                            sharding,
                            recompute,
                            float(recompute == FULL),
                            micro,
                            steps,
                            self.schedule,
                            self.end_slots,
                            group,
                            self.context_method,
                            self.context_inner,
                        )


def _degrees(
    rejected: Counter[str],
    refused: dict[tuple[int, int], str],
    heads: int,
    layers: int,
    experts: int,
    expert_width: int,
    stated_parts: int | None,
    domain: float,
    shardings: Sequence[Sequence[str]],
    world: int,
    batch: int,
    length: int,
    schedule: Schedule | None,
    slots: int,
    exchanges: _Exchanges,
) -> Iterator[_Degrees]:
    """Yield the possible degrees; count rejected ones by reason, and note the pairs without a batch."""
    shared = [[SHARDING.index(word) for word in words] for words in shardings]
    most_chunks = MOST_CHUNKS_OF_EXPERTS if experts else MOST_CHUNKS
    for tensor in _divisors(world):
        if tensor > domain:
            rejected["tensor parallelism beyond the fast link"] += 1
            continue
        if heads % tensor:
            rejected["heads do not divide"] += 1
            continue
        for stages in _divisors(world // tensor):
            places = layers + 2 * slots * (stages > 1)
            if stages > places:
                rejected["more stages than layers"] += 1
                continue
            for context in _divisors(world // (tensor * stages)):
                if context > 1 and (length % context or length // context < LEAST_POSITIONS):
                    rejected["too few positions for context parallelism"] += 1
                    continue
                method = exchanges.context_method
                inner, able = context_ranks(
                    method, exchanges.context_inner, context, heads, exchanges.kv_heads, tensor
                )
                if not able and context > 1:
                    rejected[NO_HEADS] += 1
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
                    _micro_batches(places, stages, batch // replicas, schedule, most_chunks),
                    int(schedules(schedule, stages, 1, 1)[0]),
                    slots * (stages > 1),
                    _shared(
                        _expert_degrees(experts, expert_width, tensor, replicas * context, stated_parts),
                        tensor,
                        shared[stages > 1] if replicas * context > 1 else [0],
                        exchanges.shard_group,
                        replicas * context,
                        rejected,
                    ),
                    method,
                    inner,
                )


def _shared(
    experts: list[tuple[int, int]],
    tensor: int,
    shardings: list[int],
    size: int,
    replicas: int,
    rejected: Counter[str],
) -> list[tuple[int, int, int, int]]:
    """Return degrees of experts with the stages of ZeRO and the groups by which replicas can shard."""
    result = []
    for expert, parts in experts:
        apart = max(expert * parts // tensor, 1)  # replicas that experts are distributed over
        for sharding in shardings:
            group, able = shard_groups(size, sharding, replicas, apart)
            if able:
                result.append((expert, parts, sharding, group))
            else:
                rejected[NO_GROUP] += 1
    return result


def _micro_batches(
    layers: int, stages: int, local: int, schedule: Schedule | None, most: int
) -> list[tuple[int, int, list[int]]]:
    """Return the possible micro-batches of a replica: samples, number, and chunks of a stage."""
    sizes = [2**power for power in range(int(math.log2(LARGEST_MICRO_BATCH)) + 1)]
    each = ((micro, local // micro) for micro in sizes if local % micro == 0)
    return [(micro, steps, _chunks_of(layers, stages, steps, schedule, most)) for micro, steps in each]


def _chunks_of(layers: int, stages: int, steps: int, schedule: Schedule | None, most: int) -> list[int]:
    """Return into how many chunks stages may be cut by a schedule and so many micro-batches."""
    given = [each for each in _chunks(layers, stages, most) if each == 1 or steps % stages == 0]
    by_schedule = [schedules(schedule, stages, each, steps) for each in given]
    return [int(chunks) for _, chunks, able in by_schedule if able and stages * chunks <= layers]


def _expert_degrees(
    experts: int, width: int, tensor: int, replicas: int, stated: int | None
) -> list[tuple[int, int]]:
    """Return the degrees of experts, and of the products of each, that divide the ranks of a stage.

    Experts are whole or have as many parts as other products, unless the job states another degree.

    >>> _expert_degrees(8, 14336, 2, 2, None)
    [(1, 1), (2, 1), (4, 1), (1, 2), (2, 2)]
    """
    if not experts:
        return [(1, 1)]
    ranks = tensor * replicas
    able = [each for each in ({1, tensor} if stated is None else {stated}) if width % each == 0]
    return [
        (each, parts) for parts in sorted(able) for each in _divisors(experts) if ranks % (each * parts) == 0
    ]


def _chunks(layers: int, stages: int, most: int = MOST_CHUNKS) -> list[int]:
    """Return the possible numbers of chunks of a stage: divisors of its layers, of unequal stages of either.

    >>> _chunks(96, 16), _chunks(126, 16)
    ([1, 2, 3, 6], [1, 2, 4, 7])
    """
    if stages == 1:
        return [1]
    least = layers // stages
    divisors = {*_divisors(least), *_divisors(-(-layers // stages))}
    return sorted(each for each in divisors if each <= min(least, most))


def _divisors(number: int) -> list[int]:
    """Return the divisors of a number in increasing order."""
    small = [each for each in range(1, math.isqrt(number) + 1) if number % each == 0]
    return sorted({*small, *(number // each for each in small)})
