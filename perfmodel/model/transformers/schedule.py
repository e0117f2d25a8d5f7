"""The schedule of a pipeline: order and times of the passes of micro-batches on every stage.

One forward, one backward (1F1B), interleaved with several chunks of layers on each stage, in the orders of
Narayanan et al. (2021), section 2.2.  ``equations.transformer_pipeline`` has the closed form, which agrees
with this simulation for equal chunks.  The recurrence is that of ``equations.interleaved_pipeline``, which
derives the waits of unequal stages from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from perfmodel.core.errors import refusal
from perfmodel.equations.interleaved_pipeline import played

MOST_BLOCKS = 100_000
"""Largest number of blocks of a schedule; as many take a third of a second, and 30 MB in a trace."""


class Block(NamedTuple):
    """One pass of one micro-batch through one chunk of layers."""

    stage: int
    micro_batch: int
    chunk: int
    """Chunk of the stage, from 0."""
    is_forward: bool
    start: float
    """From the start of the first pass [s]."""
    end: float
    """[s]"""


class Schedule(NamedTuple):
    """The passes of one step on every stage."""

    stages: tuple[tuple[Block, ...], ...]
    """Blocks by stage, in the order of execution."""
    micro_batches: int
    chunks: int
    """Chunks on each stage."""

    @property
    def end(self) -> float:
        """End of the last pass [s]."""
        return max(blocks[-1].end for blocks in self.stages)

    @property
    def idle_time(self) -> float:
        """Idle time of a stage, the mean over stages [s]."""
        busy = sum(block.end - block.start for blocks in self.stages for block in blocks)
        return self.end - busy / len(self.stages)


def schedule_of(
    forward: Sequence[Sequence[float]], backward: Sequence[Sequence[float]], micro_batches: int
) -> Schedule:
    """Simulate the passes of a step; sends between stages take no time here.

    Parameters
    ----------
    forward, backward : times of one micro-batch by stage and chunk, shape (stages, chunks) [s]
    micro_batches : of a step

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
    if chunks > 1 and micro_batches % stages:
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
    for each in map(Block._make, played(forward, backward, micro_batches)):
        blocks[each.stage].append(each)
    return Schedule(tuple(map(tuple, blocks)), micro_batches, chunks)
