"""Racks with oversubscribed uplinks, and the slowdown of traffic that crosses them."""

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
    """Size and oversubscription of racks, and the order of nodes in them."""

    nodes: int
    """Machines of a rack."""
    oversubscription: float
    """Bandwidth of the nodes' adapters over that of the uplinks, the same on every rail."""
    placement: Placement = "contiguous"

    def slowdown(self, collective: str, nodes: Any, machines: Any) -> Any:
        """Return the slowdown of the adapters by the uplinks; 1 within one rack or one NVLink domain.

        In an all-to-all every node sends to all others, as in a ring of random order on average.  Trees are
        assumed to cross racks as often as rings.

        Parameters
        ----------
        collective : one of ``COLLECTIVES``
        nodes : groups that exchange over adapters: machines, or NVLink domains of several; a number, or
            an array of them
        machines : number of machines of the ranks, at least ``nodes``
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
        """Return the slowdown of traffic to parameter servers and back by the uplinks; 1 within one rack.

        Parameters
        ----------
        nodes : number of nodes that push gradients
        servers : number of servers, spread evenly over the racks of those nodes
        pipelined : whether a pull overlaps the push of the next gradients
        """
        if nodes <= self.nodes:
            return 1.0
        factor = server_exchange_factor if pipelined else server_push_factor
        slower: float = ops.number(factor(nodes, servers, self.oversubscription, self.nodes))
        return slower
