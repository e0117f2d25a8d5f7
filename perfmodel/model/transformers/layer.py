"""One layer of a transformer on one rank: times of computation, launches and communication."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.equations.transformer_exchange import (
    activation_message_bytes,
    beyond_attention_time,
    busy_collective_time,
    context_message_bytes,
    dispatch_bytes,
    dispatch_time,
    distinct_destinations,
    partly_hidden_time,
)
from perfmodel.equations.transformer_pipeline import time_of_parts
from perfmodel.equations.transformer_products import (
    attention_traffic_bytes,
    fused_attention_time,
    gate_traffic_bytes,
    launched_time,
    matrix_product_time,
    mean_over_layers,
    plain_attention_time,
)
from perfmodel.model.options.layout import FULL, SELECTIVE
from perfmodel.model.transformers.hybrid import by_type, mean_of
from perfmodel.model.transformers.job import Job
from perfmodel.model.transformers.machine import NO_COST, CollectiveCost
from perfmodel.model.transformers.parameters import Values
from perfmodel.model.transformers.scans import context_width, mixing_times
from perfmodel.model.transformers.software import CHECKPOINTED, EAGER, PACES

FLASH_KERNELS, PLAIN_KERNELS = 22, 28
"""Kernels of the forward pass of a layer; one more with tensor parallelism."""
ROUTING_KERNELS = 20
EXPERT_KERNELS, EXPERT_KERNELS_8 = 5, 10
"""Kernels of each local expert, in 16 and in 8 bits."""
ADAPTER_KERNELS = 12
"""Kernels of a layer's adapters: two products and an addition for each of four products."""
BACKWARD_KERNELS = 1.6
"""Kernels of the backward pass over those of the forward pass."""
ROUNDING = 1e-12
"""Share of a time below which a waiting time counts as zero."""
AROUND_BYTES, DROPOUT_BYTES = 8, 4
"""Bytes moved for a feature by each part of a layer: a norm with a residual sum; its dropout."""
DISPATCH_START = 24e-6
"""Start time of a dispatch: two small collectives [s]."""


class Rates(NamedTuple):
    """Rates of an accelerator with a software stack."""

    product: Any
    """[FLOP/s]"""
    product_16: Any
    """The same in 16 bits [FLOP/s]."""
    attention: Any
    """Fused attention [FLOP/s]."""
    product_memory: Any
    """[B/s]"""
    elementwise: Any
    """[B/s]"""
    half_depth: Any
    half_columns: Any
    half_work: Any


class Layer(NamedTuple):
    """Times of one layer for one micro-batch, forward and backward together [s]."""

    products: Any
    attention: Any
    elementwise: Any
    recomputation: Any
    """Recomputation, with its communication."""
    launches: Any
    """Gaps between kernels due to the host, and its wait for the number of routed tokens."""
    tensor: Any
    context: Any
    experts: Any
    """Communication of routed tokens."""
    backward: Any
    """Part of the total in the backward pass."""
    gaps_backward: Any
    """Part of the backward pass lost to gaps between kernels."""
    weights: Any
    """Part of the backward pass that computes gradients of weights, which no other stage waits for."""

    @property
    def time(self) -> Any:
        """Forward and backward of one layer [s]."""
        return time_of_parts(
            products=self.products,
            attention=self.attention,
            elementwise=self.elementwise,
            recomputation=self.recomputation,
            launches=self.launches,
            tensor=self.tensor,
            context=self.context,
            experts=self.experts,
        )


def any_of(condition: Any) -> bool:
    """Return whether a condition holds, for an array whether it holds for any job."""
    return bool(condition) if isinstance(condition, (bool, int, float)) else bool(condition.any())


def rates_of(job: Job, p: Values) -> Rates:
    """Return the rates of a job's accelerator with its software."""
    chip, software, where = job.chip, job.stack, ops.where
    xla = where(chip.is_tpu, p["tpu"], p["xla"])
    slower = where(chip.is_blackwell, p["blackwell"], 1.0) * where(software.tuned, 1.0, p["untuned"])
    slower = slower * where(job.model.is_encoder_decoder, p["encoder_decoder"], 1.0)
    for name, factor in (("early", p["early"]), ("eager", p["eager"]), ("deepspeed", p["deepspeed"])):
        slower = slower * where(software.pace == PACES.index(name), factor, 1.0)
    slower = slower * where(software.pace == PACES.index("xla"), xla, 1.0)

    def half(size: str) -> Any:
        return where(chip.on_vector_units, p[f"half_{size}/vector"], p[f"half_{size}/matrix"])

    power = ops.minimum(chip.power, 1.0) ** p["power"]
    product = where(software.in_32_bits, p["product_32"], p["product"]) * power
    able = product / (slower * where(job.model.is_misaligned, p["misaligned"], 1.0))
    in_16 = chip.product_rate * able
    plain = p["flash"] * where(software.biased_attention, p["biased"], 1.0)
    hopper = where(software.newest_flash, p["flash_newest"], p["flash_hopper"])
    return Rates(
        where(software.in_8_bits, chip.product_rate_8 * able * p["product_8"], in_16),
        chip.product_rate * product / slower,
        chip.product_rate * power * where(chip.is_hopper, hopper, plain),
        chip.memory_bandwidth * p["product_memory"],
        chip.memory_bandwidth * p["element_memory"] / slower,
        half("depth") * where(software.in_8_bits, 2.0, 1.0),
        half("columns"),
        half("work"),
    )


def three_products(
    job: Job,
    p: Values,
    rates: Rates,
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


def travel_time(cost: CollectiveCost, message_bytes: Any, p: Values) -> Any:
    """Return the time of a collective of a training step [s]; 0 for a single rank."""
    if cost is NO_COST:
        return 0.0
    return busy_collective_time(message_bytes, *cost, p["inside"], p["between"])


@partial(by_type, merge=mean_of)
def layer_of(job: Job, p: Values, rates: Rates) -> Layer:
    """Return the times of the mean layer, averaged over types, and over layers with and without experts."""
    model, layout, software, where = job.model, job.layout, job.stack, ops.where
    tensor, again = layout.tensor_parallel, layout.recomputed_layers
    tokens, shards = job.tokens, job.sequence_shards
    routed = 1 - model.dense_share
    has_experts = any_of(routed > 0)
    forward, backward = _products(job, p, rates, has_experts)
    core, core_backward = mixing_times(job, p, rates, _attention)
    # element-wise
    inputs = 2 * model.hidden + (model.heads * model.value_size + model.feed_forward) / tensor
    # to cast, scale and transpose operands of 16 bits
    cast = where(software.in_8_bits, tokens * inputs * p["cast"], 0.0)
    around = attention_traffic_bytes(
        tokens,
        model.hidden,
        model.parts * (where(software.dropout, DROPOUT_BYTES, 0) + AROUND_BYTES),
        shards,
        (model.heads + model.kv_heads) * model.head_size / tensor,
    )
    gates = gate_traffic_bytes(tokens, model.matrices - 1, model.feed_forward / tensor)
    moved = (around + model.dense_share * gates) * where(software.fused, p["fusion"], 1.0) * p["element"]
    moved = moved * where(software.unfused, p["unfused"], 1.0) * where(software.activations_in_32, 2.0, 1.0)
    moved = moved + cast * (1 - 0.5 * routed)
    if has_experts:
        moved = moved + routed * _routed_bytes(job, p)
    element = moved / rates.elementwise
    element_backward = p["element_backward"] * element
    # traffic
    one = travel_time(job.groups.tensor, activation_message_bytes(tokens, model.hidden), p)
    exposed = partly_hidden_time(one, where(software.hides_tensor, p["tensor_hidden"], 0.0))
    exposed_tensor = model.parts * exposed
    keys = context_message_bytes(layout.micro_batch_size, job.sequence_length, context_width(job) / tensor)
    ring = travel_time(job.groups.context, keys, p)
    dispatch, waits = 0.0, 0.0
    if has_experts:
        dispatch = routed * _dispatch(job, p)
        waits = routed * where(software.static_dispatch, 0.0, p["routing_host"])
    # recomputation
    device = time_of_parts(products=forward, attention=core, elementwise=element)
    device_backward = time_of_parts(products=backward, attention=core_backward, elementwise=element_backward)
    of_operations = where(software.checkpoints_operations, p["selective"] * forward, 0.0)
    of_core = where(software.flash | software.checkpoints_operations, 0.0, core)
    selected = time_of_parts(operations=of_operations, attention=of_core)
    repeated = where(layout.recompute == SELECTIVE, selected, 0.0)
    repeated = where(layout.recompute == FULL, again * device, repeated)
    # launches
    kernels, floor = _launches(job, p, routed)
    paced = launched_time(device, kernels, floor)
    of_backward = time_of_parts(backward=device_backward, again=repeated)
    paced_backward = launched_time(of_backward, (BACKWARD_KERNELS + again) * kernels, floor)
    gaps, gaps_backward = paced - device, paced_backward - of_backward
    waiting = time_of_parts(forward=gaps, backward=gaps_backward)
    # while the accelerator waits for its host the ring goes on
    window = time_of_parts(attention=core, gaps=gaps)
    context = beyond_attention_time(ring, window, p["context_window"])
    window = time_of_parts(attention=core_backward, gaps=gaps_backward)
    context_backward = beyond_attention_time(2 * ring, window, p["context_window"])
    routed_traffic = 2 * dispatch
    sent = time_of_parts(tensor=exposed_tensor, context=context, experts=routed_traffic, host=waits)
    sent_again = again * sent
    return Layer(
        time_of_parts(forward=forward, backward=backward),
        time_of_parts(forward=core, backward=core_backward),
        time_of_parts(forward=element, backward=element_backward),
        time_of_parts(computed=repeated, sent=sent_again),
        time_of_parts(gaps=where(waiting > ROUNDING * device, waiting, 0.0), routing=2 * waits),
        2 * exposed_tensor,
        time_of_parts(forward=context, backward=context_backward),
        2 * routed_traffic,
        time_of_parts(
            computed=paced_backward,
            tensor=exposed_tensor,
            context=context_backward,
            experts=routed_traffic,
            host=waits,
            again=sent_again,
        ),
        gaps_backward,
        where(software.adapts, 0.0, backward / 2),
    )


def _products(job: Job, p: Values, rates: Rates, has_experts: bool) -> tuple[Any, Any]:
    """Return the times of a layer's products with weights, forward and backward [s]."""
    model, tensor, tokens = job.model, job.layout.tensor_parallel, job.tokens
    heads = model.heads * model.value_size / tensor
    nothing: tuple[Any, Any] = (0.0, 0.0)
    into, out_of, (forward, backward) = nothing, nothing, nothing
    if any_of(model.mixes):
        into = three_products(job, p, rates, tokens, model.hidden, model.projected_width / tensor)
        out_of = three_products(job, p, rates, tokens, heads, model.hidden)
    if any_of(model.feeds):
        forward, backward = _feed_forward(job, p, rates, tokens, model.feed_forward / tensor)
    if has_experts:
        of_experts = _experts(job, p, rates)
        forward = mean_over_layers(model.dense_share, forward, of_experts[0])
        backward = mean_over_layers(model.dense_share, backward, of_experts[1])
    forward = time_of_parts(projections=into[0], output=out_of[0], feed_forward=forward)
    backward = time_of_parts(projections=into[1], output=out_of[1], feed_forward=backward)
    if any_of(job.stack.adapts) and any_of(model.mixes):
        adapters = [ops.where(job.stack.adapts, each, 0.0) for each in _adapters(job, p, rates)]
        forward = time_of_parts(products=forward, adapters=adapters[0])
        backward = time_of_parts(products=backward, adapters=adapters[1])
    return forward, backward


def _adapters(job: Job, p: Values, rates: Rates) -> tuple[Any, Any]:
    """Return the times of the LoRA adapters' products in 16 bits, forward and backward [s]."""
    model, tensor, tokens = job.model, job.layout.tensor_parallel, job.tokens
    rank, heads = ops.maximum(job.stack.adapter_rank, 1.0), model.heads * model.value_size / tensor
    each = model.projected_width / (3 * tensor)
    shapes = ((model.hidden, rank, 3.0), (rank, each, 3.0), (heads, rank, 1.0), (rank, model.hidden, 1.0))
    times = [
        three_products(job, p, rates, tokens, depth, width, count, rates.product_16, frozen=False)
        for depth, width, count in shapes
    ]
    into, to_heads, out_of, to_hidden = times
    forward, backward = (
        time_of_parts(down=into[side], up=to_heads[side], output_down=out_of[side], output_up=to_hidden[side])
        for side in (0, 1)
    )
    return forward, backward


def _feed_forward(
    job: Job, p: Values, rates: Rates, tokens: Any, width: Any, count: Any = 1.0, rate: Any = None
) -> tuple[Any, Any]:
    """Return the times of a feed-forward part's products, forward and backward [s]."""
    hidden, wide = job.model.hidden, (job.model.matrices - 1) * width
    up = three_products(job, p, rates, tokens, hidden, wide, count, rate)
    down = three_products(job, p, rates, tokens, width, hidden, count, rate)
    return time_of_parts(up=up[0], down=down[0]), time_of_parts(up=up[1], down=down[1])


def _experts(job: Job, p: Values, rates: Rates) -> tuple[Any, Any]:
    """Return the times of routed and shared experts, forward and backward [s]; unused without experts."""
    model, tensor, group = job.model, job.layout.tensor_parallel, job.layout.expert_parallel
    experts, width = (ops.maximum(each, 1.0) for each in (model.experts, model.expert_width))
    each = ops.maximum(job.tokens * model.top_k * group / experts, 1e-6)
    routed = _feed_forward(job, p, rates, each, width / tensor, experts / group, rates.product * p["grouped"])
    shared = _feed_forward(job, p, rates, job.tokens, ops.maximum(model.shared_experts, 1.0) * width / tensor)
    forward, backward = (ops.where(model.shared_experts > 0, each, 0.0) for each in shared)
    return (
        time_of_parts(routed=routed[0], shared=forward),
        time_of_parts(routed=routed[1], shared=backward),
    )


def _attention(job: Job, p: Values, rates: Rates) -> tuple[Any, Any]:
    """Return the times of attention scores and weighted sums, forward and backward [s]."""
    model, layout, tokens, length = job.model, job.layout, job.tokens, job.sequence_length
    heads = model.heads / layout.tensor_parallel
    kernel = fused_attention_time(
        tokens, length, heads, model.head_size, model.value_size, model.attended, rates.attention
    )
    one = matrix_product_time(
        length,
        model.head_size,
        length,
        layout.micro_batch_size * heads,
        rates.product_16,
        rates.product_memory,
        job.chip.compute_units,
        rates.half_depth / 2,
        rates.half_columns,
        rates.half_work,
    )
    software, where = job.stack, ops.where
    score = p["score"] * where(software.fused | (software.dropout == 0), 1.0, p["loose_scores"])
    score = score * where(software.unfused, p["unfused"], 1.0) * where(software.in_32_bits, 2.0, 1.0)
    plain = plain_attention_time(one, tokens * length * heads, score, rates.elementwise)
    backward = p["flash_backward"] * kernel, 2 * plain
    return where(software.flash, kernel, plain), where(software.flash, *backward)


def _routed_bytes(job: Job, p: Values) -> Any:
    """Return the bytes that the feed-forward part of a layer with experts moves in the forward pass."""
    model, tensor, tokens = job.model, job.layout.tensor_parallel, job.tokens
    width = model.expert_width / tensor
    gates = gate_traffic_bytes(tokens * (model.top_k + model.shared_experts), model.matrices - 1, width)
    routing = p["routing"] * tokens * model.top_k * model.hidden / job.sequence_shards
    cast = tokens * model.top_k * (model.hidden + width) * p["cast"]
    return gates + routing + ops.where(job.stack.in_8_bits, cast, 0.0)


def _dispatch(job: Job, p: Values) -> Any:
    """Return the exposed time to send the tokens of a layer to their experts [s]."""
    model, layout = job.model, job.layout
    group, shared = layout.expert_parallel, layout.tensor_parallel * layout.context_parallel
    near = ops.minimum(group, ops.maximum(job.domain / shared, 1.0))
    nodes = group / near
    copy = activation_message_bytes(job.tokens, model.hidden) / job.sequence_shards
    time = dispatch_time(
        dispatch_bytes(copy, distinct_destinations(group, model.top_k), group),
        dispatch_bytes(copy, distinct_destinations(nodes, model.top_k), nodes),
        job.inner_bandwidth,
        job.dispatch_bandwidth,
        p["exchange"],
        DISPATCH_START,
    )
    left = partly_hidden_time(time, ops.where(job.stack.hides_experts, p["tensor_hidden"], 0.0))
    return ops.where(group > 1, left, 0.0)


def _launches(job: Job, p: Values, routed: Any) -> tuple[Any, Any]:
    """Return the kernels of a layer's forward pass, and the time to launch one [s]."""
    software, where = job.stack, ops.where
    local = job.model.experts / job.layout.expert_parallel
    each = where(software.in_8_bits, EXPERT_KERNELS_8, EXPERT_KERNELS)
    kernels = where(software.flash, FLASH_KERNELS, PLAIN_KERNELS) + routed * (ROUTING_KERNELS + each * local)
    kernels = kernels * (job.model.parts / 2) + where(job.layout.tensor_parallel > 1, 1, 0)
    kernels = kernels + where(software.adapts, ADAPTER_KERNELS, 0)
    in_python = (software.launch == EAGER) | ((routed > 0) & (software.static_dispatch == 0))
    floor = where(in_python, p["launch"], p["launch_compiled"])
    return kernels, where(software.launch == CHECKPOINTED, p["launch_checkpointed"], floor)
