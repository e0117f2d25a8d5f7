"""Mean and variance of X_(k:n), the k-th smallest of n independent times, for every law."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from perfmodel.core.errors import refusal
from perfmodel.core.ops import Real
from perfmodel.equations.distribution import Distribution
from perfmodel.equations.heterogeneous import at_least
from perfmodel.equations.order_formulas import (
    exponential_order_mean,
    exponential_order_variance,
    pareto_order_mean,
    pareto_order_variance,
    uniform_order_mean,
    uniform_order_variance,
)
from perfmodel.equations.quadrature import beta_rule
from perfmodel.equations.stalling import order_moments

LARGEST_SAMPLE = 1_000_000_000
"""Largest number of workers; beyond it, rounding errors of n - k + 1 matter."""


def order_statistic(distribution: Distribution, order: Real, sample_size: Real) -> tuple[Real, Real]:
    """Return mean and variance of the k-th smallest of n independent draws.

    Closed forms for the exponential, shifted exponential, uniform, Pareto (mean) and two-point laws and for
    samples; for stalling steps the trapezoid rule in log time; for the others that in logit of ``beta_rule``,
    which agrees with 40-digit arithmetic to 1e-11 for n up to 1,000,000.

    Parameters
    ----------
    distribution : of one draw
    order, sample_size : k and n, whole numbers, 1 <= k <= n; arrays broadcast against each other

    Returns
    -------
    mean, variance : floats, or arrays of the broadcast shape.  The variance is ``inf`` if it does not exist.

    Raises
    ------
    InputError : k or n is out of range, or the mean does not exist

    Examples
    --------
    Two normal variables: the larger is 1 / sqrt(pi) on average.

    >>> mean, variance = order_statistic(Distribution("normal", (0.0, 1.0)), 2, 2)
    >>> abs(mean - math.pi**-0.5) < 1e-14, abs(variance - (1 - 1 / math.pi)) < 1e-14
    (True, True)
    """
    if isinstance(order, (int, float)) and isinstance(sample_size, (int, float)):
        return _moments(distribution, float(order), float(sample_size))
    import numpy as np

    orders, sizes = np.broadcast_arrays(np.asarray(order, dtype=float), np.asarray(sample_size, dtype=float))
    pairs, inverse = np.unique(np.stack([orders.ravel(), sizes.ravel()]), axis=1, return_inverse=True)
    moments = np.array([_moments(distribution, k, n) for k, n in pairs.T.tolist()])
    mean, variance = moments[inverse.ravel()].T.reshape(2, *orders.shape)
    return (mean, variance) if orders.ndim else (float(mean), float(variance))


def _moments(law: Distribution, k: float, n: float) -> tuple[float, float]:
    """Return mean and variance for one k and n, after checking them."""
    if k != math.floor(k) or n != math.floor(n) or not 1 <= k <= n <= LARGEST_SAMPLE:
        raise refusal("order_statistic.range", k=k, n=n, largest_sample=LARGEST_SAMPLE)
    left = n - k + 1
    if left * law.tail_exponent <= 1:
        raise refusal(
            "order_statistic.no_mean", law=law, k=k, n=n, left=left, tail_exponent=law.tail_exponent
        )
    mean, variance = _with_law(law, k, n)
    return float(mean), float(variance) if left * law.tail_exponent > 2 else math.inf


def _with_law(law: Distribution, k: float, n: float) -> tuple[float, float]:
    """Return mean and variance by the method for the law."""
    if law.name in _CLOSED:
        return _CLOSED[law.name](k, n, *law.values)
    if law.atoms:
        return _discrete(law, k, n)
    if law.name == "pareto":
        return _pareto(law, k, n)
    return _by_quadrature(law, k, n)


_CLOSED: dict[str, Callable[..., tuple[Any, Any]]] = {
    "exponential": lambda k, n, rate: (
        exponential_order_mean(k, n, rate),
        exponential_order_variance(k, n, rate),
    ),
    "shifted-exponential": lambda k, n, shift, rate: (
        shift + exponential_order_mean(k, n, rate),
        exponential_order_variance(k, n, rate),
    ),
    "uniform": lambda k, n, low, high: (
        uniform_order_mean(k, n, low, high),
        uniform_order_variance(k, n, low, high),
    ),
    "stalling": order_moments,
}


def _pareto(law: Distribution, k: float, n: float) -> tuple[float, float]:
    """Return closed forms; a variance much below the squared mean is imprecise and is integrated instead."""
    mean = float(pareto_order_mean(k, n, *law.values))
    if (n - k + 1) * law.tail_exponent <= 2:
        return mean, math.inf
    variance = float(pareto_order_variance(k, n, *law.values))
    return mean, variance if variance > 1e-3 * mean**2 else _by_quadrature(law, k, n)[1]


def _by_quadrature(law: Distribution, k: float, n: float) -> tuple[float, float]:
    """Return mean and variance by numerical integration."""
    import numpy as np

    def log_size(z: float) -> float:
        return math.log(abs(float(law.at_logit(np.float64(z)))) + 1e-300)

    thin = law.tail_exponent * (n - k + 1) > 2
    z, weight = beta_rule(k, n, log_size=log_size, moment=2 if thin else 1)
    x = law.at_logit(z)
    mean = float(weight @ x)
    return mean, float(weight @ (x - mean) ** 2) if thin else math.inf


def _discrete(law: Distribution, k: float, n: float) -> tuple[float, float]:
    """Return the exact moments of a law with finitely many values."""
    import numpy as np

    values, mass = np.array(law.atoms).T
    above = np.concatenate([np.cumsum(mass[::-1])[::-1], [0.0]])  # P(X >= value), then nothing
    above[0] = 1.0
    reached = at_least(np.minimum(above, 1.0), k, n)  # P(X_(k:n) >= value)
    weight = reached[:-1] - reached[1:]
    mean = float(weight @ values)
    return mean, float(weight @ (values - mean) ** 2)
