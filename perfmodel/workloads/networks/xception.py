"""Xception: Inception taken to its end, depthwise then pointwise convolutions (Chollet 2017)."""

from __future__ import annotations

from perfmodel.workloads.builder import Network, Tensor, image
from perfmodel.workloads.networks import imagenet
from perfmodel.workloads.workload import Workload

NAMES = ("xception",)


def build(name: str) -> Workload:
    """Return the workload."""
    net = Network()
    x = net.conv_norm(image(299), "conv1", 32, 3, stride=2, padding=0)
    x = net.conv_norm(x, "conv2", 64, 3, padding=0)
    x = _block(net, x, "block1", (128, 128), 2, relu_first=False)
    x = _block(net, x, "block2", (256, 256), 2)
    x = _block(net, x, "block3", (728, 728), 2)
    for index in range(4, 12):
        x = _block(net, x, f"block{index}", (728, 728, 728), 1)
    x = _block(net, x, "block12", (728, 1024), 2)
    x = net.relu(_separable(net, x, "conv3", 1536), "act3")
    x = net.relu(_separable(net, x, "conv4", 2048), "act4")
    x = net.global_pool(x, "avgpool")
    net.loss(net.linear(x, "fc", 1000))
    return imagenet.workload(name, "Xception", net.layers, source="chollet2017", size=299)


def _separable(net: Network, x: Tensor, name: str, channels: int) -> Tensor:
    x = net.conv(x, f"{name}.depthwise", x.channels, 3, groups=x.channels)
    return net.batch_norm(net.conv(x, f"{name}.pointwise", channels, 1), f"{name}.bn")


def _block(
    net: Network, x: Tensor, name: str, widths: tuple[int, ...], stride: int, relu_first: bool = True
) -> Tensor:
    y = x
    for index, channels in enumerate(widths):
        if index or relu_first:
            y = net.relu(y, f"{name}.relu{index}")
        y = _separable(net, y, f"{name}.sep{index}", channels)
    if stride != 1:
        y = net.max_pool(y, f"{name}.pool", 3, stride, 1)
        x = net.conv_norm(x, f"{name}.skip", widths[-1], 1, stride, activation="")
    return net.add(y, x, f"{name}.add")
