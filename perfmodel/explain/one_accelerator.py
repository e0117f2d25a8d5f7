"""The derivation of one accelerator's terms: layers, launches, the host's pace, the update."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from perfmodel.calibration import Calibration
from perfmodel.efficiency import KINDS, Effects
from perfmodel.equations.compute import update_time
from perfmodel.equations.layer_pass import paced_time, product_time, small_product_saturation, traffic_time
from perfmodel.explain import assembly
from perfmodel.explain.node import Node, given, worked
from perfmodel.prediction.computation import USUAL_COMPUTE_UNITS, conditions, demand, unit
from perfmodel.prediction.layers import LayerTable, layer_table
from perfmodel.resolve import Setting
from perfmodel.sensitivity.changes import has_own_vector_peak

_PRODUCT = KINDS.index("product")


class Alone(NamedTuple):
    """One accelerator's quantities, before a measurement is known."""

    forward_sum: Node
    backward_sum: Node
    busy_backward: Node
    """By layer."""
    busy_sum: Node
    kernels: Node
    layer_kernels: Node
    """Of the backward pass, by layer."""
    kernel_floor: Node
    dispatch_time: Node
    device: Node
    host: Node
    stretch: Node
    effect: Node
    update: Node
    overhead: Node
    steps: Node


def one_accelerator(setting: Setting, constants: Calibration) -> Alone:
    """Return what ``perfmodel.prediction.computation`` works out, quantity by quantity."""
    learned, table = constants.efficiency, layer_table(setting.workload)
    factor = learned.effects(conditions(setting))
    names = [layer.name for layer in setting.workload.layers]
    labels = tuple([f"{name}, forward" for name in names] + [f"{name}, backward" for name in names])
    batch = given("local_batch_size", float(setting.local_batch_size), local_batch_size=1)
    bandwidth = given(
        "memory_bandwidth", setting.accelerator.memory_bandwidth.value, "its spec", memory_bandwidth=1
    )
    traffic_factors = learned.traffic * factor.traffic
    traffic_factors[:_PRODUCT] *= factor.elementwise
    products = _products(setting, constants, table, factor, batch, labels)
    traffic = _traffic(setting, constants, table, traffic_factors, batch, bandwidth, labels)
    busy = worked("busy_times", paced_time, labels, first_time=products, second_time=traffic)

    steps = given("accumulation_steps", float(setting.accumulation_steps))
    floor = given("kernel_floor", learned.kernel_floor, "fitted", kernel_floor=1)
    dispatch = given("dispatch_time", learned.dispatch_time, "fitted", dispatch_time=1)
    kernels = given("kernels", table.all_kernels, "the layer table")
    update_kernels = given(
        "update_kernels",
        learned.optimizer_kernels * table.tensors if setting.states.update_bytes else 0.0,
        "fitted, for each parameter tensor",
    )
    update = worked(
        "update_time",
        assembly.update_on_device,
        update_time=worked(
            "update_time",
            update_time,
            parameters=given("parameters", float(setting.workload.parameters), "the network", parameters=1),
            update_bytes_per_parameter=given(
                "update_bytes_per_parameter",
                float(setting.states.update_bytes),
                f"the optimizer, {setting.optimizer}",
                element_bytes=1,
            ),
            achieved_memory_bandwidth=bandwidth,
        ),
        inefficiency=given(
            "inefficiency", float(traffic_factors[_PRODUCT]), "fitted", traffic_inefficiency=1
        ),
        update_kernels=update_kernels,
        kernel_floor=floor,
    )
    layers = len(names)
    forward, backward = (_part(busy, half, labels) for half in (slice(None, layers), slice(layers, None)))
    forward_sum = worked("busy_sum", assembly.sum_of, values=forward)
    backward_sum = worked("busy_sum", assembly.sum_of, values=backward)
    total = worked("busy_sum", assembly.both_passes, first_part=forward_sum, second_part=backward_sum)
    device = worked(
        "device_time",
        assembly.device_time,
        accumulation_steps=steps,
        busy_sum=total,
        kernels=kernels,
        kernel_floor=floor,
        update_time=update,
    )
    host = worked(
        "host_time",
        assembly.host_time,
        accumulation_steps=steps,
        kernels=kernels,
        update_kernels=update_kernels,
        dispatch_time=dispatch,
    )
    paced = worked("paced_time", paced_time, first_time=device, second_time=host)
    return Alone(
        forward_sum=forward_sum,
        backward_sum=backward_sum,
        busy_backward=backward,
        busy_sum=total,
        kernels=kernels,
        layer_kernels=given("kernels", table.kernels[layers:], "the layer table", labels[layers:]),
        kernel_floor=floor,
        dispatch_time=dispatch,
        device=device,
        host=host,
        stretch=worked("stretch", assembly.stretch, paced_time=paced, device_time=device),
        effect=given("effect", factor.total, f"fitted: {setting.workload.id}"),
        update=update,
        overhead=given("iteration_overhead", learned.iteration_overhead, "fitted", iteration_overhead=1),
        steps=steps,
    )


def _part(busy: Node, half: slice, labels: tuple[str, ...]) -> Node:
    """The same formulas over the forward or the backward passes alone."""
    done: dict[int, Node] = {}
    inputs = {name: _sliced(node, half, done) for name, node in busy.inputs.items()}
    return worked(busy.name, paced_time, labels[half], **inputs)


def _sliced(node: Node, half: slice, done: dict[int, Node]) -> Node:
    if not np.ndim(node.value):
        return node
    if id(node) not in done:
        done[id(node)] = Node(
            node.name,
            node.value[half],
            node.function,
            {name: _sliced(each, half, done) for name, each in node.inputs.items()},
            {key: power[half] if np.ndim(power) else power for key, power in node.exponents.items()},
            node.labels[half],
            node.note,
        )
    return done[id(node)]


def _products(
    setting: Setting,
    constants: Calibration,
    table: LayerTable,
    factor: Effects,
    batch: Node,
    labels: tuple[str, ...],
) -> Node:
    accelerator, learned = setting.accelerator, constants.efficiency
    asked = demand(setting, table, float(setting.local_batch_size))
    matrix = asked.on_matrix_units
    peaks = accelerator.peak_flops
    own_vector_peak = has_own_vector_peak(setting)
    vector_peak = peaks["fp32"].value if "fp32" in peaks else setting.peak_flops
    powers: dict[str, Any] = {"peak_flops": 1}
    if own_vector_peak:
        powers = {"peak_flops": matrix * 1.0, "vector_peak_flops": ~matrix * 1.0}
    peak = given(
        "peak_flops",
        np.where(matrix, setting.peak_flops, vector_peak),
        f"its spec, {setting.peak_format}" + (" and fp32" if own_vector_peak else ""),
        labels,
        **powers,
    )
    flops = worked(
        "operation_flops",
        assembly.operation_flops,
        labels,
        local_batch_size=batch,
        flops_per_sample=given(
            "flops_per_sample", table.flops, "the layer table", labels, flops_per_sample=1
        ),
    )
    units = accelerator.compute_units
    work = worked(
        "work",
        assembly.unit_work,
        labels,
        operation_flops=flops,
        compute_units=given(
            "compute_units",
            float(units or USUAL_COMPUTE_UNITS),
            "its spec" if units else "usual: its spec does not say",
            **({"compute_units": 1} if units else {}),
        ),
    )
    half = learned.half[:, matrix.view(np.int8)]
    saturation = worked(
        "saturation",
        small_product_saturation,
        labels,
        work=work,
        product_depth=given("product_depth", table.depth, "the layer table", labels),
        product_columns=given("product_columns", table.columns, "the layer table", labels),
        half_work=given("half_work", half[0], "fitted", labels, half_work=1),
        half_depth=given("half_depth", half[1], "fitted", labels),
        half_columns=given("half_columns", half[2], "fitted", labels),
    )
    # what a product of its kind takes over the peak's time, without Winograd's algorithm more; 0 where none
    nominal = flops.value / peak.value * table.is_product
    winograd = np.divide(asked.product_time, nominal, out=np.ones_like(nominal), where=nominal > 0)
    slowdown = learned.slowdown[asked.units, table.product] * np.where(matrix, factor.matrix, factor.vector)
    slowdown *= np.where(table.light, factor.light, 1.0) * winograd * table.is_product
    power = _power_of_watts(setting, constants) * matrix
    powers = {"product_inefficiency": 1, "peak_flops": power, "reference_flops_per_joule": -power}
    powers["usual_power" if accelerator.tdp is None else "tdp"] = -power
    return worked(
        "operation_time",
        product_time,
        labels,
        operation_flops=flops,
        peak_flops=peak,
        inefficiency=given("inefficiency", slowdown, "fitted; 0 without a product", labels, **powers),
        saturation=saturation,
    )


def _power_of_watts(setting: Setting, constants: Calibration) -> float:
    """Exponent of matrix FLOP/s per watt in the time of matrix products."""
    if unit(setting) < 2:
        return 0.0
    on = conditions(setting)
    learned = constants.efficiency
    more = learned.effects(on._replace(power=on.power + 1)).matrix
    return math.log(more / learned.effects(on).matrix)


def _traffic(
    setting: Setting,
    constants: Calibration,
    table: LayerTable,
    factors: Any,
    batch: Node,
    bandwidth: Node,
    labels: tuple[str, ...],
) -> Node:
    asked = demand(setting, table, float(setting.local_batch_size))
    of_kind = factors[table.traffic]
    inefficiency = np.where(asked.transposed, of_kind * (1 + constants.efficiency.channels_first), of_kind)
    form = setting.format
    moved = worked(
        "operation_bytes",
        assembly.operation_bytes,
        labels,
        local_batch_size=batch,
        activations=given("activations", table.elements, "the layer table", labels, elements_per_sample=1),
        element_bytes=given(
            "element_bytes", float(form.activation_bytes), setting.precision, element_bytes=1
        ),
        weights=given("weights", table.parameters, "the layer table", labels, parameters=1),
        weight_bytes=given(
            "weight_bytes",
            float(form.weight_copy_bytes or form.activation_bytes),
            setting.precision,
            element_bytes=1,
        ),
    )
    return worked(
        "operation_time",
        traffic_time,
        labels,
        operation_bytes=moved,
        memory_bandwidth=bandwidth,
        inefficiency=given("inefficiency", inefficiency, "fitted", labels, traffic_inefficiency=1),
    )
