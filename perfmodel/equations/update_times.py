"""Mean time between updates of distributed SGD, where it has a closed form."""

from typing import Final

from perfmodel import ops
from perfmodel.equations.special import harmonic_difference
from perfmodel.formula import formula
from perfmodel.ops import Real

FULL: Final = 1 - 1e-13
"""Share of the time a server is busy from which more workers change nothing."""


@formula(cites=("dutta2018", "chen2016"))
def k_sync_exponential_time(workers: Real, gradients_per_update: Real, rate: Real) -> Real:
    r"""Mean time per update of K-sync SGD with exponential times.

    .. math:: E[T] = \frac{H_W - H_{W-K}}{\mu} = \frac{1}{\mu} \sum_{i=W-K+1}^{W} \frac{1}{i}

    K = W is fully synchronous SGD, H_W / mu.  K-async SGD takes as long: what a late worker has left is as
    long as a fresh gradient.

    Parameters
    ----------
    workers : W [1]
    gradients_per_update : K [1], in 1..W; the others are cancelled
    rate : mu [1/s]

    Returns
    -------
    time [s]

    Examples
    --------
    Half of eight workers: 1/8 + 1/7 + 1/6 + 1/5.

    >>> round(k_sync_exponential_time(8, 4, 1), 9)
    0.63452381
    """
    return harmonic_difference(workers, gradients_per_update) / rate


@formula(cites="dutta2018")
def k_batch_async_time(workers: Real, gradients_per_update: Real, gradient_time: Real) -> Real:
    r"""Mean time per update of K-batch-async SGD; asynchronous SGD at K = 1.

    .. math:: E[T] = \frac{K \bar{X}}{W}

    Nobody ever waits, so W workers make W / E[X] gradients per second, whatever their law (elementary
    renewal theorem, long-run average).

    Parameters
    ----------
    workers : W [1]
    gradients_per_update : K [1]
    gradient_time : E[X] [s], with push and pull

    Returns
    -------
    time [s]

    Examples
    --------
    Eight workers, 2 s per gradient, four gradients per update: half of a round.

    >>> k_batch_async_time(8, 4, 2)
    1.0
    """
    return gradients_per_update * gradient_time / workers


@formula(cites="dutta2018")
def sync_over_async_exponential(workers: Real) -> Real:
    r"""Time per update of synchronous over asynchronous SGD, exponential times.

    .. math:: \frac{E[T_{sync}]}{E[T_{async}]} = W H_W

    Per update; a synchronous update uses W gradients, so per gradient, and per epoch, the ratio is H_W.
    W ln W is 20 % too low at 20 workers.

    Parameters
    ----------
    workers : W [1]

    Returns
    -------
    ratio [1]

    Examples
    --------
    Two workers: 2 x (1 + 1/2).

    >>> round(sync_over_async_exponential(2), 12)
    3.0
    """
    return workers * harmonic_difference(workers, workers)


@formula(cites="wang2019")
def local_sgd_constant_speedup(communication_ratio: Real, local_steps: Real) -> Real:
    r"""Speed-up of local SGD over synchronous SGD where every step takes the same time.

    .. math:: S = \frac{1 + a}{1 + a/\tau}

    Communication of a step-times is paid once in tau steps.

    Parameters
    ----------
    communication_ratio : a [1], communication time over the time of one step
    local_steps : tau [1], steps between two averages

    Returns
    -------
    speedup [1]

    Examples
    --------
    As much communication as computation, averaged every tenth step: 2 / 1.1.

    >>> round(local_sgd_constant_speedup(1, 10), 6)
    1.818182
    """
    return (1 + communication_ratio) / (1 + communication_ratio / local_steps)


@formula(cites="reiser1980", symbolic=False)
def server_update_rate(workers: Real, gradient_time: Real, service_time: Real) -> Real:
    r"""Gradients per second that asynchronous workers get through one parameter server.

    .. math:: R_n = s\,(1 + Q_{n-1}), \quad X_n = \frac{n}{\bar{X} + R_n}, \quad Q_n = X_n R_n,
        \quad Q_0 = 0, \quad n = 1 \dots W

    Mean value analysis of a closed queue: a push finds what the other workers leave there.  Exact where both
    times are exponential; never above min(W / (E[X] + s), 1 / s).

    Parameters
    ----------
    workers : W [1], a whole number, or an array of them
    gradient_time : E[X] [s], away from the server; number or array
    service_time : s [s], of one push and pull at the server; number or array

    Returns
    -------
    update_rate [1/s]

    Examples
    --------
    One worker never queues: one gradient every 1.5 s.

    >>> round(server_update_rate(1, 1, 0.5), 12) == round(1 / 1.5, 12)
    True
    """
    import numpy as np

    queue = 0.0 * (gradient_time + service_time + workers)
    result = queue
    for n in range(1, int(np.max(workers)) + 1):
        response = service_time * (1 + queue)
        rate = n / (gradient_time + response)
        queue = rate * response
        result = np.where(n <= np.asarray(workers), rate, result) if np.ndim(result) else rate
        if np.all(rate * service_time > FULL):
            break  # the server is never idle, however many more there are
    return result


@formula(cites=())
def round_time(workers: Real, update_rate: Real, local_steps: Real) -> Real:
    r"""Time in which as many gradients as there are workers come about.

    .. math:: T = \frac{W}{\tau X}

    Parameters
    ----------
    workers : W [1]
    update_rate : X [1/s], visits of workers to a server
    local_steps : tau [1], gradients of a worker between two of its visits

    Returns
    -------
    iteration_time [s]

    Examples
    --------
    Eight workers, of which four a second bring the gradients of two steps: 8 / 8.

    >>> round_time(8, 4, 2)
    1.0
    """
    return workers / (local_steps * update_rate)


@formula(cites=())
def time_away(
    compute_time: Real, round_factor: Real, local_steps: Real, visit_time: Real, service_time: Real
) -> Real:
    r"""Time between two visits of a worker to a server, nobody else being there.

    .. math:: \bar{X} = \max(0,\; \tau T_c \phi + t_v - s)

    Parameters
    ----------
    compute_time : T_c [s], mean of one gradient
    round_factor : phi [1], with what a worker idles until an update ends, over it
    local_steps : tau [1], gradients between two visits
    visit_time : t_v [s], of a push and a pull alone, as far as they are not hidden
    service_time : s [s], of which the port that all share is busy

    Returns
    -------
    gradient_time [s]

    Examples
    --------
    Ten steps of 100 ms and a visit of 50 ms, of which 20 ms at the shared port.

    >>> round(time_away(0.1, 1, 10, 0.05, 0.02), 9)
    1.03
    """
    return ops.maximum(0, local_steps * compute_time * round_factor + visit_time - service_time)


@formula(cites=())
def shared_port_time(
    gradient_bytes: Real,
    nodes: Real,
    worker_bandwidth: Real,
    servers: Real,
    server_bandwidth: Real,
    shard_imbalance: Real,
) -> Real:
    r"""Time for which the gradients of one worker keep what all share busy: servers' ports, or nodes'.

    .. math:: T = S \max\left(\frac{1}{N B_w}, \frac{I}{s B_s}\right)

    Pushes and pulls of workers out of step go both ways at once, so each direction counts once.

    Parameters
    ----------
    gradient_bytes : S [B], all gradients of one worker
    nodes : N [1], on which the workers lie
    worker_bandwidth : B_w [B/s], of all adapters of one node
    servers : s [1]
    server_bandwidth : B_s [B/s], of a server's port
    shard_imbalance : I [1], largest shard over the mean shard

    Returns
    -------
    service_time [s]

    Examples
    --------
    1 GB from four nodes of 1 GB/s to two servers of 1 GB/s: the servers need 0.5 s.

    >>> shared_port_time(1e9, 4, 1e9, 2, 1e9, 1)
    0.5
    """
    return gradient_bytes * ops.maximum(
        1 / (nodes * worker_bandwidth), shard_imbalance / (servers * server_bandwidth)
    )


@formula(cites=())
def queued_time(iteration_time: Real, compute_time: Real, round_factor: Real) -> Real:
    r"""What visits to a server, and the queue there, add to a round of gradients.

    .. math:: t_x = T - T_c\,\phi

    Parameters
    ----------
    iteration_time : T [s], of a round
    compute_time : T_c [s], mean of one gradient
    round_factor : phi [1], with what a worker idles until an update ends, over it

    Returns
    -------
    exposed_communication_time [s]

    Examples
    --------
    A round takes 150 ms, of which 100 ms computing.

    >>> round(queued_time(0.15, 0.1, 1), 9)
    0.05
    """
    return iteration_time - compute_time * round_factor


@formula(cites="dutta2018")
def repeated_time(workers: Real, gradients_per_update: Real, time: Real) -> Real:
    r"""What takes so long in every update, in the time that as many gradients as workers take.

    .. math:: T = \frac{W}{K} t

    Parameters
    ----------
    workers : W [1]
    gradients_per_update : K [1]
    time : t [s], once an update

    Returns
    -------
    time [s]

    Examples
    --------
    Updates of six of eight workers' gradients, 30 ms each.

    >>> round(repeated_time(8, 6, 30), 9)
    40.0
    """
    return workers / gradients_per_update * time


@formula(cites=("dutta2018", "chen2016"))
def discarded_time(repeated_time: Real, counted_time: Real, wait: Real, queued_wait: Real) -> Real:
    r"""What waiting for the K-th gradient, and gradients that come to nothing, add to a round.

    .. math:: T = t_r - t_k + \min(w, w_q)

    Parameters
    ----------
    repeated_time : t_r [s], mean computation of the updates of a round
    counted_time : t_k [s], of the gradients that count
    wait : w [s], for the K-th gradient beyond the mean; negative where it comes before
    queued_wait : w_q [s], what pushes of the others leave of it

    Returns
    -------
    straggler_time [s]

    Examples
    --------
    Four thirds of an update of 90 ms, and 10 ms of waiting of which 4 hide pushes.

    >>> discarded_time(120, 90, 10, 6)
    36
    """
    return repeated_time - counted_time + ops.minimum(wait, queued_wait)


@formula(cites="dutta2018")
def cut_short_time(time: Real, round_factor: Real) -> Real:
    r"""Mean time of the gradients that count, where an update ends the slow ones early.

    .. math:: T = t \min(1, \phi)

    Parameters
    ----------
    time : t [s], mean of all gradients
    round_factor : phi [1], mean time of a round over it

    Returns
    -------
    time [s]

    Examples
    --------
    A round of 80 % of a mean gradient.

    >>> cut_short_time(100, 0.8)
    80.0
    """
    return time * ops.minimum(1, round_factor)


@formula(cites="wang2019")
def averaged_time(communication_time: Real, local_steps: Real) -> Real:
    r"""What an average every tau steps adds to each of them.

    .. math:: t_x = \frac{t_c}{\tau}

    Parameters
    ----------
    communication_time : t_c [s], of one average
    local_steps : tau [1]

    Returns
    -------
    exposed_communication_time [s]

    Examples
    --------
    >>> averaged_time(50, 10)
    5.0
    """
    return communication_time / local_steps


@formula(cites="dutta2018")
def updates_per_second(workers: Real, gradients_per_update: Real, iteration_time: Real) -> Real:
    r"""Updates of the shared parameters in a second.

    .. math:: X = \frac{W}{K T}

    Parameters
    ----------
    workers : W [1]
    gradients_per_update : K [1]
    iteration_time : T [s], in which as many gradients come about as there are workers

    Returns
    -------
    update_rate [1/s]

    Examples
    --------
    Eight gradients in half a second, two to an update.

    >>> updates_per_second(8, 2, 0.5)
    8.0
    """
    return workers / (gradients_per_update * iteration_time)
