"""Integration rules for order statistics, with breaks where a law is not smooth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from perfmodel.core.root import bisect

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]
else:
    Array = Any

_DROP = 45.0
"""Logarithm of the ratio of weights below which nodes are dropped: e^-45 is below a float's precision."""
_FARTHEST = 690.0
"""Largest absolute logit whose exponential does not overflow."""
_NODES = 16
"""Gauss-Legendre nodes in one panel: precise to 1e-15 if the integrand changes by a factor of e."""


def _width(near: float, far: float, drop: float) -> float:
    """Return the distance, right of its mode, at which the density u^near (1-u)^far is e^-drop of its peak.

    The distance is in logit(u), rounded up by less than a hundredth of its upper bound.
    """
    p = near / (near + far)

    def has_not_fallen(distance: float) -> bool:
        low, high = p + (1 - p) * math.exp(-distance), 1 - p + p * math.exp(distance)
        return near * math.log(low) + far * math.log(high) < drop

    farthest = min((drop - (near + far) * math.log(p)) / far, _FARTHEST)
    return bisect(has_not_fallen, 0.0, farthest, halvings=7)[1]


def beta_rule(
    order: float,
    sample_size: float,
    *,
    log_size: Callable[[float], float] | None = None,
    moment: int = 1,
) -> tuple[Array, Array]:
    """Return nodes and weights for the mean of a function of U_(k:n), the k-th smallest of n uniform numbers.

    It is the trapezoid rule in z = logit(u), which converges exponentially as the integrand decays so
    on both sides.  The weights are divided by their sum, so that the beta function is not needed.

    Parameters
    ----------
    order : k, in 1..n
    sample_size : n
    log_size : function from a logit to the logarithm of the integrand's size, if the integrand grows to the
        right
    moment : power of the integrand that will be integrated

    Returns
    -------
    z, weights : two arrays of the same length (77 to about 1,000); the weights sum to 1
    """
    import numpy as np

    a, b = float(order), float(sample_size) - float(order) + 1.0
    mode, p = math.log(a / b), a / (a + b)
    step = min(math.sqrt((a + b) / (a * b)) / 3, 0.25)
    left, right = _width(b, a, _DROP), _width(a, b, _DROP)
    if log_size is not None:
        middle = log_size(mode)
        for _ in range(8):
            wider = _width(a, b, _DROP + moment * max(0.0, log_size(min(mode + right, _FARTHEST)) - middle))
            done = wider < right + 1.0
            right = max(right, wider)
            if done:
                break
    left, right = min(left, _FARTHEST + mode), min(right, _FARTHEST - mode)
    distance: Array = step * np.arange(-math.ceil(left / step), math.ceil(right / step) + 1.0)
    log_weight = -a * np.log1p((1 - p) * np.expm1(-distance)) - b * np.log1p(p * np.expm1(distance))
    weight: Array = np.exp(log_weight)
    return mode + distance, weight / weight.sum()


@cache
def _gauss_legendre() -> tuple[Array, Array, Array]:
    """Return nodes and weights on [0, 1], and the matrix that integrates from each node to the right end."""
    import numpy as np
    from numpy.polynomial import legendre

    nodes, weights = legendre.leggauss(_NODES)
    to_coefficients = np.linalg.inv(legendre.legvander(nodes, _NODES - 1))
    integrals = np.empty((_NODES, _NODES))
    for degree in range(_NODES):
        antiderivative = legendre.legint(np.eye(_NODES)[degree])
        integrals[:, degree] = legendre.legval(1.0, antiderivative) - legendre.legval(nodes, antiderivative)
    return (nodes + 1) / 2, weights / 2, integrals @ to_coefficients / 2


class Panels:
    """Gauss-Legendre rule on consecutive intervals, for integrands whose kinks are known breaks."""

    def __init__(self, breaks: Iterable[float]) -> None:
        """Place the panels between consecutive ``breaks``; duplicates are dropped."""
        import numpy as np

        edges = np.unique(np.fromiter(breaks, dtype=np.float64))
        nodes, weights, _ = _gauss_legendre()
        self.start = float(edges[0])
        self.edges = edges
        self._widths = np.diff(edges)[:, None]
        self.nodes = edges[:-1, None] + self._widths * nodes
        """The nodes, shape (panels, 16), ascending."""
        self._weights = self._widths * weights

    def integral(self, values: Array) -> float:
        """Return the integral of a function from its values at the nodes."""
        return float((values * self._weights).sum())

    def integral_to_end(self, values: Array) -> Array:
        """Return the integral of a function from each node to the right end of the last panel."""
        import numpy as np

        within = self._widths * (values @ _gauss_legendre()[2].T)
        panels = (values * self._weights).sum(axis=1)
        after = np.concatenate([np.cumsum(panels[::-1])[::-1][1:], [0.0]])
        return within + after[:, None]


def survival_moments(panels: Panels, survival: Array) -> tuple[float, float]:
    """Return mean and variance of a variable, at least ``panels.start``, from its survival function.

    The variance is integrated about the mean, not computed as a difference of raw moments; panels should
    start where the survival function leaves 1, not at zero.
    """
    mean = panels.start + panels.integral(survival)
    variance = (panels.start - mean) ** 2 + panels.integral(2.0 * (panels.nodes - mean) * survival)
    return mean, variance
