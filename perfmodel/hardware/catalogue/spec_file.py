"""Loads a spec from its file; checks a user's file, and trusts those of the package."""

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

    The tests check the package's own files, so that ``perfmodel predict`` need not: building pydantic's
    validators takes a twentieth of its start.

    Parameters
    ----------
    file : path of the file, whose name is the spec's id
    model : class of the spec

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
    """Check a table as a spec of a class.

    Raises
    ------
    InputError : the table is not valid; names the file, each wrong key, its value and what is expected
    """
    from pydantic import ValidationError

    try:
        model.model_validate(table)
    except ValidationError as error:
        from perfmodel.core.records.mistakes import MOST_SAID, refused

        raise refused(error, model, most=MOST_SAID).under(file) from None


def built(table: dict[str, Any], model: type[_Spec]) -> _Spec:
    """Return the spec of a checked table, its values converted to the declared types."""
    fields = model.model_fields
    values: dict[str, Any] = {key: _value(item, fields[key].annotation) for key, item in table.items()}
    one: Any = model.model_construct(**values)
    return one  # type: ignore[no-any-return]


def _value(item: Any, declared: Any) -> Any:
    """Return a TOML value converted to the declared type."""
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
