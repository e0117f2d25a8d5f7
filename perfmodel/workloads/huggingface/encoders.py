"""Encoders of text and images, and T5, an encoder with a decoder."""

from __future__ import annotations

from perfmodel.core.errors import refusal
from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.huggingface.config import Config
from perfmodel.workloads.huggingface.widths import BIASES, share, widths_of

MASKED_FRACTION = 0.15
"""Share of tokens that BERT has to guess (Devlin et al. 2019, section 3.1)."""

TARGET_FRACTION = 114 / 512
"""Tokens of T5's decoder per token of its encoder (Raffel et al. 2020, section 3.1.4)."""

COLOURS = 3

CLASSES = 1000
"""Of ImageNet-1k."""


def bert(config: Config) -> Architecture:
    """Return the architecture of BERT.

    Words, positions and segments; norms after each part; the heads are left out.
    """
    return Architecture(
        **widths_of(config, learned=True),
        **BIASES,
        feed_forward=config.whole("intermediate_size"),
        tied=config.flag("tie_word_embeddings", True),
        types=config.whole("type_vocab_size", 2),
        bidirectional=True,
        predicted_fraction=MASKED_FRACTION,
        embedding_norm=True,
        final_norm=False,
        dropout=True,
    )


def distilbert(config: Config) -> Architecture:
    """Return the architecture of DistilBERT: BERT without segments and pooler."""
    return Architecture(
        **widths_of(config, {"hidden": "dim", "layers": "n_layers", "heads": "n_heads"}, learned=True),
        **BIASES,
        feed_forward=config.whole("hidden_dim"),
        tied=config.flag("tie_word_embeddings", True),
        bidirectional=True,
        predicted_fraction=MASKED_FRACTION,
        embedding_norm=True,
        final_norm=False,
        dropout=True,
    )


def t5(config: Config) -> Architecture:
    """Return the architecture of T5.

    As many layers in the decoder as in the encoder, unless the file says otherwise.
    """
    layers, heads = config.layers("num_layers"), config.whole("num_heads")
    gated = config.text("feed_forward_proj", "relu").startswith("gated")
    return Architecture(
        hidden=config.whole("d_model"),
        layers=config.layers("num_decoder_layers", layers),
        encoder_layers=layers,
        heads=heads,
        kv_heads=heads,
        head_size=config.whole("d_kv"),
        feed_forward=config.whole("d_ff"),
        vocabulary=config.whole("vocab_size"),
        positions=config.whole("n_positions", 512),
        gated=gated,
        relu=not gated,
        tied=config.flag("tie_word_embeddings", True),
        relative_positions=config.whole("relative_attention_num_buckets", 32),
        target_fraction=TARGET_FRACTION,
        dropout=not gated,
    )


def vit(config: Config) -> Architecture:
    """Return the architecture of ViT: square patches of a square image, and a class token."""
    hidden, heads = config.whole("hidden_size"), config.whole("num_attention_heads")
    image, patch = config.whole("image_size", 224), config.whole("patch_size", 16)
    if config.whole("num_channels", COLOURS) != COLOURS:
        raise refusal("network.colours", colours=COLOURS).under(config.path)
    if image % patch:
        raise refusal("network.patches", image=image, patch=patch).under(config.path)
    tokens = (image // patch) ** 2 + 1
    return Architecture(
        hidden=hidden,
        layers=config.layers("num_hidden_layers"),
        heads=heads,
        kv_heads=heads,
        head_size=share(config, hidden, heads),
        feed_forward=config.whole("intermediate_size"),
        vocabulary=len(config.table("id2label").values) or config.whole("num_labels", CLASSES),
        positions=tokens,
        learned_positions=tokens,
        predicted_fraction=1 / tokens,
        patch_elements=COLOURS * patch * patch,
        bidirectional=True,
        **{**BIASES, "query_bias": config.flag("qkv_bias", True)},
    )
