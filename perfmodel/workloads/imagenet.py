"""What training on ImageNet-1k (ILSVRC 2012) means for a workload."""

from __future__ import annotations

from perfmodel.specs.workload import Layer, Workload

SAMPLES = 1_281_167
"""Images of the training set (Russakovsky et al. 2015, table 2)."""

STORED_BYTES = 147_897_477_120 / SAMPLES
"""Mean bytes of a training image: the size of ILSVRC2012_img_train.tar over its images, about 115 kB."""


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
        stored_bytes=STORED_BYTES,
        dataset="ImageNet-1k",
        dataset_samples=SAMPLES,
        default_local_batch_size=local_batch_size,
        default_optimizer=optimizer,
    )
