"""What a buyer is told: possible, doubtful or impossible, how sure that is, and a sentence for a mail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from perfmodel.prediction.ratio import chance_above_one

if TYPE_CHECKING:
    from perfmodel.quote.check import Checked

Judgement = Literal["possible", "doubtful", "impossible"]
DOUBTFUL = 0.1
"""Probability below which a claim is doubtful: that of the good end of an 80 % interval."""
RUN = "the log of a run like it: software and version, number format, batch, layout and throughput by step"


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


def judgement_of(verdict: str, probability: float | None) -> Judgement:
    """Return what a buyer should think of a claim."""
    if verdict == "impossible":
        return "impossible"
    if verdict == "oversized" or (probability is not None and probability < DOUBTFUL):
        return "doubtful"
    return "possible"


def sentence_of(claim: Checked, claimed: str, limit: str, reached: str | None) -> str:
    """Return the verdict as one may paste it into a mail.

    Parameters
    ----------
    claim : checked
    claimed, limit : its figure and its limit, as people write them
    reached : what runs like it reach, and by whose account
    """
    most = "allows at most" if claim.higher_is_better else "needs at least"
    parts = [f"The quote claims {claimed} for {claim.scenario}", f"physics {most} {limit}"]
    parts.append(reached or "no measured run like it is known")
    if claim.memory is not None:
        parts.append(f"the job does not fit: it {claim.memory}")
    parts.append(_sure(claim))
    return "; ".join([*parts, _ask(claim)]) + "."


def _sure(claim: Checked) -> str:
    """The judgement and how sure it is."""
    if claim.judgement == "impossible":
        return "so it is impossible as stated"
    if claim.probability is None:
        return f"so it is {claim.judgement}"
    return f"so it is {claim.judgement} ({percent(claim.probability)} likely to be reached)"


def percent(probability: float) -> str:
    """Return a probability as people write it.

    >>> percent(0.004), percent(0.123), percent(0.999)
    ('under 1 %', '12 %', 'over 99 %')
    """
    if probability < 0.01:
        return "under 1 %"
    return "over 99 %" if probability > 0.99 else f"{100 * probability:.0f} %"


def _ask(claim: Checked) -> str:
    asked = list(dict.fromkeys(trick.ask.removeprefix("ask ") for trick in claim.tricks))
    if claim.judgement == "possible":
        asked.append(f"for {RUN}, and for the figure in the contract")
    elif not asked or claim.judgement == "doubtful":
        asked.append(f"for {RUN}")
    return f"ask the vendor {_listed(asked)}"


def _listed(parts: Sequence[str]) -> str:
    return ", and ".join(parts)
