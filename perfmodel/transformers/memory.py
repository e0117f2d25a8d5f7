"""Memory of a transformer on its fullest rank, by what fills it."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel import ops
from perfmodel.equations.transformer_memory import (
    OPTIMIZER_BYTES,
    WEIGHT_BYTES,
    checkpoint_bytes,
    layer_activation_bytes,
    micro_batches_kept,
    sharded_memory_bytes,
)
from perfmodel.transformers.job import Job
from perfmodel.transformers.layout import FULL, SELECTIVE
from perfmodel.transformers.step import held_parameters

LOGIT_BYTES = 10
"""Of one logit and its gradient."""
LOGIT_SHARE_OF_STAGES = 0.3
"""Of the logits' memory, what a pipeline's last stage has no room left for: it keeps fewer activations."""
SELECTIVE_SHARE = 0.6
"""Of a layer's activations, what FSDP's selective checkpoints keep (assumed)."""
CONTEXT_BYTES = 1.5e9
"""CUDA, NCCL and fragments (assumed)."""


class Memory(NamedTuple):
    """Bytes by what fills them."""

    weights: Any
    gradients: Any
    optimizer: Any
    activations: Any
    logits: Any
    other: Any
    """Layers gathered for the moment, and the context of the driver and its libraries."""

    @property
    def total(self) -> Any:
        """All of them [B]."""
        return sum(self)


def memory_of(job: Job) -> Memory:
    """Return what the fullest rank of a job keeps [B]."""
    model, layout, software, where = job.model, job.layout, job.stack, ops.where
    held = held_parameters(job)
    local = held.dense + held.experts
    weights, gradients, optimizer = (
        sharded_memory_bytes(local, each, where(layout.sharding >= least, layout.replicas, 1.0))
        for each, least in ((WEIGHT_BYTES, 3), (software.gradient_bytes, 2), (OPTIMIZER_BYTES, 1))
    )
    layers = model.layers / layout.pipeline_parallel
    gathered = where(layout.sharding == 3, 8 * local / ops.maximum(layers, 1.0), 0.0)
    logits = LOGIT_BYTES * job.tokens * model.vocabulary / layout.tensor_parallel
    share = where(layout.pipeline_parallel > 1, LOGIT_SHARE_OF_STAGES, 1.0)
    return Memory(
        weights, gradients, optimizer, _activations(job, layers), logits * share, gathered + CONTEXT_BYTES
    )


def _activations(job: Job, layers: Any) -> Any:
    """Bytes kept by the first stage: of whole layers, or of their inputs and one layer that runs again."""
    model, layout, software, where = job.model, job.layout, job.stack, ops.where
    routed = 1 - model.dense_share
    width = model.dense_share * model.feed_forward
    width = width + routed * (model.top_k + model.shared_experts) * model.expert_width
    made = model.projected_width + model.heads * model.value_size + model.matrices * width
    scores = where(software.flash | (layout.recompute == SELECTIVE), 0.0, model.heads * job.sequence_length)
    whole = layer_activation_bytes(
        job.tokens, model.hidden, job.sequence_shards, made, layout.tensor_parallel, scores
    )
    inputs = checkpoint_bytes(job.tokens, model.hidden, job.sequence_shards)
    selective = (layout.recompute == SELECTIVE) & software.checkpoints_operations
    each = where(selective, SELECTIVE_SHARE * whole, whole)
    again = where(layout.recompute == FULL, layout.recomputed_layers, 0.0)
    each = again * inputs + (1 - again) * each
    kept = micro_batches_kept(
        ops.minimum(layout.accumulation_steps, layout.pipeline_parallel),
        layout.pipeline_parallel,
        layout.virtual_stages,
        where(layout.virtual_stages > 1, 1, 0),
    )
    return each * layers * kept + where(layout.recompute == FULL, whole, 0.0)
