"""``perfmodel emulate``: predicted steps in real time, without a GPU."""

from __future__ import annotations

import json
from typing import Any

import click

from perfmodel.interfaces.cli.options import catalogue_from, scenario_from, scenario_options


@click.command("emulate")
@click.option("--steps", type=click.IntRange(1, 1_000_000), default=10, show_default=True, help="Iterations.")
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, help="Of the jitter."
)
@click.option(
    "--speed",
    type=click.FloatRange(min=0, min_open=True, max=1e9),
    default=1.0,
    show_default=True,
    help="Times faster than in reality.",
)
@scenario_options()
@click.option("--json", "as_json", is_flag=True, help="Print JSON, at the end.")
def command(
    steps: int, seed: int, speed: float, as_json: bool, specs: tuple[str, ...], **options: Any
) -> None:
    """Replay predicted steps by sleeping: try a loop, a scheduler or a dashboard without a GPU.

    \b
    Examples:
      perfmodel emulate --gpus 8 --steps 3 --speed 100
      perfmodel emulate --gpus 2 --strategy data-parallel-single-process --steps 2 --speed 100 --json
    """
    from perfmodel.core.units import show
    from perfmodel.evidence.traces.emulate import Emulator
    from perfmodel.model.prediction import predict
    from perfmodel.model.step.terms import TERMS

    prediction = predict(scenario_from(options), catalogue_from(specs))
    samples = prediction.scenario["global_batch_size"]
    report = []
    for step in Emulator(prediction, seed, speed).steps(steps):
        if as_json:
            report.append({**step._asdict(), "phases": {phase.name: phase.time for phase in step.phases}})
        else:
            rate = samples / step.iteration_time
            click.echo(
                f"step {step.number}: {show(step.iteration_time, 's')}, {rate:,.0f} {prediction.sample}s/s"
            )
            for phase in step.phases if step.number == 1 else ():
                click.echo(f"  {TERMS[phase.name].label:<36}{show(phase.time, 's')}")
    if as_json:
        click.echo(json.dumps({"steps": report}))
