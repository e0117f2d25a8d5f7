"""One layer of a transformer on one rank: times of computation, launches and communication."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.equations.host_pace import ROUNDING, launches_time
from perfmodel.equations.transformer_exchange import (
    activation_message_bytes,
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
from perfmodel.model.transformers.context import exposed_exchange, merging_times
from perfmodel.model.transformers.experts import (
    UNFUSED_GATES,
    counts_on_device,
    exchange_of,
    gathered_tokens,
    products_of,
    routed_bytes,
    tensor_sums,
)
from perfmodel.model.transformers.hybrid import by_type, mean_of
from perfmodel.model.transformers.job import Job, any_of
from perfmodel.model.transformers.low_precision import cast_bytes, half_depth
from perfmodel.model.transformers.machine import travel_time
from perfmodel.model.transformers.parameters import Values
from perfmodel.model.transformers.products import adapter_times, added_kernels, expansion_time, three_products
from perfmodel.model.transformers.recomputed import modules_time, names_modules, selects
from perfmodel.model.transformers.scans import mixing_times
from perfmodel.model.transformers.software import CHECKPOINTED, EAGER, PACES

PLAIN_KERNELS = 6
"""Kernels of unfused attention beyond those of fused attention."""
KERNELS_IN_8 = 2
"""Kernels of an expert in 8 bits over those in 16."""
BACKWARD_KERNELS = 1.6
"""Kernels of the backward pass over those of the forward pass."""
WRITTEN_BY_PRODUCT = 1 / 3
"""Share of an activation function's traffic that is left where the product before it computes it: of reading
an inner feature twice and writing it once, the write of what its gradient needs, and in the backward pass its
read (the auxiliary output of cuBLASLt's epilogues)."""
AROUND_BYTES, DROPOUT_BYTES = 8, 4
"""Bytes moved for a feature by each part of a layer: a norm with a residual sum; its dropout."""
UNFUSED_NORM_BYTES = 32
"""Bytes more where each operation of an RMSNorm is a kernel: to fp32 (6), square (8), mean (4), scale (8),
back to 16 bits (6), weight (4), instead of 4."""


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
    cast: Any
    """Traffic to cast a value of an operand [B]; 0 in 16 bits."""


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
    """Part of the backward pass lost to gaps between kernels, and to the host that routes tokens."""
    weights: Any
    """Part of the backward pass that computes gradients of weights, which no other stage waits for."""
    sent: Any
    """Part of ``experts`` that a pass of another micro-batch can hide."""

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
        where(software.narrow, chip.product_rate_narrow * able * p["product_8"], in_16),
        chip.product_rate * product / slower,
        chip.product_rate * power * where(chip.is_hopper, hopper, plain) * software.flash_rate,
        chip.memory_bandwidth * p["product_memory"],
        chip.memory_bandwidth * p["element_memory"] / slower,
        half_depth(software, half("depth")),
        half("columns"),
        half("work"),
        (1 - software.wide_share) * cast_bytes(software, p),
    )


def wide_rates(job: Job, p: Values) -> Rates:
    """Return the rates of products that take operands of 16 bits where others take fewer."""
    return rates_of(job._replace(stack=job.stack._replace(narrow=False)), p)


@partial(by_type, merge=mean_of)
def layer_alone(job: Job, p: Values, rates: Rates) -> Layer:
    """Return the times of the mean layer of a micro-batch next to which no other is computed."""
    model, layout, software, where = job.model, job.layout, job.stack, ops.where
    tensor, again = layout.tensor_parallel, layout.recomputed_layers
    tokens, shards = job.tokens, job.sequence_shards
    routed = 1 - model.dense_share
    has_experts = any_of(routed > 0)
    forward, backward = _products(job, p, rates, has_experts)
    if any_of(software.wide_share > 0):
        wide = _products(job, p, wide_rates(job, p), has_experts)
        share = software.wide_share
        forward, backward = share * wide[0] + (1 - share) * forward, share * wide[1] + (1 - share) * backward
    core, core_backward = mixing_times(job, p, rates, _attention)
    # element-wise
    inputs = 2 * model.hidden + (model.heads * model.value_size + model.feed_forward) / tensor
    cast = tokens * inputs * rates.cast
    of_norm = where(software.keeps_unfused, UNFUSED_NORM_BYTES, 0)
    around = attention_traffic_bytes(
        tokens,
        model.hidden,
        model.parts * (where(software.dropout, DROPOUT_BYTES, 0) + AROUND_BYTES + of_norm),
        shards,
        (model.heads + model.kv_heads) * model.head_size / tensor,
    )
    gates = gate_traffic_bytes(tokens, model.matrices - 1, model.feed_forward / tensor)
    gates = gates * where(software.keeps_unfused, UNFUSED_GATES, 1.0)
    gates = gates * where(software.fused_activations, WRITTEN_BY_PRODUCT, 1.0)
    factor = where(software.fused, p["fusion"], 1.0) * p["element"]
    factor = factor * where(software.unfused, p["unfused"], 1.0) * where(software.activations_in_32, 2.0, 1.0)
    moved = (around + model.dense_share * gates) * factor
    moved = moved + cast * (1 - 0.5 * routed)
    if has_experts:
        moved = moved + routed * routed_bytes(job, p, rates.cast)
    element = moved / rates.elementwise
    element_backward = p["element_backward"] * element
    if any_of(software.expansion_kernels > 0):
        expansion = where(software.adapts, expansion_time(job, rates), 0.0)
        element = time_of_parts(elements=element, expansion=expansion)
        element_backward = time_of_parts(elements=element_backward, expansion=expansion)
    if any_of(software.attends_in_turn) and any_of(layout.context_parallel > 1):
        merging = merging_times(job, rates.elementwise)
        element = time_of_parts(elements=element, merging=merging.forward)
        element_backward = time_of_parts(elements=element_backward, merging=merging.backward)
    # traffic
    one = travel_time(job.groups.tensor, activation_message_bytes(tokens, model.hidden), p)
    hidden = partly_hidden_time(one, where(software.hides_tensor, p["tensor_hidden"], 0.0))
    exposed_tensor = tensor_sums(job) * hidden
    sent: Any = 0.0
    routed_traffic: Any = 0.0
    waits: Any = 0.0
    if has_experts:
        sent = routed * exchange_of(job, p).time
        gathered = travel_time(job.groups.expert_tensor, gathered_tokens(job), p)
        routed_traffic = time_of_parts(sent=sent, gathered=routed * gathered)
        waits = routed * where(counts_on_device(job), 0.0, p["routing_host"])
    # recomputation
    device = time_of_parts(products=forward, attention=core, elementwise=element)
    device_backward = time_of_parts(products=backward, attention=core_backward, elementwise=element_backward)
    of_operations = where(software.checkpoints_operations, p["selective"] * forward, 0.0)
    of_core = where(software.flash | software.checkpoints_operations, 0.0, core)
    selected = time_of_parts(operations=of_operations, attention=of_core)
    repeated = where(layout.recompute == SELECTIVE, selected, 0.0)
    if names_modules(job):
        repeated = repeated + where(selects(job), modules_time(job, p, rates, factor, forward, core), 0.0)
    repeated = where(layout.recompute == FULL, again * device, repeated)
    # launches
    kernels, floor = _launches(job, p, routed)
    paced = _paced(job, p, device, kernels, floor)
    of_backward = time_of_parts(backward=device_backward, again=repeated)
    paced_backward = _paced(job, p, of_backward, (BACKWARD_KERNELS + again) * kernels, floor)
    gaps, gaps_backward = paced - device, paced_backward - of_backward
    waiting = time_of_parts(forward=gaps, backward=gaps_backward)
    # while the accelerator waits for its host the ring goes on
    window = time_of_parts(attention=core, gaps=gaps)
    backward_window = time_of_parts(attention=core_backward, gaps=gaps_backward)
    context, context_backward = exposed_exchange(job, p, window, backward_window)
    sent_again = again * time_of_parts(
        tensor=exposed_tensor, context=context, experts=routed_traffic, host=waits
    )
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
        time_of_parts(gaps=gaps_backward, routing=waits),
        where(software.adapts, 0.0, backward / 2),
        2 * sent,
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
        adapters = [ops.where(job.stack.adapts, each, 0.0) for each in adapter_times(job, p, rates)]
        forward = time_of_parts(products=forward, adapters=adapters[0])
        backward = time_of_parts(products=backward, adapters=adapters[1])
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
    model, own = job.model, products_of(job)
    rate = rates.product * p["grouped"]
    routed = _feed_forward(job, p, rates, own.tokens, own.width, own.experts, rate)
    width = ops.maximum(model.shared_experts * model.expert_width, 1.0) / job.layout.tensor_parallel
    shared = _feed_forward(job, p, rates, job.tokens, width)
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


def _paced(job: Job, p: Values, device: Any, kernels: Any, floor: Any) -> Any:
    """Return the time of a pass with its launches by the host [s].

    Replayed, the accelerator takes the time from one kernel to the next after each, as in every network.
    """
    launched = launched_time(device, kernels, floor)
    if not any_of(job.stack.replayed):
        return launched
    replayed = time_of_parts(device=device, between=launches_time(kernels, p["kernel_floor"], 0, 0.0))
    return ops.where(job.stack.replayed, replayed, launched)


def _launches(job: Job, p: Values, routed: Any) -> tuple[Any, Any]:
    """Return the kernels of a layer's forward pass, and the time to launch one [s]."""
    software, where = job.stack, ops.where
    local = where(software.grouped_experts, 1.0, job.model.experts / job.layout.expert_parallel)
    each = software.expert_kernels * where(software.narrow, KERNELS_IN_8, 1)
    of_experts = software.routing_kernels + each * local
    kernels = software.layer_kernels + where(software.flash, 0, PLAIN_KERNELS) + routed * of_experts
    kernels = kernels * (job.model.parts / 2) + where(job.layout.tensor_parallel > 1, 1, 0)
    kernels = kernels + added_kernels(job, routed)
    in_python = (software.launch == EAGER) | ((routed > 0) & (software.static_dispatch == 0))
    floor = where(in_python, p["launch"], p["launch_compiled"])
    return kernels, where(software.launch == CHECKPOINTED, p["launch_checkpointed"], floor)
