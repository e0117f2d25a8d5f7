"""Built-in transformers hold against what their publishers print, and tables against architectures."""

import csv
import tomllib
from importlib.resources import files

import pytest

from perfmodel.core.files.resources import folder
from perfmodel.equations import transformer as closed_form
from perfmodel.workloads import understood, workload
from perfmodel.workloads.architecture import Architecture
from perfmodel.workloads.preset_names import LANGUAGE, VISION
from perfmodel.workloads.presets import preset

FAMILIES = {**LANGUAGE, **VISION}
NAMES = [name for names in FAMILIES.values() for name in names]

EXACT = {
    "bloom-560m": 559_214_592,
    "bloom-1b1": 1_065_314_304,
    "bloom-1b7": 1_722_408_960,
    "bloom-3b": 3_002_557_440,
    "bloom-7b1": 7_069_016_064,
    "bloom-176b": 176_247_271_424,
    "deepseek-v2-lite": 15_706_484_224,
    "deepseek-v2": 235_741_434_880,
    "falcon-7b": 6_921_720_704,
    "falcon-180b": 179_522_565_120,
    "gemma-2b": 2_506_172_416,
    "gemma-7b": 8_537_680_896,
    "gemma-2-2b": 2_614_341_888,
    "gemma-2-9b": 9_241_705_984,
    "gemma-2-27b": 27_227_128_320,
    "gemma-3-1b": 999_885_952,
    "gpt-neo-125m": 125_198_592,
    "gpt-neo-1.3b": 1_315_575_808,
    "llama-7b": 6_738_415_616,
    "llama-13b": 13_015_864_320,
    "llama-33b": 32_528_943_616,
    "llama-65b": 65_285_660_672,
    "llama-2-7b": 6_738_415_616,
    "llama-2-13b": 13_015_864_320,
    "llama-2-70b": 68_976_648_192,
    "llama-3-8b": 8_030_261_248,
    "llama-3-70b": 70_553_706_496,
    "llama-3.1-8b": 8_030_261_248,
    "llama-3.1-70b": 70_553_706_496,
    "llama-3.1-405b": 405_853_388_800,
    "llama-3.2-1b": 1_235_814_400,
    "llama-3.2-3b": 3_212_749_824,
    "mistral-7b": 7_241_732_096,
    "mixtral-8x7b": 46_702_792_704,
    "opt-125m": 125_239_296,
    "opt-1.3b": 1_315_758_080,
    "opt-2.7b": 2_651_596_800,
    "opt-6.7b": 6_658_473_984,
    "opt-13b": 12_853_473_280,
    "opt-30b": 29_974_540_288,
    "phi-3-mini": 3_821_079_552,
    "phi-3-medium": 13_960_238_080,
    "phi-4": 14_659_507_200,
    "pythia-70m": 70_426_624,
    "pythia-160m": 162_322_944,
    "pythia-410m": 405_334_016,
    "pythia-1b": 1_011_781_632,
    "pythia-1.4b": 1_414_647_808,
    "pythia-2.8b": 2_775_208_960,
    "pythia-6.9b": 6_857_302_016,
    "pythia-12b": 11_846_072_320,
    "qwen2.5-0.5b": 494_032_768,
    "qwen2.5-1.5b": 1_543_714_304,
    "qwen2.5-3b": 3_085_938_688,
    "qwen2.5-7b": 7_615_616_512,
    "qwen2.5-14b": 14_770_033_664,
    "qwen2.5-32b": 32_763_876_352,
    "qwen2.5-72b": 72_706_203_648,
    "qwen3-4b": 4_022_468_096,
    "qwen3-8b": 8_190_735_360,
    "qwen3-14b": 14_768_307_200,
    "qwen3-32b": 32_762_123_264,
    "qwen3-30b-a3b": 30_532_122_624,
    "qwen3-235b-a22b": 235_093_634_560,
    "t5-small": 60_506_624,
    "t5-base": 222_903_552,
    "t5-large": 737_668_096,
    "t5-3b": 2_851_598_336,
    "t5-11b": 11_307_321_344,
    "t5-v1.1-small": 76_961_152,
    "t5-v1.1-base": 247_577_856,
    "t5-v1.1-large": 783_150_080,
    "t5-v1.1-xl": 2_849_757_184,
    "t5-v1.1-xxl": 11_135_332_352,
    "tinyllama-1.1b": 1_100_048_384,
    "vit-b-32": 88_224_232,
    "vit-l-16": 304_326_632,
    "vit-l-32": 306_535_400,
    "vit-h-14": 632_045_800,
}
"""Parameters of the released weights; of ViT, num_params of torchvision's meta data."""


@pytest.mark.published("parameters of the weights on the Hugging Face model pages; torchvision, num_params")
@pytest.mark.parametrize(("name", "parameters"), EXACT.items())
def test_released_weights(name, parameters):
    assert workload(name).parameters == parameters


PRINTED = {
    # billions: all, active where they differ, half of the last printed digit
    "deepseek-v2": (236, 21, 0.5),
    "deepseek-v3": (671, 37, 0.6),
    "falcon-40b": (41.3, None, 0.05),
    "gemma-3-4b": (0.675 + 3.209, None, 0.006),
    "gemma-3-12b": (1.012 + 10.759, None, 0.006),
    "gemma-3-27b": (1.416 + 25.600, None, 0.008),
    "gpt-j-6b": (6.053, None, 0.005),
    "gpt-neox-20b": (20.554567680, None, 1e-9),
    "kimi-k2": (1040, 32.6, 15),
    "llama-4-maverick": (400, 17, 1),
    "llama-4-scout": (109, 17, 1.5),
    "megatron-1.7b": (1.7, None, 0.05),
    "megatron-3.6b": (3.6, None, 0.05),
    "megatron-7.5b": (7.5, None, 0.05),
    "megatron-18b": (18.4, None, 0.05),
    "megatron-22b": (22, None, 0.5),
    "megatron-39b": (39.1, None, 0.05),
    "megatron-76b": (76.1, None, 0.05),
    "megatron-145b": (145.6, None, 0.05),
    "megatron-310b": (310.1, None, 0.05),
    "megatron-530b": (529.6, None, 0.05),
    "megatron-1t": (1008.0, None, 0.05),
    "mixtral-8x7b": (47, 13, 0.5),
    "mixtral-8x22b": (141, 39, 0.5),
    "mt-nlg-530b": (530, None, 0.5),
    "nemotron-4-15b": (3.2 + 12.5, None, 0.1),
    "nemotron-4-340b": (9.4 + 331.6, None, 0.1),
    "palm-8b": (8.63, None, 0.005),
    "palm-62b": (62.50, None, 0.005),
    "palm-540b": (540.35, None, 0.01),
    "qwen3-30b-a3b": (30.5, 3.3, 0.06),
    "qwen3-235b-a22b": (235, 22, 0.5),
}


@pytest.mark.published("the paper or model card that the row names, in its own digits")
@pytest.mark.parametrize(("name", "all_", "active", "tolerance"), [(n, *v) for n, v in PRINTED.items()])
def test_printed_parameters(name, all_, active, tolerance):
    architecture = preset(name).architecture
    assert architecture.parameters / 1e9 == pytest.approx(all_, abs=tolerance)
    wanted = all_ if active is None else active
    assert architecture.active_parameters / 1e9 == pytest.approx(wanted, abs=tolerance)
    assert (architecture.active_parameters == architecture.parameters) == (active is None)


@pytest.mark.published("Brown et al. 2020, table 2.1; the names of the sizes are rounded")
@pytest.mark.parametrize("name", [n for n in LANGUAGE["gpt3"] if n not in ("gpt3-5b", "gpt3-20b")])
def test_gpt3_is_what_its_name_says(name):
    unit = {"m": 1e6, "b": 1e9}[name[-1]]
    assert preset(name).architecture.parameters / unit == pytest.approx(float(name[5:-1]), rel=0.02)


@pytest.mark.published("gpt-oss model card, table 1: 116.83 and 20.91 billion, 5.13 and 3.61 active")
@pytest.mark.parametrize(
    ("name", "all_", "active"), [("gpt-oss-120b", 116.83, 5.13), ("gpt-oss-20b", 20.91, 3.61)]
)
def test_gpt_oss(name, all_, active):
    architecture = preset(name).architecture
    assert architecture.parameters / 1e9 == pytest.approx(all_, abs=0.006)
    # the card counts the table of words once: for the logits, not for the input
    without = architecture.active_parameters - architecture.embedding_parameters
    assert without / 1e9 == pytest.approx(active, abs=0.006)


@pytest.mark.published("xAI: 314 billion, a quarter of the weights active")
def test_grok():
    architecture = preset("grok-1").architecture
    assert architecture.parameters / 1e9 == pytest.approx(314, rel=0.01)
    assert architecture.active_parameters / architecture.parameters == pytest.approx(0.25, abs=0.02)


@pytest.mark.published("llm-foundry: parameters of its benchmarks, less the table of 2048 positions they add")
@pytest.mark.parametrize(
    ("name", "benchmarked"),
    [
        ("mpt-125m", 125_311_488),
        ("mpt-350m", 355_985_408),
        ("mpt-760m", 760_470_528),
        ("mpt-1b", 1_315_950_592),
        ("mpt-3b", 2_651_837_440),
        ("mpt-7b", 6_658_859_008),
        ("mpt-13b", 12_853_954_560),
        ("mpt-30b", 29_975_214_080),
    ],
)
def test_mpt(name, benchmarked):
    architecture = preset(name).architecture
    assert architecture.parameters == benchmarked - 2048 * architecture.hidden


@pytest.mark.published("torchvision, meta data of the weights at 224 pixels: _ops, 1e9 multiply-adds")
@pytest.mark.parametrize(
    ("name", "macs"), [("vit-b-32", 4.409), ("vit-l-16", 61.555), ("vit-l-32", 15.378), ("vit-h-14", 167.295)]
)
def test_vit_products(name, macs):
    assert workload(name).forward_flops / 2e9 == pytest.approx(macs, abs=0.0005001)


@pytest.mark.published("Chowdhery et al. 2022, appendix B: 6 N + 12 L H Q T per token")
@pytest.mark.parametrize("name", ["palm-8b", "palm-540b", "llama-2-7b", "gpt3-175b", "megatron-1t"])
def test_training_products_of_dense_models(name):
    network = workload(name, 2048)
    a = network.architecture
    looked_up = a.embedding_parameters * (not a.tied) + a.learned_positions * a.hidden * a.tied
    per_token = closed_form.model_flops_per_token(
        a.parameters - looked_up, a.layers, a.heads, a.head_size, 2048
    )
    # norms and biases are parameters without a product
    assert network.training_flops / 2048 == pytest.approx(per_token, rel=3e-4)


MEASURED_AS = {
    "Baichuan2 13B": "baichuan2-13b",
    "DeepSeekV3 (w/ MTP)": "deepseek-v3",
    "GPT OSS 120B": "gpt-oss-120b",
    "GPT-1.7B": "megatron-1.7b",
    "GPT-145B": "megatron-145b",
    "GPT-1T": "megatron-1t",
    "GPT-22B": "megatron-22b",
    "GPT-310B": "megatron-310b",
    "GPT3-20B": "gpt3-20b",
    "GPT3-5B": "gpt3-5b",
    "LLaMA-65B": "llama-65b",
    "Llama-2 70B": "llama-2-70b",
    "Llama-3 8B": "llama-3-8b",
    "Llama 3.1 405B": "llama-3.1-405b",
    "MPT-30b": "mpt-30b",
    "Mixtral 8x7B": "mixtral-8x7b",
    "Nemotron4 15B": "nemotron-4-15b",
    "Nemotron4 340B": "nemotron-4-340b",
    "Qwen3_235B_a22B": "qwen3-235b-a22b",
    "Qwen3_30B_a3B": "qwen3-30b-a3b",
    "TinyLlama 1.1B": "tinyllama-1.1b",
}


@pytest.fixture(scope="module")
def measured_runs():
    """A measured run of the whole of each workload."""
    with (folder("validation") / "measured" / "transformer_runs.csv").open(newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: int(row["n_params"] or 0))
    return {row["workload"]: row for row in rows}


@pytest.mark.parametrize(("measured", "name"), MEASURED_AS.items())
def test_measured_runs_are_of_these_architectures(measured, name, measured_runs):
    row, a = measured_runs[measured], preset(name).architecture
    columns = {
        "layers": a.layers,
        "hidden_size": a.hidden,
        "attention_heads": a.heads,
        "kv_heads": a.kv_heads,
        "ffn_hidden_size": a.expert_feed_forward or a.feed_forward,
        "gated_ffn": int(a.gated),
    }
    stated = {column: int(row[column]) for column in columns if row[column]}
    assert stated == {column: columns[column] for column in stated}
    # rounded, and with or without a table of words
    assert int(row["n_params"]) == pytest.approx(a.parameters, rel=0.06)
    assert int(row["n_active_params"]) == pytest.approx(a.active_parameters, rel=0.12)


# what holds for every row


@pytest.mark.parametrize("name", NAMES)
def test_the_table_has_the_parameters_of_the_architecture(name):
    network = workload(name)
    assert network.architecture == preset(name).architecture
    # BERT's heads are not in its architecture: pooler, transform, the word's bias, next sentence
    less = network.parameters - network.architecture.parameters
    heads = {"bert-base": 1_214_780, "bert-large": 2_133_820, "distilbert": 622_650}
    assert less == heads.get(name, 0)


@pytest.mark.parametrize("name", [n for n in NAMES if preset(n).architecture.experts])
def test_experts_work_on_the_tokens_they_get(name):
    network, a = workload(name, 64), preset(name).architecture
    rows = [layer for layer in network.layers if ".moe." in layer.name]
    routed = [layer for layer in rows if ".experts.fc" in layer.name]
    assert len(routed) == 2 * a.moe_layers
    for layer in routed:
        assert (layer.gemm_count, layer.gemm_rows) == (a.experts, 64 * a.top_k / a.experts)
        assert layer.forward_flops == pytest.approx(2 * 64 * a.top_k * a.hidden * a.expert_feed_forward)
        assert layer.parameters == a.experts * (
            a.hidden * a.expert_feed_forward + a.bias * layer.gemm_columns
        )
    routers = [layer for layer in rows if layer.name.endswith(".router")]
    assert [layer.parameters for layer in routers] == a.moe_layers * [a.router_parameters]
    assert any(".shared." in layer.name for layer in rows) == (a.shared_experts > 0)


def test_products_of_experts_are_those_of_active_parameters():
    """Of a mixture each token's products are those of a dense network of its active parameters."""
    network = workload("qwen3-30b-a3b", 1024)
    a = network.architecture
    active = a.active_parameters - a.embedding_parameters
    per_token = closed_form.model_flops_per_token(active, a.layers, a.heads, a.head_size, 1024)
    assert network.training_flops / 1024 == pytest.approx(per_token, rel=3e-4)


def test_latent_attention_by_hand():
    a = preset("deepseek-v3").architecture
    down, up = 7168 * 1536 + 1536, 1536 * 128 * 192
    keys = 7168 * (512 + 64) + 512 + 512 * 128 * (128 + 128)
    assert a.attention_parameters == down + up + keys + 128 * 128 * 7168
    scores = next(x for x in workload("deepseek-v3", 64).layers if x.name == "layer.0.attention.scores")
    context = next(x for x in workload("deepseek-v3", 64).layers if x.name == "layer.0.attention.context")
    assert (scores.gemm_depth, context.gemm_columns, scores.gemm_count) == (192, 128, 128)


def test_first_layers_are_dense():
    layers = {x.name for x in workload("deepseek-v3", 64).layers}
    assert {f"layer.{i}.ffn.fc1" for i in range(3)} <= layers
    assert "layer.3.ffn.fc1" not in layers
    assert "layer.3.moe.experts.fc1" in layers
    maverick = {x.name for x in workload("llama-4-maverick", 64).layers}
    assert {"layer.0.ffn.fc1", "layer.1.moe.experts.fc1", "layer.2.ffn.fc1"} <= maverick


def test_a_window_bounds_what_a_position_attends_to():
    def scores(length, layer):
        rows = {x.name: x for x in workload("gemma-2-9b", length).layers}
        return rows[f"layer.{layer}.attention.scores"].gemm_columns

    assert [scores(8192, layer) for layer in range(4)] == [4096, 8192, 4096, 8192]
    assert scores(1024, 0) == 1024


def test_t5_decodes_fewer_tokens_than_it_encodes():
    rows = {x.name: x for x in workload("t5-11b").layers}
    assert rows["encoder.0.attention.query"].gemm_rows == 512
    assert rows["decoder.0.attention.query"].gemm_rows == 114
    assert rows["decoder.0.cross_attention.key"].gemm_rows == 512
    assert rows["head"].gemm_rows == 114


@pytest.mark.parametrize("stem", FAMILIES)
def test_every_file_says_where_it_was_read(stem):
    family = tomllib.loads(
        (files("perfmodel.workloads") / "architectures" / f"{stem}.toml").read_text("utf-8")
    )
    assert set(family) == {"title", "source", "read_on", "read_in", "all", "models"}
    assert set(family["models"]) == set(FAMILIES[stem])
    for row in family["models"].values():
        known = {"title", "source", "without", "sequence_length", "local_batch_size", *Architecture._fields}
        assert set(row) <= known


def test_every_file_is_a_family():
    folder = files("perfmodel.workloads") / "architectures"
    assert {f.name.removesuffix(".toml") for f in folder.iterdir()} == set(FAMILIES)


@pytest.mark.parametrize(
    ("typed", "id"),
    [
        ("GPT-3 175B", "gpt3-175b"),
        ("Llama 2 70B", "llama-2-70b"),
        ("llama-30b", "llama-33b"),
        ("llama_3.1_8b", "llama-3.1-8b"),
        ("Mixtral", "mixtral-8x7b"),
        ("DeepSeek-V3", "deepseek-v3"),
        ("vit-huge-14", "vit-h-14"),
        ("GPT", "gpt2"),
        ("T5", "t5-11b"),
    ],
)
def test_spellings(typed, id):
    assert understood(typed).id == id


def test_llama_3_1_is_llama_3_at_a_longer_sequence():
    short, long = preset("llama-3-70b").architecture, preset("llama-3.1-70b").architecture
    assert long == short._replace(positions=131072)
    assert short.positions == 8192
