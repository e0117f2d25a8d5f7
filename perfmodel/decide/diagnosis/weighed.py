"""Weigh causes of a listing: which of their curves fits the measured times best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from perfmodel.core.arrays import Array
from perfmodel.decide.diagnosis.causes import Cause, Variant, causes_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.collectives.model import Fitted, curve, fitted
from perfmodel.model.collectives.place import Point, place_of
from perfmodel.model.prediction.collectives.size_errors import SizeErrors, spreads_at

NORMAL, UNKNOWN = 0.4, 0.1
"""Probabilities before the listing is seen that nothing is wrong, and that something is that no cause names;
the causes share the rest evenly, and the variants of each its part by their odds.  Chosen with
``size_errors.RANGE``, from a few, as those under which most wrong listings of half of the sources are found
(``judged_listings``)."""
LIKELY = 0.5
"""Least probability that nothing is wrong at which a listing is called normal."""
UNKNOWN_WIDTH = 4.0
"""Factor on the spread of errors where what is wrong is not known (assumed)."""


class Weighed(NamedTuple):
    """A cause with its probability."""

    cause: Cause
    probability: float
    variant: Variant
    """The variant that fits best."""
    times: Array
    """Its times at the sizes of the listing [s]."""


class Weights(NamedTuple):
    """A listing against the prediction for its machine and against every cause."""

    times: Array
    """Predicted times at the listing's sizes, with nothing wrong [s]."""
    errors: Array
    """ln(measured / predicted)."""
    prior: SizeErrors
    normal: float
    """Probability that nothing is wrong."""
    unknown: float
    """Probability that something is wrong that no cause names."""
    causes: tuple[Weighed, ...]
    """The likeliest first."""

    @property
    def is_normal(self) -> bool:
        """Whether it is at least as likely that nothing is wrong as that something is."""
        return self.normal >= LIKELY

    @property
    def name(self) -> str:
        """The likeliest cause; ``unknown`` where none that has a name is likelier than that."""
        best = self.causes[0]
        return best.cause.id if best.probability >= self.unknown else "unknown"


def weigh(
    point: Point,
    sizes: Sequence[float] | Array,
    times: Sequence[float] | Array,
    catalogue: Catalogue,
    learned: Fitted | None = None,
) -> Weights:
    """Weigh the causes of a listing.

    Parameters
    ----------
    point : collective and placement, as the machine is stated
    sizes : message sizes [B]
    times : measured [s]
    catalogue : hardware
    learned : the fit that predicts; by default the shipped one
    """
    known = fitted() if learned is None else learned
    at = np.asarray(sizes, float)
    prior = SizeErrors(at, spreads_at(point, at.tolist(), known))
    measured = np.log(np.asarray(times, float))
    usual = _times(Variant("", curve(place_of(point), known.parameters)), at)
    errors = measured - np.log(usual)
    causes = causes_of(point, known.parameters, catalogue)
    share = (1 - NORMAL - UNKNOWN) / len(causes)
    logs = [
        np.log(NORMAL) + prior.log_likelihood(errors),
        np.log(UNKNOWN) + prior.log_likelihood(errors, UNKNOWN_WIDTH),
    ]
    best: list[tuple[Variant, Array]] = []
    for cause in causes:
        each = [_times(variant, at) for variant in cause.variants]
        likely = np.array([prior.log_likelihood(measured - np.log(of)) for of in each])
        odds = np.array([variant.odds for variant in cause.variants])
        logs.append(np.log(share) + float(np.logaddexp.reduce(likely + np.log(odds / odds.sum()))))
        place = int(np.argmax(likely + np.log(odds)))
        best.append((cause.variants[place], each[place]))
    chances = np.exp(np.array(logs) - np.logaddexp.reduce(logs))
    weighed = [
        Weighed(cause, float(chance), *of)
        for cause, chance, of in zip(causes, chances[2:], best, strict=True)
    ]
    weighed.sort(key=lambda each: -each.probability)
    return Weights(usual, errors, prior, float(chances[0]), float(chances[1]), tuple(weighed))


def _times(variant: Variant, sizes: Array) -> Array:
    return np.asarray(variant.curve.time(sizes), float)
