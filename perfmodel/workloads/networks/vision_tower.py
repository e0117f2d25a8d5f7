"""Layers of an encoder of images in front of a language model, with its projector."""

from __future__ import annotations

from perfmodel.workloads.builder import Network, Tensor
from perfmodel.workloads.networks.fused_attention import self_attention
from perfmodel.workloads.networks.transformer_parts import feed_forward
from perfmodel.workloads.tower import Tower
from perfmodel.workloads.workload import Layer


def tower_layers(tower: Tower) -> list[Layer]:
    """Return the layers for all images of a sample; each attends to itself."""
    t, net = tower, Network()
    patches = t.images * t.image_tokens * t.patches_per_token
    x = net.linear(
        Tensor(t.patch_elements, patches, needs_gradient=False), "vision.patches", t.hidden, t.patch_bias
    )
    if t.class_token:
        net.parameter("vision.class_token", t.hidden, t.hidden)
        net.copy(x, "vision.tokens")
        x = Tensor(t.hidden, t.images * t.positions)  # the patches behind the class token
    if t.learned_positions:
        net.parameter("vision.positions", t.learned_positions * t.hidden, x.elements)
        x = net.scale(x, "vision.add_position")
    if t.outer_norms > 1:
        x = net.layer_norm(x, "vision.norm_before")
    for index in range(t.layers):
        name = f"vision.{index}"
        y = net.layer_norm(x, f"{name}.norm1")
        y = self_attention(net, y, f"{name}.attention", t.heads, windows=t.images)
        x = net.add(y, x, f"{name}.attention.add")
        y = feed_forward(net, net.layer_norm(x, f"{name}.norm2"), f"{name}.mlp", t.feed_forward)
        x = net.add(y, x, f"{name}.mlp.add")
    if t.outer_norms:
        x = net.layer_norm(x, "vision.norm_after")
    rows = [_without_backward(row) if t.frozen else row for row in net.layers]
    if t.class_token:
        x = net.gather(x, "vision.without_class", t.tokens)
    if t.frozen:
        x = Tensor(x.channels, x.positions, needs_gradient=False)
    start = len(rows)
    for index in range(t.mergers):
        _project(net, x, t, f"projector.{index}" if t.mergers > 1 else "projector", bool(index))
    return rows + net.layers[start:]


def _without_backward(row: Layer) -> Layer:
    """Return a row of a frozen network, whose input needs no gradient either."""
    return row._replace(backward_flops=0, backward_elements=0, saved_elements=0, backward_kernels=0)


def _project(net: Network, x: Tensor, t: Tower, name: str, after_join: bool) -> None:
    """Append a projector; the norm comes before neighbours are joined, except in further ones."""
    if t.projector == "pool":
        x = net.reduce(
            x, Tensor(t.hidden, t.tokens, needs_gradient=x.needs_gradient), f"{name}.pool", 1, 1, False
        )
        x = net.layer_norm(x, f"{name}.norm", bias=False)
        net.linear(x, f"{name}.linear", t.text_hidden, bias=False)
        return
    if t.projector == "merge":
        if after_join:
            x = net.layer_norm(x.view(t.joined, t.tokens), f"{name}.norm")
        else:
            x = net.layer_norm(x, f"{name}.norm").view(t.joined, t.tokens)
    x = net.smooth(net.linear(x, f"{name}.fc1", t.inner), f"{name}.activation")
    net.linear(x, f"{name}.fc2", t.text_hidden)
