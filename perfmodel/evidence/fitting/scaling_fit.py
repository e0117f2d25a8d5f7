"""Learn the numbers of communication from runs on several accelerators with an anchor of the same source."""

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
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.computation import Computation
from perfmodel.model.step.evaluate import evaluate, own_work

STEP = 0.02
"""Step of a logarithm in finite differences."""
ITERATIONS, REFIT_ITERATIONS = 3, 6
"""Least-squares iterations of the fit to all rows, and of fits that start from it."""
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
"""Learned number -> prior standard deviation of its logarithm, around the value of ``calibration.toml``."""


class Anchored(NamedTuple):
    """A run on several accelerators that has an anchor."""

    source: str
    trust: str
    predict: Callable[[Calibration], float]
    """From learned numbers to the predicted iteration time [s]."""
    time: float
    """Measured iteration time [s]."""
    place: int
    """Index among all measured runs."""


class AnchoredTime:
    """The predicted time of a run as a function of learned numbers; its computation is kept between calls.

    Most calls change numbers of communication alone, which computation does not read.
    """

    def __init__(self, setting: Setting) -> None:
        """Predict a data-parallel setting."""
        self._setting = setting
        self._of: tuple[object, ...] = ()
        self._work: Computation | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the setting alone: in another process the learned numbers are other objects."""
        return AnchoredTime, (self._setting,)

    def __call__(self, constants: Calibration) -> float:
        """Return the iteration time [s]."""
        of = constants.efficiency, constants.transformers, constants.own
        if self._work is None or any(one is not other for one, other in zip(of, self._of, strict=True)):
            self._of, self._work = of, own_work(self._setting, constants)
        return float(evaluate(self._setting, constants, self._work).iteration_time)


class ScalingFit:
    """The fit to all anchored runs, and fits to a part of them."""

    def __init__(self, rows: Sequence[Anchored], constants: Calibration, jobs: int = 1) -> None:
        """Fit to all anchored runs.

        Parameters
        ----------
        rows : anchored runs
        constants : learned numbers of computation, from all runs
        jobs : number of processes
        """
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
        """Return the learned numbers by name, to six digits, by a new fit if ``seen`` leaves out some.

        Parameters
        ----------
        constants : learned numbers of computation, from the same runs; used by a new fit only
        seen : which of all measured runs the fit learns from, shape (measured,); all by default
        """
        learned = self._all
        if seen is not None and not seen[self._places].all():
            weights = np.where(seen[self._places], self._weights, 0.0)
            learned = self._refitted(learned, constants or self._constants, weights)
        return {
            name: float(f"{math.exp(value):.6g}") for name, value in zip(DEVIATIONS, learned, strict=True)
        }

    def widths(self) -> dict[str, float]:
        """Return the standard deviation of the logarithm of each number that all runs and its prior leave."""
        information = (self._slopes * self._weights[:, None]).T @ self._slopes / NOISE**2
        deviations = np.sqrt(np.diag(np.linalg.inv(information + np.diag(self._deviation**-2))))
        return {name: float(f"{each:.3g}") for name, each in zip(DEVIATIONS, deviations, strict=True)}

    def shares(self) -> Shares:
        """Return the sources that determine each learned number, as ``information_shares`` does."""
        return information_shares([*DEVIATIONS], self._slopes * self._deviation, self._weights, self._sources)

    def _times(self, numbers: Array, constants: Calibration, weights: Array) -> Array:
        """Return ln(predicted time [s]), shape (rows,); 0 for a row without weight."""
        moved, rows = _scaled(constants, numbers), zip(self._rows, weights.tolist(), strict=True)
        return np.array([math.log(row.predict(moved)) if weight else 0.0 for row, weight in rows])

    def _refitted(self, start: Array, constants: Calibration, weights: Array) -> Array:
        """Return a fit to a part of the rows, with the derivatives of the fit to all of them."""
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
        """Return the logarithms of the numbers that fit measured times best.

        Parameters
        ----------
        start : logarithms to start from
        constants : learned numbers of computation
        weights : of the rows
        iterations : largest number of steps
        derivatives : from logarithms to derivatives, shape (rows, numbers)
        converged : change of the logarithms that ends the search
        """

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
        """Return the derivatives of ln(time) of all rows, shape (rows, numbers); keep them for refits."""
        steps = STEP * np.concatenate([np.eye(len(numbers)), -np.eye(len(numbers))])
        read = _rows_that_read(self._rows, _scaled(self._constants, numbers))
        moved = [
            (place, _scaled(self._constants, numbers + step), read[name])
            for place, (step, name) in enumerate(zip(steps, [*DEVIATIONS] * 2, strict=True))
        ]
        times = {place: logs for (place, *_), logs in workers.each(_log_times, moved)}
        up, down = np.split(np.stack([times[place] for place in range(len(steps))], axis=1), 2, axis=1)
        self._slopes = (up - down) / (2 * STEP)
        return self._slopes


def _scaled(constants: Calibration, numbers: Array) -> Calibration:
    """Return constants whose numbers of communication are replaced, given their logarithms."""
    return with_scaling(constants, dict(zip(DEVIATIONS, np.exp(numbers).tolist(), strict=True)))


def _log_times(rows: Sequence[Anchored], under: tuple[int, Calibration, Sequence[bool]]) -> Array:
    """Return ln(predicted time [s]) of rows, shape (rows,); 0 for rows that are not needed.

    Parameters
    ----------
    rows : anchored runs
    under : index of the constants among those of a batch, the constants, and whether each row is needed
    """
    _, constants, needed = under
    return np.log(
        [row.predict(constants) if is_needed else 1.0 for row, is_needed in zip(rows, needed, strict=True)]
    )


def _rows_that_read(rows: Sequence[Anchored], constants: Calibration) -> dict[str, list[bool]]:
    """Return for each learned number whether the prediction of each row reads it: only then can it change."""
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
    """Return the value of a learned number in ``calibration.toml``."""
    known = before_fit()
    if "/" in name:
        return known.link_fraction[name.removeprefix("link/")]
    return float(getattr(known, name))
