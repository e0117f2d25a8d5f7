"""Mean time between updates of distributed SGD, where it has a closed form.

Validity
--------
Long-run averages of independent workers; for one server exact where times are exponential, between
its bounds for others.
"""

from typing import Final

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real

FULL: Final = 1 - 1e-13
"""Utilization of a server from which more workers do not increase the rate of updates."""


@formula(cites="dutta2018")
def k_batch_async_time(workers: Real, gradients_per_update: Real, gradient_time: Real) -> Real:
    r"""Mean time per update of K-batch-async SGD; asynchronous SGD at K = 1.

    .. math:: E[T] = \frac{K \bar{X}}{W}

    No worker ever waits, so W workers make W / E[X] gradients per second, whatever their law (elementary
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
    for n in range(1, int(np.max(ops.plain(workers))) + 1):
        response = service_time * (1 + queue)
        rate = n / (gradient_time + response)
        queue = rate * response
        result = np.where(n <= np.asarray(ops.plain(workers)), rate, result) if np.ndim(result) else rate
        if np.all(rate * service_time > FULL):
            break  # the server is never idle, however many more there are
    return result
