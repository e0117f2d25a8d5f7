"""Time of one training step of a transformer, as a sum of named terms."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.equations.interleaved_pipeline import interleaved_bubble_time
from perfmodel.equations.pipeline_schedule import schedule_bubble_time
from perfmodel.equations.transformer_exchange import activation_message_bytes
from perfmodel.equations.transformer_pipeline import (
    growth_time,
    mean_stage_time,
    pipelined_time,
    sharded_update_time,
    slowest_stage_time,
    stage_layers_time,
    stage_transfer_time,
    time_of_parts,
)
from perfmodel.equations.unequal_pipeline import unequal_bubble_time
from perfmodel.model.options.layout import Layout
from perfmodel.model.transformers.job import Job, any_of
from perfmodel.model.transformers.layer import (
    Layer,
    Rates,
    rates_of,
    wide_rates,
)
from perfmodel.model.transformers.leading import LayerPasses, stage_layers
from perfmodel.model.transformers.machine import travel_time
from perfmodel.model.transformers.paired import hiding_cost, layer_of
from perfmodel.model.transformers.parameters import Values
from perfmodel.model.transformers.products import three_products
from perfmodel.model.transformers.replicas import replica_communication
from perfmodel.model.transformers.tower import tower_of

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
    host_copy_time: Any
    """Copies of shards between the memory of the host and the accelerator not hidden by computation."""
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


def step_of(job: Job, p: Values, layer: Layer | None = None, least: bool = False) -> Step:
    """Return the terms of one step, or of many.

    Parameters
    ----------
    job : numbers, or arrays of shape (jobs,)
    p : ``PARAMETERS`` by name
    layer : times of its layer, if already computed
    least : leave out the bubble of interleaved pipelines, which no step is shorter than without
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
    of_stage, leading = stage_layers(job, p, rates, layer)
    begins = model.first_dense, leading.time
    slowest = slowest_stage_time(
        model.layers, stages, of_stage.time, logits, first, layout.end_slots, *begins
    )
    unequal = (stages > 1) & (layout.splits_backward == 0)
    slowest = where(unequal, ops.maximum(slowest, mean), mean if equal is None else equal)
    bubble = _bubble(job, of_stage, leading, logits, first, mean, slowest, least)
    message = activation_message_bytes(job.tokens, model.hidden) / job.sequence_shards
    send = travel_time(job.groups.stage, message, p)
    # DualPipe sends while pairs of passes compute (DeepSeek-AI 2024, section 3.2.1)
    shown = where(layout.copies_of_stage > 1, 0.0, p["send_exposed"])
    sends = stage_transfer_time(steps, stages, layout.virtual_stages, send, shown)
    exposed, hidden, copies, own = replica_communication(job, p, layer_time, layer.backward)
    update = update_time(job, p, rates, own)
    overhead = overhead_time(job, p)
    contention = hiding_cost(job, p) * hidden
    work = time_of_parts(
        passes=pipelined_time(steps, slowest, bubble),
        stage_sends=sends,
        data=exposed,
        host_copies=copies,
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
        host_copy_time=copies,
        contention_time=contention,
        update_time=update,
        iteration_overhead_time=overhead,
        node_growth_time=growth_time(work, p["nodes"], ops.maximum(job.nodes, 1.0)),
    )


def interleaved(layout: Layout) -> Any:
    """Return whether stages have several chunks that take turns, and backward passes are whole."""
    return (layout.virtual_stages > 1) & (layout.pipeline_parallel > 1) & (layout.splits_backward == 0)


def _bubble(
    job: Job,
    layer: LayerPasses,
    leading: LayerPasses,
    logits: Any,
    embedding: Any,
    mean: Any,
    slowest: Any,
    least: bool,
) -> Any:
    """Return the time that the slowest stage waits in a step [s].

    Where backward passes are split, it includes the time by which stages are longer than the mean.

    Parameters
    ----------
    job : one job, or many as arrays
    layer, leading : of a layer, and of one of the first layers without experts
    logits, embedding, mean, slowest : times of the ends, of the mean stage and of the slowest one [s]
    least : as of ``step_of``
    """
    layout, layers, where = job.layout, job.model.layers, ops.where
    stages, chunks, steps = layout.pipeline_parallel, layout.virtual_stages, layout.accumulation_steps
    piped, in_two, interleaves = stages > 1, layout.splits_backward, interleaved(layout)
    plain = piped & (interleaves == 0) & (in_two == 0)
    forward, waits = layer.forward, 0.0 * layer.time
    first = job.model.first_dense
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
            first,
            leading.time,
            leading.forward,
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
            first,
            *leading,
        )
        waits = where(in_two, split, waits)
    if not least and any_of(interleaves):
        of_chunks = interleaved_bubble_time(
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
            first,
            leading.time,
        )
        waits = where(interleaves, of_chunks, waits)
    return waits


def head_times(job: Job, p: Values, rates: Rates) -> tuple[Any, Any]:
    """Return the times of logits with loss, and of embeddings, for one micro-batch [s]."""
    model, tensor = job.model, job.layout.tensor_parallel
    tokens = job.predicted_tokens
    words = model.vocabulary / tensor
    shape = tokens, model.hidden, words
    forward, backward = three_products(job, p, rates, *shape)
    products = time_of_parts(forward=forward, backward=backward)
    if any_of(job.stack.wide_share > 0):
        forward, backward = three_products(job, p, wide_rates(job, p), *shape)
        wide = time_of_parts(forward=forward, backward=backward)
        products = ops.where(job.stack.wide_share > 0, wide, products)
    odd = model.has_odd_vocabulary & (tensor == 1) & (job.stack.pads_vocabulary == 0)
    products = ops.where(odd, p["odd_vocabulary"], 1.0) * products
    loss = tokens * (p["logit"] * words + EMBEDDING_BYTES * model.hidden) / rates.elementwise
    embedding = job.tokens * EMBEDDING_BYTES * model.hidden / rates.elementwise
    return time_of_parts(products=products, loss=loss), embedding


def overhead_time(job: Job, p: Values) -> Any:
    """Return the fixed overhead of a step, which a graph of the whole iteration does not have [s]."""
    software, where = job.stack, ops.where
    return where(software.whole_graph, 0.0, where(software.slow_start, p["step_slow"], p["step"]))


def update_time(job: Job, p: Values, rates: Rates, own: Any) -> Any:
    """Return the time of the optimizer for ``own`` parameters of a rank, on accelerator or host [s]."""
    software, where = job.stack, ops.where
    cast = AUTOCAST_STEP_BYTES + AUTOCAST_BYTES * job.layout.accumulation_steps
    moved = p["update"] * software.update_share + software.added_gradient_bytes
    moved = moved + where(software.casts_weights, cast, 0.0)
    on_device = sharded_update_time(own, moved, rates.elementwise)
    return where(software.host_update, own * p["host_update"], on_device)
