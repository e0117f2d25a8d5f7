"""What plan says first: the job as a command, each kind of price, the limit of GPUs, progress."""

import json
import math
import pickle
import re
import shlex

import numpy as np
import pytest

from app import bounded, bounded_worker
from app.looks import labelled
from perfmodel.core.errors import InputError
from perfmodel.core.progress import tried, watched
from perfmodel.core.units import dollars, duration, percent
from perfmodel.decide.planning import Goal, search
from perfmodel.decide.planning.alternatives import alternatives, rounded_gpus
from perfmodel.decide.planning.each_kind import best_of_each_kind
from perfmodel.decide.planning.figures import cost_at_most, cost_interval, time_interval
from perfmodel.decide.planning.plan_card import advice, card_of_plan, chance_words
from perfmodel.decide.planning.plan_verdict import verdict
from perfmodel.decide.planning.price_words import prices_compared
from perfmodel.decide.planning.table_words import chance_heading, verdict_of
from perfmodel.decide.planning.within import payment
from perfmodel.decide.price_kinds import YEAR
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.reports.planned import page_of_plan
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.prediction.memory_odds import CERTAIN
from tests.test_app import opened, typed, words

LLAMA = {"workload": "llama-2-7b", "tokens": 100e9, "deadline": 30 * 86400.0}
SPOT = {**LLAMA, "instances": ("p4d.24xlarge",), "max_gpus": 16, "pricing": ("spot",)}
KINDS = {"instances": ("p4d.24xlarge",), "pricing": ("on-demand", "spot", "reserved-1y")}


@pytest.mark.parametrize(
    "asked",
    [
        "--workload resnet50 --epochs 90 --deadline 24h --instance p3.16xlarge --max-gpus 16",
        "--workload llama-2-7b --tokens 100B --deadline 30d --instance p5.48xlarge --max-gpus 16",
        "--workload llama-2-7b --tokens 10B --instance p4d.24xlarge --max-gpus 16 --lora 16",
        "--workload bert-large --samples 1e7 --instance p4d.24xlarge --pricing spot --max-gpus 16",
    ],
)
def test_the_printed_command_predicts_the_plan_as_its_card_says(asked, invoke):
    shown = invoke("plan", *asked.split()).stdout.replace("\\\n", "").splitlines()
    (line,) = [line for line in shown if line.startswith("perfmodel predict ")]
    card = json.loads(invoke("plan", *asked.split(), "--json").stdout)["card"]
    one = " ".join(invoke(*shlex.split(line)[1:]).stdout.split())
    for said in ("time", "memory", "limit"):
        assert card[said] in one


@pytest.mark.any_version
def test_the_best_plan_at_another_price_is_that_of_a_search_at_it_alone():
    """Counts between those tried at once are tried for each kind: 20 machines, not 24."""
    offers = ("p6-b200.48xlarge", "trn1.32xlarge")
    asked = {"workload": "llama-3-70b", "tokens": 1e11, "deadline": 30 * 86400.0, "instances": offers}
    result = search(Goal(**asked, pricing=("spot", "reserved-1y"), max_gpus=512))
    of = {each.kind: each.plan for each in best_of_each_kind(result)}
    alone = search(Goal(**asked, pricing=("reserved-1y",), max_gpus=512)).in_question
    assert of["spot"] == result.chosen
    assert of["reserved-1y"]["machines"] == alone["machines"]
    assert payment(of["reserved-1y"]) == pytest.approx(payment(alone))


def test_machines_with_both_prices_have_the_plans_of_searches_alone():
    offers, kinds = ("trn1.32xlarge", "p4d.24xlarge"), ("on-demand", "spot")
    asked = {"workload": "llama-3-70b", "tokens": 1e11, "deadline": 30 * 86400.0, "max_gpus": 1024}
    words = " ".join(verdict(search(Goal(**asked, instances=offers, pricing=kinds))))
    for kind, name in zip(kinds, ("on demand", "spot"), strict=True):
        alone = search(Goal(**asked, instances=offers[1:], pricing=(kind,))).in_question
        assert f"{name}, {alone['nodes']} machines of 8 x A100 SXM4 40 GB (AWS): $" in words
        assert dollars(payment(alone)) in words


def test_runs_that_are_taken_back_for_ever_are_no_plans():
    """Of 128 machines taken back every 16 h a run of days without checkpoints would take 1e128 years."""
    job = {"workload": "llama-3-70b", "tokens": 1e11, "deadline": 12 * 86400.0, "max_gpus": 1024}
    result = search(Goal(**job, instances=("p5.48xlarge",), pricing=("spot",)))
    table = result.candidates
    assert 0.01 < result.surest["goodput"] < 1
    assert set(table["goodput"][~np.isfinite(table["run_time"])]) == {0.0}
    assert (table["probability"][~np.isfinite(table["run_time"])] == 0).all()
    assert "The surest is 128 machines" not in advice(result)
    slow = {"instances": ("p5.48xlarge",), "conditions": Conditions(checkpoint_time=60 * 3600.0)}
    never = search(Goal(**job, **slow, pricing=("spot",)))
    assert never.in_question is None
    assert advice(never) == (
        "No run of known price ever ends: machines are taken back, or fail, faster than work restarts."
    )
    both = search(Goal(**job, **slow, pricing=("on-demand", "spot")))
    assert best_of_each_kind(both)[1].cells[:2] == ("spot", "no run ends")
    assert advice(both).startswith("On demand, not spot, at which no run ends. Take ")
    assert "Ask for the price" not in " ".join(verdict(both))


def test_each_kind_of_price_has_its_best_plan_and_what_must_be_paid():
    result = search(Goal(**LLAMA, **KINDS, max_gpus=64))
    kinds = {each.kind: each for each in best_of_each_kind(result)}
    for kind, each in kinds.items():
        alone = search(Goal(**LLAMA, **(KINDS | {"pricing": (kind,)}), max_gpus=64)).in_question
        assert each.plan["cost"] == pytest.approx(alone["cost"])
        assert each.plan["nodes"] == alone["nodes"]
    assert payment(kinds["reserved-1y"].plan) > kinds["reserved-1y"].plan["cost"]
    own = result.chosen["nodes"]
    (line,) = [one for one in prices_compared(result) if one.startswith("Reserved for 1 year, these ")]
    assert f" these {own} machines would need a commitment of 1 year, $" in line
    names = [span.label for span in page_of_plan(result, None, Catalogue.of(None)).charts[0].spans]
    assert len(set(names)) == len(names)
    assert best_of_each_kind(search(Goal(**LLAMA, instances=("p4d.24xlarge",), max_gpus=8))) == ()


def test_a_kind_without_a_price_says_what_to_give():
    result = search(
        Goal(**LLAMA, instances=("p5.48xlarge",), pricing=("on-demand", "reserved-1y"), max_gpus=8)
    )
    assert best_of_each_kind(result)[1].cells[:2] == ("reserved for 1 year", "no price known; give --price")
    rent = result.price_in_question.usd_per_hour
    said = re.match(
        r"Reserving these machines for 1 year does not pay for this run alone: every hour of the term is "
        r"paid, so one would have to cost less than \$([\d.]+) an hour, against "
        rf"\${rent:.2f} on demand\. Take ",
        advice(result),
    )
    assert float(said[1]) == pytest.approx(rent * result.chosen["run_time"] / YEAR, rel=0.01)


def test_a_reservation_that_may_pay_is_asked_for():
    """Of a run of almost half a year; that is in each interface, the table of kinds included."""
    goal = {"workload": "llama-2-7b", "tokens": 2e12, "instances": ("p5.48xlarge",), "max_gpus": 8}
    result = search(Goal(**goal, pricing=("on-demand", "reserved-1y")))
    assert 0.2 < result.chosen["run_time"] / YEAR < 1
    assert advice(result).startswith("Ask for the price of these machines reserved for 1 year: below $")
    assert " it is cheaper than on demand, as every hour of the term is paid. Take " in advice(result)


def test_the_answer_begins_with_the_kind_of_price_to_take_on_the_same_machine():
    result = search(Goal(**LLAMA, **KINDS, max_gpus=16))
    assert re.match(
        r"Spot, not on demand or reserved for 1 year: \$5,\d+ against \$18,\d+ on demand and \$[\d,]+ to pay "
        r"reserved for 1 year \(as much as [\d.]+ such runs, spot\), on the same machines\. "
        r"Take 2 machines of 8 x A100 ",
        advice(result),
    )
    assert len({each.plan["node"] for each in best_of_each_kind(result)}) == 1
    assert "prices of these machines" not in " ".join(verdict(result))


def test_a_price_of_another_machine_is_called_so_and_ones_own_is_asked_for():
    """At the rent that is said, on demand costs as much as the spot price that is known."""
    both, kinds = ("p6-b200.48xlarge", "p4d.24xlarge"), ("on-demand", "spot")
    result = search(Goal(**LLAMA, instances=both, pricing=kinds, max_gpus=16))
    others = r"2 machines of 8 x A100 SXM4 40 GB \(AWS\)"
    against = rf"Spot, not on demand: \$[\d,]+ against \$[\d,]+ on demand, on {others}\. Take 8 x B200 "
    assert re.match(against, advice(result))
    at_both = rf"{others} have both prices: on demand \$[\d,]+, [\d.]+ days; spot \$[\d,]+, [\d.]+ days\. "
    assert re.search(at_both, " ".join(verdict(result)))
    (on_demand, spot) = best_of_each_kind(result)
    assert on_demand.cells[1].startswith("other machines: ")
    even = on_demand.wins_below_usd_per_hour
    assert f"below ${even:.2f} an hour of a machine it is cheaper than spot." in " ".join(verdict(result))
    goal = Goal(**LLAMA, instances=both[:1], pricing=kinds[:1], prices={both[0]: even}, max_gpus=8)
    assert payment(search(goal).in_question) == pytest.approx(payment(spot.plan), rel=1e-6)


def test_machines_at_two_prices_are_counted_at_each():
    """Of machines with one GPU as many as are cheapest at each price, which need not be the same number."""
    offers, kinds = ("p6-b200.48xlarge", "a2-highgpu-1g"), ("spot", "reserved-3y")
    words = " ".join(verdict(search(Goal(**LLAMA, instances=offers, pricing=kinds, max_gpus=64))))
    reserved, spot = re.findall(r"(?:reserved for 3 years|spot), (\d+) machines of 1 x A100", words)
    assert reserved != spot


def test_a_cheaper_kind_that_is_too_late_is_called_so():
    """Eight machines on demand are in time; taken back as often as spot machines are, they are not."""
    free = search(Goal(**LLAMA | {"deadline": None}, **KINDS, max_gpus=64))
    rows = [free.row(index) for index in range(len(free)) if free.candidates["world_size"][index] == 64]
    by_basis = {row["price_basis"]: row for row in rows}
    between = (by_basis["on demand"]["run_time"] + by_basis["spot"]["run_time"]) / 2
    result = search(Goal(**LLAMA | {"deadline": between}, **KINDS, max_gpus=64, confidence=0.5))
    own = f"Spot on these {result.chosen['nodes']} machines would cost $"
    (spot,) = [line for line in prices_compared(result) if line.startswith(own)]
    assert " less than on demand), but takes " in spot
    assert ": too late, with " in spot


def test_the_limit_of_gpus_is_named_with_what_more_would_keep():
    """With 512 GPUs neither limit can be kept; with more the deadline can, for a larger budget."""
    job = {"workload": "resnet50", "samples": 1e10, "precisions": ("amp",), "strategies": ("all-reduce",)}
    job |= {"instances": ("p3.16xlarge",), "local_batch_sizes": (64,), "max_global_batch_size": 2**18}
    goal = Goal(**job, deadline=12 * 3600.0, budget=5000.0)
    result = search(goal)
    first = advice(result)
    limit = "With at most 512 GPUs (the default of --max-gpus) no plan of known price is 80 % likely to meet "
    assert first.startswith(limit)
    (more,) = [one for one in alternatives(result) if one.option == "max-gpus"]
    size, time, cost = more.plan["world_size"], more.plan["run_time"], more.plan["cost"]
    with_more = f"It would be 80 % likely with {size:,} GPUs (--max-gpus {more.value}) and a budget of $"
    assert with_more in first
    assert f", expected to take {duration(time)} and {dollars(cost)}" in first
    kept = goal.model_copy(update={"max_gpus": more.value, "budget": more.along_with["budget"][1]})
    assert search(kept).met
    assert more.value == rounded_gpus(size)
    for fewer in (512, more.value - (100 if more.value > 1000 else 10)):
        assert not search(goal.model_copy(update={"max_gpus": fewer, "budget": None})).met
    assert "None is likely; the nearest is " in first
    given = advice(search(Goal(**job, deadline=12 * 3600.0, budget=5000.0, max_gpus=512)))
    assert given.startswith(
        "With at most 512 GPUs (--max-gpus) no plan of known price is 80 % likely to meet "
    )


def test_more_gpus_than_were_given_are_a_way_too_the_cheapest_first():
    """Of a deadline that the fastest plan keeps as predicted: fewer of another machine cost more."""
    asked = {"workload": "llama-2-7b", "tokens": 100e9, "max_gpus": 16}
    asked["instances"] = ("Standard_ND128isr_NDR_GB200_v6", "gpu-b200-sxm_8gpu-160vcpu-1792gb")
    fastest = search(Goal(**asked)).front[0]
    goal = Goal(**asked, deadline=math.sqrt(fastest["run_time"] * fastest["run_time_at_most"]))
    result = search(goal)
    assert result.front[0]["meets_deadline"]
    cheap, fewest = [one for one in alternatives(result) if one.option == "max-gpus"]
    assert cheap == alternatives(result)[0]
    assert payment(cheap.plan) < 0.8 * payment(fewest.plan)
    assert fewest.value < cheap.value
    for one in (cheap, fewest):
        assert search(goal.model_copy(update={"max_gpus": one.value})).chosen == one.plan
    assert not search(goal.model_copy(update={"max_gpus": fewest.value - 1})).met
    limit = "With at most 16 GPUs (--max-gpus) no plan of known price is 80 % likely to meet "
    assert advice(result).startswith(limit)
    assert f" likely with {cheap.value} GPUs (--max-gpus {cheap.value}) on " in advice(result)
    assert re.search(r"; or within 16 GPUs with .*; or [\d.]+ B tokens, ", advice(result))


def test_what_a_reservation_costs_is_fixed():
    result = search(Goal(epochs=90, instances=("p4d.24xlarge",), pricing=("reserved-1y",)))
    plan, term = result.chosen, dollars(result.chosen["committed_cost"])
    assert cost_at_most(plan) == term
    assert cost_interval(plan) == ""
    assert (
        time_interval(plan) == f"{duration(plan['run_time_low_80'])} to {duration(plan['run_time_high_80'])}"
    )
    assert f"{duration(plan['run_time'])}, {term}, the cheapest of all." in advice(result)
    spot = search(Goal(epochs=90, instances=("p4d.24xlarge",), budget=100.0, pricing=KINDS["pricing"]))
    assert re.search(r" \(as much as \d,\d+ such runs, spot; over the budget\)", advice(spot))


def test_a_surest_plan_that_differs_from_the_one_of_the_least_limit_says_how():
    """The widest interval has the best chance of a budget that is far too low, and the largest end."""
    result = search(Goal(epochs=90, instances=("gpu_1x_gh200",), budget=3.0))
    (one,) = alternatives(result)
    assert one.plan["precision"] != result.surest["precision"]
    assert f"(Lambda), {result.surest['precision']}, 2,048 samples on each, 2,048 a step, with " in advice(
        result
    )
    hopeless = search(Goal(epochs=90, instances=("gpu_1x_gh200",), budget=0.3))
    (one,) = alternatives(hopeless)
    assert hopeless.surest == one.plan
    nearest = (
        "None is likely; the nearest is 1 x GH200 Grace Hopper 96 GB (Lambda): 80 % likely to be at most"
    )
    assert f"{nearest} {dollars(one.value - 0.3)} over the budget." in advice(hopeless)


def test_a_search_takes_the_layouts_that_another_has_timed():
    goal = Goal(**LLAMA, instances=("p4d.24xlarge",), max_gpus=16)
    result, fewer = search(goal), search(goal.model_copy(update={"max_gpus": 8}))
    timed = dict.fromkeys(fewer.known, (None, 0, "not timed again"))
    again = search(goal.model_copy(update={"max_gpus": 8, "deadline": 86400.0}), known=dict(fewer.known))
    assert again.known == fewer.known
    assert set(fewer.known) < set(result.known)
    assert all(result.known[key] == fewer.known[key] for key in timed)
    with pytest.raises(InputError, match="not timed again"):
        search(fewer.goal, known=timed)


def test_progress_is_told_to_whoever_watches():
    told = []
    with watched(lambda done, total: told.append((done, total))):
        search(Goal(**LLAMA, instances=("p4d.24xlarge",), max_gpus=8))
    assert told[0][0] == 0
    assert all(0 <= done <= total for done, total in told)
    assert told[-1][0] == told[-1][1]
    tried(1, 2)
    assert told[-1] != (1, 2)


def half_done():
    tried(1, 2)
    return "done"


def test_a_page_reads_how_far_its_process_is(tmp_path):
    question, answer = tmp_path / "question", tmp_path / "answer"
    question.write_bytes(pickle.dumps((half_done, ())))
    assert bounded._progress(answer) == ""
    bounded_worker.work(str(question), str(answer))
    assert pickle.loads(answer.read_bytes()) == (True, "done")
    assert bounded._progress(answer) == "1 of 2 tried, "


def test_the_page_shows_each_kind_of_price_and_the_figures_of_the_command():
    page = opened(
        "plan", workload="gpt2", instance="p4d.24xlarge", pricing="on-demand,spot", **{"max-gpus": "8"}
    )
    page.session_state["fold-More on this plan, and others to consider"] = True
    page.run()
    (kinds,) = [each.value for each in page.markdown if "| kind of price |" in each.value]
    assert re.findall(r"^\| (on demand|spot) \|", typed(kinds), re.MULTILINE) == ["on demand", "spot"]
    assert re.search(r"tokens/s, MFU [\d.]+\s?%", words(page))
    assert "of the time is work kept" in words(page)


def test_one_probability_decides_and_one_interval_stands_for_an_amount():
    """Amounts that hold with 80 %, the memory's risk in them, are other ones than the interval's ends."""
    result = search(Goal(**SPOT))
    card, plan = card_of_plan(result), result.chosen
    assert plan["memory"]["fits_probability"] < CERTAIN
    chance = percent(plan["probability"])
    assert f"; {chance} likely to fit and to keep it. It may not fit into memory" in card.advice
    assert card.chance.startswith(f"{chance} to fit and to keep the deadline; the risk")
    for amounts in (card.advice, card.run, card.cost, *verdict(result)):
        assert "take at most" not in amounts
        assert "likely to take longer" not in amounts
    assert f"(80 %: {time_interval(plan)})" in card.run
    assert f"(80 %: {cost_interval(plan)})" in card.cost
    fits = search(Goal(**LLAMA, instances=("p5.48xlarge",), max_gpus=8, budget=1e9))
    assert f"; {percent(fits.chosen['probability'])} likely to fit and to keep both." in advice(fits)


def test_a_chance_is_said_to_be_of_the_memory_too_where_that_is_its_risk():
    """A run of 5 h cannot miss 5 days: the 2 % are those of the memory, in which it all but surely fits."""
    job = {"workload": "resnet50", "epochs": 90, "nodes": ("dgx-1v",), "prices": {"dgx-1v": 12.0}}
    result = search(Goal(**job, max_gpus=8, deadline=5 * 86400.0))
    assert result.chosen["memory"]["fits_probability"] >= CERTAIN
    assert result.chosen["deadline_risk"] < 1e-6
    assert "; 98 % likely to fit and to keep it." in advice(result)
    assert card_of_plan(result).chance.startswith(
        "98 % to fit and to keep the deadline; the risk is the memory"
    )
    late = search(Goal(**job, max_gpus=8, deadline=1.2 * result.chosen["run_time"], confidence=0.5))
    assert " % likely to keep it." in advice(late)


def test_the_risks_of_a_plan_are_named_the_largest_first():
    goal = Goal(**SPOT, budget=1e9)
    result = search(goal)
    plan, prediction = result.chosen, result.predicted(result.chosen)
    risky = plan | {"probability": 0.8, "deadline_risk": 0.05, "budget_risk": 0.001}
    risky["memory"] = plan["memory"] | {"fits_probability": 0.85}
    assert "; the risks are the memory and the deadline" in chance_words(risky, goal, prediction)
    sure = risky | {"memory": plan["memory"] | {"fits_probability": 1.0}}
    assert "; the risk is the deadline" in chance_words(sure, goal, prediction)


@pytest.mark.any_version
def test_every_plan_of_a_table_has_a_verdict():
    result = search(Goal(epochs=90, deadline=86400.0, budget=500.0, max_gpus=64))
    rows = [*result.front, *result.rejected]
    verdicts = [verdict_of(row, result.in_short) for row in rows]
    assert set(verdicts) >= {"take", "under 80 % sure", "dearer", "dearer and slower", "over the budget"}
    assert all(verdicts)
    by_time = search(Goal(epochs=90, budget=500.0, instances=("p3.16xlarge",), max_gpus=64))
    assert {verdict_of(row, by_time.in_short) for row in by_time.front} == {"take", "slower"}
    assert chance_heading(result.in_short["goal"]) == "chance"
    assert chance_heading(search(Goal(epochs=90, instances=("p3.16xlarge",))).in_short["goal"]) == "fits"


@pytest.mark.parametrize(
    ("asked", "verb"),
    [({"lora": 16}, "fine-tune"), ({}, "train"), ({"tokens": 100e9}, "train")],
)
def test_a_run_by_adapters_alone_is_a_fine_tuning(asked, verb):
    options = {name: value for name, value in asked.items() if name == "lora"}
    goal = Goal(workload="llama-3-8b", tokens=asked.get("tokens", 1e12), options=options)
    length = "100 B" if "tokens" in asked else "1 T"
    assert goal.purpose == f"{verb} Llama 3 8B on {length} tokens"
    assert Goal(epochs=90).purpose == "train ResNet-50"


def test_a_page_calls_a_kind_of_price_as_its_field_does():
    page = opened("plan", workload="llama-3-8b", tokens="1B", instance="p4d.24xlarge", pricing="spot")
    assert "What to rent to train Llama 3 8B on 1 B tokens?" in [each.value for each in page.subheader]
    assert "Kind of price" in [each.label for each in page.multiselect]
    said = labelled(
        "no plan keeps it (--pricing on-demand,reserved-1y), or --pricing spot (default: on-demand)"
    )
    assert said == (
        "no plan keeps it (“Kind of price” on demand and reserved for 1 year), "
        "or “Kind of price” spot (default: on demand)"
    )


def test_the_rate_of_interruptions_says_that_chances_count_it():
    """As it is: with a rate that is given, not assumed, the same plan is surer."""
    asked = {**LLAMA, "instances": ("p4d.24xlarge",), "pricing": ("spot",), "max_gpus": 16}
    assumed = search(Goal(**asked))
    rests = card_of_plan(assumed).rests_on
    assert rests.endswith(" at one standard deviation, which intervals and chances count")
    rate = Catalogue.built_in().interruptions[0].per_machine_hour
    given = search(Goal(**asked, conditions=Conditions(interruptions=rate)))
    assert given.chosen["run_time"] == pytest.approx(assumed.chosen["run_time"])
    assert given.chosen["run_time_high_80"] < assumed.chosen["run_time_high_80"]


@pytest.mark.any_version
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("--pricing spot", "no price spot being known (--price)"),
        ("--pricing on-demand,spot", "no price on demand or spot being known (--price)"),
        (
            "--pricing owned --purchase-price dgx-h100=300000",
            "no price to buy them being known (--purchase-price)",
        ),
    ],
)
def test_the_price_that_is_not_known_is_named_with_its_option(asked, said, invoke):
    nodes = "dgx-h100,dgx-a100-80gb" if "owned" in asked else "dgx-a100-80gb,aws-p4d.24xlarge"
    printed = invoke("plan", "--epochs", 1, "--max-gpus", 16, "--node", nodes, *asked.split()).stdout
    assert f"Left out, {said}: 8 x A100 SXM4 80 GB" in " ".join(printed.split())
