"""Gradients with fewer bits in each number.

Validity
--------
Sizes of messages as their papers define them, exact; the variance is a bound.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="micikevicius2018")
def half_precision_bytes(elements: Real) -> Real:
    r"""Bytes of a gradient in fp16 or bf16.

    .. math:: S = 2 d

    Parameters
    ----------
    elements : d [1]

    Returns
    -------
    message_bytes [B]

    Examples
    --------
    Three numbers of two bytes.

    >>> half_precision_bytes(3)
    6
    """
    return 2 * elements


@formula(cites="seide2014")
def one_bit_bytes(elements: Real, columns: Real) -> Real:
    r"""Bytes of a gradient matrix by sign, with two scales for each column; it needs error feedback.

    .. math:: S = \frac{d}{8} + 8 X

    Parameters
    ----------
    elements : d [1]
    columns : X [1], of the matrix; each has two fp32 reconstruction values

    Returns
    -------
    message_bytes [B]

    Examples
    --------
    800 elements in ten columns: 100 bytes of signs, 80 of scales.

    >>> one_bit_bytes(800, 10)
    180.0
    """
    return elements / 8 + 8 * columns


@formula(cites="bernstein2018")
def sign_bytes(elements: Real) -> Real:
    r"""Bytes of a gradient's signs alone.

    .. math:: S = \frac{d}{8}

    Parameters
    ----------
    elements : d [1]

    Returns
    -------
    message_bytes [B]

    Examples
    --------
    Eight signs in a byte.

    >>> sign_bytes(800)
    100.0
    """
    return elements / 8


@formula(cites="wen2017")
def ternary_bytes(elements: Real, scales: Real) -> Real:
    r"""Bytes of a gradient as -1, 0 and 1, two bits each, with one scale for each tensor.

    .. math:: S = \frac{d}{4} + 4 T

    Parameters
    ----------
    elements : d [1]
    scales : T [1], fp32, one for each tensor

    Returns
    -------
    message_bytes [B]

    Examples
    --------
    400 elements in five tensors: 100 bytes, and 20 of scales.

    >>> ternary_bytes(400, 5)
    120.0
    """
    return elements / 4 + 4 * scales


@formula(cites="alistarh2017")
def qsgd_bytes(elements: Real, levels: Real, scales: Real) -> Real:
    r"""Bytes of QSGD with a sign and a level for each element and a norm for each bucket, not entropy-coded.

    .. math:: S = \frac{d}{8}\left(1 + \log_2(s + 1)\right) + 4 T

    Parameters
    ----------
    elements : d [1]
    levels : s [1], above zero: 7 take three bits
    scales : T [1], fp32 norms, one for each bucket

    Returns
    -------
    message_bytes [B]

    Examples
    --------
    1024 elements of 4 bits in two buckets: 512 bytes, and 8 of norms.

    >>> qsgd_bytes(1024, 7, 2)
    520.0
    """
    return elements / 8 * (1 + ops.log2(levels + 1)) + 4 * scales


@formula(cites="alistarh2017")
def qsgd_variance_bound(elements: Real, levels: Real) -> Real:
    r"""Bound on the variance QSGD adds, over the squared norm of the gradient.

    .. math:: v = \min\left(\frac{d}{s^2}, \frac{\sqrt{d}}{s}\right)

    Parameters
    ----------
    elements : d [1]
    levels : s [1], of quantisation

    Returns
    -------
    variance over squared norm [1]

    Examples
    --------
    100 elements, 20 levels: min(100/400, 10/20).

    >>> qsgd_variance_bound(100, 20)
    0.25
    """
    return ops.minimum(elements / levels**2, ops.sqrt(elements) / levels)
