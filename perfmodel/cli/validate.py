"""``perfmodel validate``: the model against measured runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from perfmodel.cli.export import Form, export_options, exported, take_form
from perfmodel.cli.jobs import jobs_option
from perfmodel.cli.options import catalogue_from, specs_option
from perfmodel.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from perfmodel.accuracy import Row
    from perfmodel.api.validate import Kind, Validation
    from perfmodel.specs.store import Catalogue

GROUPS = ("source", "accelerator", "workload", "strategy", "world-size")
GROUPS_OF = {
    "collectives": ("source", "accelerator", "link", "collective", "nodes"),
    "transformers": ("source", "accelerator", "class", "world-size"),
}
"""Of the kinds that have others."""


@click.command("validate")
@click.option(
    "--data",
    metavar="FILE",
    help="CSV of measured runs; of training also a file that calibrate --data reads.  "
    "[default: those that come along]",
)
@click.option(
    "--kind",
    type=click.Choice(["training", "transformers", "collectives", "mlperf", "claims"]),
    default="training",
    help="What was measured; transformers under any parallelism; mlperf is time to train, claims are figures "
    "others published.",
)
@click.option(
    "--mode",
    type=click.Choice(["specs", "anchored", "anchored-machine"]),
    default="specs",
    help="Predict from specs alone, or from the measured iteration of one accelerator, of transformers of "
    "another run; training on several machines also from that of one of them.",
    show_default=True,
)
@click.option(
    "--by",
    multiple=True,
    type=click.Choice(tuple(dict.fromkeys((*GROUPS, *(by for of in GROUPS_OF.values() for by in of))))),
    help="Group the errors; collectives also by link, collective or nodes, transformers by class.  "
    "[default: source]",
)
@click.option(
    "--explain-row",
    metavar="ID",
    help="How one measured row was read: what it states, what was assumed, what came of it; of any kind.",
)
@specs_option
@click.option("--out-of-sample", is_flag=True, help="Predict each source by a fit to all the others.")
@jobs_option("Processes of --out-of-sample and --report, of training; the answer is the same.  [default: 1]")
@click.option(
    "--report",
    metavar="FILE",
    help="Write the whole report as Markdown; beside it, its rows: out_of_sample.csv.",
)
@click.option("--ablation", is_flag=True, help="In the report: what each ingredient takes off; some minutes.")
@click.option("--plots", is_flag=True, help="Beside the report: figures (needs matplotlib).")
@export_options
def command(
    data: str | None,
    kind: Kind,
    mode: Any,
    by: tuple[str, ...],
    explain_row: str | None,
    specs: tuple[str, ...],
    out_of_sample: bool,
    jobs: int | None,
    report: str | None,
    ablation: bool,
    plots: bool,
    **options: Any,
) -> None:
    """Hold the model against measured training runs: signed errors, next to a naive answer's.

    \b
    Examples:
      perfmodel validate --mode anchored --by strategy
      perfmodel validate --data my_runs.csv --json
      perfmodel validate --kind collectives --out-of-sample
      perfmodel validate --kind transformers --by class
      perfmodel validate --mode anchored --by accelerator
      perfmodel validate --kind mlperf --mode anchored
      perfmodel validate --kind claims
      perfmodel validate --explain-row titan-0006

    --json has every row and the summary, --csv and --markdown the rows.  With --out-of-sample or --report,
    the runs of --data are judged by a fit to them and those that come along, each without its own source.
    """
    from perfmodel.writing import check_writable

    form = take_form(options)
    if explain_row is not None:
        if out_of_sample or report is not None or by or mode != "specs":
            raise InputError(
                "--explain-row: by the shipped fit from specs; leave --out-of-sample, --report, "
                "--by and --mode out"
            )
        given = click.get_current_context().get_parameter_source("kind") is ParameterSource.COMMANDLINE
        _explain(explain_row, kind if given else None, data, specs, form)
        return
    if by and kind == "claims":
        raise InputError("--by: claims are not grouped")
    able = GROUPS_OF.get(kind, GROUPS)
    if unable := [one for one in by if one not in able]:
        raise InputError(f"--by {unable[0]}: {kind} are grouped by {', '.join(able)}")
    if report is not None:
        check_writable(Path(report))
        if plots:
            from perfmodel.accuracy.plots import MATPLOTLIB
            from perfmodel.errors import needed

            needed(*MATPLOTLIB)
    elif ablation or plots:
        raise InputError("--ablation and --plots belong to the report: give --report FILE too")
    if kind != "training" and report is not None:
        raise InputError(f"--report holds every kind: leave --kind {kind} out")
    if mode == "anchored-machine" and report is not None:
        raise InputError("--report holds specs and anchored: leave --mode anchored-machine out")
    if jobs is not None and (kind != "training" or not (out_of_sample or report)):
        raise InputError("--jobs: of training with --out-of-sample or --report; the rest takes seconds")
    from perfmodel.api.validate import of_training, validate

    catalogue = catalogue_from(specs) if specs else None
    answer: Validation[Any]
    if report is not None:
        judged = _write_report(Path(report), data, catalogue, ablation, plots, jobs or 1)
        if form is None:
            return
        answer = of_training(judged[mode])
    else:
        how: dict[str, Any] = {"out_of_sample": out_of_sample, "jobs": jobs or 1}
        answer = validate(kind, mode=mode, data=data, catalogue=catalogue, **how)
    if exported(answer, form):
        return
    if kind == "collectives":
        _show_collectives(answer, by or ("source",), out_of_sample)
    elif kind == "transformers":
        _show_transformers(answer, by or ("class", "source"), out_of_sample)
    elif kind == "mlperf":
        _show_mlperf(answer)
    elif kind == "claims":
        _show_claims(answer)
    else:
        _show(answer, by or ("source",), out_of_sample)


def _explain(row: str, kind: str | None, data: str | None, specs: tuple[str, ...], form: Form | None) -> None:
    from perfmodel.api.explain_row import explain_row
    from perfmodel.cli.explained_row import show_explanation

    answer = explain_row(row, kind=kind, data=data, catalogue=catalogue_from(specs) if specs else None)
    if not exported(answer, form):
        for each in answer.rows:
            show_explanation(each)


def _write_report(
    path: Path, data: str | None, catalogue: Catalogue | None, ablation: bool, plots: bool, jobs: int
) -> dict[str, list[Row]]:
    """Write the report and what goes beside it; return the rows of each mode."""
    from perfmodel.accuracy import compare, shipped_runs
    from perfmodel.accuracy.out_of_sample_file import NAME, write_rows
    from perfmodel.accuracy.report import write_report
    from perfmodel.fitting.out_of_sample import beside_shipped, shipped
    from perfmodel.fitting.own_table import read_measured_runs

    runs = shipped_runs() if data is None else read_measured_runs(data, catalogue)
    learned = shipped(jobs) if data is None and catalogue is None else beside_shipped(runs, catalogue, jobs)
    specs_rows = compare(runs, "specs", catalogue, learned.of)
    anchored = compare(runs, "anchored", catalogue, learned.of)
    more = ""
    if data is None:
        from perfmodel.quote.published import published_claims
        from perfmodel.quote.published import section as claims

        more = claims(published_claims(catalogue))
    if ablation:
        from perfmodel.fitting.ablation import section

        more += "\n" + section(runs, learned)
    write_rows(path.parent / NAME, (*specs_rows, *anchored))  # which the report's ratios are judged by
    write_report(path, specs_rows, anchored, more)
    if plots:
        from perfmodel.accuracy.plots import write_plots

        write_plots(path.parent / "plots", specs_rows, anchored)
    click.echo(f"wrote {path} and {NAME} beside it", err=True)
    return {"specs": specs_rows, "anchored": anchored}


STARTS = {
    "specs": "from specs alone",
    "anchored": "each from the time of one accelerator",
    "anchored-machine": "each from the time of one machine",
}


def _show(answer: Validation[Any], by: tuple[str, ...], out_of_sample: bool) -> None:
    from rich.text import Text

    from perfmodel.cli.render import console, table

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
            f"mean: over runs; sources: over the means of sources; <20%: share of runs missed by less\n"
            f"naive: median error of {result['baseline_name']}; 80 %: share of runs inside that interval"
        )
    )
    columns = ("n", "mean", "median", "bias", "<20%", "naive", "80 %")
    overall = {"trust A and B": result}
    if result["ambiguous"]["n"]:
        overall |= {"ambiguous anchor": result["ambiguous"], "A and B with it": result["with_ambiguous"]}
    overall["trust C"] = result["trust_c"]
    groups = [("all", {name: group for name, group in overall.items() if group["n"]})]
    for name, shown in [*groups, *((name, result["by"][name]) for name in by)]:
        whole = name == "all"  # long names leave no room for another column
        rows = table(name, *columns[:2], *(["sources"] if whole else []), *columns[2:])
        if not shown:
            continue
        rows.padding = (0, 1, 0, 0)  # the longest strategy's name fits
        for key, group in shown.items():
            cells = _cells(group)
            of_sources = [_percent(group["mean_over_sources"])] if whole else []
            shares = [*cells[2:4], *cells[5:], _percent(group["coverage_80"])]
            rows.add_row(key, *cells[:2], *of_sources, *shares)
        out.print(rows)
    _show_refused(answer.reasons, out)
    if result["trust_d"]:
        out.print(Text(f"{result['trust_d']} runs of trust D are left out of every statistic"))


def _show_refused(reasons: Iterable[str | None], out: Console) -> None:
    from textwrap import fill

    from rich.text import Text

    from perfmodel.accuracy.summary import refusals

    refused = refusals(reasons)
    if refused:
        out.print(Text("not predicted:"))
    for count, reason in refused:
        out.print(Text(fill(reason, out.width, initial_indent=f"{count:>6}  ", subsequent_indent=" " * 8)))


def _cells(group: dict[str, Any]) -> list[str]:
    return [
        str(group["n"]),
        _percent(group["mean_absolute_error"]),
        _percent(group["median_absolute_error"]),
        _percent(group["bias"], "+"),
        _percent(group["within_10"]),
        _percent(group["within_20"]),
        _percent(group["baseline"]["median_absolute_error"]),
    ]


def _percent(share: float | None, sign: str = "") -> str:
    """To a tenth below 100 %, so that a line of the table fits."""
    if share is None:
        return "-"
    return f"{share:{sign}.{1 if abs(share) < 0.9995 else 0}%}"


def _show_collectives(answer: Validation[Any], by: tuple[str, ...], out_of_sample: bool) -> None:
    from rich.text import Text

    from perfmodel.cli.render import console, table

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
        shown = table(part, "n", "mean", "median", "bias", "<20%", "80 %", "naive")
        shown.padding = (0, 1, 0, 0)
        for name in by:
            for key, group in groups[name].items():
                shown.add_row(key, *_cells_with_coverage(group))
            shown.add_section()
        every = groups["all"]
        shown.add_row("all rows", *_cells_with_coverage(every))
        means = (every["mean_over_sources"], every["mean_of_medians"])
        held = _percent(every["coverage_80_over_sources"])
        shown.add_row(f"mean of {every['sources']} sources", "", *map(_percent, means), "", "", held, "")
        shown.add_row("median of sources", "", "", _percent(every["median_over_sources"]), *[""] * 4)
        out.print(shown)
    if (untrusted := result["untrusted"])["n"]:
        median = _percent(untrusted["median_absolute_error"])
        out.print(Text(f"rows of trust C, in no number above: {untrusted['n']}, median error {median}"))
    _show_refused(answer.reasons, out)


def _cells_with_coverage(group: dict[str, Any]) -> list[str]:
    return [
        str(group["n"]),
        _percent(group["mean_absolute_error"]),
        _percent(group["median_absolute_error"]),
        _percent(group["bias"], "+"),
        _percent(group["within_20"]),
        _percent(group["coverage_80"]),
        _percent(group["baseline"]["median_absolute_error"]),
    ]


def _show_transformers(answer: Validation[Any], by: tuple[str, ...], out_of_sample: bool) -> None:
    from rich.text import Text

    from perfmodel.accuracy.transformer_compare import STATED_NODES
    from perfmodel.cli.render import console, table

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
        shown = table(name, "n", "mean", "median", "bias", "<20%", "80 %", "naive")
        shown.padding = (0, 1, 0, 0)
        if not name:
            every = result["all"]
            means = _percent(every["mean_over_sources"]), _percent(every["coverage_80_over_sources"])
            shown.add_row(f"mean of {every['sources']} sources", "", means[0], "", "", "", means[1], "")
        for key, group in groups.items():
            shown.add_row(key, *_cells_with_coverage(group))
        out.print(shown)
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
    from rich.text import Text

    from perfmodel.cli.render import console, table

    out = console()
    rows = len(answer.reasons) + sum(not row.reason for row in answer.rows)
    how = "from specs alone" if answer.mode == "specs" else "anchored on machines of the other rounds"
    out.print(
        Text(f"{rows} submissions to MLPerf Training, {len(answer.reasons)} not predicted, {how}"),
        style="bold",
    )
    out.print(Text("error = predicted / measured - 1 of time to train; epochs from the other rounds"))
    shown = table("", "n", "mean", "median", "bias", "<10%", "<20%")
    for of in ({"all": answer.errors}, *answer.groups.values()):
        shown.add_section()
        for name, group in of.items():
            cells = (group.mean_absolute_error, group.median_absolute_error)
            shares = map(_percent, (group.within_10, group.within_20))
            shown.add_row(name, str(group.n), *map(_percent, cells), _percent(group.bias, "+"), *shares)
    if answer.errors.n:
        out.print(shown)
    _show_refused(answer.reasons, out)


def _show_claims(answer: Validation[Any]) -> None:
    from rich.text import Text

    from perfmodel.cli.render import console, table

    out = console()
    out.print(Text(f"{len(answer.rows)} published claims, from specs alone", style="bold"))
    out.print(Text("error = predicted / published - 1 of the time; + is too slow; none is fitted"))
    shown = table("claim", "published", "predicted", "80 % interval", "error")
    shown.padding = (0, 1, 0, 0)
    for row in answer.rows:
        shown.add_row(*row.cells())
    out.print(shown)
    mean = _percent(answer.errors.mean_absolute_error)
    held = _percent(answer.coverage_80)
    out.print(Text(f"mean error of {answer.errors.n}: {mean}; inside the 80 % interval: {held}"))
