"""On top of a page stands what to do, how sure that is, and what limits it."""

from __future__ import annotations

import json
import re

import pytest
import streamlit
from click.testing import CliRunner

from app import charts, no_effect
from app.options import options
from perfmodel import compare, layouts
from perfmodel.core.units import show
from perfmodel.decide.quote import Claim, Quote, check_quote, read_quote
from perfmodel.decide.quote.card import card_of_quote
from perfmodel.decide.quote.listing import worst_first
from perfmodel.interfaces.cli import main
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from tests.test_app import button, opened, words

NETWORKS = {
    "accelerator": "v100-sxm2-16gb",
    "gpus": "32",
    "inter-link": "ethernet-25g-tcp",
    "b-inter-link": "ethernet-100g-tcp",
    "c-inter-link": "ethernet-100g-rdma",
}


def test_a_prediction_says_what_to_plan_with_and_shows_the_range_of_its_figures():
    test = opened(gpus="32")
    answer = predict(Scenario(world_size=32))
    interval = answer.interval
    assert interval is not None
    low = answer.samples_per_second * answer.iteration_time / interval.high_80
    assert f"**Plan with {low:,.0f} images/s: 90 % of jobs like it are faster" in words(test)
    assert f"Plan with\n{low:,.0f} images/s\n90 % of jobs like it are faster\n" in words(test)
    assert f"Likely\n{answer.samples_per_second:,.0f} images/s\nhalf of jobs like it are" in words(test)


def test_nothing_is_planned_with_what_the_model_does_not_know_within_a_factor_of_ten():
    job = {"workload": "bert-large", "accelerator": "h100-sxm5-80gb"}
    said = words(opened(gpus="65536", **job))
    assert "**Measure before you plan: the model does not know this job well enough." in said
    assert "Plan with" not in said
    assert "How fast is BERT large on 65,536 H100s?" in said
    compared = words(opened("compare", gpus="65536", **job, **{"b-overlap": "fused"}))
    assert "e+0" not in compared
    assert "too wide to plan with" in words(opened("scale", gpus="65536", **job))


def test_a_network_is_said_to_have_no_effect_where_it_has_none():
    networks = ("ethernet-10g-tcp", "ib-hdr-200g")
    for strategy in options()["strategy"].choices:
        if strategy == "fsdp":
            continue  # which is of transformers
        slow, fast = (
            predict(Scenario(workload="vgg16", world_size=4, strategy=strategy, inter_link=network))
            for network in networks
        )
        has_none = slow.iteration_time == fast.iteration_time
        assert bool(no_effect.without_effect(slow, {"inter-link": networks[0]})) == has_none, strategy


def test_a_network_chosen_for_one_machine_is_said_to_have_no_effect():
    chosen = {"gpus": "8", "inter-link": "ethernet-1g-tcp"}
    said = "“Network between machines” ethernet-1g-tcp has no effect: all GPUs are in one machine"
    assert any(said in warning.value for warning in opened(**chosen).warning)
    assert not any("no effect" in warning.value for warning in opened(**chosen | {"gpus": "16"}).warning)
    (warning,) = opened("compare", **chosen | {"b-gpus": "16"}).warning
    assert warning.value.startswith(f"A: {said}")


def test_a_plan_without_a_price_names_the_field_and_not_the_command_lines_option():
    said = words(opened("plan", node="dgx-1v", epochs="1", **{"max-gpus": "8"}))
    assert "No price is known of 8 x V100 SXM2 16 GB (dgx-1v)" in said
    assert "--price" not in said


def test_the_one_case_that_fits_is_taken_and_the_others_are_marked():
    said = words(opened("compare", gpus="8", workload="llama-2-7b", **{"b-accelerator": "h100-sxm5-80gb"}))
    assert "**Take H100 SXM5 80 GB (B), which fits with probability " in said
    assert ": no other fits the memory of its GPUs (V100 SXM2 16 GB (A))." in said
    assert re.search(r"limit: .*B: ", said)
    assert re.search(r"\| A \(.*does not fit: [\d.]+ of [\d.]+ GiB; .* if it did \|", said)


def test_compare_says_what_each_case_is_warned_of_and_names_no_missing_option():
    test = opened("compare", gpus="16", workload="vgg16", **{"b-compression": "topk:0.01"})
    assert "B: topk:0.01, as published: no loss of accuracy at a density" in test.warning[0].value
    assert "Compression of gradients: - / topk:0.01" in words(test)
    assert re.search(r"\| scaling efficiency \| [\d.]+ % \| [\d.]+ % \(-[\d.]+ %\) \|", words(test))


def test_the_downloaded_prediction_is_what_its_command_prints(monkeypatch):
    made = {}
    monkeypatch.setattr(
        streamlit, "download_button", lambda label, data, *_, **__: made.update({label: data})
    )
    opened(gpus="16", node="aws-p3.16xlarge", recipe="mlperf")
    line = ["predict", "--gpus", "16", "--node", "aws-p3.16xlarge", "--recipe", "mlperf", "--cost", "--json"]
    printed = CliRunner().invoke(main, line)
    assert json.loads(made["Download JSON"]()) == json.loads(printed.stdout)
    assert made["Download CSV"]() == CliRunner().invoke(main, [*line[:-1], "--csv"]).stdout


def test_the_tokens_a_second_of_a_layout_have_the_interval_of_its_step():
    query = {"workload": "llama-2-7b", "gpus": "8", "accelerator": "h100-sxm5-80gb", "global-batch-size": "8"}
    test = opened("transformers", **query)
    below = {metric.label: metric.delta for metric in test.metric}
    row = layouts("llama-2-7b", gpus=8, accelerator="h100-sxm5-80gb", global_batch_size=8).rows[0]
    tokens = row.tokens_per_second * row.iteration_time
    slow, fast = tokens / row.interval["high_80"], tokens / row.interval["low_80"]
    assert below["Tokens a second"] == f"80 %: {slow:,.0f}-{fast:,.0f}"


def test_the_downloaded_curve_is_what_its_command_prints(monkeypatch):
    made = {}
    monkeypatch.setattr(
        streamlit, "download_button", lambda label, data, *_, **__: made.update({label: data})
    )
    opened("scale", gpus="8,16", workload="vgg16")
    line = ["scale", "--gpus", "8,16", "--workload", "vgg16"]
    assert made["Download CSV"]() == CliRunner().invoke(main, [*line, "--csv"]).stdout
    printed = CliRunner().invoke(main, [*line, "--json"])
    answer = json.loads(made["Download JSON"]())
    assert {row.pop("curve") for row in answer["rows"]} == {"all-reduce"}
    assert answer == json.loads(printed.stdout)


def test_an_address_says_a_distribution_as_the_command_line_does():
    test = opened("stragglers", workers="7", k="3", distribution="lognormal:cv=0.5")
    assert not test.error
    assert "cv=0.5" in words(test)
    assert (test.query_params["distribution"], test.query_params["param"]) == ("lognormal", "cv=0.5")


def test_what_does_not_fit_is_not_planned_with():
    assert "**It does not fit: " in words(opened(gpus="8", **{"local-batch-size": "4096"}))


def test_25_or_100_gigabit_gets_a_decision_named_bars_and_intervals():
    test = opened("compare", **NETWORKS)
    said = words(test)
    rdma, tcp = "100 Gbit/s Ethernet with RDMA (C)", "25 Gbit/s Ethernet with TCP (A)"
    assert (
        "**With 4 network adapters a machine (assumed), the network hardly matters here; take whichever "
        "costs you least:** "
        f"even {rdma}, the fastest, is only 1.04 x as fast as {tcp} (80 %: 1 to "
    ) in said
    assert "); the page “Add machines” says what a faster one may cost." in said
    assert "80 % intervals: times begin at 71.5 ms" in said
    assert "because both networks are limited by the kernel's TCP" in said
    assert test.subheader[0].value == "Which network is best for ResNet-50?"
    top = next(each.value for each in test.markdown if each.value.startswith("**With 4"))
    assert top.count("\n- ") == 2  # the other reasons stand below the charts
    assert "(B) is about as fast" not in top
    assert "| A, B (same expected values) | C |" in said  # which no column repeats
    speeds, bars = test.get("plotly_chart")  # memory, the same in all cases, is said, not drawn
    links = [value for name, value in NETWORKS.items() if name.endswith("inter-link")]
    result = compare(*({"gpus": 32, "inter_link": link} for link in links))
    drawn = json.loads(speeds.proto.spec)["data"]
    lines, points = ([each for each in drawn if each["mode"] == mode] for mode in ("lines", "markers"))
    ratios = [each.ratio for each in result.cases[1:]]
    assert [each["x"] for each in points] == [[1.0], *([each.value] for each in ratios)]
    assert [each["x"] for each in lines] == [[1.0, 1.0], *([each.low_80, each.high_80] for each in ratios)]
    assert [each["marker"]["color"] == charts.BLUE for each in points] == [False, False, True]
    assert f"An iteration with C\n{show(result.rows[0].values[2], 's')}" in said
    assert [each.value for each in test.subheader][1:] == ["Change the cases", "Ask another question"]
    figure = json.loads(bars.proto.spec)
    assert {bar for trace in figure["data"] for bar in trace["y"]} == {
        "A: 25 Gbit/s Ethernet with TCP",
        "B: 100 Gbit/s Ethernet with TCP",
        "C: 100 Gbit/s Ethernet with RDMA",
    }
    assert sum(line["y0"] == line["y1"] for line in figure["layout"]["shapes"]) == 3  # intervals, below bars
    assert test.code[0].value.startswith(
        "With 4 network adapters a machine (assumed), the network hardly matters here; "
        "take whichever costs you least: even C ("
    )


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        (
            {"quantity": "images_per_second", "value": "50000"},
            "**Ask for the log of a run: 50,000 images/s is doubtful, under 1 % likely to be reached. "
            r"Expect 20,[\d]+ images/s (80 %: 1\d,\d+ to 32,\d+ images/s). "
            "It may be inference: ask for the training figure.**",
        ),
        (
            {"quantity": "time_to_train", "value": "1min", "epochs": "90"},
            r"**Reject it: 60 s is impossible. Physics needs at least .*\. Expect .* (80 %: .* to .*).**",
        ),
        (
            {"quantity": "images_per_second", "value": "15000"},
            r"**\d\d % likely to be reached: 15,000 images/s is plausible. Have it in the contract. Expect ",
        ),
    ],
)
def test_a_quote_says_what_to_do_what_to_expect_and_what_physics_allows(claim, said):
    pattern = said.replace("**", r"\*\*").replace("(", r"\(").replace(")", r"\)")
    assert re.search(pattern, words(opened("quote", gpus="32", **claim)))


@pytest.mark.any_version
def test_a_plan_over_the_budget_is_not_called_chosen():
    test = opened("plan", deadline="1h", budget="1", **{"max-gpus": "16"})
    figure = json.loads(test.get("plotly_chart")[0].proto.spec)
    named = {trace["name"] for trace in figure["data"]}
    assert "chosen" not in named
    assert "would do" not in words(test)


def test_a_plan_shows_what_limits_it_and_the_range_of_its_figures():
    test = opened("plan", instance="p3.16xlarge", epochs="90", deadline="24h")
    said = words(test)
    assert "limit: computing, 94 % of the time" in said
    assert "* The deadline does not bind" in said
    assert re.search(r"; a machine is \\?\$[\d.]+ an hour in [a-z0-9-]+, 20\d\d-\d\d-\d\d", said)
    assert re.search(r"run: [\d.]+ h \(80 %: [\d.]+ h to [\d.]+ h\) for 90 epochs", said)
    assert re.search(r"cost: \$[\d.]+ \(80 %: \$[\d.]+ to \$[\d.]+\)", said)
    decides = r"the cheapest within the deadline of 24 h; (\d+ %) likely to fit and to keep it\."
    (chance,) = set(re.findall(decides, said))
    (row, *_) = test.dataframe[0].value.to_dict("records")
    assert row["verdict"] == "take"
    assert row["chance"] == chance
    assert f"chance: {chance} to fit and to keep the deadline" in said
    for column in ("time (80 %)", "cost (80 %)"):  # as the card
        assert f"(80 %: {row[column]})" in said.replace("\\$", "$")
    figure = json.loads(test.get("plotly_chart")[0].proto.spec)
    (star,) = [trace for trace in figure["data"] if trace["name"] == "chosen, 80 %: bars"]
    assert all(star[f"error_{axis}"]["array"][0] > 0 for axis in "xy")
    (lines,) = [each.value for each in test.markdown if each.value.startswith("* ")]
    assert len(lines.splitlines()) <= 3  # the others are in a fold


def test_a_transformer_of_few_sequences_is_planned_in_three_digits_and_tokens():
    test = opened(workload="llama-3-8b", gpus="8", node="dgx-h100", sharding="zero2")
    assert re.search(r"[Pp]lan with [\d,]+ tokens/s \(\d\.\d{1,2} sequences/s\)", words(test))
    assert re.search(r"Likely\n[\d,]+ tokens/s\n\([\d.]+ sequences/s\); half of jobs", words(test))


def test_what_does_not_fit_says_what_would_and_draws_no_throughput_large():
    batch = opened(gpus="8", **{"local-batch-size": "4096"})
    sure = predict(Scenario(world_size=8, local_batch_size=4096)).memory.largest_sure_batch_size
    assert f"What to do: take fewer samples for each GPU, at most {sure:,} to be sure" in words(batch)
    layout = opened(workload="llama-3-8b", gpus="8", node="dgx-h100", framework="megatron-core")
    assert "What would fit: take zero2, which needs " in words(layout)
    assert "take what the page “Will it fit” names for this job" in words(layout)
    for test in (batch, layout):
        assert "If it fitted, an iteration would take " in words(test)
        assert "half of jobs like it" not in words(test)


@pytest.mark.parametrize(
    ("claim", "advice", "against"),
    [
        (
            {"quantity": "samples_per_second", "value": 9.0},
            "Cautious: 9 images/s is over 99 % likely to be reached; expect ",
            r"the claim reaches 0\.\d % of it",
        ),
        (
            {"quantity": "time_to_train", "epochs": 90, "value": 48 * 3600.0},
            "Cautious: 48 h is over 99 % likely to be reached; expect ",
            r"so at least [\d.]+ min; the claim is [\d.]+ times as long",
        ),
        (
            {"quantity": "cost_to_train", "epochs": 90, "value": 1e6, "price": 10.0},
            "Cautious: $1,000,000 is over 99 % likely to be reached; expect ",
            r"so at least \$[\d.]+; the claim is [\d,]+ times as much",
        ),
    ],
)
def test_a_poor_claim_is_said_to_be_poor_in_its_own_direction(claim, advice, against):
    (checked,) = check_quote(
        Quote(title="Poor", scenario={"workload": "resnet50", "gpus": 8}, claims=(Claim(**claim),))
    )
    assert checked.verdict == "pessimistic"
    assert card_of_quote([checked]).advice.startswith(f"{advice}")
    assert re.search(against, "; ".join(checked.arithmetic))


def test_the_worst_claim_is_the_least_likely_of_the_worst_verdict_and_is_named():
    checked = check_quote(read_quote("dgx-a100-petaflops")[0])
    index = worst_first(checked)[0]
    alike = [claim.probability for claim in checked if claim.verdict == checked[index].verdict]
    assert checked[index].probability == min(alike)
    assert f"(claim {index + 1}, the worst of {len(checked)})" in card_of_quote(checked).advice


def test_a_button_asks_the_same_of_machines_with_one_adapter():
    test = opened("compare", **NETWORKS)
    one = button(test, "With 1 network adapter a machine").click().run()
    assert "1.32 x as fast" in words(one)
    assert not [each for each in one.button if each.label == "With 1 network adapter a machine"]


def test_the_batch_on_which_a_verdict_turns_is_asked_beside_the_measured_time():
    def batches(**query):
        return [
            each.label
            for each in opened("diagnose", measured="3s", **query).number_input
            if "Batch" in each.label
        ]

    assert batches(gpus="32") == ["Batch per GPU [samples]"]
    assert batches(gpus="32", **{"global-batch-size": "2048"})[0] == "Batch of the whole job [samples]"
    assert batches(workload="llama-3-8b", gpus="64", node="dgx-h100")[0] == "Batch of the whole job [samples]"
