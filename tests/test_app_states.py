"""Pages in states beside the usual: what does not fit, mistakes folded away, fields that do not count."""

from __future__ import annotations

import json
import re

import pytest

from app import charts
from perfmodel.core.units import show
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.prediction import predict
from perfmodel.workloads import workload
from tests.test_app import button, errors, opened, sound, words

pytestmark = pytest.mark.any_version

UNSHARED = {"workload": "llama-3-70b", "accelerator": "h100-sxm5-80gb", "gpus": "64"}
"""It does not fit."""


def labels(test):
    """Every field that is drawn, by its label."""
    kinds = (test.text_input, test.number_input, test.selectbox, test.multiselect)
    return {each.label for kind in kinds for each in kind}


def figure(test, key):
    return next(
        json.loads(chart.proto.spec) for chart in test.get("plotly_chart") if f"-{key}" in chart.proto.id
    )


def test_a_claim_to_fill_in_has_the_fields_that_go_with_it():
    test = opened("quote", gpus="8", quantity="images_per_second", value="4000", epochs="3")
    assert {"GPUs", "Quantity", "A rate is of a"} <= labels(test)
    assert not {"Epochs", "Tokens", "Price [USD/h]", "Message, e.g. 1GB"} & labels(test)
    test.selectbox(key="option-quantity").set_value("time_to_train")
    test.text_input(key="option-value").set_value("1h")
    sound(test.run())
    assert {"Epochs", "Tokens"} <= labels(test)
    assert "A rate is of a" not in labels(test)
    assert test.text_input(key="option-quote-epochs").value == "3"


def test_a_quote_that_states_its_job_has_no_fields_and_gives_them_back():
    test = opened("quote", gpus="8", value="4000")
    assert {"GPUs", "Workload"} <= labels(test)
    test.selectbox(key="option-quote").set_value("horovod-512-gpus")
    sound(test.run())
    assert labels(test) == {"Quote"}
    test.selectbox(key="option-quote").set_value("fill in")
    sound(test.run())
    assert {"GPUs", "Workload", "Quantity"} <= labels(test)
    assert test.number_input(key="option-gpus").value == 8
    assert "4,000 images/s" in words(test)


@pytest.mark.parametrize("page", ["scale", "sensitivity", "compare"])
def test_a_job_that_does_not_fit_is_not_praised(page):
    other = {"b-gpus": "16"} if page == "compare" else {}
    said = words(opened(page, **UNSHARED, **other))
    first = next(line for line in said.splitlines() if line.startswith("**"))
    assert any(words in first for words in ("does not fit", "None fits the memory"))
    assert "efficient" not in first
    if page != "sensitivity":
        assert "What to do" in first


def test_a_scaling_begins_with_its_range_and_what_the_other_network_gives():
    said = words(
        opened("scale", gpus="8,16", **{"inter-link": "ethernet-25g-tcp", "networks": "ib-edr-100g"})
    )
    (first,) = [line for line in said.splitlines() if line.startswith("**It scales to 16 GPUs")]
    assert first.partition("** ")[0].endswith(" %); no other network is surely faster.")
    speed = r"[\d,]+ images/s \(80 %: [\d,]+ to [\d,]+\)"
    assert re.search(rf" InfiniBand EDR 100 Gbit/s: {speed}, 1\.\d+ x as fast as the chosen", first)


def test_a_mistake_in_a_field_that_is_folded_away_says_where_it_is():
    assert "(in the sidebar, under “More options”)" in errors(opened(gpus="8", jitter="foo"))
    assert "(under “B, where it differs from A”)" in errors(
        opened("compare", gpus="8", **{"b-jitter": "foo"})
    )


def test_what_a_refusal_repeats_is_said_once():
    said = errors(opened("plan", deadline="tomorrow")).splitlines()[0]
    assert said.count("tomorrow") == 1
    assert "expected for example 48h or 2 days" in said


def test_a_short_interval_has_both_ends_written_on_its_right():
    long, short = predict(gpus=8, local_batch_size=512), predict(gpus=8)
    drawn = charts.side_by_side({"long": long, "short": short}).layout["annotations"]
    ends = [show(end, "s") for end in (short.interval.low_80, short.interval.high_80)]
    (text,) = [each for each in drawn if each["text"].endswith(ends[1])]
    assert (text["text"], text["xanchor"]) == (" to ".join(ends), "left")


def test_the_interval_of_a_case_lies_below_its_bar():
    spec = figure(opened("compare", gpus="8", **{"b-gpus": "16"}), "compare")
    lines = [line for line in spec["layout"]["shapes"] if line["y0"] == line["y1"]]
    assert [round(line["y0"]) for line in lines] == [0, 1]  # one of each case
    assert all(line["y0"] - round(line["y0"]) > 0.3 for line in lines)  # a bar reaches less far


def test_axis_titles_of_compare_stand_apart_from_the_ticks():
    test = opened("compare", gpus="8", **{"b-gpus": "16"})
    for name in ("compare", "speed-ratios"):
        assert figure(test, name)["layout"]["xaxis"]["title"]["standoff"] >= 14, name


def test_whom_an_input_of_sensitivity_is_for_has_a_colour_of_its_own():
    test = opened("sensitivity", gpus="8")
    (spec,) = (json.loads(chart.proto.spec) for chart in test.get("plotly_chart"))
    colours = {bar["name"]: bar["marker"]["color"] for bar in spec["data"]}
    assert "software: to improve" in colours
    assert len({*colours.values(), charts.GREY}) == len(colours) + 1


def test_back_to_an_address_without_options_takes_them_away_and_the_menu_does_not():
    test = opened(workload="vgg16")
    test.query_params.clear()  # as the menu leads to the page
    assert sound(test.run()).query_params["workload"] == "vgg16"
    test.selectbox(key="option-workload").set_value(None)
    assert not sound(test.run()).query_params
    test.selectbox(key="option-workload").set_value("alexnet")
    assert sound(test.run()).query_params["workload"] == "alexnet"
    test.query_params.clear()  # as Back does
    assert not sound(test.run()).query_params
    assert test.selectbox(key="option-workload").value is None
    assert "ResNet-50" in test.subheader[0].value


def test_the_address_of_the_page_before_is_not_held_against_a_page():
    test = opened("communication", ranks="16", size="1MB")
    test.switch_page("views/predict.py")  # with the address as it was, as a click in between leaves it
    assert not errors(sound(test.run()))
    assert dict(test.query_params) == {"gpus": "32"}


def test_what_was_chosen_on_a_page_outlasts_the_address_of_the_page_before():
    test = opened(workload="vgg16", gpus="64")
    before = dict(test.query_params), test.subheader[0].value, test.metric[0].value
    test.switch_page("views/communication.py")
    test.query_params.clear()
    sound(test.run())
    test.switch_page("views/predict.py")
    assert not errors(sound(test.run()))
    assert (dict(test.query_params), test.subheader[0].value, test.metric[0].value) == before


def test_the_cases_added_are_compared_though_the_address_is_of_the_page_before():
    test = opened(workload="vgg16", gpus="64")
    sound(button(test, "Add to Compare").click().run())
    test.switch_page("views/communication.py")
    test.query_params.clear()
    sound(test.run())
    test.switch_page("views/compare.py")
    assert not errors(sound(test.run()))
    assert dict(test.query_params) == {"workload": "vgg16", "gpus": "64"}


def test_more_options_are_found_by_words_and_what_is_set_stays_where_it_is_not_shown():
    test = opened(workload="llama-3-8b", gpus="8", node="dgx-h100", lora="16")
    test.session_state["fold-More options"] = True
    sound(test.run())
    every = labels(test)
    sound(test.text_input(key="find-option").set_value("ADAPTERS rank").run())
    assert "Rank of LoRA adapters" in labels(test)
    assert len(labels(test)) < len(every) / 2
    sound(test.text_input(key="find-option").set_value("no such words").run())
    assert "No option has these words." in words(test)
    assert test.query_params["lora"] == "16"
    sound(test.text_input(key="find-option").set_value("").run())
    assert labels(test) == every


def test_an_empty_field_says_what_follows_from_the_network_and_the_machine():
    job = {"workload": "vgg16", "node": "dgx-h100"}
    batch, adapters = workload("vgg16").default_local_batch_size, Catalogue.built_in().node("dgx-h100").nics
    assert placeholders(job) == {
        "Batch per GPU": f"the network's: {batch}",
        "Network adapters": f"the machine's: {adapters}",
    }
    assert placeholders({**job, "accelerators-per-node": "2", "global-batch-size": "64"}) == {}


def placeholders(job):
    """Return what empty fields of Compare say that follows from the job, by the start of their labels."""
    fields = opened("compare", **job).number_input
    return {
        name: words
        for name in ("Batch per GPU", "Network adapters")
        for words in (field.proto.placeholder for field in fields if field.label.startswith(name))
        if words.startswith(("the machine's:", "the network's:"))
    }
