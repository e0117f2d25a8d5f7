"""A search for machines as plain text, at 80 columns: the verdict first, then what it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click
from rich.text import Text

from perfmodel.core.units import duration, many, rate, show, thousands, three_digits
from perfmodel.decide.planning import SearchResult
from perfmodel.decide.planning.front import evenly_spaced
from perfmodel.decide.planning.launch import slurm_job, torchrun, with_options
from perfmodel.decide.planning.plan_verdict import notes, verdict
from perfmodel.decide.planning.price_words import basis_words
from perfmodel.decide.planning.within import percent
from perfmodel.interfaces.cli.render import console, table
from perfmodel.model.transformers.layout_words import in_full, short

Row = dict[str, Any]

MOST_ON_FRONT = 10
MOST_REJECTED = 10
MOST_REASONS = 4


def show_plan(result: SearchResult) -> None:
    """Print the answer of a search."""
    out = console()
    first, *more = verdict(result)
    out.print(Text(first), style="bold")
    for line in more:
        out.print(Text(line))
    chosen = result.in_question
    if chosen is not None:
        out.print()
        for label, value in _figures(result, chosen):
            out.print(Text(f"{label:<14}{value}"))
    shown = _show_front(result)
    shown += _show_rejected(result)
    _show_prices(result, ([chosen] if chosen else []) + shown)
    _show_unpriced(result)
    layouts = f", the best of {result.layouts:,} layouts" if result.layouts else ""
    tried = f"tried: {len(result):,} plans on {len({each[:2] for each in result.machines})} machines{layouts}"
    out.print(Text(f"{tried}; {_left_out(result)}"))
    if result.impossible:
        out.print(Text(f"no plan is left on: {', '.join(result.impossible)}"))
    for note in notes(result):
        out.print(Text(f"note: {note}"))


def show_script(result: SearchResult, as_slurm: bool) -> None:
    """Print what starts the plan chosen; where none is, what starts the surest, and on stderr why."""
    chosen = result.in_question
    if chosen is not None:
        click.echo(
            (slurm_job if as_slurm else torchrun)(with_options(chosen, result.goal), result.goal.workload)
        )
    if not result.met:
        click.echo(f"perfmodel: {' '.join(verdict(result)[:2])}", err=True)


def _figures(result: SearchResult, row: Row) -> list[tuple[str, str]]:
    epochs = "" if row["epochs"] is None else f"{row['epochs']:.4g} epochs, "
    tokens = f", {row['sequence_length']} tokens a sample" if row["sequence_length"] else ""
    work = f"{epochs}{row['samples']:.3g} samples at {rate(row['samples_per_second'])} a second"
    if row["layout"]:
        figures = _of_layout(row, tokens)
        whole = many(row["samples"] * row["sequence_length"])
        mfu = f"MFU {row['mfu']:.1%} ({row['mfu_nominal']:.1%} nominal)"
        work = f"{whole} tokens at {row['tokens_per_second']:,.0f} a second, {mfu}"
    else:
        figures = [
            ("strategy", f"{_way(row)}, {row['precision']}{tokens}"),
            ("batch", f"{row['local_batch_size']} on each GPU, {row['global_batch_size']:,} in all"),
        ]
    figures += [("work", work), *_at_least(result, row), ("iteration", show(row["iteration_time"], "s"))]
    if row["goodput"] != 1:
        figures.append(("goodput", f"{row['goodput']:.1%} of the time is work kept"))
    if row["energy"] is not None:
        carbon = "" if row["carbon"] is None else f", {row['carbon'] / 1000:,.3g} kg CO2"
        figures.append(("energy", f"{thousands(row['energy'])} kWh{carbon}"))
    return figures


def _at_least(result: SearchResult, row: Row) -> list[tuple[str, str]]:
    """Return the throughput reached as surely as asked for; nothing where that is the predicted one."""
    least, sure = row["samples_per_second_at_least"], result.goal.confidence
    if least is None or least == row["samples_per_second"]:
        return []
    if row["layout"]:
        return [(f"at {percent(sure)}", f"at least {least * row['sequence_length']:,.0f} tokens a second")]
    return [(f"at {percent(sure)}", f"at least {rate(least)} samples a second")]


def _of_layout(row: Row, tokens: str) -> list[tuple[str, str]]:
    also = [("also", f"{'; '.join(row['also'])} (as fast within 1 %)")] if row["also"] else []
    gib = 2**30
    return [
        ("layout", in_full(row["layout"])),
        *also,
        ("software", f"{row['framework']}, {row['precision']}{tokens}"),
        ("batch", f"{row['global_batch_size']:,} samples in a step"),
        (
            "memory",
            f"{row['memory_bytes'] / gib:.1f} of {row['memory_capacity'] / gib:.1f} GiB on the fullest GPU",
        ),
    ]


def _way(row: Row) -> str:
    if row["world_size"] == 1:
        return "one GPU"
    if row["strategy"] == "all-reduce":
        return f"all-reduce ({row['algorithm']})"
    return str(row["strategy"])


def _show_front(result: SearchResult) -> list[Row]:
    """Print the front, at most ``MOST_ON_FRONT`` plans of it and always the one chosen."""
    rows, chosen, at = result.front, result.in_question, f"at {percent(result.goal.confidence)}"
    spread = evenly_spaced(len(rows), MOST_ON_FRONT)
    kept = [row for i, row in enumerate(rows) if i in spread or row == chosen]
    out = console()
    if kept:
        out.print()
        some = f", {len(kept)} of {len(rows)} (--csv: all)" if len(kept) < len(rows) else ""
        out.print(Text(f"None is both faster and cheaper than these{some}"), style="bold")
        shown = table("machine", "strategy", "GPUs", "batch", "run", at, "USD", "kWh", left=2)
        shown.padding = (0, 1, 0, 0)
        shown.columns[0].min_width = 13
        shown.columns[1].width = 14
        for column in shown.columns[2:]:
            column.no_wrap = True
        for row in kept:
            shown.add_row(
                row["name"] + basis_words(row),
                _strategy(row),
                str(row["world_size"]),
                f"{row['global_batch_size']}",
                duration(row["run_time"]),
                "-" if row["run_time_at_most"] is None else duration(row["run_time_at_most"]),
                _usd(row["cost"]),
                "-" if row["energy"] is None else thousands(row["energy"]),
            )
        out.print(shown)
    return kept


def _strategy(row: Row) -> str:
    also = f"; also: {row['also'][0]}" if row["also"] else ""
    return f"{_short_way(row)} {row['precision']}{also}"


def _short_way(row: Row) -> str:
    if row["layout"]:
        return short(row["layout"])
    if row["world_size"] == 1:
        return "1 GPU"
    if row["strategy"] == "all-reduce":
        return "all-reduce" if row["algorithm"] == "auto" else str(row["algorithm"])
    names = {
        "parameter-server": f"{row['servers']} PS",
        "parameter-server-local": "local PS",
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
    rows = result.rejected
    if not rows:
        return []
    out = console()
    out.print(Text("Why not others: the best plan of each machine"), style="bold")
    shown = table("machine", "GPUs", "run", "USD", "why", left=1)
    shown.padding = (0, 1, 0, 0)
    shown.columns[-1].justify = "left"
    for row in rows[:MOST_REJECTED]:
        cells = (str(row["world_size"]), duration(row["run_time"]), _usd(row["cost"]))
        shown.add_row(row["name"] + basis_words(row), *cells, f"{row['why']}; {_speed(row['ratio'])}")
    out.print(shown)
    counts = {
        reason: sum(row["reason"] == reason for row in rows[MOST_REJECTED:]) for reason in _reasons(rows)
    }
    if len(rows) > MOST_REJECTED:
        report = ", ".join(f"{count} {reason}" for reason, count in counts.items() if count)
        out.print(Text(f"and {len(rows) - MOST_REJECTED} more: {report} (--json: all)"))
    return rows[:MOST_REJECTED]


def _speed(ratio: Mapping[str, Any]) -> str:
    speed = f"{three_digits(ratio['value'])} x the samples/s"
    if ratio["low_80"] is None:
        return speed
    return f"{speed} (80 %: {three_digits(ratio['low_80'])} to {three_digits(ratio['high_80'])})"


def _reasons(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(row["reason"] for row in rows))


def _show_prices(result: SearchResult, shown: list[Row]) -> None:
    """Print where the prices of the machines shown come from."""
    names = dict.fromkeys(row["name"] for row in shown)
    prices = [price for price in result.prices() if price["name"] in names]
    if not prices:
        return
    out = console()
    rows = table("price of one node", "of", "USD/h", "region", "date", "source", left=2)
    rows.padding = (0, 1, 0, 0)
    for column in rows.columns[3:]:
        column.justify = "left"
    for column in rows.columns[1:5]:
        column.no_wrap = True
    for price in sorted(prices, key=lambda price: list(names).index(price["name"])):
        source = price["source"] or {"given": "as given", "purchase": "from its purchase"}.get(price["basis"])
        usd = f"{price['usd_per_hour']:,.4g}"
        rows.add_row(
            price["name"] + basis_words({"price_basis": price["basis"]}),
            price["provider"] or "-",
            usd,
            price["region"] or "-",
            price["date"] or "-",
            source,
        )
    out.print(rows)


def _show_unpriced(result: SearchResult) -> None:
    unpriced = result.unpriced
    if not unpriced:
        return
    out = console()
    count = sum(row["candidates"] for row in unpriced)
    where = f" in {result.goal.conditions.region}" if result.goal.conditions.region else ""
    title = f"Price unknown{where} of {len(unpriced)} machines, {count:,} plans: --price NODE=USD"
    out.print(Text(title), style="bold")
    rows = table("machine", "GPUs", "run", "as good as the chosen below", left=1)
    rows.padding = (0, 1, 0, 0)
    for row in unpriced[:MOST_REJECTED]:
        worth, best = row["worth_usd_per_hour"], row["best"]
        below = "-" if worth is None else f"{rate(worth)} USD/h"
        rows.add_row(row["name"], str(best["world_size"]), duration(best["run_time"]), below)
    out.print(rows)
    if len(unpriced) > MOST_REJECTED:
        rest = ", ".join(row["name"] for row in unpriced[MOST_REJECTED:])
        out.print(Text(f"and {rest}"))


def _left_out(result: SearchResult) -> str:
    reasons = sorted(result.left_out.items(), key=lambda item: -item[1])
    if not reasons:
        return "none was left out"
    report = "; ".join(f"{count:,} {reason}" for reason, count in reasons[:MOST_REASONS])
    more = sum(count for _, count in reasons[MOST_REASONS:])
    return f"left out: {report}" + (f"; {more:,} for other reasons" if more else "")
