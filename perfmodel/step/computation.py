"""The terms of one accelerator on its own: forward, backward, launches, update."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel import ops
from perfmodel.calibration import Calibration
from perfmodel.efficiency import CLASSES, KINDS, UNITS, EffectInputs, Effects, Efficiency
from perfmodel.equations.compute import launch_overhead, update_time
from perfmodel.equations.host_pace import (
    device_time,
    host_stretch,
    host_time,
    launch_time,
    launches_time,
    layer_device_times,
    layer_host_times,
    micro_batch_time,
    once_an_iteration,
    pass_time,
    stretched_time,
    update_on_device,
    with_effect,
)
from perfmodel.equations.iteration import alone_time
from perfmodel.equations.layer_pass import (
    byte_time,
    flop_time,
    operation_bytes,
    operation_flops,
    paced_layer_times,
    paced_time,
    product_time,
    shape_saturation,
    small_product_saturation,
    traffic_time,
    unit_work,
)
from perfmodel.equations.layer_sums import (
    backward_passes,
    both_passes,
    elapsed_times,
    forward_passes,
    forward_remainder,
    sum_over_layers,
)
from perfmodel.equations.single_process import replica_time
from perfmodel.ops import Real
from perfmodel.resolve import Setting
from perfmodel.specs.workload import Workload
from perfmodel.step.layers import LayerTable, layer_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NO_WINOGRAD = 1.8
"""What a 3x3 convolution with stride 1 takes without Winograd's algorithm over what it takes with it."""
USUAL_COMPUTE_UNITS = 60
"""Where a spec does not say."""
REFERENCE_PER_WATT = 125e12 / 300
"""Matrix FLOP/s a watt of the V100, which the effect of power is measured from."""
REFERENCE_YEAR = 2020
NORM_BUFFERS = 3
"""Running mean, running variance and a counter."""
NEED_FORWARD = ("priority", "optimal")
"""Overlaps that go by when each layer's forward pass needs its gradients."""
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
        return pass_time(self.forward_time, self.backward_time, self.launch_overhead_time)

    def alone(self, steps: Any) -> Any:
        """Time of ``steps`` micro-batches and an update, with nothing to wait for [s]."""
        return alone_time(steps, self.pass_time, self.update_time, self.iteration_overhead_time)


def unit(setting: Setting) -> int:
    """Index in ``UNITS`` of the arithmetic that serves the setting's products."""
    if setting.peak_format in ("fp32", "fp16-vector"):
        return 0 if setting.precision == "fp32" else 1
    return _MATRIX_TF32 if setting.precision == "tf32" else _MATRIX_16


def conditions(setting: Setting) -> EffectInputs:
    """Return what the effects of a setting hang on."""
    accelerator, framework = setting.accelerator, setting.framework
    tdp = accelerator.tdp.value if accelerator.tdp else 250.0
    power = math.log(setting.peak_flops / tdp / REFERENCE_PER_WATT) if unit(setting) >= _MATRIX_16 else 0.0
    return EffectInputs(
        architecture=accelerator.pool,
        workload=setting.workload.id,
        power=power,
        year=float(setting.software_year - REFERENCE_YEAR),
        fused=float(framework.fused),
        unfused_transformer=float(framework.unfused_transformer and setting.workload.family == "transformer"),
        detection=float(setting.workload.detection_heads),
    )


class Demand(NamedTuple):
    """What the layers of a setting ask of the accelerator, before any efficiency; shape (..., 2 * layers)."""

    flops: Real
    bytes: Real
    work: Real
    """FLOP of a compute unit, in ``WORK_UNIT``."""
    update_time: Real
    """Bytes of the optimizer over the nominal bandwidth [s]."""


def demand(setting: Setting, table: LayerTable, local_batch_size: Any) -> Demand:
    """Return what one micro-batch of ``local_batch_size`` samples asks for.

    A column of batches, shape (plans, 1), gives what grows with the batch a row for each.
    """
    accelerator, form = setting.accelerator, setting.format
    flops = operation_flops(local_batch_size, table.flops)
    return Demand(
        flops,
        operation_bytes(
            local_batch_size,
            table.elements,
            form.activation_bytes,
            table.parameters,
            form.weight_copy_bytes or form.activation_bytes,
        ),
        unit_work(flops, accelerator.compute_units or USUAL_COMPUTE_UNITS),
        update_time(
            setting.workload.parameters, setting.states.update_bytes, accelerator.memory_bandwidth.value
        ),
    )


class Arithmetic(NamedTuple):
    """What a setting has its layers computed by, besides the layers themselves."""

    unit: int
    """Index in ``UNITS``."""
    peak_flops: float
    """Of that unit [FLOP/s]."""
    vector_peak: float
    """Of the ordinary units, which serve depthwise convolutions [FLOP/s]."""
    winograd: str
    channels_first: bool


def arithmetic(setting: Setting) -> Arithmetic:
    """Return what a setting has its layers computed by."""
    peaks, framework = setting.accelerator.peak_flops, setting.framework
    vector_peak = peaks["fp32"].value if "fp32" in peaks else setting.peak_flops
    return Arithmetic(
        unit(setting), setting.peak_flops, vector_peak, framework.winograd, framework.channels_first
    )


class Service(NamedTuple):
    """What serves each pass of a table of layers, whatever the batch; arrays of shape (2 * layers,)."""

    peak_flops: Array
    """Of the units that serve each product [FLOP/s]."""
    penalty: Array
    """What the lack of Winograd's algorithm costs a product; 0 where a layer has none."""
    units: NDArray[np.intp]
    """Index in ``UNITS``."""
    on_matrix_units: NDArray[np.bool_]
    transposed: NDArray[np.bool_]
    """Whose traffic pays for channels that come first."""


def service(table: LayerTable, by: Arithmetic) -> Service:
    """Return what serves each pass of a table of layers."""
    units = np.where(table.product == _DEPTHWISE, min(by.unit, 1), by.unit)
    on_matrix_units = units >= _MATRIX_16
    penalty: Array = table.is_product.astype(np.float64)
    if by.winograd != "full":
        slow = table.winograd & (units == 0)
        if by.winograd == "forward":
            # the gradient of the weights and that of the input are halves of the backward pass
            penalty = np.where(slow & table.backward, penalty * (1 + NO_WINOGRAD) / 2, penalty)
        else:
            penalty = np.where(slow, penalty * NO_WINOGRAD, penalty)
    return Service(
        np.where(on_matrix_units, by.peak_flops, by.vector_peak),
        penalty,
        units,
        on_matrix_units,
        on_matrix_units & table.image & by.channels_first,
    )


class Rates(NamedTuple):
    """How fast a setting's software runs each pass, whatever the batch; arrays of shape (passes,)."""

    flop_time: Any
    """Of one operation of a very large product of each shape [s/FLOP]."""
    half_work: Array
    byte_time: Any
    """Of each pass's memory traffic [s/B]."""
    update: Real
    """Time of the optimizer's memory traffic over that at the nominal bandwidth."""
    effect: Real
    """On the whole."""


def rates(
    table: LayerTable, served: Service, memory_bandwidth: Any, learned: Efficiency, effects: Effects
) -> Rates:
    """Return how fast passes run.

    Parameters
    ----------
    table, served : the passes of one network, or of many end to end
    memory_bandwidth : nominal [B/s]; a number, or where passes differ in it an array of shape (passes,)
    learned : the efficiencies
    effects : numbers, or where passes differ in them arrays of shape (passes,)
    """
    group = served.on_matrix_units.view(np.int8)
    products = learned.slowdown[served.units, table.product]
    products *= np.where(served.on_matrix_units, effects.matrix, effects.vector)
    products *= np.where(table.light, effects.light, 1.0) * served.penalty
    half_work, half_depth, half_columns = learned.half[:, group]
    traffic = learned.traffic[table.traffic] * effects.traffic
    traffic *= np.where(table.elementwise, effects.elementwise, 1.0)
    by_shape = shape_saturation(table.depth, table.columns, half_depth, half_columns)
    return Rates(
        flop_time(served.peak_flops, products, by_shape),
        half_work,
        byte_time(
            memory_bandwidth, np.where(served.transposed, traffic * (1 + learned.channels_first), traffic)
        ),
        float(learned.traffic[_PRODUCT_TRAFFIC]) * effects.traffic,
        effects.total,
    )


@lru_cache(maxsize=256)
def _rates(
    workload: Workload, by: Arithmetic, memory_bandwidth: float, learned: Efficiency, on: EffectInputs
) -> Rates:
    table = layer_table(workload)
    return rates(table, service(table, by), memory_bandwidth, learned, learned.effects(on))


def busy_times(asked: Demand, at: Rates) -> tuple[Any, Any]:
    """Return what products and memory traffic take in each pass, each on its own [s]."""
    saturation = small_product_saturation(asked.work, at.half_work)
    return product_time(asked.flops, at.flop_time, saturation), traffic_time(asked.bytes, at.byte_time)


class Launches(NamedTuple):
    """What launches take, whatever the kernels do [s]."""

    on_device: Any
    """Of each pass, shape (2 * layers,)."""
    all_on_device: Any
    on_host: Any
    """As ``on_device``."""
    host_elapsed: Any
    """On the host, of the backward passes up to each layer, shape (layers + 1,)."""


@lru_cache(maxsize=256)
def _launches(workload: Workload, learned: Efficiency) -> Launches:
    table = layer_table(workload)
    on_host = layer_host_times(table.kernels, learned.dispatch_time)
    return Launches(
        launches_time(table.kernels, learned.kernel_floor),
        launches_time(table.all_kernels, learned.kernel_floor),
        on_host,
        elapsed_times(backward_passes(on_host)),
    )


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
    setting : the workload, the accelerator and the software
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
    table, learned = layer_table(setting.workload), calibration.efficiency
    asked = demand(setting, table, local_batch_size * 1.0)
    memory_bandwidth = setting.accelerator.memory_bandwidth.value
    at = _rates(setting.workload, arithmetic(setting), memory_bandwidth, learned, conditions(setting))
    effect, launches = at.effect, _launches(setting.workload, learned)

    busy = paced_time(*busy_times(asked, at))
    busy_forward, busy_backward = (
        sum_over_layers(forward_passes(busy)),
        sum_over_layers(backward_passes(busy)),
    )
    passes_on_device = layer_device_times(both_passes(busy_forward, busy_backward), launches.all_on_device)

    update_kernels = learned.optimizer_kernels * table.tensors if setting.states.update_bytes else 0.0
    update = update_on_device(asked.update_time, at.update, update_kernels, learned.kernel_floor)
    device = device_time(steps, passes_on_device, update)
    host = host_time(steps, table.all_kernels, update_kernels, learned.dispatch_time)
    stretch = host_stretch(paced_time(device, host), device)

    on_device = layer_device_times(busy, launches.on_device)
    device_backward = backward_passes(on_device)
    backward = paced_layer_times(elapsed_times(device_backward), launches.host_elapsed, device, host)
    forward_by_layer: Any = 0.0
    if setting.overlap in NEED_FORWARD if forward_layers is None else forward_layers:
        device_passes = both_passes(forward_passes(on_device), device_backward)
        host_passes = both_passes(forward_passes(launches.on_host), backward_passes(launches.on_host))
        passes = paced_layer_times(elapsed_times(device_passes), elapsed_times(host_passes), device, host)
        forward_by_layer = with_effect(forward_remainder(passes, backward), effect)
    forward_time, backward_time = with_effect(busy_forward, effect), with_effect(busy_backward, effect)
    return Computation(
        forward_time,
        backward_time,
        launch_time(stretched_time(passes_on_device, stretch, effect), forward_time, backward_time),
        with_effect(update, effect),
        once_an_iteration(learned.iteration_overhead, update, stretch, effect),
        table.all_kernels,
        forward_by_layer,
        with_effect(backward, effect),
        1 - 1 / (stretch * stretch),
    )


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
        lost = launch_overhead(micro_batch_time(work.alone(steps), steps), n * work.kernels, dispatch_time)
    return ops.where(n > 1, lost, 0.0)
