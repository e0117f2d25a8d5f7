"""Learn how much of their error two predictions share, from pairs of measured runs of one source.

The interval of a ratio of two times is narrower than that of each, because errors common to both cancel.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core.arrays import Array
from perfmodel.core.files.writing import write_whole
from perfmodel.equations.ratio import ratio_half_width
from perfmodel.evidence.accuracy.ratio_pairs import Pairs, difference_name, judged_runs, pairs_of
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.prediction.intervals.ratio import ALWAYS, COPIES, DISTANCES, RESULT, SHARED_OUT

ROUNDS = 150
"""Iterations of the fit; shares change by less than one per cent in the last."""
START = 0.05
"""Value of every share before the first iteration."""
ALONE = 4.0
"""Exponent of the weights in the fit: pairs that differ in one thing count most."""
MEAN_OVER_DEVIATION = 0.7978845608028654
"""Mean absolute value of a normal deviate over its standard deviation: the root of 2 / pi."""
FARTHEST = 3.0
"""Largest error of a ratio in standard deviations; one run that is far off is in many pairs."""
CONFIDENCE = 0.8
"""Share of measured ratios that intervals must contain."""


def weights(pairs: Pairs, power: float = 1.0) -> Array:
    """Return the weight of each pair, shape (pairs,).

    Every source has the same weight, which its sets of differences (such as accelerator and batch size)
    divide in proportion to 1 / size**power: users mostly change one thing, and pairs that differ in four say
    less about that.

    Parameters
    ----------
    pairs : of runs
    power : exponent of the number of differences
    """
    result = np.zeros(len(pairs.miss))
    for source in np.unique(pairs.sources):
        of = pairs.sources == source
        kinds, inverse, count = np.unique(pairs.differing[of], return_inverse=True, return_counts=True)
        share = np.array([1 / int(kind).bit_count() ** power for kind in kinds])
        result[of] = (share / share.sum() / count)[inverse]
    return result


def half_widths(pairs: Pairs, shares: Array) -> Array:
    """Return the half-width of the 80 % interval of each pair's ratio, in logarithms, shape (pairs,).

    Parameters
    ----------
    pairs : of runs
    shares : of the variance that the two errors do not have in common: ``ALWAYS``, then ``DISTANCES``
    """
    return np.asarray(ratio_half_width(pairs.one_half_width, pairs.other_half_width, _design(pairs) @ shares))


def _design(pairs: Pairs) -> Array:
    """Return a column of ones and the distances of each pair, shape (pairs, 1 + distances)."""
    return np.column_stack([np.ones(len(pairs.miss)), pairs.apart])


def fit(pairs: Pairs) -> Array:
    """Return the shares of the error that two runs do not have in common: ``ALWAYS``, then ``DISTANCES``.

    The variance of a ratio is linear in the shares.  A multiplicative update, which keeps them positive,
    maximises the likelihood of the absolute errors of the ratios, whose mean is proportional to the standard
    deviation.  Then one factor on all shares makes the intervals hold 80 % of the pairs.

    Pairs that differ in one thing alone determine its share.  If pairs that differ in several things had
    their full weight, the intervals of pairs with two accelerators would hold 58 instead of 75 % of these (4
    sources).
    """
    weight = weights(pairs, ALONE)
    both = 2 * pairs.one_half_width * pairs.other_half_width
    design = _design(pairs) * both[:, None]
    fixed = (pairs.one_half_width - pairs.other_half_width) ** 2
    shares = np.full(design.shape[1], START)
    for _ in range(ROUNDS):
        deviation = np.sqrt(fixed + design @ shares) / NORMAL_80
        miss = np.minimum(pairs.miss, FARTHEST * deviation)
        missed = design.T @ (weight * miss / MEAN_OVER_DEVIATION / deviation**3)
        shares = shares * np.sqrt(missed / np.maximum(design.T @ (weight / deviation**2), 1e-300))
    return shares * _factor(pairs, shares, weights(pairs))


def _factor(pairs: Pairs, shares: Array, weight: Array) -> float:
    """Return the factor on all shares by which intervals hold 80 % of the weighted pairs, by bisection."""
    low, high = 0.02, 50.0
    for _ in range(40):
        middle = float(np.sqrt(low * high))
        held = pairs.miss <= half_widths(pairs, shares * middle)
        low, high = (middle, high) if weight @ held < CONFIDENCE * weight.sum() else (low, middle)
    return high


class Coverage(NamedTuple):
    """Share of measured ratios that 80 % intervals hold, each source with shares learned from the others."""

    kind: str
    differing: str
    """What the two runs of a pair differ in."""
    sources: int
    pairs: int
    covered: float
    """Share of the pairs, mean over sources."""
    median_miss: float
    """Median absolute error of the logarithm of the ratio."""
    median_half_width: float
    """Median half-width of the intervals, in logarithms."""
    independent_half_width: float
    """Median half-width that intervals would have if the two errors were independent."""


@cache
def coverages() -> tuple[Coverage, ...]:
    """Return the coverage of ratios out of sample, by kind of prediction and by what the pairs differ in."""
    result: list[Coverage] = []
    for kind, runs in judged_runs().items():
        pairs = pairs_of(runs)
        half = _half_widths_by_levels(pairs) if kind == SHARED_OUT else np.empty(len(pairs.miss))
        for source in np.unique(pairs.sources) if kind == COPIES else ():
            own = pairs.sources == source
            half[own] = half_widths(pairs.rows(own), fit(pairs.rows(~own)))
        names = np.array([difference_name(int(each)) for each in pairs.differing])
        result.append(_coverage(kind, "anything", pairs, half))
        result += [
            _coverage(kind, name, pairs.rows(of), half[of])
            for name in (*DISTANCES, "several")
            if (of := names == name).any()
        ]
    return tuple(result)


def _coverage(kind: str, differing: str, pairs: Pairs, half: Array) -> Coverage:
    """Return the coverage of pairs by intervals of the given half-widths, in logarithms."""
    held, weight = pairs.miss <= half, weights(pairs)
    return Coverage(
        kind,
        differing,
        len(np.unique(pairs.sources)),
        len(pairs.miss),
        float(weight @ held / weight.sum()),
        float(np.median(pairs.miss)),
        float(np.median(half)),
        float(np.median(np.hypot(pairs.one_half_width, pairs.other_half_width))),
    )


def _half_widths_by_levels(pairs: Pairs) -> Array:
    """Return the half-widths of 80 % intervals of ratios of transformers, in logarithms, shape (pairs,).

    The variance of the difference of the two errors comes from the levels of transformer errors.
    """
    both = 2 * pairs.one_half_width * pairs.other_half_width
    unshared = NORMAL_80**2 * pairs.variance / both
    return np.asarray(ratio_half_width(pairs.one_half_width, pairs.other_half_width, unshared))


def refit() -> None:
    """Fit the shares to the shipped data-parallel runs and write them to ``ratio.RESULT``."""
    shares = zip((ALWAYS, *DISTANCES), fit(pairs_of(judged_runs()[COPIES])), strict=True)
    unshared = {name: float(f"{share:.4g}") for name, share in shares}
    table: dict[str, Any] = {
        "made_by": "python -m perfmodel.evidence.accuracy.ratio_fit",
        "unshared": unshared,
    }
    write_whole(RESULT, json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    refit()
