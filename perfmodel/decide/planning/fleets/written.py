"""Fleets as people type them: ``8 x dgx-a100-80gb@ib-hdr-200g``, ``4 x dgx-h100 + ib-ndr-400g``.

``4 x dgx-1v@1 x ethernet-25g-tcp`` says how many adapters each machine has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.problem import Words
from perfmodel.core.units import show
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import link_words
from perfmodel.model.setting.named import id_of

MOST_MACHINES = 16_384
_GROUP = re.compile(r"(\d{1,12})\s*(?:[xX×*]\s*|\s+)(\S.*)")
_ADAPTERS = re.compile(r"([1-9]\d{0,3})\s*[xX×*]\s*(\S.*)")
_EXAMPLE = "8 x dgx-a100-80gb@ib-hdr-200g"


class Group(NamedTuple):
    """Machines of one kind: the same node with the same accelerators."""

    machines: int
    node: str
    """Id of the machine."""
    accelerator: str
    accelerators: int
    """Number in one machine."""
    link: str | None
    """Link of its adapters, where it is given."""
    nics: int
    """Adapters of one machine on its network."""
    takes_any: bool = False
    """Whether the machine may have another accelerator, so that its name has to say which."""
    nics_given: bool = False
    """Whether the number of its adapters was typed."""

    @property
    def gpus(self) -> int:
        """Accelerators of all its machines."""
        return self.machines * self.accelerators

    @property
    def kind(self) -> tuple[str, str]:
        """Node and accelerator: machines with the same pair train alike."""
        return self.node, self.accelerator

    def __str__(self) -> str:
        return f"{self.machines} x {self.name}"

    @property
    def name(self) -> str:
        """Name of a machine, as it may be typed."""
        return f"{self.node}/{self.accelerator}" if self.takes_any else self.node


class Addition(NamedTuple):
    """A purchase: machines, a network for all machines, or both."""

    words: str
    """The purchase, as it may be typed."""
    groups: tuple[Group, ...] = ()
    network: str | None = None


class Fleet(NamedTuple):
    """Machines that train one job together."""

    groups: tuple[Group, ...]
    """The machines by kind."""
    network: str | None
    """The link between machines; None for one machine without a network."""
    nics: int
    """Adapters per machine that carry gradients: of the machine with the slowest network."""
    each: tuple[Group, ...] = ()
    """The groups as they were typed, with the links of their adapters; a purchase comes last."""

    @property
    def gpus(self) -> int:
        """Number of accelerators."""
        return sum(group.gpus for group in self.groups)

    @property
    def machines(self) -> int:
        """Number of machines."""
        return sum(group.machines for group in self.groups)

    @property
    def adapters(self) -> int:
        """Number of adapters of all machines."""
        return sum(group.machines * group.nics for group in self.groups)

    def __str__(self) -> str:
        return " + ".join(map(str, self.groups))


def read_fleet(text: str, catalogue: Catalogue) -> tuple[Group, ...]:
    """Return the machines of a typed fleet.

    Raises
    ------
    InputError : an unknown machine or link; no number of machines; a link without machines
    """
    addition = read_addition(text, catalogue, "--have")
    if addition.network is not None or not addition.groups:
        raise refusal("fleet.have", text=text, example=_EXAMPLE)
    return addition.groups


def read_addition(text: str, catalogue: Catalogue, option: str = "--buy") -> Addition:
    """Return a typed purchase.

    Raises
    ------
    InputError : an unknown machine or link; two networks; an empty text
    """
    groups: list[Group] = []
    network: str | None = None
    parts = [part.strip() for part in text.split("+")]
    if not all(parts):
        raise refusal("fleet.malformed", option, text=text)
    if "," in text:
        each = f" {option} ".join(f"'{part.strip()}'" for part in text.split(",") if part.strip())
        raise refusal("fleet.list", option, text=text, right=Words(f"{option} {each}"))
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
    """Return a group as it may be typed, with its link."""
    adapters = f"{group.nics} x " if group.nics_given else ""
    return f"{group}@{adapters}{group.link}" if group.link else str(group)


def _network(option: str, part: str, catalogue: Catalogue) -> str:
    """Return the id of a link; an InputError says where a machine without a number was meant."""
    try:
        return id_of("links between nodes", part, catalogue)
    except InputError as error:
        try:
            node = node_id(part, catalogue)
        except InputError:
            if option == "--have":  # which names machines, not a network
                raise refusal("fleet.uncounted", option, part=part, example=_EXAMPLE) from None
            raise error.under(said=f"{option} {part}") from None
        raise refusal("fleet.no_count", option, part=part, node=node) from None


def _group(option: str, part: str, machines: int, name: str, catalogue: Catalogue) -> Group:
    """Return a typed group of machines; an InputError for a wrong count, name or accelerator."""
    if not 1 <= machines <= MOST_MACHINES:
        raise refusal("fleet.count", option, part=part, most_machines=MOST_MACHINES)
    name, at, link = (word.strip() for word in name.partition("@"))
    name, slash, accelerator = (word.strip() for word in name.partition("/"))
    adapters = _ADAPTERS.fullmatch(link)
    if adapters is not None:
        link = adapters[2]
    if at and not link:
        raise refusal("fleet.no_link", option, part=part, example=_EXAMPLE)
    try:
        node = catalogue.node(node_id(name, catalogue))
        link_id = id_of("links between nodes", link, catalogue) if link else None
        accelerator_id = catalogue.accelerator(accelerator).id if slash else node.accelerator
    except InputError as error:
        raise error.under(said=f"{option} {part}") from None
    if accelerator_id is None:
        raise refusal("fleet.any_accelerator", option, part=part, node=node.id, machines=machines)
    if node.accelerator is not None and accelerator_id != node.accelerator:
        raise refusal(
            "fleet.other_accelerator",
            option,
            part=part,
            node=node.id,
            accelerator=node.accelerator,
            held=accelerator_id,
        )
    takes_any = node.accelerator is None
    nics = int(adapters[1]) if adapters else node.nics or 1
    count = node.accelerators
    return Group(machines, node.id, accelerator_id, count, link_id, nics, takes_any, adapters is not None)


def names_taken(texts: Iterable[str], catalogue: Catalogue) -> list[str]:
    """Return notes on the machines of typed fleets whose names fit several, after the fleets were read."""
    parts = [part.strip() for text in texts for part in text.split("+")]
    names = [re.split("[@/]", match[2])[0].strip() for part in parts if (match := _GROUP.fullmatch(part))]
    return [note for name in dict.fromkeys(names) if (note := catalogue.note("nodes", name))]


def node_id(name: str, catalogue: Catalogue) -> str:
    """Return the id of a machine from its own name or an offer's; an InputError for an unknown one."""
    offers = {offer.instance: offer.node for offer in catalogue.instances()}
    return offers.get(name) or catalogue.node(name).id


def joined(
    own: tuple[Group, ...], catalogue: Catalogue, addition: Addition | None = None, network: str | None = None
) -> Fleet:
    """Return the fleet of present machines and a purchase, with the network that all of them share.

    Parameters
    ----------
    own : present machines
    addition : purchase; its machines take the present network, unless they name their own
    network : of the present fleet, where it is known

    Raises
    ------
    InputError : machines without a network, or on networks that cannot be joined
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
    """Return a group with the link of its adapters."""
    return group._replace(link=link)


def rate_words(fleet: Fleet, catalogue: Catalogue) -> str:
    """Return the network of a fleet in words, with the bandwidth of a machine."""
    if fleet.network is None:
        return "one machine"
    link = catalogue.link(fleet.network)
    rate = fleet.nics * link.bandwidth.value
    return f"{fleet.nics} x {link_words(link)} a machine, {show(rate, 'B/s')} nominal"


def _merged(groups: Sequence[Group]) -> tuple[Group, ...]:
    """Return one group per kind of machine, whatever their adapters: the slowest adapters pace all."""
    machines: dict[tuple[str, str], Group] = {}
    for group in groups:
        same = machines.get(group.kind)
        count = group.machines + (same.machines if same else 0)
        machines[group.kind] = group._replace(machines=count, link=None)
    return tuple(machines.values())
