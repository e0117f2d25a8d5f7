"""The options of a scenario, shared by every command that predicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from perfmodel.core.errors import InputError
from perfmodel.core.files.reading import read_toml
from perfmodel.core.records.options import Declared
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli.spelling import Option
from perfmodel.interfaces.cli.types import type_of, types_of
from perfmodel.model.options.scenario import Scenario, laid_over

_Command = TypeVar("_Command", bound=Callable[..., Any])

specs_option = click.option(
    "--specs", multiple=True, metavar="DIR", help="Your own hardware specs, over the built-in."
)

scenario_file_option = click.option(
    "--scenario", "scenario_file", metavar="FILE", help="TOML file with any of these options."
)


def option_of(one: Declared, many: bool = False, **changed: Any) -> Callable[[_Command], _Command]:
    """Return a decorator that gives a command an option that a class declares.

    Parameters
    ----------
    one : the declaration
    many : whether it takes several values, joined by commas, though it is declared to take one
    changed : settings of ``click.option`` that differ in this command, and ``name`` of its parameter
    """
    flag = f"/--no-{one.name}" if one.type is bool and one.info.denied else ""
    words, usual = one.template, one.default_template
    settings: dict[str, Any] = {
        "type": None if one.type is bool else (types_of if many or one.many else type_of)(one),
        "help": f"{words}  [default: {usual}]" if usual and not many else words,
        "default": None,
        "metavar": "FILE" if one.info.file else one.info.form or None,
        "label": one.label,
        "offers": one.info.offers,
        "heading": one.heading,
        "usual": "" if "help" in changed else usual,
        "old": [f"--{one.info.old}"] if one.info.old else [],
    }
    if one.many and one.info.commas:
        settings["multiple"] = True
    if one.type is bool and not flag:
        settings["is_flag"] = True
    if changed.get("required"):
        del settings["default"]  # None would be a value
    name = changed.pop("name", one.field)
    if one.type is bool:
        changed.pop("multiple", None)  # a flag has an option for each of its two values
    return click.option(f"--{one.name}{flag}", name, cls=Option, **settings | changed)


def scenario_from(options: dict[str, Any]) -> Scenario:
    """Return the scenario of the options, laid over those of a file if one is given.

    Raises
    ------
    InputError : a file that cannot be read, an unknown key, a value that does not fit
    """
    options = {key: value for key, value in options.items() if value is not None}
    file = options.pop("scenario_file", None)
    options.pop("specs", None)
    written = read_toml(file) if file is not None else {}
    if not written:
        return Scenario.model_construct(**options)  # the options above have checked each value
    try:
        return Scenario(**laid_over(written, options))
    except InputError as error:
        raise error.under(file) from None


def catalogue_from(specs: tuple[str, ...]) -> Catalogue:
    """Return the built-in hardware with the user's folders laid over it."""
    return Catalogue(specs) if specs else Catalogue.built_in()
