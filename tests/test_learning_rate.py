"""Learning rates by the published rules, from the command, from Python and beside a target."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

import perfmodel
from perfmodel.core.formula import FORMULAS
from perfmodel.decide.explanations.sources import references
from perfmodel.equations.learning_rate import (
    gradient_staleness_learning_rate,
    mean_gradient_staleness_learning_rate,
    warmed_up_learning_rate,
)
from perfmodel.equations.staleness import k_async_staleness_probability
from perfmodel.model.prediction.training.learning_rates import RULES

EVERYTHING = {
    "staleness": 3.0,
    "distance_constant": 0.01,
    "squared_distance": 0.5,
    "squared_gradient_sum": 4.0,
    "noise_scale": 1000.0,
}
BATCHES = st.integers(1, 10**6)
NUMBERS = st.floats(1e-3, 1e6)


def rate(answer, rule):
    return next(row.learning_rate for row in answer.rows if row.rule == rule)


@pytest.mark.published("Goyal et al. 2017, arXiv:1706.02677: 0.1 per 256 images, 3.2 for 8,192")
def test_the_linear_rule_gives_the_published_rate_and_its_range(invoke):
    words = ("learning-rate", "--base", "0.1", "--base-batch", "256", "--global-batch-size", "8192", "--json")
    answer = json.loads(invoke(*words).stdout)
    linear = answer["rows"][0]
    assert linear["learning_rate"] == pytest.approx(3.2)
    assert linear["within_published"] is True
    assert answer["warm_up"][0] == {"epochs_done": 0.0, "learning_rate": 0.1}
    assert answer["warm_up"][-1] == {"epochs_done": 5.0, "learning_rate": pytest.approx(3.2)}
    assert perfmodel.learning_rate(0.1, 256, 16384).rows[0].within_published is False


@pytest.mark.published("Gupta et al. 2016, arXiv:1509.04210: thirty updates late, a thirtieth of the rate")
def test_staleness_divides_the_rate():
    answer = perfmodel.learning_rate(0.003, 128, 128, staleness=30)
    assert rate(answer, "mean staleness") == pytest.approx(0.0001)


@given(st.floats(0, 200))
def test_the_mean_over_geometric_staleness_is_the_sum_over_gradients(staleness):
    workers = 1 + staleness
    last = int(60 * workers)
    shares = [k_async_staleness_probability(workers, 1, late) for late in range(last)]
    summed = sum(share * gradient_staleness_learning_rate(0.1, late) for late, share in enumerate(shares))
    assert mean_gradient_staleness_learning_rate(0.1, staleness) == pytest.approx(summed, rel=1e-9)


@given(base=NUMBERS, base_batch=BATCHES, batch=BATCHES, staleness=st.floats(0, 1e4))
def test_no_rule_leaves_what_bounds_it(base, base_batch, batch, staleness):
    options = EVERYTHING | {"staleness": staleness, "noise_scale": 50.0}
    answer = perfmodel.learning_rate(base, base_batch, batch, **options)
    linear = rate(answer, "linear")
    for rule in ("mean staleness", "own staleness", "distance"):
        assert rate(answer, rule) <= linear * (1 + 1e-12)
    low, high = sorted((base, linear))
    for rule in ("square root", "noise scale"):
        assert low * (1 - 1e-9) <= rate(answer, rule) <= high * (1 + 1e-9)
    for point in answer.warm_up:
        assert low - 1e-12 * high <= point.learning_rate <= high * (1 + 1e-9)


@given(st.floats(0, 1000))
def test_rates_by_staleness_are_those_that_the_mean_is_over(staleness):
    answer = perfmodel.learning_rate(0.1, 256, 512, staleness=staleness)
    rows = answer.by_staleness
    assert [row.staleness for row in rows] == list(range(len(rows)))
    assert len(rows) == 20 or sum(row.share for row in rows) > 0.99
    assert rows[0].learning_rate == pytest.approx(0.2)
    assert sum(row.share * row.learning_rate for row in rows) <= rate(answer, "own staleness") * (1 + 1e-9)
    assert perfmodel.learning_rate(0.1, 256, 512).by_staleness == ()


def test_at_the_reference_batch_every_scaling_keeps_the_rate():
    answer = perfmodel.learning_rate(0.25, 512, 512, noise_scale=700)
    assert [row.learning_rate for row in answer.rows] == [pytest.approx(0.25)] * 3
    assert perfmodel.learning_rate(0.25, 512, 512, warm_up_epochs=0).warm_up == ()


def test_the_warm_up_ends_when_it_was_asked_to():
    points = perfmodel.learning_rate(0.1, 256, 1024, warm_up_epochs=2.5).warm_up
    assert [point.epochs_done for point in points] == [0, 1, 2, 2.5]
    assert points[1].learning_rate == pytest.approx(warmed_up_learning_rate(0.4, 0.1, 1, 2.5))


def test_every_rule_has_a_source_and_a_page():
    answer = perfmodel.learning_rate(0.1, 256, 1024, **EVERYTHING)
    assert [row.rule for row in answer.rows] == [rule.name for rule in RULES]
    assert not answer.left_out
    for row in answer.rows:
        assert row.source in references()
        assert row.source in FORMULAS[row.formula].cites


def test_a_rule_that_lacks_its_input_is_named_with_what_it_needs(invoke):
    printed = invoke("learning-rate", "--global-batch-size", "8192").stdout
    assert "Adagrad needs --squared-gradient-sum" in " ".join(printed.split())
    assert perfmodel.learning_rate(0.1, 256, 1024).left_out["own staleness"] == "--staleness"


def test_a_target_shows_the_rate_of_its_recipe(invoke):
    words = ("predict", "--gpus", "256", "--local-batch-size", "32", "--time-to-target")
    answer = json.loads(invoke(*words, "--json").stdout)["time_to_target"]
    assert answer["learning_rate"]["learning_rate"] == pytest.approx(3.2)
    assert "learning rate 3.2 by the linear rule, after 5 epochs" in " ".join(invoke(*words).stdout.split())
    tuned = json.loads(invoke(*words, "--recipe", "mlperf", "--json").stdout)["time_to_target"]
    assert tuned["learning_rate"] is None
