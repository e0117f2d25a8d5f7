"""Transformer-XL (Dai et al. 2019), whose tokens also attend to those of the segment before.

The sizes are those of NVIDIA's DeepLearningExamples on WikiText-103.  Of the adaptive output only the head is
computed, the 20,000 most frequent words and one entry for each of three tails: few tokens reach the tails.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from perfmodel.workloads.builder import Network, Tensor
from perfmodel.workloads.networks.transformer_parts import feed_forward, residual
from perfmodel.workloads.workload import Workload

VOCABULARY = 267_735
CUTOFFS = (0, 19_997, 39_997, 199_997, VOCABULARY)
"""First word of each part of the vocabulary, most frequent first."""


class _Size(NamedTuple):
    title: str
    hidden: int
    layers: int
    heads: int
    head_size: int
    feed_forward: int
    length: int
    """Tokens of a segment, and of the remembered one."""
    shrink: int
    """Factor by which the embeddings of each part of the vocabulary are narrower than those before."""
    attention_dropout: bool
    local_batch_size: int


_SIZES = {
    "transformer-xl-base": _Size("Transformer-XL base", 512, 16, 8, 64, 2048, 192, 1, False, 32),
    "transformer-xl-large": _Size("Transformer-XL large", 1024, 18, 16, 64, 4096, 384, 4, True, 16),
}

NAMES = tuple(_SIZES)


def build(name: str, sequence_length: int | None = None) -> Workload:
    """Return the workload of one of ``NAMES``; a sample is a segment, which attends to the one before."""
    size = _SIZES[name]
    length = sequence_length or size.length
    net = Network()
    x = _embedding(net, size, length)
    # what is added to queries, for all layers: once for keys and once for positions
    for part in ("keys", "positions"):
        net.parameter(f"bias.{part}", size.heads * size.head_size, 0)
    for index in range(size.layers):
        x = _layer(net, x, size, f"layer.{index}")
    x = net.dropout(x, "dropout")
    tails = len(CUTOFFS) - 2
    net.parameter("tails", tails * size.hidden + tails, 0)
    net.parameter("words.bias", VOCABULARY, 0)
    net.loss(net.linear(x, "head", CUTOFFS[1] + tails, bias=False, weight=False))
    return Workload(
        id=name,
        name=size.title,
        family="transformer",
        layers=tuple(net.layers),
        variant=f"WikiText-103, {length} tokens attend to {2 * length}; adaptive output, head alone",
        source="dai2019",
        sample="sequence",
        sequence_length=length,
        input_elements=2.0 * length,
        stored_bytes=8.0 * length,
        dataset="WikiText-103",
        dataset_samples=103_227_021 // length,
        default_local_batch_size=size.local_batch_size,
        default_optimizer="lamb",
    )


def _embedding(net: Network, size: _Size, length: int) -> Tensor:
    """Append the adaptive embedding: a table for each part of the vocabulary, mapped to the hidden size."""
    if size.shrink == 1:
        return net.dropout(net.embedding("embeddings", length, VOCABULARY, size.hidden), "embeddings.dropout")
    x = net.embedding("embeddings.0", length, CUTOFFS[1], size.hidden)
    for part, (first, last) in enumerate(pairwise(CUTOFFS[1:]), 1):
        width = size.hidden // size.shrink**part
        net.parameter(f"embeddings.{part}", (last - first) * width, 0)
        net.parameter(f"embeddings.{part}.map", width * size.hidden, 0)
    return net.dropout(net.linear(x, "embeddings.0.map", size.hidden, bias=False), "embeddings.dropout")


def _layer(net: Network, x: Tensor, size: _Size, name: str) -> Tensor:
    width, seen = size.heads * size.head_size, 2 * x.height
    both = net.unknown([x], Tensor(size.hidden, seen), f"{name}.remember")
    parts = (width, width, width)
    q, k, v = net.split(net.linear(both, f"{name}.qkv", 3 * width, bias=False), f"{name}.split", parts)
    q = Tensor(width, x.height)  # remembered positions have no queries
    # the positions are the same for every sample: their product is a weight that a batch shares
    net.parameter(f"{name}.positions", size.hidden * width, 0)
    shape = (x.height, seen, size.head_size, size.heads)
    content = net.matmul(net.scale(q, f"{name}.query_content"), k, f"{name}.scores", *shape)
    places = Tensor(width, seen)
    position = net.matmul(net.scale(q, f"{name}.query_position"), places, f"{name}.position_scores", *shape)
    position = net.copy(position, f"{name}.shift")
    scores = net.scale(net.add(content, position, f"{name}.sum"), f"{name}.scale", kernels=2)
    scores = net.softmax(scores, f"{name}.softmax")
    if size.attention_dropout:
        scores = net.dropout(scores, f"{name}.attention_dropout")
    y = net.matmul(scores, v, f"{name}.context", x.height, size.head_size, seen, size.heads)
    y = net.linear(y.view(width, x.height), f"{name}.output", size.hidden, bias=False)
    x = net.layer_norm(residual(net, x, y, f"{name}.attention"), f"{name}.attention.norm")
    y = feed_forward(net, x, f"{name}.ffn", size.feed_forward, relu=True)
    return net.layer_norm(residual(net, x, y, f"{name}.ffn"), f"{name}.ffn.norm")
