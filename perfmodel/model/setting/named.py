"""A scenario that names everything by its id, and what was chosen where a name fits several things."""

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


class Meant(NamedTuple):
    """What a name of a scenario was taken to be, of several things it fits."""

    option: str
    name: str
    id: str
    others: tuple[str, ...]

    def __str__(self) -> str:
        return taken_as(self.name, self.id, self.others)


def by_id(scenario: Scenario, catalogue: Catalogue) -> tuple[Scenario, tuple[Meant, ...]]:
    """Return a scenario that names everything by its id, and what was chosen of several things.

    Raises
    ------
    InputError : an unknown name, or one that fits several things of which none is the most common
    """
    ids, meant = _ids(_names(scenario), catalogue)
    return (scenario.model_copy(update=ids) if ids else scenario), meant


@lru_cache(maxsize=256)
def _ids(names: tuple[str | None, ...], catalogue: Catalogue) -> tuple[dict[str, str], tuple[Meant, ...]]:
    """Return the ids of those names of ``BY_ID`` that are none, and what was chosen of several things."""
    ids: dict[str, str] = {}
    meant: list[Meant] = []
    for field, name in zip(BY_ID, names, strict=True):
        if name is None:
            continue
        id = _SINGLE[field](name, catalogue) if field in _SINGLE else id_of(NAMED[field], name, catalogue)
        if id != name:
            one = meaning_of(field, name, catalogue)
            ids[field] = one.id
            meant += [one] if one.others else []
    return ids, tuple(meant)


def meaning_of(field: str, name: str, catalogue: Catalogue) -> Meant:
    """Return what the name of one field of a scenario means.

    Raises
    ------
    InputError : an unknown name, or one that fits several things of which none is the most common
    """
    if field in _SINGLE:
        return Meant(field, name, _SINGLE[field](name, catalogue), ())
    if NAMED[field] == "workloads":
        network = understood(name)
        return Meant(field, name, network.id, network.others)
    id = id_of(NAMED[field], name, catalogue)
    return Meant(field.replace("_", "-"), name, id, catalogue.others(_HARDWARE[NAMED[field]][0], name))


def id_of(offers: Offers, name: str, catalogue: Catalogue) -> str:
    """Return the id of what a person names, by what an option offers.

    Raises
    ------
    InputError : an unknown name, or one that fits several things of which none is the most common
    """
    return understood(name).id if offers == "workloads" else _HARDWARE[offers][1](catalogue, name).id


def _storage_id(name: str, catalogue: Catalogue) -> str:
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
"""Options that name a thing of the catalogue, and of what they do."""
_SINGLE = {"framework": software_id, "storage": _storage_id}
"""Names that fit one thing each."""
BY_ID = (*NAMED, *_SINGLE)
"""Options that name a thing that has an id."""
_names = attrgetter(*BY_ID)
