"""Time of a collective by message size: a start, a ramp, and bytes on the wire.

Validity
--------
One collective at a time on otherwise idle links. The form of the ramp between start and full bandwidth is
an assumption, with which measured curves agree within their scatter.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites=())
def ramp_of(ramp_strength: Real, chunk_latency: Real) -> Real:
    r"""Coefficient of a ramp: its time for each square root of time on the wire.

    .. math:: r = 2 k \sqrt{L}

    Parameters
    ----------
    ramp_strength : k [1]
    chunk_latency : L [s], of every chunk of a message

    Returns
    -------
    ramp [s^0.5]

    Examples
    --------
    >>> round(ramp_of(1.0, 1e-4), 6)  # 2 x 0.01
    0.02
    """
    return 2 * ramp_strength * ops.sqrt(chunk_latency)


@formula(cites=())
def grown_ramp(ramp_strength: Real, ramp_growth: Real, nodes: Real) -> Real:
    r"""Strength of a ramp over many nodes: that of two nodes, increased for each further doubling.

    .. math:: k = k_0\,\rho^{\max(\log_2 N - 1,\,0)}

    Parameters
    ----------
    ramp_strength : k_0 [1], over two nodes
    ramp_growth : rho [1], for each doubling
    nodes : N [1]

    Returns
    -------
    ramp_strength [1]

    Examples
    --------
    >>> round(grown_ramp(1.2, 1.1, 8), 3)  # 1.2 x 1.1 x 1.1
    1.452
    """
    return ramp_strength * ramp_growth ** ops.maximum(ops.log2(nodes) - 1, 0.0)


@formula(cites=())
def ramped_time(
    start_time: Real, wire_byte_time: Real, message_bytes: Real, ramp: Real, bend_time: Real
) -> Real:
    r"""Time of a message whose chunks add latency until all channels run at full bandwidth.

    .. math:: T = A + w S + r\sqrt{\frac{w S}{1 + w S/b}}

    A library cuts a message into as many chunks as balance their latency against their length, which gives
    the square root.  From w S of about b on, the number of chunks no longer grows, and the ramp stays at r
    sqrt(b).  T never decreases with more bytes.

    Parameters
    ----------
    start_time : A [s], of an empty message
    wire_byte_time : w [s/B], of each byte at full rate
    message_bytes : S [B]
    ramp : r [s^0.5]
    bend_time : b [s]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    20 us, 100 us on the wire, and 0.01 sqrt(100 us / 2) = 70.7 us between.

    >>> round(ramped_time(20e-6, 1e-10, 1e6, 0.01, 100e-6) * 1e6, 1)
    190.7
    """
    wire_time = wire_byte_time * message_bytes
    return start_time + wire_time + ramp * ops.sqrt(wire_time / (1 + wire_time / bend_time))
