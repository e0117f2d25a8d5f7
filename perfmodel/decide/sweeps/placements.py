"""Placements of the scenarios of a group: world sizes, machines and links as arrays."""

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
    """A number of scenarios that ``predict`` refuses, with the reason."""

    scenarios: int
    reason: str


class Placements(NamedTuple):
    """Placements as arrays of shape (placements,)."""

    world_size: Array
    nodes: Array
    accelerators_per_node: Array
    domains: Array
    """Groups that exchange over adapters: nodes, or NVLink domains of several nodes."""
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
    """Values of ``PLACE``, one tuple per combination."""

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
    """Return every placement of a group that ``predict`` accepts, and the refused ones with the reason.

    World sizes that fill nodes in the same way are resolved once, since nothing else changes.

    Parameters
    ----------
    fixed : the options that all placements share
    axes : of which ``PLACE`` are crossed
    world_sizes : crossed with every combination of ``PLACE``
    catalogue, constants : as for ``predict``
    """
    sizes = np.array(world_sizes, dtype=np.int64)
    options = tuple(itertools.product(*(axes[name] for name in PLACE)))
    refusals: list[Refusal] = []
    links: dict[str, Link] = {}
    crossings = []
    for index, values in enumerate(options):
        options_of_placement = dict(fixed) | dict(zip(PLACE, values, strict=True))
        try:
            # a single accelerator has nobody to wait for
            one = _resolved(options_of_placement | {"k": None, "backups": None}, 1, catalogue)
        except InputError as error:
            refusals.append(Refusal(len(sizes), error.note()))
            continue
        nodes, per_node = placed(
            sizes, options_of_placement["accelerators_per_node"] or one.node.accelerators
        )
        by_nodes = (
            options_of_placement["rack_nodes"] is not None
            or one.intra_link.domain is not None
            or one.is_slice
        )
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
        if (
            options_of_placement["algorithm"] == ALGORITHM
        ):  # which only whole nodes have, and a grid of its own each size
            alike = np.split(np.arange(len(sizes)), len(sizes))
        for same in alike:
            try:
                setting = _resolved(options_of_placement, int(sizes[same[0]]), catalogue)
            except InputError as error:
                refusals.append(Refusal(len(same), error.note()))
                continue
            links.setdefault(setting.intra_link.id, setting.intra_link)
            numbers = {name: getattr(setting, name) for name in _COUNTS} | fabric_of(
                setting, constants
            )._asdict()
            numbers |= {
                "domains": setting._replace(nodes=nodes[same]).domains,
                "unseen_link": unseen_link(setting, constants),
                "least_exchange_rate": least_exchange_rate(
                    setting._replace(world_size=sizes[same], nodes=nodes[same])
                ),
                "link": list(links).index(setting.intra_link.id),
            }
            for name, value in numbers.items():
                columns[name][same] = value
        crossings.append({name: column[columns["link"] >= 0] for name, column in columns.items()})
    if not crossings:
        return _placements({name: np.zeros(0) for name in (*_ARRAYS, *Fabric._fields)}, (), options), refusals
    joined = {name: np.concatenate([part[name] for part in crossings]) for name in crossings[0]}
    return _placements(joined, tuple(links.values()), options), refusals


def _placements(
    columns: dict[str, Any], links: tuple[Link, ...], options: tuple[tuple[Any, ...], ...]
) -> Placements:
    """Return placements from columns, as arrays of the right types."""
    whole = {name: columns[name].astype(np.intp) for name in ("link", "option")}
    numbers = {name: columns[name].astype(np.float64) for name in _ARRAYS if name not in whole}
    fabric = Fabric(*(columns[name].astype(np.float64) for name in Fabric._fields))
    return Placements(**numbers, **whole, fabric=fabric, links=links, options=options)


def _same_shape(nodes: Any, per_node: Any, by_nodes: bool) -> list[NDArray[np.intp]]:
    """Return groups of indices of world sizes that share one setting.

    With racks, or NVLink domains of several nodes, every number of nodes is a group of its own.
    """
    key = per_node * 2 + (nodes > 1)
    if by_nodes:
        key = nodes * (2 * int(per_node.max()) + 2) + key
    _, which = np.unique(key, return_inverse=True)
    order = np.argsort(which, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(which[order])) + 1)


def _resolved(options: Mapping[str, Any], world_size: int, catalogue: Catalogue) -> Setting:
    """Return the setting of options at a world size."""
    return resolve(Scenario.model_construct(**{**options, "world_size": world_size}), catalogue)
