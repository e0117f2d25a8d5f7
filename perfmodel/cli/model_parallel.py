"""``perfmodel model-parallel``: how one replica speeds up over machines, through one reported point."""

from __future__ import annotations

from typing import Any

import click

from perfmodel.cli.export import export_options, exported, take_form
from perfmodel.cli.types import MOST_DIGITS, Counts, Word
from perfmodel.units import number


class _Point(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """``8:2.2``, machines and the speed-up on them."""

    name = "machines:speed-up"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, float]:
        machines, colon, speedup = str(value).partition(":")
        if not (colon and machines.isdecimal() and len(machines) <= MOST_DIGITS and number(speedup) > 0):
            self.fail(f"{value!r}: expected machines and speed-up, e.g. 8:2.2", param, ctx)
        return int(machines), number(speedup)


@click.command("model-parallel")
@click.option(
    "--model",
    type=Word(("speech", "image")),
    default="speech",
    show_default=True,
    help="Of DistBelief: speech, 2.2 times on 8 machines; image, 12 times on 81.",
)
@click.option(
    "--machines", type=Counts(), default="1,2,4,8,16,32,64,81,128", show_default=True, help="To list."
)
@click.option("--point", type=_Point(), help="A model of your own in place of --model, e.g. 8:2.2.")
@click.option("--peak", is_flag=True, help="The speed-up of --point is the largest there is.")
@export_options
def command(**options: Any) -> None:
    """Speed-up of one replica over machines: a law through one reported point, which it restates.

    \b
    Examples:
      perfmodel model-parallel --model image
      perfmodel model-parallel --point 16:5 --machines 1-32
    """
    from perfmodel.api.distbelief import model_parallel

    form = take_form(options)
    answer = model_parallel(**options)
    if exported(answer, form):
        return
    from rich.text import Text

    from perfmodel.cli.render import console, lines_to, table

    out = console()
    lines_to(out, f"fitted to: {answer.facts}", style="bold")
    rows = table("machines", "speed-up", "efficiency", "square tiles", "", left=0)
    for row in answer.rows:
        rows.add_row(
            str(row.machines),
            f"{row.speedup:.2f}",
            f"{row.efficiency:.1%}",
            "" if row.tiled_speedup is None else f"{row.tiled_speedup:.2f}",
            "the point itself" if row.fitted else "",
        )
    out.print(rows)
    shape = f"contention {answer.contention:.4g}, coherency {answer.coherency:.4g}"
    peak = "" if answer.peak_machines is None else f"; largest on {answer.peak_machines:.1f} machines"
    out.print(Text(f"{shape}{peak}"))
    out.print(Text("one point fits either law: they part beyond it"))
