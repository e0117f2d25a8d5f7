"""Arguments of Python functions as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from perfmodel.core.errors import refusal
from perfmodel.core.records.record import Record
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from perfmodel.interfaces.client.files import Files


def body_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options by name as JSON values, without those that are None."""
    return {name: plain(value) for name, value in options.items() if value is not None}


def plain(value: Any) -> Any:
    """Return a value as JSON: an array as a list, a path as a text.

    Raises
    ------
    InputError : an object that has no JSON form
    """
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, Record):
        return value.model_dump(mode="json", exclude_unset=True)
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if hasattr(value, "tolist"):  # of numpy
        return value.tolist()
    if isinstance(value, PathLike):
        return fspath(value)
    if isinstance(value, (list, tuple, range, set, frozenset)):
        return [plain(each) for each in value]
    raise refusal("client.value", value=value)


def scenario_options(scenario: Scenario, files: Files) -> dict[str, Any]:
    """Return the options given in a scenario, with files under their names in the request."""
    given = scenario.model_dump(mode="json", exclude_unset=True)
    return files.of_scenario({name: value for name, value in given.items() if value is not None})


def conditions_of(given: Conditions | Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return prices, power and failures as a table; None without any.

    Raises
    ------
    InputError : neither ``Conditions`` nor a table; a value out of its range
    """
    return None if given is None else Conditions.model_validate(given).model_dump(exclude_unset=True)
