"""Routes of the catalogue's lists, and their part of the OpenAPI document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from perfmodel.core.errors import InputError
from perfmodel.interfaces.service.lists import LISTS, MOST, USUAL, Entries, entry, number, page
from perfmodel.interfaces.service.problems import MEDIA_TYPE, Mistake, Refused, body_of, problem_of, refused
from perfmodel.interfaces.service.tags import entity_tag, names

CSV, JSON = "text/csv", "application/json"
FRESH = {"cache-control": "private, max-age=3600", "vary": "accept"}
FARTHEST = 1_000_000
"""Largest offset of a page."""
Endpoint = Callable[[Request], Awaitable[Response]]


def list_routes() -> Iterator[Route]:
    """Yield a route for each list and one for its entries."""
    for entries in LISTS:
        path = f"/v1/{entries.name}"
        yield Route(path, _endpoint(partial(_page, entries)), methods=["GET"], name=f"list-{entries.name}")
        shown = f"{path}/{{name:path}}"
        yield Route(shown, _endpoint(partial(_entry, entries)), methods=["GET"], name=f"show-{entries.name}")


def _endpoint(answer: Callable[[Request, bool], tuple[bytes, dict[str, str]]]) -> Endpoint:
    """Return the endpoint of a list or entry, as JSON or CSV, with an entity tag."""

    async def endpoint(request: Request) -> Response:
        as_csv = CSV in request.headers.get("accept", "")
        kind = CSV if as_csv else JSON
        tag = entity_tag(f"{request.url.path} {kind}", request.url.query.encode())
        head = {"etag": tag, **FRESH}
        if names(request.headers.get("if-none-match", ""), tag):
            return Response(status_code=304, headers=head)
        try:
            content, more = await run_in_threadpool(answer, request, as_csv)
        except InputError as error:
            refusal = refused(error, {})
            return Response(body_of(problem_of(refusal)), refusal.status, media_type=MEDIA_TYPE)
        return Response(content, headers=head | more, media_type=kind)

    return endpoint


def _page(entries: Entries, request: Request, as_csv: bool) -> tuple[bytes, dict[str, str]]:
    """Return a page of a list, and a header with the address of the next."""
    query = dict(request.query_params)
    for name in query:
        if name not in (entries.parameter, "limit", "offset"):
            words = f"unknown parameter {name!r:.99}; expected {entries.parameter}, limit or offset"
            raise Refused(words, [Mistake(name, query[name][:99], words)])
    limit = number(query.get("limit"), "limit", USUAL, 1, MOST)
    offset = number(query.get("offset"), "offset", 0, 0, FARTHEST)
    which = query.get(entries.parameter)
    try:
        content, after = page(entries, which, limit, offset, as_csv)
    except InputError as error:
        refusal = refused(error, {})
        value = (which or "")[:99]
        mistakes = [each._replace(field=entries.parameter, value=value) for each in refusal.mistakes]
        raise Refused(refusal.message, mistakes, refusal.status) from None
    if after is None:
        return content, {}
    following = urlencode({**query, "limit": limit, "offset": after})
    return content, {"link": f'<{request.url.path}?{following}>; rel="next"'}


def _entry(entries: Entries, request: Request, as_csv: bool) -> tuple[bytes, dict[str, str]]:
    """Return one entry of a list."""
    try:
        return entry(entries, request.path_params["name"], as_csv), {}
    except InputError as error:
        refusal = refused(error, {})
        raise Refused(refusal.message, refusal.mistakes, 404) from None


def list_paths(
    schema: Callable[[Any], dict[str, Any]], problems: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the GET operations of the OpenAPI document by path.

    Parameters
    ----------
    schema : function that returns the schema of a type
    problems : responses of refused requests by status
    """
    paths: dict[str, dict[str, Any]] = {}
    for entries in LISTS:
        chosen = {"name": entries.parameter, "in": "query", "schema": dict(entries.schema)}
        counts = (
            ("limit", USUAL, 1, MOST, "Entries of a page."),
            ("offset", 0, 0, FARTHEST, "Entries before the page."),
        )
        pages = [
            {
                "name": name,
                "in": "query",
                "description": words,
                "schema": {"type": "integer", "minimum": least, "maximum": most, "default": usual},
            }
            for name, usual, least, most, words in counts
        ]
        listing = {
            "title": f"{entries.name.title()}Page",
            "type": "object",
            "required": ["items", "total", "next_offset"],
            "additionalProperties": False,
            "properties": {
                "items": {
                    "type": "array",
                    "items": schema(entries.item),
                    "description": "Entries of this page.",
                },
                "total": {"type": "integer", "description": "Entries of all pages."},
                "next_offset": {
                    "type": ["integer", "null"],
                    "description": "Where the next page begins; null after the last.",
                },
            },
        }
        path = f"/v1/{entries.name}"
        name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        refused = {status: problems[status] for status in ("401", "403", "421", "422", "431", "500", "503")}
        paths[path] = {
            "get": _operation(f"list-{entries.name}", f"{entries.summary}, in pages.", listing, refused)
            | {"parameters": [chosen, *pages]}
        }
        missing = refused | {"404": problems["404"]}
        paths[f"{path}/{{name}}"] = {
            "get": _operation(
                f"show-{entries.name}", f"{entries.summary}: one entry.", schema(entries.shown), missing
            )
            | {"parameters": [name]}
        }
    return paths


def _operation(name: str, summary: str, schema: dict[str, Any], problems: dict[str, Any]) -> dict[str, Any]:
    """Return a GET operation with its responses."""
    content = {
        JSON: {"schema": schema},
        CSV: {"schema": {"type": "string", "description": "A row for each entry, or layer of a network."}},
    }
    return {
        "operationId": name,
        "summary": summary,
        "responses": {
            "200": {"description": "The answer.", "content": content},
            "304": {"description": "The client has the answer: its ETag was sent as If-None-Match."},
            **problems,
        },
    }
