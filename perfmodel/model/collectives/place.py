"""Placement of the ranks of a collective, and the rates and properties of the links between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.core.errors import refusal
from perfmodel.equations.link_rates import kernel_ceiling
from perfmodel.equations.ring_search import WRITE_PAYLOAD, ring_bandwidth
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.link import Link
from perfmodel.hardware.node import Node
from perfmodel.hardware.peer_graph import links_of_one, ranks_of
from perfmodel.hardware.provenance import Spec
from perfmodel.model.collectives.generation import adds, generation_index
from perfmodel.model.collectives.racks import Racks
from perfmodel.model.fitted.calibration import before_fit
from perfmodel.model.setting.link_caveats import NCCL_CONNECTIONS
from perfmodel.model.setting.torus import Torus

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Flags = NDArray[np.bool_]
    Whole = NDArray[np.intp]

COLLECTIVES = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "send-receive")
ALL_REDUCE, ALL_TO_ALL, BROADCAST, SEND_RECEIVE = 0, 3, 4, 5
INTERCONNECTS = ("switch", "mesh", "pcie", "xgmi", "other")
"""Interconnects of the ranks in a node."""
SWITCH, MESH, PCIE = 0, 1, 2
TRANSPORTS = ("infiniband", "slingshot", "efa", "one-sided", "gpudirect-tcp", "roce", "ethernet-tcp")
"""Transports whose share of a port is known; any other kind of link is taken as ``slingshot``."""
KERNEL_TCP = TRANSPORTS.index("ethernet-tcp")
BUILT_IN = ("infiniband", "roce", "rdma", "ethernet-tcp")
"""Link kinds that NCCL supports itself; others need a plug-in."""
PATHS = (15.75e9, 31.5e9, 63e9, 63e9)
"""Bandwidth of 16 PCIe lanes contemporary with each GPU generation: PCIe 3, 4, 5, 5 [B/s]."""
USUAL_YEAR = 2024
"""Default year of a collective library."""
ANY_SIZE = 1.0
"""Placeholder of the message size, if only the placement matters [B]."""


class Sockets(NamedTuple):
    """The link between the processors of a machine, each of which holds half of its accelerators."""

    bandwidth: float
    """[B/s]"""
    accelerators: int
    """Accelerators of the machine."""

    def limit(self, ranks: float, stride: float = 1) -> float:
        """Return the bandwidth for ranks of one machine [B/s], ``stride`` apart; infinite if none crosses.

        >>> Sockets(2e10, 8).limit(4), Sockets(2e10, 8).limit(2, stride=4)
        (inf, 20000000000.0)
        """
        return self.bandwidth if 2 * ((ranks - 1) * stride + 1) > self.accelerators else math.inf


class Point(NamedTuple):
    """Placement of ranks, the specs of their links, and a collective to be timed."""

    group_size: int
    nodes: int
    """Number of groups of ranks that ``link`` joins: nodes, or NVLink domains of several nodes."""
    link: Link
    inter_link: Link | None
    nics: float
    """Adapters of each of these groups; only a part of them if other ranks of a node use the rest."""
    accelerator: Accelerator | None = None
    """None: an accelerator contemporary with the link."""
    host_link: Link | None = None
    """Link from an accelerator to its host and its adapter; None: PCIe contemporary with the link."""
    collective: str = "all-reduce"
    message_bytes: float = ANY_SIZE
    year: int = USUAL_YEAR
    """Year of the library."""
    by_ring: bool = False
    """Whether the user requested rings for all sizes."""
    machines: int = 0
    """Machines of the ranks, if they are more than ``nodes``; else 0."""
    torus: Torus | None = None
    """Dimensions of a requested torus, if they are not the default ones."""
    racks: Racks | None = None
    """None: every node reaches every other at its adapters' full rate."""
    sockets: float = math.inf
    """Bandwidth between the processors of a node, if traffic of ranks crosses it [B/s]; else infinite."""
    connections: int = NCCL_CONNECTIONS
    """TCP connections between two nodes."""
    lone_bandwidth: float | None = None
    """Bandwidth of one adapter while the others of its machine are idle [B/s]; None: of ``inter_link``."""
    capped_by: Node | None = None
    """The machine whose network limit reduces ``inter_link``; None without a limit."""
    notes: tuple[str, ...] = ()
    """Notes about defaults taken."""
    host_nics: float | None = None
    """Adapters of one machine, whoever uses them; None: those of the ranks."""
    shares_host: bool = False
    """Whether other ranks of the job run on the same machines, in groups of their own."""

    def of(self, collective: str, message_bytes: float) -> Point:
        """Return the same placement with another collective and message size [B]."""
        return self._replace(collective=collective, message_bytes=message_bytes)

    @property
    def per_node(self) -> int:
        """Ranks in the fullest node or NVLink domain."""
        return -(-self.group_size // self.nodes)

    @property
    def hosts(self) -> int:
        """Number of machines of the ranks."""
        return self.machines or self.nodes

    @property
    def slowdown(self) -> float:
        """Slowdown of the adapters by the uplinks of racks, at least 1."""
        return 1.0 if self.racks is None else self.racks.slowdown(self.collective, self.nodes, self.hosts)

    @property
    def place(self) -> tuple[object, ...]:
        """Key of the placement for caches, without the message size; specs are compared by identity."""
        here = self if self.message_bytes == ANY_SIZE else self._replace(message_bytes=ANY_SIZE)
        return tuple([id(each) if isinstance(each, Spec) else each for each in here])


class Place(NamedTuple):
    """Numbers of a collective's placement; of many placements, arrays of shape (places,).

    Fields about the network between nodes have no meaning on one node.
    """

    collective: Whole
    """Index into ``COLLECTIVES``."""
    nodes: Array
    per_node: Array
    inside_rate: Array
    """Nominal bandwidth of one accelerator to its peers [B/s]; of a mesh, that of its rings."""
    interconnect: Whole
    """Index into ``INTERCONNECTS``."""
    generation: Whole
    """Index into ``GENERATIONS`` of GPUs."""
    adds: Flags
    """Whether the switch inside a node reduces (NVLink SHARP)."""
    reaches_peers: Flags
    ring_only: Flags
    """Whether large all-reduces use rings: with RCCL, or if the user requested them."""
    by_ring: Flags
    transport: Whole
    """Index into ``TRANSPORTS``."""
    is_built_in: Flags
    hop: Array
    """Latency of a hop between nodes [s]."""
    port: Array
    """Bandwidth of one adapter [B/s]."""
    adapters: Array
    adapter_path: Array
    """Bandwidth from an accelerator to its adapter [B/s]."""
    reaches_adapter: Flags
    has_low_latency: Flags
    """Whether the transport carries NCCL's LL and LL128."""
    year: Array
    sockets: Array
    """Bandwidth between the processors of a node [B/s]; infinite if no traffic of ranks crosses them."""
    kernel_growth: Array
    """Bandwidth of the kernel's TCP by its connections, over that of the usual number [1]."""
    usual_growth: Array
    """The same for the usual number of connections, of which each pair of ranks may have its own [1]."""
    host_adapters: Array
    """Adapters of one machine, which share its cores and memory."""
    is_lone: Flags
    """Whether a rank has no other on its machine."""

    def rows(self, which: Any) -> Place:
        """Return the places at some indices."""
        return Place(*(column[which] for column in self))


def places(points: Sequence[Point]) -> Place:
    """Return the numbers of several points, as arrays."""
    return Place(*(np.array(column) for column in zip(*map(place_of, points), strict=True)))


def place_of(point: Point) -> Place:
    """Return the numbers of one point from its specs."""
    link, chip, per_node = point.link, point.accelerator, point.per_node
    interconnect, rate = inside(point)
    within: tuple[Any, ...] = (
        COLLECTIVES.index(point.collective),
        float(point.nodes),
        float(per_node),
        rate,
        INTERCONNECTS.index(interconnect),
        generation_index(link, chip),
        adds(link, chip),
        chip is None or chip.peer_access,
        point.by_ring or (chip is not None and chip.collective_library == "RCCL"),
        point.by_ring,
    )
    between: tuple[Any, ...] = (0, True, 0.0, 1.0, 1.0, 1.0, True, True)
    if point.nodes > 1 and point.inter_link is not None:
        between = _network_numbers(point, point.inter_link)
    host = (
        point.nics * point.nodes / ops.number(point.hosts) if point.host_nics is None else point.host_nics,
        per_node == 1 and not point.shares_host,
    )
    pairs = _connected_pairs(point)
    growth = kernel_growth(pairs * point.connections), kernel_growth(pairs * NCCL_CONNECTIONS)
    return Place(*(*within, *between, point.year, point.sockets, *growth, *host))


def _connected_pairs(point: Point) -> float:
    """Return the pairs of ranks with connections of their own over an adapter: several in an all-to-all."""
    if point.collective != "all-to-all":
        return 1.0
    return max(1.0, float(point.per_node**2 / ops.plain(point.nics)))


def kernel_growth(connections: float) -> float:
    """Return the bandwidth of the kernel's TCP over ``connections``, over that of the usual number [1]."""
    if connections == NCCL_CONNECTIONS:
        return 1.0
    growth: Any = kernel_ceiling(1.0, connections, NCCL_CONNECTIONS, before_fit().connections_exponent)
    return growth  # type: ignore[no-any-return]


def _network_numbers(point: Point, outer: Link) -> tuple[Any, ...]:
    """Return the fields of ``Place`` about the network between nodes."""
    rate, adapters = outer.bandwidth.value / point.slowdown, ops.number(point.nics)
    port = _port(outer, rate, _connected_pairs(point) * point.connections)
    if point.collective == "send-receive" and point.lone_bandwidth is not None:
        # one send uses one adapter, which has the whole network limit of its machine while no other sends
        port = _port(outer, point.lone_bandwidth / point.slowdown, point.connections)
        adapters *= ops.minimum(1.0, rate / port)
    return (
        TRANSPORTS.index(_transport(outer)),
        outer.kind in BUILT_IN,
        outer.hop_latency.value,
        port,
        adapters,
        host_path(point),
        reaches_adapter(outer, point.link, point.accelerator),
        has_low_latency(outer, point.link, point.accelerator),
    )


def host_path(point: Point) -> float:
    """Return the bandwidth from an accelerator to its adapter [B/s]."""
    if point.host_link is not None:
        return point.host_link.bandwidth.value
    if point.link.kind == "pcie":
        return point.link.bandwidth.value
    return PATHS[generation_index(point.link)]


_PORT_SHARES = {
    "infiniband": "infiniband",
    "efa": "efa",
    "slingshot": "slingshot",
    "gpudirect-tcp": "gpudirect_tcp",
}


def port_share(link: Link) -> str | None:
    """Return the parameter for the share of a port; None for Ethernet's own, and for links inside a node."""
    if link.one_sided:
        return "one_sided"
    if link.scope != "inter" or link.kind in ("roce", "rdma", "ethernet-tcp"):
        return _PORT_SHARES.get(link.kind)
    return _PORT_SHARES.get(link.kind, "slingshot")


def _transport(link: Link) -> str:
    """Return the entry of ``TRANSPORTS`` of a link."""
    if link.one_sided:
        return "one-sided"
    kind = "roce" if link.kind == "rdma" else link.kind
    return kind if kind in TRANSPORTS else "slingshot"


def _port(link: Link, rate: float, connections: float) -> Any:
    """Return the rate of an adapter [B/s], limited by the rate of its TCP connections."""
    return rate if link.flow_bandwidth is None else ops.minimum(rate, connections * link.flow_bandwidth.value)


def reaches_adapter(outer: Link, inner: Link, chip: Accelerator | None) -> bool:
    """Return whether an adapter accesses an accelerator's memory directly."""
    return _capability(inner, chip) >= outer.direct_from and (chip is None or chip.peer_access)


def has_low_latency(outer: Link, inner: Link, chip: Accelerator | None) -> bool:
    """Return whether a transport carries NCCL's low-latency protocols for an accelerator."""
    return outer.low_latency and _capability(inner, chip) >= outer.low_latency_from


def _capability(inner: Link, chip: Accelerator | None) -> float:
    """Return the compute capability of an accelerator; infinite for accelerators without one."""
    if chip is None:
        return _OF_GENERATION[generation_index(inner)]
    return chip.compute_capability or math.inf


_OF_GENERATION = (7.0, 8.0, 9.0, 10.0)


def inside(point: Point) -> tuple[str, float]:
    """Return the interconnect of ranks in a node, and the nominal bandwidth of one rank [B/s].

    ``switch`` or ``mesh`` over NVLink, ``pcie``, ``xgmi``, or ``other``.  The bandwidth of a mesh is that of
    its rings; without rings, or if a bridge joins fewer ranks, traffic uses the host's link.
    """
    link, ranks = point.link, point.per_node
    if link.joins is not None and ranks > link.joins:
        return "pcie", host_path(point)
    if link.kind != "nvlink":
        kind = {"pcie": "pcie", "xgmi": "xgmi"}.get(link.kind, "other")
        return kind, link.bandwidth.value
    if ranks == 1:
        return "mesh", link.bandwidth.value  # a single rank sends nothing
    if link.switched:
        return "switch", link.bandwidth.value
    if not link.peer_graph:
        return "mesh", link.bandwidth.value * WRITE_PAYLOAD
    one_link = link.bandwidth.value / links_of_one(link.peer_graph)
    if rate := ring_bandwidth(link.peer_graph, ranks, one_link):
        return "mesh", rate
    return "pcie", host_path(point)


def check_mesh(link: Link, ranks: int) -> None:
    """Refuse more ranks in a node than its NVLink mesh joins.

    Raises
    ------
    InputError : too many ranks
    """
    most = ranks_of(link.peer_graph)
    if link.peer_graph and ranks > most:
        raise refusal("collective.ranks_in_node", link=link.id, most=most, ranks=ranks)


def traffic_of(collective: str, ranks: int) -> float:
    """Return the traffic through each rank's port, over the message size of the collective [1]."""
    whole = {"all-reduce": 2 * (ranks - 1) / ranks, "broadcast": 1.0, "send-receive": 1.0}
    return whole.get(collective, (ranks - 1) / ranks)
