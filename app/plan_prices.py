"""Machines of the page Plan without a price: fields for one's own, and the catalogue's at a click."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from app import file_marks, session_hardware
from app.options import written
from app.plan_form import BETWEEN
from perfmodel.core.choices import PriceKind
from perfmodel.core.units import dollars
from perfmodel.decide.price_kinds import BASIS
from perfmodel.decide.prices import cheapest_of_each_kind
from perfmodel.hardware.instance import Instance, OfferPrice

MOST = 12
"""Machines with a field of their own."""
KINDS = 2
"""Kinds of price that are offered beside a field."""


def draw(unpriced: Sequence[Mapping[str, Any]], picked: Mapping[str, Any]) -> None:
    """Draw a field for the price of each machine without one, and buttons with prices of the catalogue.

    Parameters
    ----------
    unpriced : machines without a price, as an answer of ``perfmodel plan`` has them
    picked : chosen options of the page
    """
    if unpriced:
        st.caption(
            f"A rent that you fill in counts as “{BASIS[_rented(picked)]}” and joins “Price of a machine”; "
            "the search runs again."
        )
    for row in unpriced[:MOST]:
        worth = row["worth_usd_per_hour"]
        below = f" (worth up to {dollars(worth)} an hour each)" if worth else ""
        if row["best"]["meets_deadline"] is False:
            below = " (not in time at any price)"
        name = row["node"]
        with st.container(horizontal=True, vertical_alignment="bottom"):
            price = st.number_input(
                f"{row['name']}, rent in USD an hour{below}",
                min_value=0.0,
                value=None,
                placeholder="not known",
                key=f"price-of-{name}",
            )
            for offer, known in cheapest_of_each_kind(session_hardware.catalogue(), name)[:KINDS]:
                if st.button(_label(offer, known), key=f"take-{name}-{known.kind}-{known.region}"):
                    file_marks.go_to("plan", _at(picked, known))
        if price and (query := _with_price(picked, name, price)) != _query(picked):
            file_marks.go_to("plan", query)
    for row in unpriced[MOST:]:
        st.markdown(f"* {row['name']}: no price is known")


def _label(offer: Instance, price: OfferPrice) -> str:
    where = f"{offer.provider} {price.region}, {price.price_date}"
    return f"Take {dollars(price.usd_per_hour)}: {BASIS[price.kind]}, {where}"


def _query(picked: Mapping[str, Any]) -> dict[str, str]:
    """Return the query of the page."""
    return {name: written(value) for name, value in picked.items()}


def _rented(picked: Mapping[str, Any]) -> PriceKind:
    """Return the kind of price that a rent filled in counts as: the first that is chosen, else on demand."""
    return next((kind for kind in picked.get("pricing") or () if kind != "owned"), "on-demand")


def _at(picked: Mapping[str, Any], price: OfferPrice) -> dict[str, str]:
    """Return the query of the page with the kind of a price of the catalogue, in any region."""
    kinds = dict.fromkeys([*(picked.get("pricing") or ("on-demand",)), price.kind])
    return _query({name: value for name, value in picked.items() if name != "region"}) | {
        "pricing": ",".join(kinds)
    }


def _with_price(picked: Mapping[str, Any], node: str, usd: float) -> dict[str, str]:
    """Return the query of the page with the rent of a machine, and with a kind of price that it counts as."""
    query = _query(picked)
    others = [
        part for part in BETWEEN.split(query.get("price", "")) if part and part.partition("=")[0] != node
    ]
    query["price"] = ",".join([*others, f"{node}={usd:g}"])
    if chosen := picked.get("pricing"):
        query["pricing"] = ",".join(dict.fromkeys([*chosen, _rented(picked)]))
    return query
