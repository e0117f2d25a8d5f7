"""Verdict and judgement of a claim, and its probability."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from perfmodel.model.prediction.intervals.ratio import chance_above_one

if TYPE_CHECKING:
    from perfmodel.decide.quote.expected import Expected
    from perfmodel.decide.quote.reached import ReachedBy

Verdict = Literal[
    "impossible",
    "conditional",
    "oversized",
    "optimistic",
    "reached",
    "plausible",
    "pessimistic",
    "possible",
]
"""``conditional``: beyond the limit of the assumed precision and convention, but not of others that the quote
does not exclude.  ``optimistic``: better than the 80 % interval, so below 10 % likely; texts say doubtful.
``pessimistic``: worse than the interval, so over 90 % likely; texts say cautious.
``reached``: optimistic, but reached by a measured run with software that the quote allows.  ``possible``:
within the limit, and the model has no prediction.  ``oversized``: within the limit, but the job does not fit
in memory as predicted."""
Judgement = Literal["cautious", "possible", "doubtful", "impossible"]
EXACT = 1e-9
"""Relative difference from a limit that is rounding."""
DOUBTFUL = 0.1
"""Probability below which a claim is doubtful: that of the good end of an 80 % interval."""


def probability_of(value: float, expected: float, half_width: float, higher_is_better: bool) -> float:
    """Return the probability that a job does as well as claimed, or better.

    Parameters
    ----------
    value, expected : claimed and predicted value
    half_width : of the prediction's 80 % interval, as a logarithm
    higher_is_better : whether more of it is better

    Examples
    --------
    A tenth is beyond the good end of an 80 % interval, and nine tenths are beyond the bad end.

    >>> [round(probability_of(value, 1.0, 0.693147, True), 3) for value in (2.0, 1.0, 0.5)]
    [0.1, 0.5, 0.9]
    >>> round(probability_of(2.0, 1.0, 0.693147, False), 3)
    0.9
    """
    return chance_above_one(expected / value if higher_is_better else value / expected, half_width)


def probability_within(
    value: float, expected: float, low_80: float, high_80: float, higher_is_better: bool
) -> float:
    """Return the probability that a job does as well as claimed, or better, by an 80 % interval.

    Inside the interval it is by the wider side, as the other may be cut at a limit; outside by the side on
    which the claim lies, so that it is below a tenth, or above nine tenths, there and only there.

    Parameters
    ----------
    value, expected : claimed and predicted value
    low_80, high_80 : ends of the prediction's interval
    higher_is_better : whether more of it is better

    Examples
    --------
    >>> round(probability_within(2.0, 1.0, 0.5, 2.0, True), 3)
    0.1

    Of an interval that is cut at 1.1, a claim of 1.2 is beyond the end, and one of 1.1 is not.

    >>> [round(probability_within(value, 1.0, 0.5, 1.1, True), 2) for value in (1.1, 1.2)]
    [0.43, 0.01]
    """
    above, below = high_80 / expected, expected / low_80
    side = above if value > high_80 else below if value < low_80 else max(above, below)
    half_width = math.log(side)
    return probability_of(value, expected, half_width, higher_is_better)


def verdict_of(value: float, ratio: float, higher_is_better: bool, expected: Expected | None) -> Verdict:
    """Return the verdict on a claim, by the limit and an 80 % interval.

    Parameters
    ----------
    value, ratio : the claimed value, and how much of the limit it reaches
    higher_is_better : whether larger values are better
    expected : what to expect with its interval, or None
    """
    if ratio > 1 + EXACT:
        return "impossible"
    if expected is None:
        return "possible"
    above, below = value > expected.high_80, value < expected.low_80
    if above or below:
        return "optimistic" if above == higher_is_better else "pessimistic"
    return "plausible"


def judgement_of(verdict: str, probability: float | None, reached_by: ReachedBy | None = None) -> Judgement:
    """Return whether a buyer should think a claim cautious, possible, doubtful or impossible.

    Parameters
    ----------
    verdict, probability : of the claim
    reached_by : a measured run that did as well; it counts if the quote allows its software
    """
    if verdict == "impossible":
        return "impossible"
    if verdict == "pessimistic":
        return "cautious"
    if reached_by is not None and reached_by.is_allowed:
        return "possible"
    if verdict in ("conditional", "oversized") or (probability is not None and probability < DOUBTFUL):
        return "doubtful"
    return "possible"
