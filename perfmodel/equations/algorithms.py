"""The table of collective algorithms: what each does, its time, its traffic and the bound it cannot beat."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from perfmodel.equations import (
    broadcast,
    chunked_ring,
    direct_all_reduce,
    in_network,
    lower_bounds,
    point_to_point,
    ring_all_reduce,
    shuffles,
    tree_all_reduce,
    volumes,
)
from perfmodel.ops import Real

CollectiveName = Literal[
    "all-reduce", "reduce-scatter", "all-gather", "broadcast", "all-to-all", "send-receive"
]


class Algorithm(NamedTuple):
    """One way of doing a collective among ranks with equal links."""

    name: str
    collective: CollectiveName
    time: Callable[..., Real]
    """Of group_size, message_bytes, hop_latency, link_bandwidth; and reduction_bandwidth where ``adds``."""
    bytes_per_rank: Callable[[Real, Real], Real]
    """Sent by the busiest rank, of group_size and message_bytes."""
    lower_bound: Callable[..., Real]
    """Takes what ``time`` takes."""
    adds: bool
    """Whether ranks spend time adding, so that a reduction bandwidth matters."""


class GridAlgorithm(NamedTuple):
    """An all-reduce over g ranks with fast links in each of N groups with slower links between them."""

    name: str
    time: Callable[..., Real]
    """Of g, N, message_bytes, intra and inter hop_latency and link_bandwidth, reduction_bandwidth."""


_ALGORITHMS = (
    Algorithm(
        "ring",
        "all-reduce",
        ring_all_reduce.ring_all_reduce_time,
        volumes.all_reduce_bytes_per_rank,
        lower_bounds.all_reduce_lower_bound,
        adds=True,
    ),
    Algorithm(
        "ring-chunked",
        "all-reduce",
        chunked_ring.chunked_ring_all_reduce_time,
        volumes.all_reduce_bytes_per_rank,
        lower_bounds.all_reduce_lower_bound,
        adds=True,
    ),
    Algorithm(
        "recursive-doubling",
        "all-reduce",
        tree_all_reduce.recursive_doubling_all_reduce_time,
        volumes.recursive_doubling_bytes_per_rank,
        lower_bounds.all_reduce_lower_bound,
        adds=True,
    ),
    Algorithm(
        "halving-doubling",
        "all-reduce",
        tree_all_reduce.halving_doubling_all_reduce_time,
        volumes.halving_doubling_bytes_per_rank,
        lower_bounds.all_reduce_lower_bound,
        adds=True,
    ),
    Algorithm(
        "tree",
        "all-reduce",
        tree_all_reduce.best_double_tree_all_reduce_time,
        volumes.double_tree_bytes_per_rank,
        lower_bounds.all_reduce_lower_bound,
        adds=True,
    ),
    Algorithm(
        "reduce-broadcast",
        "all-reduce",
        tree_all_reduce.reduce_broadcast_all_reduce_time,
        volumes.tree_root_bytes,
        lower_bounds.all_reduce_lower_bound,
        adds=True,
    ),
    Algorithm(
        "exchange",
        "all-reduce",
        direct_all_reduce.exchange_all_reduce_time,
        volumes.serial_bytes,
        lower_bounds.all_reduce_lower_bound,
        adds=True,
    ),
    Algorithm(
        "hub",
        "all-reduce",
        direct_all_reduce.hub_all_reduce_time,
        volumes.serial_bytes,
        lower_bounds.all_reduce_lower_bound,
        adds=True,
    ),
    Algorithm(
        "nvls",
        "all-reduce",
        in_network.nvls_all_reduce_time,
        volumes.nvls_bytes_per_rank,
        lower_bounds.in_network_all_reduce_lower_bound,
        adds=False,
    ),
    Algorithm(
        "switch-tree",
        "all-reduce",
        in_network.switch_tree_all_reduce_time,
        volumes.whole_buffer_bytes,
        lower_bounds.in_network_all_reduce_lower_bound,
        adds=False,
    ),
    Algorithm(
        "ring",
        "reduce-scatter",
        shuffles.ring_reduce_scatter_time,
        volumes.share_bytes_per_rank,
        lower_bounds.share_lower_bound,
        adds=True,
    ),
    Algorithm(
        "ring",
        "all-gather",
        shuffles.ring_all_gather_time,
        volumes.share_bytes_per_rank,
        lower_bounds.share_lower_bound,
        adds=False,
    ),
    Algorithm(
        "pairwise",
        "all-to-all",
        shuffles.pairwise_all_to_all_time,
        volumes.share_bytes_per_rank,
        lower_bounds.share_lower_bound,
        adds=False,
    ),
    Algorithm(
        "binomial",
        "broadcast",
        broadcast.binomial_broadcast_time,
        volumes.tree_root_bytes,
        lower_bounds.broadcast_lower_bound,
        adds=False,
    ),
    Algorithm(
        "chain",
        "broadcast",
        broadcast.best_chain_broadcast_time,
        volumes.whole_buffer_bytes,
        lower_bounds.broadcast_lower_bound,
        adds=False,
    ),
    Algorithm(
        "scatter-all-gather",
        "broadcast",
        broadcast.scatter_all_gather_broadcast_time,
        volumes.scatter_all_gather_bytes_per_rank,
        lower_bounds.broadcast_lower_bound,
        adds=False,
    ),
    Algorithm(
        "two-tree",
        "broadcast",
        broadcast.best_two_tree_broadcast_time,
        volumes.whole_buffer_bytes,
        lower_bounds.broadcast_lower_bound,
        adds=False,
    ),
    Algorithm(
        "direct",
        "send-receive",
        point_to_point.send_receive_time,
        volumes.whole_buffer_bytes,
        point_to_point.send_receive_time,
        adds=False,
    ),
)

ALGORITHMS: dict[str, dict[str, Algorithm]] = {}
"""Every algorithm, by collective and name."""
for _algorithm in _ALGORITHMS:
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
