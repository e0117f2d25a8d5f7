"""Values of rows by their source, so that sources weigh alike however many rows they have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import TypeVar

AnyNumber = TypeVar("AnyNumber", bound=float)


def by_source(values: Iterable[tuple[str, AnyNumber]]) -> dict[str, list[AnyNumber]]:
    """Return values by the name before each, a source or another category.

    >>> by_source([("a", 1), ("b", 2), ("a", 3)])
    {'a': [1, 3], 'b': [2]}
    """
    result: defaultdict[str, list[AnyNumber]] = defaultdict(list)
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


def quantile(values: Mapping[str, list[float]], share: float) -> float:
    """Return what a share of values does not exceed, every source alike.

    >>> quantile({"a": [1.0, 2.0], "b": [3.0]}, 0.8), quantile({"a": [1.0, 2.0, 3.0, 4.0], "b": [0.1]}, 0.75)
    (3.0, 2.0)
    """
    weighted = sorted((one, 1 / len(several)) for several in values.values() for one in several)
    seen = 0.0
    for one, weight in weighted:
        seen += weight / len(values)
        if seen >= share - 1e-9:
            return one
    return weighted[-1][0]
