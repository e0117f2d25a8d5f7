"""Where the ranks of a collective lie: what is said of it, and what their machine has of the rest."""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.collectives.place import Point
from perfmodel.errors import InputError
from perfmodel.resolve import DEFAULT_ACCELERATOR, DEFAULT_INTER_LINK, GENERIC_NODE
from perfmodel.specs.accelerator import Accelerator
from perfmodel.specs.link import Link
from perfmodel.specs.node import Node
from perfmodel.specs.store import Catalogue


class CollectiveFabric(NamedTuple):
    """Where the ranks lie and what joins them."""

    group_size: int
    nodes: int
    link: Link
    inter_link: Link | None
    nics: int
    accelerator: Accelerator | None = None
    """None: any of the link's time."""
    host_link: Link | None = None
    """From an accelerator to its host and its adapter; None: that of the link's time."""
    notes: tuple[str, ...] = ()
    """What was taken where nothing was said."""

    @property
    def per_node(self) -> int:
        """Ranks in each node."""
        return self.group_size // self.nodes

    def point(self, collective: str, message_bytes: float) -> Point:
        """Return a collective of these ranks."""
        return Point(
            collective,
            self.group_size,
            self.nodes,
            message_bytes,
            self.link,
            self.inter_link,
            self.nics,
            self.accelerator,
            self.host_link,
        )


class _Machine(NamedTuple):
    """What the ranks run on, as far as it is said or follows."""

    node: Node | None
    accelerator: Accelerator | None
    host_link: str | None
    notes: tuple[str, ...]


def fabric_of(
    ranks: int,
    catalogue: Catalogue,
    *,
    accelerator: str | None = None,
    node: str | None = None,
    intra_link: str | None = None,
    inter_link: str | None = None,
    nodes: int | None = None,
    nics: int | None = None,
) -> CollectiveFabric:
    """Return the fabric that ranks lie on: what a machine has, where one is named, and what is said of it.

    Parameters
    ----------
    ranks : in all
    catalogue : hardware that is named
    accelerator : of each rank; by default what is sold in the machine
    node : machine the ranks lie on, which fill one after the other; by default the accelerator's usual one
    intra_link, inter_link, nics : instead of the machine's; without a machine, the first is needed unless
        each node holds one rank
    nodes : by default as many as the ranks fill, or without a machine one for eight ranks where there is a
        link between nodes, else one

    Raises
    ------
    InputError : an unknown name; ranks that do not spread evenly; no link where one is needed
    """
    on = _machine(catalogue, accelerator, node)
    machine = on.node
    nodes = nodes or _nodes(ranks, machine, inter_link)
    if machine is not None and ranks > nodes * machine.accelerators:
        raise InputError(f"{ranks} ranks do not fit {nodes} x {machine.id} of {machine.accelerators}")
    if ranks % nodes:
        raise InputError(f"{ranks} ranks do not spread evenly over {nodes} nodes")
    inside = intra_link or _inner_link(on, catalogue, alone=ranks == nodes)
    own = None if machine is None or nodes == 1 else machine.inter_link or DEFAULT_INTER_LINK
    between = inter_link or own
    link = catalogue.link(between) if between is not None else None
    has_adapters = machine is not None and machine.nics is not None
    adapters = nics or (machine.nics if machine is not None else None) or 1
    if machine is not None and link is not None and link.id == machine.inter_link:
        link = _limited(link, machine, adapters)
    taken = [
        (f"--intra-link {inside}", intra_link is None, on.host_link is not None or ranks != nodes),
        (f"--inter-link {own}", own is not None and inter_link is None, machine and machine.inter_link),
        (f"--nics {adapters}", nodes > 1 and nics is None, has_adapters),
    ]
    of_machine = [option for option, is_taken, is_its_own in taken if is_taken and is_its_own]
    of_any = [option for option, is_taken, is_its_own in taken if is_taken and not is_its_own]
    notes = list(on.notes)
    if of_machine and machine is not None:
        notes.append(f"taken: {', '.join(of_machine)}, as {machine.id} has")
    if of_any:
        notes.append(f"taken: {', '.join(of_any)}, by default")
    host_link = catalogue.link(on.host_link) if on.host_link is not None else None
    inner = catalogue.link(inside)
    return CollectiveFabric(ranks, nodes, inner, link, adapters, on.accelerator, host_link, tuple(notes))


def _machine(catalogue: Catalogue, accelerator: str | None, node: str | None) -> _Machine:
    if accelerator is None and node is None:
        return _Machine(None, None, None, ())
    machine = catalogue.node(node) if node is not None else None
    name = accelerator or (machine.accelerator if machine is not None else None)
    chip = catalogue.accelerator(name) if name is not None else None
    name = chip.id if chip is not None else None
    notes: list[str] = []
    if machine is None:
        usual = chip.usual_node if chip is not None else None
        machine = catalogue.node(usual or GENERIC_NODE)
        whose = f"the usual machine of {name}" if usual else "a machine for any accelerator"
        notes.append(f"taken: --node {machine.id}, {whose}")
    elif chip is not None and machine.accelerator not in (None, chip.id):
        notes.append(f"{machine.id} is sold with {machine.accelerator}; predicted with {chip.id} in it")
    host_link = machine.host_link or (chip.host_link if chip is not None else None)
    return _Machine(machine, chip, host_link, tuple(notes))


def _nodes(ranks: int, machine: Node | None, inter_link: str | None) -> int:
    if machine is not None:
        return -(-ranks // machine.accelerators)
    return max(1, ranks // 8) if inter_link else 1


def _inner_link(on: _Machine, catalogue: Catalogue, alone: bool) -> str:
    """Name the link between the ranks of a node; of one alone in its node, the one to its adapter."""
    if alone:
        return on.host_link or catalogue.accelerator(DEFAULT_ACCELERATOR).host_link
    if on.node is None:
        raise InputError("give --accelerator, --node, or --intra-link, the link between the ranks of a node")
    if on.node.intra_link is not None:
        return on.node.intra_link
    if on.accelerator is None:
        raise InputError(f"{on.node.id} takes any accelerator: give --accelerator or --intra-link")
    return on.accelerator.peer_link or on.accelerator.host_link


def _limited(link: Link, machine: Node, nics: int) -> Link:
    """An adapter's share of what a provider lets the whole machine send, where its port could do more."""
    limit = machine.network_bandwidth
    if limit is None or limit.value >= nics * link.bandwidth.value:
        return link
    return link.model_copy(update={"bandwidth": limit.model_copy(update={"value": limit.value / nics})})
