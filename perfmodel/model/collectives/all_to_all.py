"""An all-to-all as libraries run it: every rank to every other, with the parameters of an all-reduce."""

from __future__ import annotations

from typing import Any

from perfmodel.core import ops
from perfmodel.equations import collective_bandwidths as rates
from perfmodel.equations import collective_latencies as latencies
from perfmodel.equations.collective_times import grown_ramp, ramp_of
from perfmodel.equations.link_rates import achieved_bandwidth
from perfmodel.model.collectives.all_reduce import Curve, Ranks, Values


def curve(ranks: Ranks, p: Values, by_pcie: bool) -> Curve:
    """Return the curve of an all-to-all's time [s] over the bytes that one rank sends to all ranks.

    Parameters
    ----------
    ranks : placement and links of the ranks
    p : learned parameters by name
    by_pcie : whether PCIe joins the ranks of a node; other links are limited by copies
    """
    n = ranks.nodes * ranks.per_node
    one_way = ranks.inside_bandwidth if by_pcie else achieved_bandwidth(ranks.inside_bandwidth, p["exchange"])
    strength = ranks.ramp_strength * p["ramp_exchange" if ranks.several else "ramp_gather"]
    if ranks.several:
        between = rates.decayed_bandwidth(ranks.between_bandwidth, p["decay"], ranks.nodes)
        between = rates.exchange_bandwidth(between, p["net_exchange_share"], ranks.nodes, ranks.per_node)
        one_way = rates.slower_bandwidth(one_way, between)
        strength = grown_ramp(strength, p["ramp_nodes"], ranks.nodes)
    start = quick = _start_time(ranks, p, 1.0)
    if ranks.several and ranks.low_latency is not True:
        start = ops.where(ranks.low_latency, quick, _start_time(ranks, p, p["simple_between"]))
    chunk = latencies.chunk_latency(quick, start)
    bend = (p["bend"] if ranks.several else p["bend_inside"]) * chunk
    return Curve(start, rates.gather_byte_time(one_way, n), ramp_of(strength, chunk), bend)


def _start_time(ranks: Ranks, p: Values, between: Any) -> Any:
    """Return the start time of an all-to-all [s]; ``between`` is a factor on the round trip."""
    trip = ranks.round_trip_time * between
    n = ranks.nodes * ranks.per_node
    return latencies.exchange_start_time(ranks.launch_time, p["hop_exchange"], p["net_exchange"], trip, n)
