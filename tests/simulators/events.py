"""Event simulations of gradients that travel while a network trains."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from itertools import pairwise, product


def in_order(ready: Sequence[float], lasting: Sequence[float]) -> float:
    """One channel serves messages in the order given, each as soon as it is ready; return the last end."""
    free = 0.0
    for start, time in zip(ready, lasting, strict=True):
        free = max(free, start) + time
    return free


def best_merging(
    ready: Sequence[float], sizes: Sequence[float], fixed: float, per_byte: float, hiding_cost: float = 0.0
) -> float:
    """Try every way of merging neighbours; return the least end, hidden messages costing a part of theirs."""
    best = float("inf")
    for cuts in product([False, True], repeat=len(sizes) - 1):
        starts = [0, *(i + 1 for i, cut in enumerate(cuts) if cut), len(sizes)]
        spans = list(pairwise(starts))
        times = [fixed + per_byte * sum(sizes[first:last]) for first, last in spans]
        end = in_order([ready[last - 1] for _, last in spans], times)
        best = min(best, end + hiding_cost * (sum(times) - (end - ready[-1])))
    return best


def preemptive_priority(
    forward: Sequence[float], backward: Sequence[float], lasting: Sequence[float], iterations: int = 60
) -> float:
    """Time of the last of many iterations; the message of the first layer interrupts all others.

    The next forward pass of a layer waits for its own message.  Time passes from event to event.
    """
    layers = len(forward)
    now, ends = 0.0, []
    left = [0.0] * layers
    for _ in range(iterations):
        for i in range(layers):
            while left[i] > 0:  # wait: the most urgent message that is there is on its way
                urgent = next(j for j in range(layers) if left[j] > 0)
                now += left[urgent]
                left[urgent] = 0.0
            now = _compute(now, forward[i], left)
        for i in reversed(range(layers)):
            now = _compute(now, backward[i], left)
            left[i] = lasting[i]
        ends.append(now)
    return ends[-1] - ends[-2]


def _compute(now: float, time: float, left: list[float]) -> float:
    """Compute for a while, in which messages go on, the most urgent first."""
    budget = time
    for j, remaining in enumerate(left):
        sent = min(remaining, budget)
        left[j] -= sent
        budget -= sent
    return now + time


def cycling_fusion(
    ready: Sequence[float],
    sizes: Sequence[float],
    lasting: Callable[[float], float],
    cycle: float,
    threshold: float,
) -> list[tuple[float, float, float]]:
    """Every message's start, end and bytes where a thread wakes each cycle, or late if it was still sending.

    A heap of events: a gradient is there, the thread wakes, a message has ended.  Whenever the thread wakes
    it takes all that is there, and sends it in pieces under the threshold, one by one.
    """
    order = itertools.count()
    wake, there, ended = range(3)
    # of events at one moment the gradients come first
    events = [(at, 0, next(order), there, size) for at, size in zip(ready, sizes, strict=True)]
    events.append((0.0, 1, next(order), wake, 0.0))
    heapq.heapify(events)
    waiting: list[float] = []
    pieces: list[float] = []
    messages: list[tuple[float, float, float]] = []
    woken, sent = 0.0, 0

    def send(now: float) -> None:
        size = pieces.pop(0)
        messages.append((now, now + lasting(size), size))
        heapq.heappush(events, (messages[-1][1], 1, next(order), ended, 0.0))

    while sent < len(sizes):
        now, _, _, kind, size = heapq.heappop(events)
        if kind == there:
            waiting.append(size)
            continue
        if kind == wake:
            woken = now
            for each in waiting:
                if pieces and pieces[-1] + each <= threshold:
                    pieces[-1] += each
                else:
                    pieces.append(each)
            sent += len(waiting)
            waiting = []
        if pieces:
            send(now)
        else:
            heapq.heappush(events, (max(now, woken + cycle), 1, next(order), wake, 0.0))
    while pieces:
        send(messages[-1][1])
    return messages


def contended(
    compute: float, communication: float, compute_slowdown: float, communication_slowdown: float
) -> float:
    """Pass from event to event: both slowed while both run."""
    now = 0.0
    while compute > 0 and communication > 0:
        step = min(compute * compute_slowdown, communication * communication_slowdown)
        now += step
        compute -= step / compute_slowdown
        communication -= step / communication_slowdown
        if min(compute, communication) < 1e-15:
            break
    return now + max(compute, communication, 0.0)
