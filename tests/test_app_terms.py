"""A term has one colour on every page, and no two have the same."""

from __future__ import annotations

import doctest

import pytest

from app import charts, colours
from perfmodel.decide.sensitivity import input_words
from perfmodel.evidence.traces.summary import PARTS
from perfmodel.model.prediction import predict
from perfmodel.model.step.terms import TERMS

pytestmark = pytest.mark.any_version


@pytest.mark.parametrize("terms", [set(TERMS), set(PARTS)])
def test_every_term_has_a_look(terms):
    assert None not in [colours.look_of(name) for name in terms]


@pytest.mark.parametrize(
    "asked",
    [
        {"gpus": 32, "inter_link": "ethernet-25g-tcp"},
        {"gpus": 4, "strategy": "data-parallel-single-process"},
        {
            "gpus": 16,
            "workload": "llama-3-8b",
            "node": "dgx-h100",
            "tensor_parallel": 4,
            "pipeline_parallel": 2,
        },
    ],
)
def test_the_terms_of_a_job_look_alike_in_both_pictures_and_unlike_each_other(asked):
    answer = predict(**asked)
    bars = [bar for bar in charts.waterfall(answer).plotly().data if bar.type == "bar"]
    alone = {bar.y[0]: (bar.marker.color, bar.marker.pattern.shape) for bar in bars}
    beside = {
        bar.name: (bar.marker.color, bar.marker.pattern.shape)
        for bar in charts.side_by_side({"A": answer}).plotly().data
        if bar.type == "bar"
    }
    assert beside
    assert all(alone[name] == look for name, look in beside.items() if name != colours.REST)
    assert len(set(beside.values())) == len(beside)


def test_worked_examples():
    assert doctest.testmod(input_words).failed == 0
