"""Transport of a link between nodes: its own, or the kernel's TCP over the same adapters."""

from __future__ import annotations

from functools import lru_cache

from perfmodel.core.choices import Transport
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.link import Link
from perfmodel.model.setting.link_caveats import LinkIdentity

LIKE_TCP = "ethernet-100g-tcp"
"""Link whose latencies the kernel's TCP has over adapters of any kind."""
FACTS = (
    "kind",
    "hop_latency",
    "bulk_hop_latency",
    "achieved_fraction",
    "direct_from",
    "low_latency",
    "low_latency_from",
    "one_sided",
)
"""Fields of a link that its transport determines."""


def link_over(name: str, transport: Transport, catalogue: Catalogue) -> Link:
    """Return a link between nodes with the facts of a transport over its adapters.

    A library that finds no plug-in for a network uses the kernel's sockets: bytes pass the host's memory, and
    the adapter keeps its rate.

    Parameters
    ----------
    name : of the link
    transport : ``plug-in`` for the link's own transport, ``tcp`` for the kernel's
    catalogue : with the link and ``LIKE_TCP``
    """
    link = catalogue.link(name)
    if transport == "plug-in" or link.passes_kernel:
        return link
    return _over_tcp(LinkIdentity(link), LinkIdentity(catalogue.link(LIKE_TCP)))


@lru_cache(maxsize=256)  # caches of a fabric compare specs by identity
def _over_tcp(own: LinkIdentity, tcp: LinkIdentity) -> Link:
    """Return the adapters of a link with the transport of another."""
    return own.link.model_copy(update={name: getattr(tcp.link, name) for name in FACTS})
