"""Prices that nobody has said: which to ask for, and the rent below which each is the one to take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from perfmodel.core.sentences import in_a_list
from perfmodel.core.units import dollars, plural
from perfmodel.decide.commitments import reserved_time
from perfmodel.decide.price_kinds import HOUR, TERMS


class UnknownPrice(NamedTuple):
    """Something without a known price."""

    name: str
    even: float | None
    """Rent of a machine at which it costs as much as what would be taken else [USD/h]; None if not known."""
    kind: str | None = None
    """Kind of the price."""

    @property
    def below(self) -> str:
        """The name, with the rent below which it is cheaper."""
        rent = self.even and f" (cheaper below {dollars(self.even)} an hour of a machine)"
        return f"{self.name}{rent or ''}"


def even_rent(owed: float, wall_time: float, machines: int, kind: str | None) -> float:
    """Return the rent of a machine at which a run costs a given amount [USD/h].

    Parameters
    ----------
    owed : amount [USD]
    wall_time, machines : of the run [s], [1]
    kind : of its price; a reserved one is paid for every term that the run begins

    Examples
    --------
    $1,200 for 10 h of 4 machines are $30 an hour of each.

    >>> even_rent(1200.0, 36000.0, 4, "spot")
    30.0
    """
    term = TERMS.get(kind or "")
    return owed / machines * HOUR / (wall_time if term is None else reserved_time(term, wall_time))


def to_ask(lacking: Sequence[UnknownPrice], taken: str | None) -> str:
    """Return which prices to ask for, and below which each is cheaper than what would be taken else.

    Parameters
    ----------
    lacking : what has no known price
    taken : name of what is cheapest of the others; None where no price is known

    Examples
    --------
    >>> to_ask([UnknownPrice("B", 12.5)], "A")
    'ask for the price of B: below $12.50 an hour of a machine it is cheaper than A'
    >>> to_ask([UnknownPrice("B", None), UnknownPrice("C", 3.0)], "A")
    'ask for the prices of B and C (cheaper below $3 an hour of a machine) before you take A'
    >>> to_ask([UnknownPrice("A", None), UnknownPrice("B", None)], None)
    'take whichever costs you less'
    >>> to_ask([UnknownPrice("B", 12.5, "reserved-1y")], "A").partition("than ")[-1]
    'A, as every hour of the term is paid'
    """
    if taken is None and len(lacking) > 1:
        return f"take whichever costs you {'less' if len(lacking) == 2 else 'least'}"
    names = f" of {in_a_list(each.below for each in lacking)}"
    if taken is None:
        return f"ask for the price{names}"
    whole = ", as every hour of the term is paid" if any(e.even and e.kind in TERMS for e in lacking) else ""
    if len(lacking) == 1 and (even := lacking[0].even):
        below = f"below {dollars(even)} an hour of a machine it is cheaper than {taken}"
        return f"ask for the price of {lacking[0].name}: {below}{whole}"
    return f"ask for the {plural('price', len(lacking))}{names} before you take {taken}{whole}"
