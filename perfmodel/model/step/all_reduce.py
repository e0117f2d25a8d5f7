"""Every all-reduce that ranks on one or several nodes can use, and the choice among them.

Where NCCL or RCCL runs, ``ring``, ``tree``, ``nvls`` and ``nvls-tree`` are the library's, and by ``auto`` it
picks one.  Elsewhere ``ring`` is a plain ring, and ``auto`` means it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from perfmodel.core import ops
from perfmodel.core.errors import InputError, unknown
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
"""Algorithms that no link between nodes can do."""
NOT_ON_LINKS = "collective.not_on_links"
"""The code of a problem: an algorithm that the links cannot do."""
ONLY_WHEN_ASKED = (IN_NETWORK,)
"""Algorithms that need a network which adds, which no link spec promises."""


def all_reduce_times(group: Group) -> dict[str, Callable[[Any], Any]]:
    """Return every all-reduce a group can use, each as a function of message bytes that gives seconds."""
    several, group_size, on = group.several_nodes, group.size, group.on
    per_node, nodes = group.per_node, group.nodes
    hop, bandwidth = on.intra_hop_latency, on.intra_link_bandwidth
    if several:
        # a flat algorithm's ranks share their node's adapters, and the slowest hop sets the pace
        hop = slowest_hop(hop, on.inter_hop_latency)
        bandwidth = least_bandwidth(bandwidth, on.inter_link_bandwidth / per_node)

    inner, outer = on[:2], on[2:4]

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
    along_racks = bool(np.any(on.racks))
    if not several:
        result["hierarchical"] = result["ring"]
        if along_racks:
            result["multi-ring"] = result["ring"]
    elif along_racks:
        result["multi-ring"] = lambda sizes: multi_ring_times(group, sizes)
    return result


def chunked_ring_times(group: Group, message_bytes: Any) -> Any:
    """Return the time of each message by a ring with two buffers, in one node [s], shape (..., messages).

    Without an accelerator that is known adding takes no time.
    """
    chip, on = group.accelerator, group.on
    added = math.inf if chip is None else adding_bandwidth(chip.memory_bandwidth.value)
    time = ALGORITHMS["all-reduce"]["ring-chunked"].time
    return time(group.size, message_bytes, on.intra_hop_latency, on.intra_link_bandwidth, added)


def multi_ring_times(group: Group, message_bytes: Any) -> Any:
    """Return the time of each message by rings along nodes, racks and what joins racks [s].

    Shape (..., messages); infinite where the nodes do not fill their racks alike.
    """
    on, racks = group.on, ops.maximum(group.on.racks, 1)
    time = multi_ring_all_reduce_time(
        group.per_node,
        group.nodes / racks,
        racks,
        message_bytes,
        on.intra_hop_latency,
        on.intra_link_bandwidth,
        on.inter_hop_latency,
        node_bandwidth(on.inter_link_bandwidth, 1, 1.0, on.rack_factor),
        node_bandwidth(on.inter_link_bandwidth, 1, 1.0, on.uplink_factor),
    )
    return ops.where(on.racks > 0, time, math.inf)


def torus_times(group: Group, message_bytes: Any) -> Any:
    """Return the time of each message on a torus of two dimensions [s], shape (..., messages).

    Rows that lie inside nodes cross their links alone, and the columns share the adapters of a node.  A row
    that spans several nodes leaves each once, over all of its adapters, as the ranks of a node then do in
    columns of their own.
    """
    columns, rows = group.torus or usual_torus(group.per_node, group.nodes)
    per_node, on = group.per_node, group.on
    row = column = on.intra_hop_latency, on.intra_link_bandwidth
    if group.several_nodes:
        hop = slowest_hop(on.intra_hop_latency, on.inter_hop_latency)
        inside, outside = on.intra_link_bandwidth, on.inter_link_bandwidth
        own = outside / ops.minimum(columns, per_node)
        row = (
            ops.where(columns > per_node, hop, on.intra_hop_latency),
            ops.where(columns > per_node, least_bandwidth(inside, outside), inside),
        )
        column = (
            ops.where(columns < per_node, hop, on.inter_hop_latency),
            ops.where(columns < per_node, least_bandwidth(inside, own), own),
        )
    return torus_all_reduce_time(columns, rows, message_bytes, *row, *column)


def chosen_times(algorithm: str, group: Group, message_bytes: Any) -> Any:
    """Time of each message by ``best``, a named algorithm, or ``auto`` where no library runs [s].

    Shape (..., messages).

    Raises
    ------
    InputError : these ranks and links have no such algorithm
    """
    if algorithm in ("auto", "ring") and not runs_nccl(group.accelerator):
        return two_level_ring_all_reduce_time(group.per_node, group.nodes, message_bytes, *group.on.links)
    times = all_reduce_times(group)
    if algorithm == "best":
        return cheapest(times, message_bytes)
    if algorithm not in times:
        known = ["auto", "best", *times]
        raise InputError(unknown(NOT_ON_LINKS, "algorithm on these links", algorithm, known, ("algorithm",)))
    return times[algorithm](message_bytes)


def named_algorithms(group: Group) -> tuple[str, ...]:
    """Return the algorithms of a group that ``best`` chooses from."""
    return tuple(name for name in all_reduce_times(group) if name not in ONLY_WHEN_ASKED)


def cheapest(times: dict[str, Callable[[Any], Any]], message_bytes: Any) -> Any:
    """Time of each message by whichever algorithm is fastest for it."""
    able = {name: time(message_bytes) for name, time in times.items() if name not in ONLY_WHEN_ASKED}
    of_all = np.broadcast_arrays(*map(ops.plain, able.values()))
    wins = np.bincount(np.argmin(of_all, axis=0).ravel(), minlength=len(able))
    return least_times(**{name: able[name] for name, won in zip(able, wins.tolist(), strict=True) if won})


def choice_words(algorithm: str, group: Group, message_bytes: Any) -> str:
    """Say what ``auto`` or ``best`` chose for these messages, and what the runner-up would cost."""
    sizes = np.atleast_1d(message_bytes)
    if algorithm == "auto":
        able = library_times(group, sizes)
    else:
        able = {
            name: time(sizes) for name, time in all_reduce_times(group).items() if name not in ONLY_WHEN_ASKED
        }
    names, times = list(able), np.stack(np.broadcast_arrays(*able.values()))
    chosen = [names[i] for i in times.argmin(axis=0).tolist()]
    ordered = np.sort(times, axis=0)
    first, second = float(ordered[0].sum()), float(ordered[1].sum())
    counts = {name: chosen.count(name) for name in dict.fromkeys(chosen)}
    shown = ", ".join(f"{name} for {count} of {len(chosen)} messages" for name, count in counts.items())
    return f"--algorithm {algorithm} chose {shown}; the runner-up would take {second / first - 1:.0%} longer"
