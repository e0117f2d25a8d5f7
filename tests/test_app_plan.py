"""The page Plan: tokens of transformers, kinds of price, and machines without a price."""

from __future__ import annotations

import re

import pytest

from app import plan_prices
from app.views import plan
from perfmodel.decide.planning import Goal, search
from perfmodel.decide.planning.plan_verdict import notes
from perfmodel.hardware.catalogue.store import Catalogue
from tests.test_app import errors, opened, sound, words

TRANSFORMER = {"workload": "gpt2", "instance": "p4d.24xlarge", "max-gpus": "8", "precision": "bf16"}


def test_a_transformer_is_planned_by_tokens():
    """Its usual number is taken, and stands with batch and layout in the headline and the table."""
    page = opened("plan", **TRANSFORMER)
    fields = {field.label: field.placeholder for field in page.text_input}
    assert fields["Tokens of the run"] == "2.49 B (default)"
    assert "Epochs" not in fields
    assert len(re.findall("2.49 B tokens", words(page))) == 2  # as a figure, and in the card as a whole
    assert "tokens a step (" in words(page)
    table = page.dataframe[0].value
    assert {"layout", "tokens in a step", "tokens"} <= set(table.columns)
    tuned = opened("plan", **TRANSFORMER, lora="16")
    assert "How long is the fine-tuning?" in errors(tuned)
    assert "epochs" not in errors(opened("plan", **TRANSFORMER, lora="16", samples="1e5"))


@pytest.mark.any_version
def test_plans_have_names_that_a_phone_shows_whole():
    page = opened("plan", epochs="90", deadline="24h", pricing="on-demand,spot", **{"max-gpus": "64"})
    table = next(each.value for each in page.dataframe if "machines" in each.value)
    assert list(table.columns[:4]) == ["machines", "from", "time", "cost"]
    alone = [name for name in table["machines"] if "parameter server" not in name]
    assert len(alone) > 20
    assert all(len(name) <= 15 for name in alone if "PCIe" not in name and "TPU" not in name)
    assert {"on demand", "spot"} == set(table["price"])
    assert set(table["from"]) >= {"AWS", "Azure"}


def test_the_start_page_says_which_ways_to_train_are_a_fine_tuning():
    (how,) = [each for each in opened("start").radio if each.label == "How do you train it?"]
    assert how.options[0] == "all weights: from nothing, or a full fine-tuning"
    assert how.options[1].startswith("LoRA: a fine-tuning")


def test_a_fine_tuning_by_adapters_is_not_held_against_pre_training():
    """The note on compute-optimal tokens is of a training from nothing."""
    goal = Goal(workload="llama-2-7b", tokens=1e9, instances=("p4d.24xlarge",), max_gpus=8)
    assert any("trained from nothing is compute-optimal" in note for note in notes(search(goal)))
    tuned = search(goal.model_copy(update={"options": {"lora": 16}}))
    assert not any("compute-optimal" in note for note in notes(tuned))


def test_the_prices_of_the_catalogue_are_a_click_away():
    page = opened("plan", node="aws-p5e.48xlarge", epochs="1", **{"max-gpus": "8"})
    (take,) = [each for each in page.button if each.label.startswith("Take $17.48: spot")]
    take.click()
    sound(page.run())
    assert page.query_params["pricing"] == "on-demand,spot"
    assert "interruptions are expected" in words(page)
    page = opened("plan", node="aws-p5e.48xlarge", epochs="1", **{"max-gpus": "8"})
    page.number_input(key="price-of-aws-p5e.48xlarge").set_value(40.0)
    sound(page.run())
    assert page.query_params["price"] == "aws-p5e.48xlarge=40"
    assert "Take 8 x H200 SXM 141 GB (AWS): " in words(page)


def test_a_price_taken_or_filled_in_is_of_the_kind_that_it_says():
    """A rent on demand stays one beside spot prices, and one filled in counts beside owned machines."""
    (offer,) = [one for one in Catalogue.built_in().instances() if one.instance == "p4d.24xlarge"]
    on_demand = offer.every_price()[0]
    query = plan_prices._at({"pricing": ("spot",), "region": "nowhere"}, on_demand)
    assert query == {"pricing": "spot,on-demand"}
    assert plan_prices._at({}, on_demand) == {"pricing": "on-demand"}
    filled = plan_prices._with_price({"pricing": ("owned",), "price": "a=1,200,dgx-1v=3"}, "dgx-1v", 4.0)
    assert filled == {"pricing": "owned,on-demand", "price": "a=1,200,dgx-1v=4"}
    again = {"pricing": ("owned", "on-demand"), "price": filled["price"]}
    assert plan_prices._with_price(again, "dgx-1v", 4.0) == plan_prices._query(again)
    assert plan_prices._rented({"pricing": ("owned", "spot")}) == "spot"


def test_a_plan_of_the_front_is_not_listed_again_as_the_best_of_its_machines():
    front = {"name": "p5", "cost": 3.0}
    other = {"name": "p4", "cost": 9.0, "why": "dearer"}
    result = {"front": [front], "lost": [front | {"why": "dearer, faster"}, other]}
    assert plan.rows_of(result) == [front, other]
