"""Diffusion transformers over an image's latents, conditioned on its class: DiT (Peebles and Xie 2023)."""

from __future__ import annotations

from perfmodel.hardware.dataset import data_set
from perfmodel.workloads.builder import Network, Tensor, image
from perfmodel.workloads.networks.diffusion_parts import (
    FREQUENCIES,
    adaptive_norm,
    diffusion_workload,
    embedded,
    gated_sum,
    given,
    modulation,
)
from perfmodel.workloads.networks.fused_attention import self_attention
from perfmodel.workloads.networks.transformer_parts import feed_forward
from perfmodel.workloads.workload import Workload

_WIDTHS = {
    "dit-s-2": ("DiT-S/2", 384, 12, 6),
    "dit-b-2": ("DiT-B/2", 768, 12, 12),
    "dit-l-2": ("DiT-L/2", 1024, 24, 16),
    "dit-xl-2": ("DiT-XL/2", 1152, 28, 16),
}
"""Title, width, layers and heads."""

NAMES = tuple(_WIDTHS)

PATCH, LATENTS, CLASSES = 2, 4, 1000
"""Latents on a side of a patch; channels of a latent; classes of ImageNet."""
DEFAULT_TOKENS = 256
"""Patches of an image of 256 pixels."""


def build(name: str, image_tokens: int | None = None) -> Workload:
    """Return the workload of one of ``NAMES``; a sample is an image of ``image_tokens`` patches."""
    title, width, layers, heads = _WIDTHS[name]
    tokens, data = image_tokens or DEFAULT_TOKENS, data_set("imagenet")
    net, latents = Network(), image(PATCH * tokens, PATCH, LATENTS)
    x = net.conv(latents, "patches", width, PATCH, stride=PATCH, padding=0, bias=True)
    x = net.scale(net.copy(x, "tokens").view(width, tokens), "add_position")
    time = embedded(net, given(FREQUENCIES), "time", width)
    # one more row for no class, with which guidance without a classifier is trained
    condition = net.add(time, net.embedding("class", 1, CLASSES + 1, width), "condition")
    for index in range(layers):
        x = _layer(net, x, condition, f"layer.{index}", heads)
    modulation(net, condition, "final", 2, width)
    x = adaptive_norm(net, x, "final.norm")
    # a mean of squares moves as much as a cross-entropy; noise and its variance are predicted
    net.loss(net.linear(x, "final.linear", 2 * PATCH * PATCH * LATENTS))
    return diffusion_workload(
        name,
        title,
        net,
        family="transformer",
        variant=f"{tokens:,} patches",
        source="peebles2023",
        input_elements=float(latents.elements),
        without="its frozen autoencoder of images (0.084 B parameters)",
        dataset=data.name,
        dataset_samples=data.size(None),
        image_tokens=tokens,
        local_batch_size=32,
    )


def _layer(net: Network, x: Tensor, condition: Tensor, name: str, heads: int) -> Tensor:
    modulation(net, condition, name, 6, x.channels)
    y = self_attention(net, adaptive_norm(net, x, f"{name}.norm1"), f"{name}.attention", heads)
    x = gated_sum(net, x, y, f"{name}.attention")
    y = feed_forward(net, adaptive_norm(net, x, f"{name}.norm2"), f"{name}.mlp", 4 * x.channels)
    return gated_sum(net, x, y, f"{name}.mlp")
