"""Spec of a node: its accelerators, their links, network adapters, processors and storage."""

from perfmodel.hardware.peer_graph import PeerGraph, ranks_of
from perfmodel.hardware.provenance import Id, PositiveInt, Quantity, SourcedSpec


class Node(SourcedSpec):
    """One machine, or one offer of a cloud provider."""

    accelerator: Id | None = None
    """None: a machine for any accelerator, with that accelerator's own links."""
    accelerators: PositiveInt
    """Devices, two for each K80 board."""
    intra_link: Id | None = None
    """The link between its accelerators; None: the accelerator's own ``peer_link``, or there is but one."""
    inter_link: Id | None = None
    """The link of one network adapter, where the machine has a usual one."""
    nics: PositiveInt | None = None
    """Network adapters that carry gradients."""
    network_bandwidth: Quantity | None = None
    """What the whole machine sends, one direction [B/s]; it caps ``nics`` times the link."""
    rented: bool = False
    """Whether a provider rents it out, and limits what it sends over any link."""
    socket_link: Id | None = None
    """The link between the processors that hold the two halves of the accelerators."""
    cross_socket_bandwidth: Quantity | None = None
    """Between these processors, one direction [B/s], where the machine's own rate is known."""
    switch_accelerators: PositiveInt | None = None
    """Accelerators below one PCIe switch, which share its way to the processor's memory."""
    host_link: Id | None = None
    """Between host memory and one accelerator; None: the accelerator's own."""
    vcpus: PositiveInt | None = None
    """Hardware threads."""
    host_memory_bytes: Quantity | None = None
    """[B]"""
    storage_bandwidth: Quantity | None = None
    """Reading the data set from the machine's own disks or its attached volume [B/s]."""
    peer_graph: PeerGraph = ()
    """Which accelerators its links join, where pairs differ."""

    @property
    def cores(self) -> int:
        """Processor cores: two of the threads a node counts share one, and decode no faster than it."""
        return (self.vcpus or 0) // 2

    def check_together(self) -> None:
        """Refuse a network without ``nics``, links of absent accelerators, and numbers without sources."""
        super().check_together()
        if self.inter_link is not None and self.nics is None:
            raise ValueError(f"nics: the key is missing; expected how many {self.inter_link} the machine has")
        if ranks_of(self.peer_graph) > self.accelerators:
            raise ValueError(f"peer_graph: expected pairs of two of 0..{self.accelerators - 1}")
