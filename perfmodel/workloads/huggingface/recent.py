"""Decoders of 2024 and later that differ from Llama in few places."""

from __future__ import annotations

from perfmodel.core.errors import refusal
from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.huggingface.config import MOST_EXPERTS, Config
from perfmodel.workloads.huggingface.llama import deepseek, experts_of, llama


def deepseek_v32(config: Config) -> Architecture:
    """Return the architecture of DeepSeek-V3.2: V3 with an indexer that selects positions to attend to."""
    return deepseek(config)._replace(
        index_heads=config.whole("index_n_heads"),
        index_size=config.whole("index_head_dim"),
        index_top_k=config.whole("index_topk"),
    )


def glm4_moe(config: Config) -> Architecture:
    """Return the architecture of GLM-4.5: experts after the first layers, biases of queries and keys."""
    read = deepseek(config)
    return read._replace(output_bias=False, query_key_norm=config.flag("use_qk_norm", False))


def dots1(config: Config) -> Architecture:
    """Return the architecture of dots.llm1: experts after the first layers, norms of queries and keys."""
    config.must_be("max_window_layers", config.layers("num_hidden_layers"))
    config.whole("sliding_window", 0)  # of layers after those
    return deepseek(config)._replace(query_key_norm=True)


def smollm3(config: Config) -> Architecture:
    """Return the architecture of SmolLM3: Llama, of which every fourth layer does not rotate positions."""
    config.must_be("use_sliding_window", False)
    config.whole("max_window_layers", 0, smallest=0)
    # whether a layer rotates changes no product and no parameter
    config.items("no_rope_layers")
    config.whole("no_rope_layer_interval", 4)
    return llama(config, tied=config.flag("tie_word_embeddings", True))


def seed_oss(config: Config) -> Architecture:
    """Return the architecture of Seed-OSS: Llama with biases of queries, keys and values."""
    return llama(
        config,
        query_bias=config.flag("attention_bias", True),
        output_bias=config.flag("attention_out_bias", False),
    )


def olmo2(config: Config) -> Architecture:
    """Return the architecture of OLMo 2: norms after each part, and of all queries and keys at once."""
    return llama(config, query_key_norm=True, norm_over_heads=True)


def olmo3(config: Config) -> Architecture:
    """Return the architecture of OLMo 3: OLMo 2, of which three of four layers attend within a window."""
    window = config.whole("sliding_window", 4096)
    return llama(config, query_key_norm=True, norm_over_heads=True, window=window, full_frequency=4)


def olmoe(config: Config) -> Architecture:
    """Return the architecture of OLMoE: experts in every layer, norms of all queries and keys at once."""
    config.must_be("clip_qkv", None)
    experts = experts_of(config, "num_experts", "intermediate_size")
    return llama(config, query_key_norm=True, norm_over_heads=True, **experts)


def minimax_m2(config: Config) -> Architecture:
    """Return the architecture of MiniMax-M2: experts everywhere, norms of all queries and keys at once."""
    for kind in config.items("attn_type_list"):
        if kind != 1:
            raise refusal("network.key_unsupported", key="attn_type_list", shown=kind, expected=1).under(
                config.path
            )
    config.must_be("shared_intermediate_size", 0)
    config.must_be("qk_norm_type", "per_layer")
    config.must_be("mtp_transformer_layers", 1)
    config.flag("use_mtp", False)
    experts = experts_of(config, "num_local_experts", "intermediate_size")
    normed = config.flag("use_qk_norm", True)
    return llama(config, query_key_norm=normed, norm_over_heads=normed, **experts)


def ernie4_5_moe(config: Config) -> Architecture:
    """Return the architecture of ERNIE 4.5: experts after the first layers, with shared ones."""
    layers = config.layers("num_hidden_layers")
    config.must_be("moe_layer_interval", 1)
    config.must_be("moe_layer_end_index", layers - 1)
    bias = config.flag("use_bias", False)
    return llama(
        config,
        **experts_of(config, "moe_num_experts", "moe_intermediate_size", top_k="moe_k"),
        shared_experts=config.whole("moe_num_shared_experts", 0, largest=MOST_EXPERTS, smallest=0),
        dense_layers=config.whole("moe_layer_start_index", 0, smallest=0),
        tied=config.flag("tie_word_embeddings", True),
        query_bias=bias,
        output_bias=bias,
        bias=bias,
    )
