"""Prices of machines: given by the user, or from the catalogue with region, date and source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from typing_extensions import TypedDict

from perfmodel.core.choices import PriceKind
from perfmodel.core.errors import refusal
from perfmodel.core.problem import Words
from perfmodel.core.units import dollars
from perfmodel.decide.price_kinds import BASIS, HOUR, YEAR
from perfmodel.equations.cost import amortised_machine_price
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.instance import Instance, OfferPrice
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.prediction.names import node_name

DEFAULT_SERVICE_YEARS = 4.0
OWN = ("given", BASIS["owned"])
"""Bases of prices that do not include electricity."""


class Price(NamedTuple):
    """The price of one node, with its source."""

    usd_per_hour: float
    basis: str
    """``on demand``, ``spot``, ``reserved for 1 year`` or ``3 years``, ``given`` or ``owned``."""
    instance: str | None = None
    region: str | None = None
    date: str | None = None
    source: str | None = None
    carbon_intensity: float | None = None
    """Of the grid of the region [g CO2/kWh]; None where that is not known."""
    node: str | None = None
    """Id of the node."""
    kind: PriceKind = "on-demand"
    provider: str | None = None
    """Who rents it out."""


class NodePrice(TypedDict):
    """The price of one node, with its source."""

    usd_per_hour: float
    """Price of one node [USD/h]."""
    basis: str
    """``on demand``, ``spot``, ``reserved for 1 year`` or ``3 years``, ``given`` or ``owned``."""
    instance: str | None
    """The provider's name of the node; null where the price was given or is a purchase."""
    region: str | None
    """Where the price holds; null where it was given."""
    date: str | None
    """When it was read; null where it was given."""
    source: str | None
    """Where the price was read; null where it was given."""
    carbon_intensity: float | None
    """Of the grid of the region [g CO2/kWh]; null where that is not known."""
    node: str | None
    """Id of the node."""
    kind: PriceKind
    """On demand, spot, reserved for a term, or owned."""
    provider: str | None
    """Who rents it out; null where the price was given or is a purchase."""


def offers_of(
    catalogue: Catalogue, node: str, region: str | None = None, kind: PriceKind = "on-demand"
) -> list[tuple[Instance, OfferPrice]]:
    """Return the priced offers of a node at a kind of price, in one region or in all, the cheapest first."""
    offers = [offer for offer in catalogue.instances() if offer.node == node]
    return priced(offers, region, kind)


def priced(
    offers: Iterable[Instance], region: str | None, kind: PriceKind
) -> list[tuple[Instance, OfferPrice]]:
    """Return those offers that have a kind of price, in one region or in all, the cheapest first."""
    prices = [
        (offer, price)
        for offer in offers
        for price in offer.every_price()
        if price.kind == kind and region in (None, price.region)
    ]
    return sorted(prices, key=lambda each: each[1].usd_per_hour)


def price_of(catalogue: Catalogue, node: str, conditions: Conditions) -> Price | None:
    """Return the price of one node: the user's, else its amortised purchase, else the cheapest known offer.

    Returns
    -------
    None where no price is known: prices are never guessed

    Raises
    ------
    InputError : a rent and a purchase price; a service life without a purchase price; an electricity price
        on top of a rent; a region in which the node has no known price
    """
    if conditions.price is not None and conditions.purchase_price is not None:
        raise refusal("price.exclusive")
    if conditions.purchase_price is None and (conditions.service_years or conditions.used_fraction):
        raise refusal("price.bought")
    kind = kind_of(None, conditions)
    if kind == "owned" and conditions.purchase_price is None:
        raise refusal("price.owned", "pricing")
    if kind != "owned" and conditions.purchase_price is not None:
        raise refusal("price.rented", "pricing", pricing=kind)
    if conditions.price is not None:
        return Price(conditions.price, "given", region=conditions.region, node=node, kind=kind)
    if conditions.purchase_price is not None:
        per_second = amortised_machine_price(
            conditions.purchase_price,
            (conditions.service_years or DEFAULT_SERVICE_YEARS) * YEAR,
            conditions.used_fraction or 1.0,
        )
        return Price(float(per_second) * HOUR, BASIS["owned"], node=node, kind="owned")
    offers = offers_of(catalogue, node, conditions.region, kind)
    if not offers:
        if conditions.region is None:
            return None
        known = ", ".join(sorted({price.region for _, price in offers_of(catalogue, node, None, kind)}))
        right = Words(f"known: {known}" if known else "give --price, USD per hour of one node")
        of_kind = Words("" if kind == "on-demand" else f", {BASIS[kind]}")
        raise refusal(
            "price.unknown", "region", node=node, region=conditions.region, kind=of_kind, right=right
        )
    if conditions.electricity_price is not None:
        raise refusal("price.electricity")
    return catalogue_price(*offers[0], catalogue)


def kind_of(price: Price | None, conditions: Conditions) -> PriceKind:
    """Return the kind of a price; of an unknown one that which was asked for."""
    if price is not None:
        return price.kind
    return conditions.pricing or ("on-demand" if conditions.purchase_price is None else "owned")


def server_price_of(
    catalogue: Catalogue, server_node: str, node: str, price: Price | None, conditions: Conditions
) -> Price | None:
    """Return the price of a parameter server's machine; None where it is unknown.

    Parameters
    ----------
    server_node, node : ids of the machine of a server, and of one that trains
    price : of ``node``, which holds for the server too if both are the same
    conditions : may give a price of servers and a region
    """
    if conditions.server_price is not None:
        return Price(conditions.server_price, "given", node=server_node)
    if server_node == node:
        return price
    offers = offers_of(catalogue, server_node, conditions.region, price.kind if price else "on-demand")
    return catalogue_price(*offers[0], catalogue) if offers else None


def catalogue_price(offer: Instance, price: OfferPrice, catalogue: Catalogue) -> Price:
    """Return a price of an offer, with the carbon intensity of its region's grid."""
    region = catalogue.regions.get((offer.provider, price.region))
    return Price(
        price.usd_per_hour,
        BASIS[price.kind],
        offer.instance,
        price.region,
        price.price_date.isoformat(),
        price.source,
        None if region is None else region.carbon_intensity,
        offer.node,
        price.kind,
        offer.provider,
    )


def carbon_intensity_of(price: Price | None, conditions: Conditions) -> float | None:
    """Return the carbon intensity [g CO2/kWh]: the user's, else of the price's region; None if unknown."""
    if conditions.carbon_intensity is not None or price is None:
        return conditions.carbon_intensity
    return price.carbon_intensity


def cheapest_of_each_kind(catalogue: Catalogue, node: str) -> list[tuple[Instance, OfferPrice]]:
    """Return the lowest known price of each kind for a machine, with its offer, the lowest first."""
    every = [
        (offer, price)
        for offer in catalogue.instances()
        if offer.node == node
        for price in offer.every_price()
    ]
    every.sort(key=lambda each: -each[1].usd_per_hour)
    lowest = {price.kind: (offer, price) for offer, price in every}
    return sorted(lowest.values(), key=lambda each: each[1].usd_per_hour)


def no_price_words(catalogue: Catalogue, node: str, kind: PriceKind, called: str) -> str:
    """Return that no price of a kind is known of a machine, with that on demand or else the lowest known.

    >>> no_price_words(Catalogue.built_in(), "aws-p4d.24xlarge", "reserved-3y", "it")
    'no price reserved for 3 years is known of it; on demand it is $21.96 an hour: --pricing on-demand'
    >>> no_price_words(Catalogue.built_in(), "aws-p5e.48xlarge", "on-demand", "it")
    'no price on demand is known of it; spot it is $17.48 an hour: --pricing spot'
    """
    every = cheapest_of_each_kind(catalogue, node)
    known = {price.kind: price for _, price in every if price.kind != kind}
    other = known.get("on-demand") or next(iter(known.values()), None)
    of_kind = f" {BASIS[kind]}" if other is not None or kind != "on-demand" else ""
    words = f"no price{of_kind} is known of {called}"
    if other is None:
        return words
    return f"{words}; {BASIS[other.kind]} it is {dollars(other.usd_per_hour)} an hour: --pricing {other.kind}"


def hour_words(price: Price) -> str:
    """Return a price per hour and the node it is for, in words.

    >>> hour_words(Price(2.5, "given", node="dgx-h100"))
    '$2.50 an hour of one NVIDIA DGX H100'
    """
    return f"{dollars(price.usd_per_hour)} an hour of one {node_name(price.node) if price.node else 'node'}"


def price_words(price: Price) -> str:
    """Return a price with its instance, region, date and source, in a line.

    >>> price_words(Price(24.48, "on demand", "p3.16xlarge", "us-east-1", "2026-07-20", "a price list"))
    '$24.48 an hour of one node: p3.16xlarge on demand, us-east-1, 2026-07-20, source a price list'
    """
    return ", ".join(price_lines(price))


def price_lines(price: Price) -> list[str]:
    """Return a price in one line, or in two if it has a region, date and source.

    >>> price_lines(Price(24.48, "on demand", "p3.16xlarge", "us-east-1", "2026-07-20", "a price list"))[1]
    'us-east-1, 2026-07-20, source a price list'
    """
    each = hour_words(price)
    if price.basis in OWN:
        return [f"{each}, {'as given' if price.basis == 'given' else 'as bought'}"]
    where = f"{price.region}, {price.date}, source {price.source}"
    return [f"{each}: {price.instance} {price.basis}", where]
