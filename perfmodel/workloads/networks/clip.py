"""Encoders of images and of their texts, trained to agree: CLIP (Radford et al. 2021)."""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.workloads.builder import Network, Tensor, image
from perfmodel.workloads.networks.fused_attention import self_attention
from perfmodel.workloads.networks.transformer_parts import feed_forward
from perfmodel.workloads.workload import Workload


class Encoders(NamedTuple):
    """Widths and counts of both encoders; the data that they were trained on."""

    title: str
    pixels: int
    patch: int
    width: int
    layers: int
    text_width: int
    """Also the features in which images and texts are compared."""
    head_size: int = 64
    text_layers: int = 12
    dataset: str = "WebImageText"
    pairs: int = 400_000_000


_MODELS = {
    "clip-vit-b-32": Encoders("CLIP ViT-B/32", 224, 32, 768, 12, 512),
    "clip-vit-b-16": Encoders("CLIP ViT-B/16", 224, 16, 768, 12, 512),
    "clip-vit-l-14": Encoders("CLIP ViT-L/14", 224, 14, 1024, 24, 768),
    "clip-vit-l-14-336": Encoders("CLIP ViT-L/14 at 336 pixels", 336, 14, 1024, 24, 768),
    "openclip-vit-h-14": Encoders(
        "OpenCLIP ViT-H/14", 224, 14, 1280, 32, 1024, 80, 24, "LAION-2B", 2_320_000_000
    ),
}

NAMES = tuple(_MODELS)

VOCABULARY, TEXT_TOKENS, TEXT_HEAD_SIZE = 49_408, 77, 64
STORED_IMAGE_BYTES = 224 * 224 / 4
"""A photograph of 224 pixels as JPEG at 2 bits a pixel (an assumption)."""


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``; a sample is an image and its text."""
    m, net = _MODELS[name], Network()
    pixels = image(m.pixels)
    images = _images(net, pixels, m)
    texts = _texts(net, m)
    net.parameter("temperature", 1, 1)
    # each is compared with all of the batch: one product, which grows with the batch and is left out
    net.loss(net.add(images, texts, "compare"))
    return Workload(
        id=name,
        name=m.title,
        family="transformer",
        layers=tuple(net.layers),
        variant=f"patches of {m.patch} pixels, {TEXT_TOKENS} words",
        source="cherti2023" if name.startswith("openclip") else "radford2021",
        input_elements=float(pixels.elements + TEXT_TOKENS),
        stored_bytes=STORED_IMAGE_BYTES * (m.pixels / 224) ** 2,
        dataset=m.dataset,
        dataset_samples=m.pairs,
        default_local_batch_size=128,
        default_optimizer="adam",
        without="the comparison of each image with all texts of a batch (below 0.1 B FLOP per pair)",
    )


def _images(net: Network, x: Tensor, m: Encoders) -> Tensor:
    x = net.conv(x, "image.patches", m.width, m.patch, stride=m.patch, padding=0)
    tokens = x.positions + 1
    net.parameter("image.class_token", m.width, m.width)
    net.copy(x, "image.tokens")
    x = Tensor(m.width, tokens)  # the patches behind the class token
    net.parameter("image.positions", tokens * m.width, x.elements)
    x = net.layer_norm(net.scale(x, "image.add_position"), "image.norm_before")
    x = _encoded(net, x, "image", m.layers, m.width // m.head_size)
    x = net.layer_norm(net.gather(x, "image.class", 1), "image.norm_after")
    return net.linear(x, "image.projection", m.text_width, bias=False)


def _texts(net: Network, m: Encoders) -> Tensor:
    x = net.embedding("text.words", TEXT_TOKENS, VOCABULARY, m.text_width)
    net.parameter("text.positions", TEXT_TOKENS * m.text_width, x.elements)
    x = net.scale(x, "text.add_position")
    x = _encoded(net, x, "text", m.text_layers, m.text_width // TEXT_HEAD_SIZE)
    x = net.gather(net.layer_norm(x, "text.norm"), "text.end", 1)
    return net.linear(x, "text.projection", m.text_width, bias=False)


def _encoded(net: Network, x: Tensor, side: str, layers: int, heads: int) -> Tensor:
    for index in range(layers):
        name = f"{side}.{index}"
        y = self_attention(net, net.layer_norm(x, f"{name}.norm1"), f"{name}.attention", heads)
        x = net.add(y, x, f"{name}.attention.add")
        y = feed_forward(net, net.layer_norm(x, f"{name}.norm2"), f"{name}.mlp", 4 * x.channels)
        x = net.add(y, x, f"{name}.mlp.add")
    return x
