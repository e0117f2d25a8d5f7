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


@formula(cites="pytorch-data-parallel")
def replica_time(workers: Real, replicated: Real, dispatch_time: Real) -> Real:
    r"""Time one process spends on copying a network out to every replica and launching it there.

    .. math:: T = W\, m\, \tau

    A network of many small layers pays most: the work is in Python, one object after another, and its
    threads share one lock, so neither a faster accelerator nor a larger batch makes it shorter.

    Parameters
    ----------
    workers : W [1], replicas
    replicated : m [1], modules, tensors and launches of one replica
    dispatch_time : tau [s], of each

    Returns
    -------
    launch_overhead_time [s]

    Examples
    --------
    Four replicas of 600 things at 20 us: 48 ms.

    >>> round(replica_time(4, 600, 20e-6), 9)
    0.048
    """
    return workers * replicated * dispatch_time
