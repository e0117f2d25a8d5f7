"""Decoders like Llama: RMSNorm, rotated positions, gated feed-forward parts, perhaps experts."""

from __future__ import annotations

from typing import Any

from perfmodel.core.errors import refusal
from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.huggingface.config import MOST_EXPERTS, Config
from perfmodel.workloads.huggingface.widths import widths_of


def llama(config: Config, **others: Any) -> Architecture:
    """Return the architecture of Llama.

    RMSNorm, rotated positions, gated feed-forward parts; biases where the file says so.
    """
    bias = config.flag("attention_bias", False)
    values = {
        **widths_of(config),
        "gated": True,
        "tied": config.flag("tie_word_embeddings", False),
        "query_bias": bias,
        "output_bias": bias,
        "bias": config.flag("mlp_bias", False),
        **others,
    }
    if "feed_forward" not in values:
        values["feed_forward"] = config.whole("intermediate_size")
    result = Architecture(**values)
    # files state the width of a part that no layer has
    return result._replace(feed_forward=0) if result.moe_layers == result.layers else result


def mistral(config: Config) -> Architecture:
    """Return the architecture of Mistral: attention within a window, where the file has one."""
    return llama(config, window=config.whole("sliding_window", 0))


def mixtral(config: Config) -> Architecture:
    """Return the architecture of Mixtral: experts in every layer."""
    return llama(config, **experts_of(config, "num_local_experts", "intermediate_size"))


def experts_of(
    config: Config, count: str, width: str, default: int | None = None, top_k: str = "num_experts_per_tok"
) -> dict[str, int]:
    """Return the fields for experts, experts per token and their width; {} without experts."""
    experts = config.whole(count, default, largest=MOST_EXPERTS, smallest=0 if default == 0 else 1)
    if not experts:
        return {}
    chosen = config.whole(top_k)
    if chosen > experts:
        raise refusal("network.top_experts", top_k=chosen, experts=experts, count=count).under(config.path)
    return {"experts": experts, "top_k": chosen, "expert_feed_forward": config.whole(width)}


def qwen2(config: Config) -> Architecture:
    """Return the architecture of Qwen2: biases of queries, keys and values."""
    return llama(config, query_bias=True, **_qwen_window(config))


def _qwen_window(config: Config) -> dict[str, int]:
    """Return the field for a window; {} without one, or where the first layers without it are all."""
    full, window = config.whole("max_window_layers", 0, smallest=0), config.whole("sliding_window", 0)
    if not config.flag("use_sliding_window", False) or full >= config.layers("num_hidden_layers"):
        return {}
    config.must_be("max_window_layers", 0)
    return {"window": window}


def qwen_experts(config: Config) -> dict[str, int]:
    """Return the fields for experts in every ``decoder_sparse_step``-th layer after ``mlp_only_layers``."""
    dense = config.items("mlp_only_layers")
    if dense != list(range(len(dense))):
        raise refusal("network.dense_layers", dense=dense).under(config.path)
    count = "num_local_experts" if "num_local_experts" in config.values else "num_experts"
    result = experts_of(config, count, "moe_intermediate_size", 0)
    shared = config.whole("shared_expert_intermediate_size", 0, smallest=0)
    if result and shared % result["expert_feed_forward"]:
        raise refusal(
            "network.shared_expert", shared=shared, expert_feed_forward=result["expert_feed_forward"]
        ).under(config.path)
    return result and {
        **result,
        "shared_experts": shared // result["expert_feed_forward"],
        "moe_frequency": config.whole("decoder_sparse_step", 1),
        "dense_layers": len(dense),
    }


def qwen2_moe(config: Config) -> Architecture:
    """Return the architecture of Qwen2-MoE: Qwen2 with routed and shared experts."""
    biased, experts = config.flag("qkv_bias", True), qwen_experts(config)
    gate = bool(experts.get("shared_experts"))
    return llama(config, query_bias=biased, shared_gate=gate, **experts, **_qwen_window(config))


def qwen3(config: Config) -> Architecture:
    """Return the architecture of Qwen3: norms of queries and keys; experts where the file counts some."""
    return llama(config, query_key_norm=True, **_qwen_window(config), **qwen_experts(config))


def deepseek(config: Config) -> Architecture:
    """Return the architecture of DeepSeek.

    Latent attention where ``kv_lora_rank`` says so, shared experts in addition to routed ones.
    """
    experts = experts_of(config, "n_routed_experts", "moe_intermediate_size", 0)
    if experts:
        experts["shared_experts"] = config.whole("n_shared_experts", 0, largest=MOST_EXPERTS, smallest=0)
        experts["moe_frequency"] = config.whole("moe_layer_freq", 1)
        experts["dense_layers"] = config.whole("first_k_dense_replace", 0, smallest=0)
        groups, chosen = (config.whole(name, 1) for name in ("n_group", "topk_group"))
        experts["routing_nodes"] = chosen if chosen < groups else 0  # each group on a node
    return llama(config, **experts, **latent_of(config))


def latent_of(config: Config) -> dict[str, int]:
    """Return the fields for latent attention; {} where ``kv_lora_rank`` is missing."""
    rank = config.whole("kv_lora_rank", 0)
    if not rank:
        return {}
    rotated = config.whole("qk_rope_head_dim")
    return {
        "head_size": config.whole("qk_nope_head_dim") + rotated,
        "rope_size": rotated,
        "value_size": config.whole("v_head_dim"),
        "query_rank": config.whole("q_lora_rank", 0),
        "kv_rank": rank,
    }


def gemma(config: Config) -> Architecture:
    """Return the architecture of Gemma: tied embeddings."""
    return llama(config, tied=config.flag("tie_word_embeddings", True))


def gemma2(config: Config) -> Architecture:
    """Return the architecture of Gemma 2.

    Norms before and after each part; every other layer attends within a window.
    """
    window = {"window": config.whole("sliding_window", 4096), "full_frequency": 2}
    return llama(config, norms=4, tied=config.flag("tie_word_embeddings", True), **window)


def gemma3(config: Config) -> Architecture:
    """Return the architecture of Gemma 3.

    Gemma 2 with norms of queries and keys; all but every sixth layer within a window.
    """
    window = config.whole("sliding_window", 4096)
    pattern = config.whole("_sliding_window_pattern", 6)
    return llama(
        config,
        norms=4,
        query_key_norm=True,
        tied=config.flag("tie_word_embeddings", True),
        window=window,
        full_frequency=config.whole("sliding_window_pattern", pattern),
    )


def gpt_oss(config: Config) -> Architecture:
    """Return the architecture of gpt-oss.

    Experts and biases in every layer; every other layer attends within a window.
    """
    experts = experts_of(config, "num_local_experts", "intermediate_size")
    config.must_be("experts_per_token", experts["top_k"])
    return llama(
        config,
        **experts,
        window=config.whole("sliding_window", 128),
        full_frequency=2,
        query_bias=True,
        output_bias=True,
        bias=True,
        router_bias=True,
    )


def llama4(config: Config) -> Architecture:
    """Return the architecture of Llama 4.

    Experts in every ``interleave_moe_layer_step``-th layer, with a shared one; chunked attention.
    """
    config.flag("use_qk_norm", True)  # without parameters
    for key in ("moe_layers", "no_rope_layers"):  # as the intervals say, which are checked elsewhere
        config.items(key)
    return llama(
        config,
        **experts_of(config, "num_local_experts", "intermediate_size"),
        feed_forward=config.whole("intermediate_size_mlp"),
        shared_experts=1,
        moe_frequency=config.whole("interleave_moe_layer_step", 1),
        window=config.whole("attention_chunk_size", 8192),
        chunked=True,
        full_frequency=config.whole("no_rope_layer_interval", 4),
    )
