"""The network limit of a collective between nodes, other than its link, identified by removing limits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perfmodel.equations.collective_bandwidths import decayed_bandwidth
from perfmodel.hardware.link import Link
from perfmodel.model.collectives.model import fitted, kernel_bandwidth
from perfmodel.model.collectives.place import Point, kernel_growth, place_of
from perfmodel.model.fitted.calibration import before_fit
from perfmodel.model.prediction.limits import (
    LIFTED_BY,
    cap_words,
    connections_words,
    kernel_words,
    with_remedy,
)
from perfmodel.model.step.ports import tcp_ceiling

BETWEEN_NODES = 1.25
"""Least speed-up by twice the adapters for which adapters are the limit."""
BINDS = 1.01
"""Least speed-up without a limit for which that limit binds."""
UNLIMITED_CONNECTIONS = 10**6
"""Number of connections for which neither the kernel nor a provider is the limit."""
TCP_YEARS = "collectives of 2024"
"""Measurements from which the kernel's TCP is learned."""
TEXTBOOK_TCP_YEARS = "runs of 2020"
"""The same for textbook algorithms."""


def network_limit(
    point: Point, time: float, by_library: bool, time_of: Callable[[Point], float]
) -> str | None:
    """Return the limit of a collective and its remedy, as text; None if the link or no network is the limit.

    Parameters
    ----------
    point : placement of the ranks
    time : of the collective [s]
    by_library : whether the time is from the model fitted to measured collectives
    time_of : returns the time of the same collective at another point [s]
    """
    link = point.inter_link
    if point.nodes == 1 or link is None:
        return None

    def gain(**more: Any) -> float:
        return time / time_of(point._replace(**more))

    if gain(nics=2 * point.nics) < BETWEEN_NODES:
        return None
    if (link.passes_kernel or link.flow_bandwidth is not None) and gain(
        connections=UNLIMITED_CONNECTIONS
    ) > BINDS:
        years = TCP_YEARS if by_library else TEXTBOOK_TCP_YEARS
        return connections_limit(link, point.connections, _kernel_rate(point, by_library), years)
    return None if point.capped_by is None else with_remedy(cap_words(point.capped_by), LIFTED_BY["machine"])


def connections_limit(link: Link, connections: int, rate: float, years: str = TCP_YEARS) -> str:
    """Return the limit of connections, the kernel's or a provider's, and its remedy, as text.

    Parameters
    ----------
    link, connections : between two nodes
    rate : over one adapter by the kernel's TCP [B/s]
    years : measurements that the rate is learned from
    """
    if flow_binds(link, connections):
        return with_remedy(connections_words(connections), LIFTED_BY["connections"])
    return with_remedy(kernel_words(rate, connections, years), LIFTED_BY["kernel"])


def flow_binds(link: Link, connections: int) -> bool:
    """Return whether a provider's limit on connections is below those of the link and the kernel."""
    if link.flow_bandwidth is None:
        return False
    ceiling = fitted().parameters["tcp_ceiling"] * kernel_growth(connections)
    return connections * link.flow_bandwidth.value < min(link.bandwidth.value, ceiling)


def _kernel_rate(point: Point, by_library: bool) -> float:
    """Return the rate of the kernel's TCP over one adapter between the point's nodes [B/s]."""
    if not by_library:
        return tcp_ceiling(before_fit(), point.connections)
    at, learned = place_of(point), fitted().parameters
    rate: Any = decayed_bandwidth(
        kernel_bandwidth(at, learned, at.kernel_growth), learned["decay"], point.nodes
    )
    return rate  # type: ignore[no-any-return]
