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
    "launch": Prior(5.0e-6, 0.4, "time before the first hop [s]"),
    "hop": Prior(1.5e-6, 0.3, "hop of an all-reduce inside a node, by a low-latency protocol [s]"),
    "hop_gather": Prior(1.2e-6, 0.3, "hop of other collectives except all-to-all, inside a node [s]"),
    "hopper": Prior(0.6, 0.3, "launch and hops on Hopper, over those of earlier generations [1]"),
    "blackwell": Prior(0.8, 0.25, "launch and hops on Blackwell, over those before Hopper [1]"),
    "hop_beside_net": Prior(1.5, 0.3, "hop inside a node of several nodes, over that of a single node [1]"),
    "proxy": Prior(1.6e-6, 0.3, "time that the host adds to a hop between nodes [s]"),
    "crowd": Prior(0.11e-6, 0.5, "additional time of an all-reduce for each node [s]"),
    "net_gather": Prior(0.37, 0.3, "hop of a ring between nodes, over a round trip [1]"),
    "net_exchange": Prior(
        1.7e-3, 0.4, "time per peer of an all-to-all, over the root of a round trip [s^0.5]"
    ),
    "hop_exchange": Prior(0.7e-6, 0.5, "time per peer of an all-to-all inside a node [s]"),
    "simple_inside": Prior(3.0, 0.3, "hop inside a node by Simple, over one by a low-latency protocol [1]"),
    "simple_between": Prior(1.4, 0.2, "hop between nodes by Simple, over one by a low-latency protocol [1]"),
    # rates inside a node
    "switched": Prior(
        1.0, 0.04, "bandwidth of rings through a switch, over NCCL's assumption for NVLink [1]"
    ),
    "pair": Prior(0.4, 0.4, "share of that bandwidth lost among n ranks, times n [1]"),
    "xgmi": Prior(0.82, 0.1, "bandwidth of rings over Infinity Fabric, over the nominal one [1]"),
    "nvls": Prior(1.30, 0.04, "bandwidth of reduction in the switch, over NCCL's assumption for NVLink [1]"),
    "gather": Prior(0.93, 0.1, "bandwidth of all-gather and reduce-scatter, over all-reduce [1]"),
    "exchange": Prior(0.93, 0.1, "bandwidth of all-to-all, over all-reduce [1]"),
    "chain": Prior(0.93, 0.2, "bandwidth of broadcast and send-receive, over all-reduce [1]"),
    "host": Prior(17.9e9, 0.3, "bandwidth of host memory for accelerators without peer access [B/s]"),
    # rates between nodes
    "staged": Prior(3.5e9, 0.3, "bandwidth of a node without direct access of its adapters [B/s]"),
    "infiniband": Prior(0.95, 0.03, "share of an InfiniBand port"),
    "slingshot": Prior(0.85, 0.15, "share of a Slingshot port, and of unmeasured transports"),
    "efa": Prior(0.88, 0.07, "share of an EFA port"),
    "one_sided": Prior(0.88, 0.1, "share of a port by one-sided GPUDirect TCP (TCPXO)"),
    "gpudirect_tcp": Prior(0.60, 0.3, "share of a port by GPUDirect TCP (TCPX)"),
    "tcp_ceiling": Prior(2.62e9, 0.4, "rate of one adapter through the kernel's TCP [B/s]"),
    "tcp_adapters": Prior(0.5, 0.3, "exponent of the kernel's TCP with the adapters of a node [1]"),
    "lone": Prior(0.85, 0.15, "share of its port that the only rank of a node reaches, over others [1]"),
    "channel": Prior(14e9, 0.3, "rate of one channel of a send-receive between nodes [B/s]"),
    "net_exchange_share": Prior(0.90, 0.1, "bandwidth of all-to-all over the ports, over that of rings [1]"),
    "decay": Prior(1.03, 0.02, "bandwidth between nodes, over that with twice as many nodes [1]"),
    "tree": Prior(0.5, 0.4, "share of trees in all-reduces of Volta and Ampere over very slow ports"),
    # the ramp between small messages and large ones
    "ramp": Prior(1.15, 0.15, "strength of the ramp between nodes, by InfiniBand and RoCE [1]"),
    "ramp_plugin": Prior(1.3, 0.12, "strength of the ramp by other transports, over those [1]"),
    "ramp_nodes": Prior(1.08, 0.05, "growth of the ramp for each doubling of nodes beyond two [1]"),
    "bend": Prior(8.4, 0.4, "end of the ramp between nodes, over the start [1]"),
    "ramp_inside": Prior(0.7, 0.3, "strength of the ramp in one node, by a library of 2024 [1]"),
    "bend_inside": Prior(16.0, 0.5, "end of the ramp in one node, over the start [1]"),
    "ramp_year": Prior(1.05, 0.04, "strength of the ramp in one node, over that one year later [1]"),
    "ramp_gather": Prior(1.0, 0.3, "ramp of all-gather and reduce-scatter, over all-reduce [1]"),
    "ramp_exchange": Prior(0.3, 0.5, "ramp of all-to-all, over all-reduce [1]"),
    "ramp_chain": Prior(0.8, 0.2, "ramp of broadcast and send-receive, over all-reduce [1]"),
}
"""By name.  The means come from NCCL's own tables, from data sheets, and from a prototype shaped with the
measured collectives in view; the spreads let the fit move them.  A channel's is what NCCL 2.29 assumes
(``NCCL_P2P_PER_CHANNEL_NET_BW``)."""


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
