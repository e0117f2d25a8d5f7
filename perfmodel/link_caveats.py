"""What is wrong or doubtful about the links of a job: unknown, out of place, not the machine's own."""

from __future__ import annotations

from perfmodel.errors import InputError
from perfmodel.specs.accelerator import Accelerator
from perfmodel.specs.link import Link
from perfmodel.specs.node import Node
from perfmodel.units import show

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
        raise InputError(
            f"{accelerator.id} has no usual machine, and this needs the network between several: give "
            f"--node ({GENERIC_NODE} takes any accelerator), or usual_node in a spec of your own"
        )
    if between is None and node.inter_link is None:
        raise InputError(
            f"{node.id} holds {node.accelerators}, and its network to further machines is unknown: "
            "give --inter-link, e.g. ib-hdr-200g"
        )


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
            raise InputError(
                f"--{option} {link.id}: joins the processors of a node, whose spec names it as socket_link"
            )
    if intra is not None and intra.scope == "inter":
        warnings.append(f"{intra.id} is a link between nodes; taken inside one as it is")
    if inter is not None and inter.scope == "intra":
        warnings.append(f"{inter.id} is a link inside a node; taken between nodes as it is")


def doubt_adapters(node: Node, link: Link, nics: int, warnings: list[str]) -> None:
    """Note how a machine's network limit applies to other adapters than its own."""
    limit = node.network_bandwidth
    if limit is None:
        return
    if link.id != node.inter_link:
        if limit.value >= nics * link.bandwidth.value:
            return
        what = f"its own {node.inter_link}; {link.id} is taken without that limit"
    elif nics > (node.nics or 1):
        what = f"all its adapters; {nics} of them carry no more"
    else:
        return
    warnings.append(f"{node.id} may send {show(limit.value, 'B/s')} over {what}")


def check_racks(oversubscription: float, rack_nodes: int | None) -> float:
    """Return the oversubscription, where it is one that racks may have.

    Raises
    ------
    InputError : out of range; above 1 without the nodes of a rack
    """
    if not 1 <= oversubscription <= LARGEST_OVERSUBSCRIPTION:
        raise InputError(f"--oversubscription {oversubscription:g}: expected 1 to 1,000, e.g. 4")
    if oversubscription > 1 and rack_nodes is None:
        raise InputError("--oversubscription needs --rack-nodes, the nodes under one switch")
    return oversubscription
