"""From a checked request to the JSON of its answer, which is what ``--json`` of the command prints."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import orjson

from perfmodel.core.candidates import tries, will_try
from perfmodel.core.errors import refusal
from perfmodel.core.records.record import Record
from perfmodel.decide.planning import SearchResult
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.service import other_requests as other
from perfmodel.interfaces.service.fleets import OWN, fleets_of, refuse_without_fleet
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


def plan(request: Any, catalogue: Catalogue) -> bytes:
    """Answer ``plan``."""
    from perfmodel.interfaces.api.plan import plan

    options = options_of(request)
    conditions = options.pop("conditions", None)
    if options.get("have") is not None:
        tries(len(options.get("buy") or ()))
        return written(fleets_of(options, conditions, catalogue))
    refuse_without_fleet(options)
    options = {name: value for name, value in options.items() if name not in OWN}
    options["conditions"] = conditions
    limit, offset = options.pop("limit", None), options.pop("offset", 0)
    if limit is None and offset:
        raise refusal("page.offset", "offset", "limit", offset=offset)
    answer = plan(**options, catalogue=catalogue)
    if limit is None:
        return written(answer)
    return encoded(json.loads(written(answer)) | _page(answer.search, limit, offset))


def _page(search: SearchResult, limit: int, offset: int) -> dict[str, Any]:
    """Return some of the plans that were tried, the cheapest first, those without a price last."""
    table = search.candidates
    order = np.lexsort((table["run_time"], table["cost"]))  # what is not a number comes last
    plans = [search.row(int(index)) for index in order[offset : offset + limit]]
    after = offset + len(plans)
    return {"plans": plans, "next_offset": after if after < len(search) else None}


def options_of(request: Record) -> dict[str, Any]:
    """Return the options that were given, without what the request brought along."""
    given = request.model_fields_set - {"specs", "files"}
    return {name: getattr(request, name) for name in type(request).model_fields if name in given}


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
