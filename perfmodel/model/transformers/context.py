"""Traffic of context parallelism in one layer: what its ranks exchange, and what attention hides of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.equations.context_exchange import (
    block_gradient_bytes,
    block_merge_bytes,
    gradient_ring_time,
    head_exchange_bytes,
    repeated_head_bytes,
    repeated_key_heads,
    ring_head_share,
)
from perfmodel.equations.transformer_exchange import beyond_attention_time, context_message_bytes
from perfmodel.equations.transformer_pipeline import time_of_parts
from perfmodel.model.options.layout import ALL_GATHER
from perfmodel.model.transformers.job import Job, any_of
from perfmodel.model.transformers.machine import travel_time
from perfmodel.model.transformers.parameters import Values
from perfmodel.model.transformers.scans import context_width

GRADIENT_OVER_KEY = 2
"""Bytes of a gradient of a key in fp32 over those of the key."""
EXCHANGED = 4
"""Tensors that change from positions to heads, or back, in a pass: queries, keys, values and output."""


class Exchange(NamedTuple):
    """Exposed communication of context parallelism in one layer [s]."""

    forward: Any
    backward: Any


def exposed_exchange(job: Job, p: Values, window: Any, backward_window: Any) -> Exchange:
    """Return the exposed exchange of keys, values and heads of one layer for one micro-batch.

    A ring runs during attention, and twice in the backward pass, for keys and values and for their gradients;
    a gather comes before attention, and all-to-alls before and after it.  Software that attends to the keys
    of each rank in turn gathers during attention to its own, and its gradients go round in fp32.

    Parameters
    ----------
    window, backward_window : time of attention in each pass, with the gaps next to it
    """
    ring, where = travel_time(job.groups.context, key_bytes(job), p), ops.where
    ranks, in_turn = job.layout.context_ring, job.stack.attends_in_turn
    gathers = job.layout.context_method == ALL_GATHER
    within = where(gathers, where(in_turn, p["context_window"] / ranks, 0.0), p["context_window"])
    forward = beyond_attention_time(ring, window, within)
    backward = beyond_attention_time(2 * ring, backward_window, within)
    if any_of(in_turn):
        hops = ranks / ops.maximum(ranks - 1, 1)
        gradients = GRADIENT_OVER_KEY * hops * ring
        each = gradient_ring_time(gradients, backward_window, p["context_window"], ranks)
        keys = beyond_attention_time(ring, backward_window, within)
        backward = where(in_turn & (ranks > 1), time_of_parts(keys=keys, gradients=each), backward)
    if not exchanges_heads(job):
        return Exchange(forward, backward)
    heads = EXCHANGED * travel_time(job.groups.context_heads, tensor_bytes(job), p)
    return Exchange(time_of_parts(ring=forward, heads=heads), time_of_parts(ring=backward, heads=heads))


def merging_times(job: Job, elementwise: Any) -> Exchange:
    """Return the times to merge what attention to the keys of each rank makes, forward and backward [s].

    Parameters
    ----------
    job : one job, or many as arrays
    elementwise : rate of element-wise kernels [B/s]
    """
    model, layout, ranks = job.model, job.layout, job.layout.context_ring
    queries = model.heads * model.value_size / layout.tensor_parallel
    keys = _key_width(job) / layout.tensor_parallel
    merged = block_merge_bytes(job.tokens, queries, ranks)
    summed = block_gradient_bytes(job.tokens, queries, keys, ranks)
    several = job.stack.attends_in_turn & (ranks > 1)
    return Exchange(*(ops.where(several, moved / elementwise, 0.0) for moved in (merged, summed)))


def _key_width(job: Job) -> Any:
    """Return the features of keys that context parallelism passes on, repeated for queries where they are."""
    model = job.model
    repeated = ops.where(job.stack.repeats_keys, model.heads / ops.maximum(model.kv_heads, 1), 1)
    return context_width(job) * (repeated if model.scan is None else 1)


def exchanges_heads(job: Job) -> bool:
    """Return whether context-parallel ranks of any job exchange heads."""
    return not ops.holds(job.layout.context_inner == 1)


def key_bytes(job: Job) -> Any:
    """Return the bytes of keys and values of whole sequences that travel to each rank [B]."""
    layout = job.layout
    width = _key_width(job) / layout.tensor_parallel
    if exchanges_heads(job):
        width = width * ring_head_share(_sent_heads(job), _key_heads(job), layout.context_inner)
    return context_message_bytes(layout.micro_batch_size, job.sequence_length, width)


def tensor_bytes(job: Job) -> Any:
    """Return the mean bytes of one of the tensors whose positions are exchanged for heads [B]."""
    model = job.model
    heads = model.heads / job.layout.tensor_parallel
    whole = head_exchange_bytes(job.tokens, heads, _sent_heads(job), model.head_size, model.value_size)
    return whole / EXCHANGED


def gathered_key_bytes(job: Job) -> Any:
    """Return the bytes that a layer gathers for its attention: keys and values of all positions [B]."""
    several = (job.layout.context_method == ALL_GATHER) & (job.layout.context_parallel > 1)
    return ops.where(several, key_bytes(job), 0.0)


def repeated_bytes(job: Job) -> Any:
    """Return the bytes of a layer's keys and values that are kept only as repetitions [B]."""
    if not exchanges_heads(job):
        return 0.0
    model, layout = job.model, job.layout
    sent, own = _sent_heads(job), _key_heads(job)
    more = repeated_head_bytes(job.tokens, own, sent, model.head_size, model.value_size)
    return ops.where(layout.context_inner > 1, more, 0.0)


def _key_heads(job: Job) -> Any:
    """Return the key-value heads of one tensor-parallel rank."""
    return ops.maximum(job.model.kv_heads / job.layout.tensor_parallel, 1.0)


def _sent_heads(job: Job) -> Any:
    """Return the key-value heads that ranks exchange, with repeated ones."""
    return repeated_key_heads(_key_heads(job), job.layout.context_inner)
