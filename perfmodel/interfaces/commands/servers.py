"""``servers``: push and pull times by where parameter servers run."""

from typing import TYPE_CHECKING, Annotated

from perfmodel.core.choices import LARGEST_WORLD_SIZE
from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.records.record import Within, same_as
from perfmodel.interfaces.command import Command, Context
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.resolve import DEFAULT_INTER_LINK

if TYPE_CHECKING:
    from perfmodel.model.prediction.training.servers import Arrangements


class ServersRequest(Described):
    """Parameter servers to place.

    Parameters
    ----------
    workers : [1] Machines with accelerators, at least 2.
    servers : Parameter servers; on the workers' machines at most one each.
    gradient_size : Size of one worker's gradient, e.g. 528MB.
    inter_link : Link of every machine, which has one port.
    """

    workers: Annotated[int, Within(ge=1, le=LARGEST_WORLD_SIZE, strict=True)] = 8
    servers: int = same_as(Scenario, 4)
    gradient_size: Annotated[float, Within(gt=0, le=1e15), OptionInfo(unit="B")] = 100e6
    inter_link: str = same_as(Scenario, DEFAULT_INTER_LINK)


def run(request: ServersRequest, context: Context) -> "Arrangements":
    """Return the time of push and pull with parameter servers on machines of their own, on workers, or both.

    Raises
    ------
    InputError : an unknown link, or one inside a machine; numbers out of their range

    Examples
    --------
    As many servers as workers, on their own machines and in blocks, take half as long as a ring (BytePS).

    >>> from perfmodel import servers
    >>> times = {row.name: row.time for row in servers(workers=64, servers=64, gradient_size="10GB").rows}
    >>> round(times["apart, in blocks"], 2), round(times["none: a ring"], 2)
    (4.17, 8.21)
    """
    from perfmodel.model.prediction.training.servers import arrangements

    link = context.catalogue.link(request.inter_link)
    return arrangements(link, request.workers, request.servers, request.gradient_size)


def text(answer: "Arrangements", request: object) -> None:
    """Print a row for each arrangement."""
    from rich.text import Text

    from perfmodel.core.units import show
    from perfmodel.interfaces.cli.render import console, lines_to, table
    from perfmodel.model.prediction.training.servers import HEADINGS

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


COMMAND = Command(
    name="servers",
    summary="Compare where parameter servers run: on their own machines, the workers', or both (BytePS).",
    request=ServersRequest,
    answers=("perfmodel.model.prediction.training.servers:Arrangements",),
    run=run,
    text=text,
    examples=(
        "perfmodel servers --workers 8 --servers 8 --gradient-size 528MB",
        "perfmodel servers --workers 16 --servers 4 --inter-link ib-edr-100g",
    ),
    bodies={"VGG-16 on eight": {"workers": 8, "servers": 8, "gradient_size": "528MB"}},
)
