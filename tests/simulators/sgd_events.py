"""Event simulation of the variants of distributed SGD: workers, cancellations, restarts, staleness."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Draw = Callable[[int], NDArray[np.float64]]
"""Return that many independent times."""


@dataclass(frozen=True)
class Run:
    """What one simulation saw after its first tenth."""

    gaps: NDArray[np.float64]
    """Times between updates."""
    staleness: NDArray[np.int64]
    """Updates between reading and applying, one for each gradient applied."""

    @property
    def update_time(self) -> float:
        return float(self.gaps.mean())

    @property
    def standard_error(self) -> float:
        """From forty batches, because neighbouring gaps are not independent."""
        size = len(self.gaps) // 40
        return float(self.gaps[: 40 * size].reshape(40, size).mean(axis=1).std(ddof=1) / 40**0.5)

    @property
    def fresh_fraction(self) -> float:
        return float((self.staleness == 0).mean())


def _stream(draw: Draw) -> Iterator[float]:
    while True:
        yield from draw(1 << 14).tolist()


def _work(draw: Draw, local_steps: int) -> Callable[[], float]:
    """Return what says how long the next delivery takes: one time, or the sum of several."""
    times = _stream(draw)
    return times.__next__ if local_steps == 1 else lambda: sum(next(times) for _ in range(local_steps))


def simulate(
    variant: str, draw: Draw, workers: int, k: int, updates: int, local_steps: int = 1, slow: float = 1.0
) -> Run:
    """Run a variant for a number of updates.

    Every worker reads the newest parameters, computes, and delivers.  ``slow`` stretches worker 0's times.

    What happens next is the whole difference between the variants:

    =============  ==================  ============================  ==============
    variant        a worker that is    an update comes after         at an update
                   done
    =============  ==================  ============================  ==============
    k-sync         waits               K gradients                   all start anew
    k-batch-sync   starts again        K gradients                   all start anew
    k-async        waits               K gradients                   the waiting start
    k-batch-async  starts again        K gradients                   nobody does
    =============  ==================  ============================  ==============

    sync is k-sync with all, backup is k-sync, async is k-async with K = 1, and a worker of local-sgd is done
    after ``local_steps`` times.
    """
    kind = {
        "sync": "k-sync",
        "backup": "k-sync",
        "local-sgd": "k-sync",
        "async": "k-async",
        "elastic": "k-async",
    }.get(variant, variant)
    waits, cancels = kind in ("k-sync", "k-async"), kind in ("k-sync", "k-batch-sync")
    work = _work(draw, local_steps)
    version, token = 0, [0] * workers
    read = [0] * workers
    heap: list[tuple[float, int, int]] = []
    push, pop = heapq.heappush, heapq.heappop  # looked up once: these loops run a million times

    def start(worker: int, now: float) -> None:
        time = work() if worker else work() * slow
        token[worker] = mark = token[worker] + 1
        read[worker] = version
        push(heap, (now + time, worker, mark))

    for worker in range(workers):
        start(worker, 0.0)
    ends, stale, delivered = [0.0], [], []
    while version < updates:
        now, worker, mark = pop(heap)
        if mark != token[worker]:  # cancelled meanwhile
            continue
        stale.append(version - read[worker])
        delivered.append(worker)
        if len(delivered) < k:
            if not waits:
                start(worker, now)
            continue
        version += 1
        ends.append(now)
        if cancels:
            heap.clear()
            again = range(workers)
        else:
            again = delivered if waits else [worker]
        for each in again:
            start(each, now)
        delivered = []
    skip = updates // 10
    return Run(np.diff(ends)[skip:], np.array(stale[skip * k :]))


def server_queue(draw: Draw, serve: Draw, workers: int, pushes: int) -> Run:
    """Asynchronous workers and one server that takes pushes one after another, first come first served."""
    times, services = _stream(draw), _stream(serve)
    heap = [(next(times), worker) for worker in range(workers)]
    heapq.heapify(heap)
    free, ends = 0.0, []
    for _ in range(pushes):
        arrival, worker = heapq.heappop(heap)
        free = max(free, arrival) + next(services)
        ends.append(free)
        heapq.heappush(heap, (free + next(times), worker))
    return Run(np.diff(ends)[pushes // 10 :], np.zeros(1, dtype=np.int64))


def through_port(
    draw: Draw, serve: Draw, workers: int, k: int, updates: int, *, waits: bool = False, local_steps: int = 1
) -> Run:
    """Workers out of step, each of whose deliveries passes one port, first come first served.

    After ``local_steps`` times a worker queues for it; an update comes after ``k`` deliveries.  Where it
    ``waits`` a worker starts again at the update it contributed to, else at its delivery.
    """
    work, services = _work(draw, local_steps), _stream(serve)
    heap = [(work(), worker, 0) for worker in range(workers)]
    heapq.heapify(heap)
    free, version, ends, stale, delivered = 0.0, 0, [0.0], [], []
    while version < updates:
        arrival, worker, read = heapq.heappop(heap)
        free = max(free, arrival) + next(services)
        stale.append(version - read)
        delivered.append(worker)
        full = len(delivered) == k
        version += full
        if full:
            ends.append(free)
        for each in (delivered if full else []) if waits else [worker]:
            heapq.heappush(heap, (free + work(), each, version))
        if full:
            delivered = []
    skip = updates // 10
    return Run(np.diff(ends)[skip:], np.array(stale[skip * k :]))
