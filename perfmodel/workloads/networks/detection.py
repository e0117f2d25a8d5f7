"""A detector and a segmenter, approximately: YOLOv3 and DeepLab v3+.

Redmon and Farhadi 2018, Chen et al. 2018.  Backbones and heads follow the papers; matching boxes and the work
of the host on them are left out.
"""

from __future__ import annotations

from perfmodel.hardware.dataset import data_set
from perfmodel.workloads.builder import Network, Tensor, image
from perfmodel.workloads.workload import Workload

NAMES = ("yolov3", "deeplab-v3-plus")


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``."""
    net = Network()
    if name == "yolov3":
        _yolo(net, image(608))
        title, source, variant, shape = "YOLOv3", "redmon2018", "608 pixels, 80 classes", (608, 608)
    else:
        _deeplab(net, image(513))
        title, source, variant, shape = (
            "DeepLab v3+",
            "chen2018",
            "Xception-65, 513 pixels, 19 classes",
            (513, 513),
        )
    data = data_set("cityscapes" if name == "deeplab-v3-plus" else "coco")
    return Workload(
        id=name,
        name=title,
        family="cnn",
        layers=tuple(net.layers),
        variant=f"approximate; {variant}",
        source=source,
        input_elements=3.0 * shape[0] * shape[1],
        stored_bytes=data.sample_bytes or 0.0,
        dataset=data.name,
        dataset_samples=data.size(None),
        default_local_batch_size=8 if name == "yolov3" else 2,
        detection_heads=True,
    )


def _yolo(net: Network, x: Tensor) -> None:
    """Append Darknet-53, then three scales that each read the coarser one enlarged."""
    x = net.conv_norm(x, "stem", 32, 3)
    maps = []
    for stage, count in enumerate((1, 2, 8, 8, 4)):
        width = 64 << stage
        x = net.conv_norm(x, f"stage{stage}.down", width, 3, stride=2)
        for block in range(count):
            name = f"stage{stage}.{block}"
            y = net.conv_norm(net.conv_norm(x, f"{name}.narrow", width // 2), f"{name}.wide", width, 3)
            x = net.add(y, x, f"{name}.add")
        maps.append(x)
    x = maps[-1]
    for scale, width in enumerate((512, 256, 128)):
        if scale:
            x = net.resize(net.conv_norm(x, f"neck{scale}", width), f"up{scale}", 2)
            x = net.concat([x, maps[-1 - scale]], f"cat{scale}")
        for index in range(2):
            x = net.conv_norm(x, f"head{scale}.{2 * index}", width)
            x = net.conv_norm(x, f"head{scale}.{2 * index + 1}", 2 * width, 3)
        x = net.conv_norm(x, f"head{scale}.4", width)
        y = net.conv_norm(x, f"head{scale}.5", 2 * width, 3)
        # three boxes, each of 4 edges, an objectness and 80 classes
        net.loss(net.conv(y, f"head{scale}.out", 3 * 85, 1, bias=True), f"loss{scale}")


def _deeplab(net: Network, x: Tensor) -> None:
    """Append Xception-65 to 1/16 of the size, atrous pooling, and a decoder at 1/4 of the size."""
    classes = 19
    x = net.conv_norm(net.conv_norm(x, "entry.conv1", 32, 3, stride=2), "entry.conv2", 64, 3)
    low = x
    for index, (width, stride) in enumerate(((128, 2), (256, 2), (728, 2))):
        x = _separable_block(net, x, f"entry.{index}", (width, width, width), stride)
        low = x if index == 0 else low
    for index in range(16):
        x = _separable_block(net, x, f"middle.{index}", (728, 728, 728), 1)
    x = _separable_block(net, x, "exit", (728, 1024, 1024), 1)
    for index, width in enumerate((1536, 1536, 2048)):
        x = _separable(net, x, f"exit.sep{index}", width)
    branches = [net.conv_norm(x, "aspp.0", 256)]
    branches += [_separable(net, x, f"aspp.{index}", 256) for index in (1, 2, 3)]
    pooled = net.conv_norm(net.global_pool(x, "aspp.pool"), "aspp.4", 256)
    branches.append(net.resize(pooled, "aspp.spread", x.height))
    x = net.dropout(net.conv_norm(net.concat(branches, "aspp.cat"), "aspp.project", 256), "aspp.dropout")
    x = net.resize(x, "decoder.up", low.height / x.height)
    x = net.concat([x, net.conv_norm(low, "decoder.low", 48)], "decoder.cat")
    x = _separable(net, _separable(net, x, "decoder.0", 256), "decoder.1", 256)
    x = net.conv(x, "decoder.logits", classes, 1, bias=True)
    net.loss(net.resize(x, "decoder.full", 4))


def _separable(net: Network, x: Tensor, name: str, width: int, stride: int = 1) -> Tensor:
    x = net.conv_norm(x, f"{name}.depthwise", x.channels, 3, stride, groups=x.channels)
    return net.conv_norm(x, f"{name}.pointwise", width)


def _separable_block(net: Network, x: Tensor, name: str, widths: tuple[int, ...], stride: int) -> Tensor:
    y = x
    for index, width in enumerate(widths):
        y = _separable(net, y, f"{name}.{index}", width, stride if index == len(widths) - 1 else 1)
    if stride != 1 or x.channels != y.channels:
        x = net.conv_norm(x, f"{name}.skip", y.channels, 1, stride, activation="")
    return net.add(y, x, f"{name}.add")
