"""What a measured run of a transformer leaves open, and the rule that fills it.

Rows state much and never all.  A rule looks at nothing that was measured, and is written down here alone:

* layers and widths: ``transformer_architectures.csv``, by the name of the network; else those of a GPT of so
  many parameters (12 l h^2, width 128 l, heads of 128, below a width of 2048 of 64).
* degrees of parallelism: data parallelism gives the rest; sharded and TPU runs have neither tensor nor
  pipeline parallelism; any other the least tensor parallelism (up to 8), then the least pipeline, by which
  weights and states take less than 60 % of the memory.
* batch: 2 Mi tokens a step; of sharded and TPU runs 8,192 tokens an accelerator.
* micro-batch: 1 of pipelines and fine-tuning, but as many as stages where the stack cuts so by itself; of
  sharded and TPU runs the whole local batch; else halved from that until at most 4 (16 of sequences below
  1,024 tokens).
* chunks of layers: 2 where the stack's recipes interleave and there are 4 stages or more (6 of MLPerf's
  GPT-3).
* sharding: the stack's own; ZeRO 3 of XLA where 18 B a parameter exceed 80 % of the memory; ZeRO 1 where they
  exceed all of it.
* recomputation: none where the stack's recipes have none; else of attention without a fused kernel, then of
  as many layers as leave 8 % of the memory free.
* software: by ``transformer_software.csv``.
* dropout: of networks without gates.
* attention: of fine-tuning whose source packs short samples into sequences, inside each sample alone.
* adapters: one of each accelerator, or one where a node has fewer than 4; links as the usual machine's.
"""

from __future__ import annotations

import math

from perfmodel.equations.transformer import model_flops_per_token
from perfmodel.hardware.software import Release
from perfmodel.model.options.layout import FULL, RECOMPUTE, SELECTIVE, Layout
from perfmodel.model.transformers.job import Case, bare_job
from perfmodel.model.transformers.memory import memory_of
from perfmodel.workloads.architecture import Architecture

MEMORY_SHARE, ROOM = 0.60, 0.92
STATES_BYTES = 18
"""Of a parameter: weight, gradient, states, and some."""
STEP_TOKENS, SHARDED_TOKENS = 2**21, 8192
MOST_TENSOR = 8
ADAPTER_RANK = 16
"""Of a row that says LoRA and no more: MLPerf's, with adapters of all products of attention; NeMo's own rank
of 32 on queries, keys and values alone trains as many parameters."""
PACKED_SOURCES = ("nemo-24.07", "dgxc-v25.02")
"""Sources that fine-tune on SQuAD 1.1, its samples packed into sequences: NeMo's performance summary says so,
and DGX Cloud's recipe is NeMo's ``finetune_recipe(performance_mode=True)`` on its ``SquadDataModule`` (both
read 2026-11-22)."""
PACKED_TOKENS = 250
"""Of a sample of SQuAD 1.1: 94.06 MiB of 98,169 (TensorFlow Datasets' catalogue, read 2026-11-22), at 4 B."""
LONG, LARGEST, LARGEST_SHORT = 1024, 4.0, 16.0
NARROW = 2048
PUBLISHED_BATCHES = {"llama1-paper": 2048.0}
"""Samples of a step that the publication states elsewhere: 4 Mi tokens (Touvron et al. 2023, table 2)."""
USUAL_INTER_LINK = "ib-ndr-400g"
"""Where the accelerator's usual machine has no adapter."""
TARGET_TOKENS = 114 / 512
"""Of the decoder of T5, per token of the encoder."""


def gpt_of(parameters: float) -> tuple[int, int]:
    """Return layers and width of a GPT of so many parameters.

    >>> gpt_of(12 * 32 * 4096**2)
    (32, 4096)
    """
    layers = max(4, round((parameters / 12 / 128**2) ** (1 / 3)))
    return layers, 128 * round(math.sqrt(parameters / 12 / layers) / 128) or 128


def heads_of(hidden: int) -> int:
    """Return the usual number of heads of a width."""
    return max(1, hidden // (64 if hidden < NARROW else 128))


def degrees(
    world: int, replicas: float | None, parameters: float, memory_bytes: float, is_sharded: bool
) -> tuple[int, int]:
    """Return tensor and pipeline parallelism where a row does not state them.

    Parameters
    ----------
    world : accelerators
    replicas : data parallelism, where that is stated
    parameters : of the network
    memory_bytes : of an accelerator [B]
    is_sharded : whether replicas share parameters, or the accelerator is a TPU
    """
    if is_sharded:
        return 1, 1
    if replicas:
        each = max(1, round(world / replicas))
        tensor = min(MOST_TENSOR, each)
        return tensor, each // tensor
    tensor = stages = 1

    def fits() -> bool:
        states = 6 * parameters / (tensor * stages) + 12 * parameters / world
        return states < MEMORY_SHARE * memory_bytes

    while not fits() and tensor < MOST_TENSOR and world % (2 * tensor) == 0:
        tensor *= 2
    while not fits() and world % (2 * tensor * stages) == 0:
        stages *= 2
    return tensor, stages


def without_context(world: int, samples: float, length: int) -> tuple[int, int]:
    """Return the degrees of long sequences that nothing but tensors and stages share out: deep pipelines."""
    tensor = min(MOST_TENSOR, world)
    rest = world // tensor
    least = min(rest, 4) if length > 2**16 else 1
    return tensor, max(1, int(rest / samples), least)


def step_samples(replicas: float, length: int, is_sharded: bool) -> float:
    """Return the samples of a step where a row does not state them."""
    if is_sharded:
        return replicas * max(1, round(SHARDED_TOKENS / length))
    return max(replicas, round(STEP_TOKENS / length / replicas) * replicas)


def micro_batch(
    stack: Release, local: float, length: int, stages: int, is_sharded: bool, is_fine_tuning: bool
) -> float:
    """Return the samples of a micro-batch where a row does not state them."""
    if stages > 1 and stack.cuts_by_stages:
        return max(1.0, local / stages)
    if stages > 1 or is_fine_tuning:
        return 1.0
    if is_sharded:
        return local
    size, largest = local, LARGEST if length >= LONG else LARGEST_SHORT
    while size > largest:
        size /= 2
    return max(1.0, size) if local >= 1 else local


def is_fine_tuning(workload: str) -> bool:
    """Whether a row's workload says that a trained network is trained on."""
    return "lora" in workload.lower() or "SFT" in workload


def packed_share(source: str, workload: str, length: int) -> float:
    """Return the share of a sequence's scores that its samples, packed one after another, have within each.

    >>> packed_share("nemo-24.07", "LLAMA2-7B SFT", 4000), packed_share("nemo-24.07", "LLAMA2-7B", 4000)
    (0.0625, 1.0)
    """
    packs = source in PACKED_SOURCES and is_fine_tuning(workload)
    return min(1.0, PACKED_TOKENS / length) if packs else 1.0


def chunks(stack: Release, source: str, layers: int, stages: int, interleaved: bool) -> int:
    """Return the chunks of layers on each stage where a row does not state them."""
    if stages < 4 or not (stack.interleaves or interleaved):
        return 1
    most = 6 if source.startswith("mlperf") else 2
    return next(each for each in range(most, 0, -1) if each == 1 or layers / stages / each >= 1)


def sharding_of(stack: Release, parameters: float, tensor: int, stages: int, memory_bytes: float) -> str:
    """Return how replicas share states where a row does not say."""
    if stack.shards_optimizer:
        return "zero1"
    if stack.pace == "xla" and STATES_BYTES * parameters / tensor > 0.8 * memory_bytes:
        return "zero3"
    return "zero1" if STATES_BYTES * parameters / (tensor * stages) > memory_bytes else "none"


def recomputation(case: Case, stack: Release) -> Layout:
    """Return the layout of a case with what it computes again, where its row does not say."""
    layout, free = case.layout, ROOM * case.chip.memory_bytes

    def needs(recompute: int) -> float:
        again = layout._replace(recompute=recompute, recomputed_layers=float(recompute == FULL))
        memory = memory_of(bare_job(case._replace(layout=again)))
        return float(memory.tensors + memory.reserved)

    flash = bool(case.stack.flash)
    if (stack.recomputes == "none" and flash) or (
        (needed := needs(0)) <= free and stack.recomputes != "full"
    ):
        return layout._replace(recompute=0, recomputed_layers=0.0)
    if not flash and stack.recomputes != "full" and needs(SELECTIVE) < free:
        return layout._replace(recompute=SELECTIVE, recomputed_layers=0.0)
    share = (needed - free) / max(needed - needs(FULL), 1.0)
    share = 1.0 if stack.recomputes == "full" else min(max(share, 0.0), 1.0)
    return layout._replace(recompute=FULL, recomputed_layers=share)


def stated_recomputation(layout: Layout, word: str) -> Layout:
    """Return a layout with the recomputation that a row states."""
    kind = RECOMPUTE.index(word)
    return layout._replace(recompute=kind, recomputed_layers=float(kind == FULL))


def step_flops(model: Architecture, parameters: float, samples: float, length: int, causal: bool) -> float:
    """Return the model's FLOP of a step, as sources count them that print FLOP/s or MFU.

    Parameters
    ----------
    model, parameters : the network, and those that one token passes through
    samples, length : of a step
    causal : whether the source counts half of all scores
    """
    positions = length * (0.5 if causal else 1.0)
    width = model.hidden / model.heads
    each = model_flops_per_token(parameters, model.layers, model.heads, width, positions)
    return float(samples * length * each)
