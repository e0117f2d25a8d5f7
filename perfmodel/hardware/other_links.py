"""Links that a network between nodes may be exchanged for: RDMA on the same ports, and faster ones."""

from __future__ import annotations

from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.link import Link

MOST = 2
"""Faster links that are proposed."""
RDMA = ("roce", "rdma")
"""Types of links that use Ethernet ports without the kernel's TCP."""


def rdma_on(own: Link, catalogue: Catalogue) -> list[str]:
    """Return RDMA over Ethernet at the rate of ports that TCP uses; none for other ports."""
    if not own.passes_kernel:
        return []
    links = (catalogue.link(id) for id in catalogue.ids("links"))
    same = [one for one in links if one.kind in RDMA and one.bandwidth.value == own.bandwidth.value]
    return [one.id for one in sorted(same, key=lambda one: RDMA.index(one.kind))][:1]


def faster_links(own: Link, catalogue: Catalogue) -> list[str]:
    """Return the next faster links of the same type and family, one of each bandwidth."""
    faster: dict[float, Link] = {}
    for one in (catalogue.link(id) for id in catalogue.ids("links")):
        alike = (one.scope, one.kind, one.family) == (own.scope, own.kind, own.family)
        if alike and one.bandwidth.value > own.bandwidth.value:
            faster.setdefault(one.bandwidth.value, one)
    return [faster[bandwidth].id for bandwidth in sorted(faster)[:MOST]]
