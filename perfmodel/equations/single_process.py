"""Data parallelism with one process, which copies the model to replicas and gathers gradients in each step.

Validity
--------
PyTorch's DataParallel on the accelerators of one machine; Python's work runs in one thread.
"""

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


@formula(cites="pytorch-data-parallel")
def share_bytes(local_batch_size: Real, sample_bytes: Real) -> Real:
    r"""Bytes of one accelerator's share of the batch: of its samples, or of the network's outputs.

    .. math:: S_b = b\,x

    Parameters
    ----------
    local_batch_size : b [samples]
    sample_bytes : x [B], of one sample

    Returns
    -------
    share_bytes [B]

    Examples
    --------
    64 images of 224 x 224 x 3 numbers of 4 B.

    >>> share_bytes(64, 224 * 224 * 3 * 4)
    38535168
    """
    return local_batch_size * sample_bytes


@formula(cites="pytorch-data-parallel")
def first_port_time(
    workers: Real, repeats: Real, share_bytes: Real, hop_latency: Real, link_bandwidth: Real
) -> Real:
    r"""Time in which the shares of all other accelerators pass the port of the first one.

    .. math:: T = k (W-1)\left(\alpha + \frac{S_b}{B}\right)

    Samples are sent from the first accelerator, outputs to it, their gradients back, and the gradients of the
    parameters to it for summation.

    Parameters
    ----------
    workers : W [1], replicas, at least 1
    repeats : k [1], number of times that a share passes: 2 for outputs, whose gradients are sent back
    share_bytes : S_b [B], of one replica
    hop_latency : alpha [s]
    link_bandwidth : B [B/s], of the first accelerator's port

    Returns
    -------
    communication_time [s]

    Examples
    --------
    The gradients of three other replicas, 1 GB each, at 10 GB/s.

    >>> round(first_port_time(4, 1, 1e9, 0, 10e9), 12)
    0.3
    """
    return repeats * (workers - 1) * (hop_latency + share_bytes / link_bandwidth)


@formula(cites="pytorch-data-parallel")
def copy_out_time(workers: Real, message_bytes: Real, hop_latency: Real, link_bandwidth: Real) -> Real:
    r"""Time to copy the parameters from the first accelerator to every replica.

    .. math:: T = (W-1)\alpha + \min(W-1, 1)\,\frac{S}{B}

    The broadcast is pipelined along the ring: the parameters leave the first port once, for any number of
    replicas.

    Parameters
    ----------
    workers : W [1], replicas, at least 1
    message_bytes : S [B], the parameters, as large as their gradients
    hop_latency : alpha [s]
    link_bandwidth : B [B/s], of the first accelerator's port

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Two replicas or eight, 1 GB at 10 GB/s: one buffer's time; one replica needs no copy.

    >>> [copy_out_time(workers, 1e9, 0, 10e9) for workers in (1, 2, 8)]
    [0.0, 0.1, 0.1]
    """
    return (workers - 1) * hop_latency + ops.minimum(workers - 1, 1) * message_bytes / link_bandwidth


@formula(cites="pytorch-data-parallel")
def replica_time(workers: Real, replicated: Real, dispatch_time: Real) -> Real:
    r"""Time of the process to copy a network to every replica, or to launch it on every replica.

    .. math:: T = W\, m\, \tau

    The work is done in Python, one object after another, and its threads share one lock, so that neither a
    faster accelerator nor a larger batch size shortens it.  It is longest for networks of many small layers.

    Parameters
    ----------
    workers : W [1], replicas
    replicated : m [1], modules and tensors of one replica, or its launches
    dispatch_time : tau [s], of each

    Returns
    -------
    time [s]

    Examples
    --------
    Four replicas of 600 modules and tensors at 20 us: 48 ms.

    >>> round(replica_time(4, 600, 20e-6), 9)
    0.048
    """
    return workers * replicated * dispatch_time


@formula(cites="pytorch-data-parallel")
def first_loss_time(workers: Real, time: Real) -> Real:
    r"""Time of the first accelerator for the loss of all other replicas' samples, while they wait.

    .. math:: T = (W-1)\,t_L

    Parameters
    ----------
    workers : W [1], replicas, at least 1
    time : t_L [s], of one replica's samples, forward and backward

    Returns
    -------
    time [s]

    Examples
    --------
    Four replicas whose loss takes 2 ms each: the other three's.

    >>> first_loss_time(4, 2e-3)
    0.006
    """
    return (workers - 1) * time
