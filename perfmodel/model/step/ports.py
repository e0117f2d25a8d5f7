"""Bandwidth of bulk transfers over one adapter or port, and of the rings of a link."""

from __future__ import annotations

from typing import Any

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import given
from perfmodel.equations.collective_bandwidths import switched_ring_bandwidth
from perfmodel.equations.link_rates import (
    achieved_bandwidth,
    kernel_ceiling,
    kernel_spared_fraction,
    narrowest_bandwidth,
    node_bandwidth,
)
from perfmodel.hardware.link import Link
from perfmodel.hardware.node import Node
from perfmodel.model.collectives.generation import generation_index
from perfmodel.model.collectives.model import NVLINK_SHARE, fitted
from perfmodel.model.collectives.place import Sockets, port_share
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.link_caveats import NCCL_CONNECTIONS

KERNEL_TCP = "ethernet-tcp"
"""Link kind of transports through the kernel, under which their share is learned."""
RDMA = "roce"
"""Link kind of RDMA on the same ports."""


def narrowest(limits: dict[str, float]) -> float:
    """Return the least of several limits [B/s]."""
    if len(limits) == 1:
        return next(iter(limits.values()))
    rates: dict[str, Any] = {f"{name}_bandwidth": rate for name, rate in limits.items()}
    least: Any = narrowest_bandwidth(**rates)
    return least  # type: ignore[no-any-return]


def fraction(
    link: Link, calibration: Calibration, ceiling: float | None = None, slowdown: float = 1.0
) -> float:
    """Return the share of a link's rate that bulk transfers reach: its own if measured, else its kind's.

    Transports between nodes that bypass the kernel reach at least the rate of its TCP with the usual
    connections on a port of the same rate, or behind the same uplinks, since TCP is an alternative.  With
    more connections TCP reaches no more than RDMA.

    Parameters
    ----------
    link, calibration : the link, and the learned shares
    ceiling : rate of the kernel's TCP over one adapter [B/s]; by default with the usual connections
    slowdown : of a port by uplinks or by a machine's limit [1]
    """
    if link.achieved_fraction is not None:
        return link.achieved_fraction.value
    known = calibration.link_fraction
    learned = port_share(link)
    own = known.get(link.kind, known["other"]) if learned is None else fitted().parameters[learned]
    most = calibration.tcp_ceiling
    by_usual = ceiling is None or ceiling <= most
    if link.scope != "inter" or (link.passes_kernel and by_usual):
        return own
    rate = link.bandwidth.value
    sent: Any = rate if slowdown == 1 else node_bandwidth(rate, 1, 1.0, slowdown)
    spared = known[RDMA] if link.passes_kernel else own
    share: Any = kernel_spared_fraction(spared, known[KERNEL_TCP], most, sent)
    if link.passes_kernel:
        share = ops.minimum(own, share)
    return share  # type: ignore[no-any-return]


def tcp_ceiling(calibration: Calibration, connections: int, usual: int = NCCL_CONNECTIONS) -> float:
    """Return the largest rate of the kernel's TCP over one adapter [B/s].

    Parameters
    ----------
    calibration : with the rate for the usual connections
    connections, usual : TCP connections between two machines, and the software's default
    """
    if connections == usual:
        return calibration.tcp_ceiling
    exponent = calibration.connections_exponent
    ceiling: Any = kernel_ceiling(calibration.tcp_ceiling, connections, usual, exponent)
    return ceiling  # type: ignore[no-any-return]


def port_limits(
    link: Link,
    calibration: Calibration,
    connections: int,
    usual: int = NCCL_CONNECTIONS,
    slowdown: float = 1.0,
) -> dict[str, float]:
    """Return the bandwidth limits of bulk transfers over one port [B/s], by the names of ``adapter_limits``.

    Parameters as for ``tcp_ceiling`` and ``fraction``.
    """
    ceiling = tcp_ceiling(calibration, connections, usual)
    share = fraction(link, calibration, ceiling, slowdown)
    limits: dict[str, Any] = {"link": achieved_bandwidth(link.bandwidth.value, share)}
    if link.passes_kernel:
        limits["kernel"] = ceiling
    if link.flow_bandwidth is not None:
        limits["connections"] = connections * link.flow_bandwidth.value
    return limits


def bulk_bandwidth(link: Link, calibration: Calibration, connections: int = NCCL_CONNECTIONS) -> float:
    """Return the bandwidth of bulk transfers over one adapter or port [B/s], with the default connections."""
    return narrowest(port_limits(link, calibration, connections, connections))


def sockets_of(node: Node, link: Link | None, calibration: Calibration) -> Sockets | None:
    """Return the link between the processors of a machine: measured, or by its spec; None if unknown."""
    if (own := node.cross_socket_bandwidth) is not None:
        return Sockets(own.value, node.accelerators)
    return None if link is None else Sockets(bulk_bandwidth(link, calibration), node.accelerators)


def _switched_share(link: Link, calibration: Calibration) -> Any:
    """Return the share of a switched link that rings of many ranks reach, of NVLink as collectives do."""
    if link.kind != "nvlink":
        return fraction(link, calibration)
    assumed = given(NVLINK_SHARE[generation_index(link)], "collectives.nvlink_share", "NCCL's assumption")
    return assumed * fitted().parameters["switched"]


def ring_bandwidth(link: Link, group_size: int, calibration: Calibration) -> float:
    """Return the bandwidth of all rings over one link [B/s]; measured ones by the nearest number of ranks."""
    if link.ring_bandwidth is not None:
        by_size = link.ring_bandwidth.by_group_size
        nearest = min(by_size, key=lambda size: (abs(size - group_size), size))
        return by_size[nearest]
    if link.switched:
        pair_loss = ops.minimum(fitted().parameters["pair"], 1.0)
        share, ranks = _switched_share(link, calibration), ops.maximum(group_size, 2)
        rate: Any = switched_ring_bandwidth(link.bandwidth.value, share, pair_loss, ranks)
        return rate  # type: ignore[no-any-return]
    return bulk_bandwidth(link, calibration)
