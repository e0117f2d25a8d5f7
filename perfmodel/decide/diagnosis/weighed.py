"""Weigh causes of a listing: which of their curves fits the measured times best."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
OTHERWISE = 1.0
"""Odds before the listing is seen that nothing is wrong on machines other than those that were taken, over
those that nothing is wrong on these: of 21 sources of published listings 43 % have other adapters, and 64 %
other adapters or another network, than the usual machine of their accelerator."""
LIKELY = 0.5
"""Least probability that nothing is wrong, if the machines are as they were taken, at which a listing is
called normal."""
UNCHANGED = 0.02
"""Relative change of a time below which a cause does not change it."""
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
    place: int
    """Index of the size that shows it: the largest at which it changes the logarithm of the time by at least
    half as much as where it changes that most."""


class Weights(NamedTuple):
    """A listing against the prediction for its machine and against every cause."""

    times: Array
    """Predicted times at the listing's sizes, with nothing wrong [s]."""
    errors: Array
    """ln(measured / predicted)."""
    prior: SizeErrors
    normal: float
    """Probability that nothing is wrong and the machines are as they were taken."""
    unknown: float
    """Probability that something is wrong that no cause names."""
    causes: tuple[Weighed, ...]
    """The likeliest first."""

    @property
    def is_normal(self) -> bool:
        """Whether nothing is wrong at least as likely as something, if the machines are as taken."""
        assumed = sum(each.probability for each in self.causes if each.cause.is_assumption)
        return self.normal >= LIKELY * (1 - assumed)

    @property
    def name(self) -> str:
        """The likeliest cause; ``unknown`` where none that has a name is likelier than that."""
        best = self.causes[0] if self.causes else None
        return best.cause.id if best is not None and best.probability >= self.unknown else "unknown"


def weigh(
    point: Point,
    sizes: Sequence[float] | Array,
    times: Sequence[float] | Array,
    catalogue: Catalogue,
    learned: Fitted | None = None,
    assumptions: Iterable[Cause] = (),
) -> Weights:
    """Weigh the causes of a listing that change the time of at least one of its sizes.

    What may be the case, each once, with probabilities that sum to 1: nothing is wrong on machines as taken;
    nothing is wrong on other machines, for each assumption; each cause, or something that no cause names, on
    the machines as taken.  That something is wrong on other machines is not weighed.

    Parameters
    ----------
    point : collective and placement, as the machine is stated
    sizes : message sizes [B]
    times : measured [s]
    catalogue : hardware
    learned : the fit that predicts; by default the shipped one
    assumptions : further causes, that the machines are not as they were taken
    """
    known = fitted() if learned is None else learned
    at = np.asarray(sizes, float)
    prior = SizeErrors(at, spreads_at(point, at.tolist(), known))
    measured = np.log(np.asarray(times, float))
    usual = _times(Variant("", curve(place_of(point), known.parameters)), at)
    errors = measured - np.log(usual)
    causes = []
    for cause in (*causes_of(point, known.parameters, catalogue), *assumptions):
        variants = [(variant, _times(variant, at)) for variant in cause.variants]
        variants = [(variant, of) for variant, of in variants if np.max(np.abs(of / usual - 1)) >= UNCHANGED]
        if variants:
            causes.append((cause, variants))
    otherwise = sum(cause.is_assumption for cause, _ in causes)
    share = (1 - NORMAL - UNKNOWN) / max(len(causes) - otherwise, 1)
    logs = [
        np.log(NORMAL) + prior.log_likelihood(errors),
        np.log(UNKNOWN) + prior.log_likelihood(errors, UNKNOWN_WIDTH),
    ]
    best: list[tuple[Variant, Array, int]] = []
    for cause, variants in causes:
        likely = np.array([prior.log_likelihood(measured - np.log(of)) for _, of in variants])
        odds = np.array([variant.odds for variant, _ in variants])
        prior_share = NORMAL * OTHERWISE / otherwise if cause.is_assumption else share
        logs.append(np.log(prior_share) + float(np.logaddexp.reduce(likely + np.log(odds / odds.sum()))))
        variant, of = variants[int(np.argmax(likely + np.log(odds)))]
        best.append((variant, of, _telling_place(of, usual, at)))
    chances = np.exp(np.array(logs) - np.logaddexp.reduce(logs))
    weighed = [
        Weighed(cause, float(chance), *of)
        for (cause, _), chance, of in zip(causes, chances[2:], best, strict=True)
    ]
    weighed.sort(key=lambda each: -each.probability)
    return Weights(usual, errors, prior, float(chances[0]), float(chances[1]), tuple(weighed))


def _telling_place(times: Array, usual: Array, sizes: Array) -> int:
    """Return the index of the size that shows a cause, as ``Weighed.place``."""
    changes = np.abs(np.log(times / usual))
    least = max(changes.max() / 2, np.log(1 + UNCHANGED))
    return int(np.argmax(np.where(changes >= least, sizes, 0.0)))


def _times(variant: Variant, sizes: Array) -> Array:
    return np.asarray(variant.curve.time(sizes), float)
