"""Communication of a transformer's step by group of ranks: messages, bytes, time and exposed time."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.equations.transformer_exchange import (
    activation_message_bytes,
    context_message_bytes,
    dispatch_bytes,
    distinct_destinations,
)
from perfmodel.model.options.layout import ZERO_2, ZERO_3
from perfmodel.model.transformers.job import Job
from perfmodel.model.transformers.layer import any_of, travel_time
from perfmodel.model.transformers.parameters import Values
from perfmodel.model.transformers.scans import context_width
from perfmodel.model.transformers.step import Step, held_parameters, hiding_cost, trained_parameters


class Row(NamedTuple):
    """Communication of one group of ranks in a step."""

    group: str
    """The group: ``tensor``, ``context``, ``experts``, ``stages`` or ``replicas``."""
    collective: str
    ranks: Any
    messages: Any
    """Messages of one rank in a step; with sharded replicas, including gathers of parameters."""
    message_bytes: Any
    """Size of each message [B], as nccl-tests counts it."""
    time: Any
    """Time of all messages without overlap [s]."""
    exposed_time: Any
    """Time added to the step [s]."""


def scaled(row: Row, factor: Any) -> Row:
    """Return a row with its times multiplied by a factor."""
    return row._replace(time=row.time * factor, exposed_time=row.exposed_time * factor)


def traffic_of(job: Job, step: Step, p: Values) -> list[Row]:
    """Return the communication of a step by group, or of many as arrays; single ranks send nothing."""
    layout, model, groups = job.layout, job.model, job.groups
    layers = model.layers / layout.pipeline_parallel * layout.accumulation_steps
    again = layout.recomputed_layers
    copy = activation_message_bytes(job.tokens, model.hidden)
    stage = copy / job.sequence_shards
    kept = context_width(job) / layout.tensor_parallel
    keys = context_message_bytes(layout.micro_batch_size, job.sequence_length, kept)
    expert = layout.expert_parallel
    tokens = dispatch_bytes(stage, distinct_destinations(expert, ops.maximum(model.top_k, 1.0)), expert)
    held = held_parameters(job)
    trained = trained_parameters(job, held)
    gradients = job.stack.gradient_bytes * ops.where(
        layout.sharding == ZERO_3, held.dense + held.experts, trained.dense + trained.experts
    )
    tensor, context = layers * (4 + 2 * again) * (model.parts / 2), layers * (3 + again)
    routed = layers * (1 - model.dense_share) * (4 + 2 * again)
    sends = 2 * layout.virtual_stages * layout.accumulation_steps
    rows = [
        (
            "tensor",
            "all-reduce",
            layout.tensor_parallel,
            tensor,
            copy,
            groups.tensor,
            step.tensor_parallel_time,
        ),
        (
            "context",
            "all-gather",
            layout.context_parallel,
            context,
            keys,
            groups.context,
            step.context_parallel_time,
        ),
        (
            "stages",
            "send-receive",
            layout.pipeline_parallel,
            sends,
            stage,
            groups.stage,
            step.stage_transfer_time,
        ),
    ]
    result = [
        Row(name, collective, ranks, messages, size, messages * travel_time(cost, size, p), exposed)
        for name, collective, ranks, messages, size, cost, exposed in rows
    ]
    shown = 1 - ops.where(job.stack.hides_experts, p["tensor_hidden"], 0.0)
    result.append(
        Row(
            "experts",
            "all-to-all",
            expert,
            routed,
            tokens,
            step.expert_parallel_time / shown,
            step.expert_parallel_time,
        )
    )
    together = "reduce-scatter, all-gather" if any_of(layout.sharding > 0) else "all-reduce"
    hidden = step.contention_time / hiding_cost(job, p)
    where, passes = ops.where, layout.accumulation_steps
    gathers = where(job.stack.keeps_gathered, 1, passes) * where(layout.sharding == ZERO_3, 2, 0)
    messages = where(
        layout.sharding == ZERO_3, gathers + passes, where(layout.sharding == ZERO_2, passes + 1, 2)
    )
    messages = where(layout.sharding > 0, messages, 1)
    whole = step.exposed_communication_time + hidden
    result.append(
        Row(
            "replicas", together, layout.replicas, messages, gradients, whole, step.exposed_communication_time
        )
    )
    return result
