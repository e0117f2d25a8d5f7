"""Parts of a transformer's layer: attention, latent attention, feed-forward part, mixture of experts.

Attention is not fused: scores, scale and mask, softmax, dropout and the weighted sum are rows of their own,
and all scores in reach are computed, causal or not, as the frameworks of the first papers did.
"""

from __future__ import annotations

from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.builder import Network, Tensor


def attention(
    net: Network,
    x: Tensor,
    name: str,
    heads: int,
    *,
    memory: Tensor | None = None,
    kv_heads: int = 0,
    head_size: int = 0,
    query_bias: bool = True,
    bias: bool = True,
    fused: bool = False,
    rotary: bool = False,
    query_key_norm: bool = False,
    norm_over_heads: bool = False,
    output_gate: bool = False,
    mask: bool = True,
    dropout: bool = True,
    windows: int = 1,
    reach: int | None = None,
    position_bias: int = 0,
) -> Tensor:
    """Append attention from every position of ``x`` to ``memory`` (itself if None), in separate ``windows``.

    ``fused`` makes queries, keys and values with one product; a position attends to ``reach`` others (all of
    its window if None); ``position_bias`` is the size of a table added to the scores; ``output_gate`` makes
    another product of ``x``, whose sigmoid multiplies the output.
    """
    memory = x if memory is None else memory
    head_size = head_size or x.channels // heads
    kv_heads = kv_heads or heads
    if fused:
        width = heads * head_size
        parts = (width, kv_heads * head_size, kv_heads * head_size)
        q, k, v = net.split(net.linear(x, f"{name}.qkv", sum(parts), query_bias), f"{name}.split", parts)
    else:
        q = net.linear(x, f"{name}.query", heads * head_size, query_bias)
        k = net.linear(memory, f"{name}.key", kv_heads * head_size, query_bias)
        v = net.linear(memory, f"{name}.value", kv_heads * head_size, query_bias)
    if query_key_norm:
        q, k = (
            _normalised(net, t, f"{name}.{part}_norm", t.channels if norm_over_heads else head_size)
            for part, t in (("query", q), ("key", k))
        )
    if rotary:
        q = net.scale(q, f"{name}.rotary_query", kernels=4)
        k = net.scale(k, f"{name}.rotary_key", kernels=4)
    y = _weighted_sum(
        net, q, k, v, name, heads, head_size, head_size, mask, dropout, windows, reach, position_bias
    )
    if output_gate:
        gate = net.linear(x, f"{name}.gate", heads * head_size, query_bias)
        y = net.multiply(y, net.smooth(gate, f"{name}.gate_sigmoid"), f"{name}.gated")
    return net.linear(y, f"{name}.output", x.channels, bias)


def latent_attention(net: Network, x: Tensor, name: str, architecture: Architecture) -> Tensor:
    """Append latent attention: queries, keys and values are expanded from fewer features (DeepSeek-V2)."""
    a = architecture
    plain, value_size = a.head_size - a.rope_size, a.value_size or a.head_size
    q = x
    if a.query_rank:
        q = net.linear(q, f"{name}.query_down", a.query_rank, bias=False)
        q = net.layer_norm(q, f"{name}.query_norm", bias=False)
    latent_query = q
    q = net.linear(q, f"{name}.query_up", a.heads * a.head_size, bias=False)
    down = net.linear(x, f"{name}.kv_down", a.kv_rank + a.rope_size, bias=False)
    latent, rotated = net.split(down, f"{name}.split_rotary", (a.kv_rank, a.rope_size))
    latent = net.layer_norm(latent, f"{name}.kv_norm", bias=False)
    expanded = net.linear(latent, f"{name}.kv_up", a.heads * (plain + value_size), bias=False)
    k, v = net.split(expanded, f"{name}.split", (a.heads * plain, a.heads * value_size))
    q = net.scale(q, f"{name}.rotary_query", kernels=4)
    rotated = net.scale(rotated, f"{name}.rotary_key", kernels=4)
    k = net.concat([k, Tensor(a.heads * a.rope_size, x.height)], f"{name}.key")
    reach = None
    if a.index_heads:
        _index(net, x, latent_query, f"{name}.index", a)
        reach = a.index_top_k
    y = _weighted_sum(net, q, k, v, name, a.heads, a.head_size, value_size, True, a.dropout, 1, reach, 0)
    return net.linear(y, f"{name}.output", x.channels, a.output_bias)


def _index(net: Network, x: Tensor, query: Tensor, name: str, a: Architecture) -> None:
    """Append an indexer: scores of all pairs of positions in few features, of which the largest are taken."""
    q = net.linear(query, f"{name}.query", a.index_heads * a.index_size, bias=False)
    k = net.layer_norm(net.linear(x, f"{name}.key", a.index_size, bias=False), f"{name}.key_norm")
    weights = net.linear(x, f"{name}.weights", a.index_heads, bias=False)
    length = x.positions
    scores = net.matmul(q, k, f"{name}.scores", length, length, a.index_size, a.index_heads)
    scores = net.relu(scores, f"{name}.relu")
    net.unknown([scores, weights], Tensor(length, length), f"{name}.select")


def _normalised(net: Network, x: Tensor, name: str, head_size: int) -> Tensor:
    """Append a norm over the features of each head."""
    heads = x.view(head_size, x.elements // head_size)
    return net.layer_norm(heads, name, bias=False).view(x.channels, x.height, x.width)


def _weighted_sum(
    net: Network,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    name: str,
    heads: int,
    head_size: int,
    value_size: int,
    mask: bool,
    dropout: bool,
    windows: int,
    reach: int | None,
    position_bias: int,
) -> Tensor:
    """Append scores of all pairs of positions, their softmax, and the weighted sum of the values."""
    height, width = q.height, q.width
    rows, columns, count = q.positions // windows, k.positions // windows, heads * windows
    columns = columns if reach is None else min(columns, reach)
    q, k, v = (net.copy(t, f"{name}.heads_{part}") for part, t in (("query", q), ("key", k), ("value", v)))
    scores = net.matmul(q, k, f"{name}.scores", rows, columns, head_size, count)
    if position_bias:
        net.parameter(f"{name}.position_bias", position_bias, scores.elements)
    scores = net.scale(scores, f"{name}.scale", kernels=1 + mask + bool(position_bias))
    scores = net.softmax(scores, f"{name}.softmax")
    if dropout:
        scores = net.dropout(scores, f"{name}.dropout")
    y = net.matmul(scores, v, f"{name}.context", rows, value_size, columns, count)
    return net.copy(y.view(heads * value_size, height, width), f"{name}.merge")


def feed_forward(
    net: Network,
    x: Tensor,
    name: str,
    width: int,
    *,
    gated: bool = False,
    bias: bool = True,
    relu: bool = False,
    experts: int = 1,
) -> Tensor:
    """Append the feed-forward layers: widen, activate, narrow; by ``experts``, each on a share of ``x``."""
    y = _product(net, x, f"{name}.fc1", width, bias, experts)
    y = net.relu(y, f"{name}.relu") if relu else net.smooth(y, f"{name}.activation")
    if gated:
        y = net.multiply(y, _product(net, x, f"{name}.gate", width, bias, experts), f"{name}.product")
    return _product(net, y, f"{name}.fc2", x.channels, bias, experts)


def _product(net: Network, x: Tensor, name: str, features: int, bias: bool, experts: int) -> Tensor:
    """Append a linear layer; the weights of all experts are one tensor, and their products one kernel."""
    y = net.linear(x, name, features, bias)
    if experts > 1:
        layer, rows = net.layers[-1], x.positions / experts
        flops = 2 * rows * features * x.channels * experts
        net.layers[-1] = layer._replace(
            tensors=tuple(experts * elements for elements in layer.tensors),
            forward_flops=flops,
            backward_flops=2 * flops,
            gemm_rows=rows,
            gemm_count=experts,
        )
    return y


def mixture_of_experts(net: Network, x: Tensor, name: str, architecture: Architecture) -> Tensor:
    """Append a mixture of experts with even routing, shared experts included; return the sum of outputs."""
    a = architecture
    scores = net.linear(x, f"{name}.router", a.experts, a.router_bias)
    scores = net.softmax(scores, f"{name}.router_softmax")
    y = net.gather(x, f"{name}.dispatch", x.positions * a.top_k)
    y = feed_forward(
        net,
        y,
        f"{name}.experts",
        a.expert_feed_forward,
        gated=a.gated,
        bias=a.bias,
        relu=a.relu,
        experts=a.experts,
    )
    y = net.unknown([y, scores], Tensor(x.channels, x.height, x.width), f"{name}.combine")
    if a.shared_experts:
        width = a.shared_experts * a.expert_feed_forward
        shared = feed_forward(net, x, f"{name}.shared", width, gated=a.gated, bias=a.bias, relu=a.relu)
        if a.shared_gate:
            gate = net.linear(x, f"{name}.shared_gate", 1, bias=False)
            shared = net.unknown([shared, gate], Tensor(x.channels, x.height, x.width), f"{name}.weighted")
        y = net.add(y, shared, f"{name}.add_shared")
    return y


def residual(net: Network, x: Tensor, y: Tensor, name: str, dropout: bool = True) -> Tensor:
    """Append the sum of a sub-layer's output and its input."""
    if dropout:
        y = net.dropout(y, f"{name}.residual_dropout")
    return net.add(y, x, f"{name}.add")
