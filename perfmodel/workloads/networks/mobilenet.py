"""Networks of inverted residuals: MobileNet v2 and v3, EfficientNet v1 and v2.

Sandler et al. 2018, Howard et al. 2019, Tan and Le 2019 and 2021.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import NamedTuple

from perfmodel.workloads.builder import Network, Tensor, image
from perfmodel.workloads.networks import imagenet
from perfmodel.workloads.workload import Workload


class _Block(NamedTuple):
    """One inverted residual: widen, filter each channel, gate, narrow."""

    expanded: int
    channels: int
    kernel: int = 3
    stride: int = 1
    activation: str = "relu"
    squeezed: int = 0
    """Width of the squeeze-and-excitation gate; 0 for none."""
    fused: bool = False
    """Whether one full convolution widens and filters at once."""


class _Design(NamedTuple):
    title: str
    source: str
    size: int
    stem: int
    blocks: tuple[_Block, ...]
    last: int
    activation: str
    hidden: int = 0
    """Width of a linear layer before the classifier; 0 for none."""
    variant: str = ""


def _divisible(channels: float) -> int:
    """Return the nearest multiple of 8, at least 8 and not below 0.9 of the width."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


def _mobilenet_v2() -> _Design:
    table = (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    )
    blocks = []
    before = 32
    for expansion, channels, count, stride in table:
        for index in range(count):
            blocks.append(_Block(before * expansion, channels, 3, 1 if index else stride))
            before = channels
    return _Design("MobileNet v2", "sandler2018", 224, 32, tuple(blocks), 1280, "relu", variant="width 1.0")


def _mobilenet_v3() -> _Design:
    table = (
        (16, 16, 3, 1, "relu", False),
        (64, 24, 3, 2, "relu", False),
        (72, 24, 3, 1, "relu", False),
        (72, 40, 5, 2, "relu", True),
        (120, 40, 5, 1, "relu", True),
        (120, 40, 5, 1, "relu", True),
        (240, 80, 3, 2, "smooth", False),
        (200, 80, 3, 1, "smooth", False),
        (184, 80, 3, 1, "smooth", False),
        (184, 80, 3, 1, "smooth", False),
        (480, 112, 3, 1, "smooth", True),
        (672, 112, 3, 1, "smooth", True),
        (672, 160, 5, 2, "smooth", True),
        (960, 160, 5, 1, "smooth", True),
        (960, 160, 5, 1, "smooth", True),
    )
    blocks = tuple(
        _Block(expanded, channels, kernel, stride, activation, _divisible(expanded // 4) if gated else 0)
        for expanded, channels, kernel, stride, activation, gated in table
    )
    return _Design("MobileNet v3 large", "howard2019", 224, 16, blocks, 960, "smooth", 1280, "width 1.0")


_EFFICIENTNET = (
    (1, 16, 3, 1, 1),
    (6, 24, 3, 2, 2),
    (6, 40, 5, 2, 2),
    (6, 80, 3, 2, 3),
    (6, 112, 5, 1, 3),
    (6, 192, 5, 2, 4),
    (6, 320, 3, 1, 1),
)
"""Expansion, channels, filter, stride and depth of each stage of B0 (Tan and Le 2019, table 1)."""


def _efficientnet(title: str, width: float, depth: float, size: int, wide_gates: bool) -> _Design:
    stem = before = _divisible(32 * width)
    blocks = []
    for expansion, base, kernel, stride, count in _EFFICIENTNET:
        channels = _divisible(base * width)
        for index in range(ceil(count * depth)):
            expanded = before * expansion
            gate = (expanded if wide_gates else before) // 4
            blocks.append(_Block(expanded, channels, kernel, 1 if index else stride, "smooth", gate))
            before = channels
    variant = "gates a quarter of the expanded width" if wide_gates else "gates a quarter of the input width"
    return _Design(title, "tan2019", size, stem, tuple(blocks), 4 * before, "smooth", variant=variant)


def _efficientnet_v2(size: int) -> _Design:
    table = (
        (1, 24, 1, 2, True),
        (4, 48, 2, 4, True),
        (4, 64, 2, 4, True),
        (4, 128, 2, 6, False),
        (6, 160, 1, 9, False),
        (6, 256, 2, 15, False),
    )
    blocks = []
    before = 24
    for expansion, channels, stride, count, fused in table:
        for index in range(count):
            gate = 0 if fused else before // 4
            blocks.append(
                _Block(before * expansion, channels, 3, 1 if index else stride, "smooth", gate, fused)
            )
            before = channels
    variant = f"{size} pixels, the last size of its training"
    return _Design("EfficientNet v2 S", "tan2021", size, 24, tuple(blocks), 1280, "smooth", variant=variant)


_DESIGNS: dict[str, Callable[[], _Design]] = {
    "mobilenet-v2": _mobilenet_v2,
    "mobilenet-v3-large": _mobilenet_v3,
    "efficientnet-b0": lambda: _efficientnet("EfficientNet-B0", 1.0, 1.0, 224, False),
    "efficientnet-b4": lambda: _efficientnet("EfficientNet-B4", 1.4, 1.8, 380, False),
    "efficientnet-widese-b0": lambda: _efficientnet("EfficientNet-WideSE-B0", 1.0, 1.0, 224, True),
    "efficientnet-widese-b4": lambda: _efficientnet("EfficientNet-WideSE-B4", 1.4, 1.8, 380, True),
    "efficientnet-v2-s": lambda: _efficientnet_v2(300),
}

NAMES = tuple(_DESIGNS)


def build(name: str, size: int | None = None) -> Workload:
    """Return the workload of one of ``NAMES``, for images of another size if given."""
    design = _DESIGNS[name]()
    size = size or design.size
    net = Network()
    x = net.conv_norm(image(size), "stem", design.stem, 3, stride=2, activation=design.activation)
    for index, block in enumerate(design.blocks):
        x = _inverted_residual(net, x, f"blocks.{index}", block)
    x = net.conv_norm(x, "head", design.last, activation=design.activation)
    x = net.global_pool(x, "avgpool")
    if design.hidden:
        x = net.smooth(net.linear(x, "classifier.0", design.hidden), "classifier.1")
    x = net.dropout(x, "dropout")
    net.loss(net.linear(x, "classifier", 1000))
    return imagenet.workload(
        name, design.title, net.layers, variant=design.variant, source=design.source, size=size
    )


def _inverted_residual(net: Network, x: Tensor, name: str, block: _Block) -> Tensor:
    y = x
    act = block.activation
    if block.fused:
        narrow = block.expanded == x.channels
        width = block.channels if narrow else block.expanded
        y = net.conv_norm(y, f"{name}.fused", width, block.kernel, block.stride, activation=act)
        if not narrow:
            y = net.conv_norm(y, f"{name}.project", block.channels, activation="")
    else:
        if block.expanded != x.channels:
            y = net.conv_norm(y, f"{name}.expand", block.expanded, activation=act)
        y = net.conv_norm(
            y,
            f"{name}.depthwise",
            block.expanded,
            block.kernel,
            block.stride,
            groups=block.expanded,
            activation=act,
        )
        if block.squeezed:
            gate = "relu" if act == "relu" else "smooth"
            y = net.squeeze_excite(y, f"{name}.se", block.squeezed, gate)
        y = net.conv_norm(y, f"{name}.project", block.channels, activation="")
    if block.stride == 1 and x.channels == block.channels:
        y = net.add(y, x, f"{name}.add")
    return y
