"""A scenario as people write it in a file: its keys, and what is wrong with one that is none."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ValidationError

from perfmodel.errors import unknown_name
from perfmodel.specs.scenario import SHORT, Scenario, field_of

KEYS = (*SHORT, *Scenario.model_fields)
"""What may stand in a file; a dash will do for each underscore."""


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
