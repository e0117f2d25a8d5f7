"""Types by which pydantic reads and checks options; imported only where input needs a check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike, fspath
from pkgutil import resolve_name
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field, WithJsonSchema, WrapValidator
from pydantic_core import core_schema

from perfmodel.core.records.names import word_of
from perfmodel.core.units import parse, share


def checked_type(one: Any, kind: Any) -> Any:
    """Return the annotated type of an option: how to read a text, and its part of the JSON schema.

    Parameters
    ----------
    one : the option, as ``Declared``
    kind : its type as its class declares it
    """
    unit: Any = {"unit": one.unit} if one.unit else None
    words = Field(title=one.label, description=one.words, json_schema_extra=unit)
    read = _reader(one)
    if one.info.read is not None:
        kinds = [{"type": "string"}, *([{"type": "null"}] if one.default is None else [])]
        kind = Annotated[kind, WithJsonSchema({"anyOf": kinds})]
    if read is not None:
        kind = Annotated[kind, BeforeValidator(read)]
    if one.info.also:
        also = resolve_name(one.info.also)
        kind = Annotated[kind, WrapValidator(lambda one, read: one if isinstance(one, also) else read(one))]
    if one.info.several:
        kind = Annotated[kind, _OneOrMany(one.info.several)]
    return Annotated[kind, words]


class _OneOrMany(NamedTuple):
    """Annotation: one value, or a list of at most ``most``."""

    most: int

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        """Return pydantic's schema of a value or a list of values."""
        one = handler(source)
        many = core_schema.tuple_variable_schema(one, min_length=1, max_length=self.most)
        return core_schema.tagged_union_schema(
            {"float": one, "list[float]": many},
            lambda value: "list[float]" if isinstance(value, list | tuple) else "float",
        )


def _reader(one: Any) -> Callable[[Any], Any] | None:
    """Return the function that turns a text into the option's value; None where the text is the value."""
    if one.many:
        return _each(_reader(one._replace(many=False)) or (lambda value: value))
    if one.info.read is not None:
        return _optional(one.info.read)
    if one.info.file:
        return lambda value: fspath(value) if isinstance(value, PathLike) else value
    if one.choices:
        return lambda value: (
            word_of(value, one.choices, one.info.synonyms) if isinstance(value, str) else value
        )
    if one.info.unit:
        return lambda value: parse(value, one.unit) if isinstance(value, str) else value
    if one.is_text:
        return lambda value: share(value) if isinstance(value, str) else value
    return None


def _each(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that reads one value or several, also numpy's, and returns a tuple."""

    def listed(values: Any) -> Any:
        if isinstance(values, str | int | float | PathLike):
            return (read(values),)
        if isinstance(values, bytes | Mapping) or not isinstance(values, Iterable):
            return values
        return tuple(read(each.item() if hasattr(each, "item") else each) for each in values)

    return listed


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)
