"""The link of gradients inside a node, and its bandwidth: a mesh's rings, sockets, or host memory."""

from __future__ import annotations

from typing import Any

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import given
from perfmodel.equations.link_rates import achieved_bandwidth, node_bandwidth, staged_bandwidth
from perfmodel.equations.ring_search import WRITE_PAYLOAD
from perfmodel.hardware.link import Link
from perfmodel.hardware.peer_graph import PeerGraph
from perfmodel.model.collectives.model import NO_LIMIT, fitted
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.ports import fraction, ring_bandwidth


def adds_on_accelerators(setting: Setting) -> bool:
    """Return whether the accelerators of a node sum gradients by a collective."""
    if setting.strategy == "parameter-server":
        return setting.local_aggregation
    return setting.strategy == "all-reduce"


def runs_library(setting: Setting) -> bool:
    """Return whether gradients are summed by a library that the model of collectives describes."""
    return setting.strategy == "all-reduce" and setting.accelerator.collective_library is not None


def inside_link(setting: Setting) -> Link:
    """Return the link of gradients inside a node: the host's if the named one does not join all ranks."""
    link = setting.intra_link
    if setting.strategy == "parameter-server-local":
        return setting.host_link
    if link.joins is not None and setting.accelerators_per_domain > link.joins:
        return setting.host_link  # a bridge joins two cards; a larger ring uses the host's link
    if _is_mesh(setting, link) and not _mesh_bandwidth(setting, link):
        return setting.host_link  # the mesh has no ring of so many ranks
    return link


def rates_inside(setting: Setting, link: Link, calibration: Calibration) -> dict[str, float]:
    """Return the bandwidth limits of all rings inside a node [B/s], by name.

    ``link``: measured, from the graph of a mesh, or the link's rate; ``sockets``: the link between
    processors; ``host``: a rank's share of host memory, by which a library joins accelerators without access
    to each other.
    """
    if _is_mesh(setting, link):
        return {"link": _mesh_bandwidth(setting, link)}
    if runs_library(setting) and link.kind == "nvlink" and not (link.switched or link.ring_bandwidth):
        payload = given(WRITE_PAYLOAD, "nvlink.payload", "of a packet of NVLink")
        payload_rate: Any = achieved_bandwidth(link.bandwidth.value, payload)
        return {"link": payload_rate}
    limits: dict[str, Any] = {"link": ring_bandwidth(link, setting.accelerators_per_domain, calibration)}
    if link.kind != "pcie":
        return limits
    if crosses_sockets(setting):
        limits["sockets"] = socket_bandwidth(setting, calibration)
    if setting.accelerator.peer_access or not adds_on_accelerators(setting):
        return limits  # others sum in host memory, or copy in one direction at a time
    # through host memory, without access to peers
    share = calibration.staged_fraction
    staged: dict[str, Any] = {name: staged_bandwidth(rate, share) for name, rate in limits.items()}
    if not runs_library(setting):
        return staged
    ranks = setting.accelerators_per_domain
    many = ranks > 2
    limits = {name: ops.where(many, rate, staged[name]) for name, rate in limits.items()}
    host = node_bandwidth(fitted().parameters["host"], 1, 1.0, ranks)
    unused = given(NO_LIMIT, "constants.unused_link_bandwidth", "two ranks need no share of host memory")
    return limits | {"host": ops.where(many, host, unused)}


def crosses_sockets(setting: Setting) -> bool:
    """Return whether the exchange of gradients crosses the link between a node's processors."""
    node, inside = setting.node, inside_link(setting)
    known = setting.socket_link is not None or node.cross_socket_bandwidth is not None
    return known and inside.kind == "pcie" and bool(2 * setting.accelerators_per_domain > node.accelerators)


def socket_bandwidth(setting: Setting, calibration: Calibration) -> float:
    """Return the bandwidth between the processors of a node [B/s]: the machine's own, else its link's."""
    own, link = setting.node.cross_socket_bandwidth, setting.socket_link
    if own is not None:
        return own.value
    assert link is not None  # one of them is known where sockets are crossed
    rate: Any = achieved_bandwidth(link.bandwidth.value, fraction(link, calibration))
    return rate  # type: ignore[no-any-return]


def _is_mesh(setting: Setting, link: Link) -> bool:
    """Return whether the bandwidth inside a node depends on which accelerators the link joins."""
    return bool(
        _graph(setting, link)
        and setting.accelerators_per_node > 1
        and link.kind != "pcie"
        and link.ring_bandwidth is None
    )


def _graph(setting: Setting, link: Link) -> PeerGraph:
    """Return the pairs of accelerators that a link joins: its machine's, or else its own."""
    own = setting.node.peer_graph if link.id == setting.node.intra_link else ()
    return own or (link.peer_graph if link.kind == "nvlink" else ())


def _mesh_bandwidth(setting: Setting, link: Link) -> float:
    """Return the bandwidth of all rings in the graph of a mesh [B/s]; 0 without a ring."""
    from perfmodel.equations.ring_search import ring_bandwidth as of_rings

    graph = _graph(setting, link)
    links_of_first = sum(count for a, b, count in graph if 0 in (a, b))
    each: Any = link.bandwidth.value / links_of_first
    return of_rings(graph, setting.accelerators_per_node, each)
