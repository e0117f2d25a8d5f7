"""Downpour SGD (DistBelief): replicas that fetch parameters and push gradients every few steps.

Validity
--------
Replicas with equal mean step times, servers that hold equal shares, steps longer than their pushes and
fetches. Counts are means over long runs.
"""

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real


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
    r"""Mean age of a replica's parameters, in its own steps since the last fetch.

    .. math:: \frac{f - 1}{2}

    Between two fetches the age takes the values 0, 1, ... f - 1.

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
def downpour_staleness(workers: Real, push_period: Real, fetch_period: Real) -> Real:
    r"""Mean number of other replicas' updates between fetching parameters and applying their gradient.

    .. math:: \tau = \frac{(W-1)(p+f)}{2 p}

    On average, a gradient is computed (f-1)/2 own steps after its parameters were fetched, takes one step,
    and waits (p-1)/2 steps for its push; in each of these (p+f)/2 steps the other replicas make (W-1)/p
    updates.  Fetching and pushing in every step gives W - 1, as for asynchronous SGD.

    Parameters
    ----------
    workers : W [1], replicas
    push_period : p [1], steps between two pushes
    fetch_period : f [1], steps between two fetches

    Returns
    -------
    mean_staleness [1]

    Examples
    --------
    Nine others, parameters of the last fetch used for three steps, a push each step: 9 x 4 / 2.

    >>> downpour_staleness(10, 1, 3)
    18.0
    """
    return (workers - 1) * (push_period + fetch_period) / (2 * push_period)


@formula(cites="dean2012")
def downpour_step_rate(
    workers: Real,
    gradient_time: Real,
    gradient_bytes: Real,
    push_period: Real,
    fetch_period: Real,
    servers: Real,
    link_bandwidth: Real,
) -> Real:
    r"""Steps per second of all replicas, which push and fetch while they compute.

    .. math:: X = \min\left( \frac{W}{\bar{X}},\; \frac{\min(W, s) B}{S} \min(p, f) \right)

    Separate threads push and fetch, so that a step does not wait as long as the ports keep up.  Pushes and
    fetches pass a port in opposite directions, and the model is partitioned evenly over the servers.

    Parameters
    ----------
    workers : W [1], replicas
    gradient_time : E[X] [s], one step
    gradient_bytes : S [B]
    push_period : p [1], steps between two pushes
    fetch_period : f [1], steps between two fetches
    servers : s [1]
    link_bandwidth : B [B/s], of each port, each direction

    Returns
    -------
    rate [1/s]

    Examples
    --------
    Ten replicas of 0.1 s would make 100 steps a second; two servers of 1 GB/s take 20 pushes of 100 MB.

    >>> downpour_step_rate(10, 0.1, 100e6, 1, 1, 2, 1e9)
    20.0
    """
    ports = ops.minimum(workers, servers) * link_bandwidth / gradient_bytes
    return ops.minimum(workers / gradient_time, ports * ops.minimum(push_period, fetch_period))


@formula(cites="dean2012")
def async_throughput_kept(workers: Real, lost_workers: Real) -> Real:
    r"""Share of the throughput that asynchronous training keeps while some replicas have failed.

    .. math:: \frac{W - w_l}{W}

    No replica waits for a failed one, so that only its own share is missing; synchronous training stops until
    it is restored or replaced.

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
