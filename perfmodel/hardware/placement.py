"""How accelerators lie on nodes, and nodes in the domains that a link joins."""

from __future__ import annotations

from typing import Any

from perfmodel.core import ops
from perfmodel.core.errors import refusal
from perfmodel.core.units import plural
from perfmodel.hardware.link import Link
from perfmodel.hardware.node import Node


def placed(world_size: Any, held: int) -> tuple[Any, Any]:
    """Return the nodes that so many accelerators fill, ``held`` in each, and those in the fullest.

    >>> placed(12, 8)
    (2, 8)
    """
    return -(-world_size // held), ops.minimum(world_size, held)


def nodes_filled(world_size: int, held: int | None, node: Node, warnings: list[str]) -> tuple[int, int]:
    """Return the nodes of a job, and the accelerators in the fullest; it fills node after node.

    Parameters
    ----------
    world_size : accelerators of the job
    held : of a node, if the job says how many
    node : that they lie on
    warnings : to which is added

    Raises
    ------
    InputError : more of a node than it has
    """
    held = held or node.accelerators
    if held > node.accelerators:
        raise refusal(
            "machine.accelerators_per_node", held=held, node=node.id, accelerators=node.accelerators
        )
    full, rest = divmod(world_size, held)
    if full and rest:
        warnings.append(
            f"{world_size} GPUs fill {full} {plural('node', full)} of {held} and take "
            f"{rest} of the next; every node is timed as a full one"
        )
    return placed(world_size, held)


def is_slice(node: Node, link: Link, between: str | None) -> bool:
    """Return whether all accelerators lie on one torus, whose links go on to other hosts.

    Parameters
    ----------
    node, link : that they lie on, and that joins those of a node
    between : the link that a job names between nodes
    """
    return link.kind == "torus" and not (between or node.inter_link)


def domains(nodes: Any, node: Node, link: Link, between: str | None) -> Any:
    """Return the groups that exchange over adapters: nodes, domains of several, or the one of a slice."""
    if link.domain is not None:
        return link.domains(nodes, node.accelerators)
    return nodes // nodes if is_slice(node, link, between) else nodes


def in_domains(world_size: int, held: int, node: Node, link: Link, between: str | None) -> tuple[int, int]:
    """Return the accelerators in the fullest group that a link joins, and the groups.

    Parameters
    ----------
    world_size, held : accelerators of the job, and those it takes of a full node
    node : that they lie on
    link : joins the accelerators of a node, or of a domain of several
    between : the link that the job names between nodes
    """
    nodes, per_node = placed(world_size, held)
    groups = domains(nodes, node, link, between)
    return -(-nodes * per_node // groups), groups
