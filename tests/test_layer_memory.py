"""Memory of experts, of stages that differ, and of what the backward pass needs, against published peaks."""

from __future__ import annotations

import pytest

from perfmodel.evidence.accuracy.memory_fit import shipped_peaks
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.transformers.evaluate import case_of_setting
from perfmodel.model.transformers.job import Job, job_of
from perfmodel.model.transformers.layer_memory import layer_bytes
from perfmodel.model.transformers.memory import memory_of, memory_of_stages

GIB = 2**30
SIMUMAX = "simumax-b200: max_memory_allocated of the fullest rank, Megatron-LM with Transformer Engine 2.11"


@pytest.mark.published(SIMUMAX)
@pytest.mark.parametrize(
    "run_id",
    [
        "simumax-001",  # Llama-3 70B, two stages: the first has most
        "simumax-004",  # 8 tensor-parallel ranks
        "simumax-006",  # DeepSeek-V2, two stages: the second has most of the experts
        "simumax-007",  # DeepSeek-V3
        "simumax-025",  # Llama-3 405B: a layer's placeholders are 6 GiB
        "simumax-042",  # 131,072 tokens over 8 context-parallel ranks
    ],
)
def test_peaks_of_megatron(run_id: str):
    (peak,) = (each for each in shipped_peaks() if each.run.run_id == run_id)
    assert peak.predicted == pytest.approx(peak.published, rel=0.025)


def job(**options: object) -> Job:
    scenario = Scenario(**{"accelerator": "h100-sxm5-80gb", "node": "dgx-h100", **options})
    return job_of(case_of_setting(resolve(scenario, Catalogue.built_in())))


def test_first_layers_without_experts_are_on_the_first_stage():
    """DeepSeek-V3's first three layers have no experts: the second of 8 stages holds 8 layers of experts."""
    eight = job(
        workload="deepseek-v3",
        world_size=256,
        pipeline_parallel=8,
        expert_parallel=32,
        sharding="zero1",
        global_batch_size=512,
    )
    first, second, last = memory_of_stages(eight)
    model = eight.model
    fewer = 3 * (model.experts / 32) * model.expert_parameters
    tables = model.embedding_parameters
    apart = 3 * (model.dense_parameters - model.shared_experts * model.expert_parameters)
    router = 3 * model.hidden * model.experts
    assert (second.weights - first.weights) / 2 == pytest.approx(fewer + router - tables - apart, rel=1e-6)
    assert memory_of(eight).total == pytest.approx(max(each.total for each in (first, second, last)))


def test_permuted_tokens_count():
    """Ten times the experts of a token keep ten times their activations."""
    one = job(workload="qwen3-30b-a3b", world_size=8, expert_parallel=8, sharding="zero1", recompute="none")
    model = one.model
    more = one._replace(model=model._replace(top_k=2 * model.top_k))
    grown = memory_of_stages(more)[0].activations - memory_of_stages(one)[0].activations
    each = 2 * model.top_k * (model.hidden + model.matrices * model.expert_width)
    assert grown == pytest.approx(model.layers * one.tokens * each, rel=0.02)


@pytest.mark.published("DeepSeek-AI 2024, DeepSeek-V3 technical report, sections 3.2.3, 3.3.2 and 3.3.3")
def test_what_deepseek_keeps_of_a_layer_with_experts():
    """By hand from what the report says is kept in which format; every scale is of 4 B for 128 values."""
    told = job(
        workload="deepseek-v3",
        node="hgx-h800",
        accelerator=None,
        world_size=2048,
        pipeline_parallel=16,
        expert_parallel=64,
        schedule="dualpipe",
        global_batch_size=15360,
        sequence_length=4096,
        sharding="zero1",
        precision="fp8",
        framework="hai-llm@2024",
        recompute_modules="layernorm,mla_up_proj,moe_act",
    )
    routed = told._replace(model=told.model._replace(dense_share=0.0))
    fp8, e5m6 = 1 + 4 / 128, 12 / 8 + 4 / 128
    inputs_of_norms = 2 * 2 * 7168 + 2 * (1536 + 512)
    after_attention = e5m6 * 128 * 128
    tokens_of_experts, gates = fp8 * 8 * 7168, fp8 * (8 + 1) * 2 * 2048
    output_of_shared_gate, scores = fp8 * 2048, 4 * 256
    of_token = inputs_of_norms + after_attention + tokens_of_experts + gates + output_of_shared_gate + scores
    assert layer_bytes(routed)[0] / routed.tokens == pytest.approx(of_token)


def test_megatron_keeps_inputs_of_products_in_8_bits():
    """Two norms and the last input in 8 bits instead of 16; what attention makes in both."""
    options: dict[str, object] = {"workload": "llama-3-8b", "world_size": 8, "recompute": "none"}
    wide, narrow = (job(framework="megatron-core", precision=each, **options) for each in ("bf16", "fp8"))
    saved = (2 * 4096 + 14336 - 4096) * wide.tokens
    assert layer_bytes(wide)[0] - layer_bytes(narrow)[0] == pytest.approx(saved)
    wide, narrow = (job(framework="torchtitan", precision=each, **options) for each in ("bf16", "fp8"))
    assert layer_bytes(wide) == layer_bytes(narrow)


def test_the_ends_of_two_copies_of_a_network_hold_few_layers_without_experts():
    """Three of the eight layers on the first of 16 ranks have no experts, by DualPipe: all of one copy."""
    both = job(
        workload="deepseek-v3",
        world_size=1024,
        pipeline_parallel=16,
        expert_parallel=64,
        schedule="dualpipe",
        global_batch_size=2048,
        framework="hai-llm",
    )
    first, second, _ = memory_of_stages(both)
    model = both.model
    fewer = 3 * (model.experts / 64 + model.shared_experts) * model.expert_parameters
    apart = fewer + 3 * (model.hidden * model.experts - model.dense_parameters)
    tables = 2 * model.embedding_parameters
    assert (first.weights - second.weights) / 2 == pytest.approx(tables - apart, rel=1e-6)
