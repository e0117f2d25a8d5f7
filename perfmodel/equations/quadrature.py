"""Integration rules for order statistics: exponentially accurate, with breaks where a law is not smooth."""

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
"""A weight of e^-45 is a thousandth of a float's last digit."""
_FARTHEST = 690.0
"""e^690 is about the largest number a logit may stand for without overflow."""
_NODES = 16
"""Gauss-Legendre nodes in one panel: 1e-15 on a factor of e in the integrand."""


def _width(near: float, far: float, drop: float) -> float:
    """How far from its mode the density u^near (1-u)^far has fallen by e^-drop, in logit of u, to the right.

    Rounded up, by less than a hundredth of the longest it might be.
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
    """Nodes and weights for the expectation of a function of U_(k:n), the k-th smallest of n uniforms.

    The trapezoid rule in z = logit(u): the integrand decays exponentially on both sides, so the rule
    converges exponentially.  The weights are divided by their own sum, which takes the beta function out.

    Parameters
    ----------
    order : k, in 1..n
    sample_size : n
    log_size : the logarithm of the integrand's size at a logit far to the right, where it grows there
    moment : the power of it that will be integrated

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
    """Nodes and weights on [0, 1], and the matrix that integrates from each node to the right end."""
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
    """Gauss-Legendre nodes on consecutive intervals, for integrands with known kinks between them."""

    def __init__(self, breaks: Iterable[float]) -> None:
        """Lay the panels between consecutive ``breaks``; doubles and near doubles are dropped."""
        import numpy as np

        edges = np.unique(np.fromiter(breaks, dtype=np.float64))
        nodes, weights, _ = _gauss_legendre()
        self.start = float(edges[0])
        self.edges = edges
        self._widths = np.diff(edges)[:, None]
        self.nodes = edges[:-1, None] + self._widths * nodes
        """Shape (panels, 16), ascending."""
        self._weights = self._widths * weights

    def integral(self, values: Array) -> float:
        """Integral of a function given at the nodes."""
        return float((values * self._weights).sum())

    def integral_to_end(self, values: Array) -> Array:
        """Integral from each node to the right end of the last panel."""
        import numpy as np

        within = self._widths * (values @ _gauss_legendre()[2].T)
        panels = (values * self._weights).sum(axis=1)
        after = np.concatenate([np.cumsum(panels[::-1])[::-1][1:], [0.0]])
        return within + after[:, None]


def survival_moments(panels: Panels, survival: Array) -> tuple[float, float]:
    """Mean and variance of a variable that is at least ``panels.start`` and has this survival function.

    The variance is integrated about the mean, never as a difference of two raw moments; panels should start
    where the survival function leaves 1, not at zero.
    """
    mean = panels.start + panels.integral(survival)
    variance = (panels.start - mean) ** 2 + panels.integral(2.0 * (panels.nodes - mean) * survival)
    return mean, variance
