"""Detectors on a pyramid of features, approximately: Faster R-CNN, Mask R-CNN and RetinaNet.

Ren et al. 2015, He et al. 2017, both with Lin et al. 2017 (feature pyramids), Lin et al. 2017 (focal loss).
Backbones and heads follow the papers; matching boxes, choosing regions and the work of the host on them are
left out.
"""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.hardware.dataset import data_set
from perfmodel.workloads.builder import Network, Tensor, image
from perfmodel.workloads.networks.resnet import feature_maps
from perfmodel.workloads.workload import Workload

REGIONS = 512
"""Regions sampled from an image to train the heads."""
MASKED = 128
"""Sampled regions with an object, whose mask is learned."""
WIDTH = 256
"""Features of every level."""


class _Detector(NamedTuple):
    title: str
    source: str
    backbone: str
    classes: int = 80
    """Of objects."""
    height: int = 800
    width: int = 1344
    local_batch_size: int = 1


_REGION = {
    "faster-rcnn-r50-fpn": _Detector(
        "Faster R-CNN R50-FPN", "ren2015", "resnet50-v1.5", 90, local_batch_size=2
    ),
    "faster-rcnn-r101-fpn": _Detector(
        "Faster R-CNN R101-FPN", "ren2015", "resnet101-v1.5", 90, local_batch_size=2
    ),
}
_MASK = {
    "mask-rcnn-r50-fpn": _Detector("Mask R-CNN R50-FPN", "he2017mask", "resnet50"),
    "mask-rcnn-r101-fpn": _Detector("Mask R-CNN R101-FPN", "he2017mask", "resnet101"),
    "mask-rcnn-x101-fpn": _Detector("Mask R-CNN X101-32x4d-FPN", "he2017mask", "resnext101-32x4d"),
    "mask-rcnn-x101-64x4d-fpn": _Detector("Mask R-CNN X101-64x4d-FPN", "he2017mask", "resnext101-64x4d"),
}
_RETINA = {
    "retinanet-r50-fpn": _Detector(
        "RetinaNet R50-FPN", "lin2017focal", "resnet50-v1.5", 91, local_batch_size=2
    ),
    "retinanet-x50-fpn": _Detector(
        "RetinaNet X50-32x4d-FPN", "lin2017focal", "resnext50-32x4d", 264, 800, 800, 16
    ),
}
"""Torchvision's, which has one class that stays empty; MLPerf's, for 264 classes of OpenImages."""

NAMES = (*_REGION, *_MASK, *_RETINA)


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``."""
    net = Network()
    known = {**_REGION, **_MASK, **_RETINA}[name]
    x = image(known.height, known.width)
    variant = f"{known.height} by {known.width} pixels, {known.classes} classes"
    if name in _RETINA:
        _retina_net(net, x, known)
    else:
        masked = name in _MASK
        _regions(net, x, known, masked)
        chosen = f"{REGIONS} regions, {MASKED} of them masked" if masked else f"{REGIONS} regions"
        variant = f"{known.height} by {known.width} pixels, {chosen}, {known.classes} classes"
    data = data_set("coco")
    return Workload(
        id=name,
        name=known.title,
        family="cnn",
        layers=tuple(net.layers),
        variant=f"approximate; {variant}",
        source=known.source,
        input_elements=3.0 * known.height * known.width,
        stored_bytes=data.sample_bytes or 0.0,
        dataset=data.name,
        dataset_samples=data.size(None),
        default_local_batch_size=known.local_batch_size,
        detection_heads=True,
    )


def _regions(net: Network, x: Tensor, known: _Detector, masked: bool) -> None:
    """Append backbone, pyramid, proposals, and heads on sampled regions."""
    levels = _pyramid(net, feature_maps(net, x, known.backbone))
    levels.append(net.max_pool(levels[-1], "fpn.pool", 1, 2))
    for index, level in enumerate(levels):
        start = len(net.layers)
        y = net.relu(net.conv(level, f"rpn{index}", WIDTH, 3, bias=True), f"rpn{index}.relu")
        net.loss(net.conv(y, f"rpn{index}.objectness", 3, 1, bias=True), f"rpn{index}.loss")
        net.loss(net.conv(y, f"rpn{index}.boxes", 12, 1, bias=True), f"rpn{index}.box_loss")
        _share_weights(net, start, index)
    classes = known.classes + 1  # and none of them
    boxes = net.align(levels[:4], "roi_align", REGIONS, WIDTH * 7 * 7)
    y = net.relu(net.linear(boxes, "box.fc1", 1024), "box.relu1")
    y = net.relu(net.linear(y, "box.fc2", 1024), "box.relu2")
    net.loss(net.linear(y, "box.classes", classes), "box.class_loss")
    net.loss(net.linear(y, "box.edges", classes * 4), "box.edge_loss")
    if masked:
        _masks(net, levels, classes)


def _masks(net: Network, levels: list[Tensor], classes: int) -> None:
    masked = net.align(levels[:4], "mask_align", MASKED, WIDTH * 14 * 14)
    y = masked.view(WIDTH, MASKED * 14, 14)
    for index in range(4):
        y = net.relu(net.conv(y, f"mask.{index}", WIDTH, 3, bias=True), f"mask.relu{index}")
    y = net.deconv(y, "mask.deconv", WIDTH, 2)
    y = net.relu(y, "mask.relu4")
    net.loss(net.conv(y, "mask.logits", classes, 1, bias=True), "mask.loss")


def _retina_net(net: Network, x: Tensor, known: _Detector) -> None:
    """Append backbone, a pyramid from its second map with two levels above, and two towers on each level."""
    levels = _pyramid(net, feature_maps(net, x, known.backbone)[1:])
    levels.append(net.conv(levels[-1], "fpn.p6", WIDTH, 3, stride=2, bias=True))
    levels.append(net.conv(net.relu(levels[-1], "fpn.relu6"), "fpn.p7", WIDTH, 3, stride=2, bias=True))
    anchors = 9
    for index, level in enumerate(levels):
        start = len(net.layers)
        for tower, outputs in (("class", anchors * known.classes), ("box", anchors * 4)):
            y = level
            for depth in range(4):
                name = f"{tower}{index}.{depth}"
                y = net.relu(net.conv(y, name, WIDTH, 3, bias=True), f"{name}.relu")
            net.loss(net.conv(y, f"{tower}{index}.out", outputs, 3, bias=True), f"{tower}{index}.loss")
        _share_weights(net, start, index)


def _share_weights(net: Network, start: int, level: int) -> None:
    """Remove the weights of the layers from ``start`` on, which the first level's layers share."""
    if level:
        net.layers[start:] = [layer._replace(tensors=()) for layer in net.layers[start:]]


def _pyramid(net: Network, maps: list[Tensor]) -> list[Tensor]:
    inner = [net.conv(x, f"fpn.inner{index}", WIDTH, 1, bias=True) for index, x in enumerate(maps)]
    for index in reversed(range(len(maps) - 1)):
        enlarged = net.resize(inner[index + 1], f"fpn.up{index}", 2)
        inner[index] = net.add(inner[index], enlarged, f"fpn.add{index}")
    return [net.conv(x, f"fpn.layer{index}", WIDTH, 3, bias=True) for index, x in enumerate(inner)]
