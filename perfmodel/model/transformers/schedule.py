"""The passes of every stage of a pipeline in one step, with their starts and ends.

Orders are those of ``equations.pipeline_orders``, times those of the recurrence in
``equations.pipeline_schedule``.  For 1F1B of one chunk, the closed form in ``equations.unequal_pipeline``
gives the same length of a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from perfmodel.core import choices
from perfmodel.core.errors import refusal
from perfmodel.equations.pipeline_orders import Kind
from perfmodel.equations.pipeline_schedule import Times, played

MOST_BLOCKS = 100_000
"""Largest number of blocks of a schedule; as many take a third of a second, and 30 MB in a trace."""
KINDS: dict[Kind, str] = {
    "forward": "forward",
    "backward": "backward",
    "inputs": "backward to inputs",
    "weights": "backward to weights",
}
"""Kinds of passes as text."""


class Block(NamedTuple):
    """One pass of one micro-batch through one chunk of layers."""

    stage: int
    micro_batch: int
    chunk: int
    """Chunk of the stage, from 0."""
    kind: Kind
    """Forward, or backward to the inputs, to the weights, or to both."""
    start: float
    """From the start of the first pass [s]."""
    end: float
    """[s]"""

    @property
    def is_forward(self) -> bool:
        """Whether the pass is a forward pass."""
        return self.kind == "forward"

    @property
    def words(self) -> str:
        """What the pass computes, as text."""
        return KINDS[self.kind]

    def overlaps(self, other: Block) -> bool:
        """Whether a pass of the same stage runs at the same time."""
        return self.start == other.start and self.end == other.end and self.kind != other.kind


class Schedule(NamedTuple):
    """The passes of one step on every stage."""

    stages: tuple[tuple[Block, ...], ...]
    """Blocks by stage, in the order of execution."""
    micro_batches: int
    chunks: int
    """Chunks on each stage."""
    name: choices.Schedule

    @property
    def end(self) -> float:
        """End of the last pass [s]."""
        return max(blocks[-1].end for blocks in self.stages)

    @property
    def idle_time(self) -> float:
        """Idle time of a stage, the mean over stages [s]."""
        spans = (
            {(block.start, block.end) for block in blocks} for blocks in self.stages
        )  # passes may overlap
        busy = sum(end - start for of_stage in spans for start, end in of_stage)
        return self.end - busy / len(self.stages)


def schedule_of(
    forward: Sequence[Sequence[float]],
    backward: Sequence[Sequence[float]],
    micro_batches: int,
    weights: Sequence[Sequence[float]] | None = None,
    name: choices.Schedule | None = None,
) -> Schedule:
    """Return the passes of a step; sends between stages take no time here.

    Parameters
    ----------
    forward, backward : times of one micro-batch by stage and chunk, shape (stages, chunks) [s]
    micro_batches : of a step
    weights : the part of ``backward`` that computes gradients of weights; None: not computed apart [s]
    name : the schedule; None is 1F1B, interleaved where stages have several chunks

    Raises
    ------
    InputError : several chunks with micro-batches that do not divide by stages; too many blocks

    Examples
    --------
    Two stages, two micro-batches, 1 s forward and 2 s backward: (2 + 2 - 1) x 3 s, of which each waits 3 s.

    >>> schedule = schedule_of([[1.0], [1.0]], [[2.0], [2.0]], 2)
    >>> schedule.end, schedule.idle_time
    (9.0, 3.0)
    """
    stages, chunks = len(forward), len(forward[0])
    name = name or ("interleaved" if chunks > 1 else "1f1b")
    if name == "interleaved" and micro_batches % stages:
        raise refusal("layout.micro_batches", micro_batches=micro_batches, stages=stages)
    if 2 * stages * chunks * micro_batches > MOST_BLOCKS:
        raise refusal(
            "layout.too_long",
            micro_batches=micro_batches,
            stages=stages,
            chunks=chunks,
            most_blocks=MOST_BLOCKS,
        )
    blocks: list[list[Block]] = [[] for _ in range(stages)]
    times: Times = {"forward": forward, "backward": backward}
    if weights is not None:
        inputs = [[b - w for b, w in zip(*each, strict=True)] for each in zip(backward, weights, strict=True)]
        times = {**times, "inputs": inputs, "weights": weights}
    for stage, one, start, end in played(name, times, micro_batches):
        blocks[stage].append(Block(stage, one.micro_batch, one.chunk, one.kind, start, end))
    return Schedule(tuple(map(tuple, blocks)), micro_batches, chunks, name)
