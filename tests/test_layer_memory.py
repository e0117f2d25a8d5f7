"""Memory of experts, of stages that differ, and of what the backward pass needs, against published peaks."""

from __future__ import annotations

import pytest

from perfmodel.evidence.accuracy.memory_fit import shipped_peaks
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.transformers.evaluate import case_of_setting
from perfmodel.model.transformers.job import Job, job_of
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
