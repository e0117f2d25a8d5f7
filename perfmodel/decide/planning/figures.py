"""Amounts of a plan with their limits, and figures that its card lacks: every interface shows the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from perfmodel.core.sentences import likely_at_most
from perfmodel.core.units import dollars, duration, parse, per_cent, rate, thousands
from perfmodel.decide.planning.within import owes_more, payment
from perfmodel.model.prediction.memory_odds import CERTAIN

Row = Mapping[str, Any]


def rounded_up(value: float, unit: str) -> float:
    """Return the least time [s] or amount [USD] that is written in as many digits and is not below another.

    A limit that people read, such as what a run takes at most, must not be rounded down.

    >>> duration(rounded_up(181.4 * 86400, "s")), dollars(rounded_up(12.2541e6, "USD"))
    ('182 days', '$12.26M')
    """
    write = duration if unit == "s" else dollars
    for step in range(200):  # three digits are within 0.5 %
        shown = parse(write(value * (1 + step / 20000)), unit)
        if shown >= (1 - 1e-9) * value:
            return shown
    return value


def time_at_most(row: Row) -> str:
    """Return what a plan takes at most, not rounded down; empty where that is not known."""
    most = row["run_time_at_most"]
    return "" if most is None else duration(most if most == row["run_time"] else rounded_up(most, "s"))


def cost_at_most(row: Row) -> str:
    """Return what a plan costs at most, not rounded down; empty where that is not known."""
    most = row["cost_at_most"]
    return "" if most is None else dollars(most if most == payment(row) else rounded_up(most, "USD"))


def is_fixed(row: Row) -> bool:
    """Return whether what must be paid for a plan does not depend on how long it takes: a reserved term."""
    return row["cost_at_most"] is not None and row["cost_at_most"] == payment(row) > row["cost"]


def likely_amounts(row: Row, confidence: float) -> str:
    """Return what a plan is likely to take and cost at most, and to fit where that is not certain.

    A cost that is fixed is none of that.

    Parameters
    ----------
    row : a plan of which both or one is known
    confidence : that of the goal
    """
    amounts = filter(None, [time_at_most(row), "" if is_fixed(row) else cost_at_most(row)])
    # the risk not to fit is a part of this one; intervals of time have none of it
    fits = row["memory"]["fits_probability"] >= CERTAIN
    return likely_at_most(amounts, confidence, "" if fits else "fit and to ")


def ends(row: Row, name: str, show: Callable[[float], str]) -> str:
    """Return the ends of the 80 % interval of an amount of a plan; empty where it is not known.

    >>> ends({"cost_low_80": 9.0, "cost_high_80": 12.0}, "cost", dollars)
    '$9 to $12'
    """
    low, high = row[f"{name}_low_80"], row[f"{name}_high_80"]
    return "" if low is None or high is None else f"{show(low)} to {show(high)}"


def time_interval(row: Row) -> str:
    """Return the ends of the 80 % interval of the run time; empty where it is not known."""
    return ends(row, "run_time", duration)


def cost_interval(row: Row) -> str:
    """Return the ends of the 80 % interval of the cost; empty where it is not known or a term is paid."""
    return "" if row["cost"] is None or owes_more(row) else ends(row, "cost", dollars)


def figures_of(row: Row) -> list[tuple[str, str]]:
    """Return throughput with MFU, layouts that are as fast, software, goodput and energy of a plan.

    Parameters
    ----------
    row : the plan, as of ``perfmodel plan --json``
    """
    tokens = row["sequence_length"]
    if row["layout"]:
        mfu = f"MFU {per_cent(row['mfu'])} ({per_cent(row['mfu_nominal'])} nominal)"
        figures = [("throughput", f"{row['tokens_per_second']:,.0f} tokens/s, {mfu}")]
    else:
        figures = [("throughput", f"{rate(row['samples_per_second'])} samples/s")]
    if row["also"]:
        figures.append(("as fast within 1 %", "; ".join(row["also"])))
    if row["layout"]:
        figures.append(("software", f"{row['framework']}, {tokens} tokens a sample"))
    if row["goodput"] != 1:
        figures.append(("goodput", f"{per_cent(row['goodput'])} of the time is work kept"))
    if row["energy"] is not None:
        carbon = "" if row["carbon"] is None else f", {thousands(row['carbon'] / 1000)} kg CO2"
        figures.append(("energy", f"{thousands(row['energy'])} kWh{carbon}"))
    return figures
