"""Purchases to try by default: more of the same machines, faster networks, newer machines."""

from __future__ import annotations

from perfmodel.decide.planning.fleets.written import Fleet, Group
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.node import Node
from perfmodel.hardware.other_links import faster_links, rdma_on

MOST = 2
"""Machines that are proposed."""


def proposals(have: Fleet, catalogue: Catalogue) -> list[str]:
    """Return purchases to try, as they may be typed.

    Of the most frequent machine, half as many and as many again.  For owned machines, RDMA on the same ports
    where they use TCP, and the next faster networks of the same type.  Of machines with the next faster
    accelerators, half as many; with as many accelerators each, from the same provider if any, and on a
    network that joins the present one.
    """
    half, every = half_of(have), _most_frequent(have).machines
    same, *faster = machines_to_add(have, catalogue)
    owned = have.machines > 1 and not any(catalogue.node(one.node).rented for one in have.groups)
    own = catalogue.link(have.network) if owned and have.network is not None else None
    links = [] if own is None else [*rdma_on(own, catalogue), *faster_links(own, catalogue)]
    counts = dict.fromkeys((half, every))
    return [*(f"{count} x {same}" for count in counts), *links, *(f"{half} x {node}" for node in faster)]


def half_of(have: Fleet) -> int:
    """Return half the number of the most frequent machine, rounded up."""
    return -(-_most_frequent(have).machines // 2)


def machines_to_add(have: Fleet, catalogue: Catalogue) -> list[str]:
    """Return the most frequent machine, then those with the next faster accelerators, as typed."""
    group = _most_frequent(have)
    network = f"@{have.network}" if have.network and catalogue.node(group.node).inter_link is None else ""
    return [f"{group.name}{network}", *_faster_machines(group, have.network, catalogue)]


def _most_frequent(have: Fleet) -> Group:
    return max(have.groups, key=lambda one: one.machines)


def _faster_machines(group: Group, network: str | None, catalogue: Catalogue) -> list[str]:
    """Return the next faster machines by the peak of their accelerators, one of each peak."""
    offered = {offer.node: offer.provider for offer in catalogue.instances()}
    own, chip = catalogue.node(group.node), catalogue.accelerator(group.accelerator)
    network = network or own.inter_link
    family = None if network is None else catalogue.link(network).family
    faster: dict[float, Node] = {}
    for node in (catalogue.node(id) for id in catalogue.ids("nodes")):
        if node.accelerators != own.accelerators or node.inter_link is None or node.accelerator is None:
            continue
        if offered.get(node.id) != offered.get(group.node):
            continue
        if catalogue.link(node.inter_link).family != family:
            continue
        peak = catalogue.accelerator(node.accelerator).usual_peak
        if peak > 1.01 * chip.usual_peak:
            faster.setdefault(peak, node)
    return [faster[peak].id for peak in sorted(faster)[:MOST]]
