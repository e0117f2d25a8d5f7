"""The model by which NCCL itself chooses algorithm and protocol, for numbers and arrays.

NCCL uses it to compare algorithms, not to predict times, but it is a reasonable latency-bandwidth model.  It
does not include CollNet, PAT, and NVLS across nodes, which need switches that add, or one accelerator per
node.

Validity
--------
NCCL 2.1x on NVIDIA's GPUs, by its own tables. It ranks algorithms; its errors are far larger than those of
the fitted model.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from perfmodel.core.formula import formula
from perfmodel.equations.nccl_constants import (
    BASE_LATENCY,
    GENERATIONS,
    HOP_LATENCY,
    LOW_LATENCY_BANDWIDTH,
    NVLS_EFFICIENCY,
    NVLS_TREE_CHANNEL,
    PLATEAU_BYTES,
    PLATEAU_FACTOR,
    PROTOCOLS,
    RING_LL128_CHANNEL,
    RING_LL_SHARE,
    TREE_CHANNEL,
    TREE_CORRECTION,
    TREE_LL128_CHANNEL,
)
from perfmodel.equations.nccl_graph import Graph, has_ll128

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ALGORITHMS = {
    "all-reduce": ("ring", "tree", "nvls", "nvls-tree"),
    "reduce-scatter": ("ring", "nvls"),
    "all-gather": ("ring", "nvls"),
    "broadcast": ("ring",),
}
"""Collective -> algorithms that NCCL may choose."""


def _steps(collective: str, ranks: Any) -> Any:
    """Return the number of steps of a ring."""
    return {"all-reduce": 2 * (ranks - 1), "broadcast": ranks}.get(collective, ranks - 1)


def _column(nodes: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the column of a bandwidth table: 0 for one node, 1 for two, 2 for more."""
    import numpy as np

    return (np.minimum(nodes, 3) - 1).astype(np.intp)


@formula(cites="nccl-tuning", symbolic=False)
def nccl_bandwidth(
    collective: str,
    algorithm: str,
    protocol: str,
    group_size: Any,
    nodes: Any,
    graph: Graph,
) -> NDArray[np.float64]:
    r"""Algorithm bandwidth that NCCL assumes, before the tree's correction for the message size.

    .. math:: B_a = \min(c_p\, C B,\ \text{limit}) \cdot \begin{cases}
              n/\text{steps} & \text{ring, NVLS} \\ 1/2 & \text{tree}\end{cases},\quad N \text{ nodes}

    C channels of B each; the protocol's flags leave a share c_p of the bandwidth.

    Parameters
    ----------
    collective : a key of ``ALGORITHMS``
    algorithm : one of that key's
    protocol : one of LL, LL128, Simple
    group_size : n [1], above 1
    nodes : N [1]
    graph : what the topology search found

    Returns
    -------
    algorithm_bandwidth [B/s], 0 if NCCL does not offer it

    Examples
    --------
    Eight ranks of one node, 6 channels of 20 GB/s: 120 GB/s on the bus, times 8/14.

    >>> graph = Graph(6, 20e9, 12e9)
    >>> round(float(nccl_bandwidth("all-reduce", "ring", "Simple", 8, 1, graph)) / 1e9, 3)
    68.571
    """
    import numpy as np

    ranks, nodes = np.asarray(group_size, dtype=np.float64), np.asarray(nodes, dtype=np.float64)
    generation, column = GENERATIONS.index(graph.generation), _column(nodes)
    if protocol == "LL128" and not has_ll128(graph):
        return np.zeros(np.broadcast_shapes(ranks.shape, nodes.shape))
    bus = graph.channels * np.where(nodes <= 2, graph.intra_bandwidth, graph.inter_bandwidth)
    low_latency = np.array(LOW_LATENCY_BANDWIDTH[generation])[column] * 1e9

    def limit(table: tuple[tuple[float, float, float], ...]) -> Any:
        return graph.channels * np.array(table[generation])[column] * 1e9

    if algorithm == "ring":
        if protocol == "LL":
            bus = np.minimum(low_latency, RING_LL_SHARE * bus)
        elif protocol == "LL128":
            bus = np.minimum(0.92 * bus, limit(RING_LL128_CHANNEL))
        return bus * ranks / _steps(collective, ranks)
    if algorithm == "tree":
        bus = np.minimum(0.92 * bus, limit(TREE_CHANNEL))
        if protocol == "LL":
            bus = np.minimum(bus / 3.8, low_latency)
        elif protocol == "LL128":
            bus = np.minimum(bus * np.where(nodes == 1, 7 / 9, 120 / 128), limit(TREE_LL128_CHANNEL))
        return bus / 2 + 0 * ranks
    per_node = ranks / nodes
    intra = graph.intra_bandwidth * NVLS_EFFICIENCY[generation]
    intra = intra * (np.maximum(graph.channels, 2) - 1) * (2 if collective == "all-reduce" else 1)
    if collective != "all-reduce":
        intra = intra * (per_node - 1) / per_node
    if algorithm == "nvls-tree":
        inter = graph.channels * graph.inter_bandwidth * np.where(nodes <= 2, 2, 1)
        bus = np.minimum(np.minimum(intra, inter), limit(NVLS_TREE_CHANNEL))
        offered = nodes > 1
    else:
        bus, offered = intra, nodes == 1
    offered = offered & (np.asarray(graph.channels) >= 2) & (protocol == "Simple")
    return np.where(offered, bus * ranks / _steps(collective, ranks), 0.0)


@formula(cites="nccl-tuning", symbolic=False)
def nccl_latency(
    collective: str,
    algorithm: str,
    protocol: str,
    group_size: Any,
    nodes: Any,
    graph: Graph,
) -> NDArray[np.float64]:
    r"""Latency that NCCL assumes: of the launch, and of every step inside nodes or between them.

    .. math:: \alpha = \alpha_0 + \begin{cases}
              (k - k_e)\,\alpha_i + k_e\,\alpha_e & \text{ring of } k \text{ steps} \\
              2\left((n/N - 1)\,\alpha_i + \lfloor\log_2 N\rfloor\,\alpha_e\right) & \text{tree}\end{cases}

    A ring of n ranks on N nodes crosses between nodes in k_e = 2(N-1) steps of
    an all-reduce, N-1 of another collective.

    Parameters
    ----------
    collective : a key of ``ALGORITHMS``
    algorithm : one of that key's
    protocol : one of LL, LL128, Simple
    group_size : n [1]
    nodes : N [1]
    graph : what the topology search found

    Returns
    -------
    latency [s]

    Examples
    --------
    Eight ranks of one node by ring and Simple: 8.4 us and 14 steps of 3.4 us.

    >>> round(float(nccl_latency("all-reduce", "ring", "Simple", 8, 1, Graph(6, 20e9, 12e9))) * 1e6, 3)
    56.0
    """
    import numpy as np

    ranks, nodes = np.asarray(group_size, dtype=np.float64), np.asarray(nodes, dtype=np.float64)
    p = PROTOCOLS.index(protocol)
    simple = protocol == "Simple"
    intra, net = HOP_LATENCY[graph.intra_link], HOP_LATENCY["net"]
    base = BASE_LATENCY[algorithm][p]
    inter = np.where(ranks == nodes, net["tree"][p], net[algorithm][p])
    if algorithm == "ring" and collective == "broadcast":
        hop = np.where(nodes == 1, intra["tree" if simple else "ring"][p], inter)
        time = base + hop + 0 * ranks
    elif algorithm == "ring":
        across = np.where(nodes > 1, (2 if collective == "all-reduce" else 1) * (nodes - 1), 0)
        post = 3.0 if simple else 1.0
        inside = np.maximum(intra["ring"][p], np.where(nodes > 1, post, 0.0))
        time = base + (_steps(collective, ranks) - across) * inside + across * inter
    elif algorithm == "tree":
        time = base + 2 * ((ranks / nodes - 1) * intra["tree"][p] + np.floor(np.log2(nodes)) * inter)
    elif algorithm == "nvls":
        time = intra["nvls"][p] + np.where(nodes > 1, inter, 0.0) + 0 * ranks
    else:
        time = base + intra["nvls-tree"][p] + 2 * np.log2(nodes) * inter + 0 * ranks
    return time * 1e-6


@formula(cites="nccl-tuning", symbolic=False)
def nccl_time(
    collective: str,
    algorithm: str,
    protocol: str,
    group_size: Any,
    nodes: Any,
    message_bytes: Any,
    graph: Graph,
) -> NDArray[np.float64]:
    r"""Time that NCCL assumes for a collective by one algorithm and protocol.

    .. math:: T = \alpha(n, N)\, q + \frac{S}{w B_a}

    The tree's bandwidth is corrected by a table w over the message size, the
    latency of a ring between nodes by q for long messages.

    Parameters
    ----------
    collective : a key of ``ALGORITHMS``
    algorithm : one of that key's
    protocol : one of LL, LL128, Simple
    group_size : n [1], above 1
    nodes : N [1]
    message_bytes : S [B], of all ranks for all-gather and reduce-scatter
    graph : what the topology search found

    Returns
    -------
    communication_time [s], infinite if NCCL does not offer it

    Examples
    --------
    56 us, and 1 GB at 120 * 8/14 GB/s.

    >>> graph = Graph(6, 20e9, 12e9)
    >>> round(float(nccl_time("all-reduce", "ring", "Simple", 8, 1, 1e9, graph)) * 1e3, 4)
    14.6393
    """
    import numpy as np

    size, ranks = np.asarray(message_bytes, dtype=np.float64), np.asarray(group_size, dtype=np.float64)
    bandwidth = nccl_bandwidth(collective, algorithm, protocol, ranks, nodes, graph)
    latency = nccl_latency(collective, algorithm, protocol, ranks, nodes, graph)
    if algorithm == "tree":
        table = np.array([*TREE_CORRECTION[PROTOCOLS.index(protocol)], 1.0])
        index = np.floor(np.log2(np.maximum(size, 1) / 64))
        index = np.where((index < 0) | (index >= len(table) - 1), len(table) - 1, index)
        bandwidth = bandwidth * table[index.astype(np.intp)]
    elif algorithm == "ring" and protocol == "Simple" and collective == "all-reduce":
        long = (np.asarray(nodes) > 1) & (size / (ranks * graph.channels) >= PLATEAU_BYTES)
        factor = PLATEAU_FACTOR[GENERATIONS.index(graph.generation)]
        latency = latency * np.where(long, factor, 1.0)
    offered = bandwidth > 0
    return np.where(offered, latency + size / np.where(offered, bandwidth, 1.0), math.inf)


def nccl_times(
    collective: str,
    group_size: Any,
    nodes: Any,
    message_bytes: Any,
    graph: Graph,
) -> tuple[tuple[tuple[str, str], ...], NDArray[np.float64]]:
    """Return the pairs of algorithm and protocol of a collective, and their times along the first axis [s].

    Parameters are those of ``nccl_time``: numbers, or arrays that broadcast.

    Examples
    --------
    Eight V100 of one node: a small message by LL, a large one by a ring.

    >>> names, times = nccl_times("all-reduce", 8, 1, [1e3, 1e9], Graph(6, 20e9, 12e9))
    >>> [names[row] for row in times.argmin(axis=0)]
    [('ring', 'LL'), ('ring', 'Simple')]
    """
    import numpy as np

    names = tuple(
        (algorithm, protocol)
        for algorithm in ALGORITHMS[collective]
        for protocol in PROTOCOLS
        if protocol == "Simple" or not algorithm.startswith("nvls")
    )
    times = np.stack(
        np.broadcast_arrays(
            *(
                nccl_time(collective, algorithm, protocol, group_size, nodes, message_bytes, graph)
                for algorithm, protocol in names
            )
        )
    )
    return names, times
