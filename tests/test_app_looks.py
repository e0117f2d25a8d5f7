"""What people read on the pages: units at ticks, labels in place of options, warnings once."""

from __future__ import annotations

import json
import re

import plotly.graph_objects as go
import pytest

import perfmodel
from app import axes, error_chart, samples
from app.answer_card import decision, with_reasons
from app.diagnosis_charts import over_sizes
from app.hardware import ordinal
from app.menu import PAGES
from perfmodel.core.units import per_cent, three_digits
from perfmodel.decide.quote import check_quote, read_quote
from perfmodel.evidence.accuracy.ledger.ledger import lines
from perfmodel.evidence.accuracy.report.error_statistics import counted, statistics
from perfmodel.evidence.accuracy.report.out_of_sample_file import shipped_rows
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.ledger_scales import KNOWN, NEW
from perfmodel.model.prediction.alone import efficiency_range
from perfmodel.model.prediction.card import throughput_range
from perfmodel.model.prediction.intervals.ratio import ratio_between
from perfmodel.model.prediction.scaling_card import card_of_scaling, speed_words
from perfmodel.model.prediction.speed_words import about_as_fast
from tests.test_app import by_algorithm, opened, sound, words


def layouts(test):
    return [json.loads(chart.proto.spec)["layout"] for chart in test.get("plotly_chart")]


@pytest.mark.parametrize("page", ["communication", "stragglers", "hardware"])
def test_ticks_of_measured_quantities_say_their_unit(page):
    ticks = [
        axis["ticktext"]
        for layout in layouts(opened(page))
        for name, axis in layout.items()
        if name[1:5] == "axis" and not re.search(r"\bbound\b|GPUs", axis.get("title", {}).get("text", ""))
        if axis.get("ticktext")
    ]
    assert ticks
    texts = [text for axis in ticks for text in axis]
    assert not [text for text in texts if re.fullmatch(r"[\d.]+[a-zA-Z]", text)]
    assert all(text.endswith(("s", "min", "h", "B", "days")) for text in texts)
    assert all(2 <= len(axis) <= axes.MOST_TICKS for axis in ticks)


def test_messages_are_counted_in_one_kind_of_bytes():
    axes_drawn = [
        layout[f"xaxis{number}"]
        for layout in layouts(by_algorithm())
        for number in ("", 2)
        if layout.get(f"xaxis{number}", {}).get("title", {}).get("text") == "message"
    ]
    assert len(axes_drawn) == 2
    assert all("100 kB" in axis["ticktext"] for axis in axes_drawn)
    assert not [text for axis in axes_drawn for text in axis["ticktext"] if "iB" in text]


def test_sizes_of_a_listing_are_counted_as_the_text_counts_them():
    job = {"node": "dgx-h100", "gpus": 16}
    figure = over_sizes(perfmodel.diagnose(measured=samples.LISTING, **job))
    axes.say_units(figure)
    ticks = figure.layout["xaxis"]["ticktext"]
    assert any(text.endswith("MiB") for text in ticks)
    assert not [text for text in ticks if text.endswith((" MB", " GB"))]


def test_the_page_of_stragglers_says_who_leads_until_when():
    test = opened("stragglers")
    drawn = json.loads(test.get("plotly_chart")[0].proto.spec)
    assert "to take" in {trace["name"] for trace in drawn["data"]}  # the advice has the one warning
    test.session_state["fold-Error against wall clock, of an example objective"] = True
    shown = words(sound(test.run()))
    assert re.search(r"least error, by this bound: async up to some [\d.]+ (s|min), ", shown)
    curves = perfmodel.stragglers(workers=16, k=8).error_curves()
    last = min(curves.variants, key=lambda curve: curve.error[-1]).variant
    assert f"then {last}." in shown
    alone = words(opened("stragglers", distribution="lognormal", param="mean=3,cv=0.5"))
    assert "each computes a gradient in 3 s in the mean (lognormal: mean=3, cv=0.5)" in alone


def test_warnings_that_differ_in_numbers_alone_are_one():
    test = opened("scale", gpus="1-16")
    assert len(test.warning) == 1
    assert "more with other numbers" in test.warning[0].value


@pytest.mark.parametrize("page", ["predict", "scale", "compare", "plan"])
def test_pages_call_options_by_their_labels(page):
    query = (
        {"instance": "p3.16xlarge", "epochs": "1"}
        if page == "plan"
        else {"gpus": "8,16" if page == "scale" else "16"}
    )
    shown = words(opened(page, **query)).splitlines()
    assert not [line for line in shown if re.search(r"--[a-z]", line)]
    assert not [line for line in shown if "as usual" in line or "and otherwise" in line]
    assert shown


def test_claims_are_drawn_in_one_chart_as_shares_of_what_physics_allows():
    (chart,) = opened("quote", quote="six-true-claims").get("plotly_chart")
    figure = json.loads(chart.proto.spec)
    traces = {trace["name"]: trace for trace in figure["data"]}
    checked = check_quote(read_quote("six-true-claims")[0])
    most = [each.limit / (1.1 if each.quantity == "scaling_efficiency" else 1) for each in checked]
    shares = [
        (each.value / limit) ** (1 if each.higher_is_better else -1)
        for each, limit in zip(checked, most, strict=True)
    ]
    assert traces["claimed"]["x"] == pytest.approx(shares)
    assert traces["most possible"]["x"] == [1, 1, None] * len(checked)


@pytest.mark.parametrize("page", [name for name, _ in PAGES])
def test_plotly_knows_all_that_a_page_draws(page):
    for chart in opened(page).get("plotly_chart"):
        go.Figure(json.loads(chart.proto.spec))


@pytest.mark.parametrize("kind", ["accelerators", "nodes", "links", "software"])
def test_hardware_is_listed_in_one_table_the_newest_first_and_its_id_last(kind):
    (listed,) = [frame.value for frame in opened("hardware", kind=kind).dataframe]
    assert sorted(listed["id"]) == sorted(Catalogue.built_in().ids(kind))
    assert (listed.columns[0], listed.columns[-1]) == ("name", "id")
    years = [year for year in listed.get("year", []) if year == year]
    assert years == sorted(years, reverse=True)


def test_hardware_says_first_what_a_planner_asks_and_leads_to_the_sources():
    said = words(opened("hardware")).replace("\\", "")
    every = [Catalogue.built_in().accelerator(id) for id in Catalogue.built_in().ids("accelerators")]
    wider = sum(one.memory_bandwidth.value > 900e9 for one in every)
    newer = sum((one.year or 0) > 2017 for one in every)
    assert f" and {ordinal(wider + 1)} by memory bandwidth of {len(every)} accelerators" in said
    assert f"; {newer} are newer than 2017, with up to " in said
    assert "One holds at most 941 million parameters in training (Adam, amp; " in said
    assert "data sheet; 94.84 TFLOP/s measured" in said
    assert "data sheet; 15.78 GiB usable" in said
    assert said.count("900 GB/s") == 2  # the tile, and the row of the fold
    assert "Rated power\n300 W\ndata sheet" in said.replace("rated", "Rated")
    source = Catalogue.built_in().accelerator("v100-sxm2-16gb").sources["techpowerup"]
    assert f"| base clock | 1,290 MHz | data sheet: [{source.title.split(', ')[0]}" in said
    assert f"]({source.url})" in said


def test_what_lies_under_the_dots_of_the_chart_of_errors_is_drawn_over_them_too():
    rows = [row for row in shipped_rows("specs") if row.error is not None][:50]
    figure = error_chart.strips({"one": rows})
    assert [each["layer"] for each in figure.layout["shapes"]] == ["below", "above"]
    *_, bar, median = figure.data
    (ratio,) = median["x"]
    assert ratio == pytest.approx(sorted(1 + row.error for row in rows)[25], rel=0.1)
    assert median["marker"]["color"] != bar["line"]["color"]


@pytest.mark.any_version
def test_validation_says_errors_and_coverage_over_sources_and_those_of_new_hardware():
    errors = statistics([row for row in shipped_rows("specs") if row.error is not None and counted(row)])
    test = opened("validation")
    drawn = [each.type if each.type == "plotly_chart" else getattr(each, "value", "") for each in test.main]
    trusted = next(place for place, text in enumerate(drawn) if str(text).startswith("* **Trust most**"))
    assert drawn.index("plotly_chart") < trusted
    said = words(test)
    mean, rows = (f"{100 * errors[name]:.0f} %" for name in ("mean_over_sources", "mean_absolute_error"))
    (advice,) = re.findall(r"From specs alone, a predicted time is .*", said.replace("*", ""))[:1]
    assert re.findall(r"[\d.]+ %", advice) == [mean]
    assert f"mean over {errors['sources']} sources; {rows} over their {errors['n']:,} runs" in said
    held = [f"{100 * errors[name]:.0f} %" for name in ("coverage_80_over_sources", "coverage_80")]
    fitted = "of times of sources that the model was not fitted to"
    assert f"80 % intervals held\n{held[0]}\n{fitted}; {held[1]} over runs" in said
    assert f"than that of the {mean} above" in said
    assert f"by today's model** ({errors['sources']}) | {mean} | {held[0]} |" in said
    new = [line.today for line in lines() if line.job == NEW]
    worst = max(100 * each.error_over_categories for each in new)
    least, *_, most = sorted(100 * each.coverage_80_over_categories for each in new)
    held = f"off, by kind of job; their 80 % intervals held {least:.0f} to {most:.0f} %"
    assert f"New accelerator or software\nup to {worst:.0f} %\n{held}" in said
    assert least < 70
    assert f"(**{least:.0f} %: too narrow**)" in said
    divided = {line.kind for line in lines() if line.job == KNOWN}
    assert said.count("too narrow**") == sum(
        line.today.coverage_80_over_categories < 0.7
        for line in lines()
        if line.job in (KNOWN, NEW) or (line.job is None and line.kind not in divided)
    )
    assert "as first stated" not in said.casefold()  # the history is in a fold
    known = {line.kind: line.today.error_over_categories for line in lines() if line.job == KNOWN}
    off = {line.kind: line.today.error_over_categories for line in lines() if line.job == NEW}
    both = known.keys() & off.keys()
    worse = sum(off[kind] > known[kind] for kind in both)
    assert f"was worse** for {worse} of {len(both)} kinds of job: " in said
    of = {line.job: line.today for line in lines() if line.kind.startswith("transformers")}
    before, of_new = (f"{100 * of[job].error_over_categories:.0f} %" for job in (KNOWN, NEW))
    assert f"| transformers ({of[None].categories}) | {before} ({of_new}) |" in said
    far = [row.error for row in shipped_rows("specs") if row.error is not None]
    fast, slow = sum(error < -0.5 for error in far), sum(error > 1 for error in far)
    words_of_far = (
        f"too fast**: {fast} of {len(far):,} runs took over twice as long as predicted, {slow} less"
    )
    assert words_of_far in said


def test_a_scaling_begins_with_its_answer_and_what_other_networks_give():
    tcp, same, rdma = (
        perfmodel.scale(gpus=[8, 64], inter_link=link)
        for link in ("ethernet-25g-tcp", "ethernet-100g-tcp", "ethernet-100g-rdma")
    )
    last = tcp.rows[-1]
    answer = tcp.card.advice
    ends = efficiency_range(tcp.predictions[-1], perfmodel.predict(inter_link="ethernet-25g-tcp", gpus=1))
    assert ends[0] < last.scaling_efficiency < ends[1] <= 1
    linear = f"{per_cent(last.scaling_efficiency, 0)} of linear scaling (80 %: "
    linear += f"{' to '.join(per_cent(end, 0) for end in ends)})"
    speed = f"{last.samples_per_second:,.0f} images/s (80 %: "
    assert answer.startswith(f"It scales to 64 GPUs, the most tried, at {linear}: {speed}")
    others = {"100 a": same.predictions, "b": rdma.predictions}
    several = card_of_scaling(tcp.predictions, others, tcp.alone)
    lines = [
        f"{name}: {each.rows[-1].samples_per_second:,.0f} images/s (80 %: "
        for name, each in (("b", rdma), ("100 a", same))
    ]
    first, *said = (
        line.replace("\\", "").replace("\xa0", " ") for line in with_reasons(*decision(several.advice))
    )
    head = f"It scales to 64 GPUs, the most tried, at {linear}"
    assert first == f"**{head}; no other network is surely faster.**"
    top = three_digits(throughput_range(tcp.predictions[-1])[1])
    assert several.throughput.startswith(speed)
    assert several.throughput.endswith(
        f"; the intervals end at {top}, the fast end of what each accelerator does alone"
    )
    assert [line.startswith(begin) for line, begin in zip(said, lines, strict=True)] == [True] * 2
    for line, name in zip(said, ("b", "100 a"), strict=True):
        ratio = ratio_between(others[name][-1], tcp.predictions[-1], "the chosen")
        assert line.endswith(f"), {about_as_fast(ratio)}.")


def test_a_scaling_claims_no_more_gpus_than_were_tried():
    for gpus in ([8, 16], [8, 16, 64]):
        advice = perfmodel.scale(gpus=gpus).card.advice
        assert advice.startswith(f"It scales to {gpus[-1]} GPUs, the most tried, at ")
    strong = perfmodel.scale(gpus=[8, 16, 512], global_batch_size=512).card.advice
    assert re.match(r"It scales up to \d+ GPUs, at ", strong)


def test_a_scaling_begins_with_the_network_that_is_surely_faster_and_says_how_far_it_pays():
    slow, fast = (
        perfmodel.scale(gpus=[8, 64], workload="vgg16", inter_link=link).predictions
        for link in ("ethernet-10g-tcp", "ib-edr-100g")
    )
    card = card_of_scaling(slow[1:], {"fast": fast})
    first, line, *_ = card.advice.split(". ")
    assert first.startswith("On 64 GPUs, at ")
    assert first.endswith(" of linear scaling; fast is faster")
    assert line.startswith("fast: ")
    assert card.throughput.startswith(speed_words(slow[1]))
    assert "; it scales up to 64 GPUs." in card_of_scaling(slow, {"fast": fast}).advice
