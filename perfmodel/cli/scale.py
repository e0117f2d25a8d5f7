"""``perfmodel scale``: the same job on more and more accelerators."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfmodel.cli.export import csv_text, export_options, markdown_table, take_form
from perfmodel.cli.lists import Counts
from perfmodel.cli.options import catalogue_from, scenario_from, scenario_options

COLUMNS = (
    "world_size",
    "iteration_time",
    "samples_per_second",
    "speedup",
    "scaling_efficiency",
    "exposed_communication_time",
    "low_80",
    "high_80",
)
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

if TYPE_CHECKING:
    from perfmodel.prediction import Prediction


def cut(predictions: Sequence[Prediction]) -> list[str]:
    """Say which 80 % intervals end at what physics allows; no line where none does."""
    counts = [
        str(p.scenario["world_size"])
        for p in predictions
        if p.interval and p.interval.clipped_at is not None and p.interval.low_80 <= p.interval.clipped_at
    ]
    if not counts:
        return []
    return [f"80 % intervals cut at what peaks and links allow: {', '.join(counts)} GPUs"]


@click.command("scale")
@click.option(
    "--gpus",
    "counts",
    type=Counts(most=MOST_COUNTS),
    default="1,2,4,8,16,32",
    show_default=True,
    help="Accelerators in the job: a list, or ranges such as 8-64:8.",
)
@scenario_options
@click.option("--plot", metavar="FILE", help="Also draw it: FILE ends in .svg, .png or .html.")
@export_options
def command(counts: tuple[int, ...], plot: str | None, specs: tuple[str, ...], **options: Any) -> None:
    """Throughput and scaling efficiency against the number of accelerators.

    \b
    Examples:
      perfmodel scale --gpus 1,2,4,8,16,32
      perfmodel scale --workload vgg16 --accelerator k80 --gpus 1-8 --csv
      perfmodel scale --gpus 1,2,4,8,16,32,64 --plot scaling.svg
    """
    from perfmodel.prediction import predict

    form = take_form(options)
    draw = None
    if plot is not None:
        from perfmodel.cli.plot import drawing

        draw = drawing(Path(plot))
    catalogue = catalogue_from(specs)
    predictions = [predict(scenario_from(options | {"world_size": n}), catalogue) for n in counts]
    rows = [
        {
            "world_size": n,
            **{name: getattr(p, name) for name in COLUMNS[1:5]},
            "exposed_communication_time": p.terms["exposed_communication_time"],
            "scaling": p.scaling,
            "interval": dict(vars(p.interval)) if p.interval else None,
            "low_80": p.interval.low_80 if p.interval else None,
            "high_80": p.interval.high_80 if p.interval else None,
            "fits": p.memory.fits,
        }
        for n, p in zip(counts, predictions, strict=True)
    ]
    if draw is not None:
        draw(rows, predictions[-1])
    if form == "json":
        click.echo(json.dumps({"rows": rows, "scenario": predictions[-1].scenario}))
    elif form == "csv":
        click.echo(csv_text(rows, COLUMNS), nl=False)
    elif form == "markdown":
        click.echo("\n".join([markdown_table(rows, HEADINGS), *cut(predictions)]).rstrip())
    else:
        from perfmodel.cli.render import show_scaling

        show_scaling(rows, predictions[-1], cut(predictions))
        if plot is not None:
            click.echo(f"drawn: {plot}")
