"""NCCL's choice of algorithm and protocol for a collective, by NCCL's own estimates."""

from __future__ import annotations

import numpy as np

from perfmodel.equations.nccl import nccl_times
from perfmodel.equations.nccl_graph import LEAST_CAPABILITY_FOR_LL128, Graph, channels
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.link import Link
from perfmodel.model.collectives.all_reduce import Values
from perfmodel.model.collectives.generation import generation
from perfmodel.model.collectives.model import between_bandwidth, inside_bandwidth
from perfmodel.model.collectives.place import Place, Point

CHANNEL_BANDWIDTH = 20e9
"""Bandwidth of one ring over NVLink in NCCL's planning [B/s]."""
_PASCAL = 6.0
"""Compute capability of the GPUs with the first NVLink; later links have Volta or later GPUs."""


def nccl_protocols(point: Point, at: Place, p: Values) -> dict[str, str]:
    """Return NCCL's preferred protocol for each of its algorithms, the fastest first by NCCL's estimates.

    Parameters
    ----------
    point : a collective that NCCL has algorithms for
    at : its placement; without low-latency transport only Simple remains, and without reducing switch no NVLS
    p : learned parameters by name
    """
    names, times = nccl_times(
        point.collective, point.group_size, point.nodes, point.message_bytes, _graph_of(point, at, p)
    )
    order = np.argsort(times, kind="stable").tolist()
    able = [names[row] for row in order if np.isfinite(times[row])]
    result: dict[str, str] = {}
    for algorithm, protocol in able:
        if (protocol == "Simple" or at.has_low_latency) and (at.adds or not algorithm.startswith("nvls")):
            result.setdefault(algorithm, protocol)
    return result


def _graph_of(point: Point, at: Place, p: Values) -> Graph:
    """Return the result of NCCL's graph search: channels with the bandwidth of the slower level."""
    slower = inside_bandwidth(at, p)
    if point.nodes > 1:
        slower = min(slower, between_bandwidth(at, p))
    count = channels(slower, CHANNEL_BANDWIDTH)
    kind = "nvlink" if point.link.kind == "nvlink" else "pci"
    of = generation(point.link, point.accelerator), kind, _capability(point.link, point.accelerator)
    return Graph(count, slower / count, slower / count, *of)


def _capability(link: Link, accelerator: Accelerator | None) -> float:
    """Return the compute capability for LL128: of the GPU, or the least of GPUs with that link."""
    if accelerator is not None and accelerator.compute_capability is not None:
        return accelerator.compute_capability
    return _PASCAL if link.kind == "nvlink" and link.generation == 1 else LEAST_CAPABILITY_FOR_LL128
