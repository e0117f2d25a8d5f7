"""Start-up of a job: how long its ranks take to join a communicator.

Validity
--------
NCCL and RCCL, one communicator of all ranks with a free network for its bootstrap.  Ranks that join several
groups take longer.
"""

from __future__ import annotations

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="nccl-bootstrap")
def communicator_time(group_size: Real, communicator_base_time: Real, communicator_rank_time: Real) -> Real:
    r"""Time in which all ranks join a communicator, at the first collective of most frameworks.

    .. math:: T = c_0 + (n - 1)\,c_1

    Each rank loads the library's kernels and reads the machine's topology; addresses and topologies of all
    then travel n - 1 hops along a ring of TCP connections.

    Parameters
    ----------
    group_size : n [1]
    communicator_base_time : c_0 [s]
    communicator_rank_time : c_1 [s], of each further rank

    Returns
    -------
    communicator_time [s]

    Examples
    --------
    32 ranks, 1.45 s and 84 ms a rank: 1.45 + 31 * 0.084.

    >>> round(communicator_time(32, 1.45, 0.084), 3)
    4.054
    """
    return communicator_base_time + (group_size - 1) * communicator_rank_time
