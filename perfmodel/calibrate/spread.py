"""Learn how wide an interval must be from the misses on sources that a fit had not seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perfmodel.calibration import Spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

SOURCE_POWER = -0.25
"""A row weighs its source's number of rows to this power: between all rows alike (0) and all sources (-1)."""
PENALTY = 8.0
"""On the square of each condition's weight, in rows."""
FARTHEST = 4.0
"""A miss beyond so many scales pulls no harder."""
ITERATIONS = 60


class Miss(NamedTuple):
    """One run of an unseen source, and how far it was missed."""

    source: str
    error: float
    """ln(predicted / measured)."""
    doubts: dict[str, float]
    """Strength of each condition that can widen an interval."""


def learn_spread(misses: Sequence[Miss]) -> Spread:
    """Return the conditions' weights and the quantiles of the misses.

    The scale of the error is the exponential of a weighted sum of the conditions, fitted as that of a Laplace
    law; no condition may narrow it.
    """
    names = list(misses[0].doubts)
    strength = np.array([[miss.doubts[name] for name in names] for miss in misses])
    error = np.abs([miss.error for miss in misses])
    counts = Counter(miss.source for miss in misses)
    weights = np.array([counts[miss.source] ** SOURCE_POWER for miss in misses])
    weights /= weights.mean()
    learned = _scale(strength, error, weights, free=names.index("always"))
    scaled = error / np.exp(strength @ learned)
    return Spread(
        {name: float(f"{weight:.4g}") for name, weight in zip(names, learned, strict=True) if weight},
        float(f"{_quantile(scaled, weights, 0.80):.4g}"),
        float(f"{_quantile(scaled, weights, 0.95):.4g}"),
    )


def _scale(strength: Array, error: Array, weights: Array, free: int) -> Array:
    """Weights of the conditions in the logarithm of the scale; only that of ``always`` may be negative."""
    learned = np.zeros(strength.shape[1])
    learned[free] = np.log(error.mean())
    penalty = np.full(len(learned), PENALTY)
    penalty[free] = 1e-6
    pulled = np.arange(len(learned)) != free
    for _ in range(ITERATIONS):
        ratio = np.minimum(error / np.exp(strength @ learned), FARTHEST)
        gradient = strength.T @ (weights * (1 - ratio)) + penalty * learned * pulled
        curved = (strength * (weights * np.maximum(ratio, 0.2))[:, None]).T @ strength + np.diag(penalty)
        learned = learned - np.clip(np.linalg.solve(curved, gradient), -0.5, 0.5)
        learned[pulled] = np.maximum(learned[pulled], 0)
    return learned


def _quantile(values: Array, weights: Array, share: float) -> float:
    order = np.argsort(values)
    below = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][min(int(np.searchsorted(below, share)), len(values) - 1)])
