"""Communication of a transformer's step by group of ranks: messages, bytes, time and exposed time."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.equations.transformer_exchange import activation_message_bytes, context_message_bytes
from perfmodel.model.options.layout import ZERO_2, ZERO_3
from perfmodel.model.transformers.experts import exchange_of, tensor_sums
from perfmodel.model.transformers.experts import gathered_bytes as gathered_token_bytes
from perfmodel.model.transformers.job import Job
from perfmodel.model.transformers.layer import any_of, travel_time
from perfmodel.model.transformers.paired import hiding_cost
from perfmodel.model.transformers.parameters import Values
from perfmodel.model.transformers.step import Step, gathered_bytes, held_parameters, trained_parameters


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
    kept = model.kv_heads * model.head_size / layout.tensor_parallel
    keys = context_message_bytes(layout.micro_batch_size, job.sequence_length, kept)
    held = held_parameters(job)
    trained = trained_parameters(job, held)
    gradients = job.stack.gradient_bytes * ops.where(
        layout.sharding == ZERO_3, sum(gathered_bytes(job, held)) / 2, trained.dense + trained.experts
    )
    tensor, context = layers * tensor_sums(job) * (2 + again), layers * (3 + again)
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
    if any_of(model.dense_share < 1):
        result += _of_experts(job, step, p, layers * (1 - model.dense_share) * (2 + again))
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


def _of_experts(job: Job, step: Step, p: Values, passes: Any) -> list[Row]:
    """Return the exchange with experts, and what ranks with parts of the same experts gather and sum.

    Parameters
    ----------
    job, step, p : as for ``traffic_of``
    passes : through layers with experts, forward, backward and again
    """
    layout, exchange, gathered = job.layout, exchange_of(job, p), gathered_token_bytes(job)
    each = (exchange.dispatched_bytes + exchange.combined_bytes) / 2
    summed = passes * travel_time(job.groups.expert_tensor, gathered, p)
    parts = layout.expert_tensor_parallel
    shown = step.expert_parallel_time - summed
    return [
        Row("experts", "all-to-all", layout.expert_parallel, 2 * passes, each, passes * exchange.time, shown),
        Row("expert parts", "all-reduce", parts, passes, gathered, summed, summed),
    ]
