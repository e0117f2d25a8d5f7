"""Plain facts of software that trains large transformers, by the year of its release."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from perfmodel.errors import InputError, unknown_name
from perfmodel.specs.names import Named, meaning

Pace = Literal["tuned", "early", "eager", "deepspeed", "xla"]
"""How well kernels are chosen and joined: by hand and with a vendor's libraries, so in 2019 to 2021, one by
one as Python reaches them, Megatron's under DeepSpeed, by XLA."""
Launch = Literal["compiled", "eager", "checkpointed"]
"""Who launches kernels: a graph, a compiler or C++; Python; Python with the hooks of old DeepSpeed."""
States = Literal["mixed", "full", "half"]
"""What is kept of a parameter between passes: a 16-bit copy beside fp32 states (Megatron, DeepSpeed); all in
fp32, cast for each pass (FSDP); all in 16 bits."""
Sharding = Literal["none", "zero1", "zero2", "zero3"]
TURING, AMPERE, HOPPER, BLACKWELL = 7.5, 8.0, 9.0, 10.0


class Stack(NamedTuple):
    """What one release does with a transformer, unless somebody says otherwise."""

    pace: Pace
    launch: Launch = "eager"
    fused: bool = False
    """Element-wise operations join their neighbours."""
    unfused: bool = False
    """A static graph runs every small operation of a layer as a kernel of its own."""
    activations_in_32: bool = False
    """Norms and activations stay in fp32 under mixed precision."""
    flash_from: float = math.inf
    """Least CUDA compute capability on which attention keeps no score (FlashAttention, cuDNN, Splash).

    Accelerators without one count as Ampere: kernels of their own serve them in the same stacks.
    """
    newest_flash_from: float = BLACKWELL
    """Least capability on which that kernel is made for its generation (FlashAttention 3, cuDNN 9)."""
    shardings: tuple[Sharding, ...] = ("none", "zero1")
    """What replicas can share without a pipeline."""
    pipelined_shardings: tuple[Sharding, ...] = ("none", "zero1")
    """The same under a pipeline."""
    biased_attention: bool = False
    """Scores have a bias (ALiBi), which only a slower kernel adds."""
    sequence_parallel: bool = False
    """Ranks of a tensor-parallel group share the tokens between products."""
    hides_tensor: bool = False
    """Part of tensor parallelism's traffic runs beside products."""
    hides_data: bool = False
    """Gradients travel during the backward pass."""
    hides_experts: bool = False
    """Interleaved stages hide part of the experts' traffic."""
    gradient_bytes: Literal[2, 4] = 2
    """Of one gradient in bf16 or fp8 training; fp16 sums in 2 B."""
    states: States = "mixed"
    logit_bytes: float = 10
    """Of one logit where its loss takes most memory: copies, softmax, gradients (10 is assumed)."""
    parallel_logit_bytes: float | None = None
    """The same where tensor-parallel ranks share a loss, if that is another."""
    shares_logits: bool = True
    """Tensor-parallel ranks share logits and loss."""
    compiles_loss: bool = False
    """torch.compile takes the loss along."""
    sums_whole_gradients: bool = False
    """Replicas that share gradients do so after the last micro-batch alone, and sum them whole until then."""
    cuts_by_stages: bool = False
    """Where nobody says, a replica's batch is cut into as many micro-batches as there are stages."""
    dropout: bool = True
    """Networks that their publisher trained with dropout are trained so here, too."""
    pads_vocabulary: bool = True
    """To a multiple of what the matrix units take."""
    keeps_gathered: bool = False
    """A pipeline stage gathers sharded parameters once in a step, not for every micro-batch."""
    keeps_boundaries: bool = False
    """A pipeline stage has buffers for what all micro-batches receive, and keeps what they send."""
    keeps_logits: bool = False
    """The last stage of a pipeline keeps the logits of all micro-batches until the step ends."""
    gathers_fp8: bool = False
    """Sharded parameters travel in 8 bits where products take 8."""
    checkpoints_operations: bool = False
    """``selective`` recomputes some products too, not attention alone (FSDP)."""
    shards_optimizer: bool = False
    """Replicas share the optimizer's states (ZeRO 1)."""
    casts_weights: bool = False
    """Autocast: fp32 weights are cast for every micro-batch."""
    slow_start: bool = False
    """A trainer around the step adds tens of milliseconds (Lightning, in NeMo 1 and 2)."""
    interleaves: bool = False
    """Recipes give deep pipelines several chunks of layers on each stage."""
    recomputes: Literal["none", "needed", "full"] = "needed"
    """Where nobody says: no layer, as many as memory needs, or all."""

    @property
    def shards_states_alone(self) -> bool:
        """Whether the optimizer's states may be shared, parameters and gradients not (ZeRO 1)."""
        return "zero1" in self.shardings


_ALL: tuple[Sharding, ...] = ("none", "zero1", "zero2", "zero3")
_NONE: tuple[Sharding, ...] = ("none",)
_WHOLE_OR_FULL: tuple[Sharding, ...] = ("none", "zero3")
_MEGATRON_2022 = Stack(
    "tuned", fused=True, sequence_parallel=True, gradient_bytes=4, shards_optimizer=True, logit_bytes=6
)
_MEGATRON_2023 = _MEGATRON_2022._replace(
    launch="compiled",
    flash_from=HOPPER,
    hides_tensor=True,
    hides_data=True,
    interleaves=True,
    recomputes="none",
)
_MEGATRON_2024 = _MEGATRON_2023._replace(flash_from=AMPERE, gradient_bytes=2)
_MEGATRON_2025 = _MEGATRON_2024._replace(newest_flash_from=HOPPER, hides_experts=True, shardings=_ALL)
_MEGATRON = {
    2019: Stack(
        "early",
        fused=True,
        gradient_bytes=4,
        logit_bytes=6,
        shardings=_NONE,
        pipelined_shardings=_NONE,
    ),
    2022: _MEGATRON_2022,
    2023: _MEGATRON_2023,
    2024: _MEGATRON_2024,
    2025: _MEGATRON_2025,
}
_XLA = Stack("xla", "compiled", fused=True, shardings=_ALL, pipelined_shardings=_ALL)
_EAGER = Stack("eager", shardings=_ALL)
_SHARDED = Stack(
    "eager",
    flash_from=0.0,
    checkpoints_operations=True,
    shardings=_WHOLE_OR_FULL,
    pipelined_shardings=_WHOLE_OR_FULL,
    states="full",
)
_TITAN_2024 = _SHARDED._replace(
    sequence_parallel=True,
    gradient_bytes=4,
    keeps_gathered=True,
    keeps_boundaries=True,
    keeps_logits=True,
    gathers_fp8=True,
    logit_bytes=12,
    parallel_logit_bytes=16,
    cuts_by_stages=True,
    dropout=False,
)
_TITAN_2025 = _TITAN_2024._replace(compiles_loss=True)
_KEMPNER_2025 = _SHARDED._replace(
    sequence_parallel=True, states="half", logit_bytes=8, shares_logits=False, sums_whole_gradients=True
)

STACKS: dict[str, dict[int, Stack]] = {
    "megatron-lm": {
        2019: _MEGATRON[2019],
        2022: _MEGATRON_2022._replace(pace="early"),
        2023: _MEGATRON_2023,
        2024: _MEGATRON_2024._replace(gradient_bytes=4),
        2025: _MEGATRON_2025._replace(gradient_bytes=4),
    },
    "megatron-core": _MEGATRON,
    "nemo": {year: each._replace(slow_start=True) for year, each in _MEGATRON.items()},
    "megatron-deepspeed": {
        2020: Stack("deepspeed", "checkpointed", fused=True, pads_vocabulary=False, shardings=_ALL)
    },
    "deepspeed": {
        2020: _EAGER,
        2023: _EAGER._replace(flash_from=0.0),
        2026: _EAGER._replace(flash_from=0.0, newest_flash_from=HOPPER),
    },
    "fsdp": {2023: _SHARDED._replace(pipelined_shardings=_NONE)},
    "llm-foundry": {
        2023: _SHARDED._replace(
            biased_attention=True, logit_bytes=4, dropout=False, pipelined_shardings=_NONE
        )
    },
    "torchtune": {
        2024: _SHARDED._replace(
            states="half",
            logit_bytes=6.5,
            compiles_loss=True,
            dropout=False,
            pads_vocabulary=False,
            pipelined_shardings=_NONE,
            recomputes="full",
        )
    },
    "torchtitan": {2024: _TITAN_2024, 2025: _TITAN_2025, 2026: _TITAN_2025._replace(keeps_logits=False)},
    "kempnerforge": {2025: _KEMPNER_2025, 2026: _KEMPNER_2025._replace(newest_flash_from=HOPPER)},
    "nanotron": {2024: Stack("eager", fused=True, flash_from=AMPERE, hides_data=True, gradient_bytes=4)},
    "internevo": {2023: Stack("eager", fused=True, flash_from=AMPERE, hides_data=True)},
    "colossal-ai": {2023: _EAGER._replace(flash_from=0.0)},
    "flash-attn": {2022: Stack("eager", fused=True, flash_from=TURING, hides_data=True)},
    "mingpt": {2020: Stack("eager", hides_data=True, gradient_bytes=4, casts_weights=True)},
    "pytorch-ddp": {
        2020: Stack("eager", hides_data=True),
        2023: Stack("eager", flash_from=0.0, hides_data=True),
    },
    "xformers": {
        2023: Stack(
            "eager",
            fused=True,
            flash_from=0.0,
            sequence_parallel=True,
            hides_data=True,
            shardings=_ALL,
            pipelined_shardings=_WHOLE_OR_FULL,
        )
    },
    "llm.c": {2024: Stack("eager", "compiled", flash_from=0.0, logit_bytes=2, dropout=False)},
    "oneflow": {2021: Stack("early", fused=True, hides_data=True)},
    "maxtext": {
        2023: _XLA._replace(flash_from=AMPERE),
        2025: _XLA._replace(flash_from=AMPERE, newest_flash_from=HOPPER, hides_data=True),
    },
    "paxml": {2022: _XLA, 2025: _XLA._replace(flash_from=AMPERE, newest_flash_from=HOPPER, hides_data=True)},
    "t5x": {2022: _XLA._replace(gradient_bytes=4)},
    "levanter": {2023: _XLA._replace(recomputes="full")},
}
"""By name, and by the first year that the facts hold from.

They are those of the projects' documentation and default recipes as far as a prototype knew them; those of
``ASSUMED`` are assumed.

Read in code, of December 2024: torchtitan's `apply_fsdp` keeps gathered parameters under a pipeline, and
`torch.distributed.pipelining` has a receive buffer for each micro-batch and chunk, and `output_chunks` until
the step ends (`_PipelineStageBase`); torchtitan asks for no outputs since October 2025.

Read in code, 2026-11-26: Megatron-LM's `validate_args` (`megatron/training/arguments.py`) sums and sends the
gradients of bf16 training in fp32, of late unless `--grad-reduce-in-bf16` or `--main-grads-dtype` says
otherwise.  torchtune's recipes (`recipes/configs/llama3_1`) keep weights, and with them gradients and Adam's
moments, in bf16, and checkpoint every layer.

What replicas can share is what options offer: Megatron-LM's distributed optimizer is ZeRO 1, Megatron-FSDP
(2025) does all without a pipeline; DeepSpeed refuses ZeRO 2 and 3 under a pipeline; torchtitan and
KempnerForge shard all or nothing, under a pipeline too.  FSDP that keeps what it gathered (SHARD_GRAD_OP) is
left out.

Attention without scores needs Ampere in FlashAttention 2 (its README; FlashAttention 1: Turing) and in cuDNN:
TransformerEngine, by which Megatron, NeMo and MaxText attend, turns both off below it
(`get_attention_backend` in `transformer_engine/pytorch/attention/dot_product_attention/utils.py`).  PyTorch's
own attention has a memory-efficient kernel for older GPUs, as xFormers has.

Bytes of a logit are counted in the code of the loss: Megatron-LM's `vocab_parallel_cross_entropy` turns fp32
logits into their softmax and that into its gradient in place (4 + 2); `F.cross_entropy` of fp32 logits
(torchtitan, which compiles its loss from 2025 on) keeps the softmax and makes two gradients (12), shared by
tensor-parallel ranks one copy more (16), of 16-bit logits (KempnerForge) 8; torchtune's
`CEWithChunkedOutputLoss` turns an eighth of them into fp32 at a time (2 + 4 + 4 / 8); fused kernels keep
16-bit logits and a gradient (llm-foundry, compiled: 4), or write the one over the other (llm.c: 2)."""

ASSUMED: dict[str, tuple[str, ...]] = {
    "megatron sums bf16 gradients in fp32 until 2023": ("nemo-launcher-a100", "nemo-launcher-bert"),
    "nemo on A100 ran without FlashAttention in 2023": ("nemo-launcher-a100", "nemo-launcher-bert"),
    "kempnerforge gathers parameters anew for each micro-batch of a pipeline": ("kempnerforge",),
    "oneflow hides gradients": ("dlperf-gpt",),
    "nanotron hides gradients": ("nanotron",),
}
"""Facts that nobody states, and the sources with whose runs they are plausible; leave-out tests keep them."""

CALLED: dict[str, tuple[str, ...]] = {
    "megatron-lm": ("megatron",),
    "megatron-core": ("megatron-bridge", "mcore"),
    "nemo": ("nemo-megatron", "nemo-framework"),
    "fsdp": ("pytorch-fsdp", "fsdp2"),
    "llm-foundry": ("composer", "mosaicml"),
    "pytorch-ddp": ("ddp",),
}
"""What else people call them."""
DEFAULT_STACK = "megatron-core"
LATEST_YEAR = 2026


def stack(name: str, year: int = LATEST_YEAR) -> Stack:
    """Return what the release of a year does; of an earlier year than any known, what the first did.

    Raises
    ------
    InputError : an unknown name, or one that fits several stacks

    >>> stack("nemo", 2024).gradient_bytes, stack("NeMo", 2022).gradient_bytes
    (2, 4)
    """
    versions = STACKS[stack_id(name)]
    return versions[max((since for since in versions if since <= year), default=min(versions))]


def stack_id(name: str) -> str:
    """Return the id of the stack that a name means.

    Raises
    ------
    InputError : an unknown name, or one that fits several stacks
    """
    if name in STACKS:
        return name
    known = meaning("framework", name, (Named(id, CALLED.get(id, ())) for id in STACKS))
    if known is None:
        raise unknown_name("framework", name, STACKS)
    return known.id


def stack_named(text: str) -> tuple[str, Stack]:
    """Return ``NAME@YEAR`` of a stack, the year being the latest where none is named, and its facts.

    Raises
    ------
    InputError : as ``stack``, or a year that is not one

    >>> stack_named("nemo@2024")[0], stack_named("mcore")[0]
    ('nemo@2024', 'megatron-core@2026')
    """
    name, at, year = text.partition("@")
    if at and not (year.isdecimal() and len(year) == 4):
        raise InputError(f"framework {text}: expected a year after @, e.g. {name}@2024")
    id = stack_id(name)
    return f"{id}@{year or LATEST_YEAR}", stack(id, int(year) if at else LATEST_YEAR)
