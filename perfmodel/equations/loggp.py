"""Time of collectives in the LogGP model, where it says more than latency plus bytes over bandwidth.

It tells the wire's latency L, during which a processor may do something else, from the overhead o, during
which it may not, and from the gap g that two messages of one processor must keep.
"""

from __future__ import annotations

from perfmodel import ops
from perfmodel.formula import formula
from perfmodel.ops import Real


@formula(cites="alexandrov1995")
def loggp_message_time(
    message_bytes: Real, wire_latency: Real, send_overhead: Real, gap_per_byte: Real
) -> Real:
    r"""Time of one message.

    .. math:: T = L + 2 o + (S - 1) G

    Parameters
    ----------
    message_bytes : S [B], at least 1
    wire_latency : L [s]
    send_overhead : o [s], of the processor, at each end
    gap_per_byte : G [s/B]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    5 bytes: 10 s on the wire, 2 s at each end, four gaps of 1 s.

    >>> loggp_message_time(5, 10, 2, 1)
    18
    """
    return wire_latency + 2 * send_overhead + (message_bytes - 1) * gap_per_byte


@formula(cites="alexandrov1995")
def loggp_ring_all_reduce_time(
    group_size: Real, message_bytes: Real, wire_latency: Real, send_overhead: Real, gap_per_byte: Real
) -> Real:
    r"""Time of a ring all-reduce: each step waits for the message of the step before.

    .. math:: T = 2(n-1)\left(L + 2 o + \left(\frac{S}{n} - 1\right) G\right)

    Hockney's ring with alpha = L + 2o - G and a byte every G.

    Parameters
    ----------
    group_size : n [1], at least 1
    message_bytes : S [B]
    wire_latency : L [s]
    send_overhead : o [s], of the processor, at each end
    gap_per_byte : G [s/B]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Two ranks, 10 bytes: two steps of 10 + 2 * 2 + 4 * 1.

    >>> loggp_ring_all_reduce_time(2, 10, 10, 2, 1)
    36.0
    """
    chunk_bytes = message_bytes / group_size
    step = loggp_message_time(chunk_bytes, wire_latency, send_overhead, gap_per_byte)
    return 2 * (group_size - 1) * step


@formula(cites="alexandrov1995")
def loggp_fan_out_time(
    group_size: Real,
    message_bytes: Real,
    wire_latency: Real,
    send_overhead: Real,
    message_gap: Real,
    gap_per_byte: Real,
) -> Real:
    r"""Time in which one rank sends its buffer to each of the others, one after another.

    .. math:: T = L + 2 o + (S-1) G + (n-2)\left(\max(o, g) + (S-1) G\right), \quad n \ge 2

    Here the models differ: the next message leaves while the last is still on
    its way, so L is paid once, where Hockney pays alpha for each.

    Parameters
    ----------
    group_size : n [1]; one rank costs nothing
    message_bytes : S [B], at least 1
    wire_latency : L [s]
    send_overhead : o [s], of the processor, at each end
    message_gap : g [s], between the starts of two short messages
    gap_per_byte : G [s/B]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Three ranks, 5 bytes: the second message starts 3 + 4 s after the first, which takes 18 s.

    >>> loggp_fan_out_time(3, 5, 10, 2, 3, 1)
    25
    """
    spacing = ops.maximum(send_overhead, message_gap) + (message_bytes - 1) * gap_per_byte
    one = loggp_message_time(message_bytes, wire_latency, send_overhead, gap_per_byte)
    return ops.minimum(group_size - 1, 1) * (one + (group_size - 2) * spacing)
