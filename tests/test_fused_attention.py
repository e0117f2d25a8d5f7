"""On which accelerators a stack's attention keeps no scores."""

import pytest

from perfmodel.model.prediction import predict
from perfmodel.model.prediction.names import accelerator_name

JOB = {"workload": "llama-3-8b", "gpus": 8, "sequence_length": 32768}
GIB = 2**30


@pytest.mark.parametrize("accelerator", ["v100-sxm2-16gb", "p40", "k80", "t4"])
@pytest.mark.parametrize("framework", ["nemo@2024", "megatron-core@2026", "nanotron", "internevo"])
def test_flash_attention_needs_ampere(accelerator, framework):
    found = predict(**JOB, accelerator=accelerator, framework=framework)
    assert found.memory.bytes > 1000 * GIB
    assert any(
        f"attention keeps its scores on {accelerator_name(accelerator)}" in note for note in found.warnings
    )


@pytest.mark.parametrize(
    ("accelerator", "framework"),
    [
        ("a100-sxm4-80gb", "nemo@2024"),
        ("h100-sxm5-80gb", "nemo@2023"),
        ("mi300x", "megatron-core"),  # kernels of its own vendor
        ("tpu-v5p", "maxtext"),
        ("t4", "flash-attn"),  # FlashAttention 1 runs on Turing
        ("v100-sxm2-16gb", "fsdp"),  # by PyTorch's memory-efficient kernel
        ("v100-sxm2-16gb", "xformers"),
    ],
)
def test_others_keep_no_scores(accelerator, framework):
    found = predict(**JOB, accelerator=accelerator, framework=framework)
    assert found.memory.bytes < 400 * GIB
    assert not any("attention keeps its scores" in note for note in found.warnings)
