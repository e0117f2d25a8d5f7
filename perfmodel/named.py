"""A scenario that names everything by its id, and what was chosen where a name fits several things."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from perfmodel.specs.accelerator import Accelerator
from perfmodel.specs.link import Link
from perfmodel.specs.names import taken_as
from perfmodel.specs.node import Node
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue, Kind
from perfmodel.workloads import understood


class Meant(NamedTuple):
    """What a name of a scenario was taken to be, of several things it fits."""

    option: str
    name: str
    id: str
    others: tuple[str, ...]

    def __str__(self) -> str:
        return taken_as(self.name, self.id, self.others)


def by_id(scenario: Scenario, catalogue: Catalogue) -> tuple[Scenario, list[Meant]]:
    """Return a scenario that names everything by its id, and what was chosen of several things.

    Raises
    ------
    InputError : an unknown name, or one that fits several things of which none is the most common
    """
    ids: dict[str, str] = {}
    meant: list[Meant] = []
    for field in NAMED:
        name = getattr(scenario, field)
        if name is None:
            continue
        if _id_of(field, name, catalogue) != name:
            one = meaning_of(field, name, catalogue)
            ids[field] = one.id
            meant += [one] if one.others else []
    return (scenario.model_copy(update=ids) if ids else scenario), meant


def meaning_of(field: str, name: str, catalogue: Catalogue) -> Meant:
    """Return what the name of one field of a scenario means.

    Raises
    ------
    InputError : an unknown name, or one that fits several things of which none is the most common
    """
    if field == "workload":
        network = understood(name)
        return Meant(field, name, network.id, network.others)
    kind, look_up = _HARDWARE[field]
    return Meant(field.replace("_", "-"), name, look_up(catalogue, name).id, catalogue.others(kind, name))


def _id_of(field: str, name: str, catalogue: Catalogue) -> str:
    return understood(name).id if field == "workload" else _HARDWARE[field][1](catalogue, name).id


_HARDWARE: dict[str, tuple[Kind, Callable[[Catalogue, str], Accelerator | Node | Link]]] = {
    "accelerator": ("accelerators", Catalogue.accelerator),
    "node": ("nodes", Catalogue.node),
    "server_node": ("nodes", Catalogue.node),
    "intra_link": ("links", Catalogue.link),
    "inter_link": ("links", Catalogue.link),
}
NAMED = ("workload", *_HARDWARE)
"""Options that name a thing of the catalogue."""
