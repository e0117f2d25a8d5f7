"""``perfmodel collective``: one collective on its own, or a table over message sizes."""

from __future__ import annotations

import json
import math
from typing import Any

import click

from perfmodel.cli.export import export_options, show_rows, take_form
from perfmodel.cli.options import COUNT, catalogue_from
from perfmodel.errors import InputError
from perfmodel.units import parse, show

COLLECTIVES = ("all-reduce", "reduce-scatter", "all-gather", "broadcast", "all-to-all")


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
            raise InputError(f"--size {value}: expected 1 B to 1 PB, smaller first, e.g. 100MB or 1KB..1GB")
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
    type=click.Choice(COLLECTIVES),
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
@click.option("--ranks", type=COUNT, required=True, help="Ranks in the collective.")
@click.option("--size", "sizes", type=_Sizes(), required=True, help="Buffer on one rank: 100MB, or 1KB..1GB.")
@click.option("--link", required=True, help="Link between the ranks of a node, e.g. nvlink3-nvswitch.")
@click.option("--inter-link", help="Link between nodes, e.g. ib-hdr-200g.")
@click.option(
    "--nodes", type=COUNT, help="Nodes the ranks lie on.  [default: 1, or ranks / 8 with --inter-link]"
)
@click.option("--nics", type=COUNT, default=1, show_default=True, help="Network adapters per node.")
@click.option("--specs", multiple=True, metavar="DIR", help="Your own hardware specs, over the built-in.")
@export_options
def command(
    name: str,
    algorithm: str,
    ranks: int,
    sizes: tuple[float, ...],
    link: str,
    inter_link: str | None,
    nodes: int | None,
    nics: int,
    specs: tuple[str, ...],
    **options: Any,
) -> None:
    """How long a collective takes, by which algorithm, and how close that is to the bound.

    \b
    Examples:
      perfmodel collective --ranks 8 --size 100MB --link nvlink3-nvswitch
      perfmodel collective --ranks 16 --nodes 2 --size 1KB..1GB --link pcie3-x16 --inter-link ib-edr-100g
      perfmodel collective --algorithm best --ranks 8 --size 1MB --link pcie3-x16
    """
    from perfmodel.prediction.collective import Fabric, collective

    form = take_form(options)
    if nodes is None:
        nodes = max(1, ranks // 8) if inter_link else 1
    if ranks % nodes:
        raise InputError(f"{ranks} ranks do not spread evenly over {nodes} nodes")
    catalogue = catalogue_from(specs)
    fabric = Fabric(
        ranks, nodes, catalogue.link(link), catalogue.link(inter_link) if inter_link else None, nics
    )
    results = [collective(name, algorithm, fabric, size) for size in sizes]
    if form == "json":
        found = [result.model_dump() for result in results]
        click.echo(json.dumps(found if len(found) > 1 else found[0]))
    elif form is not None:
        show_rows((result.model_dump() for result in results), form)
    elif len(results) == 1:
        _print_one(results[0])
    else:
        _print_table(results)


def _chosen(result: Any) -> str:
    return f"{result.algorithm}/{result.protocol}" if result.protocol else str(result.algorithm)


def _print_one(result: Any) -> None:
    where = f"on {result.nodes} nodes" if result.nodes > 1 else "in one node"
    click.echo(
        f"{result.collective} of {show(result.message_bytes, 'B')} over {result.group_size} ranks {where}"
    )
    lines = [
        ("time", show(result.time, "s")),
        ("algorithm", _chosen(result)),
        ("algorithm bandwidth", show(result.algorithm_bandwidth, "B/s")),
        ("bus bandwidth", show(result.bus_bandwidth, "B/s")),
        ("sent by a rank", show(result.bytes_per_rank, "B")),
        ("lower bound", show(result.lower_bound, "s")),
    ]
    if result.runner_up:
        lines.append(("runner-up", f"{_chosen(result.runner_up)}, {show(result.runner_up.time, 's')}"))
    for label, value in lines:
        click.echo(f"  {label:<22}{value}")


def _print_table(results: list[Any]) -> None:
    from perfmodel.cli.render import console, table

    shown = table("size", "time", "algorithm", "algbw", "busbw", "runner-up", left=0)
    for result in results:
        other = result.runner_up
        shown.add_row(
            show(result.message_bytes, "B"),
            show(result.time, "s"),
            _chosen(result),
            show(result.algorithm_bandwidth, "B/s"),
            show(result.bus_bandwidth, "B/s"),
            f"{_chosen(other)} {show(other.time, 's')}" if other else "",
        )
    console().print(shown)
