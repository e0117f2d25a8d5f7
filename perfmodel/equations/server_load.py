"""Memory and network traffic of a parameter server, and the imbalance of its shards.

Validity
--------
Shards as the frameworks assign them, exact for the list of tensors; loads of one synchronous round.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.core.tracing.tracing import numeric


@numeric
@formula(cites="li2014", symbolic=False)
def shard_imbalance(tensor_bytes: Sequence[float], servers: int) -> float:
    r"""Largest shard over the mean shard if tensors are assigned to the servers in turn.

    .. math:: I = \frac{s}{S}\max_j \sum_{i \equiv j \,(\mathrm{mod}\, s)} m_i

    A tensor is not split, so one large fully connected layer can fill a server.

    Parameters
    ----------
    tensor_bytes : m_i [B], shape (L,), in the order of assignment
    servers : s [1], a whole number

    Returns
    -------
    shard_imbalance [1], at least 1

    Examples
    --------
    Tensors of 1, 1 and 4 bytes on two servers: shards of 5 and 1, the mean is 3.

    >>> round(shard_imbalance([1, 1, 4], 2), 4)
    1.6667
    """
    # servers in excess of the number of tensors have none
    shards = [sum(tensor_bytes[j::servers]) for j in range(min(servers, len(tensor_bytes)))]
    return servers * max(shards) / sum(shards)


@numeric
@formula(cites="abadi2016", symbolic=False)
def greedy_shard_imbalance(tensor_bytes: Sequence[float], servers: int) -> float:
    r"""Largest shard over the mean shard if each tensor is assigned to the server with the fewest bytes.

    .. math:: I = \frac{s}{S}\max_j \sum_{i \in A_j} m_i

    A_j are the tensors of server j: i goes to the first server with the least bytes of the tensors before it.
    A tensor is not split.

    Parameters
    ----------
    tensor_bytes : m_i [B], shape (L,), in the order they are dealt
    servers : s [1], a whole number

    Returns
    -------
    shard_imbalance [1], at least 1

    Examples
    --------
    Tensors of 1, 1 and 4 bytes on two servers: 1 and 1, then 4 to the first: shards of 5 and 1.

    >>> round(greedy_shard_imbalance([1, 1, 4], 2), 4)
    1.6667

    In the order 4, 1, 1 the second server takes both small ones: 4 and 2, the mean is 3.

    >>> round(greedy_shard_imbalance([4, 1, 1], 2), 4)
    1.3333
    """
    shards = [(0.0, j) for j in range(min(servers, len(tensor_bytes)))]
    for size in tensor_bytes:
        least, j = shards[0]
        heapq.heapreplace(shards, (least + size, j))
    return servers * max(shards)[0] / sum(tensor_bytes)


@numeric
@formula(cites="chen2015", symbolic=False)
def split_shard_imbalance(tensor_bytes: Sequence[float], servers: int, largest_whole_bytes: float) -> float:
    r"""Largest shard over the mean shard if large tensors are split and small ones assigned in turn.

    .. math:: I = 1 + \frac{S_w}{S}(I_w - 1), \quad S_w = \sum_{m_i \le w} m_i, \quad
              I_w = \frac{s}{S_w}\max_j \sum_{m_i \le w,\, i \equiv j} m_i

    A tensor of at most w bytes stays whole and goes to the servers in turn.

    Parameters
    ----------
    tensor_bytes : m_i [B], shape (L,), in the order they are dealt
    servers : s [1], a whole number
    largest_whole_bytes : w [B]; a tensor of more is split over all servers

    Returns
    -------
    shard_imbalance [1], at least 1

    Examples
    --------
    Tensors of 1, 1 and 4 bytes on two servers, those over 2 split: 1 + 2 each.

    >>> split_shard_imbalance([1, 1, 4], 2, 2)
    1.0
    """
    whole = [size for size in tensor_bytes if size <= largest_whole_bytes]
    if not whole:
        return 1.0
    return 1 + sum(whole) / sum(tensor_bytes) * (shard_imbalance(whole, servers) - 1)


@formula(cites="li2014")
def server_memory_bytes(
    workers: Real, servers: Real, message_bytes: Real, optimizer_copies: Real = 0, shard_imbalance: Real = 1
) -> Real:
    r"""Memory of the fullest server: model, optimizer state, one gradient buffer for each worker.

    .. math:: M = \frac{I S}{s}(W + 1 + c)

    A server that adds in place as bytes arrive needs one buffer: set the number of workers to 1.

    Parameters
    ----------
    workers : W [1], whose gradients are held at the same time
    servers : s [1]
    message_bytes : S [B], of the whole model
    optimizer_copies : c [1], of the model's size: 0 plain SGD, 1 momentum, 2 Adam
    shard_imbalance : I [1], largest shard over the mean shard

    Returns
    -------
    memory [B]

    Examples
    --------
    Eight workers, two servers, 1 GB: half of (8 buffers + the model).

    >>> server_memory_bytes(8, 2, 1e9)
    4500000000.0
    """
    return shard_imbalance * message_bytes / servers * (workers + 1 + optimizer_copies)


@formula(cites="li2014")
def server_port_bytes(workers: Real, servers: Real, message_bytes: Real, shard_imbalance: Real = 1) -> Real:
    r"""Bytes through the port of the fullest server in one push and pull, both directions together.

    .. math:: V = \frac{2 W I S}{s}

    Parameters
    ----------
    workers : W [1]
    servers : s [1], dedicated
    message_bytes : S [B], gradients of one worker
    shard_imbalance : I [1], largest shard over the mean shard

    Returns
    -------
    bytes through one port [B]

    Examples
    --------
    Eight workers, two servers, 1 byte: eight halves in, eight out.

    >>> server_port_bytes(8, 2, 1)
    8.0
    """
    return 2 * workers * shard_imbalance * message_bytes / servers


@formula(cites="jiang2020")
def colocated_server_port_bytes(workers: Real, servers: Real, message_bytes: Real) -> Real:
    r"""Bytes through the port of a worker that hosts an equal shard, in one push and pull, both directions.

    .. math:: V = \frac{2 (W + s - 2) S}{s}

    The shard is received from W-1 other workers and sent back to them; the worker itself sends the other
    s-1 shards of its own gradients and fetches as many.

    Parameters
    ----------
    workers : W [1]
    servers : s [1], at most W, on as many machines
    message_bytes : S [B], gradients of one worker

    Returns
    -------
    bytes through one port [B]

    Examples
    --------
    Eight workers, each with an eighth of 1 byte: 14 eighths in and 14 out, as in a ring.

    >>> colocated_server_port_bytes(8, 8, 1)
    3.5
    """
    return 2 * (workers + servers - 2) * message_bytes / servers


@formula(cites="li2014")
def parameter_server_total_bytes(workers: Real, message_bytes: Real) -> Real:
    r"""Bytes on the wire in one push and pull through dedicated servers.

    .. math:: V = 2 W S

    As much as a ring of W+1 ranks, of the workers and one server.

    Parameters
    ----------
    workers : W [1]
    message_bytes : S [B], gradients of one worker

    Returns
    -------
    bytes sent by all machines [B]

    Examples
    --------
    Eight workers, 1 byte: eight in, eight out.

    >>> parameter_server_total_bytes(8, 1)
    16
    """
    return 2 * workers * message_bytes


@formula(cites="jiang2020")
def colocated_total_bytes(workers: Real, message_bytes: Real) -> Real:
    r"""Bytes on the wire in one push and pull with servers on the workers' machines.

    .. math:: V = 2 (W-1) S

    Every byte of the model is on one machine, to which the other W-1 send it and from
    which they fetch it: the total of a ring of the W workers.

    Parameters
    ----------
    workers : W [1]
    message_bytes : S [B], gradients of one worker

    Returns
    -------
    bytes sent by all machines [B]

    Examples
    --------
    Eight workers, 1 byte: seven in, seven out.

    >>> colocated_total_bytes(8, 1)
    14
    """
    return 2 * (workers - 1) * message_bytes
