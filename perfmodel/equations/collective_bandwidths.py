"""Bandwidths of collectives with large messages: of rings and trees inside a node, and of its NICs.

A bandwidth here is a bus bandwidth, as nccl-tests define it; that of a node is of all its NICs together.

Validity
--------
Messages so large that bandwidth alone determines the time. The forms of the equations are assumptions;
their constants are learned from measured collectives, and extrapolate beyond the measured numbers of
ranks by a factor for each doubling.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real

SHARPNESS = 20.0
"""Exponent of the smooth minimum, which is 3.4 % below two equal rates."""


@formula(cites=())
def slower_bandwidth(link_bandwidth: Real, other_bandwidth: Real) -> Real:
    r"""Bandwidth of two links in series: a smooth minimum of both.

    .. math:: B = \left(B_1^{-20} + B_2^{-20}\right)^{-1/20}

    It increases with both; if they are equal, it is 3.4 % less.

    Parameters
    ----------
    link_bandwidth : B_1 [B/s]
    other_bandwidth : B_2 [B/s]

    Returns
    -------
    link_bandwidth [B/s]

    Examples
    --------
    At a ratio of ten the slower alone counts; equal bandwidths lose 3.4 %.

    >>> round(slower_bandwidth(1e9, 1e10) / 1e9, 3), round(slower_bandwidth(1e9, 1e9) / 1e9, 3)
    (1.0, 0.966)
    """
    return (link_bandwidth**-SHARPNESS + other_bandwidth**-SHARPNESS) ** (-1 / SHARPNESS)


@formula(cites=())
def switched_ring_bandwidth(
    link_bandwidth: Real, achieved_fraction: Real, pair_loss: Real, group_size: Real
) -> Real:
    r"""Bandwidth of rings among ranks behind one switch, which is lower for few ranks.

    .. math:: V = \phi\,B\left(1 - \frac{\lambda}{n}\right)

    Parameters
    ----------
    link_bandwidth : B [B/s], nominal
    achieved_fraction : phi [1], of B that rings of many ranks reach
    pair_loss : lambda [1], at most 1; two ranks lose half of it
    group_size : n [1], ranks behind the switch

    Returns
    -------
    link_bandwidth [B/s]

    Examples
    --------
    Eight on links of 300 GB/s that reach 80 %, less 0.4/8.

    >>> round(switched_ring_bandwidth(300e9, 0.8, 0.4, 8) / 1e9)
    228
    """
    return achieved_fraction * link_bandwidth * (1 - pair_loss / group_size)


@formula(cites=())
def decayed_bandwidth(link_bandwidth: Real, bandwidth_decay: Real, nodes: Real) -> Real:
    r"""Bandwidth between many nodes: that of two nodes, reduced for each further doubling of their number.

    .. math:: B' = B\,\delta^{-\max(\log_2 N - 1,\,0)}

    Parameters
    ----------
    link_bandwidth : B [B/s], between two nodes
    bandwidth_decay : delta [1], for each doubling
    nodes : N [1]

    Returns
    -------
    link_bandwidth [B/s]

    Examples
    --------
    80 GB/s, on eight nodes, which are two doublings beyond two.

    >>> round(decayed_bandwidth(80e9, 1.03, 8) / 1e9, 2)
    75.41
    """
    return link_bandwidth * bandwidth_decay ** -ops.maximum(ops.log2(nodes) - 1, 0.0)


@formula(cites=())
def summed_bandwidth(link_bandwidth: Real, sum_gain: Real, pair_loss: Real, group_size: Real) -> Real:
    r"""Bus bandwidth of an all-reduce in the switch between its ranks, from that of rings.

    .. math:: V' = \gamma\,\frac{V}{1 - \lambda/n}

    Each byte goes to the switch and back once, so that the bus bandwidth may exceed that of rings; the loss
    of rings of few ranks does not apply.

    Parameters
    ----------
    link_bandwidth : V [B/s], of the rings
    sum_gain : gamma [1], ratio to rings of many ranks
    pair_loss : lambda [1], as ``switched_ring_bandwidth`` takes it
    group_size : n [1], ranks behind the switch

    Returns
    -------
    bus_bandwidth [B/s]

    Examples
    --------
    Rings of eight carry 228 GB/s, of many 240; 1.3 times these.

    >>> round(summed_bandwidth(228e9, 1.3, 0.4, 8) / 1e9)
    312
    """
    return sum_gain * link_bandwidth / (1 - pair_loss / group_size)


@formula(cites="nccl-tuning")
def inner_tree_bandwidth(link_bandwidth: Real, tree_fraction: Real) -> Real:
    r"""Bandwidth of trees inside a node.

    .. math:: V' = \phi_t V

    Parameters
    ----------
    link_bandwidth : V [B/s], of the rings
    tree_fraction : phi_t [1], of V that trees reach

    Returns
    -------
    bus_bandwidth [B/s]

    Examples
    --------
    >>> inner_tree_bandwidth(200e9, 0.95)
    190000000000.0
    """
    return tree_fraction * link_bandwidth


@formula(cites="nccl-tests")
def two_node_tree_bandwidth(link_bandwidth: Real, group_size: Real) -> Real:
    r"""Bus bandwidth of a tree over two nodes: each byte passes between them once in each direction.

    .. math:: B' = \frac{2(n-1)}{n} B

    By the definition of nccl-tests, a ring moves 2(n-1)/n bytes between the nodes for each byte of the
    message; a tree moves one, so that its bus bandwidth may exceed that of the ports.

    Parameters
    ----------
    link_bandwidth : B [B/s], of a node's NICs
    group_size : n [1]

    Returns
    -------
    bus_bandwidth [B/s]

    Examples
    --------
    >>> two_node_tree_bandwidth(100e9, 16)  # 2 x 15/16 of 100 GB/s
    187500000000.0
    """
    return 2 * (group_size - 1) / group_size * link_bandwidth


@formula(cites=())
def part_by_tree(largest_part: Real, link_bandwidth: Real, inner_bandwidth: Real) -> Real:
    r"""Weight of trees, compared with rings, in a library's choice between nodes: larger for slower ports.

    .. math:: s = s_0 \max\left(1 - \frac{B}{V},\,0\right)

    Parameters
    ----------
    largest_part : s_0 [1]
    link_bandwidth : B [B/s], of a node's NICs
    inner_bandwidth : V [B/s], of the rings inside a node

    Returns
    -------
    part [1]

    Examples
    --------
    >>> part_by_tree(0.5, 50e9, 200e9)  # half of 1 - 1/4
    0.375
    """
    return largest_part * ops.maximum(1 - link_bandwidth / inner_bandwidth, 0.0)


@formula(cites=())
def mixed_bandwidth(ring_bandwidth: Real, tree_bandwidth: Real, tree_part: Real) -> Real:
    r"""Bus bandwidth of a library between rings and trees: their weighted geometric mean.

    .. math:: B = B_r^{1-s}\,B_t^{s}

    Parameters
    ----------
    ring_bandwidth : B_r [B/s]
    tree_bandwidth : B_t [B/s]
    tree_part : s [1]

    Returns
    -------
    bus_bandwidth [B/s]

    Examples
    --------
    The geometric mean of 10 and 40 GB/s.

    >>> round(mixed_bandwidth(10e9, 40e9, 0.5) / 1e9, 9)
    20.0
    """
    return ring_bandwidth ** (1 - tree_part) * tree_bandwidth**tree_part


@formula(cites=())
def exchange_bandwidth(
    link_bandwidth: Real, exchange_fraction: Real, nodes: Real, accelerators_per_node: Real
) -> Real:
    r"""Bus bandwidth of an all-to-all over several nodes: only messages to other nodes pass the NICs.

    .. math:: B' = \phi_x \frac{B}{g} \frac{N g - 1}{N g - g}

    Parameters
    ----------
    link_bandwidth : B [B/s], of a node's NICs
    exchange_fraction : phi_x [1], of B that many senders to one port reach
    nodes : N [1], more than one
    accelerators_per_node : g [1]

    Returns
    -------
    bus_bandwidth [B/s], of one rank

    Examples
    --------
    Two nodes of eight: 8 of 15 messages leave a node whose 8 ranks share 80 GB/s.

    >>> exchange_bandwidth(80e9, 1.0, 2, 8) / 1e9
    18.75
    """
    ranks = nodes * accelerators_per_node
    share = link_bandwidth / accelerators_per_node
    return exchange_fraction * share * (ranks - 1) / (ranks - accelerators_per_node)


@formula(cites="nccl-tests")
def all_reduce_byte_time(bus_bandwidth: Real, group_size: Real) -> Real:
    r"""Time on the wire of one byte of an all-reduce, by the definition of its bus bandwidth.

    .. math:: w = \frac{2(n-1)}{n B_b}

    Parameters
    ----------
    bus_bandwidth : B_b [B/s]
    group_size : n [1]

    Returns
    -------
    wire_byte_time [s/B]

    Examples
    --------
    Eight ranks at 175 GB/s: 1.75 bytes for each of the message.

    >>> round(all_reduce_byte_time(175e9, 8) * 1e12, 9)
    10.0
    """
    return 2 * (group_size - 1) / group_size / bus_bandwidth


@formula(cites="thakur2005")
def gather_byte_time(link_bandwidth: Real, group_size: Real) -> Real:
    r"""Time on the wire of one byte of the gathered buffer in an all-gather.

    .. math:: w = \frac{n-1}{n B}

    Parameters
    ----------
    link_bandwidth : B [B/s], of one rank, one way
    group_size : n [1]

    Returns
    -------
    wire_byte_time [s/B]

    Examples
    --------
    Eight ranks at 175 GB/s: all but a rank's own eighth.

    >>> round(gather_byte_time(175e9, 8) * 1e12, 9)
    5.0
    """
    return (group_size - 1) / group_size / link_bandwidth
