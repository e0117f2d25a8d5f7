"""Every all-reduce that ranks on one or several nodes can use, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from perfmodel.equations.algorithms import ALGORITHMS, GRID_ALGORITHMS
from perfmodel.equations.nccl import LEAST_CAPABILITY_FOR_LL128, Choice, Graph, nccl_choice
from perfmodel.equations.two_level_ring import two_level_ring_all_reduce_time
from perfmodel.errors import unknown_name
from perfmodel.prediction.fabric import Fabric
from perfmodel.prediction.generation import adds, generation
from perfmodel.specs.link import Link

ONLY_WHEN_ASKED = ("switch-tree",)
"""Algorithms that need a network which adds, which no link spec promises."""
CHANNEL_BANDWIDTH = 20e9
"""What NCCL's search gives one channel of an NVLink ring [B/s]."""
_NVLINK_CAPABILITIES = {"1": 6.0}
"""Compute capability of the only GPUs with a link; those of the others are Volta's or later."""


def capability(link: Link) -> float:
    """Least compute capability of GPUs that a link inside the node joins, as far as LL128 asks for it."""
    digits = "".join(c for c in link.id if c.isdigit())[:1]
    return _NVLINK_CAPABILITIES.get(digits, LEAST_CAPABILITY_FOR_LL128)


def all_reduce_times(per_node: Any, nodes: Any, link: Link, on: Fabric) -> dict[str, Callable[[Any], Any]]:
    """Return every all-reduce these ranks can use, each as a function of message bytes that gives seconds.

    ``per_node`` and ``nodes`` may be arrays, but all of one node or all of several.
    """
    several = np.all(np.greater(nodes, 1))
    group_size = per_node * nodes
    hop, bandwidth = on.intra_hop_latency, on.intra_link_bandwidth
    if several:
        # a flat algorithm's ranks share their node's adapters, and the slowest hop sets the pace
        hop = np.maximum(hop, on.inter_hop_latency)
        bandwidth = np.minimum(bandwidth, on.inter_link_bandwidth / per_node)

    def flat(time: Callable[..., Any]) -> Callable[[Any], Any]:
        return lambda message_bytes: time(group_size, message_bytes, hop, bandwidth)

    found = {
        name: flat(algorithm.time)
        for name, algorithm in ALGORITHMS["all-reduce"].items()
        if name != "nvls" or (adds(link) and not several)
    }
    if several:
        rail = on._replace(inter_link_bandwidth=on.inter_link_bandwidth / per_node)
        found["ring"] = lambda sizes: two_level_ring_all_reduce_time(per_node, nodes, sizes, *on.links)
        found["hierarchical"] = lambda sizes: GRID_ALGORITHMS["hierarchical"].time(
            per_node, nodes, sizes, *rail
        )
        found["leader"] = lambda sizes: GRID_ALGORITHMS["leader"].time(per_node, nodes, sizes, *on.links)
    else:
        found["hierarchical"] = found["ring"]
    return found


def _on_grid(time: Callable[..., Any], per_node: int, nodes: int, on: Fabric, message_bytes: Any) -> Any:
    return time(per_node, nodes, message_bytes, *on.links)


def cheapest(times: dict[str, Callable[[Any], Any]], message_bytes: Any) -> Any:
    """Time of each message by whichever algorithm is fastest for it."""
    able = [time(message_bytes) for name, time in times.items() if name not in ONLY_WHEN_ASKED]
    return np.min(np.stack(np.broadcast_arrays(*able)), axis=0)


def by_nccl(collective: str, per_node: Any, nodes: Any, message_bytes: Any, link: Link, on: Fabric) -> Choice:
    """What NCCL's own model would choose on this fabric, for each message."""
    inside = on.intra_link_bandwidth
    slower = np.minimum(inside, on.inter_link_bandwidth) if np.all(np.greater(nodes, 1)) else inside
    channels = np.maximum(1, np.round(np.asarray(slower) / CHANNEL_BANDWIDTH))
    graph = Graph(
        channels,
        slower / channels,
        slower / channels,
        generation(link),
        "nvlink" if link.kind == "nvlink" else "pci",
        capability(link),
    )
    return nccl_choice(collective, per_node * nodes, nodes, message_bytes, graph)


def chosen_times(
    algorithm: str, per_node: Any, nodes: Any, message_bytes: Any, link: Link, on: Fabric
) -> Any:
    """Time of each message by ``auto``, ``best`` or a named algorithm [s], shape (..., messages).

    Raises
    ------
    InputError : these ranks and links have no such algorithm
    """
    if algorithm == "auto":
        return by_nccl("all-reduce", per_node, nodes, message_bytes, link, on).time
    times = all_reduce_times(per_node, nodes, link, on)
    if algorithm == "best":
        return cheapest(times, message_bytes)
    if algorithm not in times:
        raise unknown_name("algorithm on these links", algorithm, ["auto", "best", *times])
    return times[algorithm](message_bytes)


def told(algorithm: str, per_node: int, nodes: int, message_bytes: Any, link: Link, on: Fabric) -> str:
    """Say what ``auto`` or ``best`` chose for these messages, and what the runner-up would cost."""
    sizes = np.atleast_1d(message_bytes)
    if algorithm == "auto":
        choice = by_nccl("all-reduce", per_node, nodes, sizes, link, on)
        chosen = ["/".join(choice.names[i]) for i in choice.best.tolist()]
        first, second = float(choice.time.sum()), float(choice.runner_up.sum())
    else:
        able = {
            n: t for n, t in all_reduce_times(per_node, nodes, link, on).items() if n not in ONLY_WHEN_ASKED
        }
        times = np.stack([np.broadcast_to(time(sizes), sizes.shape) for time in able.values()])
        chosen = [list(able)[i] for i in times.argmin(axis=0).tolist()]
        ordered = np.sort(times, axis=0)
        first, second = float(ordered[0].sum()), float(ordered[1].sum())
    counts = {name: chosen.count(name) for name in dict.fromkeys(chosen)}
    shown = ", ".join(f"{name} for {count} of {len(chosen)} messages" for name, count in counts.items())
    return f"--algorithm {algorithm} chose {shown}; the runner-up would take {second / first - 1:.0%} longer"
