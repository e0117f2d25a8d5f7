"""How likely a job fits: the law, what was learned for it, and the same words wherever a verdict stands."""

from __future__ import annotations

import json
import math
from hashlib import sha256

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import perfmodel
from perfmodel import Scenario, predict
from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy.memory_fit import (
    FILES,
    Outcome,
    half_width,
    half_widths,
    judged,
    outcomes,
    refused,
    runs,
)
from perfmodel.evidence.accuracy.memory_fit import shipped_peaks as every_peak
from perfmodel.evidence.accuracy.report.memory_section import section, verdict_statistics
from perfmodel.interfaces.cli import main
from perfmodel.interfaces.reports.figures import memory_lines, overflow
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.prediction.memory_odds import OPEN, RESULT, STATED, odds, short_verdict, verdict

LLAMA = {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 8, "global_batch_size": 64}
WHOLE = LLAMA | {"framework": "torchtitan", "sharding": "zero3", "recompute": "full", "micro_batch_size": 1}


@given(
    need=st.floats(1e6, 1e13),
    share=st.floats(0.0, 0.9),
    capacity=st.floats(1e9, 1e12),
    width=st.floats(0.05, 1.0),
)
def test_the_law_has_its_median_at_the_prediction_and_80_percent_in_its_interval(
    need, share, capacity, width
):
    known = share * need
    chance, low, high = odds(need, known, capacity, width)
    assert 0 <= chance <= 1
    assert (chance >= 0.5) == (need <= capacity) or need == pytest.approx(capacity)
    assert odds(need, known, high, width).fits_probability == pytest.approx(0.9)
    assert odds(need, known, low, width).fits_probability == pytest.approx(0.1)
    assert known <= low <= need <= high
    chances = [odds(need, known, part * capacity, width).fits_probability for part in (0.25, 0.5, 0.99, 1, 2)]
    assert chances == sorted(chances)


@given(known=st.floats(1.0, 1e13), rest=st.floats(1e6, 1e12), width=st.floats(0.05, 2.0))
def test_nothing_fits_where_states_alone_do_not(known, rest, width):
    for capacity in (known, 0.5 * known):
        assert odds(known + rest, known, capacity, width).fits_probability == 0
    assert odds(known + rest, known, math.inf, width).fits_probability == 1


def test_the_law_by_hand():
    """40 GB, of which 20 are known, within a factor of 2: downwards the other 20 by its square."""
    half = math.log(2.0)
    assert odds(40e9, 20e9, 25e9, half) == pytest.approx((0.1, 25e9, 80e9))
    assert odds(40e9, 20e9, 80e9, half) == pytest.approx((0.9, 25e9, 80e9))
    assert odds(50e9, 0.0, 100e9, half) == pytest.approx((0.9, 25e9, 100e9))


def test_the_density_is_the_same_on_both_sides_of_the_prediction():
    at, step = 50e9, 1e4
    for known in (0.0, 30e9, 49e9):
        less, most = (odds(at, known, at + each, 0.17).fits_probability for each in (-step, step))
        assert 0.5 - less == pytest.approx(most - 0.5, rel=1e-4)
        assert most - less == pytest.approx(2 * step / at * math.log(9) / 0.17 / 4, rel=1e-4)


def test_a_peak_misses_by_the_width_that_would_reach_it():
    peak = every_peak()[0]._replace(predicted=40e9, known=20e9)
    for published in (21e9, 25e9, 80e9):
        ends = odds(40e9, 20e9, 40e9, peak._replace(published=published).missed)[1:]
        assert published == pytest.approx(ends[published > 40e9])
    assert peak._replace(published=20e9).missed == math.inf


def test_the_law_takes_arrays():
    needs = np.array([10e9, 80e9, 200e9])
    knowns = np.array([9e9, 20e9, 90e9])
    each = [
        odds(*both, 80e9, 0.3).fits_probability for both in zip(needs.tolist(), knowns.tolist(), strict=True)
    ]
    assert odds(needs, knowns, 80e9, 0.3).fits_probability == pytest.approx(each)


def test_words():
    assert verdict(0.95) == "fits"
    assert verdict(0.949) == "fits with probability 94.9 %"
    assert verdict(0.05) == "does not fit"
    assert [short_verdict(each) for each in (0.99, 0.3, 0.01)] == ["yes", "30 %", "NO"]


def test_the_shipped_widths_are_those_learned_from_the_shipped_peaks():
    found = json.loads(RESULT.read_text("utf-8"))
    assert found["half_width"] == pytest.approx(half_widths(), rel=5e-3)
    for name in FILES:
        assert found["sha256"][name] == sha256((folder("validation") / name).read_bytes()).hexdigest()
    assert set(found["sources"]) == {STATED, OPEN}
    assert found["half_width"][OPEN] > found["half_width"][STATED]


def test_sources_with_many_rows_have_no_more_weight():
    one, *_ = [peak for peak in every_peak() if peak.run.source == "torchtitan"]
    near = one._replace(predicted=1.1 * one.published, known=0.0)
    runs = [near._replace(run=near.run._replace(source=name)) for name in "abcdefghij"]
    far, *others = [peak._replace(predicted=2.0 * one.published) for peak in runs]
    assert half_width([far] * 50 + runs[1:]) == pytest.approx(
        math.log(1.1)
    )  # of ten sources, 88 % of the weight
    assert half_width([far, others[0], *runs[2:] * 50]) == pytest.approx(math.log(2.0))


def test_verdicts_by_widths_learned_without_their_source():
    each = verdict_statistics(judged())
    assert each["sources"] >= 19
    assert each["certain_over_sources"] > 0.7
    assert each["right_over_sources"] > 0.97
    for source in ("torchtitan", "simumax-b200"):
        assert judged()[source].right
        assert all(judged()[source].right)


def test_rows_that_cannot_be_read_are_counted():
    assert sum(refused().values()) == 34
    assert refused()["experts not described"] == 15
    assert refused()["no option for what it does"] == 3  # parameters on the host and so on


def test_a_peak_states_what_its_own_line_says():
    stated = {run.run_id: run.states_memory for run in runs()}
    assert stated["torchtune-l05"]
    assert not stated[
        "torchtune-04"
    ]  # the line of its time says that it recomputes, that of its peak does not


def test_software_that_is_not_described_is_not_stated():
    titan = next(each.run for each in outcomes() if each.run.run_id == "titan-0001")
    assert Outcome(titan, True).kind == STATED
    assert Outcome(titan._replace(nearest_stack="fsdp"), True).kind == OPEN
    assert Outcome(next(each.run for each in outcomes()), False).fits is False


def test_the_section_states_every_source():
    text = section()
    assert all(f"| {name} |" in text for name in judged())
    assert "34 rows cannot be read" in " ".join(text.split())


def test_rows_of_context_and_allocator_stand_beside_the_tensors():
    for answer in (predict(**WHOLE), predict(Scenario(workload="resnet50"))):
        rows = answer.memory.rows
        tensors = sum(rows.values()) - rows["reserved"] - rows["allocator"]
        assert rows["reserved"] >= 1e9
        assert rows["allocator"] == pytest.approx(calibration().allocator_share * tensors)
        assert sum(rows.values()) == pytest.approx(answer.memory.bytes)


def test_what_is_not_stated_widens_and_is_named():
    known, unknown = predict(**WHOLE).memory, predict(**LLAMA).memory
    assert known.not_stated == []
    assert unknown.not_stated == ["framework", "sharding", "recompute"]
    assert predict(**LLAMA, strategy="fsdp").memory.not_stated == ["framework", "recompute"]
    assert unknown.high_80 / unknown.bytes > known.high_80 / known.bytes > 1
    assert (known.fits, known.verdict) == (True, "fits")
    lines = dict(enumerate(words for _, words in memory_lines(predict(**LLAMA))))
    assert "less wide with --framework, --sharding, --recompute" in lines[1]


@pytest.mark.parametrize(
    ("batch", "word"),
    [
        (64, "fits"),
        (350, "fits with probability 63 %"),
        (440, "fits with probability 9.8 %"),
        (2000, "does not fit"),
    ],
)
def test_the_same_words_everywhere(batch, word):
    options = {"workload": "resnet50", "accelerator": "v100-sxm2-16gb", "gpus": 8}
    answer = predict(**options, local_batch_size=batch)
    memory = answer.memory
    assert memory.verdict == word
    assert memory.fits == (memory.fits_probability >= 0.5)
    assert memory.fits == (memory.bytes <= memory.capacity)
    assert (overflow(answer) or "").startswith("" if memory.fits else word.upper())
    row = perfmodel.scale(**options | {"gpus": [8]}, local_batch_size=batch).rows[0]
    assert row.fits_probability == memory.fits_probability
    words = ["--workload", "resnet50", "--accelerator", "v100-sxm2-16gb", "--local-batch-size", str(batch)]
    printed = CliRunner().invoke(main, ["scale", "--gpus", "8", *words]).output
    assert short_verdict(memory.fits_probability) in printed
    found = json.loads(CliRunner().invoke(main, ["predict", "--gpus", "8", *words, "--json"]).output)[
        "memory"
    ]
    assert found["low_80"] < found["bytes"] < found["high_80"]
    assert found["fits_probability"] == memory.fits_probability


def test_layouts_and_plans_say_how_likely_they_fit():
    answer = perfmodel.layouts("llama-3-8b", gpus=8, node="dgx-h100", global_batch_size=64)
    for row in answer.rows:
        assert 0.5 <= row.memory["fits_probability"] <= 1
        assert row.memory["low_80"] < row.memory["bytes"] < row.memory["high_80"]
    best = answer.rows[0].layout
    degrees = {name: value for name, value in best.items() if name != "data_parallel"}
    again = predict(workload="llama-3-8b", gpus=8, node="dgx-h100", framework="megatron-core", **degrees)
    assert again.memory.fits_probability == pytest.approx(answer.rows[0].memory["fits_probability"])
    plan = perfmodel.plan(workload="resnet50", max_gpus=8, instances="p3.16xlarge").chosen
    assert 0.5 <= plan.memory["fits_probability"] <= 1
    assert plan.memory["low_80"] < plan.memory_bytes < plan.memory["high_80"]
