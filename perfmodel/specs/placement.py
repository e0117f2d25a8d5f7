"""How accelerators lie on nodes, and nodes in the domains that a link joins."""

from __future__ import annotations

from typing import Any

from perfmodel import ops
from perfmodel.specs.link import Link
from perfmodel.specs.node import Node


def placed(world_size: Any, held: int) -> tuple[Any, Any]:
    """Return the nodes that so many accelerators fill, ``held`` in each, and those in the fullest.

    >>> placed(12, 8)
    (2, 8)
    """
    return -(-world_size // held), ops.minimum(world_size, held)


def in_domains(world_size: int, held: int, node: Node, link: Link) -> tuple[int, int]:
    """Return the accelerators in the fullest group that a link joins, and the groups.

    Parameters
    ----------
    world_size, held : accelerators of the job, and those it takes of a full node
    node : that they lie on
    link : joins the accelerators of a node, or of a domain of several
    """
    nodes, per_node = placed(world_size, held)
    domains = link.domains(nodes, node.accelerators)
    return -(-nodes * per_node // domains), domains
