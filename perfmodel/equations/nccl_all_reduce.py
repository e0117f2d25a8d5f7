"""Every way NCCL may do an all-reduce, timed at once with the latencies and bandwidths of given links.

The model is that of ``perfmodel.equations.nccl``.  NCCL assumes one latency of all networks and one of all
links of a kind; here each link brings its own, and NCCL's tables say by how much an algorithm and a protocol
are slower or faster.  Left out is the factor by which NCCL lengthens a ring's latency between nodes.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel import ops
from perfmodel.equations.nccl_bandwidth import bandwidth_by_switch, way_bandwidth
from perfmodel.equations.nccl_constants import GENERATIONS, NCCL_2_30, PROTOCOLS
from perfmodel.equations.nccl_graph import Graph, has_ll128
from perfmodel.formula import formula
from perfmodel.ops import Real

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FLAGS_SHARE = (0.5, 0.92, 1.0)
"""Of the bandwidth on the bus, left to a ring by the flags of its protocol: LL, LL128, Simple."""
TREE_SHARE = 0.92
TREE_LL_SHARE = 1 / 3.8
TREE_LL128_SHARES = (7 / 9, 120 / 128, 120 / 128)
"""On one node, two, more."""
POSTS = (1 / 8.4, 1 / 8.4, 3 / 8.4)
"""What a host takes to post one step to the network, over the base latency of a ring by Simple."""
ENDLESS = 1e30
CHANNEL = 20.0
"""One channel of an NVLink ring in NCCL's tables [GB/s]."""
NEARLY = 1.001
SMALLEST_CORRECTED = 64.0
"""[B]; each column of the tree's correction stands for twice the bytes of the one before."""


class Latencies(NamedTuple):
    """Of one hop, by what NCCL sends in small messages (LL) and in large ones (Simple) [s]."""

    small: Any
    large: Any


class Library(NamedTuple):
    """What NCCL's tables are multiplied by."""

    base_latency: Any = 8.4e-6
    """Of a ring by Simple [s]."""
    channel_bandwidth: Any = 20e9
    """Of one channel of an NVLink ring, which the limits of a channel go with [B/s]."""


class Rates(NamedTuple):
    """What the bandwidth of every way follows from; a way's own in arrays of shape (ways, settings, 1)."""

    channels: Any
    channel_bandwidth: Any
    nominal_channel_bandwidth: Any
    bus_share: Array
    channel_share: Array
    most_channels: Array
    bus_traffic: Array
    switch_bandwidth: Any
    """Of one rank to the switch that adds up [B/s]."""
    switch_efficiency: Array | None
    """Of that switch, endless for a way that does not pass it; None where there is none."""

    @property
    def bandwidth(self) -> Any:
        """Bandwidth of each way [B/s]."""
        result = way_bandwidth(*self[:7])
        if self.switch_efficiency is None:
            return result
        return bandwidth_by_switch(
            result, self.switch_efficiency, self.switch_bandwidth, self.channels, self.bus_traffic
        )


class Ways(NamedTuple):
    """Every way NCCL may do an all-reduce: arrays of shape (ways, settings, 1), either of the last two 1."""

    names: tuple[tuple[str, str], ...]
    """Algorithm and protocol."""
    base_latency: Array
    intra_hops: Array
    intra_hop_latency: Array
    inter_hops: Array
    inter_hop_latency: Array
    rates: Rates
    """What their bandwidth follows from."""
    algorithm_bandwidth: Array
    """Before the correction for the message's size [B/s]."""
    correction: Array
    """By how much longer the bytes of a tree take, shape (ways, columns of ``size_class``)."""

    def times(self, message_bytes: Any) -> Array:
        """Return the time of messages, shape (messages,), by each way [s]: (ways, settings, messages)."""
        corrections = self.correction[:, None, size_class(message_bytes)]
        times: Any = nccl_all_reduce_time(*self[1:6], message_bytes, corrections, self.algorithm_bandwidth)
        return times


@formula(cites=("nccl-tuning", "patarasuk2009"))
def nccl_all_reduce_time(
    base_latency: Real,
    intra_hops: Real,
    intra_hop_latency: Real,
    inter_hops: Real,
    inter_hop_latency: Real,
    message_bytes: Real,
    size_correction: Real,
    algorithm_bandwidth: Real,
) -> Real:
    r"""Time of an all-reduce by one algorithm and protocol of NCCL.

    .. math:: T = \alpha_0 + h_i\,\alpha_i + h_e\,\alpha_e + \frac{w\,S}{B_a}

    A ring of n ranks on N nodes has 2(n-N) hops inside nodes and 2(N-1) between them, and B_a is n/(2(n-1))
    of its rate; two trees have 2(n/N-1) and twice the whole part of log2 N, and half of it.

    Parameters
    ----------
    base_latency : alpha_0 [s], of the launch
    intra_hops : h_i [1], one after another inside nodes
    intra_hop_latency : alpha_i [s]
    inter_hops : h_e [1], between nodes
    inter_hop_latency : alpha_e [s]
    message_bytes : S [B]
    size_correction : w [1], of the bytes of a tree, by the message's size
    algorithm_bandwidth : B_a [B/s]

    Returns
    -------
    communication_time [s]

    Examples
    --------
    Eight V100, a ring by Simple: 8.4 us, 14 hops of 3.4 us, and 1 GB at 120 * 8/14 GB/s.

    >>> round(nccl_all_reduce_time(8.4e-6, 14, 3.4e-6, 0, 14e-6, 1e9, 1, 120e9 * 8 / 14) * 1e3, 4)
    14.6393
    """
    latency = base_latency + intra_hops * intra_hop_latency + inter_hops * inter_hop_latency
    return latency + message_bytes * (size_correction / algorithm_bandwidth)


def size_class(message_bytes: Any) -> Any:
    """Return the column of ``Ways.correction`` for each message: 0 and the last are beyond NCCL's table.

    Tensors often have a power of two of bytes, where the table steps: what falls short of one by less than
    a thousandth counts as it, so that a small change of their size does not cross the step.
    """
    import numpy as np

    doublings = np.frexp(message_bytes * (NEARLY / SMALLEST_CORRECTED))[1]
    return np.minimum(np.maximum(doublings, 0), _COLUMNS - 1)


_COLUMNS = len(NCCL_2_30.tree_correction[0]) + 2


class _Table(NamedTuple):
    """What NCCL's constants say of each way; shape (ways, 1, 1), ``correction`` apart."""

    names: tuple[tuple[str, str], ...]
    algorithm: NDArray[np.intp]
    """Its row among the hops of all algorithms."""
    base_ratio: Array
    """Of latencies before the first hop to that of a ring by Simple."""
    intra_small: Array
    """Latency of a hop inside a node over that of LL by a ring; 0 for Simple."""
    intra_large: Array
    """The same over that of Simple, for it alone."""
    inter_small: Array
    inter_large: Array
    alone_small: Array
    """Of a hop between nodes of one rank each."""
    alone_large: Array
    post_ratio: Array
    limits: tuple[Limits, Limits]
    """On two nodes, and on more; the first alone on one."""
    correction: Array
    switch_efficiency: Array
    """Of a switch that adds up, endless for ways that do not pass it."""


class Limits(NamedTuple):
    """What a way makes of the bandwidth on the bus: the least of three; shape (ways, 1, 1)."""

    share: Any
    per_channel: Any
    """Over the bandwidth of an NVLink ring's channel."""
    most: Any
    """In as many of these."""


@lru_cache(maxsize=64)
def _table(
    generation: str, intra_link: str, processor: str, ll128: bool, switch_adds: bool, several: bool
) -> _Table:
    """Constants of every way, arranged for arrays: they depend on the kind of machine alone."""
    import numpy as np

    known, row = NCCL_2_30, GENERATIONS.index(generation)
    extra = ("nvls-tree" if several else "nvls",) if switch_adds else ()
    algorithms = ("ring", "tree", *extra)
    names = tuple(
        (algorithm, protocol)
        for algorithm in algorithms
        for protocol in PROTOCOLS
        if protocol == "Simple" or (algorithm not in extra and (protocol == "LL" or ll128))
    )
    inside, net = known.hop_latency[intra_link], known.hop_latency["net"]

    def column(value: Any) -> NDArray[Any]:
        return np.array([value(algorithm, PROTOCOLS.index(p)) for algorithm, p in names])[:, None, None]

    def ratios(of: dict[str, tuple[float, float, float]], like: str = "") -> tuple[Array, Array]:
        small = column(lambda a, p: of[like or a][p] / of["ring"][0] if p < 2 else 0.0)
        return small, column(lambda a, p: of[like or a][2] / of["ring"][2] if p == 2 else 0.0)

    limits = [
        Limits(*(column(lambda a, p, at=at, i=i: _limits(a, p, row, at, processor)[i]) for i in range(3)))
        for at in ((1, 2) if several else (0, 0))
    ]
    tables = [[1.0, *(1 / w for w in known.tree_correction[PROTOCOLS.index(p)]), 1.0] for _, p in names]
    return _Table(
        names,
        column(lambda a, p: algorithms.index(a)),
        column(lambda a, p: known.base_latency[a][p] / known.base_latency["ring"][2]),
        *ratios(inside),
        *ratios(net),
        *ratios(net, "tree"),
        column(lambda a, p: POSTS[p] if several and a == "ring" else 0.0),
        (limits[0], limits[1]),
        np.array([of if a == "tree" else [1.0] * _COLUMNS for (a, _), of in zip(names, tables, strict=True)]),
        column(lambda a, _: known.nvls_efficiency[row] if a in extra else ENDLESS),
    )


def _limits(algorithm: str, p: int, row: int, at: int, processor: str) -> tuple[float, float, float]:
    """Share of the bus, most of a channel and most of all in channels, ``at`` one node, two or more."""
    known = NCCL_2_30
    low_latency = known.low_latency_bandwidth[row if at == 0 else int(processor == "amd")][at] / CHANNEL
    most = low_latency if p == 0 else ENDLESS
    if algorithm == "ring":
        channel = known.ring_ll128_channel[row][at] / CHANNEL if p == 1 else ENDLESS
        return FLAGS_SHARE[p], channel, most
    if algorithm == "tree":
        left = (TREE_LL_SHARE, TREE_LL128_SHARES[at], 1.0)[p]
        channel = known.tree_channel[row][at] * left
        channel = min(channel, known.tree_ll128_channel[row][at]) if p == 1 else channel
        return TREE_SHARE * left, channel / CHANNEL, most
    if algorithm == "nvls-tree":
        return (2.0 if at == 1 else 1.0), known.nvls_tree_channel[row][at] / CHANNEL, most
    return ENDLESS, ENDLESS, ENDLESS


def _hops(table: _Table, group_size: Any, nodes: Any, switch_adds: bool) -> Array:
    """Hops inside nodes and between them, and what the bytes on the bus come to: shape (3, ways, ..., 1)."""
    import numpy as np

    is_one = isinstance(nodes, int)
    per_node, across = group_size / nodes, nodes - 1
    levels = 2.0 * math.floor(math.log2(nodes)) if is_one else 2 * np.floor(np.log2(nodes))
    traffic = 2 * (group_size - 1) / group_size
    rings, trees = 2 * (group_size - nodes), 2 * (per_node - 1)
    by_algorithm = [[rings, trees], [2 * across, levels], [traffic, 2.0 + 0 * across]]
    if switch_adds:
        for row, of_switch in zip(
            by_algorithm, (1.0 + 0 * across, 2 * ops.log2(nodes), traffic), strict=True
        ):
            row.append(of_switch)
    # (three, algorithms) or (three, algorithms, settings, 1)
    hops: Array = np.array(by_algorithm, dtype=np.float64)
    return hops[:, table.algorithm if is_one else table.algorithm[:, 0, 0]]


@lru_cache(maxsize=1024)
def _hops_of_one(kind: tuple[str, str, str, bool, bool, bool], group_size: int, nodes: int) -> Array:
    """The same of one group of ranks: they depend on its size and the kind of machine alone."""
    return _hops(_table(*kind), group_size, nodes, kind[4])


def ways(
    group_size: Any,
    nodes: Any,
    graph: Graph,
    intra: Latencies,
    inter: Latencies,
    library: Library = Library(),  # noqa: B008 - a tuple of two numbers
    switch_adds: bool = False,
    switch_bandwidth: Any = 0.0,
) -> Ways:
    """Return every way NCCL may do an all-reduce among these ranks.

    Parameters
    ----------
    group_size, nodes : n, N [1]; numbers, or arrays of shape (settings, 1), all of one node or all of several
    graph : what the topology search finds; channels and bandwidths numbers or arrays
    intra, inter : of the links inside a node and between nodes
    library : what NCCL's tables are multiplied by
    switch_adds : whether a switch inside the node adds what passes it
    switch_bandwidth : of one rank to that switch [B/s]
    """
    import numpy as np

    is_one = isinstance(nodes, int)
    several = nodes > 1 if is_one else bool((nodes > 1).all())
    kind = graph.generation, graph.intra_link, graph.processor, has_ll128(graph), switch_adds, several
    table = _table(*kind)
    per_node = group_size / nodes
    hops = _hops_of_one(kind, group_size, nodes) if is_one else _hops(table, group_size, nodes, switch_adds)
    intra_hops, inter_hops, factor = hops
    two, more = table.limits
    limits = more
    if not is_one:
        limits = Limits(*(np.where(nodes <= 2, few, many) for few, many in zip(two, more, strict=True)))
    elif nodes <= 2:
        limits = two
    rates = Rates(
        graph.channels,
        graph.inter_bandwidth if several else graph.intra_bandwidth,
        library.channel_bandwidth,
        *limits,
        factor,
        switch_bandwidth,
        table.switch_efficiency if switch_adds else None,
    )
    intra_latency = table.intra_small * intra.small + table.intra_large * intra.large
    inter_latency = table.inter_small * inter.small + table.inter_large * inter.large
    if several:
        intra_latency = np.maximum(intra_latency, table.post_ratio * library.base_latency)
        alone = per_node == 1
        if alone if is_one else alone.any():
            lonely = table.alone_small * inter.small + table.alone_large * inter.large
            inter_latency = np.where(alone, lonely, inter_latency)
    return Ways(
        table.names,
        table.base_ratio * library.base_latency,
        intra_hops,
        intra_latency,
        inter_hops,
        inter_latency,
        rates,
        rates.bandwidth,
        table.correction,
    )
