"""Where the ranks of a collective lie: what is said of it, and what their machine has of the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from perfmodel.collectives.place import Point, joined
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
    """Groups of ranks that ``link`` joins: machines, or NVLink domains of several."""
    link: Link
    inter_link: Link | None
    nics: int
    """Adapters of each of these groups."""
    accelerator: Accelerator | None = None
    """None: any of the link's time."""
    host_link: Link | None = None
    """From an accelerator to its host and its adapter; None: that of the link's time."""
    notes: tuple[str, ...] = ()
    """What was taken where nothing was said."""
    machines: int = 0
    """That the ranks lie on, where they are more than ``nodes``."""

    @property
    def per_node(self) -> int:
        """Ranks in the fullest node or NVLink domain."""
        return -(-self.group_size // self.nodes)

    @property
    def hosts(self) -> int:
        """Machines that the ranks lie on."""
        return self.machines or self.nodes

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
            machines=self.machines,
        )


class _Taken(NamedTuple):
    """What stands in for something that nobody said."""

    value: str
    owner: str | None
    """The spec that it is a fact of; None: a default."""


class _Machine(NamedTuple):
    """What the ranks run on, as far as it is said or follows."""

    node: Node | None
    accelerator: Accelerator | None
    host_link: _Taken | None
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
    inside = None if intra_link is not None else _inner_link(on, catalogue, alone=ranks == nodes)
    link = catalogue.link(intra_link or inside.value)  # type: ignore[union-attr]
    of_node = _Taken(str(machine.nics), machine.id) if machine and machine.nics else _Taken("1", None)
    held = machine.accelerators if machine is not None else ranks // nodes
    groups, adapters = joined(link, nodes, held, nics or int(of_node.value))
    between = None if groups == 1 or inter_link is not None else _outer_link(machine)
    outer = catalogue.link(inter_link or between.value) if inter_link or between else None  # type: ignore[union-attr]
    if machine is not None and outer is not None and outer.id == machine.inter_link:
        outer = _limited(outer, machine, nics or int(of_node.value))
    taken = {"intra-link": inside, "inter-link": between}
    if groups > 1 and nics is None:
        taken["nics"] = of_node
    notes = [*on.notes, *_said(taken)]
    if groups < nodes:
        domains = "one NVLink domain" if groups == 1 else f"{groups} NVLink domains"
        notes.append(f"taken: {nodes} nodes as {domains}, as {link.id} joins {link.domain.value:g} ranks")  # type: ignore[union-attr]
    host_link = catalogue.link(on.host_link.value) if on.host_link is not None else None
    return CollectiveFabric(
        ranks, groups, link, outer, adapters, on.accelerator, host_link, tuple(notes), nodes
    )


def _said(taken: Mapping[str, _Taken | None]) -> list[str]:
    """Say what was taken, and whose it is."""
    of: dict[str | None, list[str]] = {}
    for option, each in taken.items():
        if each is not None:
            of.setdefault(each.owner, []).append(f"--{option} {each.value}")
    return [
        f"taken: {', '.join(options)}, {f'as {owner} has' if owner else 'by default'}"
        for owner, options in of.items()
    ]


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
    host_link = None
    if machine.host_link is not None:
        host_link = _Taken(machine.host_link, machine.id)
    elif chip is not None:
        host_link = _Taken(chip.host_link, chip.id)
    return _Machine(machine, chip, host_link, tuple(notes))


def _nodes(ranks: int, machine: Node | None, inter_link: str | None) -> int:
    if machine is not None:
        return -(-ranks // machine.accelerators)
    return max(1, ranks // 8) if inter_link else 1


def _inner_link(on: _Machine, catalogue: Catalogue, alone: bool) -> _Taken:
    """Name the link between the ranks of a node; of one alone in its node, the one to its adapter."""
    own, chip = None, on.accelerator
    if on.node is not None and on.node.intra_link is not None:
        own = _Taken(on.node.intra_link, on.node.id)
    elif chip is not None:
        own = _Taken(chip.peer_link or chip.host_link, chip.id)
    if alone and (own is None or catalogue.link(own.value).domain is None):
        return on.host_link or _Taken(catalogue.accelerator(DEFAULT_ACCELERATOR).host_link, None)
    if own is not None:
        return own
    if on.node is None:
        raise InputError("give --accelerator, --node, or --intra-link, the link between the ranks of a node")
    raise InputError(f"{on.node.id} takes any accelerator: give --accelerator or --intra-link")


def _outer_link(machine: Node | None) -> _Taken | None:
    """Name the link between machines; None where no machine is known."""
    if machine is None:
        return None
    if machine.inter_link is None:
        return _Taken(DEFAULT_INTER_LINK, None)
    return _Taken(machine.inter_link, machine.id)


def _limited(link: Link, machine: Node, nics: int) -> Link:
    """An adapter's share of what a provider lets the whole machine send, where its port could do more."""
    limit = machine.network_bandwidth
    if limit is None or limit.value >= nics * link.bandwidth.value:
        return link
    return link.model_copy(update={"bandwidth": limit.model_copy(update={"value": limit.value / nics})})
