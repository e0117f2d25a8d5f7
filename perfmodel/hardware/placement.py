"""Placement of a job's accelerators on nodes, and of nodes in NVLink domains or TPU slices."""

from __future__ import annotations

from typing import Any

from perfmodel.core import ops
from perfmodel.core.errors import refusal
from perfmodel.core.units import plural
from perfmodel.hardware.link import Link
from perfmodel.hardware.node import Node


def placed(world_size: Any, held: int) -> tuple[Any, Any]:
    """Return the number of nodes of a job, and its accelerators in the fullest node.

    Parameters
    ----------
    world_size : accelerators of the job
    held : accelerators that it uses of a full node

    >>> placed(12, 8)
    (2, 8)
    """
    return -(-world_size // held), ops.minimum(world_size, held)


def nodes_filled(world_size: int, held: int | None, node: Node, warnings: list[str]) -> tuple[int, int]:
    """Return the number of nodes of a job, and its accelerators in the fullest; it fills node after node.

    Parameters
    ----------
    world_size : accelerators of the job
    held : accelerators that it uses of each node; None: all
    node : spec of the nodes
    warnings : list to which a warning is appended if the last node is not full

    Raises
    ------
    InputError : ``held`` is more than a node has
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


def adapters_used(node: Node, held: int | None) -> int:
    """Return the network adapters of a node that its accelerators in a job send over.

    As large a part of the adapters as of the accelerators, rounded up.  NCCL gives each GPU the adapters at
    its least PCI distance, shared with the GPUs of the job that are as near (``ncclTopoGetLocalNet`` in
    ``src/graph/topo.cc`` at 5067397c, read on 2026-11-27; NVIDIA/nccl issue 412).  A GPU that is alone at two
    adapters may open both, but its own PCIe link carries no more than the one that is its part.  On ten
    machines of eight H100 with eight 400 Gbit/s adapters (``nccl-tests-cluster``), 1, 2 and 4 GPUs reach
    49, 98 and 196 GB/s of bus bandwidth: an adapter each.  GPUs far from each other may reach more.

    Parameters
    ----------
    node : spec of the node; without ``nics`` it has one
    held : its accelerators in the job; None for all

    >>> dgx = Node.model_construct(id="dgx", name="DGX", accelerators=8, nics=4)
    >>> adapters_used(dgx, None), adapters_used(dgx, 3), adapters_used(dgx, 1)
    (4, 2, 1)
    """
    return -(-(node.nics or 1) * (held or node.accelerators) // node.accelerators)


def is_slice(node: Node, link: Link, between: str | None) -> bool:
    """Return whether all accelerators are in one TPU slice, a torus whose links join hosts too.

    Parameters
    ----------
    node, link : specs of the nodes, and of the link between accelerators of a node
    between : id of the link between nodes that the job names, or None
    """
    return link.kind == "torus" and not (between or node.inter_link)


def domains(nodes: Any, node: Node, link: Link, between: str | None) -> Any:
    """Return the number of groups that communicate over adapters: nodes, NVLink domains, or 1 of a slice."""
    if link.domain is not None:
        return link.domains(nodes, node.accelerators)
    return nodes // nodes if is_slice(node, link, between) else nodes


def in_domains(world_size: int, held: int, node: Node, link: Link, between: str | None) -> tuple[int, int]:
    """Return the accelerators in the fullest group that a link joins, and the number of groups.

    Parameters
    ----------
    world_size, held : accelerators of the job, and those that it uses of a full node
    node : spec of the nodes
    link : spec of the link between accelerators of a node, or of a domain of several nodes
    between : id of the link between nodes that the job names, or None
    """
    nodes, per_node = placed(world_size, held)
    groups = domains(nodes, node, link, between)
    return -(-nodes * per_node // groups), groups
