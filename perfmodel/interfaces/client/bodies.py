"""What calls of Python are given, as JSON has it."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from perfmodel.core.errors import refusal
from perfmodel.core.records.record import Record
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

    from perfmodel.decide.quote import Quote
    from perfmodel.interfaces.client.files import Files


def body_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a body of options by name; one that is None is left out."""
    return {name: plain(value) for name, value in options.items() if value is not None}


def plain(value: Any) -> Any:
    """Return a value as JSON has it: an array as a list, a path as a text.

    Raises
    ------
    InputError : an object that JSON has nothing for
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
    """Return the options of a scenario that were given, its files under the names of the request."""
    given = scenario.model_dump(mode="json", exclude_unset=True)
    return files.of_scenario({name: value for name, value in given.items() if value is not None})


def conditions_of(given: Conditions | Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return prices, power and failures as a table; None where none were given.

    Raises
    ------
    InputError : neither ``Conditions`` nor a table; a value out of its range
    """
    return None if given is None else Conditions.model_validate(given).model_dump(exclude_unset=True)


def quote_of(given: Quote | str | Path | Mapping[str, Any], files: Files) -> Any:
    """Return a quote as a request has it: an example's name, or a table with its files.

    Raises
    ------
    InputError : as of ``read_quote``
    """
    from perfmodel.decide.quote import Quote, example_names, read_quote

    if isinstance(given, str) and given in example_names():
        return given
    if isinstance(given, (str, PathLike)):
        given = read_quote(given)[0]
    if isinstance(given, Quote):
        given = given.model_dump(mode="json", exclude_unset=True)
    if not isinstance(given, Mapping):
        raise refusal("client.quote", "quote", given=given)
    return _with_files(given, files)


def _with_files(table: Mapping[str, Any], files: Files) -> dict[str, Any]:
    """A quote's table, or that of a claim, with the files of its scenarios."""
    result = dict(table)
    if isinstance(result.get("scenario"), Mapping):
        result["scenario"] = files.of_scenario(result["scenario"])
    if isinstance(result.get("claims"), (list, tuple)):
        result["claims"] = [
            _with_files(each, files) if isinstance(each, Mapping) else each for each in result["claims"]
        ]
    return result
