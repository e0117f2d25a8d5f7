"""What NCCL finds out about a machine before it chooses an algorithm."""

from __future__ import annotations

from typing import Any, NamedTuple

LEAST_CAPABILITY_FOR_LL128 = 7.0
"""CUDA's number of Volta."""


class Graph(NamedTuple):
    """What NCCL's topology search found; numbers may be arrays that broadcast with the sizes."""

    channels: Any
    intra_bandwidth: Any
    """Of one channel inside a node [B/s]."""
    inter_bandwidth: Any
    """Of one channel between nodes [B/s]."""
    generation: str = "volta"
    """One of ``GENERATIONS``."""
    intra_link: str = "nvlink"
    """``nvlink`` or ``pci``."""
    compute_capability: float = 7.0
    """CUDA's number of the instruction set."""
    processor: str = "intel"
    """``intel`` or ``amd``."""
    network_latency: float = 0.0
    """What the network plug-in reports [s]."""


def has_ll128(graph: Graph) -> bool:
    """Whether NCCL offers LL128: from Volta on, between GPUs that reach each other over NVLink.

    NCCL asks for a way inside nodes no farther than one GPU in between (``PATH_NVB``) and one between them
    no farther than a PCIe switch, which is taken as given.
    """
    return graph.intra_link == "nvlink" and graph.compute_capability >= LEAST_CAPABILITY_FOR_LL128
