"""Lower bounds of times that no algorithm can beat, in the alpha-beta model with one port per rank.

Validity
--------
Any algorithm, in the model of one full-duplex port per rank and one latency per message: no measured
time on such links can be shorter. The bound of an iteration counts the arithmetic and traffic that no
fusion avoids.
"""

from __future__ import annotations

import math

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites=("patarasuk2009", "chan2007"))
def all_reduce_lower_bound(
    group_size: Real,
    message_bytes: Real,
    hop_latency: Real,
    link_bandwidth: Real,
    reduction_bandwidth: Real = math.inf,
) -> Real:
    r"""Least time of an all-reduce in which the ranks add.

    .. math:: T \ge \max\left(\lceil\log_2 n\rceil\alpha,\ 2\frac{n-1}{n}\frac{S}{B},
              \ \frac{n-1}{n}\frac{S}{R}\right)

    Parameters
    ----------
    group_size : n [1], at least 1
    message_bytes : S [B]
    hop_latency : alpha [s]
    link_bandwidth : B [B/s]
    reduction_bandwidth : R [B/s], infinite where adding is free

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Four ranks, 1 GB at 1 GB/s: every port has to carry 1.5 GB.

    >>> all_reduce_lower_bound(4, 1e9, 0, 1e9)
    1.5
    """
    share = (group_size - 1) * message_bytes / group_size
    on_the_wire = ops.maximum(ops.ceil(ops.log2(group_size)) * hop_latency, 2 * share / link_bandwidth)
    return ops.maximum(on_the_wire, share / reduction_bandwidth)


@formula(cites="graham2016")
def in_network_all_reduce_lower_bound(
    group_size: Real, message_bytes: Real, hop_latency: Real, link_bandwidth: Real
) -> Real:
    r"""Least time of an all-reduce in which switches add.

    .. math:: T \ge \max\left(\alpha, \frac{S}{B}\right), \quad n \ge 2

    Parameters
    ----------
    group_size : n [1]; one rank costs nothing
    message_bytes : S [B]
    hop_latency : alpha [s]
    link_bandwidth : B [B/s]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    1 GB at 1 GB/s: every rank has to send its buffer.

    >>> in_network_all_reduce_lower_bound(4, 1e9, 0, 1e9)
    1.0
    """
    return ops.minimum(group_size - 1, 1) * ops.maximum(hop_latency, message_bytes / link_bandwidth)


@formula(cites="chan2007")
def broadcast_lower_bound(
    group_size: Real, message_bytes: Real, hop_latency: Real, link_bandwidth: Real
) -> Real:
    r"""Least time of a broadcast.

    .. math:: T \ge \max\left(\lceil\log_2 n\rceil\alpha, \frac{S}{B}\right), \quad n \ge 2

    Parameters
    ----------
    group_size : n [1]; one rank costs nothing
    message_bytes : S [B]
    hop_latency : alpha [s]
    link_bandwidth : B [B/s]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Five ranks, 1 s a hop, few bytes: three hops to reach all.

    >>> broadcast_lower_bound(5, 1, 1, 1e9)
    3
    """
    reach = ops.ceil(ops.log2(group_size)) * hop_latency
    return ops.maximum(reach, ops.minimum(group_size - 1, 1) * message_bytes / link_bandwidth)


@formula(cites=("patarasuk2009", "chan2007"))
def share_lower_bound(
    group_size: Real,
    message_bytes: Real,
    hop_latency: Real,
    link_bandwidth: Real,
    reduction_bandwidth: Real = math.inf,
) -> Real:
    r"""Least time of a reduce-scatter, an all-gather or an all-to-all.

    .. math:: T \ge \max\left(\lceil\log_2 n\rceil\alpha,\ \frac{n-1}{n}\frac{S}{B},
              \ \frac{n-1}{n}\frac{S}{R}\right)

    Parameters
    ----------
    group_size : n [1], at least 1
    message_bytes : S [B], the full buffer
    hop_latency : alpha [s]
    link_bandwidth : B [B/s]
    reduction_bandwidth : R [B/s], infinite where nothing is added

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Four ranks, 1 GB at 1 GB/s: every port has to carry 0.75 GB.

    >>> share_lower_bound(4, 1e9, 0, 1e9)
    0.75
    """
    share = (group_size - 1) * message_bytes / group_size
    on_the_wire = ops.maximum(ops.ceil(ops.log2(group_size)) * hop_latency, share / link_bandwidth)
    return ops.maximum(on_the_wire, share / reduction_bandwidth)


@formula(cites="williams2009")
def physical_iteration_time(
    least_flops: Real, compulsory_bytes: Real, peak_flops: Real, memory_bandwidth: Real
) -> Real:
    r"""Least time of an iteration: all arithmetic at the peak, or all compulsory traffic.

    .. math:: t \ge \max\left(\frac{F}{F_p}, \frac{D}{B_m}\right)

    Parameters
    ----------
    least_flops : F [FLOP], of the best known algorithm
    compulsory_bytes : D [B], that every program must read and write
    peak_flops : F_p [FLOP/s], nominal
    memory_bandwidth : B_m [B/s], nominal

    Returns
    -------
    iteration_time [s], a lower bound

    Examples
    --------
    1 TFLOP at 10 TFLOP/s takes 0.1 s; 1 GB at 100 GB/s only 0.01 s.

    >>> physical_iteration_time(1e12, 1e9, 10e12, 100e9)
    0.1
    """
    return ops.maximum(least_flops / peak_flops, compulsory_bytes / memory_bandwidth)
