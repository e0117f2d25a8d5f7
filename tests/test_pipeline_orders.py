"""Schedules of pipelines that split the backward pass: their passes, waits and memory."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel import layouts, predict, sweep
from perfmodel.core.errors import InputError
from perfmodel.equations.pipeline_orders import SCHEDULES, TWO_CHUNKS, kept_after, passes_of
from perfmodel.equations.pipeline_schedule import (
    length,
    played,
    schedule_bubble_time,
    scheduled_micro_batches_kept,
    times_of_chunks,
)
from perfmodel.interfaces.cli import main
from perfmodel.model.prediction.pipeline import pipeline_of_scenario
from tests.simulators.pipeline import simulate
from tests.simulators.pipeline_programs import run

pytestmark = pytest.mark.any_version
SPLIT = SCHEDULES[2:]
JOB = {
    "workload": "llama-3.1-70b",
    "node": "dgx-h100",
    "gpus": 64,
    "tensor_parallel": 4,
    "pipeline_parallel": 8,
    "global_batch_size": 64,
}


def chunks_of(name):
    return 2 if name in TWO_CHUNKS else 1


@st.composite
def pipelines(draw, names=SPLIT):
    """A schedule with stages and micro-batches that it can run."""
    name = draw(st.sampled_from(names))
    stages = draw(st.integers(2, 8))
    batches = draw(st.integers(1, 3 * stages))
    if name == "dualpipe":
        stages += stages % 2
        batches = 2 * (stages + batches)
    return name, stages, batches


@st.composite
def times(draw):
    """Forward, to inputs and to weights of a layer, and of the logits [s]."""
    return tuple(draw(st.floats(low, high)) for low, high in ((1, 1), (0.6, 1.6), (0.3, 1.2), (0, 3)))


@settings(deadline=None, max_examples=150)
@given(pipelines())
def test_every_pass_runs_once(pipeline):
    name, stages, batches = pipeline
    each = batches if name == "dualpipe" else batches * chunks_of(name)
    for passes in passes_of(name, stages, chunks_of(name), batches):
        assert len({one[:3] for one in passes}) == len(passes)
        kinds = [one.kind for one in passes]
        assert kinds.count("forward") == each
        assert kinds.count("inputs") + kinds.count("backward") == each
        assert kinds.count("weights") + kinds.count("backward") == each
        assert kept_after(passes)[-1] == 0


@settings(deadline=None, max_examples=150)
@given(pipelines(), times())
def test_a_stage_runs_one_pass_at_a_time_or_a_pair(pipeline, layer):
    name, stages, batches = pipeline
    forward, inputs, weights, head = layer
    parts = {"forward": forward, "inputs": inputs, "weights": weights, "backward": inputs + weights}
    every = times_of_chunks(name, 2 * stages, stages, chunks_of(name), parts, head)
    ends = dict.fromkeys(range(stages), 0.0)
    last = None
    for stage, _, start, end in played(name, every, batches):
        assert start >= ends[stage] or (start, end) == last
        ends[stage], last = end, (start, end)


@settings(deadline=None, max_examples=500)
@given(pipelines(("1f1b", "zb-h1", "zb-h2")), times(), st.integers(0, 40))
def test_steps_and_memory_are_those_of_a_simulation(pipeline, layer, more_layers):
    """Unequal stages and logits on the last one; the simulation has no list of passes."""
    name, stages, batches = pipeline
    forward, inputs, weights, head = layer
    parts = {"forward": forward, "inputs": inputs, "weights": weights, "backward": inputs + weights}
    every = times_of_chunks(name, stages + more_layers, stages, 1, parts, head)
    step = simulate(
        name, *([each[0] for each in every[kind]] for kind in ("forward", "inputs", "weights")), batches
    )
    expected = step.longest_span if name == "zb-h2" else step.makespan
    assert length(name, every, batches) == pytest.approx(expected, rel=1e-9)
    kept = [max(kept_after(passes)) for passes in passes_of(name, stages, 1, batches)]
    assert kept == step.most_kept


@settings(deadline=None, max_examples=500)
@given(
    pipelines(("interleaved", "zb-v", "v-half", "v-min", "dualpipe")),
    st.integers(2, 5),
    st.randoms(use_true_random=False),
)
def test_steps_and_memory_of_several_chunks_are_those_of_programs(pipeline, chunks, random):
    """Any times of chunks; the stages of the simulation follow the programs that were published."""
    name, stages, batches = pipeline
    if name == "interleaved":
        batches *= stages
    else:
        chunks = 2
    times = {
        kind: [[random.uniform(low, high) for _ in range(chunks)] for _ in range(stages)]
        for kind, low, high in (("forward", 0.8, 1.2), ("inputs", 0.6, 1.6), ("weights", 0.3, 1.2))
    }
    step = run(name, times, batches)
    backward = (zip(*each, strict=True) for each in zip(times["inputs"], times["weights"], strict=True))
    every = times | {"backward": [[sum(pair) for pair in of_stage] for of_stage in backward]}
    assert length(name, every, batches) == pytest.approx(step.makespan, rel=1e-9)
    kept = [max(kept_after(passes)) for passes in passes_of(name, stages, chunks, batches)]
    assert kept == step.most_kept


@pytest.mark.parametrize("stages", [2, 4, 8, 16])
@pytest.mark.parametrize(
    ("name", "bubble"),
    [
        ("zb-h1", lambda p, f, b, w: (p - 1) * (f + b - w)),
        ("zb-h2", lambda p, f, b, w: (p - 1) * (f + b - 2 * w)),
    ],
)
@pytest.mark.published("Qi et al. 2023, arXiv:2401.10241, table 2")
def test_bubbles_of_zero_bubble_schedules(name, bubble, stages):
    forward, inputs, weights = 1.0, 1.2, 0.8
    waits = schedule_bubble_time(
        SCHEDULES.index(name), stages, stages, 1, 3 * stages, 3.0, forward, weights, 0.0, 3.0
    )
    assert waits == pytest.approx(bubble(stages, forward, inputs, weights))


@pytest.mark.parametrize("stages", [4, 8, 16])
@pytest.mark.published("DeepSeek-AI 2024, arXiv:2412.19437, table 2")
def test_bubble_of_dualpipe(stages):
    """(p/2 - 1)(F&B + B - 3 W), with F&B one after the other; B of that table is the whole backward pass."""
    waits = schedule_bubble_time(
        SCHEDULES.index("dualpipe"), stages, stages, 1, 3 * stages, 3.0, 1.0, 1.0, 0.0, 3.0
    )
    assert waits == pytest.approx((stages / 2 - 1) * (3.0 + 2.0 - 3.0))


@pytest.mark.published("Qi et al. 2023 and 2024; DeepSeek-AI 2024, table 2")
def test_micro_batches_kept():
    """p and 2 p - 1 of ZB-H, p of ZB-V, about p/2 and p/3 of V-half and V-min, p + 1 chunks of DualPipe."""
    p = 12
    kept = {
        name: scheduled_micro_batches_kept(SCHEDULES.index(name), p, chunks_of(name), 4 * p) for name in SPLIT
    }
    assert kept["zb-h1"] == p
    assert kept["zb-h2"] == 2 * p - 1
    assert kept["zb-v"] == p
    assert p / 2 <= kept["v-half"] <= p / 2 + 1
    assert p / 3 <= kept["v-min"] <= p / 3 + 1
    assert kept["dualpipe"] == p + 1


@settings(deadline=None, max_examples=60)
@given(pipelines(), times())
def test_later_rounds_go_on_as_the_third(pipeline, layer):
    name, stages, _ = pipeline
    forward, inputs, weights, head = layer
    parts = {"forward": forward, "inputs": inputs, "weights": weights, "backward": inputs + weights}
    batches = 8 * stages
    every = times_of_chunks(name, 2 * stages, stages, chunks_of(name), parts, head)
    whole, mean = forward + inputs + weights, (2 * stages * (forward + inputs + weights) + head) / stages
    waits = schedule_bubble_time(
        SCHEDULES.index(name), 2 * stages, stages, 1, batches, whole, forward, weights, head, mean
    )
    assert batches * mean + waits == pytest.approx(length(name, every, batches), rel=0.015)


def test_the_measured_order_of_schedules():
    """Llama 2 7B on 8 MI300X by Primus: the batch is not stated; of 64 micro-batches the order is theirs.

    Measured [thousand tokens/s]: ZB-H1 91.3, ZB-V 90.8; interleaved 87.8, V-half 87.2; 1F1B 80.5; V-min 71.2.
    The two pairs differ by less than 1 % there, and go the other way round here.
    """
    job = {"workload": "llama-2-7b", "accelerator": "mi300x", "gpus": 8, "pipeline_parallel": 8}
    rates = {
        name: predict(
            **job, global_batch_size=64, schedule=name, virtual_stages=2 if name == "interleaved" else 1
        ).tokens_per_second
        for name in ("zb-h1", "zb-v", "interleaved", "v-half", "1f1b", "v-min")
    }
    order = sorted(rates, key=rates.__getitem__, reverse=True)
    assert [set(order[:2]), set(order[2:4]), *order[4:]] == [
        {"zb-h1", "zb-v"},
        {"interleaved", "v-half"},
        "1f1b",
        "v-min",
    ]


@pytest.mark.parametrize("name", SPLIT)
def test_a_prediction_is_its_drawn_schedule(name):
    pipeline = pipeline_of_scenario({**JOB, "schedule": name})
    assert pipeline.predicted_time == pytest.approx(
        pipeline.schedule.end, rel=0.05 if name == "zb-h2" else 5e-3
    )


@pytest.mark.published("DeepSeek-AI 2024, arXiv:2412.19437, section 3.2.1: sends are fully hidden")
def test_sends_show_only_while_dualpipe_fills_and_drains():
    few, many = (
        predict(**{**JOB, "global_batch_size": batch}, schedule="dualpipe").terms["stage_transfer_time"]
        for batch in (64, 128)
    )
    assert few == pytest.approx(many)
    few, many = (
        predict(**{**JOB, "global_batch_size": batch}, schedule="zb-h1").terms["stage_transfer_time"]
        for batch in (64, 128)
    )
    assert few < many


def test_memory_follows_the_schedule():
    kept = {
        name: predict(**JOB, schedule=name).memory.rows["activations"]
        for name in ("1f1b", "zb-h1", "zb-h2", "v-half", "v-min")
    }
    assert kept["v-min"] < kept["v-half"] < kept["zb-h1"] < kept["zb-h2"]
    weights = {name: predict(**JOB, schedule=name).memory.rows["weights"] for name in ("1f1b", "dualpipe")}
    assert weights["dualpipe"] == pytest.approx(2 * weights["1f1b"], rel=0.1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"schedule": "interleaved"}, "needs virtual_stages of 2 or more"),
        ({"schedule": "zb-v", "virtual_stages": 3}, "has chunks of its own"),
        ({"schedule": "dualpipe", "global_batch_size": 16}, "at least 16, here 8"),
    ],
)
def test_schedules_that_cannot_run_are_refused(options, words):
    with pytest.raises(InputError, match="schedule") as caught:
        predict(**JOB | options)
    assert words.replace("virtual_stages", "").split()[-1] in str(caught.value)


def test_without_stages_a_schedule_changes_nothing_and_says_so():
    answer = predict(**JOB | {"pipeline_parallel": 1, "schedule": "zb-v"})
    assert any("--schedule changes nothing" in note for note in answer.warnings)


def test_software_that_does_not_know_a_schedule_is_named():
    answer = predict(**JOB, schedule="v-min")
    assert any("not known to run v-min" in note for note in answer.warnings)


def test_layouts_and_sweeps_take_a_schedule():
    rows = layouts("llama-3.1-70b", gpus=64, node="dgx-h100", global_batch_size=64, schedule="zb-v").rows
    piped = [row for row in rows if row.layout["pipeline_parallel"] > 1]
    assert piped
    assert {row.layout["schedule"] for row in piped} == {"zb-v"}
    table = sweep(**JOB, schedule=["1f1b", "zb-h1"]).table()
    one = [predict(**JOB, schedule=name).iteration_time for name in ("1f1b", "zb-h1")]
    assert table["iteration_time"].tolist() == pytest.approx(one)


def test_the_shell_takes_a_schedule():
    options = [f"--{name.replace('_', '-')}={value}" for name, value in {**JOB, "schedule": "zb-h1"}.items()]
    result = CliRunner().invoke(main, ["predict", *options, "--json"])
    assert json.loads(result.stdout)["layout"]["schedule"] == "zb-h1"
