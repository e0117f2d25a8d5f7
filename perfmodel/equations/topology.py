"""Factors by which the links between racks of an oversubscribed fat tree slow a collective.

Ranks of one rack share its uplinks, which carry 1/o of what the rack's ports could send.  The factors are
derived here, by counting the messages that leave a rack.

Validity
--------
A tree of one level of racks that hold as many nodes each; messages that share uplinks evenly.
Adaptive routing is what makes that so.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites=())
def contiguous_ring_factor(oversubscription: Real, ranks_per_rack: Real) -> Real:
    r"""Factor on the bandwidth term of a ring that visits rack by rack.

    .. math:: f = \max\left(1, \frac{o}{r}\right)

    Only one of a rack's r ranks sends to another rack.

    Parameters
    ----------
    oversubscription : o [1], at least 1
    ranks_per_rack : r [1]

    Returns
    -------
    factor [1]

    Examples
    --------
    16 ranks, 4 to 1: one sender has four senders' worth of uplink.

    >>> contiguous_ring_factor(4, 16)
    1
    """
    return ops.maximum(1, oversubscription / ranks_per_rack)


@formula(cites=())
def random_ring_factor(group_size: Real, oversubscription: Real, ranks_per_rack: Real) -> Real:
    r"""Expected factor on the bandwidth term of a ring in random order.

    .. math:: f = \max\left(1, o\frac{n-r}{n-1}\right)

    The next rank is one of the n-1 others, n-r of which are in other racks.

    Parameters
    ----------
    group_size : n [1], at least 2
    oversubscription : o [1], at least 1
    ranks_per_rack : r [1], at most n

    Returns
    -------
    factor [1]

    Examples
    --------
    64 ranks in racks of 16, 4 to 1: 48 of 63 neighbours are elsewhere, 4 * 48 / 63.

    >>> round(random_ring_factor(64, 4, 16), 4)
    3.0476
    """
    return ops.maximum(1, oversubscription * (group_size - ranks_per_rack) / (group_size - 1))


@formula(cites=())
def server_push_factor(nodes: Real, servers: Real, oversubscription: Real, ranks_per_rack: Real) -> Real:
    r"""Factor on the time of a worker's port for a push to parameter servers in all racks, or a pull.

    .. math:: f = \max\left(1, o\left(\frac{N}{r} - 1\right) \max\left(\frac{1}{s}, \frac{r}{N}\right)\right)

    Every node sends each server its shard, wherever that is: not one edge of a ring, but all that is not for
    the sender's own rack leaves it.  Servers are spread evenly over the N/r racks, so a rack holds a share
    max(1/s, r/N) of the model, for which the N - r other nodes send through its downlinks, of r/o ports;
    where racks do not divide the servers that is a mean, and the fullest rack holds more.  With servers in
    all racks it is o (1 - r/N): the share that stays at home is one over the racks.

    Parameters
    ----------
    nodes : N [1], that push, at least r
    servers : s [1]
    oversubscription : o [1], at least 1
    ranks_per_rack : r [1], nodes of a rack

    Returns
    -------
    factor [1]

    Examples
    --------
    16 nodes in four racks of four, 4 to 1.  Eight servers, two in each rack: three quarters of a push leave
    a rack, four times as slowly.  One server: 12 nodes' pushes come through the uplinks of its rack, which
    are worth one port.

    >>> server_push_factor(16, 8, 4, 4), server_push_factor(16, 1, 4, 4)
    (3.0, 12.0)
    """
    fullest = ops.maximum(1 / servers, ranks_per_rack / nodes)
    return ops.maximum(1, oversubscription * (nodes / ranks_per_rack - 1) * fullest)


@formula(cites=())
def server_exchange_factor(nodes: Real, servers: Real, oversubscription: Real, ranks_per_rack: Real) -> Real:
    r"""Factor on the time of a worker's port that pushes to parameter servers and pulls from them at once.

    .. math:: f = \max\left(1, o\left(\left(\frac{N}{r} - 1\right) c + 1 - c\right)\right), \quad
              c = \max\left(\frac{1}{s}, \frac{r}{N}\right)

    A port sends one way and receives the other, so a pull hides behind a push.  Down the links of the
    fullest rack come both: the others' pushes to its servers, and what its own nodes pull from elsewhere.
    As ``server_push_factor`` else.

    Parameters
    ----------
    nodes : N [1], that push, at least r
    servers : s [1]
    oversubscription : o [1], at least 1
    ranks_per_rack : r [1], nodes of a rack

    Returns
    -------
    factor [1]

    Examples
    --------
    16 nodes in four racks of four, 4 to 1.  Eight servers: twice what a push alone takes.  One server: its
    rack pulls nothing from elsewhere.

    >>> server_exchange_factor(16, 8, 4, 4), server_exchange_factor(16, 1, 4, 4)
    (6.0, 12.0)
    """
    fullest = ops.maximum(1 / servers, ranks_per_rack / nodes)
    crossing = (nodes / ranks_per_rack - 1) * fullest + 1 - fullest
    return ops.maximum(1, oversubscription * crossing)
