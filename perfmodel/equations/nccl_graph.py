"""What NCCL finds out about a machine before it chooses an algorithm.

Validity
--------
As NCCL's search ends on one link rate; machines whose links differ may get other numbers of
channels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core.formula import formula

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


@formula(cites="nccl-tuning", symbolic=False)
def channels(link_bandwidth: Any, nominal_channel_bandwidth: Any) -> Any:
    r"""How many channels NCCL runs side by side.

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

    NCCL asks for a way inside nodes no farther than one GPU in between (``PATH_NVB``) and one between them
    no farther than a PCIe switch, which is taken as given.
    """
    return graph.intra_link == "nvlink" and graph.compute_capability >= LEAST_CAPABILITY_FOR_LL128
