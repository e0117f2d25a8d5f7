"""The terms of one accelerator on its own: forward, backward, launches, update."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel import ops
from perfmodel.calibration import Calibration
from perfmodel.efficiency import CLASSES, KINDS, UNITS, Conditions
from perfmodel.equations.compute import launch_overhead, update_time
from perfmodel.equations.layer_pass import (
    paced_layer_times,
    paced_time,
    product_time,
    small_product_saturation,
    traffic_time,
)
from perfmodel.equations.single_process import replica_time
from perfmodel.prediction.layers import LayerTable, layer_table
from perfmodel.resolve import Setting
from perfmodel.specs.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NO_WINOGRAD = 1.8
"""What a 3x3 convolution with stride 1 takes without Winograd's algorithm over what it takes with it."""
WORK_UNIT = 500.0
"""[FLOP] a compute unit; ``half_work`` counts in it."""
USUAL_COMPUTE_UNITS = 60
"""Where a spec does not say."""
REFERENCE_PER_WATT = 125e12 / 300
"""Matrix FLOP/s a watt of the V100, which the effect of power is measured from."""
REFERENCE_YEAR = 2020
NORM_BUFFERS = 3
"""Running mean, running variance and a counter."""
DETECTION = ("yolov3", "mask-rcnn-r50-fpn", "deeplab-v3-plus")
"""Networks with work on boxes and regions that no layer table holds."""
_MATRIX_16, _MATRIX_TF32 = UNITS.index("matrix-16"), UNITS.index("matrix-tf32")
_DEPTHWISE = CLASSES.index("depthwise")
_PRODUCT_TRAFFIC = KINDS.index("product")


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
    forward_by_layer: Array
    """What each layer's forward pass adds to its backward pass, launches included, shape (layers,)."""
    backward_by_layer: Array
    """Time of each layer's backward pass with its launches, in forward order, shape (layers,)."""
    host_share: Any
    """Share of the iteration that the host paces: from 0, the accelerator alone, to 1, the host alone."""

    @property
    def pass_time(self) -> Any:
        """Forward and backward of one micro-batch, launches included."""
        return self.forward_time + self.backward_time + self.launch_overhead_time

    def alone(self, steps: Any) -> Any:
        """Time of ``steps`` micro-batches and an update, with nothing to wait for [s]."""
        return steps * self.pass_time + self.update_time + self.iteration_overhead_time


def unit(setting: Setting) -> int:
    """Index in ``UNITS`` of the arithmetic that serves the setting's products."""
    if setting.peak_format in ("fp32", "fp16-vector"):
        return 0 if setting.precision == "fp32" else 1
    return _MATRIX_TF32 if setting.precision == "tf32" else _MATRIX_16


def conditions(setting: Setting) -> Conditions:
    """Return what the effects of a setting hang on."""
    accelerator, framework = setting.accelerator, setting.framework
    tdp = accelerator.tdp.value if accelerator.tdp else 250.0
    power = math.log(setting.peak_flops / tdp / REFERENCE_PER_WATT) if unit(setting) >= _MATRIX_16 else 0.0
    words = accelerator.architecture.split()
    return Conditions(
        architecture=" ".join(words[:2]) if words[0] == "Ampere" else words[0],
        workload=setting.workload.id,
        power=power,
        year=float(setting.software_year - REFERENCE_YEAR),
        fused=float(framework.fused),
        unfused_transformer=float(framework.unfused_transformer and setting.workload.family == "transformer"),
        detection=float(setting.workload.id in DETECTION),
    )


class Demand(NamedTuple):
    """What the layers of a setting ask of the accelerator, before any efficiency; shape (..., 2 * layers)."""

    product_time: Array
    """FLOP over the peak [s], with what the lack of Winograd's algorithm costs."""
    traffic_time: Array
    """Bytes over the nominal bandwidth [s]."""
    work: Array
    """FLOP of a compute unit, in ``WORK_UNIT``."""
    units: NDArray[np.intp]
    """Index in ``UNITS``."""
    on_matrix_units: NDArray[np.bool_]
    transposed: NDArray[np.bool_]
    """Whose traffic pays for channels that come first."""
    update_time: float
    """Bytes of the optimizer over the nominal bandwidth [s]."""


def demand(setting: Setting, table: LayerTable, local_batch_size: Any) -> Demand:
    """Return what one micro-batch of ``local_batch_size`` samples asks for.

    A column of batches, shape (plans, 1), gives what grows with the batch a row for each.
    """
    accelerator = setting.accelerator
    peaks, bandwidth = accelerator.peak_flops, accelerator.memory_bandwidth.value
    vector_peak = peaks["fp32"].value if "fp32" in peaks else setting.peak_flops
    on = unit(setting)
    units = np.where(table.product == _DEPTHWISE, min(on, 1), on)
    on_matrix_units = units >= _MATRIX_16
    flops = table.flops * local_batch_size
    peak = np.where(on_matrix_units, setting.peak_flops, vector_peak)
    product: Array = np.asarray(product_time(flops, peak, 1.0, 1.0)) * table.is_product
    if setting.framework.winograd != "full":
        slow = table.winograd & (units == 0)
        if setting.framework.winograd == "forward":
            # the gradient of the weights and that of the input are halves of the backward pass
            product = np.where(slow & table.backward, product * (1 + NO_WINOGRAD) / 2, product)
        else:
            product = np.where(slow, product * NO_WINOGRAD, product)
    form = setting.format
    moved = table.elements * (local_batch_size * form.activation_bytes) + table.parameters * (
        form.weight_copy_bytes or form.activation_bytes
    )
    return Demand(
        product,
        np.asarray(traffic_time(moved, bandwidth, 1.0)),
        np.maximum(flops / (accelerator.compute_units or USUAL_COMPUTE_UNITS), 1.0) / WORK_UNIT,
        units,
        on_matrix_units,
        on_matrix_units & table.image & setting.framework.channels_first,
        float(update_time(setting.workload.parameters, setting.states.update_bytes, bandwidth)),
    )


def computation(
    setting: Setting, local_batch_size: Any, calibration: Calibration, steps: Any = None
) -> Computation:
    """Return the terms of one accelerator for micro-batches of ``local_batch_size``.

    Parameters
    ----------
    setting : the workload, the accelerator and the software
    local_batch_size : samples of one micro-batch; a number, or a column of plans, shape (plans, 1)
    calibration : the learned efficiencies
    steps : micro-batches of one iteration, a number or shape (plans,); by default the setting's

    Returns
    -------
    Computation, of a column of plans with times of shape (plans,), by layer (plans, layers)
    """
    steps = setting.accumulation_steps if steps is None else steps
    table = layer_table(setting.workload)
    asked = demand(setting, table, local_batch_size * 1.0)
    learned = calibration.efficiency
    factor = learned.effects(conditions(setting))

    group = asked.on_matrix_units.view(np.int8)
    slowdown = learned.slowdown[asked.units, table.product] * np.array([factor.vector, factor.matrix])[group]
    half = learned.half[:, group]
    saturation = small_product_saturation(asked.work, table.depth, table.columns, *half)
    products = asked.product_time * (slowdown * np.where(table.light, factor.light, 1.0)) * saturation
    by_kind = learned.traffic * factor.traffic
    by_kind[:_PRODUCT_TRAFFIC] *= factor.elementwise
    of_kind = by_kind[table.traffic]
    traffic = asked.traffic_time * np.where(asked.transposed, of_kind * (1 + learned.channels_first), of_kind)
    busy: Array = np.asarray(paced_time(products, traffic))

    floor, dispatch = learned.kernel_floor, learned.dispatch_time
    update_kernels = learned.optimizer_kernels * table.tensors if setting.states.update_bytes else 0.0
    update = asked.update_time * float(by_kind[_PRODUCT_TRAFFIC]) + update_kernels * floor
    on_accelerator = steps * (_over_layers(busy) + table.all_kernels * floor) + update
    on_host = (steps * table.all_kernels + update_kernels) * dispatch
    stretch = paced_time(on_accelerator, on_host) / on_accelerator

    layers = busy.shape[-1] // 2
    on_layers, launches = busy + floor * table.kernels, dispatch * table.kernels
    backward = paced_layer_times(on_layers[..., layers:], launches[layers:], on_accelerator, on_host)
    passes = paced_layer_times(
        on_layers[..., :layers] + on_layers[..., layers:],
        launches[:layers] + launches[layers:],
        on_accelerator,
        on_host,
    )
    busy *= factor.total
    forward_time, backward_time = _over_layers(busy[..., :layers]), _over_layers(busy[..., layers:])
    return Computation(
        forward_time,
        backward_time,
        _over_layers(on_layers) * stretch * factor.total - forward_time - backward_time,
        update * factor.total,
        (learned.iteration_overhead + update * (stretch - 1)) * factor.total,
        table.all_kernels,
        (passes - backward) * factor.total,
        backward * factor.total,
        1 - 1 / (stretch * stretch),
    )


def _over_layers(times: Array) -> Any:
    """Sum along the layers: a number for one plan, an array for many."""
    total = times.sum(axis=-1)
    return total if total.ndim else total.item()


def along_layers(factor: Any) -> Any:
    """Return a factor of each plan as one that multiplies times by layer."""
    return factor if isinstance(factor, float) else factor[..., None]


@lru_cache(maxsize=256)
def _replicated(workload: Workload) -> float:
    """What Python touches to make one replica and run it: modules, their tensors and buffers, launches."""
    norms = sum(layer.kind == "norm" for layer in workload.layers)
    touched = len(workload.layers) + float(workload.column("forward_kernels").sum())
    return touched + layer_table(workload).tensors + NORM_BUFFERS * norms


def one_host_time(setting: Setting, work: Computation, calibration: Calibration) -> Any:
    """Return what one process loses by serving all its accelerators one after another [s], number or array.

    Threads do not help where they share one interpreter lock.
    """
    if setting.strategy != "data-parallel-single-process":
        return 0.0
    n, dispatch_time = setting.world_size, calibration.efficiency.dispatch_time
    if setting.framework.python_replicas:
        each = calibration.replica_dispatches * dispatch_time
        lost = replica_time(n, _replicated(setting.workload), each)
    else:
        steps = setting.accumulation_steps
        lost = launch_overhead(work.alone(steps) / steps, n * work.kernels, dispatch_time)
    return ops.where(n > 1, lost, 0.0)
