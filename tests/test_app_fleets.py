"""The page Add machines: its fields make the command's question, and what is missing is asked for."""

from __future__ import annotations

import re

import pytest

import perfmodel
from app.fleet_form import asked
from app.looks import labelled
from perfmodel.core.sentences import sentences_in
from perfmodel.hardware.catalogue.store import Catalogue
from tests.test_app import errors, opened, sound, words

CATALOGUE = Catalogue.built_in()
EIGHT = {"machine": "dgx-a100-80gb", "machines": 8}


@pytest.mark.parametrize(
    ("picked", "have", "buy"),
    [
        (EIGHT, "8 x dgx-a100-80gb", ()),  # which the command proposes
        ({**EIGHT, "how-many": "4", "add": ("dgx-h100",)}, "8 x dgx-a100-80gb", ("4 x dgx-h100",)),
        (
            {**EIGHT, "how-many": "4"},
            "8 x dgx-a100-80gb",
            ("4 x dgx-a100-80gb", "4 x dgx-h100", "4 x dgx-b200"),
        ),
        (
            {**EIGHT, "how-many": "4", "add": ("same", "dgx-b200")},
            "8 x dgx-a100-80gb",
            ("4 x dgx-a100-80gb", "4 x dgx-b200"),
        ),
        ({**EIGHT, "add": ("same",)}, "8 x dgx-a100-80gb", ("4 x dgx-a100-80gb",)),
        (
            {**EIGHT, "add": ("dgx-h100",), "networks": ("ib-ndr-400g",), "buy": "2 x dgx-2 + ib-ndr-400g"},
            "8 x dgx-a100-80gb",
            ("4 x dgx-h100", "ib-ndr-400g", "2 x dgx-2 + ib-ndr-400g"),
        ),
        (
            {"machine": "dgx-1v", "inter-link": "ib-edr-100g", "have": "2 x dgx-2", "how-many": "1,2"}
            | {"add": ("dgx-1v",)},
            "1 x dgx-1v@ib-edr-100g + 2 x dgx-2",
            ("1 x dgx-1v", "2 x dgx-1v"),
        ),
    ],
)
def test_the_fields_are_the_machines_as_the_command_takes_them(picked, have, buy):
    question = asked(picked, CATALOGUE)
    assert (question.have, question.buy) == (have, buy)


def test_a_price_that_is_missing_is_asked_for_answers_when_it_pays_back_and_can_be_changed():
    test = opened("fleets", machine="dgx-1v", machines="4", add="dgx-1v", workload="resnet50")
    assert "pays back after" not in words(test)
    test.number_input(key="price-of-dgx-1v").set_value(30000.0)
    sound(test.run())
    assert test.query_params["purchase-price"] == "dgx-1v=30000"
    assert "pays back after" in words(test)
    test.number_input(key="price-of-dgx-1v").set_value(40000.0)
    sound(test.run())
    assert test.query_params["purchase-price"] == "dgx-1v=40000"


def test_the_fields_come_before_the_chart_and_the_table_with_the_advised_row():
    given = {"machine": "dgx-a100-80gb", "machines": "8", "workload": "bert-large", "samples": "1e9"}
    test = opened("fleets", **given, **{"how-many": "4", "purchase-price": "dgx-a100-80gb=150000"})
    sound(test)
    drawn = list(_elements(test.main))
    table = next(
        place for place, each in enumerate(drawn) if "| pays back" in str(getattr(each, "value", ""))
    )
    assert "| **4 x NVIDIA DGX A100 80 GB** | " in drawn[table].value.replace("\u00a0", " ")
    kinds = [each.type for each in drawn]
    fields = [
        place for place, kind in enumerate(kinds) if kind in ("selectbox", "number_input", "text_input")
    ]
    assert fields[0] < fields[-1] < kinds.index("plotly_chart") < table
    assert "shares by speed" not in drawn[table].value  # which no stock software does


def test_each_sentence_of_the_advice_is_on_the_page_once():
    given = {"machine": "dgx-a100-80gb", "machines": "8", "workload": "bert-large", "run-time": "18h"}
    test = opened("fleets", **given, **{"how-many": "4", "purchase-price": "dgx-a100-80gb=150000"})
    bought = ["4 x dgx-a100-80gb", "4 x dgx-h100", "4 x dgx-b200"]
    prices = {"dgx-a100-80gb": 150e3}
    job = {"workload": "bert-large", "run_time": "18h", "purchase_prices": prices}
    advice = perfmodel.fleets("8 x dgx-a100-80gb", bought, **job).card.advice
    said = re.sub(r"\\(.)", r"\1", words(test)).replace("**", "")
    for each in sentences_in(labelled(advice)):
        assert said.count(each) == 1, each
    card, rest = (said.index(each) for each in ("Not if it must stay at", "Your batch decides"))
    assert card < said.index("| option |") < rest


def _elements(block):
    """Yield the elements of a block of a page in their order."""
    for child in block.children.values():
        yield from _elements(child) if hasattr(child, "children") else (child,)


def test_a_run_of_today_is_answered_with_what_it_becomes_and_no_price():
    given = {"machine": "dgx-a100-80gb", "machines": "8", "workload": "bert-large", "add": "same"}
    test = opened("fleets", **given, **{"how-many": "4", "run-time": "18h"})
    sound(test)
    said = words(test)
    assert "more if the job's batch may grow from 1,024 samples (assumed) to 1,536:** 18 h become" in said
    assert "Your batch decides (state it: “Batch of the whole job”): " in said
    assert "“if below”: the price below which it pays back (over 4 years, always at work, each hour" in said
    assert ", if the job's batch may grow with the GPUs." in said
    kinds = next(each for each in test.multiselect if each.label == "Which to add")
    assert "the same machine only" in kinds.options


def _batch(test):
    """Return the field of the batch on a page."""
    return next(each for each in test.main.number_input if each.label.startswith("Batch of the whole job"))


@pytest.mark.parametrize(
    ("network", "have"),
    [
        ("bert-large", "8 x dgx-a100-80gb"),
        ("resnet50", "3 x dgx-1v"),
        ("llama-3-8b", "6 x dgx-h100"),
        ("vit-b16", "2 x dgx-h100"),
    ],
)
def test_the_batch_is_asked_next_to_the_machines_and_an_empty_field_says_what_is_assumed(network, have):
    number, machine = have.split(" x ")
    given = {"workload": network, "add": "same"}
    test = opened("fleets", machine=machine, machines=number, **given)
    sound(test)
    step = perfmodel.fleets(have, f"1 x {machine}", workload=network).have.global_batch_size
    assert _batch(test).placeholder == f"{step:,} (assumed)"
    first = opened("fleets")  # which asks about a network of its own
    assert _batch(first).placeholder == "512 (assumed)"
    assert "Tokens" in " ".join(each.label for each in first.text_input)
    start = opened(
        "start", on="machines_to_add", train=network, present=machine, **{"present-number": number}
    )
    assert _batch(start).placeholder == f"{step:,} (assumed)"


def test_a_batch_that_is_given_leaves_no_condition_on_the_page():
    given = {"machine": "dgx-a100-80gb", "machines": "8", "workload": "bert-large", "how-many": "4"}
    test = opened("fleets", **given, **{"run-time": "18h", "global-batch-size": "30720"})
    sound(test)
    said = words(test)
    assert "**With 4 x NVIDIA DGX A100 80 GB more: 18 h become" in said
    assert "assum" not in said
    assert "may grow" not in said
    per_gpu = opened("fleets", **given, **{"local-batch-size": "32"})
    assert _batch(per_gpu).placeholder == "by the batch per GPU"


def test_machines_that_nobody_named_are_asked_for():
    assert "Choose “Machines you have”" in errors(opened("fleets", workload="resnet50"))
