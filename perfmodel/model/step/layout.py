"""How the ranks that exchange are arranged: how many in each node, on how many nodes, over which links."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.link import Link
from perfmodel.model.collectives.place import USUAL_YEAR
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.setting.torus import Torus, parse_torus
from perfmodel.model.step.fabric import Fabric


class Group(NamedTuple):
    """Ranks that take part in one collective, and what joins them."""

    per_node: Any
    """Ranks of each node, or NVLink domain of several; a whole number, or an array of them."""
    nodes: Any
    """Of these: a whole number, or an array, all of them one, or all of them more."""
    link: Link
    """Inside a node."""
    on: Fabric
    """Bandwidths and latencies."""
    accelerator: Accelerator | None = None
    """Of every rank; without one, links are taken as those between NVIDIA's GPUs of their time."""
    year: int = USUAL_YEAR
    """Of the library."""
    torus: Torus | None = None
    """The grid asked for, where the usual one is not meant."""

    @property
    def size(self) -> Any:
        """Ranks in all."""
        return self.per_node * self.nodes

    @property
    def several_nodes(self) -> bool:
        """Whether ranks exchange over the links between nodes."""
        return ops.holds(self.nodes > 1)


def gradient_group(setting: Setting, on: Fabric) -> Group:
    """Return the ranks that sum up gradients: all of the job."""
    per_domain, year = setting.accelerators_per_domain, setting.software_year
    asked = setting.scenario.torus_dimensions
    torus = None if asked is None else parse_torus(asked)
    return Group(per_domain, setting.domains, setting.intra_link, on, setting.accelerator, year, torus)
