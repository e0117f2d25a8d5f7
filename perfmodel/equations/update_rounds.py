"""Rounds of asynchronous and partly synchronous SGD: the time in which as many gradients count as workers.

Validity
--------
Long runs out of step, in which every worker is as fast as any other; queues in the model of mean
values, exact for exponential times.
"""

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


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
