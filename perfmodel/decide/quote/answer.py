"""A checked quote as one answer: what ``perfmodel check-quote --json`` prints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from perfmodel.core.errors import refusal
from perfmodel.decide.quote.checked import Checked
from perfmodel.decide.quote.file import Quote, refused_quote
from perfmodel.hardware.provenance import Source


class QuoteAnswer(BaseModel):
    """A quote and the result of its check."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    """Of the quote."""
    note: str
    """Of the quote."""
    claims: list[Checked]
    """Each with what its check says."""
    impossible: int
    """How many of them are."""
    sources: dict[str, Source]
    """Of the quote, by the keys that claims name."""

    @classmethod
    def of(cls, quote: Quote, checked: Sequence[Checked]) -> dict[str, Any]:
        """Return the answer as a table."""
        return {
            "title": quote.title,
            "note": quote.note,
            "claims": [claim.model_dump() for claim in checked],
            "impossible": sum(claim.verdict == "impossible" for claim in checked),
            "sources": {key: source.model_dump(mode="json") for key, source in quote.sources.items()},
        }


def quote_of_json(table: Mapping[str, Any]) -> Quote:
    """Return the quote of a table of JSON, whose dates are texts.

    Raises
    ------
    InputError : an unknown key, a value that does not fit
    """
    try:
        return Quote.model_validate_json(json.dumps(table))
    except ValidationError as error:
        raise refused_quote(error) from None
    except TypeError:
        raise refusal("quote.not_json", "quote") from None
