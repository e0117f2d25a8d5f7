"""Data parallelism driven by one process: the model is copied out and gradients are gathered each step."""

from perfmodel.formula import formula
from perfmodel.ops import Real


@formula(cites="pytorch-data-parallel")
def replicate_and_reduce_time(
    workers: Real, message_bytes: Real, hop_latency: Real, link_bandwidth: Real
) -> Real:
    r"""Time to copy the model to every replica and to add all gradients on the first accelerator.

    .. math:: T = 2(W-1)\alpha + \frac{S}{B}\left(\frac{W-1}{W} + (W-1)\right)

    The broadcast is pipelined round the ring; the gradients of W-1 replicas enter the first accelerator's
    port one after another.  Neither overlaps the backward pass.

    Parameters
    ----------
    workers : W [1], replicas, at least 1
    message_bytes : S [B], gradients, as large as the model
    hop_latency : alpha [s]
    link_bandwidth : B [B/s], of the first accelerator's port

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Two replicas, 1 GB at 10 GB/s: half a buffer's time to copy out, a whole one to gather, 0.15 s.

    >>> round(replicate_and_reduce_time(2, 1e9, 0, 10e9), 12)
    0.15
    """
    copy_out = (workers - 1) / workers
    gather = workers - 1
    return 2 * (workers - 1) * hop_latency + (copy_out + gather) * message_bytes / link_bandwidth
