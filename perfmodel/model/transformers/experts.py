"""Experts of one rank: the tokens that they compute, and the messages that bring these."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.equations.expert_exchange import (
    dispatch_bytes,
    dispatch_time,
    distinct_destinations,
    gathered_token_bytes,
    overlapped_fraction,
    token_message_bytes,
    tokens_of_expert,
    unpaired_in_dualpipe,
)
from perfmodel.equations.transformer_exchange import activation_message_bytes
from perfmodel.equations.transformer_products import gate_traffic_bytes
from perfmodel.model.transformers.job import Job
from perfmodel.model.transformers.parameters import Values

DISPATCH_START = 24e-6
"""Start time of a dispatch: two small collectives [s]."""
FEWEST_TOKENS = 1e-6
"""Least tokens of an expert, which keeps jobs without experts computable."""

UNFUSED_GATES = 10 / 6
"""Bytes of a gate where its activation function is a kernel of its own (4) before the product (6), over those
of one kernel (6)."""


class Products(NamedTuple):
    """Shapes of the products of a rank's routed experts."""

    experts: Any
    """Experts of the rank."""
    tokens: Any
    """Rows of each."""
    width: Any
    """Inner features of each on this rank."""


class Exchange(NamedTuple):
    """Messages of a rank's tokens in the forward pass of a layer with experts; so many again backward."""

    dispatched_bytes: Any
    """To their experts on other ranks [B]."""
    combined_bytes: Any
    """Back [B]."""
    dispatch_time: Any
    combine_time: Any

    @property
    def time(self) -> Any:
        """Both [s]."""
        return self.dispatch_time + self.combine_time


def products_of(job: Job) -> Products:
    """Return the shapes of the routed experts' products on the fullest rank."""
    model, layout = job.model, job.layout
    group, parts = layout.expert_parallel, layout.expert_tensor_parallel
    experts = ops.maximum(model.experts, 1.0)
    degrees = group, parts, layout.tensor_parallel * layout.token_copies, job.stack.expert_load
    tokens = tokens_of_expert(job.tokens, model.top_k, experts, *degrees)
    width = ops.maximum(model.expert_width, 1.0) / parts
    return Products(experts / group, ops.maximum(tokens, FEWEST_TOKENS), width)


def routed_bytes(job: Job, p: Values, cast: Any) -> Any:
    """Return the bytes that the feed-forward part of a layer with experts moves in the forward pass."""
    model, layout, load = job.model, job.layout, job.stack.expert_load
    tensor, tokens = layout.tensor_parallel, job.tokens
    width, copies = model.expert_width / tensor, load * model.top_k
    gates = gate_traffic_bytes(tokens * (copies + model.shared_experts), model.matrices - 1, width)
    gates = gates * ops.where(job.stack.keeps_unfused, UNFUSED_GATES, 1.0)
    routing = p["routing"] * tokens * copies * model.hidden / job.sequence_shards
    inputs = model.hidden * layout.expert_tensor_parallel / tensor + width
    return gates + routing + tokens * copies * inputs * cast


def exchange_of(job: Job, p: Values) -> Exchange:
    """Return what a rank sends to the experts of its tokens and gets back; 0 where experts are not apart.

    A token is sent to each node that has one of its experts, at most as many as routing allows, and from
    there over the fast link to each rank that has one.  Routing allows as many nodes as hold its experts.
    """
    model, layout, where = job.model, job.layout, ops.where
    group = layout.expert_parallel
    near = ops.minimum(group, ops.maximum(job.domain / layout.expert_tensor_parallel, 1.0))
    nodes, top, every = group / near, ops.maximum(model.top_k, 1.0), ops.maximum(model.experts, 1.0)
    allowed = ops.maximum(model.routing_nodes, top * nodes / every)
    reached = where(model.routing_nodes > 0, ops.minimum(nodes, allowed), nodes)
    experts = every * reached / nodes
    ranks_apart = distinct_destinations(reached * near, top, experts)
    nodes_apart = distinct_destinations(reached, top, experts)
    tokens = job.stack.expert_load * job.tokens / job.sequence_shards
    wide = activation_message_bytes(tokens, model.hidden)
    software = job.stack
    narrow = token_message_bytes(tokens, model.hidden, software.operand_bytes, software.scale_bytes)
    narrow = where(software.narrow & software.dispatches_8, narrow, wide)

    def sent(copy: Any) -> tuple[Any, Any]:
        inner, outer = dispatch_bytes(copy, ranks_apart, near), dispatch_bytes(copy, nodes_apart, nodes)
        rates = job.inner_bandwidth, job.dispatch_bandwidth, p["exchange"], DISPATCH_START
        return dispatch_bytes(copy, ranks_apart, group), dispatch_time(inner, outer, *rates)

    (to_experts, going), (back, coming) = sent(narrow), sent(wide)
    sends = (group > 1) & (layout.token_copies == 1)
    return Exchange(*(where(sends, each, 0.0) for each in (to_experts, back, going, coming)))


def counts_on_device(job: Job) -> Any:
    """Return whether the host need not know how many tokens each expert of a rank has.

    Tokens sent to other ranks are counted on the host, as their messages have that length.
    """
    stays = (job.layout.expert_parallel == 1) | (job.layout.token_copies > 1)
    return job.stack.static_dispatch | (job.stack.grouped_experts & stays)


def gathered_tokens(job: Job) -> Any:
    """Return the bytes that ranks with parts of the same experts gather in the forward pass, and sum.

    Ranks that do not share their tokens sum the results of all of them once; so do ranks with other experts
    for the same tokens.
    """
    layout, model = job.layout, job.model
    copy = activation_message_bytes(job.tokens, model.hidden)
    degrees = layout.expert_tensor_parallel, layout.tensor_parallel
    gathered = gathered_token_bytes(copy, job.stack.expert_load * model.top_k, *degrees)
    return ops.where(job.sequence_shards > 1, gathered, copy)


def tensor_sums(job: Job) -> Any:
    """Return the sums over tensor-parallel ranks in the forward pass of the mean layer.

    One is that of attention, and one that of a feed-forward part without experts, or of shared experts.
    """
    routed = 1 - job.model.dense_share
    of_feed_forward = job.model.dense_share + ops.where(job.model.shared_experts > 0, routed, 0.0)
    return (job.model.parts / 2) * (1 + of_feed_forward)


def overlapped_share(job: Job) -> Any:
    """Return the share of micro-batches whose exchange runs next to another one's computation."""
    layout, where = job.layout, ops.where
    stages = layout.pipeline_parallel
    alone = where(layout.copies_of_stage > 1, unpaired_in_dualpipe(stages), stages)
    share = overlapped_fraction(layout.accumulation_steps, alone)
    return where(job.stack.hides_experts, share, 0.0)
