"""``perfmodel validate``: the model against measured runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from perfmodel.core.errors import refusal
from perfmodel.interfaces.cli.export import Form, export_options, exported, take_form
from perfmodel.interfaces.cli.jobs import jobs_option
from perfmodel.interfaces.cli.leave_out import leave_out
from perfmodel.interfaces.cli.options import catalogue_from, specs_option

if TYPE_CHECKING:
    from perfmodel.evidence.accuracy import Row
    from perfmodel.hardware.catalogue.store import Catalogue
    from perfmodel.interfaces.api.validate import Kind, Validation

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
    "--ledger",
    metavar="FILE",
    help="Append by how much the rows of --data are missed, before anything learns from them; of this "
    "project's rows to validation/ledger.csv.",
)
@click.option(
    "--report",
    metavar="FILE",
    help="Write the whole report as Markdown; beside it, its rows: out_of_sample.csv.",
)
@click.option(
    "--leave-out",
    "tests",
    metavar="WHAT",
    multiple=True,
    help="Predict rows of every kind by fits that saw none of their source, publisher, network, accelerator "
    "(generation), software or fabric; year:2024: by what was published before; size: by smaller jobs.  May "
    "be repeated.",
)
@click.option(
    "--learning-curve",
    is_flag=True,
    help="Predict runs with 0, 1, 3 and 6 runs of their source given, drawn at random.",
)
@click.option(
    "--write", metavar="FILE", help="CSV of leave-out tests and learning curve to put the answer in."
)
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
    ledger: str | None,
    report: str | None,
    tests: tuple[str, ...],
    learning_curve: bool,
    write: str | None,
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
    the runs of --data are judged by a fit to them and those that come along, each without its own source;
    --leave-out software, or another category, takes minutes.
    """
    from perfmodel.core.files.writing import check_writable

    form = take_form(options)
    if tests or learning_curve:
        others = {"data": data, "kind": kind != "training", "mode": mode != "specs", "by": by, "specs": specs}
        others |= {"out-of-sample": out_of_sample, "report": report, "plots": plots}
        if wrong := [name for name, is_given in others.items() if is_given]:
            raise refusal("validate.leave_out_rows", wrong[0])
        leave_out(tests, learning_curve, write, jobs or 1, form)
        return
    if write is not None:
        raise refusal("validate.write")
    if explain_row is not None:
        if out_of_sample or report is not None or by or mode != "specs":
            raise refusal("validate.explain_row")
        given = click.get_current_context().get_parameter_source("kind") is ParameterSource.COMMANDLINE
        _explain(explain_row, kind if given else None, data, specs, form)
        return
    if by and kind == "claims":
        raise refusal("validate.claims_by")
    able = GROUPS_OF.get(kind, GROUPS)
    if unable := [one for one in by if one not in able]:
        raise refusal("validate.by", unable=unable[0], kind=kind, known=tuple(able))
    if report is not None:
        check_writable(Path(report))
        if plots:
            from perfmodel.core.errors import needed
            from perfmodel.evidence.accuracy.report.plots import MATPLOTLIB

            needed(*MATPLOTLIB)
    elif plots:
        raise refusal("validate.plots")
    if kind != "training" and report is not None:
        raise refusal("validate.report_kind", kind=kind)
    if mode == "anchored-machine" and report is not None:
        raise refusal("validate.report_mode")
    if ledger is not None:
        if data is None or out_of_sample or mode != "specs" or kind in ("mlperf", "claims"):
            raise refusal("validate.ledger")
        check_writable(Path(ledger))
    if jobs is not None and (kind != "training" or not (out_of_sample or report)):
        raise refusal("validate.jobs")
    from perfmodel.interfaces.api.validate import of_training, validate

    catalogue = catalogue_from(specs) if specs else None
    answer: Validation[Any]
    if report is not None:
        judged = _write_report(Path(report), data, catalogue, plots, jobs or 1)
        if form is None:
            return
        answer = of_training(judged[mode])
    else:
        how: dict[str, Any] = {"out_of_sample": out_of_sample, "jobs": jobs or 1}
        answer = validate(kind, mode=mode, data=data, catalogue=catalogue, **how)
        if ledger is not None:
            from perfmodel import __version__
            from perfmodel.evidence.accuracy.ledger.ledger_rows import append

            fresh, held = append(Path(ledger), answer.rows, __version__, catalogue)
            click.echo(f"{ledger}: {fresh} rows appended, {held} were there", err=True)
    if exported(answer, form):
        return
    from perfmodel.interfaces.cli.validate_render import (
        show_claims,
        show_collectives,
        show_mlperf,
        show_training,
        show_transformers,
    )

    if kind == "collectives":
        show_collectives(answer, by or ("source",), out_of_sample)
    elif kind == "transformers":
        show_transformers(answer, by or ("class", "source"), out_of_sample)
    elif kind == "mlperf":
        show_mlperf(answer)
    elif kind == "claims":
        show_claims(answer)
    else:
        show_training(answer, by or ("source",), out_of_sample)


def _explain(row: str, kind: str | None, data: str | None, specs: tuple[str, ...], form: Form | None) -> None:
    from perfmodel.interfaces.api.explain_row import explain_row
    from perfmodel.interfaces.cli.explained_row import show_explanation

    answer = explain_row(row, kind=kind, data=data, catalogue=catalogue_from(specs) if specs else None)
    if not exported(answer, form):
        for each in answer.rows:
            show_explanation(each)


def _write_report(
    path: Path, data: str | None, catalogue: Catalogue | None, plots: bool, jobs: int
) -> dict[str, list[Row]]:
    """Write the report and what goes beside it; return the rows of each mode."""
    from perfmodel.evidence.accuracy import compare, shipped_runs
    from perfmodel.evidence.accuracy.report.measured_report import write_report
    from perfmodel.evidence.accuracy.report.out_of_sample_file import NAME, write_rows
    from perfmodel.evidence.fitting.out_of_sample import shipped, with_shipped_runs
    from perfmodel.evidence.fitting.own_table import read_measured_runs

    runs = shipped_runs() if data is None else read_measured_runs(data, catalogue)
    learned = (
        shipped(jobs) if data is None and catalogue is None else with_shipped_runs(runs, catalogue, jobs)
    )
    specs_rows = compare(runs, "specs", catalogue, learned.of)
    anchored = compare(runs, "anchored", catalogue, learned.of)
    more = ""
    if data is None:
        from perfmodel.decide.quote.published import published_claims
        from perfmodel.decide.quote.published import section as claims

        more = claims(published_claims(catalogue))
    write_rows(path.parent / NAME, (*specs_rows, *anchored))  # which the report's ratios are judged by
    write_report(path, specs_rows, anchored, more)
    if plots:
        from perfmodel.evidence.accuracy.report.plots import write_plots

        write_plots(path.parent / "plots", specs_rows, anchored)
    click.echo(f"wrote {path} and {NAME} beside it", err=True)
    return {"specs": specs_rows, "anchored": anchored}
