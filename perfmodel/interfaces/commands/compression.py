"""``compression``: whether gradient compression pays on given hardware."""

from typing import TYPE_CHECKING, Annotated

from perfmodel.core.choices import LARGEST_WORLD_SIZE, Placement
from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.records.record import Within, same_as
from perfmodel.interfaces.command import Command, Context
from perfmodel.model.options.compression import KINDS, parse_scheme
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from perfmodel.model.prediction.training.compressed_exchange import CompressedExchanges

MOST_SCHEMES = 1000
_Schemes = Annotated[tuple[str, ...], Within(min_length=1, max_length=MOST_SCHEMES)]


class CompressionRequest(Described):
    """Gradients to compress, and the machines that exchange them.

    Parameters
    ----------
    scheme : fp16, topk:0.01, randomk:0.01, qsgd:4bit, signsgd, terngrad, powersgd:4, onebit, several, or all.
        [default: all]
    workload : Network whose gradients are exchanged.
    gpus : [1] GPUs that exchange them.
    size : Size of a gradient in fp32, instead of the network's, e.g. 100MB.
    framework : Framework whose kernel launches coding needs.  [default: pytorch]
    """

    scheme: _Schemes = ("all",)
    workload: str = same_as(Scenario)
    gpus: Annotated[int, Within(ge=2, le=LARGEST_WORLD_SIZE, strict=True), OptionInfo(label="GPUs")] = 8
    size: Annotated[
        Annotated[float, Within(ge=4096, le=1e13)] | None,
        OptionInfo("Size of the gradient", name="gradient-size", unit="B"),
    ] = None
    accelerator: str | None = same_as(Scenario)
    node: str | None = same_as(Scenario)
    accelerators_per_node: int | None = same_as(Scenario)
    intra_link: str | None = same_as(Scenario)
    inter_link: str | None = same_as(Scenario)
    nics: int | None = same_as(Scenario)
    rack_nodes: int | None = same_as(Scenario)
    oversubscription: float = same_as(Scenario)
    placement: Placement = same_as(Scenario)
    framework: str | None = same_as(Scenario)


def run(request: CompressionRequest, context: Context) -> "CompressedExchanges":
    """Return bytes, coding time, collective and break-even bandwidth of compressed gradients.

    Raises
    ------
    InputError : an unknown name or scheme, a number out of range

    Examples
    --------
    Top-k gathers values and indices of all ranks, so that the traffic of a port grows with the ranks.

    >>> from perfmodel import compression
    >>> row = compression("topk:0.01", gpus=16).rows[0]
    >>> row.collective, round(row.ratio), row.break_even_density
    ('all-gather', 50, 0.0625)
    """
    from perfmodel.model.prediction.training.compressed_exchange import compressed_exchanges

    names = KINDS if request.scheme == ("all",) else request.scheme
    given = {name: getattr(request, name) for name in request.model_fields_set}
    options = {name: value for name, value in given.items() if name not in ("scheme", "size")}
    return compressed_exchanges(
        [parse_scheme(str(name)) for name in names],
        Scenario(**{"gpus": request.gpus, **options}),
        context.catalogue,
        request.size,
    )


def text(answer: "CompressedExchanges", request: object) -> None:
    """Print a row for each scheme, then a sentence on when it pays."""
    from perfmodel.core.units import show
    from perfmodel.decide.explanations.sources import cited
    from perfmodel.interfaces.cli.render import console, lines_to, table
    from perfmodel.model.prediction.training.compressed_exchange import details, exchange_words

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


COMMAND = Command(
    name="compression",
    summary="Predict bytes, coding time and collective of compressed gradients, and when compression pays.",
    request=CompressionRequest,
    answers=("perfmodel.model.prediction.training.compressed_exchange:CompressedExchanges",),
    run=run,
    text=text,
    positional=("scheme",),
    examples=(
        "perfmodel compression --workload vgg16 --gpus 16 --inter-link ethernet-10g-tcp",
        "perfmodel compression --scheme topk:0.001,powersgd:4 --gpus 64 --accelerator a100-sxm4-40gb",
        "perfmodel compression --scheme fp16 --gradient-size 1GB --gpus 32",
    ),
    bodies={"two schemes": {"scheme": ["topk:0.01", "fp16"], "workload": "vgg16", "gpus": 16}},
)
