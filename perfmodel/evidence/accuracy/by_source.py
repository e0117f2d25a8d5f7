"""Rows by source, so that sources weigh alike however many rows they have: means, quantiles, summaries."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Any, NamedTuple, TypeVar

import numpy as np

from perfmodel.core.arrays import Array, Names
from perfmodel.model.fitted.calibration import NORMAL_80

COVERED = 0.8
"""What intervals are to cover."""

AnyKey = TypeVar("AnyKey", bound=Hashable)
AnyValue = TypeVar("AnyValue")


def by_source(values: Iterable[tuple[AnyKey, AnyValue]]) -> dict[AnyKey, list[AnyValue]]:
    """Return values by the name before each, a source or another category.

    >>> by_source([("a", 1), ("b", 2), ("a", 3)])
    {'a': [1, 3], 'b': [2]}
    """
    result: defaultdict[AnyKey, list[AnyValue]] = defaultdict(list)
    for source, value in values:
        result[source].append(value)
    return dict(result)


def mean_of_means(values: Iterable[tuple[str, float]]) -> float | None:
    """Return the mean over sources of each source's mean, None of nothing.

    >>> mean_of_means([("a", 0.1), ("a", 0.3), ("b", 0.4)]), mean_of_means([])
    (0.30000000000000004, None)
    """
    means = [fmean(of) for of in by_source(values).values()]
    return fmean(means) if means else None


def rows_of_source(sources: Names) -> Array:
    """Return how many rows the source of each has, shape (rows,)."""
    _, source, count = np.unique(sources, return_inverse=True, return_counts=True)
    return np.asarray(count[source], float)


def weighted_quantile(values: Array, weights: Array, share: float) -> float:
    """Return the least of some values up to which a share of the weight lies."""
    order = np.argsort(values)
    below = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][min(int(np.searchsorted(below, share)), len(values) - 1)])


def quantile(values: Mapping[Any, Sequence[float]], share: float) -> float:
    """Return what a share of values does not exceed, every source alike.

    >>> quantile({"a": [1.0, 2.0], "b": [3.0]}, 0.8), quantile({"a": [1.0, 2.0, 3.0, 4.0], "b": [0.1]}, 0.75)
    (3.0, 2.0)
    """
    counts = [len(of) for of in values.values()]
    weights = np.repeat(1 / np.array(counts), counts)
    return weighted_quantile(np.concatenate([*values.values()]), weights, share - 1e-9)


def covering(misses: Array, sources: Names, share: float = COVERED) -> float:
    """Return the standard deviation of a normal law that covers 80 % of some misses, every source alike."""
    return weighted_quantile(misses, 1 / rows_of_source(sources), share) / NORMAL_80


class JudgedRow(NamedTuple):
    """A row that was predicted by what had not seen it."""

    id: str
    category: str
    """What it was left out with; its source where all are judged by one fit."""
    error: float
    """ln(measured / predicted)."""
    half_80: float
    """Half-width of its interval, in the logarithm of the time."""
    half_95: float

    @property
    def score(self) -> float:
        """Interval score of the logarithm of the time (Winkler 1972): width, and what lies outside.

        Half-width 0.25, missed by 0.5: 0.5 wide, and ten times the 0.25 beyond its end.

        >>> round(JudgedRow("", "", 0.5, 0.25, 0.4).score, 6)
        3.0
        """
        return 2 * self.half_80 + 2 / (1 - COVERED) * max(0.0, abs(self.error) - self.half_80)


class Summary(NamedTuple):
    """What was judged of one kind of rows; None where there is none."""

    kind: str
    by: str
    """The version that predicts, ``now`` or an earlier one; of a learning curve how many runs are given."""
    categories: int
    """Left out, each in its turn; of years and sizes the sources whose rows are judged."""
    rows: int
    coverage_80: float | None
    coverage_80_over_categories: float | None
    coverage_95: float | None
    coverage_95_over_categories: float | None
    mean_error: float | None
    """Mean of abs(predicted / measured - 1)."""
    median_error: float | None
    error_over_categories: float | None
    half_width: float | None
    """Median half-width of 80 % intervals, in the logarithm of the time."""
    score: float | None
    """Mean over categories of the interval score."""


def summarise(kind: str, by: str, rows: Sequence[JudgedRow]) -> Summary:
    """Return what is said of rows, by row and every category alike."""
    if not rows:
        return Summary(kind, by, 0, 0, *[None] * 9)
    categories = [row.category for row in rows]
    held_80 = [abs(row.error) <= row.half_80 for row in rows]
    held_95 = [abs(row.error) <= row.half_95 for row in rows]
    off = [abs(math.expm1(-row.error)) for row in rows]

    def over_categories(values: Sequence[float]) -> float | None:
        return mean_of_means(zip(categories, values, strict=True))

    return Summary(
        kind,
        by,
        len(set(categories)),
        len(rows),
        fmean(held_80),
        over_categories(held_80),
        fmean(held_95),
        over_categories(held_95),
        fmean(off),
        median(off),
        over_categories(off),
        median(row.half_80 for row in rows),
        over_categories([row.score for row in rows]),
    )
