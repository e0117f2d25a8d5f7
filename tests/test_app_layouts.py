"""Transformers on the pages: memory by what fills it, the pipeline, the options of a layout."""

from __future__ import annotations

import json
import re
from html import unescape
from itertools import pairwise

import pytest

from app import pipeline_chart
from app.layout_options import OPTIONS, possible
from app.memory_chart import UNNAMED, MemoryBar, memory_bars, of_layout, of_prediction
from app.options import options
from perfmodel import Scenario, fits, layouts, predict
from perfmodel.core.units import show
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import constants_of
from perfmodel.model.prediction.assemble import settled
from perfmodel.model.prediction.pipeline import pipeline_of_scenario
from perfmodel.model.prediction.result import Memory
from perfmodel.model.transformers.nearest_fit import nearest_fits
from perfmodel.model.transformers.schedule import schedule_of
from tests.test_app import opened, sound, words

GIB = 2**30


def setting_of(**asked):
    return settled(Scenario(**asked), Catalogue.built_in(), constants_of(None))[0]


LLAMA = {
    "workload": "llama-2-70b",
    "accelerator": "h100-sxm5-80gb",
    "gpus": "64",
    "tensor-parallel": "8",
    "pipeline-parallel": "4",
    "global-batch-size": "16",
}
ASKED = {name.replace("-", "_"): int(value) if value.isdecimal() else value for name, value in LLAMA.items()}


def bars_of(figure):
    return [trace for trace in figure.data if trace.type == "bar"]


def lines_of(figure):
    return {trace.name.split(" GiB")[0]: trace.x[0] * GIB for trace in figure.data if trace.type == "scatter"}


def drawn(test, key):
    """The figure of a page whose key it is."""
    for chart in test.get("plotly_chart"):
        if key in chart.proto.id:
            return json.loads(chart.proto.spec)
    raise AssertionError(f"no chart {key}")


@pytest.mark.parametrize(
    "options",
    [ASKED, {"gpus": 8}, {"gpus": 4, "strategy": "data-parallel-single-process"}, {**ASKED, "gpus": 32}],
)
def test_memory_bars_are_the_predictions_rows_against_its_capacity(options):
    answer = predict(**options)
    bar = of_prediction(answer)
    figure = memory_bars({"": bar}).plotly()
    assert sum(trace.x[0] for trace in bars_of(figure)) * GIB == pytest.approx(answer.memory.bytes)
    assert len(bars_of(figure)) == sum(size > 0 for size in answer.memory.rows.values())
    assert bar.fits == answer.memory.fits
    assert bar.words in figure.layout.annotations[0].text
    ends = [trace.x[0] * GIB for trace in figure.data if trace.type == "scatter"]
    assert ends == pytest.approx([answer.memory.capacity])
    beyond = [(shape.x0 * GIB, shape.x1 * GIB) for shape in figure.layout.shapes]
    over = answer.memory.bytes > answer.memory.capacity
    assert beyond == ([pytest.approx((answer.memory.capacity, answer.memory.bytes))] if over else [])


def test_memory_that_does_not_fit_is_said_by_the_bar():
    answer = predict(**ASKED | {"tensor_parallel": 1, "pipeline_parallel": 1, "gpus": 8})
    bar = of_prediction(answer)
    assert not answer.memory.fits
    assert bar.words.startswith("does not fit: ")
    assert f"{answer.memory.bytes / GIB:.1f} of {bar.capacity / GIB:.1f} GiB" in bar.words


def test_a_row_of_layouts_has_the_bar_of_its_prediction():
    row = layouts("llama-2-7b", gpus=8, global_batch_size=16, accelerator="h100-sxm5-80gb", top=1).rows[0]
    degrees = {name: value for name, value in row.layout.items() if name != "data_parallel"}
    asked = {"workload": "llama-2-7b", "gpus": 8, "accelerator": "h100-sxm5-80gb"}
    answer = predict(**asked, framework="megatron-core", **degrees)
    ours, theirs = of_layout(row), of_prediction(answer)
    assert dict(ours.rows) == pytest.approx(theirs.rows)
    assert (ours.capacity, ours.probability) == pytest.approx((theirs.capacity, theirs.probability))


def test_a_colour_means_one_thing_over_cases():
    bars = {"A": of_prediction(predict(gpus=8)), "B": of_prediction(predict(**ASKED))}
    figure = memory_bars(bars).plotly()
    assert len({trace.name for trace in bars_of(figure)}) == len(bars_of(figure))
    looks = [(trace.marker.color, trace.marker.pattern.shape) for trace in bars_of(figure)]
    assert len(set(looks)) == len(looks)
    for place, bar in enumerate(bars.values()):
        assert sum(trace.x[place] for trace in bars_of(figure)) * GIB == pytest.approx(bar.needed)


def test_answers_without_rows_have_one_bar():
    answer = predict(gpus=8)
    saved = Memory.model_construct(**{**vars(answer.memory), "rows": {}})
    bar = of_prediction(answer.model_copy(update={"memory": saved}))
    assert bar == MemoryBar({UNNAMED: saved.bytes}, saved.capacity, saved.probability)
    assert bars_of(memory_bars({"": bar}).plotly())[0].name.startswith(UNNAMED)


def test_predict_and_compare_show_memory_bars():
    traces = drawn(opened(**LLAMA), "memory")["data"]
    memory = predict(**ASKED).memory
    assert sum(each["x"][0] for each in traces if each["type"] == "bar") * GIB == pytest.approx(memory.bytes)
    figure = drawn(opened("compare", gpus="8", **{"b-local-batch-size": "512"}), "memory")
    notes = [note["text"] for note in figure["layout"]["annotations"]]
    fit = [text for text in notes if " available" not in text]
    assert notes[2:] == ["15.8 GiB available", "15.8 GiB available, 5.8 too few"]
    assert len(fit) == 2
    assert "does not fit: 21.6 of 15.8 GiB" in fit[1]
    assert "<b> fits: " in fit[0].replace("</b>", "<b>")


def test_fits_draws_the_interval_of_the_need_and_the_advised_change():
    job = {"workload": "llama-2-70b", "accelerator": "rtx-4090", "gpus": "2", "framework": "axolotl"}
    job |= {"lora": "16", "frozen-weights": "nf4", "sharding": "zero3", "recompute": "full"}
    test = opened("fits", **job, **{"sequence-length": "1024"})
    given = {name.replace("-", "_"): int(text) if text.isdecimal() else text for name, text in job.items()}
    answer = fits(**given, sequence_length=1024)
    assert answer.fitting is not None
    figure = drawn(test, "memory")
    intervals = [trace["x"] for trace in figure["data"] if trace["name"] == "80 %"]
    change = answer.fitting
    for ends, of in zip(intervals, (answer, change), strict=True):
        assert (ends[0] * GIB, ends[-1] * GIB) == pytest.approx((of.low_80, of.high_80))
        assert of.low_80 < of.bytes < of.high_80
    bars = [trace for trace in figure["data"] if trace["type"] == "bar"]
    needed = [sum(bar["x"][place] for bar in bars) * GIB for place in (0, 1)]
    assert needed == pytest.approx([answer.bytes, change.bytes])
    weights = next(bar for bar in bars if bar["name"].startswith("weights "))
    assert [size * GIB for size in weights["x"]] == pytest.approx(
        [answer.places[0].rows["weights"], change.rows["weights"]]
    )
    assert not any(any(bar["text"]) for bar in bars if bar["marker"]["pattern"]["shape"])  # nor read there
    _, second, *sizes = [note["text"] for note in figure["layout"]["annotations"]]
    assert second.startswith("<b>with the change:</b> fits")
    assert second.endswith(f", host {change.host_bytes / GIB:.1f} GiB")
    ends = [f"80 %: {of.low_80 / GIB:.1f} to {of.high_80 / GIB:.1f} GiB" for of in (answer, change)]
    assert sizes == ["24.0 GiB available, 2.3 too few", "24.0 GiB available", *ends]
    assert "zero3: replicas share weights, gradients and optimizer; " in words(test)
    assert "Gathered: weights of the layers at work" in words(test)
    figures = next(each.body for each in test.get("html") if '<div class="answer-figures"' in each.body)
    assert "GiB of each machine" in figures
    assert "not known" not in figures
    said = unescape(re.sub("<[^>]*>", " ", figures)).replace("\xa0", " ")
    assert f"{answer.fitting.throughput}; a step takes {answer.fitting.time}; " in " ".join(said.split())
    assert any("adapter: qlora" in block.value for block in test.get("code"))


def test_fits_asks_for_the_length_of_samples_beside_the_network():
    test = opened("fits", workload="llama-3-8b", accelerator="rtx-4090", gpus="1", lora="16")
    (field,) = [each for each in test.number_input if each.label == "Sequence length [tokens]"]
    assert field.proto.placeholder == "the network's: 8,192"
    assert "state yours with “Sequence length”" in words(test)
    sound(field.set_value(1024).run())
    assert "are assumed" not in words(test)
    assert test.query_params["sequence-length"] == "1024"


# --- the pipeline


def rows_of(bars):
    """Where something is drawn, by stage: starts and ends, the first first."""
    rows = {}
    for bar in bars:
        for stage, start, length in zip(bar["y"], bar["base"], bar["x"], strict=True):
            rows.setdefault(stage, []).append((start, start + length))
    return {stage: sorted(each) for stage, each in rows.items()}


def test_predict_draws_the_schedule_with_its_bubble_above():
    test = opened(**LLAMA)
    answer, schedule = predict(**ASKED), pipeline_of_scenario(ASKED).schedule
    assert f"stages wait {100 * answer.bubble_fraction:.1f} % of the step" in words(test)
    figure = drawn(test, "pipeline")
    bars = [each for each in figure["data"] if each["type"] == "bar"]
    assert [bar["name"] for bar in bars] == ["forward", "backward", pipeline_chart.BUBBLE]
    assert len({bar["marker"]["color"] for bar in bars}) == 3
    waits = sum(bars[-1]["x"]) / len(schedule.stages)
    assert waits == pytest.approx(schedule.idle_time, rel=0.05)
    rows = rows_of(bars[:-1])
    for stage, blocks in enumerate(schedule.stages, 1):
        starts, ends = zip(*rows[stage], strict=True)
        assert starts == pytest.approx([block.start for block in blocks])
        assert ends == pytest.approx([block.end for block in blocks])
    assert "[s]" not in figure["layout"]["xaxis"]["title"]["text"]


def test_without_a_pipeline_none_is_drawn():
    test = opened(gpus="8")
    assert not [chart for chart in test.get("plotly_chart") if "pipeline" in chart.proto.id]
    assert "Pipeline of" not in words(test)


def test_of_many_micro_batches_the_first_and_the_last_are_drawn_with_true_times():
    schedule = schedule_of([[1.0]] * 4, [[2.0]] * 4, 64)
    cut = pipeline_chart.cut_of(schedule)
    figure = pipeline_chart.pipeline_schedule(schedule)
    bars = figure.data
    assert sum(len(bar["x"]) for bar in bars) < sum(map(len, schedule.stages)) / 2
    ends = max(end for row in rows_of(bars).values() for _, end in row)
    assert ends == pytest.approx(cut.place(schedule.end))
    for row in rows_of(bars).values():
        assert all(one[1] <= other[0] + 1e-9 for one, other in pairwise(row))
        assert all(end <= cut.first + 1e-9 or start >= cut.first + cut.gap - 1e-9 for start, end in row)
    axis = figure.layout["xaxis"]
    left_out = show(cut.last - cut.first, "s")
    assert [note["text"] for note in figure.layout["annotations"]] == ["..."]
    assert left_out == show(64 * 3 + 9 - 2 * cut.first, "s")
    texts = dict(zip(axis["ticktext"], axis["tickvals"], strict=True))
    assert texts["10 s"] == 10.0
    assert texts[show(190.0, "s")] == pytest.approx(cut.place(190.0))
    assert cut.last < 190.0 < cut.end


def test_a_pass_across_the_cut_is_drawn_on_both_sides():
    cut = pipeline_chart.Cut(2.0, 8.0, 10.0)
    block = schedule_of([[9.0]], [[1.0]], 1).stages[0][0]
    assert list(cut.parts(block)) == [(0.0, 2.0), (2.0 + cut.gap, 3.0 + cut.gap)]
    whole = pipeline_chart.Cut(10.0, 10.0, 10.0)
    assert list(whole.parts(block)) == [(0.0, 9.0)]


def test_thousands_of_passes_are_one_picture():
    schedule = schedule_of([[1.0] * 4] * 32, [[2.0] * 4] * 32, 64)
    figure = pipeline_chart.pipeline_schedule(schedule).plotly()
    (picture,) = [trace for trace in figure.data if trace.type == "heatmap"]
    assert len(picture.z) == 32
    assert sum(len(trace.x) for trace in figure.data if trace.type == "bar") <= 3
    # idle columns have a colour of their own: the last stage starts when all others have run one chunk
    assert picture.z[0][0] == 0
    assert picture.z[31][0] == pipeline_chart.WAIT_SHADE
    assert {value for row in picture.z for value in row} - {None} == {0.0, 1.0, pipeline_chart.WAIT_SHADE}


def test_a_schedule_too_long_to_draw_leaves_the_answer(monkeypatch):
    monkeypatch.setattr("perfmodel.model.transformers.schedule.MOST_BLOCKS", 10)
    test = opened(**LLAMA)
    assert not test.error
    assert "too long to draw" in words(test)
    assert test.metric


# --- the options of a layout


def opened_fold(**query):
    """A page with the options of a layout unfolded."""
    test = opened(**query)
    test.session_state["fold-Layout"] = True
    test.run()
    assert not test.exception
    return test


def names_of(test, heading):
    """Labels of the widgets in a fold beside the page."""
    (place,) = [each for each in test.sidebar.expander if each.label == heading]
    return [each.label for kind in ("number_input", "selectbox") for each in getattr(place, kind)]


def test_a_transformer_has_its_layout_in_a_fold_of_its_own():
    test = opened_fold(**LLAMA)
    labels = {options()[name].label for name in OPTIONS}
    assert set(names_of(test, "Layout")) == labels
    test.session_state["fold-More options"] = True
    test.run()
    assert not labels & set(names_of(test, "More options"))


@pytest.mark.parametrize("page", ["scale", "compare", "sensitivity"])
def test_other_pages_of_a_scenario_have_it_too(page):
    query = {**LLAMA, "gpus": "32,64"} if page == "scale" else LLAMA
    test = opened(page, **query)
    assert "Layout" in [each.label for each in test.sidebar.expander]
    test.session_state["fold-Layout"] = True
    assert not test.run().exception
    assert "Tensor parallel" in names_of(test, "Layout")


def test_other_networks_have_no_layout():
    test = opened(gpus="8")
    assert "Layout" not in [each.label for each in test.sidebar.expander]
    test.session_state["fold-More options"] = True
    shown = names_of(test.run(), "More options")
    assert "Tensor parallel" not in shown
    assert options()["accumulation-steps"].label in shown


def test_a_layout_set_for_another_network_can_be_taken_back():
    test = opened(gpus="8", **{"tensor-parallel": "2"})
    assert "no transformer" in test.error[0].value
    test.session_state["fold-More options"] = True
    test.run()
    (field,) = [each for each in test.sidebar.number_input if each.label == "Tensor parallel"]
    field.set_value(None).run()
    assert not test.error
    assert "tensor-parallel" not in test.query_params


@pytest.mark.parametrize(
    ("changed", "name", "numbers"),
    [
        ({}, "tensor-parallel", [1, 2, 4, 8]),
        ({"gpus": 4}, "tensor-parallel", [1, 2, 4]),
        ({}, "pipeline-parallel", [1, 2, 4, 8]),
        ({"tensor-parallel": 2}, "pipeline-parallel", [1, 2, 4, 8, 16, 32]),
        ({"pipeline-parallel": 4}, "virtual-stages", [1, 2, 4, 5, 10, 20]),
        ({"pipeline-parallel": 2}, "context-parallel", [1, 2, 4]),
        ({"workload": "mixtral-8x7b"}, "expert-parallel", [1, 2, 4, 8]),
        ({"workload": "mixtral-8x7b", "pipeline-parallel": 4}, "expert-parallel", [1, 2, 4, 8]),
        (
            {"workload": "mixtral-8x7b", "pipeline-parallel": 4, "expert-tensor-parallel": 8},
            "expert-parallel",
            [1, 2],
        ),
        (
            {"workload": "mixtral-8x7b", "pipeline-parallel": 4, "expert-parallel": 8},
            "expert-tensor-parallel",
            [1, 2],
        ),
        ({"global-batch-size": 64}, "micro-batch-size", [1, 2, 4, 8]),
    ],
)
def test_what_is_possible_is_what_the_model_takes(changed, name, numbers):
    """The numbers listed are those, of all up to 32, that a prediction does not refuse."""
    asked = {"workload": "llama-2-70b", "accelerator": "h100-sxm5-80gb", "gpus": 64, "tensor-parallel": 8}
    if name == "tensor-parallel":
        del asked["tensor-parallel"]
    asked |= changed
    words = possible(asked)[name]
    assert [int(each) for each in words.partition(":")[0].split(", ")] == numbers
    if name == "virtual-stages":  # as many passes as stages
        asked["accumulation-steps"] = 4
    for number in numbers:
        predict(**{key.replace("-", "_"): value for key, value in asked.items() | {name: number}.items()})


def test_what_fits_is_said_and_the_nearest_that_does_is_a_click_away():
    test = opened_fold(**LLAMA)
    assert f"**{of_prediction(predict(**ASKED)).words}**" in words(test)
    test = opened_fold(
        **LLAMA | {"tensor-parallel": "2", "pipeline-parallel": "1", "global-batch-size": "64"}
    )
    assert "fits with probability 6.5 %" in words(test)
    (button,) = [each for each in test.button if each.label.startswith("Take ")]
    test = button.click().run()
    assert not test.exception
    assert not test.error
    assert "fits with probability 6.5 %" not in words(test)
    given = {name: "".join(value) for name, value in test.query_params.items()}  # a text, or a list of one
    asked = {name.replace("-", "_"): value for name, value in given.items()}
    asked = {name: int(value) if value.isdecimal() else value for name, value in asked.items()}
    assert predict(**asked).memory.fits
    assert (asked["global_batch_size"], asked["gpus"]) == (64, 64)


def test_where_nothing_fits_the_page_says_so():
    test = opened_fold(**LLAMA | {"gpus": "4", "tensor-parallel": "4", "pipeline-parallel": "1"})
    assert "No layout alone makes this batch fit on so many GPUs." in words(test)


# --- the nearest that fits


def test_the_nearest_fit_changes_one_thing_where_that_is_enough():
    asked = {"workload": "llama-3-8b", "accelerator": "h100-sxm5-80gb", "gpus": 8, "global_batch_size": 64}
    setting = setting_of(**asked, sharding="none")
    assert not predict(**asked, sharding="none").memory.fits
    changes = nearest_fits(setting)
    assert [each.words.count("+") for each in changes] == [0] * len(changes)
    times = [each.iteration_time for each in changes]
    assert times == sorted(times)
    for each in changes:
        degrees = {name: value for name, value in each.layout.words().items() if name != "data_parallel"}
        answer = predict(**{**asked, **degrees})
        assert answer.memory.fits
        assert answer.memory.bytes == pytest.approx(each.bytes)
        assert answer.iteration_time == pytest.approx(each.iteration_time)


def test_without_a_layout_there_is_no_nearest_fit():
    assert nearest_fits(setting_of(gpus=8)) == []
