"""Learn how much of their error two predictions share, from pairs of measured runs of one source."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core.arrays import Array
from perfmodel.core.files.writing import write_whole
from perfmodel.equations.ratio import ratio_half_width
from perfmodel.evidence.accuracy.ratio_pairs import Pairs, judged_runs, named, pairs_of
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.prediction.intervals.ratio import ALWAYS, COPIES, DISTANCES, RESULT, SHARED_OUT

ROUNDS = 150
"""Of the fit; shares move by less than a hundredth in the last."""
START = 0.05
ALONE = 4.0
"""Power of the weight of pairs that shares are fitted to: those that differ in one thing count most."""
MEAN_OVER_DEVIATION = 0.7978845608028654
"""Mean size of a normal deviate over its standard deviation: the root of 2 / pi."""
CONFIDENCE = 0.8


def weights(pairs: Pairs, power: float = 1.0) -> Array:
    """Return the weight of each pair: sources alike, in each every set of differences by its size.

    People change one thing: pairs that differ in four things say a quarter as much of that.

    Parameters
    ----------
    pairs : of runs
    power : of one over the size that a set weighs
    """
    result = np.zeros(len(pairs.miss))
    for source in np.unique(pairs.sources):
        of = pairs.sources == source
        kinds, inverse, count = np.unique(pairs.differing[of], return_inverse=True, return_counts=True)
        share = np.array([1 / int(kind).bit_count() ** power for kind in kinds])
        result[of] = (share / share.sum() / count)[inverse]
    return result


def half_widths(pairs: Pairs, shares: Array) -> Array:
    """Return half the 80 % interval of each pair's ratio as a logarithm, shape (pairs,)."""
    return np.asarray(ratio_half_width(pairs.one_half_width, pairs.other_half_width, _design(pairs) @ shares))


def _design(pairs: Pairs) -> Array:
    return np.column_stack([np.ones(len(pairs.miss)), pairs.apart])


def fit(pairs: Pairs) -> Array:
    """Return the shares of the error that differences take away: ``ALWAYS``, then ``DISTANCES``.

    The variance of a ratio is linear in them.  They are those under which sizes of misses are likeliest, of
    laws whose mean size is in proportion to the deviation, found by a multiplicative step that keeps them
    above 0; then one factor on all makes the intervals hold 80 % of the pairs.

    What a difference takes away, pairs that differ in it alone say: with those that differ in several things
    at their full weight, intervals of two accelerators hold 58 % of the pairs (4 sources), so 75 %.
    """
    weight = weights(pairs, ALONE)
    both = 2 * pairs.one_half_width * pairs.other_half_width
    design = _design(pairs) * both[:, None]
    fixed = (pairs.one_half_width - pairs.other_half_width) ** 2
    shares = np.full(design.shape[1], START)
    for _ in range(ROUNDS):
        deviation = np.sqrt(fixed + design @ shares) / NORMAL_80
        missed = design.T @ (weight * pairs.miss / MEAN_OVER_DEVIATION / deviation**3)
        shares = shares * np.sqrt(missed / np.maximum(design.T @ (weight / deviation**2), 1e-300))
    return shares * _factor(pairs, shares, weights(pairs))


def _factor(pairs: Pairs, shares: Array, weight: Array) -> float:
    low, high = 0.02, 50.0
    for _ in range(40):
        middle = float(np.sqrt(low * high))
        held = pairs.miss <= half_widths(pairs, shares * middle)
        low, high = (middle, high) if weight @ held < CONFIDENCE * weight.sum() else (low, middle)
    return high


class Coverage(NamedTuple):
    """How many measured ratios the 80 % intervals hold, each source by shares learned of the others."""

    kind: str
    differing: str
    """What the pairs differ in."""
    sources: int
    pairs: int
    covered: float
    """Mean over sources."""
    median_miss: float
    """Of the logarithm of the ratio, as all medians here over pairs."""
    median_half_width: float
    independent_half_width: float
    """Were the two predictions independent."""


@cache
def coverages() -> tuple[Coverage, ...]:
    """Return the coverage of ratios out of sample, by kind of prediction and by what the pairs differ in."""
    result: list[Coverage] = []
    for kind, runs in judged_runs().items():
        pairs = pairs_of(runs)
        half = by_levels(pairs) if kind == SHARED_OUT else np.empty(len(pairs.miss))
        for source in np.unique(pairs.sources) if kind == COPIES else ():
            own = pairs.sources == source
            half[own] = half_widths(pairs.rows(own), fit(pairs.rows(~own)))
        names = np.array([named(int(each)) for each in pairs.differing])
        result.append(_coverage(kind, "anything", pairs, half))
        result += [
            _coverage(kind, name, pairs.rows(of), half[of])
            for name in (*DISTANCES, "several")
            if (of := names == name).any()
        ]
    return tuple(result)


def _coverage(kind: str, differing: str, pairs: Pairs, half: Array) -> Coverage:
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


def by_levels(pairs: Pairs) -> Array:
    """Return half the 80 % interval of the ratio of each pair of transformers as a logarithm."""
    both = 2 * pairs.one_half_width * pairs.other_half_width
    unshared = NORMAL_80**2 * pairs.variance / both
    return np.asarray(ratio_half_width(pairs.one_half_width, pairs.other_half_width, unshared))


def refit() -> None:
    """Fit to the shipped runs of copies; write the result, whole or not at all."""
    shares = zip((ALWAYS, *DISTANCES), fit(pairs_of(judged_runs()[COPIES])), strict=True)
    unshared = {name: float(f"{share:.4g}") for name, share in shares}
    table: dict[str, Any] = {
        "made_by": "python -m perfmodel.evidence.accuracy.ratio_fit",
        "unshared": unshared,
    }
    write_whole(RESULT, json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    refit()
