"""Traffic of context parallelism in one layer: what its ranks exchange, and what attention hides of it."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.equations.context_exchange import (
    head_exchange_bytes,
    repeated_head_bytes,
    repeated_key_heads,
    ring_head_share,
)
from perfmodel.equations.transformer_exchange import beyond_attention_time, context_message_bytes
from perfmodel.equations.transformer_pipeline import time_of_parts
from perfmodel.model.options.layout import ALL_GATHER
from perfmodel.model.transformers.job import Job
from perfmodel.model.transformers.machine import travel_time
from perfmodel.model.transformers.parameters import Values
from perfmodel.model.transformers.scans import context_width

EXCHANGED = 4
"""Tensors that change from positions to heads, or back, in a pass: queries, keys, values and output."""


class Exchange(NamedTuple):
    """Exposed communication of context parallelism in one layer [s]."""

    forward: Any
    backward: Any


def exposed_exchange(job: Job, p: Values, window: Any, backward_window: Any) -> Exchange:
    """Return the exposed exchange of keys, values and heads of one layer for one micro-batch.

    A ring runs during attention, and twice in the backward pass, for keys and values and for their gradients;
    a gather comes before attention, and all-to-alls before and after it.

    Parameters
    ----------
    window, backward_window : time of attention in each pass, with the gaps next to it
    """
    ring = travel_time(job.groups.context, key_bytes(job), p)
    within = ops.where(job.layout.context_method == ALL_GATHER, 0.0, p["context_window"])
    forward = beyond_attention_time(ring, window, within)
    backward = beyond_attention_time(2 * ring, backward_window, within)
    if not exchanges_heads(job):
        return Exchange(forward, backward)
    heads = EXCHANGED * travel_time(job.groups.context_heads, tensor_bytes(job), p)
    return Exchange(time_of_parts(ring=forward, heads=heads), time_of_parts(ring=backward, heads=heads))


def exchanges_heads(job: Job) -> bool:
    """Return whether context-parallel ranks of any job exchange heads."""
    return not ops.holds(job.layout.context_inner == 1)


def key_bytes(job: Job) -> Any:
    """Return the bytes of keys and values of whole sequences that travel to each rank [B]."""
    layout = job.layout
    width = context_width(job) / layout.tensor_parallel
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
