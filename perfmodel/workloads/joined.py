"""Networks whose batch normalisation shares kernels with its neighbours, as tables of layers.

The numbers of passes over memory are algebra.  A norm passes its input twice (statistics, then the result),
and writes once; where the convolution before it has taken the statistics, the first is left out.  The norm's
kernel applies the activation after it, and adds the shortcut, of whose three operands it holds two.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from perfmodel.hardware.software import JoinedNorms
from perfmodel.workloads.workload import Layer, Workload


class Left(NamedTuple):
    """What is left of a layer's memory traffic and kernels [1]."""

    forward: float
    backward: float
    kernels: float


ACTIVATIONS = {"activation": Left(0, 0, 0), "add": Left(1 / 3, 1 / 3, 0)}
SHARED: dict[JoinedNorms, dict[str, Left]] = {
    "none": {},
    "activations": ACTIVATIONS,
    "statistics": ACTIVATIONS | {"norm": Left(2 / 3, 1, 1)},
}
"""By how norms are joined: kind of layer -> what is left of it."""


@lru_cache(maxsize=64)
def with_joined_norms(workload: Workload, joined: JoinedNorms) -> Workload:
    """Return a network of images as software computes it that joins norms with their neighbours.

    Networks without batch normalisation after convolutions are returned as they are.

    Parameters
    ----------
    workload : as a table of layers
    joined : the fact of the software

    Examples
    --------
    >>> from perfmodel.workloads import workload
    >>> kernels = [
    ...     with_joined_norms(workload("resnet50"), each).column("forward_kernels").sum()
    ...     for each in ("none", "activations", "statistics")
    ... ]
    >>> [float(kernels[0] - each) for each in kernels]
    [0.0, 65.0, 65.0]
    """
    left = SHARED[joined]
    convolves = any(layer.operation.convolves for layer in workload.layers)
    if not left or not convolves or not any(layer.kind == "norm" for layer in workload.layers):
        return workload
    return replace(workload, layers=tuple(_joined(layer, left.get(layer.kind)) for layer in workload.layers))


def _joined(layer: Layer, left: Left | None) -> Layer:
    if left is None:
        return layer
    return layer._replace(
        forward_elements=layer.forward_elements * left.forward,
        backward_elements=layer.backward_elements * left.backward,
        forward_kernels=layer.forward_kernels * left.kernels,
        backward_kernels=layer.backward_kernels * left.kernels,
    )
