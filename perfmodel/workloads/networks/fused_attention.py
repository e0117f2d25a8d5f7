"""Attention in one kernel, which keeps no scores, for networks trained since such kernels exist."""

from __future__ import annotations

from perfmodel.workloads.builder import Network, Tensor


def fused_attention(
    net: Network, q: Tensor, k: Tensor, v: Tensor, name: str, heads: int, windows: int = 1
) -> Tensor:
    """Append the attention of every position of ``q`` to all of ``k``, in separate ``windows``.

    Returns the weighted sum of ``v``.

    The kernel (Dao et al. 2022) reads queries, keys and values and writes the sum: both products are rows of
    their own, and scores are neither moved nor kept.  Masked scores are computed; scores computed again in
    the backward pass are not counted, as by those who publish FLOP.
    """
    head_size, rows, columns = q.channels // heads, q.positions // windows, k.positions // windows
    scores = net.matmul(q, k, f"{name}.scores", rows, columns, head_size, heads * windows)
    _on_chip(net, scores)
    scores.storage.kept = True
    y = net.matmul(scores, v, f"{name}.context", rows, head_size, columns, heads * windows)
    _on_chip(net, scores)
    return y.view(q.channels, q.height, q.width)


def _on_chip(net: Network, scores: Tensor) -> None:
    """Take the scores out of the traffic of the last row."""
    row = net.layers[-1]
    net.layers[-1] = row._replace(
        forward_elements=row.forward_elements - scores.elements,
        backward_elements=row.backward_elements - 2 * scores.elements,
    )


def self_attention(
    net: Network,
    x: Tensor,
    name: str,
    heads: int,
    *,
    query_bias: bool = True,
    key_bias: bool = True,
    memory: Tensor | None = None,
    bias: bool = True,
    windows: int = 1,
) -> Tensor:
    """Append attention of ``x`` to itself, or to ``memory``, with products of queries, keys and values.

    Queries, keys and values of one input are one product where all or none have a bias.
    """
    width = x.channels
    if memory is None and query_bias == key_bias:
        joined = net.linear(x, f"{name}.qkv", 3 * width, query_bias)
        q, k, v = net.split(joined, f"{name}.split", (width, width, width))
    else:
        source = x if memory is None else memory
        q = net.linear(x, f"{name}.query", width, query_bias)
        k = net.linear(source, f"{name}.key", width, key_bias)
        v = net.linear(source, f"{name}.value", width, query_bias)
    return net.linear(fused_attention(net, q, k, v, name, heads, windows), f"{name}.output", width, bias)
