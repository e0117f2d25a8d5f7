"""Responses other than results in the OpenAPI document: each status in words and with an example."""

from __future__ import annotations

from typing import Any

from perfmodel.interfaces.service.problems import MEDIA_TYPE, Mistake, problem

PROBLEM = {
    "title": "Problem",
    "description": "What is wrong with a request, and what would be valid (RFC 9457).",
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "additionalProperties": False,
    "properties": {
        "type": {"type": "string", "description": "Always about:blank: the status is the type."},
        "title": {"type": "string", "description": "The status in words."},
        "status": {"type": "integer", "description": "The status of the response."},
        "detail": {"type": "string", "description": "What is wrong, and what would be valid."},
        "errors": {
            "type": "array",
            "description": "Each mistake, for a 422.",
            "items": {
                "type": "object",
                "required": ["field", "value", "message", "code", "fields", "values"],
                "additionalProperties": False,
                "properties": {
                    "field": {
                        "type": ["string", "null"],
                        "description": "Path in the body, keys and list indices (from 0) joined by dots, "
                        "e.g. scenarios.1.gpus; null for the whole body.",
                    },
                    "value": {"description": "The value there; of a long one the beginning."},
                    "message": {"type": "string", "description": "What would be valid."},
                    "code": {"type": "string", "description": "Problem code, e.g. name.unknown."},
                    "fields": {
                        "type": "array",
                        "items": {"type": "string"},
                        "description": "All fields concerned, e.g. $.price; from the table that has them.",
                    },
                    "values": {
                        "type": "object",
                        "additionalProperties": {"type": ["number", "string"]},
                        "description": "Numbers in the message, by name, e.g. enough: 128.",
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
        "The service requires a bearer token, and the request has no valid one.",
        "send a token of this service: Authorization: Bearer TOKEN",
    ),
    403: (
        "The request comes from a page of another origin.",
        "pages of this origin may not call the service; start it with --cors-origin",
    ),
    408: ("The request was sent too slowly.", "the body took longer than 10 s"),
    412: (
        "The client has the answer: its ETag was sent as If-None-Match.",
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
        "The request is invalid; each error names field, value and what would be valid.",
        "gpus = 'eight': expected a whole number",
    ),
    429: (
        "Too many requests wait for the pool; Retry-After says when to retry.",
        "16 requests wait already; try again",
    ),
    431: ("The head of the request is too long.", "the head is longer than 32,768 bytes"),
    500: ("The service failed.", "the service failed to answer; the request may be fine"),
    501: (
        "The service lacks an optional package.",
        "not installed where this service runs: an Arrow stream needs pyarrow",
    ),
    503: (
        "The service is full, starting or ending; Retry-After says when to retry.",
        "too many bodies at once; try again",
    ),
    504: (
        "The calculation took longer than the service allows.",
        "this takes longer than 30 s; ask for less",
    ),
}
"""For each status when it is answered, and the detail of an example."""
MISSING = {404: ("The name is unknown.", "unknown spec 'a1000'; nearest: a100-sxm4-80gb")}
"""The same for addresses that contain a name."""
AGAIN = (429, 503)
"""Statuses with a Retry-After header."""


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
