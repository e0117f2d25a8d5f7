"""Learn the width of intervals from errors on sources that a fit leaves out."""

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
"""The weight of a row is its source's number of rows to this power: 0 weighs rows, -1 weighs sources
alike."""
PENALTY = 8.0
"""Penalty on the square of each condition's weight, in rows."""
FARTHEST = 4.0
"""Error, in scales, from which its influence no longer grows (Huber)."""
LEAST = {
    "unseen accelerator": 0.10,
    "unseen architecture": 0.35,
    "unseen network": 0.15,
    "unseen link": 0.35,
    "unseen software": 0.15,
    "beyond world size": 0.10,
    "beyond batch": 0.10,
}
"""Condition -> least widening, in the logarithm of the scale, whatever is learned: good predictions of a few
runs under an unseen condition do not guarantee those of others.  The effect of an architecture has a prior
deviation of 0.15, as large as other errors, so that an unseen one widens both together by ln(sqrt 2) = 0.35;
that of a network, 0.1, widens by 0.18, and we take a little less.  A link has the value of an architecture,
software that of a network; another accelerator of a known architecture has 0.1, as has each factor e beyond
the largest job and the batches that were measured."""
FARTHER_WEIGHT = 0.5
"""Weight of an error with the whole architecture left out, relative to one with the source left out."""
SHARES = {"quantile_80": 0.82, "quantile_95": 0.957}
"""Quantile -> share at which it is taken; a little above its name, because the scale was fitted to the same
errors."""
NOTHING = 1e-6
"""Weights below this are rounding errors of 0, such as that of a condition that holds for every run:
``always`` describes it."""


class Miss(NamedTuple):
    """The error of one run by a fit without its source, and the conditions that may widen its interval."""

    source: str
    error: float
    """ln(predicted / measured)."""
    strengths: dict[str, float]
    """Condition -> strength."""


def learn_spread(misses: Sequence[Miss], farther: Sequence[Miss] = ()) -> Spread:
    """Return the weights of the conditions, and the quantiles of the scaled errors.

    The scale of an error is the exponential of a weighted sum of the conditions, fitted as that of a Laplace
    law.  No condition may narrow it, and those in ``LEAST`` widen it by at least that much.

    Parameters
    ----------
    misses : errors of runs whose source was left out
    farther : errors of runs with more than their source left out; they count for the weights, not the
        quantiles
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
    """Return the weights of the conditions in the logarithm of the scale, by penalised likelihood.

    Parameters
    ----------
    strength : of each condition, shape (rows, conditions)
    error : absolute errors, shape (rows,)
    weights : of the rows
    least : least weight of each condition
    free : index of ``always``, whose weight alone may be negative and has no penalty
    """
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
