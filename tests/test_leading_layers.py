"""First layers that take another time than the others: steps of pipelines against simulations."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.equations.interleaved_pipeline import interleaved_bubble_time
from perfmodel.equations.pipeline_orders import SCHEDULES, layers_of_chunks
from perfmodel.equations.pipeline_schedule import schedule_bubble_time
from perfmodel.equations.transformer_pipeline import pipelined_time, slowest_stage_time
from perfmodel.equations.unequal_pipeline import unequal_bubble_time
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.transformers.evaluate import case_of_setting
from perfmodel.model.transformers.job import job_of
from perfmodel.model.transformers.layer import rates_of
from perfmodel.model.transformers.leading import stage_layers
from perfmodel.model.transformers.paired import layer_of
from perfmodel.model.transformers.parameters import fitted
from perfmodel.model.transformers.schedule import schedule_of
from perfmodel.model.transformers.step import step_of
from tests.simulators.pipeline import simulate
from tests.simulators.pipeline_programs import run

KINDS = "forward", "inputs", "weights"
HEAD, TABLE = 0.9, 0.2
leading_times = st.tuples(st.floats(0.1, 0.6), st.floats(0.1, 0.6), st.floats(0.1, 0.6))


def chunk_times(held: list[int], first: int, layer: dict[str, float], of_first: dict[str, float]) -> Any:
    """Return the times of chunks in the order of the network, by kind, counted layer by layer."""
    slow = [layer] * sum(held)
    slow[:first] = [of_first] * first
    bounds = np.cumsum([0, *held])
    times = {}
    for kind in KINDS:
        each = [sum(one[kind] for one in slow[a:b]) for a, b in pairwise(bounds)]
        each[0] += TABLE / 3
        each[-1] += HEAD / 3
        times[kind] = each
    return times


def given_times(of_first: tuple[float, float, float]) -> tuple[dict[str, float], dict[str, float]]:
    return dict(zip(KINDS, (0.4, 0.35, 0.25), strict=True)), dict(zip(KINDS, of_first, strict=True))


@pytest.mark.any_version
@settings(deadline=None, max_examples=300)
@given(st.integers(2, 12), st.integers(1, 30), st.integers(0, 24), st.data(), leading_times)
def test_1f1b(stages: int, micro_batches: int, more: int, data: Any, first_times: Any):
    layers = stages + more
    first = data.draw(st.integers(0, layers - 1))
    layer, of_first = given_times(first_times)
    held = [counts[0] for counts in layers_of_chunks(layers, stages, 1)]
    times = chunk_times(held, first, layer, of_first)
    step = simulate("1f1b", *(times[kind] for kind in KINDS), micro_batches)
    ends, leading = (HEAD, TABLE), (first, sum(first_times), first_times[0])
    slowest = slowest_stage_time(layers, stages, 1.0, *ends, 0, *leading[:2])
    longest = max(map(sum, zip(*times.values(), strict=True)))
    if first <= held[0] + held[1]:
        assert slowest == pytest.approx(longest)
    assert slowest <= longest * (1 + 1e-12)
    bubble = unequal_bubble_time(layers, stages, micro_batches, 1.0, 0.4, *ends, slowest, 0, *leading)
    assert pipelined_time(micro_batches, slowest, bubble) == pytest.approx(step.makespan, rel=1e-9)


@settings(deadline=None, max_examples=200)
@given(
    st.sampled_from(["zb-h1", "zb-h2", "zb-v", "dualpipe"]),
    st.integers(1, 4),
    st.integers(0, 12),
    st.data(),
    leading_times,
)
def test_schedules_that_split_the_backward_pass(name: str, half: int, more: int, data: Any, first_times: Any):
    stages, layer = 2 * half, dict(zip(KINDS, (0.4, 0.35, 0.25), strict=True))
    chunks = 2 if name == "zb-v" else 1
    layers, micro_batches = stages * chunks + more, 2 * stages
    first = data.draw(st.integers(1, layers - 1))
    held = [counts[0] for counts in layers_of_chunks(layers, stages * chunks, 1)]
    times = chunk_times(held, first, layer, dict(zip(KINDS, first_times, strict=True)))
    if name in ("zb-h1", "zb-h2"):
        step: Any = simulate(name, *(times[kind] for kind in KINDS), micro_batches)
        length = step.longest_span if name == "zb-h2" else step.makespan
    else:  # the second chunk of a stage is the mirror image of the first, of this network or of a copy
        of_stages = {
            kind: [[each[stage], each[-1 - stage]] for stage in range(stages)] for kind, each in times.items()
        }
        length = run(name, of_stages, micro_batches).makespan
    mean = 0.1  # so that no step waits for less than none
    waits = schedule_bubble_time(
        SCHEDULES.index(name), layers, stages, chunks, micro_batches, 1.0, 0.4, 0.25, HEAD, mean, TABLE, 0,
        first, sum(first_times), first_times[0], first_times[2],
    )  # fmt: skip
    assert waits + micro_batches * mean == pytest.approx(length, rel=1e-9)


@pytest.mark.parametrize("ratio", [0.4, 0.7, 1.2])
@pytest.mark.parametrize(("layers", "stages", "chunks"), [(61, 4, 2), (61, 8, 4), (48, 4, 3), (92, 8, 2)])
def test_interleaved(layers: int, stages: int, chunks: int, ratio: float):
    """Within 1 %, and a little more where the first layers take longer than the others."""
    first, micro_batches, layer = 3, 4 * stages, dict(zip(KINDS, (1 / 3,) * 3, strict=True))
    held = [0] * (stages * chunks)
    for stage, counts in enumerate(layers_of_chunks(layers, stages, chunks)):
        for chunk, count in enumerate(counts):
            held[chunk * stages + stage] = count
    times = chunk_times(held, first, layer, dict.fromkeys(KINDS, ratio / 3))

    def table(kind: str) -> list[list[float]]:
        return [[times[kind][chunk * stages + stage] for chunk in range(chunks)] for stage in range(stages)]

    backward = (np.array(table("inputs")) + np.array(table("weights"))).tolist()
    played = schedule_of(table("forward"), backward, micro_batches).end
    slowest = slowest_stage_time(layers, stages, 1.0, HEAD, TABLE, 0, first, ratio)
    given = layers, stages, chunks, micro_batches, 1.0, 1 / 3, HEAD, slowest, TABLE, 0, first, ratio
    predicted = pipelined_time(micro_batches, slowest, interleaved_bubble_time(*given))
    assert predicted == pytest.approx(played, rel=0.011 if ratio > 1 else 0.01)


JOB: dict[str, Any] = {
    "workload": "deepseek-v3",
    "node": "dgx-h100",
    "world_size": 256,
    "pipeline_parallel": 8,
    "expert_parallel": 32,
    "sharding": "zero1",
    "global_batch_size": 512,
}


@pytest.mark.parametrize("schedule", [None, "zb-h1", "dualpipe"])
def test_stages_of_experts_set_the_pace(schedule: str | None):
    """Layers without experts exchange no tokens, so stages of experts alone are longer than the mean."""
    scenario = Scenario(**JOB, framework="hai-llm", schedule=schedule)
    case = case_of_setting(resolve(scenario, Catalogue.built_in()))
    job, p = job_of(case), fitted().parameters
    rates = rates_of(job, p)
    layer = layer_of(job, p, rates)
    others, leading = stage_layers(job, p, rates, layer)
    assert leading.time < layer.time < others.time
    for whole, first, rest in zip(
        (layer.time, layer.time - layer.backward, layer.weights), leading, others, strict=True
    ):
        assert 3 * first + 58 * rest == pytest.approx(61 * whole)
    alike = job._replace(model=job.model._replace(first_dense=0.0))
    steps, same = step_of(job, p, layer), step_of(alike, p, layer)
    assert steps.iteration_time > same.iteration_time
    assert steps.products_time == same.products_time
