"""A comparison's labels and values as people read them."""

from __future__ import annotations

from typing import Any

from perfmodel.core.units import per_cent, show, three_digits
from perfmodel.decide.comparison.side_by_side import Row
from perfmodel.model.step.terms import TERMS


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
