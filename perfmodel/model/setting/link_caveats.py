"""Errors and warnings about the links of a job, and the network limit of a machine."""

from __future__ import annotations

from typing import Any

from perfmodel.core import ops
from perfmodel.core.errors import InputError, refusal
from perfmodel.core.problem import Note, default
from perfmodel.core.tracing.tracing import remembered
from perfmodel.core.units import show
from perfmodel.equations.link_rates import node_bandwidth, useful_connections
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.link import Link
from perfmodel.hardware.machine_words import accelerator_words, link_words, node_words
from perfmodel.hardware.node import Node
from perfmodel.model.options.scenario import Scenario

NCCL_CONNECTIONS = 16
"""NCCL opens two threads of eight connections if it finds an adapter of AWS.  In most containers, with a
virtual network, it finds none and opens one connection."""
GENERIC_NODE = "pcie-workstation-8gpu"
"""Default machine of accelerators without a usual one, for jobs in one machine."""
PART_OF = " (of "
"""How the default of --nics goes on where it is a part of a machine's adapters."""
LARGEST_OVERSUBSCRIPTION = 1000


def require_network(node: Node, between: str | None, accelerator: Accelerator | None) -> None:
    """Refuse a job over several machines whose network is unknown.

    Parameters
    ----------
    node : the machine of the accelerators
    between : the link between machines, if a job names one
    accelerator : whose usual machine was taken by default; None if the scenario names a machine

    Raises
    ------
    InputError : no machine is named and the accelerator has no usual one, or its network is unknown
    """
    if accelerator is not None and accelerator.usual_node is None:
        raise without_machine("machine.no_usual", accelerator, node)
    if between is None and node.inter_link is None:
        raise refusal("machine.no_network", node=node.id, accelerators=node.accelerators)


def without_machine(code: str, accelerator: Accelerator, node: Node) -> InputError:
    """Return the refusal of an accelerator whose usual machine nobody knows.

    Parameters
    ----------
    code : of the problem
    node : a machine that takes any accelerator
    """
    called, machine = accelerator_words(accelerator), node_words(node)
    return refusal(
        code, "accelerator", accelerator=accelerator.id, called=called, node=node.id, machine=machine
    )


def note_adapters(
    scenario: Scenario,
    node: Node,
    nics: int,
    catalogue: Catalogue,
    taken: list[Note],
    warnings: list[str],
) -> None:
    """Note the number of adapters that was taken by default, where their machine does not say it.

    Parameters
    ----------
    scenario : the job
    node, nics : the machine and the adapters that are used of each
    catalogue : where another machine is looked up
    taken, warnings : lists to which the default, and a machine that may be meant, are added
    """
    held = scenario.accelerators_per_node
    if scenario.nics is not None:
        return
    if nics == (node.nics or 1):
        if scenario.inter_link is not None:  # else they come with the node's own link, which is named
            taken.append(default("nics", nics))
        return
    taken.append(default("nics", nics, part_of(node, int(held or 1))))
    server = None if scenario.node is not None or held is None else _server_of(held, catalogue)
    if server is not None:
        warnings.append(
            f"{held} of the {node.accelerators} GPUs of each {node_words(node)}, the usual machine, take "
            f"part; for servers of {held}, e.g. --node {server}"
        )


def part_of(node: Node, held: int) -> str:
    """Return the remark on a number of adapters that ``held`` accelerators of a node use, of its own."""
    return f"{PART_OF}{node.nics}, for {held} of {node.accelerators} GPUs)"


def _server_of(accelerators: int, catalogue: Catalogue) -> str | None:
    """Return the id of a machine below the generic one with so many accelerators of any type on PCIe."""
    if accelerators >= catalogue.node(GENERIC_NODE).accelerators:
        return None
    nodes = map(catalogue.node, catalogue.ids("nodes"))
    of_any = (node for node in nodes if node.accelerator is None and node.intra_link is None)
    return next((node.id for node in of_any if node.accelerators == accelerators), None)


def warn_of_misplaced_links(intra: Link | None, inter: Link | None, warnings: list[str]) -> None:
    """Warn of a link inside a node used between nodes, or the reverse.

    Parameters
    ----------
    intra, inter : links that the scenario names inside a node and between nodes; None for defaults
    warnings : list to which warnings are added

    Raises
    ------
    InputError : a link that joins processors
    """
    for option, link in (("intra-link", intra), ("inter-link", inter)):
        if link is not None and link.scope == "socket":
            raise refusal("machine.socket_link", option, link=link.id)
    if intra is not None and intra.scope == "inter":
        warnings.append(f"{link_words(intra)} is a link between nodes; taken inside one as it is")
    if inter is not None and inter.scope == "intra":
        warnings.append(f"{link_words(inter)} is a link inside a node; taken between nodes as it is")


def network_cap(node: Node, link: Link, nics: int, keeps: bool = True) -> float | None:
    """Return the network limit of a machine over all its adapters [B/s]; None without a limit.

    A provider limits a rented machine over any link and any number of adapters.  The limit of a user's own
    machine is that of its own adapters, and grows with more of them; other links have no known limit.

    Parameters
    ----------
    node, link, nics : the machine, the link of its adapters, and their number
    keeps : whether the limit applies, the option ``network_cap``
    """
    limit = node.network_bandwidth
    if limit is None or not keeps or not (node.rented or link.id == node.inter_link):
        return None
    if node.rented or nics <= (own := node.nics or 1):
        return limit.value
    grown: Any = node_bandwidth(limit.value, nics / own, 1.0, 1.0)
    return grown  # type: ignore[no-any-return]


def capped(link: Link, node: Node, nics: int, keeps: bool = True) -> Link:
    """Return a link with its bandwidth reduced to the adapter's share of the machine's network limit."""
    limit = network_cap(node, link, nics, keeps)
    if limit is None:
        return link
    rate = ops.minimum(link.bandwidth.value, limit / nics)
    return link if rate is link.bandwidth.value else _with_bandwidth(LinkIdentity(link), rate)


def lone_bandwidth(link: Link, node: Node, nics: int, keeps: bool = True) -> Any:
    """Return the bandwidth of one adapter while the other adapters of its machine are idle [B/s]."""
    limit = network_cap(node, link, nics, keeps)
    return link.bandwidth.value if limit is None else ops.minimum(limit, link.bandwidth.value)


def connections_served(connections: int, usual: int, node: Node, nics: int, warnings: list[str]) -> int:
    """Return the TCP connections over one adapter that a machine's cores serve; the usual ones always.

    Parameters
    ----------
    connections, usual : stated, and the software's default
    node, nics : the machine and its adapters
    warnings : list to which a warning of fewer connections is added
    """
    if node.vcpus is None:
        return connections
    served = int(useful_connections(connections, usual, node.cores, nics))
    if served < connections:
        warnings.append(
            f"{node_words(node)} has {node.cores} cores: {served} connections over each of {nics} adapters "
            f"count, not {connections}"
        )
    return served


class LinkIdentity:
    """A hashable link, equal only to the key object: links of one id may differ."""

    def __init__(self, link: Link) -> None:
        self.link = link

    def __hash__(self) -> int:
        return id(self.link)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LinkIdentity) and other.link is self.link


@remembered(maxsize=256)  # caches of a fabric compare specs by identity
def _with_bandwidth(key: LinkIdentity, rate: Any) -> Link:
    """Return a link with another bandwidth [B/s], cached by the identity of the link."""
    link = key.link
    return link.model_copy(update={"bandwidth": link.bandwidth.model_copy(update={"value": rate})})


def warn_of_network_limit(node: Node, link: Link, nics: int, keeps: bool, warnings: list[str]) -> None:
    """Warn how a machine's network limit applies to adapters other than its own.

    Parameters
    ----------
    node, link, nics, keeps : the machine and its adapters, as for ``network_cap``
    warnings : list to which warnings are added
    """
    limit = node.network_bandwidth
    cap = network_cap(node, link, nics, keeps)
    if limit is None or (cap or limit.value) >= nics * link.bandwidth.value:
        return
    if link.id != node.inter_link and node.rented and cap is not None:
        what = f"over any link, {link_words(link)} too: --no-network-cap predicts it without that limit"
    elif link.id != node.inter_link and keeps:
        what = f"over its own network; {link_words(link)} is taken without that limit"
    elif cap is None:
        what = "and is predicted without that limit (--no-network-cap)"
    elif nics > (node.nics or 1):
        what = f"over all its adapters; {nics} of them carry no more"
    else:
        return
    warnings.append(f"{node_words(node)} may send {show(cap or limit.value, 'B/s')} {what}")


def cap_note(node: Node, link: Link, nics: int, keeps: bool = True) -> str | None:
    """Return a note that a machine's network limit is below its adapters' rate; None if it is not.

    Parameters as for ``capped``.
    """
    cap = network_cap(node, link, nics, keeps)
    if cap is None or capped(link, node, nics, keeps) is link:
        return None
    limit = show(cap, "B/s")
    over = "any link" if node.rented else "its own network"
    return f"{node_words(node)} may send {limit} over {over}: --no-network-cap predicts without that limit"


def check_racks(oversubscription: float, rack_nodes: int | None) -> float:
    """Return the oversubscription of racks after checking it.

    Raises
    ------
    InputError : out of range; above 1 without the nodes of a rack
    """
    if not 1 <= oversubscription <= LARGEST_OVERSUBSCRIPTION:
        raise refusal("racks.oversubscription", oversubscription=oversubscription)
    if oversubscription > 1 and rack_nodes is None:
        raise refusal("racks.missing")
    return oversubscription
