"""Algorithm and bus bandwidth of a collective, as nccl-tests defines them.

Validity
--------
Definitions, which hold for any algorithm. A bus bandwidth is comparable with a link's bandwidth only if
the algorithm moves the bytes that the factor counts: it may exceed the link's where switches add.
"""

from __future__ import annotations

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="nccl-tests")
def algorithm_bandwidth(message_bytes: Real, communication_time: Real) -> Real:
    r"""Bytes of the buffer over the time of the collective.

    .. math:: B_a = \frac{S}{t_c}

    Parameters
    ----------
    message_bytes : S [B], for all-gather and reduce-scatter that of all ranks
    communication_time : t_c [s]

    Returns
    -------
    algorithm_bandwidth [B/s]

    Examples
    --------
    1 GB in 0.25 s.

    >>> algorithm_bandwidth(1e9, 0.25)
    4000000000.0
    """
    return message_bytes / communication_time


@formula(cites="nccl-tests")
def all_reduce_bus_factor(group_size: Real) -> Real:
    r"""Bus over algorithm bandwidth of an all-reduce.

    .. math:: f = 2\frac{n-1}{n}

    Each port of a ring carries that many bytes for one of the buffer.  nccl-tests uses the factor for
    in-network reductions as well, although their ports carry less: the bus bandwidth can exceed that of the
    link.

    Parameters
    ----------
    group_size : n [1]

    Returns
    -------
    factor [1]

    Examples
    --------
    Eight ranks: twice seven eighths.

    >>> all_reduce_bus_factor(8)
    1.75
    """
    return 2 * (group_size - 1) / group_size


@formula(cites="nccl-tests")
def share_bus_factor(group_size: Real) -> Real:
    r"""Bus over algorithm bandwidth of a reduce-scatter, an all-gather or an all-to-all.

    .. math:: f = \frac{n-1}{n}

    Parameters
    ----------
    group_size : n [1]

    Returns
    -------
    factor [1]

    Examples
    --------
    Eight ranks: seven eighths.

    >>> share_bus_factor(8)
    0.875
    """
    return (group_size - 1) / group_size


@formula(cites="nccl-tests")
def rooted_bus_factor(group_size: Real) -> Real:
    r"""Bus over algorithm bandwidth of a broadcast, a reduce or a send: 1 for any number of ranks.

    .. math:: f = \frac{n}{n} = 1

    Parameters
    ----------
    group_size : n [1]

    Returns
    -------
    factor [1], in the shape of the group size

    Examples
    --------
    Eight ranks.

    >>> rooted_bus_factor(8)
    1.0
    """
    return group_size / group_size


BUS_FACTORS = {
    "all-reduce": all_reduce_bus_factor,
    "reduce-scatter": share_bus_factor,
    "all-gather": share_bus_factor,
    "all-to-all": share_bus_factor,
    "broadcast": rooted_bus_factor,
    "reduce": rooted_bus_factor,
    "send-receive": rooted_bus_factor,
}
"""Bus over algorithm bandwidth, by collective."""


def bus_bandwidth(collective: str, algorithm_bandwidth: Real, group_size: Real) -> Real:
    """Return the bus bandwidth [B/s] that goes with an algorithm bandwidth [B/s].

    Seven eighths, twice, of 4 GB/s:

    >>> bus_bandwidth("all-reduce", 4e9, 8)
    7000000000.0
    """
    return algorithm_bandwidth * BUS_FACTORS[collective](group_size)
