"""Learn what running on several accelerators adds, from runs anchored on one of the same source."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perfmodel.calibration import Calibration, before_fit, with_scaling
from perfmodel.fitting.fit import HUBER, NOISE, row_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

STEP = 0.02
"""Of a logarithm, for differences."""
LARGEST_MOVE = 0.5
ITERATIONS, REFIT_ITERATIONS = 3, 6

DEVIATIONS = {
    "link/ethernet-tcp": 0.05,
    "link/infiniband": 0.15,
    "link/pcie": 0.20,
    "link/nvlink": 0.15,
    "tcp_ceiling": 0.70,
    "server_fraction": 0.20,
    "staged_fraction": 0.35,
    "contention": 0.70,
    "replica_dispatches": 0.30,
}
"""What is learned -> standard deviation of its logarithm, around the value of ``calibration.toml``."""


class Anchored(NamedTuple):
    """A run on several accelerators, anchored: its time under given constants, and as measured."""

    source: str
    trust: str
    predict: Callable[[Calibration], float]
    time: float
    """Measured [s]."""


class ScalingFit:
    """The fit to every anchored run, and those that leave one source out."""

    def __init__(self, rows: Sequence[Anchored], constants: Calibration) -> None:
        """Take the anchored runs, and the efficiencies that all of them have given."""
        self._rows = list(rows)
        self._sources = np.array([row.source for row in rows])
        self._measured = np.log([row.time for row in rows])
        self._weights = row_weights(self._sources.tolist(), [row.trust for row in rows])
        self._mean = np.log([_before(name) for name in DEVIATIONS])
        self._precision = 1 / np.array(list(DEVIATIONS.values())) ** 2
        self._constants = constants
        self._all, self._slopes = self._first()

    def numbers(self, without: str | None = None, constants: Calibration | None = None) -> dict[str, float]:
        """Return the learned numbers by name, to six digits.

        Parameters
        ----------
        without : a source to leave out
        constants : the efficiencies learned without it
        """
        learned = self._all
        if without is not None:
            weights = np.where(self._sources == without, 0.0, self._weights)
            for _ in range(REFIT_ITERATIONS):
                learned = self._moved(learned, constants or self._constants, self._slopes, weights)
        return {
            name: float(f"{math.exp(value):.6g}") for name, value in zip(DEVIATIONS, learned, strict=True)
        }

    def _times(self, numbers: Array, constants: Calibration, weights: Array) -> Array:
        """Predicted logarithms, shape (rows,); a row without weight is not asked."""
        given = dict(zip(DEVIATIONS, np.exp(numbers).tolist(), strict=True))
        under = with_scaling(constants, given)
        return np.array(
            [
                math.log(row.predict(under)) if weight else 0.0
                for row, weight in zip(self._rows, weights.tolist(), strict=True)
            ]
        )

    def _first(self) -> tuple[Array, Array]:
        """The fit to all rows, with the derivatives there, shape (rows, numbers)."""
        numbers = self._mean
        for _ in range(ITERATIONS):
            slopes = self._derivatives(numbers)
            moved = self._moved(numbers, self._constants, slopes, self._weights)
            near = np.abs(moved - numbers).max() < 1e-3
            numbers = moved
            if near:
                break
        for _ in range(REFIT_ITERATIONS):
            numbers = self._moved(numbers, self._constants, slopes, self._weights)
        return numbers, slopes

    def _derivatives(self, numbers: Array) -> Array:
        columns = []
        for index in range(len(numbers)):
            step = np.zeros(len(numbers))
            step[index] = STEP
            up = self._times(numbers + step, self._constants, self._weights)
            down = self._times(numbers - step, self._constants, self._weights)
            columns.append((up - down) / (2 * STEP))
        return np.stack(columns, axis=1)

    def _moved(self, numbers: Array, constants: Calibration, slopes: Array, weights: Array) -> Array:
        residual = self._measured - self._times(numbers, constants, weights)
        pull = weights * np.minimum(1, HUBER / np.maximum(np.abs(residual), 1e-9)) / NOISE**2
        curvature = (slopes * pull[:, None]).T @ slopes + np.diag(self._precision)
        gradient = slopes.T @ (pull * residual) + (self._mean - numbers) * self._precision
        move: Array = np.clip(np.linalg.solve(curvature, gradient), -LARGEST_MOVE, LARGEST_MOVE)
        return numbers + move


def _before(name: str) -> float:
    """The value of ``calibration.toml``."""
    known = before_fit()
    if "/" in name:
        return known.link_fraction[name.removeprefix("link/")]
    return float(getattr(known, name))
