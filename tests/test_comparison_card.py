"""The card of a comparison: what to take, how sure that is, why the difference is what it is."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from perfmodel import compare
from perfmodel.core.units import show
from perfmodel.decide.comparison import case_of
from perfmodel.decide.comparison.comparison_verdict import ENDS, OWN_EVIDENCE
from perfmodel.decide.comparison.gains import gains
from perfmodel.decide.comparison.network_advice import PAYS
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.prediction import predict
from tests.test_card import in_one_line

DGX = {"gpus": 16, "node": "dgx-1v"}
SLOW_TCP = {"gpus": 32, "inter_link": "ethernet-25g-tcp"}
FAST_TCP = {"gpus": 32, "inter_link": "ethernet-100g-tcp"}
LAYOUT = {"workload": "llama-2-70b", "node": "dgx-h100", "gpus": 64, "global_batch_size": 512}
LAYOUT |= {"tensor_parallel": 8, "pipeline_parallel": 4}
HARDLY = {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 8, "global_batch_size": 256}
HARDLY |= {"sharding": "none", "tensor_parallel": 2, "context_parallel": 2, "recompute": "none"}
HARDLY |= {"framework": "megatron-core@2024"}

DECISIONS = {
    "two networks of one limit": (
        (SLOW_TCP, FAST_TCP),
        "Take A: B is about as fast (80 %: 1 to 1.17 x), because both networks are ",
        "RDMA on the same ports would be 1.0",
    ),
    "the lesser of two networks": (
        (FAST_TCP, SLOW_TCP),
        "Take B: A is about as fast (80 %: 1 to 1.17 x), because both networks are limited by",
        "would be 1.0",
    ),
    "a network that is not crossed": (
        ({"gpus": 8}, {"gpus": 8, "inter_link": "ib-hdr-200g"}),
        "Take A: B gains nothing over it, because all GPUs are in one machine",
        "",
    ),
    "a hidden network": (
        ({"gpus": 32, "inter_link": "ib-edr-100g"}, {"gpus": 32, "inter_link": "ib-hdr-200g"}),
        "Take A: B is about as fast (80 %: 1 to 1.08 x), because it is limited by computing, ",
        "all that a network could save",
    ),
    "a network that may gain nothing": (
        (SLOW_TCP, {**SLOW_TCP, "inter_link": "ethernet-100g-rdma"}),
        "With 4 network adapters a machine (assumed), the network hardly matters here; "
        "take whichever costs you less: B is only 1.04 x as fast as A (80 %: ",
        "); perfmodel plan --have says what ",
    ),
    "a network that may lose nothing": (
        ({**SLOW_TCP, "inter_link": "ethernet-100g-rdma"}, SLOW_TCP),
        "With 4 network adapters a machine (assumed), the network hardly matters here; "
        "take whichever costs you less: B is still 0.958 x as fast as A (80 %: ",
        " to 1); perfmodel plan --have says what ",
    ),
    "networks that may lose nothing": (
        ({**SLOW_TCP, "inter_link": "ethernet-100g-rdma"}, FAST_TCP, SLOW_TCP),
        "With 4 network adapters a machine (assumed), the network hardly matters here; "
        "take whichever costs you least: even B, the slowest, is still 0.958 x as fast as A (80 %: ",
        "",
    ),
    "a network that gains": (
        ({**SLOW_TCP, "workload": "vgg16"}, {**SLOW_TCP, "workload": "vgg16", "inter_link": "ib-edr-100g"}),
        "Take B for speed: it is 2",
        "over 99 % likely to be faster",
    ),
    "another accelerator": (
        (DGX, {**DGX, "node": "dgx-a100-80gb"}),
        "Take B for speed: it is 1.",
        " % likely to be faster",
    ),
    "one that costs less": (
        ({**DGX, "node": "aws-p3.16xlarge"}, {**DGX, "node": "aws-p4d.24xlarge"}),
        "Take B: it is 1.",
        "at 0.559 x the cost of a sample",
    ),
    "one that seems better in both": (
        (
            {"gpus": 8, "node": "aws-p3.16xlarge", "framework": name}
            for name in ("pytorch@2019", "pytorch@2022")
        ),
        "Take B, which is cheaper and seems the faster: it is 1.",
        "",
    ),
    "one that may not fit": (
        (HARDLY, {**HARDLY, "gpus": 16}),
        "Take B (fits with only 67 %) for speed: it is 1.98 x as fast as A",
        "",
    ),
    "slower, but cheaper": (
        ({"gpus": 8, "node": "aws-p3.16xlarge"}, {"gpus": 8, "node": "aws-g4dn.12xlarge"}),
        "Take A for speed, B for cost: B is 0.3",
        "x the cost of a sample.",
    ),
    "fewer GPUs": (
        ({"gpus": 16}, {"gpus": 8}),
        "Take A: B is 0.503 x as fast as A",
        "over 99 % likely to be slower",
    ),
    "more GPUs at a fixed batch": (
        ({"gpus": 8, "global_batch_size": 512}, {"gpus": 64, "global_batch_size": 512}),
        "Take B for speed: it is 2.",
        "",
    ),
    "a precision": (({"gpus": 8, "precision": "fp32"}, {"gpus": 8}), "Take B for speed: it is 1.9", ""),
    "a batch": (
        ({"gpus": 8}, {"gpus": 8, "local_batch_size": 128}),
        "Take the simpler, or measure: B seems the faster, too little to decide by: it is 1.1",
        " % likely to be faster",
    ),
    "software": (
        ({"gpus": 8}, {"gpus": 8, "framework": "pytorch@2022"}),
        "Take the simpler, or measure: B seems the faster",
        "",
    ),
    "a layout": (
        (LAYOUT, {**LAYOUT, "recompute": "full"}),
        "Take A: B is 0.7",
        "over 99 % likely to be slower",
    ),
    "the same job": (
        ({"gpus": 8}, {"gpus": 8}),
        "Take A: B gains nothing over it, because B is the same job.",
        "",
    ),
    "different work": (
        ({"gpus": 8}, {"gpus": 8, "workload": "vgg16"}),
        "Different work, so only the times",
        "",
    ),
    "one that fits": (
        ({"gpus": 8, "local_batch_size": 4096}, {"gpus": 8}),
        "Take B: no other fits the memory of its GPUs (A).",
        "",
    ),
    "none that fits": (
        ({"gpus": 8, "local_batch_size": 4096}, {"gpus": 8, "local_batch_size": 8192}),
        "None fits the memory of its GPUs: A, B.",
        "",
    ),
}


@pytest.mark.parametrize("name", DECISIONS)
def test_a_decision_in_words(name):
    jobs, start, part = DECISIONS[name]
    advice = compare(*jobs).card.advice
    assert advice.startswith(start)
    assert part in advice


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("two networks of one limit", "A"),
        ("the lesser of two networks", "B"),
        ("a network that may gain nothing", None),
        ("a network that gains", "B"),
        ("slower, but cheaper", "A"),
        ("one that costs less", "B"),
        ("a batch", None),
        ("different work", None),
        ("one that fits", "B"),
        ("none that fits", None),
    ],
)
def test_the_record_names_the_case_to_take(name, taken):
    assert compare(*DECISIONS[name][0]).taken == taken


def test_where_intervals_begin_is_said_once():
    answer = compare(SLOW_TCP, FAST_TCP)
    low = answer.cases[1].ratio.low_80
    (note,) = [line for line in answer.notes if line.startswith(ENDS)]
    assert low == 1
    assert note.startswith(f"{ENDS}times begin at 71.5 ms, the fast end of what one accelerator alone takes")
    assert note.endswith("; speeds do not cross 1 x, as a better network is never slower")
    alone = compare({"gpus": 1}, {"gpus": 1, "precision": "fp32"})
    assert not any(line.startswith(ENDS) for line in alone.notes)


def test_why_the_order_of_networks_is_certain_is_said_once_for_all_of_them():
    job = {"gpus": 64, "node": "dgx-a100-80gb", "workload": "vgg16"}
    links = ("ib-hdr-200g", "ib-ndr-400g")
    answer = compare(*({**job, "nics": count, "inter_link": link} for count in (1, 8) for link in links))
    said = [case.ratio.sentence for case in answer.cases[1:]]
    assert all(one.endswith(", over 99 % likely to be faster") for one in said)
    (note,) = [line for line in answer.notes if line.startswith(ENDS)]
    assert note.endswith("; speeds do not cross 1 x, as a better network is never slower")
    unordered = compare({"gpus": 8}, {"gpus": 256}, {"gpus": 8, "precision": "fp32"})
    assert not any("never slower" in line for line in unordered.notes)


def test_intervals_of_times_in_another_order_than_the_times_are_explained():
    """Twice the network, and its time ends earlier though it is no faster: each rests on its own runs."""

    def spreads(answer):
        return [predict(**one).interval for one in answer]

    jobs = [{**each, "nics": 1} for each in (SLOW_TCP, FAST_TCP)]
    slow, fast = spreads(jobs)
    assert slow.low_80 < fast.low_80 < fast.high_80 < slow.high_80
    (note,) = [line for line in compare(*jobs).notes if line.startswith(ENDS)]
    assert f"; {OWN_EVIDENCE}; " in note
    ordered = compare({"gpus": 32}, {"gpus": 32, "overlap": "none"})
    assert OWN_EVIDENCE not in "".join(ordered.notes)


def test_what_a_network_may_cost_is_said_where_it_gains_much_too():
    jobs = [{**SLOW_TCP, "nics": 1, "inter_link": f"ethernet-{name}"} for name in ("25g-tcp", "100g-rdma")]
    answer = compare(*jobs)
    assert answer.card.advice.startswith("Take B for speed: it is 1.32 x as fast as A")
    (line,) = [line for line in answer.notes if line.startswith(PAYS)]
    assert '--have "4 x dgx-1v@1 x ethernet-25g-tcp" --buy ethernet-100g-rdma' in line


def test_a_case_of_the_same_expected_values_has_no_column_of_zeros(invoke, tmp_path):
    asked = ("compare", "--gpus", "32", "--nics", "1", "--inter-link")
    two, three = "ethernet-25g-tcp,ethernet-100g-tcp", "ethernet-25g-tcp,ethernet-100g-tcp,ethernet-100g-rdma"
    for links in (two, three):
        printed = invoke(*asked, links).stdout
        assert "B - A" not in printed
        assert "B: the same expected values as A; its speed is 1 x that of A (80 %: 1 to 1.19 x)" in " ".join(
            printed.split()
        )
        invoke(*asked, links, "--report", str(tmp_path / "page.md"))
        for text in ((tmp_path / "page.md").read_text("utf-8"), invoke(*asked, links, "--markdown").stdout):
            assert "100 Gbit/s Ethernet with TCP (same expected values) |" in text
            assert "TCP, change" not in text


def test_a_name_that_begins_with_its_letter_is_printed_without_it(invoke):
    words = ("compare", "--gpus", "8", "--set", "gpus=16", "--name", "A (8 GPUs)", "--name", "B (twice)")
    printed = invoke(*words).stdout
    assert "\nA  8 GPUs\nB  twice\n" in printed


def test_of_several_the_best_is_taken_and_what_gains_nothing_is_explained():
    job = {**SLOW_TCP, "workload": "vgg16"}
    jobs = [{**job, "inter_link": f"ethernet-{name}"} for name in ("25g-tcp", "100g-tcp", "100g-rdma")]
    answer = compare(*jobs)
    card = answer.card
    assert card.advice.startswith("Take C for speed: it is ")
    assert ", over 99 % likely to be faster. With C communication adds " in card.advice
    assert not card.limit  # a difference is none
    said = [card.advice, *answer.notes]
    reason = r"B is about as fast as A \(80 %: 1 to [\d.]+ x\), because both .* kernel's TCP\. No"
    assert [bool(re.search(reason, one)) for one in said] == [True, *(False for _ in said[1:])]
    assert "that your TCP is as fast as in runs of 2017 to 2021: measure it with iperf3." in card.advice
    assert sum("GB/s an adapter" in one for one in said) == 1  # the network's limit, once
    assert card.chance == "over 99 % that C is faster than A"
    assert card.machines.startswith(
        "32 x V100 SXM2 16 GB: 4 nodes of 8 accelerators, 4 network adapters a node; A: 25 Gbit/s Ethernet"
    )


def test_a_case_that_does_not_fit_is_neither_taken_nor_compared_with():
    card = compare(*({"gpus": 8, "local_batch_size": size} for size in (4096, 64, 128))).card
    assert card.advice.startswith("A does not fit. Take the simpler, or measure: C seems the faster, ")
    assert "as fast as B (" in card.advice
    assert card.chance.endswith(" % that C is faster than B")
    assert card.memory.startswith("A: does not fit: ")


def test_what_holds_of_every_faster_network_is_no_chance():
    card = compare(SLOW_TCP, {**SLOW_TCP, "inter_link": "ethernet-100g-rdma"}).card
    assert "the network hardly matters" in card.advice
    assert not card.chance


def test_the_difference_is_that_of_the_terms():
    slow, fast = (predict(**job) for job in (DGX, {**DGX, "node": "dgx-a100-80gb"}))
    times = [
        show(sum(each.terms[name] for name in ("forward_time", "backward_time")), "s")
        for each in (slow, fast)
    ]
    answer = compare(DGX, {**DGX, "node": "dgx-a100-80gb"})
    advice = answer.card.advice
    alone = re.search(r"computing takes ([\d.]+) ms instead of ([\d.]+) ms", advice)
    assert alone is not None
    passes = [float(time.removesuffix(" ms")) for time in times]
    assert float(alone[2]) == pytest.approx(passes[0], rel=0.02)  # and what is slower than alone
    assert float(alone[1]) == pytest.approx(passes[1], rel=0.02)
    accelerators = [Catalogue.built_in().accelerator(name) for name in ("v100-sxm2-16gb", "a100-sxm4-80gb")]
    memory = accelerators[1].memory_bandwidth.value / accelerators[0].memory_bandwidth.value
    words = f"memory of A100 SXM4 80 GB is {memory:.3g} x as fast, its peak 2.5 x"
    assert any(words in note for note in answer.notes)


def test_other_sizes_are_compared_by_as_many_samples_on_a_gpu():
    advice = compare({"gpus": 8}, {"gpus": 8, "local_batch_size": 128}).card.advice
    two = predict(gpus=8, local_batch_size=128)
    host = show(two.terms["launch_overhead_time"] / 2, "s")
    assert (
        f"for each 64 samples on a GPU the host, which starts the GPUs' work, takes {host} instead of"
        in advice
    )
    assert compare({"gpus": 8}, {"gpus": 16}).card.advice.endswith(". 2 x the GPUs, each 0.994 x as fast.")


@pytest.mark.parametrize("workload", ["resnet50", "vgg16"])
def test_no_network_exceeds_what_is_said_to_be_possible(workload):
    job = {**SLOW_TCP, "workload": workload}
    advice = compare(job, {**job, "inter_link": "ethernet-100g-tcp"}).card.advice
    most = float(re.search(r"more than ([\d.]+) x as fast", advice)[1])
    base = predict(**job).samples_per_second
    catalogue = Catalogue.built_in()
    links = [id for id in catalogue.ids("links") if catalogue.link(id).scope == "inter"]
    speeds = [predict(**{**job, "inter_link": id}).samples_per_second / base for id in links]
    assert 1 + 0.5 * (most - 1) < max(speeds) <= most * 1.005


@pytest.mark.parametrize(
    ("job", "network", "options"),
    [
        (FAST_TCP, True, {"inter_link": "ethernet-100g-rdma"}),
        (
            {**FAST_TCP, "transport": "tcp", "inter_link": "ib-edr-100g", "workload": "vgg16"},
            True,
            {"transport": "plug-in"},
        ),
        ({**LAYOUT, "recompute": "full"}, False, {"recompute": "none"}),
        ({"gpus": 16, "precision": "fp32"}, False, {"precision": "amp"}),
        ({"gpus": 16, "input": "real", "loader_workers": 2}, False, {"loader_workers": 4}),
        (
            {"gpus": 32, "inter_link": "ethernet-10g-tcp", "overlap": "none", "workload": "vgg16"},
            True,
            {"inter_link": "ethernet-25g-rdma"},
        ),
    ],
)
def test_what_would_gain_is_that_change_predicted(job, network, options):
    first = gains(case_of("A", job), network)[0]
    assert dict(first.change.options) == options
    again = compare(job, {**job, **options}).cases[1].ratio
    assert (first.ratio.value, first.ratio.low_80, first.ratio.sure) == pytest.approx(
        (again.value, again.low_80, again.sure), rel=1e-6
    )


def test_of_two_rates_over_each_of_two_transports_the_gain_is_said_with_either():
    links = ("25g-tcp", "100g-tcp", "100g-rdma", "25g-rdma")
    jobs = [{"gpus": 32, "nics": 1, "inter_link": f"ethernet-{link}"} for link in links]
    advice = compare(*jobs, names=list("ABCD")).card.advice
    faster = compare(jobs[3], jobs[2], names=["D", "C"]).cases[1].ratio
    assert "B is about as fast as A (80 %: 1 to 1.19 x), because both networks are limited by " in advice
    assert f" With the same transport, C is {faster.sentence}. " in advice
    assert len(re.split(r"(?<=\.) (?=[A-Z])", advice)) == 5
    three = compare(*jobs[:3], names=list("ABC")).card.advice
    assert "No network is expected to make the job more than 1.36 x as fast" in three


def test_rented_machines_are_offered_no_other_network():
    job = {"gpus": 16, "node": "aws-p3.16xlarge", "workload": "vgg16"}
    assert all("inter_link" not in gain.change.options for gain in gains(case_of("A", job), True))


def test_one_card_on_every_way_out(invoke, tmp_path):
    asked = ("compare", "--gpus", "32", "--inter-link", "ethernet-25g-tcp,ethernet-100g-tcp")
    card = compare(
        SLOW_TCP, FAST_TCP, names=["25 Gbit/s Ethernet with TCP", "100 Gbit/s Ethernet with TCP"]
    ).card
    printed = in_one_line(invoke(*asked).stdout)
    pasted = invoke(*asked, "--markdown").stdout
    invoke(*asked, "--report", str(tmp_path / "page.md"))
    page = (tmp_path / "page.md").read_text("utf-8")
    assert json.loads(invoke(*asked, "--json").stdout)["card"] == card.model_dump()
    assert card.advice in printed
    assert card.advice in pasted
    assert card.advice in page
    for label, value in card.rows:
        assert f"{label} {value}" in printed
        assert f"| {label} | {value} |" in pasted
        assert f"| {label} | {value} |" in page
    assert card.limit
    assert card.rests_on


def test_run_and_cost_are_on_the_card_where_they_are_known(invoke):
    asked = ("compare", "--node", "aws-p3.16xlarge,aws-p4d.24xlarge", "--gpus", "16", "--time-to-target")
    card = json.loads(invoke(*asked, "--json").stdout)["card"]
    time = r"[\d.]+ \w+"
    ends = rf"{time} \(80 %: {time} to {time}\)"
    assert re.fullmatch(rf"AWS p3.16xlarge: {ends}; AWS p4d.24xlarge: {ends}", card["run"])
    assert re.search(r"AWS p4d.24xlarge: \$[\d.]+ for a million samples \(0\.\d+ x\)", card["cost"])


# --- several values of an option


def test_several_values_are_cases(invoke, tmp_path):
    (tmp_path / "job.toml").write_text("gpus = 16\n")

    def told(*words):
        result = invoke("compare", *words, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    nodes = told("--node", "dgx-1v,dgx-a100-80gb", "--gpus", "16")
    assert nodes["names"] == ["NVIDIA DGX-1", "NVIDIA DGX A100 80 GB"]
    assert told(tmp_path / "job.toml", "--node", "dgx-1v,dgx-a100-80gb")["rows"] == nodes["rows"]
    assert (
        told("--scenario", tmp_path / "job.toml", "--node", "dgx-1v,dgx-a100-80gb")["rows"] == nodes["rows"]
    )
    crossed = told("--gpus", "8,16", "--precision", "fp32,amp")
    assert crossed["names"] == [
        "8 GPUs with fp32",
        "8 GPUs with amp",
        "16 GPUs with fp32",
        "16 GPUs with amp",
    ]
    assert [one["world_size"] for one in crossed["scenarios"]] == [8, 8, 16, 16]
    more = told("--gpus", "8,16", "--set", "precision=fp32")
    assert more["names"] == ["8 GPUs", "16 GPUs", "precision=fp32"]
    assert more["scenarios"][2]["world_size"] == 8


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--gpus", "8,"], "expected values joined by commas"),
        (["--gpus", "8,0"], "is not a whole number"),
        (["--gpus", "8,8"], "nothing to compare with"),
        (["a.toml", "b.toml", "--gpus", "8,16"], "--gpus: several values vary one scenario"),
        (["--node", "dgx-1v,dgx-9"], "unknown"),
        (["--gpus", ",".join(map(str, range(1, 1001))), "--nics", "1,2,3,4"], "4,000 combinations"),
    ],
)
def test_bad_values_are_told_in_a_line(words, told, tmp_path, monkeypatch, invoke):
    monkeypatch.chdir(tmp_path)
    for name in ("a.toml", "b.toml"):
        (tmp_path / name).write_text("")
    result = invoke("compare", *words)
    assert result.exit_code == 2
    assert told in result.stderr
    assert "Traceback" not in result.stderr


def test_defaults_that_matter_are_printed(invoke):
    shown = " ".join(
        invoke("compare", "--gpus", "32", "--inter-link", "ethernet-25g-tcp,ethernet-100g-tcp").stdout.split()
    )
    assert "defaults taken by all: --connections 16, --nics 4, " in shown
    apart = " ".join(invoke("compare", "--node", "dgx-1v,dgx-a100-80gb", "--gpus", "16").stdout.split())
    assert "defaults taken by B: --inter-link ib-hdr-200g, --framework pytorch@2022" in apart


def test_the_adapters_that_were_assumed_are_named_where_they_decide():
    job = {"gpus": 32, "accelerators_per_node": 1, "inter_link": "ethernet-25g-tcp"}
    card = compare(job, {**job, "inter_link": "ethernet-100g-rdma"}).card
    assert card.advice.startswith(
        "With 1 network adapter a machine (assumed), take B for speed: it is 1.46 x"
    )
    second = card.advice.split(". ")[1]
    assert second.startswith("With all 4 (--nics 4) B would be 1.05 x as fast as A")
    assert "1 network adapter a machine (of 4, for 1 of 8 GPUs)" in card.rests_on
    stated = {**job, "nics": 1}
    other = compare(stated, {**stated, "inter_link": "ethernet-100g-rdma"}).card
    assert "adapter" not in other.advice + other.rests_on
    whole = {"gpus": 32, "inter_link": "ethernet-25g-tcp"}
    card = compare(whole, {**whole, "inter_link": "ethernet-100g-rdma"}).card
    assert "With one (--nics 1) B would be 1.32 x as fast as A" in card.advice
    named = {**whole, "node": "dgx-1v"}
    card = compare(named, {**named, "inter_link": "ethernet-100g-rdma"}).card
    assert card.advice.startswith("With 4 network adapters a machine (its own), the network")
    part = {**job, "node": "dgx-1v"}
    card = compare(part, {**part, "inter_link": "ethernet-100g-rdma"}).card
    assert card.advice.startswith("With 1 network adapter a machine (assumed), ")


def test_what_would_gain_over_a_network_that_is_not_taken_names_that_network():
    job = {"gpus": 32, "inter_link": "ethernet-25g-tcp"}
    advice = compare(job, {**job, "inter_link": "ethernet-100g-tcp"}).card.advice
    assert advice.startswith("Take A: ")
    assert re.search(r" RDMA on the same ports would be 1\.0\d x as fast as B \(80 %: 1 to ", advice)


def test_a_comparison_of_own_networks_names_the_command_that_says_what_they_may_cost(invoke):
    job = {"gpus": 4, "node": "pcie-workstation-1gpu", "inter_link": "ethernet-25g-tcp"}
    notes = compare(job, {**job, "inter_link": "ethernet-100g-rdma"}).notes
    have = '--have "4 x pcie-workstation-1gpu/v100-sxm2-16gb@ethernet-25g-tcp" --buy ethernet-100g-rdma'
    (line,) = [line for line in notes if have in line]
    said = " ".join(invoke(*shlex.split(line.partition("perfmodel ")[2])).output.split())
    assert said.startswith("With 100 Gbit/s Ethernet with RDMA: ")
    stated = compare(
        *(
            {**each, "precision": "fp32"}
            for each in (job, {**job, "nics": 1, "inter_link": "ethernet-100g-rdma"})
        )
    )
    assert any(line.endswith(" --precision fp32") and have in line for line in stated.notes)
    alone = (
        {**job, "overlap": "none", "inter_link": link} for link in ("ethernet-25g-tcp", "ethernet-100g-rdma")
    )
    assert "plan --have" not in "".join(compare(*alone).notes)  # which takes no overlap


def test_a_job_with_a_chance_to_fit_is_not_said_to_fit_nowhere():
    job = {"workload": "llama3-8b", "node": "dgx-h100"}
    advice = compare({**job, "gpus": 8}, {**job, "gpus": 16}).card.advice
    chances = r"A \(\d\d % that it does\), B \(\d\d % that it does\)"
    assert re.fullmatch(rf"None is likely to fit the memory of its GPUs: {chances}\.", advice)


def test_values_that_people_call_alike_are_all_told_apart(invoke):
    answer = json.loads(
        invoke("compare", "--node", "dgx-1v,dgx-1v-32gb,dgx-2", "--gpus", "16", "--json").stdout
    )
    assert answer["names"] == ["NVIDIA DGX-1 (dgx-1v)", "NVIDIA DGX-1 (dgx-1v-32gb)", "NVIDIA DGX-2"]


def test_connections_are_no_remedy_beyond_what_the_cores_serve():
    job = {"gpus": 32, "inter_link": "ethernet-100g-tcp"}
    few = predict(**job, node="pcie-workstation-1gpu").network_limit
    assert few is not None
    assert "or more --connections" not in few
    assert few.endswith("; --connections are counted up to 16")
    more = predict(**job, accelerators_per_node=1).network_limit
    assert more is not None
    assert more.endswith("or more --connections would lift it")
