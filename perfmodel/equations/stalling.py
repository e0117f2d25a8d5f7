"""Steps with rare stalls: a lognormal time, a given share of the steps longer by a given part of them.

Validity
--------
Stalls are independent of each other and of the other spread; all have the same length.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from perfmodel.equations.quadrature import Array
from perfmodel.equations.special import log_gamma, normal_at_logit

WIDEST = 10.0
"""Distance from the centre of each kind of step at which integrals end, in standard deviations."""
STEPS = 24
"""Points of an integral in a standard deviation: enough for the narrow maxima of a billion steps."""
HALVINGS = 60
"""Bisections of a quantile, each of which halves its error."""


def log_std(cv: float) -> float:
    """Return the standard deviation of the logarithm of a lognormal law from its coefficient of variation."""
    return math.sqrt(math.log1p(cv * cv))


def usual_step(mean: float, probability: float, length: float) -> float:
    """Return the mean of the steps without a stall, from that of all steps."""
    return mean / (1 + probability * length)


def variance(mean: float, cv: float, probability: float, length: float) -> float:
    """Return the variance of the step time.

    >>> round(variance(1.1, 0.0 + 1e-9, 0.5, 0.2), 9)  # 1 or 1.2
    0.01
    """
    usual = usual_step(mean, probability, length)
    square = usual**2 * (1 + cv * cv) * (1 + probability * ((1 + length) ** 2 - 1))
    return square - mean**2


def scores(t: Any, mean: float, cv: float, probability: float, length: float) -> tuple[Array, Array]:
    """Return the standard scores of times among steps without and with a stall; -inf for t up to 0."""
    import numpy as np

    s = log_std(cv)
    with np.errstate(divide="ignore"):
        usual = np.log(
            np.maximum(np.asarray(t, dtype=np.float64), 0.0) / usual_step(mean, probability, length)
        )
    score = (usual + s * s / 2) / s
    return score, score - math.log1p(length) / s


def normal_upper(x: Any) -> Array:
    """Return P(Z > x) for a standard normal variable."""
    import numpy as np

    x = np.asarray(x, dtype=np.float64) / math.sqrt(2)
    return np.array([math.erfc(value) for value in x.ravel().tolist()]).reshape(x.shape) / 2


def survival(t: Any, mean: float, cv: float, probability: float, length: float) -> Array:
    """Return P(X > t)."""
    usual, stalled = scores(t, mean, cv, probability, length)
    return (1 - probability) * normal_upper(usual) + probability * normal_upper(stalled)


def cdf(t: Any, mean: float, cv: float, probability: float, length: float) -> Array:
    """Return P(X <= t)."""
    usual, stalled = scores(t, mean, cv, probability, length)
    return (1 - probability) * normal_upper(-usual) + probability * normal_upper(-stalled)


def at_logit(z: Any, mean: float, cv: float, probability: float, length: float) -> Array:
    """Return the quantiles at u = 1 / (1 + e^-z), by bisection between those of both kinds of steps."""
    import numpy as np

    z = np.asarray(z, dtype=np.float64)
    return mean * _unit_quantiles(z.tobytes(), z.shape, cv, probability, length)


@lru_cache(maxsize=64)
def _unit_quantiles(z: bytes, shape: tuple[int, ...], cv: float, probability: float, length: float) -> Array:
    """Return the quantiles of a mean of 1; all workers of a kind, slow or fast, ask at the same points."""
    import numpy as np

    points = np.frombuffer(z).reshape(shape)
    s, law = log_std(cv), (1.0, cv, probability, length)
    low = math.log(usual_step(1.0, probability, length)) + s * normal_at_logit(points) - s * s / 2
    high = low + math.log1p(length)
    tail, upper = np.exp(-np.logaddexp(0.0, np.abs(points))), points > 0
    side = np.where(upper, 1.0, -1.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        usual, stalled = scores(np.exp(middle), *law)
        beyond = (1 - probability) * normal_upper(side * usual) + probability * normal_upper(side * stalled)
        below = np.where(upper, beyond > tail, beyond < tail)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    quantiles: Array = np.exp((low + high) / 2)
    quantiles.setflags(write=False)
    return quantiles


@lru_cache(maxsize=256)
def _grid(cv: float, probability: float, length: float) -> tuple[Array, Array, Array, Array]:
    """Return times over their mean, their density in log time times its step, ln F(t) and ln(1 - F(t))."""
    import numpy as np

    s, stalled = log_std(cv), math.log1p(length)
    step = s / STEPS
    half = round(WIDEST * STEPS)
    middles = {0, round(stalled / step)} if probability else {0}
    points = np.unique(np.concatenate([np.arange(middle - half, middle + half + 1) for middle in middles]))
    x = points * step
    t = np.exp(x - s * s / 2) * usual_step(1.0, probability, length)
    law = 1.0, cv, probability, length
    kinds = zip((1 - probability, probability), scores(t, *law), strict=True)
    parts = [weight * np.exp(-score * score / 2) for weight, score in kinds]
    density = np.asarray(parts[0] + parts[1]) / math.sqrt(2 * math.pi)
    with np.errstate(divide="ignore"):
        return t, density / STEPS, np.log(cdf(t, *law)), np.log(survival(t, *law))


def order_moments(
    order: float, sample_size: float, mean: float, cv: float, probability: float, length: float
) -> tuple[float, float]:
    """Return mean and variance of the k-th smallest of n step times.

    The density of an order statistic is integrated in log time; it is smooth and falls off at both ends, so
    that the trapezoid rule is exact but for rounding.

    Examples
    --------
    Without other spread the slowest of two steps stalls if one of them does: in 0.19 of all cases.

    >>> worst, _ = order_moments(2, 2, 1 + 0.1 * 0.5, 1e-6, 0.1, 0.5)
    >>> round(worst, 5)
    1.095
    """
    import numpy as np

    t, density, below, above = _grid(cv, probability, length)
    k, n = order, sample_size
    ways = log_gamma(n + 1) - log_gamma(k) - log_gamma(n - k + 1)
    power = ways + (k - 1) * below + ((n - k) * above if n > k else 0.0)
    weight = density * np.exp(power)
    weight = weight / weight.sum()
    first = float(weight @ t)
    return mean * first, mean**2 * float(weight @ (t - first) ** 2)
