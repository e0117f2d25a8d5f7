"""What a reserved price commits to: the whole term, and the rest of it that a run does not use."""

from __future__ import annotations

import math
from typing import Any

from typing_extensions import TypedDict

from perfmodel.core import ops
from perfmodel.core.choices import PriceKind
from perfmodel.core.units import dollars, duration, plural
from perfmodel.decide.price_kinds import HOUR, TERMS, YEAR
from perfmodel.decide.prices import Price
from perfmodel.equations.commitment import committed_cost, unused_cost, worthwhile_time
from perfmodel.equations.cost import both_costs


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


def reserved_time(term: Any, wall_time: Any) -> Any:
    """Return the time of the terms that a run begins, all of which must be paid [s]: one term at least.

    Numbers or arrays.

    >>> reserved_time(YEAR, 0.2 * YEAR) / YEAR, reserved_time(YEAR, 1.6 * YEAR) / YEAR
    (1.0, 2.0)
    """
    return term * ops.maximum(1, ops.ceil(wall_time / term))


def whole_and_unused(
    machines: Any, usd_per_hour: Any, servers: Any, server_usd_per_hour: Any, term: Any, wall_time: Any
) -> tuple[Any, Any]:
    """Return the cost of whole terms that a run begins, and of their rest after it [USD]; numbers or arrays.

    Parameters
    ----------
    machines, servers : that train, and of parameter servers
    usd_per_hour, server_usd_per_hour : of one of each at the reserved price; 0 of what is not reserved
    term, wall_time : of the reservation, and of the run [s]
    """
    reserved = reserved_time(term, wall_time)
    train, serve = (machines, usd_per_hour / HOUR), (servers, server_usd_per_hour / HOUR)
    whole = both_costs(committed_cost(*train, reserved), committed_cost(*serve, reserved))
    unused = both_costs(unused_cost(*train, reserved, wall_time), unused_cost(*serve, reserved, wall_time))
    return whole, unused


def commitment_of(
    kind: PriceKind,
    machines: Any,
    usd_per_hour: float,
    wall_time: Any,
    servers: Any = 0,
    server_usd_per_hour: float = 0.0,
) -> Commitment | None:
    """Return what some machines at a reserved price commit to; None at another kind or an unknown price.

    Parameters
    ----------
    wall_time : of the run [s]; None where it is not known
    machines, usd_per_hour, servers, server_usd_per_hour : as of ``whole_and_unused``
    """
    term = TERMS.get(kind)
    if term is None:
        return None
    time = term if wall_time is None else wall_time
    whole, unused = whole_and_unused(machines, usd_per_hour, servers, server_usd_per_hour, term, time)
    if math.isnan(ops.number(whole)):
        return None
    rest = None if wall_time is None else ops.number(unused)
    return {"term": ops.number(reserved_time(term, time)), "cost": ops.number(whole), "unused": rest}


def reserved_too(server: Price | None, price: Price) -> float:
    """Return the price of a server that is reserved as the other machines are [USD/h].

    0 of one that is not, nan where its price is not known.
    """
    if server is None:
        return math.nan
    return server.usd_per_hour if server.kind == price.kind else 0.0


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
