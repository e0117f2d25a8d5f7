"""``perfmodel predict``: one training iteration."""

from __future__ import annotations

from typing import Any

import click

from perfmodel.cli.options import COUNT, catalogue_from, scenario_from, scenario_options


@click.command("predict")
@click.option("--gpus", "world_size", type=COUNT, help="Accelerators in the job.  [default: 1]")
@scenario_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool, specs: tuple[str, ...], **options: Any) -> None:
    """How long one training iteration takes, where the time goes, and how well it scales.

    \b
    Examples:
      perfmodel predict --gpus 32
      perfmodel predict --workload vgg16 --accelerator p100-sxm2-16gb --gpus 8
      perfmodel predict --gpus 16 --strategy parameter-server --servers 2
    """
    from perfmodel.prediction import predict

    prediction = predict(scenario_from(options), catalogue_from(specs))
    if as_json:
        click.echo(prediction.to_json())
    else:
        from perfmodel.cli.render import show_prediction

        show_prediction(prediction)
