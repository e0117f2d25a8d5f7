"""Transformers on the pages: memory by what fills it, the pipeline, the options of a layout."""

from __future__ import annotations

import json

import pytest

from app.memory_chart import UNNAMED, MemoryBar, memory_bars, of_layout, of_prediction
from perfmodel import layouts, predict
from perfmodel.prediction.result import Memory
from tests.test_app import opened

GIB = 2**30
LLAMA = {
    "workload": "llama-2-70b",
    "accelerator": "h100-sxm5-80gb",
    "gpus": "64",
    "tensor-parallel": "8",
    "pipeline-parallel": "4",
    "global-batch-size": "64",
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
    figure = memory_bars({"": bar})
    assert sum(trace.x[0] for trace in bars_of(figure)) * GIB == pytest.approx(answer.memory.bytes)
    assert len(bars_of(figure)) == sum(size > 0 for size in answer.memory.rows.values())
    assert bar.fits == answer.memory.fits
    assert bar.words in figure.layout.annotations[0].text
    ends = [trace.x[0] * GIB for trace in figure.data if trace.type == "scatter"]
    assert ends == pytest.approx(sorted({bar.usable, answer.memory.capacity}))


def test_memory_that_does_not_fit_is_said_by_the_bar():
    answer = predict(**ASKED | {"tensor_parallel": 1, "pipeline_parallel": 1, "gpus": 8})
    bar = of_prediction(answer)
    assert not answer.memory.fits
    assert bar.words.startswith("does not fit: ")
    assert f"{answer.memory.bytes / GIB:.1f} of {bar.usable / GIB:.1f} GiB" in bar.words


def test_a_row_of_layouts_has_the_bar_of_its_prediction():
    row = layouts("llama-2-7b", gpus=8, global_batch_size=16, accelerator="h100-sxm5-80gb", top=1).rows[0]
    degrees = {name: value for name, value in row.layout.items() if name != "data_parallel"}
    answer = predict(workload="llama-2-7b", gpus=8, accelerator="h100-sxm5-80gb", **degrees)
    ours, theirs = of_layout(row.memory), of_prediction(answer)
    assert dict(ours.rows) == pytest.approx(theirs.rows)
    assert (ours.capacity, ours.usable) == pytest.approx((theirs.capacity, theirs.usable))


def test_a_colour_means_one_thing_over_cases():
    bars = {"A": of_prediction(predict(gpus=8)), "B": of_prediction(predict(**ASKED))}
    figure = memory_bars(bars)
    assert len({trace.name for trace in bars_of(figure)}) == len(bars_of(figure))
    looks = [(trace.marker.color, trace.marker.pattern.shape) for trace in bars_of(figure)]
    assert len(set(looks)) == len(looks)
    for place, bar in enumerate(bars.values()):
        assert sum(trace.x[place] for trace in bars_of(figure)) * GIB == pytest.approx(bar.needed)


def test_answers_without_rows_have_one_bar():
    answer = predict(gpus=8)
    saved = Memory.model_construct(**{**vars(answer.memory), "rows": {}})
    bar = of_prediction(answer.model_copy(update={"memory": saved}))
    assert bar == MemoryBar({UNNAMED: saved.bytes}, saved.capacity, saved.capacity)
    assert bars_of(memory_bars({"": bar}))[0].name.startswith(UNNAMED)


def test_predict_and_compare_show_memory_bars():
    traces = drawn(opened(**LLAMA), "memory")["data"]
    memory = predict(**ASKED).memory
    assert sum(each["x"][0] for each in traces if each["type"] == "bar") * GIB == pytest.approx(memory.bytes)
    figure = drawn(opened("compare", gpus="8", **{"b-local-batch-size": "512"}), "memory")
    fit = [note["text"] for note in figure["layout"]["annotations"]]
    assert len(fit) == 2
    assert "does not fit" in fit[1]
    assert "does not fit" not in fit[0]
