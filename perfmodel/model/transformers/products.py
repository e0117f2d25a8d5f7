"""Matrix products of a layer with both gradients, those of LoRA adapters, and what quantized weights add."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from perfmodel.core import ops
from perfmodel.equations.transformer_pipeline import time_of_parts
from perfmodel.equations.transformer_products import matrix_product_time, mean_over_layers
from perfmodel.model.transformers.frozen import adapted_projections, expansion_bytes
from perfmodel.model.transformers.job import Job
from perfmodel.model.transformers.parameters import Values
from perfmodel.model.transformers.software import Software

ADAPTER_KERNELS = 3
"""Kernels of the adapters of a product: two products and an addition."""


def three_products(
    job: Job,
    p: Values,
    rates: Any,
    n1: Any,
    n2: Any,
    n3: Any,
    count: Any = 1.0,
    rate: Any = None,
    frozen: Any = None,
) -> tuple[Any, Any]:
    """Return the times of a product of n1 x n2 by n2 x n3, and of both its gradients.

    The gradient of frozen weights is left out; by default weights are frozen in a network with adapters.
    """
    frozen = job.stack.adapts if frozen is None else frozen
    shared = (
        count,
        rates.product if rate is None else rate,
        rates.product_memory,
        job.chip.compute_units,
        rates.half_depth,
        rates.half_columns,
        rates.half_work,
    )
    of_inputs = matrix_product_time(n1, n3, n2, *shared)
    of_weights = ops.where(frozen, 0.0, matrix_product_time(n2, n1, n3, *shared))
    backward = time_of_parts(of_inputs=of_inputs, of_weights=of_weights)
    return matrix_product_time(n1, n2, n3, *shared), backward


def adapter_times(job: Job, p: Values, rates: Any) -> tuple[Any, Any]:
    """Return the times of the LoRA adapters' products in 16 bits, forward and backward [s]."""
    model, tensor, tokens, adapted = job.model, job.layout.tensor_parallel, job.tokens, job.stack.adapted
    count, heads = adapted.projections, model.heads * model.value_size / tensor
    each = adapted_projections(model, adapted) / (ops.maximum(count, 1.0) * tensor)
    into = _pair(job, p, rates, tokens, model.hidden, each, count)
    out_of = _pair(job, p, rates, tokens, heads, model.hidden, adapted.o)
    parts = _feed_forward_pairs(job, p, rates, tokens, model.feed_forward / tensor, 1.0)
    if _any(model.dense_share < 1):
        experts, group = ops.maximum(model.experts, 1.0), job.layout.expert_parallel
        width = ops.maximum(model.expert_width, 1.0) / tensor
        of_each = ops.maximum(tokens * model.top_k * group / experts, 1e-6)
        routed = _feed_forward_pairs(job, p, rates, of_each, width, experts / group)
        shared = _feed_forward_pairs(
            job, p, rates, tokens, ops.maximum(model.shared_experts, 1.0) * width, 1.0
        )
        both = [
            time_of_parts(routed=one, shared=ops.where(model.shared_experts > 0, other, 0.0))
            for one, other in zip(routed, shared, strict=True)
        ]
        of_experts = [mean_over_layers(model.dense_share, *each) for each in zip(parts, both, strict=True)]
        parts = of_experts[0], of_experts[1]
    forward, backward = (
        time_of_parts(projections=into[side], output=out_of[side], feed_forward=parts[side])
        for side in (0, 1)
    )
    return forward, backward


def _feed_forward_pairs(
    job: Job, p: Values, rates: Any, tokens: Any, width: Any, count: Any
) -> tuple[Any, Any]:
    """Return the times of the adapters of a feed-forward part, or of ``count`` of them, both passes [s]."""
    hidden, adapted = job.model.hidden, job.stack.adapted
    wide = _pair(job, p, rates, tokens, hidden, width, count * (adapted.gate + adapted.up))
    down = _pair(job, p, rates, tokens, width, hidden, count * adapted.down)
    return time_of_parts(up=wide[0], down=down[0]), time_of_parts(up=wide[1], down=down[1])


def _pair(
    job: Job, p: Values, rates: Any, tokens: Any, depth: Any, width: Any, count: Any
) -> tuple[Any, Any]:
    """Return the times of ``count`` adapters of a product of ``depth`` by ``width``, both passes [s]."""
    if not _any(count > 0):
        return 0.0, 0.0
    rank = ops.maximum(job.stack.adapter_rank, 1.0)
    into = three_products(job, p, rates, tokens, depth, rank, count, rates.product_16, frozen=False)
    out_of = three_products(job, p, rates, tokens, rank, width, count, rates.product_16, frozen=False)
    forward, backward = (
        ops.where(count > 0, time_of_parts(into=one, out_of=other), 0.0)
        for one, other in zip(into, out_of, strict=True)
    )
    return forward, backward


def expansion_time(job: Job, rates: Any) -> Any:
    """Return the time to expand the quantized weights of a layer for the products of one pass [s]."""
    model, layout = job.model, job.layout
    local = model.experts / layout.expert_parallel
    return expansion_bytes(model, layout.tensor_parallel, local, job.stack.frozen_bytes) / rates.elementwise


def added_kernels(job: Job, routed: Any) -> Any:
    """Return the kernels that adapters and quantized weights add to a layer's forward pass.

    Parameters
    ----------
    job : one job, or many as arrays
    routed : share of the layers that have experts, which have products of their own
    """
    model, software = job.model, job.stack
    local = model.experts / job.layout.expert_parallel
    parts = 1 - routed + routed * (ops.minimum(model.shared_experts, 1.0) + local)
    adapted = software.adapted
    of_parts = adapted.gate + adapted.up + adapted.down
    adapters = ADAPTER_KERNELS * (adapted.projections + adapted.o + parts * of_parts)
    expansions = software.expansion_kernels * (4 + parts * model.matrices)
    return ops.where(software.adapts, adapters + expansions, 0)


def frozen_inputs(software: Software, adapters: Iterable[Any]) -> Any:
    """Return 1 where products of one input are frozen and have no adapters, so that it is not kept; else 0.

    Parameters
    ----------
    software : of one job, or of many as arrays
    adapters : of each of the products, whether it has adapters
    """
    return ops.where(software.adapts, ops.where(sum(adapters) > 0, 0, 1), 0)


def _any(condition: Any) -> bool:
    """Return whether a condition holds, for an array whether it holds for any job."""
    return bool(condition) if isinstance(condition, (bool, int, float)) else bool(condition.any())
