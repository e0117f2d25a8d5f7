"""Update times of workers that start a new gradient as soon as one is finished, by renewal theory."""

from __future__ import annotations

import math

from perfmodel.core.errors import refusal
from perfmodel.equations.distribution import Distribution
from perfmodel.equations.heterogeneous import fewer_done, order_panels
from perfmodel.equations.quadrature import Array, Panels

LATTICE_POINTS = 4096
"""Initial number of lattice points for a law without closed sums; the error of a mean is of second order."""
_LARGEST_LATTICE = 1 << 22
"""Largest product of lattice points and counts up to which the lattice is refined."""
LARGEST_COUNT = 128
"""Largest number of gradients in one update for which counts are convolved."""


def lattice(distribution: Distribution, step: float, points: int) -> Array:
    """Return the probabilities that a time, in multiples of ``step``, is 0 to ``points`` - 1 steps."""
    import numpy as np

    borders = distribution.cdf(np.arange(-0.5, points + 0.5) * step)
    borders[0] = 0.0
    return np.diff(borders)


def _counts_on_lattice(first: Array, later: Array, terms: int) -> Array:
    """Return P(exactly j renewals by each lattice time) for j < ``terms``; the first interval may differ."""
    import numpy as np

    points = len(first)
    transform = np.fft.rfft(later, 2 * points)
    reached, interval_sum = [np.ones(points)], first
    for _ in range(terms):
        reached.append(np.minimum(np.cumsum(interval_sum), 1.0))
        interval_sum = np.fft.irfft(np.fft.rfft(interval_sum, 2 * points) * transform, 2 * points)[:points]
    return -np.diff(np.array(reached), axis=0)


def _counts_of_erlang(shift: float, rate: float, t: Array, terms: int) -> Array:
    """Return P(exactly j renewals by t) for shifted exponential intervals, whose sums are Erlang."""
    import numpy as np

    reached = [np.ones(t.shape)]
    for j in range(1, terms + 1):
        x = rate * np.maximum(t - j * shift, 0.0)
        term, below = np.exp(-x), np.exp(-x)
        for i in range(1, j):
            term = term * x / i
            below = below + term
        reached.append(np.maximum(1.0 - below, 0.0))
    return np.maximum(-np.diff(np.array(reached), axis=0), 0.0)


def _multiply(a: Array, b: Array) -> Array:
    """Return the product of two polynomials with one row per power, truncated at their length."""
    import numpy as np

    product = np.zeros_like(a)
    for power, row in enumerate(a):
        product[power:] += row * b[: len(b) - power]
    return product


def _all_workers(counts: Array, workers: int) -> Array:
    """Return the distribution of the sum of independent counts of all workers, truncated at its length."""
    import numpy as np

    total = np.zeros_like(counts)
    total[0] = 1.0
    base, left = counts, workers
    while left:
        if left & 1:
            total = _multiply(total, base)
        left >>= 1
        if left:
            base = _multiply(base, base)
    return total


def batch_sync_time(distribution: Distribution, workers: int, gradients: int) -> tuple[float, float]:
    """Return the mean time in which workers that start together compute K gradients, repeats allowed.

    .. math:: E[T] = \\int_0^\\infty P\\Big(\\sum_i N_i(t) \\le K - 1\\Big) dt

    It has a closed form for exponential times and an integral over Erlang counts for shifted exponential
    ones.  For other laws it is computed on a lattice of times, which is refined until halving its step
    changes the mean by less than 1e-5, and extrapolated.

    Parameters
    ----------
    distribution : of the time for one gradient
    workers : P
    gradients : K, at most ``LARGEST_COUNT``

    Returns
    -------
    time [s], and its relative change at the last refinement (0 without a lattice)

    Raises
    ------
    InputError : K above ``LARGEST_COUNT``

    Examples
    --------
    Eight workers at one gradient per second make four in half a second.

    >>> batch_sync_time(Distribution("exponential", (1.0,)), 8, 4)
    (0.5, 0.0)
    """
    if distribution.name == "exponential":
        return gradients / (workers * distribution.values[0]), 0.0
    if gradients > LARGEST_COUNT:
        raise refusal(
            "updates.convolved", gradients=gradients, distribution=distribution, largest_count=LARGEST_COUNT
        )
    if distribution.name == "shifted-exponential":
        shift, rate = distribution.values
        return _batch_sync_by_erlang(shift, rate, workers, gradients), 0.0
    horizon, points = _horizon(distribution, workers, gradients), LATTICE_POINTS
    while (coarse := _batch_sync_on_lattice(distribution, workers, gradients, horizon, points))[1] > 1e-9:
        horizon *= 1.5
    time = coarse[0]
    while True:
        points *= 2
        last, time = time, _batch_sync_on_lattice(distribution, workers, gradients, horizon, points)[0]
        change = abs(time / last - 1)
        if change < 1e-5 or 2 * points * gradients > _LARGEST_LATTICE:
            return (4 * time - last) / 3, change


def _batch_sync_by_erlang(shift: float, rate: float, workers: int, gradients: int) -> float:
    import numpy as np

    horizon = (shift + 1 / rate) * (1.0 + 2.0 * gradients / workers)
    while True:
        kinks = [j * shift for j in range(gradients + 1) if j * shift < horizon]
        panels = Panels([*np.linspace(0.0, horizon, 100).tolist(), *kinks])
        counts = _counts_of_erlang(shift, rate, panels.nodes.ravel(), gradients)
        waiting = _all_workers(counts, workers).sum(axis=0)
        if waiting[-1] < 1e-15:
            return panels.integral(waiting.reshape(panels.nodes.shape))
        horizon *= 1.5


def _batch_sync_on_lattice(
    distribution: Distribution, workers: int, gradients: int, horizon: float, points: int
) -> tuple[float, float]:
    """Return the mean time [s], and the probability that the time exceeds the horizon."""
    intervals = lattice(distribution, horizon / points, points)
    waiting = _all_workers(_counts_on_lattice(intervals, intervals, gradients), workers).sum(axis=0)
    return float(horizon / points * waiting.sum()), float(waiting[-1])


def _horizon(distribution: Distribution, workers: int, gradients: int) -> float:
    """Return a time by which the gradients have probably arrived [s], a start for refinement."""
    mean = distribution.mean if math.isfinite(distribution.mean) else 2 * distribution.lower
    return mean * (1.0 + 2.0 * gradients / workers)


def _panels_from_zero(distribution: Distribution, workers: int, order: int) -> Panels:
    """Return panels from time 0 that resolve one worker's time and that of the k-th of all workers."""
    one = order_panels([(distribution, 1)], 1).edges
    many = order_panels([(distribution, workers)], order).edges
    # the shortest remaining time among many workers is about the mean divided by their number
    first = (distribution.mean * 2.0**-halving for halving in range(workers.bit_length() + 5))
    return Panels(sorted({0.0, *first, *(edge for edge in (*one, *many) if edge > 0)}))


def k_async_estimate(distribution: Distribution, workers: int, gradients: int) -> tuple[float, float]:
    """Return mean time per update and share of fresh gradients of K-async SGD, with independent late workers.

    At each update K workers start a new gradient.  The other P - K are assumed to be in equilibrium: their
    remaining time has the survival function 1 - integral of P(X > t) / E[X].  The result is exact for one
    gradient (async), for all (sync) and for exponential times.  Otherwise it is too long: by up to a quarter
    if times vary widely, and by a factor of up to 1.8 if they hardly vary, because late workers then started
    together (see ``sgd_variants``).  More than ``LARGEST_COUNT`` gradients are replaced by that many of
    proportionally fewer workers, within 1 %.

    Parameters
    ----------
    distribution : of the time for one gradient
    workers : P
    gradients : K, at most P

    Returns
    -------
    update time [s], share of gradients computed on the newest parameters [1]

    Examples
    --------
    Exponential times: half of eight workers need 1/8 + 1/7 + 1/6 + 1/5, and half the gradients are fresh.

    >>> [round(x, 9) for x in k_async_estimate(Distribution("exponential", (1.0,)), 8, 4)]
    [0.63452381, 0.5]
    """
    import numpy as np

    late = workers - gradients
    if gradients > LARGEST_COUNT and late:
        fewer = max(LARGEST_COUNT + 1, round(workers * LARGEST_COUNT / gradients))
        return k_async_estimate(distribution, fewer, LARGEST_COUNT)
    panels = _panels_from_zero(distribution, workers, gradients)
    running, done = distribution.survival(panels.nodes), distribution.cdf(panels.nodes)
    left = np.clip(panels.integral_to_end(running) / distribution.mean, 0.0, 1.0)
    fresh, old = (running, done, gradients), (left, 1.0 - left)
    groups = [fresh] if late == 0 else [fresh, (*old, late)]
    update_time = panels.integral(fewer_done(groups, gradients))
    if late == 0:
        return update_time, 1.0
    # a late worker contributes when it finishes, at rate P(X > t) / E[X], if fewer than K others finished
    # before
    others = [fresh] if late == 1 else [fresh, (*old, late - 1)]
    contributes = panels.integral(fewer_done(others, gradients) * running) / distribution.mean
    return update_time, max(0.0, 1.0 - late / gradients * contributes)


def batch_async_fresh_fraction(distribution: Distribution, workers: int, gradients: int) -> float:
    """Return the share of fresh gradients of K-batch-async SGD, with start times independent of others.

    While a gradient is computed, N others arrive; it is fresh if they do not complete the current batch,
    which has the probability (K - N) / K.  Exact for exponential times.

    Parameters
    ----------
    distribution : of the time for one gradient
    workers : P
    gradients : K, at most ``LARGEST_COUNT``

    Returns
    -------
    share of gradients computed on the newest parameters [1]

    Raises
    ------
    InputError : K above ``LARGEST_COUNT``

    Examples
    --------
    The gradients of a single worker are always fresh.

    >>> batch_async_fresh_fraction(Distribution("uniform", (1.0, 2.0)), 1, 4)
    1.0
    """
    import numpy as np

    if workers == 1:
        return 1.0
    if gradients > LARGEST_COUNT:
        raise refusal(
            "updates.convolved", gradients=gradients, distribution=distribution, largest_count=LARGEST_COUNT
        )
    horizon = 2 * _horizon(distribution, workers, gradients)
    step = horizon / LATTICE_POINTS
    intervals = lattice(distribution, step, LATTICE_POINTS)
    # the next arrival of a worker at a random time: density P(X > t) / E[X]
    borders = np.concatenate([[0.0], (np.arange(LATTICE_POINTS) + 0.5) * step])
    middle = distribution.survival((borders[1:] + borders[:-1]) / 2)
    next_arrival = middle * np.diff(borders) / distribution.mean
    counts = _all_workers(_counts_on_lattice(next_arrival, intervals, gradients), workers - 1)
    chances = (gradients - np.arange(gradients)) / gradients
    return float(intervals @ (chances @ counts))
