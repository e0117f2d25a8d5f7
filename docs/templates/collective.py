"""An example algorithm: what it does, and who published it.

A page of ``perfmodel/equations/``, named ``..._all_reduce.py``.  The first decorator, and its name in
``Algorithm`` of ``perfmodel/core/choices.py``, open it to every command; a simulation of its messages in
``tests/simulators/`` holds it to what it claims.
"""

from __future__ import annotations

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.equations.algorithm import algorithm
from perfmodel.equations.lower_bounds import all_reduce_lower_bound
from perfmodel.equations.volumes import all_reduce_bytes_per_rank


@algorithm("example", bytes_per_rank=all_reduce_bytes_per_rank, lower_bound=all_reduce_lower_bound)
@formula(cites="patarasuk2009")
def example_all_reduce_time(
    group_size: Real, message_bytes: Real, hop_latency: Real, link_bandwidth: Real
) -> Real:
    r"""Time of an all-reduce by the example algorithm.

    .. math:: T = 2(n-1)\left(\alpha + \frac{S}{n B}\right)

    Parameters
    ----------
    group_size : n [1]
    message_bytes : S [B], the full buffer on one rank
    hop_latency : alpha [s]
    link_bandwidth : B [B/s], one rank, one direction

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Four ranks, 4 GB at 1 GB/s, free hops: six steps of 1 GB.

    >>> example_all_reduce_time(4, 4e9, 0.0, 1e9)
    6.0
    """
    return 2 * (group_size - 1) * (hop_latency + message_bytes / group_size / link_bandwidth)
