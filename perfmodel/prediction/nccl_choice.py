"""Which algorithm and protocol NCCL takes for a collective, by its own estimates."""

from __future__ import annotations

from typing import Any

import numpy as np

from perfmodel.collectives.generation import adds, generation
from perfmodel.equations.nccl import nccl_times
from perfmodel.equations.nccl_all_reduce import Latencies, Library, ways
from perfmodel.equations.nccl_bandwidth import channel_bandwidth, channels
from perfmodel.equations.nccl_graph import LEAST_CAPABILITY_FOR_LL128, Graph
from perfmodel.prediction.collective_fabric import CollectiveFabric
from perfmodel.specs.accelerator import Accelerator
from perfmodel.specs.link import Link
from perfmodel.step.fabric import Fabric

LIBRARY = Library(8.4e-6, 20e9)
"""What NCCL plans with: of a collective by Simple before its first hop [s], of one NVLink channel [B/s]."""
_PASCAL = 6.0
"""Compute capability of the only GPUs with the first NVLink; those of the others are Volta's or later."""


def nccl_estimates(
    collective: str, fabric: CollectiveFabric, on: Fabric, message_bytes: float
) -> dict[tuple[str, str], float]:
    """Return what NCCL's own model says of every algorithm and protocol [s], the fastest first.

    Parameters
    ----------
    collective : that NCCL has several algorithms for
    fabric : ranks and links
    on : what those links carry
    message_bytes : S [B]
    """
    graph = _graph_of(fabric, on)
    names: Any
    if collective == "all-reduce":
        known = ways(
            fabric.group_size,
            fabric.nodes,
            graph,
            _latencies(fabric.link),
            _latencies(fabric.inter_link or fabric.link),
            LIBRARY,
            adds(fabric.link, fabric.accelerator),
            on.intra_link_bandwidth,
        )
        names, times = known.names, known.times(np.array([message_bytes]))[:, 0, 0]
    else:
        names, times = nccl_times(collective, fabric.group_size, fabric.nodes, message_bytes, graph)
    order = np.argsort(times, kind="stable").tolist()
    return {names[row]: float(times[row]) for row in order if np.isfinite(times[row])}


def _latencies(link: Link) -> Latencies:
    """A hop of small messages (LL), and of large ones (Simple)."""
    return Latencies(link.hop_latency.value, (link.bulk_hop_latency or link.hop_latency).value)


def _graph_of(fabric: CollectiveFabric, on: Fabric) -> Graph:
    """What NCCL's search finds on the links: channels at the pace of the slower level."""
    link, chip = fabric.link, fabric.accelerator
    slower = on.intra_link_bandwidth
    if fabric.nodes > 1:
        slower = min(slower, on.inter_link_bandwidth)
    count = channels(slower, LIBRARY.channel_bandwidth)
    each = channel_bandwidth(slower, count)
    kind = "nvlink" if link.kind == "nvlink" else "pci"
    return Graph(count, each, each, generation(link, chip), kind, _capability(link, chip))


def _capability(link: Link, accelerator: Accelerator | None) -> float:
    """Compute capability, as far as LL128 asks for it: of the GPU, or the least of those a link joins."""
    if accelerator is not None and accelerator.compute_capability is not None:
        return accelerator.compute_capability
    return _PASCAL if link.kind == "nvlink" and link.generation == 1 else LEAST_CAPABILITY_FOR_LL128
