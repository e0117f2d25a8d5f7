"""Residual networks: ResNet, ResNeXt, wide and squeeze-and-excitation variants (He et al. 2016 and after)."""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.workloads.builder import Network, Tensor, image
from perfmodel.workloads.networks import imagenet
from perfmodel.workloads.workload import Workload


class _Design(NamedTuple):
    """Parameters of a residual network."""

    title: str
    blocks: tuple[int, int, int, int]
    source: str = "he2016"
    variant: str = "v1: stride in the first 1x1 convolution"
    bottleneck: bool = True
    stride_in_first: bool = True
    groups: int = 1
    width_per_group: int = 64
    """Width of a bottleneck's middle at 64 planes, per group; grows with the planes."""
    squeeze: bool = False
    """Squeeze-and-excitation at the end of each block, reduction 16."""


_V15 = "v1.5: stride in the 3x3 convolution"

_DESIGNS = {
    "resnet18": _Design("ResNet-18", (2, 2, 2, 2), bottleneck=False, variant="basic blocks"),
    "resnet34": _Design("ResNet-34", (3, 4, 6, 3), bottleneck=False, variant="basic blocks"),
    "resnet50": _Design("ResNet-50", (3, 4, 6, 3)),
    "resnet101": _Design("ResNet-101", (3, 4, 23, 3)),
    "resnet152": _Design("ResNet-152", (3, 8, 36, 3)),
    "resnet200": _Design("ResNet-200", (3, 24, 36, 3)),
    "resnet50-v1.5": _Design("ResNet-50", (3, 4, 6, 3), variant=_V15, stride_in_first=False),
    "resnet101-v1.5": _Design("ResNet-101", (3, 4, 23, 3), variant=_V15, stride_in_first=False),
    "resnet152-v1.5": _Design("ResNet-152", (3, 8, 36, 3), variant=_V15, stride_in_first=False),
    "resnet200-v1.5": _Design("ResNet-200", (3, 24, 36, 3), variant=_V15, stride_in_first=False),
    "resnext50-32x4d": _Design(
        "ResNeXt-50 32x4d", (3, 4, 6, 3), "xie2017", "32 groups of width 4", True, False, 32, 4
    ),
    "resnext101-32x4d": _Design(
        "ResNeXt-101 32x4d", (3, 4, 23, 3), "xie2017", "32 groups of width 4", True, False, 32, 4
    ),
    "resnext101-32x8d": _Design(
        "ResNeXt-101 32x8d", (3, 4, 23, 3), "xie2017", "32 groups of width 8", True, False, 32, 8
    ),
    "resnext101-64x4d": _Design(
        "ResNeXt-101 64x4d", (3, 4, 23, 3), "xie2017", "64 groups of width 4", True, False, 64, 4
    ),
    "wide-resnet50-2": _Design(
        "Wide ResNet-50-2",
        (3, 4, 6, 3),
        "zagoruyko2016",
        "3x3 twice as wide; stride in it",
        True,
        False,
        1,
        128,
    ),
    "se-resnet50": _Design(
        "SE-ResNet-50", (3, 4, 6, 3), "hu2018", _V15 + "; reduction 16", True, False, 1, 64, True
    ),
    "se-resnext50-32x4d": _Design(
        "SE-ResNeXt-50 32x4d",
        (3, 4, 6, 3),
        "hu2018",
        "32 groups of width 4; reduction 16",
        True,
        False,
        32,
        4,
        True,
    ),
    "se-resnext101-32x4d": _Design(
        "SE-ResNeXt-101 32x4d",
        (3, 4, 23, 3),
        "hu2018",
        "32 groups of width 4; reduction 16",
        True,
        False,
        32,
        4,
        True,
    ),
}

NAMES = tuple(_DESIGNS)


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``."""
    design = _DESIGNS[name]
    net = Network()
    residual_classifier(net, image(), design)
    return imagenet.workload(name, design.title, net.layers, variant=design.variant, source=design.source)


def residual_classifier(net: Network, x: Tensor, design: _Design) -> None:
    """Append stem, four stages and a classifier of 1000 classes."""
    x = features(net, x, design)[-1]
    x = net.global_pool(x, "avgpool")
    x = net.linear(x.flat(), "fc", 1000)
    net.loss(x)


def feature_maps(
    net: Network, x: Tensor, backbone: str = "resnet50", strides: tuple[int, ...] = (1, 2, 2, 2)
) -> list[Tensor]:
    """Append the stages of one of ``NAMES``, one per stride, for a detector; return the map of each."""
    return features(net, x, _DESIGNS[backbone], strides)


def features(
    net: Network, x: Tensor, design: _Design, strides: tuple[int, ...] = (1, 2, 2, 2)
) -> list[Tensor]:
    """Append stem and stages, one per stride; return the map at the end of each stage."""
    x = net.conv(x, "conv1", 64, 7, stride=2)
    x = net.relu(net.batch_norm(x, "bn1"), "relu")
    x = net.max_pool(x, "maxpool", 3, stride=2, padding=1)
    maps = []
    for stage, stride in enumerate(strides):
        planes = 64 << stage
        for block in range(design.blocks[stage]):
            x = _block(net, x, f"layer{stage + 1}.{block}", planes, 1 if block else stride, design)
        maps.append(x)
    return maps


def _block(net: Network, x: Tensor, name: str, planes: int, stride: int, design: _Design) -> Tensor:
    channels = planes * 4 if design.bottleneck else planes
    if design.bottleneck:
        width = planes * design.width_per_group // 64 * design.groups
        first, second = (stride, 1) if design.stride_in_first else (1, stride)
        y = net.conv(x, f"{name}.conv1", width, 1, stride=first)
        y = net.relu(net.batch_norm(y, f"{name}.bn1"), f"{name}.relu1")
        y = net.conv(y, f"{name}.conv2", width, 3, stride=second, groups=design.groups)
        y = net.relu(net.batch_norm(y, f"{name}.bn2"), f"{name}.relu2")
        y = net.conv(y, f"{name}.conv3", channels, 1)
        y = net.batch_norm(y, f"{name}.bn3")
    else:
        y = net.conv(x, f"{name}.conv1", channels, 3, stride=stride)
        y = net.relu(net.batch_norm(y, f"{name}.bn1"), f"{name}.relu1")
        y = net.conv(y, f"{name}.conv2", channels, 3)
        y = net.batch_norm(y, f"{name}.bn2")
    if design.squeeze:
        y = net.squeeze_excite(y, f"{name}.se", channels // 16)
    if stride != 1 or x.channels != channels:
        x = net.conv(x, f"{name}.downsample.0", channels, 1, stride=stride)
        x = net.batch_norm(x, f"{name}.downsample.1")
    return net.relu(net.add(y, x, f"{name}.add"), f"{name}.relu")
