"""Embedding and output head as layers of a pipeline: Llama 3.1 405B's 126 + 2 layers on 16 stages of 8."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from perfmodel import Catalogue, layouts, predict, sweep
from perfmodel.core.errors import InputError
from perfmodel.equations.pipeline_orders import SCHEDULES, TWO_CHUNKS, layers_of_chunks
from perfmodel.hardware.releases import release
from perfmodel.interfaces.cli import main
from perfmodel.model.options.layout import Layout
from perfmodel.model.prediction.pipeline import pipeline_of_scenario
from perfmodel.model.transformers.flags import flags
from perfmodel.workloads import workload
from tests.simulators.pipeline import simulate

pytestmark = pytest.mark.any_version
JOB = {
    "workload": "llama-3.1-405b",
    "node": "dgx-h100",
    "gpus": 512,
    "tensor_parallel": 8,
    "pipeline_parallel": 16,
    "global_batch_size": 128,
}
SLOTS = {**JOB, "embedding_slots": True}


@pytest.mark.published(
    "Llama Team 2024, arXiv:2407.21783, sec. 3.3.2: one layer less on the first and last stage"
)
def test_the_ends_of_405b_have_a_layer_less():
    assert [sum(each) for each in layers_of_chunks(126, 16, 1, end_slots=1)] == [7, *[8] * 14, 7]
    assert [sum(each) for each in layers_of_chunks(126, 16, 8, end_slots=1)] == [7, *[8] * 14, 7]
    assert [sum(each) for each in layers_of_chunks(126, 16, 2, "zb-v", 1)] == [6, *[8] * 15]


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_prediction_is_its_schedule(name):
    chunks = {"virtual_stages": 4} if name == "interleaved" else {}
    pipeline = pipeline_of_scenario({**SLOTS, "schedule": name, **chunks})
    held = layers_of_chunks(126, 16, 4 if chunks else 2 if name in TWO_CHUNKS else 1, name, 1)
    assert sum(map(sum, held)) == 126 * (2 if name == "dualpipe" else 1)
    assert pipeline.predicted_time == pytest.approx(
        pipeline.schedule.end, rel=0.1 if name == "zb-h2" else 5e-3
    )


def test_its_step_is_that_of_a_simulation():
    schedule = pipeline_of_scenario(SLOTS).schedule
    forward, backward = (
        [next(b.end - b.start for b in blocks if b.is_forward is ahead) for blocks in schedule.stages]
        for ahead in (True, False)
    )
    assert forward[0] / forward[1] == pytest.approx(7 / 8, rel=0.01)
    step = simulate("1f1b", forward, backward, [0.0] * 16, schedule.micro_batches)
    assert pipeline_of_scenario(SLOTS).predicted_time == pytest.approx(step.makespan, rel=1e-3)


def test_ends_that_count_as_layers_make_chunks_alike():
    """126 layers in 112 chunks are 14 of two; with both ends, 128 places are as many chunks of one."""
    plain, slots = predict(**JOB, virtual_stages=7), predict(**SLOTS, virtual_stages=8)
    waits = [each.terms["bubble_time"] + each.terms["unequal_stages_time"] for each in (plain, slots)]
    assert waits[1] < 0.7 * waits[0]
    assert slots.layout["embedding_slots"] is True
    assert "embedding_slots" not in plain.layout


def test_memory_is_that_of_the_fullest_stage():
    """7 layers of 16 micro-batches with a table, or 8 of 15 without one."""
    of = {name: predict(**options).memory.rows for name, options in (("plain", JOB), ("slots", SLOTS))}
    assert of["slots"]["activations"] / of["plain"]["activations"] == pytest.approx(
        8 * 15 / (8 * 16),
        rel=1e-3,  # gradients of one layer's backward pass are there in both
    )
    assert of["slots"]["weights"] < of["plain"]["weights"]


def test_more_chunks_than_layers_alone_would_have():
    many = {**JOB, "virtual_stages": 8}
    with pytest.raises(InputError, match="more than 126 layers"):
        predict(**many)
    assert predict(**many, embedding_slots=True).layout["virtual_stages"] == 8
    with pytest.raises(InputError, match="more than 126 layers"):
        predict(**{**many, "virtual_stages": 9}, embedding_slots=True)


def test_without_stages_it_changes_nothing_and_says_so():
    job = {"workload": "llama-2-7b", "node": "dgx-h100", "gpus": 8}
    for options in ({}, {"tensor_parallel": 2}):
        answer = predict(**job, **options, embedding_slots=True)
        assert any("--embedding-slots changes nothing" in note for note in answer.warnings)
        assert answer.iteration_time == predict(**job, **options).iteration_time


def test_searches_and_sweeps_take_it():
    job = {"gpus": 512, "node": "dgx-h100", "global_batch_size": 128, "embedding_slots": True}
    rows = layouts("llama-3.1-405b", **job, top=400).rows
    piped = [row for row in rows if row.layout["pipeline_parallel"] > 1]
    assert piped
    assert all(row.layout["embedding_slots"] for row in piped)
    row = next(row for row in piped if row.layout["pipeline_parallel"] == 16)
    options = {
        key: value for key, value in row.layout.items() if key not in ("data_parallel", "accumulation_steps")
    }
    interleaved = options["schedule"] in ("1f1b", "interleaved")
    if interleaved:
        options.pop("schedule")
    one = predict(workload="llama-3.1-405b", **job | options)
    assert one.iteration_time == pytest.approx(row.iteration_time)
    assert one.memory.bytes == pytest.approx(row.memory["bytes"])
    table = sweep(**SLOTS | {"global_batch_size": [128, 256]}).table()
    each = [predict(**SLOTS | {"global_batch_size": batch}).iteration_time for batch in (128, 256)]
    assert table["iteration_time"].tolist() == pytest.approx(each)


def test_software_that_counts_the_ends_does_so_by_default():
    answer = predict(**JOB, framework="torchtitan@2025", sharding="zero3")
    assert answer.layout["embedding_slots"] is True
    assert any("embedding-slots" in each for each in answer.defaults)
    assert "embedding_slots" not in predict(**JOB, framework="torchtitan@2024", sharding="zero3").layout
    stated = predict(**JOB, framework="torchtitan@2025", sharding="zero3", embedding_slots=False)
    assert "embedding_slots" not in stated.layout
    assert release("torchtitan@2025", Catalogue.built_in()).embedding_slots


def test_flags_of_software():
    model = workload("llama-3.1-405b", 8192).architecture
    layout = Layout(8, 16, data_parallel=4, accumulation_steps=32, end_slots=1)
    lines = flags("megatron-core", layout, model, 8192, "bf16")
    assert "--account-for-embedding-in-pipeline-split" in lines
    assert "--account-for-loss-in-pipeline-split" in lines
    assert not any("pipeline-model-parallel-layout" in line for line in lines)
    uneven = flags("megatron-core", layout._replace(pipeline_parallel=3), model, 8192, "bf16")
    words = next(line for line in uneven if "pipeline-model-parallel-layout" in line)
    assert [part.count("t") for part in words.split("'")[1].split("|")] == [42, 43, 41]
    titan = flags("torchtitan", layout._replace(end_slots=0), model, 8192, "bf16")
    assert any("first_stage_less_layers 0" in line for line in titan)


def test_the_shell_takes_it():
    options = [f"--{name.replace('_', '-')}={value}" for name, value in JOB.items()]
    result = CliRunner().invoke(main, ["predict", *options, "--embedding-slots", "--json"])
    assert json.loads(result.stdout)["layout"]["embedding_slots"] is True
