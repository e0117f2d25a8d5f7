"""What gradients travel on: the bandwidths and latencies that the links of a setting come to."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.calibration import Calibration
from perfmodel.resolve import NCCL_CONNECTIONS, Setting
from perfmodel.specs.link import Link


class Fabric(NamedTuple):
    """Bandwidths [B/s] and latencies [s]: numbers, or arrays of shape (variants, 1)."""

    intra_hop_latency: Any
    intra_link_bandwidth: Any
    """Of one rank inside its node."""
    inter_hop_latency: Any
    inter_link_bandwidth: Any
    """Of all adapters of one node together."""


def fabric(setting: Setting, calibration: Calibration) -> Fabric:
    """Return the bandwidths and latencies of a setting, as bulk transfers see them."""
    adapters = setting.nics * bulk_bandwidth(setting.inter_link, calibration, setting.connections)
    cap = setting.node.network_bandwidth
    if cap is not None and setting.scenario.nics is None and setting.inter_link.id == setting.node.inter_link:
        adapters = min(adapters, cap.value * fraction(setting.inter_link, calibration))
    # variables in host memory are reached over the host's link, whatever joins the accelerators
    inside = setting.host_link if setting.strategy == "parameter-server-local" else setting.intra_link
    if setting.strategy == "parameter-server":
        if setting.inter_link.kind == "ethernet-tcp":
            adapters *= calibration.server_fraction
        adapters = min(adapters, calibration.server_ceiling)
    return Fabric(
        _latency(inside),
        _inside_bandwidth(setting, inside, calibration),
        _latency(setting.inter_link),
        adapters / _rack_factor(setting),
    )


def adds_on_accelerators(setting: Setting) -> bool:
    """Whether the accelerators of a node add up gradients among themselves, by a collective."""
    if setting.strategy == "parameter-server":
        return setting.scenario.local_aggregation
    return setting.strategy == "all-reduce"


def _latency(link: Link) -> float:
    return (link.bulk_hop_latency or link.hop_latency).value


def fraction(link: Link, calibration: Calibration) -> float:
    """Share of a link's rate that bulk transfers reach: its own where measured, else its kind's."""
    if link.achieved_fraction is not None:
        return link.achieved_fraction.value
    known = calibration.link_fraction
    return known.get(link.kind, known["other"])


def bulk_bandwidth(link: Link, calibration: Calibration, connections: int = NCCL_CONNECTIONS) -> float:
    """Rate of bulk transfers over one adapter or port [B/s]; the kernel's TCP has a ceiling of its own."""
    bandwidth = link.bandwidth.value * fraction(link, calibration)
    if link.kind == "ethernet-tcp":
        bandwidth = min(bandwidth, calibration.tcp_ceiling)
    return min(bandwidth, connections * link.flow_bandwidth.value) if link.flow_bandwidth else bandwidth


def ring_bandwidth(link: Link, group_size: int, calibration: Calibration) -> float:
    """Bandwidth of all rings together over one link type [B/s], measured by rank count where it was."""
    if link.ring_bandwidth is not None:
        by_size = link.ring_bandwidth.by_group_size
        nearest = min(by_size, key=lambda size: (abs(size - group_size), size))
        return by_size[nearest]
    return bulk_bandwidth(link, calibration)


def _rack_factor(setting: Setting) -> float:
    """How much slower the network between nodes is for its oversubscribed racks; 1 within one rack."""
    asked = setting.scenario
    rack = asked.rack_nodes
    if asked.oversubscription == 1 or rack is None or setting.nodes <= rack:
        return 1.0
    from perfmodel.equations.topology import contiguous_ring_factor, random_ring_factor

    if asked.placement == "random":
        return float(random_ring_factor(setting.nodes, asked.oversubscription, rack))
    return float(contiguous_ring_factor(asked.oversubscription, rack))


def _inside_bandwidth(setting: Setting, link: Link, calibration: Calibration) -> float:
    """Bandwidth of all rings inside a node: measured, found in the graph of a mesh, or the link's."""
    graph, n = setting.node.peer_graph, setting.accelerators_per_node
    if "bridge" in link.id and n > 2:
        link = setting.host_link  # a bridge joins two cards; a ring of more passes the host's link
    if link.kind == "pcie":
        return _through_host(setting, link, calibration)
    if not graph or n == 1 or link.ring_bandwidth is not None or link.id != setting.node.intra_link:
        return ring_bandwidth(link, n, calibration)
    from perfmodel.equations.ring_search import ring_bandwidth as of_rings

    links_of_first = sum(count for a, b, count in graph if 0 in (a, b))
    found = of_rings(graph, n, link.bandwidth.value / links_of_first)
    # where the mesh closes no ring, traffic goes over the host's link
    return found or _through_host(setting, setting.host_link, calibration)


def _through_host(setting: Setting, link: Link, calibration: Calibration) -> float:
    """Bandwidth of a ring over PCIe: between sockets, and by way of host memory where peers are shut off."""
    n = setting.accelerators_per_node
    bandwidth = ring_bandwidth(link, n, calibration)
    crossing = setting.node.cross_socket_bandwidth
    if crossing is not None and 2 * n > setting.node.accelerators:
        bandwidth = min(bandwidth, crossing.value)
    if setting.accelerator.peer_access or not adds_on_accelerators(setting):
        return bandwidth  # the others sum in host memory, or copy one way at a time
    return bandwidth * calibration.staged_fraction
