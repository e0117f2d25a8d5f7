"""Time of reduce-scatter, all-gather and all-to-all.

Validity
--------
As for the ring all-reduce: equal links, one message at a time in each direction, ranks that start together.
"""

from __future__ import annotations

import math

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.equations.algorithm import algorithm
from perfmodel.equations.lower_bounds import share_lower_bound
from perfmodel.equations.volumes import share_bytes_per_rank


@algorithm(
    "ring", "reduce-scatter", bytes_per_rank=share_bytes_per_rank, lower_bound=share_lower_bound, adds=True
)
@formula(cites="patarasuk2009")
def ring_reduce_scatter_time(
    group_size: Real,
    message_bytes: Real,
    hop_latency: Real,
    link_bandwidth: Real,
    reduction_bandwidth: Real = math.inf,
) -> Real:
    r"""Time of a ring reduce-scatter: every rank ends with its share of the sum.

    .. math:: T = (n-1)\left(\alpha + \frac{S}{n B}\right) + \frac{n-1}{n}\frac{S}{R}

    Parameters
    ----------
    group_size : n [1], at least 1
    message_bytes : S [B], the full buffer each rank begins with
    hop_latency : alpha [s]
    link_bandwidth : B [B/s]
    reduction_bandwidth : R [B/s], infinite where adding is free

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Four ranks, 1 GB at 1 GB/s: three steps of 0.25 s.

    >>> ring_reduce_scatter_time(4, 1e9, 0, 1e9)
    0.75
    """
    step = hop_latency + message_bytes / (group_size * link_bandwidth)
    return (group_size - 1) * (step + message_bytes / (group_size * reduction_bandwidth))


@algorithm("ring", "all-gather", bytes_per_rank=share_bytes_per_rank, lower_bound=share_lower_bound)
@formula(cites="patarasuk2009")
def ring_all_gather_time(
    group_size: Real, message_bytes: Real, hop_latency: Real, link_bandwidth: Real
) -> Real:
    r"""Time of a ring all-gather: every rank ends with the shares of all.

    .. math:: T = (n-1)\left(\alpha + \frac{S}{n B}\right)

    Parameters
    ----------
    group_size : n [1], at least 1
    message_bytes : S [B], the full buffer each rank ends with
    hop_latency : alpha [s]
    link_bandwidth : B [B/s]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Four ranks, 1 GB at 1 GB/s: three steps of 0.25 s.

    >>> ring_all_gather_time(4, 1e9, 0, 1e9)
    0.75
    """
    return (group_size - 1) * (hop_latency + message_bytes / (group_size * link_bandwidth))


@algorithm("pairwise", "all-to-all", bytes_per_rank=share_bytes_per_rank, lower_bound=share_lower_bound)
@formula(cites="thakur2005")
def pairwise_all_to_all_time(
    group_size: Real, message_bytes: Real, hop_latency: Real, link_bandwidth: Real
) -> Real:
    r"""Time of an all-to-all in which each rank exchanges with one partner after another.

    .. math:: T = (n-1)\left(\alpha + \frac{S}{n B}\right)

    Parameters
    ----------
    group_size : n [1], at least 1
    message_bytes : S [B], of one rank for all ranks, its own share included
    hop_latency : alpha [s]
    link_bandwidth : B [B/s]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Four ranks, 1 GB at 1 GB/s: 0.25 GB to each of three.

    >>> pairwise_all_to_all_time(4, 1e9, 0, 1e9)
    0.75
    """
    return (group_size - 1) * (hop_latency + message_bytes / (group_size * link_bandwidth))
