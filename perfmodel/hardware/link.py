"""What a link is: bandwidth and latency between two ranks, with what was measured on it."""

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
"""Ranks in the ring; TOML writes every key as text."""


class RingBandwidth(Provenance):
    """Bus bandwidth of a ring all-reduce by the number of ranks, where one number cannot say it."""

    by_group_size: Annotated[dict[GroupSize, PositiveFloat], Within(min_length=1)]
    """Ranks -> bus bandwidth [B/s]."""

    def __str__(self) -> str:
        return "ring_bandwidth"


class Link(SourcedSpec):
    """What joins one rank to the next: inside a node (``intra``), between its processors (``socket``), or
    between nodes (``inter``)."""

    kind: Transport
    """How bytes travel over it."""
    scope: Literal["intra", "inter", "socket"]
    """Whether it joins accelerators of a node, or nodes."""
    generation: PositiveInt | None = None
    """Of NVLink, PCIe or Infinity Fabric; None for what has no such number."""
    joins: Annotated[int, Within(ge=2)] | None = None
    """The most accelerators that it joins, 2 by a bridge: a ring of more passes the host's link."""
    switched: bool = False
    """Through a switch that joins every accelerator with every other at the full rate (NVSwitch)."""
    switch_adds: bool = False
    """That switch adds what passes it (NVLink SHARP)."""
    domain: Quantity | None = None
    """Accelerators that its switches join, where they reach past a node [1]; None: those of one node."""
    peer_graph: PeerGraph = ()
    """Which accelerators of a node it joins, where a pair has but some of an accelerator's links."""
    bandwidth: Quantity
    """One rank, one direction, nominal [B/s]; of an inter-node link: one network adapter."""
    hop_latency: Quantity
    """Start-up time of a small message over one hop [s]."""
    bulk_hop_latency: Quantity | None = None
    """The same under the protocol NCCL uses for large messages (Simple) [s]."""
    achieved_fraction: Quantity | None = None
    """What large messages reach, as a part of the nominal bandwidth."""
    direct_from: Annotated[float, Within(ge=0)] = 0.0
    """Least CUDA compute capability of accelerators whose memory its adapters read and write themselves; what
    others send passes host memory."""
    low_latency: bool = True
    """Whether it carries NCCL's protocols of small messages, LL and LL128."""
    low_latency_from: Annotated[float, Within(ge=0)] = 0.0
    """Least compute capability of the accelerators of which it carries them."""
    one_sided: bool = False
    """Whether an adapter writes to a peer's memory without the peer's host (TCPXO)."""
    flow_bandwidth: Quantity | None = None
    """What the provider lets one connection carry [B/s]; a ring sends over one."""
    ring_bandwidth: RingBandwidth | None = None
    """What rings of 2, 3, ... ranks reach inside a node."""
    shared: bool = False
    """All ranks of a node share this bandwidth, as below one PCIe switch."""

    @property
    def passes_kernel(self) -> bool:
        """Whether every byte passes the operating system's kernel, by TCP."""
        return self.kind == "ethernet-tcp"

    def domains(self, nodes: int, held: int) -> int:
        """Return the groups that it joins: nodes, or domains of several where its switches reach past a node.

        Parameters
        ----------
        nodes : that ranks lie on
        held : accelerators of a node, taken or not
        """
        if self.domain is None:
            return nodes
        nodes_joined = max(1, int(ops.plain(self.domain.value)) // held)
        return -(-nodes // nodes_joined)

    @property
    def ring_bandwidth_by_group_size(self) -> dict[int, float]:
        """Ranks -> measured bus bandwidth [B/s]; empty where nobody measured."""
        return self.ring_bandwidth.by_group_size if self.ring_bandwidth else {}

    def check_together(self) -> None:
        """Refuse more than everything, what only a switch does without one, and what lacks a source."""
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
