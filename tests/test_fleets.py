"""A fleet that grows: mixed machines, networks, prices, and when what is bought pays back."""

from __future__ import annotations

import doctest
import json
import math
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.core.units import duration
from perfmodel.decide.planning.fleets import Fleets, Job
from perfmodel.decide.planning.fleets.card import advice_beside_chart
from perfmodel.decide.planning.fleets.option_words import gain_words, run_words
from perfmodel.decide.planning.fleets.payback_words import payback_words, price_words
from perfmodel.decide.planning.fleets.shares import Units, whole_shares
from perfmodel.decide.planning.fleets.step import Part, mixed_step, steps_of
from perfmodel.decide.planning.fleets.switch_tree import switches
from perfmodel.decide.planning.fleets.written import joined, read_addition, read_fleet
from perfmodel.equations.distribution import Distribution
from perfmodel.equations.heterogeneous import slowest_of_kinds
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import main
from perfmodel.interfaces.reports.fleet import page_of_fleets

pytestmark = pytest.mark.any_version
PAGE = Path(__file__).parents[1] / "docs" / "fleets.md"
BUILT_IN = Catalogue.built_in()
JOB = {"workload": "bert-large", "local_batch_size": 32}
STATED = {"workload": "bert-large", "local_batch_size": 16}
"""The default batch, given."""
HAVE = "8 x dgx-a100-80gb"
GROWN = "if the job's batch may grow from 1,024 samples to 1,536"
"""On what four more DGX A100 rest at that batch."""
ASSUMED = GROWN.replace("samples", "samples (assumed)")
SAME = "if it must stay at 1,024 (taken as 960, which 64 and 96 GPUs share equally): "
"""What stands before figures of both fleets at about that batch."""


def run(*words):
    return CliRunner().invoke(main, ["plan", *words])


@pytest.fixture(scope="module")
def mixed():
    """Four DGX H100 beside eight DGX A100, at known prices."""
    return perfmodel.fleets(
        HAVE,
        ["4 x dgx-h100", "4 x dgx-a100-80gb", "ib-ndr-400g"],
        **JOB,
        samples=1e9,
        purchase_prices={"dgx-h100": 350e3, "dgx-a100-80gb": 150e3},
        hour_value=180,
    )


def _time(one):
    return duration(one.run_time)


def test_the_advice_has_its_numbers_once_and_one_sentence_on_shares_by_speed():
    bought = ["4 x dgx-a100-80gb", "4 x dgx-h100", "4 x dgx-b200"]
    answer = perfmodel.fleets(HAVE, bought, **STATED, samples=1e9, purchase_prices={"dgx-a100-80gb": 150e3})
    advice = answer.card.advice
    (best, *_) = answer.options
    assert advice.startswith(
        f"Add 4 x NVIDIA DGX A100 80 GB {GROWN}: {best.ratio.speed()}, a predicted "
        f"{duration(best.run_time)} instead of {duration(answer.have.run_time)}; pays back after "
        f"{duration(best.payback.time)} at work. "
    )
    assert "It is " not in advice  # shares by speed are faster, and no other price is known
    assert "pays back after" in answer.card.cost
    assert " runs (80 %: " in answer.card.cost
    assert advice.count(best.ratio.speed()) == 1
    assert best.run_time_low_80 < answer.have.run_time < best.run_time_high_80
    assert best.ratio.low_80 > 1
    assert answer.card.run.endswith(f", with 1,536 samples a step; today a predicted {_time(answer.have)}")
    assert answer.card.rests_on.endswith("; the times with it and of today share most of their error")
    h100, b200 = (one for one in answer.options if one.policy == "shares by speed")
    assert b200.samples_per_second == pytest.approx(h100.samples_per_second, rel=0.01)
    assert advice.endswith(
        f" With software that gives faster GPUs more samples, 4 x NVIDIA DGX H100 ({h100.ratio.order}) or "
        f"4 x NVIDIA DGX B200 ({b200.ratio.order}) would be {h100.ratio.value:.3g} x as fast; "
        "stock data parallelism does not do that."
    )


def test_a_run_of_today_is_scaled_by_the_ratio_of_two_predictions():
    answer = perfmodel.fleets(HAVE, "4 x dgx-a100-80gb", **STATED, run_time="18h")
    (more,) = answer.options
    hours = [18 / each for each in (more.ratio.value, more.ratio.high_80, more.ratio.low_80)]
    times = more.run_time, more.run_time_low_80, more.run_time_high_80
    assert [time / 3600 for time in times] == pytest.approx(hours)
    assert answer.have.run_time == 18 * 3600
    assert answer.card.advice == (
        f"With 4 x NVIDIA DGX A100 80 GB more {GROWN}: 18 h become {hours[0]:.3g} h (80 %: {hours[1]:.3g} h "
        f"to {hours[2]:.3g} h), {more.ratio.value:.3g} x as fast. I{SAME[1:]}{_time(more.same_batch)}, "
        f"{more.same_batch.ratio.times()}, {more.same_batch.ratio.order}."
    )
    assert answer.card.run == f"{run_words(more)}, with 1,536 samples a step; today 18 h"
    cancels = "your 18 h times the ratio of two predictions, in which their common error cancels; "
    assert answer.card.rests_on.startswith(cancels)
    assert answer.run_check is None
    late = perfmodel.fleets(HAVE, "4 x dgx-a100-80gb", **JOB, run_time="18h", deadline="12.5h").options[0]
    assert late.meets_deadline is (late.run_time < 12.5 * 3600)


def test_what_rests_on_a_larger_step_says_what_the_same_step_gives():
    job = {"workload": "bert-large", "run_time": "18h"}
    (more,) = perfmodel.fleets(HAVE, "4 x dgx-a100-80gb", **job).options
    fixed = perfmodel.fleets(HAVE, "4 x dgx-a100-80gb", **job, global_batch_size=960)
    (same,) = fixed.options
    assert same.same_batch is None
    assert "960" not in fixed.card.advice + fixed.card.cost + fixed.card.chance
    for name in type(more.same_batch).model_fields:
        assert getattr(more.same_batch, name) == getattr(same, name), name
    answer = perfmodel.fleets(HAVE, "4 x dgx-a100-80gb", **job)
    assert answer.card.cost.endswith(
        f"; with 960 samples a step: pays back if it costs less than {price_words(same)}"
    )
    assert f"{same.ratio.times()}, {same.ratio.order}." in answer.card.advice
    priced = perfmodel.fleets(HAVE, "4 x dgx-a100-80gb", **job, purchase_prices={"dgx-a100-80gb": 150e3}).card
    assert "960" not in priced.run + priced.cost + priced.chance  # figures of the larger batch alone
    assert f"Not {SAME}" in priced.advice
    printed = run("--have", HAVE, "--buy", "4 x dgx-a100-80gb", "--workload", "bert-large").output
    assert f"with 960 samples a step: {price_words(same)}" in " ".join(printed.split())
    costs = page_of_fleets(answer, None, BUILT_IN).tables[2].rows
    assert f"; with 960 samples a step: {payback_words(same)}" in costs[0][1]
    assert answer.records()[1]["same_batch_ratio"] == same.ratio.value


def test_advice_that_the_same_step_does_not_bear_out_says_not():
    job = {**STATED, "run_time": "18h", "hour_value": 180}
    dear = perfmodel.fleets(
        HAVE, "4 x dgx-a100-80gb", **job, purchase_prices={"dgx-a100-80gb": 300_000}, switch_prices=0
    )
    (more,) = dear.options
    assert more.payback.within_life
    assert not more.same_batch.payback.within_life
    assert dear.card.advice.startswith(f"Add 4 x NVIDIA DGX A100 80 GB {GROWN}: ")
    assert f" Not {SAME}" in dear.card.advice
    assert "; pays back only after " in dear.card.advice
    assert ", which is after it is written off." in dear.card.advice
    prices = {"purchase_prices": {"dgx-a100-80gb": 150_000}, "switch_prices": 0}
    advice = perfmodel.fleets(HAVE, ["4 x dgx-a100-80gb", "4 x dgx-h100"], **job, **prices).card.advice
    assert "worth $180), if the job's batch may grow with the GPUs." in advice
    late = perfmodel.fleets(HAVE, "4 x dgx-a100-80gb", **job, deadline="13h").card.advice
    assert "; meets the deadline of 13 h. Not " in late
    assert f" Not {SAME}" in late
    assert "; too late for the deadline." in late


def test_a_batch_that_nobody_gave_is_said_first_with_what_others_would_give():
    job = {"workload": "bert-large", "run_time": "18h"}
    answer = perfmodel.fleets(HAVE, "4 x dgx-a100-80gb", **job)
    (more,) = answer.options
    batches = [more.same_batch, *more.other_batches]
    assert [one.global_batch_size for one in batches] == [960, 4032, 16320]
    for one in batches:
        (given,) = perfmodel.fleets(
            HAVE, "4 x dgx-a100-80gb", **job, global_batch_size=one.global_batch_size
        ).options
        assert (given.run_time, given.ratio) == (one.run_time, one.ratio)
    same, middle, large = (f"{duration(one.run_time)}" for one in batches)
    times = [one.ratio.times() for one in batches]
    first, rest = advice_beside_chart(answer)
    assert first == (
        f"With 4 x NVIDIA DGX A100 80 GB more {ASSUMED}: 18 h become {run_words(more)}, "
        f"{more.ratio.times()}. I{SAME[1:]}{same}, {times[0]}, {more.same_batch.ratio.order}."
    )
    assert rest == [
        f"Your batch decides (state it: --global-batch-size): {middle} with 4,032 samples before and after "
        f"({times[1]}), {large} with 16,320 ({times[2]})."
    ]
    assert answer.card.advice == " ".join([first, *rest])
    condition = ", with 1,536 samples a step: "
    assert answer.card.chance.startswith(f"{more.ratio.order}{condition}")
    assert answer.is_batch_assumed
    assert answer.headline.endswith("batch 16 each (assumed)")
    dear = perfmodel.fleets(HAVE, "4 x dgx-a100-80gb", workload="bert-large", prices={"dgx-a100-80gb": 1e6})
    assert dear.card.advice.startswith(
        "Keep what you have, assuming a step of 1,024 samples today (16 on each of 64 GPUs); state yours "
        "(--global-batch-size). "
    )
    assert advice_beside_chart(dear) == (dear.card.advice, [])  # why stands with it


def test_a_batch_that_is_given_has_no_condition_and_no_second_story():
    job = {"workload": "bert-large", "run_time": "18h", "global_batch_size": 30_720}
    bought = ["4 x dgx-h100", "4 x dgx-a100-80gb"]
    answer = perfmodel.fleets(HAVE, bought, **job)
    assert not answer.is_batch_assumed
    assert all(not one.other_batches and one.same_batch is None for one in answer.options)
    card = answer.card
    assert not re.search(r"may grow|assum|--global-batch-size|before and after", card.advice + card.chance)
    assert "assumed" not in answer.headline


def test_more_of_the_same_leads_unless_another_option_is_surely_faster():
    job = {"workload": "bert-large", "run_time": "18h", "global_batch_size": 30_720}
    answer = perfmodel.fleets(HAVE, ["4 x dgx-h100", "4 x dgx-a100-80gb"], **job)
    h100, _, same = answer.options
    assert h100.ratio.value > same.ratio.value
    assert answer.card.advice.startswith("With 4 x NVIDIA DGX A100 80 GB more: 18 h become ")
    rival = f"Expected to be as fast: 4 x NVIDIA DGX H100, equal shares, {h100.ratio.speed()}."
    assert rival in advice_beside_chart(answer)[1]
    assert answer.card.chance == f"{same.ratio.order}: {same.ratio.speed()}"
    in_time = perfmodel.fleets(HAVE, ["4 x dgx-h100", "4 x dgx-a100-80gb"], **job, deadline="13h").card
    assert in_time.advice.startswith("Add 4 x NVIDIA DGX A100 80 GB: ")
    many = perfmodel.fleets(HAVE, ["1 x dgx-a100-80gb", "7 x dgx-h100"], **STATED)
    few, equal = many.options[0].ratio, many.options[1].ratio
    assert equal.low_80 < few.high_80 < equal.value
    assert many.card.advice.startswith("With 1 x NVIDIA DGX A100 80 GB more if the job's batch may grow ")
    assert "Faster, but not surely: 7 x NVIDIA DGX H100, equal shares, " in many.card.advice
    slow = perfmodel.fleets("4 x dgx-1v@ethernet-10g-tcp", ["1 x dgx-1v", "ethernet-100g-rdma"], **STATED)
    more, network = (one.ratio for one in slow.options)
    assert more.high_80 < network.low_80
    assert slow.card.advice.startswith("With 100 Gbit/s Ethernet with RDMA: ")


def test_a_step_that_is_not_larger_or_cannot_be_the_same_has_no_second_figure():
    network, tiny = (
        perfmodel.fleets(HAVE, buy, workload="bert-large", local_batch_size=1)
        for buy in ("ib-ndr-400g", "4 x dgx-a100-80gb")
    )
    assert network.options[0].same_batch is tiny.options[0].same_batch is None
    assert "may grow" not in network.card.advice
    assert "if the job's batch may grow from 64 samples to 96: " in tiny.card.advice


@pytest.mark.parametrize(("hours", "is_far"), [(18, False), (60, True), (5, True)])
def test_a_run_of_today_is_checked_against_its_prediction(hours, is_far):
    job = {"workload": "bert-large", "samples": 1e9}
    predicted = perfmodel.fleets(HAVE, "4 x dgx-a100-80gb", **job).have
    answer = perfmodel.fleets(HAVE, "4 x dgx-a100-80gb", **job, run_time=hours * 3600)
    check = answer.run_check
    assert (check.given, check.is_far) == (hours * 3600, is_far)
    assert (check.predicted, check.low_80, check.high_80) == pytest.approx(
        (predicted.run_time, predicted.run_time_low_80, predicted.run_time_high_80)
    )
    predicted = f"your {hours} h, for which we would have predicted {duration(check.predicted)} (80 %: "
    assert answer.card.rests_on.startswith(predicted)
    said = advice_beside_chart(answer)[0]
    assert (f"Your {hours} h are far off: we would have predicted" in said) is is_far


def test_the_most_machines_are_not_advised_for_being_the_most():
    for counts in ([], ["4 x dgx-a100-80gb", "8 x dgx-a100-80gb"]):
        answer = perfmodel.fleets(HAVE, counts, workload="bert-large", run_time="18h")
        first, _, _, *others = answer.card.advice.split(". ")
        assert first.startswith(f"With 4 x NVIDIA DGX A100 80 GB more {ASSUMED}: 18 h become ")
        (second,) = (each for each in others if each.startswith("8 x NVIDIA DGX A100 80 GB: 18 h become "))
        assert ", with 2,048 samples a step" in second
    prices = {"dgx-a100-80gb": 150e3}
    counts += ["4 x dgx-h100"]
    many = perfmodel.fleets(HAVE, counts, **STATED, run_time="18h", deadline="10h", purchase_prices=prices)
    assert "Expected to be as fast" not in many.card.advice  # as what is advised
    assert many.card.advice.startswith("Add 8 x NVIDIA DGX A100 80 GB if the job's batch may grow ")
    assert "Fastest" not in many.card.advice  # of fewer machines, which are slower
    with_idle = perfmodel.fleets(
        "16 x dgx-a100-80gb",
        ["1 x dgx-a100-80gb", "16 x dgx-a100-80gb"],
        workload="llama-2-70b",
        global_batch_size=1024,
    )
    assert with_idle.card.advice.startswith("With 16 x NVIDIA DGX A100 80 GB more: ")


def test_a_highest_price_leads_only_where_money_was_asked_about_and_says_what_it_rests_on():
    job = {"workload": "bert-large", "local_batch_size": 32}
    basis = "(over 4 years, always at work, each hour of what you have worth $178.56)"
    silent = perfmodel.fleets(HAVE, "4 x dgx-a100-80gb", **job).card
    assert "pays back" not in silent.advice
    assert basis in silent.cost
    rented = perfmodel.fleets("2 x p4d.24xlarge", "4 x p4d.24xlarge", **job, run_time="18h").card
    grown = "if the job's batch may grow from 512 samples to 1,536"
    assert rented.advice.startswith(f"With 4 x AWS p4d.24xlarge more {grown}: 18 h become ")
    assert "; never pays back: it costs $" in rented.advice
    told = perfmodel.fleets(
        HAVE, "4 x dgx-a100-80gb", **job, hour_value=180, conditions=perfmodel.Conditions(used_fraction=0.5)
    ).card
    assert "pays back if it costs less than $" in told.advice
    assert "(over 4 years, 50 % of the time at work, each hour of what you have worth $180)" in told.advice


def test_a_workload_that_nobody_named_is_said():
    said, _ = advice_beside_chart(perfmodel.fleets(HAVE, "4 x dgx-a100-80gb"))
    assert said.endswith(" Taken as ResNet-50 (default): give --workload if it is another.")
    named = perfmodel.fleets(HAVE, "4 x dgx-a100-80gb", workload="resnet50")
    assert "Taken as" not in named.card.advice


def steps(bought, options=None):
    job = Job(JOB if options is None else options, BUILT_IN)
    own = read_fleet(HAVE, BUILT_IN)
    fleet = joined(own, BUILT_IN, read_addition(bought, BUILT_IN), joined(own, BUILT_IN).network)
    return job, fleet, steps_of(job, fleet)


def test_the_documented_example_is_what_is_printed_and_adds_up():
    text = PAGE.read_text("utf-8")
    command, output = (re.search(rf"```{kind}\n(.*?)```", text, re.DOTALL)[1] for kind in ("sh", "text"))
    done = CliRunner().invoke(main, shlex.split(command)[1:])
    assert "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip() == output.strip()
    assert doctest.testfile(str(PAGE), module_relative=False).failed == 0
    words = " ".join(text.replace("**", "").split())
    have, same, slowest, shares = 93.2, 93.3, 93.3, 67.6  # steps worked by hand [ms]
    assert f"87.6 + 5.6 = {have:.1f}" in words
    assert f"max(87.6 + 5.8, 37.2 + 14.8) = {slowest}" in words
    assert f"63.3 + 4.3 = {shares}" in words
    answer = json.loads(CliRunner().invoke(main, [*shlex.split(command)[1:], "--json"]).stdout)
    each = [answer["have"], *answer["options"]]
    times = [1000 * one["iteration_time"] for one in each]
    assert times == pytest.approx([have, same, slowest, shares], abs=0.05)
    assert [one["payback"]["time"] / 3600 for one in answer["options"]] == pytest.approx(
        [7600, 16541, 7703], abs=0.5
    )
    assert [one["purchase"]["capital"] for one in answer["options"]] == [680e3, 1480e3, 1480e3]
    rates = [one["samples_per_second"] for one in each]
    assert pytest.approx(rates[1] / rates[0], abs=5e-4) == 32910 / 21983
    assert pytest.approx(
        tuple(answer["options"][i]["payback"]["gain_per_hour"] for i in (0, 2)), rel=2e-3
    ) == (180 * 0.4971, 180 * 1.0674)


def test_more_of_the_same_is_what_predict_says(mixed):
    same = next(one for one in mixed.options if one.option.endswith("a100-80gb"))
    answer = perfmodel.predict(**JOB, node="dgx-a100-80gb", gpus=96)
    assert same.iteration_time == answer.iteration_time
    assert same.interval == answer.interval
    ratio = perfmodel.scale(**JOB, node="dgx-a100-80gb", gpus=[64, 96]).rows[1].ratio
    assert (same.ratio.value, same.ratio.low_80, same.ratio.high_80) == pytest.approx(
        (ratio.value, ratio.low_80, ratio.high_80)
    )


def test_two_halves_of_one_kind_are_the_whole():
    """The step of a mixed fleet, of machines that are in truth alike, is the step of one kind."""
    job, fleet, (step,) = steps("4 x dgx-a100-80gb")
    part, group = step.parts[0], step.parts[0].group
    halves = [Part(group._replace(machines=n), part.prediction, part.samples) for n in (8, 4)]
    whole = mixed_step(job, fleet, halves, "slowest paces")
    assert whole.iteration_time == pytest.approx(step.iteration_time, rel=1e-9)
    assert whole.samples == step.samples


def test_the_slowest_of_two_kinds_is_waited_for():
    law = Distribution("lognormal", (1.0, 0.1))
    random = np.random.default_rng(1)
    sigma = math.sqrt(math.log1p(0.1**2))
    drawn = np.exp(sigma * random.standard_normal((200_000, 12)) - sigma**2 / 2)
    simulated = np.max(drawn * np.array([1.0] * 8 + [0.95] * 4), axis=1).mean()
    assert slowest_of_kinds([(1.0, 8), (0.95, 4)], law) == pytest.approx(simulated, rel=1e-3)
    assert slowest_of_kinds([(1.0, 8), (0.1, 4)], law) == pytest.approx(slowest_of_kinds([(1.0, 8)], law))


def test_a_faster_kind_that_waits_adds_no_more_than_one_as_slow(mixed):
    slowest, shares, same = mixed.options[:3]
    assert slowest.policy == "slowest paces"
    assert shares.policy == "shares by speed"
    assert same.samples_per_second <= slowest.samples_per_second < 1.01 * same.samples_per_second
    assert shares.samples_per_second > 1.1 * slowest.samples_per_second
    assert slowest.paced_by == "8 x dgx-a100-80gb"
    old, new = shares.kinds
    assert 64 * old.samples_per_gpu + 32 * new.samples_per_gpu == shares.global_batch_size
    assert shares.global_batch_size == slowest.global_batch_size == 3072
    ends = [kind.own_time + kind.exposed_time for kind in (old, new)]
    assert ends[0] == pytest.approx(ends[1], rel=0.05)  # nobody waits for long
    assert slowest.kinds[0].own_time > 1.3 * slowest.kinds[1].own_time


def test_every_other_share_is_slower():
    job, fleet, (_, best) = steps("4 x dgx-h100")
    old = best.parts[0].samples
    for share in range(16, 32):
        other = (3072 - 64 * share) // 32
        if share == old:
            continue
        parts = []
        for group, samples in zip(fleet.groups, (share, other), strict=True):
            parts.append(Part(group, job.on(group, fleet, local_batch_size=samples), samples))
        assert mixed_step(job, fleet, parts, "shares by speed").samples_per_second < best.samples_per_second


def test_a_slower_network_of_the_new_machines_paces_all():
    fast, slow = (steps(f"4 x dgx-h100@{link}")[2][0] for link in ("ib-hdr-200g", "ib-edr-100g"))
    assert (fast.fleet.network, slow.fleet.network) == ("ib-hdr-200g", "ib-edr-100g")
    assert slow.iteration_time > fast.iteration_time
    exchange = [part.exchange_time for part in slow.parts]
    pacing = max(slow.parts, key=lambda part: part.own_time)
    stragglers = slow.iteration_time - pacing.own_time - pacing.exposed_time
    assert stragglers >= max(exchange) - pacing.exchange_time


def test_an_interval_says_what_the_waiting_kind_may_do(mixed):
    slowest, shares, same = (one.ratio for one in mixed.options[:3])
    assert slowest.low_80 < same.low_80  # the new machines may turn out slower than the old
    assert slowest.high_80 < slowest.value * (same.value / same.low_80) * 1.01  # but faster is no help
    assert shares.low_80 < shares.value < shares.high_80
    for one in mixed.options:
        assert one.interval.low_80 < one.iteration_time < one.interval.high_80
        assert one.run_time_low_80 < one.run_time < one.run_time_high_80


def test_payback_is_what_an_account_by_the_hour_comes_to(mixed):
    for one in mixed.options[:3]:
        earned = hours = 0.0
        while earned < one.purchase.capital:
            earned += 180 * (one.ratio.value - 1)
            hours += 1
        assert one.payback.time / 3600 == pytest.approx(hours, abs=1)
        assert one.payback.soonest_80 < one.payback.time
        assert one.payback.jobs == pytest.approx(one.payback.time / one.run_time)


def test_a_rent_of_more_of_the_same_never_beats_renting():
    """Scaling loses a little, so that rented machines add less than what an hour of them costs."""
    answer = perfmodel.fleets("8 x p4d.24xlarge", "4 x p4d.24xlarge", workload="vgg16")
    (option,) = answer.options
    price = option.purchase.items[0].each
    assert answer.work_value.usd_per_hour == pytest.approx(8 * price)
    assert option.purchase.rent == pytest.approx(4 * price)
    assert option.purchase.capital == 0
    gain = 8 * price * (option.ratio.value - 1) - 4 * price
    assert option.payback.gain_per_hour == pytest.approx(gain)
    assert gain < 0
    assert option.payback.time is None


def test_electricity_and_time_at_work():
    asked = {"purchase_prices": {"dgx-a100-80gb": 150e3}, "hour_value": 180, **JOB}
    plain, powered = (
        perfmodel.fleets(HAVE, "4 x dgx-a100-80gb", conditions=conditions, **asked).options[0]
        for conditions in (
            perfmodel.Conditions(used_fraction=0.5),
            perfmodel.Conditions(used_fraction=0.5, electricity_price=0.2),
        )
    )
    assert plain.payback.calendar_time == pytest.approx(2 * plain.payback.time)
    assert 0 < powered.purchase.electricity < 32 * 0.4 * 0.2 * 1.1  # 400 W each at most
    lost = plain.payback.gain_per_hour - powered.payback.gain_per_hour
    assert lost == pytest.approx(powered.purchase.electricity)


def test_prices_that_nobody_said_are_absent(mixed):
    network = mixed.options[-1]
    assert network.purchase.capital is None
    assert network.payback is None
    assert any("--adapter-price ib-ndr-400g" in line for line in network.purchase.unknown)
    assert any("--switch-price ib-ndr-400g" in line for line in network.purchase.unknown)
    life = 4 * 365.25 * 24
    assert network.worth == pytest.approx(180 * (network.ratio.value - 1) * life)
    known = perfmodel.fleets(
        HAVE, "ib-ndr-400g", **JOB, hour_value=180, adapter_prices=1500, switch_prices={"ib-ndr-400g": 0}
    ).options[0]
    assert known.purchase.capital == 64 * 1500


def test_adapters_that_come_with_a_machine_are_not_bought():
    answer = perfmodel.fleets(
        HAVE, "4 x dgx-h100 + ib-ndr-400g", **JOB, adapter_prices=1500, switch_prices=0, hour_value=180
    )
    adapters = [item.count for item in answer.options[0].purchase.items if "adapter" in item.what]
    assert adapters == [64]  # of the eight DGX A100; a DGX H100 has them
    assert answer.options[0].network == "ib-ndr-400g"


def costs_of(have, *buy, **prices):
    given = {"purchase_prices": {"dgx-a100-80gb": 150e3}, "adapter_prices": 1500, "switch_prices": 20e3}
    answer = perfmodel.fleets(have, buy, **JOB, hour_value=180, **{**given, "switch_ports": 64, **prices})
    return [one.purchase for one in answer.options]


def test_a_network_that_is_there_is_not_paid_again_and_new_machines_get_its_adapters():
    have = "8 x dgx-a100-80gb@ib-ndr-400g"
    more, named, same = costs_of(have, "4 x dgx-a100-80gb", "4 x dgx-a100-80gb + ib-ndr-400g", "ib-ndr-400g")
    # four machines at 150,000, 32 adapters at 1,500; 96 ports take 5 switches of 64, 64 took one
    assert more.capital == named.capital == 4 * 150e3 + 32 * 1500 + 4 * 20e3 == 728e3
    assert (same.capital, same.items) == (0, [])
    (usual,) = costs_of(HAVE, "ib-hdr-200g")
    assert usual.capital == 0
    (other,) = costs_of(HAVE, "4 x dgx-a100-80gb + ib-ndr-400g")
    assert other.capital == 4 * 150e3 + 96 * 1500 + 5 * 20e3
    faster, _ = costs_of(HAVE, "4 x dgx-h100", purchase_prices={"dgx-h100": 350e3})
    assert faster.capital == 4 * 350e3 + 4 * 20e3  # its adapters of 400 Gbit/s run at 200, too
    (without,) = costs_of(have, "4 x dgx-a100-80gb", adapter_prices=None)
    assert without.capital == 680e3
    assert without.left_out == [
        "price of 32 InfiniBand NDR 400 Gbit/s adapters: --adapter-price ib-ndr-400g=USD"
    ]


def test_the_first_switch_is_bought_and_one_machine_has_no_use_for_any():
    (second,) = costs_of("1 x dgx-a100-80gb", "1 x dgx-a100-80gb")
    assert second.capital == 150e3 + 20e3
    with pytest.raises(InputError, match="one machine has no use for a network"):
        costs_of("1 x dgx-a100-80gb", "ib-ndr-400g")


def test_a_price_of_switches_without_their_ports_leaves_the_cost_unknown():
    (without,) = costs_of(HAVE, "4 x dgx-a100-80gb", switch_ports=None)
    assert without.capital is None
    assert without.unknown == [
        "ports of a switch of InfiniBand HDR 200 Gbit/s: --switch-price ib-hdr-200g=USD with "
        "--switch-ports ib-hdr-200g=N"
    ]
    (few,) = costs_of(HAVE, "4 x dgx-a100-80gb", switch_ports=4)  # three levels join 16
    assert few.capital is None
    assert "96 ports are more than three levels of switches with 4 ports join" in few.unknown[0]


@pytest.mark.parametrize(("ports", "each", "count"), [(8, 8, 1), (128, 16, 24), (1024, 16, 320), (16, 4, 20)])
def test_switches_of_full_trees(ports, each, count):
    """Full trees: k ports on 1, k^2 / 2 on 3 k / 2, k^3 / 4 on 5 k^2 / 4 (Al-Fares et al. 2008)."""
    assert switches(ports, each) == count


def test_transformers_are_shared_out_and_replicas_stay_on_one_kind():
    answer = perfmodel.fleets(HAVE, "4 x dgx-h100", workload="llama-3-8b", tokens=1e12)
    slowest, shares = answer.options
    assert shares.ratio.value > 1.3 * slowest.ratio.value
    assert shares.layout["data_parallel"] > 1
    old, new = shares.kinds
    total = 64 * old.samples_per_gpu + 32 * new.samples_per_gpu
    assert total == shares.global_batch_size
    assert answer.have.run_time == pytest.approx(1e12 / 8192 / answer.have.samples_per_second)
    large = perfmodel.fleets("8 x dgx-a100-80gb", "1 x dgx-h100", workload="llama-3-70b").options[0].layout
    ranks = large["tensor_parallel"] * large["pipeline_parallel"] * large["context_parallel"]
    assert 64 % ranks == 8 % ranks == 0
    job = Job({"workload": "llama-3.1-405b"}, BUILT_IN)
    uneven = read_fleet("20 x dgx-a100-80gb + 1 x gcp-a3-highgpu-1g@ib-hdr-200g", BUILT_IN)
    with pytest.raises(InputError, match=r"no layout .*replicas on 20 x dgx-a100-80gb \+ 1 x gcp"):
        steps_of(job, joined(uneven, BUILT_IN))


def test_interleaved_stages_take_shares_in_multiples():
    answer = perfmodel.fleets("16 x dgx-a100-80gb", "4 x dgx-h100", workload="llama-2-70b")
    assert [one.policy for one in answer.options] == ["slowest paces", "shares by speed"]
    assert not answer.left_out
    shares = answer.options[1]
    stages = shares.layout["pipeline_parallel"]
    assert shares.layout["virtual_stages"] > 1
    ranks = shares.layout["tensor_parallel"] * stages * shares.layout["context_parallel"]
    for kind in shares.kinds:
        passes = kind.samples_per_gpu * ranks / shares.layout["micro_batch_size"]
        assert passes % stages == pytest.approx(0, abs=1e-9)
    assert shares.global_batch_size <= answer.options[0].global_batch_size
    assert shares.samples_per_second > answer.options[0].samples_per_second


def test_whole_shares_never_exceed_the_total():
    slow, fast = read_fleet("2 x dgx-1v + 1 x dgx-h100", BUILT_IN)
    units = Units(2, {slow: 2, fast: 1}, {slow: 100, fast: 100}, 2)
    assert whole_shares({slow: 0.5, fast: 5.0}, units) == {slow: 2, fast: 2}
    assert whole_shares({slow: 4.4, fast: 9.1}, units._replace(equal=6)) == {slow: 4, fast: 10}


def test_replicas_that_exchange_at_every_micro_batch_have_as_many():
    """FSDP gathers parameters at every micro-batch: no shares by speed."""
    job = {"workload": "gpt3-13b", "framework": "fsdp"}
    answer = perfmodel.fleets("16 x dgx-a100-80gb", "4 x dgx-h100", **job)
    assert [one.policy for one in answer.options] == ["slowest paces"]
    assert answer.options[0].layout["sharding"] in {2, 3, "zero2", "zero3"}
    (refused,) = answer.left_out
    assert refused.option == "4 x dgx-h100, shares by speed"
    assert "at every micro-batch (zero" in refused.reason
    mixed = perfmodel.fleets("16 x dgx-a100-80gb + 4 x dgx-h100", "ib-ndr-400g", **job)
    names = [one.option for one in mixed.left_out]
    assert names == ["what you have, shares by speed", "ib-ndr-400g, shares by speed"]


@pytest.mark.parametrize(
    ("have", "name"),
    [("4 x dgx-1v + 2 x dgx-a100-80gb", "vgg16"), ("2 x dgx-1v + 2 x dgx-h100", "bert-large")],
)
def test_a_faster_link_never_slows_a_mixed_fleet(have, name):
    job = Job({"workload": name}, BUILT_IN)
    links = [link for link in BUILT_IN.ids("links") if link.startswith("ib-")]
    links.sort(key=lambda link: BUILT_IN.link(link).bandwidth.value)
    before = {}
    for link in links:
        fleet = joined(read_fleet(have, BUILT_IN), BUILT_IN, read_addition(link, BUILT_IN))
        for step in steps_of(job, fleet):
            speed = step.samples_per_second
            assert speed >= before.get(step.policy, 0.0) * (1 - 1e-9), link
            before[step.policy] = speed
    assert len(before) == 2


def test_each_way_to_share_is_held_against_the_same_way():
    answer = perfmodel.fleets("4 x dgx-1v + 2 x dgx-a100-80gb", "ib-ndr-400g", workload="vgg16")
    assert answer.have.policy == "shares by speed"
    slowest, shares = answer.options
    assert slowest.ratio.value > 1  # a better network: 0.79 of shares by speed on what there is
    assert slowest.ratio.value == pytest.approx(slowest.samples_per_second / answer.ways["slowest paces"])
    assert shares.ratio.value == pytest.approx(shares.samples_per_second / answer.have.samples_per_second)
    assert any("compared with the same policy on what you have" in line for line in answer.notes)


def test_machines_that_would_slow_a_layout_stay_idle_and_that_is_said():
    """17 machines of 8 have 2 x 2 x 2 x 17 ranks: stages come in 17 alone, and 80 layers do not divide."""
    job = {"workload": "llama-2-70b", "global_batch_size": 1024}
    answer = perfmodel.fleets("16 x dgx-a100-80gb", "1 x dgx-a100-80gb", **job)
    (option,) = answer.options
    assert (option.machines, option.idle_machines, option.kinds[0].machines) == (17, 1, 16)
    assert option.samples_per_second == answer.have.samples_per_second
    assert option.notes[0].startswith(
        "1 x NVIDIA DGX A100 80 GB: 1 of 17 machines stays idle: a step on 16 is faster"
    )
    copies = perfmodel.fleets("16 x dgx-a100-80gb", "1 x dgx-a100-80gb", **JOB).options[0]
    assert (copies.idle_machines, copies.kinds[0].machines) == (0, 17)
    with pytest.raises(InputError, match="does not divide over 96 GPUs"):
        perfmodel.fleets("12 x dgx-a100-80gb", "ib-ndr-400g", workload="vgg16", global_batch_size=1024)


@pytest.mark.parametrize(
    ("batch", "taken", "said"),
    [
        (1024, 1056, ", if the job's batch may grow from 1,024 samples to 1,056"),
        (4096, 4128, ", if the job's batch may grow from 4,096 samples to 4,128"),
        (1152, 1152, ""),
        (128, 96, ", with 96 samples a step: 96 GPUs cannot share 128 equally"),
    ],
)
def test_a_stated_batch_that_more_gpus_cannot_share_is_rounded_and_that_is_said(batch, taken, said):
    answer = perfmodel.fleets(
        HAVE, "4 x dgx-a100-80gb", workload="bert-large", global_batch_size=batch, run_time="18h"
    )
    (option,) = answer.options
    assert (answer.have.global_batch_size, option.global_batch_size) == (batch, taken)
    assert gain_words(answer, option).partition(" x as fast")[2] == said


def test_batches_are_said_where_they_differ_smaller_ones_too():
    answer = perfmodel.fleets(HAVE, "4 x dgx-a100-80gb", workload="gpt3-13b")
    line = next(line for line in answer.notes if line.startswith("samples a step"))
    batches = [one.global_batch_size for one in (answer.have, *answer.options)]
    assert batches[1] < batches[0]
    assert f"{batches[0]:,} of what you have; {batches[1]:,} of 4 x NVIDIA DGX A100 80 GB;" in line
    even = perfmodel.fleets(HAVE, "4 x dgx-a100-80gb", workload="gpt3-13b", global_batch_size=1536)
    assert not any("samples a step" in line for line in even.notes)


def test_where_nobody_says_what_to_buy_it_is_proposed():
    answer = perfmodel.fleets(HAVE, workload="resnet50")
    names = list(dict.fromkeys(one.option for one in answer.options))
    assert names == [
        "4 x dgx-a100-80gb",
        "8 x dgx-a100-80gb",
        "ib-ndr-400g",
        "ib-xdr-800g",
        "4 x dgx-h100",
        "4 x dgx-b200",
    ]
    assert all(one.proposed for one in answer.options)
    assert "cheapest" not in answer.work_value.source
    assert answer.work_value.usd_per_hour == pytest.approx(8 * 22.32)  # Lambda's eight A100 80 GB


def test_a_deadline_names_the_option_that_meets_it():
    words = ("--workload", "bert-large", "--samples", "1e9", "--local-batch-size", "32")
    done = run("--have", HAVE, "--buy", "4 x dgx-a100-80gb", "--deadline", "10h", *words)
    assert "a predicted 8.71 h instead of 13 h; meets the deadline of 10 h." in " ".join(done.stdout.split())
    done = run("--have", HAVE, "--buy", "4 x dgx-a100-80gb", "--deadline", "2h", *words)
    said = (
        "No option meets the deadline of 2 h: that takes 6.5 x the speed of what you have, at least 45 more"
    )
    assert said in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("deadline", "advised"),
    [
        ("17.5h", "4 x NVIDIA DGX A100 80 GB"),
        ("14h", "4 x NVIDIA DGX A100 80 GB"),
        ("13h", "8 x NVIDIA DGX A100 80 GB"),  # four take up to 13.8 h
        ("11h", "8 x NVIDIA DGX A100 80 GB"),  # none surely: the one expected to
    ],
)
def test_a_deadline_without_prices_takes_the_fewest_machines_that_surely_meet_it(deadline, advised):
    job = {"workload": "bert-large", "run_time": "18h", "deadline": deadline}
    four, eight, h100, _ = perfmodel.fleets(
        HAVE, ["4 x dgx-a100-80gb", "8 x dgx-a100-80gb", "6 x dgx-h100"], **job
    ).options
    assert four.run_time_high_80 / 3600 == pytest.approx(13.8, abs=0.05)
    assert 11 < eight.run_time_high_80 / 3600 < 13
    counts = ["8 x dgx-a100-80gb", "4 x dgx-a100-80gb", "6 x dgx-h100"]
    for bought in (counts, counts[:2]):
        advice = perfmodel.fleets(HAVE, bought, **job).card.advice
        assert advice.startswith(f"Add {advised} if the job's batch may grow ")
    faster = f"Faster, but not surely: 6 x NVIDIA DGX H100, equal shares, {h100.ratio.speed()}."
    advice = perfmodel.fleets(HAVE, counts, **job).card.advice
    assert (faster in advice) is (advised == "4 x NVIDIA DGX A100 80 GB")
    assert ("Faster" in advice) is (faster in advice)


def test_what_a_rival_is_faster_than_is_named_where_another_option_is_advised():
    link = "ib-ndr-400g"
    prices = {"adapter_prices": {link: 100}, "switch_prices": {link: 100}, "switch_ports": {link: 64}}
    bought = [link, "4 x dgx-a100-80gb", "6 x dgx-h100"]
    advice = perfmodel.fleets(HAVE, bought, workload="bert-large", run_time="18h", **prices).card.advice
    assert advice.startswith("Add InfiniBand NDR 400 Gbit/s")
    assert " Faster than 4 x NVIDIA DGX A100 80 GB, but not surely: 6 x NVIDIA DGX H100, equal" in advice


def test_a_network_of_unknown_price_needs_no_larger_batch():
    bought, prices = ["4 x dgx-a100-80gb", "ib-ndr-400g"], {"purchase_prices": {"dgx-a100-80gb": 150e3}}
    for more, step in (["4 x dgx-h100"], "), machines only if the job's batch may grow"), ([], ")."):
        advice = perfmodel.fleets(
            HAVE, [*bought, *more], workload="bert-large", run_time="18h", **prices
        ).card.advice
        known = advice[advice.index("Only known prices") :]
        assert known[known.index(" worth $178.56") + len(" worth $178.56") :].startswith(step)


def test_prices_by_name_are_joined_by_commas_though_numbers_have_them_too():
    words = (
        "--have",
        HAVE,
        "--workload",
        "bert-large",
        "--buy",
        "4 x dgx-h100",
        "--buy",
        "4 x dgx-a100-40gb",
    )
    prices = "dgx-h100=350,000", "dgx-a100-40gb=150,000"
    joined = run(*words, "--purchase-price", ",".join(prices), "--json")
    each = run(*words, *(word for price in prices for word in ("--purchase-price", price)), "--json")
    assert joined.exit_code == 0, joined.output
    assert json.loads(joined.stdout)["options"] == json.loads(each.stdout)["options"]


def test_text_fits_and_json_is_as_documented():
    words = ("--have", HAVE, "--workload", "bert-large", "--samples", "1e9")
    done = run(*words, "--purchase-price", "dgx-h100=350,000", "--adapter-price", "1500")
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines())) <= 80
    answer = Fleets.model_validate(json.loads(run(*words, "--json").stdout))
    assert set(Fleets.model_json_schema()["properties"]) == set(answer.model_dump())
    rows = run(*words, "--csv").stdout.splitlines()
    assert len(rows) == 2 + len(answer.options)
    assert answer.card.advice in run(*words, "--markdown").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--buy", "4 x dgx-h100"], "say what you have, e.g. --have"),
        (["--have", "ib-hdr-200g"], "expected machines, such as"),
        (["--have", "eight dgx-a100"], "write a count in digits and a machine, as in '8 x dgx-a100-80gb"),
        (["--have", "8 x a100"], "node 'a100' fits vtrain-a100 ("),
        (["--have", "8 x dgx-a100-81gb"], "nearest: dgx-a100-80gb"),
        (["--have", "0 x dgx-1v"], "expected 1 to 16,384 machines"),
        (["--have", "8 x dgx-1v@"], "expected a link after @"),
        (["--have", "8 x dgx-1v/h100"], "holds v100-sxm2-16gb, not h100"),
        (["--have", "8 x pcie-workstation-4gpu"], "takes any accelerator; say which"),
        (["--have", HAVE, "--buy", "dgx-h100"], "say how many machines, e.g. '4 x dgx-h100'"),
        (["--have", HAVE, "--buy", "4 x dgx-h100@roce-400g"], "ib-hdr-200g and roce-400g do not join"),
        (["--have", HAVE, "--buy", "ib-ndr-400g + ib-hdr-100g"], "names two networks"),
        (["--have", HAVE, "--buy", "4 x dgx-h100 +"], "expected for example"),
        (["--have", HAVE, "--buy", "ib-ndr-400g,4 x dgx-h100"], "--buy 'ib-ndr-400g' --buy '4 x dgx-h100'"),
        (["--have", HAVE, "--budget", "30"], "--budget: goes without --have, whose answer has each option's"),
        (["--have", HAVE, "--budget", "30"], "take the fastest of those within the budget"),
        (["--have", HAVE, "--confidence", "0.9"], "hold its upper end against the deadline"),
        (
            ["--have", HAVE, "--confidence", "0.9"],
            "hold its upper end against the deadline. Leave it out; with --have go --buy, --run-time",
        ),
        (["--have", HAVE, "--precision", "amp,fp32"], "give one, not 2"),
        (["--have", HAVE, "--strategy", "parameter-server"], "fleets train by all-reduce"),
        (["--have", HAVE, "--local-batch-size", "100000"], "do not fit on one a100-sxm4-80gb"),
        (["--have", HAVE, "--global-batch-size", "1000"], "does not divide over 64 GPUs"),
        (["--have", HAVE, "--adapter-price", "=3"], "expected LINK=3"),
        (["--have", HAVE, "--adapter-price", "1", "--adapter-price", "2"], "given twice"),
        (["--have", HAVE, "--adapter-price", "ib=x"], "--adapter-price"),
        (
            ["--have", HAVE, "--switch-ports", "64", "--switch-ports", "32"],
            "the ports of all are given twice",
        ),
        (["--have", HAVE, "--switch-ports", "64.7"], "--switch-ports 64.7: expected a whole number"),
        (["--have", HAVE, "--switch-ports", "1"], "--switch-ports 1: expected a whole number, at least 2"),
        (["--have", HAVE, "--switch-price", "ib-zdr=3"], "--switch-price ib-zdr: "),
        (["--have", HAVE, "--purchase-price", "dgx-z=3"], "--purchase-price dgx-z: "),
        (["--have", HAVE, "--purchase-price", "dgx-1v=3"], "--purchase-price dgx-1v: no option has it"),
        (["--have", HAVE, "--adapter-price", "roce-400g=3"], "--adapter-price roce-400g: no option has it"),
        (["--have", HAVE, "--node-mtbf", "300h"], "--node-mtbf: has no effect with --have"),
        (["--have", HAVE, "--samples", "1e9", "--epochs", "3"], "give one"),
        (["--have", HAVE, "--slurm"], "go without --have"),
        (["--have", HAVE, "--deadline", "3h"], "say how long a run is, by --run-time"),
        (["--run-time", "18h"], "say what you have, e.g. --have"),
        (["--have", HAVE, "--run-time", "0h"], "--run-time"),
        (["--have", HAVE, "--price", "dgx-1v=3", "--purchase-price", "dgx-1v=9"], "give one"),
    ],
)
def test_bad_input_is_refused_in_words(words, message):
    done = run(*words)
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert len(done.stderr.splitlines()) <= 2


@pytest.mark.parametrize("name", ["node_failure_interval", "epochs", "price", "carbon_intensity"])
def test_a_condition_that_changes_nothing_of_a_fleet_is_refused_in_python(name):
    with pytest.raises(InputError, match="has no effect with have"):
        perfmodel.fleets("2 x dgx-1v", conditions=perfmodel.Conditions(**{name: 3.0}))


def test_what_one_has_may_be_given_in_parts():
    words = ("--buy", "ib-ndr-400g", "--workload", "vgg16", "--json")
    parts = run("--have", "4 X dgx-1v", "--have", "2 x dgx-a100-80gb", *words)
    whole = run("--have", "4 x dgx-1v + 2 x dgx-a100-80gb", *words)
    assert parts.exit_code == 0, parts.output
    assert parts.stdout == whole.stdout
    assert json.loads(whole.stdout)["have"]["machines"] == 6


def test_an_option_that_adds_nothing_is_said_to():
    answer = perfmodel.fleets(HAVE, "ib-ndr-400g", **JOB)
    assert answer.words[0].startswith(
        "No option is 1 % faster than what you have; the most is InfiniBand NDR 400 Gbit/s, as fast"
    )


def test_what_pays_back_after_it_is_written_off_is_not_recommended():
    answer = perfmodel.fleets(HAVE, "ib-ndr-400g", **JOB, adapter_prices=1500, switch_prices=0)
    (option,) = answer.options
    assert option.payback.time > 4 * 365.25 * 86400
    assert "none pays back before it is written off" in answer.words[1]
    assert not any("First to pay back" in line for line in answer.words)


def test_a_slower_network_is_said_to_be_slower_and_nothing_to_add_nothing():
    answer = perfmodel.fleets(HAVE, ["ib-hdr-100g", "ib-hdr-200g"], **JOB, switch_prices=0, adapter_prices=9)
    slower, same = map(payback_words, answer.options)
    assert "never pays back: it is slower than what you have, which loses work worth $" in slower
    assert same == "never pays back: it adds nothing"


def test_a_report_shows_a_rent_by_the_hour():
    answer = perfmodel.fleets(HAVE, "4 x dgx-h100", **JOB, prices={"dgx-h100": 60})
    page = page_of_fleets(answer, None, BUILT_IN)
    assert "4 x NVIDIA DGX H100 at $60/h" in page.tables[2].rows[0][2]


def test_a_row_that_cannot_be_is_left_out_with_its_reason():
    answer = perfmodel.fleets(HAVE, ["4 x dgx-h100@roce-400g", "4 x dgx-a100-80gb"], **JOB)
    assert [one.option for one in answer.left_out] == ["4 x dgx-h100@roce-400g"]
    assert "do not join" in answer.left_out[0].reason
    assert len(answer.options) == 1


def test_a_report_says_what_the_command_does(tmp_path):
    path = tmp_path / "fleets.md"
    words = ("--have", HAVE, "--buy", "4 x dgx-h100", "--purchase-price", "dgx-h100=350000")
    done = run(*words, "--workload", "bert-large", "--report", str(path))
    assert done.exit_code == 0, done.output
    text = path.read_text("utf-8")
    assert "What would add to BERT large on 8 x NVIDIA DGX A100 80 GB" in text
    assert "4 x NVIDIA DGX H100, shares by speed" in text
    assert "left out of costs: price of switches of InfiniBand HDR 200 Gbit/s" in text
    assert "dgx-h100" in text.split("Sources")[-1]
    perfmodel.write_report(perfmodel.fleets(HAVE, "ib-ndr-400g"), path)
    assert "ib-ndr-400g" in path.read_text("utf-8")


def test_money_is_written_as_in_other_plans_never_as_a_power_of_ten():
    """A purchase of 4,400, rents of 12,000 and work worth 15,000 an hour; a price left open."""
    words = ("--workload", "resnet50", "--have", "4 x dgx-1v", "--hour-value", "15000", "--samples", "1e9")
    options = ("--buy", "4 x dgx-1v", "--buy", "2 x dgx-a100-40gb", "--buy", "4 x dgx-h100")
    prices = ("--purchase-price", "dgx-1v=1100", "--price", "dgx-a100-40gb=12000")
    result = run(*words, *options, *prices, "--switch-price", "0")
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    assert not re.search(r"\de[+-]\d", text)
    assert " USD/h" not in text
    for expected in (
        "4 x NVIDIA DGX-1 at $1,100",
        " 4,400 ",
        "at $12,000/h",
        "is worth $15,000: given",
        "24,000/h",
    ):
        assert expected in text
    assert re.search(
        r"Pays back at a price below \(over 4 years, always at work, each hour of what you have worth "
        r"\$15,000\):.* 4 x NVIDIA DGX H100, shares by speed: \$[\d,.]+M? each, \$[\d,.]+M? in all",
        text,
    )


def test_the_adapters_of_machines_may_be_stated():
    (group,) = read_fleet("4 x dgx-1v@1 x ethernet-25g-tcp", BUILT_IN)
    assert (group.link, group.nics) == ("ethernet-25g-tcp", 1)
    assert read_addition("4 x dgx-1v@2xethernet-25g-tcp", BUILT_IN).words == "4 x dgx-1v@2 x ethernet-25g-tcp"
    assert joined((group,), BUILT_IN, read_addition("ethernet-100g-rdma", BUILT_IN)).nics == 1
    with pytest.raises(InputError, match="0 x ethernet-25g-tcp"):
        read_fleet("4 x dgx-1v@0 x ethernet-25g-tcp", BUILT_IN)


def test_a_name_that_fits_several_machines_says_which_was_taken():
    taken = perfmodel.fleets("8 x dgx-a100", ["4 x dgx-a100"], **JOB).notes[0]
    assert taken == "dgx-a100 is taken as dgx-a100-80gb, the most common; also dgx-a100-40gb"
    assert not any("taken as" in note for note in perfmodel.fleets(HAVE, ["4 x dgx-h100"], **JOB).notes)
