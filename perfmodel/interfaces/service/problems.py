"""Answers to refused requests: application/problem+json, with what would be valid."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from perfmodel.core.errors import InputError, shortened
from perfmodel.core.problem import LONGEST_NAME, json_path, python
from perfmodel.interfaces.service.places import Place, fields_of, place_of, value_at, written

MEDIA_TYPE = "application/problem+json"
WORDS = {413: "Content Too Large", 422: "Unprocessable Content"}
"""Names of statuses that differ between versions of Python."""
LONGEST_VALUE = 200
"""Characters of a refused value that are sent back."""
LONGEST_MESSAGE = 2000
"""Characters of a message."""
MOST_MISTAKES = 20
"""Mistakes of a request that are reported."""
LARGEST_WHOLE = 2**53
"""Largest whole number on which all readers of JSON agree."""
_LONG_WORD = re.compile(rf"(\S{{{LONGEST_NAME}}})\S+")
"""Long words of a request that a message repeats."""


class Mistake(NamedTuple):
    """One mistake in a request."""

    field: str | None
    """Path in the body, keys joined by dots; None for the request as a whole."""
    value: Any
    """The value at that path."""
    message: str
    """What is wrong, and what would be valid."""
    code: str = "request.refused"
    """Problem code, for programs."""
    fields: tuple[str, ...] = ()
    """All options concerned, as JSONPath from the table that contains them."""
    values: Mapping[str, float] = {}
    """Numbers in the message, by name."""


class Refused(InputError):
    """A request that cannot be answered."""

    def __init__(self, message: str, mistakes: Iterable[Mistake] = (), status: int = 422) -> None:
        """Take the message for people, the mistakes for programs, and the status of the answer."""
        self.message, self.mistakes, self.status = message, tuple(mistakes), status
        super().__init__(message, self.mistakes, status)  # for pickling

    def __str__(self) -> str:
        return self.message


def refused(error: InputError, table: Mapping[str, Any], request: Any = None) -> Refused:
    """Return the refusal of a body for an error of a command.

    Parameters
    ----------
    error : of the command
    table : the parsed body
    request : the record with which the body was validated
    """
    if isinstance(error, Refused):
        return error
    words, first = _single_spaced(error.words(python, LONGEST_NAME)), error.problems[0]
    if first.code == "package.missing":
        words = words.partition(": pip install")[0]
        return Refused(f"not installed where this service runs: {words}", status=501)
    known = getattr(request, "model_fields", ())
    mistakes = []
    for each in error.problems[:MOST_MISTAKES]:
        right = each.values.get("right_alone") or each.words(python, LONGEST_NAME)
        place = place_of(table, each, known)
        fields = fields_of(table, each) or ((place,) if place else ())
        one = _mistake(table, place, _single_spaced(right))
        paths, numbers = tuple(map(json_path, fields)), _numbers(each.values)
        mistakes.append(one._replace(code=each.code, fields=paths, values=numbers))
    return Refused(words, mistakes)


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the finite numbers of a table."""
    return {name: each for name, each in values.items() if type(each) in (int, float) and each - each == 0}


def _single_spaced(words: str) -> str:
    """Return words with single spaces."""
    return " ".join(words.split())


def below(error: Refused, place: Callable[[str | None], str | None]) -> Refused:
    """Return a refusal of a part of a body as one of the whole.

    Parameters
    ----------
    place : function from a field of the part to that of the whole
    """
    moved = [each._replace(field=place(each.field)) for each in error.mistakes]
    return Refused(error.message, moved, error.status)


def _mistake(table: Mapping[str, Any], place: Place | None, message: str) -> Mistake:
    """Return the mistake at a path of a body."""
    if place is None:
        return Mistake(None, None, message)
    return Mistake(written(place), shown(value_at(table, place)), message)


def shown(value: Any) -> Any:
    """Return a value that can be sent back as JSON; of a long one only the beginning."""
    if isinstance(value, int) and abs(value) > LARGEST_WHOLE:
        return f"{value:.6g}" if abs(value) < 10**300 else "a number of over 300 digits"
    if value is None or isinstance(value, bool | int | float):
        return value if not isinstance(value, float) or value - value == 0 else repr(value)
    text = value if isinstance(value, str) else _as_json(value)
    text = text.encode("utf-8", "replace").decode()
    if not isinstance(value, str) and len(text) <= LONGEST_VALUE:
        return json.loads(text, parse_int=lambda digits: shown(int(digits)), parse_constant=str)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def _as_json(value: Any) -> str:
    """Return a value as JSON; a placeholder where that is impossible."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):  # a number that is too long to write
        return '"a table or list"'


def problem(status: int, detail: str, mistakes: Iterable[Mistake] = ()) -> dict[str, Any]:
    """Return a problem (RFC 9457) as a table: type, title, status, detail and, for a 422, errors."""
    title = WORDS.get(status) or HTTPStatus(status).phrase
    table: dict[str, Any] = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    table["detail"] = _cut(detail)
    mistakes = [*mistakes] or ([Mistake(None, None, detail)] if status == 422 else [])  # a limit has no field
    errors = [
        {
            "field": each.field and shortened(each.field),
            "value": each.value,
            "message": _cut(each.message),
            "code": each.code,
            "fields": [shortened(path) for path in each.fields],
            "values": {name: shown(number) for name, number in each.values.items()},
        }
        for each in mistakes
    ]
    return table | {"errors": errors} if errors else table


def _cut(words: str) -> str:
    """Return a message with long words and long texts cut."""
    words = _LONG_WORD.sub(r"\1...", words)
    return words if len(words) <= LONGEST_MESSAGE else f"{words[:LONGEST_MESSAGE]}..."


def too_slow(seconds: float) -> str:
    """Return the message for a request that takes too long."""
    return f"this takes longer than {seconds:g} s; ask for less"


def problem_of(error: Refused) -> dict[str, Any]:
    """Return the problem document of a refused request."""
    return problem(error.status, error.message, error.mistakes)


def body_of(table: Mapping[str, Any]) -> bytes:
    """Return a problem document as the body of a response."""
    return json.dumps(table, ensure_ascii=False).encode("utf-8", "replace")
