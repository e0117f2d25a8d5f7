"""Intervals of 95 % are stated where enough sources say how far off such jobs are, and nowhere else."""

import json

import numpy as np
import pytest

import perfmodel
from perfmodel.decide.sweeps import sweep
from perfmodel.interfaces.reports.figures import interval_lines
from perfmodel.model.fitted import ledger_scales as evidence
from perfmodel.model.fitted.ledger_scales import FOR_95, RESULT, Scale
from perfmodel.model.prediction import predict

JOBS = [
    {"workload": "resnet50", "gpus": 8},
    {"workload": "resnet50", "gpus": 512, "accelerator": "h100-sxm5-80gb"},
    {"workload": "resnet50", "gpus": 8, "anchor": "iteration_time=0.1s@1"},
    {"workload": "bert-large", "gpus": 64, "framework": "mxnet"},
    {"workload": "llama-3-8b", "gpus": 64, "node": "dgx-h100", "global_batch_size": 256},
    {"workload": "mixtral-8x7b", "gpus": 64, "node": "dgx-h100", "global_batch_size": 256},
]
IDS = [f"{job['workload']} on {job['gpus']}" for job in JOBS]


@pytest.fixture
def enough(monkeypatch):
    """As if every class had enough sources."""
    monkeypatch.setattr(evidence, "FOR_95", 0)


@pytest.mark.parametrize("job", JOBS, ids=IDS)
def test_too_few_sources_give_no_interval_of_95_percent_and_the_reason(job, invoke):
    within = predict(**job).interval
    assert within.low_80 < within.high_80
    assert within.low_95 is within.high_95 is None
    assert within.no_95.endswith(f"how far off such jobs are; 95 % needs {FOR_95} sources")
    words = [word for name, value in job.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    told = json.loads(invoke("predict", *words, "--json").stdout)["interval"]
    assert (told["low_95"], told["high_95"], told["no_95"]) == (None, None, within.no_95)
    assert ("95 % interval", f"not stated: {within.no_95}") in interval_lines(predict(**job))
    (row,) = sweep(**job).rows()
    assert row["low_95"] is row["high_95"] is None
    assert row["low_80"] == pytest.approx(within.low_80, rel=1e-9)


@pytest.mark.usefixtures("enough")
@pytest.mark.parametrize("job", JOBS, ids=IDS)
def test_with_enough_sources_it_is_stated_and_a_sweep_agrees(job):
    answer = predict(**job)
    within, time = answer.interval, answer.iteration_time
    assert within.no_95 is None
    assert 0 < within.low_95 <= within.low_80 <= time <= within.high_80 < within.high_95
    (row,) = sweep(**job).rows()
    for end in ("low_80", "high_80", "low_95", "high_95"):
        assert row[end] == pytest.approx(getattr(within, end), rel=1e-9)


def test_each_job_of_a_sweep_is_judged_by_its_own_class(monkeypatch):
    """One accelerator has more sources than several; a limit between the two parts them."""
    classes = json.loads(RESULT.read_text("utf-8"))["scales"]["data parallel"]
    known, together = (classes[name]["sources"] for name in ("known", "several accelerators"))
    assert together < known
    monkeypatch.setattr(evidence, "FOR_95", known)
    one, eight = sweep(workload="resnet50", gpus=[1, 8]).rows()
    assert one["low_95"] < one["low_80"]
    assert eight["low_95"] is None
    assert predict(workload="resnet50", gpus=1).interval.no_95 is None
    assert predict(workload="resnet50", gpus=8).interval.no_95.startswith(f"{together} sources say")


@pytest.mark.parametrize("needed", [0, FOR_95])
def test_a_mixed_fleet_states_what_all_its_machines_do(monkeypatch, needed):
    monkeypatch.setattr(evidence, "FOR_95", needed)
    job = {"workload": "resnet50", "local_batch_size": 64}
    options = perfmodel.fleets("1 x dgx-h100", ["1 x dgx-a100-80gb", "ib-ndr-400g"], **job).options
    for within in (option.interval for option in options):
        if needed:
            assert within.low_95 is within.high_95 is None
            assert within.no_95
        else:
            assert within.low_95 <= within.low_80 < within.high_80 < within.high_95


@pytest.mark.usefixtures("enough")
def test_a_collective_states_it_by_its_class():
    row = perfmodel.collective(ranks=16, size="1GB", node="dgx-h100")
    assert row.interval.low_95 < row.interval.low_80 < row.time < row.interval.high_95


def test_as_many_sources_are_needed_as_bound_a_new_error_in_95_of_100_cases():
    """Of equally distributed errors the next one is the largest of n + 1 with probability 1 / (n + 1)."""
    rng = np.random.default_rng(0)
    drawn = rng.lognormal(size=(40_000, FOR_95 + 1))
    held = np.mean(drawn[:, -1] <= drawn[:, :-1].max(axis=1))
    assert held == pytest.approx(0.95, abs=0.004)
    assert Scale(1.0, FOR_95 - 1).no_95 is not None
    assert Scale(1.0, FOR_95).no_95 is None
