"""Transformers read from a Hugging Face config.json are those that are built in, parameter by parameter."""

import json

import pytest

from perfmodel import compare, layouts, plan, predict, sweep
from perfmodel.core.errors import InputError
from perfmodel.decide.explanations import explain
from perfmodel.decide.quote import Claim, Quote, check_quote
from perfmodel.decide.sensitivity.elasticity import sensitivity
from perfmodel.decide.sensitivity.sensitivity_tables import sensitivity_report
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.workloads import workload, workload_from_file
from perfmodel.workloads.huggingface.families import FAMILIES
from tests.test_hybrids import COUNTED, FILES


def usual(hidden, layers, heads, width, words, **others):
    """The names that most types use."""
    return {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": width,
        "vocab_size": words,
        **others,
    }


def gpt2_like(hidden, layers, heads, words, **others):
    return {"n_embd": hidden, "n_layer": layers, "n_head": heads, "vocab_size": words, **others}


LATENT = {"kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
DEEPSEEK_V3 = usual(
    7168,
    61,
    128,
    18432,
    129280,
    **LATENT,
    num_key_value_heads=128,
    q_lora_rank=1536,
    n_routed_experts=256,
    n_shared_experts=1,
    num_experts_per_tok=8,
    moe_intermediate_size=2048,
    first_k_dense_replace=3,
    moe_layer_freq=1,
    n_group=8,
    topk_group=4,
)
DEEPSEEK_V2_LITE = usual(
    2048,
    27,
    16,
    10944,
    102400,
    **LATENT,
    q_lora_rank=None,
    n_routed_experts=64,
    n_shared_experts=2,
    num_experts_per_tok=6,
    moe_intermediate_size=1408,
    first_k_dense_replace=1,
)
MIXTRAL = usual(
    4096, 32, 32, 14336, 32000, num_key_value_heads=8, num_local_experts=8, num_experts_per_tok=2,
    sliding_window=None,
)  # fmt: skip
QWEN3_MOE = usual(
    2048,
    48,
    32,
    6144,
    151936,
    head_dim=128,
    num_key_value_heads=4,
    num_experts=128,
    num_experts_per_tok=8,
    moe_intermediate_size=768,
    decoder_sparse_step=1,
    mlp_only_layers=[],
)
GEMMA2 = usual(4608, 46, 32, 36864, 256000, head_dim=128, num_key_value_heads=16, sliding_window=4096)
GPT_OSS = usual(
    2880,
    36,
    64,
    2880,
    201088,
    head_dim=64,
    num_key_value_heads=8,
    num_local_experts=128,
    num_experts_per_tok=4,
    sliding_window=128,
    attention_bias=True,
)
MAVERICK = usual(
    5120,
    48,
    40,
    8192,
    202048,
    head_dim=128,
    num_key_value_heads=8,
    intermediate_size_mlp=16384,
    num_local_experts=128,
    num_experts_per_tok=1,
    interleave_moe_layer_step=2,
)
FALCON_40B = usual(
    8192, 60, 128, 0, 65024, num_kv_heads=8, new_decoder_architecture=True, bias=False, parallel_attn=True
)
FALCON_7B = usual(4544, 32, 71, 0, 65024, multi_query=True, parallel_attn=True, bias=False, alibi=False)
T5_11B = {
    "d_model": 1024,
    "d_kv": 128,
    "d_ff": 65536,
    "num_layers": 24,
    "num_heads": 128,
    "vocab_size": 32128,
    "relative_attention_num_buckets": 32,
    "n_positions": 512,
}
T5_XXL = {
    "d_model": 4096,
    "d_kv": 64,
    "d_ff": 10240,
    "num_layers": 24,
    "num_decoder_layers": 24,
    "num_heads": 64,
    "vocab_size": 32128,
    "feed_forward_proj": "gated-gelu",
    "tie_word_embeddings": False,
}
VIT_H = usual(1280, 32, 16, 5120, 0, image_size=224, patch_size=14, num_channels=3, qkv_bias=True)

BUILT_IN = {
    "llama-2-70b": ("llama", usual(8192, 80, 64, 28672, 32000, num_key_value_heads=8)),
    "llama-3.2-1b": (
        "llama",
        usual(2048, 16, 32, 8192, 128256, num_key_value_heads=8, head_dim=64, tie_word_embeddings=True),
    ),
    "mistral-7b": (
        "mistral",
        usual(4096, 32, 32, 14336, 32000, num_key_value_heads=8, sliding_window=4096),
    ),
    "mixtral-8x7b": ("mixtral", MIXTRAL),
    "qwen2.5-72b": (
        "qwen2",
        usual(
            8192,
            80,
            64,
            29568,
            152064,
            num_key_value_heads=8,
            sliding_window=131072,
            use_sliding_window=False,
        ),
    ),
    "qwen3-32b": ("qwen3", usual(5120, 64, 64, 25600, 151936, num_key_value_heads=8, head_dim=128)),
    "qwen3-30b-a3b": ("qwen3_moe", QWEN3_MOE),
    "deepseek-v3": ("deepseek_v3", DEEPSEEK_V3),
    "deepseek-v2-lite": ("deepseek_v2", DEEPSEEK_V2_LITE),
    "gemma-7b": ("gemma", usual(3072, 28, 16, 24576, 256000, head_dim=256, num_key_value_heads=16)),
    "gemma-2-27b": ("gemma2", GEMMA2),
    "gemma-3-1b": (
        "gemma3_text",
        usual(
            1152,
            26,
            4,
            6912,
            262144,
            head_dim=256,
            num_key_value_heads=1,
            sliding_window=512,
            sliding_window_pattern=6,
        ),
    ),
    "gpt-oss-120b": ("gpt_oss", GPT_OSS),
    "llama-4-maverick": ("llama4_text", MAVERICK),
    "phi-3-mini": ("phi3", usual(3072, 32, 32, 8192, 32064, num_key_value_heads=32)),
    "nemotron-4-15b": ("nemotron", usual(6144, 32, 48, 24576, 256000, num_key_value_heads=8)),
    "gpt2-xl": ("gpt2", gpt2_like(1600, 48, 25, 50257, n_positions=1024)),
    "gpt-j-6b": ("gptj", gpt2_like(4096, 28, 16, 50400, n_positions=2048)),
    "gpt-neox-20b": ("gpt_neox", usual(6144, 44, 64, 24576, 50432, use_parallel_residual=True)),
    "pythia-12b": ("gpt_neox", usual(5120, 36, 40, 20480, 50688)),
    "gpt-neo-125m": (
        "gpt_neo",
        {
            "hidden_size": 768,
            "num_layers": 12,
            "num_heads": 12,
            "vocab_size": 50257,
            "max_position_embeddings": 2048,
            "window_size": 256,
        },
    ),
    "opt-66b": (
        "opt",
        usual(9216, 64, 72, 0, 50272, ffn_dim=36864, max_position_embeddings=2048, word_embed_proj_dim=9216),
    ),
    "bloom-176b": ("bloom", {"n_embed": 14336, "n_layer": 70, "n_head": 112, "vocab_size": 250880}),
    "falcon-40b": ("falcon", FALCON_40B),
    "falcon-7b": ("falcon", FALCON_7B),
    "mpt-7b": (
        "mpt",
        {
            "d_model": 4096,
            "n_layers": 32,
            "n_heads": 32,
            "vocab_size": 50368,
            "attn_config": {"alibi": True},
            "no_bias": False,
        },
    ),
    "t5-11b": ("t5", T5_11B),
    "t5-v1.1-xxl": ("t5", T5_XXL),
    "vit-h-14": ("vit", VIT_H),
}
"""The published values of a config.json that say what a built-in network says."""


def read(tmp_path, kind, values, sequence_length=None):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": kind, **values}))
    return workload_from_file(path, sequence_length)


@pytest.mark.published("config.json of the Hugging Face model pages")
@pytest.mark.parametrize(("name", "kind", "values"), [(n, *v) for n, v in BUILT_IN.items()])
def test_a_published_file_is_the_built_in_network(tmp_path, name, kind, values):
    length = None if kind == "vit" else 128
    ours, theirs = workload(name, length), read(tmp_path, kind, values, length)
    # how long a sequence may be is not in every file
    assert theirs.architecture == ours.architecture._replace(positions=theirs.architecture.positions)
    assert theirs.layers == ours.layers
    assert theirs.input_elements == ours.input_elements


@pytest.mark.published("Hugging Face, distilbert-base-uncased: 66 362 880 without, 66 985 530 with its head")
@pytest.mark.parametrize(
    ("classes", "parameters"), [([], 66_362_880), (["DistilBertForMaskedLM"], 66_985_530)]
)
def test_distilbert(tmp_path, classes, parameters):
    values = {
        "dim": 768,
        "n_layers": 6,
        "n_heads": 12,
        "hidden_dim": 3072,
        "vocab_size": 30522,
        "max_position_embeddings": 512,
        "architectures": classes,
    }
    assert read(tmp_path, "distilbert", values, 128).parameters == parameters


@pytest.mark.published("Hugging Face, microsoft/phi-2: 2 779 683 840, with a bias of 51200 logits")
def test_phi_2(tmp_path):
    found = read(tmp_path, "phi", usual(2560, 32, 32, 10240, 51200), 128)
    assert found.parameters == 2_779_683_840 - 51200


@pytest.mark.published("Hugging Face, Qwen/Qwen1.5-MoE-A2.7B: 14 315 784 192")
def test_qwen_with_shared_experts(tmp_path):
    values = usual(
        2048,
        24,
        16,
        5632,
        151936,
        num_key_value_heads=16,
        num_experts=60,
        num_experts_per_tok=4,
        moe_intermediate_size=1408,
        shared_expert_intermediate_size=5632,
        decoder_sparse_step=1,
    )
    found = read(tmp_path, "qwen2_moe", values, 128)
    assert found.parameters == found.architecture.parameters == 14_315_784_192
    assert found.architecture.shared_experts == 4


def test_of_a_model_that_sees_the_text_part_is_read(tmp_path):
    text = {"model_type": "gemma3_text", **BUILT_IN["gemma-3-1b"][1]}
    seeing = read(tmp_path, "gemma3", {"text_config": text, "vision_config": {"hidden_size": 1152}}, 128)
    assert seeing.layers == workload("gemma-3-1b", 128).layers
    with pytest.raises(InputError, match="model_type 'gemma4' is not known"):
        read(tmp_path, "gemma4", {"text_config": {"model_type": ["gemma3_text"]}})


SIGLIP = {"hidden_size": 1152, "num_hidden_layers": 27, "intermediate_size": 4304}
LLAMA = usual(4096, 32, 32, 11008, 32064)


@pytest.mark.any_version
@pytest.mark.parametrize(
    ("kind", "values", "without"),
    [
        ("gemma3", {"text_config": {"model_type": "llama", **LLAMA}, "vision_config": SIGLIP}, "0.41 B"),
        (
            "llava",
            {"text_config": {"model_type": "llama", **LLAMA}, "vision_config": {"model_type": "x"}},
            "",
        ),
        (
            "internvl_chat",
            {"llm_config": {"model_type": "qwen2", **LLAMA}, "vision_config": SIGLIP},
            "0.41 B",
        ),
    ],
)
def test_a_tower_that_is_left_out_is_noted_wherever_the_network_is_predicted(tmp_path, kind, values, without):
    (tmp_path / "seeing").mkdir()
    path = tmp_path / "seeing" / "config.json"
    path.write_text(json.dumps({"model_type": kind, **values}))
    size = f" ({without} parameters)" if without else ""
    (note,) = workload(str(path), 128).notes
    assert note == f"seeing is predicted without its vision tower{size}"
    job = {"node": "dgx-h100", "gpus": 8, "sequence_length": 128}
    assert note in predict(workload=str(path), **job).warnings
    assert note in layouts(str(path), **job, global_batch_size=8, top=1).notes
    assert note in sweep(workload=str(path), **job).notes
    one = {"workload": str(path), **job}
    assert compare(one, one | {"gpus": 16}).notes.count(note) == 1
    scenario = Scenario(**one)
    assert note in explain(scenario).notes
    assert f"note: {note}"[:60] in str(explain(scenario))
    catalogue, constants = Catalogue.built_in(), calibration()
    assert note in sensitivity_report(sensitivity(scenario), catalogue, constants).notes
    claim = Claim(quantity="tokens_per_second", value=1.0)
    quote = Quote(title="t", scenario={"workload": str(path), **job}, claims=(claim,))
    assert note in check_quote(quote)[0].arithmetic
    planned = plan(
        str(path), tokens=1e9, deadline="30 days", nodes="dgx-h100", max_gpus=8, sequence_length=128
    )
    assert note in planned.notes


@pytest.mark.published("README_WEIGHTS.md of DeepSeek-V3: 11.5 B parameters of the module's own")
def test_modules_that_predict_more_tokens_are_noted(tmp_path):
    found = read(tmp_path, "deepseek_v3", DEEPSEEK_V3 | {"num_nextn_predict_layers": 1}, 128)
    assert found.without == "its module that predicts more tokens (12 B parameters)"
    assert "11.5 B" in workload("deepseek-v3").notes[0]
    assert not read(tmp_path, "deepseek_v3", DEEPSEEK_V3, 128).notes
    assert not workload("gemma-3-1b").notes
    assert "0.42 B" in workload("gemma-3-27b").notes[0]


def test_first_dense_layers_and_frequency(tmp_path):
    values = QWEN3_MOE | {"mlp_only_layers": [0, 1], "decoder_sparse_step": 2, "num_hidden_layers": 6}
    found = read(tmp_path, "qwen3_moe", values, 64).architecture
    assert [found.has_experts(layer) for layer in range(6)] == [False, False, False, True, False, True]


def test_every_type_is_read_somewhere():
    read_above = {kind for kind, _ in BUILT_IN.values()} | {"distilbert", "phi", "qwen2_moe"}
    alike = {"bert", "deepseek", "kimi_k2"}  # of tests/test_workload_importers.py; and as deepseek_v3
    with_images = {"qwen2_vl", "qwen2_vl_text", "qwen3_vl_text", "qwen3_vl_moe_text"}
    of_files = {kind for kind, _ in FILES.values()} | {*COUNTED, "minimax"}
    assert set(FAMILIES) == read_above | alike | with_images | of_files


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        ("mixtral", MIXTRAL | {"num_local_experts": None}, "num_local_experts is missing"),
        ("mixtral", MIXTRAL | {"num_experts_per_tok": 9}, "num_experts_per_tok is 9; expected at most 8"),
        (
            "mixtral",
            MIXTRAL | {"num_local_experts": 10**6},
            "expected a whole number above 0, at most 16,384",
        ),
        ("deepseek_v3", {k: v for k, v in DEEPSEEK_V3.items() if k != "v_head_dim"}, "v_head_dim is missing"),
        ("qwen3_moe", QWEN3_MOE | {"mlp_only_layers": [5]}, r"mlp_only_layers is \[5\]; .* only the first"),
        ("qwen3_moe", QWEN3_MOE | {"mlp_only_layers": 5}, "mlp_only_layers is 5; expected a list"),
        (
            "qwen2_moe",
            QWEN3_MOE | {"shared_expert_intermediate_size": 1000},
            "is 1000; expected a multiple of moe_intermediate_size, 768",
        ),
        ("opt", usual(1024, 24, 16, 0, 50272, max_position_embeddings=2048), "ffn_dim is missing"),
        (
            "opt",
            usual(1024, 24, 16, 0, 50272, max_position_embeddings=2048, word_embed_proj_dim=512),
            "word_embed_proj_dim is not hidden_size",
        ),
        ("vit", VIT_H | {"image_size": 225}, "image_size is 225; expected a multiple of 14"),
        ("vit", VIT_H | {"num_channels": 1}, "num_channels is not 3"),
        ("t5", T5_11B | {"d_kv": 0}, "d_kv is 0; expected a whole number above 0"),
        ("mamba2", {}, "model_type 'mamba2' is not known; known: bert"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path, kind, values, message):
    with pytest.raises(InputError, match=message) as refusal:
        read(tmp_path, kind, values)
    assert "\n" not in str(refusal.value)


def test_an_image_has_no_sequence(tmp_path):
    with pytest.raises(InputError, match="takes images; leave out the sequence length"):
        read(tmp_path, "vit", VIT_H, 64)


@pytest.mark.parametrize(("kind", "values"), [("bloom", BUILT_IN["bloom-176b"][1]), ("t5", T5_11B)])
def test_computed_positions_have_no_end(tmp_path, kind, values):
    assert read(tmp_path, kind, values | {"seq_length": 64, "n_positions": 64}, 256).sequence_length == 256
