"""Time of a broadcast, from one rank to all, in the alpha-beta model.

Validity
--------
Every rank sends one message and receives one at the same time; all links are equal and carry no other
traffic. Across nodes, use the latency and bandwidth of the slower links.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.equations.algorithm import algorithm
from perfmodel.equations.lower_bounds import broadcast_lower_bound
from perfmodel.equations.volumes import scatter_all_gather_bytes_per_rank, tree_root_bytes, whole_buffer_bytes


@algorithm("binomial", "broadcast", bytes_per_rank=tree_root_bytes, lower_bound=broadcast_lower_bound)
@formula(cites="thakur2005")
def binomial_broadcast_time(
    group_size: Real, message_bytes: Real, hop_latency: Real, link_bandwidth: Real
) -> Real:
    r"""Time of a binomial-tree broadcast: in each step every rank that has the message passes it on.

    .. math:: T = \lceil\log_2 n\rceil\left(\alpha + \frac{S}{B}\right)

    Parameters
    ----------
    group_size : n [1], at least 1
    message_bytes : S [B]
    hop_latency : alpha [s]
    link_bandwidth : B [B/s]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Five ranks need three steps; 1 GB at 2 GB/s takes 0.5 s in each.

    >>> binomial_broadcast_time(5, 1e9, 0, 2e9)
    1.5
    """
    return ops.ceil(ops.log2(group_size)) * (hop_latency + message_bytes / link_bandwidth)


@algorithm("chain", "broadcast", bytes_per_rank=whole_buffer_bytes, lower_bound=broadcast_lower_bound)
@formula(cites="chan2007")
def best_chain_broadcast_time(
    group_size: Real, message_bytes: Real, hop_latency: Real, link_bandwidth: Real
) -> Real:
    r"""Time of a broadcast along a chain with the best number of blocks.

    .. math:: T = \left(\sqrt{(n-2)\alpha} + \sqrt{S/B}\right)^2
              \quad\text{at } k = \sqrt{\frac{(n-2) S}{\alpha B}} \ge 1

    With k blocks it takes (n - 2 + k)(alpha + S / (k B)).  Where the best k is below 1 one block is best,
    T = (n-1)(alpha + S/B).  k is not rounded: a whole number of blocks takes at least this long.

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
    Six ranks, alpha = 1 s, S/B = 4 s: (sqrt(4) + sqrt(4)) squared, with four blocks.

    >>> best_chain_broadcast_time(6, 4e9, 1, 1e9)
    16.0
    """
    wire_time = message_bytes / link_bandwidth
    hops = ops.maximum(group_size - 2, 0)
    overhead = best_block_overhead(hop_latency, hops * wire_time)
    return ops.minimum(group_size - 1, 1) * (hops * hop_latency + wire_time + overhead)


@algorithm(
    "scatter-all-gather",
    "broadcast",
    bytes_per_rank=scatter_all_gather_bytes_per_rank,
    lower_bound=broadcast_lower_bound,
)
@formula(cites="chan2007")
def scatter_all_gather_broadcast_time(
    group_size: Real, message_bytes: Real, hop_latency: Real, link_bandwidth: Real
) -> Real:
    r"""Time of a broadcast by a binomial scatter and a ring all-gather (van de Geijn).

    .. math:: T = \left(\lceil\log_2 n\rceil + n - 1\right)\alpha + 2\frac{n-1}{n}\frac{S}{B}

    Parameters
    ----------
    group_size : n [1], at least 1
    message_bytes : S [B]
    hop_latency : alpha [s]
    link_bandwidth : B [B/s]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Four ranks, 1 GB at 1 GB/s: 0.75 s to deal out, 0.75 s to gather.

    >>> scatter_all_gather_broadcast_time(4, 1e9, 0, 1e9)
    1.5
    """
    steps = ops.ceil(ops.log2(group_size)) + group_size - 1
    return steps * hop_latency + 2 * (group_size - 1) * message_bytes / (group_size * link_bandwidth)


def best_block_overhead(per_block: Real, per_block_inverse: Real) -> Real:
    """Return the least of ``k * per_block + per_block_inverse / k`` over k >= 1, k not rounded.

    With k = sqrt(per_block_inverse / per_block) it is 2 sqrt of the product; where that k is below 1, k is 1.
    """
    return ops.where(
        per_block_inverse >= per_block,
        2 * ops.sqrt(per_block * per_block_inverse),
        per_block + per_block_inverse,
    )


@algorithm("two-tree", "broadcast", bytes_per_rank=whole_buffer_bytes, lower_bound=broadcast_lower_bound)
@formula(cites="sanders2009")
def best_two_tree_broadcast_time(
    group_size: Real, message_bytes: Real, hop_latency: Real, link_bandwidth: Real
) -> Real:
    r"""Time of a two-tree broadcast with the best number of blocks.

    .. math:: T = \frac{S}{B} + 2h\alpha + \sqrt{8 h \alpha \frac{S}{B}}, \quad h = \lceil\log_2 n\rceil

    Half the message goes down each of two binary trees in k blocks, in at most
    2 (h + k)(alpha + S / (2 k B)): inner ranks of one tree are leaves of the other, so both directions of
    every port carry the whole message once.  k = sqrt(h S / (2 alpha B)); where that is below 1, one.

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
    Four ranks, alpha = 1 s, S/B = 4 s: 4 + 4 + sqrt(8 * 2 * 4), with two blocks.

    >>> best_two_tree_broadcast_time(4, 4e9, 1, 1e9)
    16.0
    """
    depth = ops.ceil(ops.log2(group_size))
    wire_time = message_bytes / link_bandwidth
    overhead = best_block_overhead(2 * hop_latency, depth * wire_time)
    return ops.minimum(group_size - 1, 1) * (wire_time + 2 * depth * hop_latency + overhead)


@formula(cites="chan2007")
def long_broadcast_time(message_bytes: Real, link_bandwidth: Real) -> Real:
    r"""Time to send a long message to all ranks along a chain, in blocks so small that no link idles.

    .. math:: T = \frac{S}{B}

    The limit of the chain for many bytes: every link carries the message once.

    Parameters
    ----------
    message_bytes : S [B]
    link_bandwidth : B [B/s]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    >>> long_broadcast_time(1e9, 10e9)
    0.1
    """
    return message_bytes / link_bandwidth
