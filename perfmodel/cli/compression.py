"""``perfmodel compression``: whether compressing gradients pays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from perfmodel.cli.export import export_options, exported, take_form
from perfmodel.cli.options import catalogue_from, scenario_option, specs_option
from perfmodel.cli.types import Names
from perfmodel.units import show

if TYPE_CHECKING:
    from perfmodel.prediction.compressed_exchange import CompressedExchanges


@click.command("compression")
@click.option(
    "--scheme",
    type=Names(),
    default="all",
    show_default=True,
    help="fp16, topk:0.01, randomk:0.01, qsgd:4bit, signsgd, terngrad, powersgd:4, onebit, several, or all.",
)
@scenario_option("workload", help="Network whose gradients are exchanged.")
@scenario_option("world_size", default=8, help="GPUs that exchange them.  [default: 8]")
@click.option("--gradient-size", "size", help="Of a gradient in fp32 in place of the network's, e.g. 100MB.")
@scenario_option("accelerator")
@scenario_option("node")
@scenario_option("accelerators_per_node")
@scenario_option("intra_link")
@scenario_option("inter_link")
@scenario_option("nics")
@scenario_option("rack_nodes")
@scenario_option("oversubscription")
@scenario_option("placement")
@scenario_option("framework")
@specs_option
@export_options
def command(scheme: tuple[str, ...], specs: tuple[str, ...], world_size: int, **options: Any) -> None:
    """Bytes, coding time and collective of compressed gradients, and below which bandwidth they pay.

    \b
    Examples:
      perfmodel compression --workload vgg16 --gpus 16 --inter-link ethernet-10g-tcp
      perfmodel compression --scheme topk:0.001,powersgd:4 --gpus 64 --accelerator a100-sxm4-40gb
      perfmodel compression --scheme fp16 --gradient-size 1GB --gpus 32
    """
    from perfmodel.api.compression import compression

    form = take_form(options)
    given = {name: value for name, value in options.items() if value is not None}
    names = scheme[0] if scheme == ("all",) else scheme
    answer = compression(names, gpus=world_size, **given, catalogue=catalogue_from(specs))
    if not exported(answer, form):
        _print(answer)


def _print(answer: CompressedExchanges) -> None:
    from perfmodel.cli.render import console, lines_to, table
    from perfmodel.explanations.sources import cited
    from perfmodel.prediction.compressed_exchange import details, exchange_words

    out = console()
    lines_to(out, answer.headline, style="bold")
    rows = table("scheme", "collective", "sent", "encode", "on the wire", "decode", "in all", left=2)
    rows.padding = (0, 1, 0, 0)
    for row in answer.rows:
        times = (row.encode_time, row.communication_time, row.decode_time, row.time)
        rows.add_row(
            row.scheme, row.collective, show(row.sent_bytes, "B"), *(show(time, "s") for time in times)
        )
    out.print(rows)
    for row in answer.rows:
        words = exchange_words(row, answer.group_size, answer.dense_bandwidth)
        lines_to(out, words, f"{row.scheme:<14}")
    if len(answer.rows) == 1:
        (row,) = answer.rows
        span = f"{show(row.low_80, 's')} to {show(row.high_80, 's')}, by the collectives alone"
        for line in (f"80 % interval: {span}", *details(row), f"source: {cited(row.source)}"):
            lines_to(out, line)
    lines_to(out, f"assumed: {'; '.join(answer.assumed)}")
    for note in answer.notes:
        lines_to(out, note, "note: ")
