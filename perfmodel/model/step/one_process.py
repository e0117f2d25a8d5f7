"""Training by one process on several accelerators, as PyTorch's DataParallel, by parts.

Each micro-batch is scattered from the first accelerator, the network is copied to all, their outputs return
to the first, which computes the loss of all of them, and their gradients are summed there.  Frameworks with
permanent replicas load samples and compute losses on each accelerator; they send only parameters and
gradients, once an iteration.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.core.choices import ONE_PROCESS
from perfmodel.core.tracing.tracing import remembered
from perfmodel.equations.compute import launch_overhead
from perfmodel.equations.layer_pass import byte_time, traffic_time
from perfmodel.equations.single_process import (
    copy_out_time,
    first_loss_time,
    first_port_time,
    replica_time,
    share_bytes,
)
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.computation import Computation
from perfmodel.model.step.fabric import Fabric
from perfmodel.model.step.input_wait import SAMPLE_ELEMENT_BYTES
from perfmodel.model.step.layer_rates import arithmetic, conditions, rates_of
from perfmodel.model.step.layers import layer_table
from perfmodel.workloads.workload import Workload

NORM_BUFFERS = 3
"""Buffers of a normalisation: running mean, running variance and a counter."""


class Parts(NamedTuple):
    """Objects of a network that the process handles, for one replica or one sample."""

    copied: float
    """Modules, tensors and buffers that Python copies for one replica."""
    launched: float
    """Kernels of the forward pass, which the threads launch in turn."""
    output_elements: float
    """Elements that the losses of a sample read."""
    loss_elements: float
    """Elements that the losses read and write, forward and backward."""
    loss_layer: int | None
    """Index of the first loss layer; None for a network without one."""


@remembered(maxsize=256)
def parts_of(workload: Workload) -> Parts:
    """Return the objects of a network that the process handles."""
    layers = workload.layers
    norms = sum(layer.kind == "norm" for layer in layers)
    losses = [index for index, layer in enumerate(layers) if layer.kind == "loss"]

    def of_losses(*columns: str) -> Any:
        return ops.number(sum(workload.column(column)[each] for each in losses for column in columns))

    return Parts(
        len(layers) + layer_table(workload).tensors + NORM_BUFFERS * norms,
        ops.number(workload.column("forward_kernels").sum()),
        of_losses("saved_elements"),
        of_losses("forward_elements", "backward_elements"),
        losses[0] if losses else None,
    )


def shares_batch(setting: Setting) -> bool:
    """Return whether one process scatters micro-batches from one accelerator (PyTorch's DataParallel)."""
    return setting.strategy == ONE_PROCESS and setting.framework.python_replicas


def traffic(setting: Setting, fabric: Fabric) -> dict[str, Any]:
    """Return the communication times of an iteration [s], by the names of the terms."""
    workers, wires = setting.world_size, (fabric.intra_hop_latency, fabric.intra_link_bandwidth)
    gradients = 1.0 * setting.format.gradient_bytes * setting.workload.parameters
    copied_out = copy_out_time(workers, gradients, *wires)
    reduced = first_port_time(workers, 1, gradients, *wires)
    if not shares_batch(setting):
        return {"broadcast_time": copied_out, "reduce_time": reduced}
    batch, steps = setting.local_batch_size, setting.accumulation_steps
    samples, outputs = share_bytes(batch, _input_bytes(setting)), share_bytes(batch, _output_bytes(setting))
    each = {
        "scatter_time": first_port_time(workers, 1, samples, *wires),
        "broadcast_time": copied_out,
        "gather_time": first_port_time(workers, 2, outputs, *wires),
        "reduce_time": reduced,
    }
    return {name: steps * time for name, time in each.items()}


def traffic_bytes(setting: Setting) -> dict[str, float]:
    """Return the bytes through the first accelerator's port in an iteration, by the names of the terms."""
    others, gradients = setting.world_size - 1, setting.format.gradient_bytes * setting.workload.parameters
    sizes = {"broadcast_time": gradients, "reduce_time": others * gradients}
    if shares_batch(setting):
        samples = others * setting.local_batch_size
        sizes["scatter_time"] = samples * _input_bytes(setting)
        sizes["gather_time"] = 2 * samples * _output_bytes(setting)
        sizes = {name: setting.accumulation_steps * size for name, size in sizes.items()}
    return {name: ops.number(size) for name, size in sizes.items()}


def _input_bytes(setting: Setting) -> float:
    """Return the bytes of one sample on the accelerator."""
    return setting.workload.input_elements * SAMPLE_ELEMENT_BYTES


def _output_bytes(setting: Setting) -> float:
    """Return the bytes of one sample's outputs."""
    return parts_of(setting.workload).output_elements * setting.format.activation_bytes


def whole_batch_bytes(setting: Setting) -> Any:
    """Return the memory of the others' samples on the first accelerator, for each of its own samples [B].

    It holds samples before the scatter, outputs after the gather, and result and gradient of the loss.
    """
    if not shares_batch(setting):
        return 0.0
    return (setting.world_size - 1) * (_input_bytes(setting) + 3 * _output_bytes(setting))


def summed_gradients_bytes(setting: Setting) -> Any:
    """Return the memory of the summed gradients on the first accelerator, in addition to its own [B]."""
    several = shares_batch(setting) * (setting.world_size > 1)
    return several * setting.states.gradient_bytes * setting.workload.parameters


def replicate_time(setting: Setting, constants: Calibration) -> Any:
    """Return the time that Python needs to make the replicas of an iteration [s], number or array."""
    if not setting.framework.python_replicas:
        return 0.0
    copied = parts_of(setting.workload).copied
    return _of_several(setting, replica_time(setting.world_size, copied, _replica_dispatch_time(constants)))


def parallel_apply_time(setting: Setting, work: Computation, constants: Calibration) -> Any:
    """Return the time lost by one process that launches on all accelerators in turn [s], number or array.

    Threads do not help, since they share one interpreter lock.
    """
    n = setting.world_size
    if setting.framework.python_replicas:
        launched = parts_of(setting.workload).launched
        return _of_several(setting, replica_time(n, launched, _replica_dispatch_time(constants)))
    steps = setting.accumulation_steps
    busy = work.alone(steps) / steps
    lost = launch_overhead(busy, n * work.kernels, constants.efficiency.dispatch_time)
    return _of_several(setting, lost)


def _replica_dispatch_time(constants: Calibration) -> float:
    """Return the time of the process for one tensor, module or launch of a replica [s]."""
    return constants.replica_dispatches * constants.efficiency.dispatch_time


def _of_several(setting: Setting, time: Any) -> Any:
    """Return the time of an iteration from that of a micro-batch [s]; 0 for one accelerator."""
    whole = setting.accumulation_steps * time
    return ops.where(setting.world_size > 1, whole, 0.0)


def loss_time(setting: Setting, anchor_factor: Any, constants: Calibration) -> Any:
    """Return the time of the first accelerator for the losses of the others' samples [s], number or array."""
    network = parts_of(setting.workload)
    if network.loss_layer is None or not shares_batch(setting):
        return 0.0
    bandwidth = setting.accelerator.memory_bandwidth.value
    effects = conditions(setting)
    rates = rates_of(setting.workload, arithmetic(setting), bandwidth, constants.efficiency, effects)
    slower = ops.number(rates.byte_time[network.loss_layer]) * bandwidth  # as in the passes
    moved = share_bytes(setting.local_batch_size, network.loss_elements * setting.format.activation_bytes)
    own = traffic_time(moved, byte_time(bandwidth, slower)) * rates.effect
    others = first_loss_time(setting.world_size, own * anchor_factor)
    return setting.accumulation_steps * others
