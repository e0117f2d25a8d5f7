"""The app answers the question that stands in its fields, or none."""

from __future__ import annotations

import pytest

from app.menu import PAGES
from app.options import MONEY, SCENARIO, convert
from app.plain import plain
from app.plan_form import as_words, known
from perfmodel.decide.planning import Goal, search
from tests.test_app import FOLDS, errors, opened, sound, typed, words


def test_a_field_that_cannot_be_read_blocks_the_answer_and_stays_in_the_address():
    test = opened("plan", epochs="1", instance="p3.16xlarge")
    assert test.subheader
    field = "option-plan-deadline"
    sound(test.text_input(key=field).set_value("tomorrow").run())
    assert test.query_params["deadline"] == test.text_input(key=field).value == "tomorrow"
    assert not test.subheader
    assert not test.dataframe
    assert errors(test).count("'tomorrow' is not a time") == 2  # on top, and under the field
    sound(test.text_input(key=field).set_value("2 days").run())
    assert test.subheader
    assert not test.error


@pytest.mark.parametrize(
    ("page", "name", "text", "key"),
    [("plan", "deadline", "soon", "option-plan-deadline"), ("predict", "price", "low", "option-price")],
)
def test_what_a_url_says_and_cannot_be_read_stands_in_its_field(page, name, text, key):
    test = opened(page, **{name: text, **({"instance": "p3.16xlarge"} if page == "plan" else {})})
    if page == "predict":
        test.session_state["fold-Prices, power, failures"] = True
        sound(test.run())
    assert test.text_input(key=key).value == text
    sound(test.button(key="forgive").click().run())
    assert name not in test.query_params
    assert not test.error
    assert test.subheader


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"deadline": "2 days"}, "deadline of 48 h"),
        ({"deadline": "1w"}, "deadline of 7 days"),
        ({"deadline": "24h", "budget": "$20,000"}, "budget of $20,000"),
        ({"deadline": "24h", "budget": "20k"}, "budget of $20,000"),
    ],
)
def test_times_and_money_are_read_as_people_write_them(query, said):
    test = opened("plan", epochs="1", instance="p3.16xlarge", **query)
    assert not test.error
    assert typed(plain(said)) in words(test)
    assert {name: test.query_params[name] for name in query} == query


@pytest.mark.parametrize("price", ["$20,000", "20k", "20,000 USD/h", "$20000/h"])
def test_prices_are_read_as_people_write_them(price):
    test = opened("predict", price=price)
    assert not test.error
    test.session_state["fold-Money, energy, carbon"] = True
    sound(test.run())
    assert "$20,000 an hour of one " in words(test)


def test_prices_of_several_machines_may_have_commas_between_thousands():
    option = known()["purchase-price"]
    assert convert(option, "dgx-1v=$150,000,dgx-h100=350k") == [(("dgx-1v", 150e3), ("dgx-h100", 350e3))]
    _, more = as_words({"purchase-price": "dgx-1v=$150,000,dgx-h100=350k"})
    assert more == [("purchase-price", "dgx-1v=$150,000"), ("purchase-price", "dgx-h100=350k")]


def test_a_plan_counts_the_epochs_that_its_batch_takes():
    test = opened("plan", instance="p3.16xlarge", recipe="mlperf")
    assert "epochs" not in test.query_params
    goal = Goal(instances=("p3.16xlarge",), deadline=86400.0, max_gpus=64, recipe="mlperf")
    chosen = search(goal).chosen
    assert chosen is not None
    said = words(test)
    assert said.count(f"{chosen['epochs']:.4g} epochs") == 2  # as a figure, and in the card as a whole
    assert "The run ends at the published target: " in said
    assert chosen["epochs"] in list(test.dataframe[0].value["epochs"])
    given = opened("plan", instance="p3.16xlarge", epochs="20")
    assert "Too few epochs to reach" in words(given)


def test_a_plan_asks_how_long_the_run_is_where_nobody_published_it():
    test = opened("plan", workload="vgg16")
    assert "How long is the run?" in errors(test)
    assert "--" not in errors(test)
    assert not test.dataframe


def test_lines_laid_over_a_curve_do_not_stand_for_it():
    test = opened("scale", accelerator="k80", precision="bf16", networks="ethernet-25g-tcp")
    assert "bf16" in errors(test)
    assert [each.value for each in test.subheader] == ["How far does it scale?"]


PAGES_WITH_TEXT = tuple(name for name, _ in PAGES if name not in ("validation", "trace", "quote", "hardware"))
"""Pages whose fields ask for an answer; those left out have forms, or nothing to write in."""
WRONG = ("-3", "1e999", "abc")
"""What some fields read (a name may be abc) and others cannot."""
OF_A_FOLD = {"option-learning-rate"}
"""Fields on which one fold of a page depends and its answer does not."""
SHARED = {f"option-{name}" for name in (*SCENARIO, *MONEY)}
"""Fields of every page of a scenario, tried on one of them."""


@pytest.mark.any_version
@pytest.mark.parametrize("page", PAGES_WITH_TEXT)
def test_a_text_that_cannot_be_read_blocks_the_answer_beside_its_field(page):
    """Every text field of every page: an answer to what stands there, or none and the reason at the field."""
    test = opened(
        page, **({"epochs": "1", "instance": "p3.16xlarge", "max-gpus": "8"} if page == "plan" else {})
    )
    for heading in FOLDS.get(page, ()):
        test.session_state[f"fold-{heading}"] = True
    for heading in ("More options", "Prices, power, failures", "Racks"):
        test.session_state[f"fold-{heading}"] = True
    sound(test.run())
    fields = {field.key: field.value for field in test.text_input if field.key.startswith("option-")}
    tried = {key for key in fields if page == "predict" or key not in SHARED}
    assert tried or page not in ("predict", "plan", "scale")
    blocked = 0
    for key in tried:
        for text in WRONG:
            sound(test.text_input(key=key).set_value(text).run())
            field = test.text_input(key=key)
            assert field.value == text, (key, text)
            refused = test.session_state.refused.values()
            if mine := [each for each in refused if each.key == key]:
                blocked += 1
                assert not test.subheader, (key, text)
                assert not test.metric, (key, text)
                assert errors(test).count(typed(plain(mine[0].reason))) == 2, (key, text, errors(test))
                assert text in test.query_params.values(), (key, text)
            elif test.error:  # it can be read, and not be answered
                blocked += 1
                assert not test.subheader or key in OF_A_FOLD, (key, text)
                assert len(test.error) == 2, (key, text, errors(test))
                shown = [error.value.replace("\\", "") for error in test.error]
                assert any(f"“{field.label}”" in each for each in shown), (key, text, shown)
                assert any(each.endswith(shown[0]) or shown[0].endswith(each) for each in shown[1:])
        test.text_input(key=key).set_value(fields[key])  # in the run that tries the next
    sound(test.run())
    assert blocked >= len(tried)
