"""OverFeat (Sermanet et al. 2014), its fast and its accurate network, each for one window."""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.workloads.builder import Network, image
from perfmodel.workloads.networks import imagenet
from perfmodel.workloads.workload import Workload


class _Filter(NamedTuple):
    channels: int
    kernel: int
    stride: int = 1
    padding: int = 0
    pool: int = 0
    """Size and stride of the maxima behind it; 0 for none."""


_FAST = (
    _Filter(96, 11, 4, pool=2),
    _Filter(256, 5, pool=2),
    _Filter(512, 3, padding=1),
    _Filter(1024, 3, padding=1),
    _Filter(1024, 3, padding=1, pool=2),
)
_ACCURATE = (
    _Filter(96, 7, 2, pool=3),
    _Filter(256, 7, pool=2),
    _Filter(512, 3, padding=1),
    _Filter(512, 3, padding=1),
    _Filter(1024, 3, padding=1),
    _Filter(1024, 3, padding=1, pool=3),
)
_NETWORKS = {"overfeat": (231, _FAST, (3072, 4096)), "overfeat-accurate": (221, _ACCURATE, (4096, 4096))}
"""Pixels, filters, and the two hidden layers of the classifier."""

NAMES = tuple(_NETWORKS)


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``."""
    net = Network()
    size, filters, hidden = _NETWORKS[name]
    x = image(size)
    for index, part in enumerate(filters, 1):
        x = net.conv(x, f"conv{index}", part.channels, part.kernel, part.stride, part.padding, bias=True)
        x = net.relu(x, f"relu{index}")
        if part.pool:
            x = net.max_pool(x, f"pool{index}", part.pool, part.pool)
    x = x.flat()
    for index, width in enumerate(hidden, len(filters) + 1):
        x = net.relu(net.linear(net.dropout(x, f"dropout{index}"), f"fc{index}", width), f"relu{index}")
    net.loss(net.linear(x, "classes", 1000))
    return imagenet.workload(
        name,
        "OverFeat",
        net.layers,
        variant="accurate" if name.endswith("accurate") else "fast",
        source="sermanet2014",
        size=size,
        local_batch_size=128,
    )
