"""``perfmodel learning-rate``: the learning rate of a batch by the published rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from perfmodel.cli.export import export_options, exported, take_form
from perfmodel.cli.options import scenario_option
from perfmodel.cli.types import ABOVE_ZERO, COUNT, Number

if TYPE_CHECKING:
    from perfmodel.prediction.learning_rates import LearningRates

_FROM_ZERO = Number(open_=False)


@click.command("learning-rate")
@click.option(
    "--base", type=ABOVE_ZERO, default=0.1, show_default=True, help="Rate that is good at --base-batch."
)
@click.option("--base-batch", type=COUNT, default=256, show_default=True, help="Samples of an update.")
@scenario_option("global_batch_size", required=True, help="Samples of an update to find a rate for.")
@click.option(
    "--staleness",
    type=_FROM_ZERO,
    help="Mean updates between reading parameters and applying a gradient (perfmodel stragglers).",
)
@click.option(
    "--warm-up-epochs",
    type=Number(high=1000, open_=False),
    default=5,
    show_default=True,
    help="Over which the rate rises from --base; 0 for none.",
)
@click.option("--distance-constant", type=ABOVE_ZERO, help="Learning rate times --squared-distance.")
@click.option("--squared-distance", type=_FROM_ZERO, help="Between parameters now and those read.")
@click.option("--squared-gradient-sum", type=ABOVE_ZERO, help="Of one parameter so far: Adagrad.")
@click.option("--noise-scale", type=ABOVE_ZERO, help="Of the gradient, in samples.")
@export_options
def command(**options: Any) -> None:
    """Learning rate of a batch by the published rules: linear, square root, by staleness, Adagrad.

    \b
    Examples:
      perfmodel learning-rate --base 0.1 --base-batch 256 --global-batch-size 8192
      perfmodel learning-rate --global-batch-size 2048 --staleness 15
      perfmodel learning-rate --global-batch-size 1024 --distance-constant 0.01 --squared-distance 0.5
    """
    from perfmodel.api.learning_rate import learning_rate

    form = take_form(options)
    answer = learning_rate(**options)
    if not exported(answer, form):
        _print(answer)


def _print(answer: LearningRates) -> None:
    from rich.text import Text

    from perfmodel.cli.render import console, lines_to, table
    from perfmodel.explanations.sources import cited

    out = console()
    out.print(Text(f"learning rates {answer.headline}"), style="bold")
    rows = table("rule", "rate", "published range")
    for row in answer.rows:
        inside = {None: "none known", True: "inside", False: "outside"}[row.within_published]
        rows.add_row(row.rule, f"{row.learning_rate:.4g}", inside)
    out.print(rows)
    if answer.warm_up:
        points = ", ".join(f"{point.learning_rate:.4g}" for point in answer.warm_up)
        times = ", ".join(f"{point.epochs_done:g}" for point in answer.warm_up)
        lines_to(out, points, "warm-up, by the linear rule  ")
        lines_to(out, times, "              after epochs  ")
    if answer.by_staleness:
        listed = (
            f"{stale.staleness} late {stale.learning_rate:.4g} ({stale.share:.1%})"
            for stale in answer.by_staleness
        )
        lines_to(out, ", ".join(listed), "own staleness, by gradient  ")
    for row in answer.rows:
        lines_to(out, f"{row.validity} ({cited(row.source)})", f"{row.rule}: ")
    for rule, needed in answer.left_out.items():
        lines_to(out, f"{rule} needs {needed}", "note: ")
