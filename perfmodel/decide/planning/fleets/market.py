"""What machines, adapters and switches cost, and what the work of a fleet is worth; nothing is guessed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.units import dollars
from perfmodel.decide.economics import KWH, rates
from perfmodel.decide.planning.fleets.proposals import RDMA
from perfmodel.decide.planning.fleets.result import Item, Purchase, WorkValue
from perfmodel.decide.planning.fleets.step import FleetStep
from perfmodel.decide.planning.fleets.written import Addition, Fleet, Group
from perfmodel.decide.prices import HOUR, offers_of
from perfmodel.equations.fleets import fat_tree_switches
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.step.terms import of_kind

ANY = ""
"""The link of a price that holds for every network."""
CONDITIONS = ("region", "service_years", "used_fraction", "electricity_price", "pue", "host_power")
"""Conditions that change what a fleet costs; the others have no say."""
MOST_LEVELS = 3
"""Of switches."""


class Market(NamedTuple):
    """Prices that a user gives; by id, those of adapters and switches also by ``ANY``."""

    rents: Mapping[str, float] = {}
    """Of one machine [USD/h]."""
    purchases: Mapping[str, float] = {}
    """Of one machine with its adapters [USD]."""
    adapters: Mapping[str, float] = {}
    """Of one [USD]."""
    switches: Mapping[str, float] = {}
    """Of one, its cables included [USD]."""
    switch_ports: Mapping[str, float] = {}
    hour_value: float | None = None
    """Of the work of the fleet before [USD/h]."""
    conditions: Conditions = Conditions()


def check_used(market: Market, have: Fleet, additions: Sequence[Addition]) -> None:
    """Check that every price is of something that is there or may be bought.

    Raises
    ------
    InputError : a price of another machine or link, most likely a slip
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
    """Return what an hour of the work of a fleet is worth: what was given, else the rent of such machines.

    That is the rent of its machines, or of the cheapest offer with the same accelerators, as many in each;
    None where nobody rents them out at a known price.
    """
    if market.hour_value is not None:
        return WorkValue.model_construct(usd_per_hour=market.hour_value, source="given")
    total, sources = 0.0, []
    for group in have.groups:
        price = _rent_of(group, market, catalogue, alike=True)
        if price is None:
            return None
        total += group.machines * price[0]
        sources.append(f"{group.machines} x {price[1]}")
    return WorkValue.model_construct(usd_per_hour=total, source="; ".join(sources))


def _rent_of(
    group: Group, market: Market, catalogue: Catalogue, alike: bool = False
) -> tuple[float, str] | None:
    """The rent of one machine [USD/h] and who says so; ``alike``: else of any with the same accelerators."""
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
    for some in ([group.node], nodes):
        offers = [offer for node in some for offer in offers_of(catalogue, node, region)]
        if offers:
            offer = min(offers, key=lambda one: one.price_usd_per_hour or 0.0)
            price = float(offer.price_usd_per_hour or 0.0)
            where = f"{offer.region}, {offer.price_date}"
            return price, f"{offer.instance} at {dollars(price)}/h ({offer.provider}, {where})"
    return None


def purchase_of(
    addition: Addition, step: FleetStep, before: FleetStep, market: Market, catalogue: Catalogue
) -> Purchase:
    """Return what an addition costs.

    Parameters
    ----------
    addition : what is bought or rented
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
        _switches(step.fleet, before.fleet, renewed, market, items, unknown, left_out)
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
    if group.node in market.purchases:
        items.append(_item(group.node, group.machines, market.purchases[group.node], "purchase", "given"))
        return
    rent = _rent_of(group, market, catalogue)
    if rent is None:
        unknown.append(
            f"price of {group.node}: --purchase-price {group.node}=USD, or --price {group.node}=USD an hour"
        )
    else:
        source = "given" if group.node in market.rents else rent[1]
        items.append(_item(group.node, group.machines, rent[0], "rent", source))


def _item(what: str, count: int, each: float, basis: str, source: str) -> Item:
    return Item.model_construct(what=what, count=count, each=each, basis=basis, source=source)


def _adapters(
    fleet: Fleet,
    had: Sequence[Group],
    rented: set[str],
    market: Market,
    catalogue: Catalogue,
    items: list[Item],
    unknown: list[str],
) -> None:
    """Adapters of machines that did not have, or do not come with, those of their link."""
    count: dict[str, int] = {}
    for index, group in enumerate(fleet.each):
        bought = index >= len(had)
        before = catalogue.node(group.node).inter_link if bought else had[index].link
        if group.link is None or (bought and group.node in rented):
            continue
        if before is not None and _serves(before, group.link, catalogue):
            continue
        count[group.link] = count.get(group.link, 0) + group.machines * group.nics
    for link, adapters in count.items():
        price = market.adapters.get(link, market.adapters.get(ANY))
        if price is None:
            unknown.append(f"price of {adapters} adapters of {link}: --adapter-price {link}=USD")
        else:
            items.append(_item(f"adapter {link}", adapters, price, "purchase", "given"))


def _serves(adapter: str, link: str, catalogue: Catalogue) -> bool:
    """Whether adapters of one link run on another: on slower ones of the same family, or by RDMA, too."""
    own, other = catalogue.link(adapter), catalogue.link(link)
    alike = (own.kind, own.family) == (other.kind, other.family)
    alike = alike or (own.passes_kernel and other.kind in RDMA)
    return adapter == link or (alike and own.bandwidth.value >= other.bandwidth.value)


def _switches(
    fleet: Fleet,
    before: Fleet,
    renewed: bool,
    market: Market,
    items: list[Item],
    unknown: list[str],
    left_out: list[str],
) -> None:
    """Switches of a tree that does not block, less those that there are; one machine alone has none."""
    link = str(fleet.network)
    price = market.switches.get(link, market.switches.get(ANY))
    each = market.switch_ports.get(link, market.switch_ports.get(ANY))
    if price == 0:
        return
    if price is None or each is None:
        what = "price of switches" if price is None else "ports of a switch"
        nothing_said = price is None and each is None
        line = f"{what} of {link}: --switch-price {link}=USD with --switch-ports {link}=N"
        (left_out if nothing_said and not renewed else unknown).append(line)
        return
    kept = [group for group in before.each if not renewed or group.link == link]
    ports = sum(group.machines * group.nics for group in kept) if before.machines > 1 else 0
    try:
        count = switches(fleet.adapters, int(each)) - (switches(ports, int(each)) if ports else 0)
    except InputError as error:
        unknown.append(f"switches of {link}: {error.note()}")
        return
    if count > 0:
        items.append(_item(f"switch {link}", count, price, "purchase", "given"))


def switches(ports: int, each: int) -> int:
    """Return how many switches join so many ports without blocking, in as few levels as will do.

    Raises
    ------
    InputError : more ports than three levels join

    Examples
    --------
    >>> switches(64, 64), switches(96, 40), switches(128, 64)
    (1, 8, 6)
    """
    if each < 2:
        raise refusal("switch.ports", each=each)
    for levels in range(1, MOST_LEVELS + 1):
        if ports <= each * (each / 2) ** (levels - 1):
            return int(fat_tree_switches(ports, each, levels))
    raise refusal("switch.levels", ports=ports, each=each)


def _electricity(step: FleetStep, rented: set[str], market: Market, catalogue: Catalogue) -> float:
    """Electricity of the machines of one's own [USD/h]; 0 where its price is not given.

    Kinds of machines that are rented are left out: a rent includes it.
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
        spent = rates(
            step.iteration_time,
            busy,
            max(0.0, step.iteration_time - busy - idle),
            part.group.gpus,
            part.group.machines,
            rated_power=accelerator.tdp.value,
            usd_per_hour=None,
            conditions=market.conditions,
        )
        watts += float(spent.energy)
    return watts * HOUR / KWH * price
