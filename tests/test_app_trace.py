"""Of what job a trace is: said by the file, or by somebody, never by a default."""

from __future__ import annotations

import json

import pytest

from tests.test_app import TRACED, a_trace, button, errors, of_card, opened, sound, words


def handed_over(file, **query):
    test = opened("trace", **query)
    test.file_uploader(key="trace-files").set_value([file])
    return sound(test.run())


def called(name: str):
    """A trace whose driver calls its GPU so."""
    kernel = {
        "ph": "X",
        "name": "gemm",
        "cat": "kernel",
        "ts": 0,
        "dur": 900,
        "pid": 0,
        "args": {"device": 0},
    }
    mark = {"ph": "X", "cat": "user_annotation", "dur": 1000, "pid": 1}
    marks = [mark | {"name": f"ProfilerStep#{i}", "ts": 1000 * i} for i in range(3)]
    events = [*marks, *(kernel | {"ts": 1000 * i} for i in range(3))]
    text = json.dumps({"deviceProperties": [{"id": 0, "name": name}], "traceEvents": events})
    return ("own.json", text.encode(), "application/json")


@pytest.mark.parametrize("lacking", ["workload", "precision", "local-batch-size"])
def test_nothing_is_learned_of_a_job_that_nobody_described(lacking):
    test = handed_over(a_trace(), **{name: value for name, value in TRACED.items() if name != lacking})
    assert button(test, "Calibrate on this trace").disabled
    assert "What was traced?" in words(test)


def test_what_was_traced_is_said_before_it_is_learned():
    test = handed_over(a_trace(), **TRACED)
    assert not button(test, "Calibrate on this trace").disabled
    assert "taken as ResNet-50 in amp on V100 SXM2 16 GB, a batch of 32 on each GPU" in words(test)


def test_the_accelerator_of_the_file_stands_in_heading_sidebar_and_address():
    test = handed_over(called("NVIDIA A100-SXM4-40GB"))
    assert not test.error
    assert test.selectbox(key="option-accelerator").value == "a100-sxm4-40gb"
    assert test.query_params["accelerator"] == "a100-sxm4-40gb"
    assert "A100 SXM4 40 GB" in of_card(test, "machines")


def test_another_accelerator_than_the_files_is_refused():
    test = handed_over(called("NVIDIA A100-SXM4-40GB"), accelerator="v100-sxm2-16gb", gpus="1")
    assert "which is not v100-sxm2-16gb: choose a100-sxm4-40gb" in errors(test)
    assert not [each for each in test.button if "Calibrate" in each.label]


PICTURES = {"Input Dims": [[32, 3, 224, 224], [64, 3, 7, 7], []]}
"""Of a first convolution, as a profiler that records shapes notes them."""


INNER = [{"Input Dims": [[32, n, 56, 56], [4 * n, n, k, k]]} for n, k in ((64, 1), (256, 3))]
"""Of two more of resnet50's, one of them vgg16's too."""


def of_products(kernel: str = "volta_sgemm_64x64_nt", **shapes):
    """A trace of four steps of one kernel and, with shapes, of the operators that launched it."""
    inner = [("cpu_op", "aten::conv2d", 10, 1, each) for each in INNER] if shapes else []
    events = [
        {"ph": "X", "cat": category, "name": name, "ts": 1e6 * i, "dur": long, "pid": process, "args": args}
        for i in range(4)
        for category, name, long, process, args in (
            ("user_annotation", f"ProfilerStep#{i}", 1e5, 1, {}),
            ("cpu_op", "aten::conv2d", 10, 1, shapes),
            *inner,
            ("kernel", kernel, 9e4, 0, {"device": 0}),
        )
    ]
    device = {"id": 0, "name": "Tesla V100-SXM2-16GB"}
    text = json.dumps({"deviceProperties": [device], "traceEvents": events})
    return ("own.json", text.encode(), "application/json")


def test_precision_and_batch_of_the_file_stand_in_sidebar_and_address():
    test = handed_over(of_products(**PICTURES), workload="resnet50")
    assert test.query_params["precision"] == "fp32"
    assert test.query_params["local-batch-size"] == "32"
    assert "taken as ResNet-50 in fp32 on V100 SXM2 16 GB, a batch of 32 on each GPU" in words(test)
    assert not button(test, "Calibrate on this trace").disabled


@pytest.mark.parametrize(
    ("asked", "right"),
    [
        (
            {"precision": "amp", "local-batch-size": "32"},
            "own.json: its matrix products are in fp32, which is not “Precision” amp; expected",
        ),
        (
            {"precision": "fp32", "local-batch-size": "64"},
            "own.json: each pass has 32 samples, not 64; expected “Batch per GPU",
        ),
        (
            {"precision": "fp32", "global-batch-size": "64"},
            "own.json: each pass has 32 samples, not 64; expected “Batch per GPU",
        ),
    ],
)
def test_another_precision_or_batch_than_the_files_is_refused(asked, right):
    test = handed_over(of_products(**PICTURES), **{"workload": "resnet50", "gpus": "1", **asked})
    assert right in errors(test)
    assert not [each for each in test.button if "Calibrate" in each.label]


@pytest.mark.parametrize("asked", [{}, {"precision": "fp32", "local_batch_size": 32}])
def test_a_calibration_takes_precision_and_batch_from_the_file(asked, tmp_path):
    from perfmodel.evidence.traces.calibrate import of_traces
    from perfmodel.evidence.traces.read import read_trace
    from perfmodel.hardware.catalogue.store import Catalogue
    from perfmodel.model.options.scenario import Scenario

    file = tmp_path / "own.json"
    file.write_bytes(of_products(**PICTURES)[1])
    traces = read_trace(file)
    profile, notes = of_traces(traces, [], Scenario(workload="resnet50", **asked), Catalogue.built_in())
    assert (profile.precision, profile.local_batch_size) == ("fp32", 32)
    assert ("--precision fp32: that of the trace's products" in notes) == (not asked)


def test_a_sample_is_one_click_away():
    test = opened("trace", gpus="2")
    sound(button(test, "Use the sample as your trace").click().run())
    assert not test.error
    assert "a step, the GPU is busy" in words(test)
    sound(button(test, "Calibrate on this trace").click().run())
    assert any("In use on every page" in each.value for each in test.success)


def test_the_bar_of_a_step_ends_at_its_time_and_what_is_hidden_lies_under_it():
    test = opened("trace")
    assert "82 ms a step" in words(test)
    figure = json.loads(test.get("plotly_chart")[0].proto.spec)
    under = [trace for trace in figure["data"] if "offset" in trace]
    assert [trace["name"] for trace in under] == ["hidden communication"]
    ends = sum(trace["x"][0] for trace in figure["data"] if trace not in under)
    assert ends == pytest.approx(0.082, abs=0.0005)


def test_the_parts_of_a_step_are_numbers_and_a_sample_says_so():
    test = opened("trace")
    parts = "**Computation 72.5 ms (88 %), exposed communication 3.4 ms (4 %), idle 6.1 ms (8 %)**; "
    assert parts in words(test)
    figure = json.loads(test.get("plotly_chart")[0].proto.spec)
    assert [trace["text"] for trace in figure["data"] if "text" in trace] == [
        ["72.5 ms (88 %)"],
        ["4 %"],  # there is no room for its time
        ["8 %"],
    ]
    assert "Where does a step spend its time? A sample: ResNet-50 on 2 V100s" in words(test)
    assert "amp arithmetic in place of fp32 would save 38.4 ms (80 %: " in words(test).lower()
    assert "A sample" not in words(handed_over(a_trace(), **TRACED))


def test_the_upload_of_a_trace_stands_above_its_chart():
    drawn = [each.type for each in opened("trace") if each.type in ("file_uploader", "plotly_chart")]
    assert drawn[0] == "file_uploader"
