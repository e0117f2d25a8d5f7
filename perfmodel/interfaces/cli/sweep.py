"""``perfmodel sweep``: many scenarios at once, as a table."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.records.options import declared
from perfmodel.interfaces.cli.export import export_options, take_form
from perfmodel.interfaces.cli.jobs import jobs_option
from perfmodel.interfaces.cli.options import catalogue_from, options_of, specs_option
from perfmodel.interfaces.cli.sweep_folder import is_folder, notes_of, refusals_of, write_folder
from perfmodel.model.options.scenario import Scenario, by_field, field_of, laid_over

if TYPE_CHECKING:
    from perfmodel.decide.sweeps import Sweep
    from perfmodel.hardware.catalogue.store import Catalogue

SHOWN = 20
"""Rows of the table on the screen."""
FIGURES = ("iteration_time", "samples_per_second", "scaling_efficiency")
"""Shown beside what is varied."""
TITLES = {
    "world_size": "GPUs",
    "samples_per_second": "samples/s",
    "iteration_time": "iteration",
    "scaling_efficiency": "efficiency",
}


@click.command("sweep")
@options_of(declared(Scenario).values(), many=True, multiple=True)
@click.option(
    "--scenario", "scenario_file", metavar="FILE", help="TOML file with any of these, also as lists."
)
@specs_option
@click.option("--columns", help="Of the table, e.g. gpus,iteration_time,low_80.  [default: all]")
@click.option(
    "--output",
    metavar="FILE|DIR/",
    help="Write every row to a .csv or .parquet file, or to a folder of Parquet files, which the same "
    "command completes where it was stopped.",
)
@jobs_option("Processes that write --output or --csv.  [default: all cores for a folder, else 1]")
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Let the workers of a Dask cluster write the folder of --output, e.g. tcp://10.0.0.1:8786.",
)
@export_options
def command(
    scenario_file: str | None,
    specs: tuple[str, ...],
    columns: str | None,
    output: str | None,
    jobs: int | None,
    dask: str | None,
    **options: Any,
) -> None:
    """Predict every combination of options given as lists or ranges, a million a second.

    Numbers may be ranges: 1-8, or 8-64:8 with a step.  Scenarios that cannot be
    (a batch that does not divide, a network the machine lacks) are left out and counted.

    \b
    Examples:
      perfmodel sweep --gpus 1-64 --inter-link ethernet-10g-tcp,ethernet-25g-tcp
      perfmodel sweep --workload resnet50,vgg16 --local-batch-size 32-256:32 --gpus 8,64 --csv
      perfmodel sweep --accelerator v100-sxm2-16gb,t4 --gpus 1-100 --output sweep.csv
      perfmodel sweep --gpus 1-512 --local-batch-size 8-64:8 --columns gpus,iteration_time --output all/
    """
    from perfmodel.decide.sweeps import sweep

    form = take_form(options)
    if output is not None and form not in (None, "json"):
        raise refusal("sweep.form_and_output", form)
    folder = output is not None and is_folder(output)
    if dask is not None and not folder:
        raise refusal("sweep.dask_output")
    if dask is not None and jobs is not None:
        raise refusal("sweep.jobs_and_dask")
    if jobs is not None and output is None and form != "csv":
        raise refusal("sweep.jobs")
    catalogue = catalogue_from(specs)
    asked = _values(options)
    if scenario_file is not None:
        asked = by_field(laid_over(_of_file(scenario_file, catalogue), asked))
    names = None if columns is None else [field_of(name.strip()) for name in columns.split(",")]
    if names is None and not form and output is None:
        names = [*(name for name, value in asked.items() if _many(value)), *FIGURES]
    shown = names or []
    if not form and output is None:
        names = list(dict.fromkeys([*shown, "fits"]))
    result = sweep(catalogue=catalogue, columns=names, **asked)
    if output is not None and folder:
        write_folder(result, output, jobs, dask, form == "json")
    elif output is not None:
        _write(result, output, jobs or 1, form == "json")
    elif form == "csv":
        result.to_csv("-", jobs or 1)
    elif form:
        _show_rows(result, form)
    else:
        _show(result, shown)


def _values(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that were given; several values of one option as a list."""
    given = {}
    for name, value in options.items():
        if value is None or value == ():
            continue
        if not isinstance(value, tuple):
            given[name] = value
        elif declared(Scenario)[name].info.commas:
            given[name] = list(value)
        else:
            given[name] = list(itertools.chain.from_iterable(value))
    return given


def _of_file(file: str, catalogue: Catalogue) -> dict[str, Any]:
    """The options of a file, checked by themselves, so that an error names the file and its key."""
    from perfmodel.core.files.reading import read_toml
    from perfmodel.decide.sweeps.axes import axes

    written = read_toml(file)
    try:
        axes(written, catalogue)
    except InputError as error:
        raise error.under(file) from None
    return written


def _many(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1


def _write(result: Sweep, output: str, jobs: int, as_json: bool) -> None:
    import json

    writers = {".csv": result.to_csv, ".parquet": result.to_parquet}
    suffix = Path(output).suffix
    if suffix not in writers:
        raise refusal("sweep.output", output=output)
    rows = writers[suffix](output, jobs)
    if as_json:
        report = {"output": output, "rows_written": rows, **result.summary()}
        click.echo(json.dumps(report))
        return
    click.echo(f"{rows:,} of {len(result):,} scenarios written to {output}")
    for line in (*notes_of(result), *refusals_of(result)):
        click.echo(line)


def _show_rows(result: Sweep, form: str) -> None:
    from perfmodel.core.files.tables import markdown_table
    from perfmodel.decide.sweeps.table import MOST_IN_JSON

    if len(result) > MOST_IN_JSON:
        raise refusal("sweep.too_many_for", form, count=len(result))
    if form == "json":
        click.echo(result.to_json())
    else:
        click.echo(markdown_table(result.records(), result.columns), nl=False)


def _show(result: Sweep, asked: list[str]) -> None:
    """Print the first rows at 80 columns; all are computed, to count those refused and those that do not fit.

    Parameters
    ----------
    result : with a column ``fits``
    asked : columns to show; whether a job fits is shown where one does not, too
    """
    from rich.text import Text

    from perfmodel.interfaces.cli.render import console, table

    out = console()
    rows = result.rows()
    first = list(itertools.islice(rows, SHOWN))
    left, lacking = 0, sum(not row["fits"] for row in first)
    names = [name for name in result.columns if name != "fits" or name in asked or lacking]
    shown = table(*(TITLES.get(name, name.replace("_", " ")) for name in names), left=0)
    for row in first:
        shown.add_row(*(_cell(name, row[name]) for name in names))
    for row in rows:
        left += 1
        lacking += not row["fits"]
    out.print(shown)
    if lacking:
        out.print(Text(f"DO NOT FIT: {lacking:,} of {len(first) + left:,}, by memory"), style="bold")
    if left:
        out.print(Text(f"and {left:,} more; --csv or --output FILE gives every row and every column"))
    for line in (*notes_of(result), *refusals_of(result)):
        out.print(Text(line))


def _cell(name: str, value: Any) -> str:
    from perfmodel.core.units import rate, show

    if value is None:
        return "-"
    if name.endswith("_time") or name in ("low_80", "high_80", "low_95", "high_95", "clipped_at"):
        return show(value, "s")
    if name.startswith("memory_"):
        return show(value, "B")
    if name in ("scaling_efficiency", "mfu", "mfu_nominal", "communication_overhead"):
        return f"{value:.1%}"
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return rate(value) if isinstance(value, float) else str(value)
