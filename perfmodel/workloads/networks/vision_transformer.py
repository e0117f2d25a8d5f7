"""Image classifiers of the transformer age: ViT, Swin and ConvNeXt.

Dosovitskiy et al. 2021, Liu et al. 2021 and Liu et al. 2022.
"""

from __future__ import annotations

from math import isqrt

from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.builder import Network, Tensor, image
from perfmodel.workloads.networks import imagenet
from perfmodel.workloads.networks.transformer_parts import attention, feed_forward, residual
from perfmodel.workloads.preset_names import VISION
from perfmodel.workloads.presets import preset
from perfmodel.workloads.workload import Layer, Workload

_SWIN = {
    "swin-tiny": ("Swin-T", 96, (2, 2, 6, 2)),
    "swin-small": ("Swin-S", 96, (2, 2, 18, 2)),
    "swin-base": ("Swin-B", 128, (2, 2, 18, 2)),
    "swin-large": ("Swin-L", 192, (2, 2, 18, 2)),
}
"""Title, width and layers of the four stages; 32 features to a head."""

NAMES = (*VISION["vit"], *_SWIN, "convnext-tiny")


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``."""
    net = Network()
    if name in _SWIN:
        title, width, layers = _SWIN[name]
        _swin(net, image(), width, layers)
        source, variant = "liu2021", "windows of 7 by 7 patches of 4 pixels"
    elif name == "convnext-tiny":
        _convnext(net, image())
        title, source, variant = "ConvNeXt-T", "liu2022", "without the larger pre-training"
    else:
        return _vit_workload(name)
    return imagenet.workload(name, title, net.layers, variant=variant, source=source, optimizer="adam")


def _vit_workload(name: str) -> Workload:
    known = preset(name)
    patch = _patch_size(known.architecture)
    return imagenet.workload(
        name,
        known.title,
        vit_layers(known.architecture),
        variant=f"patches of {patch} pixels, class token",
        source=known.source,
        size=patch * isqrt(known.architecture.positions - 1),
        optimizer="adam",
        architecture=known.architecture,
    )


def _patch_size(architecture: Architecture) -> int:
    return isqrt(architecture.patch_elements // 3)


def vit_layers(architecture: Architecture) -> list[Layer]:
    """Return the layers of an encoder over an image's square patches and a class token to classify."""
    net, width, heads = Network(), architecture.hidden, architecture.heads
    patch = _patch_size(architecture)
    x = image(patch * isqrt(architecture.positions - 1))
    x = net.conv(x, "patches", width, patch, stride=patch, padding=0, bias=True)
    tokens = x.positions + 1
    net.parameter("class_token", width, width)
    net.copy(x, "tokens")
    x = Tensor(width, tokens)  # the patches behind the class token
    net.parameter("position_embeddings", tokens * width, x.elements)
    x = net.scale(x, "add_position")
    for index in range(architecture.layers):
        name = f"layer.{index}"
        y = attention(
            net,
            net.layer_norm(x, f"{name}.norm1"),
            f"{name}.attention",
            heads,
            fused=True,
            mask=False,
            dropout=False,
        )
        x = residual(net, x, y, f"{name}.attention", dropout=False)
        y = feed_forward(net, net.layer_norm(x, f"{name}.norm2"), f"{name}.mlp", architecture.feed_forward)
        x = residual(net, x, y, f"{name}.mlp", dropout=False)
    x = net.gather(net.layer_norm(x, "norm"), "class", 1)
    net.loss(net.linear(x, "head", architecture.vocabulary))
    return net.layers


def _swin(net: Network, x: Tensor, width: int, depths: tuple[int, ...]) -> None:
    window, heads = 7, width // 32
    x = net.layer_norm(net.conv(x, "patches", width, 4, stride=4, padding=0, bias=True), "patches.norm")
    for stage, layers in enumerate(depths):
        if stage:
            x = _merge_patches(net, x, f"merge{stage}")
        for index in range(layers):
            name = f"stage{stage}.{index}"
            windows = (x.height // window) * (x.width // window)
            # every other layer moves its windows by half, where there is more than one
            shifted = bool(index % 2) and windows > 1
            y = net.layer_norm(x, f"{name}.norm1")
            y = net.copy(y, f"{name}.windows")
            y = attention(
                net,
                y,
                f"{name}.attention",
                heads << stage,
                fused=True,
                mask=shifted,
                dropout=False,
                windows=windows,
                position_bias=(2 * window - 1) ** 2 * (heads << stage),
            )
            y = net.copy(y, f"{name}.unwindow")
            x = residual(net, x, y, f"{name}.attention", dropout=False)
            y = feed_forward(net, net.layer_norm(x, f"{name}.norm2"), f"{name}.mlp", 4 * x.channels)
            x = residual(net, x, y, f"{name}.mlp", dropout=False)
    x = net.global_pool(net.layer_norm(x, "norm"), "avgpool")
    net.loss(net.linear(x, "head", 1000))


def _merge_patches(net: Network, x: Tensor, name: str) -> Tensor:
    """Append a merge of four neighbouring patches, with half of their joint features."""
    width = x.channels
    x = net.copy(x, f"{name}.gather").view(4 * width, x.height // 2, x.width // 2)
    return net.linear(net.layer_norm(x, f"{name}.norm"), f"{name}.reduction", 2 * width, bias=False)


def _convnext(net: Network, x: Tensor) -> None:
    x = net.layer_norm(net.conv(x, "stem", 96, 4, stride=4, padding=0, bias=True), "stem.norm")
    for stage, (width, layers) in enumerate(((96, 3), (192, 3), (384, 9), (768, 3))):
        if stage:
            x = net.layer_norm(x, f"downsample{stage}.norm")
            x = net.conv(x, f"downsample{stage}", width, 2, stride=2, padding=0, bias=True)
        for index in range(layers):
            name = f"stage{stage}.{index}"
            y = net.conv(x, f"{name}.depthwise", width, 7, groups=width, bias=True)
            y = net.layer_norm(net.copy(y, f"{name}.channels_last"), f"{name}.norm")
            y = feed_forward(net, y, f"{name}.mlp", 4 * width)
            y = net.channel_scale(y, f"{name}.layer_scale", parameters=width)
            x = net.add(net.copy(y, f"{name}.channels_first"), x, f"{name}.add")
    x = net.layer_norm(net.global_pool(x, "avgpool"), "norm")
    net.loss(net.linear(x, "head", 1000))
