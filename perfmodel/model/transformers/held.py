"""Parameters of a rank: those it computes with, those it trains, and the bytes in which they travel."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.model.transformers.frozen import layer_adapters
from perfmodel.model.transformers.job import Job, any_of
from perfmodel.model.transformers.tower import frozen_parameters, tower_parameters


class Held(NamedTuple):
    """Parameters of one rank: those common to all replicas, and those of its experts."""

    dense: Any
    experts: Any


def held_parameters(job: Job, layers: Any = None, towers: Any = None, tables: Any = None) -> Held:
    """Return the parameters that the fullest rank computes with.

    Parameters
    ----------
    job : one job, or many as arrays
    layers : of the rank's stage; by default the mean of all stages
    towers : encoders of images on the rank's stage, 1 or 0; by default the mean of all stages
    tables : tables of words that the stage holds; by default those of the fullest one
    """
    tables = tables_of_stage(job) if tables is None else tables
    model, layout = job.model, job.layout
    routed = 1 - model.dense_share
    each = model.attention_parameters + model.dense_share * model.dense_parameters
    each = each + routed * (model.shared_experts * model.expert_parameters + model.hidden * model.experts)
    layers = model.layers / layout.pipeline_parallel if layers is None else layers
    layers = layout.copies_of_stage * layers
    dense = (layers * each + tables * model.embedding_parameters) / layout.tensor_parallel
    if model.tower is not None:
        towers = 1 / layout.pipeline_parallel if towers is None else towers
        dense = dense + tower_parameters(job, towers)
    of_experts = layers * routed * model.experts * model.expert_parameters
    return Held(dense, of_experts / (layout.expert_tensor_parallel * layout.expert_parallel))


def gathered_bytes(job: Job, held: Held) -> Held:
    """Return the bytes in which a rank's parameters travel and are computed with [B].

    16 bits, but those of quantized products, which are expanded where they are used.
    """
    each = ops.where(job.stack.adapts, job.stack.frozen_bytes, 2.0)
    tables = tables_of_stage(job) * job.model.embedding_parameters / job.layout.tensor_parallel
    return Held(2 * held.dense - (2 - each) * (held.dense - tables), each * held.experts)


def tables_of_stage(job: Job) -> Any:
    """Return the tables of words that the fullest stage holds: embeddings, logits or both."""
    layout = job.layout
    apart = (layout.pipeline_parallel > 1) & (layout.returns_to_first == 0)
    return ops.where(apart, 1.0, job.model.embeddings)


def trained_parameters(job: Job, held: Held, layers: Any = None, towers: Any = None) -> Held:
    """Return the trained parameters of a rank: all it holds, or LoRA adapters.

    Parameters
    ----------
    job, layers, towers : as for ``held_parameters``
    held : result of ``held_parameters``
    """
    model, layout, software = job.model, job.layout, job.stack
    if model.tower is not None:
        towers = 1 / layout.pipeline_parallel if towers is None else towers
        held = held._replace(dense=held.dense - frozen_parameters(job, towers))
    if not any_of(software.adapts):
        return held
    layers = model.layers / layout.pipeline_parallel if layers is None else layers
    layers = layout.copies_of_stage * layers
    of_all, of_expert = layer_adapters(model, software.adapted, software.adapter_rank)
    adapters = layers * of_all / layout.tensor_parallel
    routed = layers * (1 - model.dense_share) * model.experts * of_expert
    of_experts = routed / (layout.expert_tensor_parallel * layout.expert_parallel)
    return Held(
        ops.where(software.adapts, adapters, held.dense),
        ops.where(software.adapts, of_experts, held.experts),
    )
