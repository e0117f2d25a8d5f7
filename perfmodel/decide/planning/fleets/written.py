"""Fleets as people write them: ``8 x dgx-a100-80gb@ib-hdr-200g``, ``4 x dgx-h100 + ib-ndr-400g``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.units import show
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.setting.named import id_of

MOST_MACHINES = 16_384
_GROUP = re.compile(r"(\d{1,12})\s*(?:[xX×*]\s*|\s+)(\S.*)")
_EXAMPLE = "8 x dgx-a100-80gb@ib-hdr-200g"


class Group(NamedTuple):
    """Machines of one kind."""

    machines: int
    node: str
    """Its id."""
    accelerator: str
    accelerators: int
    """Of one machine."""
    link: str | None
    """Of its own adapters, where that was said."""
    nics: int
    takes_any: bool = False
    """Whether such a machine may hold another accelerator, so that its name alone does not say."""

    @property
    def gpus(self) -> int:
        """Accelerators of all its machines."""
        return self.machines * self.accelerators

    @property
    def kind(self) -> tuple[str, str]:
        """What machines that train alike have in common."""
        return self.node, self.accelerator

    def __str__(self) -> str:
        return f"{self.machines} x {self.name}"

    @property
    def name(self) -> str:
        """Name of a machine, as it is typed."""
        return f"{self.node}/{self.accelerator}" if self.takes_any else self.node


class Addition(NamedTuple):
    """What may be bought: machines, a network for all of them, or both."""

    words: str
    groups: tuple[Group, ...] = ()
    network: str | None = None


class Fleet(NamedTuple):
    """Machines that train one job together."""

    groups: tuple[Group, ...]
    """Each of another kind."""
    network: str | None
    """The link between machines; None where there is one machine without a network."""
    nics: int
    """Adapters of a machine that carry gradients, by the machine that has least of a network."""
    each: tuple[Group, ...] = ()
    """The groups as they were named, with the links of their adapters; what is bought stands last."""

    @property
    def gpus(self) -> int:
        """Accelerators in all."""
        return sum(group.gpus for group in self.groups)

    @property
    def machines(self) -> int:
        """Machines in all."""
        return sum(group.machines for group in self.groups)

    @property
    def adapters(self) -> int:
        """Adapters in all, those of every machine."""
        return sum(group.machines * group.nics for group in self.groups)

    def __str__(self) -> str:
        return " + ".join(map(str, self.groups))


def read_fleet(text: str, catalogue: Catalogue) -> tuple[Group, ...]:
    """Return the machines that somebody has.

    Raises
    ------
    InputError : an unknown machine or link; no number of machines; a link without machines
    """
    addition = read_addition(text, catalogue, "--have")
    if addition.network is not None or not addition.groups:
        raise refusal("fleet.have", text=text, example=_EXAMPLE)
    return addition.groups


def read_addition(text: str, catalogue: Catalogue, option: str = "--buy") -> Addition:
    """Return what may be bought.

    Raises
    ------
    InputError : an unknown machine or link; two networks; nothing at all
    """
    groups: list[Group] = []
    network: str | None = None
    parts = [part.strip() for part in text.split("+")]
    if not all(parts):
        raise refusal("fleet.malformed", option, text=text)
    for part in parts:
        match = _GROUP.fullmatch(part)
        if match is not None:
            groups.append(_group(option, part, int(match[1]), match[2], catalogue))
            continue
        if network is not None:
            raise refusal("fleet.two_networks", option, text=text)
        network = _network(option, part, catalogue)
    words = " + ".join([*map(_written, groups), *([network] if network else [])])
    return Addition(words, tuple(groups), network)


def _written(group: Group) -> str:
    return f"{group}@{group.link}" if group.link else str(group)


def _network(option: str, part: str, catalogue: Catalogue) -> str:
    try:
        return id_of("links between nodes", part, catalogue)
    except InputError as error:
        try:
            node = node_id(part, catalogue)
        except InputError:
            raise error.under(said=f"{option} {part}") from None
        raise refusal("fleet.no_count", option, part=part, node=node) from None


def _group(option: str, part: str, machines: int, name: str, catalogue: Catalogue) -> Group:
    if not 1 <= machines <= MOST_MACHINES:
        raise refusal("fleet.count", option, part=part, most_machines=MOST_MACHINES)
    name, at, link = (word.strip() for word in name.partition("@"))
    name, slash, accelerator = (word.strip() for word in name.partition("/"))
    if at and not link:
        raise refusal("fleet.no_link", option, part=part, example=_EXAMPLE)
    try:
        node = catalogue.node(node_id(name, catalogue))
        link_id = id_of("links between nodes", link, catalogue) if link else None
        held = catalogue.accelerator(accelerator).id if slash else node.accelerator
    except InputError as error:
        raise error.under(said=f"{option} {part}") from None
    if held is None:
        raise refusal("fleet.any_accelerator", option, part=part, node=node.id, machines=machines)
    if node.accelerator is not None and held != node.accelerator:
        raise refusal(
            "fleet.other_accelerator",
            option,
            part=part,
            node=node.id,
            accelerator=node.accelerator,
            held=held,
        )
    takes_any = node.accelerator is None
    return Group(machines, node.id, held, node.accelerators, link_id, node.nics or 1, takes_any)


def node_id(name: str, catalogue: Catalogue) -> str:
    """Return the id of a machine by its own name or an offer's; an unknown one is an InputError."""
    offers = {offer.instance: offer.node for offer in catalogue.instances()}
    return offers.get(name) or catalogue.node(name).id


def joined(
    own: tuple[Group, ...], catalogue: Catalogue, addition: Addition | None = None, network: str | None = None
) -> Fleet:
    """Return the fleet of some machines with what is bought, and the network that all of them share.

    Parameters
    ----------
    own : what one has
    addition : what is bought; its machines take the network that is there, unless they name their own
    network : of the fleet before, where it is known

    Raises
    ------
    InputError : machines without a network, or on networks that do not join
    """
    bought = addition.groups if addition else ()
    if addition is not None and addition.network is not None:
        network = addition.network
        own = tuple(group._replace(link=network) for group in own)
    every = [_with_link(group, group.link or catalogue.node(group.node).inter_link) for group in own]
    every += [_with_link(group, group.link or network) for group in bought]
    groups = _merged(every)
    if len(every) == 1 and every[0].machines == 1:
        if addition is not None and addition.network is not None:
            raise refusal("fleet.one_machine")
        return Fleet(groups, every[0].link, every[0].nics, tuple(every))
    missing = [group.node for group in every if group.link is None]
    if missing:
        raise refusal("fleet.no_usual_network", missing=missing[0])
    ports = [(str(group.link), group.nics) for group in every]
    kinds = {catalogue.link(link).kind: link for link, _ in ports}
    if len(kinds) > 1:
        one, other = list(kinds.values())[:2]
        raise refusal("fleet.not_joined", one=one, other=other)
    slowest = min(ports, key=lambda port: port[1] * catalogue.link(port[0]).bandwidth.value)
    return Fleet(groups, slowest[0], slowest[1], tuple(every))


def _with_link(group: Group, link: str | None) -> Group:
    return group._replace(link=link)


def rate_words(fleet: Fleet, catalogue: Catalogue) -> str:
    """Return the network of a fleet in words, with what a machine sends by it."""
    if fleet.network is None:
        return "one machine"
    rate = fleet.nics * catalogue.link(fleet.network).bandwidth.value
    return f"{fleet.nics} x {fleet.network} a machine, {show(rate, 'B/s')} nominal"


def _merged(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Machines of one kind together, whatever their adapters: the slowest pace all."""
    machines: dict[tuple[str, str], Group] = {}
    for group in groups:
        same = machines.get(group.kind)
        count = group.machines + (same.machines if same else 0)
        machines[group.kind] = group._replace(machines=count, link=None)
    return tuple(machines.values())
