"""Frozen weights in 4 bits (QLoRA): bytes of a parameter, and the bytes moved to expand it for a product.

Validity
--------
Weights quantized in blocks, each with a scale; products are computed in 16 bits on expanded weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.core.formula import formula

if TYPE_CHECKING:
    from perfmodel.core.ops import Real


@formula(cites=("dettmers2023",))
def quantized_bytes(code_bits: Real, scale_bytes: Real, block_size: Real) -> Real:
    r"""Bytes of a parameter that is quantized in blocks.

    .. math:: q = \frac{b}{8} + \frac{s}{B}

    With double quantization the scales are quantized in blocks in turn: s is q of a scale.

    Parameters
    ----------
    code_bits : b [1], bits of a parameter's code
    scale_bytes : s [B], of the scale of a block
    block_size : B [1], parameters of a block

    Returns
    -------
    frozen_bytes [B]

    Examples
    --------
    NF4 in blocks of 64 with fp32 scales: 4.5 bits; with scales of 8 bits in blocks of 256: 4.127 bits, 0.373
    fewer (Dettmers et al. 2023, section 3).

    >>> 8 * quantized_bytes(4, 4, 64)
    4.5
    >>> round(8 * quantized_bytes(4, quantized_bytes(8, 4, 256), 64), 3)
    4.127
    """
    return code_bits / 8 + scale_bytes / block_size


@formula(cites=("dettmers2023",))
def expansion_traffic_bytes(parameters: Real, frozen_bytes: Real, weight_bytes: Real) -> Real:
    r"""Bytes moved to expand quantized weights for the products of one pass.

    .. math:: V = P (q + e_w)

    Every code is read and every weight written; the product then reads it like any other.  The backward pass
    expands again, because expanded weights are not kept.

    Parameters
    ----------
    parameters : P [1], of the products of one rank
    frozen_bytes : q [B], of a quantized parameter
    weight_bytes : e_w [B], of one weight as it is computed with

    Returns
    -------
    memory_traffic_bytes [B]

    Examples
    --------
    A billion parameters of half a byte, expanded to 2 B: 2.5 GB.

    >>> expansion_traffic_bytes(1e9, 0.5, 2)
    2500000000.0
    """
    return parameters * (frozen_bytes + weight_bytes)
