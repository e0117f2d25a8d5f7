"""Refuses a config.json with fields that may change the network and that nothing has read."""

from __future__ import annotations

import re

from perfmodel.core.errors import refusal
from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.huggingface.config import Config, shown

CHANGES = re.compile(
    "layer|head|expert|hidden|intermediate|inner|dim|size|width|rank|conv|mamba|ssm|state|window|attention|attn"
    "|moe|mlp|ffn|latent|index|lora|block|pattern|interval|period|offset|sparse|bias|norm|gate|embed|proj|altup"
    "|laurel|altern|share|depth|stack|cross|memory|compress|recurr|hyper|residual|mtp|nextn|(^|_)num_|(^|_)n_"
)
"""In the name of a field that may change products, parameters or activations."""
ALIKE = re.compile(
    "dropout|pdrop|init|eps$|epsilon|_id$|_ids$|dtype|rope|rotary|theta|loss|softcap|scal|cache|version|auto_map"
    "|^output_(attentions|hidden_states|router_logits)|^return_|pretraining_tp|quantization|implementation"
    "|label|summary|_act$|^hidden_act|activation|norm_topk|renormalize|topk|_group$|scoring|routing|router_|kernels"
    "|max_position|n_positions|n_positions|time_step|alpha|beta|multiplier|temperature|swiglu|query_pre_attn|logits_to_keep|fp32"
    "|chunk_size_feed_forward|attn_scale|upcast|prenorm|qk_head_dim|^ep_size$|^moe_router|softmax_type|^use_flash"
    "|^_|max_model|seq_len|interleave$|overlap|layerdrop|pad_|pooler|^torch|n_ctx|tie_|num_labels|classifier"
    "|embedding_fraction|moe_norm_min|shared_moe_mode|offset_alibi|skip_bias_add|use_pad_tok|encoder_stride|use_bidirectional|grad|compression|max_distance|vocab_|num_return|num_beams|bad_words"
)
"""In the name of a field that changes neither, or what is read elsewhere."""
WITHOUT_EFFECT = {
    "position_embedding_type": ("absolute", "nope", "rope", "rotary", "alibi"),
    "norm_type": ("low_precision_layernorm", "layer_norm", "rmsnorm"),
    "num_ln_in_parallel_attn": (2,),
    "do_layer_norm_before": (True,),
    "layer_norm_elementwise_affine": (True,),
    "enable_bias": (True,),
    "learned_pos_emb": (True,),
    "qk_layernorm": (False,),
    "mamba_ssm_cache_dtype": ("float32",),
    "use_mamba_kernels": (True, False),
    "full_attn_mod": (1,),
    "normalization_function": ("rmsnorm",),
}
"""Field -> values that change nothing."""
FULL, INDEXED = ("full_attention",), ("indexed_attention",)
WITHIN = ("sliding_attention", "chunked_attention")
"""Words of ``layer_types`` for layers that attend to all positions, to selected ones, and to a window."""
LONG = 10**9
"""More tokens than any window has."""


def check_read(config: Config, architecture: Architecture) -> None:
    """Refuse a file whose fields may change the network without having been read.

    Raises
    ------
    InputError : a field that was not read, by its name, or lists of layers that say something else
    """
    check_layers(config, architecture)
    unread = [
        key
        for key, value in config.values.items()
        if key not in config.read and value and _changes(key) and value not in WITHOUT_EFFECT.get(key, ())
    ]
    if unread:
        raise refusal("network.keys_unread", keys=tuple(sorted(unread))).under(config.path)


def _changes(key: str) -> bool:
    return bool(CHANGES.search(key)) and not ALIKE.search(key)


def check_layers(config: Config, architecture: Architecture) -> None:
    """Refuse lists of the layers' types that do not say what was read.

    Raises
    ------
    InputError : the list, and the first layer that differs
    """
    a = architecture
    if a.pattern:
        return
    for key in ("layer_types", "mlp_layer_types"):
        for layer, word in enumerate(config.items(key)):
            if key == "mlp_layer_types":
                expected: tuple[str, ...] = ("sparse",) if a.has_experts(layer) else ("dense",)
            elif a.index_heads:
                expected = INDEXED
            else:
                expected = WITHIN if a.attends_to(layer, LONG) < LONG else FULL
            if word not in expected:
                raise refusal(
                    "network.layers_differ", key=key, layer=layer, word=shown(word), expected=expected
                ).under(config.path)
