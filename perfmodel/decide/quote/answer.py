"""A checked quote as an answer: what ``perfmodel check-quote --json`` prints."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from pydantic import ValidationError

from perfmodel.core.errors import refusal
from perfmodel.core.files.tables import ListAnswer, Record, Table, aligned
from perfmodel.decide.quote.card import card_of_quote
from perfmodel.decide.quote.checked import Checked
from perfmodel.decide.quote.file import Quote, example_names, read_quote, refused_quote
from perfmodel.decide.quote.sentence import shown_verdict
from perfmodel.hardware.provenance import Source
from perfmodel.model.prediction.answer_card import Card

_LEFT_OUT = {"arithmetic", "measured", "defaults", "reading", "machines", "sample", "higher_is_better"} | {
    "similar_run",
    "reached_by",
    "other_reading",
    "limited_by",
    "only_with",
}
"""Columns that records leave out: lists, tables, and repetitions of other columns."""
_JUDGED_BY = ("judged_by", "judged_by_low_80", "judged_by_high_80")
"""Columns of what to expect, with the interval by which verdict and probability are."""


@dataclass(frozen=True, repr=False)
class QuoteAnswer(Table):
    """A quote and the result of its check; a sequence of its claims.

    CSV has a line for each claim, with the card in its last columns.
    """

    title: str
    """Title of the quote."""
    note: str
    """Note of the quote."""
    card: Card
    """The answer in short, by the worst claim."""
    claims: list[Checked]
    """Its claims, with the result of each check."""
    impossible: int
    """Number of impossible claims."""
    sources: dict[str, Source]
    """Sources of the quote, by the keys that claims name."""

    @classmethod
    def of(cls, quote: Quote, checked: Sequence[Checked]) -> QuoteAnswer:
        """Return the answer for checked claims."""
        impossible = sum(claim.verdict == "impossible" for claim in checked)
        return cls(quote.title, quote.note, card_of_quote(checked), list(checked), impossible, quote.sources)

    def records(self) -> list[Record]:
        """Return a row for each claim."""
        return [
            claim.model_dump(exclude=_LEFT_OUT)
            | {
                "tricks": ", ".join(trick.name for trick in claim.tricks),
                "only_with": ", ".join(each.words for each in claim.only_with),
            }
            | dict(zip(_JUDGED_BY, claim.judged_by or (None,) * 3, strict=True))
            for claim in self.claims
        ]

    def to_json(self) -> str:
        """Return what ``perfmodel check-quote --json`` prints."""
        table = {field.name: getattr(self, field.name) for field in fields(self)}
        table["card"] = self.card.model_dump()
        table["claims"] = [claim.model_dump() for claim in self.claims]
        table["sources"] = {key: each.model_dump(mode="json") for key, each in self.sources.items()}
        return json.dumps(table)

    def __iter__(self) -> Iterator[Checked]:
        return iter(self.claims)

    def __len__(self) -> int:
        return len(self.claims)

    def __getitem__(self, index: int) -> Checked:
        return self.claims[index]

    def __repr__(self) -> str:
        rows = [(claim.quantity, shown_verdict(claim), claim.judgement) for claim in self.claims]
        title = f"quote: {self.title}\n{self.card.advice}"
        return aligned(title, ("claim", "verdict", "judgement"), rows, left=3)


@dataclass(frozen=True)
class ExampleQuote:
    """A quote that comes with the package."""

    name: str
    """Name by which it can be checked."""
    title: str
    """Title of the quote: the offer."""
    claims: int
    """Number of its claims [1]."""


class ExampleQuotes(ListAnswer[ExampleQuote]):
    """The quotes that come with the package."""


def example_quotes() -> ExampleQuotes:
    """Return the quotes that come with the package."""
    quotes = {name: read_quote(name)[0] for name in example_names()}
    return ExampleQuotes(ExampleQuote(name, quote.title, len(quote.claims)) for name, quote in quotes.items())


def quote_of_json(table: Mapping[str, Any]) -> Quote:
    """Return the quote of a JSON table, in which dates are texts.

    Raises
    ------
    InputError : an unknown key, or a value that does not fit
    """
    try:
        return Quote.model_validate_json(json.dumps(table))
    except ValidationError as error:
        raise refused_quote(error) from None
    except TypeError:
        raise refusal("quote.not_json", "quote") from None
