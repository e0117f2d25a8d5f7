"""``perfmodel scale``: the same job on more and more accelerators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from perfmodel.core.files.tables import csv_text, markdown_table
from perfmodel.interfaces.cli.export import export_options, take_form
from perfmodel.interfaces.cli.options import catalogue_from, scenario_from, scenario_option, scenario_options
from perfmodel.interfaces.cli.report import report_file, report_option, typed_command
from perfmodel.interfaces.cli.types import Counts

HEADINGS = {
    "world_size": "GPUs",
    "iteration_time": "iteration [s]",
    "low_80": "80 %, from [s]",
    "high_80": "to [s]",
    "samples_per_second": "samples/s",
    "speedup": "speed-up",
    "scaling_efficiency": "efficiency",
    "exposed_communication_time": "exposed communication [s]",
    "fits": "fits",
}
"""Columns of the Markdown table."""
MOST_COUNTS = 10_001
"""Of one range."""


@click.command("scale")
@scenario_option(
    "world_size",
    name="counts",
    type=Counts(most=MOST_COUNTS),
    default="1,2,4,8,16,32",
    show_default=True,
    label="GPUs of each point, e.g. 1,2,4,8 or 1-16",
    usual="1,2,4,8,16,32",
    help="Accelerators in the job: a list, or ranges such as 8-64:8.",
)
@scenario_options("world_size")
@click.option("--plot", metavar="FILE", help="Also draw it: FILE ends in .svg, .png or .html.")
@report_option
@export_options
def command(
    counts: tuple[int, ...], plot: str | None, report: str | None, specs: tuple[str, ...], **options: Any
) -> None:
    """Throughput and scaling efficiency against the number of accelerators.

    \b
    Examples:
      perfmodel scale --gpus 1,2,4,8,16,32
      perfmodel scale --workload vgg16 --accelerator k80 --gpus 1-8 --csv
      perfmodel scale --gpus 1,2,4,8,16,32,64 --plot scaling.svg
      perfmodel scale --workload vgg16 --report scaling.html
    """
    from perfmodel.interfaces.api.scale import COLUMNS, scale

    form, page, catalogue = take_form(options), report_file(report), catalogue_from(specs)
    draw = None
    if plot is not None:
        from perfmodel.interfaces.cli.plot import drawing

        draw = drawing(Path(plot))
    scaling = scale(scenario_from(options), gpus=counts, catalogue=catalogue)
    if page is not None:
        from perfmodel.interfaces.reports.page import write_page
        from perfmodel.interfaces.reports.scaled import page_of_scaling

        write_page(page, page_of_scaling(scaling, typed_command(), catalogue))
    if draw is not None:
        draw(scaling)
    if form == "json":
        click.echo(scaling.to_json())
    elif form == "csv":
        click.echo(csv_text(scaling.records(), COLUMNS), nl=False)
    elif form == "markdown":
        click.echo("\n".join([markdown_table(scaling.records(), HEADINGS), *scaling.notes]).rstrip())
    else:
        from perfmodel.interfaces.cli.render import show_scaling

        show_scaling(scaling)
        if plot is not None:
            click.echo(f"drawn: {plot}")
