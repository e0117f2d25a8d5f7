"""Layer tables of whole transformers: encoders, decoders, and both together."""

from __future__ import annotations

from math import ceil

from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.builder import Network, Tensor
from perfmodel.workloads.networks.hybrid_parts import feed_part, patterned_layer, prediction_modules
from perfmodel.workloads.networks.transformer_parts import (
    attention,
    feed_forward,
    latent_attention,
    residual,
)
from perfmodel.workloads.workload import Layer


def bert_layers(
    architecture: Architecture,
    sequence_length: int,
    pooler: bool = True,
    words: bool = True,
    sentences: bool = True,
) -> list[Layer]:
    """Return an encoder with norms after sub-layers, and heads for masked ``words``, next ``sentences``."""
    a, net = architecture, Network()
    x = net.embedding("embeddings.word", sequence_length, a.vocabulary, a.hidden)
    net.parameter("embeddings.position", a.learned_positions * a.hidden, x.elements)
    if a.types:
        types = net.embedding("embeddings.type", sequence_length, a.types, a.hidden)
        x = net.add(x, types, "embeddings.add_type")
    x = net.scale(x, "embeddings.add_position")
    x = net.dropout(net.layer_norm(x, "embeddings.norm"), "embeddings.dropout")
    for index in range(a.layers):
        name = f"layer.{index}"
        y = attention(net, x, f"{name}.attention", a.heads)
        x = net.layer_norm(residual(net, x, y, f"{name}.attention"), f"{name}.attention.norm")
        y = feed_forward(net, x, f"{name}.ffn", a.feed_forward)
        x = net.layer_norm(residual(net, x, y, f"{name}.ffn"), f"{name}.ffn.norm")
    if pooler:
        first = net.gather(x, "pooler.first", 1)
        pooled = net.relu(net.linear(first, "pooler.dense", a.hidden), "pooler.tanh")
    if words:
        y = net.gather(x, "mlm.masked", ceil(a.predicted_fraction * sequence_length))
        y = net.smooth(net.linear(y, "mlm.transform", a.hidden), "mlm.activation")
        y = net.layer_norm(y, "mlm.norm")
        net.loss(net.linear(y, "mlm.decoder", a.vocabulary, weight=not a.tied), "mlm.loss")
    if pooler and sentences:
        net.loss(net.linear(pooled, "nsp.classifier", 2), "nsp.loss")
    return net.layers


def decoder_layers(architecture: Architecture, sequence_length: int) -> list[Layer]:
    """Return a causal stack with norms before sub-layers (GPT, Llama); its head predicts the next token."""
    a, net = architecture, Network()
    x = net.embedding("embeddings.token", sequence_length, a.vocabulary, a.hidden)
    if a.learned_positions:
        net.parameter("embeddings.position", a.learned_positions * a.hidden, x.elements)
        x = net.scale(x, "embeddings.add_position")
    if a.embedding_norm:
        x = net.layer_norm(x, "embeddings.norm", a.norm_bias)
    if a.dropout:
        x = net.dropout(x, "embeddings.dropout")
    for index in range(a.layers):
        x = (
            patterned_layer(net, x, a, index, _self_attention)
            if a.pattern
            else _decoder_layer(net, x, a, index)
        )
    y = net.layer_norm(x, "norm", a.norm_bias)
    net.loss(net.linear(y, "head", a.vocabulary, bias=False, weight=not a.tied))
    prediction_modules(net, x, a, _self_attention)
    return net.layers


def _decoder_layer(net: Network, x: Tensor, a: Architecture, index: int) -> Tensor:
    name = f"layer.{index}"
    normalised = net.layer_norm(x, f"{name}.norm1", a.norm_bias)
    y = _self_attention(net, normalised, f"{name}.attention", a, a.attends_to(index, x.positions))
    if a.parallel:
        if a.norms > 1:
            normalised = net.layer_norm(x, f"{name}.norm2", a.norm_bias)
        y = net.add(y, feed_part(net, normalised, name, a, a.has_experts(index)), f"{name}.add_parallel")
        return residual(net, x, y, name, a.dropout)
    if a.norms > 2:
        y = net.layer_norm(y, f"{name}.attention.norm", a.norm_bias)
    x = residual(net, x, y, f"{name}.attention", a.dropout)
    y = feed_part(net, net.layer_norm(x, f"{name}.norm2", a.norm_bias), name, a, a.has_experts(index))
    if a.norms > 2:
        y = net.layer_norm(y, f"{name}.ffn.norm", a.norm_bias)
    return residual(net, x, y, f"{name}.ffn", a.dropout)


def _self_attention(
    net: Network, x: Tensor, name: str, a: Architecture, reach: int | None = None, position_bias: int = 0
) -> Tensor:
    if a.kv_rank:
        return latent_attention(net, x, name, a)
    return attention(
        net,
        x,
        name,
        a.heads,
        kv_heads=a.kv_heads,
        head_size=a.head_size,
        query_bias=a.query_bias,
        bias=a.output_bias,
        fused=a.norm_bias,  # as the code of GPT-2, BLOOM, Falcon and Megatron does
        rotary=a.rotary,
        query_key_norm=a.query_key_norm,
        norm_over_heads=a.norm_over_heads,
        output_gate=a.output_gate,
        dropout=a.dropout,
        reach=reach,
        position_bias=position_bias,
    )


def translation_layers(architecture: Architecture, sequence_length: int) -> list[Layer]:
    """Return encoder and decoder for a pair of sentences; both embeddings and the output share one table."""
    a, net = architecture, Network()

    def embed(tokens: Tensor, side: str) -> Tensor:
        tokens = net.scale(tokens, f"{side}.add_position", kernels=2)
        return net.dropout(tokens, f"{side}.dropout")

    def attend(x: Tensor, name: str, memory: Tensor | None = None) -> Tensor:
        y = attention(net, x, name, a.heads, memory=memory, query_bias=False, bias=False)
        return net.layer_norm(residual(net, x, y, name), f"{name}.norm")

    def feed(x: Tensor, name: str) -> Tensor:
        y = feed_forward(net, x, name, a.feed_forward, relu=True)
        return net.layer_norm(residual(net, x, y, name), f"{name}.norm")

    x = embed(net.embedding("embeddings.token", sequence_length, a.vocabulary, a.hidden), "encoder")
    for index in range(a.encoder_layers):
        x = feed(attend(x, f"encoder.{index}.attention"), f"encoder.{index}.ffn")
    memory = x
    x = embed(net.shared_embedding("embeddings.target", sequence_length, a.hidden), "decoder")
    for index in range(a.layers):
        x = attend(x, f"decoder.{index}.attention")
        x = attend(x, f"decoder.{index}.cross_attention", memory)
        x = feed(x, f"decoder.{index}.ffn")
    net.loss(net.linear(x, "head", a.vocabulary, bias=False, weight=False))
    return net.layers


def t5_layers(architecture: Architecture, sequence_length: int) -> list[Layer]:
    """Return an encoder over a text with gaps and a decoder over their fillings, as T5 has them."""
    a, net = architecture, Network()
    targets = a.targets(sequence_length)

    def attend(x: Tensor, name: str, first: bool = False) -> Tensor:
        table = a.relative_positions * a.heads * first  # the layers of a stack share it
        y = net.layer_norm(x, f"{name}.norm", a.norm_bias)
        return residual(net, x, _self_attention(net, y, name, a, position_bias=table), name, a.dropout)

    def cross(x: Tensor, name: str) -> Tensor:
        y = net.layer_norm(x, f"{name}.norm", a.norm_bias)
        y = attention(
            net,
            y,
            name,
            a.heads,
            memory=memory,
            head_size=a.head_size,
            query_bias=a.query_bias,
            bias=a.output_bias,
            mask=False,
            dropout=a.dropout,
        )
        return residual(net, x, y, name, a.dropout)

    def feed(x: Tensor, name: str) -> Tensor:
        y = net.layer_norm(x, f"{name}.norm", a.norm_bias)
        y = feed_forward(net, y, name, a.feed_forward, gated=a.gated, bias=a.bias, relu=a.relu)
        return residual(net, x, y, name, a.dropout)

    def closed(x: Tensor, name: str) -> Tensor:
        x = net.layer_norm(x, f"{name}.norm", a.norm_bias)
        return net.dropout(x, f"{name}.dropout_out") if a.dropout else x

    def opened(x: Tensor, name: str) -> Tensor:
        return net.dropout(x, f"{name}.dropout_in") if a.dropout else x

    x = opened(net.embedding("embeddings.token", sequence_length, a.vocabulary, a.hidden), "encoder")
    for index in range(a.encoder_layers):
        x = feed(attend(x, f"encoder.{index}.attention", not index), f"encoder.{index}.ffn")
    memory = closed(x, "encoder")
    x = opened(net.shared_embedding("embeddings.target", targets, a.hidden), "decoder")
    for index in range(a.layers):
        x = attend(x, f"decoder.{index}.attention", not index)
        x = feed(cross(x, f"decoder.{index}.cross_attention"), f"decoder.{index}.ffn")
    x = closed(x, "decoder")
    net.loss(net.linear(x, "head", a.vocabulary, bias=False, weight=not a.tied))
    return net.layers
