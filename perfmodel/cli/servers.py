"""``perfmodel servers``: what it matters where parameter servers run."""

from __future__ import annotations

from typing import Any

import click

from perfmodel.cli.export import export_options, exported, take_form
from perfmodel.cli.options import scenario_option
from perfmodel.cli.types import COUNT
from perfmodel.resolve import DEFAULT_INTER_LINK


@click.command("servers")
@click.option("--workers", type=COUNT, default=8, show_default=True, help="Machines with accelerators.")
@scenario_option("servers", default=4, help="Parameter servers.  [default: 4]")
@click.option("--gradient-size", default="100MB", show_default=True, help="Of one worker, e.g. 528MB.")
@scenario_option("inter_link", help=f"Of every machine's one port.  [default: {DEFAULT_INTER_LINK}]")
@export_options
def command(workers: int, servers: int, gradient_size: str, inter_link: str | None, **options: Any) -> None:
    """Push and pull by where parameter servers run: own machines, the workers', or both (BytePS).

    \b
    Examples:
      perfmodel servers --workers 8 --servers 8 --gradient-size 528MB
      perfmodel servers --workers 16 --servers 4 --inter-link ib-edr-100g
    """
    from perfmodel.api.servers import servers as placed
    from perfmodel.prediction.servers import HEADINGS
    from perfmodel.units import show

    form = take_form(options)
    answer = placed(
        workers=workers,
        servers=servers,
        gradient_size=gradient_size,
        inter_link=inter_link or DEFAULT_INTER_LINK,
    )
    if exported(answer, form):
        return
    from rich.text import Text

    from perfmodel.cli.render import console, lines_to, table

    out = console()
    lines_to(out, answer.note, style="bold")
    rows = table(*HEADINGS, left=1)
    for row in answer.cells():
        rows.add_row(*row)
    out.print(rows)
    words = (
        "apart: on machines of their own; pulls after pushes, or block by block; apart and on workers: BytePS"
    )
    lines_to(out, words)
    out.print(Text(f"{answer.link}: {show(answer.bandwidth, 'B/s')} each way by one connection"))
