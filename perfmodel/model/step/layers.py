"""The layers of a network as arrays, from which its time is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import remembered
from perfmodel.model.fitted.efficiency import CLASSES, KINDS
from perfmodel.workloads.workload import CONVOLUTION, Layer, Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Indices = NDArray[np.intp]

NO_PRODUCT = len(CLASSES)
"""Class of a layer without a product: the last column of ``Efficiency.slowdown``."""
FEWEST_COLUMNS = 32
"""Fewest output channels of a convolution's group that fill a tile of the matrix units."""
STEM_CHANNELS = 4
"""Most input channels of a convolution that reads the image."""


TOTALS = 3
"""Fields at the end of a ``LayerTable`` that are scalars."""


class LayerTable(NamedTuple):
    """Both passes of every layer: forward ones first, then backward ones, each in forward order.

    Arrays have shape (2 * layers,); counts that grow with the batch are per sample.
    """

    flops: Array
    elements: Array
    """Activations read and written."""
    parameters: Array
    """Read by the forward pass; read and written by the backward pass."""
    kernels: Array
    product_kernels: Array
    """Kernels that compute products."""
    product: Indices
    """Index in ``CLASSES``, or ``NO_PRODUCT``."""
    traffic: Indices
    """Index in ``KINDS``."""
    depth: Array
    columns: Array
    is_product: NDArray[np.bool_]
    light: NDArray[np.bool_]
    """Grouped and depthwise convolutions."""
    image: NDArray[np.bool_]
    """Convolutions whose images may be transposed; depthwise ones run outside matrix units."""
    elementwise: NDArray[np.bool_]
    lookup: NDArray[np.bool_]
    """Look-ups of rows of a table."""
    winograd: NDArray[np.bool_]
    """Convolutions that Winograd's algorithm can compute."""
    backward: NDArray[np.bool_]
    all_kernels: float
    all_product_kernels: float
    tensors: float
    """Parameter tensors of the network."""


def product_class(layer: Layer) -> int:
    """Return the index of a layer's product in ``CLASSES``, or ``NO_PRODUCT``."""
    product = layer.operation.product
    name = _convolution_class(layer) if product == CONVOLUTION else product
    return CLASSES.index(name) if name else NO_PRODUCT


def _convolution_class(layer: Layer) -> str:
    """Return the class of a convolution, by kernel, stride, groups and channels."""
    height, width = layer.kernel_size
    if layer.gemm_count > 1 and layer.gemm_columns < FEWEST_COLUMNS:
        return "grouped"
    if layer.gemm_depth / (height * width) <= STEM_CHANNELS:
        return "conv-stem"
    if (height, width) == (3, 3):
        return "conv3x3-stride1" if layer.stride == 1 else "conv3x3"
    return "conv1x1" if (height, width) == (1, 1) else "conv-other"


@remembered(maxsize=256)
def layer_table(workload: Workload) -> LayerTable:
    """Return the table of a network's layers, cached."""

    def both(forward: str, backward: str) -> Array:
        return np.concatenate([workload.column(forward), workload.column(backward)])

    layers = workload.layers
    product = np.array([product_class(layer) for layer in layers] * 2)
    traffic = np.array([KINDS.index(layer.operation.traffic) for layer in layers] * 2)
    parameters = workload.column("parameters")
    kernels = both("forward_kernels", "backward_kernels")
    depthwise, grouped = CLASSES.index("depthwise"), CLASSES.index("grouped")
    is_product = product < NO_PRODUCT
    convolution = (product < CLASSES.index("linear")) | (product == grouped)
    return LayerTable(
        flops=both("forward_flops", "backward_flops"),
        elements=both("forward_elements", "backward_elements"),
        parameters=np.concatenate([parameters, 2 * parameters]),
        kernels=kernels,
        product_kernels=kernels * is_product,
        product=product,
        traffic=traffic,
        depth=np.maximum(both("gemm_depth", "gemm_depth"), 1.0),
        columns=np.maximum(both("gemm_columns", "gemm_columns"), 1.0),
        is_product=is_product,
        light=(product == depthwise) | (product == grouped),
        image=convolution,
        elementwise=traffic != KINDS.index("product"),
        lookup=traffic == KINDS.index("embedding"),
        winograd=product == CLASSES.index("conv3x3-stride1"),
        backward=np.arange(2 * len(layers)) >= len(layers),
        all_kernels=ops.number(kernels.sum()),
        all_product_kernels=ops.number((kernels * is_product).sum()),
        tensors=float(sum(len(layer.tensors) for layer in layers)),
    )
