"""The constants by which NCCL 2.30 chooses algorithms.

Latencies are in microseconds and bandwidths in GB/s, as NCCL states them, so that they can be compared with
``src/graph/tuning.cc``.  Protocols are in the order LL, LL128, Simple; generations Volta, Ampere, Hopper,
Blackwell; columns of a bandwidth table are one node, two nodes, more.  Hosts are assumed to have Intel's
processors.
"""

from __future__ import annotations

PROTOCOLS = ("LL", "LL128", "Simple")
GENERATIONS = ("volta", "ampere", "hopper", "blackwell")

# fmt: off
BASE_LATENCY = {
    "tree": (6.8, 14.0, 8.4), "ring": (6.6, 14.0, 8.4),
    "nvls": (0.0, 0.0, 0.0), "nvls-tree": (0.0, 0.0, 0.0),
}
"""Algorithm -> latency of the launch by protocol [us]."""
HOP_LATENCY = {
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
}
"""Link (nvlink, pci, net) -> algorithm -> latency of a hop by protocol [us]."""
LOW_LATENCY_BANDWIDTH = ((39.0, 39.0, 20.4), (87.7, 39.0, 20.4), (141.0, 39.0, 20.4), (282.0, 39.0, 20.4))
"""Largest bus bandwidth of LL by generation [GB/s]; between nodes it is the host's limit."""
RING_LL_SHARE = 0.5
"""Share of the bus bandwidth that LL's flags leave to a ring."""
RING_LL128_CHANNEL = ((20.0, 20.0, 20.0), (20.0, 20.0, 20.0), (36.7, 36.7, 36.7), (40.0, 40.0, 40.0))
"""Largest bandwidth of one channel by generation [GB/s], as in the next three tables."""
TREE_CHANNEL = ((26.5, 18.5, 10.0), (24.0, 23.6, 17.8), (38.7, 41.4, 36.0), (70.0, 42.8, 24.0))
TREE_LL128_CHANNEL = ((20.0, 20.0, 20.0), (20.0, 20.0, 20.0), (36.7, 36.7, 29.0), (55.6, 31.67, 20.0))
NVLS_TREE_CHANNEL = ((26.5, 18.5, 10.0), (24.0, 23.6, 17.8), (0.0, 57.7, 45.5), (0.0, 96.0, 80.0))
NVLS_EFFICIENCY = (0.0, 0.0, 0.85, 0.74)
"""Share of the bandwidth that NVLS achieves, by generation."""
TREE_CORRECTION = (
    (1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1),
    (1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1),
    (.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9),
)
"""Factor on the tree's bandwidth by protocol and floor(log2(bytes / 64)); 1 beyond the table."""
PLATEAU_BYTES = 64.0
"""Bytes for each rank and channel from which a ring all-reduce by Simple over nodes has a longer latency."""
PLATEAU_FACTOR = (1.9, 1.4, 1.4, 1.4)
"""Factor on that latency, by generation."""
# fmt: on
