"""A search for machines as plain text, at 80 columns: the verdict first, then what it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click
from rich.text import Text

from perfmodel.core.units import counted, duration, rate, three_digits
from perfmodel.decide.planning import SearchResult
from perfmodel.decide.planning.each_kind import COLUMNS, best_of_each_kind
from perfmodel.decide.planning.figures import figures_of
from perfmodel.decide.planning.launch import predict_command, slurm_job, torchrun, with_options
from perfmodel.decide.planning.plan_verdict import notes, that_matter, verdict
from perfmodel.decide.planning.price_words import price_rows
from perfmodel.decide.planning.table_words import (
    SUREST,
    TAKE,
    chance_heading,
    chance_of,
    front_words,
    mark_of,
    marks_words,
    of_front,
    short_names,
)
from perfmodel.decide.planning.within import payment
from perfmodel.interfaces.cli.render import LABEL, command_to, console, filled, lines_to, show_card, times_of
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.transformers.layout_words import short

Row = Mapping[str, Any]

MOST_REJECTED = 10
MOST_REASONS = 4
NARROWEST = 12
"""Least characters of a name beside its numbers."""


def show_plan(result: SearchResult, card: Card, verbose: bool = False) -> None:
    """Print the answer of a search; ``verbose`` prints why not others, prices and every note too."""
    out = console()
    chosen = result.in_question
    show_card(out, card, None if chosen is None else times_of(result.predicted(chosen)))
    if chosen is not None:
        out.print(Text("The same job:"))
        command_to(out, predict_command(chosen, result.goal.workload, result.goal.options))
    _show_kinds(result)
    more = verdict(result)[1:]
    if more:
        out.print()
    for line in more:
        lines_to(out, line)
    if chosen is not None:
        out.print()
        for label, value in figures_of(chosen):
            lines_to(out, value, f"{label:<{LABEL}}")
    shown = _show_front(result, verbose)
    if verbose:
        _show_more(result, ([chosen] if chosen else []) + shown)
    every = notes(result)
    kept = every if verbose else that_matter(result)
    for note in kept:
        lines_to(out, f"note: {note}")
    if not verbose:
        left = len(every) - len(kept)
        more_notes = f", {counted(left, 'note')} more" if left else ""
        lines_to(out, f"--verbose: why not others, prices with their sources{more_notes}")


def _show_more(result: SearchResult, plans: list[Row]) -> None:
    """Print why not others, prices, machines without one, and what was tried."""
    out = console()
    shown = _show_rejected(result)
    _show_prices(result, plans + shown)
    _show_unpriced(result)
    layouts = f", the best of {result.layouts:,} layouts" if result.layouts else ""
    kinds = len({each[:2] for each in result.machines})
    tried = f"tried: {len(result):,} plans on {counted(kinds, 'machine')}{layouts}"
    lines_to(out, f"{tried}; {_left_out(result)}")
    if result.impossible:
        lines_to(out, f"no plan is left on: {', '.join(result.impossible)}")


def _show_kinds(result: SearchResult) -> None:
    """Print the best plan at each kind of price, where several were asked for."""
    kinds = best_of_each_kind(result)
    if not kinds:
        return
    console().print()
    plans = [(f"{each.cells[0]}: {each.cells[1]}", each.cells[2:], "", "") for each in kinds]
    _show_plans(COLUMNS[2:], plans)


def show_script(result: SearchResult, as_slurm: bool) -> None:
    """Print what starts the plan chosen; where none is, what starts the surest, and on stderr why."""
    chosen = result.in_question
    if chosen is not None:
        click.echo(
            (slurm_job if as_slurm else torchrun)(with_options(chosen, result.goal), result.goal.workload)
        )
    if not result.met:
        click.echo(f"perfmodel: {' '.join(verdict(result)[:2])}", err=True)


def _show_front(result: SearchResult, verbose: bool) -> list[Row]:
    """Print plans of the front and always the one chosen."""
    rows, chosen = result.front, result.in_question
    kept = of_front(rows, chosen)
    if not kept:
        return []
    out, goal = console(), result.in_short["goal"]
    out.print()
    lines_to(
        out, f"{front_words(kept, rows)}{' (--csv: all)' if len(kept) < len(rows) else ''}", style="bold"
    )
    marks = [mark_of(row, result.in_short) for row in kept]
    plans = [
        (
            str(name),
            (
                duration(row["run_time"]),
                _usd(None if row["cost"] is None else payment(row)),
                chance_of(row),
            ),
            f"{_short_way(row)}, {row['precision']}, batch {row['global_batch_size']:,}" if verbose else "",
            mark,
        )
        for name, row, mark in zip(short_names(kept), kept, marks, strict=True)
    ]
    _show_plans(("run", "USD", chance_heading(goal)), plans)
    if meaning := marks_words(marks, goal["confidence"]):
        lines_to(out, meaning)
    out.print()
    return kept


def _show_plans(columns: Sequence[str], plans: Sequence[tuple[str, tuple[str, ...], str, str]]) -> None:
    """Print plans or machines: name, numbers and mark, and a text on further lines; no word is broken.

    Parameters
    ----------
    columns : headings of the numbers
    plans : name, numbers, text and mark of each
    """
    out = console()
    cells = [columns, *(numbers for _, numbers, _, _ in plans)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    first = out.width - sum(width + 2 for width in widths)
    first = max(NARROWEST, first - max((len(mark) + 2 for *_, mark in plans if mark), default=0))

    def line(name: str, numbers: Sequence[str], mark: str) -> str:
        shown = "".join(f"  {cell:>{width}}" for cell, width in zip(numbers, widths, strict=True))
        return f"{name:<{first}}{shown}  {mark}".rstrip()

    out.print(Text(line("", columns, "")), style="dim")
    for name, numbers, below, mark in plans:
        *before, name = filled(name, first).splitlines()
        for part in before:
            out.print(Text(part))
        out.print(Text(line(name, numbers, mark)), style="bold" if mark in (TAKE, SUREST) else "")
        if below:
            lines_to(out, below, "    ")


def _short_way(row: Row) -> str:
    if row["layout"]:
        return short(row["layout"])
    if row["world_size"] == 1:
        return "1 GPU"
    if row["strategy"] == "all-reduce":
        return "all-reduce" if row["algorithm"] == "auto" else str(row["algorithm"])
    names = {
        "parameter-server": counted(row["servers"] or 0, "parameter server"),
        "parameter-server-local": "local parameter server",
        "data-parallel-single-process": "1 process",
    }
    return names[row["strategy"]]


def _usd(amount: float | None) -> str:
    if amount is None:
        return "-"
    if amount >= 1e6:
        return f"{amount / 1e6:,.4g}M"
    return f"{amount:,.0f}" if amount >= 100 else f"{amount:.4g}"


def _show_rejected(result: SearchResult) -> list[Row]:
    rows: list[Row] = list(result.rejected)
    if not rows:
        return []
    out, shown = console(), rows[:MOST_REJECTED]
    lines_to(out, "Why not others: the best plan of each machine", style="bold")
    _show_plans(
        ("run", "USD"),
        [
            (
                str(name),
                (duration(row["run_time"]), _usd(payment(row))),
                f"{row['why']}; {_speed(row['ratio'])}",
                "",
            )
            for name, row in zip(short_names(shown), shown, strict=True)
        ],
    )
    counts = {
        reason: sum(row["reason"] == reason for row in rows[MOST_REJECTED:]) for reason in _reasons(rows)
    }
    if len(rows) > MOST_REJECTED:
        report = ", ".join(f"{count} {reason}" for reason, count in counts.items() if count)
        lines_to(out, f"and {len(rows) - MOST_REJECTED} more: {report} (--json: all)")
    out.print()
    return shown


def _speed(ratio: Mapping[str, Any]) -> str:
    speed = f"{three_digits(ratio['value'])} x the samples/s"
    if ratio["low_80"] is None:
        return speed
    return f"{speed} (80 %: {three_digits(ratio['low_80'])} to {three_digits(ratio['high_80'])})"


def _reasons(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(row["reason"] for row in rows))


def _show_prices(result: SearchResult, shown: list[Row]) -> None:
    """Print where the prices of the machines shown come from."""
    prices = price_rows(result, shown)
    if not prices:
        return
    out = console()
    lines_to(out, "Price of one node", style="bold")
    lines = [
        (row.machine, (f"{row.usd_per_hour:,.4g}",), ", ".join(filter(None, row[2:])), "") for row in prices
    ]
    _show_plans(("USD/h",), lines)
    out.print()


def _show_unpriced(result: SearchResult) -> None:
    unpriced = result.unpriced
    if not unpriced:
        return
    out = console()
    count = sum(row["candidates"] for row in unpriced)
    where = f" in {result.goal.conditions.region}" if result.goal.conditions.region else ""
    title = f"Price unknown{where} of {counted(len(unpriced), 'machine')}, {count:,} plans: --price NODE=USD"
    lines_to(out, title, style="bold")
    lines = [
        (
            row["machine"],
            (
                str(row["best"]["world_size"]),
                duration(row["best"]["run_time"]),
                "-" if row["worth_usd_per_hour"] is None else rate(row["worth_usd_per_hour"]),
            ),
            "",
            "",
        )
        for row in unpriced[:MOST_REJECTED]
    ]
    _show_plans(("GPUs", "run", "worth up to, USD/h"), lines)
    if len(unpriced) > MOST_REJECTED:
        rest = ", ".join(row["name"] for row in unpriced[MOST_REJECTED:])
        lines_to(out, f"and {rest}")
    out.print()


def _left_out(result: SearchResult) -> str:
    reasons = sorted(result.left_out.items(), key=lambda item: -item[1])
    if not reasons:
        return "none was left out"
    report = "; ".join(f"{count:,} {reason}" for reason, count in reasons[:MOST_REASONS])
    more = sum(count for _, count in reasons[MOST_REASONS:])
    return f"left out: {report}" + (f"; {more:,} for other reasons" if more else "")
