"""Time of one message from each rank to another, in the alpha-beta model.

Validity
--------
All ranks send at once, no two through the same port in the same direction.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.equations.algorithm import algorithm
from perfmodel.equations.volumes import whole_buffer_bytes


@algorithm("direct", "send-receive", bytes_per_rank=whole_buffer_bytes)
@formula(cites="thakur2005")
def send_receive_time(group_size: Real, message_bytes: Real, hop_latency: Real, link_bandwidth: Real) -> Real:
    r"""Time in which every rank sends one message to the next and receives one: one hop, for any n.

    .. math:: T = \alpha + \frac{S}{B}, \quad n \ge 2

    Links are full duplex, so that ranks do not wait for one another.

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
    1 GB at 2 GB/s and 0.5 s a hop, from each of eight ranks.

    >>> send_receive_time(8, 1e9, 0.5, 2e9)
    1.0
    """
    return ops.minimum(group_size - 1, 1) * (hop_latency + message_bytes / link_bandwidth)
