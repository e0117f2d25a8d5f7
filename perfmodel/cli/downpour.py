"""``perfmodel downpour``: replicas that never wait for each other, over sharded parameter servers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from perfmodel.cli.export import export_options, show_rows, take_form
from perfmodel.cli.options import catalogue_from, scenario_option, specs_option
from perfmodel.cli.types import COUNT, Count, Time, Word

OPTIMIZERS = ("sgd", "momentum", "adagrad", "adam")
MODELS = ("speech", "image")


@click.command("downpour")
@scenario_option("workload")
@click.option(
    "--replicas", type=COUNT, default=10, show_default=True, help="Of the model, which train on their own."
)
@scenario_option("servers", help="That hold the model in equal shards.  [default: 1]")
@click.option("--push-every", type=COUNT, default=1, show_default=True, help="Steps between two pushes.")
@click.option("--fetch-every", type=COUNT, default=1, show_default=True, help="Steps between two fetches.")
@click.option("--lost", type=Count(least=0), default=0, show_default=True, help="Replicas that have failed.")
@click.option("--step-time", type=Time(True), help="Of a replica on one machine.  [default: predicted]")
@click.option(
    "--server-optimizer",
    type=Word(OPTIMIZERS),
    default="adagrad",
    show_default=True,
    help="Whose state the servers hold.",
)
@click.option(
    "--replica-model", type=Word(MODELS), help="How a replica speeds up over --replica-machines, fitted."
)
@click.option("--replica-machines", type=COUNT, default=1, show_default=True, help="Of each replica.")
@scenario_option("accelerator")
@scenario_option("precision")
@scenario_option("local_batch_size")
@scenario_option("inter_link", help="Of each replica and server.  [default: the machine's]")
@specs_option
@export_options
def command(specs: tuple[str, ...], **options: Any) -> None:
    """Throughput, staleness and servers' load of Downpour SGD, and what lost replicas cost.

    \b
    Examples:
      perfmodel downpour --replicas 20 --servers 4 --inter-link ethernet-25g-tcp
      perfmodel downpour --replicas 100 --servers 10 --push-every 5 --fetch-every 5 --lost 3
      perfmodel downpour --replicas 20 --step-time 2s --replica-model speech --replica-machines 8
    """
    from perfmodel.api.distbelief import downpour

    form = take_form(options)
    given = {name: value for name, value in options.items() if value is not None}
    answer = downpour(**given, catalogue=catalogue_from(specs))
    if form == "json":
        click.echo(answer.to_json())
        return
    if form is not None:
        show_rows([asdict(answer)], form)
        return
    from perfmodel.cli.render import LABEL, filled
    from perfmodel.prediction.distbelief import downpour_lines

    click.echo(answer.headline)
    for label, value in downpour_lines(answer):
        click.echo(filled(value, 80, f"  {label:<{LABEL}}"))
    if answer.replica_speedup != 1:
        times = f"{answer.replica_speedup:.2f} times"
        click.echo(f"note: a replica is {times} as fast as on one machine: fitted, not predicted")
