"""Networks whose layers are of several types: attention next to scans or linear attention."""

from __future__ import annotations

from perfmodel.core.errors import refusal
from perfmodel.workloads.architecture import ATTENTION, DENSE, EXPERTS, SCAN, Architecture
from perfmodel.workloads.huggingface.config import MOST_EXPERTS, Config
from perfmodel.workloads.huggingface.llama import experts_of, latent_of, llama, qwen_experts
from perfmodel.workloads.scan import GATED_DELTA, KIMI_DELTA, LIGHTNING, MAMBA, MAMBA_2, Scan

DELTA_CHUNK, LIGHTNING_CHUNK = 64, 256
"""Tokens of a chunk in flash-linear-attention's kernels of the delta rule, and in MiniMax's."""
ATTENTION_WORDS = ("attention", "full_attention")
SCAN_WORDS = ("mamba", "linear_attention")
"""Words of ``layer_types`` and ``layers_block_type``."""


def _mixers(config: Config, layers: int, *keys: str) -> str:
    """Return the letters of all layers' attention or scans from the first list in the file; "" if none."""
    for key in keys:
        words = config.items(key)
        if not words:
            continue
        unknown = [word for word in words if word not in (*ATTENTION_WORDS, *SCAN_WORDS)]
        if unknown or len(words) != layers:
            raise refusal("network.layer_types", key=key, words=unknown or words, layers=layers).under(
                config.path
            )
        return "".join(ATTENTION if word in ATTENTION_WORDS else SCAN for word in words)
    return ""


def _interleaved(mixers: str, others: str) -> str:
    """Return the pattern of layers with a mixer and a feed-forward part each."""
    return "".join(map("".join, zip(mixers, others, strict=True)))


def _mamba_2(config: Config, heads: str, head_size: str, state: str, groups: str, taps: str) -> Scan:
    return Scan(
        MAMBA_2,
        config.whole(heads),
        config.whole(head_size),
        config.whole(state),
        config.whole(groups, 1),
        config.whole(taps, 4),
        chunk=config.whole("chunk_size", config.whole("mamba_chunk_size", 256)),
    )


def nemotron_h(config: Config) -> Architecture:
    """Return the architecture of Nemotron-H and Nemotron 3: Mamba-2, attention and feed-forward layers.

    Attention without positions, squared ReLU, one norm before each layer.
    """
    for key in ("use_bias", "mamba_proj_bias"):
        config.must_be(key, False)
    config.must_be("use_conv_bias", True)
    config.must_be("moe_latent_size", None)
    config.items("mtp_layers_block_type")  # of modules that are left out
    config.text("mtp_hybrid_override_pattern", "")
    config.whole("expand", 2)  # the heads say the same
    words = config.items("layers_block_type") or config.items("layer_types")
    layers = config.layers("num_hidden_layers", len(words))
    pattern = config.text("hybrid_override_pattern", "")
    if not pattern:
        letters = {"mamba": SCAN, "linear_attention": SCAN, "mlp": DENSE, "moe": EXPERTS}
        pattern = "".join(letters.get(str(word), ATTENTION) for word in words)
    if len(pattern) != layers or set(pattern) - {SCAN, ATTENTION, DENSE, EXPERTS}:
        raise refusal("network.pattern", pattern=pattern, layers=layers).under(config.path)
    experts = experts_of(config, "n_routed_experts", "moe_intermediate_size") if EXPERTS in pattern else {}
    if experts:
        width = experts["expert_feed_forward"]
        shared = config.whole("moe_shared_expert_intermediate_size", width) * config.whole(
            "n_shared_experts", 0, largest=MOST_EXPERTS, smallest=0
        )
        experts["shared_experts"] = _whole_shared(config, shared, width)
    size = config.whole("attention_head_dim", 0, smallest=0)
    return llama(
        config,
        **({"head_size": size} if size else {}),
        gated=False,
        relu=True,
        computed_positions=True,
        pattern=pattern,
        parts=1,
        norms=1,
        scan=_mamba_2(
            config, "mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups", "conv_kernel"
        ),
        **experts,
    )


def _whole_shared(config: Config, shared: int, width: int) -> int:
    """Return the shared experts of the routed experts' width that are as wide as all shared ones."""
    if shared % width:
        raise refusal("network.shared_expert", shared=shared, expert_feed_forward=width).under(config.path)
    return shared // width


def granite_hybrid(config: Config) -> Architecture:
    """Return the architecture of Granite 4: Mamba-2 or attention, then experts with a shared one."""
    config.must_be("mamba_proj_bias", False)
    config.must_be("mamba_conv_bias", True)
    config.whole("mamba_expand", 2)
    layers, shared = config.layers("num_hidden_layers"), config.whole("shared_intermediate_size")
    mixers = _mixers(config, layers, "layer_types", "layers_block_type")
    scan = _mamba_2(
        config, "mamba_n_heads", "mamba_d_head", "mamba_d_state", "mamba_n_groups", "mamba_d_conv"
    )
    experts = experts_of(config, "num_local_experts", "intermediate_size", 0)
    if experts:
        experts["shared_experts"] = _whole_shared(config, shared, experts["expert_feed_forward"])
    else:
        experts["feed_forward"] = shared
    return llama(
        config,
        computed_positions=config.text("position_embedding_type", "") != "rope",
        pattern=_interleaved(mixers, (EXPERTS if "experts" in experts else DENSE) * layers),
        scan=scan,
        **experts,
    )


def jamba(config: Config) -> Architecture:
    """Return the architecture of Jamba: Mamba layers, now and then attention, and experts in some layers."""
    config.must_be("mamba_proj_bias", False)
    config.must_be("mamba_conv_bias", True)
    config.must_be("mamba_inner_layernorms", True)
    layers, hidden = config.layers("num_hidden_layers"), config.whole("hidden_size")

    def periodic(name: str, period: int, offset: int, letters: str) -> str:
        period = config.whole(f"{name}_layer_period", period)
        offset = config.whole(f"{name}_layer_offset", offset, smallest=0)
        return "".join(letters[layer % period == offset] for layer in range(layers))

    experts = config.whole("num_experts", 16, largest=MOST_EXPERTS)
    mixers = periodic("attn", 8, 4, SCAN + ATTENTION)
    others = periodic("expert", 2, 1, DENSE + EXPERTS) if experts > 1 else DENSE * layers
    routed = experts_of(config, "num_experts", "intermediate_size", 16) if EXPERTS in others else {}
    return llama(
        config,
        computed_positions=True,
        pattern=_interleaved(mixers, others),
        scan=Scan(
            MAMBA,
            config.whole("mamba_expand", 2) * hidden,
            1,
            config.whole("mamba_d_state", 16),
            1,
            config.whole("mamba_d_conv", 4),
            _rank(config, hidden),
        ),
        **routed,
    )


def _rank(config: Config, hidden: int) -> int:
    """Return the width that the step sizes of Mamba-1 come from; "auto": a sixteenth of the features."""
    if config.values.get("mamba_dt_rank", "auto") == "auto":
        config.read.add("mamba_dt_rank")
        return -(-hidden // 16)
    return config.whole("mamba_dt_rank")


def qwen3_next(config: Config) -> Architecture:
    """Return the architecture of Qwen3-Next: three layers of gated DeltaNet, then gated attention."""
    layers = config.layers("num_hidden_layers")
    period = config.whole("full_attention_interval", 4)
    mixers = _mixers(config, layers, "layer_types") or "".join(
        SCAN if (layer + 1) % period else ATTENTION for layer in range(layers)
    )
    experts = qwen_experts(config)
    if experts.pop("moe_frequency", 1) != 1 or experts.pop("dense_layers", 0):
        raise refusal("network.all_experts", keys=("decoder_sparse_step", "mlp_only_layers")).under(
            config.path
        )
    return llama(
        config,
        query_key_norm=True,
        output_gate=True,
        shared_gate=bool(experts.get("shared_experts")),
        pattern=_interleaved(mixers, (EXPERTS if experts else DENSE) * layers),
        scan=Scan(
            GATED_DELTA,
            config.whole("linear_num_value_heads"),
            config.whole("linear_value_head_dim"),
            config.whole("linear_key_head_dim"),
            config.whole("linear_num_key_heads"),
            config.whole("linear_conv_kernel_dim", 4),
            chunk=DELTA_CHUNK,
        ),
        **experts,
    )


def kimi_linear(config: Config) -> Architecture:
    """Return the architecture of Kimi-Linear: three layers of Kimi delta attention, then latent attention."""
    layers = config.layers("num_hidden_layers")
    table = config.table("linear_attn_config")
    table.must_be("use_full_rank_gate", False)
    full, linear = table.items("full_attn_layers"), table.items("kda_layers")  # counted from 1
    if sorted([*full, *linear]) != list(range(1, layers + 1)):
        raise refusal("network.linear_layers", full=full, linear=linear, layers=layers).under(config.path)
    experts = experts_of(config, "num_experts", "moe_intermediate_size", top_k="num_experts_per_token")
    experts["shared_experts"] = config.whole("num_shared_experts", 0, largest=MOST_EXPERTS, smallest=0)
    first = config.whole("first_k_dense_replace", 0, smallest=0)
    config.must_be("moe_layer_freq", 1)
    heads, size = table.whole("num_heads"), table.whole("head_dim")
    return llama(
        config,
        computed_positions=True,
        pattern=_interleaved(
            "".join(ATTENTION if layer in full else SCAN for layer in range(1, layers + 1)),
            DENSE * first + EXPERTS * (layers - first),
        ),
        scan=Scan(
            KIMI_DELTA,
            heads,
            size,
            size,
            heads,
            table.whole("short_conv_kernel_size", 4),
            rank=size,
            chunk=DELTA_CHUNK,
        ),
        **experts,
        **latent_of(config),
    )


def minimax(config: Config) -> Architecture:
    """Return the architecture of MiniMax-Text-01: seven layers of lightning attention, then attention."""
    layers, heads = config.layers("num_hidden_layers"), config.whole("num_attention_heads")
    mixers = _mixers(config, layers, "layer_types")
    if not mixers:  # of the file that was published: 1 for attention
        mixers = "".join(ATTENTION if kind else SCAN for kind in config.items("attn_type_list"))
    if len(mixers) != layers:
        raise refusal("network.layer_types", key="attn_type_list", words=mixers, layers=layers).under(
            config.path
        )
    if config.values.get("shared_intermediate_size") != [0]:  # as some files write it
        config.must_be("shared_intermediate_size", 0)
    config.read.add("shared_intermediate_size")
    config.must_be("postnorm", True)  # where the sums with inputs are taken; as many norms
    size = config.whole("head_dim", config.whole("hidden_size") // heads)
    return llama(
        config,
        pattern=_interleaved(mixers, EXPERTS * layers),
        scan=Scan(LIGHTNING, heads, size, size, heads, chunk=config.whole("block_size", LIGHTNING_CHUNK)),
        **experts_of(config, "num_local_experts", "intermediate_size"),
    )
