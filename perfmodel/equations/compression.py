"""Gradient compression: the bytes that are left, what may still be done with them, and when it pays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

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


@formula(cites="lin2018")
def top_k_bytes(elements: Real, density: Real, value_bytes: Real = 4, index_bytes: Real = 4) -> Real:
    r"""Bytes of the largest elements of a gradient, each with its place.

    .. math:: S = \rho d (e + e_i)

    Parameters
    ----------
    elements : d [1]
    density : rho [1], share of the elements that is kept
    value_bytes : e [B], of one value
    index_bytes : e_i [B], of one place

    Returns
    -------
    message_bytes [B]

    Examples
    --------
    A quarter of 1000, 8 bytes each.

    >>> top_k_bytes(1000, 0.25)
    2000.0
    """
    return density * elements * (value_bytes + index_bytes)


@formula(cites="lin2018")
def gathered_exchange_time(
    group_size: Real, compressed_bytes: Real, hop_latency: Real, link_bandwidth: Real
) -> Real:
    r"""Time in which all ranks get the compressed gradients of all, which cannot be added on the way.

    .. math:: T = (n-1)\left(\alpha + \frac{S_c}{B}\right)

    A ring all-gather: what a port carries grows with the ranks, where an
    all-reduce stays below 2 S.

    Parameters
    ----------
    group_size : n [1], at least 1
    compressed_bytes : S_c [B], of one rank
    hop_latency : alpha [s]
    link_bandwidth : B [B/s]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Four ranks, 1 GB each at 1 GB/s.

    >>> gathered_exchange_time(4, 1e9, 0, 1e9)
    3.0
    """
    return (group_size - 1) * (hop_latency + compressed_bytes / link_bandwidth)


@formula(cites="lin2018")
def break_even_density(
    group_size: Real, dense_value_bytes: Real = 4, value_bytes: Real = 4, index_bytes: Real = 4
) -> Real:
    r"""Density below which gathering the largest elements moves fewer bytes than an all-reduce of all.

    .. math:: \rho = \frac{2 e_d}{n (e + e_i)}

    1/n against fp32, 1/(2n) against fp16.  Latency, and the time to find the
    elements, come on top.

    Parameters
    ----------
    group_size : n [1]
    dense_value_bytes : e_d [B], of one element of the all-reduce
    value_bytes : e [B], of one value that is kept
    index_bytes : e_i [B], of one place

    Returns
    -------
    density [1]

    Examples
    --------
    Eight ranks against fp32: 2 * 4 / (8 * 8).

    >>> break_even_density(8)
    0.125
    """
    return 2 * dense_value_bytes / (group_size * (value_bytes + index_bytes))


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


@formula(cites="vogels2019")
def powersgd_elements(rows: Real, columns: Real, rank: Real) -> Real:
    r"""Elements of a gradient matrix as a product of rank r: two all-reduces, of r Y and r X.

    .. math:: d = r (X + Y)

    Parameters
    ----------
    rows : Y [1], of the gradient matrix
    columns : X [1], of the gradient matrix
    rank : r [1]

    Returns
    -------
    elements [1]

    Examples
    --------
    100 x 50 with rank 2.

    >>> powersgd_elements(100, 50, 2)
    300
    """
    return rank * (rows + columns)


@formula(cites="vogels2019")
def powersgd_ratio(rows: Real, columns: Real, rank: Real) -> Real:
    r"""How many times smaller PowerSGD makes a gradient matrix.

    .. math:: c = \frac{X Y}{r (X + Y)}

    Parameters
    ----------
    rows : Y [1], of the gradient matrix
    columns : X [1], of the gradient matrix
    rank : r [1]

    Returns
    -------
    ratio [1]

    Examples
    --------
    100 x 100 with rank 2: 10000 / 400.

    >>> powersgd_ratio(100, 100, 2)
    25.0
    """
    return rows * columns / (rank * (rows + columns))


@formula(cites=())
def compressed_communication_time(encode_time: Real, communication_time: Real, decode_time: Real) -> Real:
    r"""Time of a compressed exchange: coding keeps the accelerator busy and hides behind nothing.

    .. math:: T = t_e + t_c + t_d

    Parameters
    ----------
    encode_time : t_e [s]
    communication_time : t_c [s], of the compressed bytes
    decode_time : t_d [s], of what all ranks sent, where it is gathered

    Returns
    -------
    communication_time [s]

    Examples
    --------
    1 s to encode, 2 s on the wire, 0.5 s to decode.

    >>> compressed_communication_time(1, 2, 0.5)
    3.5
    """
    return encode_time + communication_time + decode_time


class Compression(NamedTuple):
    """One way to compress a gradient."""

    bytes: Callable[..., Real]
    """What one rank sends, or what it is computed from."""
    collective: str
    """What it still allows: an all-reduce where compressed values can be added, else an all-gather."""
    error_feedback: bool
    """Whether what was left out has to be added to the next gradient."""


COMPRESSIONS = {
    "half": Compression(half_precision_bytes, "all-reduce", error_feedback=False),
    "top-k": Compression(top_k_bytes, "all-gather", error_feedback=True),
    "one-bit": Compression(one_bit_bytes, "all-gather", error_feedback=True),
    "qsgd": Compression(qsgd_dense_bits, "all-gather", error_feedback=False),
    "powersgd": Compression(powersgd_elements, "all-reduce", error_feedback=True),
}
"""Every compression, by name."""
