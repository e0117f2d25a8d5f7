"""All-reduce algorithms of ranks on one or several nodes, and the choice between them.

With NCCL or RCCL, ``ring``, ``tree``, ``nvls`` and ``nvls-tree`` are the library's, and ``auto`` is its
choice. Without either, ``ring`` and ``auto`` are a plain ring.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from perfmodel.core import ops
from perfmodel.core.errors import InputError, unknown
from perfmodel.core.units import per_cent
from perfmodel.equations.algorithms import ALGORITHMS, GRID_ALGORITHMS
from perfmodel.equations.chunked_ring import adding_bandwidth
from perfmodel.equations.exchange import least_bandwidth, least_times, slowest_hop
from perfmodel.equations.link_rates import node_bandwidth
from perfmodel.equations.multi_ring import multi_ring_all_reduce_time
from perfmodel.equations.ring_all_reduce import torus_all_reduce_time
from perfmodel.equations.two_level_ring import two_level_ring_all_reduce_time
from perfmodel.model.collectives.all_reduce import IN_NETWORK
from perfmodel.model.collectives.generation import adds
from perfmodel.model.setting.torus import usual_torus
from perfmodel.model.step.layout import Group
from perfmodel.model.step.library import library_algorithms, library_curve, library_times, runs_nccl

IN_A_NODE = ("nvls", "ring-chunked")
"""Algorithms that only ranks within one node can use."""
NOT_ON_LINKS = "collective.not_on_links"
"""Problem code of an algorithm that the links do not support."""
ONLY_ON_REQUEST = (IN_NETWORK,)
"""Algorithms that need reduction in the network, which link specs do not state: used only on request."""


def all_reduce_times(group: Group) -> dict[str, Callable[[Any], Any]]:
    """Return every all-reduce of a group by name, as a function from message size [B] to time [s]."""
    several, group_size, fabric = group.several_nodes, group.size, group.fabric
    per_node, nodes = group.per_node, group.nodes
    hop, bandwidth = fabric.intra_hop_latency, fabric.intra_link_bandwidth
    if several:
        # ranks of a flat algorithm share their node's adapters, and the slowest hop limits the rate
        hop = slowest_hop(hop, fabric.inter_hop_latency)
        bandwidth = least_bandwidth(bandwidth, fabric.inter_link_bandwidth / per_node)

    inner, outer = fabric[:2], fabric[2:4]

    def flat(time: Callable[..., Any]) -> Callable[[Any], Any]:
        return lambda message_bytes: time(group_size, message_bytes, hop, bandwidth)

    def over_nodes(time: Callable[..., Any]) -> Callable[[Any], Any]:
        return lambda message_bytes: time(per_node, nodes, message_bytes, *inner, *outer)

    result = {
        name: flat(algorithm.time)
        for name, algorithm in ALGORITHMS["all-reduce"].items()
        if name not in IN_A_NODE
        or not (several or (name == "nvls" and not adds(group.link, group.accelerator)))
    }
    if not several:
        result["ring-chunked"] = lambda sizes: chunked_ring_times(group, sizes)
    result["ring"] = over_nodes(two_level_ring_all_reduce_time)
    result["torus"] = lambda sizes: torus_times(group, sizes)
    if several:
        result |= {name: over_nodes(time) for name, time in GRID_ALGORITHMS.items()}
    if runs_nccl(group.accelerator):
        result |= {name: library_curve(group, name).time for name in library_algorithms(group)}
    along_racks = bool(np.any(fabric.racks))
    if not several:
        result["hierarchical"] = result["ring"]
        if along_racks:
            result["multi-ring"] = result["ring"]
    elif along_racks:
        result["multi-ring"] = lambda sizes: multi_ring_times(group, sizes)
    return result


def chunked_ring_times(group: Group, message_bytes: Any) -> Any:
    """Return the time of each message by a chunked ring in one node [s], shape (..., messages).

    The ring has two buffers.  Without a known accelerator, summation takes no time.
    """
    chip, fabric = group.accelerator, group.fabric
    added = math.inf if chip is None else adding_bandwidth(chip.memory_bandwidth.value)
    time = ALGORITHMS["all-reduce"]["ring-chunked"].time
    return time(group.size, message_bytes, fabric.intra_hop_latency, fabric.intra_link_bandwidth, added)


def multi_ring_times(group: Group, message_bytes: Any) -> Any:
    """Return the time of each message by rings inside nodes, inside racks and between racks [s].

    Shape (..., messages); infinite if the nodes do not fill their racks equally.
    """
    fabric, racks = group.fabric, ops.maximum(group.fabric.racks, 1)
    time = multi_ring_all_reduce_time(
        group.per_node,
        group.nodes / racks,
        racks,
        message_bytes,
        fabric.intra_hop_latency,
        fabric.intra_link_bandwidth,
        fabric.inter_hop_latency,
        node_bandwidth(fabric.inter_link_bandwidth, 1, 1.0, fabric.rack_factor),
        node_bandwidth(fabric.inter_link_bandwidth, 1, 1.0, fabric.uplink_factor),
    )
    return ops.where(fabric.racks > 0, time, math.inf)


def torus_times(group: Group, message_bytes: Any) -> Any:
    """Return the time of each message on a torus of two dimensions [s], shape (..., messages).

    Rows inside nodes cross only the nodes' links, and the columns share the adapters of a node.  A row that
    spans several nodes leaves each node once, over all of its adapters; so do the ranks of a node in their
    columns.
    """
    columns, rows = group.torus or usual_torus(group.per_node, group.nodes)
    per_node, fabric = group.per_node, group.fabric
    row = column = fabric.intra_hop_latency, fabric.intra_link_bandwidth
    if group.several_nodes:
        hop = slowest_hop(fabric.intra_hop_latency, fabric.inter_hop_latency)
        inside, outside = fabric.intra_link_bandwidth, fabric.inter_link_bandwidth
        own = outside / ops.minimum(columns, per_node)
        row = (
            ops.where(columns > per_node, hop, fabric.intra_hop_latency),
            ops.where(columns > per_node, least_bandwidth(inside, outside), inside),
        )
        column = (
            ops.where(columns < per_node, hop, fabric.inter_hop_latency),
            ops.where(columns < per_node, least_bandwidth(inside, own), own),
        )
    return torus_all_reduce_time(columns, rows, message_bytes, *row, *column)


def chosen_times(algorithm: str, group: Group, message_bytes: Any) -> Any:
    """Return the time of each message by ``best``, a named algorithm, or ``auto`` without a library [s].

    Shape (..., messages).

    Raises
    ------
    InputError : the ranks and links do not support the algorithm
    """
    if algorithm in ("auto", "ring") and not runs_nccl(group.accelerator):
        return two_level_ring_all_reduce_time(group.per_node, group.nodes, message_bytes, *group.fabric.links)
    times = all_reduce_times(group)
    if algorithm == "best":
        return cheapest(times, message_bytes)
    if algorithm not in times:
        known = ["auto", "best", *times]
        raise InputError(unknown(NOT_ON_LINKS, "algorithm on these links", algorithm, known, ("algorithm",)))
    return times[algorithm](message_bytes)


def named_algorithms(group: Group) -> tuple[str, ...]:
    """Return the algorithms of a group that ``best`` chooses from."""
    return tuple(name for name in all_reduce_times(group) if name not in ONLY_ON_REQUEST)


def cheapest(times: dict[str, Callable[[Any], Any]], message_bytes: Any) -> Any:
    """Return the time of each message by the fastest algorithm for its size [s]."""
    able = {name: time(message_bytes) for name, time in times.items() if name not in ONLY_ON_REQUEST}
    of_all = np.broadcast_arrays(*map(ops.plain, able.values()))
    wins = np.bincount(np.argmin(of_all, axis=0).ravel(), minlength=len(able))
    return least_times(**{name: able[name] for name, won in zip(able, wins.tolist(), strict=True) if won})


def choice_words(algorithm: str, group: Group, message_bytes: Any) -> str:
    """Return a note on the algorithms that ``auto`` or ``best`` chose for messages, and on the runner-up."""
    sizes = np.atleast_1d(message_bytes)
    if algorithm == "auto":
        able = library_times(group, sizes)
    else:
        able = {
            name: time(sizes) for name, time in all_reduce_times(group).items() if name not in ONLY_ON_REQUEST
        }
    names, times = list(able), np.stack(np.broadcast_arrays(*able.values()))
    chosen = [names[i] for i in times.argmin(axis=0).tolist()]
    ordered = np.sort(times, axis=0)
    first, second = float(ordered[0].sum()), float(ordered[1].sum())
    counts = {name: chosen.count(name) for name in dict.fromkeys(chosen)}
    shown = ", ".join(f"{name} for {count} of {len(chosen)} messages" for name, count in counts.items())
    longer = per_cent(second / first - 1, 0)
    return f"--algorithm {algorithm} chose {shown}; the runner-up would take {longer} longer"
