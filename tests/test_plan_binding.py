"""Which limit of a goal binds, and the next best plan: sentences of the verdict on every way out."""

from __future__ import annotations

import math
import re
from statistics import NormalDist

import numpy as np
import pytest

from perfmodel.core.units import dollars, duration, percent
from perfmodel.decide.planning import Goal, search
from perfmodel.decide.planning.alternatives import KINDS, alternatives, unkept
from perfmodel.decide.planning.binding import _chance, _of_losses, binding, next_best
from perfmodel.decide.planning.figures import cost_at_most, time_at_most
from perfmodel.decide.planning.plan_card import advice
from perfmodel.decide.planning.plan_verdict import verdict
from perfmodel.decide.planning.price_words import offered
from perfmodel.decide.planning.within import Limits, surest_first

GOALS = {
    "the deadline binds": Goal(epochs=90, accelerators=("v100-sxm2-16gb",), deadline=7200.0, max_gpus=64),
    "it does not": Goal(epochs=90, instances=("p3.16xlarge",), deadline=86400.0, max_gpus=64),
    "nothing is in time": Goal(epochs=90, instances=("p3.16xlarge",), deadline=60.0, max_gpus=8),
    "the faster one is at risk": Goal(epochs=90, instances=("p3.16xlarge",), budget=200.0, max_gpus=64),
}
BINDING = {
    "the deadline binds": r"The deadline binds: without it .* would do, .* for \$",
    "it does not": "The deadline does not bind: no plan is cheaper.",
    "nothing is in time": r"^With at most 8 GPUs \(--max-gpus\) no plan of known price ",
    "the faster one is at risk": "Faster, .* likely to miss the budget: ",
}


@pytest.mark.parametrize("name", GOALS)
def test_a_plan_says_what_limits_it_and_what_comes_next(name):
    result = search(GOALS[name])
    lines = verdict(result)
    (line,) = [line for line in lines if re.search(BINDING[name], line)]
    assert (line in binding(result)) == line.startswith("The deadline")
    named = [line for line in lines if line.startswith(("Next best is ", "About as "))]
    assert len(named) == (result.chosen is not None)


def test_where_nothing_meets_both_limits_the_advice_alone_says_what_would():
    asked = {"epochs": 90, "accelerators": ("v100-sxm2-16gb",), "deadline": 3600.0 * 4, "max_gpus": 64}
    free = search(Goal(**asked))
    budget = (free.front[-1]["cost_at_most"] + free.chosen["cost_at_most"]) / 2
    result = search(Goal(**asked, budget=budget))
    assert result.chosen is None
    assert "It would be 80 % likely with a deadline of " in verdict(result)[0]
    assert not any(line.startswith("The deadline") for line in verdict(result))
    assert next_best(result) == []


def test_a_limit_that_no_plan_keeps_alone_comes_with_the_nearest_plan():
    asked = {"epochs": 90, "accelerators": ("v100-sxm2-16gb",), "max_gpus": 64}
    result = search(Goal(**asked, deadline=60.0, budget=1.0))
    fastest, cheapest = (unkept(result)[name] for name in ("deadline", "budget"))
    assert fastest["run_time_at_most"] == np.nanmin(result.candidates["run_time_at_most"])
    said = advice(result)
    at_most = [f"at most {time_at_most(one)} and {cost_at_most(one)}" for one in (fastest, cheapest)]
    assert (
        " With at most 64 GPUs no plan keeps the deadline at any cost: the fastest, "
        f"{offered(fastest)}, is 80 % likely to take {at_most[0]}; and none the budget "
    ) in said
    assert "; and none the budget at on-demand prices, however long it takes: " in said
    assert f": the cheapest, {offered(cheapest)}, is 80 % likely to take {at_most[1]}." in said
    assert cheapest["cost_at_most"] == np.nanmin(result.candidates["cost_at_most"])
    assert unkept(search(Goal(**asked, deadline=4 * 3600.0, budget=1000.0))) == {}


def test_other_kinds_of_price_are_tried_where_the_default_meets_no_budget():
    asked = {"epochs": 90, "instances": ("p4d.24xlarge",), "max_gpus": 64, "deadline": 6 * 3600.0}
    least, spot = (search(Goal(**asked, pricing=kind)).cheapest for kind in (("on-demand",), ("spot",)))
    between = Goal(**asked, budget=(least["cost_at_most"] + spot["cost_at_most"]) / 2)
    result = search(between)
    (other,) = [one for one in alternatives(result) if one.option == "pricing"]
    # what was given stays: it comes first
    assert f" likely with --pricing spot (default: on-demand) on {offered(other.plan)}; or " in advice(result)
    assert "no plan keeps the budget at on-demand prices, however long it takes: " in advice(result)
    assert search(between.model_copy(update={"pricing": (other.value,)})).met
    too_little = search(between.model_copy(update={"budget": 20.0}))
    plan = search(Goal(**asked, budget=20.0, pricing=("spot",))).in_question
    assert (
        " At spot and reserved prices (--pricing on-demand,spot,reserved-1y,reserved-3y) no plan keeps the "
        f"deadline and the budget either: the cheapest, {offered(plan)}, spot, is 80 % likely to take "
        f"at most {time_at_most(plan)} and {cost_at_most(plan)}, in time."
    ) in advice(too_little)
    at_risk = (
        plan["run_time"] + plan["run_time_at_most"]
    ) / 2  # in time as predicted, not as surely as asked
    late = search(between.model_copy(update={"budget": 20.0, "deadline": at_risk}))
    assert f"at most {time_at_most(plan)} and {cost_at_most(plan)}, too late." in advice(late)
    all_tried = search(between.model_copy(update={"budget": 20.0, "pricing": KINDS}))
    assert "spot and reserved prices (--pricing" not in advice(all_tried)
    kinds = "on-demand, spot and reserved"
    assert f" no plan keeps the budget at {kinds} prices, " in advice(all_tried)


def test_how_sure_the_next_best_is_follows_from_the_ratio_of_both():
    result = search(GOALS["it does not"])
    row, chosen = result.rejected[0], result.chosen
    assert chosen is not None
    ratio = row["ratio"]
    # it costs as much where it is as many times faster than predicted as it is dearer
    apart = math.log(row["cost"] / chosen["cost"])
    spread = math.log(ratio["high_80"] / ratio["value"]) / NormalDist().inv_cdf(0.9)
    chance = 1 - NormalDist(0, spread).cdf(apart)
    assert next_best(result)[0].endswith(
        f"{offered(row)}: {duration(row['run_time'])}, {dollars(row['cost'])}; "
        f"{percent(chance)} likely to be the cheaper one."
    )


def test_where_the_nearest_sizes_are_at_risk_another_plan_of_the_front_is_the_next_best():
    result = search(GOALS["it does not"])
    result.__dict__["rejected"] = [row | {"reason": "at risk"} for row in result.rejected]
    (said,) = next_best(result)
    kept = [row for row in result.front if row != result.chosen and row["probability"] >= 0.8]
    least = min(kept, key=lambda row: row["cost"])
    assert said.startswith(f"Next best is {offered(least)}: {duration(least['run_time'])}, ")


def test_of_two_commitments_the_cheaper_is_certain_and_every_sentence_says_what_is_to_be_paid():
    machines = ("p4d.24xlarge", "p4de.24xlarge")
    asked = {"samples": 3e9, "deadline": 3 * 86400.0, "max_gpus": 32, "pricing": ("reserved-1y",)}
    result = search(Goal(**asked, instances=machines))
    chosen, (first, *_) = result.chosen, result.rejected
    assert first["cost"] < chosen["cost"]  # of the run alone
    more = first["committed_cost"] - chosen["committed_cost"]
    (said,) = next_best(result)
    assert said.startswith(f"Next best is {offered(first)}, reserved for 1 year: ")
    assert said.endswith(f" to pay, dearer by {dollars(more)}.")
    paid = {dollars(row["committed_cost"]) for row in result.front}
    named = [line for line in verdict(result) if re.match("The deadline binds|Cheaper, |To be sure", line)]
    assert len(named) == 3
    assert all(re.search(r"(\$[\d,]+) to pay", line)[1] in paid for line in named)


def test_the_chance_against_a_commitment_is_that_of_the_other_plan_s_cost():
    result = search(GOALS["it does not"])
    plan = result.chosen
    committed = plan | {"committed_cost": 1.1 * plan["cost"]}
    width = math.log(plan["run_time_high_80"] / plan["run_time"]) / NormalDist().inv_cdf(0.9)
    below = NormalDist(0, width).cdf(math.log(1.1))
    assert _chance(result, committed, plan) == pytest.approx(below, rel=1e-3)
    assert _chance(result, plan, committed) == pytest.approx(1 - below, rel=1e-3)


def test_what_interruptions_take_widens_a_comparison_with_a_price_without_them():
    result = search(Goal(epochs=90, instances=("p4d.24xlarge",), max_gpus=8, pricing=("spot",)))
    spot = result.chosen
    assert spot["interruptions"] > 0
    step = result.predicted(spot).interval.high_80 / spot["iteration_time"]
    whole = spot["run_time_high_80"] / spot["run_time"]
    losses = _of_losses(result, spot)
    assert losses > 0
    assert math.hypot(losses, math.log(step)) == pytest.approx(math.log(whole))
    assert _of_losses(result, spot | {"interruptions": None}) == 0


def test_a_time_below_its_physical_end_is_not_likelier_for_a_wide_interval():
    """Of two late plans one is interrupted so often that its interval, cut where nothing is lost, is wide."""
    table = {
        "run_time": np.array([20.0, 30.0]),
        "run_time_low_80": np.array([18.0, 5.0]),
        "run_time_high_80": np.array([40.0, 3000.0]),
        "run_time_at_most": np.array([30.0, 600.0]),
        "cost": np.array([1.0, 1.0]),
        "fits_probability": np.ones(2),
    }
    order = surest_first(table, Limits(1.0, None, 0.8))
    assert order[0] < order[1]
