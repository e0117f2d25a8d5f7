"""Mean wait of a synchronous iteration for its slowest worker: the straggler term of a prediction.

Validity
--------
Independent workers with the same distribution of iteration times, which has a mean; an all-reduce hides
none of the wait, because no rank can end before the last has begun.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from perfmodel.core import ops
from perfmodel.core.formula import formula
from perfmodel.core.ops import Real
from perfmodel.core.tracing.tracing import numeric, remembered
from perfmodel.equations.distribution import Distribution
from perfmodel.equations.quadrature import Array, beta_rule
from perfmodel.equations.special import normal_at_logit

_WIDEST_LOG_STD = 2.0
"""Largest standard deviation of the logarithm for which the shared rule is precise: a coefficient of
variation of 7."""
_MOST_KEPT = 2**17
"""Number of cached factors, some 30 MB: a sweep needs those of all its world sizes repeatedly."""


@lru_cache(maxsize=4096)
def _normal_maximum(world_size: float) -> tuple[Array, Array]:
    """Return nodes and weights for the mean of a function of the largest of n standard normal variables.

    They depend on n alone, so that one set serves normal and lognormal laws of any deviation.
    """
    import numpy as np

    def log_size(z: float) -> float:
        return _WIDEST_LOG_STD * float(normal_at_logit(np.float64(z)))

    z, weight = beta_rule(world_size, world_size, log_size=log_size)
    return normal_at_logit(z), weight


@numeric
@remembered(maxsize=_MOST_KEPT)
def straggler_factor(distribution: Distribution, world_size: float) -> float:
    """Return the mean time of the slowest of n workers over the mean time of one: E[X_(n:n)] / E[X].

    For the lognormal and the normal law it is a sum over quadrature nodes that depend on n alone and are
    cached; the relative error is below 1e-10 compared with 40-digit arithmetic.

    Parameters
    ----------
    distribution : of one worker's time, in any unit
    world_size : n, a whole number

    Raises
    ------
    InputError : n is below 1, or the law has no mean

    Examples
    --------
    Two normal workers with 10 % spread: the slower takes 0.1 / sqrt(pi) longer.

    >>> law = Distribution("normal", (1.0, 0.1))
    >>> round(straggler_factor(law, 2), 12) == round(1 + 0.1 / math.pi**0.5, 12)
    True
    """
    if world_size == 1:
        return 1.0
    if distribution.name in _SHARED_RULE and world_size == math.floor(world_size) and world_size > 1:
        import numpy as np

        mean, spread = distribution.values
        x, weight = _normal_maximum(world_size)
        if distribution.name == "normal":
            return float(1 + spread / mean * (weight @ x))
        variance = math.log1p(spread * spread)
        if variance <= _WIDEST_LOG_STD**2:
            return float(weight @ np.exp(math.sqrt(variance) * x - variance / 2))
    from perfmodel.equations.order_statistics import order_statistic

    return float(order_statistic(distribution, world_size, world_size)[0]) / distribution.mean


_SHARED_RULE = ("normal", "lognormal")


@formula(cites=("david2003", "renyi1953"))
def waiting_time(pass_time: Real, slowest_factor: Real) -> Real:
    r"""Mean wait for the slowest of all workers.

    .. math:: T = t\,(\rho - 1)

    Parameters
    ----------
    pass_time : t [s], mean of one worker
    slowest_factor : rho [1], mean of the slowest over the mean of one

    Returns
    -------
    straggler_time [s]

    Examples
    --------
    The slowest of all takes a quarter more than the mean.

    >>> waiting_time(100, 1.25)
    25.0
    """
    return pass_time * (slowest_factor - 1)


def straggler_time(compute_time: Any, distribution: Distribution, world_size: Any) -> Any:
    """Return the mean wait for the slowest of n workers in one iteration [s].

    It is compute_time x (E[X_(n:n)] / E[X] - 1).  The times of workers are independent in each iteration;
    slowness common to all workers is part of compute_time.

    Parameters
    ----------
    compute_time : mean time of one worker [s], float or array
    distribution : of a worker's time relative to its mean, as ``parse_distribution("lognormal:cv=0.05")``
    world_size : n, float or array; broadcast against compute_time

    Returns
    -------
    straggler_time [s], zero for one worker

    Raises
    ------
    InputError : n is below 1, or the law has no mean

    Examples
    --------
    Exponential times and four workers: 1/2 + 1/3 + 1/4 of a mean on top.

    >>> round(straggler_time(0.12, Distribution("exponential", (1.0,)), 4), 12)
    0.13
    """
    if isinstance(ops.plain(world_size), (int, float)):
        return waiting_time(compute_time, straggler_factor(distribution, world_size))
    import numpy as np

    sizes, inverse = np.unique(np.asarray(world_size, dtype=np.float64), return_inverse=True)
    factors = np.array([straggler_factor(distribution, size) for size in sizes.tolist()])
    return waiting_time(compute_time, factors[inverse].reshape(np.shape(world_size)))
