"""Products of 8- and 4-bit operands: the cost of their casts, and the depth at which they reach their rate.

Validity
--------
Operands are cast from 16 bits for each product, and kept twice: along the rows for the forward pass, along
the columns for the gradient of the weights.  Weights, cast once a step, are left out.
"""

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites=("rouhani2023", "nvidia2025nvfp4", "nvidia2026te"))
def cast_traffic_bytes(
    fp8_cast_bytes: Real, cast_reads: Real, operand_bytes: Real, scale_bytes_per_value: Real
) -> Real:
    r"""Memory traffic to cast one value of 16 bits, from that measured of fp8 with one scale for a tensor.

    .. math:: c = c_8\,\frac{2 r + 2 (v + s)}{2 + 2}

    The value is read r times, once to cast it and before that to find the largest value where a scale spans
    the tensor, and written twice, each with its part of the scale of its block.  fp8 is read once and has
    v = 1 and s = 0.

    Parameters
    ----------
    fp8_cast_bytes : c_8 [B], traffic of a value that is cast to fp8
    cast_reads : r [1]
    operand_bytes : v [B], of the value after the cast
    scale_bytes_per_value : s [B], of the scale of its block, for each value

    Returns
    -------
    cast_bytes [B]

    Examples
    --------
    MXFP8 adds a byte for each 32 values, and moves 2 + 2 x 33/32 = 4.0625 B where fp8 moves 4; NVFP4 reads
    twice and moves 4 + 2 x (1/2 + 1/16) = 5.125 B.

    >>> cast_traffic_bytes(4.0, 1, 1.0, 1 / 32), cast_traffic_bytes(4.0, 2, 0.5, 1 / 16)
    (4.0625, 5.125)
    """
    return fp8_cast_bytes * (2 * cast_reads + 2 * (operand_bytes + scale_bytes_per_value)) / 4


@formula(cites="nvidia-dl-performance")
def half_depth_of_operands(half_depth: Real, operand_bytes: Real) -> Real:
    r"""Depth of a product at which it reaches half of its rate, with smaller operands.

    .. math:: d_0' = \frac{2 d_0}{v}

    The matrix units take a tile of operands of a fixed number of bytes in the same time, so what fills and
    drains them is worth more terms of the sum the smaller the operands are.

    Parameters
    ----------
    half_depth : d_0 [1], of operands of 16 bits
    operand_bytes : v [B]

    Returns
    -------
    half_depth [1]

    Examples
    --------
    If 200 terms reach half the rate in 16 bits, 400 do in 8 bits and 800 in 4.

    >>> half_depth_of_operands(200.0, 1.0), half_depth_of_operands(200.0, 0.5)
    (400.0, 800.0)
    """
    return 2 * half_depth / operand_bytes
