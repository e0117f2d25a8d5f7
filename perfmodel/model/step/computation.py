"""The terms of one accelerator on its own: forward, backward, launches, update."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.equations.host_pace import (
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
)
from perfmodel.model.step.layers import layer_table

NEED_FORWARD = ("priority", "optimal")
"""Overlaps that go by when each layer's forward pass needs its gradients."""


class Computation(NamedTuple):
    """Times of one micro-batch on one accelerator, and of the update [s].

    Each is a number, or in a sweep an array with one axis more in the times by layer.
    """

    forward_time: Any
    backward_time: Any
    launch_overhead_time: Any
    """What forward and backward lose between kernels and to a host that launches them too slowly."""
    update_time: Any
    iteration_overhead_time: Any
    """Of every iteration, whatever it does, and what the update loses to the host."""
    kernels: Any
    """Launched in one forward and backward pass."""
    forward_by_layer: Any
    """What each layer's forward pass adds to its backward pass, launches included, shape (layers,); 0 where
    nothing waits for single layers of the forward pass (``NEED_FORWARD``)."""
    backward_by_layer: Any
    """Time of each layer's backward pass with its launches, in forward order, shape (layers,)."""
    host_share: Any
    """Share of the iteration that the host paces: from 0, the accelerator alone, to 1, the host alone."""

    @property
    def pass_time(self) -> Any:
        """Forward and backward of one micro-batch, launches included."""
        return self.forward_time + self.backward_time + self.launch_overhead_time

    def alone(self, steps: Any) -> Any:
        """Time of ``steps`` micro-batches and an update, with nothing to wait for [s]."""
        return alone_time(steps, self.pass_time, self.update_time, self.iteration_overhead_time)


def computation(
    setting: Setting,
    local_batch_size: Any,
    calibration: Calibration,
    steps: Any = None,
    forward_layers: bool | None = None,
) -> Computation:
    """Return the terms of one accelerator for micro-batches of ``local_batch_size``.

    Parameters
    ----------
    setting : the workload, the accelerator and the software; where tables are shared out, to how many
    local_batch_size : samples of one micro-batch; a number, or a column of plans, shape (plans, 1)
    calibration : the learned efficiencies
    steps : micro-batches of one iteration, a number or shape (plans,); by default the setting's
    forward_layers : whether layers of the forward pass are timed one by one; by default where the setting's
        overlap asks for it

    Returns
    -------
    Computation, of a column of plans with times of shape (plans,), by layer (plans, layers)
    """
    steps = setting.accumulation_steps if steps is None else steps
    if has_layouts(setting.workload):
        return _of_transformer(setting, local_batch_size, calibration, steps, forward_layers)
    table, learned = layer_table(setting.workload), calibration.efficiency
    tables = setting.workload.tables
    if tables is not None:
        from perfmodel.model.step.tables import with_lookups_of_fullest

        table = with_lookups_of_fullest(setting, tables, table)
    asked = demand(setting, table, local_batch_size * 1.0)
    memory_bandwidth = setting.accelerator.memory_bandwidth.value
    at = rates_of(setting.workload, arithmetic(setting), memory_bandwidth, learned, conditions(setting))
    effect, launches = at.effect, launches_of(setting.workload, learned)

    busy = paced_time(*busy_times(asked, at))
    busy_forward, busy_backward = (
        sum_over_layers(forward_passes(busy)),
        sum_over_layers(backward_passes(busy)),
    )
    passes_on_device = busy_forward + busy_backward + launches.all_on_device

    update_kernels = learned.optimizer_kernels * table.tensors if setting.optimizer != "none" else 0.0
    moved = asked.update_time
    if tables is not None:
        from perfmodel.model.step.tables import update_time

        moved = update_time(setting, tables, moved, local_batch_size, steps)
    update = update_on_device(moved, at.update, update_kernels, learned.kernel_floor)
    device = device_time(steps, passes_on_device, update)
    host = host_time(steps, table.all_kernels, update_kernels, learned.dispatch_time)
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
        launch_time(passes_on_device * stretch * effect, forward_time, backward_time),
        update * effect,
        once_an_iteration(learned.iteration_overhead, update, stretch, effect),
        table.all_kernels,
        forward_by_layer,
        backward * effect,
        1 - 1 / (stretch * stretch),
    )


def _of_transformer(
    setting: Setting, local_batch_size: Any, calibration: Calibration, steps: Any, forward_layers: bool | None
) -> Computation:
    """Return the same of a transformer; the rows of its table take each pass in turn, by their FLOP."""
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
        launch_time(paced, passes.forward, passes.backward),
        passes.update,
        passes.overhead,
        table.all_kernels,
        forward_by_layer,
        backward,
        1 - 1 / (stretch * stretch),
    )


def along_layers(factor: Any) -> Any:
    """Return a factor of each plan as one that multiplies times by layer."""
    return factor[..., None] if getattr(factor, "ndim", 0) else factor
