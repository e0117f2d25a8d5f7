"""From a checked request to the JSON of its answer, which is what ``--json`` of the command prints."""

from __future__ import annotations

import json
from typing import Any

import orjson

from perfmodel.core.records.record import Record


def written(answer: Any) -> bytes:
    """Return what an answer's own ``to_json`` says; what is no number of JSON is null."""
    text: str = answer.to_json()
    if "NaN" in text or "Infinity" in text:  # in a name, or a number that JSON does not have
        text = json.dumps(json.loads(text, parse_constant=lambda constant: None))
    return text.encode()


def encoded(table: Any) -> bytes:
    """Return a table as JSON; what is no number, or endless, is null."""
    return orjson.dumps(table, default=_plain, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value._values()
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, float):
        return float(value)
    raise TypeError(f"{type(value).__name__} is no JSON")
