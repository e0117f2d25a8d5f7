"""Kinds of price: facts of the catalogue, spot with its interruptions, reserved with its commitment."""

from __future__ import annotations

import json
import math
import random
import re
from datetime import date
from statistics import mean, stdev
from typing import Any

import pytest

from app.looks import labelled
from perfmodel.core.choices import PriceKind
from perfmodel.core.errors import InputError
from perfmodel.core.units import dollars
from perfmodel.decide.chance import run_factors
from perfmodel.decide.commitments import commitment_of, commitment_words, pays_from
from perfmodel.decide.comparison import case_of, compare
from perfmodel.decide.comparison.speeds import speed_over
from perfmodel.decide.economics import at_the_price, economics
from perfmodel.decide.planning import Goal, search
from perfmodel.decide.planning.at_prices import WASTED
from perfmodel.decide.planning.plan_card import card_of_plan, cost_words
from perfmodel.decide.planning.plan_verdict import notes, verdict
from perfmodel.decide.planning.price_words import _saving, _would_cost
from perfmodel.decide.planning.within import likely
from perfmodel.decide.price_kinds import HOUR, YEAR
from perfmodel.decide.prices import price_of
from perfmodel.equations.reliability import goodput_fraction, lost_time_spread, run_time_sensitivity
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.reports.figures import run_and_cost
from perfmodel.interfaces.reports.planned import page_of_plan
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict

CATALOGUE = Catalogue.built_in()
RESERVED = Conditions(pricing="reserved-3y")
P4D = {"epochs": 90.0, "instances": ("p4d.24xlarge",), "max_gpus": 64}
P6 = P4D | {"instances": ("p6-b200.48xlarge",), "max_gpus": 8}


def test_every_price_has_a_region_a_date_and_a_source_and_is_below_that_on_demand():
    kinds: dict[str, int] = {}
    for offer in CATALOGUE.instances():
        each = {price.kind: price for price in offer.every_price()}
        assert len(each) == len(offer.every_price())
        for kind, price in each.items():
            kinds[kind] = kinds.get(kind, 0) + 1
            assert price.region
            assert price.source
            assert date(2025, 1, 1) < price.price_date
            on_demand = each.get("on-demand")
            if kind != "on-demand" and on_demand and price.region == on_demand.region:
                assert 0.05 < price.usd_per_hour / on_demand.usd_per_hour < 0.9
        if "reserved-3y" in each:
            assert each["reserved-3y"].usd_per_hour < each["reserved-1y"].usd_per_hour
    assert kinds["spot"] >= 27
    assert kinds["reserved-1y"] >= 23
    assert kinds["reserved-3y"] >= 6


def test_the_rate_of_interruptions_is_that_of_the_trace():
    """179 stops of four machines in 735 hours that all four were at work."""
    (measured,) = CATALOGUE.interruptions
    assert measured.per_machine_hour == pytest.approx(179 / (735 * 4), abs=5e-5)
    assert "179 / (735 x 4)" in measured.note


@pytest.mark.parametrize("machines", [1, 4])
def test_a_spot_job_takes_as_long_as_in_a_simulation(machines):
    """A second method: a run is played, second by second lost, with interruptions of each machine."""
    job = predict(Scenario(node="p4d.24xlarge", world_size=8 * machines), CATALOGUE)
    conditions = Conditions(
        pricing="spot", samples=40 * HOUR * job.samples_per_second, interruptions=0.3, checkpoint_time=60.0
    )
    money = economics(job, conditions, CATALOGUE)
    every, wait = money["reliability"]["checkpoint_interval"], CATALOGUE.interruptions[0].back_after
    chance, runs = random.Random(7), 400
    took = [_played(chance, 40 * HOUR, 60.0, wait, every, HOUR / (0.3 * machines)) for _ in range(runs)]
    assert money["run"]["time"] == pytest.approx(mean(took), rel=0.03)
    spread = lost_time_spread(money["reliability"]["failures"], every, wait, money["run"]["time"])
    assert spread == pytest.approx(stdev(took) / mean(took), rel=0.3)  # restarts that fail too are left out
    price = price_of(CATALOGUE, "aws-p4d.24xlarge", conditions)
    assert price is not None
    assert money["run"]["cost"] == pytest.approx(
        machines * price.usd_per_hour * money["run"]["time"] / HOUR, rel=1e-9
    )


def _played(
    chance: random.Random, work: float, write: float, wait: float, every: float, lasts: float
) -> float:
    """Return the time of a run that checkpoints after ``every`` and is interrupted after ``lasts`` [s]."""
    done = clock = 0.0
    next_stop = chance.expovariate(1 / lasts)
    while done < work:
        segment = min(every, work - done) + write
        if clock + segment <= next_stop:
            clock += segment
            done += segment - write
            continue
        clock = next_stop
        while True:  # back after a wait in which nothing more is taken back
            stop = clock + chance.expovariate(1 / lasts)
            if stop > clock + wait:
                clock, next_stop = clock + wait, stop
                break
            clock = stop
    return clock


def test_interruptions_add_to_failures():
    spot = Conditions(pricing="spot", interruptions=0.05, node_failure_interval=20 * HOUR, restart_time=1.0)
    price = price_of(CATALOGUE, "aws-p4d.24xlarge", spot)
    both = at_the_price(spot, price, CATALOGUE)
    assert both.node_failure_interval == pytest.approx(10 * HOUR)
    assert both.restart_time == 1.0
    assert at_the_price(Conditions(), None, CATALOGUE) == Conditions()
    assert goodput_fraction(1000.0, 50.0, 0.0, 10 * HOUR) > goodput_fraction(1000.0, 50.0, 0.0, HOUR)


def test_a_reserved_machine_costs_its_whole_term():
    """Two machines at 10 USD for 8,766 hours: 175,320 USD, of which a run of 1,000 hours uses 20,000."""
    reserved = commitment_of("reserved-1y", 2, 10.0, 1000 * HOUR)
    assert reserved is not None
    assert (reserved["term"], reserved["cost"], reserved["unused"]) == (YEAR, 175_320, pytest.approx(155_320))
    assert commitment_words(reserved).startswith(
        "a commitment of 1 year, $175,320 in all; what the run leaves unused"
    )
    longer = commitment_of("reserved-1y", 2, 10.0, 1.5 * YEAR)  # a second year begins, and must be paid
    assert longer is not None
    assert (longer["term"], longer["cost"]) == (2 * YEAR, 350_640)
    assert longer["unused"] == pytest.approx(350_640 / 4)
    whole = commitment_of("reserved-1y", 2, 10.0, 2 * YEAR)
    assert whole is not None
    assert whole["unused"] == 0
    assert commitment_of("spot", 2, 10.0, 1.0) is None
    assert pays_from("reserved-3y", 10.0, 10.0) == "it never pays"


def test_spot_or_reserved_is_answered_in_words():
    result = search(Goal(**P4D, deadline=24 * HOUR, pricing=("on-demand", "spot", "reserved-1y")))
    chosen = result.chosen
    assert chosen is not None
    assert chosen["price_basis"] == "spot"
    rate = CATALOGUE.interruptions[0].per_machine_hour
    assert chosen["interruptions"] == pytest.approx(chosen["nodes"] * chosen["run_time"] / HOUR * rate)
    said = verdict(result)
    assert ", spot" in said[0]
    (spot,) = [line for line in said if line.startswith("Spot saves")]
    rows = [result.row(i) for i in range(len(result)) if result.machines[0].node == chosen["node"]]
    alike = ("world_size", "iteration_time", "strategy", "precision", "global_batch_size")
    (other,) = [
        row
        for row in rows
        if row["price_basis"] == "on demand" and all(row[name] == chosen[name] for name in alike)
    ]
    saved, longer = 1 - chosen["cost"] / other["cost"], chosen["run_time"] / other["run_time"] - 1
    assert spot.startswith(f"Spot saves {100 * saved:.0f} % (")
    assert (
        f"takes {100 * longer:.0f} % longer, with {chosen['interruptions']:.1f} interruptions expected"
        in spot
    )
    assert spot.endswith(" expected, if taken back as often as p3.2xlarge of AWS in 2023.")
    (reserved,) = [line for line in said if line.startswith("Reserved for 1 year")]
    assert "it pays where the machines work 232 days of the 365" in reserved
    assert result.left_out[WASTED] == len(rows) / 2
    assert all(row["price_basis"] != "reserved for 1 year" for row in rows)
    assert any("taken back every 16.4 h, assumed as of p3.2xlarge of AWS in 2023" in n for n in notes(result))
    prices = page_of_plan(result, None, CATALOGUE).tables[-1].rows
    machine = "8 x A100 SXM4 40 GB (AWS p4d.24xlarge)"
    assert {machine, f"{machine}, spot"} <= {row[0] for row in prices}


def test_a_spot_plan_names_its_price_and_what_it_would_cost_on_demand():
    result = search(Goal(**P4D, pricing=("spot",)))
    chosen, price = result.chosen, result.price_in_question
    rent = f"; a machine is {dollars(price.usd_per_hour)} an hour in {price.region}, {price.date}"
    card = card_of_plan(result)
    assert card.cost.endswith(", spot")
    assert f"{rent}; a spot machine is taken back every " in card.rests_on
    (line,) = [
        line for line in verdict(result) if line.startswith("On demand, to fall back on: $21.96 an hour")
    ]
    alike = ("world_size", "iteration_time", "strategy", "precision")
    alone = search(Goal(**P4D, pricing=("on-demand",), local_batch_sizes=(chosen["local_batch_size"],)))
    (same,) = [
        row for row in map(alone.row, range(len(alone))) if all(row[name] == chosen[name] for name in alike)
    ]
    said = float(re.search(r"about \$([\d,.]+) for the run without", line)[1].replace(",", ""))
    assert said == pytest.approx(same["cost"], rel=0.01)
    (none,) = [line for line in verdict(search(Goal(**P6, pricing=("spot",)))) if "On demand, " in line]
    assert none == "On demand, to fall back on: no price of these machines is known."


def test_reserved_alone_says_what_it_commits_to():
    result = search(Goal(**P4D, pricing=("reserved-1y",)))
    chosen = result.chosen
    assert chosen is not None
    assert chosen["committed_cost"] == pytest.approx(13.921094 * YEAR / HOUR * chosen["nodes"])
    assert chosen["unused_cost"] == pytest.approx(chosen["committed_cost"] - chosen["cost"])
    assert any(line.startswith("Its price needs a commitment of 1 year") for line in verdict(result))


def test_a_machine_of_ones_own_stands_beside_rented_ones():
    names = {"p4d.24xlarge": 150_000.0}
    result = search(Goal(**P4D, pricing=("on-demand", "spot"), purchase_prices=names))
    assert {machine.price.basis for machine in result.machines if machine.price} == {
        "on demand",
        "spot",
        "owned",
    }
    alone = search(Goal(**P4D, purchase_prices=names))
    assert [machine.price.basis for machine in alone.machines if machine.price] == ["owned"]


def test_a_plan_by_transformer_layouts_at_spot_is_that_on_demand_but_for_its_losses():
    run: dict[str, Any] = {"workload": "gpt2", "tokens": 1e9, "instances": ("p4d.24xlarge",), "max_gpus": 8}
    both = search(Goal(**run, pricing=("on-demand", "spot")))
    on_demand = search(Goal(**run))
    assert both.layouts == on_demand.layouts
    assert len(both) == 2 * len(on_demand)
    assert [machine.price.kind for machine in both.machines if machine.price] == ["on-demand", "spot"]


def test_the_command_and_a_prediction_agree(invoke):
    told = json.loads(
        invoke(
            "plan", "--epochs", "90", "--instance", "p4d.24xlarge", "--pricing", "preemptible", "--json"
        ).stdout
    )
    chosen = told["chosen"]
    one = told["launch"]["predict"].split()[1:]
    money = json.loads(invoke(*one, "--epochs", "90", "--pricing", "spot", "--json").stdout)["economics"]
    assert money["run"]["time"] == pytest.approx(chosen["run_time"])
    assert money["run"]["cost"] == pytest.approx(chosen["cost"])
    assert money["price"]["kind"] == "spot"
    assert money["commitment"] is None


@pytest.mark.parametrize(
    ("conditions", "why"),
    [
        ({"interruptions": 0.1}, "give pricing spot with it"),
        ({"pricing": "owned"}, "pricing owned needs purchase_price"),
        ({"pricing": "spot", "purchase_price": 1e5}, "not with pricing spot, which is a rent"),
        ({"pricing": "reserved-3y", "region": "us-east-1"}, "reserved for 3 years; give price"),
    ],
)
def test_what_does_not_go_together_is_refused(conditions, why):
    job = predict(Scenario(node="p4d.24xlarge", world_size=8), CATALOGUE)
    with pytest.raises(InputError, match=why):
        economics(job, Conditions(epochs=1.0, **conditions), CATALOGUE)


def test_a_budget_pays_for_the_whole_term_of_a_reserved_price():
    """A run of $205 on one machine that is reserved for $122,032 is beyond $500, and within $130,000."""
    run: dict[str, Any] = P4D | {"deadline": 24 * HOUR, "pricing": ("reserved-1y",)}
    result = search(Goal(**run, budget=500.0))
    surest = result.surest
    assert result.chosen is None
    assert surest is not None
    assert (surest["nodes"], surest["within_budget"], surest["budget_risk"]) == (1, False, 1.0)
    assert surest["cost"] < 500 < surest["cost_at_most"] == surest["committed_cost"]
    within = search(Goal(**run, budget=130_000.0)).chosen
    assert within is not None
    assert within["nodes"] == 1
    assert cost_words(within).startswith("$122,032 to pay, reserved for 1 year; the run uses $")


def test_of_reserved_plans_that_keep_the_budget_that_of_least_commitment_is_the_cheapest():
    """Two machines for $244,065 do it, whose run is a larger share of less than two others for $305,081."""
    goal = Goal(
        samples=3e9,
        instances=("p4d.24xlarge", "p4de.24xlarge"),
        max_gpus=128,
        deadline=72 * HOUR,
        pricing=("reserved-1y",),
        budget=3e6,
    )
    result = search(goal)
    chosen, table = result.chosen, result.candidates
    assert chosen is not None
    able = likely(table, goal.limits)
    assert chosen["committed_cost"] == pytest.approx(table["committed_cost"][able].min())
    assert chosen["cost"] > table["cost"][able].min()
    assert [row["committed_cost"] for row in result.front] == sorted(
        (row["committed_cost"] for row in result.front), reverse=True
    )


def test_the_card_of_a_prediction_names_the_kind_of_price_and_what_it_commits_to():
    job = predict(Scenario(node="p4d.24xlarge", world_size=8), CATALOGUE)

    def row(kind: PriceKind) -> str:
        money = economics(job, Conditions(epochs=1.0, pricing=kind), CATALOGUE)
        return run_and_cost(job, money)["cost"]

    assert row("reserved-1y").endswith("reserved for 1 year, of a commitment of $122,032")
    assert row("spot").endswith("one AWS p4d.24xlarge, spot")
    assert row("on-demand").endswith("one AWS p4d.24xlarge")


def test_a_comparison_at_spot_prices_counts_the_work_that_is_kept():
    """Twice the machines are taken back twice as often: the run takes longer and costs more."""
    spot = Conditions(pricing="spot", tokens=1e12)
    job: dict[str, Any] = {"workload": "llama-3-70b", "node": "aws-p5.48xlarge", "global_batch_size": 384}
    job |= {"tensor_parallel": 8, "pipeline_parallel": 4}
    small, large = (case_of(f"{n} GPUs", job | {"gpus": n}, CATALOGUE, spot) for n in (192, 384))
    answer = compare([small, large])
    assert answer.card.advice.startswith(
        "Take 192 GPUs, which is cheaper and seems the faster: 384 GPUs is 0.8"
    )
    rows = {row.quantity: row.values for row in answer.rows}
    (one, two), samples = rows["run_time"], 1e12 / 8192
    assert one is not None
    assert two is not None
    assert one < two
    assert small.rate == pytest.approx(samples / one)
    assert speed_over(large, small).value == pytest.approx(one / two)
    assert rows["run_cost"] == pytest.approx([case.cost * samples for case in (small, large) if case.cost])
    assert "failures and checkpoints take the rest" in answer.card.advice
    assert answer.card.rests_on.count("taken back every 16.4 h, assumed") == 1
    unknown = [case_of(name, {"gpus": 8, "node": "p4d.24xlarge"}, CATALOGUE, RESERVED) for name in "AB"]
    (said,) = [note for note in compare(unknown).notes if note.startswith("no price")]
    assert "no price reserved for 3 years is known of aws-p4d.24xlarge; on demand it is $21.96" in said


def test_a_dearer_kind_of_price_costs_times_as_much_and_not_a_probability():
    row = {"cost": 459.0, "run_time": 30.0, "interruptions": 2.0, "nodes": 1, "goodput": 0.9}
    assert (
        _would_cost(row, {"cost": 100.0}, "on demand") == "would cost $459 (4.59 times as much as on demand)"
    )
    assert _saving(row, {"cost": 410.0}, "on demand") == "costs 12 % more ($49) against on demand"
    assert _saving(row, {"cost": 459_000.0}, "on demand") == "saves 99.9 % ($458,541) against on demand"


def test_a_kind_of_price_that_is_not_known_is_named_with_that_on_demand():
    goal = Goal(**P4D, pricing=("reserved-3y",))
    said = card_of_plan(search(goal)).advice
    assert said.startswith("No price reserved for 3 years is known of 8 x A100 SXM4 40 GB (p4d.24xlarge); on")
    assert "on demand it is $21.96 an hour: --pricing on-demand; or give --price NODE=USD" in said
    assert "MACHINE=USD" in labelled(said)
    assert "NODE" not in labelled(said)
    money = economics(
        predict(Scenario(node="p4d.24xlarge", world_size=8), CATALOGUE),
        Conditions(epochs=1.0, pricing="reserved-3y"),
        CATALOGUE,
    )
    assert money["unknown"][0].startswith("no price reserved for 3 years is known of aws-p4d.24xlarge")


def test_a_plan_and_a_prediction_at_spot_prices_have_one_interval():
    """Both widen that of the iterations for the chance of interruptions and for their assumed rate."""
    for given in (None, 0.2):
        goal = Goal(**P4D, pricing=("spot",), conditions=Conditions(interruptions=given))
        result = search(goal)
        chosen = result.chosen
        assert chosen is not None
        job, spot = result.predicted(chosen), Conditions(pricing="spot", samples=chosen["samples"])
        money = economics(job, spot.model_copy(update={"interruptions": given}), CATALOGUE)
        interval = job.interval
        assert interval is not None
        ends = run_factors(money["reliability"], job.iteration_time, interval.low_80, interval.high_80)
        time = money["run"]["time"]
        plan = chosen["run_time_low_80"], chosen["run_time_high_80"]
        assert result.fit is None
        assert (time * ends[0], time * ends[1]) == pytest.approx(plan)
        assert ends[1] > interval.high_80 / job.iteration_time
        assert ("taken back every 16.4 h, assumed" in card_of_plan(result).rests_on) == (given is None)
        assert ("taken back every 16.4 h" in run_and_cost(job, money).get("rests_on", "")) == (given is None)


def test_an_assumed_rate_is_as_uncertain_as_the_traces_differ():
    """202 stops in 431.2 h of one machine, 179 in 735 h of four, 246 in 452.3 h of sixteen."""
    rates = [202 / 431.2, 179 / (735 * 4), 246 / (452.3 * 16)]
    (measured,) = CATALOGUE.interruptions
    assert measured.rate_spread == pytest.approx(stdev(map(math.log, rates)), abs=5e-3)
    job = predict(Scenario(node="p4d.24xlarge", world_size=64), CATALOGUE)

    def width(rate: float | None) -> float:
        spot = Conditions(pricing="spot", samples=1e9, interruptions=rate)
        return float(economics(job, spot, CATALOGUE)["reliability"]["loss_high_80"])

    assert width(None) > 2 * width(measured.per_machine_hour) > 0


def test_the_sensitivity_to_a_rate_is_that_of_the_run_time():
    """A second method: the run of a job at a rate 1 % higher and lower."""
    job = predict(Scenario(node="p4d.24xlarge", world_size=64), CATALOGUE)

    def run(rate: float) -> tuple[float, Any]:
        spot = Conditions(pricing="spot", samples=1e10, interruptions=rate)
        money = economics(job, spot, CATALOGUE)
        return money["run"]["time"], money["reliability"]

    (low, _), (_, at), (high, _) = map(run, (0.0609 / 1.01, 0.0609, 0.0609 * 1.01))
    wait = CATALOGUE.interruptions[0].back_after
    expected = run_time_sensitivity(at["checkpoint_interval"], wait, at["failure_interval"], at["goodput"])
    assert math.log(high / low) / (2 * math.log(1.01)) == pytest.approx(expected, rel=0.01)


def test_servers_of_another_machine_are_reserved_at_their_own_price():
    """A plan and a prediction commit to the trainers and to the servers, each at its price."""
    (trainer, server) = ("aws-p4d.24xlarge", "aws-p4de.24xlarge")
    goal = Goal(
        **P4D | {"max_gpus": 16, "strategies": ("parameter-server",), "server_node": server},
        pricing=("reserved-1y",),
    )
    result = search(goal)
    chosen = result.chosen
    assert chosen is not None
    each = [price_of(CATALOGUE, node, Conditions(pricing="reserved-1y")) for node in (trainer, server)]
    prices = [price.usd_per_hour for price in each if price is not None]
    assert prices[0] != prices[1]
    whole = (chosen["nodes"] * prices[0] + chosen["servers"] * prices[1]) * YEAR / HOUR
    assert chosen["committed_cost"] == pytest.approx(whole)
    run = Conditions(pricing="reserved-1y", samples=chosen["samples"])
    predicted = economics(result.predicted(chosen), run, CATALOGUE)["commitment"]
    assert predicted["cost"] == pytest.approx(whole)
    assert predicted["unused"] == pytest.approx(chosen["unused_cost"])
