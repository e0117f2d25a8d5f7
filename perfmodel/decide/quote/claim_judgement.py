"""What a buyer should think of a claim: possible, doubtful or impossible, and how sure that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from perfmodel.model.prediction.intervals.ratio import chance_above_one

if TYPE_CHECKING:
    from perfmodel.decide.quote.expected import Expected
    from perfmodel.decide.quote.reached import ReachedBy

Verdict = Literal["impossible", "oversized", "optimistic", "reached", "plausible", "pessimistic", "possible"]
"""``optimistic``: better than the model's 80 % interval.  ``reached``: better than that too, but a measured
run that the quote may mean reached it.  ``possible``: below the limit, and nothing the model could expect
was asked.  ``oversized``: below it too, but the job does not fit its accelerators' memory by the model's
count."""
Judgement = Literal["possible", "doubtful", "impossible"]
EXACT = 1e-9
"""Share of a limit that is rounding."""
DOUBTFUL = 0.1
"""Probability below which a claim is doubtful: that of the good end of an 80 % interval."""


def probability_of(value: float, expected: float, half_width: float, higher_is_better: bool) -> float:
    """Return the probability that a job does as well as claimed, or better.

    Parameters
    ----------
    value, expected : claimed, and predicted
    half_width : of the prediction's 80 % interval, as a logarithm
    higher_is_better : whether more of it is better

    Examples
    --------
    The good end of an 80 % interval leaves a tenth beyond it, and the bad end nine tenths.

    >>> [round(probability_of(value, 1.0, 0.693147, True), 3) for value in (2.0, 1.0, 0.5)]
    [0.1, 0.5, 0.9]
    >>> round(probability_of(2.0, 1.0, 0.693147, False), 3)
    0.9
    """
    return chance_above_one(expected / value if higher_is_better else value / expected, half_width)


def verdict_of(value: float, ratio: float, higher_is_better: bool, expected: Expected | None) -> Verdict:
    """Return what holds of a claim.

    Parameters
    ----------
    value, ratio : claimed, and over the best that physics allows
    higher_is_better : whether more of it is better
    expected : the model's own answer, where it has one
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
    """Return what a buyer should think of a claim.

    Parameters
    ----------
    verdict, probability : of the claim
    reached_by : a measured run that did as well, which counts where the quote may mean such a run
    """
    if verdict == "impossible":
        return "impossible"
    if reached_by is not None and reached_by.is_allowed:
        return "possible"
    if verdict == "oversized" or (probability is not None and probability < DOUBTFUL):
        return "doubtful"
    return "possible"


def percent(probability: float) -> str:
    """Return a probability as people write it.

    >>> percent(0.004), percent(0.123), percent(0.999)
    ('under 1 %', '12 %', 'over 99 %')
    """
    if probability < 0.01:
        return "under 1 %"
    return "over 99 %" if probability > 0.99 else f"{100 * probability:.0f} %"
