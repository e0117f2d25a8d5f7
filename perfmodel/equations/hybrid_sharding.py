"""Replicas that shard states inside groups, with a copy in each group (HSDP, MiCS).

Validity
--------
Groups of equal size; messages long enough that shards of one share of a link's time follow its bandwidth.
"""

from __future__ import annotations

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites=("zhao2023", "zhang2022mics"))
def group_sum_bytes(gradient_bytes: Real, shards: Real) -> Real:
    r"""Bytes of a rank's shard of the gradients, which it sums with its peers of the other groups.

    .. math:: S = \frac{G}{n_s}

    After the reduce-scatter inside a group each rank has one shard, summed over the group.

    Parameters
    ----------
    gradient_bytes : G [B], of a rank before they are scattered
    shards : n_s [1], ranks of a group

    Returns
    -------
    message_bytes [B]

    Examples
    --------
    >>> group_sum_bytes(16e9, 8)
    2000000000.0
    """
    return gradient_bytes / shards


@formula(cites=("zhao2023", "pytorch-fsdp2"))
def grouped_traffic_time(sharded_time: Real, sum_time: Real, sums: Real, apart: Real) -> Real:
    r"""Time of gathers and scatters inside groups together with the sums of their shards.

    .. math:: T = \max(t_s, k\,t_r) + (1 - a)\min(t_s, k\,t_r)

    One after the other; or at once, where software gives the sums a stream of their own and they use other
    links, as groups inside nodes do.

    Parameters
    ----------
    sharded_time : t_s [s], of all gathers and scatters of a step
    sum_time : t_r [s], of an all-reduce of the shards
    sums : k [1], of them in a step
    apart : a [1], 1 where both run at once, else 0

    Returns
    -------
    communication_time [s]

    Examples
    --------
    3 s inside nodes and 2 sums of 1 s between them: 5 s, or 3 s at once.

    >>> grouped_traffic_time(3.0, 1.0, 2, 0), grouped_traffic_time(3.0, 1.0, 2, 1)
    (5.0, 3.0)
    """
    between = sums * sum_time
    return ops.maximum(sharded_time, between) + (1 - apart) * ops.minimum(sharded_time, between)
