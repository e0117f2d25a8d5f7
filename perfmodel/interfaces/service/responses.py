"""What the document says of answers that are no result: each status, in words and by an example."""

from __future__ import annotations

from typing import Any

from perfmodel.interfaces.service.problems import MEDIA_TYPE, Mistake, problem

PROBLEM = {
    "title": "Problem",
    "description": "What is wrong with a request, and what would be right (RFC 9457).",
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "additionalProperties": False,
    "properties": {
        "type": {"type": "string", "description": "Always about:blank: the status says what kind it is."},
        "title": {"type": "string", "description": "The status in words."},
        "status": {"type": "integer", "description": "As the answer has it."},
        "detail": {"type": "string", "description": "What is wrong, and what would be right."},
        "errors": {
            "type": "array",
            "description": "Of a 422: each mistake.",
            "items": {
                "type": "object",
                "required": ["field", "value", "message", "code", "fields", "values"],
                "additionalProperties": False,
                "properties": {
                    "field": {
                        "type": ["string", "null"],
                        "description": "Where in the body, keys and places in lists (from 0) joined by dots, "
                        "e.g. scenarios.1.gpus; null of all of it.",
                    },
                    "value": {"description": "What stands there; of a long one the beginning."},
                    "message": {"type": "string", "description": "What would be right."},
                    "code": {"type": "string", "description": "What is wrong, e.g. name.unknown."},
                    "fields": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "All that it is about, e.g. $.price; from the table that holds them.",
                    },
                    "values": {
                        "type": "object",
                        "additionalProperties": {"type": ["number", "string"]},
                        "description": "Numbers that the message says, by name, e.g. enough: 128.",
                    },
                },
            },
        },
    },
}
STATUSES = {
    400: (
        "The body is not JSON, has a key twice, or nests too deeply.",
        "the body is not JSON: Expecting value: line 1 column 10 (char 9)",
    ),
    401: (
        "The service takes a bearer token, and the request has none that it knows.",
        "send a token of this service: Authorization: Bearer TOKEN",
    ),
    403: (
        "The request comes from a page of another origin.",
        "pages of https://example.org may not ask this service; --cors-origin lets them",
    ),
    408: ("The request was sent too slowly.", "the body took longer than 10 s"),
    412: (
        "The answer is the one whose ETag was sent as If-None-Match.",
        "the answer is the one whose ETag was sent as If-None-Match",
    ),
    413: ("The body is larger than the service takes.", "the body is longer than 4,000,000 bytes"),
    415: (
        "The body is of another type than application/json.",
        "expected Content-Type: application/json",
    ),
    421: (
        "The request names a host that the service does not answer for.",
        "this service does not answer for example.org",
    ),
    422: (
        "The request cannot be answered; each error names field, value and what would be right.",
        "gpus = 'eight': expected a whole number",
    ),
    429: (
        "Too many requests wait for the pool; Retry-After says when to ask again.",
        "16 requests wait already; try again",
    ),
    431: ("The head of the request is too long.", "the head is longer than 32,768 bytes"),
    500: ("The service failed.", "the service failed to answer; the request may be fine"),
    501: (
        "The service lacks an optional package.",
        "not installed where this service runs: an Arrow stream needs pyarrow",
    ),
    503: (
        "The service is full, starting or ending; Retry-After says when to ask again.",
        "too many bodies at once; try again",
    ),
    504: (
        "The calculation took longer than the service allows.",
        "this takes longer than 30 s; ask for less",
    ),
}
"""Of each status: when it is answered, and the detail of an example."""
MISSING = {404: ("Nothing is called so.", "unknown spec 'a1000'; nearest: a100-sxm4-80gb")}
"""Likewise, where an address has the name of a thing."""
AGAIN = (429, 503)
"""Statuses whose answer says when to ask again."""


def problem_responses(reference: dict[str, Any]) -> dict[str, Any]:
    """Return the responses of every status that is a problem.

    Parameters
    ----------
    reference : to the schema of a problem
    """
    return {str(status): problem_response(status, reference) for status in STATUSES}


def problem_response(status: int, reference: dict[str, Any]) -> dict[str, Any]:
    """Return the response of one status, with an example.

    Parameters
    ----------
    reference : to the schema of a problem
    """
    words, detail = (STATUSES | MISSING)[status]
    mistakes = (
        [Mistake("gpus", "eight", "expected a whole number", "value.invalid", ("$.gpus",))]
        if status == 422
        else []
    )
    response: dict[str, Any] = {
        "description": words,
        "content": {MEDIA_TYPE: {"schema": reference, "example": problem(status, detail, mistakes)}},
    }
    if status in AGAIN:
        wait = {"description": "Seconds.", "schema": {"type": "integer"}, "example": 1}
        response["headers"] = {"Retry-After": wait}
    return response
