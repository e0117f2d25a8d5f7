"""What there is to say of a checked claim: labels and texts, as text, Markdown and a page show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfmodel.core.units import plural
from perfmodel.decide.quote.checked import Checked
from perfmodel.decide.quote.claim_words import shown, shown_range, software_words
from perfmodel.decide.quote.evidence import Near
from perfmodel.decide.quote.file import KINDS
from perfmodel.decide.quote.sentence import BETTER, open_clause, reached_words
from perfmodel.hardware.provenance import Source

WORST_FIRST = ("impossible", "oversized", "optimistic", "reached", "plausible", "possible", "pessimistic")
"""Verdicts, by what a buyer should mind most."""


def worst_first(checked: Sequence[Checked]) -> list[int]:
    """Return the indices of claims by their verdicts, of one verdict the least likely first.

    Of equally likely ones, as all that are impossible are, that is the nearest to the limit or the farthest
    beyond.
    """

    def rank(index: int) -> tuple[int, float, float]:
        claim = checked[index]
        likely = 1.0 if claim.probability is None else claim.probability
        reached = claim.value / claim.limit if claim.higher_is_better else claim.limit / claim.value
        return WORST_FIRST.index(claim.verdict), likely, -reached

    return sorted(range(len(checked)), key=rank)


def value_words(claim: Checked, value: float) -> str:
    """Return a value of a claim's quantity as people write it."""
    return shown(value, claim.quantity, claim.sample, claim.per)


def claimed(claim: Checked) -> str:
    """Return what is claimed."""
    value = value_words(claim, claim.value)
    return value if claim.quantity.endswith("per_second") else f"{KINDS[claim.quantity].words} of {value}"


def interval_words(claim: Checked) -> str | None:
    """Return the model's 80 % interval; None where it has none."""
    if claim.low_80 is None or claim.high_80 is None:
        return None
    return f"{value_words(claim, claim.low_80)} to {value_words(claim, claim.high_80)}"


def verdict_words(claim: Checked) -> str:
    """Return the verdict, with what is no part of its name: the need of memory, or that a run reached it."""
    more = claim.memory or (BETTER if claim.verdict == "reached" else "")
    return f"{claim.verdict}: {more}" if more else claim.verdict


def counted(checked: Sequence[Checked]) -> str:
    """Return how many claims there are of each verdict."""
    counts = {word: sum(claim.verdict == word for claim in checked) for word in WORST_FIRST}
    whole = f"{len(checked)} {plural('claim', len(checked))}"
    return f"{whole}: " + ", ".join(f"{count} {word}" for word, count in counts.items() if count)


def defaults_taken(checked: Sequence[Checked]) -> str:
    """Return the options that the quote left open, with what they were taken to be."""
    taken = dict.fromkeys(option for claim in checked for option in claim.defaults)
    return "defaults taken: " + (", ".join(taken) or "none")


def measured_words(near: Near) -> str:
    """Return a measurement near a claim in a line: what, with which software, by whose account."""
    software = f", with {software_words(near.software)}" if near.software else ""
    return f"{near.words}{software} ({near.source})"


def lines_of(claim: Checked, sources: Mapping[str, Source]) -> list[tuple[str, str]]:
    """Label and text of everything there is to say on one claim."""
    said = [("claim", claim.text)] if claim.text else []
    said += [("read as", claim.reading)] if claim.reading else []
    said.append(("the job", claim.scenario))
    said += [("" if i else "limit", line) for i, line in enumerate(claim.arithmetic)]
    if claim.expected is not None:
        said += [("model", value_words(claim, claim.expected)), ("", f"80 %: {interval_words(claim)}")]
    said += [("" if i else "measured", measured_words(near)) for i, near in enumerate(claim.measured)]
    if claim.reached_by is not None:
        said.append(("reached", f"{reached_words(claim)}; {open_clause(claim)}"))
    if claim.similar_run is not None:
        run = claim.similar_run
        near = shown_range(run.low_80, run.high_80, claim.quantity, claim.sample, claim.per)
        said.append(
            (
                "from runs",
                f"{value_words(claim, run.value)} (80 %: {near}), by the ratio to a run of {run.source}",
            )
        )
    said.append(("in a mail", claim.sentence))
    if claim.source is not None:
        source = sources[claim.source]
        said.append(("source", f"{source.title}, read {source.read_on}"))
        said += [("", source.url)] if source.url else []
    return said
