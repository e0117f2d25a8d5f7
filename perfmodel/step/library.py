"""All-reduces of NCCL and RCCL: where they run, and every way they have of doing one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from perfmodel.collectives.generation import adds, capability, generation
from perfmodel.equations.exchange import least_bandwidth
from perfmodel.equations.nccl_all_reduce import Latencies, Library, Ways, ways
from perfmodel.equations.nccl_bandwidth import channel_bandwidth, channels
from perfmodel.equations.nccl_graph import Graph
from perfmodel.specs.accelerator import Accelerator
from perfmodel.step.layout import Group

BY_LIBRARY = ("ring", "tree", "nvls", "nvls-tree")
"""Algorithms that NCCL itself has."""


def least_of(known: Ways) -> Callable[[Any], Any]:
    """Return the time of messages by the fastest way for each."""

    def time(message_bytes: Any) -> Any:
        sizes = np.asarray(message_bytes, dtype=np.float64)
        times = known.times(sizes)
        if times.shape[1] == 1 and sizes.ndim:
            return known.taken(sizes, times[:, 0].argmin(axis=0))
        return _of_settings(times.min(axis=0), message_bytes)

    return time


def _of_settings(times: Any, sizes: Any) -> Any:
    """Times of (settings, messages) without the axis of one setting, and of one message."""
    if times.shape[0] == 1:
        times = times[0]
    return times if np.ndim(sizes) else times[..., 0]


def runs_nccl(accelerator: Accelerator | None) -> bool:
    """Whether NCCL or RCCL sums the gradients; links alone are taken as those of NVIDIA's."""
    return accelerator is None or accelerator.collective_library is not None


def nccl_ways(group: Group) -> Ways:
    """Return every algorithm and protocol by which NCCL sums over a group."""
    on = group.on
    return ways(
        group.size,
        group.nodes,
        graph_of(group),
        Latencies(on.intra_small_latency, on.intra_hop_latency),
        Latencies(on.inter_small_latency, on.inter_hop_latency),
        Library(on.library_base_latency, on.channel_bandwidth),
        adds(group.link, group.accelerator),
        on.intra_link_bandwidth,
    )


def graph_of(group: Group) -> Graph:
    """What NCCL's search finds on the links of a group: channels at the pace of the slower level."""
    on, link = group.on, group.link
    slower = on.intra_link_bandwidth
    if group.several_nodes:
        slower = least_bandwidth(slower, on.inter_link_bandwidth)
    count = channels(slower, on.channel_bandwidth)
    each = channel_bandwidth(slower, count)
    return Graph(
        count,
        each,
        each,
        generation(link, group.accelerator),
        "nvlink" if link.kind == "nvlink" else "pci",
        capability(link, group.accelerator),
    )
