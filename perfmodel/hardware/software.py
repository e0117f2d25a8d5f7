"""Spec of software that trains networks: facts of its releases, by the first year in which they hold."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated, Any, Literal

from perfmodel.core.choices import ContextMethod, LowPrecision, Schedule, ServerShards
from perfmodel.core.errors import refusal
from perfmodel.core.records.record import Within, fresh
from perfmodel.hardware.formats import OPERANDS
from perfmodel.hardware.provenance import Id, Provenance, SourcedSpec, Spec, Text

DEFAULT_SOFTWARE = "pytorch"
DEFAULT_FOR_LAYOUTS = "megatron-core"
DEFAULT_FOR_QUANTIZED = "axolotl"
"""Of adapters on weights in 4 bits (QLoRA), which its examples train."""
EARLIEST_YEAR, LATEST_YEAR = 2017, 2023
"""Years of software in measured data-parallel runs; a year outside counts as the nearest."""
LATEST_RELEASE = 2026
"""Year of software named without a year, where a transformer has a layout."""
OF_YEAR = " (its year)"
"""What follows the software in the note of a default that is its year alone."""
USUAL_AGE = 2
"""Years from an accelerator's release to that of its usual software: the median over pairs of accelerator and
source in ``validation/measured/training_runs.csv``, 2.25, in whole years; half are between 1 and 3."""

Pace = Literal["tuned", "early", "eager", "deepspeed", "xla"]
Graphs = Literal["none", "passes", "iteration"]
JoinedNorms = Literal["none", "activations", "statistics"]
Launch = Literal["compiled", "eager", "checkpointed"]
States = Literal["mixed", "full", "half"]
Sharding = Literal["none", "zero1", "zero2", "zero3"]
Products = Annotated[tuple[Literal["q", "k", "v", "o", "gate", "up", "down"], ...], Within(strict=False)]
Shardings = Annotated[tuple[Sharding, ...], Within(strict=False)]
Schedules = Annotated[tuple[Schedule, ...], Within(strict=False)]
LowPrecisions = Annotated[tuple[LowPrecision, ...], Within(strict=False)]
ContextMethods = Annotated[tuple[ContextMethod, ...], Within(strict=False)]
Capability = Annotated[float, Within(ge=0)]
PositiveNumber = Annotated[float, Within(gt=0, allow_inf_nan=False)]
Year = Annotated[str, Within(pattern=r"^(19|20)\d\d$")]
AMPERE, HOPPER, BLACKWELL = 8.0, 9.0, 10.0
NEVER = 99.0
"""A capability that no accelerator has."""


class Release(Spec):
    """Facts of one release of software: its defaults, which options override, and its abilities."""

    means_defaults = True

    trains: Literal["any", "transformers", "others"] = "any"
    """Networks it trains: any, transformers that predict tokens or have a layout, or all others."""
    fused: bool = False
    """A compiler or hand-written kernels fuse elementwise operations with their neighbours."""
    joined_norms: JoinedNorms = "none"
    """Kernels that batch normalisation shares: that of the activation and the addition after it
    (activations); and of the convolution before it, which takes the statistics (statistics)."""
    graphs: Graphs = "none"
    """Kernels recorded as a CUDA graph and replayed, so that the host launches none of them: those of the
    passes, or of the whole iteration with the update."""
    prepared_products: bool = False
    """Images and filters stay in the layout of the matrix units, with workspaces kept: a product needs no
    set-up."""
    update_tensors: Annotated[int, Within(ge=1)] = 1
    """Parameter tensors that a kernel of the update takes at once."""
    shares_update: bool = False
    """Accelerators of a node each update a share of a transformer's parameters (distributed LAMB): gradients
    are scattered and parameters gathered in the node, which moves the bytes of an all-reduce (data
    parallel)."""
    unfused_transformer: bool = False
    """A static graph that runs every small operation of a transformer as a kernel of its own."""
    activations_in_32: bool = False
    """A transformer's norms and activations stay in fp32 under mixed precision."""
    channels_first: bool = False
    """Images are stored as NCHW, which matrix units read only after a transpose."""
    winograd: Literal["none", "forward", "full"] = "full"
    """Passes of a 3x3 convolution with stride 1 that the library computes by Winograd's algorithm."""
    python_replicas: bool = False
    """One process that drives several accelerators copies the network's modules to each, in Python."""
    pipelined_servers: bool = False
    """Parameter servers send each block of a gradient back as soon as every worker's has arrived."""
    server_shards: ServerShards = "even"
    """Default distribution of gradients over parameter servers."""
    tuned_recipe: bool = False
    """Its usual settings are those of MLPerf, not the defaults of its manual."""
    native_decoding: bool = False
    """Samples are decoded by compiled code made for it, or on the accelerator, not by Python workers."""
    adds_gradients: bool = False
    """Clears the buffer of each gradient and adds into it, where others write it once (data parallel)."""
    pace: Pace = "eager"
    """Quality of a transformer's kernels: by hand and vendors' libraries (tuned), the same in 2019 to 2021
    (early), unfused as Python calls them (eager), Megatron's under DeepSpeed, or compiled by XLA."""
    launch: Launch = "eager"
    """Launcher of kernels: a graph, a compiler or C++ (compiled); Python (eager); Python with the hooks of
    old DeepSpeed (checkpointed)."""
    flash_from: Capability = NEVER
    """Least CUDA compute capability with attention that stores no scores (FlashAttention, cuDNN, Splash).

    Accelerators without a capability count as Ampere: the software has such kernels for them too.
    """
    newest_flash_from: Capability = BLACKWELL
    """Least capability for which that kernel is of the newest generation (FlashAttention 3, cuDNN 9)."""
    shardings: Shardings = ("none", "zero1")
    """Shardings over replicas that it supports without a pipeline."""
    pipelined_shardings: Shardings = ("none", "zero1")
    """Shardings that it supports with a pipeline."""
    biased_attention: bool = False
    """Scores have a bias (ALiBi), which only a slower kernel adds."""
    sequence_parallel: bool = False
    """Ranks of a tensor-parallel group share the tokens between products."""
    hides_tensor: bool = False
    """Part of tensor parallelism's traffic overlaps products."""
    hides_data: bool = False
    """Gradients travel during the backward pass."""
    hides_experts: bool = False
    """Interleaved stages exchange tokens with experts while they compute another micro-batch."""
    dispatches_fp8: bool = False
    """Tokens travel to experts in 8 bits where products are in fp8; results come back in 16."""
    scaled_values: PositiveNumber | None = None
    """Values of an fp8 operand that share a scale in fp32; None: all of a tensor."""
    narrow_inputs: bool = False
    """Inputs of products with operands of 8 or 4 bits are kept for the backward pass in that format alone."""
    narrow_gates: bool = False
    """Inputs of the activation functions of experts are kept in the format of operands too."""
    attended_bytes: PositiveNumber | None = None
    """Bytes of a value that attention makes, kept once for its own backward pass and the next product's where
    inputs are kept narrow; None: 16 bits for the one, and the format of operands for the other."""
    copies_tokens: bool = False
    """Ranks of an expert-parallel group compute the same tokens, each with its own experts, and sum what
    comes out; if not, each rank has tokens of its own and sends them to the ranks of their experts."""
    grouped_experts: bool = False
    """One kernel computes a product of all experts of a rank (torch._grouped_mm), which takes from the
    accelerator's memory how many tokens each has; if not, each expert has kernels of its own."""
    layer_kernels: PositiveNumber = 22
    """Kernels of a layer's forward pass with fused attention, experts left out; 6 more without it."""
    routing_kernels: PositiveNumber = 20
    """Kernels in the forward pass that choose experts and bring tokens in their order and back."""
    expert_kernels: PositiveNumber = 5
    """Kernels of each expert in the forward pass, in 16 bits, where experts have kernels of their own."""
    whole_experts: bool = False
    """By default a rank holds whole experts, whatever the degree of tensor parallelism (expert tensor
    parallelism of 1); if not, tensor-parallel ranks share each expert's products."""
    gradient_bytes: Literal[2, 4] = 2
    """Bytes of one gradient in bf16 or fp8 training [B]; fp16 sums in 2 B."""
    states: States = "mixed"
    """Storage of parameters between passes: a 16-bit copy and fp32 states (mixed: Megatron, DeepSpeed); all
    in fp32, cast for each pass (full: FSDP); all in 16 bits (half)."""
    logit_bytes: PositiveNumber = 10
    """Peak bytes per logit during the loss [B]: copies, softmax, gradients (10 is assumed)."""
    parallel_logit_bytes: PositiveNumber | None = None
    """The same where tensor-parallel ranks share the loss; None: ``logit_bytes``."""
    all_logits: bool = False
    """Logits are computed of all positions, of masked networks too, where others compute those that are
    predicted."""
    shares_logits: bool = True
    """Tensor-parallel ranks share logits and loss."""
    unfused_norms: bool = False
    """Uncompiled, each operation of an RMSNorm in fp32 and of a gate is a kernel, whose result is kept."""
    placeholders: bool = False
    """Products add gradients of weights to main gradients, and hand autograd empty ones, kept by shape."""
    weighted_inside: bool = False
    """The router's weight is applied inside an expert, so that its outputs are not kept."""
    compiles_loss: bool = False
    """torch.compile compiles the loss too."""
    compiled_logit_bytes: PositiveNumber = 4
    """Peak bytes per logit under a compiled loss [B]: 16-bit logits and their gradient."""
    sums_whole_gradients: bool = False
    """Sharded gradients are scattered after the last micro-batch only; until then they are summed whole."""
    cuts_by_stages: bool = False
    """By default a replica's batch is cut into as many micro-batches as there are stages."""
    dropout: bool = True
    """Networks whose publisher trained them with dropout are trained with it."""
    pads_vocabulary: bool = True
    """Pads the vocabulary to a multiple that suits the matrix units."""
    keeps_gathered: bool = False
    """A pipeline stage gathers sharded parameters once in a step, not for every micro-batch."""
    keeps_boundaries: bool = False
    """A pipeline stage has receive buffers for all micro-batches, and keeps their outputs."""
    keeps_logits: bool = False
    """The last stage of a pipeline keeps the logits of all micro-batches until the step ends."""
    gathers_fp8: bool = False
    """Sharded parameters are gathered in 8 bits where products are in fp8."""
    fused_activations: bool = False
    """The product before an activation function computes it too, and what its gradient needs."""
    fused_casts: bool = False
    """Norms, activations and attention write operands of 8 bits themselves; no pass of its own casts them."""
    low_precisions: LowPrecisions = ("fp8",)
    """Formats of less than 16 bits in which it computes products with weights; of a release of a year those
    that any software had by then."""
    checkpoints_operations: bool = False
    """``selective`` recomputes some products too, not attention alone (FSDP)."""
    context_method: ContextMethod = "ring"
    """How context-parallel ranks exchange keys and values by default."""
    context_methods: ContextMethods = ("ring",)
    """How they can exchange them."""
    attends_in_turn: bool = False
    """Context-parallel ranks attend to the keys of each rank in turn, as keys arrive, and merge the outputs
    operation by operation in fp32; a gather starts before the first turn, gradients go round in fp32."""
    repeats_keys: bool = False
    """Keys and values are repeated for all heads before context-parallel ranks exchange them."""
    repeats_key_heads: bool = False
    """All-to-alls of heads repeat key-value heads where a rank has fewer than ranks exchange them."""
    scatters_once: bool = False
    """Sharded gradients (ZeRO 3) are scattered after the last micro-batch only."""
    sums_groups_late: bool = False
    """Groups that each shard the states (HSDP) sum their gradients once in a step, not in every pass."""
    sums_groups_apart: bool = False
    """These sums run next to gathers and scatters inside the groups, on a stream of their own."""
    sums_whole_buckets: bool = False
    """ZeRO 1 and 2 sum buckets of gradients by all-reduces, not by reduce-scatters."""
    shards_optimizer: bool = False
    """By default replicas shard the optimizer's states (ZeRO 1)."""
    casts_weights: bool = False
    """Autocast: fp32 weights are cast for every micro-batch."""
    slow_start: bool = False
    """A trainer adds tens of milliseconds to each step (Lightning, in NeMo 1 and 2)."""
    schedules: Schedules = ("1f1b", "interleaved")
    """Orders in which stages of its pipelines can run passes."""
    embedding_slots: bool = False
    """Embedding and output head each count as a layer when layers are partitioned over stages."""
    interleaves: bool = False
    """Recipes give deep pipelines several chunks of layers on each stage."""
    lora_targets: Products = ("q", "k", "v", "o")
    """Products that have adapters by default."""
    splits_quantized: bool = False
    """Tensor-parallel ranks can each hold a part of frozen weights of 4 bits (nf4)."""
    offloads_weights: bool = False
    """Sharded weights (ZeRO 3) may lie in the host's memory, with their gradients and optimizer states."""
    recomputes: Literal["none", "needed", "full"] = "needed"
    """Layers recomputed by default: none, as many as memory needs, or all."""

    def computes_in(self, precision: str) -> bool:
        """Whether it computes products with weights in a precision, as far as is known."""
        return precision not in OPERANDS or precision in self.low_precisions

    @property
    def usual_recompute(self) -> Literal["none", "full"]:
        """Recomputation of a job that states none: ``full`` where recipes recompute all layers."""
        return "full" if self.recomputes == "full" else "none"

    @property
    def shards_states_alone(self) -> bool:
        """Whether it can shard the optimizer's states alone, without gradients and parameters (ZeRO 1)."""
        return "zero1" in self.shardings


class Fact(Provenance):
    """One fact of software with its provenance: its value from each year on."""

    by_year: dict[Year, Any]
    """First year of a value -> the value."""

    @property
    def words(self) -> str:
        """The values by year as text.

        >>> Fact.model_construct(basis="assumed", by_year={"2019": True, "2022": ("none", "zero1")}).words
        '2019: yes, 2022: none zero1'
        """
        return ", ".join(f"{year}: {_words(value)}" for year, value in self.by_year.items())


class FactsProvenance(Provenance):
    """Provenance of several facts of software."""

    facts: Annotated[tuple[Text, ...], Within(strict=False, min_length=1)]
    """Names of the facts: fields of ``Release``."""
    runs: Annotated[tuple[str, ...], Within(strict=False)] = ()
    """Sources of measured runs that support an assumption; leave-out tests still use it without them."""

    def __str__(self) -> str:
        return ", ".join(self.facts)


class Software(SourcedSpec):
    """Software of one name, its releases by year."""

    based_on: Id | None = None
    """Id of the software from which it takes all facts that this file does not state."""
    sharded_by: Id | None = None
    """Id of the software that replaces it for sharded gradients or parameters (ZeRO 2, 3)."""
    unsharded_by: Id | None = None
    """Id of the software that replaces it where nothing is sharded."""
    without_images_by: Id | None = None
    """Id of the software that replaces it where samples are not images."""
    versions: dict[Year, Release] = fresh(dict)
    """First year -> facts that hold from then on; a later release keeps the facts that it does not state."""
    provenance: Annotated[tuple[FactsProvenance, ...], Within(strict=False)] = ()
    """Provenance of every fact in ``versions``."""

    def statements(self) -> Iterator[tuple[str, Provenance]]:
        """Yield each fact that this file states, by its name."""
        for each in self.provenance:
            for fact in each.facts:
                values = {
                    year: getattr(release, fact)
                    for year, release in sorted(self.versions.items())
                    if fact in release.model_fields_set
                }
                where = {"basis": each.basis, "source": each.source, "note": each.note}
                yield fact, Fact.model_construct(**where, by_year=values)

    def check_together(self) -> None:
        """Raise ValueError for a file without facts, a fact without provenance, or provenance of no fact."""
        super().check_together()
        if not self.versions and self.based_on is None:
            raise ValueError("versions: expected the facts of a release, e.g. [versions.2024], or based_on")
        stated = {fact for release in self.versions.values() for fact in release.model_fields_set}
        explained = [fact for each in self.provenance for fact in each.facts]
        for fact in sorted(stated.symmetric_difference(explained)):
            if fact in stated:
                raise ValueError(f"{fact}: no [[provenance]] names the fact; expected its basis and source")
            raise ValueError(f"provenance of {fact}: no release states such a fact")

    def stated_until(self, year: int) -> dict[str, Any]:
        """Return the facts that hold in a year, by name; a year before the first counts as the first."""
        first, *later = sorted(self.versions) or ("",)
        known = [self.versions[first]] if first else []
        known += [self.versions[since] for since in later if int(since) <= year]
        return {fact: getattr(each, fact) for each in known for fact in each.model_fields_set}


def _words(value: Any) -> str:
    if isinstance(value, tuple):
        return " ".join(value)
    if isinstance(value, bool):
        return ("no", "yes")[value]
    return value if isinstance(value, str) else f"{value:g}"


@lru_cache(maxsize=1024)
def parts(text: str) -> tuple[str, int | None]:
    """Return the name and the year of ``NAME`` or ``NAME@YEAR``.

    Raises
    ------
    InputError : a year that is not one

    >>> parts("tensorflow-xla@2020"), parts("nemo")
    (('tensorflow-xla', 2020), ('nemo', None))
    """
    name, at, year = text.partition("@")
    if at and not (year.isdecimal() and len(year) == 4):
        raise refusal("software.year", text=text, name=name)
    return name, int(year) if at else None


def with_year(name: str, year: int | None) -> str:
    """Return ``NAME@YEAR``, or the name alone without a year; ``parts`` takes it apart."""
    return name if year is None else f"{name}@{year:04}"


def learned_year(text: str) -> int:
    """Return the year of ``NAME@YEAR``, limited to the years of measured data-parallel runs.

    >>> learned_year("pytorch@2025"), learned_year("pytorch@2020")
    (2023, 2020)
    """
    _, year = parts(text)
    return min(max(year or LATEST_YEAR, EARLIEST_YEAR), LATEST_YEAR)


def default_for_layouts(frozen_weights: str | None, is_tpu: bool) -> str:
    """Return the software of a transformer with a layout where none is stated.

    >>> default_for_layouts(None, False), default_for_layouts("nf4", False), default_for_layouts(None, True)
    ('megatron-core', 'axolotl', 'maxtext')
    """
    if is_tpu:
        return "maxtext"
    return DEFAULT_FOR_LAYOUTS if frozen_weights in (None, "16-bit") else DEFAULT_FOR_QUANTIZED


def usual_year(accelerator_year: int) -> int:
    """Return the usual year of an accelerator's software: two years after its release, within those measured.

    Parameters
    ----------
    accelerator_year : year of the accelerator's release

    Examples
    --------
    A V100 is of 2017; a K80 is of 2014, before the earliest measured software:

    >>> usual_year(2017), usual_year(2014)
    (2019, 2017)
    """
    return min(max(accelerator_year + USUAL_AGE, EARLIEST_YEAR), LATEST_YEAR)
