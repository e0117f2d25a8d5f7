"""``perfmodel stragglers``: what the slowest worker costs, and what each variant of SGD makes of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

import click

from perfmodel.core.errors import refusal
from perfmodel.core.problem import Words
from perfmodel.core.units import plural, show
from perfmodel.core.updates import USUAL_LOCAL_STEPS
from perfmodel.equations.sgd_variants import VARIANTS, Variant
from perfmodel.interfaces.cli.export import export_options, exported, show_rows, take_form
from perfmodel.interfaces.cli.options import scenario_option
from perfmodel.interfaces.cli.spelling import Option
from perfmodel.interfaces.cli.types import COUNT, MOST_DIGITS

if TYPE_CHECKING:
    from perfmodel.equations.distribution import Distribution
    from perfmodel.equations.sgd_variants import StragglerPrediction
    from perfmodel.interfaces.cli.export import Form


class _Order(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """``K:N``, the K-th fastest of N."""

    name = "k:n"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        k, colon, n = str(value).partition(":")
        if not (colon and k.isdecimal() and n.isdecimal() and max(len(k), len(n)) <= MOST_DIGITS):
            self.fail(f"{value!r}: expected K:N, e.g. 16:16 for the slowest of 16", param, ctx)
        return int(k), int(n)


@click.command("stragglers")
@click.option(
    "--variant", type=click.Choice((*VARIANTS, "all")), default="all", show_default=True, help="Of SGD."
)
@click.option(
    "--workers",
    cls=Option,
    old=["--gpus"],
    type=COUNT,
    default=16,
    show_default=True,
    help="Workers, backup ones included.",
)
@scenario_option("k")
@scenario_option("backups")
@click.option(
    "--distribution",
    "law",
    default="shifted-exponential",
    show_default=True,
    help="Of one worker's time per gradient; or as name:key=value,...",
)
@click.option(
    "--param", "params", multiple=True, metavar="NAME=VALUE", help="A parameter of the distribution."
)
@scenario_option("local_steps", default=USUAL_LOCAL_STEPS)
@click.option(
    "--communication-time", default="0s", show_default=True, help="After the barrier, common to all."
)
@click.option(
    "--server-time", default="0s", show_default=True, help="A server's time for one push and pull: async."
)
@click.option("--order-statistic", "order", type=_Order(), help="Mean and variance of the K-th of N instead.")
@click.option("--curve", is_flag=True, help="Error bound against wall clock instead.")
@click.option("--adaptive", is_flag=True, help="K and local steps to choose as the error falls instead.")
@click.option("--interval", help="Until the next choice, for --adaptive.  [default: 20 mean gradients]")
@click.option(
    "--learning-rate", type=float, default=0.05, show_default=True, help="For --curve and --adaptive."
)
@export_options
def command(
    variant: Variant | Literal["all"],
    workers: int,
    k: int | None,
    backups: int | None,
    law: str,
    params: tuple[str, ...],
    local_steps: int,
    communication_time: str,
    server_time: str,
    order: tuple[int, int] | None,
    curve: bool,
    adaptive: bool,
    interval: str | None,
    learning_rate: float,
    **options: Any,
) -> None:
    """What stragglers cost: time per update and per gradient, staleness, error against time.

    \b
    Examples:
      perfmodel stragglers --workers 16 --k 8
      perfmodel stragglers --variant k-sync --workers 16 --k 8 --param shift=1 --param rate=1
      perfmodel stragglers --order-statistic 16:16 --distribution lognormal:cv=0.1
      perfmodel stragglers --curve --workers 8 --k 4
      perfmodel stragglers --adaptive --workers 16 --communication-time 0.5s
    """
    from perfmodel.interfaces.api.stragglers import Stragglers, law_of, stragglers

    form = take_form(options)
    distribution = law_of(law, params)
    if order is not None:
        _print_order(distribution, order, form)
        return
    if adaptive:
        chosen = {
            "--variant": variant != "all",
            "--k": k is not None,
            "--backups": backups is not None,
            "--local-steps": local_steps != USUAL_LOCAL_STEPS,
            "--server-time": server_time != "0s",
            "--curve": curve,
        }
        if any(chosen.values()):
            given = next(name for name in chosen if chosen[name])
            raise refusal("updates.adaptive", given=Words(given))
        _print_schedule(distribution, workers, learning_rate, communication_time, interval, form)
        return
    if interval is not None:
        raise refusal("updates.interval")
    answer = stragglers(
        variant,
        workers=workers,
        k=k,
        backups=backups,
        distribution=distribution,
        local_steps=local_steps,
        communication_time=communication_time,
        server_time=server_time,
    )
    if isinstance(answer, Stragglers):
        rows: Sequence[StragglerPrediction] = answer.rows
        for name, why in answer.left_out.items():
            click.echo(f"note: {name} is left out: {why}", err=True)
    else:
        rows = (answer,)
    if curve:
        _print_curve(rows, workers, learning_rate, form)
    elif form in ("csv", "markdown"):
        show_rows((asdict(row) for row in rows), form)
    elif form == "json":
        click.echo(answer.to_json())
    else:
        _print_variants(rows, distribution, workers)


def _count(workers: int) -> str:
    return f"{workers} {plural('worker', workers)}"


def _print_order(distribution: Distribution, order: tuple[int, int], form: Form | None) -> None:
    from perfmodel.equations.order_statistics import order_statistic

    mean, variance = (float(moment) for moment in order_statistic(distribution, *order))
    finite = variance if variance < float("inf") else None
    row = {"mean": mean, "variance": finite}
    if form == "json":
        click.echo(json.dumps(row))
        return
    if form is not None:
        show_rows([row], form)
        return
    click.echo(f"number {order[0]} of {order[1]}, {distribution}")
    click.echo(f"  mean       {mean:.6g}")
    click.echo(f"  variance   {f'{finite:.6g}' if finite is not None else 'does not exist'}")
    click.echo(f"  over the mean of one  {mean / distribution.mean:.4f}")


def _print_variants(result: Sequence[StragglerPrediction], distribution: Distribution, workers: int) -> None:
    from rich.text import Text

    from perfmodel.interfaces.cli.render import console, table

    out = console()
    out.print(Text(f"{_count(workers)}, {distribution}"), style="bold")
    shown = table("variant", "per update", "grads", "per gradient", "stale", "fresh", "proven", left=1)
    shown.padding = (0, 1, 0, 0)
    for row in result:
        shown.add_row(
            row.variant,
            show(row.update_time, "s"),
            str(row.gradients_per_update),
            show(row.time_per_gradient, "s"),
            f"{row.mean_staleness:.2f}",
            "" if row.fresh_fraction is None else f"{row.fresh_fraction:.1%}",
            "exact" if row.status == "exact" else f"{row.low:.3g} to {row.high:.3g} s",
        )
    out.print(shown)
    from perfmodel.equations.sgd_variants import sync_over_async

    per_update, per_gradient = sync_over_async(distribution, workers)
    out.print(
        Text(
            f"fully synchronous, an update takes {per_update:.2f} times as long as asynchronously, "
            f"a gradient {per_gradient:.2f} times"
        )
    )
    out.print(Text("stale: mean updates between reading and applying; fresh: share of gradients without any"))
    out.print(Text("proven: of the time per update; where no exact mean is known, what it lies between"))


def _print_schedule(
    distribution: Distribution,
    workers: int,
    learning_rate: float,
    communication_time: str,
    interval: str | None,
    form: Form | None,
) -> None:
    """How much to synchronise as the error falls."""
    from perfmodel.interfaces.api.adaptive_synchrony import adaptive_synchrony
    from perfmodel.model.prediction.training.adaptive import HEADINGS

    answer = adaptive_synchrony(
        workers=workers,
        distribution=distribution,
        communication_time=communication_time,
        interval=interval,
        learning_rate=learning_rate,
    )
    if exported(answer, form):
        return
    from rich.text import Text

    from perfmodel.interfaces.cli.render import console, table

    out = console()
    out.print(Text(f"what gets furthest as the error falls, {_count(workers)}, {distribution}"), style="bold")
    shown = table(*HEADINGS, left=0)
    for row in answer.cells():
        shown.add_row(*row)
    out.print(shown)
    out.print(Text(answer.note))
    out.print(Text("K-batch: workers go on; by rule: AdaSync's and AdaComm's, from the first row's choice"))


def _print_curve(
    result: Sequence[StragglerPrediction], workers: int, learning_rate: float, form: Form | None
) -> None:
    """Bounds on the error against wall clock, for the objective of the published examples."""
    from perfmodel.model.prediction.training.sgd_error_bound import error_curves

    curves = error_curves(result, learning_rate)
    if exported(curves, form):
        return
    from rich.text import Text

    from perfmodel.interfaces.cli.render import console, table

    out = console()
    out.print(
        Text(f"error bound against time, {_count(workers)}, learning rate {learning_rate:g}"), style="bold"
    )
    names = [curve.variant.replace("batch-", "b-") for curve in curves.variants]
    shown = table("time", *names, left=0)
    for index, time in enumerate(curves.times):
        shown.add_row(show(time, "s"), *(f"{curve.error[index]:.3g}" for curve in curves.variants))
    out.print(shown)
    out.print(Text(curves.note))
    for reason in curves.left_out.values():
        out.print(Text(f"left out: {reason}"))
