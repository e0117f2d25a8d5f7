"""The widths and counts of a transformer as its step needs them: numbers, or arrays of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.workloads.architecture import Architecture

ALIGNED_HEAD = 32
"""Heads of another multiple of features fill no tile of a product."""
ALIGNED_VOCABULARY = 8
"""Of another multiple of words the logits' product leaves the matrix units."""


class Dimensions(NamedTuple):
    """A network of equal layers; those with and without experts differ in their feed-forward part alone."""

    layers: Any
    """Those of an encoder-decoder as many of the encoder's as take as long."""
    hidden: Any
    heads: Any
    kv_heads: Any
    head_size: Any
    value_size: Any
    projected_width: Any
    """Features of queries, keys and values together; of latent attention as many as cost the same."""
    feed_forward: Any
    matrices: Any
    """Of a feed-forward part: 3 where it is gated, else 2."""
    vocabulary: Any
    embeddings: Any
    """Tables of words: 2 where logits have one of their own."""
    experts: Any
    top_k: Any
    shared_experts: Any
    expert_width: Any
    dense_share: Any
    """Of the layers: without experts."""
    attended: Any
    """Scores over those that a causal mask leaves."""
    predicted_share: Any
    """Tokens with logits, of all that pass the layers."""
    is_encoder_decoder: Any
    is_misaligned: Any
    has_odd_vocabulary: Any
    has_dropout: Any

    @property
    def attention_parameters(self) -> Any:
        """Weights of the products of one attention."""
        return self.hidden * (self.projected_width + self.heads * self.value_size)

    @property
    def dense_parameters(self) -> Any:
        """Weights of the feed-forward part of a layer without experts."""
        return self.matrices * self.hidden * self.feed_forward

    @property
    def expert_parameters(self) -> Any:
        """Weights of one expert."""
        return self.matrices * self.hidden * self.expert_width

    @property
    def embedding_parameters(self) -> Any:
        """Weights of one table of words."""
        return self.vocabulary * self.hidden


def dimensions_of(model: Architecture, sequence_length: int) -> Dimensions:
    """Return what a step on sequences of a length needs to know of a transformer.

    The decoder of an encoder-decoder sees ``target_fraction`` as many tokens, and attends twice in a layer.
    """
    layers, attended = ops.number(model.layers), _attended(model, sequence_length)
    predicted = model.predicted_fraction
    width = model.value_size or model.head_size
    matrices = 2 + model.gated
    if model.encoder_layers:
        attention = model.hidden * (model.heads + model.kv_heads) * 2 * model.head_size
        once = attention + matrices * model.hidden * model.feed_forward
        layers = model.encoder_layers + layers * (1 + attention / once) * model.target_fraction
        predicted = model.target_fraction
    return Dimensions(
        layers=layers,
        hidden=ops.number(model.hidden),
        heads=ops.number(model.heads),
        kv_heads=ops.number(model.heads if model.kv_rank else model.kv_heads),
        head_size=ops.number(model.head_size),
        value_size=ops.number(width),
        projected_width=_projected_width(model, width),
        feed_forward=ops.number(model.feed_forward or model.expert_feed_forward),
        matrices=ops.number(matrices),
        vocabulary=ops.number(model.vocabulary),
        embeddings=1.0 if model.tied else 2.0,
        experts=ops.number(model.experts),
        top_k=ops.number(model.top_k),
        shared_experts=ops.number(model.shared_experts),
        expert_width=ops.number(model.expert_feed_forward),
        dense_share=1 - model.moe_layers / model.layers,
        attended=attended,
        predicted_share=predicted,
        is_encoder_decoder=bool(model.encoder_layers),
        is_misaligned=model.head_size % ALIGNED_HEAD != 0,
        has_odd_vocabulary=model.vocabulary % ALIGNED_VOCABULARY != 0,
        has_dropout=model.dropout,
    )


def _projected_width(model: Architecture, value_size: int) -> Any:
    queries = model.heads * model.head_size
    if not model.kv_rank:
        return ops.number(queries + model.kv_heads * (model.head_size + value_size))
    compressed = model.query_rank or 0
    into = compressed * (1 + queries / model.hidden) if compressed else ops.number(queries)
    expanded = model.heads * (model.head_size - model.rope_size + value_size)
    return into + model.kv_rank + model.rope_size + model.kv_rank * expanded / model.hidden


def _attended(model: Architecture, sequence_length: int) -> float:
    """Mean over layers of the scores that are computed, over half of all."""
    if model.bidirectional:
        return 2
    shares = (
        _causal_share(model.attends_to(layer, sequence_length) / sequence_length)
        for layer in range(int(ops.plain(model.layers)))
    )
    return sum(shares) / model.layers if model.window else 1.0


def _causal_share(window: float) -> float:
    """Scores inside a window, a share of the sequence, over those of a causal mask."""
    return window * (2 - window)
