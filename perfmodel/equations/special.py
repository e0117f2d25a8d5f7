"""The normal quantile, and differences of harmonic numbers and log-gamma functions without cancellation."""

from __future__ import annotations

import math
import sys
from typing import Any

from perfmodel.core.ops import Real, _library
from perfmodel.equations.quadrature import Array

_SHIFT = 12  # terms taken exactly before the asymptotic series; x >= 1 then leaves an error below 1e-17
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730)


def is_symbol(*values: object) -> bool:
    """Whether one of the values is a sympy expression."""
    sympy = sys.modules.get("sympy")
    return sympy is not None and any(isinstance(value, sympy.Basic) for value in values)


def _power_fall(start: Any, count: Any, power: float, library: Any) -> Any:
    """Return ``start**-power - (start + count)**-power`` without cancellation."""
    return -library.expm1(-power * library.log1p(count / start)) * start**-power


def normal_at_logit(z: Any) -> Array:
    """Return the standard normal quantile at u = 1 / (1 + e^-z), relative error 1e-15 (Wichura's AS 241).

    The standard library's routine is applied to the smaller tail, so that both tails are precise.
    """
    from statistics import NormalDist

    import numpy as np

    z = np.asarray(z, dtype=np.float64)
    tail = np.exp(-np.logaddexp(0.0, np.abs(z)))
    inverse = NormalDist().inv_cdf
    quantile = np.array([inverse(p) for p in tail.ravel().tolist()]).reshape(z.shape)
    return np.where(z < 0, quantile, -quantile)


def harmonic_difference(sample_size: Real, order: Real) -> Real:
    r"""Return the difference of harmonic numbers H_n - H_{n-k}: the sum of 1/i over the k integers up to n.

    k may be real.  Every term is positive: k = 1 of n = 1,000,000 has 15 digits; the difference of two
    digamma functions has 10.

    >>> round(harmonic_difference(4, 2), 12)  # 1/4 + 1/3
    0.583333333333
    """
    if is_symbol(sample_size, order):
        polygamma = sys.modules["sympy"].polygamma
        return polygamma(0, sample_size + 1) - polygamma(0, sample_size - order + 1)
    library = _library(sample_size, order)
    start = sample_size - order + 1.0
    total: Any = 0.0
    for j in range(_SHIFT):
        total = total + order / ((start + j) * (start + order + j))
    far = start + _SHIFT
    total = total + library.log1p(order / far) + _power_fall(far, order, 1, library) / 2
    for i, bernoulli in enumerate(_BERNOULLI, 1):
        total = total + bernoulli / (2 * i) * _power_fall(far, order, 2 * i, library)
    return total


def squared_harmonic_difference(sample_size: Real, order: Real) -> Real:
    """Return the sum of 1/i^2 over the k integers up to n; k may be real.

    >>> round(squared_harmonic_difference(4, 2), 12)  # 1/16 + 1/9
    0.173611111111
    """
    if is_symbol(sample_size, order):
        polygamma = sys.modules["sympy"].polygamma
        return polygamma(1, sample_size - order + 1) - polygamma(1, sample_size + 1)
    library = _library(sample_size, order)
    start = sample_size - order + 1.0
    total: Any = 0.0
    for j in range(_SHIFT):
        total = total + _power_fall(start + j, order, 2, library)
    far = start + _SHIFT
    total = total + _power_fall(far, order, 1, library) + _power_fall(far, order, 2, library) / 2
    for i, bernoulli in enumerate(_BERNOULLI, 1):
        total = total + bernoulli * _power_fall(far, order, 2 * i + 1, library)
    return total


def log_gamma_difference(x: Real, step: Real) -> Real:
    """Return the logarithm of Gamma(x + step) / Gamma(x), both arguments positive.

    Stirling's series is subtracted term by term, so that no digits are lost at x = 1e6.

    >>> round(log_gamma_difference(5, 2), 12) == round(math.log(5 * 6), 12)
    True
    """
    if is_symbol(x, step):
        loggamma = sys.modules["sympy"].loggamma
        return loggamma(x + step) - loggamma(x)
    library = _library(x, step)
    total: Any = 0.0
    for j in range(_SHIFT):
        total = total - library.log((x + step + j) / (x + j))
    far = x + float(_SHIFT)
    total = total + step * library.log(far) + (far + step - 0.5) * library.log1p(step / far) - step
    for i, bernoulli in enumerate(_BERNOULLI, 1):
        total = total - bernoulli / (2 * i * (2 * i - 1)) * _power_fall(far, step, 2 * i - 1, library)
    return total


def log_gamma(x: Real) -> Real:
    """Return the logarithm of the gamma function of a positive number.

    >>> abs(log_gamma(5.0) - math.log(24)) < 1e-14  # 4 x 3 x 2
    True
    """
    if is_symbol(x):
        return sys.modules["sympy"].loggamma(x)
    library = _library(x)
    far = x + float(_SHIFT)
    total = (far - 0.5) * library.log(far) - far + 0.5 * math.log(2 * math.pi)
    for i, bernoulli in enumerate(_BERNOULLI, 1):
        total = total + bernoulli / (2 * i * (2 * i - 1)) * far ** (1.0 - 2 * i)
    for j in range(_SHIFT):
        total = total - library.log(x + j)
    return total
