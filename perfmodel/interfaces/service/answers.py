"""From a checked request to the JSON of its answer, which is what ``--json`` of the command prints."""

from __future__ import annotations

import json
from typing import Any

import orjson

from perfmodel.core.candidates import will_try
from perfmodel.core.records.record import Record
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.service import other_requests as other
from perfmodel.interfaces.service.problems import Mistake, Refused


def sweep(request: other.SweepRequest, catalogue: Catalogue) -> bytes:
    """Answer ``sweep``."""
    from perfmodel.decide.sweeps.table import MOST_IN_JSON

    result = sweep_of(request, catalogue)
    if len(result) > MOST_IN_JSON:
        right = f"at most {MOST_IN_JSON:,}; a stream has any number: Accept: application/x-ndjson"
        raise Refused(f"{len(result):,} scenarios as JSON: {right}", [Mistake(None, len(result), right)])
    return written(result)


def sweep_of(request: other.SweepRequest, catalogue: Catalogue) -> Any:
    """Return the sweep of a request, of which nothing is computed yet.

    Raises
    ------
    InputError : as ``perfmodel.sweep``
    TooManyCandidates : more scenarios than the service allows
    """
    from perfmodel.decide.sweeps import sweep
    from perfmodel.model.options.scenario import field_of

    lengths = 1
    for value in request.options.values():
        lengths *= max(1, len(value)) if isinstance(value, list) else 1
    will_try((lengths,))  # before each value is looked at
    columns = None if request.columns is None else [field_of(name) for name in request.columns]
    return sweep(request.options, catalogue=catalogue, columns=columns)


def validate(request: other.ValidateRequest, catalogue: Catalogue) -> bytes:
    """Answer ``validate``."""
    from perfmodel.interfaces.api.validate import validate

    return written(validate(request.kind, mode=request.mode, out_of_sample=request.out_of_sample))


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
