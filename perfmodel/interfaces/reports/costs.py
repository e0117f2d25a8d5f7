"""Costs of a job for the page of any answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.decide.prices import Price, price_words
from perfmodel.interfaces.reports.figures import cost_rows
from perfmodel.interfaces.reports.page import Listing


def cost_listing(money: Mapping[str, Any]) -> Listing:
    """Return the table of costs; ``money`` is a result of ``economics``."""
    rows = cost_rows(money)
    return Listing("What it costs", list(rows[0]), [list(row.values()) for row in rows])


def cost_notes(money: Mapping[str, Any]) -> list[str]:
    """Return notes on unknown costs, and the source of the price."""
    price = [f"price: {price_words(Price(**money['price']))}"] if money["price"] else []
    return [*(f"unknown: {line}" for line in money["unknown"]), *price]
