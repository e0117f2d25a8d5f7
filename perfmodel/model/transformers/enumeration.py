"""Layouts that divide a job of a transformer: degrees, micro-batches, chunks, groups of shards."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core.choices import Schedule
from perfmodel.core.tracing.tracing import remembered
from perfmodel.model.options.exchanges import context_ranks, shard_groups
from perfmodel.model.options.layout import (
    CONTEXT_METHODS,
    FULL,
    RECOMPUTE,
    SHARDING,
    ULYSSES,
    Layout,
    end_slots,
    schedules,
)
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.transformers.evaluate import fabric_of_setting, network_of

LEAST_POSITIONS, LEAST_OF_HEADS = 4096, 1024
"""Fewest positions of a rank under context parallelism (assumed; rings of short blocks hide nothing), and
where ranks exchange heads by Ulysses and attend to whole sequences (the block of MegaScale-MoE)."""
MOST_CHUNKS, MOST_CHUNKS_OF_EXPERTS = 8, 24
"""Most chunks of a stage, without and with experts; Megatron-Bridge runs Qwen3-30B with 24 on two stages."""
NO_BATCH = "the batch does not divide among replicas"
NO_HEADS = "context-parallel ranks cannot exchange keys and values so"
NO_GROUP = "the shard group does not divide the replicas"
LARGEST_MICRO_BATCH = 64


def count_layouts(setting: Setting, global_batch_size: int) -> int:
    """Return the number of layouts that a search enumerates; it times at most as many.

    Parameters
    ----------
    As for ``search``.
    """
    return enumerated(setting, global_batch_size).count


class Enumeration:
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


_remembered = remembered(128)(Enumeration)


def enumerated(setting: Setting, global_batch_size: int) -> Enumeration:
    """Return the enumerated layouts of a job, cached."""
    (model, length), software = network_of(setting.workload), setting.framework
    shardings = tuple(software.shardings), tuple(software.pipelined_shardings)
    shape = model.heads, model.layers, model.experts, model.expert_feed_forward
    of, usual = setting.scenario, setting.framework.context_method
    method = CONTEXT_METHODS.index(of.context_method or usual)
    exchanges = _Exchanges(of.shard_group or 0, method, of.context_inner or 0, model.kv_heads)
    domain = fabric_of_setting(setting).domain
    job = *shape, of.expert_tensor_parallel, domain, shardings, setting.world_size, global_batch_size, length
    slots, copies = end_slots(of.embedding_slots, software), software.copies_tokens
    return _remembered(*job, of.schedule, slots, exchanges, copies)


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
    token_copies: int
    """Ranks that compute the same tokens, each with other experts."""

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
                            self.token_copies,
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
    copies_tokens: bool,
) -> Iterator[_Degrees]:
    """Yield the possible degrees; count rejected ones by reason, and note the pairs without a batch."""
    shared = [[SHARDING.index(word) for word in words] for words in shardings]
    most_chunks = MOST_CHUNKS_OF_EXPERTS if experts else MOST_CHUNKS
    least_positions = LEAST_OF_HEADS if exchanges.context_method == ULYSSES else LEAST_POSITIONS
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
                if context > 1 and (length % context or length // context < least_positions):
                    rejected["too few positions for context parallelism"] += 1
                    continue
                method = exchanges.context_method
                inner, able = context_ranks(
                    method, exchanges.context_inner, context, heads, exchanges.kv_heads, tensor
                )
                if not able and context > 1:
                    rejected[NO_HEADS] += 1
                    continue
                ranks = world // (tensor * stages * context)
                of_experts = _expert_degrees(experts, expert_width, tensor, ranks * context, stated_parts)
                for copies, able_experts in _by_copies(of_experts, ranks, copies_tokens):
                    replicas = ranks // copies
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
                            able_experts,
                            tensor * copies,
                            shared[stages > 1] if replicas * context > 1 else [0],
                            exchanges.shard_group,
                            replicas * context,
                            rejected,
                        ),
                        method,
                        inner,
                        copies,
                    )


def _by_copies(
    experts: list[tuple[int, int]], ranks: int, copies_tokens: bool
) -> list[tuple[int, list[tuple[int, int]]]]:
    """Return degrees of experts by how many ranks compute the same tokens: 1, or those that hold experts.

    >>> _by_copies([(1, 1), (2, 1), (8, 1)], 4, True)
    [(1, [(1, 1)]), (2, [(2, 1)])]
    """
    if not copies_tokens:
        return [(1, experts)]
    counts = sorted({degree for degree, _ in experts if ranks % degree == 0})
    return [(count, [each for each in experts if each[0] == count]) for count in counts]


def _shared(
    experts: list[tuple[int, int]],
    stride: int,
    shardings: list[int],
    size: int,
    replicas: int,
    rejected: Counter[str],
) -> list[tuple[int, int, int, int]]:
    """Return degrees of experts with the stages of ZeRO and the groups by which replicas can shard.

    Replicas are ``stride`` ranks apart.
    """
    result = []
    for expert, parts in experts:
        apart = max(expert * parts // stride, 1)  # replicas that experts are distributed over
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
    possible = (int(chunks) for _, chunks, able in by_schedule if able and stages * chunks <= layers)
    return list(dict.fromkeys(possible))


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
