"""Networks of images, texts and sound have the parameters and FLOP that publications state."""

import json

import pytest

from perfmodel import Scenario, layouts, networks, predict, sweep
from perfmodel.core.errors import InputError
from perfmodel.decide.explanations import explain
from perfmodel.model.prediction.pipeline import pipeline_of_scenario
from perfmodel.workloads import workload

DIT = "facebookresearch/DiT, models.py, counted"
HUB = "parameters that the Hugging Face Hub reads from the published weights"
DIFFUSERS = (
    "UNet2DConditionModel, SD3Transformer2DModel and FluxTransformer2DModel of diffusers 0.42.1, counted"
)

PARAMETERS = {
    # fixed tables of sines, which are parameters in name, are left out
    "dit-s-2": (32_963_360 - 256 * 384, DIT),
    "dit-b-2": (130_512_416 - 256 * 768, DIT),
    "dit-l-2": (458_102_816 - 256 * 1024, DIT),
    "dit-xl-2": (675_129_632 - 256 * 1152, DIT),
    "sd-1.5": (859_520_964, "diffusers, docs of ModelMixin.num_parameters"),
    "sd-2.1": (865_910_724, DIFFUSERS),
    "sdxl": (2_567_463_684, HUB),
    "sd3-medium": (2_028_328_000, DIFFUSERS),
    "sd3.5-medium": (2_243_171_520, DIFFUSERS),
    "sd3.5-large": (8_056_627_520, DIFFUSERS),
    "flux.1-dev": (11_901_408_320, HUB),
    "flux.1-schnell": (11_891_178_560, DIFFUSERS),
    "clip-vit-b-32": (151_277_313, "CLIPModel of transformers 5.24.0, counted"),
    "clip-vit-b-16": (149_620_737, "CLIPModel of transformers 5.24.0, counted"),
    "clip-vit-l-14": (427_616_513, "CLIPModel of transformers 5.24.0, counted"),
    "clip-vit-l-14-336": (427_944_193, "CLIPModel of transformers 5.24.0, counted"),
    "openclip-vit-h-14": (986_110_000, "open_clip, docs/model_profile.csv, to 10,000"),
    "whisper-tiny": (37_760_640 - 1500 * 384, HUB),
    "whisper-base": (72_593_920 - 1500 * 512, HUB),
    "whisper-small": (241_734_912 - 1500 * 768, HUB),
    "whisper-medium": (763_857_920 - 1500 * 1024, HUB),
    "whisper-large-v2": (1_543_304_960 - 1500 * 1280, HUB),
    "whisper-large-v3": (1_543_490_560 - 1500 * 1280, HUB),
    "whisper-large-v3-turbo": (808_878_080 - 1500 * 1280, HUB),
}
"""Trained parameters, and who counted them."""


@pytest.mark.published("the source of each row")
@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters(name):
    assert workload(name).parameters == pytest.approx(PARAMETERS[name][0], rel=1e-5)


@pytest.mark.published("Peebles and Xie 2023, tables 1 and 4: Gflops, which count a multiply-add once")
@pytest.mark.parametrize(
    ("name", "gflops"), [("dit-s-2", 6.06), ("dit-b-2", 23.01), ("dit-l-2", 80.71), ("dit-xl-2", 118.64)]
)
def test_products_of_dit(name, gflops):
    assert workload(name).forward_flops / 2e9 == pytest.approx(gflops, rel=1e-3)


@pytest.mark.published("open_clip, docs/model_profile.csv: gflops of a pair")
@pytest.mark.parametrize(
    ("name", "gflops"),
    [
        ("clip-vit-b-32", 14.78),
        ("clip-vit-b-16", 41.09),
        ("clip-vit-l-14", 175.33),
        ("clip-vit-l-14-336", 395.22),
        ("openclip-vit-h-14", 381.68),
    ],
)
def test_products_of_clip(name, gflops):
    assert workload(name).forward_flops / 1e9 == pytest.approx(gflops, abs=0.006)


def test_attention_of_new_networks_keeps_no_scores():
    network = workload("flux.1-dev")
    scores = 24 * (4096 + 512) ** 2
    products = [layer for layer in network.layers if layer.kind == "matmul"]
    assert len(products) == 2 * (19 + 38)
    assert max(layer.forward_elements for layer in products) < scores
    assert max(layer.saved_elements for layer in products) < scores


def test_words_of_whisper():
    short = workload("whisper-small", 32)
    assert short.parameters == workload("whisper-small").parameters
    assert short.forward_flops < workload("whisper-small").forward_flops
    with pytest.raises(InputError, match="448"):
        workload("whisper-small", 449)


@pytest.mark.parametrize("name", ["dit-xl-2", "sdxl", "clip-vit-l-14", "whisper-large-v3"])
def test_predicted_with_what_is_left_out(name):
    prediction = predict(workload=name, gpus=8, accelerator="h100-sxm5-80gb")
    assert prediction.iteration_time > 0
    without = workload(name).without
    assert not without or any(without in warning for warning in prediction.warnings)


LIBRARY = "transformers 5.24.0, the class of its config on no device, counted; the Hub states the same"
READ_IMAGES = {
    "llava-1.5-7b": 7_063_427_072,
    "llava-1.5-13b": 13_351_494_656,
    "qwen2vl-2b": 2_208_985_600,
    "qwen2vl-7b": 8_291_375_616,
    "qwen2vl-72b": 73_405_560_320,
    "qwen3vl-2b": 2_127_532_032,
    "qwen3vl-4b": 4_437_815_808,
    "qwen3vl-8b": 8_767_123_696,
    "qwen3vl-32b": 33_357_390_064,
    "qwen3vl-30b-a3b": 31_070_754_032,
    "gemma-3-4b-vision": 4_300_079_472,
    "gemma-3-12b-vision": 12_187_325_040,
    "gemma-3-27b-vision": 27_432_406_640,
}
"""Parameters of language model, vision tower and projector."""
JOB = {"gpus": 8, "accelerator": "h100-sxm5-80gb", "local_batch_size": 1}


@pytest.mark.published(LIBRARY)
@pytest.mark.parametrize("name", READ_IMAGES)
def test_parameters_with_vision_tower(name):
    network = workload(name)
    assert network.parameters == network.architecture.parameters == READ_IMAGES[name]
    tower = network.architecture.tower
    images = [layer for layer in network.layers if layer.name.startswith(("vision.", "projector"))]
    assert sum(layer.parameters for layer in images) == tower.parameters
    assert sum(layer.forward_flops for layer in images) == tower.encoder_flops + tower.projector_flops


def test_a_frozen_tower_has_no_backward_pass():
    network = workload("llava-1.5-7b")
    encoder = [layer for layer in network.layers if layer.name.startswith("vision.")]
    assert sum(layer.backward_flops for layer in encoder) == 0
    assert all(layer.backward_flops for layer in network.layers if layer.name.startswith("projector.fc"))
    trained = [layer for layer in workload("qwen2vl-2b").layers if layer.name == "vision.0.mlp.fc1"]
    assert trained[0].backward_flops == 2 * trained[0].forward_flops


def test_without_images_the_language_model_is_left():
    alone = workload("qwen2vl-7b", 2048, 0)
    assert alone.parameters == workload("qwen2.5-7b").parameters
    assert "vision tower (0.68 B parameters)" in alone.without
    with_tower = predict(workload="qwen2vl-7b", sequence_length=2048, image_tokens=0, **JOB)
    assert (
        with_tower.iteration_time
        == predict(workload="qwen2.5-7b", sequence_length=2048, **JOB).iteration_time
    )


@pytest.mark.parametrize(
    ("name", "tokens", "message"),
    [
        ("llava-1.5-7b", 577, "multiple of 576"),
        ("llava-1.5-7b", 2304, "more than the 2048 tokens"),
        ("gpt2", 256, "no option for images"),
        ("sdxl", 256, "no option for images"),
    ],
)
def test_image_tokens_that_cannot_be(name, tokens, message):
    with pytest.raises(InputError, match=message):
        workload(name, image_tokens=tokens)


@pytest.mark.parametrize("layout", [{}, {"tensor_parallel": 2, "pipeline_parallel": 2}, {"strategy": "fsdp"}])
def test_more_images_take_longer(layout):
    times = [
        predict(workload="llava-1.5-7b", image_tokens=576 * images, **JOB, **layout)
        for images in (0, 1, 2, 3)
    ]
    assert sorted(each.iteration_time for each in times) == [each.iteration_time for each in times]
    assert times[1].memory.bytes > times[0].memory.bytes
    for each in times:
        assert sum(each.terms.values()) == pytest.approx(each.iteration_time)


def test_images_cost_their_flop():
    """A tower of equal layers takes as long as its share of the FLOP, within what its size costs."""
    alone, images = (
        predict(workload="qwen2vl-7b", sequence_length=8192, image_tokens=tokens, **JOB)
        for tokens in (0, 4096)
    )
    tower = workload("qwen2vl-7b", 8192, 4096).architecture.tower
    flops = 3 * (tower.encoder_flops + tower.projector_flops)
    all_ = 6 * 7.07e9 * 8192
    added = images.iteration_time / alone.iteration_time - 1
    assert 0.8 * flops / all_ < added < 2 * flops / all_


def test_images_lengthen_the_first_stage_as_played_through():
    for name, batch in (("llava-1.5-7b", 8), ("qwen2vl-7b", 16), ("gemma-3-4b-vision", 32)):
        scenario = Scenario(
            workload=name,
            world_size=8,
            accelerator="h100-sxm5-80gb",
            pipeline_parallel=4,
            tensor_parallel=2,
            micro_batch_size=1,
            global_batch_size=batch,
        )
        pipeline = pipeline_of_scenario(scenario)
        # of unequal stages the closed form counts the mean stage while the pipeline fills and drains
        assert pipeline.beyond_prediction == pytest.approx(0, abs=0.08 * pipeline.predicted_time)
        without = pipeline_of_scenario(scenario.model_copy(update={"image_tokens": 0}))
        assert pipeline.schedule.end > without.schedule.end


@pytest.mark.parametrize(
    "options",
    [
        {"workload": "qwen3vl-8b"},
        {"workload": "gemma-3-4b-vision", "pipeline_parallel": 2, "tensor_parallel": 2},
        {"workload": "llava-1.5-7b", "strategy": "fsdp", "lora": 8},
        {"workload": "qwen2vl-2b", "strategy": "parameter-server"},
        {"workload": "dit-xl-2"},
        {"workload": "sdxl"},
        {"workload": "whisper-tiny"},
    ],
)
def test_explained_completely(options):
    assert explain(Scenario(world_size=8, accelerator="h100-sxm5-80gb", **options)).complete


def test_image_tokens_in_a_sweep_and_a_search():
    swept = sweep(
        workload="llava-1.5-7b", image_tokens=[0, 576, 1152], gpus=[8, 16], accelerator="h100-sxm5-80gb"
    )
    for row in swept.rows():
        options = {name: row[name] for name in ("workload", "image_tokens", "accelerator")}
        alone = predict(gpus=row["world_size"], **options)
        assert row["iteration_time"] == pytest.approx(alone.iteration_time)
    job = {"workload": "qwen3vl-8b", "gpus": 16, "global_batch_size": 64, "image_tokens": 2048}
    first = layouts(**job, accelerator="h100-sxm5-80gb", top=1).rows[0]
    degrees = {
        name: first.layout[name] for name in ("tensor_parallel", "pipeline_parallel", "virtual_stages")
    }
    others = {name: first.layout[name] for name in ("sharding", "recompute", "micro_batch_size")}
    again = predict(**job, accelerator="h100-sxm5-80gb", **degrees, **others)
    assert again.iteration_time == pytest.approx(first.iteration_time)


def test_a_table_of_a_network_has_its_tower():
    table = networks(name="llava-1.5-7b", image_tokens=1152)
    assert table.architecture["tower"]["images"] == 2
    assert networks(name="gpt2").architecture["tower"] is None


def test_patches_of_a_diffusion_transformer():
    small, large = workload("dit-xl-2"), workload("dit-xl-2", image_tokens=1024)
    assert small.parameters == large.parameters
    # Peebles and Xie 2023, table 6: DiT-XL/2 at 512 pixels
    assert large.forward_flops / 2e9 == pytest.approx(524.60, rel=1e-3)


def config_of(tmp_path, values):
    (tmp_path / "seeing").mkdir()
    path = tmp_path / "seeing" / "config.json"
    path.write_text(json.dumps(values))
    return str(path)


QWEN3_VL = {
    "model_type": "qwen3_vl",
    "text_config": {
        "model_type": "qwen3_vl_text",
        "hidden_size": 4096,
        "intermediate_size": 12288,
        "num_hidden_layers": 36,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
        "max_position_embeddings": 262144,
    },
    "vision_config": {
        "depth": 27,
        "hidden_size": 1152,
        "intermediate_size": 4304,
        "num_heads": 16,
        "num_position_embeddings": 2304,
        "out_hidden_size": 4096,
        "patch_size": 16,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "deepstack_visual_indexes": [8, 16, 24],
    },
}
QWEN2_VL = {
    "model_type": "qwen2_vl",
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "vocab_size": 152064,
    "max_position_embeddings": 32768,
    "use_sliding_window": False,
    "sliding_window": 32768,
    "vision_config": {
        "depth": 32,
        "embed_dim": 1280,
        "mlp_ratio": 4,
        "num_heads": 16,
        "in_chans": 3,
        "hidden_size": 3584,
        "patch_size": 14,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
    },
}
LLAVA = {
    "model_type": "llava",
    "vision_feature_select_strategy": "default",
    "text_config": {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "vocab_size": 32064,
        "max_position_embeddings": 4096,
    },
    "vision_config": {
        "model_type": "clip_vision_model",
        "hidden_size": 1024,
        "intermediate_size": 4096,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "image_size": 336,
        "patch_size": 14,
    },
}
GEMMA_3 = {
    "model_type": "gemma3",
    "mm_tokens_per_image": 256,
    "text_config": {
        "model_type": "gemma3_text",
        "hidden_size": 3840,
        "intermediate_size": 15360,
        "num_hidden_layers": 48,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "head_dim": 256,
        "vocab_size": 262208,
        "sliding_window": 1024,
    },
    "vision_config": {
        "model_type": "siglip_vision_model",
        "hidden_size": 1152,
        "intermediate_size": 4304,
        "num_hidden_layers": 27,
        "num_attention_heads": 16,
        "image_size": 896,
        "patch_size": 14,
    },
}


@pytest.mark.parametrize(
    ("name", "values", "tokens"),
    [
        ("qwen3vl-8b", QWEN3_VL, 1024),
        ("qwen2vl-7b", QWEN2_VL, 2048),
        ("llava-1.5-7b", LLAVA, 1152),
        ("gemma-3-12b-vision", GEMMA_3, 256),
    ],
)
def test_a_config_is_the_built_in_network(tmp_path, name, values, tokens):
    path = config_of(tmp_path, values)
    read, built_in = workload(path, 2048, tokens), workload(name, 2048, tokens)
    assert read.parameters == built_in.parameters
    assert read.architecture.tower == built_in.architecture.tower
    assert read.forward_flops == built_in.forward_flops
    assert not read.without
    assert "its vision tower" in workload(path, 2048).without


def test_an_unknown_tower_is_refused_by_name(tmp_path):
    path = config_of(tmp_path, {**LLAVA, "model_type": "paligemma"})
    assert "its vision tower" in workload(path).without
    with pytest.raises(InputError, match="'paligemma' is unknown; known: gemma3"):
        workload(path, image_tokens=576)


def test_a_part_of_a_tower_that_is_unknown_is_refused(tmp_path):
    path = config_of(tmp_path, {**LLAVA, "vision_feature_select_strategy": "full"})
    with pytest.raises(InputError, match="vision_feature_select_strategy is 'full'"):
        workload(path, image_tokens=576)
