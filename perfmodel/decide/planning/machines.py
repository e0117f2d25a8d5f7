"""Machines that may be hired or bought: node types with the price of each, or the reason why it has none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from perfmodel.core.choices import PriceKind
from perfmodel.core.errors import refusal, unknown_name
from perfmodel.core.problem import Words
from perfmodel.decide.planning.goal import Goal
from perfmodel.decide.prices import Price, catalogue_price, price_of, priced
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.instance import Instance
from perfmodel.hardware.machine_words import accelerator_words, machines_words, node_words
from perfmodel.model.options.conditions import Conditions


class Machine(NamedTuple):
    """A node type with one type of accelerator, and its price."""

    node: str
    accelerator: str
    accelerators: int
    """Number in one node."""
    joins: bool
    """Whether it has a network to other nodes."""
    instance: str | None
    """The provider's name; None where it is not for hire."""
    provider: str | None
    price: Price | None
    """None where it is unknown."""
    accelerator_name: str
    """What people call the accelerator."""
    node_name: str
    """What people call the machine."""
    other_prices: tuple[Price, ...] = ()
    """At which it may be had too, of other kinds."""

    def words(self, nodes: int, used: int) -> str:
        """Return so many machines as people call them, of which so many accelerators work."""
        return machines_words(nodes, used, self.accelerators, self.accelerator_name, self.node_name)

    @property
    def typed(self) -> str:
        """One machine by the name that options take."""
        return machines_words(1, self.accelerators, self.accelerators, self.accelerator_name, self.name)

    @property
    def name(self) -> str:
        """The provider's name, or else that of the node type."""
        return self.instance or self.node


class ServerMachine(NamedTuple):
    """The machine of a parameter server."""

    node: str
    accelerators: int
    held: Accelerator | None
    """Type of its accelerators, which idle."""
    price: Price | None


def server_of(machine: Machine, goal: Goal, catalogue: Catalogue) -> ServerMachine:
    """Return the machine of the parameter servers for a job on ``machine``.

    Raises
    ------
    InputError : the goal names an unknown node
    """
    name = goal.server_node
    if name is None or name == machine.node:
        held = catalogue.accelerator(machine.accelerator)
        return ServerMachine(machine.node, machine.accelerators, held, machine.price)
    node = catalogue.node(name)
    names = {offer.instance: offer.node for offer in catalogue.instances()}
    conditions = goal.conditions.model_copy(
        update={
            "price": _by_node("--price", goal.prices, names, catalogue).get(node.id),
            "purchase_price": _by_node("--purchase-price", goal.purchase_prices, names, catalogue).get(
                node.id
            ),
            "service_years": None,
            "used_fraction": None,
        }
    )
    offers = [offer for offer in catalogue.instances() if offer.node == node.id]
    accelerator = catalogue.accelerator(node.accelerator) if node.accelerator else None
    kind = machine.price.kind if machine.price else None
    lowest = _prices(node.id, offers, conditions, (kind,) if kind else _kinds(goal, False), catalogue)
    return ServerMachine(node.id, node.accelerators, accelerator, lowest[0][0] if lowest else None)


def machines_of(goal: Goal, catalogue: Catalogue) -> list[Machine]:
    """Return every machine that a goal allows, each at its lowest price of the first kind that is known.

    ``other_prices`` has those of the other kinds.

    Raises
    ------
    InputError : an unknown instance, node, accelerator or region; nothing left to choose from
    """
    offers: dict[str, list[Instance]] = {}
    for offer in catalogue.instances():
        offers.setdefault(offer.node, []).append(offer)
    _check_region(goal.conditions.region, offers)
    _check_own(goal)
    names = {offer.instance: offer.node for some in offers.values() for offer in some}
    given = _by_node("--price", goal.prices, names, catalogue)
    bought = _by_node("--purchase-price", goal.purchase_prices, names, catalogue)
    result = []
    with_price = [node for node in (*given, *bought) if node != goal.server_node]
    for node in _nodes(goal, offers, names, with_price):
        prices = {"price": given.get(node), "purchase_price": bought.get(node)}
        unused = {} if node in bought else {"service_years": None, "used_fraction": None}
        conditions = goal.conditions.model_copy(update=prices | unused)
        some = [offer for offer in offers.get(node, ()) if offer.instance in (goal.instances or names)]
        kinds = _kinds(goal, node in bought)
        lowest = _prices(node, some, conditions, kinds, catalogue)
        result += _machines(goal, node, lowest, some[0] if some else None, catalogue)
    if not result:
        raise refusal("machine.none", "accelerator", said=Words(_nothing(goal, offers, catalogue)))
    return result


def _nodes(
    goal: Goal,
    offers: dict[str, list[Instance]],
    names: dict[str, str],
    priced: Iterable[str],
) -> list[str]:
    """Return the node types to consider: the named ones, or all for hire, and those with a given price."""
    for name in goal.instances:
        if name not in names:
            raise unknown_name("instance", name, names)
    named = [names[name] for name in goal.instances] + list(goal.nodes)
    return list(dict.fromkeys([*(named or offers), *priced]))


def _by_node(
    option: str, prices: Mapping[str, float], names: dict[str, str], catalogue: Catalogue
) -> dict[str, float]:
    """Return given prices by node type, which they may name by node or by instance.

    Raises
    ------
    InputError : two prices of one node type; an unknown name
    """
    result: dict[str, float] = {}
    called: dict[str, str] = {}
    for name, price in prices.items():
        node = _node_named(name, names, catalogue)
        if node in result:
            raise refusal("price.same_machine", option, called=called[node], name=name)
        result[node], called[node] = price, name
    return result


def _node_named(name: str, names: dict[str, str], catalogue: Catalogue) -> str:
    """Return the id of the node type that an instance or node name means."""
    return names.get(name) or catalogue.node(name).id


def _check_region(region: str | None, offers: dict[str, list[Instance]]) -> None:
    """Raise an InputError for a region without offers."""
    known = {offer.region for some in offers.values() for offer in some if offer.region}
    if region is not None and region not in known:
        raise unknown_name("--region", region, known)


def _check_own(goal: Goal) -> None:
    """Raise an InputError for options of purchased machines where no machine is purchased."""
    conditions = goal.conditions
    if "owned" in goal.pricing and not goal.purchase_prices:
        raise refusal("price.owned_plan", "pricing")
    if (conditions.service_years or conditions.used_fraction) and not goal.purchase_prices:
        raise refusal("price.bought_plan")
    if conditions.electricity_price and not (goal.purchase_prices or goal.prices):
        raise refusal("price.electricity_plan")


def _kinds(goal: Goal, bought: bool) -> tuple[PriceKind, ...]:
    """Return the kinds of price to try for a machine; one bought is owned unless more is said."""
    if not goal.pricing:
        return ("owned",) if bought else ("on-demand",)
    return tuple(dict.fromkeys((*goal.pricing, *(("owned",) if bought else ()))))


def _prices(
    node: str,
    offers: list[Instance],
    conditions: Conditions,
    kinds: tuple[PriceKind, ...],
    catalogue: Catalogue,
) -> list[tuple[Price, Instance | None]]:
    """Return the lowest known price of each kind of a node, with its offer; a given rent is of the first.

    Raises
    ------
    InputError : a rent and a purchase price where one kind of price alone is tried
    """
    first = offers[0] if offers else None
    rented = next((kind for kind in kinds if kind != "owned"), None)
    if conditions.price is not None and conditions.purchase_price is not None and len(kinds) == 1:
        raise refusal("price.exclusive").under(said=node)
    result: list[tuple[Price, Instance | None]] = []
    for kind in kinds:
        at = {
            "pricing": kind,
            "price": conditions.price if kind == rented else None,
            "purchase_price": conditions.purchase_price if kind == "owned" else None,
        }
        if kind != "owned":
            at |= {"service_years": None, "used_fraction": None}
        if at["price"] is not None or at["purchase_price"] is not None:
            known = price_of(catalogue, node, conditions.model_copy(update=at))
            result += [(known, first)] if known is not None else []
        elif kind != "owned" and (listed := priced(offers, conditions.region, kind)):
            result.append((catalogue_price(*listed[0], catalogue), listed[0][0]))
    return result


def _machines(
    goal: Goal,
    node: str,
    prices: list[tuple[Price, Instance | None]],
    first: Instance | None,
    catalogue: Catalogue,
) -> list[Machine]:
    """Return a node as a machine for each type of accelerator that it may have."""
    spec = catalogue.node(node)
    price, offer = prices[0] if prices else (None, first)
    others = tuple(other for other, _ in prices[1:])
    instance, provider = (offer.instance, offer.provider) if offer else (None, None)
    joins = spec.inter_link is not None
    return [
        Machine(
            node,
            accelerator,
            spec.accelerators,
            joins,
            instance,
            provider,
            price,
            accelerator_words(catalogue.accelerator(accelerator)),
            node_words(spec),
            others,
        )
        for accelerator in _accelerators(goal, node, spec.accelerator)
    ]


def _accelerators(goal: Goal, node: str, built_in: str | None) -> tuple[str, ...]:
    """Return the accelerators of a node; one without built-in ones takes those named in the goal."""
    if built_in is not None:
        return (built_in,) if not goal.accelerators or built_in in goal.accelerators else ()
    if not goal.accelerators:
        raise refusal("machine.any_accelerator", "node", node=node)
    return goal.accelerators


def _nothing(goal: Goal, offers: dict[str, list[Instance]], catalogue: Catalogue) -> str:
    """Return why no machine is left, in words, with what could be named instead."""
    wanted = ", ".join(goal.accelerators)
    if goal.nodes or goal.instances:
        return f"--accelerator {wanted}: none of the machines named holds one"
    own = [node for node in catalogue.ids("nodes") if catalogue.node(node).accelerator in goal.accelerators]
    known = ", ".join(sorted({str(catalogue.node(node).accelerator) for node in offers}))
    hint = f"name a machine of your own with --node: {', '.join(own[:4])}" if own else f"for hire: {known}"
    return f"--accelerator {wanted}: no offer of the catalogue holds one; {hint}"
