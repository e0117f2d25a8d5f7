"""Compressed gradients: bytes to send by each collective, and the work to encode and decode them."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, Final, NamedTuple

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import given, remembered
from perfmodel.equations.compression import (
    coding_traffic,
    powersgd_elements,
    random_k_bytes,
    top_k_bytes,
)
from perfmodel.equations.host_pace import update_on_device
from perfmodel.equations.layer_pass import paced_time
from perfmodel.equations.quantization import (
    half_precision_bytes,
    one_bit_bytes,
    qsgd_bytes,
    qsgd_variance_bound,
    sign_bytes,
    ternary_bytes,
)
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.compression import Scheme
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.layer_rates import arithmetic, conditions, rates_of
from perfmodel.workloads.workload import Workload

VALUE_BYTES: Final = 4
BUCKET_BYTES: Final = 25 << 20
"""Bucket of PyTorch's DistributedDataParallel, whose hooks compress a bucket at once."""
NORM_BUCKET: Final = 512
"""Elements of QSGD that share a norm."""
SELECTION: Final = 4.8
"""Reads of a tensor by ``torch.topk``: 11.3 ms for 128 rows of 8e6 fp16 elements at 864 GB/s, PyTorch 2.4 on
an L20 (github.com/pytorch/pytorch/issues/167462, read 2026-11-22)."""
OLD_SELECTION: Final = 2294.0
"""The same of software before ``PARALLEL_SELECTION``, which gives a tensor one block of threads: 25.6 ms for
2e6 fp32 elements at 717 GB/s, PyTorch 1.1 on a GP100 (issues/22812, read 2026-11-22)."""
PARALLEL_SELECTION: Final = 2022
"""Year of PyTorch 1.11, which sorts large tensors or searches them with many blocks (pull/68632)."""
ASSUMED: Final = (
    "reads, writes and kernels of coding, counted in an implementation that fuses what it can",
    "neither exchange hides behind the backward pass; coding never does",
)


class Gradient(NamedTuple):
    """The tensors of a network's gradient, as matrices and vectors."""

    matrices: tuple[tuple[float, float], ...]
    """Rows and columns of each tensor with more than one dimension."""
    vector_elements: float
    """Elements of all other tensors, which low-rank compression does not compress."""
    tensors: int

    @property
    def elements(self) -> float:
        """Total number of elements."""
        return sum(rows * columns for rows, columns in self.matrices) + self.vector_elements


@remembered(maxsize=64)
def gradient_of(workload: Workload) -> Gradient:
    """Return the gradient of a network: weights as output channels times the rest."""
    matrices, vectors = [], 0.0
    widths = [layer.gemm_depth for layer in workload.layers if layer.gemm_depth]
    sizes = iter(workload.tensor_elements.tolist())
    for layer in workload.layers:
        columns = layer.gemm_columns * layer.gemm_count
        if not columns and layer.kind in (
            "embedding",
            "other",
        ):  # rows as wide as the product that reads them
            columns = next((width for width in widths if sum(layer.tensors) % width == 0), 0.0)
        for whole, elements in zip(layer.tensors, sizes, strict=False):
            if columns and whole > columns and whole % columns == 0:
                matrices.append((elements / columns, columns))
            else:
                vectors += elements
    return Gradient(tuple(matrices), vectors, sum(len(layer.tensors) for layer in workload.layers))


def square_gradient(message_bytes: float) -> Gradient:
    """Return a gradient of ``message_bytes`` bytes with unknown tensors: one square matrix."""
    side = sqrt(message_bytes / VALUE_BYTES)
    return Gradient(((side, side),), 0.0, 1)


class Coding(NamedTuple):
    """Work of encoding or decoding on an accelerator."""

    traffic: Any
    """Memory traffic [B]."""
    kernels: Any
    searched: Any = 0.0
    """Traffic of a measured search, at the nominal bandwidth [B]."""


class Coded(NamedTuple):
    """A compressed gradient: messages, coding work and variance."""

    messages: tuple[Any, ...]
    """Bytes that one rank contributes to each collective, in order."""
    encode: Coding
    decode: Coding
    variance: Any
    """Bound on the variance that quantization adds, over the squared norm; None if unknown."""

    @property
    def bytes(self) -> Any:
        """Total bytes of one rank."""
        return sum(self.messages)


def coded(
    scheme: Scheme, gradient: Gradient, group_size: int, software_year: int = PARALLEL_SELECTION
) -> Coded:
    """Return a gradient compressed by a scheme on each of ``group_size`` ranks, with software of a year."""
    result = _CODED[scheme.name](gradient, group_size, given(scheme.value, "compression", "the scenario"))
    if scheme.name != "topk":
        return result
    reads = SELECTION if software_year >= PARALLEL_SELECTION else OLD_SELECTION
    return result._replace(encode=result.encode._replace(searched=reads * _dense_bytes(gradient)))


def coding_time(coding: Coding, setting: Setting, constants: Calibration) -> Any:
    """Return the time of coding on a setting's accelerator [s].

    Its kernels stream memory as those of an optimizer do, launched by the same software.
    """
    chip, learned = setting.accelerator, constants.efficiency
    bandwidth = chip.memory_bandwidth.value
    rates = rates_of(setting.workload, arithmetic(setting), bandwidth, learned, conditions(setting))
    on_device = update_on_device(
        coding.traffic / bandwidth, rates.update, coding.kernels, learned.kernel_floor
    )
    coding_alone = paced_time(on_device, coding.kernels * learned.dispatch_time) * rates.effect
    return ops.number(coding_alone + coding.searched / bandwidth)


def _dense_bytes(gradient: Gradient) -> float:
    """Return the bytes of an uncompressed gradient."""
    return VALUE_BYTES * gradient.elements


def _coding_bytes(gradient: Gradient, traversals: float, sent: Any, touched: float = 1) -> Any:
    """Return the memory traffic of coding a gradient [B]."""
    return ops.number(coding_traffic(_dense_bytes(gradient), traversals, sent, touched))


def _half(gradient: Gradient, group_size: int, value: float) -> Coded:
    """Return a gradient in 16-bit numbers."""
    sent, buckets = half_precision_bytes(gradient.elements), _buckets(gradient)
    work = Coding(_coding_bytes(gradient, 1, sent), buckets)
    return Coded((sent,), work, work, None)


def _buckets(gradient: Gradient) -> Any:
    """Return the number of buckets of a gradient."""
    return ops.ceil(_dense_bytes(gradient) / BUCKET_BYTES)


def _top_k(gradient: Gradient, group_size: int, density: float) -> Coded:
    """Return the largest elements of a gradient, a share ``density`` of it."""
    sent = top_k_bytes(gradient.elements, density)
    return Coded(
        (sent,),
        # gradient and compression error are added (3), searched, and cleared where they are sent
        Coding(_coding_bytes(gradient, 3, sent, 2), 8 * gradient.tensors),
        Coding(_coding_bytes(gradient, 1, sent, 2 * group_size), 2 * gradient.tensors),
        None,
    )


def _random_k(gradient: Gradient, group_size: int, density: float) -> Coded:
    """Return random elements of a gradient, a share ``density`` of it."""
    sent = random_k_bytes(gradient.elements, density)
    return Coded(
        (sent,),
        Coding(_coding_bytes(gradient, 3, sent, 3), 4 * gradient.tensors),
        Coding(_coding_bytes(gradient, 1, sent, 2), 2 * gradient.tensors),
        None,
    )


def _quantized(
    sent: Any, gradient: Gradient, group_size: int, traversals: float, kernels: int, variance: Any
) -> Coded:
    """Return a quantized gradient, read ``traversals`` times; decoding sums the gradients of all ranks."""
    return Coded(
        (sent,),
        Coding(_coding_bytes(gradient, traversals, sent), kernels * gradient.tensors),
        Coding(_coding_bytes(gradient, 1, sent, group_size), 2 * gradient.tensors),
        variance,
    )


def _qsgd(gradient: Gradient, group_size: int, bits: float) -> Coded:
    """Return a gradient quantized by QSGD to a number of bits."""
    levels = 2 ** (bits - 1) - 1
    sent = qsgd_bytes(gradient.elements, levels, gradient.elements / NORM_BUCKET)
    variance = qsgd_variance_bound(NORM_BUCKET, levels)
    return _quantized(sent, gradient, group_size, 2, 4, variance)


def _sign(gradient: Gradient, group_size: int, value: float) -> Coded:
    """Return the signs of a gradient."""
    return _quantized(sign_bytes(gradient.elements), gradient, group_size, 1, 2, None)


def _ternary(gradient: Gradient, group_size: int, value: float) -> Coded:
    """Return a gradient quantized by TernGrad."""
    sent = ternary_bytes(gradient.elements, gradient.tensors)
    return _quantized(sent, gradient, group_size, 2, 4, None)


def _one_bit(gradient: Gradient, group_size: int, value: float) -> Coded:
    """Return a gradient quantized by 1-bit SGD, with a scale for each column."""
    columns = sum(columns for _, columns in gradient.matrices)
    sent = one_bit_bytes(gradient.elements, columns)
    return _quantized(sent, gradient, group_size, 4, 4, None)


def _power(gradient: Gradient, group_size: int, rank: float) -> Coded:
    """Return PowerSGD's two all-reduces, of tall and wide factors; small matrices stay uncompressed."""
    tall = wide = 0.0
    whole, count = gradient.vector_elements, 0
    for rows, columns in gradient.matrices:
        if powersgd_elements(rows, columns, rank) < rows * columns:
            tall, wide, count = tall + rank * rows, wide + rank * columns, count + 1
        else:
            whole += rows * columns
    sent = VALUE_BYTES * (tall + wide)
    return Coded(
        (VALUE_BYTES * (tall + whole), VALUE_BYTES * wide),
        # the compression error is added (3); each product reads the matrix; columns are made orthogonal
        Coding(_coding_bytes(gradient, 5, sent, 3), (6 + 4 * rank) * count),
        Coding(_coding_bytes(gradient, 3, sent), 2 * count),
        None,
    )


_CODED: Final[dict[str, Callable[[Gradient, int, float], Coded]]] = {
    "fp16": _half,
    "topk": _top_k,
    "randomk": _random_k,
    "qsgd": _qsgd,
    "signsgd": _sign,
    "terngrad": _ternary,
    "powersgd": _power,
    "onebit": _one_bit,
}
