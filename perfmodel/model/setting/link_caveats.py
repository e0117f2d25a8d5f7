"""What is wrong or doubtful about the links of a job, and what a machine lets its adapters send."""

from __future__ import annotations

from typing import Any

from perfmodel.core import ops
from perfmodel.core.errors import refusal
from perfmodel.core.tracing.tracing import remembered
from perfmodel.core.units import show
from perfmodel.equations.link_rates import node_bandwidth
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.link import Link
from perfmodel.hardware.node import Node

NCCL_CONNECTIONS = 16
"""Two threads of eight connections, where NCCL finds an adapter of AWS.  In most containers, whose network
is a virtual one, it finds none and opens one."""
GENERIC_NODE = "pcie-workstation-8gpu"
"""The machine that accelerators without a usual one are taken to lie in, as long as no network matters."""
LARGEST_OVERSUBSCRIPTION = 1000


def require_network(node: Node, between: str | None, accelerator: Accelerator | None) -> None:
    """Refuse to send bytes between machines of which nobody says what joins them.

    Parameters
    ----------
    node : the machine that accelerators lie on
    between : the link between machines, if a job names one
    accelerator : the one whose usual machine was taken; None where a machine was named

    Raises
    ------
    InputError : no machine was named and none is usual, or nobody knows its network
    """
    if accelerator is not None and accelerator.usual_node is None:
        raise refusal(
            "machine.no_usual", "accelerator", accelerator=accelerator.id, generic_node=GENERIC_NODE
        )
    if between is None and node.inter_link is None:
        raise refusal("machine.no_network", node=node.id, accelerators=node.accelerators)


def doubt_links(intra: Link | None, inter: Link | None, warnings: list[str]) -> None:
    """Warn if a link that was asked for is used in a place it is not made for.

    Parameters
    ----------
    intra, inter : asked for inside a node and between nodes, if they were
    warnings : to which is added

    Raises
    ------
    InputError : a link that joins processors
    """
    for option, link in (("intra-link", intra), ("inter-link", inter)):
        if link is not None and link.scope == "socket":
            raise refusal("machine.socket_link", option, link=link.id)
    if intra is not None and intra.scope == "inter":
        warnings.append(f"{intra.id} is a link between nodes; taken inside one as it is")
    if inter is not None and inter.scope == "intra":
        warnings.append(f"{inter.id} is a link inside a node; taken between nodes as it is")


def network_cap(node: Node, link: Link, nics: int, keeps: bool = True) -> float | None:
    """Return what all adapters of a machine may send together [B/s]; None where nothing limits it.

    A provider limits the instance: over any link, and any number of adapters.  The limit of a machine of
    one's own is that of its own adapters, and more of them have more of it; others are not known to have one.

    Parameters
    ----------
    node, link, nics : the machine, what its adapters are of, and how many it has
    keeps : whether its limit holds, the option ``network_cap``
    """
    limit = node.network_bandwidth
    if limit is None or not keeps or not (node.rented or link.id == node.inter_link):
        return None
    if node.rented or nics <= (own := node.nics or 1):
        return limit.value
    grown: Any = node_bandwidth(limit.value, nics / own, 1.0, 1.0)
    return grown  # type: ignore[no-any-return]


def capped(link: Link, node: Node, nics: int, keeps: bool = True) -> Link:
    """Return an adapter with its share of what the machine may send, where its port could do more."""
    limit = network_cap(node, link, nics, keeps)
    if limit is None:
        return link
    rate = ops.minimum(link.bandwidth.value, limit / nics)
    return link if rate is link.bandwidth.value else _with_bandwidth(_Same(link), rate)


def lone_bandwidth(link: Link, node: Node, nics: int, keeps: bool = True) -> Any:
    """Return what one adapter carries while the others of its machine are idle [B/s]."""
    limit = network_cap(node, link, nics, keeps)
    return link.bandwidth.value if limit is None else ops.minimum(limit, link.bandwidth.value)


class _Same:
    """A link, equal to itself alone: two may have one id and differ."""

    def __init__(self, link: Link) -> None:
        self.link = link

    def __hash__(self) -> int:
        return id(self.link)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.link is self.link


@remembered(maxsize=256)  # what is kept of a fabric knows it by its specs themselves
def _with_bandwidth(same: _Same, rate: Any) -> Link:
    link = same.link
    return link.model_copy(update={"bandwidth": link.bandwidth.model_copy(update={"value": rate})})


def doubt_adapters(node: Node, link: Link, nics: int, keeps: bool, warnings: list[str]) -> None:
    """Note how a machine's network limit applies to other adapters than its own, or to none.

    Parameters
    ----------
    node, link, nics, keeps : the machine and its adapters, as for ``network_cap``
    warnings : to which is added
    """
    limit = node.network_bandwidth
    cap = network_cap(node, link, nics, keeps)
    if limit is None or (cap or limit.value) >= nics * link.bandwidth.value:
        return
    if link.id != node.inter_link and node.rented and cap is not None:
        what = f"over any link, {link.id} too: --no-network-cap predicts it without that limit"
    elif link.id != node.inter_link and keeps:
        what = f"over its own {node.inter_link}; {link.id} is taken without that limit"
    elif cap is None:
        what = "and is predicted without that limit (--no-network-cap)"
    elif nics > (node.nics or 1):
        what = f"over all its adapters; {nics} of them carry no more"
    else:
        return
    warnings.append(f"{node.id} may send {show(cap or limit.value, 'B/s')} {what}")


def cap_note(node: Node, link: Link, nics: int, keeps: bool = True) -> str | None:
    """Say that a machine may send less than its adapters could; None where it may send as much.

    Takes what ``capped`` takes.
    """
    cap = network_cap(node, link, nics, keeps)
    if cap is None or capped(link, node, nics, keeps) is link:
        return None
    limit = show(cap, "B/s")
    over = "any link" if node.rented else f"its own {node.inter_link}"
    return f"{node.id} may send {limit} over {over}: --no-network-cap predicts without that limit"


def check_racks(oversubscription: float, rack_nodes: int | None) -> float:
    """Return the oversubscription, where it is one that racks may have.

    Raises
    ------
    InputError : out of range; above 1 without the nodes of a rack
    """
    if not 1 <= oversubscription <= LARGEST_OVERSUBSCRIPTION:
        raise refusal("racks.oversubscription", oversubscription=oversubscription)
    if oversubscription > 1 and rack_nodes is None:
        raise refusal("racks.missing")
    return oversubscription
