"""A comparison's labels and values as people read them."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core.units import per_cent, show, three_digits
from perfmodel.decide.comparison.side_by_side import Comparison, Row
from perfmodel.model.prediction.speed_words import range_words
from perfmodel.model.step.terms import TERMS

ALIKE = " (same expected values)"
"""What stands behind the name of a case whose quantities are all those of the first."""
SHORTEST, LOGARITHMIC, ROOM = 0.05, 10, 0.08
"""Least length of the axis of speeds, ratio of its ends from which it is logarithmic, room at either end."""


def shown(value: float | None, unit: str) -> str:
    """Return a value with its unit, for a table; money and counts have none, and None is a dash."""
    if value is None:
        return "-"
    if unit in ("s", "B"):
        return f"{value / 2**30:.1f} GiB" if unit == "B" else show(value, unit)
    if unit == "1":
        return three_digits(value)
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


_LABELS = {
    "samples_per_second": "samples/s",
    "tokens_per_second": "tokens/s",
    "speedup": "speed-up",
    "communication_time": "all communication",
    "mfu": "MFU",
    "mfu_nominal": "MFU, nominal",
    "memory_bytes": "memory",
    "price_per_hour": "USD/h",
    "cost_per_million_samples": "USD/1e6 samples",
    "energy_per_million_samples": "kWh/1e6 samples",
    "carbon_per_million_samples": "g CO2/1e6 samples",
    "cost_to_target": "to target, USD",
    "run_cost": "run, USD",
    "run_energy": "run, kWh",
    "run_carbon": "run, g CO2",
}


def label(row: Row) -> str:
    """Return the label of a row of the table; terms of the iteration are indented."""
    if row.quantity in TERMS:
        return f"  {TERMS[row.quantity].label}"
    return _LABELS.get(row.quantity, row.quantity.replace("_", " "))


def shown_percent(value: float | None) -> str:
    """Return a relative change in percent; empty for None."""
    if value is None:
        return ""
    return per_cent(value, signed=True) if value else "0"


def shown_difference(row: Row, index: int) -> str:
    """Return the difference of a case from the first with sign and unit; empty where a value lacks."""
    difference = row.differences[index]
    if not difference:
        return "" if difference is None else "0"
    return ("+" if difference > 0 else "-") + shown(abs(difference), row.unit)


def shown_input(value: Any) -> str:
    """Return an option's value as text; a dash where a case has none."""
    return "-" if value is None else str(value)


def title(letter: str, name: str) -> str:
    """Return the name of a case without the letter that stands before it anyway.

    >>> title("A", "A (25 Gbit/s)"), title("A", "A"), title("A", "AWS (p4d)")
    ('25 Gbit/s', '', 'AWS (p4d)')
    """
    if name == letter:
        return ""
    begin = f"{letter} ("
    return name[len(begin) : -1] if name.startswith(begin) and name.endswith(")") else name


def is_alike(result: Comparison, index: int) -> bool:
    """Return whether a case after the first is expected to be as the first in every quantity."""
    return index > 0 and not any(row.values[index] != row.values[0] for row in result.rows)


def alike_words(result: Comparison, index: int) -> str:
    """Return that a case is expected to be as the first in every quantity, with the range of its speed."""
    ratio = result.cases[index].ratio
    within = range_words(ratio) if ratio else ""
    speed = f"; its speed is 1 x that of A{within}" if within else ""
    return f"the same expected values as A{speed}"


class SpeedAxis(NamedTuple):
    """The axis of a chart of speeds against the first case."""

    low: float
    high: float
    is_logarithmic: bool


def speed_axis(result: Comparison) -> SpeedAxis:
    """Return the axis that holds the speeds of all cases with their 80 % intervals, and 1."""
    ratios = [case.ratio for case in result.cases if case.ratio]
    known = [1.0, *(end for one in ratios for end in (one.value, one.low_80, one.high_80) if end is not None)]
    low, high = min(known), max(known)
    is_logarithmic = low > 0 and high > LOGARITHMIC * low
    if is_logarithmic:
        room = (high / low) ** ROOM
        return SpeedAxis(low / room, high * room, True)
    room = ROOM * max(high - low, SHORTEST)
    return SpeedAxis(low - room, high + room, False)
