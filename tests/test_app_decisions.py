"""On top of a page stands what to do, how sure that is, and what limits it."""

from __future__ import annotations

import doctest
import json
import re

import pytest

from app import decisions
from perfmodel.api.compare import compare
from perfmodel.prediction import predict
from perfmodel.specs.scenario import Scenario
from tests.test_app import opened, words

NETWORKS = {
    "accelerator": "v100-sxm2-16gb",
    "gpus": "32",
    "inter-link": "ethernet-25g-tcp",
    "b-inter-link": "ethernet-100g-tcp",
    "c-inter-link": "ethernet-100g-rdma",
}


def test_worked_examples():
    assert doctest.testmod(decisions).failed == 0


def test_a_prediction_says_what_to_plan_with_and_shows_the_range_of_its_figures():
    test = opened(gpus="32")
    answer = predict(Scenario(world_size=32))
    interval = answer.interval
    assert interval is not None
    low = answer.samples_per_second * answer.iteration_time / interval.high_80
    assert f"**Plan with {low:,.0f} images/s: 90 % of jobs like it are faster" in words(test)
    below = {metric.label: metric.delta for metric in test.metric}
    assert below["Throughput"].startswith(f"80 %: {low:,.0f}-")
    assert all(below[label].startswith("80 %: ") for label in ("Iteration", "Epoch"))


def test_what_does_not_fit_is_not_planned_with():
    assert "**It does not fit: " in words(opened(gpus="8", **{"local-batch-size": "4096"}))


def test_25_or_100_gigabit_gets_a_decision_named_bars_and_intervals():
    test = opened("compare", **NETWORKS)
    said = words(test)
    assert "**C (ethernet-100g-rdma) seems the fastest, 1.09 times as fast as A (ethernet-25g-tcp)" in said
    assert re.search(r"80 %: [\d.]+ to [\d.]+, \d\d % sure\)\. That is too little to decide by", said)
    figure = json.loads(test.get("plotly_chart")[0].proto.spec)
    assert {bar for trace in figure["data"] for bar in trace["y"]} == {
        "A<br>ethernet-25g-tcp",
        "B<br>ethernet-100g-tcp",
        "C<br>ethernet-100g-rdma",
    }
    assert sum(trace["name"] == "80 % interval" for trace in figure["data"]) == 3


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"gpus": 16}, "Take B for speed: it is 1.9"),
        ({"gpus": 8, "inter_link": "ethernet-25g-tcp"}, "Take A: B is not more than 1% faster."),
    ],
)
def test_a_difference_is_taken_or_left_by_its_size_and_sureness(other, said):
    assert decisions.of_comparison(compare({"gpus": 8}, other)).startswith(said)


def test_a_quote_says_what_to_do_how_likely_it_is_and_what_physics_allows():
    said = words(opened("quote", gpus="32", quantity="images_per_second", value="40000"))
    assert (
        "**Ask for the log of a run: 40,000 images/s is optimistic, under 1 % likely to be reached." in said
    )
    assert "Physics allows 245," in said
