"""Labels and texts of a checked claim, for text, Markdown and HTML."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from perfmodel.core.units import plural
from perfmodel.decide.quote.checked import Checked
from perfmodel.decide.quote.claim_words import shown, software_words
from perfmodel.decide.quote.comparable import reaches
from perfmodel.decide.quote.evidence import Near
from perfmodel.decide.quote.file import KINDS
from perfmodel.decide.quote.sentence import (
    BETTER,
    expected_words,
    needed_words,
    open_clause,
    probability_words,
    ranged,
    reached_words,
    shown_verdict,
)
from perfmodel.evidence.accuracy.source_titles import short_title
from perfmodel.hardware.provenance import Source

WORST_FIRST = (
    *("impossible", "conditional", "oversized", "optimistic", "reached", "plausible", "possible"),
    "pessimistic",
)
"""Verdicts, the most serious for a buyer first."""


def worst_first(checked: Sequence[Checked]) -> list[int]:
    """Return the indices of claims, the most serious verdict first, then the least probable.

    Of equally probable claims, such as impossible ones, the one farthest beyond its limit comes first.
    """

    def rank(index: int) -> tuple[int, float, float]:
        claim = checked[index]
        likely = 1.0 if claim.probability is None else claim.probability
        reached = claim.value / claim.limit if claim.higher_is_better else claim.limit / claim.value
        return WORST_FIRST.index(claim.verdict), likely, -reached

    return sorted(range(len(checked)), key=rank)


def value_words(claim: Checked, value: float) -> str:
    """Return a value of a claim's quantity in words."""
    return shown(value, claim.quantity, claim.sample, claim.per)


def claimed(claim: Checked) -> str:
    """Return the claimed quantity and value in words."""
    value = value_words(claim, claim.value)
    return value if claim.quantity.endswith("per_second") else f"{KINDS[claim.quantity].words} of {value}"


def range_words(claim: Checked) -> str | None:
    """Return the 80 % interval that decides in words; None where there is none."""
    if claim.judged_by is None:
        return None
    _, low, high = claim.judged_by
    return f"{value_words(claim, low)} to {value_words(claim, high)}"


def _qualified(claim: Checked) -> str:
    """Return what a claim needs, that its job does not fit, or that a run reached it; empty otherwise."""
    if claim.only_with:
        return needed_words(claim)
    if claim.memory:
        return f"the job does not fit, it {claim.memory}"
    return BETTER if claim.verdict == "reached" else ""


def verdict_words(claim: Checked) -> str:
    """Return the verdict in words, with its probability, and what qualifies it."""
    known = claim.probability and claim.verdict != "reached"
    likely = f" ({probability_words(claim)})" if known else ""
    return ": ".join(filter(None, (f"{shown_verdict(claim)}{likely}", _qualified(claim))))


def heading(claim: Checked) -> str:
    """Return verdict, probability and claim in one line."""
    verdict, _, more = verdict_words(claim).partition(": ")
    return "; ".join(filter(None, (f"{verdict.upper()}: {claimed(claim)}", more)))


def counted(checked: Sequence[Checked]) -> str:
    """Return the number of claims by verdict, in words."""
    order = [checked[index] for index in worst_first(checked)]
    counts = Counter(map(shown_verdict, order))
    whole = f"{len(checked)} {plural('claim', len(checked))}"
    return f"{whole}: " + ", ".join(f"{count} {word}" for word, count in counts.items())


def defaults_taken(checked: Sequence[Checked]) -> str:
    """Return the options that the quote leaves open with their defaults, in words."""
    taken = dict.fromkeys(option for claim in checked for option in claim.defaults)
    return "defaults taken: " + (", ".join(taken) or "none")


def measured_words(claim: Checked, near: Near) -> str:
    """Return a measurement near a claim in one line: result, software, source, whether it did as well.

    Of one that did not, the properties are named by which it is no test of the claim.
    """
    software = f", with {software_words(near.software)}" if near.software else ""
    words = f"{near.words}{software} ({near.source})"
    if not claim.probability or reaches(near.value, claim.value, claim.higher_is_better):
        return words
    other = f", but is of another {', '.join(near.differs)}" if near.differs else ""
    return f"{words}: it did not reach the claim{other}"


def lines_of(claim: Checked, sources: Mapping[str, Source]) -> list[tuple[str, str]]:
    """Return label and text of each line about one claim."""
    lines = [("claim", claim.text)] if claim.text else []
    lines += [("read as", claim.reading)] if claim.reading else []
    lines += [("the job", claim.scenario), ("assumed", claim.assumed)]
    lines += [("" if i else "limit", line) for i, line in enumerate(claim.arithmetic)]
    if claim.expected is not None and claim.low_80 is not None and claim.high_80 is not None:
        lines.append(("model", ranged(claim, claim.expected, claim.low_80, claim.high_80)))
    lines += [("" if i else "measured", measured_words(claim, near)) for i, near in enumerate(claim.measured)]
    if claim.reached_by is not None:
        lines.append(("reached", f"{reached_words(claim)}; {open_clause(claim)}"))
    if claim.similar_run is not None:
        words = f"{expected_words(claim)}, by the ratio to a run of {short_title(claim.similar_run.source)}"
        lines.append(("from runs", f"{words}; it decides, as it is more certain than the model alone"))
    lines.append(("in a mail", claim.sentence))
    if claim.source is not None:
        source = sources[claim.source]
        lines.append(("source", f"{source.title}, read {source.read_on}"))
        lines += [("", source.url)] if source.url else []
    return lines
