"""What one device did while it was profiled, by any profiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from perfmodel.evidence.traces.allocations import Memory
    from perfmodel.evidence.traces.marked_ranges import Range

    Array = NDArray[np.float64]


class Collective(NamedTuple):
    """One kernel of a communication library."""

    kind: str
    """all-reduce, all-gather, reduce-scatter, all-to-all, send-receive, ..., or the library's own word."""
    start: float
    """[s]"""
    duration: float
    """[s], the wait for the last peer included."""
    message_bytes: float | None
    dtype: str | None
    group_size: int | None
    algorithm: str | None
    protocol: str | None


class Activity(NamedTuple):
    """What a profiler records beside kernels; intervals of shape (n, 2), start and end [s]."""

    moved: Array
    """Copies of every direction, and fills."""
    runtime: Array
    """Calls of the GPU's runtime on the host."""
    cpu: Array
    """Operators on the host."""
    kernels: Array
    """Shape (n, 4): start, end [s], blocks for each multiprocessor, share of its threads that were active;
    NaN where the file does not say."""
    pageable: Array
    """Shape (n, 3), copies from pageable memory of the host to the device: start, end [s], bytes."""
    ranges: tuple[Range, ...]
    held: Memory | None
    """Of the device's allocator."""


class DeviceTrace(NamedTuple):
    """Intervals are of shape (n, 2), start and end [s], on one clock."""

    file: str
    device: int
    accelerator: str | None
    """As the driver calls it; None where the file does not say."""
    rank: int | None
    world_size: int | None
    compute: Array
    """Every kernel that is not of a communication library."""
    communication: Array
    copies: Array
    """From the host's memory to the device's."""
    collectives: tuple[Collective, ...]
    steps: Array
    """Marks of the steps, on the host."""
    input_waits: Array
    """While the training loop asked its loader for the next batch."""
    peak_memory: float | None
    """Of the allocator [B], where the profiler recorded it."""
    stacks: bool
    """Whether call stacks were recorded, which slows the host several times."""
    passes: tuple[tuple[str, Array], ...] = ()
    """Kernels that compute, by the pass that launched them: forward, backward, update; empty if unknown."""
    marked: tuple[tuple[str, float], ...] = ()
    """Terms that a predicted timeline marks, as they are no kernels: name and time in all [s]."""
    memory: float | None = None
    """Of the device, as its driver reports it [B]."""
    loads_itself: bool = False
    """Whether the training process decodes its samples, without workers beside it."""
    activity: Activity | None = None
    """None where the file has kernels alone."""
    formats: tuple[str, ...] = ()
    """Of the numbers in matrix products, such as fp32; empty where that is not certain."""
    convolutions: frozenset[int] = frozenset()
    """Numbers of weights of the network's convolutions, where the profiler recorded shapes."""
    samples: int | None = None
    """Of one pass, where the profiler recorded shapes and the network begins with a convolution."""


def intervals(pairs: Iterable[tuple[float, float]]) -> Array:
    """Return sorted intervals of shape (n, 2)."""
    result = np.array(sorted(pairs), dtype=np.float64).reshape(-1, 2)
    return result


def union(spans: Array) -> Array:
    """Return the union of sorted intervals as sorted ones that do not touch.

    >>> union(intervals([(0, 2), (1, 3), (5, 6)])).tolist()
    [[0.0, 3.0], [5.0, 6.0]]
    """
    if not len(spans):
        return spans
    reached = np.maximum.accumulate(spans[:, 1])
    first = np.concatenate([[True], spans[1:, 0] > reached[:-1]])
    starts = spans[first, 0]
    last = np.concatenate([np.nonzero(first)[0][1:] - 1, [len(spans) - 1]])
    return np.column_stack([starts, reached[last]])


def length(spans: Array) -> float:
    """Return the length of the union of intervals [s]."""
    merged = union(spans)
    return float((merged[:, 1] - merged[:, 0]).sum()) if len(merged) else 0.0


def overlap(first: Array, second: Array) -> float:
    """Return the length of the intersection of two unions [s].

    >>> overlap(intervals([(0, 4)]), intervals([(1, 2), (3, 6)]))
    2.0
    """
    if not len(first) or not len(second):
        return 0.0
    both = intervals([*map(tuple, union(first).tolist()), *map(tuple, union(second).tolist())])
    return length(first) + length(second) - length(both)


def within(spans: Array, start: float, end: float) -> Array:
    """Return intervals cut to a window."""
    if not len(spans):
        return spans
    inside = spans[(spans[:, 1] > start) & (spans[:, 0] < end)]
    return np.clip(inside, start, end)
