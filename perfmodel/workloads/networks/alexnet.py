"""AlexNet: the two-tower original (Krizhevsky et al. 2012), also as Caffe has it, and the one-tower successor
(Krizhevsky 2014)."""

from __future__ import annotations

from perfmodel.workloads.builder import Network, Tensor, image
from perfmodel.workloads.networks import imagenet
from perfmodel.workloads.workload import Workload

NAMES = ("alexnet", "alexnet-grouped", "alexnet-normalised", "caffenet")


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``."""
    net = Network()
    if name == "alexnet":
        x = _one_tower(net, image())
        variant, source, size = "one tower, no response normalisation", "krizhevsky2014", 224
    else:
        groups = 1 if name == "alexnet-normalised" else 2
        x = _towers(net, image(227), groups, pool_first=name == "caffenet")
        towers = "two towers as groups" if groups == 2 else "the two towers as one"
        behind = " behind the maxima" if name == "caffenet" else ""
        variant, source, size = f"{towers}, response normalisation{behind}", "krizhevsky2012", 227
    x = x.flat()
    for layer in ("fc6", "fc7"):
        x = net.dropout(x, f"{layer}.dropout")
        x = net.relu(net.linear(x, layer, 4096), f"{layer}.relu")
    net.loss(net.linear(x, "fc8", 1000))
    title = "CaffeNet" if name == "caffenet" else "AlexNet"
    return imagenet.workload(
        name, title, net.layers, variant=variant, source=source, size=size, local_batch_size=256
    )


def _one_tower(net: Network, x: Tensor) -> Tensor:
    x = net.relu(net.conv(x, "conv1", 64, 11, stride=4, padding=2, bias=True), "conv1.relu")
    x = net.max_pool(x, "pool1", 3, stride=2)
    x = net.relu(net.conv(x, "conv2", 192, 5, bias=True), "conv2.relu")
    x = net.max_pool(x, "pool2", 3, stride=2)
    for layer, channels in (("conv3", 384), ("conv4", 256), ("conv5", 256)):
        x = net.relu(net.conv(x, layer, channels, 3, bias=True), f"{layer}.relu")
    return net.max_pool(x, "pool5", 3, stride=2)


def _towers(net: Network, x: Tensor, towers: int, pool_first: bool) -> Tensor:
    def shrink(x: Tensor, index: int) -> Tensor:
        if pool_first:
            return net.local_response_norm(net.max_pool(x, f"pool{index}", 3, stride=2), f"norm{index}")
        return net.max_pool(net.local_response_norm(x, f"norm{index}"), f"pool{index}", 3, stride=2)

    x = net.relu(net.conv(x, "conv1", 96, 11, stride=4, padding=0, bias=True), "conv1.relu")
    x = shrink(x, 1)
    x = net.relu(net.conv(x, "conv2", 256, 5, groups=towers, bias=True), "conv2.relu")
    x = shrink(x, 2)
    for layer, channels, groups in (("conv3", 384, 1), ("conv4", 384, towers), ("conv5", 256, towers)):
        x = net.relu(net.conv(x, layer, channels, 3, groups=groups, bias=True), f"{layer}.relu")
    return net.max_pool(x, "pool5", 3, stride=2)
