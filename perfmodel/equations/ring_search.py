"""Number of disjoint rings in a graph of links between accelerators, and the bandwidth of a ring all-reduce.

On a cube mesh, pairs are joined by two links, one or none, so that no single bandwidth describes it: the
bandwidth depends on how many rings through all ranks can run at the same time without a common link.

Neither the number of rings nor the overhead of writes is fitted to a measured cube mesh.  The relay is: five
ranks of a DGX-1V have no ring, but 37 GB/s were measured on them; the assumption that NCCL then relays
through the memory of a rank in between, which the receiver reads, was added to explain that.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import given

WRITE_PAYLOAD = 0.94
"""Share of data in NVLink packets when a rank writes to its neighbour: 256 of 272 bytes."""
READ_PAYLOAD = 0.80
"""Share of data when a rank reads: 128 of 160 bytes, because requests of the other direction use the link.

Chosen to explain the measurement on five ranks, see the top of this module.
"""

LARGEST_SEARCHED = 8
"""Largest number of ranks whose rings are enumerated; above it, the bound by the rank with the fewest links
is used."""

Edge = tuple[int, int]
Ring = tuple[int, ...]


class Rings(NamedTuple):
    """The largest set of rings through a group of ranks."""

    rings: int
    """Number of rings that can run at the same time, each direction counted."""
    forwarded: bool
    """Whether a hop goes through the memory of another accelerator, which the receiver reads."""


@lru_cache(maxsize=256)
def rings(peer_graph: tuple[tuple[int, int, int], ...], group_size: int) -> Rings:
    """Return the largest set of rings through ranks 0 to n-1 that share no link.

    A ring visits every rank once.  The same ring in the opposite direction uses the links' other direction,
    so that undirected rings count twice.  If the links form no ring, a hop may pass through the memory of a
    rank in between, over both its links.  For more than 8 ranks the number is an upper bound: each ring uses
    two links of every rank.

    Parameters
    ----------
    peer_graph : (rank, rank, links) for every pair that is joined
    group_size : n [1], at least 2

    Examples
    --------
    Two links between two ranks are two rings; a triangle of single links is one ring, both ways round.

    >>> rings(((0, 1, 2),), 2).rings, rings(((0, 1, 1), (1, 2, 1), (0, 2, 1)), 3).rings
    (2, 2)
    """
    links = {_edge(a, b): count for a, b, count in peer_graph}
    ranks = range(group_size)
    among = {edge: count for edge, count in links.items() if max(edge) < group_size}
    joined = [sum(count for edge, count in among.items() if rank in edge) for rank in ranks]
    if group_size == 2 or min(joined) == 0:
        return Rings(min(joined), False)
    if group_size > LARGEST_SEARCHED:
        return Rings(2 * (min(joined) // 2), False)
    direct = [_edges(ring) for ring in _cycles(ranks) if all(e in links for e in _edges(ring))]
    if direct:
        return Rings(2 * _packing(direct, links), False)
    relayed = [path for ring in _cycles(ranks) for path in _with_one_relay(ring, links, ranks)]
    return Rings(2 * _packing(relayed, links), True)


def ring_bandwidth(
    peer_graph: tuple[tuple[int, int, int], ...], group_size: int, link_bandwidth: float
) -> float:
    """Return the bus bandwidth [B/s] of all rings together, from the nominal rate of one link.

    The receiver of a relayed hop reads, and every byte of the ring passes that hop, so that the ring runs at
    the payload rate of reads.

    Parameters
    ----------
    peer_graph : (rank, rank, links)
    group_size : n [1]
    link_bandwidth : of one link, one direction [B/s]

    Returns
    -------
    bus_bandwidth [B/s], 0 if there is no ring even with a relay

    Examples
    --------
    Two rings of 25 GB/s, 94 % of them data.

    >>> round(ring_bandwidth(((0, 1, 1), (1, 2, 1), (0, 2, 1)), 3, 25e9) / 1e9, 3)
    47.0
    """
    result = rings(peer_graph, ops.plain(group_size))
    payload = READ_PAYLOAD if result.forwarded else WRITE_PAYLOAD
    payload = given(payload, "nvlink.payload", "of a packet of NVLink")
    return ops.number(result.rings * link_bandwidth * payload)


def _edge(a: int, b: int) -> Edge:
    return (a, b) if a < b else (b, a)


def _edges(ring: Ring) -> tuple[Edge, ...]:
    return tuple(_edge(a, b) for a, b in zip(ring, (*ring[1:], ring[0]), strict=True))


def _cycles(ranks: range) -> Iterable[Ring]:
    """Yield every order of the ranks in a ring, without its mirror image."""
    for order in itertools.permutations(ranks[1:]):
        if order[0] < order[-1]:
            yield (ranks[0], *order)


def _with_one_relay(ring: Ring, links: dict[Edge, int], ranks: range) -> Iterable[tuple[Edge, ...]]:
    """Yield the links of a ring whose one missing hop is relayed by another rank of the group."""
    missing = [edge for edge in _edges(ring) if edge not in links]
    if len(missing) != 1:
        return
    present = tuple(edge for edge in _edges(ring) if edge in links)
    a, b = missing[0]
    for relay in ranks:
        detour = (_edge(a, relay), _edge(relay, b))
        if relay not in (a, b) and all(edge in links for edge in detour):
            yield (*present, *detour)


def _packing(paths: list[tuple[Edge, ...]], links: dict[Edge, int]) -> int:
    """Return the largest number of paths, with repetition, that the links can carry at the same time."""
    best = 0

    def extend(start: int, left: dict[Edge, int], count: int) -> None:
        nonlocal best
        best = max(best, count)
        # every further ring uses two links of rank 0, which bounds the number of further rings
        if count + sum(n for edge, n in left.items() if 0 in edge) // 2 <= best:
            return
        for index in range(start, len(paths)):
            path = paths[index]
            if all(left[edge] >= path.count(edge) for edge in set(path)):
                rest = dict(left)
                for edge in path:
                    rest[edge] -= 1
                extend(index, rest, count + 1)

    extend(0, links, 0)
    return best
