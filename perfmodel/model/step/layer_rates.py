"""Rates at which an accelerator and its software run each pass of a network, and the work of passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.core.ops import Real
from perfmodel.core.tracing.tracing import given, remembered
from perfmodel.equations.compute import update_time
from perfmodel.equations.host_pace import launches_time
from perfmodel.equations.layer_pass import (
    byte_time,
    flop_time,
    operation_bytes,
    operation_flops,
    product_time,
    shape_saturation,
    small_product_saturation,
    traffic_time,
    unit_work,
)
from perfmodel.equations.layer_sums import backward_passes, elapsed_times
from perfmodel.hardware.accelerator import USUAL_POWER
from perfmodel.hardware.formats import Format
from perfmodel.hardware.software import Release
from perfmodel.model.fitted.effect_inputs import EffectInputs
from perfmodel.model.fitted.efficiency import CLASSES, KINDS, UNITS, Effects, Efficiency
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.layers import LayerTable, layer_table
from perfmodel.workloads.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NO_WINOGRAD = 1.8
"""Time of a 3x3 convolution with stride 1 without Winograd's algorithm, over that with it."""
REFERENCE_PER_WATT = 125e12 / 300
"""Matrix FLOP/s per watt of the V100, the reference of the effect of power."""
REFERENCE_YEAR = 2020
VECTOR_FP32 = 0
"""Index in ``UNITS``: no matrix units, fp32."""
_MATRIX_16, _MATRIX_TF32 = UNITS.index("matrix-16"), UNITS.index("matrix-tf32")
_DEPTHWISE = CLASSES.index("depthwise")
_PRODUCT_TRAFFIC = KINDS.index("product")


def unit(setting: Setting) -> int:
    """Return the index in ``UNITS`` of the arithmetic of a setting's products."""
    if setting.peak_format in ("fp32", "fp16-vector"):
        return VECTOR_FP32 if setting.precision == "fp32" else 1
    return _MATRIX_TF32 if setting.precision == "tf32" else _MATRIX_16


def conditions(setting: Setting) -> EffectInputs:
    """Return the inputs of a setting's learned effects."""
    accelerator, framework = setting.accelerator, setting.framework
    tdp = accelerator.tdp.value if accelerator.tdp else given(USUAL_POWER, "usual_power", "assumed")
    power: Any = (
        ops.log(setting.peak_flops / tdp / given(REFERENCE_PER_WATT, "reference_flops_per_joule", "a V100"))
        if unit(setting) >= _MATRIX_16
        else 0.0
    )
    return EffectInputs(
        architecture=accelerator.pool,
        accelerator=accelerator.id,
        workload=setting.workload.id,
        framework=setting.software_name,
        precision=setting.precision,
        power=power,
        year=float(setting.software_year - REFERENCE_YEAR),
        fused=float(framework.fused),
        unfused_transformer=float(framework.unfused_transformer and setting.workload.family == "transformer"),
        detection=float(setting.workload.detection_heads),
    )


class Demand(NamedTuple):
    """Work of a setting's layers, before any efficiency; shape (..., 2 * layers)."""

    flops: Real
    bytes: Real
    work: Real
    """FLOP per compute unit, in ``WORK_UNIT``."""
    update_time: Real
    """Traffic of the optimizer at the nominal bandwidth [s]."""


def element_bytes(form: Format, table: LayerTable) -> Any:
    """Return the bytes of an element for each pass; one number if all are equal."""
    alike = ops.plain(form.lookup_bytes) == ops.plain(form.activation_bytes)
    if alike or not table.lookup.any():
        return form.activation_bytes
    return ops.where(table.lookup, form.lookup_bytes, form.activation_bytes)


def demand(setting: Setting, table: LayerTable, local_batch_size: Any) -> Demand:
    """Return the work of one micro-batch of ``local_batch_size`` samples.

    For a column of batches, shape (plans, 1), quantities that grow with the batch have a row for each.
    """
    accelerator, form = setting.accelerator, setting.format
    flops = operation_flops(local_batch_size, table.flops)
    return Demand(
        flops,
        operation_bytes(
            local_batch_size,
            table.elements,
            element_bytes(form, table),
            table.parameters,
            form.weight_copy_bytes or form.activation_bytes,
        ),
        unit_work(flops, accelerator.compute_units),
        update_time(
            setting.workload.parameters, setting.states.update_bytes, accelerator.memory_bandwidth.value
        ),
    )


class Arithmetic(NamedTuple):
    """Properties of a setting that determine the rates of its layers, other than the layers."""

    unit: int
    """Index in ``UNITS``."""
    peak_flops: float
    """Peak of that unit [FLOP/s]."""
    vector_peak: float
    """Peak of the ordinary units, which run depthwise convolutions [FLOP/s]."""
    winograd: str
    channels_first: bool


def arithmetic(setting: Setting) -> Arithmetic:
    """Return the arithmetic of a setting: units, peaks and algorithms."""
    peaks, framework = setting.accelerator.peak_flops, setting.framework
    vector_peak = peaks["fp32"].value if "fp32" in peaks else setting.peak_flops
    return Arithmetic(
        unit(setting), setting.peak_flops, vector_peak, framework.winograd, framework.channels_first
    )


class Service(NamedTuple):
    """Units and penalties of each pass of a table of layers, for any batch; shape (2 * layers,)."""

    peak_flops: Array
    """Peak of the units that run each product [FLOP/s]."""
    penalty: Array
    """Factor on a product without Winograd's algorithm; 0 for layers without a product."""
    units: NDArray[np.intp]
    """Index in ``UNITS``."""
    on_matrix_units: NDArray[np.bool_]
    transposed: NDArray[np.bool_]
    """Whether a pass transposes images, whose channels come first."""


def service(table: LayerTable, by: Arithmetic) -> Service:
    """Return units and penalties of each pass of a table of layers."""
    units = np.where(table.product == _DEPTHWISE, min(by.unit, 1), by.unit)
    on_matrix_units = units >= _MATRIX_16
    penalty: Array = table.is_product.astype(np.float64)
    if by.winograd != "full":
        slow = table.winograd & (units == VECTOR_FP32)
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
    """Rates of each pass with a setting's software, for any batch; arrays of shape (passes,)."""

    flop_time: Any
    """Time of one operation of a very large product of each shape [s/FLOP]."""
    half_work: Array
    byte_time: Any
    """Time of each pass's memory traffic [s/B]."""
    update: Real
    """Time of the optimizer's memory traffic over that at the nominal bandwidth."""
    effect: Real
    """Factor on the whole computation."""


def rates(
    table: LayerTable, served: Service, memory_bandwidth: Any, learned: Efficiency, effects: Effects
) -> Rates:
    """Return the rates of passes.

    Parameters
    ----------
    table, served : the passes of one network, or of several concatenated
    memory_bandwidth : nominal [B/s]; a number, or an array of shape (passes,)
    learned : the efficiencies
    effects : numbers, or arrays of shape (passes,)
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
        ops.number(learned.traffic[_PRODUCT_TRAFFIC]) * effects.traffic,
        effects.total,
    )


@remembered(maxsize=256)
def rates_of(
    workload: Workload, by: Arithmetic, memory_bandwidth: float, learned: Efficiency, on: EffectInputs
) -> Rates:
    """Return the rates of a network's passes, cached."""
    table = layer_table(workload)
    return rates(table, service(table, by), memory_bandwidth, learned, learned.effects(on))


def busy_times(load: Demand, rates: Rates) -> tuple[Any, Any]:
    """Return the times of products and of memory traffic of each pass [s]."""
    saturation = small_product_saturation(load.work, rates.half_work)
    return product_time(load.flops, rates.flop_time, saturation), traffic_time(load.bytes, rates.byte_time)


def update_launches(setting: Setting, learned: Efficiency, tensors: float) -> Any:
    """Return the number of kernels that an update of ``tensors`` parameter tensors launches.

    Without an optimizer it is 0: benchmarks of passes alone update nothing.
    """
    if setting.optimizer == "none":
        return 0.0
    return learned.optimizer_kernels * (tensors / setting.framework.update_tensors)


class Launches(NamedTuple):
    """Fixed times of the kernels of a network [s]."""

    on_device: Any
    """Time of each pass on the accelerator, shape (2 * layers,)."""
    all_on_device: Any
    on_host: Any
    """Time of each pass on the host, shape (2 * layers,)."""
    host_elapsed: Any
    """Time on the host of the backward passes up to each layer, shape (layers + 1,)."""


@remembered(maxsize=256)
def launches_of(workload: Workload, learned: Efficiency, software: Release) -> Launches:
    """Return the fixed times of a network's kernels, cached.

    Parameters
    ----------
    workload : the network
    learned : efficiencies
    software : says whether the host launches kernels, and whether products need a set-up
    """
    table = layer_table(workload)
    on_host = (learned.dispatch_time if software.graphs == "none" else 0.0) * table.kernels
    floor, set_up = learned.kernel_floor, 0.0 if software.prepared_products else learned.product_set_up
    return Launches(
        launches_time(table.kernels, floor, table.product_kernels, set_up),
        launches_time(table.all_kernels, floor, table.all_product_kernels, set_up),
        on_host,
        elapsed_times(backward_passes(on_host)),
    )
