"""The learned parameters of collectives: meaning and prior of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class Prior(NamedTuple):
    """Prior of a parameter: a log-normal distribution, and the parameter's meaning."""

    mean: float
    spread: float
    """Standard deviation of its logarithm."""
    meaning: str
    """With its unit."""


PARAMETERS: dict[str, Prior] = {
    # what a collective takes before its first byte counts
    "launch": Prior(5.0e-6, 0.4, "before the first hop [s]"),
    "hop": Prior(1.5e-6, 0.3, "a hop of an all-reduce inside a node, by a low-latency protocol [s]"),
    "hop_gather": Prior(1.2e-6, 0.3, "the same of all other collectives but an all-to-all [s]"),
    "hopper": Prior(0.6, 0.3, "launch and hops of Hopper, over those of generations before"),
    "blackwell": Prior(0.8, 0.25, "the same of Blackwell"),
    "hop_beside_net": Prior(1.5, 0.3, "a hop inside a node, where there are several, over that of one node"),
    "proxy": Prior(1.6e-6, 0.3, "what the host adds to a hop between nodes [s]"),
    "crowd": Prior(0.11e-6, 0.5, "of an all-reduce for each node [s]"),
    "net_gather": Prior(0.37, 0.3, "a hop of a ring between nodes, over a round trip"),
    "net_exchange": Prior(1.7e-3, 0.4, "a peer of an all-to-all, over the root of a round trip [s^0.5]"),
    "hop_exchange": Prior(0.7e-6, 0.5, "a peer of an all-to-all inside a node [s]"),
    "simple_inside": Prior(3.0, 0.3, "a hop inside a node by Simple, over one by a low-latency protocol"),
    "simple_between": Prior(1.4, 0.2, "the same between nodes"),
    # rates inside a node
    "switched": Prior(1.0, 0.04, "of the rate that NCCL assumes of NVLink, by rings through a switch"),
    "pair": Prior(0.4, 0.4, "lost of it among n ranks, times n"),
    "xgmi": Prior(0.82, 0.1, "of the nominal rate, by rings over Infinity Fabric"),
    "nvls": Prior(1.30, 0.04, "of the rate that NCCL assumes of NVLink, where the switch adds"),
    "gather": Prior(0.93, 0.1, "all-gather and reduce-scatter over all-reduce"),
    "exchange": Prior(0.93, 0.1, "all-to-all over all-reduce"),
    "chain": Prior(0.93, 0.2, "broadcast and send-receive over all-reduce"),
    "host": Prior(17.9e9, 0.3, "what host memory passes on for accelerators that see no peer's [B/s]"),
    # rates between nodes
    "staged": Prior(3.5e9, 0.3, "of a node whose accelerators its adapters do not reach [B/s]"),
    "infiniband": Prior(0.95, 0.03, "of an InfiniBand port"),
    "slingshot": Prior(0.85, 0.15, "of a Slingshot port, and of transports nobody measured"),
    "efa": Prior(0.88, 0.07, "of an EFA port"),
    "one_sided": Prior(0.88, 0.1, "of a port by one-sided GPUDirect TCP (TCPXO)"),
    "gpudirect_tcp": Prior(0.60, 0.3, "of a port by GPUDirect TCP (TCPX)"),
    "tcp_ceiling": Prior(2.62e9, 0.4, "of one adapter by the kernel's TCP [B/s]"),
    "net_exchange_share": Prior(0.90, 0.1, "all-to-all over rings, of the ports"),
    "decay": Prior(1.03, 0.02, "bandwidth between nodes over that with twice as many"),
    "tree": Prior(0.5, 0.4, "how far all-reduces of Volta and Ampere go by trees over very slow ports"),
    # the ramp between small messages and large ones
    "ramp": Prior(1.15, 0.15, "its strength between nodes, by InfiniBand and RoCE"),
    "ramp_plugin": Prior(1.3, 0.12, "by any other transport over those"),
    "ramp_nodes": Prior(1.08, 0.05, "its growth for each doubling of nodes beyond two"),
    "bend": Prior(8.4, 0.4, "where it ends between nodes, over the start"),
    "ramp_inside": Prior(0.7, 0.3, "its strength in one node, by a library of 2024"),
    "bend_inside": Prior(16.0, 0.5, "where it ends in one node, over the start"),
    "ramp_year": Prior(1.05, 0.04, "its strength in one node over that a year later"),
    "ramp_gather": Prior(1.0, 0.3, "all-gather and reduce-scatter over all-reduce"),
    "ramp_exchange": Prior(0.3, 0.5, "all-to-all over all-reduce"),
    "ramp_chain": Prior(0.8, 0.2, "broadcast and send-receive over all-reduce"),
}
"""By name.  The means come from NCCL's own tables, from data sheets, and from a prototype shaped with the
measured collectives in view; the spreads let the fit move them."""


def means(instead: Mapping[str, float] | None = None) -> tuple[Array, Array]:
    """Return the logarithms of the prior means, and the standard deviations of their priors.

    Parameters
    ----------
    instead : means by name that replace the priors'
    """
    instead = instead or {}
    table = [(instead.get(name, prior.mean), prior.spread) for name, prior in PARAMETERS.items()]
    mean, spread = np.array(table).T
    return np.log(mean), spread


def named(logarithms: Array) -> dict[str, Any]:
    """Return the parameters by name, from logarithms.

    Logarithms of shape (parameters,) give numbers, those of (variants, parameters) arrays of shape (variants,
    1).
    """
    columns = np.moveaxis(np.exp(logarithms), -1, 0)[..., None] if logarithms.ndim > 1 else np.exp(logarithms)
    return dict(zip(PARAMETERS, columns, strict=True))
