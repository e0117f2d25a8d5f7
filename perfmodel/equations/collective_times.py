"""Time of a collective by its message's size: a start, a ramp, and bytes on the wire.

Validity
--------
One collective at a time on links that nothing else uses. Between start and full rate the ramp is an
assumption that measured curves bear out within their scatter.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites=())
def ramp_of(ramp_strength: Real, chunk_latency: Real) -> Real:
    r"""What a ramp costs for each square root of time on the wire.

    .. math:: r = 2 k \sqrt{L}

    Parameters
    ----------
    ramp_strength : k [1]
    chunk_latency : L [s], that every chunk of a message pays again

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
    r"""Strength of a ramp over more than two nodes: a little more for each doubling.

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
    r"""Time of a message of which the first chunks pay latency before all channels run full.

    .. math:: T = A + w S + r\sqrt{\frac{w S}{1 + w S/b}}

    A library cuts a message into chunks, as many as balance their latency against their length: the square
    root.  From w S of about b on, chunks no longer grow in number and the cost stays at r sqrt(b).  T never
    falls with more bytes.

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
