"""The FLOP of a transformer that its utilisation counts: what is computed, or what publications count."""

from __future__ import annotations

from typing import Any, Literal

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import remembered
from perfmodel.equations.low_rank import frozen_flops_per_token
from perfmodel.equations.transformer import attended_positions, model_flops_per_token
from perfmodel.workloads.architecture import Architecture

Count = Literal["causal", "megatron", "palm"]
"""How the model's FLOP are counted: ``causal``, those that are computed: weights of products, and the scores
that masks and windows leave (NVIDIA's tables since 2025, but for half a position); ``megatron``, all scores
instead (Narayanan et al. 2021, torchtitan); ``palm``, besides all parameters, embeddings among them
(Chowdhery et al. 2022, llm-foundry)."""
COMPUTED: Count = "causal"
NOMINAL: Count = "palm"
"""What most publications count, which is more than is computed."""
NOMINAL_WORDS = "by PaLM's count: attention to all positions, all parameters"
COUNTED = f"MFU counts what is computed, without masked scores; nominal is {NOMINAL_WORDS}"
NO_PRODUCTS: dict[str, Any] = {
    "query_bias": False,
    "output_bias": False,
    "bias": False,
    "router_bias": False,
    "query_key_norm": False,
}
"""An architecture's parts that have parameters and no product."""


def step_flops(
    model: Architecture, samples: Any, length: int, adapts: bool = False, count: Count = COMPUTED
) -> Any:
    """Return the model's FLOP of a step of so many samples, a number or an array.

    Parameters
    ----------
    model, samples, length : what is trained, on how many sequences of how many tokens
    adapts : whether adapters of low rank are trained, and weights get no gradient
    count : which FLOP
    """
    weights = model.active_parameters if count == NOMINAL else passed_parameters(model, length)
    each = model_flops_per_token(
        weights, model.layers, model.heads, score_width(model), mean_attended(model, length, count)
    )
    return (frozen_flops_per_token(each, weights) if adapts else each) * samples * length


def score_flops(model: Architecture, length: int) -> Any:
    """Return how many of them are of scores and weighted sums, those of a sample."""
    each = model_flops_per_token(
        0, model.layers, model.heads, score_width(model), mean_attended(model, length)
    )
    return each * length


def score_width(model: Architecture) -> float:
    """Return the features of a head, the mean of keys and values."""
    return (model.head_size + (model.value_size or model.head_size)) / 2


@remembered(maxsize=256)
def passed_parameters(model: Architecture, length: int) -> float:
    """Return the weights of the products that a token of a sample passes, on the mean: the head among them.

    The decoder of an encoder-decoder sees ``targets`` tokens, its second attention makes keys and values of
    all; logits are made of some tokens where not all are guessed.  Poolers and patches, below 1 %, are left
    out.
    """
    bare = model._replace(**NO_PRODUCTS)
    attention = bare.attention_parameters - model.query_rank - model.kv_rank  # norms of latents
    experts = bare.router_parameters + (model.top_k + model.shared_experts) * bare.expert_parameters
    feed_forward = (model.layers - model.moe_layers) * bare.dense_parameters + model.moe_layers * experts
    logits = model.predicted_fraction * model.vocabulary * model.hidden
    stack = model.layers * attention + feed_forward + logits
    if not model.encoder_layers:
        return stack
    targets = model.targets(length) / length
    of_memory = 2 * model.hidden * model.kv_heads * model.head_size
    crossing = model.layers * (of_memory + targets * (attention - of_memory))
    return model.encoder_layers * (attention + bare.dense_parameters) + crossing + targets * stack


def mean_attended(model: Architecture, length: int, count: Count = COMPUTED) -> Any:
    """Return the positions that a query attends to, the mean over layers and the tokens of a sample."""
    masked = count == COMPUTED
    if model.encoder_layers:
        targets = model.targets(length)
        own = attended_positions(targets, targets) if masked else targets
        return model.encoder_layers / model.layers * length + targets / length * (own + length)
    if model.bidirectional or not masked:
        return length
    causal = attended_positions(length, length)
    if not model.window or model.window >= length:
        return causal
    return causal + _windowed_share(model) * (_attended_in_windows(model, length) - causal)


def _attended_in_windows(model: Architecture, length: int) -> Any:
    """Positions that a query attends to in a layer with windows, which move or are chunks of the sequence."""
    if not model.chunked:
        return attended_positions(model.window, length)
    chunks, rest = divmod(ops.plain(length), ops.plain(model.window))
    whole = chunks * model.window / length * attended_positions(model.window, model.window)
    return whole + (rest / length * attended_positions(rest, rest) if rest else 0)


@remembered(maxsize=256)
def _windowed_share(model: Architecture) -> float:
    """Share of the layers that attend within windows."""
    return 1 - model.layers // model.full_frequency / model.layers if model.full_frequency else 1.0
