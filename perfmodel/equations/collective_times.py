"""Time of a collective by its message's size: a start, a ramp, and bytes on the wire."""

from __future__ import annotations

from perfmodel import ops
from perfmodel.formula import formula
from perfmodel.ops import Real


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
def ramped_time(start_time: Real, wire_time: Real, ramp: Real, bend_time: Real) -> Real:
    r"""Time of a message of which the first chunks pay latency before all channels run full.

    .. math:: T = A + W + r\sqrt{\frac{W}{1 + W/b}}

    A library cuts a message into chunks, as many as balance their latency against their length: the square
    root.  From W of about b on, chunks no longer grow in number and the cost stays at r sqrt(b).  T never
    falls with more bytes.

    Parameters
    ----------
    start_time : A [s], of an empty message
    wire_time : W [s], of its bytes at full rate
    ramp : r [s^0.5]
    bend_time : b [s]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    20 us, 100 us on the wire, and 0.01 sqrt(100 us / 2) = 70.7 us between.

    >>> round(ramped_time(20e-6, 100e-6, 0.01, 100e-6) * 1e6, 1)
    190.7
    """
    return start_time + wire_time + ramp * ops.sqrt(wire_time / (1 + wire_time / bend_time))
