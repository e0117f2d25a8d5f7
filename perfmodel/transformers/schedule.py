"""What each stage of a pipeline does when: forward and backward passes of micro-batches, one after another.

One forward, one backward (1F1B), and with several chunks of layers on each stage the same interleaved, in
the orders of Narayanan et al. (2021), section 2.2.  ``equations.transformer_pipeline`` has the closed form of
what this plays through: of equal chunks both last equally long.  Of unlike ones
``equations.interleaved_pipeline`` has the same recurrence, in layers' times and without blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from perfmodel.equations.interleaved_pipeline import passes_of_stage
from perfmodel.errors import InputError

MOST_BLOCKS = 100_000
"""Of a schedule that is played through; as many take a third of a second, and 30 MB in a trace."""


class Block(NamedTuple):
    """One pass of one micro-batch through one chunk of layers."""

    stage: int
    micro_batch: int
    chunk: int
    """Of the stage, from 0."""
    is_forward: bool
    start: float
    """From the start of the first pass [s]."""
    end: float
    """[s]"""


class Schedule(NamedTuple):
    """The passes of one step on every stage."""

    stages: tuple[tuple[Block, ...], ...]
    """By stage, in the order in which it runs them."""
    micro_batches: int
    chunks: int
    """On each stage."""

    @property
    def end(self) -> float:
        """When the last pass ends [s]."""
        return max(blocks[-1].end for blocks in self.stages)

    @property
    def idle_time(self) -> float:
        """Time in which a stage waits, the mean over stages [s]."""
        busy = sum(block.end - block.start for blocks in self.stages for block in blocks)
        return self.end - busy / len(self.stages)


def schedule_of(
    forward: Sequence[Sequence[float]], backward: Sequence[Sequence[float]], micro_batches: int
) -> Schedule:
    """Play a step through; sends between stages take no time here.

    Parameters
    ----------
    forward, backward : times of one micro-batch by stage and chunk, shape (stages, chunks) [s]
    micro_batches : of a step

    Raises
    ------
    InputError : several chunks, and micro-batches that do not divide by stages; more blocks than are played

    Examples
    --------
    Two stages, two micro-batches, 1 s forward and 2 s backward: (2 + 2 - 1) x 3 s, of which each waits 3 s.

    >>> schedule = schedule_of([[1.0], [1.0]], [[2.0], [2.0]], 2)
    >>> schedule.end, schedule.idle_time
    (9.0, 3.0)
    """
    stages, chunks = len(forward), len(forward[0])
    if chunks > 1 and micro_batches % stages:
        raise InputError(f"{micro_batches} micro-batches do not divide by {stages} stages of several chunks")
    if 2 * stages * chunks * micro_batches > MOST_BLOCKS:
        raise InputError(
            f"a schedule of {micro_batches} micro-batches on {stages} stages of {chunks} chunks is too long "
            f"to draw; up to {MOST_BLOCKS:,} passes are"
        )
    orders = [list(passes_of_stage(stage, stages, chunks, micro_batches)) for stage in range(stages)]
    played: list[list[Block]] = [[] for _ in range(stages)]
    last = stages * chunks - 1
    # by place of a chunk in the network, then by micro-batch; None where a pass has not run
    ends: dict[bool, list[list[float | None]]] = {
        is_forward: [[None] * micro_batches for _ in range(last + 1)] for is_forward in (True, False)
    }
    left = sum(map(len, orders))
    while left:
        for stage, order in enumerate(orders):
            done = played[stage]
            while len(done) < len(order):
                is_forward, chunk, micro = order[len(done)]
                place = chunk * stages + stage
                ready: float | None
                if is_forward:
                    ready = ends[True][place - 1][micro] if place else 0.0
                else:
                    ready = ends[False][place + 1][micro] if place < last else ends[True][place][micro]
                if ready is None:
                    break
                start = max(ready, done[-1].end if done else 0.0)
                end = start + (forward if is_forward else backward)[stage][chunk]
                ends[is_forward][place][micro] = end
                done.append(Block(stage, micro, chunk, is_forward, start, end))
                left -= 1
    return Schedule(tuple(map(tuple, played)), micro_batches, chunks)
