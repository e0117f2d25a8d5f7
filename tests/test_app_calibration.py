"""What a user's own runs taught is handed over by a file, and moves every page that predicts."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from app import bounded, quote_work, quotes, runs_work
from app.plain import plain
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from tests.test_app import errors, of_card, opened, sound, typed, words
from tests.test_app_copies import copies, run
from tests.test_own_runs import MACHINE, calibrated

JOB = {name: str(value) for name, value in MACHINE.items()}


@pytest.fixture(scope="module")
def mine(tmp_path_factory) -> Path:
    return calibrated(tmp_path_factory.mktemp("own"))


def handed_over(content: bytes, page: str = "predict", name: str = "mine.json", **query: str):
    test = opened(page, **query)
    test.session_state["fold-Your own runs"] = True
    sound(test.run())
    test.file_uploader(key="calibration-file").set_value([(name, content, "application/json")])
    return sound(test.run())


def test_a_calibration_of_ones_own_moves_predictions_and_goes_with_copies(mine, invoke, monkeypatch):
    query = {"gpus": "8", "local-batch-size": "64"} | {k.replace("_", "-"): v for k, v in JOB.items()}
    plain = of_card(opened(**query), "iteration")
    test = handed_over(mine.read_bytes(), **query)
    options = {**MACHINE, "world_size": 8, "local_batch_size": 64}
    wanted = predict(Scenario(**options, calibration=str(mine)))
    assert of_card(test, "iteration") == wanted.time_words != plain
    (command,), python = copies(test)
    monkeypatch.chdir(mine.parent)
    assert "--calibration mine.json" in shlex.join(command)
    assert json.loads(invoke(*command, "--json").stdout)["iteration_time"] == wanted.iteration_time
    assert str(wanted.iteration_time) in run(python)
    sound(test.button(key="forget-calibration").click().run())
    assert of_card(test, "iteration") == plain


def test_a_plan_takes_a_calibration_of_ones_own(mine, invoke, monkeypatch):
    query = {"workload": "resnet50", "instance": "p3.16xlarge", "epochs": "1", "max-gpus": "8"}
    before = words(opened("plan", **query))
    test = handed_over(mine.read_bytes(), "plan", **query)
    assert not test.error
    (command,), python = copies(test)
    monkeypatch.chdir(mine.parent)
    assert "--calibration mine.json" in shlex.join(command)
    answer = json.loads(invoke(*command, "--json").stdout)
    assert f"**{typed(plain(answer['verdict'][0]))}**" in words(test) != before
    assert answer["verdict"][0] in " ".join(run(python).split())
    test.session_state["fold-How it would be started"] = True
    started = [block.value for block in sound(test.run()).get("code")]
    assert any("--calibration mine.json" in text for text in started if text.startswith("perfmodel predict"))


@pytest.mark.any_version
@pytest.mark.parametrize("few", [20, 0], ids=["here", "by a process"])
def test_a_quote_is_checked_with_a_calibration_of_ones_own(mine, invoke, tmp_path, monkeypatch, few):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(quote_work, "FEW_CLAIMS", few)
    if not few:
        monkeypatch.setattr(bounded, "by_a_process", bounded.by_a_process.__wrapped__)
    machine = {name.replace("_", "-"): value for name, value in JOB.items()}
    asked = {**machine, "gpus": "8", "local-batch-size": "64"}
    query = asked | {"quantity": "images_per_second", "value": "2000"}
    before = [code.value for code in opened("quote", **query).get("code")]
    test = handed_over(mine.read_bytes(), "quote", "my runs.json", **query)
    (command,), python = copies(test)
    assert command == ["check-quote", "quote.toml", "--calibration", "my runs.json"]
    Path("quote.toml").write_text(
        quotes.as_toml(quotes.filled_in({**query, "gpus": 8, "local-batch-size": 64}))
    )
    Path("my runs.json").write_bytes(mine.read_bytes())
    (claim,) = json.loads(invoke(*command, "--json").stdout)["claims"]
    assert claim["sentence"] in [code.value for code in test.get("code")]
    assert claim["sentence"] not in before
    assert f"expected={claim['expected']}" in run(python)


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff\x00", b"[1]"])
def test_another_file_is_refused_as_a_calibration(content):
    test = handed_over(content, gpus="8")
    assert errors(test)
    assert "/" not in errors(test)
    assert not [button for button in test.button if button.key == "forget-calibration"]


@pytest.mark.any_version
@pytest.mark.parametrize("few", [3000, 0], ids=["here", "by a process"])
def test_a_table_of_runs_is_learned_from_where_it_is_handed_over(mine, invoke, monkeypatch, few):
    monkeypatch.setattr(runs_work, "FEW", few)
    table = mine.with_suffix(".csv")
    query = {"gpus": "32", "local-batch-size": "64"} | {k.replace("_", "-"): v for k, v in JOB.items()}
    wanted = predict(Scenario(**MACHINE, world_size=32, local_batch_size=64, calibration=str(mine)))
    test = handed_over(table.read_bytes(), name="mine.csv", **query)
    assert of_card(test, "iteration") == wanted.time_words
    assert "Learned from mine.csv" in words(test)
    (command,), _ = copies(test)
    monkeypatch.chdir(mine.parent)
    assert "--calibration mine.csv" in shlex.join(command)
    assert json.loads(invoke(*command, "--json").stdout)["iteration_time"] == wanted.iteration_time
    another = opened(**{name: test.query_params[name] for name in test.query_params})
    assert "Upload mine.csv" in another.file_uploader(key="missing-calibration").label
    another.file_uploader(key="missing-calibration").set_value([("mine.csv", table.read_bytes(), "text/csv")])
    assert of_card(sound(another.run()), "iteration") == wanted.time_words


def test_a_table_of_runs_that_is_none_is_refused_as_a_calibration():
    test = handed_over(b"workload,nonsense\nresnet50,1\n", name="mine.csv", gpus="8")
    assert "nonsense" in errors(test)
