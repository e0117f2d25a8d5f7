"""Activations of a layer: what it keeps of a micro-batch, and what its backward pass needs in addition."""

from __future__ import annotations

from functools import partial
from typing import Any

from perfmodel.core import ops
from perfmodel.equations.layer_memory import (
    expert_activation_bytes,
    module_activation_bytes,
    unfused_activation_bytes,
    working_bytes,
)
from perfmodel.equations.transformer_memory import (
    checkpoint_bytes,
    layer_activation_bytes,
    product_checkpoint_bytes,
)
from perfmodel.model.options.layout import FULL, SELECTIVE
from perfmodel.model.transformers.context import repeated_bytes
from perfmodel.model.transformers.hybrid import by_type
from perfmodel.model.transformers.job import Job, any_of
from perfmodel.model.transformers.products import frozen_inputs
from perfmodel.model.transformers.recomputed import (
    FULL_BYTES,
    dropped_bytes,
    latent_widths,
    names_modules,
    narrow_norms,
    selects,
)

PART_INPUTS = 4
"""Inputs of a layer of two parts that ``layer_activation_bytes`` counts, and one more of dropout's masks."""


def _of_types(shares: list[Any], results: list[Any]) -> tuple[Any, Any]:
    """Return the mean that layers of several types keep, and the most that one of them needs."""
    kept = sum(share * each for share, (each, _) in zip(shares, results, strict=True))
    working = results[0][1]
    for _, each in results[1:]:
        working = ops.maximum(working, each)
    return kept, working


@partial(by_type, merge=_of_types)
def layer_bytes(job: Job) -> tuple[Any, Any]:
    """Return the bytes of one micro-batch that a layer keeps, and those its backward pass needs in addition.

    Products with frozen weights need no inputs for their backward pass: the inputs of the projections, of the
    feed-forward part and of its last product are kept only for gradients of weights or adapters.
    """
    model, layout, software, where = job.model, job.layout, job.stack, ops.where
    tokens, hidden, tensor, shards = job.tokens, model.hidden, layout.tensor_parallel, job.sequence_shards
    routed = 1 - model.dense_share
    width = model.dense_share * model.feed_forward + routed * model.shared_experts * model.expert_width
    values = model.heads * model.value_size
    read = model.matrices - frozen_inputs(software, software.adapted[6:])
    made = model.qkv_width + values + read * width + model.kept_width
    scores = where(software.flash | (layout.recompute == SELECTIVE), 0.0, model.heads * job.sequence_length)
    whole = layer_activation_bytes(tokens, hidden, shards, made, tensor, scores)
    inputs = checkpoint_bytes(tokens, hidden, shards)
    whole = whole - where(software.dropout, 0.0, inputs)  # two masks of one byte are as large as an input
    whole = whole - frozen_inputs(software, software.adapted[:3]) * inputs
    whole = whole - frozen_inputs(software, software.adapted[4:6]) * inputs
    of_parts = PART_INPUTS + where(software.dropout, 1, 0)
    whole = whole - (1 - model.parts / 2) * of_parts * inputs + repeated_bytes(job)
    if any_of(model.experts > 0):
        later = where(software.weighted_inside, 0.0, 1.0)
        one, parts = read * model.expert_width, layout.expert_tensor_parallel
        own = software.expert_load * tokens * parts / tensor
        of_experts = hidden, model.top_k, model.experts, one, parts, later
        whole = whole + routed * expert_activation_bytes(own, *of_experts)
    if any_of(software.input_bytes != FULL_BYTES):
        whole = whole - _narrowed_bytes(job, routed)
    gates = width + routed * model.top_k * model.expert_width
    loose = unfused_activation_bytes(tokens, hidden, shards, gates, tensor)
    # networks with gates have RMSNorms; PyTorch's LayerNorm is one kernel everywhere
    whole = whole + where(software.keeps_unfused & (model.matrices > 2), loose, 0.0)
    products = model.qkv_width + (model.matrices - 1) * gates
    selected = product_checkpoint_bytes(tokens, hidden, shards, values, products, tensor)
    selective = (layout.recompute == SELECTIVE) & software.checkpoints_operations
    each = where(selective, selected, whole)
    full = layout.recompute == FULL
    share = where(full, layout.recomputed_layers, 0.0)
    checkpoint = inputs / where(software.shares_checkpoints, tensor / shards, 1)
    checkpoint = where(software.host_checkpoints, 0.0, checkpoint)
    again = where(full | selective, whole, 0.0)
    if names_modules(job):
        dropped, named = dropped_bytes(job), selects(job)
        each = each - where(named, dropped.all, 0.0)
        again = again + where(named, dropped.largest, 0.0)
    kept = share * checkpoint + (1 - share) * each
    # in the host's memory, but for one layer on its way and one in use
    working = again + _gradients(job, routed) + where(software.host_activations, 2 * kept, 0.0)
    return where(software.host_activations, 0.0, kept), working


def _narrowed_bytes(job: Job, routed: Any) -> Any:
    """Return the bytes that a layer keeps less because products keep their inputs in the operands' format.

    Inputs of norms and of routers, and queries, keys and values, stay in 16 bits.
    """
    model, software = job.model, job.stack
    tokens, tensor, shards = job.tokens, job.layout.tensor_parallel, job.sequence_shards
    values, (_, latents) = model.heads * model.value_size, latent_widths(model)
    inputs, gates, attended = (
        FULL_BYTES - each for each in (software.input_bytes, software.gate_bytes, software.attended_bytes)
    )

    def of(hidden: Any, product: Any, less: Any) -> Any:
        return module_activation_bytes(tokens, hidden, shards, product, tensor, 0.0, less)

    shared, wide = routed * model.shared_experts * model.expert_width, model.matrices - 1
    saved = of(narrow_norms(model), latents + model.dense_share * model.feed_forward + shared, inputs)
    saved = saved + of(0.0, values, attended) + of(0.0, wide * shared, gates)
    if any_of(model.experts > 0):
        parts, each = job.layout.expert_tensor_parallel, model.top_k * model.expert_width
        own, copies = software.expert_load * tokens * parts / tensor, model.top_k * model.hidden
        saved = saved + routed * module_activation_bytes(own, 0.0, 1.0, each, parts, copies, inputs)
        saved = saved + routed * module_activation_bytes(own, 0.0, 1.0, wide * each, parts, 0.0, gates)
    return saved


def _gradients(job: Job, routed: Any) -> Any:
    """Return the bytes of gradients of activations in the backward pass of a layer."""
    model, where = job.model, ops.where
    widest = ops.maximum(
        where(model.dense_share > 0, model.feed_forward, 0.0),
        where(routed > 0, (model.top_k + model.shared_experts) * model.expert_width, 0.0),
    )
    widened = where(job.stack.in_place, 1.0, model.matrices - 1)
    tensor = job.layout.tensor_parallel
    return working_bytes(job.tokens, model.hidden, job.sequence_shards, widened * widest, tensor)
