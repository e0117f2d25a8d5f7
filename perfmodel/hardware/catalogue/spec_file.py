"""Loads a spec: reads its file, checks it if it is a user's, and builds the model."""

from __future__ import annotations

from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from perfmodel.core.errors import refusal
from perfmodel.core.files.reading import read_toml
from perfmodel.core.files.resources import folder
from perfmodel.hardware.provenance import SourcedSpec, Spec

_Spec = TypeVar("_Spec", bound=Spec)


def load(file: Path, model: type[_Spec]) -> _Spec:
    """Return the spec that a TOML file describes.

    The tests check the files that come with the package, so that ``perfmodel predict`` need not: pydantic's
    validators take a twentieth of its start to build.

    Parameters
    ----------
    file : the spec's; of one with an id, named by it
    model : what the file describes

    Raises
    ------
    InputError : the file cannot be read, a key is unknown or missing, a value does not fit
    """
    table = read_toml(file)
    if issubclass(model, SourcedSpec) and table.get("id", file.stem) != file.stem:
        raise refusal("spec.id_of_file", id=table["id"], stem=file.stem).under(file)
    if folder("hardware_specs") not in file.parents:
        check(table, model, file)
    return built(table, model)


def check(table: dict[str, Any], model: type[Spec], file: Path) -> None:
    """Refuse a table that is no such spec.

    Raises
    ------
    InputError : names the file, each key that is wrong, its value and what was expected
    """
    from pydantic import ValidationError

    try:
        model.model_validate(table)
    except ValidationError as error:
        from perfmodel.core.records.mistakes import MOST_SAID, refused

        raise refused(error, model, most=MOST_SAID).under(file) from None


def built(table: dict[str, Any], model: type[_Spec]) -> _Spec:
    """Return the spec of a table that was checked, each value as the class declares its field."""
    fields = model.model_fields
    values: dict[str, Any] = {key: _value(item, fields[key].annotation) for key, item in table.items()}
    one: Any = model.model_construct(**values)
    return one  # type: ignore[no-any-return]


def _value(item: Any, declared: Any) -> Any:
    """Return a value of TOML as the declared type."""
    if isinstance(declared, type) and issubclass(declared, Spec):
        return built(item, declared)
    if declared in (int, float):
        return declared(item)
    kind, parts = get_origin(declared), get_args(declared)
    if kind is Annotated:
        return _value(item, parts[0])
    if kind in (Union, UnionType):  # a value, or None for a key that is absent
        return _value(item, parts[0])
    if kind is dict:
        return {_value(key, parts[0]): _value(value, parts[1]) for key, value in item.items()}
    if kind is tuple:
        each = parts[:1] * len(item) if parts[-1] is Ellipsis else parts
        return tuple(map(_value, item, each))
    return item
