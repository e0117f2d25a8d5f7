"""Runs of one's own handed over on a page move every later answer, as the command's file does."""

from __future__ import annotations

import json
import math
import re
from html import unescape
from pathlib import Path

import pytest

from app import samples
from perfmodel import calibrate
from perfmodel.core.units import per_cent, show
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from tests.test_app import button, errors, of_card, opened, sound, words

pytestmark = pytest.mark.any_version
JOB = {"workload": "resnet50", "accelerator": "v100-sxm2-16gb", "gpus": "8", "precision": "fp32"}


def handed_over(content: str, name: str = "mine.csv"):
    test = opened("runs")
    test.file_uploader(key="runs-file").set_value([(name, content.encode(), "text/csv")])
    return sound(test.run())


def iteration(test):
    test.switch_page("views/predict.py")
    test.query_params.clear()
    test.query_params.update(JOB)
    marks = test.session_state["own-in-use"].get("calibration", ())
    for mark in marks:
        test.query_params["own-calibration"] = f"{mark.name}~{mark.digest}"
    return of_card(sound(test.run()), "iteration").partition(" (")[0]


@pytest.fixture
def learned(tmp_path: Path):
    file = tmp_path / "mine.csv"
    file.write_text(samples.RUNS)
    answer = calibrate(data=str(file))
    answer.write(tmp_path / "mine.json")
    return answer, tmp_path / "mine.json"


def test_runs_are_judged_as_the_command_judges_them_and_move_every_later_answer(learned):
    answer, file = learned
    test = handed_over(samples.RUNS)
    assert answer.card.advice in words(test).replace("\\", "").replace("**", "")
    _, rows, factors = (table.value for table in test.dataframe)
    assert list(rows["before"]) == [per_cent(math.expm1(each.before), signed=True) for each in answer.answers]
    assert list(rows["after"]) == [per_cent(math.expm1(each.after), signed=True) for each in answer.answers]
    assert {float(factor) for factor in factors["factor"]} == {
        round(math.exp(answer.learned.own.logarithms[name]), 3) for name in answer.learned.deviations
    }
    job = {"workload": "resnet50", "accelerator": "v100-sxm2-16gb", "gpus": 8, "precision": "fp32"}
    wanted = predict(Scenario(**job, calibration=str(file))).iteration_time
    assert wanted > 1.1 * predict(Scenario(**job)).iteration_time
    assert iteration(test) == show(wanted, "s")


def test_what_was_learned_is_left_and_taken_again():
    test = handed_over(samples.RUNS)
    sound(button(test, "Predict without it, and keep it here").click().run())
    assert "No page uses it" in words(test)
    sound(test.run())  # it is put in use only once
    assert "No page uses it" in words(test)
    sound(button(test, "Use it on every page that predicts").click().run())
    assert "Every page that predicts uses it" in words(test)
    sound(test.button(key="forget-runs").click().run())
    assert "own-runs" not in test.query_params
    assert not test.session_state["own-in-use"]["calibration"]


def test_what_predicts_worse_is_not_put_in_use():
    """The two runs that are as predicted are predicted worse by the third, which is five times as slow."""
    head, *lines = samples.RUNS.split()
    test = handed_over("\n".join((head, *lines[:2], f"{lines[2].rpartition(',')[0]},1.3")))
    assert "No page uses it" in words(test)
    sound(button(test, "Use it on every page that predicts").click().run())
    assert "Every page that predicts uses it" in words(test)


def test_the_template_is_one_click_away():
    test = opened("runs")
    example = next(each.body for each in test.get("html") if "workload," in each.body)
    assert [re.sub("<.*?>", "", line) for line in re.findall("<div.*?>(.*?)</div>", example)] == (
        samples.RUNS.split()
    )
    assert example.count(",<wbr>") == samples.RUNS.count(",")  # a header breaks between names
    assert "| `world_size` | GPUs in all | 1 |" in words(test)
    assert "**Example:** five invented runs" in words(test)
    (taught,) = re.findall(r"cut the error from ([\d.]+ %) to ([\d.]+ %) on average", words(test))
    ranges = re.findall(r"mean of 5 runs, ([\d.]+ % to [\d.]+ %): ", unescape(words(test)))
    sound(button(test, "Try it with these runs").click().run())
    (before, least), (after, most) = zip(taught, ranges, strict=True)
    said = f"your 5 runs were off by {before} ({least}) before learning and by {after} ({most}) after"
    assert said in words(test)
    assert f"What {samples.RUNS_NAME} teaches".replace("_", "\\_") in words(test)


def test_the_first_view_draws_what_the_sample_teaches(learned):
    answer, _ = learned
    (figure,) = [json.loads(chart.proto.spec) for chart in opened("runs").get("plotly_chart")]
    assert [trace["name"] for trace in figure["data"]] == ["before", "left out"]
    assert "0 %" in figure["layout"]["xaxis"]["ticktext"]
    for field, trace in zip(("before", "left_out"), figure["data"], strict=True):
        errors = [math.expm1(getattr(each, field)) for each in answer.answers]
        assert trace["x"] == pytest.approx(errors, abs=1e-4)


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        ("workload,nonsense,iteration_time\nresnet50,1,0.1\n", "nonsense"),
        ("workload,iteration_time\nresnet5,0.1\n", "line 2"),
        ("", "mine.csv"),
    ],
)
def test_a_file_that_is_no_table_of_runs_is_refused_with_the_reason(content, wrong):
    test = handed_over(content)
    assert wrong in errors(test)
    assert not test.dataframe


def test_a_refused_file_leaves_the_form_and_the_template_on_the_page():
    test = handed_over("model,time\nresnet50,1\n")
    assert "'model' (here workload)" in errors(test)
    assert "`world_size`" in words(test)
    assert button(test, "Try it with these runs")


def test_the_job_is_shown_on_the_numbers_of_gpus_that_were_measured_and_on_twice_the_largest(learned):
    answer, _ = learned
    test = handed_over(samples.RUNS)
    sizes = test.dataframe[0].value
    assert [tuple(row) for row in sizes.itertuples(index=False)] == answer.other_sizes.rows
    assert list(sizes["GPUs"])[::2] == ["1", "4", "8", "16"]
    assert list(sizes["quantity"])[:2] == ["images/s", "iteration"]
    assert list(sizes["measured"])[-1] == "not measured"
    assert answer.other_sizes.assumed in words(test).replace("\\", "")
    assert words(test).replace("\\", "").count(answer.other_sizes.rates["16 GPUs"].partition(" ")[0]) >= 2


def test_runs_are_handed_over_on_the_first_page_and_go_along():
    test = opened("start")
    sound(test.radio(key="option-on").set_value("several_runs_I_measured").run())
    test.file_uploader(key="runs-file").set_value([("mine.csv", samples.RUNS.encode(), "text/csv")])
    sound(test.run())
    sound(button(test, "Learn from them").click().run())
    assert "What mine.csv teaches" in words(test)
    assert set(test.query_params) == {"own-runs"}


@pytest.mark.parametrize("arrival", ["chosen", "address"])
def test_the_first_page_names_the_columns_and_leads_to_the_rates_also_from_an_address(arrival):
    test = opened("start", on="several_runs_I_measured") if arrival == "address" else opened("start")
    sound(test.radio(key="option-on").set_value("several_runs_I_measured").run())
    uploader = test.file_uploader(key="runs-file")
    for column in ("workload", "accelerator", "world_size", "local_batch_size", "samples_per_second"):
        assert column in uploader.label
    uploader.set_value([("mine.csv", samples.RUNS.encode(), "text/csv")])
    sound(test.run())
    sound(button(test, "Learn from them").click().run())
    assert "16 GPUs" in words(test)
