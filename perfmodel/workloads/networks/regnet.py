"""RegNetY: residual bottlenecks with groups and gates, quantised widths (Radosavovic et al. 2020)."""

from __future__ import annotations

from perfmodel.workloads.builder import Network, Tensor, image
from perfmodel.workloads.networks import imagenet
from perfmodel.workloads.workload import Workload

_STAGES = {"regnety-3.2gf": (24, ((72, 2), (216, 5), (576, 13), (1512, 1)))}
"""Width of a group; width and depth of each stage."""

NAMES = tuple(_STAGES)


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``."""
    group_width, stages = _STAGES[name]
    net = Network()
    x = net.conv_norm(image(), "stem", 32, 3, stride=2)
    for stage, (width, depth) in enumerate(stages):
        for block in range(depth):
            x = _block(net, x, f"block{stage + 1}-{block}", width, 1 if block else 2, group_width)
    x = net.global_pool(x, "avgpool")
    net.loss(net.linear(x, "fc", 1000))
    return imagenet.workload(name, "RegNetY-3.2GF", net.layers, source="radosavovic2020")


def _block(net: Network, x: Tensor, name: str, width: int, stride: int, group_width: int) -> Tensor:
    if stride != 1 or x.channels != width:
        shortcut = net.conv_norm(x, f"{name}.proj", width, 1, stride, activation="")
    else:
        shortcut = x
    y = net.conv_norm(x, f"{name}.a", width)
    y = net.conv_norm(y, f"{name}.b", width, 3, stride, groups=width // group_width)
    y = net.squeeze_excite(y, f"{name}.se", round(x.channels / 4))
    y = net.conv_norm(y, f"{name}.c", width, activation="")
    return net.relu(net.add(shortcut, y, f"{name}.add"), f"{name}.relu")
