"""Software of one job: the facts of its release, changed by accelerator and options."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

from perfmodel.core import ops
from perfmodel.core.ops import where
from perfmodel.core.tracing.tracing import given
from perfmodel.hardware.formats import ADAM_MOMENTS, GRADIENT_PASSES, OPERANDS, OPTIMIZERS, SIZED
from perfmodel.hardware.software import AMPERE, Launch, Pace, Release, States
from perfmodel.model.options.kept import IN_BACKWARD, Modules
from perfmodel.model.options.layout import ZERO_2, ZERO_3, Layout
from perfmodel.model.transformers.architecture import Dimensions
from perfmodel.model.transformers.frozen import EXPANSION_KERNELS, Adapted, adapted_of, stored_bytes
from perfmodel.model.transformers.machine import IN_32_BITS, Chip

PACES: tuple[Pace, ...] = get_args(Pace)
LAUNCHES: tuple[Launch, ...] = get_args(Launch)
EAGER, CHECKPOINTED = LAUNCHES.index("eager"), LAUNCHES.index("checkpointed")
STATE_BYTES: dict[States, tuple[float, float | None, float]] = {
    "mixed": (2, None, 12),
    "full": (4, 4, 8),
    "half": (2, 2, 4),
}
"""Bytes of a parameter: weight, gradient (None: as sent), Adam's moments with copies of the weight."""
DOCUMENTED = "documented (OCP Microscaling Formats; NVIDIA, Transformer Engine)"
"""Source of the numbers of formats of 8 and 4 bits."""
FIRST_FLASH = 0.5
"""Rate of FlashAttention over that of FlashAttention 2, by the abstract of the latter's paper (Dao 2023)."""
LOGIT_BYTES = {"plain": 14.0, "chunked": 6.5}
"""Bytes of a logit at the peak: in 16 bits with copy, softmax and gradient in fp32; of chunks, 16-bit logits,
an fp32 gradient and an eighth of them in fp32."""


class Software(NamedTuple):
    """How software runs one job; flags, indices and bytes, or arrays of them."""

    pace: Any
    """Index into ``PACES``."""
    launch: Any
    """Index into ``LAUNCHES``."""
    replayed: Any
    """Whether the kernels of passes are a recorded graph, which no host launches."""
    whole_graph: Any
    """Whether the iteration is one recorded graph, in which the host takes no part."""
    fused: Any
    flash: Any
    """Whether attention is fused and stores no scores."""
    newest_flash: Any
    biased_attention: Any
    shares_sequence: Any
    hides_tensor: Any
    hides_data: Any
    hides_experts: Any
    scatters_once: Any
    """Whether gradients of ZeRO 3 are scattered once in a step."""
    sums_groups_late: Any
    """Whether groups of replicas sum their gradients once in a step (HSDP)."""
    sums_groups_apart: Any
    """Whether these sums run at once with the traffic inside groups."""
    sums_whole_buckets: Any
    """Whether ZeRO 1 and 2 sum gradients by all-reduces."""
    gradient_bytes: Any
    weight_bytes: Any
    """Bytes of a parameter kept between passes."""
    kept_gradient_bytes: Any
    optimizer_bytes: Any
    least_optimizer_bytes: Any
    """The same of the optimizer in software that keeps the fewest."""
    logit_bytes: Any
    """Bytes of one logit at the peak of its loss."""
    all_logits: Any
    """Whether logits are computed of all positions, predicted or not."""
    shares_logits: Any
    sums_whole_gradients: Any
    fresh_gradients: Any
    """Whether gradients are freed after a step, by PyTorch's ``zero_grad``."""
    dropout: Any
    host_checkpoints: Any
    """Whether checkpoints of recomputed layers lie in the host's memory."""
    shares_checkpoints: Any
    """Whether tensor-parallel ranks partition the checkpoints."""
    pads_vocabulary: Any
    keeps_gathered: Any
    keeps_boundaries: Any
    keeps_logits: Any
    gathers_8: Any
    checkpoints_operations: Any
    casts_weights: Any
    slow_start: Any
    narrow: Any
    """Whether products take operands of 8 or 4 bits."""
    operand_bytes: Any
    """Bytes of a value of an operand."""
    scale_bytes: Any
    """Bytes of scales for each value of an operand."""
    cast_reads: Any
    """Passes over an operand to cast it."""
    fused_casts: Any
    """Whether what comes before a product writes its operands in 8 bits."""
    fused_activations: Any
    """Whether products compute the activation function after them."""
    wide_share: Any
    """Share of the layers whose products take operands of 16 bits all the same."""
    input_bytes: Any
    """Bytes of a kept value of a product's input."""
    gate_bytes: Any
    """The same of the input of an expert's activation function."""
    attended_bytes: Any
    """The same of what attention makes, for its backward pass and for that of the product after it."""
    adapts: Any
    """Whether only low-rank adapters are trained (LoRA)."""
    adapter_rank: Any
    """Rank of the adapters; 0 without."""
    adapted: Adapted
    """Products that have adapters."""
    frozen_bytes: Any
    """Bytes of a frozen parameter of a product, kept between passes."""
    expansion_kernels: Any
    """Kernels that expand the frozen weights of one product; 0 where they are not quantized."""
    attends_in_turn: Any
    """Whether attention to the keys of each context-parallel rank is a kernel of its own, merged in fp32."""
    repeats_keys: Any
    """Whether keys are repeated for all queries before context-parallel ranks exchange them."""
    layer_kernels: Any
    """Kernels of a layer's forward pass with fused attention, experts left out."""
    routing_kernels: Any
    """Kernels in the forward pass that choose experts and order tokens."""
    grouped_experts: Any
    """Whether one kernel computes a product of all experts of a rank."""
    expert_kernels: Any
    """Kernels of each expert in the forward pass in 16 bits, where they are not grouped."""
    static_dispatch: Any
    """Whether the host need not wait for the number of routed tokens: dropped tokens, or CUDA graphs."""
    dispatches_8: Any
    """Whether tokens travel to experts in 8 bits where products take 8-bit operands."""
    expert_load: Any
    """Tokens of the fullest rank's experts over the mean."""
    host_update: Any
    """Whether the optimizer runs on the host."""
    unfused: Any
    """Whether every small operation is a kernel of its own."""
    in_32_bits: Any
    """Whether products and activations are in fp32, or in tf32, which is stored as fp32."""
    activations_in_32: Any
    """Whether norms and activations of a layer are in fp32."""
    update_share: Any
    """Bytes that the optimizer moves, over those of Adam [1]."""
    added_gradient_bytes: Any
    """Bytes moved for a parameter to add its gradient to a cleared buffer."""
    placeholders: Any
    """Whether products add gradients of weights themselves, and empty ones are kept for autograd."""
    weighted_inside: Any
    """Whether the router's weight is applied inside an expert."""
    in_place: Any
    """Whether gradients of gated activations overwrite what they are computed from (Liger)."""
    flash_rate: Any
    """Rate of the kernel of attention over that of the release [1]."""
    host_activations: Any
    host_weights: Any
    """Whether shards of weights and their gradients lie in the host's memory."""
    keeps_unfused: Any
    """Whether each operation of norms and activation functions is a kernel, whose result is kept."""
    in_backward: Any
    """Whether each gradient is used and freed in the backward pass."""
    modules: Modules
    """Modules that selective recomputation computes again."""
    tuned: Any
    """Whether the developers of the software or the machine tuned the run."""


class Options(NamedTuple):
    """Options of a job's software in addition to its release."""

    precision: str = "bf16"
    compiled: bool = False
    """Whether the network is compiled by torch.compile."""
    transformer_engine: bool = False
    """Whether XLA uses NVIDIA's fused attention."""
    async_tensor: bool = False
    """Whether tensor-parallel communication overlaps products."""
    overlaps: bool = True
    """Whether communication may overlap computation, as far as the release can."""
    adapter_rank: int = 0
    """Rank of the LoRA adapters trained instead of the weights; 0 without."""
    targets: tuple[str, ...] | None = None
    """Products that have adapters; None: as the software does."""
    frozen_weights: str = "16-bit"
    """Storage of frozen weights of products."""
    drops_tokens: bool = False
    """Whether every expert takes as many tokens, and what exceeds them is dropped."""
    expert_load: float = 1.0
    """Tokens of the fullest rank's experts over the mean."""
    graphs: bool = False
    host_update: bool = False
    fused_loss: bool = False
    """Whether logits and their loss are computed in chunks, never all stored (Liger)."""
    host_checkpoints: bool = False
    shares_checkpoints: bool = False
    optimizer: str = "adam"
    attention_kernel: str = ""
    """Kernel of attention; empty: as the release has it."""
    sequence_parallel: bool | None = None
    """None: as the release does."""
    modules: Modules | None = None
    """Modules that selective recomputation computes again; None: attention without its products."""
    loss: str = ""
    """One of ``perfmodel.core.choices.Loss``; empty: as the release has it."""
    gradient_bytes: int | None = None
    """Bytes of a gradient that is summed and sent; None: as the release has it."""
    in_backward: bool = False
    """Whether each gradient is used and freed in the backward pass."""
    host_activations: bool = False
    """Whether activations lie in the host's memory until the backward pass."""
    host_weights: bool = False
    """Whether shards of weights and their gradients lie in the host's memory."""
    tuned: bool = True


def _state_bytes(stored: States, optimizer: str) -> float:
    """Return the bytes of a parameter's optimizer states, with copies of the weight."""
    _, _, whole = STATE_BYTES[stored]
    moment = 2 if stored == "half" else 4
    copies = whole - ADAM_MOMENTS * moment
    kept = OPTIMIZERS[optimizer].moment_bytes
    of_optimizer = kept if optimizer in SIZED else kept * moment / 4
    return copies + of_optimizer


def software_of(stack: Release, chip: Chip, model: Dimensions, layout: Layout, options: Options) -> Software:
    """Return how software runs one job on one accelerator; flags are arrays if the layout is."""
    xla = stack.pace == "xla"
    engine = xla and options.transformer_engine
    zero_3 = layout.sharding == ZERO_3
    generation = where(chip.capability == 0, AMPERE, chip.capability)
    flash = generation >= stack.flash_from and not model.is_encoder_decoder
    # autocast, which keeps all in fp32, is called fp16 as well
    halves = options.precision == "fp16" and stack.states != "full"
    travels = 2.0 if halves else ops.number(stack.gradient_bytes)
    if options.gradient_bytes is not None:
        travels = ops.number(options.gradient_bytes)
    weight, gradient, _ = STATE_BYTES[stack.states]
    kernel, modules = options.attention_kernel, options.modules or Modules()
    if kernel:
        flash = kernel != "unfused"
    latest = engine or chip.capability >= stack.newest_flash_from
    if kernel not in ("", "sdpa"):
        latest = kernel == "flash3"
    logit = where(
        layout.tensor_parallel > 1, stack.parallel_logit_bytes or stack.logit_bytes, stack.logit_bytes
    )
    fused_loss = options.fused_loss or options.loss == "fused"
    if fused_loss or (options.compiled and stack.compiles_loss and options.loss != "plain"):
        logit = 0.0 if fused_loss else ops.number(stack.compiled_logit_bytes)
    elif options.loss:
        logit = LOGIT_BYTES[options.loss]
    kept_gradient = travels if gradient is None else gradient
    value_bytes, scale_bytes, cast_reads, wide = _operands(options.precision, stack.scaled_values)
    kept_input = attended = 2.0
    if stack.narrow_inputs and options.precision in OPERANDS and options.adapter_rank == 0:
        kept_input = 2 * wide + (1 - wide) * (value_bytes + scale_bytes)
        attended = 2 * wide + (1 - wide) * ((stack.attended_bytes or 2 + value_bytes) + scale_bytes)
    return Software(
        pace=PACES.index("tuned" if options.compiled and stack.pace == "eager" else stack.pace),
        launch=LAUNCHES.index("compiled" if options.compiled else stack.launch),
        replayed=stack.graphs != "none",
        whole_graph=stack.graphs == "iteration",
        fused=stack.fused or options.compiled,
        flash=flash or engine,
        newest_flash=latest,
        biased_attention=stack.biased_attention,
        shares_sequence=stack.sequence_parallel
        if options.sequence_parallel is None
        else options.sequence_parallel,
        hides_tensor=(stack.hides_tensor and options.overlaps) or options.async_tensor,
        hides_data=(zero_3 | stack.hides_data | bool(chip.is_tpu)) & options.overlaps,
        hides_experts=((layout.virtual_stages > 1) & (stack.hides_experts and options.overlaps))
        | (layout.copies_of_stage > 1),
        scatters_once=stack.scatters_once,
        sums_groups_late=stack.sums_groups_late,
        sums_groups_apart=stack.sums_groups_apart,
        sums_whole_buckets=stack.sums_whole_buckets,
        gradient_bytes=travels,
        weight_bytes=weight,
        kept_gradient_bytes=kept_gradient,
        optimizer_bytes=_state_bytes(stack.states, options.optimizer),
        least_optimizer_bytes=min(_state_bytes(stored, options.optimizer) for stored in STATE_BYTES),
        logit_bytes=logit,
        all_logits=stack.all_logits,
        shares_logits=stack.shares_logits,
        sums_whole_gradients=stack.sums_whole_gradients,
        fresh_gradients=gradient is not None,
        dropout=stack.dropout and model.has_dropout,
        host_checkpoints=options.host_checkpoints,
        shares_checkpoints=options.shares_checkpoints,
        pads_vocabulary=stack.pads_vocabulary,
        keeps_gathered=(layout.pipeline_parallel > 1) & stack.keeps_gathered,
        keeps_boundaries=(layout.pipeline_parallel > 1) & stack.keeps_boundaries,
        keeps_logits=(layout.pipeline_parallel > 1) & stack.keeps_logits,
        gathers_8=stack.gathers_fp8 and options.precision == "fp8",
        checkpoints_operations=(zero_3 & (not xla) & (options.modules is None))
        | stack.checkpoints_operations,
        casts_weights=stack.casts_weights,
        slow_start=stack.slow_start,
        narrow=options.precision in OPERANDS,
        operand_bytes=value_bytes,
        scale_bytes=scale_bytes,
        cast_reads=cast_reads,
        fused_casts=stack.fused_casts,
        fused_activations=stack.fused_activations,
        wide_share=wide,
        input_bytes=kept_input,
        gate_bytes=kept_input if stack.narrow_gates else 2.0,
        attended_bytes=attended,
        adapts=options.adapter_rank > 0,
        adapter_rank=ops.number(options.adapter_rank),
        adapted=adapted_of(stack.lora_targets if options.targets is None else options.targets),
        frozen_bytes=stored_bytes(options.frozen_weights),
        expansion_kernels=EXPANSION_KERNELS[options.frozen_weights],
        attends_in_turn=stack.attends_in_turn,
        repeats_keys=stack.repeats_keys,
        layer_kernels=stack.layer_kernels,
        routing_kernels=stack.routing_kernels,
        grouped_experts=stack.grouped_experts,
        expert_kernels=stack.expert_kernels,
        static_dispatch=options.drops_tokens or options.graphs,
        dispatches_8=stack.dispatches_fp8,
        expert_load=options.expert_load,
        host_update=options.host_update,
        unfused=stack.unfused_transformer,
        in_32_bits=options.precision in IN_32_BITS,
        activations_in_32=options.precision in IN_32_BITS or stack.activations_in_32,
        update_share=OPTIMIZERS[options.optimizer].update_bytes / OPTIMIZERS["adam"].update_bytes,
        added_gradient_bytes=GRADIENT_PASSES * kept_gradient if stack.adds_gradients else 0.0,
        # Megatron-FSDP, which shards gradients, adds them to main gradients afterwards
        placeholders=(layout.sharding < ZERO_2) & (stack.placeholders and options.adapter_rank == 0),
        weighted_inside=stack.weighted_inside,
        in_place=fused_loss,
        flash_rate=FIRST_FLASH if kernel == "flash1" else 1.0,
        host_activations=options.host_activations,
        host_weights=options.host_weights,
        keeps_unfused=stack.unfused_norms and not options.compiled,
        in_backward=options.in_backward or options.optimizer == IN_BACKWARD,
        modules=modules,
        tuned=options.tuned,
    )


def _operands(precision: str, scaled_values: float | None) -> tuple[Any, Any, Any, Any]:
    """Return bytes of a value of an operand and of its scales [B], passes to cast it, share of wide layers.

    Parameters
    ----------
    precision : of the job
    scaled_values : values that share a scale where the format leaves that open; None: all of a tensor
    """
    known = OPERANDS.get(precision)
    if known is None:
        return 2.0, 0.0, 0.0, 0.0
    if scaled_values and not known.block:
        known = known._replace(block=int(scaled_values))
    numbers = {"value": known.value_bytes, "scale": known.scale_bytes_of_value, "reads": float(known.reads)}
    value, scale, reads, wide = (
        given(number, f"operands.{precision}.{name}", DOCUMENTED)
        for name, number in {**numbers, "wide_share": known.wide_share}.items()
    )
    return value, scale, reads, wide
