"""``perfmodel predict``: one training iteration."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfmodel.core.files.tables import csv_text
from perfmodel.core.records.options import declared
from perfmodel.interfaces.cli.economics_options import economics_options, take_economics
from perfmodel.interfaces.cli.export import export_options, take_form
from perfmodel.interfaces.cli.options import catalogue_from, option_of, scenario_from, scenario_options
from perfmodel.interfaces.cli.report import report_file, report_option, typed_command
from perfmodel.interfaces.cli.spelling import Shell
from perfmodel.interfaces.cli.types import Number, Word
from perfmodel.model.options.conditions import Conditions

if TYPE_CHECKING:
    from perfmodel.hardware.catalogue.store import Catalogue
    from perfmodel.model.options.scenario import Scenario
    from perfmodel.model.prediction import Prediction


@click.command("predict", cls=Shell)
@scenario_options()
@partial(economics_options, without=("tokens",))
@click.option("--time-to-target", "target", is_flag=True, help="Also the time to a published accuracy.")
@click.option(  # in the words of a Run, whose class would cost every start 3 %
    "--recipe",
    type=Word(["stock", "mlperf", "lars", "lamb", "tokens"]),
    help="How training to it goes; perfmodel workloads recipes lists them.  [default: what goes with "
    "--framework; without one stock, for BERT mlperf]",
)
@option_of(
    declared(Conditions)["tokens"],
    help="Of --recipe tokens, or of the run whose --cost to tell, e.g. 15T.  [default: of a recipe as "
    "published, or 20 for each parameter]",
)
@click.option(
    "--time-to-loss",
    "loss",
    type=Number(),
    metavar="LOSS",
    help="Also error against time of every way to update, down to this loss; the bound starts at 2.",
)
@click.option("--timeline", metavar="FILE", help="Also write the predicted step as a Chrome trace.")
@report_option
@export_options
def command(
    target: bool,
    recipe: str | None,
    tokens: float | None,
    loss: float | None,
    timeline: str | None,
    report: str | None,
    specs: tuple[str, ...],
    **options: Any,
) -> None:
    """How long one training iteration takes, where the time goes, and how well it scales.

    \b
    Examples:
      perfmodel predict --gpus 32
      perfmodel predict --workload vgg16 --accelerator p100-sxm2-16gb --gpus 8
      perfmodel predict --gpus 16 --strategy parameter-server --servers 2
      perfmodel predict --gpus 64 --global-batch-size 4096 --time-to-target
      perfmodel predict --workload llama-2-7b --gpus 64 --time-to-target --recipe tokens --tokens 300B
      perfmodel predict --gpus 16 --strategy k-async --k 4 --time-to-loss 0.1
      perfmodel predict --gpus 4 --timeline step.json
      perfmodel predict --gpus 32 --report answer.html
      perfmodel predict --gpus 16 --node aws-p3.16xlarge --cost --epochs 90
      perfmodel predict --workload llama-3-8b --node dgx-h100 --gpus 64 --sharding zero3 --cost --tokens 15T
    """
    from perfmodel.interfaces.api.predict import predicted

    form, page = take_form(options), report_file(report)
    asked = take_economics(options)
    catalogue = catalogue_from(specs)
    scenario = scenario_from(options)
    conditions = None
    if asked is not None:
        conditions = Conditions(**asked)
    if timeline is not None:
        from perfmodel.core.files.writing import check_writable

        check_writable(Path(timeline))
    answer = predicted(
        scenario,
        catalogue,
        target=target,
        recipe=recipe,
        tokens=tokens,
        loss=loss,
        conditions=conditions,
    )
    prediction, reached, lost, money = answer
    if timeline is not None:
        _write_timeline(Path(timeline), prediction, scenario, catalogue)
    if page is not None:
        from perfmodel.interfaces.reports.page import write_page
        from perfmodel.interfaces.reports.predicted import page_of_prediction

        priced = conditions or Conditions()
        write_page(page, page_of_prediction(prediction, typed_command(), catalogue, priced, reached, money))
    if form == "json":
        click.echo(answer.to_json())
    elif form == "csv":
        click.echo(csv_text([json.loads(answer.to_json())]), nl=False)
    elif form == "markdown":
        from perfmodel.interfaces.cli.prediction_markdown import prediction_markdown

        click.echo(prediction_markdown(prediction, reached, money))
    else:
        from perfmodel.interfaces.cli.render import show_prediction

        show_prediction(prediction, reached)
        if lost is not None:
            from perfmodel.interfaces.cli.time_to_loss import show_time_to_loss

            show_time_to_loss(lost)
        if money is not None:
            from perfmodel.interfaces.cli.economics_options import show_economics

            show_economics(money)


def _write_timeline(path: Path, prediction: Prediction, scenario: Scenario, catalogue: Catalogue) -> None:
    from perfmodel.evidence.traces.timeline import write_timeline
    from perfmodel.model.prediction.pipeline import pipeline_of_scenario

    pipeline = None if prediction.layout is None else pipeline_of_scenario(scenario, catalogue)
    write_timeline(path, prediction, pipeline)
    if pipeline is not None and pipeline.words:
        click.echo(f"{path}: {pipeline.words}", err=True)
