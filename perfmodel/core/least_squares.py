"""The one solver of the fits: Newton's method in short steps, and robust least squares with priors by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


def newton(
    derivatives: Callable[[Array], tuple[Array, Array]],
    start: Array,
    *,
    least: Array | float = -np.inf,
    longest_step: float = 0.5,
    iterations: int = 60,
    converged: float = 1e-7,
) -> Array:
    """Return the numbers at which a convex function is least, shape (numbers,).

    Parameters
    ----------
    derivatives : numbers -> gradient, shape (numbers,), and curvature or what stands for it, shape (numbers,
        numbers), positive definite
    start : where to begin, shape (numbers,)
    least : bound below each number
    longest_step : by which a number moves at once
    iterations : at most
    converged : step of every number below which it is done
    """
    numbers = start
    for _ in range(iterations):
        gradient, curvature = derivatives(numbers)
        step = np.clip(np.linalg.solve(curvature, gradient), -longest_step, longest_step)
        numbers = np.maximum(numbers - step, least)
        if np.abs(step).max() < converged:
            break
    return numbers


def least_squares(
    evaluate: Callable[[Array], tuple[Array, Array]],
    measured: Array,
    weights: Array,
    mean: Array,
    deviation: Array,
    *,
    noise: float,
    robust: float,
    start: Array | None = None,
    longest_step: float = 0.5,
    iterations: int = 60,
    converged: float = 1e-7,
) -> Array:
    """Return the numbers that explain ``measured`` without straying from their priors, shape (numbers,).

    Gauss-Newton on Huber's loss (Huber 1964) with a normal prior on every number.

    Parameters
    ----------
    evaluate : numbers -> what is predicted, shape (rows,), and its derivatives, shape (rows, numbers)
    measured : what should be predicted, shape (rows,)
    weights : of the rows, shape (rows,); 0 leaves a row out
    mean, deviation : of the priors, shape (numbers,)
    noise : standard deviation of a row that is not to be explained
    robust : residual beyond which a row pulls no harder
    start : where to begin; the prior means by default
    longest_step, iterations, converged : as of ``newton``
    """
    precision = 1 / deviation**2
    kept = weights > 0

    def derivatives(numbers: Array) -> tuple[Array, Array]:
        predicted, slopes = evaluate(numbers)
        residual, slopes = (measured - predicted)[kept], slopes[kept]
        pull = weights[kept] * np.minimum(1, robust / np.maximum(np.abs(residual), 1e-9)) / noise**2
        curvature = (slopes * pull[:, None]).T @ slopes + np.diag(precision)
        return (numbers - mean) * precision - slopes.T @ (pull * residual), curvature

    return newton(
        derivatives,
        mean if start is None else start,
        longest_step=longest_step,
        iterations=iterations,
        converged=converged,
    )


def solved(matrix: Any, columns: Any) -> Any:
    """Return what a matrix, or each of many, makes the columns of, shape (..., rows, columns)."""
    return np.linalg.solve(matrix, columns)
