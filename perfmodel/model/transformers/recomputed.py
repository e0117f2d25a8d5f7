"""Modules of a layer that selective recomputation computes again: their memory and their time."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.equations.layer_memory import module_activation_bytes
from perfmodel.model.options.layout import SELECTIVE
from perfmodel.model.transformers.job import Job, any_of


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
    model, where, modules = job.model, ops.where, job.stack.modules
    tokens, tensor, shards = job.tokens, job.layout.tensor_parallel, job.sequence_shards
    routed, k = 1 - model.dense_share, model.top_k
    inner = model.matrices * model.expert_width
    queries = model.heads * (2 * model.head_size + model.value_size)
    copies = where(job.stack.weighted_inside, 1.0, 2.0) * k * model.hidden
    copies = copies * job.layout.expert_tensor_parallel / tensor
    parts = (
        (modules.layernorm, 2 * model.hidden, 0.0, 0.0),
        (modules.mla_up_proj, 0.0, queries, 0.0),
        (modules.mlp, 0.0, model.dense_share * model.matrices * model.feed_forward, 0.0),
        (modules.moe, 0.0, routed * (k + model.shared_experts) * inner, routed * copies),
        (where(modules.moe, False, modules.moe_act), 0.0, routed * k * model.expert_width, 0.0),
    )
    whole, largest = 0.0 * tokens, 0.0 * tokens
    for named, hidden, width, copied in parts:
        each = where(named, module_activation_bytes(tokens, hidden, shards, width, tensor, copied), 0.0)
        whole, largest = whole + each, ops.maximum(largest, each)
    return Dropped(whole, largest)


def modules_time(job: Job, products: Any, core: Any, element: Any) -> Any:
    """Return the time of the modules that a layer computes again [s].

    Parameters
    ----------
    job : one job, or many as arrays
    products, core, element : forward times of the layer's products, attention and elementwise operations [s]
    """
    model, where, modules = job.model, ops.where, job.stack.modules
    routed = 1 - model.dense_share
    experts = routed * (model.top_k + model.shared_experts) * model.expert_parameters
    dense = model.dense_share * model.dense_parameters
    again = where(modules.mlp, dense, 0.0) + where(modules.moe, experts, 0.0)
    again = again + where(modules.mla_up_proj, model.up_parameters, 0.0)
    share = again / (model.attention_parameters + dense + experts)
    passes = where(modules.layernorm | modules.moe_act | modules.mlp | modules.moe, element, 0.0)
    return share * products + where(modules.core_attn & job.stack.flash, core, 0.0) + passes
