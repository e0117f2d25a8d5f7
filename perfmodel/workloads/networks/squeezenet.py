"""SqueezeNet: squeeze to few channels, then expand by 1x1 and 3x3 side by side (Iandola et al. 2016)."""

from __future__ import annotations

from perfmodel.workloads.builder import Network, Tensor, image
from perfmodel.workloads.networks import imagenet
from perfmodel.workloads.workload import Workload

_FIRES = (16, 16, 32, 32, 48, 48, 64, 64)
"""Squeezed channels of fire modules 2 to 9; each of the two expansions is four times as wide."""

_POOLED_BEFORE = {"squeezenet": (2, 5, 9), "squeezenet1-1": (2, 4, 6)}
"""Fire modules that read a pooled map."""

NAMES = tuple(_POOLED_BEFORE)


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``; ``squeezenet`` is version 1.0."""
    first = name == "squeezenet"
    net = Network()
    if first:
        x = net.conv(image(), "conv1", 96, 7, stride=2, padding=0, bias=True)
    else:
        x = net.conv(image(), "conv1", 64, 3, stride=2, padding=0, bias=True)
    x = net.relu(x, "conv1.relu")
    for index, squeezed in enumerate(_FIRES, start=2):
        if index in _POOLED_BEFORE[name]:
            x = net.max_pool(x, f"pool{index}", 3, 2, ceil_mode=True)
        x = _fire(net, x, f"fire{index}", squeezed)
    x = net.dropout(x, "dropout")
    x = net.relu(net.conv(x, "conv10", 1000, 1, bias=True), "conv10.relu")
    net.loss(net.global_pool(x, "avgpool"))
    return imagenet.workload(
        name,
        "SqueezeNet",
        net.layers,
        variant="version 1.0" if first else "version 1.1",
        source="iandola2016",
    )


def _fire(net: Network, x: Tensor, name: str, squeezed: int) -> Tensor:
    x = net.relu(net.conv(x, f"{name}.squeeze", squeezed, 1, bias=True), f"{name}.squeeze.relu")
    expansions = [
        net.relu(
            net.conv(x, f"{name}.expand{kernel}x{kernel}", 4 * squeezed, kernel, bias=True),
            f"{name}.relu{kernel}",
        )
        for kernel in (1, 3)
    ]
    return net.concat(expansions, f"{name}.cat")
