"""DETR (Carion et al. 2020), approximately: a transformer over the last map of a residual network.

Matching objects to queries, on the host, is left out.
"""

from __future__ import annotations

from perfmodel.hardware.dataset import data_set
from perfmodel.workloads.builder import Network, Tensor, image
from perfmodel.workloads.networks.resnet import feature_maps
from perfmodel.workloads.networks.transformer_parts import attention, feed_forward, residual
from perfmodel.workloads.workload import Workload

_BACKBONES = {"detr-r50": ("DETR R50", "resnet50-v1.5"), "detr-r101": ("DETR R101", "resnet101-v1.5")}

NAMES = tuple(_BACKBONES)

HEIGHT, WIDTH = 800, 1066
"""Pixels of a common image with its shorter side at 800."""
HIDDEN, HEADS, LAYERS, FEED_FORWARD = 256, 8, 6, 2048
QUERIES, CLASSES = 100, 92
"""Object queries; classes of COCO, with one for no object."""


def build(name: str) -> Workload:
    """Return the workload of one of ``NAMES``."""
    title, backbone = _BACKBONES[name]
    net = Network()
    x = feature_maps(net, image(HEIGHT, WIDTH), backbone)[-1]
    x = net.conv(x, "projection", HIDDEN, 1, bias=True)
    memory = net.copy(x.view(HIDDEN, x.positions), "tokens")
    for index in range(LAYERS):
        name_ = f"encoder.{index}"
        memory = _fed(net, _attended(net, memory, f"{name_}.attention"), f"{name_}.ffn")
    net.parameter("queries", QUERIES * HIDDEN, QUERIES * HIDDEN)
    x = Tensor(HIDDEN, QUERIES)
    for index in range(LAYERS):
        name_ = f"decoder.{index}"
        x = _attended(net, x, f"{name_}.attention")
        x = _fed(net, _attended(net, x, f"{name_}.cross_attention", memory), f"{name_}.ffn")
        _heads(net, x, index)
    data = data_set("coco")
    return Workload(
        id=name,
        name=title,
        family="cnn",
        layers=tuple(net.layers),
        variant=f"approximate; {HEIGHT} by {WIDTH} pixels, {QUERIES} queries",
        source="carion2020",
        input_elements=3.0 * HEIGHT * WIDTH,
        stored_bytes=data.sample_bytes or 0.0,
        dataset=data.name,
        dataset_samples=data.size(None),
        default_local_batch_size=2,
        default_optimizer="adam",
        detection_heads=True,
    )


def _attended(net: Network, x: Tensor, name: str, memory: Tensor | None = None) -> Tensor:
    """Append attention with positions added to queries and keys."""
    placed = net.scale(x, f"{name}.add_position", kernels=2)
    y = attention(net, placed, name, HEADS, memory=memory, mask=False)
    return net.layer_norm(residual(net, x, y, name), f"{name}.norm")


def _fed(net: Network, x: Tensor, name: str) -> Tensor:
    y = feed_forward(net, x, name, FEED_FORWARD, relu=True)
    return net.layer_norm(residual(net, x, y, name), f"{name}.norm")


def _heads(net: Network, x: Tensor, layer: int) -> None:
    """Append the heads for classes and boxes on one decoder layer; all layers share norm and weights."""
    start = len(net.layers)
    x = net.layer_norm(x, f"heads{layer}.norm")
    net.loss(net.linear(x, f"heads{layer}.classes", CLASSES), f"heads{layer}.class_loss")
    y = x
    for index in range(2):
        y = net.relu(net.linear(y, f"heads{layer}.box{index}", HIDDEN), f"heads{layer}.relu{index}")
    net.loss(net.linear(y, f"heads{layer}.edges", 4), f"heads{layer}.box_loss")
    if layer:
        net.layers[start:] = [row._replace(tensors=()) for row in net.layers[start:]]
