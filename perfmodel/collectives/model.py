"""Time of a collective as libraries run it, in one node or over many, on fabrics measured and not.

T(S) = A + w S + r sqrt(w S / (1 + w S / b)): a start, bytes on the wire, and a ramp between them.  None of
A, w, r and b depends on the message, so a ``Curve`` is worked out once for a place and serves every size.
What the formulas leave open, ``parameters``, is fitted to measured collectives
(``accuracy.collective_fit``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from perfmodel import ops
from perfmodel.collectives.parameters import PARAMETERS
from perfmodel.collectives.place import (
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    SEND_RECEIVE,
    USUAL_YEAR,
    Place,
)
from perfmodel.equations import collective_bandwidths as rates
from perfmodel.equations import collective_latencies as latencies
from perfmodel.equations.collective_times import ramp_of, ramped_time

RESULT = Path(__file__).with_name("model.json")

NVLINK_SHARE = (0.80, 0.80, 0.824, 0.802)
"""What NCCL assumes of NVLink, by generation of the GPU: 20, 20, 20.6 and 40.1 GB/s of nominal 25, 25, 25
and 50."""
PCIE_SHARE = 0.635
"""What NCCL assumes of PCIe: 24 of 31.5 GB/s, and 6/5 more traffic where peers meet in the processor."""
PATH_SHARE = 0.80
"""Of an accelerator's own PCIe link, what its adapter gets (assumed)."""
TREE_SHARE = 0.95
"""Of the rings' rate inside a node, what trees reach; NCCL assumes 0.92."""
ROCE_SHARE = 0.926
"""1024 data of 1106 bytes, in frames of 1500."""
TCP_SHARE = 0.93
"""1460 data of 1538 bytes, less copies."""
CHAIN_HOP, CHAIN_SIMPLE_HOP = 0.6e-6, 3.4e-6
"""NCCL's hop over NVLink by LL and by Simple [s]: the steps of a broadcast, which nothing answers."""
CHAIN_TRIP, CHAIN_SIMPLE_TRIP = 0.30, 1.55
"""The same between nodes, over a round trip: 2.7 and 14 us over InfiniBand's 9."""
LEAST_RANKS_FOR_NVLS = 5
"""NCCL leaves fewer to the ring (seen on H200 and B200)."""
HOPPER = 2
"""From this generation on libraries choose trees between nodes: NVLS trees."""
ENDLESS = 1e18
"""[B/s]"""


class Curve(NamedTuple):
    """A collective at a place, for every size of message."""

    start_time: Any
    """[s]"""
    wire_time: Any
    """Of one byte [s]."""
    ramp: Any
    """[s^0.5]"""
    bend_time: Any
    """[s]"""

    def time(self, message_bytes: Any) -> Any:
        """Return the time of messages [s]."""
        return ramped_time(self.start_time, self.wire_time * message_bytes, self.ramp, self.bend_time)


Values = Mapping[str, Any]
"""Parameters by name: numbers, or arrays of shape (variants, 1), which give results of (variants, places)."""


def inside_bandwidth(at: Place, p: Values) -> Any:
    """Return what all rings inside a node carry [B/s]; endless with one accelerator."""
    pair_loss = np.minimum(p["pair"], 1.0)
    switched = rates.switched_ring_bandwidth(
        _assumed_rate(at), p["switched"], pair_loss, np.maximum(at.per_node, 2)
    )
    rate = np.select(
        [at.is_switched, at.is_mesh, at.is_xgmi],
        [switched, at.inside_rate, p["xgmi"] * at.inside_rate],
        PCIE_SHARE * at.inside_rate,
    )
    staged = rates.slower_bandwidth(rate, p["host"] / at.per_node)
    rate = np.where(~at.reaches_peers & (at.per_node > 2), staged, rate)
    return np.where(at.per_node > 1, rate, ENDLESS)


def _assumed_rate(at: Place) -> Any:
    """What NCCL assumes of the NVLink of one accelerator [B/s]."""
    return np.array(NVLINK_SHARE)[at.generation] * at.inside_rate


def kernel_bandwidth(at: Place, p: Values) -> Any:
    """Return what one adapter carries by the kernel's TCP [B/s]."""
    return rates.slower_bandwidth(TCP_SHARE * at.port, p["tcp_ceiling"])


def port_bandwidth(at: Place, p: Values) -> Any:
    """Return what one adapter carries by its transport [B/s]; 1 B/s where that is the kernel's TCP."""
    share = np.choose(at.transport, [*(p[name] for name in SHARES), ROCE_SHARE, 0.0])
    return np.maximum(share * at.port, 1.0)


def between_bandwidth(at: Place, p: Values, adapters: Any = None) -> Any:
    """Return what all adapters of one node carry, or so many of them [B/s]; endless on one node.

    Who spares the kernel its work may also use its TCP.
    """
    count = at.adapters if adapters is None else adapters
    pcie = PATH_SHARE * at.adapter_path * at.per_node
    path = np.where(at.reaches_adapter, pcie, p["staged"])
    ports = np.maximum(
        rates.slower_bandwidth(count * port_bandwidth(at, p), path),
        rates.slower_bandwidth(count * kernel_bandwidth(at, p), pcie),
    )
    return np.where(at.nodes > 1, rates.decayed_bandwidth(ports, p["decay"], at.nodes), ENDLESS)


SHARES = ("infiniband", "slingshot", "efa", "one_sided", "gpudirect_tcp")
"""Parameters that are shares of a port; after them come RoCE and the kernel's TCP."""


def all_reduce_bandwidth(at: Place, p: Values, inside: Any, between: Any) -> Any:
    """Return the bus bandwidth of a large all-reduce as the library chooses [B/s].

    From Hopper on, behind a switch, it goes by trees between nodes; before, the more so the slower the ports
    are beside the links inside.  RCCL goes by rings.

    Parameters
    ----------
    at, p : where, and what was learned
    inside, between : what ``inside_bandwidth`` and ``between_bandwidth`` say of it [B/s]
    """
    several, n = at.nodes > 1, at.nodes * at.per_node
    at_two = np.where(at.nodes == 2, np.maximum(rates.two_node_tree_bandwidth(between, n), between), between)
    by_switch = at.adds & (at.per_node >= LEAST_RANKS_FOR_NVLS)
    summed = p["nvls"] * _assumed_rate(at)
    tree = rates.slower_bandwidth(np.where(by_switch, summed, TREE_SHARE * inside), at_two)
    young = (at.generation >= HOPPER) & at.is_switched
    part = np.where(young, 1.0, rates.part_by_tree(np.minimum(p["tree"], 1.0), between, inside))
    part = np.where(at.ring_only, 0.0, np.where(several, part, by_switch * 1.0))
    return rates.mixed_bandwidth(rates.slower_bandwidth(inside, between), tree, part)


def wire_time(at: Place, p: Values) -> Any:
    """Return what one byte takes on the wire [s]: of all ranks' of an all-gather or reduce-scatter."""
    what, n = at.collective, at.nodes * at.per_node
    inside, between = inside_bandwidth(at, p), between_bandwidth(at, p)
    share = np.select([what >= BROADCAST, what == ALL_TO_ALL], [p["chain"], p["exchange"]], p["gather"])
    copied = np.where(at.is_pcie, 1.0, share) * inside  # PCIe is slower than the copies that bound the others
    many = at.nodes > 1
    across = rates.exchange_bandwidth(
        between, p["net_exchange_share"], np.where(many, at.nodes, 2.0), at.per_node
    )
    across = np.where(many, across, ENDLESS)
    # of a chain of sends one leaves each node, by one adapter
    sent = between_bandwidth(at, p, 1.0)
    outside = np.select([what == ALL_TO_ALL, what == SEND_RECEIVE], [across, sent], between)
    one_way = rates.slower_bandwidth(copied, outside)
    traffic = np.where(what >= BROADCAST, 1.0, (n - 1) / n)
    summed = all_reduce_bandwidth(at, p, inside, between)
    return np.where(what == ALL_REDUCE, 2 * traffic / summed, traffic / one_way)


def round_trip(at: Place, p: Values) -> Any:
    """Return the time there and back between two nodes by a low-latency protocol [s]; 0 on one node."""
    return np.where(at.nodes > 1, latencies.round_trip_time(at.hop, p["proxy"]), 0.0)


def start_time(at: Place, p: Values, inside: float = 1.0, between: float = 1.0) -> Any:
    """Return the time of an empty message [s]: by a low-latency protocol, or hops so many times slower."""
    what, several, g, nodes = at.collective, at.nodes > 1, at.per_node, at.nodes
    pace = np.where(at.is_switched, np.choose(at.generation, [1.0, 1.0, p["hopper"], p["blackwell"]]), 1.0)
    slower = pace * np.where(several, p["hop_beside_net"], 1.0) * inside
    trip, launch = round_trip(at, p) * between, p["launch"] * pace
    crowd, gather = np.where(several, p["crowd"], 0.0), p["hop_gather"] * slower
    hop = p["hop"] * slower
    tree = latencies.tree_start_time(launch, hop, g, trip, crowd, nodes)
    ring = latencies.ring_start_time(launch, hop, g, trip, crowd, nodes)
    chain_hop = np.where(several, CHAIN_HOP, gather)
    return np.select(
        [what == ALL_REDUCE, what == ALL_TO_ALL, what == BROADCAST, what == SEND_RECEIVE],
        [
            np.where(at.by_ring, ring, tree),
            latencies.exchange_start_time(launch, p["hop_exchange"], p["net_exchange"], trip, g * nodes),
            latencies.chain_start_time(launch, chain_hop, g, trip, CHAIN_TRIP, nodes),
            launch + gather + CHAIN_TRIP * trip,
        ],
        latencies.gather_start_time(launch, gather, g, trip, p["net_gather"], nodes),
    )


def curve(at: Place, p: Values) -> Curve:
    """Return everything about a collective that does not depend on the message."""
    what, several = at.collective, at.nodes > 1
    quick = start_time(at, p)
    slow = start_time(at, p, p["simple_inside"], p["simple_between"])
    start = np.where(at.has_low_latency | ~several, quick, slow)
    chunk = np.sqrt(quick * start)
    chain = latencies.chain_start_time(
        p["launch"], CHAIN_SIMPLE_HOP, at.per_node, round_trip(at, p), CHAIN_SIMPLE_TRIP, at.nodes
    )
    chunk = np.where(several & (what == BROADCAST), chain, chunk)
    outside = p["ramp"] * np.where(at.is_verbs, 1.0, p["ramp_plugin"])
    strength = np.where(several, outside, p["ramp_inside"] * p["ramp_year"] ** (USUAL_YEAR - at.year))
    strength = strength * p["ramp_nodes"] ** np.maximum(ops.log2(at.nodes) - 1, 0.0)
    strength = strength * np.select(
        [what == ALL_REDUCE, several & (what == ALL_TO_ALL), what >= BROADCAST],
        [1.0, p["ramp_exchange"], p["ramp_chain"]],
        p["ramp_gather"],
    )
    bend = np.where(several, p["bend"], p["bend_inside"]) * chunk
    return Curve(start, wire_time(at, p), ramp_of(strength, chunk), bend)


class Fitted(NamedTuple):
    """The shipped fit."""

    parameters: Mapping[str, float]
    spreads: Mapping[str, float]
    """Standard deviation of ln(measured / predicted) out of sample, by class of ``collective_spread``."""
    transports: frozenset[str]
    """Measured ones, as ``collective_spread`` tells them apart."""


@cache
def fitted() -> Fitted:
    """The fit that comes with the package, read once."""
    table: Mapping[str, Any] = json.loads(RESULT.read_text("utf-8"))
    parameters = {name: table["parameters"][name] for name in PARAMETERS}
    return Fitted(parameters, table["spreads"], frozenset(table["transports"]))
