"""Rows of layers of several types: scans, layers by their pattern, modules that predict further tokens."""

from __future__ import annotations

from collections.abc import Callable

from perfmodel.workloads.architecture import ATTENTION, EXPERTS, SCAN, Architecture
from perfmodel.workloads.builder import Network, Tensor
from perfmodel.workloads.networks.transformer_parts import feed_forward, mixture_of_experts, residual
from perfmodel.workloads.scan import DELTA, LIGHTNING, MAMBA, Scan

Attend = Callable[[Network, Tensor, str, Architecture, int | None], Tensor]
"""Appends the attention of a layer."""


def scan_part(net: Network, x: Tensor, name: str, scan: Scan) -> Tensor:
    """Append a scan with its products: project, convolve, scan by chunks, gate and norm, project back."""
    tokens, inner = x.positions, scan.inner
    y = net.linear(x, f"{name}.in", scan.projected, bias=False)
    rest = scan.projected - scan.convolved
    mixed, _ = net.split(y, f"{name}.split", (scan.convolved, rest))
    others = scan.scalars
    if scan.convolution:
        taps = (scan.convolution, 1)
        shape = Tensor(scan.convolved, tokens)
        mixed = net.convolve(mixed, shape, f"{name}.convolution", taps, groups=scan.convolved)
        others -= scan.convolved * scan.convolution
    if scan.type != LIGHTNING:
        mixed = net.smooth(mixed, f"{name}.activation")
    if scan.type == MAMBA:
        steps = net.linear(mixed, f"{name}.steps", scan.rank + 2 * scan.state, bias=False)
        low, _ = net.split(steps, f"{name}.split_steps", (scan.rank, 2 * scan.state))
        net.linear(low, f"{name}.widened_steps", inner, bias=False)
    elif scan.inner_weights:
        for which in ("decays", "gates"):
            low = Tensor(scan.rank, tokens)
            net.linear(low, f"{name}.widened_{which}", inner, bias=False)
    y = _scanned(net, mixed, name, scan)
    net.parameter(f"{name}.decays_and_norm", others, inner * tokens)
    y = net.multiply(y, Tensor(inner, tokens), f"{name}.gate")
    return net.linear(y, f"{name}.out", x.channels, bias=False)


def _scanned(net: Network, x: Tensor, name: str, scan: Scan) -> Tensor:
    """Append the scan itself: products by chunks, or one pass over the tokens."""
    tokens, y = x.positions, Tensor(scan.inner, x.positions)
    if not scan.chunk:
        return net.unknown([x], y, f"{name}.scan")
    q = min(scan.chunk, tokens)
    chunks = -(-tokens // q)
    keys = Tensor(scan.keys, tokens)
    scores = net.matmul(keys, keys, f"{name}.scores", q, q, scan.state, scan.groups * chunks)
    if scan.type in DELTA:
        corrected = net.matmul(scores, keys, f"{name}.delta", q, scan.state, q, scan.heads * chunks)
        net.matmul(corrected, y, f"{name}.removed", q, scan.head_size, scan.state, scan.heads * chunks)
    inside = net.matmul(scores, x, f"{name}.inside", q, scan.head_size, q, scan.heads * chunks)
    states = net.matmul(x, keys, f"{name}.states", scan.head_size, scan.state, q, scan.heads * chunks)
    passed = net.scale(states, f"{name}.passed_states")
    net.matmul(keys, passed, f"{name}.outside", q, scan.head_size, scan.state, scan.heads * chunks)
    return net.add(inside.view(scan.inner, tokens), y, f"{name}.sum")


def patterned_layer(net: Network, x: Tensor, a: Architecture, index: int, attend: Attend) -> Tensor:
    """Append a layer as its letters say, with a norm before each part."""
    for number, letter in enumerate(a.letters(index), 1):
        layer = f"layer.{index}"
        y = net.layer_norm(x, f"{layer}.norm{number}", a.norm_bias)
        if letter == SCAN:
            assert a.scan is not None
            name, y = "scan", scan_part(net, y, f"{layer}.scan", a.scan)
        elif letter == ATTENTION:
            name = "attention"
            y = attend(net, y, f"{layer}.attention", a, a.attends_to(index, x.positions))
        else:
            name = "ffn"
            y = feed_part(net, y, layer, a, letter == EXPERTS)
        x = residual(net, x, y, f"{layer}.{name}", a.dropout)
    return x


def feed_part(net: Network, x: Tensor, layer: str, a: Architecture, has_experts: bool) -> Tensor:
    """Append the feed-forward part of a layer, or its experts."""
    if has_experts:
        return mixture_of_experts(net, x, f"{layer}.moe", a)
    return feed_forward(net, x, f"{layer}.ffn", a.feed_forward, gated=a.gated, bias=a.bias, relu=a.relu)


def prediction_modules(net: Network, x: Tensor, a: Architecture, attend: Attend) -> None:
    """Append the modules that each predict one token more: two norms, a product, a layer, logits."""
    for index in range(a.mtp_layers):
        name = f"mtp.{index}"
        before = net.layer_norm(x, f"{name}.hidden_norm", a.norm_bias)
        token = net.shared_embedding(f"{name}.token", x.positions, a.hidden)
        token = net.layer_norm(token, f"{name}.token_norm", a.norm_bias)
        both = net.concat([before, token], f"{name}.both")
        x = net.linear(both, f"{name}.product", a.hidden, bias=False)
        y = net.layer_norm(x, f"{name}.norm1", a.norm_bias)
        x = residual(net, x, attend(net, y, f"{name}.attention", a, None), f"{name}.attention", a.dropout)
        y = net.layer_norm(x, f"{name}.norm2", a.norm_bias)
        x = residual(net, x, feed_part(net, y, name, a, a.moe_layers > 0), f"{name}.ffn", a.dropout)
        y = net.layer_norm(x, f"{name}.norm", a.norm_bias)
        net.loss(net.linear(y, f"{name}.head", a.vocabulary, bias=False, weight=False), f"{name}.loss")
