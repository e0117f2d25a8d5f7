"""Learn what running on several accelerators adds, from runs anchored on one of the same source."""

from __future__ import annotations

import math
from collections import UserDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from perfmodel.core.arrays import Array, Flags
from perfmodel.core.least_squares import least_squares
from perfmodel.core.processes import Workers
from perfmodel.evidence.accuracy.report.provenance_section import Shares, information_shares
from perfmodel.evidence.fitting.row_weights import HUBER, NOISE, row_weights
from perfmodel.model.fitted.calibration import Calibration, before_fit, with_scaling

STEP = 0.02
"""Of a logarithm, for differences."""
ITERATIONS, REFIT_ITERATIONS = 3, 6

DEVIATIONS = {
    "link/ethernet-tcp": 0.05,
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
    place: int
    """Among all measured runs."""


class ScalingFit:
    """The fit to every anchored run, and those that leave one source out."""

    def __init__(self, rows: Sequence[Anchored], constants: Calibration, jobs: int = 1) -> None:
        """Take the anchored runs, the efficiencies that all have given, and how many processes fit."""
        self._rows = list(rows)
        self._sources = np.array([row.source for row in rows])
        self._places = np.array([row.place for row in rows], dtype=np.intp)
        self._measured = np.log([row.time for row in rows])
        self._weights = row_weights(self._sources, [row.trust for row in rows])
        self._mean = np.log([_before(name) for name in DEVIATIONS])
        self._deviation = np.array(list(DEVIATIONS.values()))
        self._constants = constants
        self._slopes = np.empty((len(rows), len(DEVIATIONS)))
        with Workers(self._rows, jobs) as workers:
            derivatives = partial(self._derivatives, workers)
            near = self._fit(self._mean, constants, self._weights, ITERATIONS, derivatives, converged=1e-3)
        self._all = self._refitted(near, constants, self._weights)

    def numbers(self, constants: Calibration | None = None, seen: Flags | None = None) -> dict[str, float]:
        """Return the learned numbers by name, to six digits; fitted anew where ``seen`` leaves some out.

        Parameters
        ----------
        constants : the efficiencies learned from the same runs; used only then
        seen : of all measured runs those that may be learned from, shape (measured,); all by default
        """
        learned = self._all
        if seen is not None and not seen[self._places].all():
            weights = np.where(seen[self._places], self._weights, 0.0)
            learned = self._refitted(learned, constants or self._constants, weights)
        return {
            name: float(f"{math.exp(value):.6g}") for name, value in zip(DEVIATIONS, learned, strict=True)
        }

    def shares(self) -> Shares:
        """Return what the learned numbers rest on, as ``information_shares``."""
        return information_shares([*DEVIATIONS], self._slopes * self._deviation, self._weights, self._sources)

    def _times(self, numbers: Array, constants: Calibration, weights: Array) -> Array:
        """Predicted logarithms, shape (rows,); a row without weight is not predicted."""
        moved, rows = _scaled(constants, numbers), zip(self._rows, weights.tolist(), strict=True)
        return np.array([math.log(row.predict(moved)) if weight else 0.0 for row, weight in rows])

    def _refitted(self, start: Array, constants: Calibration, weights: Array) -> Array:
        """The fit to some of the rows, near one to all of them, whose derivatives will do."""
        return self._fit(start, constants, weights, REFIT_ITERATIONS, lambda _: self._slopes, converged=0.0)

    def _fit(
        self,
        start: Array,
        constants: Calibration,
        weights: Array,
        iterations: int,
        derivatives: Callable[[Array], Array],
        converged: float,
    ) -> Array:
        def evaluate(numbers: Array) -> tuple[Array, Array]:
            return self._times(numbers, constants, weights), derivatives(numbers)

        return least_squares(
            evaluate,
            self._measured,
            weights,
            self._mean,
            self._deviation,
            noise=NOISE,
            robust=HUBER,
            start=start,
            iterations=iterations,
            converged=converged,
        )

    def _derivatives(self, workers: Workers, numbers: Array) -> Array:
        """Those of the times of all rows, shape (rows, numbers); kept for the fits nearby."""
        steps = STEP * np.concatenate([np.eye(len(numbers)), -np.eye(len(numbers))])
        read = _read(self._rows, _scaled(self._constants, numbers))
        moved = [
            (place, _scaled(self._constants, numbers + step), read[name])
            for place, (step, name) in enumerate(zip(steps, [*DEVIATIONS] * 2, strict=True))
        ]
        times = {place: logs for (place, *_), logs in workers.each(_log_times, moved)}
        up, down = np.split(np.stack([times[place] for place in range(len(steps))], axis=1), 2, axis=1)
        self._slopes = (up - down) / (2 * STEP)
        return self._slopes


def _scaled(constants: Calibration, numbers: Array) -> Calibration:
    """Return constants with what is learned, by its logarithms."""
    return with_scaling(constants, dict(zip(DEVIATIONS, np.exp(numbers).tolist(), strict=True)))


def _log_times(rows: Sequence[Anchored], under: tuple[int, Calibration, Sequence[bool]]) -> Array:
    """Predicted logarithms under constants that have a place in a list, shape (rows,), of rows asked for."""
    _, constants, asked = under
    return np.log(
        [row.predict(constants) if is_asked else 1.0 for row, is_asked in zip(rows, asked, strict=True)]
    )


def _read(rows: Sequence[Anchored], constants: Calibration) -> dict[str, list[bool]]:
    """Return which rows' times read each learned number at all: moved alone, it cannot move the others."""
    read: set[str] = set()

    class Links(UserDict[str, float]):
        def __getitem__(self, kind: str) -> float:
            read.add(f"link/{kind}")
            return super().__getitem__(kind)

    class Noted(Calibration):
        def __getattribute__(self, name: str) -> Any:
            read.add(name)
            return super().__getattribute__(name)

    noted = Noted(*constants._replace(link_fraction=cast("Any", Links(constants.link_fraction))))
    result: dict[str, list[bool]] = {name: [] for name in DEVIATIONS}
    for row in rows:
        read.clear()
        row.predict(noted)
        for name, of_rows in result.items():
            of_rows.append(name in read)
    return result


def _before(name: str) -> float:
    """The value of ``calibration.toml``."""
    known = before_fit()
    if "/" in name:
        return known.link_fraction[name.removeprefix("link/")]
    return float(getattr(known, name))
