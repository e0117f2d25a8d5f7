"""Options that are left to their defaults widen an interval by what stating them is worth."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import pytest

from perfmodel import compare, layouts, predict, sweep
from perfmodel.core.units import per_cent
from perfmodel.evidence.accuracy.report.facts import KINDS, facts, without
from perfmodel.model.fitted.ledger_scales import DATA_PARALLEL, RESULT, YEAR, left_open

LLAMA = {"workload": "llama-3-8b", "accelerator": "h100-sxm5-80gb", "gpus": 64, "sharding": "zero3"}
STATED = {"recompute": "none", "framework": "megatron-core@2026"}
RESNET = {"accelerator": "v100-sxm2-16gb", "gpus": 8}


def half_width(**options) -> float:
    """Of the 80 % interval, in log time."""
    answer = predict(**options)
    return math.log(answer.interval.high_80 / answer.iteration_time)


def test_what_is_stated_narrows_the_interval_by_as_much_as_is_said():
    whole = half_width(**LLAMA)
    for option in STATED:
        (said,) = (why for why in predict(**LLAMA).interval.wider_because if f"--{option}" in why)
        narrower = half_width(**LLAMA, **{option: STATED[option]})
        assert f"the interval is {per_cent(1 - narrower / whole, 0)} narrower" in said


@pytest.mark.parametrize("job", [LLAMA, RESNET])
def test_the_more_is_stated_the_narrower_and_no_other_number_moves(job):
    software = predict(**job).scenario["framework"]
    stated = [{}, {"framework": software.partition("@")[0]}, {"framework": software}]
    widths = [half_width(**job, **each) for each in stated]
    assert all(one > other for one, other in pairwise(widths))
    assert len({predict(**job, **each).iteration_time for each in stated}) == 1


def test_a_job_of_which_all_is_stated_is_not_wider():
    assert predict(**LLAMA, **STATED).interval.wider_because == []
    assert predict(**LLAMA, **STATED | {"framework": "megatron-core"}).interval.wider_because == [
        "--framework states no year; stated, the interval is 8 % narrower (x1.1; 20 sources say so)"
    ]


def test_one_accelerator_leaves_no_sharding_open():
    """There is nothing to share: neither memory nor time is less certain, in a sweep as in a prediction."""
    one = LLAMA | {"gpus": 1, "lora": 16, "sharding": None}
    left, stated = predict(**one), predict(**one | {"sharding": "none"})
    assert "sharding" not in left.memory.not_stated
    assert (left.memory.low_80, left.memory.high_80) == (stated.memory.low_80, stated.memory.high_80)
    assert left.interval == stated.interval
    rows = sweep(**one | {"gpus": [1, 64]}).table()
    assert rows["high_80"][0] == pytest.approx(left.interval.high_80, rel=1e-9)
    assert "sharding" in predict(**one | {"gpus": 64}).memory.not_stated


def test_runs_of_the_same_job_settle_what_it_leaves_to_defaults():
    time = predict(**LLAMA).iteration_time
    anchor = f"iteration_time={time:.6f}s@64"
    left, stated = (half_width(**LLAMA, **each, anchor=anchor) for each in ({}, STATED))
    assert left == pytest.approx(stated)


@pytest.mark.parametrize("job", [LLAMA, RESNET])
def test_two_jobs_that_leave_the_same_open_are_compared_as_if_they_stated_it(job):
    software = {"framework": predict(**job).scenario["framework"]}
    pairs = [[job | each, job | each | {"gpus": 16}] for each in ({}, software)]
    left, stated = (compare(*pair).cases[1].ratio for pair in pairs)
    assert (left.low_80, left.high_80) == pytest.approx((stated.low_80, stated.high_80))


def test_sweeps_and_layouts_widen_as_predictions_do():
    for job in (LLAMA, RESNET):
        (row,) = sweep(job).rows()
        assert row["high_80"] == pytest.approx(predict(**job).interval.high_80)
    first = layouts("llama-3-8b", gpus=64, accelerator="h100-sxm5-80gb", global_batch_size=512).rows[0]
    same = predict(
        workload="llama-3-8b",
        gpus=64,
        accelerator="h100-sxm5-80gb",
        framework="megatron-core",
        **{name: each for name, each in first.layout.items() if name != "data_parallel"},
    )
    assert first.interval["high_80"] == pytest.approx(same.interval.high_80)


def test_nothing_is_left_open_that_no_published_job_tells_of():
    assert left_open(DATA_PARALLEL, {"sharding": True}, 0.2) == []


def test_facts_are_drawn_from_what_rows_state():
    assert without({"framework": "nemo@2024", "gpus": 8}, YEAR) == {"framework": "nemo", "gpus": 8}
    assert without({"framework": "nemo"}, YEAR) is None


@pytest.mark.any_version
def test_the_shipped_facts_are_what_published_jobs_say():
    shipped = json.loads(RESULT.read_text("utf-8"))["facts"]
    assert shipped.keys() == KINDS.keys()
    found = facts(DATA_PARALLEL)
    assert found.keys() == shipped[DATA_PARALLEL].keys()
    for option, of in found.items():
        assert of["sources"] == shipped[DATA_PARALLEL][option]["sources"]
        assert of["deviation"] == pytest.approx(shipped[DATA_PARALLEL][option]["deviation"], rel=0.03)
