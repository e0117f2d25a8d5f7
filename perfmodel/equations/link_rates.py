"""Bandwidth that links achieve with large messages: one link, the NICs of a node, and TCP in the kernel.

Validity
--------
Large messages. The achieved share of a link is its own if it was measured, else that of its type; the
bandwidths of a node's NICs add up if its buses carry them.
"""

from __future__ import annotations

from functools import reduce

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites=())
def achieved_bandwidth(link_bandwidth: Real, achieved_fraction: Real) -> Real:
    r"""Bandwidth that large messages achieve on a link.

    .. math:: B' = \phi\,B

    Parameters
    ----------
    link_bandwidth : B [B/s], nominal
    achieved_fraction : phi [1]

    Returns
    -------
    link_bandwidth [B/s]

    Examples
    --------
    NVLink of 450 GB/s by a ring: 0.745 of it.

    >>> achieved_bandwidth(450e9, 0.745)
    335250000000.0
    """
    return link_bandwidth * achieved_fraction


@formula(cites=())
def kernel_spared_fraction(
    achieved_fraction: Real, kernel_fraction: Real, kernel_bandwidth: Real, link_bandwidth: Real
) -> Real:
    r"""Share of a port that a transport without the kernel achieves: at least that of the kernel's TCP.

    .. math:: \phi' = \max\left(\phi, \min\left(\phi_k, \frac{B_k}{B}\right)\right)

    Where both exist, the faster one is used.

    Parameters
    ----------
    achieved_fraction : phi [1], of such transports
    kernel_fraction : phi_k [1], of the kernel's TCP
    kernel_bandwidth : B_k [B/s], the most that the kernel carries
    link_bandwidth : B [B/s], nominal

    Returns
    -------
    achieved_fraction [1]

    Examples
    --------
    TCP reaches 0.93 of a port of 1.25 GB/s, which is less than the 2.6 GB/s that it carries at most.

    >>> kernel_spared_fraction(0.8, 0.93, 2.6e9, 1.25e9)
    0.93
    """
    return ops.maximum(achieved_fraction, ops.minimum(kernel_fraction, kernel_bandwidth / link_bandwidth))


@formula(cites=())
def kernel_ceiling(
    kernel_bandwidth: Real, connections: Real, usual_connections: Real, connections_exponent: Real
) -> Real:
    r"""Largest bandwidth of the kernel's TCP over one NIC, for another number of connections than usual.

    .. math:: B_k' = B_k\left(\frac{n_c}{n_0}\right)^e

    Each connection occupies a core; several connections over one port cost more.

    Parameters
    ----------
    kernel_bandwidth : B_k [B/s], with the usual number of connections
    connections : n_c [1]
    usual_connections : n_0 [1]
    connections_exponent : e [1]

    Returns
    -------
    kernel_bandwidth [B/s]

    Examples
    --------
    Four times as many, with the square root: twice as much.

    >>> kernel_ceiling(2e9, 64, 16, 0.5)
    4000000000.0
    """
    return kernel_bandwidth * (connections / usual_connections) ** connections_exponent


@formula(cites=())
def adapters_ceiling(kernel_bandwidth: Real, adapters: Real, adapters_exponent: Real) -> Real:
    r"""Largest bandwidth of the kernel's TCP over one of several NICs, which share cores and memory.

    .. math:: B_k' = B_k\,n_a^{e_a - 1}

    All together carry :math:`B_k n_a^{e_a}`.

    Parameters
    ----------
    kernel_bandwidth : B_k [B/s], over one NIC alone
    adapters : n_a [1]
    adapters_exponent : e_a [1], 1 where NICs do not disturb each other

    Returns
    -------
    kernel_bandwidth [B/s]

    Examples
    --------
    Four NICs, with the square root: half of 3 GB/s each, 6 GB/s together.

    >>> adapters_ceiling(3e9, 4, 0.5)
    1500000000.0
    """
    return kernel_bandwidth * adapters ** (adapters_exponent - 1)


@formula(cites=())
def useful_connections(connections: Real, usual_connections: Real, cores: Real, adapters: Real) -> Real:
    r"""Connections over one NIC that threads of their own serve: no more than the host has cores for.

    .. math:: n_c' = \min\left(n_c, \max\left(n_0, \frac{c}{n_a}\right)\right)

    The usual number is served by a few threads.

    Parameters
    ----------
    connections : n_c [1]
    usual_connections : n_0 [1]
    cores : c [1]
    adapters : n_a [1]

    Returns
    -------
    connections [1]

    Examples
    --------
    64 connections over each of two NICs on 48 cores: 24 of them count.

    >>> useful_connections(64, 16, 48, 2)
    24.0
    """
    return ops.minimum(connections, ops.maximum(usual_connections, cores / adapters))


@formula(cites=())
def node_bandwidth(
    link_bandwidth: Real, adapters: Real, server_fraction: Real, oversubscription_factor: Real
) -> Real:
    r"""Bandwidth of all NICs of a node together.

    .. math:: B' = n_a\,\phi_s\,B / f

    Parameters
    ----------
    link_bandwidth : B [B/s], of one
    adapters : n_a [1]
    server_fraction : phi_s [1], that traffic with parameter servers achieves; 1 for other traffic
    oversubscription_factor : f [1], slowdown by the network between racks

    Returns
    -------
    link_bandwidth [B/s]

    Examples
    --------
    Four NICs of 10 GB/s, slowed by a factor of two between racks.

    >>> node_bandwidth(10e9, 4, 1, 2)
    20000000000.0
    """
    return adapters * link_bandwidth * server_fraction / oversubscription_factor


@formula(cites=())
def staged_bandwidth(link_bandwidth: Real, staged_fraction: Real) -> Real:
    r"""Bandwidth of a link through host memory, for accelerators without peer-to-peer access.

    .. math:: B' = \phi_h\,B

    Parameters
    ----------
    link_bandwidth : B [B/s]
    staged_fraction : phi_h [1]

    Returns
    -------
    link_bandwidth [B/s]

    Examples
    --------
    >>> staged_bandwidth(12e9, 0.5)  # half of 12 GB/s
    6000000000.0
    """
    return link_bandwidth * staged_fraction


@formula(cites=())
def narrowest_bandwidth(**bandwidths: Real) -> Real:
    r"""Bandwidth under several limits in series: the least of them.

    .. math:: B = \min_i B_i

    Parameters
    ----------
    bandwidths : B_i [B/s], by name

    Returns
    -------
    link_bandwidth [B/s]

    Examples
    --------
    >>> narrowest_bandwidth(link_bandwidth=12, kernel_bandwidth=3)  # GB/s
    3
    """
    return reduce(ops.minimum, bandwidths.values())
