"""The fabric of a collective: stated options, completed with the links of the ranks' machine."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple, get_args

from perfmodel.core.choices import Placement, Transport
from perfmodel.core.errors import refusal, unknown_name
from perfmodel.core.problem import taken_as
from perfmodel.core.units import show
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.link import Link
from perfmodel.hardware.machine_words import accelerator_words, link_words, node_words
from perfmodel.hardware.node import Node
from perfmodel.hardware.peer_graph import ranks_of
from perfmodel.hardware.placement import adapters_used, domains
from perfmodel.model.collectives.place import Point
from perfmodel.model.collectives.place import inside as rate_inside
from perfmodel.model.collectives.racks import Racks
from perfmodel.model.fitted.calibration import before_fit
from perfmodel.model.setting.accelerator_caveats import in_another_machine, of_announced
from perfmodel.model.setting.link_caveats import (
    GENERIC_NODE,
    capped,
    check_racks,
    connections_served,
    lone_bandwidth,
    part_of,
    require_network,
    warn_of_misplaced_links,
    warn_of_network_limit,
)
from perfmodel.model.setting.resolve import DEFAULT_ACCELERATOR
from perfmodel.model.setting.torus import parse_torus
from perfmodel.model.setting.transport import link_over
from perfmodel.model.step.ports import sockets_of

PLACEMENTS: tuple[Placement, ...] = get_args(Placement)
USUAL_RANKS = 8
"""Ranks of a node if no machine is named."""


class _Choice(NamedTuple):
    """The value of an option, and its origin."""

    value: str
    owner: str | None = None
    """Id of the spec that it comes from; None: stated or a default."""
    is_stated: bool = False
    remark: str = ""
    """What follows the value in a note."""


class _Machine(NamedTuple):
    """Machine and accelerator of the ranks, stated or by default."""

    node: Node | None
    accelerator: Accelerator | None
    host_link: _Choice | None
    notes: tuple[str, ...]


def fabric_of(
    ranks: int,
    catalogue: Catalogue,
    *,
    accelerator: str | None = None,
    node: str | None = None,
    intra_link: str | None = None,
    inter_link: str | None = None,
    transport: Transport = "plug-in",
    nodes: int | None = None,
    nics: int | None = None,
    connections: int | None = None,
    network_cap: bool = True,
    rack_nodes: int | None = None,
    oversubscription: float | None = None,
    placement: Placement | None = None,
    torus_dimensions: str | None = None,
) -> Point:
    """Return the fabric of ranks, from the stated options and the machine's specs.

    Parameters
    ----------
    ranks : total number of ranks
    catalogue : of hardware
    accelerator : of each rank; by default the machine's
    node : machine, filled one after the other; by default the accelerator's usual one
    intra_link, inter_link, nics : instead of the machine's; without a machine, the first is required unless
        each node holds one rank
    connections : TCP connections between two nodes; by default NCCL's
    network_cap : whether the network limit of a rented machine applies
    transport : of the link between nodes, as in a scenario
    nodes : by default the number that the ranks fill; without a machine one, or with a link between nodes the
        fewest that hold the ranks evenly, with at most eight in each or as many as the link inside joins
    rack_nodes, oversubscription, placement : of racks, as in a scenario; by default none
    torus_dimensions : of a torus, as in a scenario

    Raises
    ------
    InputError : an unknown name; ranks that do not divide evenly; a required link is missing
    """
    racks = _racks(rack_nodes, oversubscription, placement)
    known = _machine(catalogue, accelerator, node)
    machine = known.node
    taken: dict[str, _Choice | None] = {}
    if nodes is None and machine is not None:
        nodes = -(-ranks // machine.accelerators)
    elif nodes is None:
        nodes = _nodes(ranks, catalogue.link(intra_link) if intra_link else None) if inter_link else 1
        taken["nodes"] = _Choice(str(nodes)) if nodes > 1 else None
    if machine is not None and ranks > nodes * machine.accelerators:
        raise refusal(
            "collective.too_many_ranks",
            "ranks",
            "nodes",
            ranks=ranks,
            nodes=nodes,
            machine=machine.id,
            accelerators=machine.accelerators,
        )
    if ranks % nodes:
        raise refusal("collective.uneven_ranks", "ranks", "nodes", ranks=ranks, nodes=nodes)
    inside = _stated(intra_link) or _inner_link(known, catalogue, alone=ranks == nodes)
    link = catalogue.link(inside.value)
    of_node = _stated(nics) or _adapters(machine, ranks // nodes)
    each = int(of_node.value)
    if machine is None:
        groups = link.domains(nodes, ranks // nodes)
    elif (groups := domains(nodes, machine, link, inter_link)) > 1:
        require_network(machine, inter_link, None if node else known.accelerator)
    adapters = each * (nodes // groups)
    between = _stated(inter_link) or (_outer_link(machine) if groups > 1 else None)
    outer = link_over(between.value, transport, catalogue) if between is not None else None
    own = outer
    if machine is not None and outer is not None:
        outer = capped(outer, machine, each, network_cap)
    hardware = [link] if known.accelerator is None else [known.accelerator, link]
    warnings = of_announced(*hardware)
    if machine is not None and own is not None and groups > 1 and not network_cap:
        warn_of_network_limit(machine, own, each, network_cap, warnings)
    warn_of_misplaced_links(link if intra_link else None, outer if inter_link else None, warnings)
    taken |= {"intra-link": inside, "inter-link": between, "nics": of_node if groups > 1 else None}
    notes = [*known.notes, *warnings, *_notes(taken)]
    capped_by = machine if outer is not own else None
    if capped_by is not None and outer is not None:
        limit = show(each * outer.bandwidth.value, "B/s")
        notes.append(taken_as(f"{limit} of a machine, the network limit of {node_words(capped_by)}"))
    if groups < nodes and link.domain is not None:
        words = f"one {_group_name(nodes)}" if groups == 1 else f"{groups} NVLink domains"
        notes.append(
            taken_as(f"{nodes} nodes as {words}, as {link_words(link)} joins {link.domain.value:g} ranks")
        )
    if racks is not None and racks.oversubscription > 1 and groups > 1:
        notes.append(_of_racks(racks, nodes))
    if groups == 1 and inter_link is not None:
        notes.append(f"--inter-link {inter_link} is not crossed: all ranks lie in one {_group_name(nodes)}")
    host_link = catalogue.link(known.host_link.value) if known.host_link is not None else None
    point = Point(
        ranks,
        groups,
        link,
        outer,
        adapters,
        known.accelerator,
        host_link,
        capped_by=capped_by,
        host_nics=each,
    )
    if machine is not None and own is not None:
        point = point._replace(lone_bandwidth=lone_bandwidth(own, machine, each, network_cap))
    if machine is not None and (crossed := _sockets_crossed(machine, point, catalogue)) is not None:
        point = point._replace(sockets=crossed[0])
        notes.append(taken_as(f"{crossed[1]} between the processors of a node, as {machine.id} has"))
    if connections is not None:
        if machine is not None and groups > 1 and outer is not None and outer.passes_kernel:
            few: list[str] = []
            connections = connections_served(connections, point.connections, machine, each, few)
            notes += few
        point = point._replace(connections=connections)
    elif outer is not None and groups > 1 and (outer.passes_kernel or outer.flow_bandwidth is not None):
        notes.append(taken_as(f"--connections {point.connections}, by default"))
    torus = None if torus_dimensions is None else parse_torus(torus_dimensions)
    return point._replace(notes=tuple(notes), machines=nodes, racks=racks, torus=torus)


def _sockets_crossed(machine: Node, point: Point, catalogue: Catalogue) -> tuple[float, str] | None:
    """Return bandwidth [B/s] and name of the link between processors; None if not crossed or unknown."""
    link = None if machine.socket_link is None else catalogue.link(machine.socket_link)
    sockets = sockets_of(machine, link, before_fit())
    if sockets is None or rate_inside(point)[0] != "pcie" or math.isinf(sockets.limit(point.per_node)):
        return None
    is_own = machine.cross_socket_bandwidth is not None
    return sockets.bandwidth, show(sockets.bandwidth, "B/s") if is_own else str(machine.socket_link)


def _stated(value: object) -> _Choice | None:
    """Return a stated option as a choice; None if it is not stated."""
    return None if value is None else _Choice(str(value), is_stated=True)


def _notes(taken: Mapping[str, _Choice | None]) -> list[str]:
    """Return notes of the defaults taken, by their origin."""
    of: dict[str | None, list[str]] = {}
    for option, each in taken.items():
        if each is not None and not each.is_stated:
            of.setdefault(each.owner, []).append(f"--{option} {each.value}{each.remark}")
    return [
        taken_as(f"{', '.join(options)}, {f'as {owner} has' if owner else 'by default'}")
        for owner, options in of.items()
    ]


def _machine(catalogue: Catalogue, accelerator: str | None, node: str | None) -> _Machine:
    """Return the machine and accelerator of the ranks, from either name, with notes of defaults."""
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
        whose = (
            f"the usual machine of {accelerator_words(chip)}"
            if usual and chip
            else "a machine for any accelerator"
        )
        notes.append(taken_as(f"--node {machine.id}, {whose}"))
    elif chip is not None:
        notes += in_another_machine(machine, chip, catalogue)
    host_link = None
    if machine.host_link is not None:
        host_link = _Choice(machine.host_link, machine.id)
    elif chip is not None:
        host_link = _Choice(chip.host_link, chip.id)
    return _Machine(machine, chip, host_link, tuple(notes))


def _nodes(ranks: int, inside: Link | None) -> int:
    """Return the fewest nodes that hold the ranks evenly, with at most the usual number in each."""
    most = ranks_of(inside.peer_graph if inside is not None else ()) or USUAL_RANKS
    return next(nodes for nodes in range(-(-ranks // most), ranks + 1) if ranks % nodes == 0)


def _racks(
    rack_nodes: int | None, oversubscription: float | None, placement: Placement | None
) -> Racks | None:
    """Return the racks of the stated options; None without any."""
    if placement not in (None, *PLACEMENTS):
        raise unknown_name("placement", str(placement), PLACEMENTS)
    ratio = check_racks(1.0 if oversubscription is None else oversubscription, rack_nodes)
    if rack_nodes is None:
        return None
    return Racks(rack_nodes, ratio, placement or "contiguous")


def _of_racks(racks: Racks, nodes: int) -> str:
    """Return a note on the racks of ``nodes`` nodes and their uplinks."""
    if nodes <= racks.nodes:
        return f"the uplinks of racks are not crossed: {nodes} nodes lie in one rack of {racks.nodes}"
    order = "node after node" if racks.placement == "contiguous" else "in random order"
    return taken_as(
        f"racks of {racks.nodes} nodes, filled {order}; their uplinks carry "
        f"1/{racks.oversubscription:g} of what the nodes could send, on every rail alike"
    )


def _group_name(nodes: int) -> str:
    """Return the name of a group of one or of several nodes."""
    return "node" if nodes == 1 else "NVLink domain"


def _inner_link(known: _Machine, catalogue: Catalogue, alone: bool) -> _Choice:
    """Return the link between the ranks of a node; for a single rank in its node, that to its adapter."""
    own, chip = None, known.accelerator
    if known.node is not None and known.node.intra_link is not None:
        own = _Choice(known.node.intra_link, known.node.id)
    elif chip is not None:
        own = _Choice(chip.peer_link or chip.host_link, chip.id)
    spans_nodes = own is not None and ((link := catalogue.link(own.value)).domain or link.kind == "torus")
    if alone and not spans_nodes:
        return known.host_link or _Choice(catalogue.accelerator(DEFAULT_ACCELERATOR).host_link)
    if own is not None:
        return own
    if known.node is None:
        raise refusal("collective.no_link")
    raise refusal("collective.any_accelerator", node=known.node.id)


def _outer_link(machine: Node | None) -> _Choice | None:
    """Return the link between machines; None without a machine, or if its network is unknown."""
    if machine is None or machine.inter_link is None:
        return None
    return _Choice(machine.inter_link, machine.id)


def _adapters(machine: Node | None, held: int) -> _Choice:
    """Return the adapters that ``held`` accelerators of a machine send over; without a machine 1."""
    if machine is None or machine.nics is None:
        return _Choice("1")
    used = adapters_used(machine, held)
    if used == machine.nics:
        return _Choice(str(used), machine.id)
    return _Choice(str(used), remark=part_of(machine, held))
