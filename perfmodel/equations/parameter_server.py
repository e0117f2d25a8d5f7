"""Time of an exchange with parameter servers: workers push gradients and pull the updated model.

Connections to all servers are open at the same time, so that latency counts once in each direction, not once
for every message.

Validity
--------
Synchronous rounds; full-duplex ports; servers that add as fast as bytes arrive. Workers send at the same
time: the loss by incast is a separate factor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real

if TYPE_CHECKING:
    pass


@formula(cites="li2014")
def parameter_server_push_time(
    workers: Real,
    servers: Real,
    message_bytes: Real,
    worker_bandwidth: Real,
    server_bandwidth: Real,
    shard_imbalance: Real = 1,
    incast_efficiency: Real = 1,
) -> Real:
    r"""Time in which all workers send their gradients to dedicated servers, without latency.

    .. math:: T = S \max\left(\frac{1}{B_w}, \frac{W I}{s \eta B_s}\right)

    The limit is either a worker's port, with its whole buffer, or the fullest
    server's port, with a shard from every worker.  A pull takes the same time in
    the other direction, without incast.

    Parameters
    ----------
    workers : W [1]
    servers : s [1], dedicated: they compute no gradients
    message_bytes : S [B], gradients of one worker
    worker_bandwidth : B_w [B/s], of a worker's port
    server_bandwidth : B_s [B/s], of a server's port
    shard_imbalance : I [1], largest shard over the mean shard
    incast_efficiency : eta [1], share of a server's port that many simultaneous senders achieve

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Eight workers, two servers, 1 GB at 1 GB/s: each server receives eight
    shards of 0.5 GB.

    >>> parameter_server_push_time(8, 2, 1e9, 1e9, 1e9)
    4.0
    """
    fullest_server = workers * shard_imbalance / (servers * incast_efficiency * server_bandwidth)
    return message_bytes * ops.maximum(1 / worker_bandwidth, fullest_server)


@formula(cites="li2014")
def parameter_server_time(
    workers: Real,
    servers: Real,
    message_bytes: Real,
    hop_latency: Real,
    worker_bandwidth: Real,
    server_bandwidth: Real,
    shard_imbalance: Real = 1,
    incast_efficiency: Real = 1,
    pipeline_blocks: Real = 1,
) -> Real:
    r"""Time of one synchronous push and pull through dedicated servers.

    .. math:: T = 2\alpha + \frac{1}{k}\left(T_{push} + T_{pull} + (k-1)\max(T_{push}, T_{pull})\right),
              \quad T_{push} = \max\left(\frac{S}{B_w}, \frac{W I S}{s \eta B_s}\right),
              \quad T_{pull} = \max\left(\frac{S}{B_w}, \frac{W I S}{s B_s}\right)

    With one block no pull starts before the last push has ended: a barrier.
    With k blocks over full-duplex ports the pull of a block hides behind the
    push of the next; ``pipelined_parameter_server_time`` is the limit.

    Parameters
    ----------
    workers : W [1]
    servers : s [1], dedicated: they compute no gradients
    message_bytes : S [B], gradients of one worker
    hop_latency : alpha [s], paid once each way
    worker_bandwidth : B_w [B/s], of a worker's port, each direction
    server_bandwidth : B_s [B/s], of a server's port, each direction
    shard_imbalance : I [1], largest shard over the mean shard
    incast_efficiency : eta [1], what many senders at once leave of a server's port
    pipeline_blocks : k [1], equal blocks; 1 is a barrier between push and pull

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Eight workers, one server, 1 GB at 10 GB/s: 8 GB in, then 8 GB out.

    >>> parameter_server_time(8, 1, 1e9, 0, 10e9, 10e9)
    1.6
    """
    ports = worker_bandwidth, server_bandwidth, shard_imbalance
    # for one byte: both are proportional to the message
    push = parameter_server_push_time(workers, servers, 1, *ports, incast_efficiency)
    pull = parameter_server_push_time(workers, servers, 1, *ports)
    hidden = (pipeline_blocks - 1) * ops.maximum(push, pull)
    return 2 * hop_latency + message_bytes * ((push + pull + hidden) / pipeline_blocks)


@formula(cites="jiang2020")
def pipelined_parameter_server_time(
    workers: Real,
    servers: Real,
    message_bytes: Real,
    hop_latency: Real,
    worker_bandwidth: Real,
    server_bandwidth: Real,
    shard_imbalance: Real = 1,
    incast_efficiency: Real = 1,
) -> Real:
    r"""Time of one push and pull through dedicated servers, in arbitrarily small blocks.

    .. math:: T = 2\alpha + \max\left(\frac{S}{B_w}, \frac{W I S}{s \eta B_s}\right)

    The limit of ``parameter_server_time`` for many blocks: ports carry both
    directions at once, and the push hides the whole pull.

    Parameters
    ----------
    workers : W [1]
    servers : s [1], dedicated: they compute no gradients
    message_bytes : S [B], gradients of one worker
    hop_latency : alpha [s], paid once each way
    worker_bandwidth : B_w [B/s], of a worker's port, each direction
    server_bandwidth : B_s [B/s], of a server's port, each direction
    shard_imbalance : I [1], largest shard over the mean shard
    incast_efficiency : eta [1], at most 1, what many senders at once leave of a server's port

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Eight workers, one server, 1 GB at 10 GB/s: 8 GB in, and out at the same time.

    >>> pipelined_parameter_server_time(8, 1, 1e9, 0, 10e9, 10e9)
    0.8
    """
    return 2 * hop_latency + parameter_server_push_time(
        workers,
        servers,
        message_bytes,
        worker_bandwidth,
        server_bandwidth,
        shard_imbalance,
        incast_efficiency,
    )


@formula(cites="jiang2020")
def colocated_parameter_server_time(
    workers: Real,
    servers: Real,
    message_bytes: Real,
    hop_latency: Real,
    link_bandwidth: Real,
    shard_imbalance: Real = 1,
    incast_efficiency: Real = 1,
) -> Real:
    r"""Time of one push and pull with servers on the workers' machines.

    .. math:: T = 2\alpha + \frac{(W-1) I S}{s B}\left(\frac{1}{\eta} + 1\right)

    A machine with a server takes a shard from each of the W-1 others.  With
    one server on each worker and equal shards every port moves what it moves
    in a ring, 2(W-1)/W S.

    Parameters
    ----------
    workers : W [1]
    servers : s [1], at most W, on as many machines
    message_bytes : S [B], gradients of one worker
    hop_latency : alpha [s], paid once each way
    link_bandwidth : B [B/s], of every machine's port, each direction
    shard_imbalance : I [1], largest shard over the mean shard
    incast_efficiency : eta [1], what many senders at once leave of a server's port

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Eight machines, 1 GB at 1 GB/s: 7/8 GB in and 7/8 GB out.

    >>> colocated_parameter_server_time(8, 8, 1e9, 0, 1e9)
    1.75
    """
    shard_bytes = shard_imbalance * message_bytes / servers
    push = (workers - 1) * shard_bytes / link_bandwidth
    return 2 * hop_latency + push / incast_efficiency + push


@formula(cites="jiang2020")
def extra_server_time(
    workers: Real, servers: Real, message_bytes: Real, hop_latency: Real, link_bandwidth: Real
) -> Real:
    r"""Time of push and pull with a shard on every worker and larger ones on extra machines (BytePS).

    .. math:: T = 2\alpha + \frac{2W(W-1)}{W^2 + k(W-2)}\frac{S}{B}, \quad k = \min(s, W)

    The shards are split so that all ports are busy equally long; push and
    pull overlap.  No extra server gives the ring's time, one for each worker
    halves it, and more do not help: a worker has to send its S bytes.

    Parameters
    ----------
    workers : W [1], machines with accelerators
    servers : s [1], extra machines without; may be 0
    message_bytes : S [B], gradients of one worker
    hop_latency : alpha [s], paid once each way
    link_bandwidth : B [B/s], of every machine's port, each direction

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Four machines and two extra, 1 GB at 1 GB/s: 2 * 4 * 3 / (16 + 2 * 2) = 1.2.

    >>> extra_server_time(4, 2, 1e9, 0, 1e9)
    1.2
    """
    extra = ops.minimum(servers, workers)
    # the maximum with 1 only avoids 0/0 for a single worker, which sends nothing
    ports = ops.maximum(workers**2 + extra * (workers - 2), 1)
    return 2 * hop_latency + 2 * workers * (workers - 1) / ports * message_bytes / link_bandwidth
