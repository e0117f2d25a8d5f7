"""A scenario as people write it in a file: its keys, and what is wrong with one that is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from perfmodel.errors import InputError, unknown_name
from perfmodel.specs.scenario import Scenario

KEYS = ("gpus", *Scenario.model_fields)
"""What may stand in a file; a dash will do for each underscore."""


def field_of(key: str) -> str:
    """Return the field of a ``Scenario`` that a key means, if there is one of that name.

    >>> field_of("gpus"), field_of("inter-link")
    ('world_size', 'inter_link')
    """
    return "world_size" if key == "gpus" else key.replace("-", "_")


def by_field(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table under the names of a ``Scenario``; its values are not checked.

    Raises
    ------
    InputError : two keys that mean the same
    """
    found: dict[str, str] = {}
    for key in table:
        if (field := field_of(key)) in found:
            raise InputError(f"{found[field]} and {key}: give one, they are the same")
        found[field] = key
    return {field: table[key] for field, key in found.items()}


def mistake(error: ValidationError, typed: Iterable[str] = ()) -> str:
    """Return what is wrong with a scenario, in a line: key as typed, value, and what it may be.

    Parameters
    ----------
    error : of ``Scenario.model_validate``
    typed : the keys as they were written
    """
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    key = next((key for key in typed if field_of(key) == field), field)
    if first["type"] == "extra_forbidden":
        return str(unknown_name("key", key, KEYS))
    wanted = first["msg"].replace("Input should be", "expected").replace("a valid", "a")
    wanted = wanted.replace("a integer", "a whole number").replace("a boolean", "true or false")
    return f"{key} = {first['input']!r}: {wanted}"
