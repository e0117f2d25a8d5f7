"""The gradients' way: which bytes travel together, when they are ready, how long they take."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.calibration import Calibration
from perfmodel.equations.collectives import hierarchical_all_reduce_time, ring_all_reduce_time
from perfmodel.equations.overlap import ddp_buckets, exposed_communication_time
from perfmodel.equations.parameter_server import parameter_server_time
from perfmodel.equations.single_process import replicate_and_reduce_time
from perfmodel.equations.two_level_ring import two_level_ring_all_reduce_time
from perfmodel.prediction.computation import Computation
from perfmodel.resolve import Setting
from perfmodel.specs.link import Link
from perfmodel.specs.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


HOST_UPLINKS = 2
"""Ways from a node's accelerators to host memory, one a processor socket (assumed)."""


class Fabric(NamedTuple):
    """What gradients travel on: bandwidths [B/s] and latencies [s]."""

    intra_hop_latency: Any
    intra_link_bandwidth: Any
    """Of one rank inside its node."""
    inter_hop_latency: Any
    inter_link_bandwidth: Any
    """Of all adapters of one node together."""


class Messages(NamedTuple):
    """Gradients as they are sent, in the order they become ready."""

    message_bytes: Array
    """Shape (messages,)."""
    last_layer: NDArray[np.intp]
    """Layer, in forward order, whose backward pass completes each message, shape (messages,)."""


def fabric(setting: Setting, calibration: Calibration) -> Fabric:
    """Return the bandwidths and latencies of a setting, as bulk transfers see them."""
    adapters = setting.nics * setting.inter_link.bandwidth.value
    cap = setting.node.network_bandwidth
    if cap is not None and setting.scenario.inter_link is None and setting.scenario.nics is None:
        adapters = min(adapters, cap.value)
    # variables in host memory are reached over the host's link, whatever joins the accelerators
    inside = setting.host_link if setting.strategy == "parameter-server-local" else setting.intra_link
    return Fabric(
        _latency(inside),
        ring_bandwidth(inside, setting.accelerators_per_node, calibration),
        _latency(setting.inter_link),
        adapters * fraction(setting.inter_link, calibration),
    )


def _latency(link: Link) -> float:
    return (link.bulk_hop_latency or link.hop_latency).value


def fraction(link: Link, calibration: Calibration) -> float:
    """Share of a link's rate that bulk transfers reach: its own where measured, else its kind's."""
    if link.achieved_fraction is not None:
        return link.achieved_fraction.value
    known = calibration.link_fraction
    return known.get(link.kind, known["other"])


def ring_bandwidth(link: Link, group_size: int, calibration: Calibration) -> float:
    """Bandwidth of all rings together over one link type [B/s], measured by rank count where it was."""
    if link.ring_bandwidth is not None:
        by_size = link.ring_bandwidth.by_group_size
        nearest = min(by_size, key=lambda size: (abs(size - group_size), size))
        return by_size[nearest]
    return link.bandwidth.value * fraction(link, calibration)


@lru_cache(maxsize=256)
def _messages(workload: Workload, element_bytes: int, overlap: str) -> Messages:
    """Group the gradients of a workload; tensors become ready in reverse order of registration."""
    layer_of = [index for index, layer in enumerate(workload.layers) for _ in layer.tensors][::-1]
    sizes = [element_bytes * n for layer in workload.layers for n in layer.tensors][::-1]
    if overlap == "none":
        group = np.zeros(len(sizes), dtype=np.intp)
    elif overlap == "wfbp":
        group = np.arange(len(sizes))
    else:
        group = ddp_buckets(sizes)
    count = int(group[-1]) + 1
    last = np.full(count, len(workload.layers))
    np.minimum.at(last, group, layer_of)
    if overlap == "none":
        last[:] = 0
    grouped: Array = np.bincount(group, weights=sizes, minlength=count).astype(np.float64)
    return Messages(grouped, last)


def messages(setting: Setting) -> Messages:
    """Return the gradients of a setting as they are sent."""
    return _messages(setting.workload, setting.format.gradient_bytes, setting.overlap)


def message_times(setting: Setting, message_bytes: Array, on: Fabric) -> Any:
    """Time of each message on its own [s], shape (..., messages) with the leading axes of ``on``."""
    g, nodes = setting.accelerators_per_node, setting.nodes
    if setting.strategy == "parameter-server":
        return _parameter_server_times(setting, message_bytes, on)
    if setting.strategy == "parameter-server-local":
        return parameter_server_time(
            g,
            HOST_UPLINKS,
            message_bytes,
            on.intra_hop_latency,
            on.intra_link_bandwidth,
            on.intra_link_bandwidth,
        )
    if setting.strategy == "data-parallel-single-process":
        return replicate_and_reduce_time(g, message_bytes, on.intra_hop_latency, on.intra_link_bandwidth)
    if setting.scenario.algorithm == "hierarchical":
        return hierarchical_all_reduce_time(
            g,
            nodes,
            message_bytes,
            on.intra_hop_latency,
            on.intra_link_bandwidth,
            on.inter_hop_latency,
            on.inter_link_bandwidth / g,
        )
    return two_level_ring_all_reduce_time(g, nodes, message_bytes, *on)


def _parameter_server_times(setting: Setting, message_bytes: Array, on: Fabric) -> Any:
    g, nodes = setting.accelerators_per_node, setting.nodes
    if not setting.scenario.local_aggregation:
        return parameter_server_time(
            setting.world_size,
            setting.servers,
            message_bytes,
            on.inter_hop_latency,
            on.inter_link_bandwidth / g,
            on.inter_link_bandwidth,
        )
    inside = ring_all_reduce_time(g, message_bytes, on.intra_hop_latency, on.intra_link_bandwidth)
    return inside + parameter_server_time(
        nodes,
        setting.servers,
        message_bytes,
        on.inter_hop_latency,
        on.inter_link_bandwidth,
        on.inter_link_bandwidth,
    )


def communication(setting: Setting, work: Computation, on: Fabric) -> tuple[Any, Any]:
    """Return the communication of one iteration: on its own, and what is left after overlap [s].

    Only the last micro-batch's backward pass has gradients to send.

    Parameters
    ----------
    setting : whose gradients travel
    work : one micro-batch on one accelerator
    on : bandwidths and latencies, floats or arrays of shape (variants, 1)

    Returns
    -------
    communication_time, exposed_communication_time [s], shape (variants,)
    """
    sent = messages(setting)
    times = message_times(setting, sent.message_bytes, on)
    ready = np.cumsum(work.backward_by_layer[::-1])[::-1]
    return times.sum(axis=-1), exposed_communication_time(ready[sent.last_layer], times, ready[0])
