"""The model FLOP of a transformer: those computed, or those that publications count."""

from __future__ import annotations

from typing import Any, Literal

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import remembered
from perfmodel.equations.low_rank import frozen_flops_per_token
from perfmodel.equations.scans import index_flops
from perfmodel.equations.transformer import attended_positions, model_flops_per_token
from perfmodel.model.transformers.documents import document_positions
from perfmodel.model.transformers.scans import recurrences
from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.tower import Tower

PASSES = 3
"""Of a scan and of an indexer's scores: one forward, and one backward to each of two operands."""
Count = Literal["causal", "megatron", "palm"]
"""How the model's FLOP are counted: ``causal``, those that are computed: weights of products, and the scores
that masks and windows leave (NVIDIA's tables since 2025, but for half a position); ``megatron``, all scores
instead (Narayanan et al. 2021, torchtitan); ``palm``, in addition all parameters including embeddings
(Chowdhery et al. 2022, llm-foundry)."""
COMPUTED: Count = "causal"
NOMINAL: Count = "palm"
"""The count of most publications, more than the FLOP computed."""
NOMINAL_WORDS = "by PaLM's count: attention to all positions, all parameters"
COUNTED = f"MFU counts what is computed, without masked scores; nominal is {NOMINAL_WORDS}"
FORWARD, EVERY_PASS = 1, 3
"""Passes of equal FLOP of frozen and of trained weights: forward, gradients of inputs and of weights."""
NO_PRODUCTS: dict[str, Any] = {
    "query_bias": False,
    "output_bias": False,
    "bias": False,
    "router_bias": False,
    "query_key_norm": False,
}
"""Parts of an architecture with parameters but no matrix product."""


def step_flops(
    model: Architecture, samples: Any, length: int, adapts: bool = False, count: Count = COMPUTED
) -> Any:
    """Return the model's FLOP of a step of ``samples`` samples, a number or an array.

    Parameters
    ----------
    model, samples, length : the network, sequences of a step, tokens of a sequence
    adapts : whether only low-rank adapters are trained, and weights get no gradient
    count : which FLOP are counted
    """
    weights = model.active_parameters if count == NOMINAL else passed_parameters(model, length)
    each = _per_token(model, weights, length, count)
    flops = (frozen_flops_per_token(each, weights) if adapts else each) * samples * length
    return flops if model.tower is None else flops + image_flops(model.tower, adapts) * samples


def image_flops(tower: Tower, adapts: bool = False) -> Any:
    """Return the FLOP of a sample's images: forward passes, and two more of trained weights."""
    encoder, projector = tower.encoder_flops, tower.projector_flops
    passes = FORWARD if adapts or tower.frozen else EVERY_PASS
    return passes * encoder + (FORWARD if adapts else EVERY_PASS) * projector


def score_flops(model: Architecture, length: int) -> Any:
    """Return the FLOP of attention scores and weighted sums of one sample."""
    return _per_token(model, 0, length, COMPUTED) * length


def _per_token(model: Architecture, weights: Any, length: int, count: Count) -> Any:
    """Return the FLOP of a token with ``weights`` in its products: of these, of scores, and of scans."""
    layers = model.attention_layers + model.mtp_layers
    positions = mean_attended(model, length, count)
    each = model_flops_per_token(weights, layers, model.heads, score_width(model), positions)
    if model.scan is not None:
        each = each + PASSES * model.scan_layers * recurrences(model.scan)
    if model.index_heads:
        scored = attended_positions(length, length)
        each = each + PASSES * layers * index_flops(scored, model.index_heads, model.index_size)
    return each


def score_width(model: Architecture) -> float:
    """Return the features of an attention head, the mean of keys and values."""
    return (model.head_size + (model.value_size or model.head_size)) / 2


@remembered(maxsize=256)
def passed_parameters(model: Architecture, length: int) -> float:
    """Return the weights of the products applied to a token, the mean over a sample, with the output head.

    The decoder of an encoder-decoder sees ``targets`` tokens; its cross-attention computes keys and values of
    all tokens.  Logits are computed for the predicted fraction of tokens.  Poolers and patches, below 1 %,
    are left out.
    """
    bare = model._replace(**NO_PRODUCTS)
    attention = bare.attention_parameters - model.query_rank - model.kv_rank  # norms of latents
    attention -= 2 * model.index_size  # the norm of the indexer's keys
    experts = bare.router_parameters + (model.top_k + model.shared_experts) * bare.expert_parameters
    experts += model.hidden * model.shared_gate
    feed_forward = model.plain_layers * bare.dense_parameters + model.moe_layers * experts
    logits = model.predicted_fraction * model.vocabulary * model.hidden
    stack = model.attention_layers * attention + feed_forward + logits
    if model.scan is not None:
        stack += model.scan_layers * model.scan.weights(model.hidden)
    if model.mtp_layers:
        part = experts if model.moe_layers else bare.dense_parameters
        stack += model.mtp_layers * (2 * model.hidden**2 + attention + part + logits)
    if not model.encoder_layers:
        return stack
    targets = model.targets(length) / length
    of_memory = 2 * model.hidden * model.kv_heads * model.head_size
    crossing = model.layers * (of_memory + targets * (attention - of_memory))
    return model.encoder_layers * (attention + bare.dense_parameters) + crossing + targets * stack


def mean_attended(model: Architecture, length: int, count: Count = COMPUTED) -> Any:
    """Return the positions that a query attends to, the mean over layers and tokens of a sample.

    A mask keeps it inside its own document, where documents are packed.
    """
    masked = count == COMPUTED
    if model.encoder_layers:
        targets = model.targets(length)
        own = attended_positions(targets, targets) if masked else targets
        return model.encoder_layers / model.layers * length + targets / length * (own + length)
    if not masked:
        return length
    length = document_positions(model, length)
    if model.bidirectional:
        return length
    if model.index_top_k and model.index_top_k < length:
        return attended_positions(model.index_top_k, length)
    causal = attended_positions(length, length)
    if not model.window or model.window >= length:
        return causal
    return causal + _windowed_share(model) * (_attended_in_windows(model, length) - causal)


def _attended_in_windows(model: Architecture, length: int) -> Any:
    """Return the mean positions that a query attends to in a layer with sliding or chunked windows."""
    if not model.chunked:
        return attended_positions(model.window, length)
    chunks, rest = divmod(ops.plain(length), ops.plain(model.window))
    whole = chunks * model.window / length * attended_positions(model.window, model.window)
    return whole + (rest / length * attended_positions(rest, rest) if rest else 0)


@remembered(maxsize=256)
def _windowed_share(model: Architecture) -> float:
    """Return the share of the layers that attend within windows."""
    return 1 - model.layers // model.full_frequency / model.layers if model.full_frequency else 1.0
