"""The table of collective algorithms: what each does, its time, its traffic and the bound it cannot beat."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from perfmodel.equations import (
    broadcast,
    chunked_ring,
    direct_all_reduce,
    in_network,
    point_to_point,
    ring_all_reduce,
    shuffles,
    tree_all_reduce,
)
from perfmodel.equations.algorithm import REGISTERED, Algorithm
from perfmodel.ops import Real


class GridAlgorithm(NamedTuple):
    """An all-reduce over g ranks with fast links in each of N groups with slower links between them."""

    name: str
    time: Callable[..., Real]
    """Of g, N, message_bytes, intra and inter hop_latency and link_bandwidth, reduction_bandwidth."""


MODULES = (
    ring_all_reduce,
    chunked_ring,
    tree_all_reduce,
    direct_all_reduce,
    in_network,
    shuffles,
    broadcast,
    point_to_point,
)
"""Whose formulas register algorithms, in the order in which these are listed."""
ALGORITHMS: dict[str, dict[str, Algorithm]] = {}
"""Every algorithm, by collective and name."""
for _module in MODULES:
    for _algorithm in REGISTERED[_module.__name__]:
        ALGORITHMS.setdefault(_algorithm.collective, {})[_algorithm.name] = _algorithm
SYNONYMS = {"sendrecv": "send-receive"}
"""What nccl-tests writes of a collective, where it is another word."""

GRID_ALGORITHMS = {
    algorithm.name: algorithm
    for algorithm in (
        GridAlgorithm("hierarchical", ring_all_reduce.hierarchical_all_reduce_time),
        GridAlgorithm("hierarchical-shared-card", ring_all_reduce.shared_card_all_reduce_time),
        GridAlgorithm("leader", tree_all_reduce.leader_all_reduce_time),
        GridAlgorithm("torus", ring_all_reduce.torus_all_reduce_time),
    )
}
"""Every all-reduce over two kinds of link, by name."""
