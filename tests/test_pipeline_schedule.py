"""Schedules of pipelines: what each stage does when, against the closed form that predictions use."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel import Scenario, predict
from perfmodel.core.errors import InputError
from perfmodel.equations.interleaved_pipeline import interleaved_bubble_time
from perfmodel.equations.pipeline_orders import layers_of_chunks
from perfmodel.equations.pipeline_schedule import HEAD_SHARE
from perfmodel.equations.transformer_pipeline import pipelined_time, slowest_stage_time
from perfmodel.equations.unequal_pipeline import one_forward_one_backward_time, unequal_bubble_time
from perfmodel.evidence.traces.kineto import read_kineto
from perfmodel.evidence.traces.summary import summary
from perfmodel.evidence.traces.timeline import timeline, write_timeline
from perfmodel.interfaces.cli import main
from perfmodel.model.prediction.pipeline import pipeline_of_scenario
from perfmodel.model.step.terms import of_kind, sent
from perfmodel.model.transformers.schedule import MOST_BLOCKS, schedule_of
from tests.simulators.pipeline import simulate

JOB = {"workload": "llama-2-7b", "accelerator": "h100-sxm5-80gb", "gpus": 16, "tensor_parallel": 2}
EQUAL = {**JOB, "pipeline_parallel": 4, "global_batch_size": 16}
CHUNKS = {**EQUAL, "virtual_stages": 4}
UNEQUAL = {**EQUAL, "workload": "llama-3.1-405b", "gpus": 32}
ODD_CHUNKS = {**UNEQUAL, "virtual_stages": 7, "pipeline_parallel": 16, "gpus": 128, "global_batch_size": 128}

seconds = st.floats(1e-3, 10)


def bubble_time(stages, chunks, stage_time):
    """Of equal chunks."""
    return (stages - 1) / chunks * stage_time


pytestmark = pytest.mark.any_version


@st.composite
def pipelines(draw, equal=False):
    """Times of chunks forward and backward, and micro-batches that they can be interleaved for."""
    stages, chunks = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    micro_batches = draw(st.integers(1, 12)) if chunks == 1 else stages * draw(st.integers(1, 4))
    if equal:
        ahead, back = draw(seconds), draw(seconds)
        return [[ahead] * chunks] * stages, [[back] * chunks] * stages, micro_batches
    table = st.lists(st.lists(seconds, min_size=chunks, max_size=chunks), min_size=stages, max_size=stages)
    return draw(table), draw(table), micro_batches


@settings(deadline=None, max_examples=60)
@given(pipelines(equal=True))
def test_of_equal_chunks_a_schedule_is_the_closed_form(pipeline):
    forward, backward, micro_batches = pipeline
    stages, chunks = len(forward), len(forward[0])
    schedule = schedule_of(*pipeline)
    each = chunks * (forward[0][0] + backward[0][0])
    bubble = bubble_time(stages, chunks, each)
    assert schedule.end == pytest.approx(pipelined_time(micro_batches, each, bubble))
    assert schedule.idle_time == pytest.approx(bubble, abs=1e-9 * schedule.end)


@settings(deadline=None, max_examples=60)
@given(pipelines())
def test_a_stage_runs_every_pass_once_and_one_at_a_time(pipeline):
    forward, backward, micro_batches = pipeline
    schedule = schedule_of(*pipeline)
    for stage, blocks in enumerate(schedule.stages):
        assert len(blocks) == len({block[:4] for block in blocks}) == 2 * len(forward[0]) * micro_batches
        assert all(one.end <= next_one.start for one, next_one in pairwise(blocks))
        for block in blocks:
            times = forward if block.is_forward else backward
            assert block.end - block.start == pytest.approx(times[stage][block.chunk])


@settings(deadline=None, max_examples=60)
@given(pipelines())
def test_a_pass_waits_for_those_it_needs(pipeline):
    schedule = schedule_of(*pipeline)
    stages = len(schedule.stages)
    ran = {
        (block.is_forward, block.chunk * stages + block.stage, block.micro_batch): block
        for blocks in schedule.stages
        for block in blocks
    }
    last = stages * schedule.chunks - 1
    for (is_forward, place, micro), block in ran.items():
        if is_forward and place:
            assert ran[True, place - 1, micro].end <= block.start
        if not is_forward:
            assert ran[True, place, micro].end <= block.start
            if place < last:
                assert ran[False, place + 1, micro].end <= block.start


@settings(deadline=None, max_examples=100)
@given(st.lists(seconds, min_size=2, max_size=6), st.floats(0.1, 0.9), st.integers(1, 16))
def test_1f1b_of_unequal_stages_waits_for_every_other_stage_at_most(times, ahead, micro_batches):
    """That is so where forward is the same share of the time on all stages."""
    schedule = schedule_of(
        [[ahead * time] for time in times], [[(1 - ahead) * time] for time in times], micro_batches
    )
    slowest, mean = max(times), sum(times) / len(times)
    closed = pipelined_time(micro_batches, slowest, bubble_time(len(times), 1, mean))
    assert schedule.end <= (closed - (slowest - mean)) * (1 + 1e-9)
    assert schedule.end >= micro_batches * slowest * (1 - 1e-9)


@settings(deadline=None, max_examples=500)
@given(st.integers(1, 12), st.integers(1, 40), st.randoms(use_true_random=False))
def test_the_closed_form_of_1f1b_is_a_simulation(stages, micro_batches, random):
    """Any times of the stages, forward and backward; memory as many micro-batches as stages behind."""
    forward, inputs, weights = ([random.uniform(0.1, 3) for _ in range(stages)] for _ in range(3))
    step = simulate("1f1b", forward, inputs, weights, micro_batches)
    backward = np.add(inputs, weights)
    closed = one_forward_one_backward_time(np.array([forward]), backward[None], np.array([micro_batches]))
    assert closed[0] == pytest.approx(step.makespan, rel=1e-12)
    assert step.most_kept == [min(stages - stage, micro_batches) for stage in range(stages)]


@settings(deadline=None, max_examples=500)
@given(
    st.integers(2, 12),
    st.integers(1, 40),
    st.integers(0, 30),
    st.floats(0.2, 0.5),
    st.floats(0, 4),
    st.floats(0, 0.3),
    st.sampled_from([0, 1]),
)
def test_bubbles_of_1f1b_are_those_of_a_simulation(stages, micro_batches, more, share, head, table, slots):
    layers = stages + more
    held = [len(range(place, layers + 2 * slots, stages)) for place in range(stages)]
    held[0], held[-1] = held[0] - slots, held[-1] - slots
    times = np.outer((share, 1 - share), held)
    times[:, -1] += np.array([1, 2]) / 3 * head
    times[:, 0] += np.array([1, 2]) / 3 * table
    step = simulate("1f1b", times[0], times[1], 0 * times[0], micro_batches)
    slowest = slowest_stage_time(layers, stages, 1.0, head, table, slots)
    assert slowest == pytest.approx(times.sum(axis=0).max())
    given = layers, stages, micro_batches, 1.0, share, head, table, slowest, slots
    predicted = pipelined_time(micro_batches, slowest, unequal_bubble_time(*given))
    assert predicted == pytest.approx(step.makespan, rel=1e-9)


def test_1f1b_may_last_longer_where_stages_differ_in_what_is_forward():
    """Two micro-batches: 22 s by hand, and a closed form of 2 x 6 + 2 x 14 / 3 s, less than that."""
    schedule = schedule_of([[1.0], [5.0], [1.0]], [[5.0], [1.0], [1.0]], 2)
    assert schedule.end == 22.0
    assert pipelined_time(2, 6.0, bubble_time(3, 1, 14 / 3)) < 22.0


def test_1f1b_waits_in_full_where_the_last_stage_is_the_slowest():
    schedule = schedule_of([[1.0], [1.0], [2.0]], [[2.0], [2.0], [4.0]], 5)
    assert schedule.end == 5 * 6 + 3 + 3


def test_1f1b_keeps_no_more_micro_batches_than_stages_behind():
    schedule = schedule_of([[1.0]] * 4, [[2.0]] * 4, 9)
    for stage, blocks in enumerate(schedule.stages):
        kept = most = 0
        for block in blocks:
            kept += 1 if block.is_forward else -1
            most = max(most, kept)
        assert most == 4 - stage


def played_and_predicted(layers, stages, chunks, micro_batches, forward, head):
    """How long a step is of layers of 1 s, played and by the formula."""
    held, last = layers_of_chunks(layers, stages, chunks), (stages - 1, chunks - 1)

    def times(share, of_head):
        return [
            [share * count + of_head * head * ((stage, chunk) == last) for chunk, count in enumerate(counts)]
            for stage, counts in enumerate(held)
        ]

    schedule = schedule_of(
        times(forward, HEAD_SHARE["forward"]), times(1 - forward, 1 - HEAD_SHARE["forward"]), micro_batches
    )
    slowest = slowest_stage_time(layers, stages, 1.0, head)
    bubble = interleaved_bubble_time(layers, stages, chunks, micro_batches, 1.0, forward, head, slowest)
    return schedule.end, pipelined_time(micro_batches, slowest, bubble)


SHAPES = [
    (stages, chunks, rounds)
    for stages in (2, 3, 4, 8)
    for chunks in (2, 3, 5)
    for rounds in (1, 2, 3, 6)
    if stages * stages * chunks * rounds < 1000
]


@pytest.mark.parametrize(("forward", "head"), [(1 / 3, 0.0), (0.27, 0.6), (0.37, 2.2)])
def test_the_bubble_of_unlike_chunks_is_that_of_the_schedule(forward, head):
    """Layers that divide by stages and chunks, and one, half a round or nearly all of them more."""
    apart, plain = [], []
    for stages, chunks, rounds in SHAPES:
        for more in {0, 1, stages * chunks // 2, stages * chunks - 2}:
            layers, micro_batches = stages * chunks + more, rounds * stages
            played, predicted = played_and_predicted(layers, stages, chunks, micro_batches, forward, head)
            apart.append(abs(predicted / played - 1))
            slowest, mean = slowest_stage_time(layers, stages, 1.0, head), (layers + head) / stages
            closed = pipelined_time(micro_batches, slowest, bubble_time(stages, chunks, mean))
            plain.append(abs(closed / played - 1))
    apart.sort()
    assert apart[len(apart) // 2] < 1e-3
    assert apart[-1] < 0.02
    assert max(plain) > 0.1  # and (p - 1) / v mean stages are not


def test_a_bubble_of_many_layouts_is_that_of_each():
    """Of a whole stage nothing is asked; of fewer micro-batches than stages a bubble is none the less."""
    columns = [
        np.array(column, dtype=float)
        for column in zip((126, 16, 7, 32), (126, 8, 5, 20), (32, 4, 1, 8), (30, 4, 3, 2), strict=True)
    ]
    slowest = np.ceil(columns[0] / columns[1])
    many = interleaved_bubble_time(*columns, 1.0, 0.3, 0.4, slowest)
    assert many.shape == (4,)
    for row, bubble in enumerate(many):
        one = interleaved_bubble_time(*(float(each[row]) for each in columns), 1.0, 0.3, 0.4, slowest[row])
        assert one == pytest.approx(bubble)
    assert many[2] == 0
    assert (many[[0, 1, 3]] > 0).all()


@settings(deadline=None, max_examples=30)
@given(st.integers(2, 5), st.integers(2, 4), st.integers(0, 19), st.integers(1, 3), st.floats(0, 8))
def test_a_bubble_of_chunks_is_never_less_than_none(stages, chunks, more, rounds, head):
    layers = stages * chunks + more
    slowest = slowest_stage_time(layers, stages, 1.0, head)
    assert interleaved_bubble_time(layers, stages, chunks, rounds * stages, 1.0, 0.3, head, slowest) >= 0


@pytest.mark.parametrize("rounds", [5, 6, 12, 40])
@pytest.mark.parametrize(("layers", "stages", "chunks"), [(27, 2, 2), (34, 4, 2), (47, 2, 5), (61, 4, 4)])
def test_longer_passes_make_no_step_of_chunks_shorter(layers, stages, chunks, rounds):
    """Logits below a layer's time put off when all wait for the slowest stage: later rounds add more."""
    steps = rounds * stages

    def step(forward, backward, head):
        layer = forward + backward
        slowest = slowest_stage_time(layers, stages, layer, head)
        given = layers, stages, chunks, steps, layer, forward, head, slowest
        return pipelined_time(steps, slowest, interleaved_bubble_time(*given))

    for forward in (0.25, 0.3, 0.39):
        backward, heads = 1 - forward, np.arange(0, 3, 0.05)
        times = step(forward, backward, heads)
        assert (np.diff(times) >= -1e-9 * times[1:]).all()
        for longer in (step(forward * 1.01, backward, heads), step(forward, backward * 1.01, heads)):
            assert (longer >= times * (1 - 1e-9)).all()
    if steps * chunks < 300:
        played, predicted = played_and_predicted(layers, stages, chunks, steps, 0.39, 0.2)
        assert predicted == pytest.approx(played, rel=0.005)


def test_too_long_or_impossible_schedules_are_refused():
    with pytest.raises(InputError, match="do not divide by 2 stages"):
        schedule_of([[1.0, 1.0]] * 2, [[1.0, 1.0]] * 2, 3)
    with pytest.raises(InputError, match="too long to draw"):
        schedule_of([[1.0]] * 2, [[1.0]] * 2, MOST_BLOCKS)


@pytest.mark.parametrize(
    ("layers", "stages", "chunks"), [(126, 16, 7), (126, 16, 1), (80, 8, 2), (10, 3, 1), (7, 7, 1)]
)
def test_layers_are_dealt_out_and_the_fullest_stage_is_the_closed_forms(layers, stages, chunks):
    held = [sum(chunks) for chunks in layers_of_chunks(layers, stages, chunks)]
    assert sum(held) == layers
    assert (max(held), min(held)) == (-(-layers // stages), layers // stages)


@pytest.mark.parametrize("options", [EQUAL, CHUNKS, UNEQUAL])
def test_a_schedule_ends_and_waits_as_predicted(options):
    answer, pipeline = predict(**options), pipeline_of_scenario(options)
    terms = answer.terms
    inside = (
        of_kind(terms, "busy")
        - sum(terms[name] for name in ("update_time", "contention_time"))
        + sum(terms[f"{name}_parallel_time"] for name in ("tensor", "context", "expert"))
        + terms["launch_overhead_time"]
    )
    waited = terms["bubble_time"] + terms["unequal_stages_time"]
    assert pipeline.predicted_time == pytest.approx(inside + waited)
    assert pipeline.predicted_idle_time == pytest.approx(waited)
    assert waited / answer.iteration_time == pytest.approx(answer.bubble_fraction)
    assert pipeline.schedule.end == pytest.approx(pipeline.predicted_time, rel=1e-3)
    apart = pipeline.schedule.idle_time / answer.iteration_time - answer.bubble_fraction
    assert apart == pytest.approx(pipeline.beyond_prediction / answer.iteration_time)


def test_a_measured_run_moves_the_schedule_too():
    once = pipeline_of_scenario(EQUAL)
    time = predict(**EQUAL).iteration_time
    anchored = pipeline_of_scenario({**EQUAL, "anchor": f"iteration_time={2 * time}s@16"})
    assert anchored.schedule.end == pytest.approx(2 * once.schedule.end, rel=0.01)
    assert anchored.predicted_time == pytest.approx(2 * once.predicted_time, rel=0.01)


def test_the_prediction_of_unlike_chunks_is_the_schedule():
    """126 layers in 16 stages of 7 chunks: (p - 1) / v mean stages would be 14 % too short."""
    pipeline = pipeline_of_scenario(ODD_CHUNKS)
    assert pipeline.beyond_prediction == pytest.approx(0, abs=0.002 * pipeline.predicted_time)
    assert not pipeline.words
    assert not pipeline_of_scenario(CHUNKS).words
    terms = predict(**ODD_CHUNKS).terms
    schedule = pipeline.schedule
    mean = (schedule.end - schedule.idle_time) / schedule.micro_batches
    assert terms["bubble_time"] > 1.5 * bubble_time(16, 7, mean)


def test_without_stages_there_is_no_schedule():
    assert pipeline_of_scenario(JOB) is None
    assert pipeline_of_scenario({"gpus": 8}) is None


# --- as a Chrome trace


@pytest.mark.parametrize("options", [EQUAL, CHUNKS, UNEQUAL, ODD_CHUNKS])
def test_a_timeline_has_a_row_for_each_stage(tmp_path, options):
    answer, pipeline = predict(**options), pipeline_of_scenario(options)
    write_timeline(tmp_path / "step.json", answer, pipeline)
    devices = summary(read_kineto(tmp_path / "step.json"))["devices"]
    assert len(devices) == len(pipeline.schedule.stages)
    lasts = answer.iteration_time + pipeline.beyond_prediction
    for device in devices:
        assert device["iteration_time"] == pytest.approx(lasts, rel=1e-6)
    mean = {
        name: sum(device["per_step"][name] for device in devices) / len(devices)
        for name in ("compute_time", "exposed_communication_time")
    }
    # what grows with nodes is drawn as a kernel that is no collective
    computed = of_kind(answer.terms, "busy") + answer.terms["node_growth_time"]
    assert mean["compute_time"] == pytest.approx(computed, rel=1e-6)
    assert mean["exposed_communication_time"] == pytest.approx(sent(answer.terms), rel=1e-6)


def test_passes_of_a_timeline_lie_where_the_schedule_has_them():
    answer, pipeline = predict(**CHUNKS), pipeline_of_scenario(CHUNKS)
    events = timeline(answer, pipeline)["traceEvents"]
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert names[1] == "stage 2 of 4: ranks 4 to 7, h100-sxm5-80gb"
    for stage, blocks in enumerate(pipeline.schedule.stages):
        drawn = {
            event["name"]: (event["ts"] * 1e-6, (event["ts"] + event["dur"]) * 1e-6)
            for event in events
            if event["ph"] == "X" and event["pid"] == stage and "chunk" in event["name"]
        }
        assert len(drawn) == len(blocks)
        for block in blocks:
            part = "forward" if block.is_forward else "backward"
            start, end = drawn[f"{part} {block.micro_batch + 1}, chunk {block.chunk + 1}"]
            assert block.start - 1e-9 <= start < end <= block.end + 1e-9


def test_the_command_writes_a_pipeline_and_says_where_it_differs(tmp_path):
    def run(options):
        words = [
            part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", str(value))
        ]
        result = CliRunner().invoke(main, ["predict", *words, "--timeline", str(tmp_path / "step.json")])
        assert result.exit_code == 0, result.output
        return result

    assert "played through" not in run(CHUNKS).stderr
    events = json.loads(Path(tmp_path / "step.json").read_text())["traceEvents"]
    assert {event["pid"] for event in events} == set(range(4))
    assert "played through" not in run(UNEQUAL).stderr
    assert "the next step begins" in run({**EQUAL, "schedule": "zb-h2"}).stderr
    # more ranks than a viewer opens are few stages
    many = {**EQUAL, "gpus": 4096, "global_batch_size": 4096}
    assert predict(Scenario(**many)).scenario["world_size"] == 4096
    run(many)


def test_overlapping_passes_of_a_timeline_do_not_hide_each_other():
    options = {**EQUAL, "schedule": "dualpipe"}
    answer, pipeline = predict(**options), pipeline_of_scenario(options)
    events = [event for event in timeline(answer, pipeline)["traceEvents"] if event.get("cat") == "kernel"]
    for stage, blocks in enumerate(pipeline.schedule.stages):
        mine = [event for event in events if event["pid"] == stage and ", chunk" in event["name"]]
        assert len(mine) == len(blocks)
        for thread in {event["tid"] for event in mine}:
            spans = sorted((e["ts"], e["ts"] + e["dur"]) for e in mine if e["tid"] == thread)
            assert all(one[1] <= other[0] + 1e-3 for one, other in pairwise(spans))
    assert any(event["name"].startswith("backward to weights") for event in events)
    assert any(event["name"].startswith("backward to inputs") for event in events)


def test_a_chart_draws_overlapping_passes_and_both_backward_passes():
    from app import pipeline_chart

    schedule = pipeline_of_scenario({**EQUAL, "schedule": "dualpipe"}).schedule
    lanes = pipeline_chart.lanes_of(schedule)
    assert lanes
    bars = pipeline_chart.pipeline_schedule(schedule).plotly()["data"]
    names = [bar["name"] for bar in bars]
    assert names == [
        "forward",
        "backward",
        "backward to inputs",
        "backward to weights",
        pipeline_chart.BUBBLE,
    ]
    drawn = [
        (y, base, base + x, width)
        for bar in bars[:-1]
        for y, x, base, width in zip(bar["y"], bar["x"], bar["base"], bar["width"], strict=True)
    ]
    for one in drawn:
        for other in drawn:
            apart = abs(one[0] - other[0]) >= (one[3] + other[3]) / 2 - 1e-9
            assert one is other or apart or one[2] <= other[1] + 1e-9 or other[2] <= one[1] + 1e-9
