"""Time of one training step of a transformer, as a sum of named terms."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.equations.hybrid_sharding import group_sum_bytes, grouped_traffic_time
from perfmodel.equations.interleaved_pipeline import interleaved_bubble_time
from perfmodel.equations.pipeline_schedule import schedule_bubble_time
from perfmodel.equations.transformer_exchange import activation_message_bytes, beyond_window_time
from perfmodel.equations.transformer_pipeline import (
    growth_time,
    mean_stage_time,
    pipelined_time,
    sharded_traffic_time,
    sharded_update_time,
    slowest_stage_time,
    stage_layers_time,
    stage_transfer_time,
    time_of_parts,
)
from perfmodel.equations.unequal_pipeline import unequal_bubble_time
from perfmodel.model.options.layout import ZERO_2, ZERO_3
from perfmodel.model.transformers.frozen import layer_adapters
from perfmodel.model.transformers.job import Job
from perfmodel.model.transformers.layer import (
    Layer,
    Rates,
    any_of,
    rates_of,
)
from perfmodel.model.transformers.machine import travel_time
from perfmodel.model.transformers.paired import hiding_cost, layer_of
from perfmodel.model.transformers.parameters import Values
from perfmodel.model.transformers.products import three_products
from perfmodel.model.transformers.tower import frozen_parameters, tower_of, tower_parameters

EMBEDDING_BYTES = 12
"""Bytes moved for a feature of the embeddings, or of the norm before the logits."""
AUTOCAST_BYTES, AUTOCAST_STEP_BYTES = 12, 30
"""Bytes of a parameter: to cast fp32 weights for a micro-batch; moved by a loop over tensors per step."""


class Step(NamedTuple):
    """Exposed times of one step [s]; they sum to the iteration time."""

    products_time: Any
    attention_time: Any
    elementwise_time: Any
    launch_overhead_time: Any
    recomputation_time: Any
    logits_time: Any
    """Logits with embeddings and loss."""
    tensor_parallel_time: Any
    """Exposed communication of tensor parallelism."""
    context_parallel_time: Any
    expert_parallel_time: Any
    unequal_stages_time: Any
    """Time of the slowest stage beyond the mean stage."""
    bubble_time: Any
    stage_transfer_time: Any
    exposed_communication_time: Any
    """Communication of gradients and sharded parameters not hidden by computation."""
    contention_time: Any
    """Slowdown of computation by hidden communication."""
    update_time: Any
    iteration_overhead_time: Any
    """Fixed overhead of a step."""
    node_growth_time: Any
    """Node-count penalty."""

    @property
    def iteration_time(self) -> Any:
        """Sum of all terms [s]."""
        return sum(self)


def step_of(job: Job, p: Values, layer: Layer | None = None) -> Step:
    """Return the terms of one step, or of many.

    Parameters
    ----------
    job : numbers, or arrays of shape (jobs,)
    p : ``PARAMETERS`` by name
    layer : times of its layer, if already computed
    """
    layout, model, where = job.layout, job.model, ops.where
    rates = rates_of(job, p)
    layer = layer_of(job, p, rates) if layer is None else layer
    stages, steps = layout.pipeline_parallel, layout.accumulation_steps
    logits, embedding = head_times(job, p, rates)
    layer_time, head = layer.time, time_of_parts(logits=logits, embedding=embedding)
    mean, first, equal = mean_stage_time(model.layers, stages, layer_time, head), embedding, None
    tower = tower_of(job, p)
    if job.model.tower is not None:  # on the first stage, as embeddings are
        equal = mean + tower.time
        first = time_of_parts(embedding=embedding, tower=tower.time)
        mean = mean + tower.time / stages
    slowest = slowest_stage_time(model.layers, stages, layer_time, logits, first, layout.end_slots)
    unequal = (stages > 1) & (layout.splits_backward == 0)
    slowest = where(unequal, ops.maximum(slowest, mean), mean if equal is None else equal)
    bubble = _bubble(job, layer, logits, first, mean, slowest)
    message = activation_message_bytes(job.tokens, model.hidden) / job.sequence_shards
    send = travel_time(job.groups.stage, message, p)
    sends = stage_transfer_time(steps, stages, layout.virtual_stages, send, p["send_exposed"])
    exposed, hidden, own = _replica_communication(job, p, layer_time, layer.backward)
    update = update_time(job, p, rates, own)
    overhead = where(job.stack.slow_start, p["step_slow"], p["step"])
    contention = hiding_cost(job, p) * hidden
    work = time_of_parts(
        passes=pipelined_time(steps, slowest, bubble),
        stage_sends=sends,
        data=exposed,
        contention=contention,
        update=update,
        overhead=overhead,
    )

    def of_layers(time: Any) -> Any:
        return stage_layers_time(steps, model.layers, stages, time)

    def with_images(time: Any, of_tower: Any) -> Any:
        both = of_layers(time)
        return both if job.model.tower is None else both + stage_layers_time(steps, 1, stages, of_tower)

    return Step(
        products_time=with_images(layer.products, tower.products),
        attention_time=with_images(layer.attention, tower.attention),
        elementwise_time=with_images(layer.elementwise, tower.elementwise),
        launch_overhead_time=with_images(layer.launches, tower.launches),
        recomputation_time=with_images(layer.recomputation, tower.recomputation),
        logits_time=stage_layers_time(steps, 1, stages, head),
        tensor_parallel_time=with_images(layer.tensor, tower.tensor),
        context_parallel_time=of_layers(layer.context),
        expert_parallel_time=of_layers(layer.experts),
        unequal_stages_time=steps * (slowest - mean),
        bubble_time=bubble,
        stage_transfer_time=sends,
        exposed_communication_time=exposed,
        contention_time=contention,
        update_time=update,
        iteration_overhead_time=overhead,
        node_growth_time=growth_time(work, p["nodes"], ops.maximum(job.nodes, 1.0)),
    )


def _bubble(job: Job, layer: Layer, logits: Any, embedding: Any, mean: Any, slowest: Any) -> Any:
    """Return the time that the slowest stage waits in a step [s].

    Where backward passes are split, it includes the time by which stages are longer than the mean.
    """
    layout, layers, where = job.layout, job.model.layers, ops.where
    stages, chunks, steps = layout.pipeline_parallel, layout.virtual_stages, layout.accumulation_steps
    piped, in_two = stages > 1, layout.splits_backward
    interleaves = (chunks > 1) & piped & (in_two == 0)
    plain = piped & (interleaves == 0) & (in_two == 0)
    forward = layer.time - layer.backward
    waits: Any = 0.0
    if any_of(plain):
        unequal = unequal_bubble_time(
            layers,
            where(plain, stages, 1),
            steps,
            layer.time,
            forward,
            logits,
            embedding,
            slowest,
            layout.end_slots,
        )
        waits = where(plain, unequal, waits)
    if any_of(in_two):
        split = schedule_bubble_time(
            layout.schedule,
            layers,
            where(in_two, stages, 1),
            chunks,
            steps,
            layer.time,
            forward,
            layer.weights,
            logits,
            mean,
            embedding,
            layout.end_slots,
        )
        waits = where(in_two, split, waits)
    if any_of(interleaves):
        interleaved = interleaved_bubble_time(
            layers,
            stages,
            where(interleaves, chunks, 1),
            steps,
            layer.time,
            forward,
            logits,
            slowest,
            embedding,
            layout.end_slots,
        )
        waits = where(interleaves, interleaved, waits)
    return waits


def head_times(job: Job, p: Values, rates: Rates) -> tuple[Any, Any]:
    """Return the times of logits with loss, and of embeddings, for one micro-batch [s]."""
    model, tensor = job.model, job.layout.tensor_parallel
    tokens = job.tokens * model.predicted_share
    words = model.vocabulary / tensor
    forward, backward = three_products(job, p, rates, tokens, model.hidden, words)
    products = time_of_parts(forward=forward, backward=backward)
    odd = model.has_odd_vocabulary & (tensor == 1) & (job.stack.pads_vocabulary == 0)
    products = ops.where(odd, p["odd_vocabulary"], 1.0) * products
    loss = tokens * (p["logit"] * words + EMBEDDING_BYTES * model.hidden) / rates.elementwise
    embedding = job.tokens * EMBEDDING_BYTES * model.hidden / rates.elementwise
    return time_of_parts(products=products, loss=loss), embedding


class Held(NamedTuple):
    """Parameters of one rank: those common to all replicas, and those of its experts."""

    dense: Any
    experts: Any


def held_parameters(job: Job, layers: Any = None, towers: Any = None, tables: Any = None) -> Held:
    """Return the parameters that the fullest rank computes with.

    Parameters
    ----------
    job : one job, or many as arrays
    layers : of the rank's stage; by default the mean of all stages
    towers : encoders of images on the rank's stage, 1 or 0; by default the mean of all stages
    tables : tables of words that the stage holds; by default those of the fullest one
    """
    tables = tables_of_stage(job) if tables is None else tables
    model, layout = job.model, job.layout
    routed = 1 - model.dense_share
    each = model.attention_parameters + model.dense_share * model.dense_parameters
    each = each + routed * (model.shared_experts * model.expert_parameters + model.hidden * model.experts)
    layers = model.layers / layout.pipeline_parallel if layers is None else layers
    layers = layout.copies_of_stage * layers
    dense = (layers * each + tables * model.embedding_parameters) / layout.tensor_parallel
    if model.tower is not None:
        towers = 1 / layout.pipeline_parallel if towers is None else towers
        dense = dense + tower_parameters(job, towers)
    of_experts = layers * routed * model.experts * model.expert_parameters
    return Held(dense, of_experts / (layout.expert_tensor_parallel * layout.expert_parallel))


def gathered_bytes(job: Job, held: Held) -> Held:
    """Return the bytes in which a rank's parameters travel and are computed with [B].

    16 bits, but those of quantized products, which are expanded where they are used.
    """
    each = ops.where(job.stack.adapts, job.stack.frozen_bytes, 2.0)
    tables = tables_of_stage(job) * job.model.embedding_parameters / job.layout.tensor_parallel
    return Held(2 * held.dense - (2 - each) * (held.dense - tables), each * held.experts)


def tables_of_stage(job: Job) -> Any:
    """Return the tables of words that the fullest stage holds: embeddings, logits or both."""
    layout = job.layout
    apart = (layout.pipeline_parallel > 1) & (layout.returns_to_first == 0)
    return ops.where(apart, 1.0, job.model.embeddings)


def trained_parameters(job: Job, held: Held, layers: Any = None, towers: Any = None) -> Held:
    """Return the trained parameters of a rank: all it holds, or LoRA adapters.

    Parameters
    ----------
    job, layers, towers : as for ``held_parameters``
    held : result of ``held_parameters``
    """
    model, layout, software = job.model, job.layout, job.stack
    if model.tower is not None:
        towers = 1 / layout.pipeline_parallel if towers is None else towers
        held = held._replace(dense=held.dense - frozen_parameters(job, towers))
    if not any_of(software.adapts):
        return held
    layers = model.layers / layout.pipeline_parallel if layers is None else layers
    layers = layout.copies_of_stage * layers
    of_all, of_expert = layer_adapters(model, software.adapted, software.adapter_rank)
    adapters = layers * of_all / layout.tensor_parallel
    routed = layers * (1 - model.dense_share) * model.experts * of_expert
    of_experts = routed / (layout.tensor_parallel * layout.expert_parallel)
    return Held(
        ops.where(software.adapts, adapters, held.dense),
        ops.where(software.adapts, of_experts, held.experts),
    )


def _replica_communication(job: Job, p: Values, layer_time: Any, backward: Any) -> tuple[Any, Any, Any]:
    """Return exposed and hidden communication of replicas [s], and the parameters that a rank updates.

    Communication hides behind both passes of a layer, or only behind its backward pass.
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
    exposed = beyond_window_time(traffic, window, ops.minimum(_last_gradient_time(job, p), traffic))
    return exposed, traffic - exposed, own


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


def update_time(job: Job, p: Values, rates: Rates, own: Any) -> Any:
    """Return the time of the optimizer for ``own`` parameters of a rank, on accelerator or host [s]."""
    software, where = job.stack, ops.where
    cast = AUTOCAST_STEP_BYTES + AUTOCAST_BYTES * job.layout.accumulation_steps
    moved = p["update"] * software.update_share + software.added_gradient_bytes
    moved = moved + where(software.casts_weights, cast, 0.0)
    on_device = sharded_update_time(own, moved, rates.elementwise)
    return where(software.host_update, own * p["host_update"], on_device)
