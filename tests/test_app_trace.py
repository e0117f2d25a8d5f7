"""Of what job a trace is: said by the file, or by somebody, never by a default."""

from __future__ import annotations

import json

import pytest

from tests.test_app import TRACED, a_trace, button, errors, opened, sound, words


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
    assert "taken as resnet50 in amp on v100-sxm2-16gb, a batch of 32 on each GPU" in words(test)


def test_the_accelerator_of_the_file_stands_in_heading_sidebar_and_address():
    test = handed_over(called("NVIDIA A100-SXM4-40GB"))
    assert not test.error
    assert test.selectbox(key="option-accelerator").value == "a100-sxm4-40gb"
    assert test.query_params["accelerator"] == "a100-sxm4-40gb"
    assert "a100-sxm4-40gb" in test.subheader[0].value


def test_another_accelerator_than_the_files_is_refused():
    test = handed_over(called("NVIDIA A100-SXM4-40GB"), accelerator="v100-sxm2-16gb", gpus="1")
    assert "which is not v100-sxm2-16gb: choose a100-sxm4-40gb" in errors(test)
    assert not [each for each in test.button if "Calibrate" in each.label]
