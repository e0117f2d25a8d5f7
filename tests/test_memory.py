"""A use of memory that is registered in the one table stands in every listing, and every listing adds up."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from app.memory_chart import memory_bars, of_prediction
from perfmodel import Scenario, predict, sweep
from perfmodel.core.units import show
from perfmodel.decide.explanations import explain
from perfmodel.interfaces.cli import main
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.step.memory import ROWS, Row

NAME, LABEL, BYTES = "buckets", "gradient buckets", 3.0 * 2**30
JOB = {"world_size": 16, "workload": "resnet50", "accelerator": "v100-sxm2-16gb"}
OPTIONS = ["--gpus", "16", "--workload", "resnet50", "--accelerator", "v100-sxm2-16gb"]


def run(*words):
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def another(monkeypatch):
    monkeypatch.setitem(ROWS, NAME, Row(NAME, LABEL, lambda setting, constants: BYTES))


@pytest.mark.parametrize("precision", ["fp32", "fp16", "amp"])
@pytest.mark.parametrize(
    ("optimizer", "moments"), [("none", 0), ("sgd", 4), ("adam", 8), ("lamb", 8), ("lars", 4)]
)
def test_rows_are_bytes_of_every_parameter_and_sample(precision, optimizer, moments):
    memory = predict(Scenario(**JOB, precision=precision, optimizer=optimizer, local_batch_size=10)).memory
    parameters = 25_557_032
    assert memory.rows["weights"] == memory.rows["gradients"] == 4 * parameters
    assert memory.rows["optimizer"] == moments * parameters
    assert memory.rows["weight_copy"] == (0 if precision == "fp32" else 2 * parameters)
    twice = predict(Scenario(**JOB, precision=precision, optimizer=optimizer, local_batch_size=20)).memory
    grown = {name for name in ROWS if twice.rows[name] != memory.rows[name]}
    assert grown == {"activations"}
    assert twice.rows["activations"] == 2 * memory.rows["activations"] > 0
    assert sum(memory.rows.values()) == pytest.approx(memory.bytes, rel=1e-12)


def test_another_use_takes_its_bytes_from_the_batch(monkeypatch):
    before = predict(Scenario(**JOB)).memory
    monkeypatch.setitem(ROWS, NAME, Row(NAME, LABEL, lambda setting, constants: BYTES))
    after = predict(Scenario(**JOB)).memory
    lost = calibration().allocator_share * BYTES
    more = {NAME: BYTES, "allocator": before.rows["allocator"] + lost}
    assert after.rows == pytest.approx(before.rows | more)
    assert after.bytes == pytest.approx(before.bytes + BYTES + lost)
    assert after.largest_local_batch_size < before.largest_local_batch_size
    monkeypatch.setitem(ROWS, NAME, Row(NAME, LABEL, lambda setting, constants: 1e6, grows=True))
    assert predict(Scenario(**JOB)).memory.rows[NAME] == 64e6


def test_text_markdown_and_json_list_another_use(another):
    assert LABEL in run("predict", *OPTIONS, "--verbose")
    assert LABEL in run("predict", *OPTIONS, "--markdown")
    memory = json.loads(run("predict", *OPTIONS, "--json"))["memory"]
    assert memory["rows"][NAME] == BYTES
    assert sum(memory["rows"].values()) == pytest.approx(memory["bytes"], rel=1e-12)


def test_a_sweep_an_explanation_and_the_chart_count_another_use(another):
    answer = predict(Scenario(**JOB))
    assert sweep(**JOB).table()["memory_bytes"].tolist() == [answer.memory.bytes]
    assert explain(Scenario(**JOB)).memory == answer.memory.rows
    assert f"{LABEL} {show(BYTES, 'B')}" in " ".join(run("explain", *OPTIONS).split())
    bars = {
        bar.name.rpartition(" ")[0].rpartition(" ")[0]: bar.x[0] * 2**30
        for bar in memory_bars({"": of_prediction(answer)}).plotly().data
        if bar.type == "bar"
    }
    assert bars[LABEL] == BYTES
    assert sum(bars.values()) == pytest.approx(answer.memory.bytes, rel=1e-12)
