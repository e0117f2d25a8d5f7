"""Widths and counts of a transformer that its step depends on: numbers, or arrays of them."""

from __future__ import annotations

from typing import Any, NamedTuple

from perfmodel.core import ops
from perfmodel.model.transformers.documents import document_positions
from perfmodel.model.transformers.hybrid import with_types
from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.tower import Tower

ALIGNED_HEAD = 32
"""Features of a head whose products fill tiles are a multiple of this."""
ALIGNED_VOCABULARY = 8
"""Vocabularies that are no multiple of this keep the logits' product off the matrix units."""


class TowerDimensions(NamedTuple):
    """An encoder of images in front of a network, with its projector."""

    encoder: Any
    """Its ``Dimensions``, as of a network without words."""
    images: Any
    """Images of a sample."""
    positions: Any
    """Patches of an image, with the class token."""
    image_tokens: Any
    """Tokens of an image in the language model."""
    patch_elements: Any
    joined: Any
    """Features that the projector's first product reads."""
    inner: Any
    """Features between its products; 0 with one product."""
    text_hidden: Any
    mergers: Any
    """Projectors of equal size."""
    encoder_parameters: Any
    projector_parameters: Any
    frozen: Any
    """Whether the encoder is not trained."""


class Dimensions(NamedTuple):
    """A network of equal layers; layers with and without experts differ only in the feed-forward part."""

    layers: Any
    """Layers; of an encoder-decoder, the number of encoder layers that take as long."""
    hidden: Any
    heads: Any
    kv_heads: Any
    head_size: Any
    value_size: Any
    projected_width: Any
    """Features of queries, keys and values together; of latent attention, the number with equal cost."""
    feed_forward: Any
    matrices: Any
    """Weight matrices of a feed-forward part: 3 if gated, else 2."""
    vocabulary: Any
    embeddings: Any
    """Embedding tables: 2 if logits have a table of their own, else 1."""
    experts: Any
    top_k: Any
    shared_experts: Any
    expert_width: Any
    routing_nodes: Any
    """Most nodes that a token is sent to; 0 without a limit."""
    dense_share: Any
    """Share of the layers without experts."""
    attended: Any
    """Attention scores over those of a causal mask."""
    predicted_share: Any
    """Share of the tokens that have logits."""
    is_encoder_decoder: Any
    is_misaligned: Any
    has_odd_vocabulary: Any
    has_dropout: Any
    qkv_width: Any
    """Features of queries, keys, values and, of latent attention, of what they are made from."""
    up_parameters: Any
    """Weights of latent attention from latents to queries, keys and values; 0 without latents."""
    first_dense: Any
    """First layers without experts, before layers that have them."""
    parts: Any = 2
    """Parts of a layer, each with a norm and a sum: 2, or 1 of attention, a scan or a feed-forward part."""
    mixes: Any = True
    """Whether a layer has attention or a scan; False of a feed-forward part alone."""
    feeds: Any = True
    """Whether a layer has a feed-forward part."""
    kept_width: Any = 0.0
    """Features kept for the backward pass beyond those that the products make and read."""
    index_heads: Any = None
    """Heads of the indexer of sparse attention; None without one."""
    index_size: Any = None
    scan: Any = None
    """``ScanDimensions`` of layers with a scan in place of attention."""
    layer_types: Any = None
    """``LayerTypes`` of a network whose layers differ in more than experts; else None."""
    tower: Any = None
    """``TowerDimensions`` of an encoder of images, or None."""

    @property
    def attention_parameters(self) -> Any:
        """Weights of the attention products of one layer."""
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
        """Weights of one embedding table."""
        return self.vocabulary * self.hidden


def dimensions_of(model: Architecture, sequence_length: int) -> Dimensions:
    """Return the dimensions of a transformer for a step on sequences of ``sequence_length`` tokens.

    The decoder of an encoder-decoder sees a ``target_fraction`` of the tokens, and each layer attends twice.
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
    base = Dimensions(
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
        routing_nodes=ops.number(model.routing_nodes),
        dense_share=1 - model.moe_layers / model.layers,
        attended=attended,
        predicted_share=predicted,
        is_encoder_decoder=bool(model.encoder_layers),
        is_misaligned=model.head_size % ALIGNED_HEAD != 0,
        has_odd_vocabulary=model.vocabulary % ALIGNED_VOCABULARY != 0,
        has_dropout=model.dropout,
        tower=model.tower and _tower(model.tower),
        qkv_width=_qkv_width(model, width),
        up_parameters=_up_parameters(model, width),
        first_dense=ops.number(model.dense_layers if model.experts else 0),
        index_heads=ops.number(model.index_heads) if model.index_heads else None,
        index_size=ops.number(model.index_size) if model.index_heads else None,
    )
    dimensions: Dimensions = with_types(model, base)
    return dimensions


def _tower(tower: Tower) -> TowerDimensions:
    """Return the dimensions of an encoder of images."""
    encoder = Architecture(
        hidden=tower.hidden,
        layers=tower.layers,
        heads=tower.heads,
        kv_heads=tower.heads,
        head_size=tower.hidden // tower.heads,
        feed_forward=tower.feed_forward,
        vocabulary=0,
        positions=tower.positions,
        bidirectional=True,
        tied=True,
    )
    return TowerDimensions(
        encoder=dimensions_of(encoder, tower.positions),
        images=ops.number(tower.images),
        positions=ops.number(tower.positions),
        image_tokens=ops.number(tower.image_tokens),
        patch_elements=ops.number(tower.patch_elements),
        joined=ops.number(tower.joined),
        inner=ops.number(tower.inner),
        text_hidden=ops.number(tower.text_hidden),
        mergers=ops.number(tower.mergers),
        encoder_parameters=ops.number(tower.encoder_parameters),
        projector_parameters=ops.number(tower.projector_parameters),
        frozen=float(tower.frozen),
    )


def _projected_width(model: Architecture, value_size: int) -> Any:
    """Return the features of queries, keys and values; of latent attention those of equal cost."""
    queries = model.heads * model.head_size
    if not model.kv_rank:
        queries = queries + queries * model.output_gate
        return ops.number(queries + model.kv_heads * (model.head_size + value_size))
    compressed = model.query_rank or 0
    into = compressed * (1 + queries / model.hidden) if compressed else ops.number(queries)
    expanded = model.heads * (model.head_size - model.rope_size + value_size)
    if model.index_heads:
        into = into + model.indexer_parameters / model.hidden
    return into + model.kv_rank + model.rope_size + model.kv_rank * expanded / model.hidden


def _qkv_width(model: Architecture, value_size: int) -> Any:
    """Return the features of queries, keys and values; of latents, before and after their norms, too."""
    kv_heads = model.heads if model.kv_rank else model.kv_heads
    latents = 2 * ((model.query_rank or 0) + model.kv_rank) if model.kv_rank else 0
    return ops.number(model.heads * model.head_size + kv_heads * (model.head_size + value_size) + latents)


def _up_parameters(model: Architecture, value_size: int) -> Any:
    """Return the weights that make queries, keys and values of latents."""
    if not model.kv_rank:
        return 0.0
    expanded = model.heads * (model.head_size - model.rope_size + value_size)
    queries = (model.query_rank or 0) * model.heads * model.head_size
    return ops.number(queries + model.kv_rank * expanded)


def _attended(model: Architecture, sequence_length: int) -> Any:
    """Return the mean over layers of the attention scores computed, over half of all scores.

    Packed documents divide the scores of a sequence by the sequence's length over theirs.
    """
    reached = document_positions(model, sequence_length)
    part = reached / sequence_length if model.document_length else 1
    if model.bidirectional:
        return 2 * part
    if model.index_top_k:
        return part * _causal_share(min(model.index_top_k, reached) / reached)
    shares = (
        _causal_share(model.attends_to(layer, reached) / reached)
        for layer in range(int(ops.plain(model.layers)))
    )
    return part * (sum(shares) / model.layers if model.window else 1.0)


def _causal_share(window: float) -> float:
    """Return the scores in a window, given as a share of the sequence, over those of a causal mask."""
    return window * (2 - window)
