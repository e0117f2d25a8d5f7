"""What links carry of large messages: the share of their rate that is reached, and several together.

Validity
--------
Large messages. What a link reaches is its own measured share where there is one, else that of its
kind; adapters of one node add up where its buses carry them.
"""

from __future__ import annotations

from functools import reduce

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites=())
def achieved_bandwidth(link_bandwidth: Real, achieved_fraction: Real) -> Real:
    r"""What large messages reach of a nominal rate.

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
    r"""Share of a port that a transport reaches which spares the kernel its work: no less than its TCP does.

    .. math:: \phi' = \max\left(\phi, \min\left(\phi_k, \frac{B_k}{B}\right)\right)

    Whoever has both may take the faster.

    Parameters
    ----------
    achieved_fraction : phi [1], of such transports
    kernel_fraction : phi_k [1], of the kernel's TCP
    kernel_bandwidth : B_k [B/s], beyond which the kernel carries no more
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
    r"""What the kernel's TCP carries at most over one adapter by other than the usual connections.

    .. math:: B_k' = B_k\left(\frac{n_c}{n_0}\right)^e

    Each connection keeps a core busy; several share a port, and what they cost grows with them.

    Parameters
    ----------
    kernel_bandwidth : B_k [B/s], by the usual connections
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
def node_bandwidth(
    link_bandwidth: Real, adapters: Real, server_fraction: Real, oversubscription_factor: Real
) -> Real:
    r"""What all adapters of a node carry together.

    .. math:: B' = n_a\,\phi_s\,B / f

    Parameters
    ----------
    link_bandwidth : B [B/s], of one
    adapters : n_a [1]
    server_fraction : phi_s [1], that traffic with parameter servers reaches; 1 for any other
    oversubscription_factor : f [1], by which racks slow it

    Returns
    -------
    link_bandwidth [B/s]

    Examples
    --------
    Four adapters of 10 GB/s, slowed twice by their rack.

    >>> node_bandwidth(10e9, 4, 1, 2)
    20000000000.0
    """
    return adapters * link_bandwidth * server_fraction / oversubscription_factor


@formula(cites=())
def staged_bandwidth(link_bandwidth: Real, staged_fraction: Real) -> Real:
    r"""What is left of a link by way of host memory, where accelerators do not see each other's.

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
    r"""What passes several limits in a row: the least.

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
