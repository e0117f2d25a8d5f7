"""The answer card of a checked quote: what to do, how likely its claims are, and what limits them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from perfmodel.core.sentences import capitalised, in_a_list, in_sentences, likely_to_be
from perfmodel.core.units import percent, plural
from perfmodel.decide.quote.checked import Checked
from perfmodel.decide.quote.claim_judgement import probability_within
from perfmodel.decide.quote.claim_words import shown_range, software_words
from perfmodel.decide.quote.comparable import reaches
from perfmodel.decide.quote.listing import claimed, value_words, worst_first
from perfmodel.decide.quote.sentence import (
    BETTER,
    EVEN,
    OPEN,
    asked_of,
    evidence_words,
    expected_words,
    likely_words,
    limit_words,
    measured_like_words,
    needed_words,
    needs_reached,
    open_clause,
    other_accelerators,
    probability_words,
    reached_words,
    scaled_words,
    shown_verdict,
    unlikely_words,
)
from perfmodel.decide.quote.unstated import OnlyWith
from perfmodel.evidence.accuracy.source_titles import short_title
from perfmodel.model.prediction.answer_card import Card

CONTRACT = "Have it in the contract"
PENALTY = "Do not rely on it unless the contract has it, with a penalty"
ADVICE = {
    "impossible": "Reject it",
    "oversized": "Ask for less",
    "optimistic": "Ask for the log of a run",
    "reached": "Ask for the log of a run",
    "possible": CONTRACT,
    "pessimistic": "Expect better",
}
"""Verdict of a claim -> advice; that on a conditional one is what to ask, a plausible one by probability."""
OF_ALL = {
    "Reject it": "reject them",
    "Ask for the log of a run": "ask for the logs of runs",
    CONTRACT: "have them in the contract",
    PENALTY: "do not rely on them unless the contract has them, with a penalty",
    "Expect better": "expect better",
}
"""Advice on one claim -> that on several alike."""
EACH = 4
"""Claims of a quote up to which each is named where they differ."""
ALIKE = 0.05
"""Largest difference of probabilities that are written as one (a choice)."""


def card_of_quote(claims: Sequence[Checked]) -> Card:
    """Return the answer card of a quote, by its worst claim or by all where they are alike.

    Parameters
    ----------
    claims : result of ``check_quote``, at least one
    """
    worst = claims[worst_first(claims)[0]]
    return Card(
        advice=_advice_on_all(claims),
        machines=_of_each(claims, lambda claim: claim.machines),
        run=_expected(claims, "time_to_train"),
        cost=_expected(claims, "cost_to_train"),
        chance=_chance_of_all(claims),
        memory=f"does not fit: {worst.memory}" if worst.memory else "",
        limit=_of_each(claims, limit_words),
        rests_on=_of_each(claims, _evidence),
    )


def _of_each(claims: Sequence[Checked], words: Callable[[Checked], str]) -> str:
    """Return words on claims, each with the claims that it holds for; of many, on the worst."""
    held: dict[str, list[int]] = {}
    for index, claim in enumerate(claims, 1):
        held.setdefault(words(claim), []).append(index)
    if len(held) == 1:
        return next(iter(held))
    if len(held) <= EACH:
        return "; ".join(f"{each} ({_numbered(indices)})" for each, indices in held.items())
    index = worst_first(claims)[0]
    return f"{words(claims[index])} ({claimed(claims[index])}, claim {index + 1}, the worst of {len(claims)})"


def _numbered(indices: Sequence[int]) -> str:
    """Return the numbers of claims in words.

    >>> _numbered([1, 2, 3]), _numbered([1, 4]), _numbered([2])
    ('claims 1 to 3', 'claims 1 and 4', 'claim 2')
    """
    if len(indices) > 2 and indices[-1] - indices[0] == len(indices) - 1:
        return f"claims {indices[0]} to {indices[-1]}"
    return f"{plural('claim', len(indices))} {in_a_list(map(str, indices))}"


def advice_beside_chart(claims: Sequence[Checked]) -> tuple[str, dict[int, str]]:
    """Return what to do, and number of a claim -> its measured runs, next to figures and a chart of claims.

    The advice leaves out what these show, and has the measured runs of the claim that it is about alone.
    """
    on_all = _on_all(claims)
    about = None if on_all else worst_first(claims)[0]
    runs = {n: _measured_apart(claim) for n, claim in enumerate(claims, 1) if n - 1 != about}
    in_full = not (on_all or chance_figures(claims))
    return _advice_on_all(claims, in_full), {n: words for n, words in runs.items() if words}


def _on_all(claims: Sequence[Checked]) -> str:
    """Return what to do about several claims that are alike; empty where the advice is on the worst."""
    worst = claims[worst_first(claims)[0]]
    is_alike = len(set(map(shown_verdict, claims))) == 1 and worst.verdict != "reached"
    return OF_ALL.get(_action(worst), "") if is_alike and len(claims) > 1 else ""


def _advice_on_all(claims: Sequence[Checked], in_full: bool = True) -> str:
    """Return what to do: on all claims where they are alike, else on the worst.

    Parameters
    ----------
    in_full : with what figures of each claim show too: the limit, and what to expect
    """
    index = worst_first(claims)[0]
    if not (advice := _on_all(claims)):
        among = f" (claim {index + 1}, the worst of {len(claims)})" if len(claims) > 1 else ""
        return _advice(claims[index], among, in_full)
    known = [claim.probability for claim in claims if claim.probability]
    likely = ""
    if len(known) == len(claims):
        low, high = percent(min(known)), percent(max(known))
        alike = max(known) - min(known) <= ALIKE
        each = low if low.startswith(("over", "under")) else f"about {low}"
        likely = f", each {each} likely" if alike else f", {low} to {high} likely"
    number = "Both" if len(claims) == 2 else f"All {len(claims)}"
    so = "; none is sure, so " if advice == OF_ALL[CONTRACT] else ", so "
    what = shown_verdict(claims[index])
    if what == OPEN:
        likely, so = f" ({each if alike else f'{low} to {high}'})", ": the model cannot judge them, so "
    lines = [f"{number} claims are {what}{likely}{so}{advice}."]
    reached = [n for n, claim in enumerate(claims) if needs_reached(claim)][:1]
    names = [f"{named(claim, claims)} (claim {n})" for n, claim in enumerate(claims, 1)]
    lines += [f"{names[n]}: {reached_words(claims[n])}; {open_clause(claims[n])}." for n in reached]
    lines += [
        f"{name}: {words}."
        for name, claim in zip(names, claims, strict=True)
        if in_full and (len(claims) <= EACH or _measured_apart(claim)) and (words := _grounds(claim))
    ]
    tricks = [] if claims[index].only_with else claims[index].tricks[:1]
    lines += [f"{names[index]} may be {trick.name}: {trick.ask}." for trick in tricks]
    return " ".join(lines)


def named(claim: Checked, claims: Sequence[Checked]) -> str:
    """Return a claim in short: its network, or its machines if it has none, and the claimed value.

    Where claims are of several quantities, with its own.
    """
    network = claim.scenario.partition(claim.machines)[0].removesuffix(" on ")
    is_alike = len({each.quantity for each in claims}) == 1
    value = value_words(claim, claim.value) if is_alike else claimed(claim)
    return f"{network or claim.machines.partition(' in ')[0]}, {value}"


def _grounds(claim: Checked) -> str:
    """Return what to expect of a claim, and why measured runs do not decide it; empty where unknown."""
    expected, apart = expected_words(claim), _measured_apart(claim)
    if claim.verdict == "impossible" or expected is None:
        return apart
    if not claim.measured and claim.similar_run is None:
        apart = "no measured run is like it"
    is_reached = any(reaches(near.value, claim.value, claim.higher_is_better) for near in claim.measured)
    why = f"{shown_verdict(claim)}, as the model expects {expected}"
    is_explained = apart and not is_reached and claim.verdict == "plausible"
    return "; ".join(filter(None, (why if is_explained else f"expect {expected}", apart)))


def _scaled(claim: Checked) -> str:
    """Return the measured run from which the expected value is scaled, and how, without that value."""
    return f"{measured_like_words(claim)}; {scaled_words(claim).removeprefix('as ')}"


def chance_figures(claims: Sequence[Checked]) -> dict[str, tuple[str, str]]:
    """Return claim -> its chance in a few words, and what to expect of it; empty of one claim or of many."""
    if not 1 < len(claims) <= EACH:
        return {}
    return {f"claim {n}: {named(claim, claims)}": _chance_figure(claim) for n, claim in enumerate(claims, 1)}


def _chance_figure(claim: Checked) -> tuple[str, str]:
    expected = expected_words(claim)
    if claim.verdict == "impossible":
        return claim.verdict, limit_words(claim)
    more = limit_words(claim) if expected is None else f"expected {expected}"
    known = not claim.only_with and probability_words(claim)
    return (known, f"likely; {more}") if known else (_chance(claim), more)


def _measured_apart(claim: Checked) -> str:
    """Return why measured runs that all miss a claim, or all do better, do not decide it; else empty."""
    values = [near.value for near in claim.measured]
    if not values:
        return ""
    low, high = min(values), max(values)
    ends = shown_range(low, high, claim.quantity, claim.sample, claim.per)
    if value_words(claim, low) == value_words(claim, high):
        ends = value_words(claim, low)
    reached = [reaches(value, claim.value, claim.higher_is_better) for value in values]
    differs = dict.fromkeys(each for near in claim.measured for each in near.differs)
    if differs and not any(reached):
        return f"measured runs come to {ends}, but are of another {in_a_list(differs)}"
    sizes = [near.world_size for near in claim.measured if near.world_size is not None]
    is_open = claim.verdict == "plausible" and claim.reached_by is None
    if not is_open or not all(reached) or len(sizes) < len(values):
        return ""
    number = " to ".join(map(str, dict.fromkeys((min(sizes), max(sizes)))))
    whole = claim.machines.partition(" x ")[0]
    return (
        f"measured runs come to {ends}, better than claimed, but on {number} accelerators instead of {whole}"
    )


def _action(claim: Checked) -> str:
    """Return what to do about a claim in a few words."""
    if claim.only_with:
        return f"Ask {' and '.join(asked_of(claim))}"
    if claim.verdict == "plausible":
        return CONTRACT if (claim.probability or 0.0) >= EVEN else PENALTY
    return ADVICE[claim.verdict]


def _advice(claim: Checked, among: str, in_full: bool) -> str:
    """Return what to do about a claim, what to expect, and what may explain a figure that is too good.

    Parameters
    ----------
    among : which of several claims it is, in words
    in_full : as of ``_advice_on_all``
    """
    possible = claim.verdict != "impossible" and claim.probability is not None
    mark = ";" if claim.verdict == "reached" else ","
    run, advice, how = claim.reached_by, _action(claim), ""
    if run is not None and needs_reached(claim):
        how = f" with {software_words(run.software_taken)}"
        if claim.verdict in ("optimistic", "reached") and (run.left_open or run.is_other):
            advice = f"Ask which {' and '.join(run.left_open or ['software'])} it holds for"
    likely = f"{mark} {likely_words(claim, how)}" if possible else ""
    what = BETTER if claim.verdict == "reached" else shown_verdict(claim)
    what = f"possible {needed_words(claim)}" if claim.only_with else what
    value = value_words(claim, claim.value)
    lines = [f"{advice}: {value} is {what}{likely}{among}."]
    expected, measured = expected_words(claim), measured_like_words(claim)
    is_cautious = claim.verdict == "pessimistic"
    if is_cautious:  # the first word answers the buyer's question
        lines = [f"{capitalised(what)}: {value} is {likely_words(claim)}{among}; expect {expected}."]
    if claim.verdict == "plausible" and possible:  # how likely it is says whether the advice is to rely on it
        said = likely_words(claim, how)
        judged = "cannot be judged" if what == OPEN else f"is {what}"
        lines = [f"{capitalised(said)}: {value} {judged}{among}. {advice}."]
    if claim.verdict == "impossible" and in_full:
        lines.append(f"{capitalised(limit_words(claim))}.")
    if run is not None and needs_reached(claim):
        lines.append(f"{reached_words(claim)}; {open_clause(claim)}.")
    if expected and measured and (is_cautious or not in_full):
        lines.append(f"{capitalised(_scaled(claim))}.")
    elif expected and measured:
        lines.append(f"{capitalised(measured)}. Expect {expected}, {scaled_words(claim)}.")
    elif expected and in_full and not is_cautious:
        lines.append(f"Expect {expected}.")
    apart = _measured_apart(claim) if claim.verdict == "plausible" else ""
    remarks = (unlikely_words(claim), apart or other_accelerators(claim)) if possible else ()
    lines += filter(None, [in_sentences(remarks)])
    if not claim.only_with:
        lines += [f"It may be {trick.name}: {trick.ask}." for trick in claim.tricks[:1]]
    return " ".join(lines)


def _expected(claims: Sequence[Checked], quantity: str) -> str:
    """Return what to expect instead of the first claim of a quantity, with its 80 % interval."""
    for claim in claims:
        if claim.quantity == quantity and (expected := expected_words(claim)):
            return f"{expected} expected"
    return ""


def chances(claims: Sequence[Checked]) -> str:
    """Return the least and the greatest probability of several claims; empty where one is not known."""
    known = [claim for claim in claims if claim.probability is not None and not claim.only_with]
    if len(known) < len(claims) or any(claim.verdict == "impossible" for claim in claims):
        return ""
    first, *_, last = sorted(known, key=lambda claim: claim.probability or 0.0)
    low, high = probability_words(first), percent(last.probability or 0.0)
    return high if low == high else f"{low.removesuffix(' %') if low[0].isdigit() else low} to {high}"


def _chance_of_all(claims: Sequence[Checked]) -> str:
    """Return the probabilities of all claims: their range first where all are known, then that of each."""
    of_each = _of_each(claims, _chance)
    span = chances(claims) if len(claims) > 1 else ""
    if " to " not in span:
        return of_each
    known: dict[str, list[int]] = {}
    for index, claim in enumerate(claims, 1):
        known.setdefault(probability_words(claim), []).append(index)
    if len(known) > EACH:
        return f"{span} likely to be reached, by claim"
    each = ", ".join(f"{chance} for {_numbered(indices)}" for chance, indices in known.items())
    return f"{span} likely to be reached: {each}"


def _chance(claim: Checked) -> str:
    """Return the probability of a claim, or why there is none."""
    if claim.verdict == "impossible":
        return "none: physics does not allow it"
    if claim.only_with:
        then = [one for each in claim.only_with if (one := _chance_with(claim, each)) is not None]
        chance = f", and then at most {likely_to_be('reached', max(then))}" if then else ""
        return f"{needed_words(claim)}{chance}"
    if claim.probability is None:
        return "not known"
    return f"{probability_words(claim)} likely to be reached"


def _chance_with(claim: Checked, needed: OnlyWith) -> float | None:
    """Return the probability of a claim with what it needs; None where the model predicts nothing."""
    if needed.expected is None or needed.low_80 is None or needed.high_80 is None:
        return None
    return probability_within(
        claim.value, needed.expected, needed.low_80, needed.high_80, claim.higher_is_better
    )


def _evidence(claim: Checked) -> str:
    """Return what the verdict rests on: peaks and links, similar runs, or the model."""
    if claim.judgement == "impossible":
        return "the peaks and links of the data sheets alone"
    return "; ".join(filter(None, (_evidence_of(claim), other_accelerators(claim))))


def _evidence_of(claim: Checked) -> str:
    """Return what a possible claim's verdict rests on: similar runs or the model."""
    if claim.similar_run is not None:
        return f"a measured run like it ({short_title(claim.similar_run.source)}), scaled by the model"
    if claim.expected is not None:
        return "a model fitted to measured runs"
    return evidence_words(claim) or "the peaks and links of the data sheets; no measured run like it is known"
