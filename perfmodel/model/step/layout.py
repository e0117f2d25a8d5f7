"""The group of ranks that exchange gradients: ranks in each node, nodes, and links between them."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.link import Link
from perfmodel.model.collectives.place import USUAL_YEAR
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.setting.torus import Torus, parse_torus
from perfmodel.model.step.fabric import Fabric, is_alone


class Group(NamedTuple):
    """Ranks of one collective, and the links between them."""

    per_node: Any
    """Ranks of each node, or NVLink domain of several; a whole number, or an array of them."""
    nodes: Any
    """Nodes or domains: a whole number, or an array in which all are one or all are more."""
    link: Link
    """Link inside a node."""
    fabric: Fabric
    """Bandwidths and latencies."""
    accelerator: Accelerator | None = None
    """Accelerator of every rank; None: an NVIDIA GPU contemporary with the link."""
    year: int = USUAL_YEAR
    """Year of the library."""
    torus: Torus | None = None
    """The requested torus; None for the default one."""

    @property
    def size(self) -> Any:
        """Total number of ranks."""
        return self.per_node * self.nodes

    @property
    def several_nodes(self) -> bool:
        """Whether ranks are on more than one node."""
        return ops.holds(self.nodes > 1)


def gradient_group(setting: Setting, fabric: Fabric) -> Group:
    """Return the group of ranks that sum gradients: all ranks of the job."""
    per_domain, year = setting.accelerators_per_domain, setting.software_year
    dimensions = setting.scenario.torus_dimensions
    torus = None if dimensions is None else parse_torus(dimensions)
    link = setting.host_link if is_alone(setting) else setting.intra_link
    return Group(per_domain, setting.domains, link, fabric, setting.accelerator, year, torus)
