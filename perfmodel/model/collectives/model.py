"""Time of a collective as libraries run it, in one node or over many, on measured and new fabrics.

T(S) = A + w S + r sqrt(w S / (1 + w S / b)): a start, bytes on the wire, and a ramp between them.  None of
A, w, r and b depends on the message, so a ``Curve`` is computed once for a place and serves every size.  The
free parameters of the formulas, ``parameters``, are fitted to measured collectives
(``accuracy.collective_fit``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import TRACE, given
from perfmodel.equations import collective_bandwidths as rates
from perfmodel.equations import collective_latencies as latencies
from perfmodel.equations.collective_latencies import round_trip_time
from perfmodel.equations.collective_times import grown_ramp, ramp_of
from perfmodel.equations.link_rates import adapters_ceiling
from perfmodel.model.collectives import all_gather, all_reduce, all_to_all
from perfmodel.model.collectives.all_reduce import Curve, Ranks, Values
from perfmodel.model.collectives.parameters import PARAMETERS
from perfmodel.model.collectives.place import (
    ALL_REDUCE,
    ALL_TO_ALL,
    BROADCAST,
    KERNEL_TCP,
    MESH,
    PCIE,
    SEND_RECEIVE,
    SWITCH,
    USUAL_YEAR,
    Place,
)
from perfmodel.model.fitted.calibration import LATENCIES, of_collectives

NVLINK_SHARE = (0.80, 0.80, 0.824, 0.802)
"""Share of NVLink that NCCL assumes, by generation of the GPU: 20, 20, 20.6, 40.1 of nominal 25, 25, 25
and 50 GB/s."""
PCIE_SHARE = 0.635
"""Share of PCIe that NCCL assumes: 24 of 31.5 GB/s, and 6/5 more traffic if peers meet in the processor."""
PATH_SHARE = 0.80
"""Share of an accelerator's own PCIe link that its adapter gets (assumed)."""
ROCE_SHARE = 0.926
"""Share of a RoCE port that carries data: 1024 of 1106 bytes, in frames of 1500."""
TCP_SHARE = 0.93
"""Share of a TCP port that carries data: 1460 of 1538 bytes, less copies."""
CHAIN_HOP, CHAIN_SIMPLE_HOP = 0.6e-6, 3.4e-6
"""NCCL's hop over NVLink by LL and by Simple [s]: steps of a broadcast, without acknowledgement."""
CHAIN_TRIP, CHAIN_SIMPLE_TRIP = 0.30, 1.55
"""The same between nodes, over a round trip [1]: 2.7 and 14 us over InfiniBand's 9."""
MOST_FOR_TWO_CHANNELS = (64.0, 16.0)
"""Most ranks for which NCCL sends over two channels: twice its 32 channels behind a switch, or twice 8."""
HOPPER = 2
"""Index of the first generation for which libraries choose trees (NVLS trees) between nodes."""
SHARES = ("infiniband", "slingshot", "efa", "one_sided", "gpudirect_tcp")
"""Parameters that are shares of a port, in the order of ``TRANSPORTS``; RoCE and kernel TCP come last."""


def curve(at: Place, p: Values) -> Curve:
    """Return the curve of a collective's time over the message size, at one place or at many.

    Parameters
    ----------
    at : one place; or many, as arrays of shape (places,), which give curves of (places,) or
        (variants, places)
    p : learned parameters by name
    """
    if not isinstance(at.collective, np.ndarray):
        return _curve(at, p)
    kinds = np.stack([at.collective, at.nodes > 1, at.by_ring, at.interconnect])
    _, first, which = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
    columns: list[Any] = []
    for row, one in enumerate(first.tolist()):
        some = np.flatnonzero(which.reshape(-1) == row)
        kind = {name: getattr(at, name)[one].item() for name in ("collective", "by_ring", "interconnect")}
        for name, part in enumerate(_curve(at.rows(some)._replace(**kind), p)):
            if len(columns) <= name:
                columns.append(np.empty((*np.shape(part)[:-1], len(at.nodes))))
            columns[name][..., some] = part
    return Curve(*columns)


def _curve(at: Place, p: Values) -> Curve:
    """Return the curve of one place, or of places with the same collective, interconnect and algorithm."""
    if at.collective == ALL_REDUCE:
        return all_reduce.curve(ranks_of(at, p), p, "ring" if at.by_ring else "auto")
    if at.collective < BROADCAST:
        curve = all_to_all.curve if at.collective == ALL_TO_ALL else all_gather.curve
        return curve(ranks_of(at, p), p, at.interconnect == PCIE)
    return _chain_curve(at, p)


def _chain_curve(at: Place, p: Values) -> Curve:
    """Return the curve of a broadcast or a send-receive: a chain of sends without acknowledgement."""
    several, start_costs = _several(at), _start_at(at, p)
    quick = _chain_start_time(at, start_costs, p)
    slow = (
        _chain_start_time(at, start_costs, p, p["simple_inside"], p["simple_between"]) if several else quick
    )
    start = ops.where(at.has_low_latency, quick, slow)
    chunk = latencies.chunk_latency(quick, start)
    if several and at.collective == BROADCAST:
        trip = start_costs.round_trip_time
        chunk = latencies.chain_start_time(
            p["launch"], CHAIN_SIMPLE_HOP, at.per_node, trip, CHAIN_SIMPLE_TRIP, at.nodes
        )
    strength = ramp_strength(several, start_costs.ramp_factor, at.year, p) * p["ramp_chain"]
    if several:
        strength = grown_ramp(strength, p["ramp_nodes"], at.nodes)
    bend = (p["bend"] if several else p["bend_inside"]) * chunk
    return Curve(start, _chain_byte_time(at, p), ramp_of(strength, chunk), bend)


def _several(at: Place) -> bool:
    """Return whether a place has more than one node; arrays must agree in this."""
    return ops.holds(at.nodes > 1)


def _of(table: Any, index: Any) -> Any:
    """Return an entry of a table, or for an array of indices an array of entries."""
    return np.choose(index, table) if isinstance(index, np.ndarray) else table[index]


def ranks_of(at: Place, p: Values) -> Ranks:
    """Return the ranks, rates and latencies of an all-reduce at a place."""
    start_costs, several = _start_at(at, p), _several(at)
    return Ranks(
        per_node=at.per_node,
        nodes=at.nodes,
        several=several,
        inside_bandwidth=inside_bandwidth(at, p),
        between_bandwidth=between_bandwidth(at, p),
        launch_time=start_costs.launch_time,
        hop_latency=start_costs.hop_latency,
        round_trip_time=start_costs.round_trip_time,
        crowd_latency=start_costs.crowd_latency,
        low_latency=start_costs.low_latency,
        ramp_strength=ramp_strength(several, start_costs.ramp_factor, at.year, p),
        adds=at.adds,
        chooses_trees=chooses_trees(at.interconnect == SWITCH, at.generation),
        rings_only=False if at.by_ring else at.ring_only,
    )


class Start(NamedTuple):
    """Latencies of a library's collectives, before bytes count: numbers, or arrays that broadcast."""

    launch_time: Any
    """[s]"""
    hop_latency: Any
    """Hop of an all-reduce inside a node, by a low-latency protocol [s]."""
    round_trip_time: Any
    """Round trip between two nodes, by such a protocol [s]; 0 on one node."""
    crowd_latency: Any
    """Additional latency for each node [s]; 0 on one node."""
    low_latency: Any
    """Whether the network between nodes carries low-latency protocols."""
    ramp_factor: Any
    """Factor of the transport on the ramp of large messages [1]."""


def start_of(
    several: bool,
    switched: bool,
    generation: Any,
    hop: Any,
    built_in: Any,
    low_latency: Any,
    latencies: Sequence[Any],
    p: Values,
) -> Start:
    """Return the latencies of a library's collectives.

    Parameters
    ----------
    several : whether there is more than one node
    switched : whether a switch joins the accelerators of a node
    generation : of the accelerators, an index into ``GENERATIONS``
    hop : latency between nodes [s]; it and the next parameters are used only for several nodes
    built_in : whether the library supports the transport without a plug-in
    low_latency : whether the transport carries low-latency protocols
    latencies : before the first hop, of a hop in a single node, of the host for each hop between nodes, and
        for each node; all on GPUs before Hopper [s]
    p : other learned parameters by name
    """
    pace = _of([1.0, 1.0, p["hopper"], p["blackwell"]], generation) if switched else 1.0
    launch, hop_inside, host, crowd_latency = latencies
    launch_time, hop_latency = launch * pace, hop_inside * pace
    if not several:
        return Start(launch_time, hop_latency, 0.0, 0.0, True, 1.0)
    return Start(
        launch_time,
        hop_latency * p["hop_beside_net"],
        round_trip_time(hop, host),
        crowd_latency,
        low_latency,
        ops.where(built_in, 1.0, p["ramp_plugin"]),
    )


def _start_at(at: Place, p: Values) -> Start:
    """Return the latencies of a library's collectives at a place."""
    known = at.generation, at.hop, at.is_built_in, at.has_low_latency
    return start_of(
        _several(at), at.interconnect == SWITCH, *known, [p[name] for name in LATENCIES.values()], p
    )


def chooses_trees(switched: Any, generation: Any) -> Any:
    """Return whether a library uses only trees between nodes: from Hopper on, behind a switch."""
    return switched & (generation >= HOPPER)


def inside_bandwidth(at: Place, p: Values) -> Any:
    """Return the bandwidth of all rings inside a node [B/s]; ``NO_LIMIT`` for one accelerator."""
    if at.interconnect == SWITCH:
        many = ops.maximum(at.per_node, 2.0)
        pair_loss = ops.minimum(p["pair"], 1.0)
        rate = rates.switched_ring_bandwidth(_assumed_rate(at), p["switched"], pair_loss, many)
    elif at.interconnect == MESH:
        rate = at.inside_rate
    else:
        rate = (PCIE_SHARE if at.interconnect == PCIE else p["xgmi"]) * at.inside_rate
        rate = ops.minimum(rate, at.sockets)
    staged = ops.where(at.reaches_peers, False, at.per_node > 2)
    if staged is not False:
        rate = ops.where(staged, rates.slower_bandwidth(rate, p["host"] / at.per_node), rate)
    unused = given(NO_LIMIT, "constants.unused_link_bandwidth", "a rank alone in its node uses no link there")
    return ops.where(at.per_node > 1, rate, unused)


NO_LIMIT = 1e18
"""Bandwidth of links that a collective does not use, too large to limit it [B/s]."""


def _assumed_rate(at: Place) -> Any:
    """Return the NVLink bandwidth of one accelerator that NCCL assumes [B/s]."""
    return _of(NVLINK_SHARE, at.generation) * at.inside_rate


def kernel_bandwidth(at: Place, p: Values, growth: Any, busy: Any = math.inf) -> Any:
    """Return the bandwidth of one adapter through the kernel's TCP [B/s].

    ``growth`` is the ceiling by its connections, over that of the usual number; ``busy`` of the machine's
    adapters send at a time, by default all.
    """
    sending = ops.minimum(at.host_adapters, busy)
    ceiling = adapters_ceiling(p["tcp_ceiling"] * growth, sending, p["tcp_adapters"])
    return ops.minimum(TCP_SHARE * at.port, ceiling)


def port_bandwidth(at: Place, p: Values) -> Any:
    """Return the bandwidth of one adapter by its transport [B/s]; for kernel TCP, that of RDMA."""
    share = _of([*(p[name] for name in SHARES), ROCE_SHARE, ROCE_SHARE], at.transport)
    return lone_share(at.is_lone, p) * share * at.port


def lone_share(is_lone: Any, p: Values) -> Any:
    """Return the share of a port that the only rank of a machine reaches, over that of several ranks [1]."""
    return ops.where(is_lone, ops.minimum(p["lone"], 1.0), 1.0)


def between_bandwidth(at: Place, p: Values, adapters: Any = None) -> Any:
    """Return the bandwidth between two nodes of all adapters of a node, or of ``adapters`` of them [B/s].

    Transports other than the kernel's TCP may fall back to it, with the usual connections; with more
    connections TCP carries no more than RDMA on the same ports.
    """
    count, busy = (at.adapters, math.inf) if adapters is None else (adapters, adapters)
    pcie = PATH_SHARE * at.adapter_path * at.per_node
    path = ops.where(at.reaches_adapter, pcie, p["staged"])
    spared = ops.maximum(
        ops.minimum(count * port_bandwidth(at, p), path),
        ops.minimum(count * kernel_bandwidth(at, p, at.usual_growth, busy), pcie),
    )
    by_kernel = ops.minimum(count * kernel_bandwidth(at, p, at.kernel_growth, busy), pcie)
    return ops.where(at.transport == KERNEL_TCP, ops.minimum(by_kernel, spared), spared)


def _chain_byte_time(at: Place, p: Values) -> Any:
    """Return the time of one byte on the wire [s]."""
    inside = inside_bandwidth(at, p)
    # PCIe is slower than the copies that bound the others
    one_way = inside if at.interconnect == PCIE else p["chain"] * inside
    if _several(at):
        # one send leaves each node, by one adapter
        between = between_bandwidth(at, p, 1.0 if at.collective == SEND_RECEIVE else None)
        between = rates.decayed_bandwidth(between, p["decay"], at.nodes)
        if at.collective == SEND_RECEIVE:
            between = rates.slower_bandwidth(between, _peer_channels(at) * p["channel"])
        one_way = rates.slower_bandwidth(one_way, between)
    return 1.0 / one_way


def _peer_channels(at: Place) -> Any:
    """Return the channels over which NCCL sends to one rank of another node [1]: two, or one of many ranks.

    It takes one where two for each rank would be more than four times its channels (source of NCCL 2.28,
    graph/paths.cc).
    """
    most = ops.where(at.interconnect == SWITCH, *MOST_FOR_TWO_CHANNELS)
    return ops.where(at.nodes * at.per_node > most, 1.0, 2.0)


def ramp_strength(several: bool, factor: Any, year: Any, p: Values) -> Any:
    """Return the strength of an all-reduce's ramp over two nodes, or in one [1]."""
    if several:
        return p["ramp"] * factor
    return p["ramp_inside"] * p["ramp_year"] ** (USUAL_YEAR - year) * factor


def _chain_start_time(at: Place, start_costs: Start, p: Values, inside: Any = 1.0, between: Any = 1.0) -> Any:
    """Return the time of an empty message [s]; ``inside`` and ``between`` are factors on hops and trips."""
    launch, trip = start_costs.launch_time, start_costs.round_trip_time * between
    hop = start_costs.hop_latency * (p["hop_gather"] / p["hop"]) * inside
    if at.collective == SEND_RECEIVE:
        return launch + hop + CHAIN_TRIP * trip
    chain_hop = CHAIN_HOP if _several(at) else hop
    return latencies.chain_start_time(launch, chain_hop, at.per_node, trip, CHAIN_TRIP, at.nodes)


class Fitted(NamedTuple):
    """Learned parameters of collectives and the errors of the fit."""

    parameters: Mapping[str, float]
    spreads: Mapping[str, float]
    """Standard deviation of ln(measured / predicted) out of sample, by class of ``collective_spread``."""
    transports: frozenset[str]
    """Transports of the measured collectives, named as in ``collective_spread``."""


def fitted() -> Fitted:
    """Return the shipped fit, with traced numbers during a traced evaluation."""
    trace = TRACE.get()
    return shipped() if trace is None else trace.learned.get(COLLECTIVES, shipped())


COLLECTIVES = "collectives"
"""Key of ``perfmodel.core.tracing.tracing.Trace.learned``."""


@cache
def shipped() -> Fitted:
    """Return the shipped fit with plain numbers, read once."""
    table = of_collectives()
    parameters = {name: table["parameters"][name] for name in PARAMETERS}
    return Fitted(parameters, table["spreads"], frozenset(table["transports"]))
