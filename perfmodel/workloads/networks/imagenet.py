"""The data set of image classifiers: ImageNet-1k (ILSVRC 2012)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perfmodel.hardware.dataset import data_set
from perfmodel.workloads.workload import Layer, Workload

if TYPE_CHECKING:
    from perfmodel.workloads.architecture import Architecture

DATA = data_set("imagenet")


def workload(
    identifier: str,
    name: str,
    layers: list[Layer],
    *,
    variant: str = "",
    source: str = "",
    size: int = 224,
    local_batch_size: int = 64,
    optimizer: str = "sgd",
    architecture: Architecture | None = None,
) -> Workload:
    """Return the workload of an image classifier fed square RGB images of ``size`` pixels."""
    return Workload(
        id=identifier,
        name=name,
        family="cnn",
        layers=tuple(layers),
        variant=variant,
        source=source,
        input_elements=3.0 * size * size,
        stored_bytes=DATA.sample_bytes or 0.0,
        dataset=DATA.name,
        dataset_samples=DATA.size(None),
        default_local_batch_size=local_batch_size,
        default_optimizer=optimizer,
        architecture=architecture,
    )
