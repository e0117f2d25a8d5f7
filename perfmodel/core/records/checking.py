"""Checks a ``Record`` by pydantic; imported only where input needs a check."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, StrictBool, TypeAdapter, create_model
from pydantic_core import core_schema


@cache
def adapter(cls: type[Any]) -> TypeAdapter[Any]:
    """Return pydantic's adapter, which validates tables as records of a class."""
    return TypeAdapter(cls, config=ConfigDict(title=cls.__name__))  # the name that errors begin with


@cache
def model_of(cls: type[Any]) -> type[BaseModel]:
    """Return a pydantic model with the fields of a class of records."""
    config = ConfigDict(extra="forbid", strict=cls.strict, protected_namespaces=())
    fields: dict[str, Any] = {
        name: (_with_truth(cls.checked_as(name)), field.checked) for name, field in cls.model_fields.items()
    }
    model: type[BaseModel] = create_model(
        cls.__name__, __config__=config, __doc__=cls.__doc__, __module__=cls.__module__, **fields
    )
    return model


def _with_truth(annotation: Any) -> Any:
    """Return a type of a field in which a truth value is true or false alone, no "yes" and no number.

    >>> _with_truth(bool | None) == StrictBool | None, _with_truth(dict[str, float])
    (True, dict[str, float])
    """
    if annotation is bool:
        return StrictBool
    parts = get_args(annotation)
    if get_origin(annotation) is Annotated:
        return Annotated[_with_truth(parts[0]), *parts[1:]]
    if get_origin(annotation) in (Union, UnionType):
        return Union[tuple(map(_with_truth, parts))]  # noqa: UP007
    return annotation


def schema(cls: type[Any], handler: Any) -> core_schema.CoreSchema:
    """Return pydantic's schema of a class of records: it validates by ``model_of``, then makes a record."""
    inner: core_schema.CoreSchema = handler.generate_schema(model_of(cls))  # type: ignore[arg-type]
    return core_schema.json_or_python_schema(
        json_schema=core_schema.no_info_after_validator_function(partial(_record, cls), inner),
        python_schema=core_schema.no_info_wrap_validator_function(partial(_record_of, cls), inner),
    )


def _record_of(cls: type[Any], given: Any, validated: core_schema.ValidatorFunctionWrapHandler) -> Any:
    if isinstance(given, cls):
        return given
    return _record(cls, validated(cls.as_written(given) if isinstance(given, Mapping) else given))


def _record(cls: type[Any], model: BaseModel) -> Any:
    given = model.model_fields_set
    one = cls.model_construct(**{name: getattr(model, name) for name in cls.model_fields if name in given})
    one.check_together()
    return one
