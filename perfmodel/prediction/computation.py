"""The terms of one accelerator on its own: forward, backward, launches, update."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perfmodel.calibration import MATRIX_KINDS, Calibration
from perfmodel.equations.compute import launch_overhead, roofline_time, update_time
from perfmodel.resolve import Setting
from perfmodel.specs.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class Computation(NamedTuple):
    """Times of one micro-batch on one accelerator, and of the update [s]."""

    forward_time: float
    backward_time: float
    launch_overhead_time: float
    """What forward and backward lose because kernels have a least time."""
    update_time: float
    kernels: float
    """Launched in one forward and backward pass."""
    forward_by_layer: Array
    """Time of each layer's forward pass with its launches, shape (layers,)."""
    backward_by_layer: Array
    """Time of each layer's backward pass with its launches, in forward order, shape (layers,)."""

    @property
    def pass_time(self) -> float:
        """Forward and backward of one micro-batch, launches included."""
        return self.forward_time + self.backward_time + self.launch_overhead_time


def computation(setting: Setting, local_batch_size: int, calibration: Calibration) -> Computation:
    """Return the terms of one accelerator for a micro-batch of ``local_batch_size``."""
    workload = setting.workload
    column = workload.column
    batch = float(local_batch_size)
    element = setting.format.activation_bytes
    weight = setting.format.weight_copy_bytes or element
    bandwidth = calibration.memory_fraction * setting.accelerator.memory_bandwidth.value
    flops = _achieved_flops(setting, calibration)

    weight_bytes = weight * column("parameters")
    forward = _array(
        roofline_time(
            batch * column("forward_flops"),
            batch * element * column("forward_elements") + weight_bytes,
            flops,
            bandwidth,
        )
    )
    backward = _array(
        roofline_time(
            batch * column("backward_flops"),
            batch * element * column("backward_elements") + 2 * weight_bytes,
            flops,
            bandwidth,
        )
    )
    floor = calibration.kernel_floor
    forward_floor = _array(launch_overhead(forward, column("forward_kernels"), floor))
    backward_floor = _array(launch_overhead(backward, column("backward_kernels"), floor))

    forward_time, backward_time = float(forward.sum()), float(backward.sum())
    floors = float(forward_floor.sum() + backward_floor.sum())
    kernels = float(column("forward_kernels").sum() + column("backward_kernels").sum())
    # The host queues kernels ahead of the accelerator; where its queue runs dry, it sets the pace.
    starved = float(
        launch_overhead(forward_time + backward_time + floors, kernels, calibration.dispatch_time)
    )
    stretch = 1 + starved / (forward_time + backward_time + floors)
    return Computation(
        forward_time,
        backward_time,
        floors + starved,
        float(update_time(workload.parameters, setting.states.update_bytes, bandwidth)),
        kernels,
        (forward + forward_floor) * stretch,
        (backward + backward_floor) * stretch,
    )


def one_host_time(setting: Setting, work: Computation, calibration: Calibration) -> float:
    """Return what one process loses by launching the kernels of all its accelerators, one after another [s].

    Threads do not help: they share one interpreter lock.
    """
    if setting.strategy != "data-parallel-single-process" or setting.world_size == 1:
        return 0.0
    launches = setting.world_size * work.kernels
    return float(launch_overhead(work.pass_time, launches, calibration.dispatch_time))


def _array(values: object) -> Array:
    return np.asarray(values, dtype=np.float64)


def _achieved_flops(setting: Setting, calibration: Calibration) -> Array:
    """Rate each layer's arithmetic runs at [FLOP/s], shape (layers,)."""
    peaks = setting.accelerator.peak_flops
    vector_peak = peaks["fp32"].value if "fp32" in peaks else setting.peak_flops
    on_matrix_units = setting.peak_format != "fp32"
    peak = setting.peak_flops if on_matrix_units else vector_peak
    product = calibration.matrix_fraction["matrix" if on_matrix_units else "vector"] * peak
    other = calibration.matrix_fraction["vector"] * vector_peak
    return np.where(_is_product(setting.workload), product, other)


def _is_product(workload: Workload) -> NDArray[np.bool_]:
    """Which layers are matrix products, shape (layers,)."""
    return np.isin(workload.kinds, list(MATRIX_KINDS))
