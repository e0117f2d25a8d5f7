"""Learn the width of intervals from the errors on sources left out of a fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from perfmodel.core.arrays import Array
from perfmodel.core.least_squares import newton
from perfmodel.evidence.accuracy.by_source import weighted_quantile
from perfmodel.model.fitted.calibration import Spread
from perfmodel.model.prediction.intervals.widening import OPEN

SOURCE_POWER = -0.25
"""A row weighs its source's number of rows to this power: between all rows alike (0) and all sources (-1)."""
PENALTY = 8.0
"""On the square of each condition's weight, in rows."""
FARTHEST = 4.0
"""Residual, in scales, from which a miss's influence stops growing (Huber)."""
LEAST = {
    "unseen accelerator": 0.10,
    "unseen architecture": 0.35,
    "unseen network": 0.15,
    "unseen link": 0.35,
    "unseen software": 0.15,
    "beyond world size": 0.10,
    "beyond batch": 0.10,
}
"""What a condition widens at the least, in the logarithm of the scale, whatever was learned: runs that
happened to be well predicted under some unseen condition do not vouch for all others.  An effect of an
architecture has a prior of 0.15 beside errors of 0.15, so that without it both together are ln(sqrt 2) =
0.35 wider; that of a network, 0.1, makes it 0.18, and we take a little less.  A link is given as much as an
architecture, software as much as a network, and another card of a known architecture 0.1, as is each factor
e beyond the largest job and the batches that were measured."""
FARTHER_WEIGHT = 0.5
"""Of a row missed with its whole architecture left out, beside one with its source left out."""
SHARES = {"quantile_80": 0.82, "quantile_95": 0.957}
"""Where the quantiles are read, a little beyond their names: the scale was fitted to these misses."""
NOTHING = 1e-6
"""Smaller weights are rounding of zero, as of a condition that holds for every run, which
``always`` already describes."""


class Miss(NamedTuple):
    """One run of an unseen source, and its prediction error."""

    source: str
    error: float
    """ln(predicted / measured)."""
    strengths: dict[str, float]
    """Strength of each condition that can widen an interval."""


def learn_spread(misses: Sequence[Miss], farther: Sequence[Miss] = ()) -> Spread:
    """Return the conditions' weights and the quantiles of the misses.

    The scale of the error is the exponential of a weighted sum of the conditions, fitted as that of a Laplace
    law; no condition may narrow it, and those in ``LEAST`` widen it by that much.

    Parameters
    ----------
    misses : of runs whose source was left out
    farther : of runs with more than their source left out; they tell of the weights, not of the quantiles
    """
    rows = [*misses, *farther]
    names = [name for name in rows[0].strengths if name != OPEN]
    strength = np.array([[miss.strengths[name] for name in names] for miss in rows])
    error = np.abs([miss.error for miss in rows])
    counts = Counter(miss.source for miss in misses)
    weights = np.array([max(counts[miss.source], 1) ** SOURCE_POWER for miss in rows])
    own = np.arange(len(rows)) < len(misses)
    weights *= np.where(own, 1.0, FARTHER_WEIGHT) / weights[own].mean()
    least = np.array([LEAST.get(name, 0.0) for name in names])
    learned = _scale(strength, error, weights, least, free=names.index("always"))
    scaled = (error / np.exp(strength @ learned))[own]
    quantiles = {name: weighted_quantile(scaled, weights[own], share) for name, share in SHARES.items()}
    weight_of = {name: weight for name, weight in zip(names, learned, strict=True) if abs(weight) > NOTHING}
    return Spread(
        {name: float(f"{weight:.4g}") for name, weight in weight_of.items()},
        **{name: float(f"{value:.4g}") for name, value in quantiles.items()},
    )


def _scale(strength: Array, error: Array, weights: Array, least: Array, free: int) -> Array:
    """Weights of the conditions in the logarithm of the scale; only that of ``always`` may be negative."""
    start = least.copy()
    start[free] = np.log(error.mean())
    penalty = np.full(len(start), PENALTY)
    penalty[free] = 1e-6
    pulled = np.arange(len(start)) != free

    def derivatives(learned: Array) -> tuple[Array, Array]:
        ratio = np.minimum(error / np.exp(strength @ learned), FARTHEST)
        gradient = strength.T @ (weights * (1 - ratio)) + penalty * (learned - least) * pulled
        curved = (strength * (weights * np.maximum(ratio, 0.2))[:, None]).T @ strength + np.diag(penalty)
        return gradient, curved

    return newton(derivatives, start, least=np.where(pulled, least, -np.inf), converged=0.0)
