"""Time of a collective as libraries run it, in one node or over many, on fabrics measured and not.

T(S) = A + w S + r sqrt(w S / (1 + w S / b)): a start, bytes on the wire, and a ramp between them.  None of
A, w, r and b depends on the message, so a ``Curve`` is worked out once for a place and serves every size.
What the formulas leave open, ``parameters``, is fitted to measured collectives
(``accuracy.collective_fit``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import TRACE
from perfmodel.equations import collective_bandwidths as rates
from perfmodel.equations import collective_latencies as latencies
from perfmodel.equations.collective_latencies import round_trip_time
from perfmodel.equations.collective_times import grown_ramp, ramp_of
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
"""What NCCL assumes of NVLink, by generation of the GPU: 20, 20, 20.6 and 40.1 GB/s of nominal 25, 25, 25
and 50."""
PCIE_SHARE = 0.635
"""What NCCL assumes of PCIe: 24 of 31.5 GB/s, and 6/5 more traffic where peers meet in the processor."""
PATH_SHARE = 0.80
"""Of an accelerator's own PCIe link, what its adapter gets (assumed)."""
ROCE_SHARE = 0.926
"""1024 data of 1106 bytes, in frames of 1500."""
TCP_SHARE = 0.93
"""1460 data of 1538 bytes, less copies."""
CHAIN_HOP, CHAIN_SIMPLE_HOP = 0.6e-6, 3.4e-6
"""NCCL's hop over NVLink by LL and by Simple [s]: the steps of a broadcast, which nothing answers."""
CHAIN_TRIP, CHAIN_SIMPLE_TRIP = 0.30, 1.55
"""The same between nodes, over a round trip: 2.7 and 14 us over InfiniBand's 9."""
HOPPER = 2
"""From this generation on libraries choose trees between nodes: NVLS trees."""
SHARES = ("infiniband", "slingshot", "efa", "one_sided", "gpudirect_tcp")
"""Parameters that are shares of a port; after them come RoCE and the kernel's TCP."""


def curve(at: Place, p: Values) -> Curve:
    """Return everything about collectives that does not depend on the message.

    Parameters
    ----------
    at : one place; or many, as arrays of shape (places,), which give curves of (places,) or
        (variants, places)
    p : what was learned
    """
    if not isinstance(at.collective, np.ndarray):
        return _curve(at, p)
    kinds = np.stack([at.collective, at.nodes > 1, at.by_ring, at.way])
    _, first, which = np.unique(kinds, axis=1, return_index=True, return_inverse=True)
    columns: list[Any] = []
    for row, one in enumerate(first.tolist()):
        some = np.flatnonzero(which.reshape(-1) == row)
        kind = {name: getattr(at, name)[one].item() for name in ("collective", "by_ring", "way")}
        for name, part in enumerate(_curve(at.rows(some)._replace(**kind), p)):
            if len(columns) <= name:
                columns.append(np.empty((*np.shape(part)[:-1], len(at.nodes))))
            columns[name][..., some] = part
    return Curve(*columns)


def _curve(at: Place, p: Values) -> Curve:
    """The curve of one place, or of places of one kind."""
    if at.collective == ALL_REDUCE:
        return all_reduce.curve(ranks_of(at, p), p, "ring" if at.by_ring else "auto")
    if at.collective < BROADCAST:
        curve = all_to_all.curve if at.collective == ALL_TO_ALL else all_gather.curve
        return curve(ranks_of(at, p), p, at.way == PCIE)
    return _chain_curve(at, p)


def _chain_curve(at: Place, p: Values) -> Curve:
    """The curve of a broadcast, or of a send-receive: a chain of sends, which nothing answers."""
    several, begun = _several(at), _start_of(at, p)
    quick = _chain_start_time(at, begun, p)
    slow = _chain_start_time(at, begun, p, p["simple_inside"], p["simple_between"]) if several else quick
    start = ops.where(at.has_low_latency, quick, slow)
    chunk = latencies.chunk_latency(quick, start)
    if several and at.collective == BROADCAST:
        trip = begun.round_trip_time
        chunk = latencies.chain_start_time(
            p["launch"], CHAIN_SIMPLE_HOP, at.per_node, trip, CHAIN_SIMPLE_TRIP, at.nodes
        )
    strength = ramp_strength(several, begun.ramp_factor, at.year, p) * p["ramp_chain"]
    if several:
        strength = grown_ramp(strength, p["ramp_nodes"], at.nodes)
    bend = (p["bend"] if several else p["bend_inside"]) * chunk
    return Curve(start, _chain_byte_time(at, p), ramp_of(strength, chunk), bend)


def _several(at: Place) -> bool:
    """Whether a place, or places that are alike in this, has more than one node."""
    return ops.holds(at.nodes > 1)


def _of(table: Any, index: Any) -> Any:
    """An entry of a table, or for each of many places one."""
    return np.choose(index, table) if isinstance(index, np.ndarray) else table[index]


def ranks_of(at: Place, p: Values) -> Ranks:
    """Return what an all-reduce is worked out from."""
    begun, several = _start_of(at, p), _several(at)
    return Ranks(
        per_node=at.per_node,
        nodes=at.nodes,
        several=several,
        inside_bandwidth=inside_bandwidth(at, p),
        between_bandwidth=between_bandwidth(at, p),
        launch_time=begun.launch_time,
        hop_latency=begun.hop_latency,
        round_trip_time=begun.round_trip_time,
        crowd_latency=begun.crowd_latency,
        low_latency=begun.low_latency,
        ramp_strength=ramp_strength(several, begun.ramp_factor, at.year, p),
        adds=at.adds,
        chooses_trees=chooses_trees(at.way == SWITCH, at.generation),
        rings_only=False if at.by_ring else at.ring_only,
    )


class Start(NamedTuple):
    """What a library takes before bytes count, on a kind of machine: numbers, or arrays that broadcast."""

    launch_time: Any
    """[s]"""
    hop_latency: Any
    """Of an all-reduce inside a node, by a low-latency protocol [s]."""
    round_trip_time: Any
    """Between two nodes and back, by such a protocol [s]; 0 on one node."""
    crowd_latency: Any
    """For each node [s]; 0 on one node."""
    low_latency: Any
    """Whether what lies between the nodes carries such a protocol."""
    ramp_factor: Any
    """How much stronger the transport makes the ramp of large messages [1]."""


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
    """Return what a library takes before bytes count.

    Parameters
    ----------
    several : whether there is more than one node
    switched : whether a switch joins the accelerators of a node
    generation : of them, into NCCL's
    hop : between nodes [s]; this and what follows matters where there are several
    built_in : whether the library itself speaks the transport
    low_latency : whether the transport carries low-latency protocols
    latencies : before the first hop, of a hop in the only node, of the host beside one between nodes, and for
        each node, all before Hopper [s]
    p : what else was learned
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


def _start_of(at: Place, p: Values) -> Start:
    known = at.generation, at.hop, at.is_built_in, at.has_low_latency
    return start_of(_several(at), at.way == SWITCH, *known, [p[name] for name in LATENCIES.values()], p)


def chooses_trees(switched: Any, generation: Any) -> Any:
    """Return whether a library goes between nodes by trees alone: from Hopper on, behind a switch."""
    return switched & (generation >= HOPPER)


def inside_bandwidth(at: Place, p: Values) -> Any:
    """Return what all rings inside a node carry [B/s]; of one accelerator, nothing that would bind."""
    if at.way == SWITCH:
        many = ops.maximum(at.per_node, 2.0)
        pair_loss = ops.minimum(p["pair"], 1.0)
        rate = rates.switched_ring_bandwidth(_assumed_rate(at), p["switched"], pair_loss, many)
    elif at.way == MESH:
        rate = at.inside_rate
    else:
        rate = (PCIE_SHARE if at.way == PCIE else p["xgmi"]) * at.inside_rate
        rate = ops.minimum(rate, at.sockets)
    staged = ops.where(at.reaches_peers, False, at.per_node > 2)
    if staged is not False:
        rate = ops.where(staged, rates.slower_bandwidth(rate, p["host"] / at.per_node), rate)
    return ops.where(at.per_node > 1, rate, ENDLESS)


ENDLESS = 1e18
"""What has no part in a collective does not bind it [B/s]."""


def _assumed_rate(at: Place) -> Any:
    """What NCCL assumes of the NVLink of one accelerator [B/s]."""
    return _of(NVLINK_SHARE, at.generation) * at.inside_rate


def kernel_bandwidth(at: Place, p: Values, growth: Any) -> Any:
    """Return what one adapter carries by the kernel's TCP, ``growth`` times what the usual connections let
    it at most [B/s]."""
    return rates.slower_bandwidth(TCP_SHARE * at.port, p["tcp_ceiling"] * growth)


def port_bandwidth(at: Place, p: Values) -> Any:
    """Return what one adapter carries by its transport [B/s]; for the kernel's TCP, by RDMA instead."""
    return _of([*(p[name] for name in SHARES), ROCE_SHARE, ROCE_SHARE], at.transport) * at.port


def between_bandwidth(at: Place, p: Values, adapters: Any = None) -> Any:
    """Return what all adapters of one node carry between two nodes, or so many of them [B/s].

    Who spares the kernel its work may also use its TCP, by the usual connections; by more of them that TCP
    carries no more than RDMA on the same ports.
    """
    count = at.adapters if adapters is None else adapters
    pcie = PATH_SHARE * at.adapter_path * at.per_node
    path = ops.where(at.reaches_adapter, pcie, p["staged"])
    spared = ops.maximum(
        rates.slower_bandwidth(count * port_bandwidth(at, p), path),
        rates.slower_bandwidth(count * kernel_bandwidth(at, p, 1.0), pcie),
    )
    by_kernel = rates.slower_bandwidth(count * kernel_bandwidth(at, p, at.kernel_growth), pcie)
    return ops.where(at.transport == KERNEL_TCP, ops.minimum(by_kernel, spared), spared)


def _chain_byte_time(at: Place, p: Values) -> Any:
    """What one byte takes on the wire [s]."""
    inside = inside_bandwidth(at, p)
    # PCIe is slower than the copies that bound the others
    one_way = inside if at.way == PCIE else p["chain"] * inside
    if _several(at):
        # one send leaves each node, by one adapter
        between = between_bandwidth(at, p, 1.0 if at.collective == SEND_RECEIVE else None)
        between = rates.decayed_bandwidth(between, p["decay"], at.nodes)
        one_way = rates.slower_bandwidth(one_way, between)
    return 1.0 / one_way


def ramp_strength(several: bool, factor: Any, year: Any, p: Values) -> Any:
    """Return the strength of an all-reduce's ramp over two nodes by a transport, or in one [1]."""
    if several:
        return p["ramp"] * factor
    return p["ramp_inside"] * p["ramp_year"] ** (USUAL_YEAR - year) * factor


def _chain_start_time(at: Place, begun: Start, p: Values, inside: Any = 1.0, between: Any = 1.0) -> Any:
    """The time of an empty message [s], by a low-latency protocol or hops so many times slower."""
    launch, trip = begun.launch_time, begun.round_trip_time * between
    hop = begun.hop_latency * (p["hop_gather"] / p["hop"]) * inside
    if at.collective == SEND_RECEIVE:
        return launch + hop + CHAIN_TRIP * trip
    chain_hop = CHAIN_HOP if _several(at) else hop
    return latencies.chain_start_time(launch, chain_hop, at.per_node, trip, CHAIN_TRIP, at.nodes)


class Fitted(NamedTuple):
    """The shipped fit."""

    parameters: Mapping[str, float]
    spreads: Mapping[str, float]
    """Standard deviation of ln(measured / predicted) out of sample, by class of ``collective_spread``."""
    transports: frozenset[str]
    """Measured ones, as ``collective_spread`` tells them apart."""


def fitted() -> Fitted:
    """The fit that comes with the package; its numbers are traced where an evaluation is."""
    trace = TRACE.get()
    return shipped() if trace is None else trace.learned.get(COLLECTIVES, shipped())


COLLECTIVES = "collectives"
"""Key of ``perfmodel.core.tracing.tracing.Trace.learned``."""


@cache
def shipped() -> Fitted:
    """Return the fit that comes with the package, never traced, and read once."""
    table = of_collectives()
    parameters = {name: table["parameters"][name] for name in PARAMETERS}
    return Fitted(parameters, table["spreads"], frozenset(table["transports"]))
