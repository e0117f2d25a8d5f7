"""Robust, pooled least squares in log space: the one fitter every learned number comes from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NOISE = 0.15
"""Standard deviation of a row's logarithmic time that the model is not asked to explain."""
HUBER = 0.12
"""Residual beyond which a row pulls no harder."""
FULL_WEIGHT_ROWS = 40
"""A source with more rows than this weighs as much as this many: its rows err together."""
TRUST_WEIGHTS = {"A": 1.0, "B": 0.5}
"""Of a row, by how well its source states hardware, batch and procedure."""
LONGEST_STEP = 0.6
CONVERGED = 1e-7


def row_weights(sources: Sequence[str], trusts: Sequence[str]) -> Array:
    """Weight of each row by its trust, and by how many rows its source has, shape (rows,)."""
    counts = Counter(sources)
    return np.array(
        [
            TRUST_WEIGHTS[trust] * min(1.0, FULL_WEIGHT_ROWS / counts[source])
            for source, trust in zip(sources, trusts, strict=True)
        ]
    )


def fit(
    evaluate: Callable[[Array], tuple[Array, Array]],
    measured: Array,
    weights: Array,
    mean: Array,
    deviation: Array,
    start: Array | None = None,
    iterations: int = 60,
    converged: float = CONVERGED,
) -> Array:
    """Return the numbers that explain ``measured`` without straying from their priors.

    Gauss-Newton on Huber's loss with a normal prior on every number.

    Parameters
    ----------
    evaluate : numbers -> predicted logarithms, shape (rows,), and their derivatives, shape (rows, parameters)
    measured : logarithms, shape (rows,)
    weights : of the rows, shape (rows,); 0 leaves a row out
    mean, deviation : of the priors, shape (parameters,)
    start : where to begin; the prior means by default
    iterations : at most
    converged : step of every number below which it is done
    """
    numbers = (mean if start is None else start).copy()
    precision = 1 / deviation**2
    kept = weights > 0
    for _ in range(iterations):
        predicted, slopes = evaluate(numbers)
        residual, slopes = (measured - predicted)[kept], slopes[kept]
        pull = weights[kept] * np.minimum(1, HUBER / np.maximum(np.abs(residual), 1e-9)) / NOISE**2
        curvature = (slopes * pull[:, None]).T @ slopes + np.diag(precision)
        gradient = slopes.T @ (pull * residual) + (mean - numbers) * precision
        step = np.clip(np.linalg.solve(curvature, gradient), -LONGEST_STEP, LONGEST_STEP)
        numbers = numbers + step
        if np.abs(step).max() < converged:
            break
    return numbers
