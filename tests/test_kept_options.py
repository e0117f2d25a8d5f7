"""Kernels of a transformer and what its memory keeps, as options of a prediction."""

from __future__ import annotations

import math
from typing import Any

import pytest

from perfmodel import explain, predict, sweep
from perfmodel.core.errors import InputError
from perfmodel.model.transformers.parameters import fitted

DENSE: dict[str, Any] = {
    "workload": "llama-3-8b",
    "node": "dgx-h100",
    "gpus": 16,
    "tensor_parallel": 4,
    "sharding": "zero1",
    "micro_batch_size": 1,
}
EXPERTS: dict[str, Any] = {
    "workload": "deepseek-v3",
    "node": "dgx-h100",
    "gpus": 256,
    "pipeline_parallel": 8,
    "expert_parallel": 32,
    "sharding": "zero1",
    "global_batch_size": 512,
}
TOKENS, LAYERS, HIDDEN, WIDTH = 8192, 32, 4096, 14336
PARAMETERS = 8030261248


def rows(base: dict[str, Any], **options: Any) -> dict[str, float]:
    return predict(**base, **options).memory.rows


def test_unfused_attention_keeps_scores():
    """Two masks and a softmax: 5 bytes a score (Korthikanti et al. 2022) of 8 heads on each rank."""
    kept = rows(DENSE, attention_kernel="unfused")["activations"] - rows(DENSE)["activations"]
    assert kept == pytest.approx(LAYERS * 5 * 8 * TOKENS**2, rel=1e-6)


def test_the_first_flash_attention_takes_twice_as_long():
    """FlashAttention 2 is about twice as fast as the first (Dao 2023)."""
    first, second = (predict(**DENSE, attention_kernel=each) for each in ("flash1", "flash2"))
    assert first.terms["attention_time"] == pytest.approx(2 * second.terms["attention_time"])
    assert first.memory.rows == second.memory.rows


def test_without_sequence_parallelism_norms_keep_whole_sequences():
    """8 bytes a feature between products, without dropout, on each rank instead of a quarter."""
    whole = rows(DENSE, sequence_parallel=False)["activations"] - rows(DENSE)["activations"]
    assert whole == pytest.approx(LAYERS * 8 * TOKENS * HIDDEN * 3 / 4, rel=1e-6)


@pytest.mark.parametrize(
    ("optimizer", "bytes_each"),
    # a copy in fp32 and two moments, of 32, 16 or 8 bits; one moment; sums of rows and columns alone
    [("adam", 12), ("adam-bf16", 8), ("adam-8bit", 6.03125), ("muon", 8), ("adafactor", 4)],
)
def test_states_of_optimizers(optimizer: str, bytes_each: float):
    assert rows(DENSE, optimizer=optimizer)["optimizer"] == pytest.approx(
        bytes_each * PARAMETERS / 16, rel=1e-3
    )


def test_updates_in_the_backward_pass_keep_one_gradient():
    one = {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 8, "framework": "torchtune"}
    whole, freed = (rows(one, optimizer=each) for each in ("adam", "adam-in-backward"))
    assert freed["gradients"] < 0.2 * PARAMETERS
    assert freed["optimizer"] == whole["optimizer"]
    with pytest.raises(InputError, match="all 4 micro-batches"):
        predict(**one, optimizer="adam-in-backward", accumulation_steps=4)


def test_gradients_in_fp32_take_twice_as_many_bytes_and_as_long_to_send():
    short, long = (predict(**DENSE, gradient_precision=each) for each in ("bf16", "fp32"))
    assert long.memory.rows["gradients"] == 2 * short.memory.rows["gradients"]
    assert long.traffic[-1].time > short.traffic[-1].time


def test_losses():
    plain, chunked, fused = (rows(DENSE, loss=each)["logits"] for each in ("plain", "chunked", "fused"))
    logits = TOKENS * 128256 / 4
    assert plain - chunked == pytest.approx(7.5 * logits)
    assert fused == 0


def test_offloading():
    none, both = rows(DENSE), rows(DENSE, offload="both")
    assert both["optimizer"] == 0
    assert both["activations"] < none["activations"] / 8
    slow, fast = predict(**DENSE, offload="optimizer"), predict(**DENSE)
    assert slow.terms["update_time"] > fast.terms["update_time"]


def test_modules_of_dense_layers():
    """A recomputed feed-forward part keeps three widths less, of each of which a rank has a quarter."""
    kept, again = rows(DENSE)["activations"], rows(DENSE, recompute_modules="mlp")["activations"]
    dropped = 2 * TOKENS * 3 * WIDTH / 4
    assert kept - again == pytest.approx(LAYERS * dropped, rel=1e-3)
    assert rows(DENSE, recompute_modules="mlp", recompute="selective")["activations"] == again


def test_modules_of_experts():
    whole = predict(**EXPERTS)
    for modules in ("moe_act", "layernorm", "mla_up_proj", "moe", "moe_act,layernorm,mla_up_proj"):
        less = predict(**EXPERTS, recompute_modules=modules)
        assert less.memory.rows["activations"] < whole.memory.rows["activations"]
        assert less.terms["recomputation_time"] > 0
    full = predict(**EXPERTS, recompute="full")
    assert full.memory.rows["activations"] < less.memory.rows["activations"]
    assert full.terms["recomputation_time"] > less.terms["recomputation_time"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"recompute_modules": "attention"}, "known: core_attn"),
        ({"recompute_modules": "moe"}, "no experts"),
        ({"recompute_modules": "mla_up_proj"}, "no latent attention"),
        ({"recompute_modules": "mlp", "recompute": "full"}, "not full"),
        ({"recompute_modules": "mlp", "framework": "fsdp", "sharding": "zero3"}, "single products"),
        ({"attention_kernel": "flash3", "node": "dgx-a100"}, "needs Hopper"),
        ({"workload": "resnet50", "tensor_parallel": 1, "sharding": None, "loss": "fused"}, "no transformer"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], words: str):
    with pytest.raises(InputError, match=words):
        predict(**{**DENSE, **options})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sequence_parallel": True, "tensor_parallel": 1}, "--sequence-parallel changes nothing"),
        ({"optimizer": "muon"}, "Newton-Schulz"),
        ({"offload": "activations"}, "hidden by computation"),
    ],
)
def test_what_changes_nothing_or_is_left_out_is_a_warning(options: dict[str, Any], words: str):
    assert any(words in each for each in predict(**{**DENSE, **options}).warnings)


OPTIONS = {
    "attention_kernel": "unfused",
    "recompute_modules": "mlp,layernorm",
    "offload": "both",
    "optimizer": "adam-8bit",
    "sequence_parallel": False,
    "loss": "plain",
    "gradient_precision": "fp32",
}


@pytest.mark.parametrize("name", list(OPTIONS))
def test_sweeps_answer_alike(name: str):
    swept = sweep(**DENSE | {name: [None, OPTIONS[name]], "gpus": [8, 16]})
    listed = list(swept.rows())
    assert len(listed) == 4
    for row in listed:
        alone = predict(**DENSE | {name: row[name], "gpus": row["world_size"]})
        assert math.isclose(alone.iteration_time, row["iteration_time"], rel_tol=1e-9)
        assert math.isclose(alone.memory.bytes, row["memory_bytes"], rel_tol=1e-9)


def test_explanations_are_complete():
    of = explain(**EXPERTS, **{**OPTIONS, "recompute_modules": "moe_act,layernorm,mla_up_proj"})
    assert of.complete


@pytest.mark.parametrize(
    ("modules", "bytes_of_token"),
    # a norm reads and writes 2 B of a feature; a gate of two halves reads each twice and writes once
    [("layernorm", 2 * 4 * HIDDEN / 4), ("mlp", 6 * 2 * WIDTH / 4)],
)
def test_modules_repeat_their_own_element_wise_operations(modules: str, bytes_of_token: float):
    """Of the forward pass: norms and sums, rotated queries and keys, and the gate."""
    whole, again = predict(**DENSE), predict(**DENSE, recompute_modules=modules)
    forward = (2 * 8 * HIDDEN + 8 * (32 + 8) * 128 + 6 * 2 * WIDTH) / 4
    passes = whole.terms["elementwise_time"] / (1 + fitted().parameters["element_backward"])
    added = again.terms["recomputation_time"] - whole.terms["recomputation_time"]
    if modules == "mlp":
        assert added > passes * bytes_of_token / forward  # and its products
    else:
        assert added == pytest.approx(passes * bytes_of_token / forward)
