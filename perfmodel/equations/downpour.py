"""Downpour SGD (DistBelief): replicas that fetch and push every few steps, to independent servers."""

from perfmodel.formula import formula
from perfmodel.ops import Real


@formula(cites="dean2012")
def push_load(workers: Real, gradient_bytes: Real, push_period: Real, gradient_time: Real) -> Real:
    r"""Bytes per second that all replicas push to the servers.

    .. math:: \frac{W S}{p \bar{X}}

    Accumulating p steps before a push divides the load by p.

    Parameters
    ----------
    workers : W [1], replicas
    gradient_bytes : S [B]
    push_period : p [1], steps between two pushes
    gradient_time : E[X] [s], one step

    Returns
    -------
    load [B/s], over all servers

    Examples
    --------
    Ten replicas, 100 MB, every fifth step of 0.1 s: 2 GB/s.

    >>> push_load(10, 100e6, 5, 0.1)
    2000000000.0
    """
    return workers * gradient_bytes / (push_period * gradient_time)


@formula(cites="dean2012")
def fetch_load(workers: Real, gradient_bytes: Real, fetch_period: Real, gradient_time: Real) -> Real:
    r"""Bytes per second that all replicas fetch from the servers.

    .. math:: \frac{W S}{f \bar{X}}

    Parameters are as large as gradients; fetching every f-th step divides the load by f.

    Parameters
    ----------
    workers : W [1], replicas
    gradient_bytes : S [B]
    fetch_period : f [1], steps between two fetches
    gradient_time : E[X] [s], one step

    Returns
    -------
    load [B/s], over all servers

    Examples
    --------
    Ten replicas, 100 MB, every step of 0.1 s: 10 GB/s.

    >>> fetch_load(10, 100e6, 1, 0.1)
    10000000000.0
    """
    return workers * gradient_bytes / (fetch_period * gradient_time)


@formula(cites="dean2012")
def extra_parameter_age(fetch_period: Real) -> Real:
    r"""Own steps by which a replica's parameters are older than fetched ones, on average.

    .. math:: \frac{f - 1}{2}

    Between two fetches the age runs through 0, 1, ... f - 1.

    Parameters
    ----------
    fetch_period : f [1]

    Returns
    -------
    age [1], in steps of the replica

    Examples
    --------
    Every fifth step: 0, 1, 2, 3, 4.

    >>> extra_parameter_age(5)
    2.0
    """
    return (fetch_period - 1) / 2


@formula(cites="dean2012")
def async_throughput_kept(workers: Real, lost_workers: Real) -> Real:
    r"""Share of the gradients that asynchronous training keeps while some replicas are gone.

    .. math:: \frac{W - w_l}{W}

    Nobody waits for a lost replica, so only its own share is missing; synchronous training stops until it
    is back or replaced.

    Parameters
    ----------
    workers : W [1]
    lost_workers : w_l [1]

    Returns
    -------
    share [1]

    Examples
    --------
    One of ten.

    >>> async_throughput_kept(10, 1)
    0.9
    """
    return (workers - lost_workers) / workers
