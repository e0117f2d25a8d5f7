"""Bound of Dutta et al. on the error of each SGD variant against wall-clock time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.files.tables import Record, Table, aligned
from perfmodel.core.problem import Words
from perfmodel.core.units import show
from perfmodel.equations.sgd_variants import StragglerPrediction
from perfmodel.equations.wall_clock import ErrorBound, Objective, error_bound

SMOOTHNESS = 1.0
STRONG_CONVEXITY = 0.5
GRADIENT_VARIANCE = 10.0
LOCAL_BATCH_SIZE = 32
INITIAL_ERROR = 2.0
STALENESS_BOUND = 0.2
"""An example objective: constants of real networks are unknown, so only the curves' order has meaning."""
POINTS = 12


@dataclass(frozen=True)
class ErrorCurve:
    """The error bound of one variant over time."""

    variant: str
    floor: float
    """Limit of the bound after infinite time."""
    error: list[float]
    """Bound at each of the times."""


@dataclass(frozen=True, repr=False)
class ErrorCurves(Table):
    """Bounds on the error of several variants over a common span of time."""

    times: list[float]
    """[s]"""
    variants: list[ErrorCurve]
    note: str
    """Assumptions."""
    left_out: dict[str, str]
    """Variants without a known bound, or without one at this learning rate -> the reason."""

    def records(self) -> list[Record]:
        """Return a row for each time, with a column for each variant."""
        return [
            {"time": time, **{curve.variant: curve.error[i] for curve in self.variants}}
            for i, time in enumerate(self.times)
        ]

    def to_json(self) -> str:
        """Return the curves as JSON, as ``perfmodel stragglers --curve --json`` prints them."""
        return json.dumps(asdict(self))

    def __repr__(self) -> str:
        rows = [
            (show(time, "s"), *(f"{curve.error[i]:.3g}" for curve in self.variants))
            for i, time in enumerate(self.times)
        ]
        names = [curve.variant for curve in self.variants]
        return aligned(f"ErrorCurves: {self.note}", ("time", *names), rows, left=0)


def error_curves(predictions: Sequence[StragglerPrediction], learning_rate: float) -> ErrorCurves:
    """Return the error bounds of variants over a common span of time, and why others have none.

    Raises
    ------
    InputError : a learning rate that is not above 0 and at most 1; no variant with a bound
    """
    if not 0 < learning_rate <= 1:
        raise refusal("updates.learning_rate", learning_rate=learning_rate)
    objective = Objective(
        learning_rate,
        SMOOTHNESS,
        STRONG_CONVEXITY,
        GRADIENT_VARIANCE,
        LOCAL_BATCH_SIZE,
        INITIAL_ERROR,
        staleness_bound=STALENESS_BOUND,
    )
    bounds: dict[str, ErrorBound] = {}
    left_out: dict[str, str] = {}
    for row in predictions:
        try:
            bounds[row.variant] = error_bound(row, objective)
        except InputError as error:
            left_out[row.variant] = error.note()
    if not bounds:
        raise refusal("bound.no_curve", values=Words(next(iter(left_out.values()), "no variant to draw")))
    slowest = max(row.time_per_gradient for row in predictions if row.variant in bounds)
    times = np.geomspace(1, 10_000, POINTS) * slowest
    curves = [
        ErrorCurve(name, bound.floor, [float(each) for each in np.asarray(bound.at(times))])
        for name, bound in bounds.items()
    ]
    note = (
        f"bound for an example objective: L = {SMOOTHNESS:g}, c = {STRONG_CONVEXITY:g}, "
        f"variance {GRADIENT_VARIANCE:g} a sample, {LOCAL_BATCH_SIZE} samples a gradient, "
        f"error {INITIAL_ERROR:g} at 0; "
        f"stale gradients within {STALENESS_BOUND:g} of the fresh ones"
    )
    return ErrorCurves(times.tolist(), curves, note, left_out)
