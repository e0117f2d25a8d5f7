"""The trace of one device, as all profilers' files are read, and operations on intervals."""

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
    """Start [s]."""
    duration: float
    """Duration, including the wait for the last peer [s]."""
    message_bytes: float | None
    dtype: str | None
    group_size: int | None
    algorithm: str | None
    protocol: str | None


class Activity(NamedTuple):
    """What a profiler records in addition to kernels; intervals of shape (n, 2), start and end [s]."""

    moved: Array
    """Copies in every direction, and fills of memory."""
    runtime: Array
    """Calls of the GPU's runtime on the host."""
    cpu: Array
    """Operators on the host."""
    kernels: Array
    """Kernels, shape (n, 4): start, end [s], blocks per multiprocessor, share of its threads that were
    active; NaN if the file does not state them."""
    pageable: Array
    """Copies from pageable memory of the host to the device, shape (n, 3): start, end [s], bytes."""
    ranges: tuple[Range, ...]
    """Ranges that the program marked."""
    held: Memory | None
    """Memory of the device's allocator."""


class DeviceTrace(NamedTuple):
    """Activities of one device in a trace; intervals have shape (n, 2), start and end [s], on one clock."""

    file: str
    device: int
    accelerator: str | None
    """Name of the accelerator by its driver; None if the file does not state it."""
    rank: int | None
    world_size: int | None
    compute: Array
    """Kernels that do not belong to a communication library."""
    communication: Array
    """Kernels of a communication library."""
    copies: Array
    """Copies from the host's memory to the device's."""
    collectives: tuple[Collective, ...]
    steps: Array
    """Marks of the steps, on the host."""
    input_waits: Array
    """Intervals in which the training loop waited for the loader's next batch."""
    peak_memory: float | None
    """Peak of the allocator [B]; None if the profiler did not record it."""
    stacks: bool
    """Whether call stacks were recorded, which slows down the host several times."""
    passes: tuple[tuple[str, Array], ...] = ()
    """Computing kernels by the pass that launched them: forward, backward, update; empty if unknown."""
    marked: tuple[tuple[str, float], ...] = ()
    """Terms without kernels that a predicted timeline marks: name and total time [s]."""
    memory: float | None = None
    """Memory of the device, as its driver reports it [B]."""
    loads_itself: bool = False
    """Whether the training process decodes its samples itself, without loader workers."""
    activity: Activity | None = None
    """None if the file has only kernels."""
    formats: tuple[str, ...] = ()
    """Number formats of matrix products, such as fp32; empty if uncertain."""
    convolutions: frozenset[int] = frozenset()
    """Numbers of weights of the network's convolutions, if the profiler recorded shapes."""
    samples: int | None = None
    """Samples of one pass, if the profiler recorded shapes and the network begins with a convolution."""


def intervals(pairs: Iterable[tuple[float, float]]) -> Array:
    """Return intervals sorted by start, shape (n, 2)."""
    result = np.array(sorted(pairs), dtype=np.float64).reshape(-1, 2)
    return result


def union(spans: Array) -> Array:
    """Return the union of sorted intervals as sorted, disjoint ones.

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
    """Return the length of the intersection of the unions of two sets of intervals [s].

    >>> overlap(intervals([(0, 4)]), intervals([(1, 2), (3, 6)]))
    2.0
    """
    if not len(first) or not len(second):
        return 0.0
    both = intervals([*map(tuple, union(first).tolist()), *map(tuple, union(second).tolist())])
    return length(first) + length(second) - length(both)


def within(spans: Array, start: float, end: float) -> Array:
    """Return the parts of intervals that lie in a window from ``start`` to ``end`` [s]."""
    if not len(spans):
        return spans
    inside = spans[(spans[:, 1] > start) & (spans[:, 0] < end)]
    return np.clip(inside, start, end)
