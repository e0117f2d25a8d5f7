"""Specs given as tables instead of files, as in requests to the service."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel.core.errors import refusal, unknown_name
from perfmodel.hardware.catalogue.kinds import CLASSES

if TYPE_CHECKING:
    from perfmodel.hardware.catalogue.kinds import Kind
    from perfmodel.hardware.instance import Instance
    from perfmodel.hardware.provenance import Spec

OFFERS = ("instances", "sources")
"""Keys of ``instances.toml``."""
KEYS = (*CLASSES, *OFFERS)
MOST_SPECS = 1000
"""Most specs of one kind in a request."""


class OwnSpecs(NamedTuple):
    """Checked specs by kind and id, and cloud offers."""

    by_kind: dict[Kind, dict[str, Any]]
    offers: tuple[Instance, ...] = ()


def own_specs(tables: Mapping[str, Any]) -> OwnSpecs:
    """Return the specs in tables, checked as strictly as those of files.

    Parameters
    ----------
    tables : ``accelerators``, ``nodes``, ``links`` and ``software``, each from id to spec; and ``instances``
        with their ``sources``.  A spec has the keys of its TOML file

    Raises
    ------
    InputError : names the key that is wrong, its value and what was expected
    """
    for key in tables:
        if key not in KEYS:
            raise unknown_name("key of specs", str(key), KEYS)
    by_kind: dict[Kind, dict[str, Any]] = {}
    for kind in CLASSES.keys() & tables.keys():
        if not isinstance(tables[kind], Mapping) or len(tables[kind]) > MOST_SPECS:
            raise refusal("spec.tables", "specs", kind=kind, most_specs=MOST_SPECS)
        by_kind[kind] = {id: _spec(kind, id, table) for id, table in tables[kind].items()}
    return OwnSpecs(by_kind, _offers({key: tables[key] for key in OFFERS if key in tables}))


def _spec(kind: Kind, id: str, table: Any) -> Any:
    where = f"specs.{kind}.{id:.99}"
    if isinstance(table, Mapping) and table.get("id", id) != id:
        raise refusal("spec.id_of_table", id=table["id"], right=id).under(*where.split(".", 2))
    return _checked({"id": id, **table} if isinstance(table, Mapping) else table, CLASSES[kind], where)


def _offers(table: dict[str, Any]) -> tuple[Instance, ...]:
    if not table:
        return ()
    from perfmodel.hardware.instance import InstanceFile

    offers: tuple[Instance, ...] = _checked(table, InstanceFile, "specs").instances
    return offers


def _checked(table: Any, model: type[Spec], where: str) -> Any:
    from pydantic import ValidationError

    try:
        return model.model_validate_json(json.dumps(table))  # as JSON, where dates are texts
    except ValidationError as error:
        from perfmodel.core.records.mistakes import refused

        raise refused(error, model).under(*where.split(".", 2)) from None
    except (TypeError, RecursionError):
        raise refusal("spec.not_json").under(*where.split(".", 2)) from None
