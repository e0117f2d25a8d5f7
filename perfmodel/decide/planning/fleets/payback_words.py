"""Words on when a purchase for a fleet pays back, and up to which price one of unknown price does."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from perfmodel.core.units import dollars, duration, per_cent
from perfmodel.decide.planning.fleets.result import FleetOption, WorkValue

MACHINES: Final = re.compile(r"(\d+) x [^+]*")
"""Matches an option that is machines of one kind alone."""
LEAST_DOLLARS = 0.005
"""Smallest loss that is shown [USD/h]."""


def with_same_batch(one: FleetOption, words: str, words_of: Callable[[FleetOption], str]) -> str:
    """Return words on an option, then those with about as many samples a step as today where they differ."""
    same = one.at_same_batch
    other = "" if same is None else words_of(same)
    return words if same is None or other in ("", words) else f"{words}; with {step_words(same)}: {other}"


def step_words(one: FleetOption) -> str:
    """Return the samples of a step of an option, in words."""
    return f"{one.global_batch_size:,} samples a step"


def payback_words(
    one: FleetOption, value: WorkValue | None = None, in_full: bool = True, same_batch: bool = True
) -> str:
    """Return when an option pays back, in words, or why that is unknown.

    Parameters
    ----------
    value : of the present fleet's work, on which a highest price rests; None to leave that out
    in_full : with runs and interval
    same_batch : in full, also with about as many samples a step as today
    """
    words = _payback(one, value, in_full)
    return with_same_batch(one, words, _in_short) if in_full and same_batch else words


def _in_short(one: FleetOption) -> str:
    """Return ``payback_words`` without what a highest price rests on, runs and interval."""
    return _payback(one, None, in_full=False)


def _payback(one: FleetOption, value: WorkValue | None, in_full: bool) -> str:
    """Return ``payback_words`` of the option's own step."""
    payback, purchase = one.payback, one.purchase
    if payback is None:
        unknown = purchase is not None and purchase.capital is None
        if unknown and one.worth is not None:
            return f"{worth_words(one)}{basis_words(value)}"
        return "price unknown" if unknown else "value of the work unknown (--hour-value)"
    if payback.time is None:
        return f"never pays back: {_loss(one)}"
    if payback.time == 0:
        return f"pays at once: it adds {dollars(payback.gain_per_hour)} more an hour than it costs"
    latest = "never" if payback.latest_80 is None else duration(payback.latest_80)
    soonest = "never" if payback.soonest_80 is None else duration(payback.soonest_80)
    runs = f", {_runs(payback.jobs)}" if in_full and payback.jobs is not None else ""
    only, late = ("", "") if payback.within_life else ("only ", ", which is after it is written off")
    known = in_full and one.ratio is not None and one.ratio.high_80 is not None
    between = f" (80 %: {soonest} to {latest})" if known else ""
    return f"pays back {only}after {duration(payback.time)} at work{runs}{between}{late}"


def worth_words(one: FleetOption) -> str:
    """Return below which price an option pays back before it is written off; ``basis_words`` goes with it."""
    return f"pays back if it costs less than {price_words(one)}" if one.worth else "pays at no price"


def highest_price_words(one: FleetOption) -> str:
    """Return below which price an option pays back, also with about as many samples a step as today."""
    return with_same_batch(one, _price_or_none(one), _price_or_none)


def _price_or_none(one: FleetOption) -> str:
    """Return the highest price at which an option pays back, or that there is none."""
    return price_words(one) if one.worth else "pays at no price"


def price_words(one: FleetOption) -> str:
    """Return the highest price at which an option pays back, in all and for each machine."""
    assert one.worth is not None
    count = MACHINES.fullmatch(one.option)
    if count and int(count[1]) > 1:
        return f"{dollars(one.worth / int(count[1]))} each, {dollars(one.worth)} in all"
    return dollars(one.worth)


def basis_words(value: WorkValue | None) -> str:
    """Return in brackets what a highest price rests on: years, hours at work, worth of an hour; "" of None.

    >>> basis_words(WorkValue(usd_per_hour=180.0, source="given", service_years=4.0, used_fraction=0.5))
    ' (over 4 years, 50 % of the time at work, each hour of what you have worth $180)'
    """
    if value is None:
        return ""
    used = "always" if value.used_fraction == 1 else f"{per_cent(value.used_fraction, 0)} of the time"
    worth = f"each hour of what you have worth {dollars(value.usd_per_hour)}"
    return f" (over {value.service_years:g} years, {used} at work, {worth})"


def _loss(one: FleetOption) -> str:
    """Return why an option never pays back: it is slower, adds nothing, or costs more than it adds."""
    assert one.payback is not None
    assert one.purchase is not None
    lost = -one.payback.gain_per_hour
    running = (one.purchase.rent or 0.0) + one.purchase.electricity
    if one.ratio is not None and one.ratio.value < 1 and running <= 0:
        return f"it is slower than what you have, which loses work worth {dollars(lost)} an hour"
    if lost < LEAST_DOLLARS:
        return "it adds no more than it costs to run" if running > 0 else "it adds nothing"
    if one.ratio is not None and one.ratio.value < 1:
        return f"it is slower than what you have, and loses {dollars(lost)} an hour with what it costs to run"
    return f"it costs {dollars(lost)} more an hour than it adds"


def _runs(count: float) -> str:
    """Return a number of runs in words.

    >>> _runs(9510.4), _runs(12.34)
    ('9,510 runs', '12.3 runs')
    """
    return f"{count:,.0f} runs" if count >= 100 else f"{count:.3g} runs"
