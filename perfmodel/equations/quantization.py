"""Gradients with fewer bits in each number."""

from __future__ import annotations

import math
from collections.abc import Sequence

from perfmodel import ops
from perfmodel.formula import formula
from perfmodel.ops import Real


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
    r"""Bytes of QSGD with a sign and a level for each element, and a norm for each bucket; not entropy coded.

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
def qsgd_dense_bits(elements: Real) -> Real:
    r"""Expected bits of QSGD with sqrt(d) levels and Elias codes: about this.

    .. math:: b = 2.8 d + 32

    Parameters
    ----------
    elements : d [1]

    Returns
    -------
    size [bit]

    Examples
    --------
    A thousand elements: 2.8 bits each and one fp32 norm.

    >>> qsgd_dense_bits(1000)
    2832.0
    """
    return 14 * elements / 5 + 32


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


@formula(cites="alistarh2017", symbolic=False)
def qsgd_variance(gradient: Sequence[float], levels: int) -> float:
    r"""Variance that rounding at random to one of the levels adds to a gradient.

    .. math:: v = \frac{\lVert g\rVert^2}{s^2}\sum_i p_i (1 - p_i),
              \quad p_i = x_i - \lfloor x_i\rfloor,\ x_i = s\frac{|g_i|}{\lVert g\rVert}

    Parameters
    ----------
    gradient : g, shape (d,)
    levels : s [1], of quantisation

    Returns
    -------
    expected squared error, in the gradient's unit squared

    Examples
    --------
    (3, 4) has norm 5; with one level they round up with probability 0.6 and
    0.8: 25 * (0.24 + 0.16).

    >>> round(qsgd_variance([3, 4], 1), 9)
    10.0
    """
    norm = math.sqrt(math.fsum(x * x for x in gradient))
    parts = [levels * abs(x) / norm for x in gradient]
    return norm**2 / levels**2 * math.fsum((p - math.floor(p)) * (1 - p + math.floor(p)) for p in parts)
