"""Racks whose uplinks carry less than their nodes could send: by how much they slow what crosses them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.core.choices import Placement
from perfmodel.equations.topology import (
    contiguous_ring_factor,
    random_ring_factor,
    server_exchange_factor,
    server_push_factor,
)


class Racks(NamedTuple):
    """Nodes under one switch, and what leaves it."""

    nodes: int
    """Machines of a rack."""
    oversubscription: float
    """What their adapters could send over what the uplinks carry, alike on every rail."""
    placement: Placement = "contiguous"

    def slowdown(self, collective: str, nodes: Any, machines: Any) -> Any:
        """Return how many times less the adapters carry; 1 within one rack, or one NVLink domain.

        In an all-to-all every node sends to all others, as in a ring of random order on average.  Trees are
        taken to leave racks as rings do.

        Parameters
        ----------
        collective : as of ``Point``
        nodes : groups of ranks that meet over adapters: machines, or NVLink domains of several; a number, or
            an array of them
        machines : that the ranks lie on, at least as many
        """
        leaves = (nodes > 1) & (machines > self.nodes)
        if not np.any(leaves):
            return 1.0
        in_rack = ops.maximum(1.0, self.nodes * nodes / machines)
        if collective == "all-to-all" or self.placement == "random":
            several = ops.where(leaves, nodes, 2.0)
            factor = random_ring_factor(several, self.oversubscription, in_rack)
        else:
            factor = contiguous_ring_factor(self.oversubscription, in_rack)
        return ops.where(leaves, factor, 1.0)

    def server_slowdown(self, nodes: int, servers: int, pipelined: bool) -> float:
        """Return how many times less adapters carry to parameter servers and back; 1 within one rack.

        Parameters
        ----------
        nodes : that push gradients
        servers : spread over the racks of those nodes as evenly as they go, in whatever order the nodes lie
        pipelined : whether a pull runs beside the push of what comes next
        """
        if nodes <= self.nodes:
            return 1.0
        factor = server_exchange_factor if pipelined else server_push_factor
        slower: float = ops.number(factor(nodes, servers, self.oversubscription, self.nodes))
        return slower
