"""A comparison of fleets as a table: a row of texts for what one has and for each option."""

from __future__ import annotations

from perfmodel.core.units import duration, rate, thousands, three_digits
from perfmodel.decide.planning.fleets.option_words import name_of
from perfmodel.decide.planning.fleets.result import FleetOption, Fleets, Purchase

SPEED = "x as fast (80 %)"
"""Heading of the speed as a multiple of the present fleet's."""


def columns_of(answer: Fleets) -> tuple[str, ...]:
    """Return the headings: the time of a run where its length is known, else the speed."""
    speed = "samples/s" if answer.have.run_time is None else "run"
    return ("option", "GPUs", speed, SPEED, "USD", "pays back")


def rows_of(answer: Fleets) -> list[tuple[str, ...]]:
    """Return the rows: what one has, then the options in their order, with their 80 % intervals."""
    return [
        (
            name_of(one),
            str(one.gpus),
            rate(one.samples_per_second) if one.run_time is None else duration(one.run_time),
            _times(one),
            _dollars(one.purchase),
            _payback(one),
        )
        for one in (answer.have, *answer.options)
    ]


def _times(one: FleetOption) -> str:
    """Return the speed as a multiple of the present fleet's, with its interval."""
    if one.ratio is None:
        return ""
    value = three_digits(one.ratio.value)
    if one.ratio.low_80 is None or one.ratio.high_80 is None:
        return value
    return f"{value} ({three_digits(one.ratio.low_80)} to {three_digits(one.ratio.high_80)})"


def _dollars(purchase: Purchase | None) -> str:
    """Return price and rent of a purchase; empty of the present fleet."""
    if purchase is None:
        return ""
    if purchase.capital is None or purchase.rent is None:
        return "unknown"
    capital = thousands(purchase.capital) if purchase.capital or not purchase.rent else ""
    rent = f"{rate(purchase.rent)}/h" if purchase.rent else ""
    return " + ".join(part for part in (capital, rent) if part)


def _payback(one: FleetOption) -> str:
    """Return after how long at work an option has paid back; a dash where a price is unknown."""
    if one.payback is None:
        return "" if one.purchase is None else "-"
    if one.payback.time is None:
        return "never"
    return duration(one.payback.time) if one.payback.time else "at once"
