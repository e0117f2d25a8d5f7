"""Communication of a transformer's step by group of ranks: messages, bytes, time and exposed time."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.equations.hybrid_sharding import group_sum_bytes
from perfmodel.equations.transformer_exchange import activation_message_bytes
from perfmodel.model.options.layout import ZERO_2, ZERO_3
from perfmodel.model.transformers.context import EXCHANGED, exchanges_heads, key_bytes, tensor_bytes
from perfmodel.model.transformers.experts import exchange_of, gathered_tokens, tensor_sums
from perfmodel.model.transformers.held import gathered_bytes, held_parameters, trained_parameters
from perfmodel.model.transformers.job import Job, any_of
from perfmodel.model.transformers.machine import travel_time
from perfmodel.model.transformers.paired import hiding_cost
from perfmodel.model.transformers.parameters import Values
from perfmodel.model.transformers.replicas import group_sums
from perfmodel.model.transformers.step import Step


class Row(NamedTuple):
    """Communication of one group of ranks in a step."""

    group: str
    """The group: ``tensor``, ``context``, ``heads``, ``experts``, ``stages``, ``replicas`` or ``copies``."""
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
    keys = key_bytes(job)
    held = held_parameters(job)
    trained = trained_parameters(job, held)
    gradients = job.stack.gradient_bytes * ops.where(
        layout.sharding == ZERO_3, sum(gathered_bytes(job, held)) / 2, trained.dense + trained.experts
    )
    tensor, context = layers * tensor_sums(job) * (2 + again), layers * (3 + again)
    sends = 2 * layout.virtual_stages * layout.accumulation_steps
    of_heads = _of_heads(job, layers, p) if exchanges_heads(job) else []
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
            layout.context_ring,
            context,
            keys,
            groups.context,
            step.context_parallel_time - sum(row.exposed_time for row in of_heads),
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
    result += of_heads
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
    row = Row(
        "replicas", together, layout.shard_ranks, messages, gradients, whole, step.exposed_communication_time
    )
    if ops.holds(layout.shard_group == 0):
        return [*result, row]
    return [*result, *_of_copies(job, row, p)]


def _of_experts(job: Job, step: Step, p: Values, passes: Any) -> list[Row]:
    """Return the exchange with experts, and what ranks with parts of the same experts gather and sum.

    Ranks with other experts for the same tokens exchange none, but sum as those with parts do.

    Parameters
    ----------
    job, step, p : as for ``traffic_of``
    passes : through layers with experts, forward, backward and again
    """
    layout, exchange, gathered = job.layout, exchange_of(job, p), gathered_tokens(job)
    each = (exchange.dispatched_bytes + exchange.combined_bytes) / 2
    summed = passes * travel_time(job.groups.expert_tensor, gathered, p)
    parts = layout.expert_tensor_parallel * layout.token_copies
    apart = layout.expert_parallel / layout.token_copies
    of_parts = summed * 2 / (2 + layout.recomputed_layers)  # what is summed again counts as recomputation
    shown = step.expert_parallel_time - of_parts
    return [
        Row("experts", "all-to-all", apart, 2 * passes, each, passes * exchange.time, shown),
        Row("expert parts", "all-reduce", parts, passes, gathered, summed, of_parts),
    ]


def _of_heads(job: Job, layers: Any, p: Values) -> list[Row]:
    """Return the exchange of heads between context-parallel neighbours."""
    layout, size = job.layout, tensor_bytes(job)
    passes = layers * EXCHANGED * 2
    count = passes + layers * EXCHANGED * layout.recomputed_layers
    each = travel_time(job.groups.context_heads, size, p)
    return [Row("heads", "all-to-all", layout.context_inner, count, size, count * each, passes * each)]


def _of_copies(job: Job, row: Row, p: Values) -> list[Row]:
    """Return the traffic of replicas inside groups, and that between groups, which sum their shards.

    What is exposed is divided by the time that each takes on its own.
    """
    layout, groups = job.layout, job.groups
    shard = group_sum_bytes(row.message_bytes, layout.shard_ranks)
    sums = group_sums(job)
    between = sums * travel_time(groups.copies, shard, p)
    share = between / ops.maximum(
        between + row.messages * travel_time(groups.gather, row.message_bytes, p), 1e-30
    )
    inside = row._replace(time=row.time * (1 - share), exposed_time=row.exposed_time * (1 - share))
    copies = Row(
        "copies", "all-reduce", layout.shard_copies, sums, shard, row.time * share, row.exposed_time * share
    )
    return [inside, copies]
