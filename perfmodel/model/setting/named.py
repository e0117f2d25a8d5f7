"""Names of a scenario resolved to ids, with the choice made for each ambiguous name."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import NamedTuple

from perfmodel.core.records.names import taken_as
from perfmodel.core.records.options import Offers, declared
from perfmodel.hardware.catalogue.kinds import AnySpec, Kind
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.releases import software_id
from perfmodel.model.options.scenario import Scenario
from perfmodel.workloads import understood


class Interpretation(NamedTuple):
    """The id that a name of a scenario was resolved to, and the other ids that match it."""

    option: str
    name: str
    id: str
    others: tuple[str, ...]

    def __str__(self) -> str:
        return taken_as(self.name, self.id, self.others)


def by_id(scenario: Scenario, catalogue: Catalogue) -> tuple[Scenario, tuple[Interpretation, ...]]:
    """Return a scenario with every name replaced by its id, and the choices for ambiguous names.

    Raises
    ------
    InputError : an unknown name, or an ambiguous one without a most common match
    """
    ids, meant = _ids(_names(scenario), catalogue)
    return (scenario.model_copy(update=ids) if ids else scenario), meant


@lru_cache(maxsize=256)
def _ids(
    names: tuple[str | None, ...], catalogue: Catalogue
) -> tuple[dict[str, str], tuple[Interpretation, ...]]:
    """Return ids, by field of ``BY_ID``, for names that are not ids, and the choices for ambiguous names."""
    ids: dict[str, str] = {}
    meant: list[Interpretation] = []
    for field, name in zip(BY_ID, names, strict=True):
        if name is None:
            continue
        id = _SINGLE[field](name, catalogue) if field in _SINGLE else id_of(NAMED[field], name, catalogue)
        if id != name:
            one = meaning_of(field, name, catalogue)
            ids[field] = one.id
            meant += [one] if one.others else []
    return ids, tuple(meant)


def meaning_of(field: str, name: str, catalogue: Catalogue) -> Interpretation:
    """Return the interpretation of the name in one field of a scenario.

    Raises
    ------
    InputError : an unknown name, or an ambiguous one without a most common match
    """
    if field in _SINGLE:
        return Interpretation(field, name, _SINGLE[field](name, catalogue), ())
    if NAMED[field] == "workloads":
        network = understood(name)
        return Interpretation(field, name, network.id, network.others)
    id = id_of(NAMED[field], name, catalogue)
    return Interpretation(
        field.replace("_", "-"), name, id, catalogue.others(_HARDWARE[NAMED[field]][0], name)
    )


def id_of(offers: Offers, name: str, catalogue: Catalogue) -> str:
    """Return the id of a name in an option that offers a list of the catalogue.

    Raises
    ------
    InputError : an unknown name, or an ambiguous one without a most common match
    """
    return understood(name).id if offers == "workloads" else _HARDWARE[offers][1](catalogue, name).id


def _storage_id(name: str, catalogue: Catalogue) -> str:
    """Return the id of a storage."""
    from perfmodel.hardware.storage import storage_id

    return storage_id(name)


_HARDWARE: dict[Offers, tuple[Kind, Callable[[Catalogue, str], AnySpec]]] = {
    "accelerators": ("accelerators", Catalogue.accelerator),
    "nodes": ("nodes", Catalogue.node),
    "links in a node": ("links", Catalogue.link),
    "links between nodes": ("links", Catalogue.link),
}
LOOKED_UP: tuple[Offers, ...] = ("workloads", *_HARDWARE)
NAMED: dict[str, Offers] = {
    field: one.info.offers for field, one in declared(Scenario).items() if one.info.offers in LOOKED_UP
}
"""Options that name an entry of the catalogue -> the list that they offer."""
_SINGLE = {"framework": software_id, "storage": _storage_id}
"""Options whose names are never ambiguous -> the function that finds the id."""
BY_ID = (*NAMED, *_SINGLE)
"""Options whose values are names with ids."""
_names = attrgetter(*BY_ID)
