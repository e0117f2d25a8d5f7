"""The page of a search for machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfmodel.core.records.options import declared
from perfmodel.core.units import UNITS, dollars, duration, many, percent, rate, show, three_digits
from perfmodel.decide.planning import SearchResult
from perfmodel.decide.planning.each_kind import COLUMNS, best_of_each_kind
from perfmodel.decide.planning.figures import cost_interval, time_interval
from perfmodel.decide.planning.goal import Goal, options_of
from perfmodel.decide.planning.plan_card import card_of_plan
from perfmodel.decide.planning.plan_verdict import notes, verdict
from perfmodel.decide.planning.price_words import price_rows, priced_name
from perfmodel.decide.planning.table_words import (
    MOST,
    chance_heading,
    chance_of,
    front_words,
    of_front,
    verdict_of,
)
from perfmodel.decide.planning.within import payment
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.reports.given import in_short
from perfmodel.interfaces.reports.page import Listing, Page, Span, Spans
from perfmodel.interfaces.reports.sources import sources_behind
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.run import Run
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.transformers.layout_words import short

Row = Mapping[str, Any]


def page_of_plan(result: SearchResult, command: str | None, catalogue: Catalogue) -> Page:
    """Return the page of a search for machines.

    Parameters
    ----------
    command : shell command that repeats it, or None
    catalogue : of the searched hardware
    """
    card, more = card_of_plan(result), verdict(result)[1:]
    chosen, front = result.in_question, result.front
    shown = of_front(front, chosen)
    rejected, unpriced = result.rejected[:MOST], result.unpriced[:MOST]
    tables = (
        in_short(card),
        Listing(
            "At each kind of price", COLUMNS, [each.cells for each in best_of_each_kind(result)], texts=2
        ),
        _front(shown, front, result.in_short),
        _rejected(rejected, len(result.rejected)),
        _unpriced(unpriced, len(result.unpriced)),
        _prices(result, [*shown, *rejected]),
    )
    scenarios = [] if chosen is None else [options_of(chosen, result.goal.workload, result.goal.options)]
    return Page(
        question=_question(result.goal),
        answer=[card.advice, *more],
        charts=[_times(shown, result)] if shown else [],
        tables=[table for table in tables if table.rows],
        assumptions=[f"options: {', '.join(_assumed(result.goal))}"],
        notes=notes(result),
        sources=sources_behind(scenarios, catalogue, result.goal.conditions),
        command=command,
    )


def _front(rows: Sequence[Row], front: Sequence[Row], marked: Row) -> Listing:
    """Return a table of plans on the front."""
    amounts = ("run", "80 %", "cost", "cost, 80 %", chance_heading(marked["goal"]))
    return Listing(
        front_words(rows, front),
        ("plan", "verdict", "how", "batch", "samples/s", *amounts, "kWh"),
        [[priced_name(row), verdict_of(row, marked), _layout_words(row), *_figures(row)] for row in rows],
        texts=3,
    )


def _layout_words(row: Row) -> str:
    """Return layout and precision of a plan in short."""
    return f"{short(row['layout'])} {row['precision']}" if row["layout"] else str(row["precision"])


def _rejected(rows: Sequence[Row], whole: int) -> Listing:
    """Return a table of the best plans of other machines, with the reasons against them."""
    return Listing(
        f"Why not others{_of(rows, whole)}",
        ("best plan of each other machine", "why not", "run", "cost", "times the samples/s", "at 80 %"),
        [
            [
                priced_name(row),
                row["why"],
                duration(row["run_time"]),
                _cost(row),
                three_digits(row["ratio"]["value"]),
                _ends(row["ratio"]),
            ]
            for row in rows
        ],
        texts=2,
    )


def _ends(ratio: Row) -> str:
    """Return the interval of a ratio as text; a dash where it is unknown."""
    low, high = ratio["low_80"], ratio["high_80"]
    return "-" if low is None else f"{three_digits(low)} to {three_digits(high)}"


def _unpriced(rows: Sequence[Row], whole: int) -> Listing:
    """Return a table of machines without a price, with the price at which they are as good as the chosen."""
    cells = [
        [
            row["machine"],
            str(row["best"]["world_size"]),
            duration(row["best"]["run_time"]),
            "-" if row["worth_usd_per_hour"] is None else f"{row['worth_usd_per_hour']:,.4g}",
        ]
        for row in rows
    ]
    columns = ("machine without a known price (--price)", "GPUs", "run", "as good as the chosen below, USD/h")
    return Listing(f"Price unknown{_of(rows, whole)}", columns, cells)


def _of(shown: Sequence[Row], whole: int) -> str:
    """Return a remark that only some rows are shown; empty if all are."""
    return "" if len(shown) == whole else f" ({len(shown)} of {whole})"


def _prices(result: SearchResult, plans: Sequence[Row]) -> Listing:
    """Return a table of the prices of the machines of plans, with their kinds and sources."""
    rows = [
        [row.machine, *(each or "-" for each in row[2:]), f"{row.usd_per_hour:,.4g}"]
        for row in price_rows(result, plans)
    ]
    return Listing("Prices", ("one node", "region", "date", "source", "USD/h"), rows, texts=4)


def _question(goal: Goal) -> str:
    """Return the question that a search answers."""
    limits = []
    if goal.deadline is not None:
        limits.append(f"within {duration(goal.deadline)}")
    if goal.budget is not None:
        limits.append(f"for at most {dollars(goal.budget)}")
    sure = f", sure to {percent(goal.confidence)}" if limits else ""
    within = f" {' and '.join(limits)}" if limits else ""
    return f"What to rent to {goal.purpose}{within}{sure}?"


def _figures(row: Row) -> list[str]:
    """Return batch, throughput, run time and cost with intervals, chance and energy of a plan as texts."""
    energy = row["energy"]
    return [
        f"{row['global_batch_size']:,}",
        rate(row["samples_per_second"]),
        duration(row["run_time"]),
        time_interval(row) or "-",
        _cost(row),
        cost_interval(row) or "-",
        chance_of(row),
        "-" if energy is None else f"{energy:,.3g}",
    ]


def _cost(row: Row) -> str:
    """Return what must be paid for a plan as text."""
    return "unknown" if row["cost"] is None else dollars(payment(row))


def _times(rows: Sequence[Row], result: SearchResult) -> Spans:
    """Return a chart of the run times of plans with their intervals."""
    spans = [
        Span(
            priced_name(row),
            row["run_time"],
            row["run_time_low_80"],
            row["run_time_high_80"],
            f"{duration(row['run_time'])}, {_cost(row)}",
        )
        for row in rows
    ]
    deadline = result.goal.deadline
    caption = "Time of the run with its 80 % interval; equal steps are equal factors."
    if deadline is not None:
        caption += f"  The dashed line is the deadline of {duration(deadline)}."
    return Spans("How long each takes", spans, caption, deadline, logarithmic=True)


def _assumed(goal: Goal) -> list[str]:
    """Return the options of a goal that differ from their defaults, as ``--name value`` for people."""
    known = (
        (declared(Run), vars(goal)),
        (declared(Conditions), goal.conditions.model_dump()),
        (declared(Scenario), goal.options),
    )
    return [
        f"--no-{one.name}" if values[field] is False else f"--{one.name} {_shown(values[field], one.unit)}"
        for options, values in known
        for field, one in options.items()
        if values.get(field) not in (None, (), {}, one.default)
    ]


def _shown(value: object, unit: str) -> str:
    """Return the value of an option as text, with its unit."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={amount:g}" for name, amount in value.items())
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if unit.startswith("count of"):
        return many(value)
    if unit in UNITS:
        return duration(value) if unit == "s" else show(value, unit)
    number = f"{value:,.0f}" if value >= 1000 else f"{value:.6g}"
    return f"{number} {unit}".removesuffix(" 1").rstrip()
