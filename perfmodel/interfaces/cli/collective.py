"""``perfmodel collective``: one collective on its own, or a table over message sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfmodel.core.errors import refusal
from perfmodel.core.units import parse, show
from perfmodel.equations.algorithms import ALGORITHMS, SYNONYMS
from perfmodel.interfaces.cli.export import export_options, show_rows, take_form
from perfmodel.interfaces.cli.options import catalogue_from, scenario_option, specs_option
from perfmodel.interfaces.cli.spelling import Option
from perfmodel.interfaces.cli.types import COUNT, Word

if TYPE_CHECKING:
    from perfmodel.core.choices import Placement
    from perfmodel.model.prediction.collectives.collective import Collective


class _Sizes(click.ParamType):  # type: ignore[type-arg,unused-ignore]
    """``100MB``, or ``1KB..1GB``: every power of two (of four, over a wide range) between them."""

    name = "bytes"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        first, dots, last = str(value).partition("..")
        low = parse(first, "B")
        high = parse(last, "B") if dots else low
        if not 1 <= low <= high <= 1e15:
            raise refusal("collective.size_range", value=value)
        if not dots:
            return (low,)
        factor = 2 if high / low <= 2**12 else 4
        count = int(math.log(high / low, factor) + 1e-9)
        sizes = [low * factor**i for i in range(count + 1)]
        return tuple(sizes if sizes[-1] > 0.999 * high else [*sizes, high])


@click.command("collective")
@click.option(
    "--collective",
    "name",
    type=Word(ALGORITHMS, SYNONYMS),
    default="all-reduce",
    show_default=True,
    help="What ranks do.",
)
@click.option(
    "--algorithm",
    default="auto",
    show_default=True,
    help="auto (as NCCL chooses), best (the cheapest by our formulas), or a name: ring, tree, ...",
)
@click.option(
    "--ranks", cls=Option, old=["--gpus"], type=COUNT, required=True, help="Ranks in the collective."
)
@click.option(
    "--size",
    "sizes",
    cls=Option,
    type=_Sizes(),
    required=True,
    label="Message",
    help="Buffer on one rank: 100MB, or 1KB..1GB.",
)
@scenario_option("accelerator", help="What each rank is, e.g. h100-sxm5-80gb.  [default: that of --node]")
@scenario_option(
    "node",
    help="Machine the ranks lie on, with its links and adapters, e.g. dgx-1v.  "
    "[default: the usual one of --accelerator]",
)
@scenario_option(
    "intra_link",
    old=["--link"],
    help="Link between the ranks of a node, e.g. nvlink3-nvswitch.  [default: that of the machine]",
)
@scenario_option("inter_link", help="Link between nodes, e.g. ib-hdr-200g.  [default: that of the machine]")
@click.option(
    "--nodes",
    cls=Option,
    type=COUNT,
    label="Machines",
    help="Nodes.  [default: as the machine holds the ranks, else 1; with --inter-link up to 8 on each]",
)
@scenario_option("nics", help="Network adapters per node.  [default: those of the machine, else 1]")
@scenario_option("connections", help="TCP connections between two nodes.  [default: NCCL's 16]")
@scenario_option("network_cap")
@scenario_option("rack_nodes")
@scenario_option("oversubscription")
@scenario_option("placement")
@scenario_option("torus_dimensions")
@click.option(
    "--plot", metavar="FILE.html", help="Also draw time and bus bandwidth by size, beside measured ones."
)
@specs_option
@export_options
def command(
    name: str,
    algorithm: str,
    ranks: int,
    sizes: tuple[float, ...],
    accelerator: str | None,
    node: str | None,
    intra_link: str | None,
    inter_link: str | None,
    nodes: int | None,
    nics: int | None,
    connections: int | None,
    network_cap: bool | None,
    rack_nodes: int | None,
    oversubscription: float | None,
    placement: Placement | None,
    torus_dimensions: str | None,
    plot: str | None,
    specs: tuple[str, ...],
    **options: Any,
) -> None:
    """How long a collective takes, by which algorithm, and how close that is to the bound.

    \b
    Examples:
      perfmodel collective --ranks 8 --size 100MB --intra-link nvlink3-nvswitch
      perfmodel collective --ranks 16 --size 1KB..1GB --node dgx-a100
      perfmodel collective --ranks 64 --size 1GB --accelerator h100-sxm5-80gb --plot all-reduce.html
      perfmodel collective --ranks 8 --nodes 2 --size 1GB --intra-link pcie3-x16 --inter-link ib-edr
      perfmodel collective --algorithm best --ranks 8 --size 1MB --intra-link pcie3-x16
    """
    from perfmodel.interfaces.api.collective import Collectives, collective

    form = take_form(options)
    catalogue = catalogue_from(specs)
    where: dict[str, Any] = {
        "accelerator": accelerator,
        "node": node,
        "intra_link": intra_link,
        "inter_link": inter_link,
        "nodes": nodes,
        "nics": nics,
        "connections": connections,
        "network_cap": network_cap is not False,
        "rack_nodes": rack_nodes,
        "oversubscription": oversubscription,
        "placement": placement,
        "torus_dimensions": torus_dimensions,
    }
    if plot is not None:
        from perfmodel.interfaces.cli.collective_plot import check_plot

        check_plot(Path(plot), ranks)
    size = sizes if len(sizes) > 1 else sizes[0]
    answer = collective(name, ranks=ranks, size=size, algorithm=algorithm, catalogue=catalogue, **where)
    results = answer.rows if isinstance(answer, Collectives) else (answer,)
    if plot is not None:
        from perfmodel.interfaces.cli.collective_plot import write_plot
        from perfmodel.model.prediction.collectives.collective_fabric import fabric_of

        write_plot(Path(plot), name, algorithm, fabric_of(ranks, catalogue, **where), sizes)
    if form == "json":
        click.echo(answer.to_json())
    elif form is not None:
        show_rows(Collectives(tuple(results)).records(), form)
    elif len(results) == 1:
        _print_one(results[0])
    else:
        _print_table(results)
    if form is None:
        _print_notes(results)
        if plot is not None:
            click.echo(f"drawn: {plot}")


def _print_one(result: Collective) -> None:
    from perfmodel.model.prediction.intervals.bound import clipped_words

    size = show(result.message_bytes, "B")
    click.echo(f"{result.collective} of {size} over {result.group_size} ranks {result.where}")
    lines = [
        ("time", show(result.time, "s")),
        ("80 % interval", result.interval_text),
        (
            "cut at",
            clipped_words(result.interval) if result.interval and result.interval.clipped_at else None,
        ),
        ("algorithm", result.way),
        ("algorithm bandwidth", show(result.algorithm_bandwidth, "B/s")),
        ("bus bandwidth", show(result.bus_bandwidth, "B/s")),
        ("sent by a rank", show(result.bytes_per_rank, "B")),
        ("lower bound", show(result.lower_bound, "s")),
    ]
    if result.runner_up:
        lines.append(("runner-up", f"{result.runner_up.way}, {show(result.runner_up.time, 's')}"))
    for label, value in lines:
        if value is not None:
            click.echo(f"  {label:<22}{value}")


def _print_table(results: Sequence[Collective]) -> None:
    from perfmodel.interfaces.cli.render import console, table

    shown = table("size", "time", "80 % interval", "algorithm", "busbw", "runner-up", left=0)
    shown.padding = (0, 1, 0, 0)
    for result in results:
        other = result.runner_up
        shown.add_row(
            show(result.message_bytes, "B"),
            show(result.time, "s"),
            result.interval_text or "-",
            result.way,
            show(result.bus_bandwidth, "B/s"),
            f"{other.way} {show(other.time, 's')}" if other else "",
        )
    console().print(shown)


def _print_notes(results: Sequence[Collective]) -> None:
    """Say what binds, why intervals are wider than elsewhere, and what was taken where nothing was said."""
    from rich.text import Text

    from perfmodel.interfaces.cli.render import console

    # all sizes travel one path, so they have the same reasons; the factor is that of the first
    reasons = next((row.interval.wider_because for row in results if row.interval), [])
    lines = [f"interval wider because: {reason}" for reason in reasons]
    limits = dict.fromkeys(row.network_limit for row in results if row.network_limit)
    lines = [*(f"what binds is {limit}" for limit in limits), *lines]
    out = console()
    for line in (*lines, *(f"note: {note}" for note in results[0].warnings)):
        out.print(Text(line))
