"""Time of all-reduce without relays: every buffer is sent directly to the ranks that add it.

Validity
--------
Equal links, one message at a time in each direction; a hub with one port.
"""

from __future__ import annotations

import math

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.equations.algorithm import algorithm
from perfmodel.equations.lower_bounds import all_reduce_lower_bound
from perfmodel.equations.volumes import serial_bytes


@algorithm("exchange", bytes_per_rank=serial_bytes, lower_bound=all_reduce_lower_bound, adds=True)
@formula(cites="chan2007")
def exchange_all_reduce_time(
    group_size: Real,
    message_bytes: Real,
    hop_latency: Real,
    link_bandwidth: Real,
    reduction_bandwidth: Real = math.inf,
) -> Real:
    r"""Time of an all-reduce in which every rank sends its buffer to every other.

    .. math:: T = (n-1)\left(\alpha + \frac{S}{B} + \frac{S}{R}\right)

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
    Four ranks, 1 GB at 1 GB/s: three buffers through every port.

    >>> exchange_all_reduce_time(4, 1e9, 0, 1e9)
    3.0
    """
    step = hop_latency + message_bytes / link_bandwidth + message_bytes / reduction_bandwidth
    return (group_size - 1) * step


@algorithm("hub", bytes_per_rank=serial_bytes, lower_bound=all_reduce_lower_bound, adds=True)
@formula(cites="chan2007")
def hub_all_reduce_time(
    group_size: Real,
    message_bytes: Real,
    hop_latency: Real,
    link_bandwidth: Real,
    reduction_bandwidth: Real = math.inf,
) -> Real:
    r"""Time of an all-reduce through one of the ranks: all send to the hub, the hub sends to all.

    .. math:: T = (n-1)\left(2\alpha + 2\frac{S}{B} + \frac{S}{R}\right)

    The hub serves one rank after another and pays each start-up; a parameter
    server with open connections (``parameter_server_time``) pays it once.

    Parameters
    ----------
    group_size : n [1], hub included, at least 1
    message_bytes : S [B]
    hop_latency : alpha [s]
    link_bandwidth : B [B/s]
    reduction_bandwidth : R [B/s], infinite where adding is free

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Four ranks, 1 GB at 1 GB/s: three buffers in, three out.

    >>> hub_all_reduce_time(4, 1e9, 0, 1e9)
    6.0
    """
    step = 2 * (hop_latency + message_bytes / link_bandwidth) + message_bytes / reduction_bandwidth
    return (group_size - 1) * step
