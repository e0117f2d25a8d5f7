"""Memory of a transformer on its fullest rank, by contents."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import given
from perfmodel.equations.memory import allocator_bytes
from perfmodel.equations.pipeline_schedule import scheduled_micro_batches_kept
from perfmodel.equations.transformer_memory import (
    checkpoint_bytes,
    fresh_gradient_bytes,
    last_micro_batches_kept,
    layer_activation_bytes,
    micro_batches_kept,
    product_checkpoint_bytes,
    sharded_memory_bytes,
    stage_boundary_bytes,
)
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.layout import FULL, SELECTIVE, ZERO_3
from perfmodel.model.transformers.hybrid import by_type
from perfmodel.model.transformers.job import Job
from perfmodel.model.transformers.layer import any_of
from perfmodel.model.transformers.step import Held, held_parameters, tables_of_stage, trained_parameters

CONTEXT_BYTES = 1.5e9
"""Context of CUDA or ROCm with kernels of PyTorch, workspaces of libraries, buffers of NCCL (assumed: kernels
alone took 1.34 GiB of a V100, by Hugging Face's "Model training anatomy", 2022, read 2026-11-26)."""
KEPT_LOGIT_BYTES = 2
"""Bytes of a logit kept as output of the last stage: 16 bits."""
PART_INPUTS = 4
"""Inputs of a layer of two parts that ``layer_activation_bytes`` counts, and one more of dropout's masks."""
FULL_GRADIENT_BYTES = 4
"""Bytes of a gradient summed over micro-batches: fp32."""


class Memory(NamedTuple):
    """Bytes by contents, at the peak of memory use."""

    weights: Any
    gradients: Any
    optimizer: Any
    activations: Any
    """Activations, with those of the recomputed layer unless the peak is at the logits."""
    logits: Any
    """Logits with their loss; 0 if the peak is on another stage or at the recomputed layer."""
    other: Any
    """Temporarily gathered parameters."""
    reserved: Any
    """The driver's context, workspaces of libraries and communication buffers."""
    allocator: Any
    """Lost to rounding and fragmentation."""

    @property
    def total(self) -> Any:
        """Sum of all contents [B]."""
        return sum(self)

    @property
    def tensors(self) -> Any:
        """Sum without context and allocator, which PyTorch reports as allocated [B]."""
        return sum(self[:-2])


def memory_of(job: Job) -> Memory:
    """Return the peak memory of the fullest rank of a job [B]."""
    first, last = memory_of_ends(job)
    is_last = (job.layout.pipeline_parallel == 1) | (last.total > first.total)
    return Memory(*(ops.where(is_last, *each) for each in zip(last, first, strict=True)))


def memory_of_ends(job: Job) -> tuple[Memory, Memory]:
    """Return the peak memory of ranks of the first and of the last stage [B]; one of them is the fullest.

    If layers do not divide by stages, the first stages hold one more than the last.  Where the last layers
    come back to the first stage, that has the logits.
    """
    stages = job.layout.pipeline_parallel
    mean = job.model.layers / stages
    most, least = (ops.where(stages > 1, each, mean) for each in (ops.ceil(mean), ops.floor(mean)))
    least = ops.where(job.layout.returns_to_first, most, least)
    first, last, logits, again = _activations(job, most, least)
    return _of_stage(job, most, first, 0.0 * logits, again), _of_stage(job, least, last, logits, again)


def _of_stage(job: Job, layers: Any, activations: Any, logits: Any, again: Any) -> Memory:
    """Return the peak memory of a rank of a stage with ``layers`` layers [B]."""
    layout, software, where = job.layout, job.stack, ops.where
    held = held_parameters(job, layers)
    trained = trained_parameters(job, held, layers)
    of_expert = ops.maximum(layout.replicas / layout.expert_parallel, 1.0)

    def states(held: Held, bytes_per_parameter: Any, least: int) -> Any:
        """Return the bytes of states that replicas shard from ZeRO stage ``least`` on."""
        shared = layout.sharding >= least
        of_all = sharded_memory_bytes(held.dense, bytes_per_parameter, where(shared, layout.replicas, 1.0))
        theirs = sharded_memory_bytes(held.experts, bytes_per_parameter, where(shared, of_expert, 1.0))
        return of_all + theirs

    weights = states(held, software.weight_bytes, 3)
    adapters = where(software.adapts, states(trained, software.weight_bytes, 3), 0.0)
    optimizer = where(software.host_update, 0.0, states(trained, software.optimizer_bytes, 1))
    gradients = states(trained, software.kept_gradient_bytes, 2)
    fresh = software.fresh_gradients & (layout.pipeline_parallel * layout.accumulation_steps == 1)
    gradients = where(fresh, fresh_gradient_bytes(gradients, again, activations + logits), gradients)
    tensors = (
        weights + adapters,
        gradients,
        optimizer,
        activations,
        logits,
        where(layout.sharding == ZERO_3, _gathered(job, held, layers), 0.0),
    )
    share = given(calibration().allocator_share, "constants.allocator_share", "assumed")
    context = given(CONTEXT_BYTES, "constants.reserved_bytes", "assumed")
    return Memory(*tensors, context, allocator_bytes(sum(tensors), share))


def _gathered(job: Job, held: Held, layers: Any) -> Any:
    """Return the bytes of sharded parameters and gradients while they are gathered.

    The embedding tables stay gathered, two layers have their weights (one is prefetched), and one has its
    gradient, with a second copy of it in transit in fp32.  Software that gathers a pipeline's stage once
    keeps all of its weights; software that sums whole gradients, or gathers once, keeps all gradients.
    """
    model, layout, software, where = job.model, job.layout, job.stack, ops.where
    weight, travels = where(software.gathers_8, 1.0, 2.0), software.gradient_bytes
    tables = tables_of_stage(job) * model.embedding_parameters / layout.tensor_parallel
    local = held.dense + held.experts
    layers = ops.maximum(layers, 1.0)
    layer = (local - tables) / layers
    weights = weight * layer * where(software.keeps_gathered, layers, 2.0)
    several = software.sums_whole_gradients & (layout.accumulation_steps > 1)
    gradients = (2 + where(travels > 2, travels, 0.0)) * layer
    gradients = where(several | software.keeps_gathered, FULL_GRADIENT_BYTES * local, gradients)
    return 2 * tables + weights + where(software.adapts, 0.0, gradients)


def _activations(job: Job, most: Any, least: Any) -> tuple[Any, Any, Any, Any]:
    """Return the peak activations of the first and the last stage, the logits, and the recomputed layer [B].

    The first stage has ``most`` layers, the last one ``least``; logits are 0 if the peak is at the recomputed
    layer.
    """
    model, layout, software, where = job.model, job.layout, job.stack, ops.where
    kept, again = _layer(job)
    stages, steps, chunks = layout.pipeline_parallel, layout.accumulation_steps, layout.virtual_stages
    of_first = micro_batches_kept(steps, stages, chunks, where(chunks > 1, 1, 0))
    of_last = ops.minimum(steps, last_micro_batches_kept(stages, chunks))
    if any_of(layout.splits_backward):
        by_order = scheduled_micro_batches_kept(layout.schedule, stages, chunks, steps)
        of_first, of_last = (where(layout.splits_backward, by_order, each) for each in (of_first, of_last))
    first, last = kept * most * of_first, kept * least * of_last
    tensor, tokens = layout.tensor_parallel, job.tokens * model.predicted_share
    boundary = checkpoint_bytes(job.tokens, model.hidden, job.sequence_shards)
    boundary = where(software.keeps_boundaries, boundary, 0.0)
    sent = ops.minimum(steps, stages)  # sent and not yet returned
    first = first + stage_boundary_bytes(boundary, chunks - 1, chunks, steps, sent)
    last = last + stage_boundary_bytes(boundary, chunks, chunks - 1, steps, sent)
    words = model.vocabulary / where(software.shares_logits, tensor, 1)
    gathered = where(job.sequence_shards > 1, 2 * model.hidden, 0.0)
    logits = tokens * (software.logit_bytes * words + gathered)
    last = last + where(software.keeps_logits, KEPT_LOGIT_BYTES * words * tokens * (steps - 1), 0.0)
    with_logits = logits > again
    return first + again, last + where(with_logits, 0.0, again), where(with_logits, logits, 0.0), again


def _kept(shares: list[Any], results: list[Any]) -> tuple[Any, Any]:
    """Return the mean that layers of several types keep, and the most that one of them needs."""
    kept = sum(share * each for share, (each, _) in zip(shares, results, strict=True))
    again = results[0][1]
    for _, each in results[1:]:
        again = ops.maximum(again, each)
    return kept, again


@partial(by_type, merge=_kept)
def _layer(job: Job) -> tuple[Any, Any]:
    """Return the bytes of one micro-batch that a layer keeps, and those it needs while recomputed.

    Products with frozen weights need no inputs for their backward pass: the inputs of the feed-forward part
    and of its last product are kept only for gradients of weights.
    """
    model, layout, software, where = job.model, job.layout, job.stack, ops.where
    routed = 1 - model.dense_share
    width = model.dense_share * model.feed_forward
    width = width + routed * (model.top_k + model.shared_experts) * model.expert_width
    values, tensor = model.heads * model.value_size, layout.tensor_parallel
    made = model.projected_width + values + (model.matrices - where(software.adapts, 1, 0)) * width
    made = made + model.kept_width
    scores = where(software.flash | (layout.recompute == SELECTIVE), 0.0, model.heads * job.sequence_length)
    whole = layer_activation_bytes(job.tokens, model.hidden, job.sequence_shards, made, tensor, scores)
    inputs = checkpoint_bytes(job.tokens, model.hidden, job.sequence_shards)
    whole = whole - where(software.dropout, 0.0, inputs)  # two masks of one byte are as large as an input
    whole = whole - where(software.adapts, inputs, 0.0)
    of_parts = PART_INPUTS + where(software.dropout, 1, 0)
    whole = whole - (1 - model.parts / 2) * of_parts * inputs
    products = model.projected_width + (model.matrices - 1) * width
    selected = product_checkpoint_bytes(
        job.tokens, model.hidden, job.sequence_shards, values, products, tensor
    )
    selective = (layout.recompute == SELECTIVE) & software.checkpoints_operations
    each = where(selective, selected, whole)
    full = layout.recompute == FULL
    share = where(full, layout.recomputed_layers, 0.0)
    checkpoint = inputs / where(software.shares_checkpoints, tensor / job.sequence_shards, 1)
    checkpoint = where(software.host_checkpoints, 0.0, checkpoint)
    return share * checkpoint + (1 - share) * each, where(full | selective, whole, 0.0)
