"""Spec of a link between two ranks: nominal bandwidth, latency, and measurements."""

from typing import Annotated, Literal

from perfmodel.core import ops
from perfmodel.core.records.record import Within
from perfmodel.hardware.peer_graph import PeerGraph
from perfmodel.hardware.provenance import PositiveFloat, PositiveInt, Provenance, Quantity, SourcedSpec

Transport = Literal[
    "nvlink",
    "pcie",
    "xgmi",
    "torus",
    "infiniband",
    "roce",
    "rdma",
    "efa",
    "gpudirect-tcp",
    "ethernet-tcp",
    "omni-path",
    "slingshot",
    "aries",
    "socket",
    "other",
]
"""Inside a node the first four; ``socket`` between its processors; ``ethernet-tcp`` passes the operating
system's kernel, whatever the cable."""

GroupSize = Annotated[int, Within(strict=False, ge=2)]
"""Ranks of a ring; not strict, as keys of TOML are text."""


class RingBandwidth(Provenance):
    """Bus bandwidth of a ring all-reduce for each number of ranks, where it depends on that."""

    by_group_size: Annotated[dict[GroupSize, PositiveFloat], Within(min_length=1)]
    """Ranks -> bus bandwidth [B/s]."""

    def __str__(self) -> str:
        return "ring_bandwidth"


class Link(SourcedSpec):
    """A link between ranks inside a node (``intra``), between its processors (``socket``), or between nodes
    (``inter``)."""

    kind: Transport
    """Technology or protocol that carries the bytes."""
    scope: Literal["intra", "inter", "socket"]
    """Whether it joins accelerators of a node, nodes, or processors of a node."""
    generation: PositiveInt | None = None
    """Generation of NVLink, PCIe or Infinity Fabric; None for others."""
    joins: Annotated[int, Within(ge=2)] | None = None
    """Most accelerators that it joins, 2 for a bridge: a larger ring uses the host link."""
    switched: bool = False
    """Whether a switch joins every accelerator with every other at the full rate (NVSwitch)."""
    switch_adds: bool = False
    """Whether that switch sums messages in the network (NVLink SHARP)."""
    domain: Quantity | None = None
    """Accelerators that its switches join across nodes [1]; None: those of one node."""
    peer_graph: PeerGraph = ()
    """Pairs of a node's accelerators and their number of links, where pairs differ."""
    bandwidth: Quantity
    """One rank, one direction, nominal [B/s]; of an inter-node link: one network adapter."""
    hop_latency: Quantity
    """Start-up time of a small message over one hop [s]."""
    bulk_hop_latency: Quantity | None = None
    """Start-up time under NCCL's protocol for large messages (Simple) [s]."""
    achieved_fraction: Quantity | None = None
    """Share of the nominal bandwidth that large messages reach [1]."""
    direct_from: Annotated[float, Within(ge=0)] = 0.0
    """Least CUDA compute capability of accelerators whose memory its adapters access directly; messages of
    others are staged in host memory."""
    low_latency: bool = True
    """Whether NCCL can use its protocols for small messages, LL and LL128, on it."""
    low_latency_from: Annotated[float, Within(ge=0)] = 0.0
    """Least compute capability of accelerators for these protocols."""
    one_sided: bool = False
    """Whether an adapter writes to a peer's memory without the peer's host (TCPXO)."""
    flow_bandwidth: Quantity | None = None
    """The provider's limit on one connection [B/s]; a ring sends over one."""
    ring_bandwidth: RingBandwidth | None = None
    """Measured bandwidth of rings of 2, 3, ... ranks inside a node."""
    shared: bool = False
    """Whether all ranks of a node share the bandwidth, as below one PCIe switch."""

    @property
    def passes_kernel(self) -> bool:
        """Whether all traffic is TCP through the operating system's kernel."""
        return self.kind == "ethernet-tcp"

    def domains(self, nodes: int, held: int) -> int:
        """Return the number of groups that it joins: nodes, or domains where its switches span nodes.

        Parameters
        ----------
        nodes : nodes of the job
        held : accelerators of a node, used or not
        """
        if self.domain is None:
            return nodes
        nodes_joined = max(1, int(ops.plain(self.domain.value)) // held)
        return -(-nodes // nodes_joined)

    @property
    def ring_bandwidth_by_group_size(self) -> dict[int, float]:
        """Ranks -> measured bus bandwidth [B/s]; empty without measurements."""
        return self.ring_bandwidth.by_group_size if self.ring_bandwidth else {}

    def check_together(self) -> None:
        """Raise ValueError for a share above 1, a switch's field without a switch, or a missing source."""
        super().check_together()
        if self.kind == "nvlink" and self.generation is None:
            raise ValueError("generation: the key is missing; NVLink needs it, e.g. 4 of the H100's")
        if self.achieved_fraction is not None and self.achieved_fraction.value > 1:
            raise ValueError(f"achieved_fraction.value is {self.achieved_fraction.value}; expected at most 1")
        if self.switch_adds and not self.switched:
            raise ValueError("switch_adds = true: expected with switched = true")
        if self.domain is not None and not (self.switched and self.domain.value.is_integer()):
            raise ValueError(
                f"domain.value is {self.domain.value:g}; expected a whole number, of a switched link"
            )
