"""Where the ranks of a collective lie, and what their specs say of the links between them."""

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
WAYS = ("switch", "mesh", "pcie", "xgmi", "other")
"""How ranks of a node reach each other."""
SWITCH, MESH, PCIE = 0, 1, 2
TRANSPORTS = ("infiniband", "slingshot", "efa", "one-sided", "gpudirect-tcp", "roce", "ethernet-tcp")
"""How a port's share is known; any other kind of link is taken for ``slingshot``."""
KERNEL_TCP = TRANSPORTS.index("ethernet-tcp")
BUILT_IN = ("infiniband", "roce", "rdma", "ethernet-tcp")
"""Kinds that NCCL itself speaks; others come by a plug-in."""
PATHS = (15.75e9, 31.5e9, 63e9, 63e9)
"""Sixteen lanes of PCIe of the time of NCCL's generations of GPUs: 3, 4, 5, 5 [B/s]."""
USUAL_YEAR = 2024
"""Of a library whose year nobody says."""
ANY_SIZE = 1.0
"""Of a message that nobody asks for [B]."""


class Point(NamedTuple):
    """Where ranks lie and what joins them, and a collective of theirs to be timed."""

    group_size: int
    nodes: int
    """Groups of ranks that ``link`` joins: nodes, or NVLink domains of several, as ``joined`` says."""
    link: Link
    inter_link: Link | None
    nics: float
    """Adapters of each of these groups; a part of them where other ranks of a node use the rest."""
    accelerator: Accelerator | None = None
    """None: any of the link's time."""
    host_link: Link | None = None
    """From an accelerator to its host and its adapter; None: that of the link's time."""
    collective: str = "all-reduce"
    message_bytes: float = ANY_SIZE
    year: int = USUAL_YEAR
    """Of the library."""
    by_ring: bool = False
    """Whether a user has taken rings for all sizes."""
    machines: int = 0
    """That the ranks lie on, where they are more than ``nodes``."""
    torus: Torus | None = None
    """Its dimensions, where one is asked for and they are not the usual ones."""
    racks: Racks | None = None
    """None: every node reaches every other at its adapters' full rate."""
    sockets: float = math.inf
    """What joins the processors of a node, where ranks of both meet over it [B/s]."""
    connections: int = NCCL_CONNECTIONS
    """Over TCP between two nodes."""
    lone_bandwidth: float | None = None
    """Of one adapter while the others of its machine are idle [B/s]; None: that of ``inter_link``."""
    capped_by: Node | None = None
    """The machine whose network limit ``inter_link`` is a part of."""
    notes: tuple[str, ...] = ()
    """What was taken where nothing was said."""

    def of(self, collective: str, message_bytes: float) -> Point:
        """Return another collective of these ranks."""
        return self._replace(collective=collective, message_bytes=message_bytes)

    @property
    def per_node(self) -> int:
        """Ranks in the fullest node or NVLink domain."""
        return -(-self.group_size // self.nodes)

    @property
    def hosts(self) -> int:
        """Machines that the ranks lie on."""
        return self.machines or self.nodes

    @property
    def slowdown(self) -> float:
        """How many times less its adapters carry for the uplinks of racks."""
        return 1.0 if self.racks is None else self.racks.slowdown(self.collective, self.nodes, self.hosts)

    @property
    def place(self) -> tuple[object, ...]:
        """What tells it from points elsewhere, whatever their size: the specs themselves, not their ids."""
        here = self if self.message_bytes == ANY_SIZE else self._replace(message_bytes=ANY_SIZE)
        return tuple([id(each) if isinstance(each, Spec) else each for each in here])


class Place(NamedTuple):
    """A collective at a place, or at many, as arrays of shape (places,).

    What lies between nodes means nothing on one node.
    """

    collective: Whole
    """Into ``COLLECTIVES``."""
    nodes: Array
    per_node: Array
    inside_rate: Array
    """Of one accelerator to its peers, nominal [B/s]; of a mesh, that of its rings."""
    way: Whole
    """Into ``WAYS``."""
    generation: Whole
    """Into NCCL's generations of GPUs."""
    adds: Flags
    """Whether the switch inside a node adds what passes it."""
    reaches_peers: Flags
    ring_only: Flags
    """Whether large all-reduces go by rings: by RCCL, or as a user took them."""
    by_ring: Flags
    transport: Whole
    """Into ``TRANSPORTS``."""
    is_built_in: Flags
    hop: Array
    """Between nodes [s]."""
    port: Array
    """Of one adapter [B/s]."""
    adapters: Array
    adapter_path: Array
    """From an accelerator to its adapter [B/s]."""
    reaches_adapter: Flags
    has_low_latency: Flags
    """Whether the transport carries NCCL's LL and LL128."""
    year: Array
    sockets: Array
    """Between the processors of a node [B/s]; infinite where no ranks meet over them."""
    kernel_growth: Array
    """How much more the kernel's TCP carries by its connections than by the usual ones [1]."""

    def rows(self, which: Any) -> Place:
        """Return some of the places."""
        return Place(*(column[which] for column in self))


def places(points: Sequence[Point]) -> Place:
    """Return what the specs say of each point, as arrays."""
    return Place(*(np.array(column) for column in zip(*map(place_of, points), strict=True)))


def place_of(point: Point) -> Place:
    """Return what the specs say of one point: plain numbers."""
    link, chip, per_node = point.link, point.accelerator, point.per_node
    way, rate = inside(point)
    within: tuple[Any, ...] = (
        COLLECTIVES.index(point.collective),
        float(point.nodes),
        float(per_node),
        rate,
        WAYS.index(way),
        generation_index(link, chip),
        adds(link, chip),
        chip is None or chip.peer_access,
        point.by_ring or (chip is not None and chip.collective_library == "RCCL"),
        point.by_ring,
    )
    between: tuple[Any, ...] = (0, True, 0.0, 1.0, 1.0, 1.0, True, True)
    if point.nodes > 1 and point.inter_link is not None:
        between = _between(point, point.inter_link)
    return Place(*(*within, *between, point.year, point.sockets, kernel_growth(point.connections)))


def kernel_growth(connections: int) -> float:
    """Return how much more the kernel's TCP carries by so many connections than by the usual ones [1]."""
    if connections == NCCL_CONNECTIONS:
        return 1.0
    growth: Any = kernel_ceiling(1.0, connections, NCCL_CONNECTIONS, before_fit().connections_exponent)
    return growth  # type: ignore[no-any-return]


def _between(point: Point, outer: Link) -> tuple[Any, ...]:
    rate, adapters = outer.bandwidth.value / point.slowdown, ops.number(point.nics)
    port = _port(outer, rate, point.connections)
    if point.collective == "send-receive" and point.lone_bandwidth is not None:
        # one send leaves by one adapter, which has all that its machine may send where no other sends
        port = _port(outer, point.lone_bandwidth / point.slowdown, point.connections)
        adapters *= ops.minimum(1.0, rate / port)
    return (
        TRANSPORTS.index(_transport(outer)),
        outer.kind in BUILT_IN,
        outer.hop_latency.value,
        port,
        adapters,
        _path(point),
        reaches_adapter(outer, point.link, point.accelerator),
        has_low_latency(outer, point.link, point.accelerator),
    )


def _path(point: Point) -> float:
    """Rate of the link from an accelerator to its adapter [B/s]."""
    if point.host_link is not None:
        return point.host_link.bandwidth.value
    if point.link.kind == "pcie":
        return point.link.bandwidth.value
    return PATHS[generation_index(point.link)]


_PORT_SHARES = {
    "efa": "efa",
    "slingshot": "slingshot",
    "one-sided": "one_sided",
    "gpudirect-tcp": "gpudirect_tcp",
}


def port_share(link: Link) -> str | None:
    """Return the parameter that is the share of a port, of transports that training runs do not tell of."""
    return _PORT_SHARES.get("one-sided" if link.one_sided else link.kind)


def _transport(link: Link) -> str:
    if link.one_sided:
        return "one-sided"
    kind = "roce" if link.kind == "rdma" else link.kind
    return kind if kind in TRANSPORTS else "slingshot"


def _port(link: Link, rate: float, connections: int) -> Any:
    """What an adapter sends of ``rate`` over its connections, where these carry less [B/s]."""
    return rate if link.flow_bandwidth is None else ops.minimum(rate, connections * link.flow_bandwidth.value)


def reaches_adapter(outer: Link, inner: Link, chip: Accelerator | None) -> bool:
    """Return whether an adapter reads and writes an accelerator's memory itself."""
    return _capability(inner, chip) >= outer.direct_from and (chip is None or chip.peer_access)


def has_low_latency(outer: Link, inner: Link, chip: Accelerator | None) -> bool:
    """Return whether a transport carries NCCL's low-latency protocols between accelerators of a kind."""
    return outer.low_latency and _capability(inner, chip) >= outer.low_latency_from


def _capability(inner: Link, chip: Accelerator | None) -> float:
    """Compute capability, as far as a transport asks for it; of what has none, whatever is asked."""
    if chip is None:
        return _OF_GENERATION[generation_index(inner)]
    return chip.compute_capability or math.inf


_OF_GENERATION = (7.0, 8.0, 9.0, 10.0)


def inside(point: Point) -> tuple[str, float]:
    """Return how ranks of a node reach each other, and the nominal rate of one [B/s].

    ``switch`` or ``mesh`` over NVLink, ``pcie``, ``xgmi``, or any ``other``.  Of a mesh the rate is that of
    the rings it closes; where it closes none, or a bridge joins fewer ranks, traffic goes by the host's link.
    """
    link, ranks = point.link, point.per_node
    if link.joins is not None and ranks > link.joins:
        return "pcie", _path(point)
    if link.kind != "nvlink":
        kind = {"pcie": "pcie", "xgmi": "xgmi"}.get(link.kind, "other")
        return kind, link.bandwidth.value
    if ranks == 1:
        return "mesh", link.bandwidth.value  # whatever it is, nothing crosses it
    if link.switched:
        return "switch", link.bandwidth.value
    if not link.peer_graph:
        return "mesh", link.bandwidth.value * WRITE_PAYLOAD
    one_link = link.bandwidth.value / links_of_one(link.peer_graph)
    if rate := ring_bandwidth(link.peer_graph, ranks, one_link):
        return "mesh", rate
    return "pcie", _path(point)


def check_mesh(link: Link, ranks: int) -> None:
    """Refuse more ranks in a node than a mesh joins.

    Raises
    ------
    InputError : they are more
    """
    most = ranks_of(link.peer_graph)
    if link.peer_graph and ranks > most:
        raise refusal("collective.ranks_in_node", link=link.id, most=most, ranks=ranks)


def traffic_of(collective: str, ranks: int) -> float:
    """Messages that pass each rank's port, in messages of the collective's size."""
    whole = {"all-reduce": 2 * (ranks - 1) / ranks, "broadcast": 1.0, "send-receive": 1.0}
    return whole.get(collective, (ranks - 1) / ranks)
