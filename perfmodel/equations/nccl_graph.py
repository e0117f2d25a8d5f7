"""Result of NCCL's topology search on a machine, from which it chooses an algorithm.

Validity
--------
Machines with equal links; on machines whose links differ, NCCL may use other numbers of channels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core.formula import formula

LEAST_CAPABILITY_FOR_LL128 = 7.0
"""CUDA's compute capability of Volta, the first generation with LL128."""


class Graph(NamedTuple):
    """Result of NCCL's topology search; numbers may be arrays that broadcast with message sizes."""

    channels: Any
    """Number of channels."""
    intra_bandwidth: Any
    """Bandwidth of one channel inside a node [B/s]."""
    inter_bandwidth: Any
    """Bandwidth of one channel between nodes [B/s]."""
    generation: str = "volta"
    """One of ``GENERATIONS``."""
    intra_link: str = "nvlink"
    """``nvlink`` or ``pci``."""
    compute_capability: float = 7.0
    """CUDA's version number of the GPU's features."""


@formula(cites="nccl-tuning", symbolic=False)
def channels(link_bandwidth: Any, nominal_channel_bandwidth: Any) -> Any:
    r"""Number of channels that NCCL runs in parallel.

    .. math:: c = \max\left(1, \left\lfloor B / b_0 + \frac{1}{2} \right\rfloor\right)

    Parameters
    ----------
    link_bandwidth : B [B/s], of the slower level
    nominal_channel_bandwidth : b_0 [B/s]

    Returns
    -------
    channels [1]

    Examples
    --------
    150 GB/s in channels of 20.

    >>> float(channels(150e9, 20e9))
    8.0
    """
    import numpy as np

    return np.maximum(1.0, np.rint(link_bandwidth / nominal_channel_bandwidth))


def has_ll128(graph: Graph) -> bool:
    """Whether NCCL offers LL128: from Volta on, between GPUs that reach each other over NVLink.

    NCCL requires paths inside nodes with at most one GPU in between (``PATH_NVB``), and paths between nodes
    with at most a PCIe switch, which is assumed.
    """
    return graph.intra_link == "nvlink" and graph.compute_capability >= LEAST_CAPABILITY_FOR_LL128
