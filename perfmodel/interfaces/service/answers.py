"""From a checked request to the JSON of its answer, which is what ``--json`` of the command prints."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import orjson

from perfmodel.core.candidates import tries, will_try
from perfmodel.core.errors import refusal
from perfmodel.core.files.attachments import content_of, only_attached
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


def check_quote(request: other.QuoteRequest, catalogue: Catalogue) -> bytes:
    """Answer ``check-quote``."""
    from perfmodel.decide.quote import check_quote, read_quote
    from perfmodel.decide.quote.answer import QuoteAnswer, quote_of_json

    given: Any = request.quote
    quote, name = read_quote(given) if isinstance(given, str) else (quote_of_json(given), "quote")
    return encoded(QuoteAnswer.of(quote, check_quote(quote, catalogue, name, request.calibration)))


def trace_summary(request: other.TraceRequest, catalogue: Catalogue) -> bytes:
    """Answer ``trace/summary``."""
    from perfmodel.evidence.traces.read import read_all
    from perfmodel.evidence.traces.summarised import summarised, with_timings

    files = {name: _trace(content) for name, content in request.traces.items()}
    with only_attached(files):
        read = read_all(list(files))
    report = summarised(
        *read,
        accelerator=request.accelerators,
        skip=request.skip,
        workload=request.workload,
        local_batch_size=request.local_batch_size,
        precision=request.precision,
        catalogue=catalogue,
    )
    return encoded(with_timings(*report))


def _trace(content: Any) -> bytes:
    """What a trace of a request holds: a text, bytes, or the JSON itself."""
    held = content_of(content)
    return json.dumps(content).encode("utf-8", "replace") if held is None else held


def validate(request: other.ValidateRequest, catalogue: Catalogue) -> bytes:
    """Answer ``validate``."""
    from perfmodel.interfaces.api.validate import validate

    return written(validate(request.kind, mode=request.mode, out_of_sample=request.out_of_sample))


def specs(request: other.SpecsRequest, catalogue: Catalogue) -> bytes:
    """Answer ``specs``: what ``specs show`` prints of a name, otherwise what ``specs list`` does."""
    if request.name is not None:
        return catalogue.find(request.name)[1].model_dump_json(exclude_defaults=True).encode()
    each = (catalogue.spec(request.kind, id) for id in catalogue.ids(request.kind))
    return encoded([spec.model_dump(mode="json", exclude_defaults=True) for spec in each])


def workloads(request: other.WorkloadsRequest, catalogue: Catalogue) -> bytes:
    """Answer ``workloads``: as ``workloads show`` of a name, ``recipes``, otherwise ``list``."""
    from perfmodel.workloads import workload
    from perfmodel.workloads.listing import listed, summary_of, table_of

    if request.recipes:
        from perfmodel.evidence.recipe_rows import recipe_rows

        for field in ("name", "sequence_length"):
            if getattr(request, field) is not None:
                raise refusal("workloads.recipes", field)
        return encoded(recipe_rows(request.word))
    if request.name is not None:
        return encoded(table_of(workload(request.name, request.sequence_length)))
    if request.sequence_length is not None:
        raise refusal("workloads.sequence_length", "sequence_length", "name")
    names = [name for members in listed(request.word).values() for name in members]
    return encoded([summary_of(workload(name)) for name in names])


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
