"""Rules that fill in what a measured run of a transformer does not state.

Rows state much, but never everything.  No rule uses a measured value:

* layers and widths: those of ``transformer_architectures.csv``, by the name of the network; else those of a
  GPT with that number of parameters (12 l h^2, width 128 l, heads of 128, or of 64 below a width of 2048).
* degrees of parallelism: if data parallelism is stated, the rest follows from it; sharded and TPU runs have
  neither tensor nor pipeline parallelism; others have the least tensor parallelism (up to 8), then the least
  pipeline parallelism, with which weights and states take less than 60 % of the memory.
* batch: 2 Mi tokens a step; for sharded and TPU runs 8,192 tokens an accelerator.
* micro-batch: 1 sample for pipelines and fine-tuning, but as many micro-batches as stages if the stack cuts
  so by itself; for sharded and TPU runs the whole local batch; else that batch, halved until at most 4
  samples (16 for sequences below 1,024 tokens).
* chunks of layers: 2 if the stack's recipes interleave and there are 4 stages or more (6 for MLPerf's GPT-3).
* sharding: the stack's own; ZeRO 3 for XLA if 18 B a parameter exceed 80 % of the memory; ZeRO 1 if they
  exceed all of it.
* recomputation: none if the stack's recipes have none; else that of attention without a fused kernel, then of
  as many layers as leave 8 % of the memory free.
* software: by ``transformer_software.csv``.
* dropout: only in networks without gates.
* attention: in fine-tuning whose source packs short samples into sequences, within each sample alone; also
  where ``transformer_details.csv`` has the length of documents.
* NICs: one for each accelerator, or one if a node has fewer than 4; links as in the usual machine, with its
  NICs if it has more.
"""

from __future__ import annotations

import math
from typing import Any

from perfmodel.equations.transformer import model_flops_per_token
from perfmodel.evidence.accuracy.measured_table import Line
from perfmodel.hardware.software import Release
from perfmodel.model.options.layout import FULL, RECOMPUTE, SELECTIVE, Layout
from perfmodel.model.transformers.job import Case, bare_job
from perfmodel.model.transformers.memory import memory_of
from perfmodel.workloads.architecture import Architecture

MEMORY_SHARE, ROOM = 0.60, 0.92
"""Shares of the memory: that weights and states may take, and that remains with recomputation."""
STATES_BYTES = 18
"""Bytes of a parameter's weight, gradient and optimizer states, and a margin."""
STEP_TOKENS, SHARDED_TOKENS = 2**21, 8192
"""Tokens of a step, and of a step on one accelerator of sharded and TPU runs."""
MOST_TENSOR = 8
"""Largest degree of tensor parallelism."""
ADAPTER_RANK = 16
"""Rank of the adapters of a row that states LoRA alone: MLPerf's, with adapters of all products of attention.
NeMo's own rank of 32 on queries, keys and values alone trains as many parameters."""
PACKED_SOURCES = ("nemo-24.07", "dgxc-v25.02")
"""Sources that fine-tune on SQuAD 1.1, its samples packed into sequences: NeMo's performance summary says so,
and DGX Cloud's recipe is NeMo's ``finetune_recipe(performance_mode=True)`` on its ``SquadDataModule`` (both
read 2026-11-22)."""
PACKED_TOKENS = 250
"""Tokens of a sample of SQuAD 1.1: 94.06 MiB over 98,169 samples (TensorFlow Datasets' catalogue, read
2026-11-22), at 4 B a token."""
LADDER: dict[str, dict[str, Any]] = {
    "2": {"loss": "plain"},
    "3": {"loss": "plain"},
    "6": {"in_backward": True},
    "7": {"in_backward": True, "host_activations": True},
    "8": {"in_backward": True, "host_activations": True, "optimizer": "adam-8bit"},
    "9": {"host_activations": True},
    "10": {"host_activations": True},
}
"""Row of torchtune's ladder of techniques -> options of its software, each row with those of the one above;
rows with adapters update after the backward pass, with moments of 16 bits (README.md, read 2026-11-27)."""
LONG, LARGEST, LARGEST_SHORT = 1024, 4.0, 16.0
"""Tokens from which a sequence is long, and the largest micro-batch of long and of short sequences."""
NARROW = 2048
"""Width below which heads are 64 instead of 128 wide."""
PUBLISHED_BATCHES = {"llama1-paper": 2048.0}
"""Samples of a step that the publication states elsewhere: 4 Mi tokens (Touvron et al. 2023, table 2)."""
USUAL_INTER_LINK = "ib-ndr-400g"
"""Link between nodes if the accelerator's usual machine has no NIC."""
TARGET_TOKENS = 114 / 512
"""Tokens of T5's decoder per token of the encoder."""


def gpt_of(parameters: float) -> tuple[int, int]:
    """Return layers and width of a GPT with that number of parameters.

    >>> gpt_of(12 * 32 * 4096**2)
    (32, 4096)
    """
    layers = max(4, round((parameters / 12 / 128**2) ** (1 / 3)))
    return layers, 128 * round(math.sqrt(parameters / 12 / layers) / 128) or 128


def heads_of(hidden: int) -> int:
    """Return the usual number of attention heads of a network of that width."""
    return max(1, hidden // (64 if hidden < NARROW else 128))


def degrees(
    world: int, replicas: float | None, parameters: float, memory_bytes: float, is_sharded: bool
) -> tuple[int, int]:
    """Return the degrees of tensor and pipeline parallelism that are assumed if a row does not state them.

    Parameters
    ----------
    world : number of accelerators
    replicas : degree of data parallelism, None if not stated
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
    """Return the degrees of tensor and pipeline parallelism for long sequences without context parallelism.

    Parameters
    ----------
    world : number of accelerators
    samples : of a step
    length : tokens of a sample
    """
    tensor = min(MOST_TENSOR, world)
    rest = world // tensor
    least = min(rest, 4) if length > 2**16 else 1
    return tensor, max(1, int(rest / samples), least)


def step_samples(replicas: float, length: int, is_sharded: bool) -> float:
    """Return the samples of a step that are assumed if a row does not state them.

    Parameters
    ----------
    replicas : degree of data parallelism
    length : tokens of a sample
    is_sharded : whether replicas share parameters, or the accelerator is a TPU
    """
    if is_sharded:
        return replicas * max(1, round(SHARDED_TOKENS / length))
    return max(replicas, round(STEP_TOKENS / length / replicas) * replicas)


def micro_batch(
    stack: Release, local: float, length: int, stages: int, is_sharded: bool, is_fine_tuning: bool
) -> float:
    """Return the samples of a micro-batch that are assumed if a row does not state them.

    Parameters
    ----------
    stack : software
    local : samples of a replica in a step
    length : tokens of a sample
    stages : degree of pipeline parallelism
    is_sharded : whether replicas share parameters, or the accelerator is a TPU
    is_fine_tuning : whether a trained network is trained further
    """
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


def is_fine_tuning(row: Line) -> bool:
    """Whether a row says, mostly by the name of its workload, that a trained network is trained further."""
    workload = row.text("workload")
    return "lora" in workload.lower() or "SFT" in workload or "fine-tuning" in row.text("options")


def of_ladder(locator: str) -> dict[str, Any]:
    """Return the options of a row's software that torchtune's ladder of techniques states.

    >>> of_ladder("README.md optimisation ladder row 6"), of_ladder("README.md table row 6")
    ({'in_backward': True}, {})
    """
    _, of_ladder, row = locator.partition("ladder row ")
    return LADDER.get(row, {}) if of_ladder else {}


def packed_share(row: Line, length: int) -> float:
    """Return the share of a sequence's attention scores that are within one of its packed samples.

    >>> from pathlib import Path
    >>> row = Line(Path("runs.csv"), 2, {"source": "nemo-24.07", "workload": "LLAMA2-7B SFT"})
    >>> packed_share(row, 4000), packed_share(row._replace(cells={"document_length": "1000"}), 4000)
    (0.0625, 0.25)
    """
    packs = row.text("source") in PACKED_SOURCES and is_fine_tuning(row)
    tokens = PACKED_TOKENS if packs else row.number("document_length") or length
    return min(1.0, tokens / length)


def chunks(stack: Release, source: str, layers: int, stages: int, interleaved: bool) -> int:
    """Return the chunks of layers on each pipeline stage that are assumed if a row does not state them.

    Parameters
    ----------
    stack : software
    source : of the row
    layers : of the network
    stages : degree of pipeline parallelism
    interleaved : whether the row says that its schedule interleaves chunks
    """
    if stages < 4 or not (stack.interleaves or interleaved):
        return 1
    most = 6 if source.startswith("mlperf") else 2
    return next(each for each in range(most, 0, -1) if each == 1 or layers / stages / each >= 1)


def sharding_of(stack: Release, parameters: float, tensor: int, stages: int, memory_bytes: float) -> str:
    """Return the sharding of optimizer states and parameters that is assumed if a row does not state it.

    Parameters
    ----------
    stack : software
    parameters : of the network
    tensor, stages : degrees of tensor and pipeline parallelism
    memory_bytes : of an accelerator [B]
    """
    if stack.shards_optimizer:
        return "zero1"
    if stack.pace == "xla" and STATES_BYTES * parameters / tensor > 0.8 * memory_bytes:
        return "zero3"
    return "zero1" if STATES_BYTES * parameters / (tensor * stages) > memory_bytes else "none"


def recomputation(case: Case, stack: Release) -> Layout:
    """Return the layout of a case with the recomputation that is assumed if its row does not state it."""
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
    """Return the model FLOP of a step, as sources count them that print FLOP/s or MFU [FLOP].

    Parameters
    ----------
    model : the network
    parameters : parameters that one token passes through
    samples : of a step
    length : tokens of a sample
    causal : whether the source counts half of all attention scores
    """
    positions = length * (0.5 if causal else 1.0)
    width = model.hidden / model.heads
    each = model_flops_per_token(parameters, model.layers, model.heads, width, positions)
    return float(samples * length * each)
