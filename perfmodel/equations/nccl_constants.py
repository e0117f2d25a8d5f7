"""The constants NCCL itself chooses algorithms by, for each version that changed them.

Latencies are in microseconds and bandwidths in GB/s, as NCCL states them, so that they can be compared with
``src/graph/tuning.cc``.  Protocols are in the order LL, LL128, Simple; generations Volta, Ampere, Hopper,
Blackwell; columns of a bandwidth table are one node, two nodes, more.
"""

from __future__ import annotations

from typing import NamedTuple

PROTOCOLS = ("LL", "LL128", "Simple")
GENERATIONS = ("volta", "ampere", "hopper", "blackwell")

Triple = tuple[float, float, float]
Table = tuple[Triple, ...]


class Constants(NamedTuple):
    """One version's constants."""

    version: str
    base_latency: dict[str, Triple]
    """By algorithm [us]."""
    hop_latency: dict[str, dict[str, Triple]]
    """By link (nvlink, pci, net) and algorithm [us]."""
    low_latency_bandwidth: Table
    """Most of LL on the bus [GB/s]: for one node by generation, for several by processor (Intel, AMD)."""
    ring_ll_share: float
    """Of the bus bandwidth, left to a ring's all-reduce by LL's flags."""
    ring_ll128_channel: Table
    """Most of one channel, by generation [GB/s]."""
    tree_channel: Table
    tree_ll128_channel: Table
    nvls_tree_channel: Table
    nvls_efficiency: tuple[float, ...]
    """By generation."""
    tree_correction: tuple[tuple[float, ...], ...]
    """Of the tree's bandwidth by protocol and floor(log2(bytes / 64)); 1 beyond the table."""
    plateau_bytes: float
    """From this many bytes on for each rank a multi-node ring all-reduce by Simple has a longer latency."""
    plateau_per_channel: bool
    """Whether those bytes are for each rank and channel."""
    plateau_factor: tuple[float, ...]
    """By generation."""


_LOW_LATENCY = ((39.0, 39.0, 20.4), (87.7, 22.5, 19.0), (141.0, 45.0, 35.0), (282.0, 90.0, 70.0))
_RING_LL128 = ((20.0, 20.0, 20.0), (20.0, 20.0, 20.0), (36.7, 36.7, 36.7), (40.0, 40.0, 40.0))
_TREE = ((26.5, 18.5, 10.0), (24.0, 23.6, 17.8), (38.7, 41.4, 36.0), (70.0, 42.8, 24.0))
_TREE_LL128 = ((20.0, 20.0, 20.0), (20.0, 20.0, 20.0), (36.7, 36.7, 29.0), (55.6, 31.67, 20.0))
_NVLS_TREE = ((26.5, 18.5, 10.0), (24.0, 23.6, 17.8), (0.0, 57.7, 45.5), (0.0, 96.0, 80.0))

# fmt: off
NCCL_2_30 = Constants(
    version="2.30",
    base_latency={
        "tree": (6.8, 14.0, 8.4), "ring": (6.6, 14.0, 8.4),
        "nvls": (0.0, 0.0, 0.0), "nvls-tree": (0.0, 0.0, 0.0),
    },
    hop_latency={
        "nvlink": {
            "tree": (0.6, 1.25, 4.0), "ring": (0.6, 1.9, 3.4),
            "nvls": (25.0, 25.0, 25.0), "nvls-tree": (25.0, 25.0, 25.0),
        },
        "pci": {
            "tree": (1.0, 1.9, 4.0), "ring": (1.0, 2.5, 5.7),
            "nvls": (0.0, 0.0, 0.0), "nvls-tree": (0.0, 0.0, 0.0),
        },
        "net": {
            "tree": (5.0, 8.5, 14.0), "ring": (2.7, 4.0, 14.0),
            "nvls": (18.0, 18.0, 18.0), "nvls-tree": (20.9, 20.9, 20.9),
        },
    },
    low_latency_bandwidth=_LOW_LATENCY,
    ring_ll_share=0.5,
    ring_ll128_channel=_RING_LL128,
    tree_channel=_TREE,
    tree_ll128_channel=_TREE_LL128,
    nvls_tree_channel=_NVLS_TREE,
    nvls_efficiency=(0.0, 0.0, 0.85, 0.74),
    tree_correction=(
        (1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1),
        (1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1),
        (.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9),
    ),
    plateau_bytes=64.0,
    plateau_per_channel=True,
    plateau_factor=(1.9, 1.4, 1.4, 1.4),
)

NCCL_2_12 = Constants(
    version="2.12",
    base_latency={"tree": (4.4, 4.4, 0.0), "ring": (3.6, 10.0, 8.4)},
    hop_latency={
        "nvlink": {"tree": (0.52, 1.25, 28.0), "ring": (0.47, 1.9, 3.4)},
        "pci": {"tree": (1.0, 1.9, 28.0), "ring": (1.0, 2.5, 5.7)},
        "net": {"tree": (5.0, 8.5, 50.0), "ring": (2.7, 4.0, 9.6)},
    },
    low_latency_bandwidth=_LOW_LATENCY[:2],
    ring_ll_share=0.25,
    ring_ll128_channel=_RING_LL128[:2],
    tree_channel=_TREE[:2],
    tree_ll128_channel=_TREE_LL128[:2],
    nvls_tree_channel=_NVLS_TREE[:2],
    nvls_efficiency=(0.0, 0.0),
    tree_correction=(
        (1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1),
        (1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .5, .6, .6, .7, .7, .8, .9, .9, 1),
        (.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .5, .5, .6, .6, .7, .8, .9),
    ),
    plateau_bytes=4096.0,
    plateau_per_channel=False,
    plateau_factor=(1.9, 1.9),
)
# fmt: on
