"""Communication of replicas: gradients that they sum, parameters that they gather where they shard them."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.equations.host_copies import host_copy_time
from perfmodel.equations.hybrid_sharding import group_sum_bytes, grouped_traffic_time
from perfmodel.equations.transformer_exchange import beyond_window_time
from perfmodel.equations.transformer_pipeline import sharded_traffic_time, time_of_parts
from perfmodel.model.options.layout import ZERO_2, ZERO_3
from perfmodel.model.transformers.held import Held, gathered_bytes, held_parameters, trained_parameters
from perfmodel.model.transformers.job import Job, any_of
from perfmodel.model.transformers.machine import travel_time
from perfmodel.model.transformers.parameters import Values
from perfmodel.model.transformers.states import all_states


class ReplicaTimes(NamedTuple):
    """Communication of replicas in a step [s]."""

    exposed: Any
    hidden: Any
    host_copies: Any
    """What copies of shards from the host's memory and back add to the exposed communication."""
    own: Any
    """Parameters that a rank updates [1]."""


def replica_communication(job: Job, p: Values, layer_time: Any, backward: Any) -> ReplicaTimes:
    """Return exposed and hidden communication of replicas, and copies from the host's memory.

    Communication hides behind both passes of a layer, or only behind its backward pass.  Copies from the host
    come before the gather of each layer, and all hide behind the same passes.
    """
    layout, software, where = job.layout, job.stack, ops.where
    held = held_parameters(job)
    trained = trained_parameters(job, held)
    groups = job.groups
    stored = gathered_bytes(job, held)
    costs = groups.gather, groups.reduce, groups.copies
    traffic = _replica_time(job, p, stored.dense, trained.dense, layout.shard_ranks, *costs)
    own = trained.dense / where(layout.sharding > 0, layout.shard_ranks, 1)
    if any_of(held.experts > 0):
        shards = layout.expert_shard_ranks
        costs = groups.expert_gather, groups.expert_reduce, groups.expert_copies
        theirs = _replica_time(job, p, stored.experts, trained.experts, shards, *costs)
        traffic = time_of_parts(dense=traffic, experts=where(held.experts > 0, theirs, 0.0))
        own = own + trained.experts / where(layout.sharding > 0, shards, 1.0)
    layers = job.model.layers / layout.pipeline_parallel
    passes = where(layout.sharding > 0, layer_time, backward)
    interleaved = ops.minimum(layout.accumulation_steps, layout.pipeline_parallel)
    passes = where(layout.virtual_stages > 1, layer_time * interleaved, passes)
    further = backward * (layout.accumulation_steps - 1)
    passes = where(layout.sharding == ZERO_2, layer_time + further, passes)
    passes = where(layout.sharding == ZERO_3, layer_time * layout.accumulation_steps, passes)
    window = where(software.hides_data, layers * passes, 0.0)
    last = ops.minimum(_last_gradient_time(job, p), traffic)
    exposed, copies = beyond_window_time(traffic, window, last), 0.0 * traffic
    if any_of(software.host_weights):
        both = time_of_parts(traffic=traffic, copies=_host_copies(job, held))
        with_copies = beyond_window_time(both, window, last)
        copies = where(software.host_weights, with_copies - exposed, copies)
    return ReplicaTimes(exposed, traffic - exposed, copies, own)


def _host_copies(job: Job, held: Held) -> Any:
    """Return the time of all copies of a rank's shards from the host's memory and back, hidden or not [s]."""
    software, where = job.stack, ops.where
    passes = where(software.keeps_gathered, 1, job.layout.accumulation_steps)
    states = all_states(job, held)
    return host_copy_time(
        2 * passes,
        states.weights,
        where(software.scatters_once, 1, passes),
        states.gradients,
        job.host_bandwidth,
    )


def _last_gradient_time(job: Job, p: Values) -> Any:
    """Return the time to send the gradients of the embeddings, ready at the end of the backward pass [s].

    With adapters, embeddings have no gradients.
    """
    layout, software, groups = job.layout, job.stack, job.groups
    last = software.gradient_bytes * job.model.embedding_parameters / layout.tensor_parallel
    scattered, summed = (travel_time(cost, last, p) for cost in (groups.gather, groups.reduce))
    if not ops.holds(layout.shard_group == 0):
        shard = group_sum_bytes(last, layout.shard_ranks)
        scattered = time_of_parts(scatter=scattered, sum=travel_time(groups.copies, shard, p))
    by_sum = (layout.sharding == 0) | ((layout.sharding < ZERO_3) & software.sums_whole_buckets)
    return ops.where(software.adapts, 0.0, ops.where(by_sum, summed, scattered))


def _replica_time(
    job: Job,
    p: Values,
    stored: Any,
    trained: Any,
    shards: Any,
    gather_cost: Any,
    reduce_cost: Any,
    copy_cost: Any,
) -> Any:
    """Return the time of all gradients and parameters sent between replicas, hidden or not [s].

    Parameters
    ----------
    job, p : as for ``step_of``
    stored : bytes of the parameters that a rank gathers under ZeRO 3
    trained : parameters of a rank that have gradients
    shards : replicas that share one copy of sharded states
    gather_cost, reduce_cost, copy_cost : of these replicas; of all; of one replica of each copy
    """
    layout, software, where = job.layout, job.stack, ops.where
    gradients = software.gradient_bytes * trained
    scattered = travel_time(gather_cost, gradients, p)
    gather = travel_time(gather_cost, where(layout.sharding == ZERO_3, stored, 2 * trained), p)
    summed = travel_time(reduce_cost, gradients, p)
    starts = 3 * gather_cost.start_time * (job.model.layers / layout.pipeline_parallel - 1)
    passes = where(software.keeps_gathered, 1, layout.accumulation_steps)
    scatters = where(software.scatters_once, 1, passes)
    zero_3 = sharded_traffic_time(
        gather, scattered * (scatters / passes), passes, where(software.gathers_8, 1, 2), starts
    )
    scatters_2 = where(layout.sharding == ZERO_2, layout.accumulation_steps, 1)
    in_buckets = where(software.sums_whole_buckets, summed, scattered)
    once = sharded_traffic_time(gather, in_buckets, scatters_2, 1 / scatters_2, 0.0)
    sharded = where(layout.sharding == ZERO_3, zero_3, once)
    if not ops.holds(layout.shard_group == 0):
        shard = travel_time(copy_cost, group_sum_bytes(gradients, shards), p)
        sharded = grouped_traffic_time(sharded, shard, group_sums(job), _sums_apart(job))
    return where(layout.sharding > 0, sharded, summed)


def group_sums(job: Job) -> Any:
    """Return how often groups of replicas sum their shards of gradients in a step.

    All-reduces of whole buckets are over the replicas of all groups, which leaves nothing to sum.
    """
    layout, software, where = job.layout, job.stack, ops.where
    once = software.keeps_gathered | software.scatters_once | software.sums_groups_late
    sums = where(once | (layout.sharding < ZERO_2), 1, layout.accumulation_steps)
    return where((layout.sharding < ZERO_3) & software.sums_whole_buckets, 0, sums)


def _sums_apart(job: Job) -> Any:
    """Return whether sums over groups run at once with the traffic inside them: 1, else 0.

    Groups that span nodes use the adapters as their sums do.
    """
    layout = job.layout
    inside = layout.shard_ranks * layout.tensor_parallel <= job.domain
    return ops.where(inside & job.stack.sums_groups_apart, 1, 0)
