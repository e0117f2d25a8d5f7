"""Completes the layers of a table: derives missing fields from the others, or refuses the layer."""

from __future__ import annotations

import math

from perfmodel.workloads.workload import Layer

SHAPE = ("gemm_rows", "gemm_columns", "gemm_depth")
TOLERANCE = 0.01
"""Largest relative difference between stated FLOP and those of the shape, as some count biases."""
ROUNDING = 1e-6


def completed(layer: Layer, given: frozenset[str] | set[str]) -> tuple[Layer, str]:
    """Return a layer with shape, FLOP and traffic filled in, and the assumption made for that, or "".

    Parameters
    ----------
    layer : as in the table, with defaults for missing fields
    given : names of the fields in the table; ``tensors`` is one if the table has that column

    Raises
    ------
    ValueError : a field that time or memory depends on is missing and cannot be derived
    """
    assumed = ""
    if layer.operation.product:
        layer, assumed = _shaped(layer, given)
        layer = _with_flops(layer, given)
        if layer.operation.is_weighted and "tensors" not in given:
            weights = layer.gemm_count * layer.gemm_columns * layer.gemm_depth
            layer = layer._replace(tensors=(max(1, round(weights)),))
    elif "forward_elements" not in given:
        raise ValueError(
            f"forward_elements is missing; expected the elements a {layer.kind} reads and writes for a "
            "sample, 0 for one that moves none"
        )
    read, written = _traffic(layer)
    if "forward_elements" not in given:
        layer = layer._replace(forward_elements=read + written)
    if "saved_elements" not in given:
        kept = read if layer.operation.product else layer.forward_elements / 2
        layer = layer._replace(saved_elements=kept)
    if "backward_flops" not in given:
        layer = layer._replace(backward_flops=2 * layer.forward_flops)
    if "backward_elements" not in given:
        layer = layer._replace(backward_elements=2 * layer.forward_elements)
    return layer, assumed


def _shaped(layer: Layer, given: frozenset[str] | set[str]) -> tuple[Layer, str]:
    """Return a product with rows, columns and depth, as given or derived from weights, bias and FLOP."""
    missing = [name for name in SHAPE if name not in given]
    known = {name: getattr(layer, name) for name in SHAPE if name in given}
    if any(value <= 0 for value in known.values()):
        name = next(name for name, value in known.items() if value <= 0)
        raise ValueError(f"{name} is 0; a {layer.kind} is a matrix product: expected a number above 0")
    assumed = ""
    taps = math.prod(layer.kernel_size)
    if layer.operation.product == "depthwise" and layer.tensors and "gemm_count" not in given:
        layer = layer._replace(gemm_count=_exact("gemm_count", max(layer.tensors), taps))
    if layer.operation.is_weighted and layer.tensors:
        weights = max(layer.tensors) / layer.gemm_count
        if layer.operation.product == "depthwise":
            known.setdefault("gemm_columns", 1.0)
        elif len(layer.tensors) > 1:  # the weights, and a bias of each output
            known.setdefault("gemm_columns", min(layer.tensors) / layer.gemm_count)
        if not known.keys() & {"gemm_columns", "gemm_depth"}:
            known["gemm_columns"] = math.sqrt(weights / taps)
            assumed = "as many outputs as inputs"
        if "gemm_depth" not in known:
            depth = weights / known["gemm_columns"]
            known["gemm_depth"] = depth if assumed else _exact("gemm_depth", weights, known["gemm_columns"])
        if "gemm_columns" not in known:
            known["gemm_columns"] = _exact("gemm_columns", weights, known["gemm_depth"])
    left = [name for name in SHAPE if name not in known]
    if len(left) == 1 and layer.forward_flops > 0:
        each = 2 * layer.gemm_count * math.prod(known.values())
        known[left[0]] = _near(left[0], layer.forward_flops, each)
    elif left:
        of_weights = ", or the elements of its weights and bias as tensors"
        implied = of_weights if layer.operation.is_weighted else ""
        raise ValueError(
            f"without {', '.join(missing)}; a {layer.kind} is a matrix product: expected its shape{implied}"
        )
    return layer._replace(**known), assumed


def _exact(name: str, weights: float, other: float) -> float:
    """Return one side of a weight matrix from its weights and the other side.

    Raises
    ------
    ValueError : the side is not a whole number
    """
    side = weights / other
    if abs(side - round(side)) > ROUNDING * side:
        raise ValueError(
            f"its {weights:g} weights over {other:g} make {name} {side:g}; expected a whole number: tensors "
            "with weights and bias apart, e.g. 64000 64, or another shape"
        )
    return side


def _near(name: str, flops: float, each: float) -> float:
    """Return one side of a product from its FLOP, and ``each``, the FLOP per unit of the side.

    Raises
    ------
    ValueError : the side differs from every whole number by more than ``TOLERANCE``
    """
    side = flops / each
    whole = max(1, round(side))
    if abs(side / whole - 1) > TOLERANCE:
        fewer = max(1, math.floor(side))
        raise ValueError(
            f"forward_flops is {flops:g}, which makes {name} {side:.4g}; expected those of a whole number, "
            f"e.g. {fewer * each:g} for {fewer} or {(fewer + 1) * each:g} for {fewer + 1}"
        )
    return side


def _with_flops(layer: Layer, given: frozenset[str] | set[str]) -> Layer:
    flops = 2 * layer.gemm_count * layer.gemm_rows * layer.gemm_columns * layer.gemm_depth
    if "forward_flops" not in given:
        return layer._replace(forward_flops=flops)
    if abs(layer.forward_flops / flops - 1) > TOLERANCE:
        raise ValueError(
            f"forward_flops is {layer.forward_flops:g}; its shape has 2 x rows x columns x depth x count = "
            f"{flops:g}"
        )
    return layer


def _traffic(layer: Layer) -> tuple[float, float]:
    """Return the elements that a product reads, without weights, and writes for one sample."""
    rows, columns, depth, count = layer.gemm_rows, layer.gemm_columns, layer.gemm_depth, layer.gemm_count
    written = count * rows * columns
    if not layer.operation.is_weighted:
        return count * depth * (rows + columns), written
    if not layer.operation.convolves:
        return rows * depth, written
    return rows * layer.stride**2 * count * depth / math.prod(layer.kernel_size), written
