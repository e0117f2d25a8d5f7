"""Decoders like GPT: LayerNorm, positions of every kind, mostly biases."""

from __future__ import annotations

from perfmodel.core.errors import refusal
from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.huggingface.config import Config
from perfmodel.workloads.huggingface.widths import BIASES, GPT2_KEYS, widths_of


def gpt2(config: Config) -> Architecture:
    """Return the architecture of GPT-2.

    Learned positions, biases everywhere, output tied to the embeddings.
    """
    widths = widths_of(config, GPT2_KEYS, learned=True)
    return Architecture(
        **widths,
        **BIASES,
        feed_forward=config.whole("n_inner", 4 * widths["hidden"]),
        tied=config.flag("tie_word_embeddings", True),
        dropout=True,
    )


def gptj(config: Config) -> Architecture:
    """Return the architecture of GPT-J.

    Attention and feed-forward part in parallel after one norm; biases in the latter.
    """
    widths = widths_of(config, GPT2_KEYS)
    return Architecture(
        **widths,
        feed_forward=config.whole("n_inner", 4 * widths["hidden"]),
        tied=config.flag("tie_word_embeddings", False),
        norms=1,
        parallel=True,
        norm_bias=True,
        bias=True,
    )


def gpt_neo(config: Config) -> Architecture:
    """Return the architecture of GPT-Neo.

    Every other layer attends to a window, as all that were published.
    """
    widths = widths_of(config, {"layers": "num_layers", "heads": "num_heads"}, learned=True)
    layers, groups = config.items("attention_layers"), config.items("attention_types")
    layers = layers or [kind for kinds, times in groups for kind in kinds * times]
    for layer, kind in enumerate(layers):
        expected = "local" if layer % 2 else "global"
        if kind != expected:
            raise refusal(
                "network.layers_differ", key="attention_layers", layer=layer, word=kind, expected=expected
            ).under(config.path)
    return Architecture(
        **widths,
        feed_forward=config.whole("intermediate_size", 4 * widths["hidden"]),
        tied=config.flag("tie_word_embeddings", True),
        window=config.whole("window_size", 256),
        full_frequency=2,
        norm_bias=True,
        output_bias=True,
        bias=True,
    )


def gpt_neox(config: Config) -> Architecture:
    """Return the architecture of GPT-NeoX.

    Attention and feed-forward part in parallel, each after its norm.
    """
    bias = config.flag("attention_bias", True)
    return Architecture(
        **widths_of(config),
        **{**BIASES, "query_bias": bias, "output_bias": bias},
        feed_forward=config.whole("intermediate_size"),
        tied=config.flag("tie_word_embeddings", False),
        parallel=config.flag("use_parallel_residual", True),
    )


def opt(config: Config) -> Architecture:
    """Return the architecture of OPT: as GPT-2, but a feed-forward part with ReLU."""
    widths = widths_of(config, learned=True)
    widths["learned_positions"] += 2  # the first two stand for padding
    if config.whole("word_embed_proj_dim", widths["hidden"]) != widths["hidden"]:
        raise refusal("network.projection").under(config.path)
    return Architecture(
        **widths,
        **BIASES,
        feed_forward=config.whole("ffn_dim"),
        tied=config.flag("tie_word_embeddings", True),
        relu=True,
        dropout=True,
    )


def bloom(config: Config) -> Architecture:
    """Return the architecture of BLOOM.

    As GPT-2, but positions from distances and a norm after the embeddings.
    """
    # older files call the hidden size n_embed
    hidden = "hidden_size" if "hidden_size" in config.values else "n_embed"
    heads = "n_head" if "n_head" in config.values else "num_attention_heads"
    keys = {**GPT2_KEYS, "hidden": hidden, "heads": heads, "positions": "seq_length"}
    widths = widths_of(config, keys)
    return Architecture(
        **widths,
        **BIASES,
        feed_forward=4 * widths["hidden"],
        tied=config.flag("tie_word_embeddings", True),
        embedding_norm=True,
        computed_positions=True,
    )


def falcon(config: Config) -> Architecture:
    """Return the architecture of Falcon: attention and feed-forward part in parallel; few keys and values."""
    widths, bias = widths_of(config), config.flag("bias", False)
    newer = config.flag("new_decoder_architecture", False)
    few = config.whole("num_kv_heads", widths["heads"])  # of the newer ones alone
    if newer:
        widths["kv_heads"] = few
    elif config.flag("multi_query", True):
        widths["kv_heads"] = 1
    parallel = config.flag("parallel_attn", True) or newer
    return Architecture(
        **widths,
        feed_forward=config.whole("ffn_hidden_size", 4 * widths["hidden"]),
        tied=config.flag("tie_word_embeddings", True),
        parallel=parallel,
        norms=2 if newer or not parallel else 1,
        norm_bias=True,
        query_bias=bias,
        output_bias=bias,
        bias=bias,
        computed_positions=config.flag("alibi", False),
    )


def mpt(config: Config) -> Architecture:
    """Return the architecture of MPT: positions from distances or learned, no biases, as the file says."""
    attention, bias = config.table("attn_config"), not config.flag("no_bias", True)
    keys = {"hidden": "d_model", "layers": "n_layers", "heads": "n_heads", "positions": "max_seq_len"}
    alibi = attention.flag("alibi", True)
    attention.must_be("attn_type", "multihead_attention")
    attention.must_be("qk_ln", False)
    widths = widths_of(config, keys, learned=not alibi)
    return Architecture(
        **widths,
        feed_forward=config.whole("expansion_ratio", 4) * widths["hidden"],
        tied=config.flag("tie_word_embeddings", True),
        computed_positions=alibi,
        norm_bias=bias,
        query_bias=bias,
        output_bias=bias,
        bias=bias,
    )


def phi(config: Config) -> Architecture:
    """Return the architecture of Phi: as GPT-J, with biases everywhere."""
    return Architecture(
        **widths_of(config),
        **BIASES,
        feed_forward=config.whole("intermediate_size"),
        tied=config.flag("tie_word_embeddings", False),
        parallel=True,
        norms=1,
    )


def nemotron(config: Config) -> Architecture:
    """Return the architecture of Nemotron: rotated positions, a feed-forward part that is a squared ReLU."""
    bias = config.flag("attention_bias", False)
    return Architecture(
        **widths_of(config),
        feed_forward=config.whole("intermediate_size"),
        tied=config.flag("tie_word_embeddings", False),
        norm_bias=True,
        query_bias=bias,
        output_bias=bias,
        bias=config.flag("mlp_bias", False),
        relu=True,
    )
