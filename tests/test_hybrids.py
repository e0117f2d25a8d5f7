"""Networks whose layers are of several types: counts, files, arithmetic, times and memory."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from perfmodel import predict
from perfmodel.core.errors import InputError
from perfmodel.equations.scans import (
    chunked_scan_flops,
    delta_rule_flops,
    recurrence_flops,
    scan_projected_width,
)
from perfmodel.model.transformers.architecture import dimensions_of
from perfmodel.model.transformers.flops import mean_attended, passed_parameters, step_flops
from perfmodel.workloads import workload, workload_from_file
from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.preset_names import HYBRIDS
from perfmodel.workloads.presets import preset

with (Path(__file__).parent / "data" / "published_parameters.csv").open(newline="") as _file:
    PUBLISHED = list(csv.DictReader(_file))


def architecture_of(row):
    return preset(row["workload"]).architecture._replace(mtp_layers=int(row["modules"]))


def name_of(row):
    return row["workload"] + "+modules" * int(row["modules"])


@pytest.mark.published("total parameters of the weights on the Hugging Face Hub, as each row says")
@pytest.mark.parametrize("row", PUBLISHED, ids=name_of)
def test_published_parameters(row):
    counted, published = architecture_of(row).parameters, int(row["parameters"])
    assert counted + int(row["beyond"]) == published
    assert abs(counted / published - 1) < 2e-4 or row["why"]


@pytest.mark.published("active parameters in the digits of the paper or model card")
@pytest.mark.parametrize("row", [row for row in PUBLISHED if row["active"]], ids=name_of)
def test_published_active_parameters(row):
    a = architecture_of(row)
    tables = {"none": 0, "embedding": 1, "embeddings": 2}[row["counted_without"]]
    counted = (a.active_parameters - tables * a.vocabulary * a.hidden) / 1e9
    # some round, some cut digits off
    assert counted == pytest.approx(float(row["active"]), abs=10.0 ** -int(row["digits"]))


def test_the_table_is_of_sixty_networks_or_nearly():
    assert len(PUBLISHED) >= 55
    assert len({row["workload"] for row in PUBLISHED}) >= 50


# files


def usual(hidden, layers, heads, width, words, **others):
    return {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": width,
        "vocab_size": words,
        **others,
    }


NEMOTRON = {
    "num_key_value_heads": 8,
    "attention_head_dim": 128,
    "mamba_head_dim": 64,
    "ssm_state_size": 128,
    "n_groups": 8,
    "conv_kernel": 4,
    "chunk_size": 128,
    "expand": 2,
    "use_conv_bias": True,
    "use_bias": False,
    "mamba_proj_bias": False,
    "mlp_hidden_act": "relu2",
    "mamba_hidden_act": "silu",
    "time_step_min": 0.001,
    "sliding_window": None,
}
FULL_OF_KIMI = [4, 8, 12, 16, 20, 24, 27]
QWEN3_NEXT = usual(
    2048,
    48,
    16,
    5120,
    151936,
    num_key_value_heads=2,
    head_dim=256,
    num_experts=512,
    num_experts_per_tok=10,
    moe_intermediate_size=512,
    shared_expert_intermediate_size=512,
    linear_conv_kernel_dim=4,
    linear_key_head_dim=128,
    linear_value_head_dim=128,
    linear_num_key_heads=16,
    linear_num_value_heads=32,
    full_attention_interval=4,
    decoder_sparse_step=1,
    mlp_only_layers=[],
    partial_rotary_factor=0.25,
    norm_topk_prob=True,
)
GLM = {
    "num_key_value_heads": 8,
    "head_dim": 128,
    "attention_bias": True,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "n_group": 1,
    "topk_group": 1,
    "tie_word_embeddings": False,
    "partial_rotary_factor": 0.5,
}
DEEPSEEK = {
    "num_key_value_heads": 128,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "moe_intermediate_size": 2048,
    "first_k_dense_replace": 3,
    "moe_layer_freq": 1,
    "ep_size": 1,
    "index_n_heads": 64,
    "index_head_dim": 128,
    "index_topk": 2048,
}
FILES = {
    "nemotron-h-8b": (
        "nemotron_h",
        usual(4096, 52, 32, 21504, 131072, **NEMOTRON, mamba_num_heads=128)
        | {"hybrid_override_pattern": "M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M*-M-M-M-M-M-"},
    ),
    "nemotron-3-nano-30b-a3b": (
        "nemotron_h",
        usual(2688, 52, 32, 1856, 131072, **NEMOTRON, mamba_num_heads=64)
        | {
            "num_key_value_heads": 2,
            "n_routed_experts": 128,
            "n_shared_experts": 1,
            "num_experts_per_tok": 6,
            "moe_intermediate_size": 1856,
            "moe_shared_expert_intermediate_size": 3712,
            "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
        },
    ),
    "jamba-mini": (
        "jamba",
        usual(
            4096,
            32,
            32,
            14336,
            65536,
            num_key_value_heads=8,
            num_experts=16,
            num_experts_per_tok=2,
            expert_layer_period=2,
            expert_layer_offset=1,
            attn_layer_period=8,
            attn_layer_offset=4,
            mamba_d_state=16,
            mamba_d_conv=4,
            mamba_expand=2,
            mamba_dt_rank="auto",
            mamba_conv_bias=True,
        ),
    ),
    "qwen3-next-80b-a3b": ("qwen3_next", QWEN3_NEXT),
    "kimi-linear-48b-a3b": (
        "kimi_linear",
        usual(
            2304,
            27,
            32,
            9216,
            163840,
            kv_lora_rank=512,
            q_lora_rank=None,
            qk_nope_head_dim=128,
            qk_rope_head_dim=64,
            v_head_dim=128,
            num_experts=256,
            num_experts_per_token=8,
            moe_intermediate_size=1024,
            num_shared_experts=1,
            first_k_dense_replace=1,
            moe_layer_freq=1,
            head_dim=72,
            linear_attn_config={
                "full_attn_layers": FULL_OF_KIMI,
                "kda_layers": [layer for layer in range(1, 28) if layer not in FULL_OF_KIMI],
                "head_dim": 128,
                "num_heads": 32,
                "short_conv_kernel_size": 4,
            },
        ),
    ),
    "minimax-text-01": (
        "minimax_text_01",
        usual(
            6144,
            80,
            64,
            9216,
            200064,
            num_key_value_heads=8,
            head_dim=128,
            num_local_experts=32,
            num_experts_per_tok=2,
            attn_type_list=[int(layer % 8 == 7) for layer in range(80)],
            postnorm=True,
            shared_intermediate_size=0,
            layernorm_full_attention_alpha=3.5565588200778455,
        ),
    ),
    "minimax-m2": (
        "minimax_m2",
        usual(
            3072,
            62,
            48,
            1536,
            200064,
            num_key_value_heads=8,
            head_dim=128,
            num_local_experts=256,
            num_experts_per_tok=8,
            use_qk_norm=True,
            qk_norm_type="per_layer",
            attn_type_list=[1] * 62,
            rotary_dim=64,
        ),
    ),
    "granite-4-small": (
        "granitemoehybrid",
        usual(
            4096,
            40,
            32,
            768,
            100352,
            num_key_value_heads=8,
            num_local_experts=72,
            num_experts_per_tok=10,
            shared_intermediate_size=1536,
            mamba_n_heads=128,
            mamba_n_groups=1,
            mamba_d_state=128,
            mamba_d_head=64,
            mamba_d_conv=4,
            mamba_expand=2,
            mamba_chunk_size=256,
            tie_word_embeddings=True,
            position_embedding_type="nope",
            layer_types=["attention" if layer in (5, 15, 25, 35) else "mamba" for layer in range(40)],
        ),
    ),
    "glm-4.5": (
        "glm4_moe",
        usual(5120, 92, 96, 12288, 151552, **GLM, n_routed_experts=160, moe_intermediate_size=1536)
        | {"first_k_dense_replace": 3, "use_qk_norm": True},
    ),
    "glm-4.5-air": (
        "glm4_moe",
        usual(4096, 46, 96, 10944, 151552, **GLM, n_routed_experts=128, moe_intermediate_size=1408)
        | {"first_k_dense_replace": 1, "use_qk_norm": False},
    ),
    "deepseek-v3.2": ("deepseek_v32", usual(7168, 61, 128, 18432, 129280, **DEEPSEEK)),
    "smollm3-3b": (
        "smollm3",
        usual(2048, 36, 16, 11008, 128256, num_key_value_heads=4, tie_word_embeddings=True)
        | {"no_rope_layers": [1, 1, 1, 0] * 9, "no_rope_layer_interval": 4, "use_sliding_window": False},
    ),
    "olmo-2-32b": ("olmo2", usual(5120, 64, 40, 27648, 100352, num_key_value_heads=8)),
}
"""The published values of a config.json that say what a built-in network says."""
COUNTED = {
    "seed_oss": (
        usual(5120, 64, 80, 27648, 155136, num_key_value_heads=8, head_dim=128, attention_bias=True),
        36_151_104_512,
    ),
    "olmo3": (
        usual(4096, 32, 32, 11008, 100278, num_key_value_heads=32, sliding_window=4096)
        | {"layer_types": [*["sliding_attention"] * 3, "full_attention"] * 8},
        7_298_011_136,
    ),
    "olmoe": (usual(2048, 16, 16, 1024, 50304, num_experts=64, num_experts_per_tok=8), 6_919_161_856),
    "dots1": (
        usual(4096, 62, 32, 10944, 152064, num_key_value_heads=32, head_dim=128, n_routed_experts=128)
        | {"n_shared_experts": 2, "num_experts_per_tok": 6, "moe_intermediate_size": 1408}
        | {"first_k_dense_replace": 1},
        142_774_381_696 - 61 * 128,  # corrections of bias
    ),
    "ernie4_5_moe": (
        usual(2560, 28, 20, 12288, 103424, num_key_value_heads=4, moe_num_experts=64, moe_k=6)
        | {"moe_intermediate_size": 1536, "moe_num_shared_experts": 2, "moe_layer_start_index": 1},
        21_825_437_888 - 27 * 64,  # corrections of bias
    ),
}
"""Type -> values of a published config.json, and the parameters of its weights on the Hub."""


def read(tmp_path, kind, values, sequence_length=128):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": kind, **values}))
    return workload_from_file(path, sequence_length)


@pytest.mark.published("config.json of the Hugging Face model pages")
@pytest.mark.parametrize(("name", "kind", "values"), [(name, *each) for name, each in FILES.items()])
def test_a_published_file_is_the_built_in_network(tmp_path, name, kind, values):
    ours, theirs = workload(name, 128), read(tmp_path, kind, values)
    known = ours.architecture._replace(positions=theirs.architecture.positions)
    width = known.feed_forward if known.plain_layers else theirs.architecture.feed_forward
    same = theirs.architecture._replace(
        pattern=known.pattern and theirs.architecture.sequence[: len(known.pattern)], feed_forward=width
    )
    assert same == known._replace(feed_forward=width)
    assert theirs.architecture.sequence == known.sequence
    assert theirs.layers == ours.layers


@pytest.mark.published("total parameters of the weights on the Hugging Face Hub, by llmfit 1.1.17")
@pytest.mark.parametrize(("kind", "values", "parameters"), [(k, *v) for k, v in COUNTED.items()])
def test_other_published_files(tmp_path, kind, values, parameters):
    found = read(tmp_path, kind, values)
    assert found.parameters == found.architecture.parameters == parameters


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        ("nemotron_h", FILES["nemotron-h-8b"][1] | {"moe_latent_size": 1024}, "moe_latent_size is 1024"),
        ("nemotron_h", FILES["nemotron-h-8b"][1] | {"num_hidden_layers": 50}, "for each of 50 layers"),
        ("qwen3_next", QWEN3_NEXT | {"mlp_only_layers": [0]}, "some layers have no experts"),
        ("qwen3_next", QWEN3_NEXT | {"layer_types": ["mamba3"] * 48}, "layer_types is .*mamba3"),
        ("qwen3_next", QWEN3_NEXT | {"hyper_connections": 4}, "'hyper_connections',. may change"),
        ("llama", usual(64, 2, 4, 128, 100, num_memory_tokens=16), "num_memory_tokens"),
        ("llama", usual(64, 2, 4, 128, 100, layer_types=["sliding_attention"] * 2), "for layer 0; read was"),
        ("llama", usual(64, 2, 4, 128, 100, moe_intermediate_size=16), "moe_intermediate_size"),
        ("kimi_linear", FILES["kimi-linear-48b-a3b"][1] | {"attn_res_block_size": 12}, "attn_res_block_size"),
        (
            "qwen3",
            usual(64, 4, 4, 128, 100, use_sliding_window=True, sliding_window=8, max_window_layers=2),
            "max_window_layers is 2; only 0 is read",
        ),
    ],
)
def test_what_would_be_misread_is_refused_by_name(tmp_path, kind, values, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, kind, values, 16)


@pytest.mark.parametrize("value", [None, False, 0, [], {}, ""])
def test_fields_that_are_off_are_no_obstacle(tmp_path, value):
    read(tmp_path, "llama", usual(64, 2, 4, 128, 100, num_memory_tokens=value), 16)


@pytest.mark.parametrize("name", [name for names in HYBRIDS.values() for name in names] + ["glm-4.5-air"])
@pytest.mark.parametrize("modules", [0, 1])
def test_the_table_has_the_parameters_of_the_architecture(name, modules):
    from perfmodel.workloads.networks.transformer import layers_of

    a = preset(name).architecture._replace(mtp_layers=modules)
    assert sum(layer.parameters for layer in layers_of(a, 64)) == a.parameters


# arithmetic against an independent count


class Counter:
    """Multiplies matrices and counts the FLOP."""

    def __init__(self):
        self.flops = 0

    def __call__(self, a, b):
        self.flops += 2 * a.shape[0] * a.shape[1] * b.shape[1]
        return a @ b


def step_by_step(keys, queries, values, decays):
    """Outputs of a state that decays and takes in a product of value and key at every token."""
    state, outputs = np.zeros((values.shape[1], keys.shape[1])), []
    for key, query, value, decay in zip(keys, queries, values, decays, strict=True):
        state = decay * state + np.outer(value, key)
        outputs.append(state @ query)
    return np.array(outputs)


def by_chunks(product, keys, queries, values, decays, chunk):
    """The same by products of matrices; scores are computed once for all heads of values."""
    heads, tokens = len(values), len(keys)
    outputs = np.zeros((heads, tokens, values.shape[2]))
    states = [np.zeros((values.shape[2], keys.shape[1])) for _ in range(heads)]
    for start in range(0, tokens, chunk):
        at = slice(start, start + chunk)
        scores = product(queries[at], keys[at].T)
        for head in range(heads):
            grown = np.cumprod(decays[head, at])
            mask = np.tril(grown[:, None] / grown[None, :])
            inside = product(scores * mask, values[head, at])
            outside = product(queries[at] * grown[:, None], states[head].T)
            outputs[head, at] = inside + outside
            left = (grown[-1] / grown)[:, None] * keys[at]
            states[head] = grown[-1] * states[head] + product(values[head, at].T, left)
    return outputs


def test_chunks_do_what_the_recurrence_does_with_the_flops_of_the_equation():
    random = np.random.default_rng(1)
    heads, size, states, chunk, tokens = 3, 4, 5, 8, 32
    keys, queries = random.normal(size=(2, tokens, states))
    values = random.normal(size=(heads, tokens, size))
    decays = random.uniform(0.7, 1.0, size=(heads, tokens))
    product = Counter()
    found = by_chunks(product, keys, queries, values, decays, chunk)
    for head in range(heads):
        assert found[head] == pytest.approx(step_by_step(keys, queries, values[head], decays[head]))
    assert product.flops == tokens * chunked_scan_flops(heads * size, states, states, chunk)


def test_the_delta_rule_by_chunks_with_the_flops_of_the_equation():
    random = np.random.default_rng(2)
    size, states, chunk, tokens = 4, 5, 8, 32
    keys, queries = random.normal(size=(2, tokens, states))
    keys /= np.linalg.norm(keys, axis=1, keepdims=True)
    values, rates = random.normal(size=(tokens, size)), random.uniform(size=tokens)
    state, expected = np.zeros((size, states)), []
    for key, query, value, rate in zip(keys, queries, values, rates, strict=True):
        state = state + rate * np.outer(value - state @ key, key)
        expected.append(state @ query)
    product, state, found = Counter(), np.zeros((size, states)), []
    for start in range(0, tokens, chunk):
        at = slice(start, start + chunk)
        k, q, v, b = keys[at], queries[at], values[at], rates[at, None]
        inverse = np.linalg.inv(np.eye(chunk) + np.tril(b * product(k, k.T), -1))
        removed, added = product(inverse, b * k), product(inverse, b * v)
        added = added - product(removed, state.T)
        found.extend(product(q, state.T) + product(np.tril(product(q, k.T)), added))
        state = state + product(added.T, k)
    assert np.array(found) == pytest.approx(np.array(expected))
    least = chunked_scan_flops(size, states, states, chunk) + delta_rule_flops(size, states, states, 1, chunk)
    assert product.flops == tokens * least


@pytest.mark.published("Megatron-LM, training/training.py: in_proj of a Mamba layer, 7 FLOP a state")
def test_the_count_of_a_mamba_layer():
    scan = preset("nemotron-h-8b").architecture.scan
    assert scan.projected == scan_projected_width(scan.inner, scan.inner, scan.keys, scan.heads)
    megatron = 2 * 4096 * (2 * 8192 + 2 * 8 * 128 + 128) + 7 * 8192 * 128 + 2 * 8192 * 4096
    convolution = 8 * (8192 + 2048)
    ours = 2 * scan.weights(4096) + recurrence_flops(8192, 128, 6) + convolution
    assert megatron - ours == 8192 * 128 - convolution


@pytest.mark.published("Megatron-LM, training/training.py: gdn_layer_flops")
def test_the_count_of_a_layer_with_gated_delta_net():
    scan, h = preset("qwen3-next-80b-a3b").architecture.scan, 2048
    keys, values = 128 * 16, 128 * 32
    megatron = 2 * (
        h * (2 * keys + 2 * values + 2 * 32) + 4 * (2 * keys + values) + 32 * 128**2 * 4 + h * values
    )
    ours = 2 * scan.weights(h) + recurrence_flops(values, 128, 8) + 2 * 4 * scan.convolved
    assert ours == megatron


@pytest.mark.parametrize(
    ("name", "length", "reach"),
    [
        ("gemma-3-1b", 2048, lambda layer: 512 if (layer + 1) % 6 else 10**9),
        ("gemma-3-27b", 4096, lambda layer: 1024 if (layer + 1) % 6 else 10**9),
        ("gpt-oss-20b", 1000, lambda layer: 10**9 if layer % 2 else 128),
        ("deepseek-v3.2", 4096, lambda layer: 2048),
        ("nemotron-h-8b", 512, lambda layer: 10**9),
    ],
)
def test_attended_positions_against_a_count(name, length, reach):
    a = preset(name).architecture
    layers = [layer for layer in range(a.layers) if not a.pattern or "*" in a.letters(layer)]
    positions = np.arange(1, length + 1)
    mean = np.mean([np.minimum(positions, reach(layer)).mean() for layer in layers])
    assert mean_attended(a, length) == pytest.approx(mean, rel=1e-12)


def test_flops_of_the_step_are_those_of_the_table_by_chunks_or_less():
    """The table computes chunks and squares of scores; what counts is the recurrence and the triangle."""
    for name in ("nemotron-h-8b", "qwen3-next-80b-a3b", "kimi-linear-48b-a3b", "minimax-text-01"):
        network = workload(name, 1024)
        a = network.architecture
        products = 6 * passed_parameters(a, 1024)
        counted = step_flops(a, 1, 1024) / 1024
        assert products < counted < network.training_flops / 1024
        assert counted / products < 1.35


# times and memory

JOB = {"node": "dgx-h100", "gpus": 64, "global_batch_size": 128}


@pytest.mark.parametrize("name", ["nemotron-h-8b", "qwen3-next-80b-a3b", "jamba-mini", "deepseek-v3.2"])
def test_widths_of_the_whole_are_means_of_the_types(name):
    """Parameters of a rank come from means; they are those of the architecture but for norms and scalars."""
    a = preset(name).architecture
    d = dimensions_of(a, 4096)
    routed = 1 - d.dense_share
    experts = (d.experts + d.shared_experts) * d.expert_parameters + d.hidden * d.experts
    each = d.attention_parameters + d.dense_share * d.dense_parameters + routed * experts
    whole = d.layers * each + d.embeddings * d.embedding_parameters
    assert whole == pytest.approx(a.parameters, rel=2e-3)
    shares = [each.share for each in d.layer_types or () if each is not None]
    assert not shares or sum(shares) == pytest.approx(1)


def test_a_longer_sequence_costs_a_hybrid_less_than_attention_alone():
    def growth(name):
        one, long = (
            predict(workload=name, **JOB | {"global_batch_size": 1 << 20 >> bits}, sequence_length=1 << bits)
            for bits in (12, 13)
        )
        return long.iteration_time / one.iteration_time

    assert growth("nemotron-h-8b") < growth("llama-3-8b")


def test_all_attention_written_as_a_pattern_predicts_the_same():
    a = preset("llama-3-8b").architecture
    plain, typed = dimensions_of(a, 4096), dimensions_of(a._replace(pattern="*-"), 4096)
    assert a._replace(pattern="*-").parameters == a.parameters
    assert typed._replace(layer_types=None) == pytest.approx(plain)
    assert step_flops(a._replace(pattern="*-"), 1, 4096) == step_flops(a, 1, 4096)


def test_a_module_costs_a_layer_a_product_and_logits():
    a = preset("deepseek-v3").architecture
    more = a._replace(mtp_layers=1)
    layer = a.attention_parameters + a.routed_parameters
    # its two norms of inputs, one of outputs, and two of the layer
    assert more.parameters - a.parameters == layer + 2 * 7168**2 + 5 * 7168
    d = dimensions_of(more, 4096)
    assert (d.layers, d.predicted_share) == (62, 2)
    assert passed_parameters(more, 4096) - passed_parameters(a, 4096) == pytest.approx(
        2 * 7168**2
        + 7168 * 129280
        + a.attention_parameters
        - 1536
        - 512
        + 9 * a.expert_parameters
        + 7168 * 256
    )


def test_hybrids_have_an_interval_that_says_why():
    from perfmodel.model.transformers.uncertainty import widenings

    words = [each.words for each in widenings(preset("nemotron-h-8b").architecture, 4096, "bf16", 0.5)]
    assert any("scans" in each for each in words)
    assert not any(
        "scans" in w.words for w in widenings(preset("llama-3-8b").architecture, 4096, "bf16", 0.5)
    )


def test_a_bare_architecture_has_no_types():
    a = Architecture(8, 2, 2, 2, 4, 32, 100, 64)
    assert dimensions_of(a, 64).layer_types is None
    assert a.sequence == ""
    assert a.attention_layers == a.plain_layers == 2


DERIVED = [
    ("nemotron-h-8b", {"tensor_parallel": 2}),
    ("nemotron-3-nano-30b-a3b", {"expert_parallel": 8}),
    ("qwen3-next-80b-a3b", {"pipeline_parallel": 4, "recompute": "full", "global_batch_size": 128}),
    ("jamba-mini", {"sharding": "zero3"}),
    ("kimi-linear-48b-a3b", {"context_parallel": 2}),
    ("minimax-text-01", {"pipeline_parallel": 8, "global_batch_size": 128}),
    ("deepseek-v3.2", {"mtp_layers": 1, "tensor_parallel": 2}),
    ("glm-4.5-air", {"mtp_layers": 1}),
]


@pytest.mark.parametrize(("name", "options"), DERIVED)
def test_every_number_has_an_origin(name, options):
    from perfmodel.decide.explanations.derivation import derivation
    from perfmodel.decide.sensitivity.elasticity import case_of
    from perfmodel.hardware.catalogue.store import Catalogue
    from perfmodel.model.fitted.calibration import calibration
    from perfmodel.model.options.conditions import Conditions
    from perfmodel.model.options.scenario import scenario_of

    job = {"workload": name, "world_size": 64, "accelerator": "h100-sxm5-80gb", **options}
    result = derivation(case_of(scenario_of(job), Catalogue.of(None), calibration(), Conditions(price=1.0)))
    assert [(node.name, node.value) for node in result.gaps] == []


def test_modules_are_an_option_of_every_decoder():
    job = {"workload": "deepseek-v3", "node": "dgx-h100", "gpus": 256, "global_batch_size": 512}
    job |= {"pipeline_parallel": 4, "expert_parallel": 32}
    without, trained = predict(**job), predict(**job, mtp_layers=1)
    assert any("11.5 B" in each for each in without.warnings)
    assert not any("predicts" in each for each in trained.warnings)
    # logits twice, and a layer more of 61
    assert trained.terms["logits_time"] == pytest.approx(2 * without.terms["logits_time"], rel=0.02)
    grown = trained.terms["products_time"] / without.terms["products_time"]
    assert 1 + 1 / 61 < grown < 1 + 1.5 / 61
    with pytest.raises(InputError, match="does not predict the next token"):
        predict(workload="bert-base", node="dgx-h100", gpus=8, mtp_layers=1)
    assert predict(**job, mtp_layers=0).iteration_time == without.iteration_time


def test_layouts_and_sweeps_take_hybrids_and_modules():
    from perfmodel import layouts, sweep

    found = layouts(
        "nemotron-3-nano-30b-a3b",
        gpus=64,
        global_batch_size=128,
        node="dgx-h100",
        sequence_length=8192,
        top=3,
    )
    assert found.rows
    job = {"gpus": 64, "global_batch_size": 128, "node": "dgx-h100", "top": 1}
    (more,) = layouts("glm-4.5-air", mtp_layers=1, **job).rows
    assert more.iteration_time > layouts("glm-4.5-air", **job).rows[0].iteration_time
    table = sweep(workload=["nemotron-h-8b", "llama-3-8b"], node="dgx-h100", gpus=[8, 64], local_batch_size=1)
    for row in table.rows():
        one = predict(workload=row["workload"], node="dgx-h100", gpus=row["world_size"], local_batch_size=1)
        assert row["iteration_time"] == pytest.approx(one.iteration_time, rel=1e-9)


def test_tensor_parallelism_divides_a_scan_by_its_heads():
    with pytest.raises(InputError, match="heads of its scan"):
        predict(workload="nemotron-h-4b", node="dgx-h100", gpus=64, tensor_parallel=32)


def test_what_a_layer_keeps_by_hand():
    """A layer's input and the norm's output; of a scan its projections, its output, and the gated one."""
    from perfmodel.hardware.catalogue.store import Catalogue
    from perfmodel.hardware.releases import release
    from perfmodel.model.options.layout import Layout
    from perfmodel.model.transformers.job import Job
    from perfmodel.model.transformers.layer_memory import layer_bytes
    from perfmodel.model.transformers.machine import chip_of
    from perfmodel.model.transformers.software import Options, software_of

    catalogue, layout, tokens = Catalogue.of(None), Layout(), 1024
    chip = chip_of(catalogue.accelerator("h100-sxm5-80gb"))
    model = dimensions_of(preset("nemotron-h-8b").architecture, tokens)
    stack = software_of(release("megatron-core@2025", catalogue), chip, model, layout, Options("bf16"))
    job = Job(model, layout, chip, stack, None, float(tokens), 1.0, 8.0, 1.0, 1.0)
    h, inner, keys = 4096, 8192, 1024
    scan = 4 * h + 2 * (2 * inner + 2 * keys + 128) + 2 * inner + 2 * inner
    attention = 4 * h + 2 * (h + 2 * 8 * 128) + 2 * h
    feed_forward = 4 * h + 2 * 2 * 21504
    kept, _ = layer_bytes(job)
    assert kept == pytest.approx(tokens * (24 * scan + 4 * attention + 24 * feed_forward) / 52)


@pytest.mark.published("64 GH200 of Isambard-AI, Nemotron 3 Nano: 9.328 s a step are 14.78 % by exact FLOP")
def test_the_count_of_a_hybrid_is_that_of_a_published_run():
    """512 x 8,192 tokens, 989.4 TFLOP/s: row isamb-001 of the measured runs of transformers."""
    flops = step_flops(preset("nemotron-3-nano-30b-a3b").architecture, 512, 8192)
    assert flops / (9.328 * 64 * 989.4e12) == pytest.approx(0.1478, rel=2e-3)
