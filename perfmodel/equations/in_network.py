"""Time of an all-reduce whose sums are computed in the switches.

Validity
--------
Switches that add the data type at the full rate of their ports, used by one job. The times are lower
bounds: a finite number of blocks costs a few per cent more.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.equations.algorithm import algorithm
from perfmodel.equations.lower_bounds import in_network_all_reduce_lower_bound
from perfmodel.equations.volumes import nvls_bytes_per_rank, whole_buffer_bytes


@algorithm("nvls", bytes_per_rank=nvls_bytes_per_rank, lower_bound=in_network_all_reduce_lower_bound)
@formula(cites="klenk2020")
def nvls_all_reduce_time(
    group_size: Real, message_bytes: Real, hop_latency: Real, link_bandwidth: Real
) -> Real:
    r"""Least time of an all-reduce through one switch that adds and multicasts (NVSwitch, NVLS).

    .. math:: T = \alpha + \left(1 + \frac{1}{n}\right)\frac{S}{B}

    Each rank reads its share of the sum, for which every port sends S, and
    writes it once for the switch to multicast, S/n.  The two overlap if the
    message is cut into many blocks; with k blocks, each longer than the latency of
    the switch, the wire time grows by a factor of at most (1 + 3/k), and each of
    the four crossings adds its latency.

    Parameters
    ----------
    group_size : n [1]; the time is 0 for one rank
    message_bytes : S [B]
    hop_latency : alpha [s], of the whole operation
    link_bandwidth : B [B/s], of one rank to the switch, one direction

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Eight ranks, 8 GB at 9 GB/s: 8 + 1 GB leave every port.

    >>> nvls_all_reduce_time(8, 8e9, 0, 9e9)
    1.0
    """
    wire_bytes = (group_size + 1) * message_bytes / group_size
    return ops.minimum(group_size - 1, 1) * (hop_latency + wire_bytes / link_bandwidth)


@algorithm("switch-tree", bytes_per_rank=whole_buffer_bytes, lower_bound=in_network_all_reduce_lower_bound)
@formula(cites="graham2016")
def switch_tree_all_reduce_time(
    group_size: Real,
    message_bytes: Real,
    hop_latency: Real,
    link_bandwidth: Real,
    switch_levels: Real = 1,
) -> Real:
    r"""Time of an all-reduce up and down a tree of switches that add (SHARP).

    .. math:: T = 2 d \alpha + \frac{S}{B}, \quad n \ge 2

    Packets stream: while one goes down, the next comes up.  If the message is cut into k
    blocks, each of which a switch receives completely first, the wire time grows by a factor of (1 +
    (2d-1)/k).

    Parameters
    ----------
    group_size : n [1]; the time is 0 for one rank, and the same for any number above
    message_bytes : S [B]
    hop_latency : alpha [s], of one hop between rank and switch, or two switches
    link_bandwidth : B [B/s], of one rank, one direction
    switch_levels : d [1], switches from a rank to the root

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Two levels, four hops of 0.25 s, 1 GB at 1 GB/s: 1 s + 1 s.

    >>> switch_tree_all_reduce_time(16, 1e9, 0.25, 1e9, 2)
    2.0
    """
    time = 2 * switch_levels * hop_latency + message_bytes / link_bandwidth
    return ops.minimum(group_size - 1, 1) * time
