"""Communication inside the barrier: bounds on a push to one server."""

from __future__ import annotations

from perfmodel import ops
from perfmodel.equations.distribution import Distribution
from perfmodel.equations.order_statistics import order_statistic
from perfmodel.formula import formula
from perfmodel.ops import Real


@formula(cites="baccelli1992")
def server_push_lower_bound(
    fastest_time: Real, slowest_time: Real, workers: Real, service_time: Real
) -> Real:
    r"""Lower bound on the mean end of a synchronous push to one server.

    .. math:: E[T] \ge \max\left( E[X_{(W:W)}] + s,\; E[X_{(1:W)}] + W s \right)

    Either the last push or the whole queue behind the first one is the limit; the upper bound is
    the last arrival and then the whole queue.  For known arrivals see
    ``parameter_server.staggered_push_finish_time``.

    Parameters
    ----------
    fastest_time, slowest_time : E[X_(1:W)], E[X_(W:W)] [s]
    workers : W [1]
    service_time : s [s], the server's time for one push

    Returns
    -------
    time [s]

    Examples
    --------
    Arrivals between 1 s and 3 s, four pushes of 1 s: the queue needs 5 s.

    >>> server_push_lower_bound(1, 3, 4, 1)
    5
    """
    return ops.maximum(slowest_time + service_time, fastest_time + workers * service_time)


def server_push_bounds(distribution: Distribution, workers: int, service_time: float) -> tuple[float, float]:
    """Bounds on the mean end of a synchronous push to one server.

    Parameters
    ----------
    distribution : of the time at which a worker's push arrives
    workers : W
    service_time : the server's time for one push [s]

    Returns
    -------
    low, high [s]

    Examples
    --------
    Sixteen exponential workers, 0.1 s each: H_16 + 0.1, and H_16 + 1.6.

    >>> [round(t, 6) for t in server_push_bounds(Distribution("exponential", (1.0,)), 16, 0.1)]
    [3.480729, 4.980729]
    """
    first = float(order_statistic(distribution, 1, workers)[0])
    last = float(order_statistic(distribution, workers, workers)[0])
    low = float(server_push_lower_bound(first, last, workers, service_time))
    return low, last + workers * service_time
