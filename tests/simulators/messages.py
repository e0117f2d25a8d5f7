"""Passes messages between ranks, data included, and keeps the time of every port and of every element.

A rank sends one message and takes in one at a time (full duplex); it adds what it took in before it takes in
the next.  A message starts when its data are there and both ports are free, so there are no global steps: the
steps of a schedule only say which state of the data a message carries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np


class Message(NamedTuple):
    source: int
    target: int
    start: int
    """First element in the source's buffer."""
    stop: int
    add: bool = False
    target_start: int | None = None
    """First element in the target's buffer; the same where None."""


class Link(NamedTuple):
    """Cost of m elements: both ports are busy for startup + m * per_element, and it is delayed on its way."""

    startup: float = 0.0
    per_element: float = 0.0
    per_element_received: float | None = None
    """Where the receiving port is slower or faster than the sending one."""
    delay: float = 0.0


class Outcome(NamedTuple):
    buffers: np.ndarray
    finish: float
    sent: np.ndarray
    """Elements sent by each rank."""
    messages: np.ndarray
    """Messages sent by each rank."""


Schedule = list[list[Message]]


def run(
    schedule: Schedule,
    buffers: np.ndarray,
    link: Link | Callable[[int, int], Link],
    per_added: float = 0.0,
    ready_at: Sequence[float] | None = None,
) -> Outcome:
    """Move the data of a schedule; ``ready_at`` says when each rank's own buffer is there."""
    ranks = len(buffers)
    buffers = buffers.copy()
    ready = np.zeros(buffers.shape)
    if ready_at is not None:
        ready += np.asarray(ready_at, dtype=float)[:, None]
    send_free, receive_free = np.zeros(ranks), np.zeros(ranks)
    sent, messages = np.zeros(ranks), np.zeros(ranks)
    for step in schedule:
        carried = [(buffers[m.source, m.start : m.stop].copy(), _latest(ready, m)) for m in step]
        for message, (data, data_ready) in zip(step, carried, strict=True):
            source, target, size = message.source, message.target, message.stop - message.start
            cost = link(source, target) if callable(link) else link
            received = cost.per_element if cost.per_element_received is None else cost.per_element_received
            begin = max(data_ready, send_free[source], receive_free[target] - cost.delay)
            send_free[source] = begin + cost.startup + size * cost.per_element
            arrival = begin + cost.delay + cost.startup + size * max(received, cost.per_element)
            receive_free[target] = begin + cost.delay + cost.startup + size * received
            first = message.start if message.target_start is None else message.target_start
            place = (target, slice(first, first + size))
            if message.add:
                buffers[place] += data
                done = max(arrival, float(ready[place].max(initial=0.0))) + size * per_added
                if per_added:
                    receive_free[target] = max(receive_free[target], done)
            else:
                buffers[place] = data
                done = arrival
            ready[place] = np.maximum(ready[place], done)
            sent[source] += size
            messages[source] += 1
    return Outcome(buffers, float(ready.max(initial=0.0)), sent, messages)


def _latest(ready: np.ndarray, message: Message) -> float:
    return float(ready[message.source, message.start : message.stop].max(initial=0.0))


def together(schedules: Sequence[Schedule]) -> Schedule:
    """Run several schedules, of different ranks or elements, side by side."""
    return [
        [message for step in steps if step for message in step]
        for steps in zip_longest(*schedules, fillvalue=[])
    ]
