"""What a request that cannot be answered gets: application/problem+json, with what would be right."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple

from perfmodel.errors import LONGEST_NAME, InputError, shortened
from perfmodel.specs.scenario import field_of

MEDIA_TYPE = "application/problem+json"
WORDS = {413: "Content Too Large", 422: "Unprocessable Content"}
"""Where names of statuses differ between versions of Python."""
LONGEST_VALUE = 200
"""Letters of a refused value that are sent back."""
LONGEST_MESSAGE = 2000
"""Letters of words about what was refused."""
MOST_MISTAKES = 20
LARGEST_WHOLE = 2**53
"""Beyond it readers of JSON do not agree on a whole number."""
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")
_LONG_WORD = re.compile(rf"(\S{{{LONGEST_NAME}}})\S+")
"""What a message repeats of a request."""
_FIELDS = {
    "node-mtbf": "node_failure_interval",
    "adapter-price": "adapter_prices",
    "switch-price": "switch_prices",
}
"""Fields of options that are not called as they are written."""
_IN_SPECS = re.compile(r"(specs(?:\.[\w.-]+)?): ")


class Mistake(NamedTuple):
    """One thing that is wrong with a request."""

    field: str | None
    """Where in the body it is, keys joined by dots; None of the request as a whole."""
    value: Any
    """What stands there."""
    message: str
    """What is wrong, and what would be right."""


class Refused(InputError):
    """A request that cannot be answered as it is."""

    def __init__(self, message: str, mistakes: Iterable[Mistake] = (), status: int = 422) -> None:
        """Take the words for people, each mistake for programs, and the status of the answer."""
        self.message, self.mistakes, self.status = message, tuple(mistakes), status
        super().__init__(message, self.mistakes, status)  # by which it is pickled

    def __str__(self) -> str:
        return self.message


def refused(error: InputError, table: Mapping[str, Any]) -> Refused:
    """Return the refusal of a body for what a command says is wrong with it.

    Parameters
    ----------
    error : of the command
    table : the body
    """
    if isinstance(error, Refused):
        return error
    message = _in_python(" ".join(str(error).split()))
    return Refused(message, _details(error, message, table))


def _in_python(message: str) -> str:
    """Words about options of the command line as a body has them.

    >>> _in_python("--node-mtbf needs --checkpoint-time")
    'node_failure_interval needs checkpoint_time'
    """
    return _OPTION.sub(lambda name: _FIELDS.get(name[1], name[1].replace("-", "_")), message)


def _details(error: InputError, message: str, table: Mapping[str, Any]) -> Iterator[Mistake]:
    from pydantic import ValidationError

    cause = error.__context__ or error.__cause__
    if isinstance(cause, ValidationError):
        from perfmodel.specs.mistakes import mistakes

        inside = _IN_SPECS.match(message)
        before = [inside[1]] if inside else []
        for place, value, words in mistakes(cause)[:MOST_MISTAKES]:
            yield Mistake(_written([*before, *place], table), _shown(value), words)
        return
    field = _named(message, table)
    yield Mistake(field, None if field is None else _shown(table[field]), message)


def _written(place: Sequence[str], table: Mapping[str, Any]) -> str | None:
    """The place as the body has it: ``gpus`` where that was written, not ``world_size``."""
    keys = {field_of(key): key for key in table}
    return ".".join((keys.get(place[0], place[0]), *place[1:])) if place else None


def _named(message: str, table: Mapping[str, Any]) -> str | None:
    """The key of a body that a message is about: the first it names, else one whose value it quotes."""
    named = [key for key in table if message.startswith((f"{key} ", f"{key}:", f"unknown {key} "))]
    spoken = [
        key for key in table if len(key) <= LONGEST_NAME and re.search(rf"\b{re.escape(key)}\b", message)
    ]
    texts = {
        key: [each for each in _several(value) if isinstance(each, str) and each]
        for key, value in table.items()
    }
    quoted = [key for key, each in texts.items() if any(repr(shortened(text)) in message for text in each)]
    path = [key for key, each in texts.items() if any(text in message for text in each)]
    return next(iter([*named, *quoted, *spoken, *path]), None)


def _several(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _shown(value: Any) -> Any:
    """A value as it can be sent back, where it is long only its beginning."""
    if isinstance(value, int) and abs(value) > LARGEST_WHOLE:
        return f"{value:.6g}" if abs(value) < 10**300 else "a number of over 300 digits"
    if value is None or isinstance(value, bool | int | float):
        return value if not isinstance(value, float) or value - value == 0 else repr(value)
    text = value if isinstance(value, str) else repr(value)
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def problem(status: int, detail: str, mistakes: Iterable[Mistake] = ()) -> dict[str, Any]:
    """Return a problem (RFC 9457) as a table: type, title, status, detail and, of a 422, errors."""
    title = WORDS.get(status) or HTTPStatus(status).phrase
    table: dict[str, Any] = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    table["detail"] = _cut(detail)
    errors = [
        {"field": each.field and shortened(each.field), "value": each.value, "message": _cut(each.message)}
        for each in mistakes
    ]
    return table | {"errors": errors} if errors else table


def _cut(words: str) -> str:
    """Words without what a long name would add to them."""
    words = _LONG_WORD.sub(r"\1...", words)
    return words if len(words) <= LONGEST_MESSAGE else f"{words[:LONGEST_MESSAGE]}..."


def problem_of(error: Refused) -> dict[str, Any]:
    """Return the problem of a refused request."""
    return problem(error.status, error.message, error.mistakes)


def body_of(table: Mapping[str, Any]) -> bytes:
    """Return a problem as the body of an answer."""
    return json.dumps(table, ensure_ascii=False).encode("utf-8", "replace")
