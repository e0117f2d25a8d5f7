"""Orders in which the stages of a pipeline run the passes of a step, by schedule.

A stage runs forward passes, and backward passes in one piece or in two: to the inputs of its layers, which
the stage before waits for, and to their weights, which nobody waits for.  Schedules without a bubble put the
second piece where a stage would wait (Qi et al. 2023).

Validity
--------
``zb-h1``, ``zb-h2`` and ``zb-v`` are the orders by hand of Qi et al. (2023), for passes of about equal
length.  ``v-half`` and ``v-min`` are the building blocks of Qi et al. (2024), repeated and squeezed
(``equations.pipeline_blocks``).  ``dualpipe`` is the order of
DeepSeek-AI (2025), in which a forward and a backward pass overlap and take as long as one after the other.
Software that orders passes by measured times may wait less.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

from perfmodel.core.choices import Schedule
from perfmodel.equations.pipeline_blocks import squeezed

SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)
Kind = Literal["forward", "inputs", "weights", "backward"]
"""Of a pass; ``backward`` is to inputs and weights in one piece."""
FIRST_IN_TWO = SCHEDULES.index("zb-h1")
"""Index of the first schedule that runs backward passes in two pieces."""
FIRST_OF_TWO = SCHEDULES.index("zb-v")
"""Index of the first schedule that cuts every stage in two."""
DUALPIPE = SCHEDULES.index("dualpipe")
V_SHAPED = ("zb-v", "v-half", "v-min")
"""Schedules whose second chunks go from the last stage back to the first."""
TWO_CHUNKS = (*V_SHAPED, "dualpipe")
"""Schedules that cut every stage in two."""


class Pass(NamedTuple):
    """One pass of one micro-batch through one chunk of a stage."""

    kind: Kind
    chunk: int
    micro_batch: int
    overlaps: bool = False
    """Whether the next pass runs at the same time: both start and end together."""


class Place(NamedTuple):
    """Where a chunk stands in the network."""

    replica: int
    """Of the network in the pipeline; ``dualpipe`` holds two, which run in opposite directions."""
    order: int
    """Chunks before it."""
    last: int
    """Order of the last chunk of the network."""


def place_of(schedule: Schedule, stage: int, chunk: int, stages: int, chunks: int) -> Place:
    """Return where a chunk of a stage stands in the network.

    >>> place_of("interleaved", 1, 1, 4, 2).order, place_of("zb-v", 1, 1, 4, 2).order
    (5, 6)
    """
    if schedule == "dualpipe":
        return Place(chunk, stages - 1 - stage if chunk else stage, stages - 1)
    back = schedule in V_SHAPED and chunk == 1
    return Place(0, 2 * stages - 1 - stage if back else chunk * stages + stage, stages * chunks - 1)


def layers_of_chunks(
    layers: int, stages: int, chunks: int, schedule: Schedule = "interleaved", end_slots: int = 0
) -> list[list[int]]:
    """Return the layers of each chunk, shape (stages, chunks).

    Where layers do not divide, the first chunks of the network hold one more.

    Parameters
    ----------
    layers, stages, chunks, schedule : of the pipeline
    end_slots : layers by which embeddings and logits each count when layers are divided: 0 or 1

    >>> layers_of_chunks(10, 4, 1), layers_of_chunks(10, 2, 2), layers_of_chunks(10, 2, 2, "zb-v")
    ([[3], [3], [2], [2]], [[3, 2], [3, 2]], [[3, 2], [3, 2]])
    >>> layers_of_chunks(10, 4, 1, end_slots=1)
    [[2], [3], [3], [2]]
    """
    held = []
    for stage in range(stages):
        counts = []
        for chunk in range(chunks):
            _, order, last = place_of(schedule, stage, chunk, stages, chunks)
            each, more = divmod(layers + 2 * end_slots, last + 1)
            ends = (order == 0) + (order == last)
            counts.append(each + (order < more) - end_slots * ends)
        held.append(counts)
    return held


@lru_cache(maxsize=256)
def passes_of(
    schedule: Schedule, stages: int, chunks: int, micro_batches: int
) -> tuple[tuple[Pass, ...], ...]:
    """Return the passes of every stage, in the order in which it runs them.

    Parameters
    ----------
    schedule : one of ``SCHEDULES``
    stages, chunks, micro_batches : of the pipeline, of each stage, of a step; what ``needed_of`` allows

    >>> ["".join(f"{each.kind[0]}{each.micro_batch}" for each in passes_of("zb-h1", 2, 1, 3)[stage])
    ...  for stage in (0, 1)]
    ['f0f1i0w0f2i1w1i2w2', 'f0i0f1i1w0f2i2w1w2']
    """
    shape = stages, micro_batches
    if schedule in ("1f1b", "interleaved"):
        return tuple(
            tuple(_one_forward_one_backward(stage, stages, chunks, micro_batches)) for stage in range(stages)
        )
    if schedule in ("v-half", "v-min"):
        return tuple(tuple(itertools.starmap(Pass, of_stage)) for of_stage in squeezed(schedule, *shape))
    if schedule == "dualpipe":
        return tuple(tuple(_dualpipe(stage, *shape)) for stage in range(stages))
    if schedule == "zb-v":
        return tuple(tuple(_zero_bubble_v(stage, *shape)) for stage in range(stages))
    deep = 1 + (schedule == "zb-h2")
    return tuple(tuple(_zero_bubble(stage, *shape, deep)) for stage in range(stages))


def _one_forward_one_backward(stage: int, stages: int, chunks: int, micro_batches: int) -> Iterator[Pass]:
    """Yield the passes of 1F1B, interleaved where there are several chunks (Narayanan et al. 2021)."""
    total = chunks * micro_batches
    ahead = stages - stage - 1
    if chunks > 1:  # each chunk of every micro-batch of a round, and those that are on their way
        ahead = 2 * ahead + (chunks - 1) * stages
    ahead = min(ahead, total)
    for index in range(total):
        yield _in_rounds(index, "forward", stages, chunks)
        if index >= ahead:
            yield _in_rounds(index - ahead, "backward", stages, chunks)
    for index in range(total - ahead, total):
        yield _in_rounds(index, "backward", stages, chunks)


def _in_rounds(index: int, kind: Kind, stages: int, chunks: int) -> Pass:
    """Return one of a stage's passes: as many micro-batches as stages go through each chunk in turn."""
    if chunks == 1:
        return Pass(kind, 0, index)
    rounds, within = divmod(index, stages * chunks)
    chunk, micro = divmod(within, stages)
    return Pass(kind, chunk if kind == "forward" else chunks - 1 - chunk, rounds * stages + micro)


def _zero_bubble(stage: int, stages: int, micro_batches: int, deep: int) -> Iterator[Pass]:
    """Yield the passes of ZB-H1 (deep 1) and ZB-H2 (deep 2) of Qi et al. (2023).

    Weights of a micro-batch come as many micro-batches late as the first stage runs more ahead, so that all
    stages keep as many activations.
    """
    ahead = min(deep * (stages - stage - 1), micro_batches)
    late = deep * stage
    yield from (Pass("forward", 0, micro) for micro in range(ahead))
    for micro in range(micro_batches):
        if micro + ahead < micro_batches:
            yield Pass("forward", 0, micro + ahead)
        yield Pass("inputs", 0, micro)
        if micro >= late:
            yield Pass("weights", 0, micro - late)
    yield from (Pass("weights", 0, micro) for micro in range(max(micro_batches - late, 0), micro_batches))


class _Counted:
    """Passes of one stage, each kind counted by chunk."""

    def __init__(self) -> None:
        self.passes: list[Pass] = []
        self.counts: dict[tuple[Kind, int], int] = {}

    def run(self, kind: Kind, chunk: int, most: int) -> None:
        """Add the next pass of a kind, unless as many have run."""
        micro = self.counts.get((kind, chunk), 0)
        if micro < most:
            self.passes.append(Pass(kind, chunk, micro))
            self.counts[kind, chunk] = micro + 1

    def count(self, kind: Kind, chunk: int) -> int:
        """Passes of a kind so far."""
        return self.counts.get((kind, chunk), 0)


def _zero_bubble_v(stage: int, stages: int, micro_batches: int) -> list[Pass]:
    """Return the passes of ZB-V of Qi et al. (2023, section 6), as PyTorch has them.

    The order is that of at least as many micro-batches as fill the pipeline; those beyond the step are left
    out.
    """
    one, many = _Counted(), max(micro_batches, 2 * stages - 1)

    def run(chunk: int, *kinds: Kind) -> None:
        for kind in kinds:
            one.run(kind, chunk, many)

    behind = stages - stage
    for _ in range(2 * behind - 1):
        run(0, "forward")
    for _ in range(stage):
        run(1, "forward")
        run(0, "forward")
    for _ in range(behind):
        run(1, "forward", "inputs", "weights")
    while one.count("forward", 1) < many:
        for chunk in (0, 1):
            run(chunk, "forward", "inputs", "weights")
    for _ in range(stage):
        run(0, "inputs")
        run(1, "inputs")
    for _ in range(behind):
        run(0, "inputs", "weights")
    for chunk in (1, 0):
        while one.count("weights", chunk) < many:
            run(chunk, "weights")
    return [each for each in one.passes if each.micro_batch < micro_batches]


def _dualpipe(stage: int, stages: int, micro_batches: int) -> list[Pass]:
    """Return the passes of DualPipe (DeepSeek-AI 2025): two replicas, half of the micro-batches each.

    Chunk 0 belongs to the replica that starts on the first stage.
    """
    one, half, each = _Counted(), stages // 2, micro_batches // 2
    from_end = min(stage, stages - 1 - stage)
    near, far = (0, 1) if stage < half else (1, 0)
    postponed: list[Pass] = []

    def forward(chunk: int) -> None:
        one.run("forward", chunk, each)

    def backward(chunk: int, in_two: bool = False) -> None:
        micro = one.count("backward", chunk)
        one.counts["backward", chunk] = micro + 1
        one.passes.append(Pass("inputs" if in_two else "backward", chunk, micro))
        if in_two:
            postponed.append(one.passes[-1])

    def both(forward_chunk: int, backward_chunk: int) -> None:
        forward(forward_chunk)
        one.passes[-1] = one.passes[-1]._replace(overlaps=True)
        backward(backward_chunk)

    def weights() -> None:
        one.passes.append(postponed.pop(0)._replace(kind="weights"))

    middle = half - from_end - 1
    for _ in range(2 * middle):
        forward(near)
    for _ in range(from_end + 1):
        forward(near)
        forward(far)
    for _ in range(middle):
        backward(far, True)
        weights()
        forward(far)
    for index in range(each - stages + from_end + 1):
        if index == 0 and middle == 0:
            forward(near)
            backward(far)
        else:
            both(near, far)
        both(far, near)
    for _ in range(middle):
        backward(far)
        both(far, near)
    second = (from_end + 1) // 2
    for index in range(from_end + 1):
        backward(far, index > second or (index == second and from_end % 2 == 1))
        backward(near, index >= second)
    for _ in range(middle):
        weights()
        backward(near, True)
    while postponed:
        weights()
    return one.passes


def kept_after(passes: tuple[Pass, ...] | list[Pass]) -> list[int]:
    """Return how many chunks' activations a stage keeps after each of its passes.

    >>> kept_after(passes_of("1f1b", 2, 1, 3)[0])
    [1, 2, 1, 2, 1, 0]
    """
    kept, now = [], 0
    for one in passes:
        now += (one.kind == "forward") - (one.kind in ("weights", "backward"))
        kept.append(now)
    return kept
