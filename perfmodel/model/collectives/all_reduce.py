"""An all-reduce as libraries run it: by rings, by trees, through a reducing switch, or by their own choice.

Rates of large messages, start times, and the ramp between them; none depends on the size of the message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import given
from perfmodel.equations import collective_bandwidths as rates
from perfmodel.equations import collective_latencies as latencies
from perfmodel.equations.collective_times import grown_ramp, ramp_of, ramped_time


def tree_share() -> float:
    """Return the share of the rings' rate inside a node that trees reach [1]; NCCL assumes 0.92."""
    share: float = given(0.95, "collectives.tree_share", "assumed")
    return share


LEAST_RANKS_FOR_NVLS = 5
"""Fewest ranks for which NCCL uses NVLS; it leaves fewer to the ring (seen on H200 and B200)."""
ALWAYS = ("ring", "tree")
IN_NETWORK = "switch-tree"
"""NCCL's CollNet: switches between nodes reduce.  Link specs do not state them: never chosen by default."""
BY_LIBRARY = (*ALWAYS, "nvls", "nvls-tree", IN_NETWORK)
"""Algorithms of NCCL: the first two always; with a reducing switch in the node, ``nvls`` in one node and
``nvls-tree`` over several; ``switch-tree`` over several."""

Values = Mapping[str, Any]
"""Parameters by name: numbers, or arrays of shape (variants, 1), which give results of (variants, places)."""


class Curve(NamedTuple):
    """Parameters of a collective's time as a function of the message size."""

    start_time: Any
    """[s]"""
    byte_time: Any
    """On the wire [s]."""
    ramp: Any
    """[s^0.5]"""
    bend_time: Any
    """[s]"""

    def time(self, message_bytes: Any) -> Any:
        """Return the time of messages [s]."""
        return ramped_time(self.start_time, self.byte_time, message_bytes, self.ramp, self.bend_time)


class Ranks(NamedTuple):
    """Ranks of a collective, and rates and latencies of the links between them: numbers or arrays."""

    per_node: Any
    nodes: Any
    several: bool
    """Whether there is more than one node."""
    inside_bandwidth: Any
    """Bandwidth of all rings inside a node [B/s]."""
    between_bandwidth: Any
    """Bandwidth of all adapters of one node to another [B/s]; unused on one node."""
    launch_time: Any
    """[s]"""
    hop_latency: Any
    """Latency of a hop inside a node, by a low-latency protocol [s]."""
    round_trip_time: Any
    """Round trip between two nodes, by such a protocol [s]; 0 on one node."""
    crowd_latency: Any
    """Additional latency for each node [s]; 0 on one node."""
    low_latency: Any
    """Whether the network between nodes carries low-latency protocols."""
    ramp_strength: Any
    """Strength of the ramp over two nodes, or in one [1]."""
    adds: Any
    """Whether the switch inside a node reduces (NVLink SHARP)."""
    chooses_trees: Any
    """Whether the library uses only trees between nodes."""
    rings_only: Any
    """Whether the library uses only rings."""


def algorithms(several: bool, adds: bool, rings_only: bool) -> tuple[str, ...]:
    """Return the all-reduce algorithms that a library offers.

    Parameters
    ----------
    several : whether there is more than one node
    adds, rings_only : as in ``Ranks``
    """
    by_switch = ("nvls-tree" if several else "nvls",) if adds else ()
    in_network = (IN_NETWORK,) if several and not rings_only else ()
    return (*ALWAYS, *by_switch, *in_network)


def library_choice(ranks: Ranks) -> str:
    """Return the algorithm that a library chooses by default; ``ranks`` holds plain numbers.

    In a node rings, unless enough ranks lie behind a reducing switch; between nodes trees, mixed with rings
    for large messages as ``bandwidth`` describes.
    """
    if ranks.rings_only:
        return "ring"
    if sums_by_switch(ranks.adds, ranks.per_node):
        return "nvls-tree" if ranks.several else "nvls"
    return "tree" if ranks.several else "ring"


def sums_by_switch(adds: Any, per_node: Any) -> Any:
    """Return whether a library reduces in a node's switch: with at least ``LEAST_RANKS_FOR_NVLS``."""
    return adds & (per_node >= LEAST_RANKS_FOR_NVLS)


def switch_bandwidth(inside: Any, per_node: Any, p: Values) -> Any:
    """Return the bus bandwidth of an all-reduce in a node's switch, from that of its rings [B/s]."""
    gain, pair_loss = p["nvls"] / p["switched"], ops.minimum(p["pair"], 1.0)
    return rates.summed_bandwidth(inside, gain, pair_loss, per_node)


def bandwidth(ranks: Ranks, p: Values, algorithm: str = "auto") -> Any:
    """Return the bus bandwidth of large messages [B/s].

    Trees between two nodes carry more than rings, up to twice the ports' bandwidth.  From Hopper on, behind a
    switch, libraries use only trees; on older GPUs the more, the slower the ports are compared with the links
    inside; RCCL uses rings.

    Parameters
    ----------
    ranks : placement and links of the ranks
    p : learned parameters by name
    algorithm : ``auto`` for the library's choice, or one of ``BY_LIBRARY``
    """
    ring = inside = ranks.inside_bandwidth
    by_switch: Any = False
    if algorithm not in ("ring", "tree"):
        by_switch = sums_by_switch(ranks.adds, ranks.per_node) & _not(ranks.rings_only)
    if not ranks.several:
        if algorithm == "tree":
            return rates.inner_tree_bandwidth(inside, tree_share())
        return (
            ring
            if by_switch is False
            else ops.where(by_switch, switch_bandwidth(inside, ranks.per_node, p), ring)
        )
    outer = rates.decayed_bandwidth(ranks.between_bandwidth, p["decay"], ranks.nodes)
    ring = rates.slower_bandwidth(inside, outer)
    if algorithm == "ring":
        return ring
    size, tree = ranks.nodes * ranks.per_node, rates.inner_tree_bandwidth(inside, tree_share())
    if by_switch is not False:
        tree = ops.where(by_switch, switch_bandwidth(inside, ranks.per_node, p), tree)
    between, two = outer, ranks.nodes == 2
    if two is not False:
        at_two = ops.maximum(rates.two_node_tree_bandwidth(outer, size), outer)
        between = ops.where(two, at_two, outer)
    tree = rates.slower_bandwidth(tree, between)
    part = rates.part_by_tree(ops.minimum(p["tree"], 1.0), outer, inside)
    part = ops.where(ranks.rings_only, 0.0, ops.where(ranks.chooses_trees, 1.0, part))
    return rates.mixed_bandwidth(ring, ops.maximum(ring, tree), part)


def _not(flag: Any) -> Any:
    """Return the negation of a flag, or of an array of flags."""
    return not flag if isinstance(flag, bool) else ~flag


def start_time(ranks: Ranks, by_ring: bool, hop_latency: Any, round_trip_time: Any) -> Any:
    """Return the time of an empty message [s], given the times of a hop and of a round trip [s]."""
    start = latencies.ring_start_time if by_ring else latencies.tree_start_time
    launch_time, crowd_latency = ranks.launch_time, ranks.crowd_latency
    return start(launch_time, hop_latency, ranks.per_node, round_trip_time, crowd_latency, ranks.nodes)


def curve(ranks: Ranks, p: Values, algorithm: str = "auto") -> Curve:
    """Return the curve of an all-reduce's time [s] over the message size; parameters as for ``bandwidth``.

    In one node every algorithm, and the rings of RCCL, have the start time of the library's choice.
    Reductions in the network take as long over any number of nodes as trees over two: each byte passes a port
    once in each direction, and one round trip starts the message.
    """
    if algorithm == IN_NETWORK:
        return curve(ranks._replace(nodes=0 * ranks.nodes + 2, chooses_trees=True), p)
    by_ring = algorithm == "ring" and ranks.several and ranks.rings_only is not True
    hop, trip = ranks.hop_latency, ranks.round_trip_time
    start = quick = start_time(ranks, by_ring, hop, trip)
    if ranks.several and ranks.low_latency is not True:
        slow = start_time(ranks, by_ring, hop * p["simple_inside"], trip * p["simple_between"])
        start = ops.where(ranks.low_latency, quick, slow)
    chunk = latencies.chunk_latency(quick, start)
    strength = ranks.ramp_strength
    if ranks.several:
        strength = grown_ramp(strength, p["ramp_nodes"], ranks.nodes)
    bend = (p["bend"] if ranks.several else p["bend_inside"]) * chunk
    byte_time = rates.all_reduce_byte_time(bandwidth(ranks, p, algorithm), ranks.nodes * ranks.per_node)
    return Curve(start, byte_time, ramp_of(strength, chunk), bend)
