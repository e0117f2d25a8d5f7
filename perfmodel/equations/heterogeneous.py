"""The k-th smallest time of workers with different distributions: a slow node, classes of machines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from perfmodel.core.errors import refusal
from perfmodel.equations.distribution import Distribution, Empirical
from perfmodel.equations.laws import require_scipy
from perfmodel.equations.quadrature import Array, Panels, survival_moments
from perfmodel.equations.special import log_gamma

LARGEST_MIXED = 20_000
"""Largest number of workers of different classes whose counts are convolved."""


@dataclass(frozen=True)
class Scaled(Distribution):
    """A distribution whose times are multiplied by a factor, such as that of a slower machine."""

    factor: float
    """Factor on every time."""

    @cached_property
    def mean(self) -> float:
        """The mean."""
        return self.factor * super().mean

    @cached_property
    def variance(self) -> float:
        """The variance."""
        return self.factor**2 * super().variance

    def at_logit(self, z: Any) -> Array:
        """Return the quantiles at u = 1 / (1 + e^-z), same shape as z."""
        return self.factor * super().at_logit(z)

    def survival(self, t: Any) -> Array:
        """Return P(X > t), same shape as t."""
        return super().survival(t / self.factor)

    def cdf(self, t: Any) -> Array:
        """Return P(X <= t), same shape as t."""
        return super().cdf(t / self.factor)

    @property
    def lower(self) -> float:
        """The smallest possible value."""
        return self.factor * super().lower

    @property
    def upper(self) -> float:
        """The largest possible value."""
        return self.factor * super().upper

    @cached_property
    def atoms(self) -> tuple[tuple[float, float], ...]:
        """Value and probability of every possible value, ascending."""
        return tuple((self.factor * value, chance) for value, chance in super().atoms)


def slowest_of_kinds(kinds: Sequence[tuple[float, int]], law: Distribution | None) -> float:
    """Return the mean time of the slowest of all workers, of classes with different means and one law [s].

    Parameters
    ----------
    kinds : for each class the mean time of one worker [s], and its number of workers
    law : of one worker's time, in any unit; None if times do not vary

    Raises
    ------
    InputError : the law has no mean of the slowest worker

    Examples
    --------
    Without variation the slower class determines the time.  Two exponential workers of means 1 and 2 take
    1 + 2 - 1 / (1 + 0.5).

    >>> slowest_of_kinds([(1.0, 8), (2.0, 4)], None)
    2.0
    >>> law = Distribution("exponential", (1.0,))
    >>> round(slowest_of_kinds([(1.0, 1), (2.0, 1)], law), 9)
    2.333333333
    """
    if law is None:
        return max(time for time, _ in kinds)
    classes = [(_scaled(law, time / law.mean), count) for time, count in kinds]
    return heterogeneous_order_statistic(classes, sum(count for _, count in kinds))[0]


def _scaled(law: Distribution, factor: float) -> Distribution:
    """Return a distribution whose times are multiplied by a factor."""
    if isinstance(law, Empirical):
        return replace(law, sample=tuple(factor * time for time in law.sample))
    return Scaled(law.name, law.values, factor)


def at_least(above: Array, k: float, n: float) -> Array:
    """Return P(X_(k:n) > t), that fewer than k of n have finished, from ``above`` = P(X > t)."""
    import numpy as np

    if k == n:
        with np.errstate(divide="ignore"):
            return -np.expm1(n * np.log1p(-above))
    if k == 1:
        return above**n
    return require_scipy("an order statistic between the first and the last of a sample").betainc(
        n - k + 1, k, above
    )


def heterogeneous_order_statistic(
    classes: Sequence[tuple[Distribution, int]], order: int
) -> tuple[float, float]:
    """Return mean and variance of the k-th smallest time of workers of different classes.

    The number of workers that have finished at time t is a sum of binomial numbers, one for each class; its
    distribution function is integrated over t on panels between quantiles.  Relative error about 1e-10.

    Parameters
    ----------
    classes : law and number of workers of each class; one slow node is a class of one
    order : k, in 1..the number of workers

    Raises
    ------
    InputError : no worker, a count below 1, k out of range, or a mean that does not exist

    Examples
    --------
    Two exponential workers, one twice as slow: 1 + 2 - 1 / (1 + 0.5), by inclusion and exclusion.

    >>> quick, slow = Distribution("exponential", (1.0,)), Distribution("exponential", (0.5,))
    >>> round(heterogeneous_order_statistic([(quick, 1), (slow, 1)], 2)[0], 10)
    2.3333333333
    """
    workers = sum(count for _, count in classes)
    if any(count < 1 or count != int(count) for _, count in classes) or not 1 <= order <= workers:
        raise refusal("order_statistic.classes", order=order, value=[count for _, count in classes])
    exponent = _tail_exponent(classes, workers - order + 1)
    if exponent <= 1:
        raise refusal(
            "order_statistic.no_mean_of_classes",
            order=order,
            workers=workers,
            heaviest=workers - order + 1,
            exponent=exponent,
        )
    panels = order_panels(classes, order)
    mean, variance = survival_moments(panels, still_waiting(classes, order, panels.nodes))
    return mean, variance if exponent > 2 else math.inf


def _tail_exponent(classes: Sequence[tuple[Distribution, int]], late: int) -> float:
    """Return the power of 1/t with which P(the ``late`` slowest workers all exceed t) decreases."""
    exponent, missing = 0.0, late
    for law, count in sorted(classes, key=lambda pair: pair[0].tail_exponent):
        taken = min(count, missing)
        missing -= taken
        exponent += taken * law.tail_exponent if taken else 0.0
    return exponent


def still_waiting(classes: Sequence[tuple[Distribution, int]], order: int, t: Array) -> Array:
    """Return P(fewer than k workers have finished at t), same shape as t."""
    running = [law.survival(t) for law, _ in classes]
    workers = [count for _, count in classes]
    if order in (1, sum(workers)):  # only who still runs is counted
        return fewer_done(list(zip(running, running, workers, strict=True)), order)
    done = [law.cdf(t) for law, _ in classes]
    return fewer_done(list(zip(running, done, workers, strict=True)), order)


def fewer_done(classes: Sequence[tuple[Array, Array, int]], order: int) -> Array:
    """Return P(fewer than k workers have finished).

    Parameters
    ----------
    classes : for each class the probabilities that a worker runs and that it has finished, and its size; of
        the first and of the last worker only the former is read
    order : k
    """
    import numpy as np

    workers = sum(count for _, _, count in classes)
    if order == workers:
        with np.errstate(divide="ignore"):
            return -np.expm1(sum(count * np.log1p(-running) for running, _, count in classes))
    if order == 1:
        product: Array = np.prod([running**count for running, _, count in classes], axis=0)
        return product
    if len(classes) == 1:
        return at_least(classes[0][0], order, workers)
    if workers > LARGEST_MIXED:
        raise refusal("order_statistic.too_many", order=order, workers=workers, largest_mixed=LARGEST_MIXED)
    shape = classes[0][0].shape
    total = np.ones((1, classes[0][0].size))
    for running, done, count in classes:
        total = _convolve(total, _binomial(running.ravel(), done.ravel(), count, order), order)
    return np.minimum(total.sum(axis=0), 1.0).reshape(shape)


def _binomial(running: Array, done: Array, count: int, terms: int) -> Array:
    """Return P(j of ``count`` workers have finished) for j below ``terms``, shape (j, points)."""
    import numpy as np

    j = np.arange(min(terms, count + 1), dtype=np.float64)[:, None]
    log_choose = log_gamma(np.array(count + 1.0)) - log_gamma(j + 1) - log_gamma(count - j + 1)
    tiny = 1e-300
    log_done, log_running = np.log(np.maximum(done, tiny)), np.log(np.maximum(running, tiny))
    return np.exp(log_choose + j * log_done + (count - j) * log_running)


def _convolve(a: Array, b: Array, terms: int) -> Array:
    """Return the distribution of the sum of two counts, of which only values below ``terms`` are kept."""
    import numpy as np

    short, long = (a, b) if len(a) <= len(b) else (b, a)
    result = np.zeros((min(terms, len(a) + len(b) - 1), a.shape[1]))
    for j, row in enumerate(short[: len(result)]):
        width = min(len(long), len(result) - j)
        result[j : j + width] += row * long[:width]
    return result


def order_panels(classes: Sequence[tuple[Distribution, int]], order: int) -> Panels:
    """Return integration panels over the times at which the k-th of all workers may finish.

    Their edges are quantiles and kinks of the classes; an interval in which the probability changes by more
    than a factor e^2 is halved.
    """
    import numpy as np

    workers = sum(count for _, count in classes)
    exponent = _tail_exponent(classes, workers - order + 1)
    reach = math.log(workers) + 60.0
    if math.isfinite(exponent):
        reach = min(690.0, reach + 40 * exponent / (exponent - (2 if exponent > 2 else 1)))
    grid = np.linspace(-math.log(workers) - 45.0, reach, int(reach / 2) + 30)
    edges = np.unique(np.concatenate([law.at_logit(grid) for law, _ in classes]))
    edges = _relevant(edges, still_waiting(classes, order, edges), exponent)
    kinks = np.array([x for law, _ in classes for x in law.kinks if edges[0] < x < edges[-1]])
    edges = np.unique(np.concatenate([edges, kinks]))
    waiting = np.minimum(still_waiting(classes, order, edges), 1.0)
    for _ in range(60):
        change = np.maximum(
            np.abs(np.diff(np.log(waiting + 1e-24))), np.abs(np.diff(np.log(1.0 - waiting + 1e-17)))
        )
        wide = (change > 2.0) & (np.diff(edges) > 1e-9 * np.abs(edges[1:]))
        if not wide.any():
            break
        middles, places = (edges[:-1] + edges[1:])[wide] / 2, np.flatnonzero(wide) + 1
        edges = np.insert(edges, places, middles)
        waiting = np.insert(waiting, places, np.minimum(still_waiting(classes, order, middles), 1.0))
    return Panels(_relevant(edges, waiting, exponent).tolist())


def _relevant(edges: Array, waiting: Array, exponent: float) -> Array:
    """Return the edges from the last with probability 1 to the first that contributes to no moment."""
    import numpy as np

    settled = np.flatnonzero(waiting >= 1.0 - 1e-17)
    middle = edges[min(int(np.searchsorted(-waiting, -0.5)), len(edges) - 1)]
    size = np.abs(edges / middle) ** (2 if exponent > 2 else 1) if middle else 1.0
    gone = np.flatnonzero((waiting * size < 1e-20) & (edges > middle))
    return edges[settled[-1] if len(settled) else 0 : gone[0] + 1 if len(gone) else len(edges)]
