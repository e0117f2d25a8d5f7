"""VGG: stacks of 3x3 convolutions and three wide linear layers (Simonyan and Zisserman 2015)."""

from __future__ import annotations

from perfmodel.workloads.builder import Network, image
from perfmodel.workloads.networks import imagenet
from perfmodel.workloads.workload import Workload

_STAGES = {
    "vgg11": (1, 1, 2, 2, 2),
    "vgg13": (2, 2, 2, 2, 2),
    "vgg16": (2, 2, 3, 3, 3),
    "vgg19": (2, 2, 4, 4, 4),
}
"""Convolutions before each of the five poolings."""

NAMES = tuple(_STAGES)


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``."""
    net = Network()
    x = image()
    index = 0
    for stage, count in enumerate(_STAGES[name]):
        for _ in range(count):
            x = net.conv(x, f"features.{index}", min(64 << stage, 512), 3, bias=True)
            x = net.relu(x, f"features.{index + 1}")
            index += 2
        x = net.max_pool(x, f"features.{index}", 2)
        index += 1
    x = x.flat()
    for layer in (0, 3):
        x = net.relu(net.linear(x, f"classifier.{layer}", 4096), f"classifier.{layer + 1}")
        x = net.dropout(x, f"classifier.{layer + 2}")
    net.loss(net.linear(x, "classifier.6", 1000))
    return imagenet.workload(
        name,
        f"VGG-{name.removeprefix('vgg')}",
        net.layers,
        variant="without batch normalisation",
        source="simonyan2015",
    )
