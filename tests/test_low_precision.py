"""Training in fp8, mxfp8, nvfp4 and mxfp4: peaks, casts counted on arrays, gains, widths, refusals."""

import json
import math

import numpy as np
import pytest

import perfmodel
from perfmodel import Catalogue, explain, layouts, predict
from perfmodel.core.errors import InputError
from perfmodel.equations.low_precision import cast_traffic_bytes
from perfmodel.hardware.formats import OPERANDS
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.transformers.evaluate import case_of_setting
from perfmodel.model.transformers.job import job_of
from perfmodel.model.transformers.layer import layer_alone, rates_of
from perfmodel.model.transformers.parameters import fitted
from perfmodel.model.transformers.step import head_times
from perfmodel.model.transformers.uncertainty import OTHER_PRECISION
from perfmodel.model.transformers.uncertainty import PRECISIONS as MEASURED

BUILT_IN = Catalogue.built_in()
JOB = {"workload": "llama-3-70b", "gpus": 64, "sharding": "zero3", "micro_batch_size": 1, "recompute": "none"}
ON = {**JOB, "accelerator": "gb200", "framework": "megatron-core@2026"}
FEWER_BITS = ("bf16", "fp8", "mxfp8", "mxfp4", "nvfp4")


def moved_by_a_cast(precision, values):
    """Bytes read and written to quantize an array of 16-bit values by rows and by columns, on real arrays."""
    known, moved = OPERANDS[precision], 0
    moved += known.reads * values.nbytes
    for copy in (values, np.ascontiguousarray(values.T)):
        if known.value_bytes == 1:
            quantized = copy.astype(np.int8)
        else:
            pairs = copy.astype(np.int8).reshape(-1, 2)
            quantized = (pairs[:, 0] & 15) | ((pairs[:, 1] & 15) << 4)
        moved += quantized.nbytes
        if known.block:
            moved += np.abs(copy.reshape(-1, known.block)).max(axis=1).astype(np.uint8).nbytes
    return moved


@pytest.mark.parametrize("precision", OPERANDS)
def test_casts_move_what_arrays_hold(precision):
    values = np.random.default_rng(0).normal(size=(96, 160)).astype(np.float16)
    known = OPERANDS[precision]
    each = cast_traffic_bytes(4.0, known.reads, known.value_bytes, known.scale_bytes_of_value)
    assert each * values.size == moved_by_a_cast(precision, values)


@pytest.mark.parametrize(
    ("id", "eight", "four"),
    [("b200-sxm-180gb", 2, 4), ("gb200", 2, 4), ("b300-sxm", 2, 6), ("gb300", 2, 6), ("mi355x", 2, 4)],
)
def test_peaks_over_bf16_are_those_of_data_sheets(id, eight, four):
    peaks = {name: peak.value for name, peak in BUILT_IN.accelerator(id).peak_flops.items()}
    assert peaks["fp8"] / peaks["bf16"] == pytest.approx(eight, rel=0.001)
    assert peaks["mxfp8"] == peaks["fp8"]
    assert peaks["mxfp4"] / peaks["bf16"] == pytest.approx(four, rel=0.001)
    assert ("nvfp4" in peaks) == (BUILT_IN.accelerator(id).vendor == "NVIDIA")


def test_fewer_bits_are_faster_by_less_than_their_peaks():
    times = {precision: predict(**ON, precision=precision).iteration_time for precision in FEWER_BITS}
    assert 1.2 < times["bf16"] / times["fp8"] < 2
    assert 1 < times["mxfp8"] / times["fp8"] < 1.02
    assert 1.1 < times["mxfp8"] / times["nvfp4"] < 2
    assert times["mxfp4"] < times["nvfp4"] < times["mxfp8"]
    small = {**ON, "workload": "gpt2-small", "sequence_length": 1024}
    gains = [
        predict(**job, precision="mxfp8").iteration_time / predict(**job, precision="nvfp4").iteration_time
        for job in (small, ON)
    ]
    assert gains[0] < gains[1]


def width(**job):
    answer = predict(**job)
    low = min(max(0.3 / answer.mfu, 1.0) ** 0.5, 1.5)
    return math.log(answer.interval.high_80 / answer.iteration_time) / low, answer.interval.wider_because


@pytest.mark.parametrize("precision", ["nvfp4", "mxfp4"])
@pytest.mark.parametrize("accelerator", ["gb200", "rubin"])
def test_a_precision_without_a_measured_run_is_wider_on_known_and_new_chips(precision, accelerator):
    job = {**ON, "accelerator": accelerator}
    wide, why = width(**job, precision=precision)
    known, _ = width(**job, precision="mxfp8")
    assert precision not in MEASURED
    assert wide == pytest.approx(OTHER_PRECISION * known)
    assert any(f"no measured run in {precision}" in reason for reason in why)
    assert any("on rubin" in reason for reason in why) == (accelerator == "rubin")


def test_measured_precisions_have_the_width_of_their_class():
    sixteen, *eight = [width(**ON, precision=precision)[0] for precision in ("bf16", "fp8", "mxfp8")]
    assert eight == pytest.approx([sixteen, sixteen])


@pytest.mark.parametrize(
    ("accelerator", "precision", "nearest"),
    [
        ("h100-sxm5-80gb", "mxfp8", "fp8"),
        ("h100-sxm5-80gb", "nvfp4", "fp8"),
        ("a100-sxm4-80gb", "mxfp8", "bf16"),
        ("v100-sxm2-16gb", "fp8", "fp16"),
        ("mi355x", "nvfp4", "mxfp4"),
        ("trainium2", "mxfp8", "fp8"),
        ("ascend-910b3", "fp8", "bf16"),
    ],
)
def test_an_accelerator_without_the_format_is_refused_with_the_nearest_it_has(
    accelerator, precision, nearest
):
    with pytest.raises(InputError, match=f"precision {nearest} is the nearest"):
        predict(**{**JOB, "accelerator": accelerator, "precision": precision})
    assert predict(**{**JOB, "accelerator": accelerator, "precision": nearest}).iteration_time > 0


def test_networks_that_are_trained_whole_have_no_such_precision():
    with pytest.raises(InputError, match="mxfp8"):
        predict(workload="resnet50", accelerator="gb200", precision="mxfp8")


@pytest.mark.parametrize("precision", OPERANDS)
def test_every_number_of_the_step_is_explained(precision):
    assert explain(**ON, precision=precision).complete


def test_software_that_is_not_known_to_compute_in_it_is_warned_of():
    def notes(**job):
        return [note for note in predict(**{**ON, **job}).warnings if "known to compute" in note]

    assert notes(precision="mxfp4") == [
        "megatron-core@2026 is not known to compute in mxfp4; known: fp8, mxfp8, nvfp4"
    ]
    assert notes(precision="mxfp8", framework="nemo@2024")
    assert not notes(precision="mxfp8", framework="nemo@2025")
    assert not notes(precision="fp8", framework="nemo@2024")
    assert not notes(precision="nvfp4", framework="torchtitan@2026")
    whole = [note for note in predict(**ON, precision="nvfp4").warnings if "15 % of the layers" in note]
    assert len(whole) == 1


def test_layouts_sweeps_and_the_shell_take_it(invoke):
    question = {"gpus": 16, "accelerator": "gb200", "global_batch_size": 64, "top": 1}
    found = {
        precision: layouts("llama-3-8b", **question, precision=precision) for precision in ("mxfp8", "nvfp4")
    }
    assert found["nvfp4"].rows[0].iteration_time < found["mxfp8"].rows[0].iteration_time
    assert any("15 % of the layers" in note for note in found["nvfp4"].notes)
    assert "--fp8-format e4m3 --fp8-recipe mxfp8" in found["mxfp8"].rows[0].flags
    assert "--fp4-format e2m1 --fp4-recipe nvfp4" in found["nvfp4"].rows[0].flags
    table = perfmodel.sweep(**ON, precision=FEWER_BITS).table()
    for precision, time in zip(table["precision"], table["iteration_time"], strict=True):
        assert time == pytest.approx(predict(**ON, precision=precision).iteration_time)
    words = ["predict", "--workload", "llama-3-8b", "--gpus", "8", "--accelerator", "b300-sxm", "--json"]
    answer = json.loads(invoke(*words, "--precision", "mxfp8", "--sharding", "zero3").output)
    assert answer["scenario"]["precision"] == "mxfp8"


@pytest.mark.published("NVIDIA 2025, arXiv:2509.25149, sections 4 and 5: about 15 % stays in bf16")
@pytest.mark.parametrize("precision", ["nvfp4", "mxfp4"])
def test_layers_that_recipes_leave_in_16_bits_take_as_long_as_there(precision):
    """Products of the mean layer lie between those in bf16 and in 4 bits, and the head is in bf16."""
    job = job_of(case_of_setting(resolve(Scenario(**{**ON, "precision": precision}), BUILT_IN)))
    p = fitted().parameters

    def times(wide_share):
        one = job._replace(stack=job.stack._replace(wide_share=wide_share))
        rates = rates_of(one, p)
        return layer_alone(one, p, rates), head_times(one, p, rates)[0]

    (narrow, fast), (stated, head), (wide, slow) = map(times, (0.0, job.stack.wide_share, 1.0))
    assert stated.products == pytest.approx(0.85 * narrow.products + 0.15 * wide.products)
    assert stated.elementwise == pytest.approx(0.85 * narrow.elementwise + 0.15 * wide.elementwise)
    assert fast < head == slow
    bf16 = job_of(case_of_setting(resolve(Scenario(**{**ON, "precision": "bf16"}), BUILT_IN)))
    assert wide.products == pytest.approx(layer_alone(bf16, p, rates_of(bf16, p)).products)
