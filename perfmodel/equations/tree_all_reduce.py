"""Time of all-reduce algorithms whose steps grow with the logarithm of the ranks.

Validity
--------
All links alike, one message at a time each way, ranks that start together; for two trees
the time is an upper bound.
"""

from __future__ import annotations

import math

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.equations.algorithm import algorithm, algorithm_over_nodes
from perfmodel.equations.broadcast import best_block_overhead
from perfmodel.equations.lower_bounds import all_reduce_lower_bound
from perfmodel.equations.ring_all_reduce import ring_all_reduce_time
from perfmodel.equations.volumes import (
    double_tree_bytes_per_rank,
    halving_doubling_bytes_per_rank,
    recursive_doubling_bytes_per_rank,
    tree_root_bytes,
)


def _steps(group_size: Real) -> tuple[Real, Real]:
    """Return floor(log2 n), and 1 where n is no power of two, else 0."""
    exponent = ops.log2(group_size)
    whole = ops.floor(exponent)
    return whole, ops.ceil(exponent) - whole


@algorithm(
    "recursive-doubling",
    bytes_per_rank=recursive_doubling_bytes_per_rank,
    lower_bound=all_reduce_lower_bound,
    adds=True,
)
@formula(cites="thakur2005")
def recursive_doubling_all_reduce_time(
    group_size: Real,
    message_bytes: Real,
    hop_latency: Real,
    link_bandwidth: Real,
    reduction_bandwidth: Real = math.inf,
) -> Real:
    r"""Time of a recursive-doubling all-reduce: whole buffers are exchanged over doubling distances.

    .. math:: T = \lfloor\log_2 n\rfloor\left(\alpha + \frac{S}{B} + \frac{S}{R}\right)
              + u\left(2\alpha + 2\frac{S}{B} + \frac{S}{R}\right)

    u is 1 where n is no power of two: the ranks beyond one first hand their
    buffer to a partner, and get the sum at the end.

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
    Eight ranks, three steps of 1 GB at 2 GB/s.

    >>> recursive_doubling_all_reduce_time(8, 1e9, 0, 2e9)
    1.5
    """
    steps, uneven = _steps(group_size)
    exchange = hop_latency + message_bytes / link_bandwidth
    return (steps + 2 * uneven) * exchange + (steps + uneven) * message_bytes / reduction_bandwidth


@algorithm(
    "halving-doubling",
    bytes_per_rank=halving_doubling_bytes_per_rank,
    lower_bound=all_reduce_lower_bound,
    adds=True,
)
@formula(cites="thakur2005")
def halving_doubling_all_reduce_time(
    group_size: Real,
    message_bytes: Real,
    hop_latency: Real,
    link_bandwidth: Real,
    reduction_bandwidth: Real = math.inf,
) -> Real:
    r"""Time of a halving-doubling all-reduce (Rabenseifner), for any number of ranks.

    .. math:: T = 2\alpha\log_2 p + \frac{p-1}{p}\left(2\frac{S}{B} + \frac{S}{R}\right)
              + u\left(2\alpha + 2\frac{S}{B} + \frac{S}{R}\right), \quad p = 2^{\lfloor\log_2 n\rfloor}

    A reduce-scatter over halving distances, then an all-gather over doubling
    ones.  u is 1 where n is no power of two: the ranks beyond p first hand
    their buffer to a partner, and get the sum at the end.

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
    Four ranks, 1 GB at 1 GB/s: 0.5 + 0.25 s to reduce, as long to gather.

    >>> halving_doubling_all_reduce_time(4, 1e9, 0, 1e9)
    1.5
    """
    steps, uneven = _steps(group_size)
    share = (1 - 2 ** (-steps)) + uneven
    bandwidth_terms = 2 * message_bytes / link_bandwidth + message_bytes / reduction_bandwidth
    return 2 * (steps + uneven) * hop_latency + share * bandwidth_terms


@algorithm("tree", bytes_per_rank=double_tree_bytes_per_rank, lower_bound=all_reduce_lower_bound, adds=True)
@formula(cites="sanders2009")
def best_double_tree_all_reduce_time(
    group_size: Real,
    message_bytes: Real,
    hop_latency: Real,
    link_bandwidth: Real,
    reduction_bandwidth: Real = math.inf,
) -> Real:
    r"""Time of a double-binary-tree all-reduce with the best number of blocks.

    .. math:: T = 4h\alpha + 2\frac{S}{B} + \frac{S}{R}
              + \sqrt{16 h \alpha \left(2\frac{S}{B} + \frac{S}{R}\right)}, \quad h = \lceil\log_2 n\rceil

    Half the buffer goes up and down each of two binary trees in k blocks, in at most
    2 (h + k)(2 alpha + S / (k B) + S / (2 k R)); a rank moves 2S each way.
    k = sqrt(h (2S/B + S/R) / (4 alpha)); where that is below 1, one.

    Parameters
    ----------
    group_size : n [1]; one rank costs nothing
    message_bytes : S [B]
    hop_latency : alpha [s]
    link_bandwidth : B [B/s]
    reduction_bandwidth : R [B/s], infinite where adding is free

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Four ranks, alpha = 1 s, S/B = 4 s: 8 + 8 + sqrt(16 * 2 * 8), with two blocks.

    >>> best_double_tree_all_reduce_time(4, 4e9, 1, 1e9)
    32.0
    """
    depth = ops.ceil(ops.log2(group_size))
    work = 2 * message_bytes / link_bandwidth + message_bytes / reduction_bandwidth
    overhead = best_block_overhead(4 * hop_latency, depth * work)
    return ops.minimum(group_size - 1, 1) * (4 * depth * hop_latency + work + overhead)


@algorithm("reduce-broadcast", bytes_per_rank=tree_root_bytes, lower_bound=all_reduce_lower_bound, adds=True)
@formula(cites="thakur2005")
def reduce_broadcast_all_reduce_time(
    group_size: Real,
    message_bytes: Real,
    hop_latency: Real,
    link_bandwidth: Real,
    reduction_bandwidth: Real = math.inf,
) -> Real:
    r"""Time of an all-reduce by a binomial reduce to one rank, then a binomial broadcast.

    .. math:: T = \lceil\log_2 n\rceil\left(2\alpha + 2\frac{S}{B} + \frac{S}{R}\right)

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
    Eight ranks, three steps each way of 1 GB at 2 GB/s.

    >>> reduce_broadcast_all_reduce_time(8, 1e9, 0, 2e9)
    3.0
    """
    exchange = 2 * (hop_latency + message_bytes / link_bandwidth) + message_bytes / reduction_bandwidth
    return ops.ceil(ops.log2(group_size)) * exchange


@algorithm_over_nodes("leader")
@formula(cites="cho2017")
def leader_all_reduce_time(
    accelerators_per_node: Real,
    nodes: Real,
    message_bytes: Real,
    intra_hop_latency: Real,
    intra_link_bandwidth: Real,
    inter_hop_latency: Real,
    inter_link_bandwidth: Real,
    reduction_bandwidth: Real = math.inf,
) -> Real:
    r"""Time of an all-reduce by reducing to one leader per node, a ring of leaders, and a broadcast.

    .. math:: T = \lceil\log_2 g\rceil\left(2\alpha_i + 2\frac{S}{B_i} + \frac{S}{R}\right)
              + 2(N-1)\left(\alpha_e + \frac{S}{N B_e}\right) + \frac{N-1}{N}\frac{S}{R}

    The whole buffer crosses the network, from one rank of each node.

    Parameters
    ----------
    accelerators_per_node : g [1], at least 1
    nodes : N [1], at least 1
    message_bytes : S [B]
    intra_hop_latency : alpha_i [s], inside a node
    intra_link_bandwidth : B_i [B/s], of one rank inside its node
    inter_hop_latency : alpha_e [s], between nodes
    inter_link_bandwidth : B_e [B/s], what the leader gets between nodes
    reduction_bandwidth : R [B/s], infinite where adding is free

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Two nodes of four, 1 GB: 2 + 2 steps of 0.5 s inside, 1 GB at 1 GB/s between.

    >>> leader_all_reduce_time(4, 2, 1e9, 0, 2e9, 0, 1e9)
    3.0
    """
    inside = reduce_broadcast_all_reduce_time(
        accelerators_per_node, message_bytes, intra_hop_latency, intra_link_bandwidth, reduction_bandwidth
    )
    return inside + ring_all_reduce_time(
        nodes, message_bytes, inter_hop_latency, inter_link_bandwidth, reduction_bandwidth
    )
