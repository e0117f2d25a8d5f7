"""Placements of the scenarios of a group: world sizes and links, as arrays."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.core.errors import InputError
from perfmodel.decide.sweeps.axes import PLACE, Axes
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.link import Link
from perfmodel.hardware.placement import placed
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.intervals.bound import least_exchange_rate
from perfmodel.model.prediction.intervals.widening import unseen_link
from perfmodel.model.setting.resolve import Setting, resolve
from perfmodel.model.setting.torus import ALGORITHM
from perfmodel.model.step.fabric import Fabric
from perfmodel.model.step.parts import fabric_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class Refusal(NamedTuple):
    """Scenarios that ``predict`` refuses, and what it says."""

    scenarios: int
    reason: str


class Placements(NamedTuple):
    """Arrays of shape (placements,)."""

    world_size: Array
    nodes: Array
    accelerators_per_node: Array
    domains: Array
    """Groups that exchange over adapters: nodes, or NVLink domains of several."""
    servers: Array
    loader_workers: Array
    fabric: Fabric
    unseen_link: Array
    least_exchange_rate: Array
    """Least time to sum one byte of gradients [s/B]."""
    link: NDArray[np.intp]
    """Index in ``links`` of the link inside a node."""
    option: NDArray[np.intp]
    """Index in ``options``."""
    links: tuple[Link, ...]
    options: tuple[tuple[Any, ...], ...]
    """Values of ``PLACE``, one tuple for each way of crossing them."""

    def at(self, which: Any) -> Placements:
        """Return some of the placements, picked by a slice, booleans or indices."""
        arrays = {name: getattr(self, name)[which] for name in _ARRAYS}
        return self._replace(**arrays, fabric=Fabric(*(column[which] for column in self.fabric)))


_ARRAYS = tuple(name for name in Placements._fields if name not in ("fabric", "links", "options"))
_COUNTS = ("servers", "loader_workers")


def placements_of(
    fixed: Mapping[str, Any],
    axes: Axes,
    world_sizes: tuple[int, ...],
    catalogue: Catalogue,
    constants: Calibration,
) -> tuple[Placements, list[Refusal]]:
    """Return every placement of a group that ``predict`` accepts, and what it says of the others.

    World sizes that fill a node in the same way are resolved once, since nothing else changes.

    Parameters
    ----------
    fixed : the options that all placements share
    axes : of which ``PLACE`` are crossed
    world_sizes : to be placed, each on every crossing
    catalogue, constants : as for ``predict``
    """
    sizes = np.array(world_sizes, dtype=np.int64)
    options = tuple(itertools.product(*(axes[name] for name in PLACE)))
    refusals: list[Refusal] = []
    links: dict[str, Link] = {}
    crossings = []
    for index, values in enumerate(options):
        asked = dict(fixed) | dict(zip(PLACE, values, strict=True))
        try:
            # a single accelerator has nobody to wait for
            one = _resolved(asked | {"k": None, "backups": None}, 1, catalogue)
        except InputError as error:
            refusals.append(Refusal(len(sizes), error.note()))
            continue
        nodes, per_node = placed(sizes, asked["accelerators_per_node"] or one.node.accelerators)
        by_nodes = asked["rack_nodes"] is not None or one.intra_link.domain is not None or one.is_slice
        columns: dict[str, NDArray[Any]] = {
            "world_size": sizes,
            "nodes": nodes,
            "accelerators_per_node": per_node,
        }
        columns |= {name: np.zeros(len(sizes)) for name in (*_COUNTS, *Fabric._fields)}
        columns |= {name: np.zeros(len(sizes)) for name in ("domains", "unseen_link", "least_exchange_rate")}
        columns["link"] = np.full(len(sizes), -1)
        columns["option"] = np.full(len(sizes), index)
        alike = _same_shape(nodes, per_node, by_nodes)
        if asked["algorithm"] == ALGORITHM:  # which only whole nodes have, and a grid of its own each size
            alike = np.split(np.arange(len(sizes)), len(sizes))
        for same in alike:
            try:
                setting = _resolved(asked, int(sizes[same[0]]), catalogue)
            except InputError as error:
                refusals.append(Refusal(len(same), error.note()))
                continue
            links.setdefault(setting.intra_link.id, setting.intra_link)
            report = {name: getattr(setting, name) for name in _COUNTS} | fabric_of(
                setting, constants
            )._asdict()
            report |= {
                "domains": setting._replace(nodes=nodes[same]).domains,
                "unseen_link": unseen_link(setting, constants),
                "least_exchange_rate": least_exchange_rate(
                    setting._replace(world_size=sizes[same], nodes=nodes[same])
                ),
                "link": list(links).index(setting.intra_link.id),
            }
            for name, value in report.items():
                columns[name][same] = value
        crossings.append({name: column[columns["link"] >= 0] for name, column in columns.items()})
    if not crossings:
        return _placements({name: np.zeros(0) for name in (*_ARRAYS, *Fabric._fields)}, (), options), refusals
    joined = {name: np.concatenate([part[name] for part in crossings]) for name in crossings[0]}
    return _placements(joined, tuple(links.values()), options), refusals


def _placements(
    columns: dict[str, Any], links: tuple[Link, ...], options: tuple[tuple[Any, ...], ...]
) -> Placements:
    whole = {name: columns[name].astype(np.intp) for name in ("link", "option")}
    numbers = {name: columns[name].astype(np.float64) for name in _ARRAYS if name not in whole}
    fabric = Fabric(*(columns[name].astype(np.float64) for name in Fabric._fields))
    return Placements(**numbers, **whole, fabric=fabric, links=links, options=options)


def _same_shape(nodes: Any, per_node: Any, by_nodes: bool) -> list[NDArray[np.intp]]:
    """Indices of the world sizes that one setting stands for.

    Racks, and NVLink domains of several nodes, tell every number of nodes apart.
    """
    key = per_node * 2 + (nodes > 1)
    if by_nodes:
        key = nodes * (2 * int(per_node.max()) + 2) + key
    _, which = np.unique(key, return_inverse=True)
    order = np.argsort(which, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(which[order])) + 1)


def _resolved(asked: Mapping[str, Any], world_size: int, catalogue: Catalogue) -> Setting:
    return resolve(Scenario.model_construct(**{**asked, "world_size": world_size}), catalogue)
