"""Spec of a node: its accelerators, their links, network adapters, processors and storage."""

from perfmodel.hardware.peer_graph import PeerGraph, ranks_of
from perfmodel.hardware.provenance import Id, PositiveInt, Quantity, SourcedSpec


class Node(SourcedSpec):
    """One machine, or one offer of a cloud provider."""

    accelerator: Id | None = None
    """Id of its accelerators; None: any accelerator, with that accelerator's own links."""
    accelerators: PositiveInt
    """Number of devices, two for each K80 board."""
    intra_link: Id | None = None
    """Id of the link between its accelerators; None: their own ``peer_link``, or a single accelerator."""
    inter_link: Id | None = None
    """Id of the link of one network adapter; None: the machine has no usual network."""
    nics: PositiveInt | None = None
    """Network adapters that carry gradients."""
    network_bandwidth: Quantity | None = None
    """Limit of the whole machine, one direction [B/s]; it caps ``nics`` times the link."""
    rented: bool = False
    """Whether a provider rents it out and limits its traffic over any link."""
    socket_link: Id | None = None
    """Id of the link between the two processors, each with half of the accelerators."""
    cross_socket_bandwidth: Quantity | None = None
    """Bandwidth between these processors, one direction [B/s], where it is known for this machine."""
    switch_accelerators: PositiveInt | None = None
    """Accelerators below one PCIe switch, which share its link to host memory."""
    host_link: Id | None = None
    """Id of the link between host memory and one accelerator; None: the accelerator's own."""
    vcpus: PositiveInt | None = None
    """Hardware threads."""
    host_memory_bytes: Quantity | None = None
    """Host memory [B]."""
    storage_bandwidth: Quantity | None = None
    """Read bandwidth of the machine's own disks or its attached volume [B/s]."""
    peer_graph: PeerGraph = ()
    """Pairs of accelerators and their number of links, where pairs differ."""

    @property
    def cores(self) -> int:
        """Processor cores, half of ``vcpus``: two threads of a core decode no faster than one."""
        return (self.vcpus or 0) // 2

    def check_together(self) -> None:
        """Raise ValueError for a network without ``nics``, links of absent accelerators, or no source."""
        super().check_together()
        if self.inter_link is not None and self.nics is None:
            raise ValueError(f"nics: the key is missing; expected how many {self.inter_link} the machine has")
        if ranks_of(self.peer_graph) > self.accelerators:
            raise ValueError(f"peer_graph: expected pairs of two of 0..{self.accelerators - 1}")


def with_host_memory(node: Node, size: float | None) -> Node:
    """Return a machine whose host has a stated memory [B], or with None the machine as it is."""
    if size is None:
        return node
    stated = Quantity.model_construct(value=size, basis="assumed", note="as --host-memory states")
    return node.model_copy(update={"host_memory_bytes": stated})
