"""The first page asks, and leads to the page that answers with what was said."""

from __future__ import annotations

import pytest

from app import searches
from app.menu import FIRST
from tests.test_app import button, errors, opened, sound, words

pytestmark = pytest.mark.any_version
MINE = {"on": "my_own_machines", "machine": "dgx-h100", "of-gpus": "64"}
LEADS = [
    ({}, "Find machines", {"workload": "llama-3-70b", "deadline": "60d", "tokens": "1T"}),
    ({"train": "resnet50", "for": "5000"}, "Find machines", {"workload": "resnet50", "budget": "5000"}),
    (
        {**MINE, "of-gpus": "16", "batch": "64", "train": "llama-3-8b"},
        "Find the fastest layout",
        {"workload": "llama-3-8b", "gpus": "16", "global-batch-size": "64", "node": "dgx-h100"},
    ),
    ({**MINE, "train": "resnet50"}, "Predict an iteration", {"workload": "resnet50", "gpus": "64"}),
    (
        {**MINE, "train": "llama-3-8b"},
        "What would more machines add?",
        {"workload": "llama-3-8b", "machines": "8"},
    ),
    (
        {"on": "a_quote", "train": "llama-3-70b", "value": "400000"},
        "Check the quote",
        {"workload": "llama-3-70b", "quantity": "tokens_per_second", "value": "400000"},
    ),
    (
        {"on": "a_quote", "train": "resnet50", "value": "40000"},
        "Check the quote",
        {"quantity": "images_per_second"},
    ),
]


@pytest.fixture
def among_few(monkeypatch):
    """Plans among machines of one kind: what is tried is the way to the page."""
    work = searches.work
    monkeypatch.setattr(
        searches,
        "work",
        lambda goal, *more: work(goal.model_copy(update={"instances": ("p5.48xlarge",)}), *more),
    )


@pytest.mark.usefixtures("among_few")
@pytest.mark.parametrize(("said", "label", "query"), LEADS)
def test_a_question_leads_to_the_page_that_answers_it(said, label, query):
    test = opened(FIRST[0], **said)
    sound(button(test, label).click().run())
    assert not test.error
    assert test.query_params.items() >= query.items()
    assert test.query_params.get("tokens") == query.get("tokens")


def test_resnet_is_one_click_away():
    test = opened(FIRST[0])
    sound(button(test, "ResNet-50 instead").click().run())
    assert test.query_params["train"] == "resnet50"
    assert "On how many tokens" not in [field.label for field in test.text_input]


def test_an_address_of_the_time_when_predict_was_at_the_root_opens_it():
    test = opened(FIRST[0], gpus="16", workload="vgg16")
    assert test.subheader[0].value == "How fast is VGG-16 on 16 V100s?"
    assert "What is this?" in errors(opened(FIRST[0], train="What is this?"))


def test_the_pages_examples_have_answers():
    test = opened(FIRST[0])
    keys = [each.key for each in test.button if str(each.key).startswith("preset-")]
    assert keys
    for key in keys:
        test = opened(FIRST[0])
        sound(test.button(key=key).click().run())
        assert not test.error
        assert "**" in words(test)
