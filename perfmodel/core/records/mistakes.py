"""Turns pydantic's errors into ``InputError``: the key, its value and what is expected."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel

from perfmodel.core.errors import InputError, unknown
from perfmodel.core.problem import Problem, Words
from perfmodel.core.records.record import Record

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_EXPECTED = {
    "bool_parsing": "expected true or false",
    "bool_type": "expected true or false",
    "date_type": "expected a date such as 2026-11-20, without quotes",
    "dict_type": "expected a table",
    "finite_number": "expected a finite number",
    "float_parsing": "expected a number",
    "float_type": "expected a number",
    "int_from_float": "expected a whole number",
    "int_parsing": "expected a whole number",
    "int_type": "expected a whole number",
    "model_type": "expected a table",
    "string_type": "expected text",
    "too_short": "expected at least one",
    "tuple_type": "expected a list",
}
"""Type of pydantic's error -> our message."""
_Model = type[BaseModel] | type[Record]
MOST_SAID = 8
"""Errors that the message about a file lists, so that its author can fix them all at once."""
MOST_COMPARED = 64
"""Unknown keys that are compared with each known one: more than any message or answer lists."""
_NO_KEY = re.compile(r"\[key\]|float|int|str|bool|none|constrained-\w+|[a-z-]+\[.*\]")
"""Matches parts of pydantic's location that are no key of the table, such as the member of a union."""
_OF_A_TYPE = ("_type", "_parsing", "too_short", "int_from_float", "literal_error")
"""Endings of error types that are redundant where a value inside has an error too."""


def refused(
    error: ValidationError,
    model: _Model | None = None,
    *,
    known: Iterable[str] = (),
    kind: str = "key",
    written: Callable[[Sequence[str]], str] = ".".join,
    most: int = 1,
) -> InputError:
    """Return pydantic's error as an ``InputError`` with a problem for each wrong field.

    Parameters
    ----------
    error : of pydantic
    model : the class that was checked; its keys are suggested for an unknown one
    known : keys to suggest instead of the model's
    kind : name of a key in messages, such as ``option``
    written : function from the keys that lead to a field to its name in the message; of no keys, ""
    most : problems that the sentence spells out; it counts the others
    """

    def name(place: Sequence[str]) -> str:
        return _visible(written(place))

    problems: dict[str, Problem] = {}
    for each in _relevant(error):
        place = _place(each)
        field = name(place)
        before = problems.get(field)
        if before is None:
            models = _models_at(model, place[:-1])
            keys = known
            if not known or len(place) > 1:
                keys = {key for each in models for key in each.model_fields} or known
            compared = keys if len(problems) < MOST_COMPARED else ()
            one = _problem(each, place, compared, kind, name, tables=bool(_models_at(model, place)))
        else:  # of the several types that one value might have had
            right, more = before.values["right_alone"], _expected(each)
            if more != right:
                right = f"{right} or {more.removeprefix('expected ')}"
            one = replace(before, values={**before.values, "right_alone": right})
        problems[field] = one
    result = InputError(*problems.values())
    result.most = most
    return result


def _relevant(error: ValidationError) -> list[ErrorDetails]:
    """Return the errors, without type errors of a table or list that has an error inside."""
    errors = error.errors(include_url=False)
    places = [tuple(_place(each)) for each in errors]
    short = {place for each, place in zip(errors, places, strict=True) if each["type"] == "too_short"}
    outer = {place[:length] for place in set(places) for length in range(len(place))}

    def is_redundant(each: ErrorDetails, place: tuple[str, ...]) -> bool:
        return place in outer or (each["type"] != "too_short" and place in short)

    return [
        each
        for each, place in zip(errors, places, strict=True)
        if not (each["type"].endswith(_OF_A_TYPE) and is_redundant(each, place))
    ]


def _expected(error: ErrorDetails) -> str:
    """Return the part of the message that says what is expected."""
    if error["type"] == "missing":
        return "the key is missing"
    if error["type"] == "extra_forbidden":
        return "no key of this name is known"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    if error["type"] == "too_short" and (least := error["ctx"].get("min_length", 1)) > 1:
        return f"expected at least {least}"
    if _is_whole_float(error):
        return "expected a whole number, in digits alone"
    wanted = error["msg"].replace("Input should be", "expected").replace("String should", "expected text to")
    return _EXPECTED.get(error["type"], wanted.replace("a valid", "a"))


def _is_whole_float(error: ErrorDetails) -> bool:
    """Whether the error is about a whole number written as a float, such as 8.0."""
    given = error["input"]
    return error["type"] in ("int_type", "int_from_float") and isinstance(given, float) and given.is_integer()


def _place(error: ErrorDetails) -> list[str]:
    return [str(part) for part in error["loc"] if isinstance(part, int) or not _NO_KEY.fullmatch(part)]


def _visible(text: str) -> str:
    r"""Return a key with what no terminal shows as escapes.

    >>> _visible("sources.\x1e")
    'sources.\\x1e'
    """
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def _problem(
    error: ErrorDetails,
    place: list[str],
    known: Iterable[str],
    kind: str,
    written: Callable[[Sequence[str]], str],
    *,
    tables: bool,
) -> Problem:
    what, given, key = error["type"], error["input"], written(place)
    path = tuple(each for each in error["loc"] if isinstance(each, int) or not _NO_KEY.fullmatch(each))
    table, last = (written(place[:-1]), place[-1]) if len(place) > 1 else ("", key)
    inside = f"{table}: " if table else ""
    right = _expected(error)
    values = {"field": key, "given": given, "right_alone": right}
    if what == "missing":
        return Problem("value.missing", (path,), values)
    if what == "extra_forbidden" and not known:
        called = {"called": Words(kind), "name": last, "right": Words(right)}
        return Problem("field.unknown", (path,), {**values, **called}, before=inside)
    if what == "extra_forbidden":
        one = unknown("field.unknown", kind, last, known, path)
        values |= {"right_alone": one.words()}
        return replace(one, values={**one.values, **values}, before=inside)
    if what == "value_error":
        cause, joint = error["ctx"]["error"], " = " if right.startswith(repr(given)) else ": "
        before = f"{key}{joint}" if key else ""
        if isinstance(cause, InputError):
            one, parts = cause.problems[0].under(path), "".join(f"{part}: " for part in cause.inside)
            return replace(one, values={**one.values, **values}, before=f"{before}{parts}{one.before}")
        return Problem("value.refused", (path,), {**values, "cause": Words(right)}, before=before)
    if what == "literal_error" and isinstance(given, str):
        key_of_list = next((part for part in reversed(place) if not part.isdigit()), last)
        named = kind if error["loc"][-1] == "[key]" else key_of_list if last.isdigit() else last
        choices = error["ctx"]["expected"].split("'")[1::2]
        one = unknown("name.unknown", named, given, choices, path)
        return replace(one, values={**one.values, **values}, before=inside)
    wanted = right.removeprefix("expected ")
    if tables and what == "tuple_type":
        wanted += f" of tables: [[{last}]]"
    value = f"{given}" if _is_whole_float(error) else _shown(given)
    return Problem("value.invalid", (path,), {**values, "value": value, "expected": wanted})


def _shown(given: object) -> str:
    """Return a value as text of at most 60 letters."""
    text = repr(given)
    if isinstance(given, float) and float(f"{given:g}") == given:
        text = f"{given:g}"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _models_at(model: _Model | None, place: Iterable[str]) -> set[_Model]:
    """Return the models that the value at a place in a model's table may be of."""
    models = set() if model is None else {model}
    for key in place:
        fields = [each.model_fields[key] for each in models if key in each.model_fields]
        if fields:  # else a part of a list, or a key that the user chose
            models = set().union(*(_models(field.annotation) for field in fields))
    return models


def _models(annotation: Any) -> set[_Model]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel | Record):
        return {annotation}
    return set().union(*map(_models, get_args(annotation)))
