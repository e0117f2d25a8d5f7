"""Compare: any option may differ, cases have names, and whatever stands on it stands in its address."""

from __future__ import annotations

import doctest
import json
import re
from typing import Any

import pytest

from app import cases
from app.looks import labelled
from app.options import SCENARIO
from app.plain import plain
from perfmodel.core.sentences import sentences_in
from perfmodel.core.units import show, show_range
from perfmodel.decide.comparison import case_of, compare, comparison_words
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.reports.compared import page_of_comparison
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from tests.test_app import button, cards, errors, opened, sound, typed, words
from tests.test_app_copies import copies, run

SERVERS = {"strategy": "parameter-server", "servers": "4", "gpus": "16"}


def ratios(test: Any) -> list[list[str]]:
    """The cases on the page: of each its name, its ratio to the first, and its iteration."""
    (table,) = (typed(each.value) for each in test.markdown if each.value.startswith("| case |"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def address(test: Any) -> dict[str, str]:
    return dict(test.query_params)


def test_worked_examples():
    assert doctest.testmod(cases).failed == 0


@pytest.mark.parametrize(
    ("other", "asked"),
    [
        ({"inter_link": "ethernet-25g-tcp"}, "Which network is"),
        ({"nics": 1}, "Which network is"),
        ({"gpus": 32}, "How many GPUs are"),
        ({"framework": "mxnet"}, "Which software is"),
        ({"node": "dgx-a100-80gb"}, "Which machine is"),
        ({"node": "dgx-a100-80gb", "gpus": 32}, "Which machine is"),
        ({"gpus": 32, "framework": "mxnet"}, "Which case is"),
        ({"precision": "fp32"}, "Which case is"),
        ({}, "Which case is"),
    ],
)
def test_the_question_is_that_of_what_differs(other, asked):
    first = case_of("A", {"gpus": 16})
    differ = [entry.option for entry in compare([first, case_of("B", {"gpus": 16, **other})]).inputs]
    assert cases.question(differ, first.prediction.scenario) == f"{asked} best for ResNet-50?"


def test_each_case_says_how_many_times_as_fast_it_is_with_an_interval_and_how_sure_that_is():
    test = opened("compare", gpus="8", **{"b-gpus": "16", "b-name": "twice as many"})
    one, two = (case_of(str(n), Scenario(world_size=n)) for n in (8, 16))
    ratio = compare([one, two]).cases[1].ratio
    assert ratio is not None
    (first, second), interval = ratios(test), two.prediction.interval
    assert interval is not None
    assert first[:2] == ["A (8 GPUs)", "-"]
    assert second == [
        "B (twice as many)",
        ratio.words,
        f"{show(two.prediction.iteration_time, 's')} ({show_range(interval.low_80, interval.high_80, 's')})",
    ]
    assert "Take twice as many (B) for speed" in words(test)


def test_a_name_is_shown_letter_by_letter_and_is_short():
    test = opened("compare", gpus="8", **{"b-local-batch-size": "128", "b-name": "<b>[x](http://192.0.2.1)"})
    assert "\\<b\\>\\[x\\](http:\u2060//192.0.2.1)" in words(test)
    assert "<b>[x]" not in "".join(each.value for each in test.markdown)
    assert "<b>[x]" not in "".join(each.proto.body for each in test.get("html"))
    speeds, bars, memory = (json.loads(each.proto.spec) for each in test.get("plotly_chart"))
    assert not any("<b>" in bar for trace in bars["data"] for bar in trace["y"])
    for figure in (speeds, memory):
        assert any("&lt;b&gt;[x]" in each["text"] for each in figure["layout"]["annotations"])
    assert not any("<b>[x]" in each.get("hovertemplate", "") for each in speeds["data"])
    assert "expected at most 60" in errors(opened("compare", **{"b-name": "x" * 61}))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"b-jitter": "lognormal:cv=0.2", "b-optimizer": "adam"}, "B (optimizer adam, jitter lognormal"),
        ({**SERVERS, "b-strategy": "all-reduce", "b-default": "servers"}, "B (all-reduce)"),
        ({"global-batch-size": "512", "b-local-batch-size": "32"}, "B (batch 32)"),
        ({"b-workload": "vgg16"}, "Different work"),
    ],
)
def test_a_case_may_differ_in_any_option_and_the_command_says_the_same(query, said, invoke):
    query = {"gpus": "8", **query}
    test = opened("compare", **query)
    assert not test.error
    assert address(test) == query
    assert said in words(test)
    (command,), python = copies(test)
    answer = json.loads(invoke(*command, "--json").stdout)
    times = next(row["values"] for row in answer["rows"] if row["quantity"] == "iteration_time")
    result = run(python.replace("print(result.card.advice)", "print(list(result.rows[0].values))"))
    assert json.loads(result) == times


@pytest.mark.parametrize("name", SCENARIO)
def test_every_option_of_a_case_stands_in_an_address(name):
    every = cases.variant_options("d")
    assert every[name].name == f"d-{name}"
    value: Any = {"whole": 2, "text": "1"}.get(every[name].kind) or every[name].choices[0]
    base, picked = {"gpus": 3, "precision": "amp"}, {"gpus": 3, name: value}
    query = cases.address([("", base), ("", picked)])
    changed = {n.removeprefix("b-"): v for n, v in query.items() if n.startswith("b-") and n != "b-default"}
    left = query.get("b-default", "").split(",")
    back = {n: v for n, v in base.items() if n not in left} | changed
    assert {n: str(v) for n, v in back.items()} == {n: str(v) for n, v in picked.items()}


def test_the_fold_of_a_case_shows_the_usual_options_and_whatever_else_differs():
    test = opened("compare", gpus="8", **{"b-jitter": "lognormal:cv=0.2", "c-gpus": "16"})
    test.session_state["fold-B, where it differs from A"] = True
    sound(test.run())
    assert test.text_input(key="option-b-jitter").value == "lognormal:cv=0.2"
    assert not any(field.key == "option-b-backups" for field in test.number_input)
    sound(test.multiselect(key="option-b-also").set_value(["backups"]).run())
    assert any(field.key == "option-b-backups" for field in test.number_input)


def test_what_is_added_on_other_pages_stands_in_an_address_that_a_fresh_session_opens():
    test = opened(gpus="8", jitter="lognormal:cv=0.2")
    sound(button(test, "Add to Compare").click().run())
    assert "Added to Compare as A" in words(test)
    sound(button(test, "Add to Compare").click().run())
    assert "Compare has it already, as A" in words(test)
    sound(test.number_input(key="option-gpus").set_value(16).run())
    sound(button(test, "Add to Compare").click().run())
    assert "Added to Compare as B" in words(test)
    sound(button(test, "Open Compare (2)").click().run())
    assert address(test) == {"gpus": "8", "jitter": "lognormal:cv=0.2", "b-gpus": "16"}
    fresh = opened("compare", **address(test))
    assert words(fresh) == words(test)
    test.switch_page("views/predict.py")
    test.query_params.clear()
    test.query_params.update({"gpus": "8", "workload": "alexnet", "price": "3"})
    sound(test.run())
    sound(button(test, "Add to Compare").click().run())
    assert "Added to Compare as C" in words(test)
    assert "Prices and failures are those of A there" in words(test)
    test.switch_page("views/compare.py")
    test.query_params.clear()
    sound(test.run())
    assert address(test) == {
        "gpus": "8",
        "jitter": "lognormal:cv=0.2",
        "b-gpus": "16",
        "c-workload": "alexnet",
        "c-default": "jitter",
    }
    sound(button(test, "Remove B").click().run())
    assert address(test)["b-workload"] == "alexnet"
    assert not any(name.startswith("c-") for name in address(test))


def test_a_point_of_a_curve_and_a_plan_are_added_by_their_names():
    test = opened("scale", gpus="8,16", networks="ethernet-25g-tcp")
    sound(test.selectbox(key="case-to-add").set_value("25 Gbit/s Ethernet with TCP, 16 GPUs").run())
    sound(button(test, "Add it").click().run())
    plan = {"epochs": "1", "max-gpus": "8", "instance": "p3.16xlarge", "input": "real"}
    test.switch_page("views/plan.py")
    test.query_params.clear()
    test.query_params.update(plan)
    sound(test.run())
    sound(button(test, "Add it").click().run())
    sound(button(test, "Open Compare (2)").click().run())
    said = address(test)
    assert said["gpus"] == "16"
    assert said["inter-link"] == "ethernet-25g-tcp"
    assert said["b-node"] == "aws-p3.16xlarge"
    assert said["b-input"] == "real"
    assert ratios(test)[1][0] == "B (8 x V100 SXM2 16 GB (AWS p3.16xlarge))"


def test_layouts_of_a_transformer_are_added_by_their_names():
    query = {"workload": "llama-2-7b", "gpus": "16", "global-batch-size": "128", "node": "dgx-h100"}
    test = opened("transformers", **query)
    first, second = list(test.dataframe[0].value["layout"])[:2]
    test.query_params["layout"] = first
    sound(test.run())
    sound(button(test, "Add to Compare").click().run())
    test.query_params["layout"] = second
    sound(test.run())
    sound(button(test, "Add to Compare").click().run())
    sound(button(test, "Open Compare (2)").click().run())
    assert not test.error
    assert [row[0] for row in ratios(test)] == [f"A ({first})", f"B ({second})"]


def test_25_or_100_gigabit_is_answered_in_one_click_for_the_job_on_the_page():
    test = opened(gpus="32", workload="vgg16", node="dgx-1v")
    sound(button(test, cases.NETWORK).click().run())
    assert address(test) == {
        "gpus": "32",
        "workload": "vgg16",
        "node": "dgx-1v",
        "inter-link": "ethernet-25g-tcp",
        "b-inter-link": "ethernet-100g-tcp",
        "c-inter-link": "ethernet-100g-rdma",
        "d-inter-link": "ethernet-25g-rdma",
    }
    name = "100 Gbit/s Ethernet with RDMA (C)"
    assert re.search(rf"\*\*Take {re.escape(name)} for speed:\*\* it is [\d.]+ x as fast as 25", words(test))
    assert "What limits C most is computing" in words(test)
    test.switch_page("views/compare.py")  # where the browser is by then
    sound(button(test, "100 or 400 Gbit/s?").click().run())
    assert address(test)["b-inter-link"] == "ethernet-400g-rdma"
    assert "c-inter-link" not in address(test)
    assert address(test)["workload"] == "vgg16"


def test_what_a_network_may_cost_is_asked_of_the_page_that_says_it():
    job = {"gpus": "32", "node": "dgx-1v", "local-batch-size": "32"}
    test = opened(
        "compare", **job, **{"inter-link": "ethernet-25g-tcp", "b-inter-link": "ethernet-100g-rdma"}
    )
    assert "plan --have" not in words(test)
    sound(button(test, "What may a faster network cost?").click().run())
    assert not test.error
    assert (
        test.query_params.items()
        >= {
            "machine": "dgx-1v",
            "machines": "4",
            "inter-link": "ethernet-25g-tcp",
            "networks": "ethernet-100g-rdma",
            "local-batch-size": "32",
        }.items()
    )
    assert "ResNet-50" in test.subheader[0].value


NETWORKS = {"inter-link": "ethernet-25g-tcp", "b-inter-link": "ethernet-100g-rdma"}


def test_the_assumed_adapters_are_in_the_headline_and_one_click_changes_them():
    test = opened("compare", gpus="32", node="dgx-1v", **NETWORKS)
    assert "**With 4 network adapters a machine (its own), the network hardly matters here" in words(test)
    sound(button(test, "With 1 network adapter a machine").click().run())
    assert test.query_params["nics"] == "1"
    assert "**Take 100 Gbit/s Ethernet with RDMA (B) for speed:** it is 1.32 x as fast" in words(test)
    assert not [each for each in test.button if each.key == "other-adapters"]
    sound(button(test, "What may a faster network cost?").click().run())
    assert not test.error
    assert test.query_params["have"] == "4 x dgx-1v@1 x ethernet-25g-tcp"
    assert "1.32 x as fast" in words(test)


def test_the_number_of_adapters_has_a_field_where_networks_are_compared():
    label = "Network adapters per machine"
    (field,) = (each for each in opened("compare", gpus="32", **NETWORKS).number_input if each.label == label)
    assert field.value is None
    other = opened("compare", gpus="32", **{"b-gpus": "16"})
    assert not [each for each in other.number_input if each.label == label]


def test_a_report_and_the_page_draw_speeds_on_one_axis():
    jobs = [{"gpus": 32, "node": "dgx-1v", "inter_link": link} for link in NETWORKS.values()]
    result = compare([case_of(name, job) for name, job in zip("AB", jobs, strict=True)])
    axis = comparison_words.speed_axis(result)
    assert 0.9 < axis.low < 1 < axis.high < 1.3
    chart = page_of_comparison(result, None, Catalogue.built_in(), [Conditions()] * 2).charts[0]
    assert [span.label for span in chart.spans] == ["A", "B"]
    assert (chart.at(axis.low), chart.at(axis.high)) == pytest.approx((0, 100))
    test = opened("compare", gpus="32", node="dgx-1v", **NETWORKS)
    figure = json.loads(test.get("plotly_chart")[0].proto.spec)
    assert figure["layout"]["xaxis"]["range"] == pytest.approx([axis.low, axis.high])


def test_the_card_stands_on_the_page():
    test = opened(
        "compare", gpus="32", **{"inter-link": "ethernet-25g-tcp", "b-inter-link": "ethernet-100g-tcp"}
    )
    rates = {"A": 25, "B": 100}
    names = [f"{letter} ({rate} Gbit/s Ethernet with TCP)" for letter, rate in rates.items()]
    jobs = [{"gpus": 32, "inter_link": f"ethernet-{rate}g-tcp"} for rate in rates.values()]
    card = compare([case_of(name, job) for name, job in zip(names, jobs, strict=True)]).card
    said = words(test).replace(":** ", ": ")
    for sentence in sentences_in(cases.by_letters(labelled(card.advice), names)):  # the last below the charts
        assert typed(plain(sentence)) in said
    assert cards(test)[-1].splitlines() == [
        f"{label}: {cases.by_letters(labelled(value), names, said=True)}" for label, value in card.rows
    ]


def test_a_job_that_does_not_wait_for_a_network_is_not_asked_which():
    test = opened(gpus="8", node="dgx-1v")
    assert [each.label for each in test.button].count(cases.NETWORK) == 0


def test_a_network_that_changes_nothing_is_called_as_fast_and_what_binds_is_named():
    test = opened(
        "compare", gpus="32", **{"inter-link": "ethernet-25g-tcp", "b-inter-link": "ethernet-100g-tcp"}
    )
    said = words(test)
    slow, fast = "25 Gbit/s Ethernet with TCP (A)", "100 Gbit/s Ethernet with TCP (B)"
    assert f"Take {slow}:** {fast} is about as fast (80 %: 1 to " in said
    assert " x), because both networks are limited by" in said
    assert "the kernel's TCP (1.21 GB/s an adapter over 16 connections" in said
    assert "RDMA on the same ports would be" in said


def test_a_comparison_that_nobody_asked_for_is_not_added_to():
    test = opened("compare")
    test.switch_page("views/predict.py")
    test.query_params.clear()
    sound(test.run())
    sound(button(test, "Add to Compare").click().run())
    assert "Added to Compare as A" in words(test)


def test_a_variant_of_the_command_leaves_an_option_to_the_model(invoke):
    words = ["compare", "--gpus", "16", "--strategy", "parameter-server", "--servers", "4", "--json"]
    answer = json.loads(invoke(*words, "--set", "strategy=all-reduce,servers=default").stdout)
    one = predict(Scenario(world_size=16))
    assert answer["rows"][0]["values"][1] == one.iteration_time
    assert invoke(*words, "--set", "strategy=all-reduce").exit_code == 2


def test_a_batch_that_one_case_cannot_take_is_mended_by_a_button_and_the_page_stays():
    model = {"workload": "llama-3-8b", "node": "dgx-a100-80gb", "gpus": "64", "global-batch-size": "256"}
    test = opened("compare", **model, **{"b-gpus": "96"})
    assert "256 does not divide over 96" in errors(test)
    assert test.subheader[0].value == "The cases compared"
    assert button(test, cases.NETWORK)
    sound(button(test, "Take a batch of 192, the nearest that fits all").click().run())
    assert test.query_params["global-batch-size"] == "192"
    assert not test.error


def test_a_case_alone_is_asked_for_a_second_one_with_its_fields_open():
    test = opened("compare", gpus="8")
    assert test.subheader[0].value == "Add a second case"
    sound(test.number_input(key="option-b-gpus").set_value(16).run())
    assert address(test) == {"gpus": "8", "b-gpus": "16"}
    assert "1.9" in words(test)
