"""The page of a transformer's layouts says what the library says."""

from __future__ import annotations

import json
import re

import pytest

import perfmodel
from app import layout_map, layout_search
from perfmodel.core.units import show
from perfmodel.workloads import names as names_of_networks
from perfmodel.workloads import workload
from tests.test_app import errors, of_card, opened, sound, words
from tests.test_app_copies import copies, run

SMALL = {"workload": "llama-3-8b", "gpus": "16", "global-batch-size": "64", "node": "dgx-h100"}


@pytest.fixture(scope="module")
def found():
    return perfmodel.layouts("llama-3-8b", gpus=16, global_batch_size=64, node="dgx-h100")


def names(test):
    (shown,) = (table.value for table in test.dataframe if "layout" in table.value)
    return list(shown["layout"])


def test_it_answers_by_the_card_and_shows_the_layout_to_take(found):
    test = opened("transformers", **SMALL)
    assert not test.error
    shown = words(test)
    assert found.card.advice in shown.replace("**", "")
    low, high = (show(found.taken.interval[end], "s") for end in ("low_80", "high_80"))
    assert f" a step (80 %: {low} to {high}), at an MFU of " in found.card.advice
    if found.taken is not found.rows[0] and found.taken.ties_with_first:
        assert found.card.advice.endswith("; this one is within its error, and simpler.")
    assert f"iteration: {found.card.time}" in shown
    assert test.subheader[1].value == f"Layout {layout_search.name_of(found.taken.layout)}"
    distinct = [layout_search.name_of(row.layout) for row, _ in found.distinct()]
    assert names(test) == distinct[: len(names(test))]
    assert f"{found.fitting:,} of {found.candidates:,} layouts fit" in shown


def test_a_layout_in_the_address_is_shown_and_one_that_is_not_there_is_said(found):
    row = found.rows[40]
    name = layout_search.name_of(row.layout)
    test = opened("transformers", **SMALL, layout=name)
    assert test.subheader[1].value == f"Layout {name}"
    slower = row.iteration_time / found.rows[0].iteration_time - 1
    assert f"{100 * slower:.1f} % slower than the fastest" in words(test)
    assert test.query_params["layout"] == name
    missing = opened("transformers", **SMALL, layout="tp64 dp1, 1 x 1")
    assert "is not among the layouts that fit" in words(missing)
    assert missing.subheader[1].value == f"Layout {layout_search.name_of(found.rows[0].layout)}"


def test_filters_list_what_they_say_and_nothing_else(found):
    test = opened("transformers", **SMALL, **{"only-tensor": "2-4", "only-sharding": "zero1"})
    asked = [
        row
        for row in found.rows
        if row.layout["tensor_parallel"] in (2, 3, 4)
        if row.layout["sharding"] == "zero1"
    ]
    assert f"listed are {len(asked):,} of them" in words(test)
    assert names(test)[0] == layout_search.name_of(asked[0].layout)
    assert all(name.startswith(("tp2", "tp4")) and "zero1" in name for name in names(test))
    nothing = opened("transformers", **SMALL, **{"only-context": "7"})
    assert "clear a field" in words(nothing)
    assert not nothing.dataframe


def test_tokens_are_told_as_days_and_money():
    asked = SMALL | {"node": "aws-p5.48xlarge", "tokens": "1T", "price": "50"}
    test = opened("transformers", **asked)
    conditions = perfmodel.Conditions(tokens=1e12, price=50.0)
    job = {"gpus": 16, "global_batch_size": 64, "node": "aws-p5.48xlarge"}
    card = perfmodel.layouts("llama-3-8b", **job, conditions=conditions).card
    shown = words(test).replace("\\$", "$")
    assert f"run: {card.run}" in shown
    assert f"cost: {card.cost}" in shown
    assert re.match(r"Expect [\d.]+ days and \$[\d.,]+[kM]?: take ", card.advice)
    assert card.advice in shown.replace("**", "")


def test_a_question_that_is_not_whole_or_has_no_answer_is_said():
    test = opened("transformers", **SMALL)
    sound(test.number_input(key="option-layouts-gpus").set_value(None).run())
    assert "fill in “GPUs”" in errors(test)
    assert not test.dataframe
    nothing = opened("transformers", **{**SMALL, "workload": "gpt3-175b", "gpus": "2"})
    assert "the least needs" in errors(nothing)
    assert nothing.subheader[0].value == "No layout fits into memory"
    assert not nothing.get("spinner")
    enough = nothing.button(key="take-enough")
    there = sound(enough.click().run())
    assert not there.error
    assert f"Take {there.query_params['gpus']} GPUs" == enough.label
    assert "resnet50" in errors(opened("transformers", **{**SMALL, "workload": "resnet50"}))


def test_the_network_of_a_config_takes_the_place_of_the_one_chosen(invoke, tmp_path, monkeypatch):
    config = {
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 1024,
        "intermediate_size": 4096, "num_hidden_layers": 8, "num_attention_heads": 16,
        "num_key_value_heads": 16, "vocab_size": 32000, "max_position_embeddings": 2048,
    }  # fmt: skip
    content = json.dumps(config).encode()
    test = opened("transformers", **SMALL)
    test.session_state["fold-A network of your own"] = True
    sound(test.run())
    test.file_uploader(key="config").set_value([("config.json", content, "application/json")])
    assert sound(test.run()).subheader[0].value.startswith("Which layout for config on ")
    test.file_uploader(key="config").set_value([("my own.json", content, "application/json")])
    assert sound(test.run()).subheader[0].value.startswith("Which layout for my own on ")
    assert "the network of my own.json" in words(test)
    assert "The address names it" in words(test)
    assert test.query_params["own-network"].startswith("my own.json~")
    (tmp_path / "my own.json").write_bytes(content)
    asked = {"gpus": 16, "global_batch_size": 64, "node": "dgx-h100"}
    answer = perfmodel.layouts(str(tmp_path / "my own.json"), **asked)
    best = answer.rows[0]
    assert f"iteration: {answer.card.time}" in words(test)
    assert not [button for button in test.button if button.label == "Open in Predict"]
    monkeypatch.chdir(tmp_path)
    last, *commands = copies(test)[0]
    assert all(command[command.index("--workload") + 1] == "my own.json" for command in (*commands, last))
    assert json.loads(invoke(*last, "--json").stdout)["layouts"][0]["iteration_time"] == best.iteration_time
    assert json.loads(invoke(*commands[0], "--json").stdout)["iteration_time"] == pytest.approx(
        answer.taken.iteration_time
    )
    assert show(best.iteration_time, "s") in run(copies(test)[1])


def test_the_map_has_every_pair_and_frames_the_one_shown(found):
    row = found.rows[40]
    test = opened("transformers", **SMALL, layout=layout_search.name_of(row.layout))
    (figure,) = (
        json.loads(chart.proto.spec)
        for chart in test.get("plotly_chart")
        if "click for its fastest" in chart.proto.spec
    )
    bars = figure["data"]
    drawn = {
        tuple(pair): text for bar in bars for pair, text in zip(bar["customdata"], bar["text"], strict=True)
    }
    assert drawn == {
        (cell.tensor_parallel, cell.pipeline_parallel): layout_map.text_of(cell, row) for cell in found.grid
    }
    time, least = show(row.iteration_time, "s"), show(found.rows[0].iteration_time, "s")
    assert drawn[row.layout["tensor_parallel"], row.layout["pipeline_parallel"]].split("<br>")[0] == time
    assert sorted(drawn.values()).count(least) or f"({least})" in "".join(drawn.values())
    assert f"Framed: the layout shown below, {time}; the fastest of all, " in words(test)
    (frame,) = figure["layout"]["shapes"]
    tensor, stages = (
        figure["layout"][axis]["ticktext"][round((frame[f"{letter}0"] + frame[f"{letter}1"]) / 2)]
        for axis, letter in (("yaxis", "y"), ("xaxis", "x"))
    )
    assert tensor == str(row.layout["tensor_parallel"])
    assert stages == str(row.layout["pipeline_parallel"])


def test_what_does_not_fit_is_hatched_and_says_what_it_needs():
    large = {"workload": "gpt3-175b", "gpus": "1024", "global-batch-size": "1536", "node": "dgx-a100-80gb"}
    test = opened("transformers", **large)
    answer = perfmodel.layouts("gpt3-175b", gpus=1024, global_batch_size=1536, node="dgx-a100-80gb")
    figure = layout_map.figure_of(answer, answer.rows[0]).plotly()
    hatched = figure.data[1]
    assert hatched.marker.pattern.shape == "/"
    assert len(hatched.x) == sum("fit" in cell.reason for cell in answer.grid) > 0
    assert all("the least needs" in text for text in hatched.hovertext)
    assert any("batch does not divide" in text for text in figure.data[2].hovertext)
    assert layout_map.in_words(answer) in [chart.proto.alt for chart in test.get("plotly_chart")]


def test_presets_are_questions_with_an_answer():
    test = opened("transformers")
    test.session_state["fold-Other questions to start from"] = True
    sound(test.run())
    for button in [each for each in test.button if str(each.key).startswith("preset-")]:
        sound(test.button(key=button.key).click().run())
        assert not test.error
        assert re.search(r"\*\*(Take|Expect) ", words(test))
    assert of_card(test, "run").endswith(" for 1 T tokens")  # of the last
    assert of_card(test, "cost").startswith("$")


def test_a_layout_leads_to_its_prediction_and_its_start(found):
    test = opened("transformers", **SMALL)
    test.session_state["fold-How it would be started"] = True
    sound(test.run())
    (line,) = (block.value for block in test.get("code") if block.value.startswith("torchrun "))
    assert "--nnodes=2 --nproc-per-node=8" in line
    assert all(flag in line for flag in found.taken.flags)
    sound(test.button(key="to-predict").click().run())
    assert of_card(test, "iteration").startswith(show(found.taken.iteration_time, "s"))
    assert test.query_params["sharding"] == found.taken.layout["sharding"]


def test_a_pipeline_is_drawn_and_a_large_search_runs_in_a_process_of_its_own():
    asked = SMALL | {"gpus": "16384", "global-batch-size": "16384"}
    test = opened("transformers", **asked, **{"only-pipeline": "4"})
    assert not test.error
    name = names(test)[0]
    piped = opened("transformers", **asked, layout=name)
    piped.session_state["fold-What each pipeline stage does when"] = True
    sound(piped.run())
    assert f"Layout {name}" == piped.subheader[1].value
    assert "Pipeline of 4 stages" in words(piped)
    answer = perfmodel.layouts("llama-3-8b", gpus=16384, global_batch_size=16384, node="dgx-h100")
    assert f"iteration: {answer.card.time}" in words(piped)


def test_every_network_that_has_layouts_is_offered():
    built = ((name, workload(name)) for name in names_of_networks())
    assert set(layout_search.transformers()) == {
        name for name, network in built if network.architecture is not None and network.tokens
    }
