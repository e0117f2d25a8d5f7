"""Means, quantiles and summaries in which every source has the same weight, however many rows it has."""

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
"""Share of measured values that 80 % intervals must contain."""

AnyKey = TypeVar("AnyKey", bound=Hashable)
AnyValue = TypeVar("AnyValue")


def by_source(values: Iterable[tuple[AnyKey, AnyValue]]) -> dict[AnyKey, list[AnyValue]]:
    """Group values by the source (or another category) that comes with each.

    >>> by_source([("a", 1), ("b", 2), ("a", 3)])
    {'a': [1, 3], 'b': [2]}
    """
    result: defaultdict[AnyKey, list[AnyValue]] = defaultdict(list)
    for source, value in values:
        result[source].append(value)
    return dict(result)


def mean_of_means(values: Iterable[tuple[str, float]]) -> float | None:
    """Return the mean over sources of the mean of each source; None if there are no values.

    >>> mean_of_means([("a", 0.1), ("a", 0.3), ("b", 0.4)]), mean_of_means([])
    (0.30000000000000004, None)
    """
    means = [fmean(of) for of in by_source(values).values()]
    return fmean(means) if means else None


def rows_of_source(sources: Names) -> Array:
    """Return for each row the number of rows that its source has, shape (rows,)."""
    _, source, count = np.unique(sources, return_inverse=True, return_counts=True)
    return np.asarray(count[source], float)


def weighted_quantile(values: Array, weights: Array, share: float) -> float:
    """Return the least value such that the values up to it have at least ``share`` of the total weight."""
    order = np.argsort(values)
    below = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][min(int(np.searchsorted(below, share)), len(values) - 1)])


def quantile(values: Mapping[Any, Sequence[float]], share: float) -> float:
    """Return the quantile of values by source at ``share``, every source with the same weight.

    >>> quantile({"a": [1.0, 2.0], "b": [3.0]}, 0.8), quantile({"a": [1.0, 2.0, 3.0, 4.0], "b": [0.1]}, 0.75)
    (3.0, 2.0)
    """
    counts = [len(of) for of in values.values()]
    weights = np.repeat(1 / np.array(counts), counts)
    return weighted_quantile(np.concatenate([*values.values()]), weights, share - 1e-9)


def covering(misses: Array, sources: Names, share: float = COVERED) -> float:
    """Return the standard deviation of a normal law whose 80 % interval holds ``share`` of the errors.

    Parameters
    ----------
    misses : absolute errors, shape (rows,); every source has the same weight
    sources : of each row
    share : of the errors
    """
    return weighted_quantile(misses, 1 / rows_of_source(sources), share) / NORMAL_80


class JudgedRow(NamedTuple):
    """The error of a measured row that was predicted by a fit without it, and the widths of its intervals."""

    id: str
    category: str
    """Category that the fit leaves out together with the row; its source if one fit predicts all rows."""
    error: float
    """ln(measured / predicted)."""
    half_80: float
    """Half-width of its 80 % interval, in the logarithm of the time."""
    half_95: float
    """Half-width of its 95 % interval, in the logarithm of the time."""

    @property
    def score(self) -> float:
        """Interval score of the 80 % interval of the logarithm of the time (Winkler 1972).

        It is the width of the interval, plus ten times the distance by which the measured value lies outside.
        With half-width 0.25 and an error of 0.5: 0.5, plus ten times 0.25.

        >>> round(JudgedRow("", "", 0.5, 0.25, 0.4).score, 6)
        3.0
        """
        return 2 * self.half_80 + 2 / (1 - COVERED) * max(0.0, abs(self.error) - self.half_80)


class Summary(NamedTuple):
    """Coverage and errors of the predictions of one kind of measured rows; None if there are no rows."""

    kind: str
    by: str
    """Version that predicts, ``now`` or an earlier one; in a learning curve the number of runs given."""
    categories: int
    """Number of categories left out, each in turn; in tests by year and by size the sources of the judged
    rows."""
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
    """Return coverage and errors of rows: as means over rows, and as means over categories of their means.

    Parameters
    ----------
    kind : kind of the measured rows, a label
    by : version that predicts, a label
    rows : predicted rows
    """
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
