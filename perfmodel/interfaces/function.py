"""A command as a function of ``import perfmodel``."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature, cleandoc
from types import GenericAlias
from typing import Any

from perfmodel.interfaces.command import Command, Context
from perfmodel.specs.options import MEASURED, Declared
from perfmodel.specs.record import REQUIRED
from perfmodel.specs.store import Catalogue

CATALOGUE = "catalogue : hardware to choose from; by default what comes with the package"


def function_of(one: Command) -> Callable[..., Any]:
    """Return the function: options by name, the first also by place; it refuses by an InputError."""

    def call(*values: Any, **options: Any) -> Any:
        catalogue = Catalogue.of(options.pop("catalogue", None) if one.hardware else None)
        return one.run(one.request(**one.given(values, options)), Context(catalogue))

    parameters = parameters_of(one)
    annotations = {each.name: each.annotation for each in parameters} | {"return": one.answer}
    call.__name__ = call.__qualname__ = one.function
    call.__module__ = "perfmodel"
    call.__doc__ = docstring_of(one)
    call.__annotations__ = annotations
    call.__signature__ = Signature(parameters, return_annotation=one.answer)  # type: ignore[attr-defined]
    return call


def parameters_of(one: Command) -> list[Parameter]:
    """Return the parameters of the function, with their types and defaults."""
    fields = one.fields
    named = [name for name in fields if name not in one.positional]
    parameters = [
        Parameter(
            name,
            Parameter.POSITIONAL_OR_KEYWORD if name in one.positional else Parameter.KEYWORD_ONLY,
            default=_default(fields[name], name in one.positional),
            annotation=annotation_of(fields[name]),
        )
        for name in (*one.positional, *named)
    ]
    if one.hardware:
        hardware: Any = Catalogue | None
        parameters.append(Parameter("catalogue", Parameter.KEYWORD_ONLY, default=None, annotation=hardware))
    return parameters


def _default(one: Declared, positional: bool) -> Any:
    """Return a default; a required value that may follow one with a default says that it is required."""
    return Parameter.empty if one.default is REQUIRED and not positional else one.default


def annotation_of(one: Declared) -> Any:
    """Return what a function takes for an option: a number with a unit also as a text."""
    kind: Any = one.type | str if one.unit in MEASURED and one.type is float else one.type
    if one.many:
        return GenericAlias(tuple, (kind, ...)) | kind
    return kind | None if one.default is None else kind


def docstring_of(one: Command) -> str:
    """Return the docstring of what the command does, with its options as parameters."""
    begin, raises, rest = cleandoc(one.run.__doc__ or "").partition("\nRaises\n------\n")
    fields = one.fields
    named = [name for name in fields if name not in one.positional]
    lines = [f"{name} : {_words(fields[name])}" for name in (*one.positional, *named)]
    if one.hardware:
        lines.append(CATALOGUE)
    return "\n".join([begin, "Parameters", "----------", *lines, ""]) + raises + rest


def _words(one: Declared) -> str:
    unit = f"[{one.unit}] " if one.unit else ""
    usual = f"  [default: {one.usual}]" if one.usual else ""
    return f"{unit}{one.words}{usual}"
