"""GoogLeNet, the first Inception network (Szegedy et al. 2015), as published and with batch normalisation."""

from __future__ import annotations

from perfmodel.workloads.builder import Network, Tensor, image
from perfmodel.workloads.networks import imagenet
from perfmodel.workloads.workload import Workload

NAMES = ("googlenet", "googlenet-bn")

_MODULES = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}
"""Channels of the branches: 1x1; 3x3 reduced and full; 5x5 reduced and full; 1x1 after pooling."""


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``."""
    net = Network()
    normalised = name == "googlenet-bn"
    _network(net, image(), normalised)
    variant = (
        "batch normalisation, 3x3 in place of 5x5 (as torchvision); no auxiliary heads"
        if normalised
        else "as published: biases, response normalisation; no auxiliary heads"
    )
    return imagenet.workload(name, "GoogLeNet", net.layers, variant=variant, source="szegedy2015")


def _network(net: Network, x: Tensor, normalised: bool) -> None:
    def conv(x: Tensor, name: str, channels: int, kernel: int = 1, stride: int = 1) -> Tensor:
        if normalised:
            return net.conv_norm(x, name, channels, kernel, stride)
        return net.relu(net.conv(x, name, channels, kernel, stride, bias=True), f"{name}.relu")

    def inception(x: Tensor, name: str) -> Tensor:
        direct, narrow3, wide3, narrow5, wide5, pooled = _MODULES[name]
        name = f"inception{name}"
        branches = [
            conv(x, f"{name}.1x1", direct),
            conv(conv(x, f"{name}.3x3_reduce", narrow3), f"{name}.3x3", wide3, 3),
            conv(conv(x, f"{name}.5x5_reduce", narrow5), f"{name}.5x5", wide5, 3 if normalised else 5),
            conv(net.max_pool(x, f"{name}.pool", 3, 1, 1, ceil_mode=True), f"{name}.pool_proj", pooled),
        ]
        return net.concat(branches, f"{name}.output")

    x = conv(x, "conv1", 64, 7, stride=2)
    x = net.max_pool(x, "pool1", 3, 2, ceil_mode=True)
    if not normalised:
        x = net.local_response_norm(x, "norm1")
    x = conv(conv(x, "conv2_reduce", 64), "conv2", 192, 3)
    if not normalised:
        x = net.local_response_norm(x, "norm2")
    x = net.max_pool(x, "pool2", 3, 2, ceil_mode=True)
    for name in _MODULES:
        if name == "4a":
            x = net.max_pool(x, "pool3", 3, 2, ceil_mode=True)
        if name == "5a":
            x = net.max_pool(x, "pool4", 2 if normalised else 3, 2, ceil_mode=True)
        x = inception(x, name)
    x = net.dropout(net.global_pool(x, "pool5"), "dropout")
    net.loss(net.linear(x, "fc", 1000))
