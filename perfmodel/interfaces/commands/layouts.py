"""``layouts``: parallel layouts of a transformer, ranked by time."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from perfmodel.core.choices import (
    AttentionKernel,
    ContextMethod,
    Count,
    FrozenWeights,
    GradientPrecision,
    Loss,
    LowPrecision,
    Offload,
    Optimizer,
    Samples,
    Schedule,
    Transport,
)
from perfmodel.core.records.options import Described, OptionInfo
from perfmodel.core.records.record import same_as
from perfmodel.core.units import per_cent
from perfmodel.hardware.software import DEFAULT_FOR_LAYOUTS, default_for_layouts
from perfmodel.interfaces.command import Command, Context
from perfmodel.interfaces.forms import Form, card_and_table, forms_of
from perfmodel.interfaces.report import report
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.risk import Risk
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.memory_odds import CERTAIN

if TYPE_CHECKING:
    from perfmodel.interfaces.api.layout_row import LayoutRow
    from perfmodel.interfaces.api.layouts import Layouts

SHOWN = 10
"""Layouts in a table for people, by default."""


_OF_ANSWER = ("against", "top", "confidence", "conditions")
"""Options of what is said of the layouts, not of the job."""


class LayoutsRequest(Described):
    """A transformer to train in parallel on a number of accelerators.

    Parameters
    ----------
    workload : Transformer: a name, or its config.json.
    gpus : [1] Accelerators in all.
    global_batch_size : [samples] Samples of one step over all accelerators.
    node : Machine, e.g. dgx-h100.  [default: the usual one of the accelerator]
    accelerator : Accelerator, e.g. h100-sxm5-80gb.  [default: that of the node]
    inter_link : Link between machines.  [default: that of the machine]
    nics : [1] Network adapters of each machine.  [default: the machine's]
    connections : [1] TCP connections between two nodes.  [default: NCCL's 16]
    sequence_length : [tokens] Tokens of a sample.  [default: the network's]
    framework : NAME or NAME@YEAR: megatron-core, nemo, fsdp, torchtitan, deepspeed, maxtext, ...
        [default: megatron-core; axolotl with --frozen-weights in 4 bits]
    precision : Precision of matrix products.
    expert_tensor_parallel : [1] Accelerators that split every product of an expert.
        [default: 1, and tensor parallel]
    schedule : Order of passes in pipelines.  [default: 1f1b, and interleaved]
    embedding_slots : Whether embedding and output head each count as a layer when layers are partitioned over
        stages.  [default: as the software does]
    context_method : How context-parallel ranks exchange keys and values.  [default: the software's]
    context_inner : [1] Neighbours that exchange heads in a nested exchange.
        [default: the most that key-value heads allow]
    shard_group : [1] Replicas that share one copy of sharded states (HSDP).  [default: all replicas]
    against : A layout to compare with the first, which may be one that does not fit, e.g.
        tensor_parallel=8,pipeline_parallel=4,micro_batch_size=2, or as tables print it: "tp8 pp4 dp2, 2 x 4".
    top : [1] Number of layouts to list.  [default: all; in a shell's table 10]
    confidence : [1] How sure to be that the layout to take fits into memory, e.g. 0.5, 0.8 or 0.95: one with
        more risk is not recommended where another has less.
    conditions : Prices, power and failures, and the length of a run: also money, energy and carbon.
    """

    workload: Annotated[str, OptionInfo("Workload", offers="workloads")]
    gpus: Annotated[Count, OptionInfo("GPUs")]
    global_batch_size: Annotated[Samples, OptionInfo("Batch of the whole job (strong scaling)")]
    node: str | None = same_as(Scenario)
    accelerator: str | None = same_as(Scenario)
    host_memory: float | None = same_as(Scenario)
    inter_link: str | None = same_as(Scenario)
    transport: Transport = same_as(Scenario)
    nics: int | None = same_as(Scenario)
    connections: int | None = same_as(Scenario)
    network_cap: bool = same_as(Scenario)
    sequence_length: int | None = same_as(Scenario)
    image_tokens: int | None = same_as(Scenario)
    framework: str = same_as(Scenario, DEFAULT_FOR_LAYOUTS)
    precision: Literal["bf16", "fp16", LowPrecision] = "bf16"
    lora: int | None = same_as(Scenario)
    routing_nodes: int | None = same_as(Scenario)
    expert_imbalance: float = same_as(Scenario)
    capacity_factor: float | None = same_as(Scenario)
    expert_tensor_parallel: int | None = same_as(Scenario)
    lora_targets: str | None = same_as(Scenario)
    frozen_weights: FrozenWeights | None = same_as(Scenario)
    document_length: int | None = same_as(Scenario)
    document_spread: float = same_as(Scenario)
    attention_kernel: AttentionKernel | None = same_as(Scenario)
    sequence_parallel: bool | None = same_as(Scenario)
    recompute_modules: str | None = same_as(Scenario)
    loss: Loss | None = same_as(Scenario)
    gradient_precision: GradientPrecision | None = same_as(Scenario)
    offload: Offload | None = same_as(Scenario)
    optimizer: Optimizer | None = same_as(Scenario)
    mtp_layers: int | None = same_as(Scenario)
    schedule: Schedule | None = same_as(Scenario)
    embedding_slots: bool | None = same_as(Scenario)
    context_method: ContextMethod | None = same_as(Scenario)
    context_inner: int | None = same_as(Scenario)
    shard_group: int | None = same_as(Scenario)
    against: Annotated[str | None, OptionInfo(commas=True)] = None
    top: Count | None = None
    confidence: float = same_as(Risk, CERTAIN)
    conditions: Annotated[Conditions | None, OptionInfo(but=("server_price",), flag="cost")] = None

    def question(self) -> dict[str, Any]:
        """Return the job as options by name."""
        fields = LayoutsRequest.model_fields
        given = {name: getattr(self, name) for name in fields if name not in _OF_ANSWER}
        if "framework" not in self.model_fields_set:
            given["framework"] = default_for_layouts(self.frozen_weights, is_tpu=False)
        return given


class Typed(LayoutsRequest):
    """The request in a shell: ``top`` counts layouts that differ in time."""

    def request(self) -> "Typed":
        """Return the request itself, which is answered with all layouts."""
        return self


def run(request: LayoutsRequest, context: Context) -> "Layouts":
    """Return every layout of a transformer that fits on a number of accelerators, the fastest first.

    Raises
    ------
    InputError : an unknown name, a network that is no transformer, or nothing that fits

    Examples
    --------
    >>> from perfmodel import layouts
    >>> rows = layouts("llama-3-8b", gpus=8, node="dgx-h100", global_batch_size=64).rows
    >>> rows[0].iteration_time <= rows[-1].iteration_time
    True
    """
    from perfmodel.interfaces.api.layouts import searched

    top = None if isinstance(request, Typed) else request.top
    return searched(
        request.question(),
        top,
        request.against,
        request.conditions,
        context.catalogue,
        request.confidence,
    )


def _read(answer: Any, request: LayoutsRequest) -> "Layouts":
    """Return the answer of a service as an object."""
    from pydantic import TypeAdapter

    from perfmodel.interfaces.api.layouts import Layouts

    table = {**answer, "rows": answer["layouts"], "question": request.question()}
    del table["layouts"]
    return TypeAdapter(Layouts).validate_python(table)


def _cut(form: Form, usual: int | None) -> Form:
    """Return a form that prints only the first layouts: ``top`` of a request, else ``usual``."""

    def text(answer: Any, request: LayoutsRequest | None) -> str:
        top = request.top if request is not None else None
        return form.text(replace(answer, rows=answer.rows[: top or usual]), request)

    return form._replace(text=text)


def _page(answer: "Layouts", request: LayoutsRequest, context: Context) -> Any:
    """Return the page of the layouts."""
    from perfmodel.interfaces.reports.layouts import page_of_layouts

    top = request.top or SHOWN
    return page_of_layouts(answer, context.typed, context.catalogue, top, request.conditions)


def text(answer: "Layouts", request: LayoutsRequest) -> None:
    """Print the answer card, the layouts that differ in time, and notes."""
    from rich.text import Text

    from perfmodel.core.units import show
    from perfmodel.interfaces.cli.render import console, show_card, table
    from perfmodel.interfaces.reports.figures import ruled_out_lines
    from perfmodel.interfaces.reports.layout_comparison import against_lines, tie_lines
    from perfmodel.model.prediction.memory_odds import short_verdict
    from perfmodel.model.transformers.flops import NOMINAL_WORDS
    from perfmodel.model.transformers.grid import TOO_LARGE

    out = console()
    taken = answer.taken
    out.print(Text(f"{answer.workload} on {answer.machine}", style="bold"))
    low, high = (taken.interval[end] for end in ("low_80", "high_80"))
    show_card(out, answer.card, (low, taken.iteration_time, high))
    shown = table("layout", "micro", "iteration", "MFU", "memory", "fits", "bubble", "exposed")
    shown.padding = (0, 1, 0, 0)
    rows = answer.distinct()[: request.top or SHOWN]
    for row, _ in rows:
        shown.add_row(
            row.words,
            f"{row.layout['micro_batch_size']} x {row.layout['accumulation_steps']}",
            show(row.iteration_time, "s"),
            per_cent(row.mfu),
            _gib(row.memory["bytes"]),
            short_verdict(row.memory["fits_probability"]),
            per_cent(row.bubble_fraction),
            per_cent(_exposed(row)),
        )
    out.print(shown)
    for words in (*tie_lines(answer), *against_lines(answer)):
        out.print(Text(words))
    for reason in answer.wider_because:
        out.print(Text(f"wider because {reason}"))
    for note in answer.notes:
        out.print(Text(f"note: {note}"))
    for caveat in taken.caveats:
        out.print(Text(f"note: of the layout to take, {caveat}"))
    out.print(Text("micro: samples of a pass x passes of a step; exposed: share of waiting for messages"))
    nominal = f"the layout to take has {per_cent(taken.mfu_nominal)} {NOMINAL_WORDS}"
    out.print(Text(f"MFU counts what is computed, without masked scores; {nominal}"))
    fitting = f"{answer.fitting:,} of {answer.candidates:,} layouts fit into {_gib(answer.capacity)} each"
    out.print(Text(f"{fitting}; fits: yes, or with what probability"))
    if folded := sum(more for _, more in rows):
        out.print(Text(f"{folded} more take as long as one of these, and no less memory (--json)"))
    for line in ruled_out_lines(answer.ruled_out):
        out.print(Text(line))
    untried = {reason: count for reason, count in answer.rejected.items() if reason != TOO_LARGE}
    if untried:
        out.print(Text("degrees not tried:"))
    for reason, count in untried.items():
        out.print(Text(f"  {count:>6}  {reason}"))
    if taken.flags:
        out.print(Text(f"{taken.words} starts with:"))
        for flag in taken.flags:
            out.print(Text(f"  {flag}"))
    if answer.economics is not None:
        from perfmodel.interfaces.cli.economics import show_economics

        show_economics(answer.economics)


def _gib(count: float) -> str:
    """Return a number of bytes as text in GiB: ``1.5 GiB``."""
    return f"{count / 2**30:.1f} GiB"


def _exposed(row: "LayoutRow") -> float:
    """Return the fraction of a step in which ranks wait for messages."""
    from perfmodel.model.step.terms import sent

    return float(sent(row.terms) / row.iteration_time)


COMMAND = Command(
    name="layouts",
    summary="List every layout of a transformer that fits on a number of accelerators, the fastest first.",
    about="A layout: tp tensor, pp pipeline, v chunks of layers on each stage, cp context, ep expert, etp "
    "expert tensor and dp data parallelism; how states are sharded; what is recomputed.  For the error of "
    "such predictions on measured runs see perfmodel validate --kind transformers.",
    request=LayoutsRequest,
    typed=Typed,
    answers=("perfmodel.interfaces.api.layouts:Layouts",),
    json=("perfmodel.interfaces.service.answer_types:LayoutsAnswer",),
    read=_read,
    run=run,
    text=text,
    forms={
        name: _cut(form, SHOWN if name == "markdown" else None)
        for name, form in forms_of(markdown=card_and_table).items()
    },
    writes={"report": report(_page)},
    positional=("workload",),
    examples=tuple(
        f"perfmodel layouts --workload {words}"
        for words in (
            "llama-3-70b --node dgx-h100 --gpus 512 --global-batch-size 1024",
            "gpt3-175b --node dgx-a100-80gb --gpus 1024 --global-batch-size 1536",
            "mixtral-8x7b --node dgx-h100 --gpus 64 --global-batch-size 256 --top 3",
            "gpt2 --node dgx-h100 --gpus 8 --global-batch-size 64 --report page.html",
            "llama-3-8b --node dgx-h100 --gpus 64 --global-batch-size 256 --tokens 1T",
            "llama-3-70b --node dgx-h100 --gpus 8 --global-batch-size 64 --lora 16 --frozen-weights nf4",
            "llama-3-8b --node dgx-h100 --gpus 64 --global-batch-size 256 --against tensor_parallel=4",
        )
    ),
    bodies={
        "Llama 3 8B": {
            "workload": "llama-3-8b",
            "gpus": 8,
            "node": "dgx-h100",
            "global_batch_size": 64,
            "top": 3,
        }
    },
)
