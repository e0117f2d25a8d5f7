"""Machines of the page Plan without a price: fields for one's own, and the catalogue's at a click."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from app import file_marks, session_hardware
from app.options import written
from perfmodel.core.units import dollars
from perfmodel.decide.price_kinds import BASIS
from perfmodel.hardware.instance import Instance, OfferPrice

MOST = 12
"""Machines with a field of their own."""


def draw(unpriced: Sequence[Mapping[str, Any]], picked: Mapping[str, Any]) -> None:
    """Draw a field for the price of each machine without one, and buttons with prices of the catalogue.

    Parameters
    ----------
    unpriced : machines without a price, as an answer of ``perfmodel plan`` has them
    picked : chosen options of the page
    """
    if unpriced:
        st.caption("A price that you fill in joins “Price of a machine”; the search runs again with it.")
    for row in unpriced[:MOST]:
        worth = row["worth_usd_per_hour"]
        below = f"worth up to {dollars(worth)} an hour each" if worth else "not in time at any price"
        name = row["node"]
        with st.container(horizontal=True, vertical_alignment="bottom"):
            price = st.number_input(
                f"{row['name']}, USD an hour ({below})",
                min_value=0.0,
                value=None,
                placeholder="not known",
                key=f"price-of-{name}",
            )
            for offer, known in _elsewhere(name)[:2]:
                if st.button(_label(offer, known), key=f"take-{name}-{known.kind}-{known.region}"):
                    file_marks.go_to("plan", _at(picked, name, known))
        if price:
            file_marks.go_to("plan", _with_price(picked, name, price))
    for row in unpriced[MOST:]:
        st.markdown(f"* {row['name']}: no price is known")


def _elsewhere(node: str) -> list[tuple[Instance, OfferPrice]]:
    """Return the prices of a machine in the catalogue, of any kind and region, the cheapest first."""
    offers = [offer for offer in session_hardware.catalogue().instances() if offer.node == node]
    every = [(offer, price) for offer in offers for price in offer.every_price()]
    return sorted(every, key=lambda each: each[1].usd_per_hour)


def _label(offer: Instance, price: OfferPrice) -> str:
    where = f"{offer.provider} {price.region}, {price.price_date}"
    return f"Take {dollars(price.usd_per_hour)}: {BASIS[price.kind]}, {where}"


def _at(picked: Mapping[str, Any], node: str, price: OfferPrice) -> dict[str, str]:
    """Return the query of the page with a price of the catalogue: its kind, or on demand its figure."""
    if price.kind == "on-demand":
        return _with_price(picked, node, price.usd_per_hour)
    kinds = tuple(dict.fromkeys([*(picked.get("pricing") or ("on-demand",)), price.kind]))
    query = {name: written(value) for name, value in picked.items() if name != "region"}
    return query | {"pricing": ",".join(kinds)}


def _with_price(picked: Mapping[str, Any], node: str, usd: float) -> dict[str, str]:
    """Return the query of the page with the price of a machine added."""
    query = {name: written(value) for name, value in picked.items()}
    return query | {"price": ",".join(filter(None, [query.get("price", ""), f"{node}={usd:g}"]))}
