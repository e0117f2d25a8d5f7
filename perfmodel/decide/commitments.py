"""What a reserved price commits to: the whole term, and the rest of it that a run does not use."""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from perfmodel.core import ops
from perfmodel.core.choices import PriceKind
from perfmodel.core.units import dollars, duration, plural
from perfmodel.decide.price_kinds import HOUR, TERMS, YEAR
from perfmodel.equations.commitment import committed_cost, unused_cost, worthwhile_time


class Commitment(TypedDict):
    """What a reserved price commits to."""

    term: float
    """For which the machines are reserved [s]."""
    cost: float
    """Of the whole term [USD]."""
    unused: float | None
    """Of the rest of it after the run [USD]; null where the run's length is not known."""


def commitment_words(commitment: Commitment) -> str:
    """Return a commitment in words, to follow "the price needs".

    >>> commitment_words({"term": 3 * YEAR, "cost": 90_000.0, "unused": None})
    'a commitment of 3 years, $90,000 in all'
    """
    years = round(commitment["term"] / YEAR)
    whole = f"a commitment of {years} {plural('year', years)}, {dollars(commitment['cost'])} in all"
    if not commitment["unused"]:
        return whole
    return f"{whole}; what the run leaves unused of it is {dollars(commitment['unused'])}"


def of_commitment(cost: float | None) -> str:
    """Return the clause that a run's cost is part of a commitment; empty without one.

    >>> of_commitment(122_032.0)
    ', of a commitment of $122,032'
    """
    return "" if cost is None else f", of a commitment of {dollars(cost)}"


def commitment_of(kind: PriceKind, machines: Any, usd_per_hour: float, wall_time: Any) -> Commitment | None:
    """Return what some machines at a reserved price commit to; None at another kind of price.

    Parameters
    ----------
    machines : number of them
    wall_time : of the run [s]; None where it is not known
    """
    term = TERMS.get(kind)
    if term is None:
        return None
    per_second = usd_per_hour / HOUR
    unused = None if wall_time is None else ops.number(unused_cost(machines, per_second, term, wall_time))
    return {"term": term, "cost": ops.number(committed_cost(machines, per_second, term)), "unused": unused}


def pays_from(kind: PriceKind, usd_per_hour: float, usd_by_the_hour: float) -> str:
    """Return from which time at work a reserved price pays, in words.

    >>> pays_from("reserved-1y", 6.0, 10.0)
    'it pays where the machines work 219 days of the 365'
    """
    term = TERMS[kind]
    if usd_per_hour >= usd_by_the_hour:
        return "it never pays"
    least = worthwhile_time(usd_per_hour / HOUR, usd_by_the_hour / HOUR, term)
    days = round(term / 86400)
    return f"it pays where the machines work {duration(ops.number(least))} of the {days:,}"
