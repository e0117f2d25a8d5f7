"""Prices of machines, adapters and switches, and the value of a fleet's work; prices are never guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self, TypeAlias

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.units import dollars
from perfmodel.decide.economics import KWH, rates
from perfmodel.decide.planning.fleets.result import Item, Purchase, WorkValue
from perfmodel.decide.planning.fleets.step import FleetStep
from perfmodel.decide.planning.fleets.switch_tree import switches
from perfmodel.decide.planning.fleets.written import Addition, Fleet, Group, node_id
from perfmodel.decide.price_kinds import HOUR
from perfmodel.decide.prices import DEFAULT_SERVICE_YEARS, offers_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import link_words, node_words
from perfmodel.hardware.other_links import RDMA
from perfmodel.model.options.conditions import LARGEST, Conditions
from perfmodel.model.setting.named import id_of
from perfmodel.model.step.terms import of_kind

ByLink: TypeAlias = Mapping[str, float] | float
"""A number for every link, or numbers by the names of links."""
ANY = ""
"""Link name of a price that holds for every network."""
CONDITIONS = ("region", "service_years", "used_fraction", "electricity_price", "pue", "host_power")
"""Conditions that change the cost of a fleet; others have no effect."""
OPTIONS = {
    "prices": "--price",
    "purchase_prices": "--purchase-price",
    "adapter_prices": "--adapter-price",
    "switch_prices": "--switch-price",
    "switch_ports": "--switch-ports",
}
"""How errors call them."""


class Market(NamedTuple):
    """Prices given by the user, by id; those of adapters and switches may be under ``ANY``."""

    rents: Mapping[str, float] = {}
    """Of one machine [USD/h]."""
    purchases: Mapping[str, float] = {}
    """Of one machine with its adapters [USD]."""
    adapters: Mapping[str, float] = {}
    """Of one adapter [USD]."""
    switches: Mapping[str, float] = {}
    """Of one switch with its cables [USD]."""
    switch_ports: Mapping[str, float] = {}
    """Ports of one switch."""
    hour_value: float | None = None
    """Value of the present fleet's work [USD/h]."""
    conditions: Conditions = Conditions()

    @classmethod
    def of(
        cls,
        catalogue: Catalogue,
        *,
        prices: Mapping[str, float] = {},
        purchase_prices: Mapping[str, float] = {},
        adapter_prices: ByLink | None = None,
        switch_prices: ByLink | None = None,
        switch_ports: ByLink | None = None,
        hour_value: float | None = None,
        conditions: Conditions | None = None,
    ) -> Self:
        """Return what people say of prices, with machines and links by any of their names.

        Parameters
        ----------
        prices, purchase_prices : of one machine, by name: rent [USD/h], purchase [USD]
        adapter_prices, switch_prices, switch_ports : of one, for all links or by the name of each
        hour_value : of the work of the fleet before [USD/h]
        conditions : those of ``CONDITIONS`` alone

        Raises
        ------
        InputError : an unknown name, one that is given twice, a number out of its range, another condition
        """
        rents = _of_machines("prices", prices, catalogue)
        bought = _of_machines("purchase_prices", purchase_prices, catalogue)
        for both in rents.keys() & bought.keys():
            raise refusal("price.exclusive_of", both=both)
        return cls(
            rents,
            bought,
            _of_links("adapter_prices", adapter_prices, catalogue),
            _of_links("switch_prices", switch_prices, catalogue, from_zero=True),
            _ports(switch_ports, catalogue),
            hour_value,
            _of_fleets(conditions or Conditions()),
        )


def _of_fleets(conditions: Conditions) -> Conditions:
    """Return conditions, none of which is one that changes nothing of a fleet."""
    for name in conditions.model_fields:
        if getattr(conditions, name) is not None and name not in CONDITIONS:
            option = {"node_failure_interval": "node-mtbf"}.get(name, name.replace("_", "-"))
            raise refusal("fleet.needless", option)
    return conditions


def _of_machines(name: str, given: Mapping[str, float], catalogue: Catalogue) -> dict[str, float]:
    result: dict[str, float] = {}
    for machine, price in given.items():
        try:
            node = node_id(machine, catalogue)
        except InputError as error:
            raise error.under(name, machine, said=f"{OPTIONS[name]} {machine}") from None
        if node in result:
            raise refusal("fleet.machine_twice", OPTIONS[name], machine=machine, node=node)
        result[node] = price
    return result


def _of_links(
    name: str, given: ByLink | None, catalogue: Catalogue, from_zero: bool = False
) -> dict[str, float]:
    each = {} if given is None else given if isinstance(given, Mapping) else {ANY: given}
    result: dict[str, float] = {}
    for link, value in each.items():
        try:
            key = id_of("links between nodes", link, catalogue) if link else ANY
        except InputError as error:
            raise error.under(name, link, said=f"{OPTIONS[name]} {link}") from None
        if key in result:
            raise refusal("fleet.link_twice", OPTIONS[name], link=link or "the number for all")
        if not value and not from_zero:
            raise refusal("fleet.price_range", f"{name} of {link or 'all'}", given=value, largest=LARGEST)
        result[key] = value
    return result


def _ports(given: ByLink | None, catalogue: Catalogue) -> dict[str, float]:
    ports = _of_links("switch_ports", given, catalogue)
    for link, count in ports.items():
        if count < 2 or count != int(count):
            of_link = f"{link}=" if link else ""
            raise refusal("switch.ports_whole", of_link=of_link, count=count)
    return ports


def check_used(market: Market, have: Fleet, additions: Sequence[Addition]) -> None:
    """Raise an error for a price of something that neither is in the fleet nor may be bought.

    Raises
    ------
    InputError : a price of another machine or link, most likely a typing error
    """
    machines = {group.node for group in have.groups}
    machines |= {group.node for one in additions for group in one.groups}
    links = {link for one in additions for link in (one.network, *(group.link for group in one.groups))}
    links |= {have.network, *(group.link for group in have.each)}
    for option, given, used in (
        ("--price", market.rents, machines),
        ("--purchase-price", market.purchases, machines),
        ("--adapter-price", market.adapters, links),
        ("--switch-price", market.switches, links),
        ("--switch-ports", market.switch_ports, links),
    ):
        for name in given:
            if name != ANY and name not in used:
                known = ", ".join(sorted(str(one) for one in used if one)) or "none"
                raise refusal("fleet.no_option", option, name=name, known=known)


def work_value(have: Fleet, market: Market, catalogue: Catalogue) -> WorkValue | None:
    """Return the value of an hour of a fleet's work: as given, else the rent of such machines.

    That is the rent of the machines themselves, or of the cheapest offer with the same number and type of
    accelerators; None where no such offer has a known price.
    """
    counted = {
        "service_years": market.conditions.service_years or DEFAULT_SERVICE_YEARS,
        "used_fraction": market.conditions.used_fraction or 1.0,
    }
    if market.hour_value is not None:
        return WorkValue.model_construct(usd_per_hour=market.hour_value, source="given", **counted)
    total, sources = 0.0, []
    for group in have.groups:
        price = _rent_of(group, market, catalogue, alike=True)
        if price is None:
            return None
        total += group.machines * price[0]
        sources.append(f"{group.machines} x {price[1]}")
    return WorkValue.model_construct(usd_per_hour=total, source="; ".join(sources), **counted)


def _rent_of(
    group: Group, market: Market, catalogue: Catalogue, alike: bool = False
) -> tuple[float, str] | None:
    """Return the rent of one machine [USD/h] and its source; None where it is unknown.

    Parameters
    ----------
    alike : whether an offer with the same number and type of accelerators counts, where the machine has none
    """
    if group.node in market.rents:
        return market.rents[group.node], f"{group.node} at {dollars(market.rents[group.node])}/h, as given"
    nodes = [group.node]
    if alike:
        every = {offer.node: catalogue.node(offer.node) for offer in catalogue.instances()}
        nodes += [
            name
            for name, node in every.items()
            if (node.accelerator, node.accelerators) == (group.accelerator, group.accelerators)
        ]
    region = market.conditions.region
    for candidates in ([group.node], nodes):
        offers = [each for node in candidates for each in offers_of(catalogue, node, region)]
        if offers:
            offer, price = min(offers, key=lambda one: one[1].usd_per_hour)
            where = f"{offer.provider}, {price.region}, {price.price_date}"
            return price.usd_per_hour, f"{offer.instance} at {dollars(price.usd_per_hour)}/h ({where})"
    return None


def purchase_of(
    addition: Addition, step: FleetStep, before: FleetStep, market: Market, catalogue: Catalogue
) -> Purchase:
    """Return the items of a purchase with their prices, and the change of electricity costs.

    Parameters
    ----------
    addition : machines or network that are bought or rented
    step, before : the fleets with and without it
    """
    items: list[Item] = []
    unknown: list[str] = []
    for group in addition.groups:
        _machines(group, market, catalogue, items, unknown)
    rented = {item.what for item in items if item.basis == "rent"}
    left_out: list[str] = []
    had = before.fleet.each
    renewed = any(old.link != new.link for old, new in zip(had, step.fleet.each, strict=False))
    own_machines = any(group.node not in rented for group in addition.groups)
    if step.fleet.machines > 1 and step.fleet.network is not None and (renewed or own_machines):
        _adapters(step.fleet, had, rented, market, catalogue, items, unknown if renewed else left_out)
        _switches(step.fleet, before.fleet, renewed, market, catalogue, items, unknown, left_out)
    known = not unknown
    bought = [item.count * item.each for item in items if item.basis == "purchase"]
    rents = [item.count * item.each for item in items if item.basis == "rent"]
    return Purchase.model_construct(
        items=items,
        capital=sum(bought) if known else None,
        rent=sum(rents) if known else None,
        electricity=_electricity(step, rented, market, catalogue)
        - _electricity(before, rented, market, catalogue),
        unknown=unknown,
        left_out=left_out,
    )


def _machines(
    group: Group, market: Market, catalogue: Catalogue, items: list[Item], unknown: list[str]
) -> None:
    """Add the machines of a group to the items of a purchase, or their price to the unknown ones."""
    words = node_words(catalogue.node(group.node))
    if group.node in market.purchases:
        each = market.purchases[group.node]
        items.append(_item(group.node, words, group.machines, each, "purchase", "given"))
        return
    rent = _rent_of(group, market, catalogue)
    if rent is None:
        unknown.append(
            f"price of {words}: --purchase-price {group.node}=USD, or --price {group.node}=USD an hour"
        )
    else:
        source = "given" if group.node in market.rents else rent[1]
        items.append(_item(group.node, words, group.machines, rent[0], "rent", source))


def _item(what: str, words: str, count: int, each: float, basis: str, source: str) -> Item:
    """Return an item of a purchase."""
    return Item.model_construct(what=what, words=words, count=count, each=each, basis=basis, source=source)


def _adapters(
    fleet: Fleet,
    present: Sequence[Group],
    rented: set[str],
    market: Market,
    catalogue: Catalogue,
    items: list[Item],
    unknown: list[str],
) -> None:
    """Add the adapters that machines lack for their link to the items, or their price to the unknown ones."""
    count: dict[str, int] = {}
    for index, group in enumerate(fleet.each):
        bought = index >= len(present)
        before = catalogue.node(group.node).inter_link if bought else present[index].link
        if group.link is None or (bought and group.node in rented):
            continue
        if before is not None and _serves(before, group.link, catalogue):
            continue
        count[group.link] = count.get(group.link, 0) + group.machines * group.nics
    for link, adapters in count.items():
        price = market.adapters.get(link, market.adapters.get(ANY))
        words = f"{link_words(catalogue.link(link))} adapter"
        if price is None:
            unknown.append(f"price of {adapters} {words}s: --adapter-price {link}=USD")
        else:
            items.append(_item(f"adapter {link}", words, adapters, price, "purchase", "given"))


def _serves(adapter: str, link: str, catalogue: Catalogue) -> bool:
    """Return whether adapters of one link work on another: slower and of its family, or with RDMA."""
    own, other = catalogue.link(adapter), catalogue.link(link)
    alike = (own.kind, own.family) == (other.kind, other.family)
    alike = alike or (own.passes_kernel and other.kind in RDMA)
    return adapter == link or (alike and own.bandwidth.value >= other.bandwidth.value)


def _switches(
    fleet: Fleet,
    before: Fleet,
    renewed: bool,
    market: Market,
    catalogue: Catalogue,
    items: list[Item],
    unknown: list[str],
    left_out: list[str],
) -> None:
    """Add the switches of a non-blocking tree, less the present ones, to the items of a purchase.

    A missing price goes to ``unknown``, or to ``left_out`` where the network stays.  A single machine has no
    switches.
    """
    link = str(fleet.network)
    price = market.switches.get(link, market.switches.get(ANY))
    each = market.switch_ports.get(link, market.switch_ports.get(ANY))
    if price == 0:
        return
    name = link_words(catalogue.link(link))
    if price is None or each is None:
        what = "price of switches" if price is None else "ports of a switch"
        nothing_said = price is None and each is None
        line = f"{what} of {name}: --switch-price {link}=USD with --switch-ports {link}=N"
        (left_out if nothing_said and not renewed else unknown).append(line)
        return
    kept = [group for group in before.each if not renewed or group.link == link]
    ports = sum(group.machines * group.nics for group in kept) if before.machines > 1 else 0
    try:
        count = switches(fleet.adapters, int(each)) - (switches(ports, int(each)) if ports else 0)
    except InputError as error:
        unknown.append(f"switches of {name}: {error.note()}")
        return
    if count > 0:
        items.append(_item(f"switch {link}", f"{name} switch", count, price, "purchase", "given"))


def _electricity(step: FleetStep, rented: set[str], market: Market, catalogue: Catalogue) -> float:
    """Return the electricity costs of owned machines [USD/h]; 0 where the electricity price is not given.

    Rented machines are left out: their rent includes it.
    """
    price = market.conditions.electricity_price
    if price is None:
        return 0.0
    watts = 0.0
    for part in step.parts:
        accelerator = catalogue.accelerator(part.group.accelerator)
        if part.group.node in rented or accelerator.tdp is None:
            continue
        terms = part.prediction.terms
        busy = min(step.iteration_time, of_kind(terms, "busy"))
        idle = of_kind(terms, "host") + of_kind(terms, "wait")
        per_second = rates(
            step.iteration_time,
            busy,
            max(0.0, step.iteration_time - busy - idle),
            part.group.gpus,
            part.group.machines,
            rated_power=accelerator.tdp.value,
            usd_per_hour=None,
            conditions=market.conditions,
        )
        watts += float(per_second.energy)
    return watts * HOUR / KWH * price
