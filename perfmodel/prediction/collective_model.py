"""Time of a collective as libraries run it: NCCL's latencies and the links' rates, corrected by measurements.

T = launch + m L + M (1 + r / (M + tau)), M = S v / (eta B), with L the least latency NCCL's own model
knows for these ranks, v the traffic of the collective, B the nominal rate of the slower level (on a mesh:
of its rings); launch, m, eta, r and tau are fitted (see ``perfmodel.accuracy.collective_fit``) by GPU
generation, drawn towards what all generations share.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.calibration import before_fit
from perfmodel.equations.nccl import ALGORITHMS, nccl_choice
from perfmodel.equations.nccl_constants import NCCL_2_12
from perfmodel.equations.nccl_graph import Graph
from perfmodel.equations.ring_search import WRITE_PAYLOAD, ring_bandwidth
from perfmodel.errors import InputError
from perfmodel.specs.link import Link
from perfmodel.specs.store import Catalogue
from perfmodel.step.fabric import bulk_bandwidth
from perfmodel.step.generation import adds, generation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

RESULT = Path(__file__).with_name("collective_model.json")
LEAST_RANKS_FOR_NVLS = 5
"""NCCL leaves fewer to the ring (seen on H200 and B200)."""
GENERATIONS = ("volta", "ampere", "hopper", "blackwell")

SHARED: dict[str, tuple[float, float]] = {
    # name: starting value, how far its logarithm may go (standard deviation of the prior)
    "launch": (2e-6, 0.5),
    "latency": (1.0, 0.3),
    "ring": (0.80, 0.15),
    "pair": (0.3, 0.5),
    "direct": (1.0, 0.1),
    "nvls": (0.65, 0.15),
    "between": (0.95, 0.2),
    "between_latency": (2.0, 0.7),
    "ramp": (40e-6, 0.5),
    "ramp_time": (100e-6, 0.5),
    "share": (0.9, 0.15),
    "exchange": (0.9, 0.15),
    "pairs": (3e-7, 0.7),
}
"""What every generation has in common.

ring: of the nominal rate through a switch, among many ranks; pair: what fewer ranks lose, over n;
direct: of the rings' rate over links without a switch, where nothing is lost but the packets' headers;
between: of what adapters of their kind are known to carry;
share: reduce-scatter, all-gather, broadcast and send-receive over all-reduce; exchange: all-to-all over
all-reduce; pairs: seconds of an all-to-all for each peer; ramp: seconds until all channels run full, reached
over ramp_time.
"""
DEVIATING = ("launch", "latency", "ring", "ramp")
"""What a generation may have of its own."""
DEVIATION = 0.3


class Point(NamedTuple):
    """One collective to be timed."""

    collective: str
    group_size: int
    nodes: int
    message_bytes: float
    link: Link
    inter_link: Link | None
    nics: int


class Features(NamedTuple):
    """What the physics says of each point, shape (points,) each."""

    latency: Array
    """NCCL's least latency inside the node [s]."""
    between_latency: Array
    """Of the hops between nodes [s]."""
    transfer: Array
    """Time of the bytes inside a node at the rate of its rings [s]."""
    between: Array
    """Time of the bytes between nodes at the rate that adapters of their kind reach [s]."""
    peers: Array
    """For an all-to-all, else 0."""
    ranks: Array
    """In a node."""
    is_switched: Array
    is_nvls: Array
    is_share: Array
    is_exchange: Array
    generation: Array
    """Into ``GENERATIONS``."""


def names() -> list[str]:
    """Every parameter, in the order of the vector."""
    return [*SHARED, *(f"{name}.{generation}" for name in DEVIATING for generation in GENERATIONS)]


def start() -> tuple[Array, Array]:
    """Logarithms the fit starts from, and the standard deviations of its prior."""
    first = [np.log(value) for value, _ in SHARED.values()] + [0.0] * (len(DEVIATING) * len(GENERATIONS))
    spread = [spread for _, spread in SHARED.values()] + [DEVIATION] * (len(DEVIATING) * len(GENERATIONS))
    return np.array(first), np.array(spread)


def features(points: Sequence[Point]) -> Features:
    """Return what the physics says of each point."""
    columns = zip(*(_features_of(point) for point in points), strict=True)
    return Features(*(np.array(column, dtype=np.float64) for column in columns))


def _features_of(point: Point) -> tuple[Any, ...]:
    n, nodes, size = point.group_size, point.nodes, point.message_bytes
    per_node = n // nodes
    inside = _nominal_rate(point.link, per_node)
    family = generation(point.link)
    nvls = point.collective == "all-reduce" and adds(point.link) and per_node >= LEAST_RANKS_FOR_NVLS
    traffic = traffic_of(point.collective, n)
    if nvls:
        inside, traffic = point.link.bandwidth.value, (per_node + 1) / per_node
    between = across = 0.0
    if nodes > 1 and point.inter_link is not None:
        # of a chain of sends one leaves each node, by one adapter
        nics = 1 if point.collective == "send-receive" else point.nics
        adapters = nics * bulk_bandwidth(point.inter_link, before_fit())
        # a tree, or rails, pass each node's boundary with fewer bytes than one ring through all ranks
        crossing = min(traffic, 2 * (nodes - 1) / nodes) if point.collective == "all-reduce" else traffic
        between = size * crossing / adapters
        across = 2 * np.log2(nodes) * point.inter_link.hop_latency.value
    return (
        _least_latency(point.collective, per_node, point.link.kind),
        across,
        size * traffic / inside,
        between,
        n - 1 if point.collective == "all-to-all" else 0,
        per_node,
        point.link.switched,
        nvls,
        point.collective not in ("all-reduce", "all-to-all"),
        point.collective == "all-to-all",
        GENERATIONS.index(family),
    )


def traffic_of(collective: str, ranks: int) -> float:
    """Messages that pass each rank's port, in messages of the collective's size."""
    whole = {"all-reduce": 2 * (ranks - 1) / ranks, "broadcast": 1.0, "send-receive": 1.0}
    return whole.get(collective, (ranks - 1) / ranks)


def check_mesh(link: Link, ranks: int) -> None:
    """Refuse more ranks in a node than a mesh joins.

    Raises
    ------
    InputError : they are more
    """
    if link.graph_of is not None:
        most = Catalogue.built_in().node(link.graph_of).accelerators
        if ranks > most:
            raise InputError(f"{link.id} joins {most} ranks in a node, not {ranks}; spread them over nodes")


def _nominal_rate(link: Link, ranks: int) -> float:
    """Rate of the rings over a link, by the data sheet and, off NVLink, what its kind is known to reach."""
    if link.kind != "nvlink":
        return bulk_bandwidth(link, before_fit())
    if ranks == 1 or link.switched:
        return link.bandwidth.value
    if link.graph_of is None:
        return link.bandwidth.value * WRITE_PAYLOAD
    node = Catalogue.built_in().node(link.graph_of)
    links = sum(count for a, b, count in node.peer_graph if 0 in (a, b))
    result = ring_bandwidth(node.peer_graph, ranks, link.bandwidth.value / links)
    # where the mesh closes no ring, traffic goes over the host's link
    return result or _nominal_rate(Catalogue.built_in().link(str(node.host_link)), ranks)


@cache
def _least_latency(collective: str, ranks: int, kind: str) -> float:
    if ranks == 1:
        return 0.0
    if collective == "send-receive":
        collective, ranks = "all-gather", 2  # one hop
    known = collective if collective in ALGORITHMS else "all-gather"
    graph = Graph(8, 20e9, 20e9, "volta", "nvlink" if kind == "nvlink" else "pci")
    return float(nccl_choice(known, ranks, 1, 1.0, graph, NCCL_2_12).time)


def log_time(parameters: Array, of: Features) -> Array:
    """Logarithm of the time of each point [s]."""
    value = {name: np.exp(parameters[index]) for index, name in enumerate(SHARED)}
    for row, name in enumerate(DEVIATING):
        first = len(SHARED) + row * len(GENERATIONS)
        value[name] = (
            value[name] * np.exp(parameters[first : first + len(GENERATIONS)])[of.generation.astype(np.intp)]
        )
    switched = value["ring"] * (1 - np.minimum(value["pair"], 1) / np.maximum(of.ranks, 2))
    rate = np.where(of.is_switched > 0, switched, value["direct"])
    rate = np.where(of.is_nvls > 0, value["nvls"], rate)
    rate = rate * np.where(
        of.is_share > 0, value["share"], np.where(of.is_exchange > 0, value["exchange"], 1.0)
    )
    moved = np.maximum(of.transfer / rate, of.between / value["between"])
    fixed = value["launch"] + value["latency"] * of.latency + value["pairs"] * of.peers
    fixed = fixed + value["between_latency"] * of.between_latency
    ramp = value["ramp"] * moved / (moved + value["ramp_time"])
    return np.asarray(np.log(fixed + moved + ramp), dtype=np.float64)


class Fitted(NamedTuple):
    """The shipped fit."""

    parameters: Array
    spread_short: float
    """Standard deviation of ln(measured / predicted) below 1 MiB, out of sample."""
    spread_long: float


@cache
def fitted() -> Fitted:
    """The fit that comes with the package, read once."""
    table: Mapping[str, Any] = json.loads(RESULT.read_text("utf-8"))
    parameters = np.array([np.log(table["parameters"][name]) for name in names()])
    return Fitted(parameters, table["spread_short"], table["spread_long"])
