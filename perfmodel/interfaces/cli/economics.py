"""The lines of prices, power and failures."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from perfmodel.core.units import per_cent

if TYPE_CHECKING:
    from perfmodel.decide.commitments import Commitment


def show_economics(result: Mapping[str, Any]) -> None:
    """Print what ``perfmodel.decide.economics.economics`` returns, at 80 columns."""
    from rich.text import Text

    from perfmodel.interfaces.cli.render import console, table
    from perfmodel.interfaces.reports.figures import cost_rows

    out = console()
    rows = table("cost", "time", "USD", "kWh", "kg CO2")
    for row in cost_rows(result):
        rows.add_row(*row.values())
    out.print(rows)
    lines = _price(result["price"]), _committed(result.get("commitment")), _failures(result["reliability"])
    for line in chain(*lines):
        out.print(Text(line))
    if result["assumed"]:
        out.print(Text("assumed: " + "; ".join(result["assumed"])))
    for line in result["unknown"]:
        out.print(Text(f"unknown: {line}"))


def _price(price: dict[str, Any] | None) -> list[str]:
    if price is None:
        return []
    from perfmodel.decide.prices import Price, price_lines

    lines = price_lines(Price(**price))
    return [f"{label:<22}{line}" for label, line in zip(("price", ""), lines, strict=False)]


def _committed(commitment: Commitment | None) -> list[str]:
    if commitment is None:
        return []
    from perfmodel.decide.commitments import commitment_words

    return [f"{'':<22}it needs {commitment_words(commitment)}"]


def _failures(reliability: dict[str, Any] | None) -> list[str]:
    if reliability is None:
        return []
    from perfmodel.core.units import show
    from perfmodel.interfaces.reports.figures import amount

    interval = reliability["checkpoint_interval"]
    best = "too short a run for a checkpoint to pay"
    if interval is not None:
        best = f"best to write a checkpoint every {show(interval, 's')}"
    lines = [
        f"{'goodput':<22}{per_cent(reliability['goodput'])} of the time is work kept",
        f"{'failures':<22}one in {amount(reliability['failure_interval'], 1 / 3600)} h; {best}",
    ]
    if reliability["failures"] is not None:
        lines.append(f"{'':<22}{reliability['failures']:.3g} expected in the run")
    return lines
