"""The widths that every type of transformer has, under the names of its config.json."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from perfmodel.core.errors import refusal
from perfmodel.workloads.huggingface.config import Config

LONGEST_DEFAULT = 4096
"""Tokens of a sequence by default, where the network allows it."""

BIASES: dict[str, Any] = {"norm_bias": True, "query_bias": True, "output_bias": True, "bias": True}
"""Biases everywhere, as GPT-2 and BERT have them."""

KEYS = {
    "hidden": "hidden_size",
    "layers": "num_hidden_layers",
    "heads": "num_attention_heads",
    "positions": "max_position_embeddings",
}
"""Width -> its key in most files."""

GPT2_KEYS = {"hidden": "n_embd", "layers": "n_layer", "heads": "n_head", "positions": "n_positions"}
"""Width -> its key in files of GPT-2 and similar networks."""


def widths_of(
    config: Config, keys: Mapping[str, str] = MappingProxyType({}), learned: bool = False
) -> dict[str, Any]:
    """Return hidden size, layers, heads, words and positions.

    Parameters
    ----------
    config : the file
    keys : width -> its key, where it is not that of most files
    learned : whether positions are learned, so that the file must state them

    Raises
    ------
    InputError : one is missing, wrong, or does not divide
    """
    named = {**KEYS, **keys}
    hidden, heads = config.whole(named["hidden"]), config.whole(named["heads"])
    layers = config.layers(named["layers"])
    kv_heads = config.whole("num_key_value_heads", heads)
    if heads % kv_heads:
        raise refusal("network.key_heads", kv_heads=kv_heads, heads=heads).under(config.path)
    positions = config.whole(named["positions"], None if learned else LONGEST_DEFAULT)
    return {
        "hidden": hidden,
        "layers": layers,
        "heads": heads,
        "kv_heads": kv_heads,
        "head_size": config.whole("head_dim", 0) or share(config, hidden, heads),
        "vocabulary": config.whole("vocab_size"),
        "positions": positions,
        "learned_positions": positions if learned else 0,
    }


def share(config: Config, hidden: int, heads: int) -> int:
    """Return the features of one head."""
    if hidden % heads:
        raise refusal("network.heads", hidden=hidden, heads=heads).under(config.path)
    return hidden // heads
