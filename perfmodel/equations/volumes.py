"""Bytes that collectives move: what the busiest rank sends.

Validity
--------
Counts, exact for the algorithm; wires below may carry headers and acknowledgements besides.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="patarasuk2009")
def all_reduce_bytes_per_rank(group_size: Real, message_bytes: Real) -> Real:
    r"""Bytes each rank sends in an all-reduce that wastes none: ring, torus, halving-doubling of 2^k ranks.

    .. math:: V = 2\frac{n-1}{n} S

    Parameters
    ----------
    group_size : n [1], at least 1
    message_bytes : S [B]

    Returns
    -------
    bytes sent by one rank [B]

    Examples
    --------
    Four ranks, 4 bytes: three quarters, twice.

    >>> all_reduce_bytes_per_rank(4, 4)
    6.0
    """
    return 2 * (group_size - 1) * message_bytes / group_size


@formula(cites="thakur2005")
def halving_doubling_bytes_per_rank(group_size: Real, message_bytes: Real) -> Real:
    r"""Bytes the busiest rank sends in a halving-doubling all-reduce of any number of ranks.

    .. math:: V = 2\frac{p-1}{p} S + u S, \quad p = 2^{\lfloor\log_2 n\rfloor}

    u is 1 where n is no power of two: a partner hands the sum to the rank beyond p.

    Parameters
    ----------
    group_size : n [1], at least 1
    message_bytes : S [B]

    Returns
    -------
    bytes sent by the busiest rank [B]

    Examples
    --------
    Six ranks, 4 bytes: four of them reduce and gather, 6 bytes, and one hand-over of 4.

    >>> halving_doubling_bytes_per_rank(6, 4)
    10.0
    """
    exponent = ops.log2(group_size)
    whole = ops.floor(exponent)
    return (2 * (1 - 2 ** (-whole)) + (ops.ceil(exponent) - whole)) * message_bytes


@formula(cites="thakur2005")
def recursive_doubling_bytes_per_rank(group_size: Real, message_bytes: Real) -> Real:
    r"""Bytes the busiest rank sends in a recursive-doubling all-reduce.

    .. math:: V = \lceil\log_2 n\rceil S

    Parameters
    ----------
    group_size : n [1], at least 1
    message_bytes : S [B]

    Returns
    -------
    bytes sent by the busiest rank [B]

    Examples
    --------
    Six ranks, 4 bytes: two exchanges of four ranks and one hand-over.

    >>> recursive_doubling_bytes_per_rank(6, 4)
    12
    """
    return ops.ceil(ops.log2(group_size)) * message_bytes


@formula(cites="thakur2005")
def tree_root_bytes(group_size: Real, message_bytes: Real) -> Real:
    r"""Bytes the root sends in a binomial broadcast: the whole message in every step.

    .. math:: V = \lceil\log_2 n\rceil S

    Parameters
    ----------
    group_size : n [1], at least 1
    message_bytes : S [B]

    Returns
    -------
    bytes sent by the root [B]

    Examples
    --------
    Five ranks, 4 bytes: three steps.

    >>> tree_root_bytes(5, 4)
    12
    """
    return ops.ceil(ops.log2(group_size)) * message_bytes


@formula(cites="sanders2009")
def double_tree_bytes_per_rank(group_size: Real, message_bytes: Real) -> Real:
    r"""Bytes a rank sends, at most, in a double-binary-tree all-reduce.

    .. math:: V = 2 S \min(n-1, 1)

    An inner rank sends half the buffer up its tree and to two children, and
    half a buffer up the other: 2 S; a rank at the edge sends less.

    Parameters
    ----------
    group_size : n [1]; one rank sends nothing
    message_bytes : S [B]

    Returns
    -------
    bytes sent by the busiest rank [B]

    Examples
    --------
    Eight ranks, 4 bytes: 2 up, 4 down, 2 up the other tree.

    >>> double_tree_bytes_per_rank(8, 4)
    8
    """
    return 2 * ops.minimum(group_size - 1, 1) * message_bytes


@formula(cites="chan2007")
def serial_bytes(group_size: Real, message_bytes: Real) -> Real:
    r"""Bytes a rank sends that serves each of the others with the whole buffer.

    .. math:: V = (n-1) S

    So do the hub of a star and every rank of an exchange of all with all.

    Parameters
    ----------
    group_size : n [1], at least 1
    message_bytes : S [B]

    Returns
    -------
    bytes sent by one rank [B]

    Examples
    --------
    Four ranks, 4 bytes.

    >>> serial_bytes(4, 4)
    12
    """
    return (group_size - 1) * message_bytes


@formula(cites="patarasuk2009")
def share_bytes_per_rank(group_size: Real, message_bytes: Real) -> Real:
    r"""Bytes each rank sends in a reduce-scatter, an all-gather or an all-to-all.

    .. math:: V = \frac{n-1}{n} S

    Parameters
    ----------
    group_size : n [1], at least 1
    message_bytes : S [B], the full buffer

    Returns
    -------
    bytes sent by one rank [B]

    Examples
    --------
    Four ranks, 4 bytes: all but the own quarter.

    >>> share_bytes_per_rank(4, 4)
    3.0
    """
    return (group_size - 1) * message_bytes / group_size


@formula(cites="chan2007")
def scatter_all_gather_bytes_per_rank(group_size: Real, message_bytes: Real) -> Real:
    r"""Bytes the root sends in a broadcast by scatter and ring all-gather.

    .. math:: V = 2\frac{n-1}{n} S

    Parameters
    ----------
    group_size : n [1], at least 1
    message_bytes : S [B]

    Returns
    -------
    bytes sent by the root [B]

    Examples
    --------
    Four ranks, 4 bytes: 3 to deal out, 3 in the ring.

    >>> scatter_all_gather_bytes_per_rank(4, 4)
    6.0
    """
    return 2 * (group_size - 1) * message_bytes / group_size


@formula(cites="klenk2020")
def nvls_bytes_per_rank(group_size: Real, message_bytes: Real) -> Real:
    r"""Bytes each rank sends where one switch adds and multicasts.

    .. math:: V = \frac{n+1}{n} S, \quad n \ge 2

    Parameters
    ----------
    group_size : n [1]; one rank sends nothing
    message_bytes : S [B]

    Returns
    -------
    bytes sent by one rank [B]

    Examples
    --------
    Eight ranks, 8 bytes: all of them read by the switch, and the own share of the sum.

    >>> nvls_bytes_per_rank(8, 8)
    9.0
    """
    return ops.minimum(group_size - 1, 1) * (group_size + 1) * message_bytes / group_size


@formula(cites=("graham2016", "sanders2009"))
def whole_buffer_bytes(group_size: Real, message_bytes: Real) -> Real:
    r"""Bytes a rank sends, at most, where switches add, in a chain and down two trees: the buffer once.

    .. math:: V = S, \quad n \ge 2

    Parameters
    ----------
    group_size : n [1]; one rank sends nothing
    message_bytes : S [B]

    Returns
    -------
    bytes sent by one rank [B]

    Examples
    --------
    Eight ranks, 8 bytes.

    >>> whole_buffer_bytes(8, 8)
    8
    """
    return ops.minimum(group_size - 1, 1) * message_bytes
