"""Time of all-reduce in the alpha-beta (latency-bandwidth) model, with the time to add as a third term.

Validity
--------
Equal ranks, and equal links within a level; one message at a time in each direction; an otherwise idle
network; ranks that start together: a late rank delays the end by as much. The start times and protocols of
libraries are part of the fitted collectives only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.equations.algorithm import algorithm, algorithm_over_nodes
from perfmodel.equations.lower_bounds import all_reduce_lower_bound
from perfmodel.equations.volumes import all_reduce_bytes_per_rank


@algorithm("ring", bytes_per_rank=all_reduce_bytes_per_rank, lower_bound=all_reduce_lower_bound, adds=True)
@formula(cites="patarasuk2009")
def ring_all_reduce_time(
    group_size: Real,
    message_bytes: Real,
    hop_latency: Real,
    link_bandwidth: Real,
    reduction_bandwidth: Real = math.inf,
) -> Real:
    r"""Time of a ring all-reduce: a reduce-scatter, then an all-gather.

    .. math:: T = 2(n-1)\,\alpha + \frac{n-1}{n}\,S\left(\frac{2}{B} + \frac{1}{R}\right)

    Each half takes n-1 steps, and in each step every rank passes S/n bytes to
    its neighbour.  Only the first half adds what it received.

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
    Four ranks, 1 GB, no latency, 8 GB/s: each link carries 1.5 GB.

    >>> round(ring_all_reduce_time(4, 1e9, 0, 8e9), 9)
    0.1875
    """
    time_per_byte = (group_size - 1) / group_size * (2 / link_bandwidth + 1 / reduction_bandwidth)
    return 2 * (group_size - 1) * hop_latency + message_bytes * time_per_byte


@formula(cites=("mikami2018", "cho2017"), symbolic=False)
def per_dimension_all_reduce_time(
    dimension_sizes: Sequence[Real],
    message_bytes: Real,
    hop_latencies: Sequence[Real],
    link_bandwidths: Sequence[Real],
    reduction_bandwidth: Real = math.inf,
) -> Real:
    r"""Time of an all-reduce on a grid: reduce-scatter per dimension, then all-gather in reverse order.

    .. math:: T = \sum_d 2(p_d-1)\left(\alpha_d + \frac{S_d}{p_d B_d}\right) + \frac{p_d-1}{p_d}\frac{S_d}{R},
              \quad S_d = \frac{S}{\prod_{j<d} p_j}

    Every dimension reduces the part that the previous ones left to each rank,
    so that the fastest links should be first.  Symbols are accepted, too.

    Parameters
    ----------
    dimension_sizes : p_d [1], ranks along each dimension, in the order they are used
    message_bytes : S [B]
    hop_latencies : alpha_d [s], one for each dimension
    link_bandwidths : B_d [B/s], of one rank, one for each dimension
    reduction_bandwidth : R [B/s], infinite where adding is free

    Returns
    -------
    communication_time [s]

    Raises
    ------
    ValueError : the three sequences differ in length

    Examples
    --------
    4 x 2 ranks, 800 MB: along the first dimension each link carries 1.2 GB at
    10 GB/s (0.12 s), along the second, which reduces a quarter of the buffer,
    0.2 GB at 1 GB/s (0.2 s).

    >>> round(per_dimension_all_reduce_time((4, 2), 800e6, (0, 0), (10e9, 1e9)), 12)
    0.32
    """
    time: Real = 0
    share: Real = message_bytes
    for size, latency, bandwidth in zip(dimension_sizes, hop_latencies, link_bandwidths, strict=True):
        time = time + ring_all_reduce_time(size, share, latency, bandwidth, reduction_bandwidth)
        share = share / size
    return time


@formula(cites="cho2017")
def hierarchical_all_reduce_time(
    accelerators_per_node: Real,
    nodes: Real,
    message_bytes: Real,
    intra_hop_latency: Real,
    intra_link_bandwidth: Real,
    inter_hop_latency: Real,
    inter_link_bandwidth: Real,
    reduction_bandwidth: Real = math.inf,
) -> Real:
    r"""Time of a hierarchical all-reduce: inside the node, across nodes rail by rail, inside again.

    .. math:: T = 2(g-1)\left(\alpha_i + \frac{S}{g B_i}\right)
              + 2(N-1)\left(\alpha_e + \frac{S}{g N B_e}\right) + \frac{gN-1}{gN}\frac{S}{R}

    After the reduce-scatter in the node each rank owns S/g bytes and reduces
    them with its peers of the same number in the other nodes.  If all ranks of
    a node use one NIC, set the bandwidth to that of the NIC divided by g.

    Parameters
    ----------
    accelerators_per_node : g [1], at least 1
    nodes : N [1], at least 1
    message_bytes : S [B]
    intra_hop_latency : alpha_i [s], inside a node
    intra_link_bandwidth : B_i [B/s], of one rank inside its node
    inter_hop_latency : alpha_e [s], between nodes
    inter_link_bandwidth : B_e [B/s], of ONE rank between nodes
    reduction_bandwidth : R [B/s], infinite where adding is free

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Two nodes of four, 800 MB: 1.2 GB at 10 GB/s inside (0.12 s), then a ring
    of two over a quarter of the buffer, 0.2 GB at 1 GB/s (0.2 s).

    >>> round(hierarchical_all_reduce_time(4, 2, 800e6, 0, 10e9, 0, 1e9), 12)
    0.32
    """
    return per_dimension_all_reduce_time(
        (accelerators_per_node, nodes),
        message_bytes,
        (intra_hop_latency, inter_hop_latency),
        (intra_link_bandwidth, inter_link_bandwidth),
        reduction_bandwidth,
    )


@formula(cites="mikami2018")
def torus_all_reduce_time(
    columns: Real,
    rows: Real,
    message_bytes: Real,
    row_hop_latency: Real,
    row_link_bandwidth: Real,
    column_hop_latency: Real,
    column_link_bandwidth: Real,
    reduction_bandwidth: Real = math.inf,
) -> Real:
    r"""Time of a 2-D torus all-reduce: reduce-scatter along rows, all-reduce along columns, all-gather.

    .. math:: T = 2(X-1)\left(\alpha_x + \frac{S}{X B_x}\right)
              + 2(Y-1)\left(\alpha_y + \frac{S}{X Y B_y}\right) + \frac{XY-1}{XY}\frac{S}{R}

    As many bytes per rank as a ring of all XY ranks, in 2(X-1) + 2(Y-1)
    messages instead of 2(XY-1).

    Parameters
    ----------
    columns : X [1], ranks in one row
    rows : Y [1], ranks in one column
    message_bytes : S [B]
    row_hop_latency : alpha_x [s], between neighbours of a row
    row_link_bandwidth : B_x [B/s], of one rank along its row
    column_hop_latency : alpha_y [s], between neighbours of a column
    column_link_bandwidth : B_y [B/s], of one rank along its column
    reduction_bandwidth : R [B/s], infinite where adding is free

    Returns
    -------
    communication_time [s]

    Examples
    --------
    4 x 4, 1 s for each hop, no bytes: 2 * 3 hops in the row and as many in the column.

    >>> torus_all_reduce_time(4, 4, 0, 1, 1e9, 1, 1e9)
    12.0
    """
    return hierarchical_all_reduce_time(
        columns,
        rows,
        message_bytes,
        row_hop_latency,
        row_link_bandwidth,
        column_hop_latency,
        column_link_bandwidth,
        reduction_bandwidth,
    )


@algorithm_over_nodes("hierarchical")
@formula(cites="cho2017")
def shared_card_all_reduce_time(
    accelerators_per_node: Real,
    nodes: Real,
    message_bytes: Real,
    intra_hop_latency: Real,
    intra_link_bandwidth: Real,
    inter_hop_latency: Real,
    inter_link_bandwidth: Real,
    reduction_bandwidth: Real = math.inf,
) -> Real:
    r"""Time of a hierarchical all-reduce in which all ranks of a node share one NIC.

    .. math:: T = 2(g-1)\left(\alpha_i + \frac{S}{g B_i}\right)
              + 2(N-1)\left(\alpha_e + \frac{S}{N B_e}\right) + \frac{gN-1}{gN}\frac{S}{R}

    The g rings between the nodes run at the same time, each with 1/g of the NIC's bandwidth.

    Parameters
    ----------
    accelerators_per_node : g [1], at least 1
    nodes : N [1], at least 1
    message_bytes : S [B]
    intra_hop_latency : alpha_i [s], inside a node
    intra_link_bandwidth : B_i [B/s], of one rank inside its node
    inter_hop_latency : alpha_e [s], between nodes
    inter_link_bandwidth : B_e [B/s], of the one NIC of a node
    reduction_bandwidth : R [B/s], infinite where adding is free

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Two nodes of four, 800 MB, infinitely fast links inside: the NIC carries as
    much as in a ring of two nodes, 0.8 GB in each direction at 1 GB/s.

    >>> shared_card_all_reduce_time(4, 2, 800e6, 0, float("inf"), 0, 1e9)
    0.8
    """
    return hierarchical_all_reduce_time(
        accelerators_per_node,
        nodes,
        message_bytes,
        intra_hop_latency,
        intra_link_bandwidth,
        inter_hop_latency,
        inter_link_bandwidth / accelerators_per_node,
        reduction_bandwidth,
    )
