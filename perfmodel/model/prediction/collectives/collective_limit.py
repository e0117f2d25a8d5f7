"""What binds a collective between nodes other than its link, found by lifting it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from perfmodel.equations.collective_bandwidths import decayed_bandwidth
from perfmodel.hardware.link import Link
from perfmodel.model.collectives.model import fitted, kernel_bandwidth
from perfmodel.model.collectives.place import Point, kernel_growth, place_of
from perfmodel.model.fitted.calibration import before_fit
from perfmodel.model.prediction.limits import cap_words, connections_words, kernel_words, with_remedy
from perfmodel.model.step.ports import tcp_ceiling

BETWEEN_NODES = 1.25
"""A collective waits for its adapters where twice as many would make it as many times as fast, or more."""
FELT = 1.01
"""A limit of theirs binds where it would be as many times as fast without it."""
NO_LIMIT = 10**6
"""Connections by which neither the kernel nor a provider binds."""
TCP_YEARS = "collectives of 2024"
"""From which the kernel's TCP is learned."""
TEXTBOOK_TCP_YEARS = "runs of 2020"
"""The same of algorithms that no library runs."""


def network_limit(
    point: Point, time: float, by_library: bool, time_of: Callable[[Point], float]
) -> str | None:
    """Return what binds, and what would lift it, in words; None where the link itself does, or no network.

    Parameters
    ----------
    point : where the ranks lie
    time : of the collective there [s]
    by_library : whether by the model fitted to measured collectives
    time_of : of the same collective at another point [s]
    """
    link = point.inter_link
    if point.nodes == 1 or link is None:
        return None

    def gain(**more: Any) -> float:
        return time / time_of(point._replace(**more))

    if gain(nics=2 * point.nics) < BETWEEN_NODES:
        return None
    if (link.passes_kernel or link.flow_bandwidth is not None) and gain(connections=NO_LIMIT) > FELT:
        years = TCP_YEARS if by_library else TEXTBOOK_TCP_YEARS
        return connections_limit(link, point.connections, _kernel_rate(point, by_library), years)
    return None if point.capped_by is None else with_remedy(cap_words(point.capped_by), "machine")


def connections_limit(link: Link, connections: int, rate: float, years: str = TCP_YEARS) -> str:
    """Return which limit of connections binds, the kernel's or a provider's, and what would lift it.

    Parameters
    ----------
    link, connections : between two nodes
    rate : over one adapter by the kernel's TCP [B/s]
    years : what that is known from
    """
    if flow_binds(link, connections):
        return with_remedy(connections_words(connections), "connections")
    return with_remedy(kernel_words(rate, connections, years), "kernel")


def flow_binds(link: Link, connections: int) -> bool:
    """Whether a provider lets connections carry less than their link and the kernel would."""
    if link.flow_bandwidth is None:
        return False
    ceiling = fitted().parameters["tcp_ceiling"] * kernel_growth(connections)
    return connections * link.flow_bandwidth.value < min(link.bandwidth.value, ceiling)


def _kernel_rate(point: Point, by_library: bool) -> float:
    """What the kernel's TCP carries over one adapter between so many nodes [B/s]."""
    if not by_library:
        return tcp_ceiling(before_fit(), point.connections)
    at, learned = place_of(point), fitted().parameters
    rate: Any = decayed_bandwidth(
        kernel_bandwidth(at, learned, at.kernel_growth), learned["decay"], point.nodes
    )
    return rate  # type: ignore[no-any-return]
