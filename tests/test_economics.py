"""What a job costs: worked by hand, by arrays, and what nobody knows is asked for."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

from perfmodel import Catalogue, InputError, Scenario, layouts, predict
from perfmodel.core.units import dollars, duration
from perfmodel.decide.economics import COMMUNICATING, IDLE, economics, rates
from perfmodel.decide.prices import offers_of, price_of
from perfmodel.interfaces.service.commands import answer
from perfmodel.model.options.conditions import Conditions

CATALOGUE = Catalogue.built_in()
RENTED = Scenario(world_size=16, node="aws-p3.16xlarge")


def of(scenario, **conditions):
    return economics(predict(scenario), Conditions(**conditions), CATALOGUE)


def test_a_run_worked_by_hand():
    """Two p3.16xlarge of 24.48 USD/h for ninety epochs; power by the three states, PUE 1.2, 1 kW a host."""
    prediction = predict(RENTED)
    found = economics(
        prediction,
        Conditions(epochs=90, pue=1.2, host_power=1000, carbon_intensity=400),
        CATALOGUE,
    )
    hours = 90 * prediction.epoch_time / 3600
    assert found["run"]["time"] == pytest.approx(hours * 3600)
    assert found["run"]["cost"] == pytest.approx(2 * 24.48 * hours)
    times, total = prediction.terms, prediction.iteration_time
    computing = (times["forward_time"] + times["backward_time"] + times["update_time"]) / total
    computing += (times["contention_time"] + times["shared_slowdown_time"]) / total
    sending = (times["exposed_communication_time"] + times["straggler_time"]) / total
    watts = 300 * (computing + COMMUNICATING * sending + IDLE * (1 - computing - sending))
    kwh = 1.2 * (16 * watts + 2 * 1000) * hours / 1000
    assert found["run"]["energy"] == pytest.approx(kwh)
    assert found["run"]["carbon"] == pytest.approx(400 * kwh)
    price = found["price"]
    assert (price["region"], price["date"], price["instance"]) == ("us-east-1", "2026-07-20", "p3.16xlarge")
    assert price["source"]


def test_a_purchase_by_hand():
    """87,660 USD over one year of 8,766 h, half of them at work: 20 USD/h; 0.1 USD for each kWh on top."""
    scenario = Scenario(world_size=8, node="dgx-1v")
    bought = {"purchase_price": 87_660, "service_years": 1, "used_fraction": 0.5}
    found = of(scenario, epochs=1, electricity_price=0.1, **bought)
    assert found["price"]["usd_per_hour"] == pytest.approx(20)
    run = found["run"]
    assert run["cost"] == pytest.approx(20 * run["time"] / 3600 + 0.1 * run["energy"])
    assert any("electricity" in line for line in of(scenario, **bought)["unknown"])


def test_failures_lengthen_the_run_and_what_it_costs():
    plain = of(RENTED, epochs=90)["run"]
    failing = {"node_failure_interval": 72 * 3600.0, "checkpoint_time": 60.0, "restart_time": 600.0}
    found = of(RENTED, epochs=90, **failing)
    kept = found["reliability"]["goodput"]
    assert 0.9 < kept < 1
    assert found["run"]["time"] == pytest.approx(plain["time"] / kept)
    assert found["run"]["cost"] == pytest.approx(plain["cost"] / kept)
    assert found["reliability"]["failure_interval"] == pytest.approx(36 * 3600)
    assert found["reliability"]["failures"] == pytest.approx(found["run"]["time"] / (36 * 3600))


def test_a_run_too_short_for_a_checkpoint_writes_none(invoke):
    """One failure in 75 h: a run of an hour loses half an hour once in 75 times, 0.67 %, and no more."""
    words = ("predict", "--gpus", "16", "--node", "aws-p3.16xlarge", "--node-mtbf", "150h")
    failing = (*words, "--checkpoint-time", "60s", "--epochs")
    short = json.loads(invoke(*failing, "20", "--json").stdout)["economics"]
    hours = short["run"]["time"] / 3600
    assert hours < 1.2
    assert short["reliability"]["goodput"] == pytest.approx(1 - hours / 2 / 75, abs=1e-4)
    assert short["reliability"]["checkpoint_interval"] is None
    assert "one in 75 h; too short a run for a checkpoint to pay\n" in invoke(*failing, "20").stdout
    long = json.loads(invoke(*failing, "900", "--json").stdout)["economics"]["reliability"]
    plain = json.loads(invoke(*failing[:-1], "--json").stdout)["economics"]["reliability"]
    assert long["goodput"] == plain["goodput"]
    assert long["goodput"] == pytest.approx(1 - long["checkpoint_interval"] / 3600 / 75, abs=1e-3)
    assert "best to write a checkpoint every" in invoke(*failing, "900").stdout


def test_a_run_far_longer_than_the_time_between_failures_writes_checkpoints():
    """Without any it would never end: e to the power of its length, in times between failures, overflows."""
    failing = {"node_failure_interval": 10 * 3600.0, "checkpoint_time": 60.0}
    told = of(Scenario(workload="resnet50", world_size=64), samples=1e12, **failing)["reliability"]
    assert told["failures"] > 710
    assert math.isfinite(told["checkpoint_interval"])
    assert 0 < told["goodput"] < 1


def test_arrays_answer_as_numbers_do():
    rng = np.random.default_rng(1)
    total, nodes = rng.uniform(0.1, 1, 50), rng.integers(1, 200, 50).astype(float)
    busy, sending = 0.6 * total, 0.2 * total
    conditions = Conditions(
        pue=1.3, carbon_intensity=100, node_failure_interval=1e6, checkpoint_time=30.0, restart_time=100.0
    )
    known = {"rated_power": 300.0, "usd_per_hour": 24.48, "conditions": conditions}
    together = rates(total, busy, sending, 8 * nodes, nodes, **known)
    for index in range(50):
        at = (total[index], busy[index], sending[index], 8 * nodes[index], nodes[index])
        for column, value in zip(together, rates(*map(float, at), **known), strict=True):
            assert np.broadcast_to(column, 50)[index] == pytest.approx(float(value), rel=1e-12)


def test_unknown_prices_are_asked_for():
    found = of(Scenario(world_size=8, node="dgx-1v"), epochs=90)
    assert found["price"] is None
    assert found["run"]["cost"] is None
    assert found["run"]["energy"] > 0
    assert any("--price" in line for line in found["unknown"])


def test_no_offer_is_cheaper_than_the_one_taken():
    nodes = {offer.node for offer in CATALOGUE.instances()}
    for node in nodes:
        price, offers = price_of(CATALOGUE, node, Conditions()), offers_of(CATALOGUE, node)
        assert (price is None) == (not offers)
        assert all(price.usd_per_hour <= each.usd_per_hour for _, each in offers)


BAD = {
    "--price 3 --purchase-price 4": "give one",
    "--price nan": "not a price",
    "--price -1": "not a price",
    "--price free": "not a price",
    "--pue 0.5": "from 1 up to 10",
    "--used-fraction 2": "up to 1",
    "--service-years 3": "--purchase-price",
    "--epochs 0": "not a number",
    "--node-mtbf 6000h": "--checkpoint-time",
    "--node-mtbf 5kg": "not a time",
    "--node-mtbf 6000 --checkpoint-time 60s": "6000h",
    "--checkpoint-time 60s": "--node-mtbf",
    "--node-mtbf 0 --checkpoint-time 60s": "between",
    "--node-mtbf 1s --checkpoint-time 1h": "never ends",
    "--cost --region mars --node aws-p3.16xlarge": "us-east-1",
    "--cost --region mars --node dgx-1v": "--price",
    "--electricity-price 0.1 --node aws-p3.16xlarge": "a rent includes it",
}


@pytest.mark.parametrize(("words", "wanted"), BAD.items())
def test_bad_input_is_refused(words, wanted, invoke):
    result = invoke("predict", *words.split())
    assert result.exit_code == 2
    assert wanted in result.stderr


def test_the_size_of_the_data_set_must_be_known(monkeypatch):
    prediction = predict(RENTED).model_copy(update={"epoch_time": None})
    with pytest.raises(InputError, match=r"data set .* give samples"):
        economics(prediction, Conditions(epochs=1), CATALOGUE)


def test_samples_are_epochs_of_a_known_data_set():
    run, same = (of(RENTED, **length)["run"] for length in ({"epochs": 2.0}, {"samples": 2 * 1281167.0}))
    assert same["samples"] == pytest.approx(run["samples"])
    assert same["cost"] == pytest.approx(run["cost"])
    with pytest.raises(InputError, match="give one"):
        of(RENTED, epochs=1.0, samples=1.0)


LLAMA = ("--workload", "llama-3-8b", "--node", "dgx-h100", "--gpus", "8", "--sharding", "zero3")


def test_tokens_are_as_many_samples_of_their_length_wherever_costs_are_told(invoke):
    job = Scenario(workload="llama-3-8b", node="dgx-h100", world_size=8, sharding="zero3")
    run, same = (
        of(job, price=98.0, **length)["run"] for length in ({"tokens": 15e12}, {"samples": 15e12 / 8192})
    )
    assert run == same | {"tokens": 15e12}
    said = json.loads(invoke("predict", *LLAMA, "--price", "98", "--tokens", "15T", "--json").stdout)
    assert said["economics"]["run"] == pytest.approx(run)
    assert "run of 15 T tokens" in invoke("predict", *LLAMA, "--cost", "--tokens", "15T").stdout
    body = {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 8, "sharding": "zero3"}
    for more in (
        {"conditions": {"price": 98, "tokens": "15T"}},
        {"conditions": {"price": 98}, "tokens": 15e12},
    ):
        served = json.loads(answer("predict", json.dumps(body | more).encode()))
        assert served["economics"]["run"] == pytest.approx(run)
    compared = invoke("compare", *LLAMA, "--set", "gpus=16", "--price", "98", "--tokens", "15T", "--json")
    (time,) = (row for row in json.loads(compared.stdout)["rows"] if row["quantity"] == "run_time")
    assert time["values"][0] == pytest.approx(run["time"])
    alone = json.loads(invoke("predict", *LLAMA, "--tokens", "15T", "--json").stdout)["economics"]["run"]
    assert alone["time"] == pytest.approx(run["time"])
    with_target = invoke("predict", *LLAMA, "--cost", "--recipe", "tokens", "--tokens", "1T", "--json")
    both = json.loads(with_target.stdout)
    assert both["time_to_target"]["tokens"] == both["economics"]["run"]["tokens"] == 1e12


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (("--cost", "--tokens", "15T"), "--tokens: a sample of resnet50 has none"),
        (("--time-to-target", "--tokens", "15T"), "--tokens goes with --recipe tokens, or with --cost"),
        (
            (*LLAMA, "--cost", "--tokens", "15T", "--samples", "5e6"),
            "--epochs, --samples and --tokens: give one",
        ),
    ],
)
def test_tokens_that_say_nothing_are_refused(words, wanted, invoke):
    result = invoke("predict", *words)
    assert result.exit_code == 2
    assert wanted in result.stderr


def test_the_command_prints_what_python_returns(invoke):
    words = ("--gpus", "16", "--node", "aws-p3.16xlarge", "--epochs", "90")
    failing = ("--node-mtbf", "6000h", "--checkpoint-time", "60s")
    printed = json.loads(invoke("predict", *words, *failing, "--json").stdout)["economics"]
    conditions = {"epochs": 90.0, "node_failure_interval": 6000 * 3600.0, "checkpoint_time": 60.0}
    assert printed == json.loads(json.dumps(of(RENTED, **conditions)))
    text = invoke("predict", *words, *failing).stdout
    assert "$24.48 an hour of one AWS p3.16xlarge" in text
    assert "us-east-1, 2026-07-20" in text
    assert max(map(len, text.splitlines())) <= 80
    price = (
        "Price: $24.48 an hour of one AWS p3.16xlarge: p3.16xlarge on demand, us-east-1, 2026-07-20, "
        "source karpenter-aws"
    )
    assert price in invoke("predict", *words, "--markdown").stdout.splitlines()
    given = invoke("predict", *words, "--price", "9", "--markdown").stdout
    assert "Price: $9 an hour of one AWS p3.16xlarge, as given" in given.splitlines()


def test_without_these_options_nothing_is_said_of_money(invoke):
    assert "economics" not in json.loads(invoke("predict", "--json").stdout)


def test_carbon_is_that_of_the_region_unless_it_is_given():
    def grams(**given):
        run = of(RENTED, epochs=1, **given)["run"]
        return None if run["carbon"] is None else run["carbon"] / run["energy"]

    region = CATALOGUE.regions["AWS", "us-east-1"]
    assert grams() == pytest.approx(region.carbon_intensity)
    assert grams(carbon_intensity=50) == pytest.approx(50)
    assert grams(price=20.0) is None  # of one's own: nobody knows where it stands


def test_a_run_of_tokens_has_its_time_and_cost_by_the_layout_to_take(invoke):
    asked = {"gpus": 16, "node": "aws-p5.48xlarge", "global_batch_size": 64}
    answer = layouts("llama-3-8b", **asked, conditions=Conditions(tokens=1e12, price=50.0), top=1)
    run = answer.economics["run"]
    assert run["tokens"] == 1e12
    assert run["time"] == pytest.approx(1e12 / answer.taken.tokens_per_second)
    assert run["cost"] == pytest.approx(run["time"] / 3600 * 2 * 50)
    assert json.loads(answer.to_json())["economics"]["run"] == run
    assert "economics" not in json.loads(layouts("llama-3-8b", **asked, top=1).to_json())
    words = ["--gpus", "16", "--node", "aws-p5.48xlarge", "--global-batch-size", "64", "--tokens", "1T"]
    done = invoke("layouts", "--workload", "llama-3-8b", *words, "--price", "50")
    printed = " ".join(done.stdout.split())
    assert re.search(rf"run {duration(run['time'])} \([^)]*\) for 1 T tokens", printed)
    assert f"cost {dollars(run['cost'])} (" in printed


@pytest.mark.parametrize("conditions", [{"tokens": 0}, {"tokens": 1e12, "samples": 5.0}])
def test_the_length_of_a_run_is_one_number_above_zero(conditions):
    with pytest.raises(InputError, match="tokens"):
        layouts("gpt2", gpus=8, node="dgx-h100", global_batch_size=8, conditions=conditions)


def test_a_price_is_named_with_what_it_is_of(invoke):
    """In the help, in the answer and below the costs: a node has eight accelerators here."""
    words = "--workload gpt2 --node dgx-h100 --gpus 8 --global-batch-size 64 --price 2.5 --tokens 1T --top 1"
    text = " ".join(invoke("layouts", *words.split()).stdout.split())
    assert re.search(r"cost \$\S+ \([^)]*\), at \$2\.50 an hour of one NVIDIA DGX H100", text)
    assert "price $2.50 an hour of one NVIDIA DGX H100, as given" in text
    for command in ("layouts", "plan", "predict"):
        told = " ".join(invoke(command, "--help").stdout.split())
        assert "Rent of one node with all its accelerators, USD per hour" in told, command
