"""Gradient compression: bytes sent, time of coding, and when compression is faster.

Validity
--------
The times of coding and exchange add up, because kernels of both need the same accelerator. Sizes are
exact; the effect of compression on accuracy, and on the number of steps, is not modelled.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="lin2018")
def top_k_bytes(elements: Real, density: Real, value_bytes: Real = 4, index_bytes: Real = 4) -> Real:
    r"""Bytes of the largest elements of a gradient, each with its index.

    .. math:: S = \rho d (e + e_i)

    Parameters
    ----------
    elements : d [1]
    density : rho [1], share of the elements that is kept
    value_bytes : e [B], of one value
    index_bytes : e_i [B], of one index

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


@formula(cites="stich2018")
def random_k_bytes(elements: Real, density: Real, value_bytes: Real = 4) -> Real:
    r"""Bytes of random elements of a gradient, at indices that all ranks draw from one seed.

    .. math:: S = \rho d e

    No indices are sent, and values of the same indices can be added in a collective.

    Parameters
    ----------
    elements : d [1]
    density : rho [1], share of the elements that is kept
    value_bytes : e [B], of one value

    Returns
    -------
    message_bytes [B]

    Examples
    --------
    A quarter of 1000, 4 bytes each.

    >>> random_k_bytes(1000, 0.25)
    1000.0
    """
    return density * elements * value_bytes


@formula(cites="lin2018")
def break_even_density(
    group_size: Real, dense_value_bytes: Real = 4, value_bytes: Real = 4, index_bytes: Real = 4
) -> Real:
    r"""Density below which gathering the largest elements moves fewer bytes than an all-reduce of all.

    .. math:: \rho = \frac{2 e_d}{n (e + e_i)}

    1/n against fp32, 1/(2n) against fp16.  Latency, and the time to select the
    elements, are not included.

    Parameters
    ----------
    group_size : n [1]
    dense_value_bytes : e_d [B], of one element of the all-reduce
    value_bytes : e [B], of one value that is kept
    index_bytes : e_i [B], of one index

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
    r"""Elements of a gradient matrix as a product of rank r, sent in two all-reduces of r Y and r X.

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


@formula(cites=())
def coding_traffic(gradient_bytes: Real, traversals: Real, compressed_bytes: Real, touched: Real = 1) -> Real:
    r"""Bytes that encoding or decoding reads and writes in an accelerator's memory.

    .. math:: V = p S + x S_c

    Parameters
    ----------
    gradient_bytes : S [B], in fp32
    traversals : p [1], reads and writes of all of it
    compressed_bytes : S_c [B], of one rank
    touched : x [1], bytes read and written for each compressed byte; counts those of all ranks if they are
        gathered

    Returns
    -------
    traffic [B]

    Examples
    --------
    100 bytes read twice, 10 written.

    >>> coding_traffic(100, 2, 10)
    210
    """
    return traversals * gradient_bytes + touched * compressed_bytes


@formula(cites=())
def break_even_bandwidth(
    group_size: Real, gradient_bytes: Real, port_bytes: Real, encode_time: Real, decode_time: Real
) -> Real:
    r"""Bandwidth of a port below which a compressed exchange is faster than an all-reduce of everything.

    .. math:: B = \frac{\max\left(0, 2\frac{n-1}{n} S - V_c\right)}{t_e + t_d}

    Above it, coding takes longer than it saves on the port.  Latencies are assumed to be equal.

    Parameters
    ----------
    group_size : n [1]
    gradient_bytes : S [B], of one rank, in fp32
    port_bytes : V_c [B], through a port in the compressed exchange
    encode_time : t_e [s]
    decode_time : t_d [s]

    Returns
    -------
    link_bandwidth [B/s]; 0 if the compressed exchange moves more bytes

    Examples
    --------
    Two ranks: 1 GB through each port, or half of it after coding for 0.1 s.

    >>> break_even_bandwidth(2, 1e9, 0.5e9, 0.06, 0.04)
    5000000000.0
    """
    saved_bytes = ops.maximum(0, 2 * (group_size - 1) * gradient_bytes / group_size - port_bytes)
    return saved_bytes / (encode_time + decode_time)


@formula(cites=())
def compressed_message_bytes(message_bytes: Real, sent_fraction: Real, group_size: Real) -> Real:
    r"""Message size of the collective that exchanges compressed gradients.

    .. math:: S' = n\,x\,S

    Parameters
    ----------
    message_bytes : S [B], of uncompressed gradients
    sent_fraction : x [1], compressed bytes over those of all gradients
    group_size : n [1], ranks whose parts are gathered; 1 if they are added up

    Returns
    -------
    message_bytes [B]

    Examples
    --------
    100 bytes of which every one of four ranks sends a tenth.

    >>> compressed_message_bytes(100, 0.1, 4)
    40.0
    """
    return group_size * sent_fraction * message_bytes


@formula(cites=())
def coding_time(encode_time: Real, decode_time: Real) -> Real:
    r"""Time that coding adds to an iteration: it occupies the accelerator and is never hidden.

    .. math:: T = t_e + t_d

    Parameters
    ----------
    encode_time : t_e [s]
    decode_time : t_d [s], of the messages of all ranks if they are gathered

    Returns
    -------
    coding_time [s]

    Examples
    --------
    >>> coding_time(1.0, 0.5)
    1.5
    """
    return encode_time + decode_time


@formula(cites="vogels2019")
def in_turn(first_time: Real, second_time: Real) -> Real:
    r"""Time of two successive collectives, of which the second needs the first's result: low-rank factors.

    .. math:: T = t_1 + t_2

    Parameters
    ----------
    first_time : t_1 [s]
    second_time : t_2 [s]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    >>> in_turn(1.0, 0.5)
    1.5
    """
    return first_time + second_time
