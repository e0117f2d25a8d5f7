"""Communication inside the barrier: what straggling it hides, and what it adds to."""

from __future__ import annotations

import math

from perfmodel import ops
from perfmodel.equations.distribution import Distribution
from perfmodel.equations.heterogeneous import order_panels
from perfmodel.equations.order_statistics import order_statistic
from perfmodel.equations.quadrature import Array, Panels
from perfmodel.formula import formula
from perfmodel.ops import Real


@formula(cites="dutta2018")
def ring_finish_time(slowest_time: Real, communication_time: Real) -> Real:
    r"""End of a ring all-reduce whose ranks arrive at different times.

    .. math:: T = X_{(W:W)} + t_c

    Every block passes every rank, so the ring cannot end before the last rank has gone all the way round:
    it hides no straggling, whatever the order of arrival.

    Parameters
    ----------
    slowest_time : X_(W:W) [s], when the last rank is ready
    communication_time : t_c [s], of the all-reduce among ranks that start together

    Returns
    -------
    time [s]

    Examples
    --------
    The last rank comes after 3 s, the ring takes half a second.

    >>> ring_finish_time(3, 0.5)
    3.5
    """
    return slowest_time + communication_time


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


def shared_slowness_time(
    shared_time: float, distribution: Distribution, order: float, workers: float
) -> float:
    """Mean time of the k-th of n workers whose times share a part: E[C] + E[Y_(k:n)] for X_i = C + Y_i.

    Slowness that all suffer together (a busy switch, a slow file server) makes no stragglers; treating it as
    independent overstates them.

    Parameters
    ----------
    shared_time : E[C], the mean of what all share [s]
    distribution : of Y, a worker's own part
    order, workers : k and n

    Returns
    -------
    time [s]

    Examples
    --------
    2 s for everybody and up to 1 s each: the last of three needs 3/4 of it.

    >>> shared_slowness_time(2, Distribution("uniform", (0.0, 1.0)), 3, 3)
    2.75
    """
    return shared_time + float(order_statistic(distribution, order, workers)[0])


def sum_cdf(first: Distribution, second: Distribution, t: Array) -> Array:
    """P(X + D <= t) for independent X and D, of the shape of t.

    Exact where one is discrete; else the double exponential rule over D's probability between the points
    at which X's own distribution function starts and ends.
    """
    import numpy as np

    t = np.asarray(t, dtype=np.float64)
    if first.atoms:
        return np.sum([mass * second.cdf(t - value) for value, mass in first.atoms], axis=0)
    if second.atoms:
        return sum_cdf(second, first, t)
    # u runs over D's probabilities for which X is neither surely done nor surely not begun
    from_u = second.cdf(t - first.upper) if math.isfinite(first.upper) else np.zeros(t.shape)
    to_u, beyond = (
        (second.cdf(t - first.lower), second.survival(t - first.lower))
        if math.isfinite(first.lower)
        else (np.ones(t.shape), np.zeros(t.shape))
    )
    share, rest, weight = _double_exponential()
    width = (to_u - from_u)[..., None]
    u, above = from_u[..., None] + width * share, beyond[..., None] + width * rest
    with np.errstate(divide="ignore"):
        z = np.log(u) - np.log(above)
    inside = np.isfinite(z) & (width > 0)
    delay = second.at_logit(np.where(inside, z, 0.0))
    value = np.where(inside, first.cdf(t[..., None] - delay), 0.0)
    return np.clip(from_u + (value * weight * width).sum(axis=-1), 0.0, 1.0)


def _double_exponential() -> tuple[Array, Array, Array]:
    """Nodes, their distance to 1, and weights of the tanh-sinh rule on [0, 1]."""
    import numpy as np

    step = 1 / 8
    y = np.arange(-32, 33) * step
    grow = math.pi * np.sinh(y)
    share, rest = 1 / (1 + np.exp(-grow)), 1 / (1 + np.exp(grow))
    return share, rest, step * math.pi * np.cosh(y) * share * rest


def barrier_with_delays(
    distribution: Distribution, delay: Distribution, workers: int
) -> tuple[float, float, float]:
    """Mean time until the last of n workers has both computed and sent, each sending as soon as it is done.

    The last of the sums, not the sum of the lasts: E[max X] + E[D] <= E[max(X + D)] <= E[max X] + E[max D].

    Parameters
    ----------
    distribution : of a worker's computation X
    delay : of its own communication D, independent of X
    workers : n

    Returns
    -------
    mean, lower bound, upper bound [s]; the mean is a quadrature with a relative error of about 1e-9 for
    smooth laws

    Examples
    --------
    One worker: the two means add up.

    >>> one, quarter = Distribution("exponential", (1.0,)), Distribution("exponential", (4.0,))
    >>> [round(t, 9) for t in barrier_with_delays(one, quarter, 1)]
    [1.25, 1.25, 1.25]
    """
    import numpy as np

    longest = float(order_statistic(distribution, workers, workers)[0])
    low = longest + delay.mean
    high = longest + float(order_statistic(delay, workers, workers)[0])
    edges: list[float] = []
    for law in (distribution, delay):
        edges.extend(order_panels([(law, workers)], workers).edges.tolist())
        edges.extend(order_panels([(law, 1)], 1).edges.tolist())
    own, other = distribution.kinks, delay.kinks
    start = own[0] + other[0] if own and other else 2 * min(edges)
    sums = [a + b for a in own for b in other]
    grid = [edge + base for edge in edges for base in (own[0] if own else 0.0, other[0] if other else 0.0)]
    panels = Panels([start, *(edge for edge in (*grid, *edges, *sums, 2 * max(edges)) if edge > start)])
    with np.errstate(divide="ignore"):
        log_done = np.log(sum_cdf(distribution, delay, panels.nodes))
    mean = panels.start + panels.integral(-np.expm1(workers * log_done))
    return min(max(mean, low), high), low, high
