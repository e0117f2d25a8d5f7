"""Errors of one listing of a collective over message sizes: neighbouring sizes err together.

The interval of each size says how far a prediction may be off; a listing has many sizes, which share most
of their error.  The error at a size is its spread times a Gaussian process of the size's logarithm, so
that what is measured at some sizes narrows the prediction at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core.arrays import Array
from perfmodel.model.collectives.model import Fitted, fitted
from perfmodel.model.collectives.place import Point
from perfmodel.model.prediction.collectives.collective_spread import spread_of, transport_of

RANGE = 12.0
"""Octaves of message size over which the correlation of errors falls to 1/e: of 12, 24 and 40, the one under
which most wrong listings of half of the sources are found and fewest normal ones are called wrong
(``perfmodel.decide.diagnosis.judged_listings``)."""
NOISES = (0.01, 0.03, 0.1, 0.3)
"""Shares of the variance that neighbouring sizes may not share, each as likely as the others (assumed): some
listings are erratic, with outliers from warm-up or a shared network."""


def spreads_at(point: Point, sizes: Sequence[float], learned: Fitted | None = None) -> Array:
    """Return the standard deviation of ln(measured / predicted) at each message size, shape (sizes,).

    Parameters
    ----------
    point : collective and placement
    sizes : message sizes [B]
    learned : the fit that predicts; by default the shipped one
    """
    known = fitted() if learned is None else learned
    seen = transport_of(point) in known.transports
    at = (point.of(point.collective, float(size)) for size in sizes)
    return np.array([spread_of(each, seen, known.spreads) for each in at])


def correlations(sizes: Any, others: Any, octaves: float = RANGE) -> Array:
    """Return the correlation of errors between sizes and other sizes, without noise, shape (sizes, others).

    >>> correlations([1024.0], [1024.0, 2048.0], octaves=2.0).round(3).tolist()
    [[1.0, 0.607]]
    """
    apart = np.abs(np.log2(np.asarray(sizes, float))[:, None] - np.log2(np.asarray(others, float)))
    return np.asarray(np.exp(-apart / octaves))


class SizeErrors:
    """The prior of the errors of a listing's sizes, factored once for each share of noise."""

    def __init__(self, sizes: Array, spreads: Array, octaves: float = RANGE) -> None:
        """Prepare the prior.

        Parameters
        ----------
        sizes : message sizes [B]
        spreads : standard deviation of ln(measured / predicted) at each
        octaves : over which the correlation falls to 1/e
        """
        self.sizes, self.spreads, self.octaves = sizes, spreads, octaves
        shared, scale = correlations(sizes, sizes, octaves), np.outer(spreads, spreads)
        self.covariances = [((1 - noise) * shared + noise * np.eye(len(sizes))) * scale for noise in NOISES]
        lowers = [np.linalg.cholesky(each) for each in self.covariances]
        self._inverses = [np.linalg.inv(each) for each in lowers]
        self._logs = [float(np.log(np.diag(each)).sum()) for each in lowers]

    def log_likelihoods(self, errors: Array, widths: float = 1.0) -> Array:
        """Return the logarithm of the density of errors for each share of noise, shape (noises,).

        Parameters
        ----------
        errors : ln(measured / predicted), shape (sizes,)
        widths : factor on all spreads

        One size whose spread is 1, without an error: that of a normal law.

        >>> SizeErrors(np.array([1e6]), np.array([1.0])).log_likelihoods(np.array([0.0])).round(4).tolist()
        [-0.9189, -0.9189, -0.9189, -0.9189]
        """
        count = len(errors)
        squares = [float(np.square(inverse @ errors).sum()) / widths**2 for inverse in self._inverses]
        constant = count * (0.5 * math.log(2 * math.pi) + math.log(widths))
        return np.array(
            [-0.5 * square - log - constant for square, log in zip(squares, self._logs, strict=True)]
        )

    def log_likelihood(self, errors: Array, widths: float = 1.0) -> float:
        """Return the logarithm of the density of errors, the mean over the shares of noise."""
        return float(np.logaddexp.reduce(self.log_likelihoods(errors, widths))) - math.log(len(NOISES))


class Narrowed(NamedTuple):
    """What a listing tells of the errors at sizes of the same machines."""

    errors: Array
    """Expected ln(measured / predicted) at each size."""
    spreads: Array
    """Its standard deviation when such a size is measured again."""


def narrowed(prior: SizeErrors, errors: Array, sizes: Sequence[float], spreads: Array) -> Narrowed:
    """Return the errors at ``sizes`` after those of a listing are known, with its likeliest share of noise.

    Parameters
    ----------
    prior : of the listing's sizes
    errors : of the listing, ln(measured / predicted)
    sizes : message sizes wanted [B]
    spreads : standard deviation at each before

    The error at a size that was measured is nearly known:

    >>> before = SizeErrors(np.array([1e6, 2e6]), np.array([0.4, 0.4]))
    >>> after = narrowed(before, np.array([0.2, 0.2]), [1e6], np.array([0.4]))
    >>> after.errors.round(2).tolist(), after.spreads.round(2).tolist()
    ([0.2], [0.06])
    """
    best = int(np.argmax(prior.log_likelihoods(errors)))
    noise = NOISES[best]
    shared = correlations(sizes, prior.sizes, prior.octaves) * np.outer(spreads, prior.spreads) * (1 - noise)
    weights = np.linalg.solve(prior.covariances[best], shared.T).T
    variances = spreads**2 - np.einsum("ij,ij->i", weights, shared)
    return Narrowed(weights @ errors, np.sqrt(np.maximum(variances, noise * spreads**2)))
