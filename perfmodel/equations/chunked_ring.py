"""Time of a ring all-reduce with two buffers: one chunk travels while the one before it is added.

Validity
--------
Equal ranks, chunks long enough that bandwidth, not latency, limits the transfer; two buffers a rank, as
in Gloo.
"""

from __future__ import annotations

import math

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.equations.algorithm import algorithm
from perfmodel.equations.lower_bounds import all_reduce_lower_bound
from perfmodel.equations.volumes import all_reduce_bytes_per_rank

MOVED = 3
"""Bytes of memory traffic for each byte added: two read, the sum written."""


@formula(cites=())
def adding_bandwidth(memory_bandwidth: Real) -> Real:
    r"""Rate at which an accelerator adds buffers: for each byte, two are read and one is written.

    .. math:: R = B_m / 3

    Parameters
    ----------
    memory_bandwidth : B_m [B/s]

    Returns
    -------
    reduction_bandwidth [B/s]

    Examples
    --------
    >>> adding_bandwidth(900e9)  # a V100 adds 300 GB/s
    300000000000.0
    """
    return memory_bandwidth / MOVED


@algorithm(
    "ring-chunked", bytes_per_rank=all_reduce_bytes_per_rank, lower_bound=all_reduce_lower_bound, adds=True
)
@formula(cites="gloo")
def chunked_ring_all_reduce_time(
    group_size: Real,
    message_bytes: Real,
    hop_latency: Real,
    link_bandwidth: Real,
    reduction_bandwidth: Real = math.inf,
) -> Real:
    r"""Time of a ring all-reduce with two buffers a rank, so that a chunk is in flight while one is added.

    .. math:: T = 2(n-1)\left(t + \max(t, r)\right), \quad
              t = \alpha + \frac{S}{2nB}, \quad r = \frac{S}{2nR}

    The buffer is cut into 2n chunks, of which m = 2(n-1) are added on each rank.  The first takes t, each
    next the longer of its transfer and the addition before, and then the last is added:
    t + (m-1) max(t, r) + r.  Gathering the sums takes m t, of which min(t, r) has passed when the last chunk
    has been added.  The time S/R (n-1)/n of the additions in a ring without the second buffer is hidden if R
    is at least B; the cost is twice as many starts.

    Parameters
    ----------
    group_size : n [1], at least 1
    message_bytes : S [B]
    hop_latency : alpha [s], not hidden by other traffic of the port
    link_bandwidth : B [B/s]
    reduction_bandwidth : R [B/s], infinite where adding is free

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Two ranks, 800 MB in four chunks of 200 MB.  Sent at 1 GB/s and added at 2 GB/s: four transfers of 0.2 s.
    Added at 0.5 GB/s: 0.2 s for the first chunk, 0.4 s to add it and 0.4 s the other; the sum of the first
    travels meanwhile, that of the other takes 0.2 s more.

    >>> round(chunked_ring_all_reduce_time(2, 800e6, 0, 1e9, 2e9), 12)
    0.8
    >>> round(chunked_ring_all_reduce_time(2, 800e6, 0, 1e9, 0.5e9), 12)
    1.2
    """
    chunk_bytes = message_bytes / (2 * group_size)
    transfer_time = hop_latency + chunk_bytes / link_bandwidth
    adding_time = chunk_bytes / reduction_bandwidth
    return 2 * (group_size - 1) * (transfer_time + ops.maximum(transfer_time, adding_time))
