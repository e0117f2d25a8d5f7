"""Parts of diffusion models: what every sample is conditioned on, and adaptive norms.

A sample is one noisy image of an autoencoder's latents; the autoencoder and the encoders of texts are frozen,
and their outputs are taken as computed beforehand.
"""

from __future__ import annotations

from perfmodel.workloads.builder import Network, Tensor
from perfmodel.workloads.workload import Workload

FREQUENCIES = 256
"""Sines and cosines that describe a time step."""
STORED_BYTES = 2.0
"""Bytes of a stored latent or feature of a text: 16 bits."""


def given(features: int, positions: int = 1) -> Tensor:
    """Return an input that needs no gradient: features of a text, of a time step, or of image sizes."""
    return Tensor(features, positions, needs_gradient=False)


def embedded(net: Network, x: Tensor, name: str, width: int) -> Tensor:
    """Append two products with a smooth activation between them, as of a time step or a pooled text."""
    x = net.smooth(net.linear(x, f"{name}.in", width), f"{name}.activation")
    return net.linear(x, f"{name}.out", width)


def modulation(net: Network, condition: Tensor, name: str, vectors: int, width: int) -> None:
    """Append the product that makes ``vectors`` shifts, scales and gates of ``width`` from a condition."""
    net.linear(net.smooth(condition, f"{name}.activation"), f"{name}.modulation", vectors * width)


def adaptive_norm(net: Network, x: Tensor, name: str) -> Tensor:
    """Append a norm without parameters, then the scale and shift that a condition made."""
    x = net.layer_norm(x, name)
    net.layers[-1] = net.layers[-1]._replace(tensors=(), backward_kernels=1)
    return net.scale(net.channel_scale(x, f"{name}.scale"), f"{name}.shift")


def gated_sum(net: Network, x: Tensor, y: Tensor, name: str) -> Tensor:
    """Append the sum of ``x`` and ``y`` times a gate that a condition made."""
    return net.add(net.channel_scale(y, f"{name}.gate"), x, f"{name}.add")


def diffusion_workload(
    name: str,
    title: str,
    net: Network,
    *,
    family: str,
    variant: str,
    source: str,
    input_elements: float,
    without: str,
    dataset: str = "",
    dataset_samples: int | None = None,
    image_tokens: int | None = None,
    local_batch_size: int = 8,
) -> Workload:
    """Return the workload of a diffusion model that reads latents and features of texts."""
    return Workload(
        id=name,
        name=title,
        family=family,
        layers=tuple(net.layers),
        variant=variant,
        source=source,
        image_tokens=image_tokens,
        input_elements=input_elements,
        stored_bytes=STORED_BYTES * input_elements,
        dataset=dataset,
        dataset_samples=dataset_samples,
        default_local_batch_size=local_batch_size,
        default_optimizer="adam",
        without=without,
    )
