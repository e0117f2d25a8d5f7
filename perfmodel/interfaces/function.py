"""A command as a function of ``import perfmodel``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, Signature
from pathlib import Path
from pkgutil import resolve_name
from types import GenericAlias
from typing import TYPE_CHECKING, Any

from perfmodel.core.records.arguments import a, expect
from perfmodel.core.records.docstrings import with_parameters
from perfmodel.core.records.options import Declared
from perfmodel.core.records.record import REQUIRED
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.command import Command, Context
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.scenario import AnyScenario, Scenario, laid_over, options_of

if TYPE_CHECKING:
    from perfmodel.core.records.options import Described

SCENARIO = "scenario : a training job, or its options by name; None is the usual"
OPTIONS = "options : of a scenario, laid over it; either batch size takes the place of the other"
VALUES = "options : of a scenario, laid over it, each a value or a list, tuple, range or array of values"
CONSTANTS = "constants : learned numbers; by default what comes with the package"
CATALOGUE = "catalogue : hardware to choose from; by default what comes with the package"


def function_of(one: Command) -> Callable[..., Any]:
    """Return the function: options by name, the first also by place; it refuses by an InputError."""

    def call(*values: Any, **options: Any) -> Any:
        catalogue = Catalogue.of(options.pop("catalogue", None) if one.hardware else None)
        constants = options.pop("constants", None) if one.constants else None
        expect(a(Calibration).or_none, constants=constants)
        return one.run(request_of(one, values, options), Context(catalogue, constants))

    parameters = parameters_of(one)
    call.__name__ = call.__qualname__ = one.function
    call.__module__ = "perfmodel"
    call.__doc__ = docstring_of(one)
    call.__annotations__ = {each.name: each.annotation for each in parameters} | {"return": one.answer}
    call.__signature__ = Signature(parameters, return_annotation=one.answer)  # type: ignore[attr-defined]
    return call


def request_of(one: Command, values: Sequence[Any], options: Mapping[str, Any]) -> Described:
    """Return the request that a call gives, by place and by name.

    Raises
    ------
    InputError : an unknown option, or a value that does not fit it
    TypeError : more values than there are places, or one that is also given by its name
    """
    return one.request(**given_by(one, values, options))


def given_by(one: Command, values: Sequence[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that a call gives; errors as of ``request_of``."""
    if one.takes_all and values:
        values = (values,)
    if len(values) > len(one.places):
        raise TypeError(f"{one.function}() takes {len(one.places)} values without their names")
    placed = dict(zip(one.places, values, strict=False))
    if twice := placed.keys() & options.keys():
        raise TypeError(f"{one.function}() got several values of {min(twice)}")
    given = placed | dict(options)
    if not one.of_scenario:
        return given
    scenario = given.pop("scenario", None)
    if isinstance(scenario, Scenario):
        scenario = scenario.model_dump(exclude_unset=True)
    request: Any = one.request  # a kind of Scenario
    return laid_over({} if scenario is None else request.below(options_of(scenario)), given)


def own_fields(one: Command) -> dict[str, Declared]:
    """Return what a function names, by its name there: of a scenario only what the request changes."""
    usual = Scenario.model_fields if one.of_scenario else {}
    changed = one.request.model_fields
    own = {
        each.name.replace("-", "_") if name in usual else name: each
        for name, each in one.fields.items()
        if name not in usual or changed[name] != usual[name]
    }
    older = {
        each.info.old: each._replace(
            default=None, template=f"Another name of {name}.", default_template="", unit=""
        )
        for name, each in own.items()
        if each.info.old != name and each.info.old.isidentifier()
    }
    return own | older


def parameters_of(one: Command) -> list[Parameter]:
    """Return the parameters of the function, with their types and defaults."""
    fields = own_fields(one)
    types: dict[str, Any] = {name: annotation_of(each) for name, each in fields.items()}
    defaults = {name: each.default for name, each in fields.items()}
    if one.of_scenario:
        types["scenario"], defaults["scenario"] = AnyScenario | None, None
    parameters: list[Parameter] = []
    for name in dict.fromkeys((*one.places, *fields)):
        if one.takes_all and name in one.places:
            parameters.append(Parameter(name, Parameter.VAR_POSITIONAL, annotation=fields[name].type))
            continue
        kind = Parameter.POSITIONAL_OR_KEYWORD if name in one.places else Parameter.KEYWORD_ONLY
        default = defaults[name]
        follows = name in one.places and any(each.default is not Parameter.empty for each in parameters)
        if default is REQUIRED and not follows:  # after one that has a default it says that it is required
            default = Parameter.empty
        parameters.append(Parameter(name, kind, default=default, annotation=types[name]))
    if one.hardware:
        hardware: Any = Catalogue | None
        parameters.append(Parameter("catalogue", Parameter.KEYWORD_ONLY, default=None, annotation=hardware))
    if one.constants:
        learned: Any = Calibration | None
        parameters.append(Parameter("constants", Parameter.KEYWORD_ONLY, default=None, annotation=learned))
    if one.of_scenario:
        parameters.append(Parameter("options", Parameter.VAR_KEYWORD, annotation=object))
    return parameters


def annotation_of(one: Declared) -> Any:
    """Return what a function takes for an option: a number with a unit also as a text."""
    kind: Any = one.type | str if one.is_text else one.type
    if one.info.file:
        kind |= Path
    if one.info.also:
        kind |= resolve_name(one.info.also)
    if one.many or one.info.several:
        kind = GenericAlias(Sequence, (kind,)) | kind
    return kind | None if one.default is None else kind


def docstring_of(one: Command) -> str:
    """Return the docstring of what the command does, with its options as parameters."""
    fields = own_fields(one)
    words = {"scenario": SCENARIO} | {name: f"{name} : {each.line}" for name, each in fields.items()}
    lines = [words[name] for name in dict.fromkeys((*one.places, *fields))]
    if one.hardware:
        lines.append(CATALOGUE)
    if one.constants:
        lines.append(CONSTANTS)
    if one.of_scenario:
        lines.append(VALUES if one.crosses else OPTIONS)
    return with_parameters(one.run.__doc__ or "", lines)
