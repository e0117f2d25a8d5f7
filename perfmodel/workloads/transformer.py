"""Transformers over tokens: BERT, GPT-2, Llama and the translation model of Vaswani et al. 2017.

Attention is not fused: scores, scale and mask, softmax, dropout and the weighted sum are rows of their own,
and all scores are computed, causal or not, as the frameworks of their papers did.
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

from perfmodel.errors import InputError
from perfmodel.specs.workload import Layer, Workload
from perfmodel.workloads.builder import Network, Tensor

MASKED_FRACTION = 0.15
"""Share of tokens BERT has to guess; only these reach its vocabulary (Devlin et al. 2019)."""


class Design(NamedTuple):
    """Parameters of a stack of transformer layers."""

    hidden: int
    layers: int
    heads: int
    feed_forward: int
    vocabulary: int
    positions: int = 0
    """Learned position embeddings; 0 where positions are rotated into queries and keys."""
    kv_heads: int = 0
    """Key and value heads; 0 for as many as query heads."""
    head_size: int = 0
    """Features of one head; 0 for hidden / heads."""
    gated: bool = False
    """A third product in the feed-forward part multiplies its activation (SwiGLU)."""
    norm_bias: bool = True
    """LayerNorm has a bias; RMSNorm none."""
    query_bias: bool = True
    """Biases of query, key and value."""
    output_bias: bool = True
    """Bias of the product that ends the attention."""
    bias: bool = True
    """Biases of the feed-forward products."""
    types: int = 2
    """Kinds of segments (BERT)."""
    tied: bool = True
    """The vocabulary product uses the token embeddings."""
    dropout: bool = True


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
    mask: bool = True,
    dropout: bool = True,
    windows: int = 1,
    position_bias: int = 0,
) -> Tensor:
    """Attend from every position of ``x`` to those of ``memory`` (itself if None), in ``windows`` apart.

    ``fused`` makes queries, keys and values with one product; ``position_bias`` is the size of a table added
    to the scores.
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
    if rotary:
        q = net.scale(q, f"{name}.rotary_query", kernels=4)
        k = net.scale(k, f"{name}.rotary_key", kernels=4)
    q, k, v = (net.copy(t, f"{name}.heads_{part}") for part, t in (("query", q), ("key", k), ("value", v)))
    rows, columns, count = x.positions // windows, memory.positions // windows, heads * windows
    scores = net.matmul(q, k, f"{name}.scores", rows, columns, head_size, count)
    if position_bias:
        net.parameter(f"{name}.position_bias", position_bias, scores.elements)
    scores = net.scale(scores, f"{name}.scale", kernels=1 + mask + bool(position_bias))
    scores = net.softmax(scores, f"{name}.softmax")
    if dropout:
        scores = net.dropout(scores, f"{name}.dropout")
    y = net.matmul(scores, v, f"{name}.context", rows, head_size, columns, count)
    y = net.copy(y.view(heads * head_size, x.height, x.width), f"{name}.merge")
    return net.linear(y, f"{name}.output", x.channels, bias)


def feed_forward(
    net: Network,
    x: Tensor,
    name: str,
    width: int,
    *,
    gated: bool = False,
    bias: bool = True,
    relu: bool = False,
) -> Tensor:
    """Apply the feed-forward layers: widen, activate, narrow."""
    y = net.linear(x, f"{name}.fc1", width, bias)
    y = net.relu(y, f"{name}.relu") if relu else net.smooth(y, f"{name}.activation")
    if gated:
        y = net.multiply(y, net.linear(x, f"{name}.gate", width, bias), f"{name}.product")
    return net.linear(y, f"{name}.fc2", x.channels, bias)


def residual(net: Network, x: Tensor, y: Tensor, name: str, dropout: bool = True) -> Tensor:
    """Add the output of a sub-layer to its input."""
    if dropout:
        y = net.dropout(y, f"{name}.residual_dropout")
    return net.add(y, x, f"{name}.add")


def bert_layers(
    design: Design, sequence_length: int, pooler: bool = True, words: bool = True, sentences: bool = True
) -> list[Layer]:
    """Encoder with a norm after each sub-layer; heads guess masked ``words`` and the next ``sentences``."""
    net = Network()
    h = design.hidden
    x = net.embedding("embeddings.word", sequence_length, design.vocabulary, h)
    net.parameter("embeddings.position", design.positions * h, x.elements)
    x = net.add(x, net.embedding("embeddings.type", sequence_length, design.types, h), "embeddings.add_type")
    x = net.scale(x, "embeddings.add_position")
    x = net.dropout(net.layer_norm(x, "embeddings.norm"), "embeddings.dropout")
    for index in range(design.layers):
        name = f"layer.{index}"
        y = attention(net, x, f"{name}.attention", design.heads)
        x = net.layer_norm(residual(net, x, y, f"{name}.attention"), f"{name}.attention.norm")
        y = feed_forward(net, x, f"{name}.ffn", design.feed_forward)
        x = net.layer_norm(residual(net, x, y, f"{name}.ffn"), f"{name}.ffn.norm")
    if pooler:
        first = net.gather(x, "pooler.first", 1)
        pooled = net.relu(net.linear(first, "pooler.dense", h), "pooler.tanh")
    if words:
        y = net.gather(x, "mlm.masked", ceil(MASKED_FRACTION * sequence_length))
        y = net.smooth(net.linear(y, "mlm.transform", h), "mlm.activation")
        y = net.layer_norm(y, "mlm.norm")
        net.loss(net.linear(y, "mlm.decoder", design.vocabulary, weight=not design.tied), "mlm.loss")
    if pooler and sentences:
        net.loss(net.linear(pooled, "nsp.classifier", 2), "nsp.loss")
    return net.layers


def decoder_layers(design: Design, sequence_length: int) -> list[Layer]:
    """Causal stack with a norm before each sub-layer (GPT-2, Llama); its head guesses each next token."""
    net = Network()
    h = design.hidden
    x = net.embedding("embeddings.token", sequence_length, design.vocabulary, h)
    if design.positions:
        net.parameter("embeddings.position", design.positions * h, x.elements)
        x = net.scale(x, "embeddings.add_position")
    if design.dropout:
        x = net.dropout(x, "embeddings.dropout")
    for index in range(design.layers):
        name = f"layer.{index}"
        y = attention(
            net,
            net.layer_norm(x, f"{name}.norm1", design.norm_bias),
            f"{name}.attention",
            design.heads,
            kv_heads=design.kv_heads,
            head_size=design.head_size,
            query_bias=design.query_bias,
            bias=design.output_bias,
            fused=bool(design.positions),
            rotary=not design.positions,
            dropout=design.dropout,
        )
        x = residual(net, x, y, f"{name}.attention", design.dropout)
        y = net.layer_norm(x, f"{name}.norm2", design.norm_bias)
        y = feed_forward(net, y, f"{name}.ffn", design.feed_forward, gated=design.gated, bias=design.bias)
        x = residual(net, x, y, f"{name}.ffn", design.dropout)
    x = net.layer_norm(x, "norm", design.norm_bias)
    net.loss(net.linear(x, "head", design.vocabulary, bias=False, weight=not design.tied))
    return net.layers


def translation_layers(design: Design, sequence_length: int) -> list[Layer]:
    """Encoder and decoder over a pair of sentences; embeddings of both and the output share one table."""
    net = Network()
    h, heads = design.hidden, design.heads

    def embed(tokens: Tensor, side: str) -> Tensor:
        tokens = net.scale(tokens, f"{side}.add_position", kernels=2)
        return net.dropout(tokens, f"{side}.dropout")

    def attend(x: Tensor, name: str, memory: Tensor | None = None) -> Tensor:
        y = attention(net, x, name, heads, memory=memory, query_bias=False, bias=False)
        return net.layer_norm(residual(net, x, y, name), f"{name}.norm")

    def feed(x: Tensor, name: str) -> Tensor:
        y = feed_forward(net, x, name, design.feed_forward, relu=True)
        return net.layer_norm(residual(net, x, y, name), f"{name}.norm")

    x = embed(net.embedding("embeddings.token", sequence_length, design.vocabulary, h), "encoder")
    for index in range(design.layers):
        x = feed(attend(x, f"encoder.{index}.attention"), f"encoder.{index}.ffn")
    memory = x
    x = embed(net.shared_embedding("embeddings.target", sequence_length, h), "decoder")
    for index in range(design.layers):
        x = attend(x, f"decoder.{index}.attention")
        x = attend(x, f"decoder.{index}.cross_attention", memory)
        x = feed(x, f"decoder.{index}.ffn")
    net.loss(net.linear(x, "head", design.vocabulary, bias=False, weight=False))
    return net.layers


_BERT = {
    "bert-base": Design(768, 12, 12, 3072, 30522, 512),
    "bert-large": Design(1024, 24, 16, 4096, 30522, 512),
}
_GPT2 = {
    "gpt2": Design(768, 12, 12, 3072, 50257, 1024),
    "gpt2-medium": Design(1024, 24, 16, 4096, 50257, 1024),
    "gpt2-large": Design(1280, 36, 20, 5120, 50257, 1024),
    "gpt2-xl": Design(1600, 48, 25, 6400, 50257, 1024),
}
_TRANSLATION = {"transformer-big": Design(1024, 6, 16, 4096, 37000)}

NAMES = (*_BERT, *_GPT2, *_TRANSLATION)


def check_positions(name: str, design: Design, sequence_length: int) -> None:
    """Refuse a sequence longer than the position embeddings."""
    if design.positions and sequence_length > design.positions:
        raise InputError(
            f"{name}: sequence length {sequence_length} is beyond its {design.positions} position embeddings"
        )


def build(name: str, sequence_length: int | None = None) -> Workload:
    """Return the workload of one of ``NAMES``.

    One sample is one sequence: 128 tokens for BERT (the first phase of its pre-training), 1024 for GPT-2, a
    pair of 256 each for translation.  Identifiers are stored as 32-bit integers (an assumption).
    """
    if name in _BERT:
        design, length = _BERT[name], sequence_length or 128
        check_positions(name, design, length)
        # identifiers, segments and mask of every token, labels of the masked ones
        return _workload(
            name,
            f"BERT {name.removeprefix('bert-')}",
            bert_layers(design, length),
            length,
            elements=3 * length + ceil(MASKED_FRACTION * length),
            variant="pre-training: masked words (15 % of the tokens reach the vocabulary) and next sentence",
            source="devlin2019",
            dataset="Wikipedia and BooksCorpus",
            local_batch_size=32 if name == "bert-base" else 16,
            padded=True,
        )
    if name in _GPT2:
        design, length = _GPT2[name], sequence_length or 1024
        check_positions(name, design, length)
        return _workload(
            name,
            name.replace("gpt2", "GPT-2").replace("-", " ").replace("GPT 2", "GPT-2"),
            decoder_layers(design, length),
            length,
            elements=2 * length,
            variant="language model, output tied to the embeddings",
            source="radford2019",
            dataset="WebText",
            local_batch_size=8,
        )
    design, length = _TRANSLATION[name], sequence_length or 256
    return _workload(
        name,
        "Transformer big",
        translation_layers(design, length),
        length,
        elements=3 * length,
        variant="37000 shared word pieces; source and target of the same length",
        source="vaswani2017",
        dataset="WMT 2014 English-German",
        samples=4_500_000,
        local_batch_size=16,
    )


def _workload(
    identifier: str,
    name: str,
    layers: list[Layer],
    sequence_length: int,
    *,
    elements: int,
    variant: str,
    source: str,
    dataset: str,
    samples: int | None = None,
    local_batch_size: int,
    padded: bool = False,
) -> Workload:
    return Workload(
        id=identifier,
        name=name,
        family="transformer",
        layers=tuple(layers),
        variant=variant,
        source=source,
        sample="sequence",
        sequence_length=sequence_length,
        input_elements=float(elements),
        stored_bytes=4.0 * elements,
        dataset=dataset,
        dataset_samples=samples,
        default_local_batch_size=local_batch_size,
        default_optimizer="adam",
        padded=padded,
    )
