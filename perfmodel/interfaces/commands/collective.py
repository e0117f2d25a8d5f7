"""``collective``: a single collective, of one message size or of several."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from perfmodel.core.choices import Count, Placement, Transport
from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.records.record import Within, same_as
from perfmodel.equations.algorithm import CollectiveName
from perfmodel.hardware.catalogue.kinds import Kind
from perfmodel.interfaces.command import Command, Context, Writes
from perfmodel.interfaces.commands.diagnose import Measured, sent
from perfmodel.interfaces.report import report
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from perfmodel.interfaces.reports.page import Page
    from perfmodel.model.collectives.place import Point
    from perfmodel.model.prediction.collectives.by_size import Collectives
    from perfmodel.model.prediction.collectives.collective import Collective
    from perfmodel.model.prediction.collectives.measured_collective import MeasuredCollective

_Bytes = Annotated[float, Within(ge=1, le=1e15, strict=True)]


class CollectiveRequest(Described):
    """A single collective, of one message size or of several.

    Parameters
    ----------
    name : Collective operation.
    ranks : [1] Ranks in the collective.
    size : [B] Buffer on one rank: 100MB; a list, or in a shell 1KB..1GB, gives a table.
    algorithm : auto (as NCCL chooses), best (the cheapest by our formulas), or a name: ring, tree, ...
    accelerator : Accelerator of each rank, e.g. h100-sxm5-80gb.  [default: that of the node]
    node : Machine of the ranks, with its links and adapters, e.g. dgx-1v.
        [default: the accelerator's usual one]
    intra_link : Link between the ranks of a node, e.g. nvlink3-nvswitch.  [default: that of the machine]
    inter_link : Link between nodes, e.g. ib-hdr-200g.  [default: that of the machine]
    nodes : [1] Nodes.
        [default: as the machine holds the ranks, else 1; with a link between nodes up to 8 on each]
    nics : [1] Network adapters per node.  [default: the machine's; if the ranks use a part of
        its accelerators, the same part of them; else 1]
    connections : [1] TCP connections between two nodes.  [default: NCCL's 16]
    oversubscription : [1] Bandwidth of a rack's nodes over bandwidth of its uplinks, e.g. 4.  [default: 1]
    placement : Order of the job's ring over the racks.  [default: contiguous]
    measured : Output of nccl-tests or rccl-tests on the same machines, shown next to the prediction, which it
        narrows: a file, or what it contains.
    """

    name: Annotated[CollectiveName, OptionInfo(name="collective", synonyms={"sendrecv": "send-receive"})] = (
        "all-reduce"
    )
    ranks: Annotated[Count, OptionInfo(old="gpus")]
    size: Annotated[_Bytes, OptionInfo("Message", unit="B", several=1000)]
    algorithm: str = "auto"
    accelerator: str | None = same_as(Scenario)
    node: str | None = same_as(Scenario)
    intra_link: Annotated[
        str | None, OptionInfo("Link inside a machine", offers="links in a node", old="link")
    ] = None
    inter_link: str | None = same_as(Scenario)
    transport: Transport = same_as(Scenario)
    nodes: Annotated[Count | None, OptionInfo("Machines")] = None
    nics: int | None = same_as(Scenario)
    connections: int | None = same_as(Scenario)
    network_cap: bool = same_as(Scenario)
    rack_nodes: int | None = same_as(Scenario)
    oversubscription: float | None = same_as(Scenario, None)
    placement: Placement | None = same_as(Scenario, None)
    torus_dimensions: str | None = same_as(Scenario)
    measured: Annotated[Measured | None, OptionInfo("Measured listing", sent=sent, form="FILE")] = None

    @property
    def sizes(self) -> tuple[float, ...]:
        """The message sizes [B]."""
        size: Any = self.size
        return size if isinstance(size, tuple) else (size,)

    def fabric(self, context: Context) -> "Point":
        """Return the machines and links of the ranks."""
        from perfmodel.model.prediction.collectives.collective_fabric import fabric_of

        fields = CollectiveRequest.model_fields
        options: Any = {name: getattr(self, name) for name in fields if name not in _NOT_OF_FABRIC}
        return fabric_of(self.ranks, context.catalogue, **options)


_NOT_OF_FABRIC = ("name", "algorithm", "ranks", "size", "measured")
_NAMED: dict[str, Kind] = {
    "accelerator": "accelerators",
    "node": "nodes",
    "intra_link": "links",
    "inter_link": "links",
}


def run(request: CollectiveRequest, context: Context) -> "Collective | Collectives":
    """Return the time of a single collective, its algorithm, and how close it is to the lower bound.

    Raises
    ------
    InputError : an unknown name, a size out of range, ranks that do not divide among the nodes, no link

    Examples
    --------
    Eight ranks send 2 x 7/8 of the buffer each:

    >>> from perfmodel import collective
    >>> collective("all-reduce", ranks=8, size="100MB", link="nvlink3-nvswitch").bytes_per_rank
    175000000.0
    >>> [row.algorithm for row in collective(ranks=16, size=["1KB", "1GB"], node="dgx-a100").rows]
    ['tree', 'ring']
    >>> collective(ranks=16, size="1GB", accelerator="a100-sxm4-40gb").warnings[0]
    'taken: --node dgx-a100-40gb, the usual machine of A100 SXM4 40 GB'
    """
    from perfmodel.model.prediction.collectives.bus_bandwidth_words import above_ports
    from perfmodel.model.prediction.collectives.by_size import Collectives
    from perfmodel.model.prediction.collectives.collective import collective

    fabric = request.fabric(context)
    named = [(kind, word) for field, kind in _NAMED.items() if (word := getattr(request, field)) is not None]
    notes = [note for kind, word in named if (note := context.catalogue.note(kind, word))]
    notes += fabric.notes
    rows = tuple(collective(request.name, request.algorithm, fabric, size) for size in request.sizes)
    fastest = max(row.bus_bandwidth for row in rows)
    if said := above_ports(fabric.of(request.name, request.sizes[0]), fastest):
        notes.append(said)
    rows = tuple(row.model_copy(update={"warnings": notes}) for row in rows)
    if request.measured is not None:
        rows = _after_listing(rows, fabric, request)
    return Collectives(rows) if isinstance(request.size, tuple) else rows[0]


def _after_listing(
    rows: "tuple[Collective, ...]", fabric: "Point", request: CollectiveRequest
) -> "tuple[Collective, ...]":
    """Return collectives with what a listing says of them.

    Raises
    ------
    InputError : no listing, or one of another collective or number of ranks
    """
    from perfmodel.core.errors import refusal
    from perfmodel.decide.diagnosis.measured import read_listing
    from perfmodel.model.prediction.collectives.measured_collective import after_listing

    listing = read_listing(str(request.measured))
    if listing.collective not in (None, request.name):
        raise refusal(
            "collective.other_collective", "collective", listed=listing.collective, asked=request.name
        ).under(listing.file)
    if listing.group_size not in (None, request.ranks):
        raise refusal("collective.other_ranks", "ranks", listed=listing.group_size).under(listing.file)
    if listing.hosts not in (None, fabric.hosts):
        raise refusal("collective.other_hosts", "nodes", listed=listing.hosts, hosts=fabric.hosts).under(
            listing.file
        )
    listed = [(row.message_bytes, row.time) for row in listing.rows]
    return after_listing(rows, request.algorithm, fabric, listed)


def _read(answer: Any, _: object) -> "Collective | Collectives":
    """Return the answer of a service as an object."""
    from perfmodel.model.prediction.collectives.by_size import Collectives
    from perfmodel.model.prediction.collectives.collective import Collective
    from perfmodel.model.prediction.collectives.measured_collective import MeasuredCollective

    rows = answer if isinstance(answer, list) else [answer]
    one = MeasuredCollective if "after_listing" in rows[0] else Collective
    read = tuple(map(one.model_validate, rows))
    return Collectives(read) if isinstance(answer, list) else read[0]


def _page(answer: Any, request: CollectiveRequest, context: Context) -> "Page":
    """Return the page of a collective."""
    from perfmodel.interfaces.reports.collected import page_of_collective

    return page_of_collective(answer, context.typed, request)


def _check_plot(file: Path, request: CollectiveRequest) -> None:
    """Check that the figure can be drawn and written."""
    from perfmodel.interfaces.cli.collective_plot import check_plot

    check_plot(file, request.ranks)


def _plot(file: Path, answer: Any, request: CollectiveRequest, context: Context) -> None:
    """Write the figure."""
    from perfmodel.interfaces.cli.collective_plot import write_plot

    write_plot(file, request.name, request.algorithm, request.fabric(context), request.sizes)


def text(answer: "Collective | Collectives", request: object) -> None:
    """Print one size in lines, several in a table, and notes."""
    from perfmodel.model.prediction.collectives.by_size import Collectives
    from perfmodel.model.prediction.collectives.measured_collective import MeasuredCollective

    rows = answer.rows if isinstance(answer, Collectives) else (answer,)
    if len(rows) == 1:
        _print_one(rows[0])
    elif isinstance(rows[0], MeasuredCollective):
        _print_measured([row for row in rows if isinstance(row, MeasuredCollective)])
    else:
        _print_table(rows)
    if isinstance(request, CollectiveRequest):
        _print_verdict([row for row in rows if isinstance(row, MeasuredCollective)], request)
    _print_notes(rows)


def _print_one(result: "Collective") -> None:
    """Print one collective, one figure per line."""
    import click

    from perfmodel.core.units import show
    from perfmodel.model.prediction.intervals.bound import clipped_words

    size = show(result.message_bytes, "B")
    click.echo(f"{result.collective} of {size} over {result.group_size} ranks {result.where}")
    lines = [
        ("time", show(result.time, "s")),
        ("80 % interval", result.interval_text),
        *_measured_lines(result),
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


def _measured_lines(result: "Collective") -> list[tuple[str, str | None]]:
    """Return the lines on a listing; none without one."""
    from perfmodel.model.prediction.collectives.measured_collective import MeasuredCollective

    if not isinstance(result, MeasuredCollective):
        return []
    measured = f"{result.measured_text}, bus bandwidth {result.measured_bus_text}"
    shown = None if result.measured_time is None else measured
    return [("measured", shown), ("80 % after listing", result.after_text)]


def _print_measured(results: "Sequence[MeasuredCollective]") -> None:
    """Print a row for each message size, with what a listing says."""
    from perfmodel.core.units import show
    from perfmodel.interfaces.cli.render import console, table

    columns = ("size", "time", "80 % interval", "busbw", "measured", "its busbw", "80 % after it")
    shown = table(*columns, left=0)
    shown.padding, shown.show_edge = (0, 1, 0, 0), False
    for result in results:
        shown.add_row(
            show(result.message_bytes, "B"),
            show(result.time, "s"),
            result.interval_text or "-",
            show(result.bus_bandwidth, "B/s"),
            result.measured_text,
            result.measured_bus_text,
            result.after_text,
        )
    console().print(shown)


def _print_verdict(rows: "Sequence[MeasuredCollective]", request: CollectiveRequest) -> None:
    """Print whether a listing is normal, and the command that says what may slow it."""
    from perfmodel.core.command_line import command_line
    from perfmodel.interfaces.cli.render import command_to, console, lines_to
    from perfmodel.model.options.scenario import SHORT
    from perfmodel.model.prediction.collectives.measured_collective import verdict_on_listing

    verdict = verdict_on_listing(rows)
    if verdict is None:
        return
    names = {field: name for name, field in SHORT.items()}
    given = request.model_dump(exclude_unset=True)
    options = {"measured": request.measured, names["world_size"]: request.ranks}
    options |= {name: value for name, value in given.items() if name not in (*_NOT_OF_FABRIC, "nodes")}
    if request.nodes is not None:  # of a listing the accelerators of a node say how many there are
        options["accelerators-per-node"] = request.ranks // request.nodes
    lines_to(console(), f"{verdict}; what to check:")
    command_to(console(), command_line("diagnose", options))


def _print_table(results: "Sequence[Collective]") -> None:
    """Print a row for each message size."""
    from perfmodel.core.units import show
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


def _print_notes(results: "Sequence[Collective]") -> None:
    """Print network limits, reasons for wider intervals, and assumed defaults."""
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


COMMAND = Command(
    name="collective",
    summary="Predict the time and algorithm of a collective, and how close it is to the lower bound.",
    request=CollectiveRequest,
    answers=(
        "perfmodel.model.prediction.collectives.collective:Collective",
        "perfmodel.model.prediction.collectives.by_size:Collectives",
    ),
    several="size",
    json=(
        "perfmodel.model.prediction.collectives.collective:Collective",
        "perfmodel.interfaces.service.answer_types:CollectiveRows",
        "perfmodel.model.prediction.collectives.measured_collective:MeasuredCollective",
        "perfmodel.interfaces.service.answer_types:MeasuredCollectiveRows",
    ),
    read=_read,
    run=run,
    text=text,
    positional=("name",),
    writes={
        "plot": Writes(
            "Also draw time and bus bandwidth by size, with measured curves.",
            _check_plot,
            _plot,
            metavar="FILE.html",
            note="drawn",
        ),
        "report": report(_page),
    },
    examples=(
        "perfmodel collective --ranks 8 --size 100MB --intra-link nvlink3-nvswitch",
        "perfmodel collective --ranks 16 --size 1KB..1GB --node dgx-a100",
        "perfmodel collective --ranks 64 --size 1GB --accelerator h100-sxm5-80gb --plot all-reduce.html",
        "perfmodel collective --ranks 8 --nodes 2 --size 1GB --intra-link pcie3-x16 --inter-link ib-edr",
        "perfmodel collective --ranks 16 --size 1MB..1GB --node dgx-h100 --measured all_reduce.txt",
        "perfmodel collective --algorithm best --ranks 8 --size 1MB --intra-link pcie3-x16",
    ),
    bodies={
        "one message": {"ranks": 8, "size": "100MB", "intra_link": "nvlink3-nvswitch"},
        "a table": {"ranks": 16, "size": ["1KB", "1MB", "1GB"], "node": "dgx-a100-40gb"},
    },
)
