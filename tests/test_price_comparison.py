"""Comparisons of one job at several prices, and how sure they have to be."""

from __future__ import annotations

import json
import math
import re
from statistics import NormalDist
from typing import Any

import pytest

from perfmodel import compare, predict
from perfmodel.core.errors import InputError
from perfmodel.decide.comparison import Case, case_of
from perfmodel.decide.comparison.price_advice import advice, cheaper, even_price, price_to_take
from perfmodel.decide.comparison.speeds import speed_over
from perfmodel.decide.price_kinds import YEAR
from perfmodel.interfaces.jobs import conditions_of
from perfmodel.interfaces.service.application import application
from perfmodel.model.options.conditions import Conditions
from tests.asgi import Caller
from tests.clients import served
from tests.test_app import opened, words
from tests.test_comparison_card import HARDLY

JOB: dict[str, Any] = {"node": "aws-p4d.24xlarge", "gpus": 64}


def at(kind: Any, **conditions: Any) -> Case:
    return case_of(kind, JOB, None, Conditions(pricing=kind, **conditions))


def test_the_price_to_take_is_cheaper_as_surely_as_asked():
    """By hand: the cost of a spot run is log-normal with the losses' deviations, that on demand is fixed."""
    spot, usual = at("spot", epochs=90.0), at("on-demand", epochs=90.0)
    assert spot.cost is not None
    assert usual.cost is not None
    deviation = math.hypot(spot.losses.chance, spot.losses.rate)
    sure = NormalDist().cdf(math.log(usual.cost / spot.cost) / deviation)
    ratio, found = cheaper(spot, usual)
    assert ratio == pytest.approx(spot.cost / usual.cost)
    assert found == pytest.approx(sure, abs=1e-3)
    assert 0.8 < sure < 0.95
    jobs = [{**JOB, "pricing": kind} for kind in ("on-demand", "spot")]
    taken = {
        level: compare(*jobs, confidence=level, conditions=Conditions(epochs=90)).card
        for level in (0.5, 0.8, 0.95)
    }
    assert [card.advice[:7] for card in taken.values()] == ["Take B:", "Take B:", "Take A:"]
    assert "only 94 % likely to be cheaper, not 95 %" in taken[0.95].advice
    assert taken[0.8].advice.startswith(
        "Take B: it is 62 % cheaper than A, likely (94 %), and 10.5 min slower"
    )


def test_what_is_certain_is_taken_where_the_other_is_likely_dearer():
    """A spot job of 64 machines loses most of its time: on demand needs no 80 % to be taken."""
    job = {"workload": "llama-3-70b", "node": "aws-p5.48xlarge", "gpus": 512, "global_batch_size": 1024}
    job |= {"tensor_parallel": 8, "pipeline_parallel": 4}
    jobs = [{**job, "pricing": kind} for kind in ("spot", "on-demand")]
    for confidence in (0.5, 0.8, 0.95):
        card = compare(*jobs, confidence=confidence, conditions=Conditions(tokens=1e12)).card
        assert "ake B: it is 67 % cheaper than A, likely (72 %)" in card.advice


def test_a_commitment_counts_in_full_where_the_run_is_known():
    """A run of minutes does not pay for a year; of a run of unknown length nobody knows."""
    short, spot = at("reserved-1y", epochs=90.0), at("spot", epochs=90.0)
    money = short.economics
    assert money is not None
    assert short.owed == pytest.approx(money["commitment"]["cost"] / money["run"]["samples"])
    assert cheaper(spot, short)[1] == 1
    unknown = at("reserved-1y")
    assert unknown.owed == unknown.cost
    jobs = [{**JOB, "pricing": kind} for kind in ("reserved-1y", "on-demand")]
    advice = compare(*jobs).card.advice
    assert advice.startswith("Take B: A is 37 % cheaper by the hour, where the run is as long as the term")
    assert "a commitment of 1 year, $976,258 in all; it pays where the machines work 232 days" in advice


def test_what_holds_for_one_kind_of_price_is_left_out_of_the_others():
    shared = Conditions(pricing="spot", price=10.0, purchase_price=2e5, interruptions=0.1)
    assert conditions_of({"pricing": "spot"}, shared).price == 10
    owned = conditions_of({"pricing": "owned"}, shared)
    assert (owned.price, owned.purchase_price) == (None, 2e5)
    assert conditions_of({"pricing": "on-demand"}, shared).purchase_price is None
    cards = compare(
        {**JOB, "pricing": "spot"}, {**JOB, "pricing": "on-demand"}, conditions=Conditions(interruptions=0.1)
    ).card
    assert "With A, interruptions and checkpoints take" in cards.advice


def test_an_order_is_less_sure_where_the_rate_of_interruptions_is_assumed():
    """Of 8 and 16 machines on the same spot market: both share the error of the rate."""

    def order(rate: float | None) -> Any:
        spot = Conditions(pricing="spot", interruptions=rate)
        small, large = (case_of(str(n), JOB | {"gpus": n}, None, spot) for n in (64, 128))
        return speed_over(large, small)

    assumed, given = order(None), order(0.0609)
    assert assumed.value == pytest.approx(given.value, rel=1e-3)
    assert assumed.sure < given.sure
    assert assumed.low_80 < given.low_80
    spot, usual = at("spot"), at("on-demand")
    assert speed_over(spot, usual).sure == 1  # which loses nothing
    assert speed_over(spot, usual).high_80 == pytest.approx(1)


def test_every_way_to_ask_has_one_answer(invoke):
    line = ("compare", "--node", JOB["node"], "--gpus", "64", "--epochs", "90")
    several = json.loads(invoke(*line, "--pricing", "on-demand,spot", "--json").stdout)
    changed = invoke(*line, "--set", "pricing=spot", "--name", "on demand", "--name", "spot", "--json").stdout
    assert json.loads(changed)["card"] == several["card"]
    assert several["inputs"] == [{"option": "pricing", "values": ["on-demand", "spot"]}]
    with served() as client:
        jobs = [{**JOB, "pricing": kind} for kind in ("on-demand", "spot")]
        sent = client.compare(*jobs, names=["on demand", "spot"], conditions=Conditions(epochs=90))
    assert sent.card.model_dump() == several["card"]


OWN: dict[str, Any] = {"node": "dgx-1v", "gpus": 32}


def test_prices_that_nobody_knows_are_asked_for():
    """Below the price that is said spot is taken, above it the one that is known."""
    both = [{**OWN, "pricing": kind} for kind in ("on-demand", "spot")]
    run = Conditions(epochs=90)
    assert compare(*both, conditions=run).card.advice.startswith(
        "Take whichever costs you less. With B, 0.4 interruptions"
    )
    year, slow = {**OWN, "pricing": "reserved-1y"}, {**OWN, "precision": "fp32"}
    other = compare(both[0], year, slow).card.advice
    assert other.startswith("The fastest are A and B, one job at two prices: take whichever costs you less. ")
    both[0]["price"] = 12
    said = compare(*both, conditions=run).card.advice
    (even,) = re.findall(r"^Ask for the price of B: below \$([\d.]+) an hour of a machine", said)
    for factor, ratio in ((1.01, 1.01), (0.99, 0.99)):
        spot = case_of("B", OWN, None, Conditions(epochs=90, pricing="spot", price=float(even) * factor))
        known = case_of("A", OWN, None, Conditions(epochs=90, price=12))
        assert cheaper(spot, known)[0] == pytest.approx(ratio, abs=1e-3)
    for epochs in (90, 7e5):  # some hours, and over a year, of which two must be paid
        known = case_of("A", OWN, None, Conditions(epochs=epochs, price=12))
        price = even_price(case_of("B", OWN, None, Conditions(epochs=epochs, pricing="reserved-1y")), known)
        year = case_of("B", OWN, None, Conditions(epochs=epochs, pricing="reserved-1y", price=price))
        assert cheaper(year, known)[0] == pytest.approx(1)
    assert round(year.economics["commitment"]["term"] / YEAR) == 2
    three = compare(*both, {**OWN, "pricing": "reserved-1y", "price": 9}, conditions=run).card.advice
    assert "Of the known ones, take A: it is over 99.9 % cheaper than C" in three


def test_of_costs_that_are_sure_in_no_order_each_is_sure_over_the_one_before(monkeypatch):
    """C is surely cheaper than B, B than A, and C only likely cheaper than A, which is the most certain."""
    a, b, c = (
        case_of(name, OWN, None, Conditions(price=price)) for name, price in (("A", 12), ("B", 11), ("C", 10))
    )
    risks, chances = {"A": 0.0, "B": 1.0, "C": 2.0}, {"BA": 0.9, "CB": 0.9, "CA": 0.7}
    module = "perfmodel.decide.comparison.price_advice"

    def order(one, other):
        names = one.name + other.name
        return one.owed / other.owed, chances.get(names) or chances[names[::-1]]

    monkeypatch.setattr(f"{module}._risk", lambda case: risks[case.name])
    monkeypatch.setattr(f"{module}.cheaper", order)
    assert price_to_take([a, b, c], 0.8) is b
    assert "C is 9 % cheaper and as fast, but only 70 % likely to be cheaper than A, not 80 %" in advice(
        [a, b, c], b, 0.8
    )
    assert price_to_take([a, b, c], 0.65) is c


def test_the_verdict_says_what_its_ratio_of_costs_is_of():
    jobs = [{**JOB, "pricing": kind} for kind in ("on-demand", "reserved-1y")]
    paid = "what must be paid for a sample, commitments in full"
    two = compare(*jobs, conditions=Conditions(epochs=90)).verdict
    assert "B is as fast as A: " in two
    assert two.endswith(f" x {paid}")
    three = compare(*jobs, {**JOB, "pricing": "spot"}, conditions=Conditions(epochs=90)).verdict
    assert three.endswith(f"; the least of {paid}: C")


def test_the_report_asks_what_differs(invoke, tmp_path):
    line = ("compare", "--node", JOB["node"], "--gpus", "64", "--pricing", "on-demand,spot")
    invoke(*line, "--report", str(tmp_path / "report.html"))
    assert "Which costs less: on demand or spot?" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("wrong", [["spot"], {"spot": 1}, 3])
def test_a_condition_of_a_wrong_type_is_refused_over_http(wrong):
    jobs = [{"gpus": 16}, {"gpus": 32, "pricing": wrong}]
    answer = Caller(application()).post("/v1/compare", json={"scenarios": jobs})
    assert answer.status_code == 422
    assert "pricing" in json.dumps(answer.json())
    with pytest.raises(InputError, match=r"B.*pricing"):
        compare(*jobs)


def test_a_page_compares_kinds_of_price():
    test = opened("compare", gpus="64", node=JOB["node"], epochs="90", **{"b-pricing": "spot"})
    assert "Take spot (B): it is 62 % cheaper than on demand (A), likely (94 %)" in words(test)


@pytest.mark.parametrize(
    ("change", "why"),
    [("pricing=spo", "unknown pricing 'spo'"), ("price=-1", "price"), ("pricng=spot", "pricing")],
)
def test_a_wrong_condition_is_named(invoke, change, why):
    result = invoke("compare", "--gpus", "8", "--set", change)
    assert result.exit_code == 2
    assert why in result.stderr


def test_a_case_with_more_risk_than_asked_is_not_taken():
    """Of the two that test_comparison_card has, which fit with 67 %, and one that surely fits."""
    sure = {**HARDLY, "tensor_parallel": 4}
    card = compare(HARDLY, sure, confidence=0.95).card
    assert card.advice.startswith("Take B: no other fits with 95 % (A with 67 %)")
    assert "no other fits" not in compare(HARDLY, sure, confidence=0.5).card.advice


def test_a_prediction_plans_with_a_throughput_as_sure_as_asked():
    """By hand: the log-normal quantile of the upper end of the 80 % interval."""
    usual, wide = predict(gpus=32), predict(gpus=32, confidence=0.95)
    interval = usual.interval
    assert interval is not None
    assert predict(gpus=32, confidence=0.9).card == usual.card
    deviations = NormalDist().inv_cdf(0.95) / NormalDist().inv_cdf(0.9)
    slower = (interval.high_80 / usual.iteration_time) ** deviations
    rate = float(re.findall(r"[\d,]+", wide.card.advice)[0].replace(",", ""))
    assert rate == pytest.approx(usual.samples_per_second / slower, rel=1e-3)
    assert "95 % of jobs like it are faster, half are faster" in wide.card.advice
    assert wide.iteration_time == usual.iteration_time
    with pytest.raises(InputError, match="confidence"):
        predict(gpus=32, confidence=0.2)


def test_a_page_asks_how_sure_to_be():
    assert "half of the jobs like it are faster" in words(opened("predict", gpus="32", confidence="0.5"))
