"""DenseNet: every layer reads the features of all layers before it (Huang et al. 2017)."""

from __future__ import annotations

from perfmodel.workloads.builder import Network, Tensor, image
from perfmodel.workloads.networks import imagenet
from perfmodel.workloads.workload import Workload

_DESIGNS = {
    "densenet121": (32, 64, (6, 12, 24, 16)),
    "densenet161": (48, 96, (6, 12, 36, 24)),
    "densenet169": (32, 64, (6, 12, 32, 32)),
    "densenet201": (32, 64, (6, 12, 48, 32)),
}
"""Growth rate, channels of the stem, layers of each block."""

NAMES = tuple(_DESIGNS)


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``."""
    growth, channels, blocks = _DESIGNS[name]
    net = Network()
    x = net.conv_norm(image(), "stem", channels, 7, stride=2)
    x = net.max_pool(x, "pool0", 3, 2, 1)
    for index, layers in enumerate(blocks):
        if index:
            x = _transition(net, x, f"transition{index}")
        x = _dense_block(net, x, f"denseblock{index + 1}", layers, growth)
    x = net.relu(net.batch_norm(x, "norm5"), "relu5")
    x = net.global_pool(x, "avgpool")
    net.loss(net.linear(x, "classifier", 1000))
    return imagenet.workload(
        name,
        f"DenseNet-{name.removeprefix('densenet')}",
        net.layers,
        variant="bottleneck and compression (BC); features joined anew by every layer",
        source="huang2017",
    )


def _dense_block(net: Network, x: Tensor, name: str, layers: int, growth: int) -> Tensor:
    features = [x]
    for index in range(layers):
        prefix = f"{name}.{index}"
        y = net.concat(features, f"{prefix}.cat") if index else x
        y = net.relu(net.batch_norm(y, f"{prefix}.norm1"), f"{prefix}.relu1")
        y = net.conv(y, f"{prefix}.conv1", 4 * growth, 1)
        y = net.relu(net.batch_norm(y, f"{prefix}.norm2"), f"{prefix}.relu2")
        features.append(net.conv(y, f"{prefix}.conv2", growth, 3))
    return net.concat(features, f"{name}.cat")


def _transition(net: Network, x: Tensor, name: str) -> Tensor:
    x = net.relu(net.batch_norm(x, f"{name}.norm"), f"{name}.relu")
    x = net.conv(x, f"{name}.conv", x.channels // 2, 1)
    return net.average_pool(x, f"{name}.pool", 2)
