"""The page of a checked quote."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perfmodel.decide.quote import Checked, Quote
from perfmodel.decide.quote.answer import QuoteAnswer
from perfmodel.decide.quote.card import card_of_quote
from perfmodel.decide.quote.listing import (
    claimed,
    counted,
    defaults_taken,
    heading,
    lines_of,
    range_words,
    value_words,
    verdict_words,
    worst_first,
)
from perfmodel.decide.quote.sentence import shown_verdict
from perfmodel.interfaces.reports.given import in_short
from perfmodel.interfaces.reports.page import Listing, Page, Span, Spans

DRAWN = 20
"""Claims in the chart and in the answer's sentences; of more, the worst."""
FAR = 5.0
"""Ratio of a claim to its limit above which the axis is logarithmic."""


def page_of_quote(quote: Quote | QuoteAnswer, checked: Sequence[Checked], command: str | None) -> Page:
    """Return the page of a checked quote.

    Parameters
    ----------
    checked : result of ``check_quote``
    command : shell command that repeats it, or None
    """
    rows = [
        [
            claimed(claim),
            verdict_words(claim),
            value_words(claim, claim.limit),
            "-" if claim.judged_by is None else value_words(claim, claim.judged_by.expected),
            range_words(claim) or "-",
        ]
        for claim in checked
    ]
    card = card_of_quote(checked)
    columns = ("claim", "verdict", "limit", "expected", "80 % interval")
    tables = [in_short(card)]
    tables.append(Listing("The claims", columns, rows, texts=2))
    for index, claim in enumerate(checked, 1):
        lines = lines_of(claim, quote.sources)
        facts = [(label, bare) for label, text in lines if (bare := _without_addresses(text))]
        tables.append(Listing(f"{index}. {heading(claim)}", ("", ""), facts, texts=2))
    worst = checked
    if len(checked) > DRAWN:
        worst = [checked[index] for index in worst_first(checked)[:DRAWN]]
    more = _of_all(worst, checked)
    taken = dict.fromkeys(key for claim in checked if (key := claim.source) is not None)
    return Page(
        question=f"Can it be true: {_without_addresses(quote.title)}?",
        answer=[
            card.advice,
            f"{counted(checked)}.{more}",
            *(_without_addresses(claim.sentence) for claim in worst),
        ],
        charts=[_against_limits(worst, more)],
        tables=tables,
        assumptions=[defaults_taken(checked)],
        notes=[note] if (note := _without_addresses(quote.note)) else [],
        sources=[
            f"{_without_addresses(quote.sources[key].title)}, read {quote.sources[key].read_on}"
            for key in taken
        ],
        command=command,
    )


def _without_addresses(text: str) -> str:
    """Return a text without web addresses, which pages do not contain."""
    return " ".join(re.sub(r"https?://[^\s<>()\"']+", "", text).split())


def _of_all(worst: Sequence[Checked], checked: Sequence[Checked]) -> str:
    """Return a sentence that only the worst claims are shown; empty if all are."""
    if len(worst) == len(checked):
        return ""
    return f" Here are the {len(worst)} worst of {len(checked)} claims; the tables below have all."


def _against_limits(checked: Sequence[Checked], more: str) -> Spans:
    """Return a chart of claims and predictions relative to the limits."""
    spans = []
    for claim in checked:
        expected, *ends = (_share(claim, each) for each in claim.judged_by or (None,) * 3)
        low, high = sorted(each for each in ends if each is not None) or (None, None)
        value = _share(claim, claim.value)
        words = f"{shown_verdict(claim)}, {value:.3g} of the limit"
        spans.append(Span(claimed(claim), expected, low, high, words, mark=value))
    far = max(span.mark or 0.0 for span in spans) > FAR
    steps = "; equal steps are equal factors" if far else ", from 0"
    caption = (
        f"Ratios to the physical limit{steps}: the line at 1 is the limit, the red mark (a diamond in text) "
        f"the claim, the point and its bar what to expect with its 80 % interval.{more}"
    )
    return Spans("Claims against physics and model", spans, caption, line=1.0, logarithmic=far)


def _share(claim: Checked, value: float | None) -> float | None:
    """Return the ratio of a value to its limit, above 1 beyond it."""
    if value is None:
        return None
    return value / claim.limit if claim.higher_is_better else claim.limit / value
