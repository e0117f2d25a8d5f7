"""Start times of collectives, of an empty message: launch, hops inside nodes, round trips between nodes.

A round trip between two nodes is two hops, each with the latency that the host adds.

Validity
--------
Messages so small that latency alone determines the time. The numbers of hops are those of the algorithms;
the time of a hop is learned for each type of link.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real

LONGEST_CHAIN = 7.0
"""Largest number of hops in NCCL's trees inside a node, which are chains, as in nodes of eight
accelerators."""
CROWD = 84.0
"""Number of nodes at which half of the growth of a ring's hops is reached: chosen by hand for one large
machine."""


@formula(cites=())
def round_trip_time(hop_latency: Real, host_latency: Real) -> Real:
    r"""Time of an empty message from one node to another and back.

    .. math:: a = 2\,(\alpha + \alpha_h)

    Parameters
    ----------
    hop_latency : alpha [s], of the transport
    host_latency : alpha_h [s], of the proxy that posts each message

    Returns
    -------
    round_trip_time [s]

    Examples
    --------
    >>> round(round_trip_time(2.7e-6, 1.6e-6) * 1e6, 3)  # 2 x 4.3 us
    8.6
    """
    return 2 * (hop_latency + host_latency)


@formula(cites="nccl-tuning")
def tree_start_time(
    launch_time: Real,
    hop_latency: Real,
    accelerators_per_node: Real,
    round_trip_time: Real,
    crowd_latency: Real,
    nodes: Real,
) -> Real:
    r"""Start of an all-reduce by trees: a chain inside each node, a tree over the nodes.

    .. math:: A = t_0 + 2\alpha\min(g-1, 7) + a\log_2 N + c\,N

    Parameters
    ----------
    launch_time : t_0 [s]
    hop_latency : alpha [s], inside a node
    accelerators_per_node : g [1]
    round_trip_time : a [s]
    crowd_latency : c [s], for each node; 0 in one node
    nodes : N [1]

    Returns
    -------
    start_time [s]

    Examples
    --------
    Four nodes of eight: 5 us, 14 hops of 1 us, two levels of 9 us, 4 x 0.1 us.

    >>> round(tree_start_time(5e-6, 1e-6, 8, 9e-6, 0.1e-6, 4) * 1e6, 6)
    37.4
    """
    chain = 2 * hop_latency * ops.minimum(accelerators_per_node - 1, LONGEST_CHAIN)
    return launch_time + chain + round_trip_time * ops.log2(nodes) + crowd_latency * nodes


@formula(cites="patarasuk2009")
def ring_start_time(
    launch_time: Real,
    hop_latency: Real,
    accelerators_per_node: Real,
    round_trip_time: Real,
    crowd_latency: Real,
    nodes: Real,
) -> Real:
    r"""Start of an all-reduce by one ring through all ranks.

    .. math:: A = t_0 + 2\alpha N(g-1) + a(N-1) + c\,N

    Parameters
    ----------
    launch_time : t_0 [s]
    hop_latency : alpha [s], inside a node
    accelerators_per_node : g [1]
    round_trip_time : a [s]
    crowd_latency : c [s], for each node; 0 in one node
    nodes : N [1]

    Returns
    -------
    start_time [s]

    Examples
    --------
    Two nodes of two: 5 us, four hops of 1 us, one round trip of 9 us, 2 x 0.1 us.

    >>> round(ring_start_time(5e-6, 1e-6, 2, 9e-6, 0.1e-6, 2) * 1e6, 6)
    18.2
    """
    inside = 2 * hop_latency * nodes * (accelerators_per_node - 1)
    return launch_time + inside + round_trip_time * (nodes - 1) + crowd_latency * nodes


@formula(cites="thakur2005")
def gather_start_time(
    launch_time: Real,
    hop_latency: Real,
    accelerators_per_node: Real,
    round_trip_time: Real,
    trip_fraction: Real,
    nodes: Real,
) -> Real:
    r"""Start of an all-gather or reduce-scatter: one ring through all ranks, once around.

    .. math:: A = t_0 + \alpha N(g-1) + \phi\,a\left(1 + \frac{3N}{N + 84}\right)(N-1)

    Parameters
    ----------
    launch_time : t_0 [s]
    hop_latency : alpha [s], inside a node
    accelerators_per_node : g [1]
    round_trip_time : a [s]
    trip_fraction : phi [1], of a round trip, for one hop between nodes
    nodes : N [1]

    Returns
    -------
    start_time [s]

    Examples
    --------
    One node of eight: 5 us and seven hops of 1 us.

    >>> round(gather_start_time(5e-6, 1e-6, 8, 9e-6, 0.4, 1) * 1e6, 6)
    12.0
    """
    between = trip_fraction * round_trip_time * (1 + 3 * nodes / (nodes + CROWD)) * (nodes - 1)
    return launch_time + hop_latency * nodes * (accelerators_per_node - 1) + between


@formula(cites=())
def exchange_start_time(
    launch_time: Real, peer_latency: Real, trip_root: Real, round_trip_time: Real, group_size: Real
) -> Real:
    r"""Start of an all-to-all: every rank posts a message to every other.

    .. math:: A = t_0 + \left(\alpha_x + \kappa\sqrt{a}\right) n

    Messages to many peers overlap, so that the cost grows less than in proportion to the round trip.

    Parameters
    ----------
    launch_time : t_0 [s]
    peer_latency : alpha_x [s], of each peer
    trip_root : kappa [s^0.5]
    round_trip_time : a [s]; 0 in one node
    group_size : n [1]

    Returns
    -------
    start_time [s]

    Examples
    --------
    Eight ranks of one node: 5 us and 8 x 0.7 us.

    >>> round(exchange_start_time(5e-6, 0.7e-6, 1.7e-3, 0.0, 8) * 1e6, 6)
    10.6
    """
    return launch_time + (peer_latency + trip_root * ops.sqrt(round_trip_time)) * group_size


@formula(cites=())
def chain_start_time(
    launch_time: Real,
    hop_latency: Real,
    accelerators_per_node: Real,
    round_trip_time: Real,
    trip_fraction: Real,
    nodes: Real,
) -> Real:
    r"""Start of a broadcast: one chain through all ranks.

    .. math:: A = t_0 + \alpha N(g-1) + \phi\,a(N-1)

    Parameters
    ----------
    launch_time : t_0 [s]
    hop_latency : alpha [s], inside a node
    accelerators_per_node : g [1]
    round_trip_time : a [s]
    trip_fraction : phi [1], of a round trip, for one hop between nodes
    nodes : N [1]

    Returns
    -------
    start_time [s]

    Examples
    --------
    Two nodes of two: 5 us, two hops of 1 us inside, one of 0.3 x 9 us between.

    >>> round(chain_start_time(5e-6, 1e-6, 2, 9e-6, 0.3, 2) * 1e6, 6)
    9.7
    """
    between = trip_fraction * round_trip_time * (nodes - 1)
    return launch_time + hop_latency * nodes * (accelerators_per_node - 1) + between


@formula(cites=())
def chunk_latency(start_time: Real, slow_start_time: Real) -> Real:
    r"""Latency of every chunk of a large message: the geometric mean of the start times by two protocols.

    .. math:: L = \sqrt{A_0 A_1}

    Parameters
    ----------
    start_time : A_0 [s], by a low-latency protocol
    slow_start_time : A_1 [s], by the transport's own protocol; A_0 if the transport supports the low-latency
        one

    Returns
    -------
    chunk_latency [s]

    Examples
    --------
    >>> round(chunk_latency(20e-6, 80e-6) * 1e6, 9)
    40.0
    """
    return ops.sqrt(start_time * slow_start_time)
