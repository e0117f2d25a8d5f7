"""Convolutional diffusion models that attend to texts: Stable Diffusion 1.5 and 2.1, and SDXL.

Rombach et al. 2022 and Podell et al. 2023: residual blocks on latents of three or four sizes, and
transformers whose layers attend to the image, then to the text.
"""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.workloads.builder import Network, Tensor, image
from perfmodel.workloads.networks.diffusion_parts import diffusion_workload, embedded, given
from perfmodel.workloads.networks.fused_attention import self_attention
from perfmodel.workloads.workload import Workload


class Widths(NamedTuple):
    """Widths and counts of a network; tuples are by size, the largest first."""

    title: str
    source: str
    pixels: int
    channels: tuple[int, ...]
    transformer_layers: tuple[int, ...]
    """Layers of each transformer; 0 where residual blocks stand alone."""
    heads: tuple[int, ...]
    text_width: int
    without: str
    is_linear: bool = True
    """Transformers begin and end with products, not with convolutions; both have the same cost."""
    pooled: int = 0
    """Features of a whole text and of an image's size and crop."""


_CHANNELS = (320, 640, 1280, 1280)
_LAYERS = (1, 1, 1, 0)
_MODELS = {
    "sd-1.5": Widths(
        "Stable Diffusion 1.5",
        "rombach2022",
        512,
        _CHANNELS,
        _LAYERS,
        (8, 8, 8, 8),
        768,
        "its frozen autoencoder of images and encoder of texts (0.21 B parameters)",
        is_linear=False,
    ),
    "sd-2.1": Widths(
        "Stable Diffusion 2.1",
        "rombach2022",
        768,
        _CHANNELS,
        _LAYERS,
        (5, 10, 20, 20),
        1024,
        "its frozen autoencoder of images and encoder of texts (0.42 B parameters)",
    ),
    "sdxl": Widths(
        "SDXL",
        "podell2023",
        1024,
        (320, 640, 1280),
        (0, 2, 10),
        (5, 10, 20),
        2048,
        "its frozen autoencoder of images and encoders of texts (0.90 B parameters)",
        pooled=2816,
    ),
}

NAMES = tuple(_MODELS)

LATENTS, TEXT_TOKENS, PIXELS_OF_LATENT = 4, 77, 8
"""Channels of a latent; tokens of a text; pixels on a side that a latent stands for."""
BLOCKS = 2
"""Residual blocks of each size on the way down; one more on the way up."""


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``; a sample is an image and its text."""
    m, net = _MODELS[name], Network()
    side = m.pixels // PIXELS_OF_LATENT
    latents, text = image(side, channels=LATENTS), given(m.text_width, TEXT_TOKENS)
    condition = _condition(net, m)
    x = net.conv(latents, "input", m.channels[0], 3, bias=True)
    skipped = [x]
    for level, width in enumerate(m.channels):
        for index in range(BLOCKS):
            x = _block(net, x, condition, text, f"down{level}.{index}", m, level, width)
            skipped.append(x)
        if level < len(m.channels) - 1:
            x = net.conv(x, f"down{level}.reduce", width, 3, stride=2, bias=True)
            skipped.append(x)
    x = _residual(net, x, condition, "middle.first", x.channels)
    middle = max(m.transformer_layers[-1], 1)
    x = _transformer(net, x, text, "middle.transformer", middle, m.heads[-1], m.is_linear)
    x = _residual(net, x, condition, "middle.last", x.channels)
    for level, width in reversed(list(enumerate(m.channels))):
        for index in range(BLOCKS + 1):
            x = net.concat([x, skipped.pop()], f"up{level}.{index}.join")
            x = _block(net, x, condition, text, f"up{level}.{index}", m, level, width)
        if level:
            x = net.conv(net.resize(x, f"up{level}.enlarge", 2), f"up{level}.conv", width, 3, bias=True)
    x = net.smooth(_group_norm(net, x, "output.norm"), "output.activation")
    # a mean of squares moves as much as a cross-entropy
    net.loss(net.conv(x, "output", LATENTS, 3, bias=True))
    return diffusion_workload(
        name,
        m.title,
        net,
        family="cnn",
        variant=f"{m.pixels:,} pixels, {TEXT_TOKENS} words",
        source=m.source,
        input_elements=float(latents.elements + text.elements + m.pooled),
        without=m.without,
        local_batch_size=4,
    )


def _condition(net: Network, m: Widths) -> Tensor:
    """Append what depends on the time step, on the pooled text and on the image's size."""
    width = 4 * m.channels[0]
    condition = embedded(net, given(m.channels[0]), "time", width)
    if m.pooled:
        condition = net.add(condition, embedded(net, given(m.pooled), "pooled", width), "condition")
    return condition


def _block(
    net: Network, x: Tensor, condition: Tensor, text: Tensor, name: str, m: Widths, level: int, width: int
) -> Tensor:
    x = _residual(net, x, condition, f"{name}.residual", width)
    layers = m.transformer_layers[level]
    if not layers:
        return x
    return _transformer(net, x, text, f"{name}.transformer", layers, m.heads[level], m.is_linear)


def _group_norm(net: Network, x: Tensor, name: str) -> Tensor:
    """Append a norm over groups of channels, which moves as much as a batch norm."""
    return net.batch_norm(x, name)


def _residual(net: Network, x: Tensor, condition: Tensor, name: str, width: int) -> Tensor:
    """Append two convolutions with norms; what depends on the condition is added between them."""
    y = net.smooth(_group_norm(net, x, f"{name}.norm1"), f"{name}.activation1")
    y = net.conv(y, f"{name}.conv1", width, 3, bias=True)
    net.linear(net.smooth(condition, f"{name}.condition_activation"), f"{name}.condition", width)
    y = _group_norm(net, net.scale(y, f"{name}.add_condition"), f"{name}.norm2")
    y = net.conv(net.smooth(y, f"{name}.activation2"), f"{name}.conv2", width, 3, bias=True)
    if x.channels != width:
        x = net.conv(x, f"{name}.shortcut", width, 1, bias=True)
    return net.add(y, x, f"{name}.add")


def _transformer(
    net: Network, x: Tensor, text: Tensor, name: str, layers: int, heads: int, is_linear: bool
) -> Tensor:
    """Append layers that attend to all positions of the image, then to the text."""
    y, width = _group_norm(net, x, f"{name}.norm"), x.channels
    y = _mixed(net, y, f"{name}.into", is_linear)
    for index in range(layers):
        layer = f"{name}.{index}"
        for part, memory in (("attention", None), ("text_attention", text)):
            z = net.layer_norm(y, f"{layer}.{part}.norm")
            z = self_attention(
                net, z, f"{layer}.{part}", heads, query_bias=False, key_bias=False, memory=memory
            )
            y = net.add(z, y, f"{layer}.{part}.add")
        z = net.linear(net.layer_norm(y, f"{layer}.mlp.norm"), f"{layer}.mlp.fc1", 8 * width)
        z, gate = net.split(z, f"{layer}.mlp.split", (4 * width, 4 * width))
        z = net.multiply(z, net.smooth(gate, f"{layer}.mlp.activation"), f"{layer}.mlp.product")
        y = net.add(net.linear(z, f"{layer}.mlp.fc2", width), y, f"{layer}.mlp.add")
    return net.add(_mixed(net, y, f"{name}.out_of", is_linear), x, f"{name}.add")


def _mixed(net: Network, x: Tensor, name: str, is_linear: bool) -> Tensor:
    """Append a product over the channels of every position."""
    if is_linear:
        return net.linear(x, name, x.channels)
    return net.conv(x, name, x.channels, 1, bias=True)
