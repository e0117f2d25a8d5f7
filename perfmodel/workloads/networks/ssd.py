"""SSD at 300 pixels on ResNet (Liu et al. 2016), as MLPerf and NVIDIA's DeepLearningExamples train it."""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.hardware.dataset import data_set
from perfmodel.workloads.builder import Network, Tensor, image
from perfmodel.workloads.networks.resnet import feature_maps
from perfmodel.workloads.workload import Workload

SIZE, CLASSES = 300, 81
"""Pixels; classes of COCO, none included."""

BOXES = (4, 6, 6, 6, 4, 4)
"""Default boxes at each position of the six maps: 38, 19, 10, 5, 3 and 1 wide."""

_NARROW = (256, 256, 128, 128, 128)


class _Detector(NamedTuple):
    title: str
    backbone: str
    widths: tuple[int, ...]
    """Features of the maps after the backbone's."""
    normalised: bool
    """Whether convolutions after the backbone are normalised; otherwise they have biases."""
    local_batch_size: int


_DETECTORS = {
    "ssd300-r34": _Detector("SSD300 R34", "resnet34", (512, 512, 256, 256, 256), False, 32),
    "ssd300-r50": _Detector("SSD300 R50", "resnet50-v1.5", (512, 512, 256, 256, 256), True, 32),
}

NAMES = tuple(_DETECTORS)


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``."""
    net, known = Network(), _DETECTORS[name]
    # the third stage keeps the size of the second, and the fourth is left out
    maps = [feature_maps(net, image(SIZE), known.backbone, strides=(1, 2, 1))[-1]]
    for index, (narrow, width) in enumerate(zip(_NARROW, known.widths, strict=True)):
        x = _filter(net, maps[-1], f"extra{index}.narrow", narrow, 1, known.normalised)
        stride, padding = (2, 1) if index < 3 else (1, 0)
        maps.append(_filter(net, x, f"extra{index}.wide", width, 3, known.normalised, stride, padding))
    for index, (x, boxes) in enumerate(zip(maps, BOXES, strict=True)):
        net.loss(net.conv(x, f"edges{index}", boxes * 4, 3, bias=True), f"edges{index}.loss")
        net.loss(net.conv(x, f"classes{index}", boxes * CLASSES, 3, bias=True), f"classes{index}.loss")
    data = data_set("coco")
    return Workload(
        id=name,
        name=known.title,
        family="cnn",
        layers=tuple(net.layers),
        variant=f"approximate; {SIZE} pixels, 80 classes, 8732 boxes",
        source="liu2016",
        input_elements=3.0 * SIZE * SIZE,
        stored_bytes=data.sample_bytes or 0.0,
        dataset=data.name,
        dataset_samples=data.size(None),
        default_local_batch_size=known.local_batch_size,
        detection_heads=True,
    )


def _filter(
    net: Network,
    x: Tensor,
    name: str,
    width: int,
    kernel: int,
    normalised: bool,
    stride: int = 1,
    padding: int | None = None,
) -> Tensor:
    if normalised:
        return net.conv_norm(x, name, width, kernel, stride, padding)
    return net.relu(net.conv(x, name, width, kernel, stride, padding, bias=True), f"{name}.relu")
