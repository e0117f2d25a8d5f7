"""Networks of images, texts and sound have the parameters and FLOP that publications state."""

import pytest

from perfmodel import predict
from perfmodel.core.errors import InputError
from perfmodel.workloads import workload

HUB = "parameters that the Hugging Face Hub reads from the published weights"
DIFFUSERS = (
    "UNet2DConditionModel, SD3Transformer2DModel and FluxTransformer2DModel of diffusers 0.42.1, counted"
)

PARAMETERS = {
    # fixed tables of sines, which are parameters in name, are left out
    "dit-xl-2": (675_129_632 - 256 * 1152, "facebookresearch/DiT, models.py: DiT_XL_2, counted"),
    "dit-s-2": (32_963_360 - 256 * 384, "facebookresearch/DiT, models.py: DiT_S_2, counted"),
    "sd-1.5": (859_520_964, "diffusers, docs of ModelMixin.num_parameters"),
    "sd-2.1": (865_910_724, DIFFUSERS),
    "sdxl": (2_567_463_684, HUB),
    "sd3-medium": (2_028_328_000, DIFFUSERS),
    "sd3.5-medium": (2_243_171_520, DIFFUSERS),
    "sd3.5-large": (8_056_627_520, DIFFUSERS),
    "flux.1-dev": (11_901_408_320, HUB),
    "flux.1-schnell": (11_891_178_560, DIFFUSERS),
    "clip-vit-b-32": (151_277_313, "openai/CLIP, counted by its users"),
    "clip-vit-b-16": (149_620_737, "openai/CLIP, counted by its users"),
    "clip-vit-l-14": (427_616_513, "openai/CLIP, counted by its users"),
    "clip-vit-l-14-336": (427_944_193, "openai/CLIP, counted by its users"),
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
