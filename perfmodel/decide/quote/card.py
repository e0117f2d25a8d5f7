"""The answer card of a checked quote: what to do, how likely its claims are, and what limits them."""

from __future__ import annotations

from collections.abc import Sequence

from perfmodel.core.units import percent
from perfmodel.decide.quote.checked import Checked
from perfmodel.decide.quote.claim_judgement import probability_within
from perfmodel.decide.quote.claim_words import software_words
from perfmodel.decide.quote.listing import claimed, value_words, worst_first
from perfmodel.decide.quote.sentence import (
    BETTER,
    asked_of,
    evidence_words,
    expected_words,
    likely_words,
    needed_words,
    needs_reached,
    open_clause,
    reached_words,
)
from perfmodel.decide.quote.unstated import OnlyWith
from perfmodel.model.prediction.answer_card import Card

ADVICE = {
    "impossible": "Reject it",
    "oversized": "Ask for less",
    "optimistic": "Ask for the log of a run",
    "reached": "Ask for the log of a run",
    "plausible": "Have it in the contract",
    "possible": "Have it in the contract",
    "pessimistic": "Expect more",
}
"""Verdict of a claim -> advice; that on a conditional one is what to ask."""
EACH = 4
"""Claims of a quote up to which the probability of each is named."""


def card_of_quote(claims: Sequence[Checked]) -> Card:
    """Return the answer card of a quote, by its worst claim.

    Parameters
    ----------
    claims : result of ``check_quote``, at least one
    """
    index = worst_first(claims)[0]
    worst = claims[index]
    return Card(
        advice=_advice(
            worst, "" if len(claims) == 1 else f" (claim {index + 1}, the worst of {len(claims)})"
        ),
        machines=worst.machines,
        run=_expected(claims, "time_to_train"),
        cost=_expected(claims, "cost_to_train"),
        chance=_chances(claims),
        memory=f"does not fit: {worst.memory}" if worst.memory else "",
        limit=_limit(worst),
        rests_on=_evidence(worst),
    )


def _advice(claim: Checked, among: str) -> str:
    """Return what to do about a claim, what to expect, and what may explain a figure that is too good.

    Parameters
    ----------
    among : which of several claims it is, in words
    """
    possible = claim.verdict != "impossible" and claim.probability is not None
    mark = ";" if claim.verdict == "reached" else ","
    run = claim.reached_by
    advice = f"Ask {' and '.join(asked_of(claim))}" if claim.only_with else ADVICE[claim.verdict]
    if claim.verdict == "pessimistic" and not claim.higher_is_better:
        advice = "Expect a lower cost" if "cost" in claim.quantity else "Expect a shorter time"
    how = ""
    if run is not None and needs_reached(claim):
        how = f" with {software_words(run.software_taken)}"
        if claim.verdict in ("optimistic", "reached") and (run.left_open or run.is_other):
            advice = f"Ask which {' and '.join(run.left_open or ['software'])} it holds for"
    likely = f"{mark} {likely_words(claim, how)}" if possible else ""
    what = BETTER if claim.verdict == "reached" else claim.verdict
    what = f"possible {needed_words(claim)}" if claim.only_with else what
    lines = [f"{advice}: {value_words(claim, claim.value)} is {what}{likely}{among}."]
    if run is not None and needs_reached(claim):
        lines.append(f"{reached_words(claim)}; {open_clause(claim)}.")
    if expected := expected_words(claim):
        lines.append(f"Expect {expected}.")
    if not claim.only_with:
        lines += [f"It may be {trick.name}: {trick.ask}." for trick in claim.tricks[:1]]
    return " ".join(lines)


def _expected(claims: Sequence[Checked], quantity: str) -> str:
    """Return what to expect instead of the first claim of a quantity, with its 80 % interval."""
    for claim in claims:
        if claim.quantity == quantity and (expected := expected_words(claim)):
            return f"{expected} expected"
    return ""


def _chances(claims: Sequence[Checked]) -> str:
    """Return the probability of each of few claims, or of the least likely of many."""
    if len(claims) == 1:
        return _chance(claims[0])
    if len(claims) <= EACH:
        return "; ".join(f"claim {index}: {_chance(claim)}" for index, claim in enumerate(claims, 1))
    index = worst_first(claims)[0]
    return (
        f"{_chance(claims[index])}: {claimed(claims[index])}, claim {index + 1}, the worst of {len(claims)}"
    )


def _chance(claim: Checked) -> str:
    """Return the probability of a claim, or why there is none."""
    if claim.verdict == "impossible":
        return "impossible"
    if claim.only_with:
        then = [one for each in claim.only_with if (one := _chance_with(claim, each)) is not None]
        chance = f", and then at most {percent(max(then))} likely to be reached" if then else ""
        return f"{needed_words(claim)}{chance}"
    if claim.probability is None:
        return "not known"
    at_most = "at most " if claim.limited_by is not None else ""
    return f"{at_most}{percent(claim.probability)} likely to be reached"


def _chance_with(claim: Checked, needed: OnlyWith) -> float | None:
    """Return the probability of a claim with what it needs; None where the model predicts nothing."""
    if needed.expected is None or needed.low_80 is None or needed.high_80 is None:
        return None
    return probability_within(
        claim.value, needed.expected, needed.low_80, needed.high_80, claim.higher_is_better
    )


def _limit(claim: Checked) -> str:
    """Return what physics allows, of the claimed quantity."""
    assumed = f" in {claim.precision}" if claim.only_with else ""
    bound = "at most" if claim.higher_is_better else "no less than"
    return f"physics allows {bound} {value_words(claim, claim.limit)}{assumed}"


def _evidence(claim: Checked) -> str:
    """Return what the verdict rests on: peaks and links, similar runs, or the model."""
    if claim.judgement == "impossible":
        return "the peaks and links of the data sheets alone"
    if claim.similar_run is not None:
        return f"a measured run like it of {claim.similar_run.source}, scaled to this job by the model"
    if claim.expected is not None:
        return "a model fitted to measured runs"
    return evidence_words(claim) or "the peaks and links of the data sheets; no measured run like it is known"
