"""Gradient compression: bytes sent, the collectives that remain possible, and when it pays."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from perfmodel.equations.quantization import half_precision_bytes, one_bit_bytes, qsgd_dense_bits
from perfmodel.formula import formula
from perfmodel.ops import Real


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

    size: Callable[..., Real]
    """What one rank sends: bytes, bits or elements, as the name of the function says."""
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
