"""Diffusion transformers that attend over texts and images together: Stable Diffusion 3 and FLUX.1.

Esser et al. 2024 give both streams weights of their own in every block; FLUX.1 (Black Forest Labs 2024) ends
with blocks of one stream, whose attention and feed-forward part run in parallel.
"""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.workloads.builder import Network, Tensor
from perfmodel.workloads.networks.diffusion_parts import (
    FREQUENCIES,
    adaptive_norm,
    diffusion_workload,
    embedded,
    gated_sum,
    given,
    modulation,
)
from perfmodel.workloads.networks.fused_attention import fused_attention
from perfmodel.workloads.networks.transformer_parts import feed_forward
from perfmodel.workloads.workload import Workload


class Joint(NamedTuple):
    """Widths and counts of a diffusion transformer over texts and images."""

    title: str
    source: str
    blocks: int
    """Blocks of two streams."""
    heads: int
    head_size: int
    pooled: int
    """Features of a whole text."""
    text_tokens: int
    without: str
    single_blocks: int = 0
    """Blocks of one stream."""
    guided: bool = False
    """Conditioned on a strength of guidance, which the model was distilled from."""
    normalised: bool = False
    """Queries and keys are normalised by head."""
    rotary: bool = False
    """Positions are rotated; otherwise a table of them is added."""
    image_attention: int = 0
    """First blocks with a further attention of the image to itself."""
    last_without_text: bool = False
    """The last block changes the image alone."""


_SD3_ENCODERS = "its frozen autoencoder of images and encoders of texts (5.7 B parameters)"
_FLUX_ENCODERS = "its frozen autoencoder of images and encoders of texts (5.0 B parameters)"
_SD3 = Joint("", "esser2024", 24, 24, 64, 2048, 154, _SD3_ENCODERS, last_without_text=True)
_FLUX = Joint(
    "", "flux2024", 19, 24, 128, 768, 512, _FLUX_ENCODERS, single_blocks=38, normalised=True, rotary=True
)
_MODELS = {
    "sd3-medium": _SD3._replace(title="Stable Diffusion 3 Medium"),
    "sd3.5-medium": _SD3._replace(
        title="Stable Diffusion 3.5 Medium", normalised=True, image_attention=13, text_tokens=333
    ),
    "sd3.5-large": _SD3._replace(
        title="Stable Diffusion 3.5 Large", normalised=True, blocks=38, heads=38, text_tokens=333
    ),
    "flux.1-dev": _FLUX._replace(title="FLUX.1 [dev]", guided=True),
    "flux.1-schnell": _FLUX._replace(title="FLUX.1 [schnell]", text_tokens=256),
}

NAMES = tuple(_MODELS)

PATCH, LATENTS, TEXT_WIDTH = 2, 16, 4096
"""Latents on a side of a patch; channels of a latent; features of a token by T5-XXL."""
DEFAULT_TOKENS = 4096
"""Patches of an image of 1,024 pixels."""


def build(name: str, image_tokens: int | None = None) -> Workload:
    """Return the workload of one of ``NAMES``; a sample is a text and an image of patches."""
    m, tokens, net = _MODELS[name], image_tokens or DEFAULT_TOKENS, Network()
    width, patch = m.heads * m.head_size, PATCH * PATCH * LATENTS
    x = net.linear(given(patch, tokens), "patches", width)
    if not m.rotary:
        x = net.scale(x, "add_position")
    condition = embedded(net, given(FREQUENCIES), "time", width)
    if m.guided:
        condition = net.add(condition, embedded(net, given(FREQUENCIES), "guidance", width), "add_guidance")
    condition = net.add(condition, embedded(net, given(m.pooled), "pooled", width), "condition")
    text = net.linear(given(TEXT_WIDTH, m.text_tokens), "text", width)
    for index in range(m.blocks):
        is_last = m.last_without_text and index == m.blocks - 1
        x, text = _block(net, x, text, condition, f"block.{index}", m, index < m.image_attention, is_last)
    if m.single_blocks:
        both = net.concat([text.view(text.elements), x.view(x.elements)], "join")
        both = both.view(width, text.positions + tokens)
        for index in range(m.single_blocks):
            both = _single_block(net, both, condition, f"single.{index}", m)
        x = net.gather(both, "image", tokens)
    modulation(net, condition, "final", 2, width)
    # a mean of squares moves as much as a cross-entropy
    net.loss(net.linear(adaptive_norm(net, x, "final.norm"), "final.linear", patch))
    return diffusion_workload(
        name,
        m.title,
        net,
        family="transformer",
        variant=f"{tokens:,} patches, {m.text_tokens} words",
        source=m.source,
        input_elements=float(patch * tokens + TEXT_WIDTH * m.text_tokens + m.pooled),
        without=m.without,
        image_tokens=tokens,
        local_batch_size=1,
    )


def _block(
    net: Network,
    x: Tensor,
    text: Tensor,
    condition: Tensor,
    name: str,
    m: Joint,
    attends_twice: bool,
    is_last: bool,
) -> tuple[Tensor, Tensor]:
    """Append a block of two streams, with one attention over both."""
    image_, text_ = f"{name}.image", f"{name}.text"
    modulation(net, condition, image_, 9 if attends_twice else 6, x.channels)
    modulation(net, condition, text_, 2 if is_last else 6, x.channels)
    normalised = adaptive_norm(net, x, f"{image_}.norm1")
    ours = _queries(net, normalised, image_, m)
    theirs = _queries(net, adaptive_norm(net, text, f"{text_}.norm1"), text_, m)
    q, k, v = (
        _joined(net, pair, f"{name}.join_{part}") for part, *pair in zip("qkv", theirs, ours, strict=True)
    )
    if m.rotary:
        q, k = _rotated(net, q, k, name)
    y = fused_attention(net, q, k, v, f"{name}.attention", m.heads)
    of_text, of_image = _parted(net, y, f"{name}.part", text.positions)
    further = normalised
    y = net.linear(of_image, f"{image_}.output", x.channels)
    x = gated_sum(net, x, y, f"{image_}.attention")
    if attends_twice:
        further = net.scale(net.channel_scale(further, f"{image_}.norm3.scale"), f"{image_}.norm3.shift")
        q, k, v = _queries(net, further, f"{image_}.second", m)
        y = fused_attention(net, q, k, v, f"{image_}.second.attention", m.heads)
        x = gated_sum(net, x, net.linear(y, f"{image_}.second.output", x.channels), f"{image_}.second")
    x = _fed(net, x, image_)
    if is_last:
        return x, text
    y = net.linear(of_text, f"{text_}.output", text.channels)
    return x, _fed(net, gated_sum(net, text, y, f"{text_}.attention"), text_)


def _fed(net: Network, x: Tensor, name: str) -> Tensor:
    y = feed_forward(net, adaptive_norm(net, x, f"{name}.norm2"), f"{name}.mlp", 4 * x.channels)
    return gated_sum(net, x, y, f"{name}.mlp")


def _queries(net: Network, x: Tensor, name: str, m: Joint) -> list[Tensor]:
    """Append the product of queries, keys and values, and their norms."""
    width = x.channels
    q, k, v = net.split(net.linear(x, f"{name}.qkv", 3 * width), f"{name}.split", (width, width, width))
    return [*_normalised(net, q, k, name, m), v]


def _normalised(net: Network, q: Tensor, k: Tensor, name: str, m: Joint) -> list[Tensor]:
    if not m.normalised:
        return [q, k]
    return [
        net.layer_norm(
            x.view(m.head_size, x.elements // m.head_size), f"{name}.norm_{part}", bias=False
        ).view(x.channels, x.height, x.width)
        for part, x in (("query", q), ("key", k))
    ]


def _rotated(net: Network, q: Tensor, k: Tensor, name: str) -> list[Tensor]:
    return [net.scale(x, f"{name}.rotary_{part}", kernels=4) for part, x in (("query", q), ("key", k))]


def _joined(net: Network, streams: list[Tensor], name: str) -> Tensor:
    """Append the concatenation of the tokens of both streams."""
    width = streams[0].channels
    y = net.concat([x.view(x.elements) for x in streams], name)
    return y.view(width, y.elements // width)


def _parted(net: Network, x: Tensor, name: str, first: int) -> list[Tensor]:
    """Append the split of tokens into ``first`` and the others."""
    parts = (first * x.channels, x.elements - first * x.channels)
    return [y.view(x.channels, y.elements // x.channels) for y in net.split(x.flat(), name, parts)]


def _single_block(net: Network, x: Tensor, condition: Tensor, name: str, m: Joint) -> Tensor:
    """Append a block of one stream: one product before, and one after attention and feed-forward part."""
    width = x.channels
    modulation(net, condition, name, 3, width)
    y = net.linear(adaptive_norm(net, x, f"{name}.norm"), f"{name}.into", 7 * width)
    q, k, v, wide = net.split(y, f"{name}.split", (width, width, width, 4 * width))
    q, k = _normalised(net, q, k, name, m)
    q, k = _rotated(net, q, k, name)
    y = fused_attention(net, q, k, v, f"{name}.attention", m.heads)
    y = net.concat([y, net.smooth(wide, f"{name}.mlp_activation")], f"{name}.join")
    return gated_sum(net, x, net.linear(y, f"{name}.out_of", width), name)
