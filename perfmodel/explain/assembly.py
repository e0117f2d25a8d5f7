"""How a prediction joins its formulas: sums over layers, times micro-batches, and the terms' total.

Each rule repeats what ``perfmodel.prediction`` does between two formulas, in the same form as a formula: an
equation, a plain function of numbers, arrays and symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from perfmodel import ops
from perfmodel.explain.words import WORDS
from perfmodel.ops import Real
from perfmodel.prediction.computation import WORK_UNIT
from perfmodel.vocabulary import QUANTITIES, Quantity

RULES: dict[str, Callable[..., Any]] = {}
"""Every rule, by name."""
LINEAR: set[Callable[..., Any]] = set()
"""Rules that are linear in their arrays of times: what holds for the times holds for changes of them."""


def meaning(name: str) -> Quantity:
    """Return symbol, unit and meaning of a word of the assembly or of the vocabulary."""
    return WORDS.get(name) or QUANTITIES[name]


def rule(function: Callable[..., Any]) -> Callable[..., Any]:
    """Register a rule under its name."""
    RULES[function.__name__] = function
    return function


def _linear(function: Callable[..., Any]) -> Callable[..., Any]:
    LINEAR.add(function)
    return rule(function)


@rule
def operation_flops(local_batch_size: Real, flops_per_sample: Real) -> Real:
    r"""Arithmetic of each pass over a micro-batch.

    .. math:: F = b f
    """
    return local_batch_size * flops_per_sample


@rule
def unit_work(operation_flops: Real, compute_units: Real) -> Real:
    r"""Arithmetic of each compute unit, in units of 500 FLOP.

    .. math:: w = \max\left(\frac{F}{c}, 1\right) / 500
    """
    return ops.maximum(operation_flops / compute_units, 1) / WORK_UNIT


@rule
def operation_bytes(
    local_batch_size: Real, activations: Real, element_bytes: Real, weights: Real, weight_bytes: Real
) -> Real:
    r"""Bytes that each pass reads and writes: activations of every sample, and the weights once.

    .. math:: D = b x e + p e_w
    """
    return local_batch_size * activations * element_bytes + weights * weight_bytes


@_linear
def sum_of(values: Any) -> Any:
    r"""All of them together.

    .. math:: \sum v
    """
    return np.sum(values)


@rule
def sent_or_waiting(communication_time: Real, cycle_wait: Real) -> Real:
    r"""Messages, and the wait for a cycle after the backward pass, in which nothing is sent.

    .. math:: t_c + t_w
    """
    return communication_time + cycle_wait


@rule
def both_passes(first_part: Real, second_part: Real) -> Real:
    r"""Forward and backward pass of one micro-batch, launches apart.

    .. math:: t = t_1 + t_2
    """
    return first_part + second_part


@rule
def update_on_device(update_time: Real, inefficiency: Real, update_kernels: Real, kernel_floor: Real) -> Real:
    r"""Optimizer's update on the accelerator: its traffic and its kernels.

    .. math:: t_u' = t_u s + k_u \theta
    """
    return update_time * inefficiency + update_kernels * kernel_floor


@rule
def device_time(
    accumulation_steps: Real, busy_sum: Real, kernels: Real, kernel_floor: Real, update_time: Real
) -> Real:
    r"""An iteration as the accelerator alone would do it.

    .. math:: t_d = m\,(t + k\,\theta) + t_u
    """
    return accumulation_steps * (busy_sum + kernels * kernel_floor) + update_time


@rule
def host_time(accumulation_steps: Real, kernels: Real, update_kernels: Real, dispatch_time: Real) -> Real:
    r"""The same as the host alone would do it: launch after launch.

    .. math:: t_h = (m\,k + k_u)\,\tau
    """
    return (accumulation_steps * kernels + update_kernels) * dispatch_time


@rule
def stretch(paced_time: Real, device_time: Real) -> Real:
    r"""What the host makes of the accelerator's time.

    .. math:: g = t_p / t_d
    """
    return paced_time / device_time


@rule
def computing(accumulation_steps: Real, busy_sum: Real, effect: Real, anchor_factor: Real) -> Real:
    r"""Time of a pass through all layers in every micro-batch.

    .. math:: T = m\,a\,z\,t
    """
    return accumulation_steps * anchor_factor * effect * busy_sum


@rule
def launches(
    busy_sum: Real, kernels: Real, kernel_floor: Real, stretch: Real, effect: Real, anchor_factor: Real
) -> Real:
    r"""What a micro-batch loses between kernels and to the host.

    .. math:: t_l = a\,z\,((t + k\,\theta)\,g - t)
    """
    return anchor_factor * effect * ((busy_sum + kernels * kernel_floor) * stretch - busy_sum)


@rule
def once_an_iteration(
    iteration_overhead: Real, update_time: Real, stretch: Real, effect: Real, anchor_factor: Real
) -> Real:
    r"""What every iteration loses: a fixed time, and the update's share of the host's pace.

    .. math:: o' = a\,z\,(o + t_u\,(g - 1))
    """
    return anchor_factor * effect * (iteration_overhead + update_time * (stretch - 1))


@rule
def launch_overhead_time(accumulation_steps: Real, launches: Real, once: Real, one_host_time: Real) -> Real:
    r"""All launch overhead of an iteration.

    .. math:: T = m\,(t_l + t_o) + o
    """
    return accumulation_steps * (launches + one_host_time) + once


@rule
def updating(update_time: Real, effect: Real, anchor_factor: Real) -> Real:
    r"""Time of the update.

    .. math:: T = a\,z\,t_u
    """
    return anchor_factor * effect * update_time


@rule
def passing(forward_time: Real, backward_time: Real, launches: Real, accumulation_steps: Real) -> Real:
    r"""Forward and backward of all micro-batches, launches included.

    .. math:: t = t_f + t_b + m\,t_l
    """
    return forward_time + backward_time + accumulation_steps * launches


@rule
def alone(pass_time: Real, update_time: Real, once: Real, input_time: Real) -> Real:
    r"""One accelerator's iteration, with nothing to wait for but its samples.

    .. math:: T_0 = t + t_u + o + t_i
    """
    return pass_time + update_time + once + input_time


@rule
def busy_alone(pass_time: Real, update_time: Real, once: Real) -> Real:
    r"""One accelerator's iteration, with nothing to wait for.

    .. math:: t = t + t_u + o
    """
    return pass_time + update_time + once


@rule
def for_each_step(busy_time: Real, accumulation_steps: Real) -> Real:
    r"""The share of each micro-batch in an iteration.

    .. math:: t / m
    """
    return busy_time / accumulation_steps


@rule
def anchoring(measured_time: Real, alone_time: Real) -> Real:
    r"""Factor that brings one accelerator's time to the measured one.

    .. math:: a = T_m / T_0
    """
    return measured_time / alone_time


@rule
def layer_on_accelerator(busy_times: Real, kernels: Real, kernel_floor: Real) -> Real:
    r"""Backward pass of each layer on the accelerator alone.

    .. math:: d = t + k\,\theta
    """
    return busy_times + kernels * kernel_floor


@rule
def layer_on_host(kernels: Real, dispatch_time: Real) -> Real:
    r"""Launches of each layer's backward pass.

    .. math:: h = k\,t_k
    """
    return kernels * dispatch_time


@rule
def backward_by_layer(backward_paced: Real, effect: Real, anchor_factor: Real) -> Real:
    r"""Backward pass of each layer with its launches.

    .. math:: b = a\,z\,b_0
    """
    return anchor_factor * effect * backward_paced


@_linear
def when_ready(backward_times: Any, layer_indices: Any) -> Any:
    r"""When each message is ready: the backward pass goes from the last layer to the first.

    .. math:: r_k = \sum_{l \ge l_k} b_l
    """
    passed = np.cumsum(np.asarray(backward_times)[::-1])[::-1]
    return passed[np.asarray(layer_indices, dtype=np.intp)]


@rule
def both_levels(first_part: Real, second_part: Real) -> Real:
    r"""A message's time inside the nodes and then between them.

    .. math:: c = t_1 + t_2
    """
    return first_part + second_part


@rule
def shared_cost(hiding_cost: Real, first_part: Real, communication_time: Real) -> Real:
    r"""Cost of hiding where the accelerators themselves move only a part of the messages.

    .. math:: c' = c\,t_1 / t_c
    """
    return hiding_cost * first_part / communication_time


@rule
def waiting(busy_time: Real, straggler_factor: Real) -> Real:
    r"""Mean wait for the slowest of all workers.

    .. math:: T = t\,(\rho - 1)
    """
    return busy_time * (straggler_factor - 1)


@rule
def waiting_in_a_queue(
    busy_time: Real,
    straggler_factor: Real,
    push_share: Real,
    exposed_communication_time: Real,
    workers: Real,
) -> Real:
    r"""The same where the pushes of the others hide behind it.

    .. math:: T = \max\left(0,\; t\,(\rho - 1) - p\,t_e\,\frac{W-1}{W}\right)
    """
    queue = push_share * exposed_communication_time * (workers - 1) / workers
    return ops.maximum(0, busy_time * (straggler_factor - 1) - queue)


@rule
def rest_of_the_iteration(
    forward_time: Real,
    backward_time: Real,
    launch_overhead_time: Real,
    update_time: Real,
    exposed_communication_time: Real,
    straggler_time: Real,
    anchor_factor: Real,
) -> Real:
    r"""What samples can be fetched behind, before the measurement is known.

    .. math:: t = (t_f + t_b + t_l + t_u + t_x + t_s) / a
    """
    return (
        forward_time
        + backward_time
        + launch_overhead_time
        + update_time
        + exposed_communication_time
        + straggler_time
    ) / anchor_factor


@rule
def waiting_for_input(input_time: Real, anchor_factor: Real) -> Real:
    r"""Waiting for samples.

    .. math:: T = a\,t_i
    """
    return anchor_factor * input_time


@rule
def replica_dispatch_time(replica_dispatches: Real, dispatch_time: Real) -> Real:
    r"""Host time for each object of a replica.

    .. math:: \tau' = q\,\tau
    """
    return replica_dispatches * dispatch_time


@rule
def iteration_time(
    forward_time: Real,
    backward_time: Real,
    launch_overhead_time: Real,
    update_time: Real,
    exposed_communication_time: Real,
    input_time: Real,
    straggler_time: Real,
) -> Real:
    r"""One iteration: the exposed terms add up.

    .. math:: T = t_f + t_b + t_l + t_u + t_x + t_i + t_s
    """
    return (
        forward_time
        + backward_time
        + launch_overhead_time
        + update_time
        + exposed_communication_time
        + input_time
        + straggler_time
    )
