"""Computation of one accelerator: forward and backward pass, launches, update."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.equations.host_pace import (
    ROUNDING,
    device_time,
    host_time,
    launch_time,
    once_an_iteration,
    update_on_device,
)
from perfmodel.equations.iteration import alone_time
from perfmodel.equations.layer_pass import paced_layer_times, paced_time
from perfmodel.equations.layer_sums import (
    backward_passes,
    elapsed_times,
    forward_passes,
    sum_over_layers,
    time_by_flops,
)
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.setting.sharing import has_layouts
from perfmodel.model.step.layer_rates import (
    arithmetic,
    busy_times,
    conditions,
    demand,
    launches_of,
    rates_of,
    update_launches,
)
from perfmodel.model.step.layers import layer_table

NEED_FORWARD = ("priority", "optimal")
"""Overlaps that depend on when each layer's forward pass needs its gradients."""


class Computation(NamedTuple):
    """Times of one micro-batch on one accelerator, and of the update [s].

    Each is a number, or in a sweep an array; times by layer have one axis more.
    """

    forward_time: Any
    backward_time: Any
    launch_overhead_time: Any
    """Time of forward and backward lost to gaps between kernels and to slow launches by the host."""
    update_time: Any
    iteration_overhead_time: Any
    """Fixed overhead of an iteration, and time that the update loses to launches."""
    kernels: Any
    """Kernels of one forward and backward pass."""
    forward_by_layer: Any
    """Time of each layer's forward pass with its launches, shape (layers,); 0 unless the overlap depends on
    it (``NEED_FORWARD``)."""
    backward_by_layer: Any
    """Time of each layer's backward pass with its launches, in forward order, shape (layers,)."""
    host_share: Any
    """Share of the iteration limited by the host, from 0 (accelerator only) to 1 (host only)."""

    @property
    def pass_time(self) -> Any:
        """Time of forward and backward of one micro-batch, launches included [s]."""
        return self.forward_time + self.backward_time + self.launch_overhead_time

    def alone(self, steps: Any) -> Any:
        """Return the time of ``steps`` micro-batches and an update, without communication and waits [s]."""
        return alone_time(steps, self.pass_time, self.update_time, self.iteration_overhead_time)


def computation(
    setting: Setting,
    local_batch_size: Any,
    calibration: Calibration,
    steps: Any = None,
    forward_layers: bool | None = None,
) -> Computation:
    """Return the times of one accelerator for micro-batches of ``local_batch_size`` samples.

    Parameters
    ----------
    setting : workload, accelerator and software; with sharded tables also the world size
    local_batch_size : samples of one micro-batch; a number, or a column of plans, shape (plans, 1)
    calibration : the learned efficiencies
    steps : micro-batches of one iteration, a number or shape (plans,); by default the setting's
    forward_layers : whether to time single layers of the forward pass; by default if the setting's overlap
        depends on them

    Returns
    -------
    Computation; for a column of plans with times of shape (plans,), by layer (plans, layers)
    """
    steps = setting.accumulation_steps if steps is None else steps
    if has_layouts(setting.workload):
        return _of_transformer(setting, local_batch_size, calibration, steps, forward_layers)
    table, learned = layer_table(setting.workload), calibration.efficiency
    tables = setting.workload.tables
    if tables is not None:
        from perfmodel.model.step.tables import with_lookups_of_fullest

        table = with_lookups_of_fullest(setting, tables, table)
    load = demand(setting, table, local_batch_size * 1.0)
    memory_bandwidth = setting.accelerator.memory_bandwidth.value
    rates = rates_of(setting.workload, arithmetic(setting), memory_bandwidth, learned, conditions(setting))
    graphs = setting.framework.graphs
    effect, launches = rates.effect, launches_of(setting.workload, learned, setting.framework)

    busy = paced_time(*busy_times(load, rates))
    busy_forward, busy_backward = (
        sum_over_layers(forward_passes(busy)),
        sum_over_layers(backward_passes(busy)),
    )
    passes_on_device = busy_forward + busy_backward + launches.all_on_device

    update_kernels = update_launches(setting, learned, table.tensors)
    update_traffic_time = load.update_time
    if tables is not None:
        from perfmodel.model.step.tables import update_time

        update_traffic_time = update_time(setting, tables, update_traffic_time, local_batch_size, steps)
    update = update_on_device(update_traffic_time, rates.update, update_kernels, learned.kernel_floor)
    device = device_time(steps, passes_on_device, update)
    launched = 0.0 if graphs != "none" else table.all_kernels
    launched_updates = 0.0 if graphs == "iteration" else update_kernels
    host = host_time(steps, launched, launched_updates, learned.dispatch_time)
    stretch = paced_time(device, host) / device

    on_device = busy + launches.on_device
    device_backward = backward_passes(on_device)
    backward = paced_layer_times(elapsed_times(device_backward), launches.host_elapsed, device, host)
    forward_by_layer: Any = 0.0
    if setting.overlap in NEED_FORWARD if forward_layers is None else forward_layers:
        device_passes = forward_passes(on_device) + device_backward
        host_passes = forward_passes(launches.on_host) + backward_passes(launches.on_host)
        passes = paced_layer_times(elapsed_times(device_passes), elapsed_times(host_passes), device, host)
        forward_by_layer = (passes - backward) * effect
    forward_time, backward_time = busy_forward * effect, busy_backward * effect
    return Computation(
        forward_time,
        backward_time,
        launches_of_passes(passes_on_device * stretch * effect, forward_time, backward_time),
        update * effect,
        once_an_iteration(
            0.0 if graphs == "iteration" else learned.iteration_overhead, update, stretch, effect
        ),
        table.all_kernels,
        forward_by_layer,
        backward * effect,
        1 - 1 / (stretch * stretch),
    )


def launches_of_passes(paced: Any, forward: Any, backward: Any) -> Any:
    """Return the launch overhead of a micro-batch [s]; 0 where it is lost in the rounding of long passes.

    Parameters
    ----------
    paced : both passes with their launches [s]
    forward, backward : without launches [s]
    """
    overhead = launch_time(paced, forward, backward)
    return ops.where(overhead > ROUNDING * paced, overhead, 0.0)


def _of_transformer(
    setting: Setting, local_batch_size: Any, calibration: Calibration, steps: Any, forward_layers: bool | None
) -> Computation:
    """Return the ``computation`` of a transformer; each pass is divided over layers by their FLOP."""
    from perfmodel.model.transformers.computation import Passes, passes_of

    by_plan = getattr(local_batch_size, "ndim", 0) == 2
    micro = local_batch_size[..., 0] if by_plan else local_batch_size
    passes = passes_of(setting, calibration.transformers, micro, steps)
    own = calibration.own
    if own is not None:
        effect = ops.exp(own.computation(conditions(setting)))
        passes = Passes(*(time * effect for time in passes))
    table = layer_table(setting.workload)
    backward = time_by_flops(along_layers(passes.paced_backward), backward_passes(table.flops))
    forward_by_layer: Any = 0.0
    if setting.overlap in NEED_FORWARD if forward_layers is None else forward_layers:
        forward_by_layer = time_by_flops(along_layers(passes.paced_forward), forward_passes(table.flops))
    paced = passes.paced_forward + passes.paced_backward
    stretch = paced / (passes.forward + passes.backward)
    return Computation(
        passes.forward,
        passes.backward,
        launches_of_passes(paced, passes.forward, passes.backward),
        passes.update,
        passes.overhead,
        table.all_kernels,
        forward_by_layer,
        backward,
        1 - 1 / (stretch * stretch),
    )


def along_layers(factor: Any) -> Any:
    """Return a factor of each plan with an additional axis, to multiply times by layer."""
    return factor[..., None] if getattr(factor, "ndim", 0) else factor
