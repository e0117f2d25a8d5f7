"""What ``perfmodel validate`` prints of many rows: their errors, by group, and what leave-out tests say."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.padding import Padding
from rich.text import Text

from perfmodel.core.units import per_cent
from perfmodel.interfaces.cli.render import console, lines_to, table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from perfmodel.evidence.fitting.leave_out import LeaveOut, LeaveOutTests
    from perfmodel.evidence.validation import Validation

STARTS = {
    "specs": "from specs alone",
    "anchored": "each from the time of one accelerator",
    "anchored-machine": "each from the time of one machine",
}
LEGEND = """of: categories left out in turn, or the sources judged where one fit judges
all; none where fewer than three sources are left to fit to.  80, 95: percent
of rows inside that interval, then its mean over categories.  error: mean and
median of rows in percent.  width: median half-width of 80 % intervals in log
time.  score: of 80 % intervals in log time (Winkler), mean over categories."""


def show(answer: Validation[Any], by: Sequence[str], out_of_sample: bool) -> None:
    """Print an answer.

    Parameters
    ----------
    by : what errors are grouped by; none, the usual of its kind
    out_of_sample : whether each source was predicted by a fit to the others
    """
    if answer.kind == "diagnose":
        _show_diagnoses(answer)
    elif answer.kind in ("mlperf", "claims"):
        (_show_mlperf if answer.kind == "mlperf" else _show_claims)(answer)
    elif answer.kind == "transformers":
        _show_transformers(answer, by or ("class", "source"), out_of_sample)
    else:
        (_show_collectives if answer.kind == "collectives" else _show_training)(
            answer, by or ("source",), out_of_sample
        )


def _percent(share: float | None, sign: str = "") -> str:
    """To a tenth below 100 %, so that a line of the table fits."""
    if share is None:
        return "-"
    return per_cent(share, 1 if abs(share) < 0.9995 else 0, signed=bool(sign))


def _whole(share: float | None) -> str:
    return "-" if share is None else per_cent(share, 0)


_CELLS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "n": lambda of: str(of["n"]),
    "mean": lambda of: _percent(of["mean_absolute_error"]),
    "sources": lambda of: _percent(of["mean_over_sources"]),
    "median": lambda of: _percent(of["median_absolute_error"]),
    "bias": lambda of: _percent(of["bias"], "+"),
    "<10 %": lambda of: _whole(of["within_10"]),
    "<20 %": lambda of: _whole(of["within_20"]),
    "naive": lambda of: _percent(of["baseline"]["median_absolute_error"]),
    "80 %": lambda of: _whole(of["coverage_80"]),
}
"""By the heading of a column, what it shows of statistics."""
TRAINING = ("n", "mean", "median", "bias", "<20 %", "naive", "80 %")
OTHERS = ("n", "mean", "median", "bias", "<20 %", "80 %", "naive")


def _narrow(name: str, columns: Sequence[str], left: int = 1) -> Table:
    """Return an empty table in which long names fit."""
    made = table(name, *columns, left=left)
    made.padding, made.show_edge = (0, 1, 0, 0), False
    return made


def _print(out: Console, shown: Table) -> None:
    """Print a table with an empty line above and below."""
    out.print(Padding(shown, (1, 0)))


def _add(shown: Table, groups: Mapping[str, Any], columns: Sequence[str]) -> None:
    for name, of in groups.items():
        shown.add_row(name, *(_CELLS[column](of) for column in columns))


def _show_training(answer: Validation[Any], by: Sequence[str], out_of_sample: bool) -> None:
    result: Any = answer.summary
    out = console()
    out.print(
        Text(
            f"{result['rows']} measured runs, {result['rows'] - result['refused']} predicted, "
            + STARTS[result["mode"]]
            + (", by a fit to all other sources" if out_of_sample else ", by the shipped fit")
        ),
        style="bold",
    )
    out.print(
        Text(
            f"error = predicted / measured - 1 of iteration time; + is too slow\n"
            f"mean: over runs; sources: over the means of sources; <20 %: share of runs missed by less\n"
            f"naive: median error of {result['baseline_name']}; 80 %: share of runs inside that interval"
        )
    )
    whole = {"trust A and B": result}
    if result["ambiguous"]["n"]:
        whole |= {"ambiguous anchor": result["ambiguous"], "A and B with it": result["with_ambiguous"]}
    whole = {name: of for name, of in (whole | {"trust C": result["trust_c"]}).items() if of["n"]}
    tables = [("all", whole, (*TRAINING[:2], "sources", *TRAINING[2:]))]
    for name, groups, columns in (*tables, *((name, result["by"][name], TRAINING) for name in by)):
        if groups:
            shown = _narrow(name, columns)
            _add(shown, groups, columns)
            _print(out, shown)
    _show_refused(answer.reasons, out)
    if result["trust_d"]:
        out.print(Text(f"{result['trust_d']} runs of trust D are left out of every statistic"))


def _show_refused(reasons: Iterable[str | None], out: Console) -> None:
    from perfmodel.evidence.accuracy.report.error_statistics import refusals

    refused = refusals(reasons)
    if refused:
        out.print(Text("not predicted:"))
    for count, reason in refused:
        lines_to(out, reason, f"{count:>6}  ")


def _show_collectives(answer: Validation[Any], by: Sequence[str], out_of_sample: bool) -> None:
    result: Any = answer.summary
    out = console()
    how = "each source by a fit to the others" if out_of_sample else "by the shipped fit"
    out.print(
        Text(f"{result['rows']} measured collectives, {result['refused']} not predicted, {how}"), style="bold"
    )
    out.print(Text("error = predicted / measured - 1 of the time; naive: median error of a nominal ring"))
    out.print(Text("80 %: share of rows inside that interval; rows of trust A and B"))
    for part, groups in result["nodes"].items():
        if not groups["all"]["n"]:
            continue
        shown = _narrow(part, OTHERS)
        for name in by:
            _add(shown, groups[name], OTHERS)
            shown.add_section()
        every = groups["all"]
        _add(shown, {"all rows": every}, OTHERS)
        means = (every["mean_over_sources"], every["mean_of_medians"])
        held = _percent(every["coverage_80_over_sources"])
        shown.add_row(f"mean of {every['sources']} sources", "", *map(_percent, means), "", "", held, "")
        shown.add_row("median of sources", "", "", _percent(every["median_over_sources"]), *[""] * 4)
        _print(out, shown)
    if (untrusted := result["untrusted"])["n"]:
        median = _percent(untrusted["median_absolute_error"])
        out.print(Text(f"rows of trust C, in no number above: {untrusted['n']}, median error {median}"))
    _show_refused(answer.reasons, out)


def _show_transformers(answer: Validation[Any], by: Sequence[str], out_of_sample: bool) -> None:
    from perfmodel.evidence.accuracy.transformers.transformer_compare import STATED_NODES

    result: Any = answer.summary
    out = console()
    how = "from specs alone" if answer.mode == "specs" else "each from another run of its network and source"
    fit = "each source by a fit to the others" if out_of_sample else "by the shipped fit"
    head = f"{result['rows']} measured runs of transformers, {result['refused']} not predicted, {how}, {fit}"
    out.print(Text(head, style="bold"))
    out.print(Text("error = predicted / measured - 1 of iteration time; rows of trust A and B"))
    out.print(Text("naive: median error of one utilisation for all; 80 %: share inside that interval"))
    whole = {"all": result["all"], STATED_NODES: result[STATED_NODES]}
    for name, groups in (("", whole), *((name, result["by"][name]) for name in by)):
        shown = _narrow(name, OTHERS)
        if not name:
            every = result["all"]
            means = _percent(every["mean_over_sources"]), _percent(every["coverage_80_over_sources"])
            shown.add_row(f"mean of {every['sources']} sources", "", means[0], "", "", "", means[1], "")
        _add(shown, groups, OTHERS)
        _print(out, shown)
    if answer.mode == "specs":
        for name, each in result["regret"].items():
            if each["groups"]:
                lost, worst, chance = map(_percent, (each["mean"], each["worst"], each["random"]))
                text = f"the layout predicted best costs {lost} (worst {worst}, a random one {chance})"
                out.print(Text(f"{name}: {text}, {each['groups']} groups"))
    if (other := result.get("as_stated")) is not None:
        every = other["all"]
        names = ("mean_over_sources", "mean_absolute_error", "median_absolute_error")
        sources, rows, median = (_percent(every[name]) for name in names)
        out.print(Text("vtrain-single is read as selective recomputation, though its rows say full;"))
        out.print(Text(f"as stated: mean of sources {sources}, mean of rows {rows}, median of rows {median}"))
    for stack, names in result["read_as_nearest"].items():
        called = ", ".join(f"{name}: {count} rows" for name, count in names.items())
        out.print(Text(f"not described, read as its nearest, {stack}, with wider intervals: {called}"))
    if by_rate := result["without_batch"]:
        out.print(Text(f"{by_rate} rows state neither batch nor step time: compared by rate, usual batch"))
    _show_refused(answer.reasons, out)


def _show_mlperf(answer: Validation[Any]) -> None:
    out = console()
    rows = len(answer.reasons) + sum(not row.reason for row in answer.rows)
    how = "from specs alone" if answer.mode == "specs" else "anchored on machines of the other rounds"
    out.print(
        Text(f"{rows} submissions to MLPerf Training, {len(answer.reasons)} not predicted, {how}"),
        style="bold",
    )
    out.print(Text("error = predicted / measured - 1 of time to train; epochs from the other rounds"))
    out.print(Text("iterations: errors of the iteration time; no fit has seen either"))
    columns = ("n", "mean", "median", "bias", "<10 %", "<20 %")
    shown = table("", *columns)
    for of in ({"all": answer.errors}, *answer.groups.values()):
        shown.add_section()
        _add(shown, {name: group._asdict() for name, group in of.items()}, columns)
    if answer.errors.n:
        _print(out, shown)
    _show_refused(answer.reasons, out)


def _show_claims(answer: Validation[Any]) -> None:
    out = console()
    out.print(Text(f"{len(answer.rows)} published claims, from specs alone", style="bold"))
    out.print(Text("error = predicted / published - 1 of the time; + is too slow; none is fitted"))
    shown = _narrow("claim", ("published", "predicted", "80 % interval", "error"))
    for row in answer.rows:
        shown.add_row(*row.cells())
    _print(out, shown)
    mean = _percent(answer.errors.mean_absolute_error)
    held = _percent(answer.coverage_80)
    out.print(Text(f"mean error of {answer.errors.n}: {mean}; inside the 80 % interval: {held}"))
    scaling: Any = answer.summary["scaling"]
    for name, each in scaling.items():
        points, still = (f"{100 * each[key]:.1f}" for key in ("mean_miss", "mean_miss_without_jitter"))
        out.print(
            Text(
                f"{name}: mean miss of {each['efficiencies']} efficiencies: {points} points; "
                f"with --jitter none: {still}"
            )
        )
        width = f"mean half-width in log {each['mean_half_width']:.2f}"
        inside = _percent(each["coverage_80"])
        out.print(Text(f"  with durations {each['claims']} claims: {inside} inside 80 %, {width}"))


def _show_diagnoses(answer: Validation[Any]) -> None:
    """Print how often wrong listings are called wrong, by fault, and normal ones."""
    out = console()
    halves: Any = answer.summary["halves"]
    out.print(
        Text(
            f"{len(answer.rows)} listings of collectives, each judged by a fit without its source",
            style="bold",
        )
    )
    shown = _narrow("listings", ("n", "called wrong", "over sources", "right name", "in two"))
    for half, of in halves.items():
        shown.add_section()
        for name, each in of.items():
            cells = (_percent(each[key]) for key in ("alarms", "alarms_over_sources", "named", "among_two"))
            shown.add_row(f"{half}: {name}", str(each["n"]), *cells)
    _print(out, shown)
    out.print(Text("reported: sources that no constant was chosen on"))


def show_leave_out(answer: LeaveOutTests) -> None:
    """Print each leave-out test, and what the columns mean."""
    for each in answer.tests:
        _show_test(each)
    click.echo(LEGEND)


def _show_test(answer: LeaveOut) -> None:
    from perfmodel.evidence.accuracy.report.leave_out_file import title

    out = console()
    out.print(Text(title(answer.test)), style="bold")
    heads = ("by", "of", "rows", "80", "mean", "95", "mean", "error", "med", "width", "score")
    shown = _narrow("", heads, left=2)
    kind = None
    for each in answer.summaries:
        if kind not in (None, each.kind):
            shown.add_section()
        held = (
            each.coverage_80,
            each.coverage_80_over_categories,
            each.coverage_95,
            each.coverage_95_over_categories,
        )
        percents = map(_whole, (*held, each.mean_error, each.median_error))
        widths = ["-" if of is None else f"{of:.2f}" for of in (each.half_width, each.score)]
        counts = str(each.categories), str(each.rows)
        shown.add_row("" if each.kind == kind else each.kind, each.by, *counts, *percents, *widths)
        kind = each.kind
    _print(out, shown)
