"""Solvers of all fits: Newton's method with bounded steps, and robust least squares with normal priors."""

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
    """Return the numbers that minimize a convex function, by Newton's method, shape (numbers,).

    Parameters
    ----------
    derivatives : function from numbers to gradient, shape (numbers,), and curvature, exact or approximate,
        shape (numbers, numbers), positive definite
    start : initial numbers, shape (numbers,)
    least : lower bound of each number
    longest_step : largest change of a number in one iteration
    iterations : most iterations
    converged : stop when no number changes by more
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
    """Return the fitted numbers of a robust least-squares fit with priors, shape (numbers,).

    Gauss-Newton on Huber's loss (Huber 1964) with a normal prior on every number.

    Parameters
    ----------
    evaluate : function from numbers to predictions, shape (rows,), and derivatives, shape (rows, numbers)
    measured : values to fit, shape (rows,)
    weights : one for each row, shape (rows,); 0 leaves the row out
    mean, deviation : mean and standard deviation of each number's prior, shape (numbers,)
    noise : standard deviation of the noise of a row
    robust : residual beyond which the loss is linear (Huber's threshold)
    start : initial numbers; the prior means by default
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
    """Return x of ``matrix @ x = columns``, for one matrix or a stack, shape (..., rows, columns)."""
    return np.linalg.solve(matrix, columns)
