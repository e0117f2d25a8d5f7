"""Residual networks v2: norm and activation before each convolution (He et al. 2016, identity mappings)."""

from __future__ import annotations

from perfmodel.workloads.builder import Network, Tensor, image
from perfmodel.workloads.networks import imagenet
from perfmodel.workloads.workload import Workload

_BLOCKS = {
    "resnet18-v2": (2, 2, 2, 2),
    "resnet34-v2": (3, 4, 6, 3),
    "resnet50-v2": (3, 4, 6, 3),
    "resnet101-v2": (3, 4, 23, 3),
    "resnet152-v2": (3, 8, 36, 3),
    "resnet200-v2": (3, 24, 36, 3),
}
_BASIC = ("resnet18-v2", "resnet34-v2")
"""Two filters of 3 x 3 in a block; the others narrow, filter and widen."""

NAMES = tuple(_BLOCKS)


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``."""
    net, x = Network(), image()
    x = net.conv(x, "conv1", 64, 7, stride=2)
    x = net.max_pool(_activated(net, x, "conv1"), "maxpool", 3, stride=2, padding=1)
    for stage, count in enumerate(_BLOCKS[name]):
        for block in range(count):
            stride = 2 if stage and not block else 1
            x = _block(net, x, f"layer{stage + 1}.{block}", 64 << stage, stride, name not in _BASIC)
    x = net.global_pool(_activated(net, x, "last"), "avgpool")
    net.loss(net.linear(x.flat(), "fc", 1000))
    title = f"ResNet-{name.removeprefix('resnet').removesuffix('-v2')}"
    return imagenet.workload(
        name, title, net.layers, variant="v2: norm and activation before convolution", source="he2016identity"
    )


def _activated(net: Network, x: Tensor, name: str) -> Tensor:
    return net.relu(net.batch_norm(x, f"{name}.bn"), f"{name}.relu")


def _block(net: Network, x: Tensor, name: str, planes: int, stride: int, bottleneck: bool) -> Tensor:
    channels = planes * 4 if bottleneck else planes
    y = _activated(net, x, f"{name}.0")
    if stride != 1 or x.channels != channels:
        x = net.conv(y, f"{name}.downsample", channels, 1, stride=stride)
    if bottleneck:
        y = net.conv(y, f"{name}.conv1", planes, 1)
        y = net.conv(_activated(net, y, f"{name}.1"), f"{name}.conv2", planes, 3, stride=stride)
        y = net.conv(_activated(net, y, f"{name}.2"), f"{name}.conv3", channels, 1)
    else:
        y = net.conv(y, f"{name}.conv1", channels, 3, stride=stride)
        y = net.conv(_activated(net, y, f"{name}.1"), f"{name}.conv2", channels, 3)
    return net.add(y, x, f"{name}.add")
