"""Listings made wrong in known ways, from normal ones, without the model that is to find the fault.

Each fault changes measured times alone: a time is what the wire takes at the listing's own best bus
bandwidth, and the rest.  How much a fault takes is stated here with its source or as an assumption.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from perfmodel.core.arrays import Array
from perfmodel.core.units import per_cent
from perfmodel.model.collectives.place import Point, traffic_of

TCP_CEILING = 6.0e9
"""Bus bandwidth of two nodes of four GH200 whose plug-in was not loaded [B/s]: ``cscs-docs-nccl``, which is
itself among the judged listings; ``alcf-nccl-tests`` has 3.4 and 9.4."""
TCP_START = 2.0
"""Time of an empty message over TCP, over that of the plug-in: 45 over 22 us in ``alcf-nccl-tests``."""
STAGED = 3.0
"""Factor on bytes' time where adapters go through host memory (assumed: two more copies of each byte)."""
HOST_CEILING = 10e9
"""Bus bandwidth of a node whose accelerators meet in host memory [B/s] (assumed)."""
SLOW_RANKS = 0.5, 0.25
"""Shares of its bandwidth that a rank has left whose link trained down (assumed)."""
RING_STEP = 3e-6
"""Time of a step of a ring that is forced on small messages [s] (assumed)."""
TREE_SHARE = 0.5
"""Share of the bandwidth that a tree forced on large messages reaches: 3.0 of 6.4 GB/s in
``allreduce-experiments``, where NCCL_TREE_THRESHOLD forces it."""
LATE = 8.0
"""Factor on the time of an empty message (assumed)."""


MATERIAL = 2.0
"""Least factor by which a fault lengthens some size of a listing that is given it: less is no fault that
anybody would look for.  Set after a first look at both halves, where all four faults of less were missed."""


class Fault(NamedTuple):
    """A known way for a listing to be wrong."""

    id: str
    causes: tuple[str, ...]
    """Causes of ``causes`` that count as its right name."""
    applies: Callable[[Point, float], bool]
    """Whether a listing at a point with a best bus bandwidth [B/s] can have it."""
    spoil: Callable[[Point, Array, Array, Array, float], Array]
    """From point, sizes [B], times [s], bytes on the wire [B] and best bus bandwidth [B/s] to times [s]."""


def spoiled(fault: Fault, point: Point, sizes: Array, times: Array) -> Array:
    """Return the times of a listing with a fault [s]."""
    wire, best = wire_of(point, sizes, times)
    return fault.spoil(point, sizes, times, wire, best)


def is_material(fault: Fault, point: Point, sizes: Array, times: Array) -> bool:
    """Return whether a listing can have a fault, which then lengthens some size by ``MATERIAL``."""
    _, best = wire_of(point, sizes, times)
    if not fault.applies(point, best):
        return False
    return float(np.max(spoiled(fault, point, sizes, times) / times)) >= MATERIAL


def wire_of(point: Point, sizes: Array, times: Array) -> tuple[Array, float]:
    """Return the bytes of each size on the wire of a rank, and the best bus bandwidth [B/s]."""
    wire = traffic_of(point.collective, point.group_size) * sizes
    return wire, float(np.max(wire / times))


def _slowed(share: float) -> Callable[[Point, Array, Array, Array, float], Array]:
    """Return the function that leaves a share of the bandwidth."""
    return lambda point, sizes, times, wire, best: times + wire / best * (1 / share - 1)


def _is_networked(point: Point) -> bool:
    return point.nodes > 1 and point.inter_link is not None and not point.inter_link.passes_kernel


FAULTS = (
    Fault(
        "tcp",
        ("tcp",),
        lambda point, best: _is_networked(point) and best > 2 * TCP_CEILING,
        lambda point, sizes, times, wire, best: (
            times + wire / TCP_CEILING - wire / best + (TCP_START - 1) * times.min()
        ),
    ),
    Fault(
        "one adapter",
        ("few-adapters",),
        lambda point, best: _is_networked(point) and point.nics >= 4,
        lambda point, sizes, times, wire, best: times + wire / best * (point.nics - 1),
    ),
    Fault(
        "staged",
        ("no-gpudirect",),
        lambda point, best: _is_networked(point) and point.nics >= 2,
        _slowed(1 / STAGED),
    ),
    Fault(
        "no peer access",
        ("no-peer-access",),
        lambda point, best: point.nodes == 1 and best > 2 * HOST_CEILING,
        lambda point, sizes, times, wire, best: times + wire / HOST_CEILING - wire / best,
    ),
    *(
        Fault(f"slow rank, {per_cent(share, 0)}", ("slow-rank",), lambda point, best: True, _slowed(share))
        for share in SLOW_RANKS
    ),
    Fault(
        "tree forced",
        ("algorithm", "slow-rank"),
        lambda point, best: point.collective == "all-reduce",
        _slowed(TREE_SHARE),
    ),
    Fault(
        "ring forced",
        ("algorithm", "latency"),
        lambda point, best: point.collective == "all-reduce" and point.nodes > 1 and point.group_size >= 16,
        lambda point, sizes, times, wire, best: times + 2 * (point.group_size - 1) * RING_STEP,
    ),
    Fault(
        "late",
        ("latency",),
        lambda point, best: True,
        lambda point, sizes, times, wire, best: times + (LATE - 1) * times.min(),
    ),
)
"""Known faults."""
