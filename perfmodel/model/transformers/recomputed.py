"""Modules of a layer that selective recomputation computes again: their memory and their time."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.equations.layer_memory import module_activation_bytes
from perfmodel.equations.transformer_pipeline import time_of_parts
from perfmodel.equations.transformer_products import attention_traffic_bytes, gate_traffic_bytes
from perfmodel.model.options.layout import SELECTIVE
from perfmodel.model.transformers.architecture import Dimensions
from perfmodel.model.transformers.experts import routed_bytes
from perfmodel.model.transformers.job import Job, any_of
from perfmodel.model.transformers.parameters import Values

FULL_BYTES = 2.0
"""Bytes of a value in 16 bits."""
NORM_BYTES = 4
"""Bytes that a norm moves for a feature without a sum: read and written in 16 bits."""


class Dropped(NamedTuple):
    """Bytes of one micro-batch that a layer does not keep."""

    all: Any
    largest: Any
    """Of the largest module, which is there while it is computed again."""


def names_modules(job: Job) -> bool:
    """Return whether any of the jobs names modules."""
    return any(map(any_of, job.stack.modules))


def selects(job: Job) -> Any:
    """Return whether a job recomputes the modules that it names."""
    return job.layout.recompute == SELECTIVE


def dropped_bytes(job: Job) -> Dropped:
    """Return the bytes of activations of the modules that a layer computes again."""
    model, where, software = job.model, ops.where, job.stack
    modules, value, kept = software.modules, FULL_BYTES, software.input_bytes
    tokens, tensor, shards = job.tokens, job.layout.tensor_parallel, job.sequence_shards
    routed, k = 1 - model.dense_share, model.top_k
    norms, (queries, latents) = narrow_norms(model), latent_widths(model)
    copies = k * model.hidden * job.layout.expert_tensor_parallel / tensor
    outputs = where(software.weighted_inside, 0.0, copies)
    inner, wide = model.expert_width, (model.matrices - 1) * model.expert_width
    of_each = routed * (k + model.shared_experts)
    dense = model.dense_share * model.feed_forward
    whole, largest = 0.0 * tokens, 0.0 * tokens
    # widths between products, of products and of copies, and the bytes in which they are kept
    for named, tensors in (
        (modules.layernorm, ((norms, 0.0, 0.0, kept), (routed * model.hidden, 0.0, 0.0, value))),
        (modules.mla_up_proj, ((0.0, queries, 0.0, value), (0.0, latents, 0.0, kept))),
        (modules.mlp, ((0.0, (model.matrices - 1) * dense, 0.0, value), (0.0, dense, 0.0, kept))),
        (
            modules.moe,
            (
                (0.0, of_each * wide, 0.0, software.gate_bytes),
                (0.0, of_each * inner, routed * copies, kept),
                (0.0, 0.0, routed * outputs, value),
            ),
        ),
        (where(modules.moe, False, modules.moe_act), ((0.0, routed * k * inner, 0.0, kept),)),
    ):
        if not any_of(named):
            continue

        def of_module(bytes_each: Any = None, tensors: Any = tensors) -> Any:
            return sum(
                module_activation_bytes(tokens, hidden, shards, width, tensor, copied, bytes_each or each)
                for hidden, width, copied, each in tensors
            )

        whole = whole + where(named, of_module(), 0.0)
        largest = ops.maximum(largest, where(named, of_module(FULL_BYTES), 0.0))
    return Dropped(whole, largest)


def narrow_norms(model: Dimensions) -> Any:
    """Return the features of a layer's norms that products alone read; routers read theirs in 16 bits."""
    return (model.parts - (1 - model.dense_share)) * model.hidden


def latent_widths(model: Dimensions) -> tuple[Any, Any]:
    """Return the features of queries, keys and values made of latents, and of these after their norms."""
    made = model.heads * (2 * model.head_size + model.value_size)
    if not any_of(model.up_parameters > 0):
        return 0.0, 0.0
    has_latents = model.up_parameters > 0
    return ops.where(has_latents, made, 0.0), ops.where(has_latents, (model.qkv_width - made) / 2, 0.0)


def modules_time(job: Job, p: Values, rates: Any, factor: Any, products: Any, core: Any) -> Any:
    """Return the time of the modules that a layer computes again [s].

    Parameters
    ----------
    job, p, rates : as for ``layer_alone``
    factor : of the bytes that norms and gates without experts move, by how kernels are fused
    products, core : forward times of the layer's products and of attention [s]
    """
    model, where, modules = job.model, ops.where, job.stack.modules
    routed = 1 - model.dense_share
    experts = routed * (model.top_k + model.shared_experts) * model.expert_parameters
    dense = model.dense_share * model.dense_parameters
    again = where(modules.mlp, dense, 0.0) + where(modules.moe, experts, 0.0)
    again = again + where(modules.mla_up_proj, model.up_parameters, 0.0)
    share = again / (model.attention_parameters + dense + experts)
    passes = repeated_bytes(job, p, factor, rates.cast) / rates.elementwise
    return time_of_parts(
        products=share * products,
        attention=where(modules.core_attn & job.stack.flash, core, 0.0),
        elements=passes,
    )


def repeated_bytes(job: Job, p: Values, factor: Any, cast: Any) -> Any:
    """Return the bytes that element-wise operations of the named modules move when they are computed again.

    What a module makes is cast again where products take narrow operands.
    """
    model, where, modules, load = job.model, ops.where, job.stack.modules, job.stack.expert_load
    tokens, tensor, shards = job.tokens, job.layout.tensor_parallel, job.sequence_shards
    routed, gated = 1 - model.dense_share, model.matrices - 1
    moved: Any = 0.0
    if any_of(modules.layernorm):
        width = model.parts * model.hidden
        norms = factor * attention_traffic_bytes(tokens, width, NORM_BYTES, shards, 0.0)
        moved = where(modules.layernorm, norms + tokens * width * cast, moved)
    if any_of(modules.mla_up_proj):
        rotated = (model.heads + model.kv_heads) * model.head_size / tensor
        turned = factor * attention_traffic_bytes(tokens, model.hidden, 0.0, shards, rotated)
        latents = tokens * latent_widths(model)[1] * cast
        moved = moved + where(modules.mla_up_proj, turned + latents, 0.0)
    if any_of(modules.mlp):
        width = model.feed_forward / tensor
        gates = factor * gate_traffic_bytes(tokens, gated, width) + tokens * (model.hidden + width) * cast
        moved = moved + where(modules.mlp, model.dense_share * gates, 0.0)
    if any_of(modules.moe):
        moved = moved + where(modules.moe, routed * routed_bytes(job, p, cast), 0.0)
    if any_of(modules.moe_act):
        width, own = model.expert_width / tensor, tokens * load * model.top_k
        gates = gate_traffic_bytes(own, gated, width) + own * width * cast
        moved = moved + where(modules.moe, 0.0, where(modules.moe_act, routed * gates, 0.0))
    return moved
