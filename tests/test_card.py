"""The answer card: one record, the same on every way out."""

from __future__ import annotations

import json

import pytest

from app.looks import for_planners
from app.plain import plain
from perfmodel import plan, predict
from perfmodel.interfaces.cli.render import drawn
from tests.test_app import opened, words

JOBS = [
    {"gpus": 32},
    {"workload": "vgg16", "gpus": 8, "precision": "fp32"},
    {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 64, "sharding": "zero3"},
    {"workload": "llama-3-70b", "node": "dgx-h100", "gpus": 8},
]


def words_of(job):
    return [word for name, value in job.items() for word in (f"--{name}", str(value))]


@pytest.mark.parametrize("job", JOBS, ids=lambda job: f"{job.get('workload', 'resnet50')} on {job['gpus']}")
def test_one_card_on_every_way_out(job, invoke, tmp_path):
    card = predict(**job).card
    printed = " ".join(invoke("predict", *words_of(job)).stdout.split())
    told = json.loads(invoke("predict", *words_of(job), "--json").stdout)["card"]
    pasted = invoke("predict", *words_of(job), "--markdown").stdout
    invoke("predict", *words_of(job), "--report", str(tmp_path / "page.md"))
    page = (tmp_path / "page.md").read_text("utf-8")
    assert told == card.model_dump()
    assert card.advice in printed
    assert card.advice in pasted
    for label, value in card.rows:
        assert value in printed or label == "machines"
        assert f"| {label} | {value} |" in pasted
        assert f"| {label} | {value} |" in page


PLANS = {
    "met": ({"epochs": 90, "deadline": "24h", "instance": "p3.16xlarge", "max-gpus": 64}, "Take 8 x V100"),
    "surest": ({"epochs": 90, "deadline": "1h", "budget": 60, "instance": "p3.16xlarge"}, "No plan of known"),
    "no price": ({"epochs": 90, "node": "dgx-1v", "max-gpus": 8}, "No price is known of 8 x V100"),
}


@pytest.mark.parametrize("case", PLANS)
def test_the_card_of_a_plan_is_one_on_every_way_out(case, invoke, tmp_path):
    asked, begins = PLANS[case]
    options = words_of(asked)
    names = {"instance": "instances", "node": "nodes", "max-gpus": "max_gpus"}
    card = plan(**{names.get(name, name): value for name, value in asked.items()}).card
    assert card.advice.startswith(begins)
    assert (len(card.rows) == 8) == (case != "no price")
    printed = " ".join(invoke("plan", *options).stdout.split())
    assert printed.startswith(card.advice)
    assert json.loads(invoke("plan", *options, "--json").stdout)["card"] == card.model_dump()
    pasted = invoke("plan", *options, "--markdown").stdout
    invoke("plan", *options, "--report", str(tmp_path / "page.md"))
    report = (tmp_path / "page.md").read_text("utf-8")
    shown = words(opened("plan", **{name: str(value) for name, value in asked.items()}))
    assert card.advice in pasted
    assert card.advice in report
    for label, value in card.rows:
        assert f"{label} {value}" in printed
        assert f"| {label} | {value} |" in pasted
        assert f"| {label} | {value} |" in report
        assert f"* **{label}** {plain(for_planners(value))}" in shown


def test_the_cost_is_on_the_card_where_it_was_asked_for(invoke):
    asked = ("predict", "--gpus", "32", "--node", "aws-p3.16xlarge", "--cost")
    told = json.loads(invoke(*asked, "--epochs", "90", "--json").stdout)["card"]
    assert told["run"].startswith("90 epochs take 2.")
    assert "24.48 an hour" in told["cost"]
    hourly = json.loads(invoke(*asked, "--json").stdout)["card"]["cost"]
    assert hourly.startswith(f"${4 * 24.48:.2f} an hour")
    assert predict(gpus=32).card.cost == ""


def test_an_answer_fits_on_one_screen_and_verbose_has_the_rest(invoke):
    short, whole = (invoke("predict", "--gpus", "32", *more).stdout for more in ((), ("--verbose",)))
    assert len(short.splitlines()) <= 36 < len(whole.splitlines())
    assert "9 more (--verbose)" in short
    assert "start-up" in whole
    assert "start-up" not in short


def test_an_interval_is_drawn_from_0_to_its_upper_end():
    line = drawn(2.0, 1.0, 4.0, width=40)
    assert (line.index("["), line.index("o"), line.index("]")) == (10, 20, 40)
    assert drawn(1.0, 1.0, 1.0).endswith("o")
