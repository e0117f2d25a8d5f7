"""Read the job from a trace's matrix products: number format, samples of a pass, weights of convolutions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

HALF = ("fp16", "bf16", "fp8")
"""Formats of mixed precision; such jobs also have products in fp32."""
COLOURS = (1, 3)
"""Numbers of channels of images: a convolution with one of them is the first of its network."""
_CONVOLUTIONS = ("aten::conv2d", "aten::convolution")
_PRODUCT = re.compile(
    r"gemm|convolve|fprop|dgrad|wgrad|winograd|scudnn|implicit_|conv\d|conv_|cijk|nvjet|flash|fmha|attention"
    r"|triton_.*mm|xmma|[hs]\d+cudnn|tensorop",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(
    r"Offsets|scalePackedTensor|nchwToNhwc|nhwcToNchw|winogradTiles|fbgemm", re.IGNORECASE
)
_FORMATS = (
    ("fp8", re.compile(r"e4m3|e5m2|fp8|nvjet_q", re.IGNORECASE)),
    ("bf16", re.compile(r"bf16|bfloat16|_BB?S_|_BSS_|nvjet_t", re.IGNORECASE)),
    ("tf32", re.compile(r"tf32|tfloat32|cutlass\w*_s1688gemm", re.IGNORECASE)),
    ("fp16", re.compile(r"fp16|f16|half|hgemm|h884|h1688|h16816|_HHS_|_HSS_|_HB_|nvjet_h", re.IGNORECASE)),
    ("fp32", re.compile(r"sgemm|scudnn|gcgemm|fp32|f32|<float|float>|, float|_SB_", re.IGNORECASE)),
)
"""Number formats and patterns of their kernels' names.  The first match counts: a kernel in fewer bits also
names the format of its sums."""
_SIXTEEN_BITS = re.compile(r"half|b?float16|f16|fp16", re.IGNORECASE)


def formats_of(kernels: Iterable[str]) -> tuple[str, ...]:
    """Return the number formats of the products among kernels, by their names; none if uncertain.

    Any product in 16 or 8 bits means mixed precision.  That all products are in 32 bits is certain only if
    the format of each is known, and if no other kernel is in 16 bits.

    >>> formats_of(["volta_sgemm_64x64_nt", "void add<float>(float*)"])
    ('fp32',)
    >>> formats_of(["volta_fp16_s884cudnn_fp16_128x128", "volta_sgemm_64x64_nt"])
    ('fp16',)
    >>> formats_of(["sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_f32", "ampere_sgemm_32x32_tn"])
    ('tf32', 'fp32')
    >>> formats_of(["my_own_gemm", "volta_sgemm_64x64_nt"])
    ()
    """
    names = set(kernels)
    products = {name for name in names if _PRODUCT.search(name) and not _AUXILIARY.search(name)}
    seen = {_format(name) for name in products}
    less = tuple(name for name in HALF if name in seen)
    if less:
        return less
    if None in seen or any(_SIXTEEN_BITS.search(name) for name in names):
        return ()
    return tuple(name for name in ("tf32", "fp32") if name in seen)


def _format(kernel: str) -> str | None:
    """Return the number format of a product by its kernel's name, None if unknown."""
    return next((format for format, words in _FORMATS if words.search(kernel)), None)


def samples_of(operator: str, arguments: Mapping[str, Any]) -> int | None:
    """Return the batch size of the first convolution of a network; None for any other operator.

    >>> samples_of("aten::conv2d", {"Input Dims": [[32, 3, 224, 224], [64, 3, 7, 7], []]})
    32
    >>> samples_of("aten::conv2d", {"Input Dims": [[32, 64, 56, 56], [64, 64, 1, 1], []]})
    """
    pictures, weights = _shapes(operator, arguments)
    return pictures[0] if pictures and pictures[1] in COLOURS and weights[1] == pictures[1] else None


def weights_of(operator: str, arguments: Mapping[str, Any]) -> int | None:
    """Return the number of weights of a convolution; None for any other operator.

    >>> weights_of("aten::conv2d", {"Input Dims": [[32, 3, 224, 224], [64, 3, 7, 7], []]})
    9408
    """
    _, weights = _shapes(operator, arguments)
    return prod(weights) if weights else None


def _shapes(operator: str, arguments: Mapping[str, Any]) -> tuple[list[int], list[int]]:
    """Return the shapes of a convolution's images and weights; empty lists if they were not recorded."""
    dims = arguments.get("Input Dims") if operator in _CONVOLUTIONS else None
    if not isinstance(dims, list) or len(dims) < 2 or not all(map(_is_shape, dims[:2])):
        return [], []
    return dims[0], dims[1]


def _is_shape(value: Any) -> bool:
    return (
        isinstance(value, list) and len(value) == 4 and all(type(each) is int and each > 0 for each in value)
    )


def contradiction(precision: str, formats: tuple[str, ...]) -> str:
    """Return the precision that the formats of products imply if it contradicts the given one, else "".

    >>> contradiction("amp", ("fp32",)), contradiction("fp32", ("bf16",)), contradiction("fp32", ("fp16",))
    ('fp32', 'bf16', 'amp')
    >>> contradiction("amp", ("fp16",)), contradiction("tf32", ("fp32",)), contradiction("amp", ())
    ('', '', '')
    """
    wanted = {"amp": ("fp16",), "fp16": ("fp16",), "bf16": ("bf16",), "fp8": HALF}.get(
        precision, ("tf32", "fp32")
    )
    if not formats or set(formats) & set(wanted):
        return ""
    return likeliest(formats) or ("amp" if "fp16" in formats else formats[0])


def likeliest(formats: tuple[str, ...]) -> str:
    """Return the precision that the formats of products imply; "" if ambiguous, as fp16 (pure or AMP) is.

    >>> likeliest(("fp32",)), likeliest(("tf32", "fp32")), likeliest(("fp16",)), likeliest(())
    ('fp32', 'tf32', '', '')
    """
    return formats[0] if formats[:1] in (("bf16",), ("tf32",), ("fp32",)) else ""


def alike(weights: Iterable[int], others: Iterable[int]) -> float:
    """Return the share of a trace's convolutions that a network has, too, by their numbers of weights [1].

    >>> alike([9408, 4096, 36864], [9408, 36864, 73728])
    0.6666666666666666
    """
    one, other = set(weights), set(others)
    return len(one & other) / len(one) if one else 1.0
