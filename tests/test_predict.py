"""A prediction adds up, keeps to its definitions, and answers or refuses whatever is asked."""

from __future__ import annotations

import collections
import itertools
import json
import math
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from perfmodel.core.choices import (
    LARGEST_BATCH_SIZE,
    LARGEST_WORLD_SIZE,
    WITHIN_A_NODE,
    Algorithm,
    Overlap,
    Precision,
    Strategy,
)
from perfmodel.core.errors import InputError
from perfmodel.core.units import per_cent, show
from perfmodel.evidence.accuracy.training_rows import shipped_runs
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import link_words
from perfmodel.hardware.software import EARLIEST_YEAR, LATEST_YEAR, USUAL_AGE
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.memory_odds import CERTAIN
from perfmodel.model.prediction.verdict import saving_words
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.step.computation import Computation
from perfmodel.model.step.evaluate import evaluate
from perfmodel.model.step.messages import messages
from perfmodel.model.step.stragglers import NOTED
from perfmodel.model.step.terms import added
from perfmodel.workloads import names, workload

CATALOGUE = Catalogue.built_in()
ONE_GPU_NODES = {
    "accelerator": "v100-sxm2-16gb",
    "node": "aws-p3.2xlarge",
    "inter_link": "ethernet-25g-tcp",
    "network_cap": False,
}


def twice(spec: Any, field: str) -> Any:
    """Return a spec with a quantity doubled."""
    quantity = getattr(spec, field)
    return spec.model_copy(update={field: quantity.model_copy(update={"value": 2 * quantity.value})})


def ask(**options: object) -> Prediction:
    return predict(Scenario.model_validate(options))


def answer_or_refusal(options: dict[str, object]) -> Prediction | str:
    try:
        return ask(**options)
    except InputError as refusal:
        return str(refusal)


def test_one_accelerator_has_nothing_to_send():
    answer = ask(workload="resnet50", world_size=1)
    assert answer.communication_time == 0
    assert answer.terms["exposed_communication_time"] == 0
    assert answer.scaling_efficiency == pytest.approx(1, abs=1e-12)
    assert answer.speedup == pytest.approx(1, abs=1e-12)


def test_weak_scaling_is_measured_against_the_same_batch():
    alone, many = ask(world_size=1), ask(world_size=16)
    assert many.scaling == "weak"
    assert many.baseline_time == pytest.approx(alone.iteration_time, rel=1e-12)
    assert many.scaling_efficiency == pytest.approx(alone.iteration_time / many.iteration_time)
    assert many.speedup == pytest.approx(16 * alone.iteration_time / many.iteration_time)


def test_strong_scaling_is_measured_against_the_whole_batch_on_one():
    many = ask(world_size=16, global_batch_size=256)
    alone = ask(world_size=1, local_batch_size=256)
    assert alone.memory.fits
    assert many.scaling == "strong"
    assert many.baseline_time == pytest.approx(alone.iteration_time)
    assert many.speedup == pytest.approx(alone.iteration_time / many.iteration_time)
    assert many.scaling_efficiency == pytest.approx(many.speedup / 16)


def test_one_server_takes_time_in_proportion_to_its_workers_and_a_ring_does_not():
    def communication(strategy: str, workers: int) -> float:
        servers = {"servers": 1} if strategy == "parameter-server" else {}
        return ask(
            strategy=strategy, world_size=workers, overlap="none", **servers, **ONE_GPU_NODES
        ).communication_time

    workers = (2, 4, 8, 16, 32, 64)
    servers = [communication("parameter-server", n) for n in workers]
    rings = [communication("all-reduce", n) for n in workers]
    for few, many in itertools.pairwise(servers):
        assert many / few == pytest.approx(2, rel=0.01)
    # a ring passes 2 (n-1)/n of the gradients: the whole at 2 workers, less than twice that at any number,
    # and each doubling of the nodes costs some per cent of the bandwidth
    assert rings == sorted(rings)
    assert rings[-1] / rings[0] < 2.5
    assert rings[-1] / rings[2] < 1.3
    assert servers[-1] > 15 * rings[-1]


def test_a_node_sums_its_gradients_before_a_server_sees_them_unless_told_not_to():
    plan = {"strategy": "parameter-server", "servers": 1, "world_size": 32, "accelerator": "v100-sxm2-16gb"}
    summed = ask(**plan, overlap="none").communication_time
    apart = ask(**plan, overlap="none", local_aggregation=False).communication_time
    assert apart / summed == pytest.approx(8, rel=0.15)  # eight accelerators in each machine
    twice = ask(**plan | {"world_size": 64}, overlap="none", local_aggregation=False).communication_time
    assert twice / apart == pytest.approx(2, rel=0.01)


def test_what_overlaps_is_hidden_and_what_does_not_is_exposed():
    none, buckets = (ask(world_size=8, overlap=overlap, **ONE_GPU_NODES) for overlap in ("none", "bucketed"))
    assert none.terms["exposed_communication_time"] == pytest.approx(none.communication_time)
    assert "0 % of communication is hidden" in none.verdict
    exposed = buckets.terms["exposed_communication_time"]
    assert 0 < exposed < buckets.communication_time
    assert (
        f"{per_cent(1 - exposed / buckets.communication_time, 0)} of communication is hidden"
        in buckets.verdict
    )
    assert buckets.iteration_time < none.iteration_time


def test_a_wait_for_a_fusion_cycle_is_no_negative_hiding():
    plan = {"workload": "alexnet", "strategy": "parameter-server", "overlap": "fused", "servers": 16}
    network = {"world_size": 2, "nics": 64, "inter_link": "ib-xdr-800g"}
    answers = [ask(**plan, **network, local_batch_size=batch) for batch in range(1, 40)]
    assert all(a.terms["exposed_communication_time"] <= a.communication_time for a in answers)


def test_more_servers_share_the_load():
    times = [
        ask(strategy="parameter-server", servers=s, world_size=16, **ONE_GPU_NODES).communication_time
        for s in (1, 2, 4, 8)
    ]
    assert times == sorted(times, reverse=True)


def test_time_grows_with_the_batch_and_falls_with_the_hardware():
    batches = [ask(local_batch_size=b, world_size=8).iteration_time for b in (8, 16, 32, 64, 128)]
    assert batches == sorted(batches)
    cards = ["k80", "p100-sxm2-16gb", "v100-sxm2-16gb", "a100-sxm4-80gb", "h100-sxm5-80gb"]
    speeds = [ask(accelerator=card, precision="fp32").iteration_time for card in cards]
    assert speeds == sorted(speeds, reverse=True)
    links = ["ethernet-1g-tcp", "ethernet-10g-tcp", "ethernet-25g-tcp", "ethernet-100g-tcp"]
    networks = [
        ask(world_size=8, accelerator="v100-sxm2-16gb", node="aws-p3.2xlarge", inter_link=link)
        for link in links
    ]
    assert [n.iteration_time for n in networks] == sorted((n.iteration_time for n in networks), reverse=True)


def test_accumulation_sends_once_for_all_micro_batches():
    once, four = (ask(world_size=8, accumulation_steps=k, overlap="none", **ONE_GPU_NODES) for k in (1, 4))
    assert four.communication_time == once.communication_time
    assert four.terms["forward_time"] == pytest.approx(4 * once.terms["forward_time"])
    assert four.terms["update_time"] == once.terms["update_time"]
    assert four.scaling_efficiency > once.scaling_efficiency


@pytest.mark.parametrize("workload", ["resnet50", "bert-base", "vgg16"])
def test_the_largest_batch_that_fits_is_the_boundary(workload):
    memory = ask(workload=workload, accelerator="v100-sxm2-16gb").memory
    largest, sure = memory.largest_local_batch_size, memory.largest_sure_batch_size
    assert 1 <= sure < largest
    assert ask(workload=workload, accelerator="v100-sxm2-16gb", local_batch_size=largest).memory.fits
    too_large = ask(workload=workload, accelerator="v100-sxm2-16gb", local_batch_size=largest + 1)
    assert not too_large.memory.fits
    assert any(f"the largest batch that surely does is {sure}" in line for line in too_large.warnings)
    chances = [
        ask(workload=workload, accelerator="v100-sxm2-16gb", local_batch_size=size).memory.fits_probability
        for size in (sure, sure + 1)
    ]
    assert chances[0] >= CERTAIN > chances[1]


def test_an_anchor_is_met_at_one_accelerator_and_moves_the_rest():
    anchored = ask(world_size=1, anchor="iteration_time=0.145s@1")
    assert anchored.mode == "anchored"
    assert anchored.iteration_time == pytest.approx(0.145, rel=1e-9)
    by_rate = ask(world_size=1, local_batch_size=64, anchor="samples_per_second=220@1")
    assert by_rate.samples_per_second == pytest.approx(220, rel=1e-9)
    many = ask(world_size=8, anchor="iteration_time=0.145s@1")
    assert many.baseline_time == pytest.approx(0.145, rel=1e-9)
    assert many.iteration_time >= 0.145
    assert not any("anchor" in warning for warning in many.warnings)


@pytest.mark.parametrize("loader_workers", [1, 4, 400])
def test_an_anchor_is_met_where_input_is_waited_for(loader_workers):
    real = {"input": "real", "loader_workers": loader_workers, "local_batch_size": 64}
    for time in (0.03, 0.3, 3.0):
        anchored = ask(world_size=1, anchor=f"iteration_time={time}s@1", **real)
        assert anchored.iteration_time == pytest.approx(time, rel=1e-9)
        assert ask(world_size=8, anchor=f"iteration_time={time}s@1", **real).baseline_time == pytest.approx(
            time
        )


def test_one_accelerator_loads_the_whole_batch_that_strong_scaling_splits():
    """Eight that share a host wait for the same samples as one: input-bound, nothing is gained."""
    bound = {"accelerator": "v100-sxm2-16gb", "input": "real", "loader_workers": 1}
    eight = ask(world_size=8, global_batch_size=512, **bound)
    alone = ask(world_size=1, local_batch_size=512, **bound)
    assert eight.baseline_time == pytest.approx(alone.iteration_time, rel=0.01)
    assert eight.speedup == pytest.approx(1, rel=0.01)


def test_an_anchor_above_the_peak_is_doubted():
    assert any("check the anchor" in warning for warning in ask(anchor="iteration_time=1ms@1").warnings)


@pytest.mark.parametrize("anchor", [None, "iteration_time=0.75s@1"])
def test_a_utilisation_of_fast_convolutions_counts_what_they_compute(anchor):
    """VGG-16 in fp32 on a V100: Winograd's algorithm needs fewer multiplications than publications count."""
    answer = ask(workload="vgg16", precision="fp32", local_batch_size=256, anchor=anchor)
    assert answer.mfu < 1 < answer.mfu_nominal
    assert answer.mfu / answer.mfu_nominal == pytest.approx(0.45, abs=0.005)
    assert not any("fp32 peak" in warning for warning in answer.warnings)


@pytest.mark.published("PyTorch reducer.cpp: first bucket 1 MiB, then 25 MiB, never splitting a tensor")
def test_resnet50_gradients_travel_in_five_buckets():
    setting = resolve(Scenario(workload="resnet50-v1.5", world_size=8, precision="fp32"), CATALOGUE)
    layers = setting.workload.column("parameters")
    ones = layers * 0 + 1.0
    work = Computation(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, ones, ones, 0.0)
    sent = messages(setting, work, lambda sizes: sizes)
    assert sent.message_bytes.tolist() == [8196000, 31502336, 26255360, 26550272, 9724160]
    assert sent.ready_times.tolist() == sorted(sent.ready_times.tolist())


@pytest.mark.parametrize(
    ("links", "doubts"),
    [
        ({"intra_link": "pcie3-x16", "inter_link": "ib-edr-100g"}, 0),
        ({"intra_link": "ib-edr-100g"}, 1),
        ({"inter_link": "nvlink2-cube-mesh"}, 1),
    ],
)
def test_a_link_in_the_wrong_place_is_doubted(links, doubts):
    assert sum("is a link" in warning for warning in ask(world_size=16, **links).warnings) == doubts


def test_one_worker_talks_to_its_server_as_several_do():
    answer = ask(world_size=1, strategy="parameter-server", **ONE_GPU_NODES)
    assert {"--servers 1", "--overlap wfbp"} <= set(answer.defaults)
    assert 0 < answer.terms["exposed_communication_time"] < answer.communication_time
    assert "the kernel's TCP (2.4 GB/s an adapter over one connection, as in runs of" in answer.verdict
    assert "binds, so more bandwidth alone would save nothing" in answer.verdict


def test_defaults_are_named_and_choices_are_not():
    answer = ask(workload="resnet50", world_size=32)
    assert "--accelerator v100-sxm2-16gb" in answer.defaults
    assert not any(default.startswith("--workload") for default in answer.defaults)
    assert any(default.startswith("--local-batch-size") for default in answer.defaults)
    assert "--gpus 1" in ask().defaults
    assert not any(default.startswith(("--gpus", "--algorithm")) for default in ask(world_size=1).defaults)
    assert {"--strategy all-reduce", "--algorithm auto"} <= set(ask(world_size=2).defaults)
    served = ask(world_size=2, strategy="parameter-server").defaults
    assert not any(default.startswith(("--strategy", "--algorithm")) for default in served)


@pytest.mark.parametrize(
    ("accelerator", "year"),
    [("k80", 2017), ("p100-sxm2-16gb", 2018), ("v100-sxm2-16gb", 2019), ("a100-sxm4-40gb", 2022)],
)
def test_software_without_a_year_is_of_the_accelerators_time(accelerator, year):
    for software, whose in (({}, ""), ({"framework": "pytorch"}, " (its year)")):
        answer = ask(accelerator=accelerator, precision="fp32", **software)
        assert f"--framework pytorch@{year}{whose}" in answer.defaults
        assert answer.scenario["framework"] == f"pytorch@{year}"
        dated = ask(accelerator=accelerator, precision="fp32", framework=f"pytorch@{year}")
        assert dated.terms == answer.terms
        assert not any(option.startswith("--framework") for option in dated.defaults)


def test_every_accelerators_software_is_of_years_that_were_measured():
    for accelerator in CATALOGUE.ids("accelerators"):
        peaks = CATALOGUE.accelerator(accelerator).peak_flops
        precision = "fp32" if "fp32" in peaks else "bf16"
        setting = resolve(Scenario(accelerator=accelerator, precision=precision), CATALOGUE)
        assert EARLIEST_YEAR <= setting.software_year <= LATEST_YEAR
        asked = min(max(setting.accelerator.year + USUAL_AGE, EARLIEST_YEAR), LATEST_YEAR)
        assert setting.software_year == asked


def test_an_accelerator_is_usually_trained_on_when_measured_runs_were():
    """The constant is the median over pairs of accelerator and source, in whole years."""
    runs = collections.defaultdict(set)
    for run in shipped_runs():
        if run.year and run.accelerator in CATALOGUE.ids("accelerators"):
            runs[run.accelerator, run.source].add(run.year)
    ages = [
        statistics.median(years) - CATALOGUE.accelerator(accelerator).year
        for (accelerator, _), years in runs.items()
    ]
    assert statistics.median(ages) == 2.25
    assert round(statistics.median(ages)) == USUAL_AGE
    assert statistics.quantiles(ages, n=4)[::2] == [1, 3]


def test_a_job_that_does_not_fill_its_nodes_says_how_it_lies():
    answer = ask(accelerator="v100-sxm2-16gb", world_size=12)
    assert answer.placement == "1 x 8 + 4 accelerators on 2 nodes"
    assert any("12 GPUs fill 1 node of 8" in warning for warning in answer.warnings)


def test_an_oversubscribed_network_slows_a_job_that_leaves_its_rack():
    def alone(**racks: object) -> float:
        over = {"inter_link": "ib-edr-100g"}  # a port's rate binds, not what the host's TCP carries
        return ask(world_size=32, overlap="none", **racks, **ONE_GPU_NODES | over).communication_time

    plain = alone()
    assert alone(oversubscription=4.0, rack_nodes=32) == plain  # the whole job in one rack
    assert (
        alone(oversubscription=4.0, rack_nodes=8) == plain
    )  # one of eight sends out, and there are two uplinks
    assert alone(oversubscription=16.0, rack_nodes=8) == pytest.approx(2 * plain, rel=0.05)
    assert alone(oversubscription=4.0, rack_nodes=8, placement="random") > 2 * plain
    with pytest.raises(InputError, match="rack_nodes"):
        alone(oversubscription=4.0)


def test_cards_on_two_processors_share_the_way_between_them():
    near, far = (
        ask(accelerator="rtx-3090", node="pcie-workstation-8gpu", world_size=n, overlap="none")
        for n in (4, 8)
    )
    assert far.communication_time > 2 * near.communication_time


@pytest.mark.parametrize("algorithm", ["auto", "best"])
def test_a_choice_of_algorithm_says_what_was_chosen_and_what_the_next_would_cost(algorithm):
    answer = ask(world_size=32, algorithm=algorithm)
    assert any(f"--algorithm {algorithm} chose" in note and "longer" in note for note in answer.warnings)
    assert not any("chose" in note for note in ask(world_size=32).warnings)


@pytest.mark.parametrize("card", ["k80", "m60"])
def test_half_a_board_is_said(card):
    assert any("one of two dies" in warning for warning in ask(accelerator=card).warnings)


@pytest.mark.parametrize("card", ["k80", "gtx-1080", "titan-xp", "p100-sxm2-16gb"])
def test_slow_fp16_is_predicted_not_refused(card):
    half, full = (ask(accelerator=card, precision=p) for p in ("fp16", "fp32"))
    # as libraries do not use Winograd's algorithm there, fp16 can even cost a little
    assert 0 < half.iteration_time <= 1.1 * full.iteration_time
    assert half.memory.bytes < full.memory.bytes


@pytest.mark.parametrize("precision", ["bf16", "tf32"])
def test_arithmetic_a_card_lacks_is_refused_with_what_it_has(precision):
    with pytest.raises(InputError, match=f"no peak for {precision}; it has .*fp16"):
        ask(accelerator="v100-sxm2-16gb", precision=precision)


def test_real_input_waits_for_the_host_and_synthetic_does_not():
    fast, slow = (
        ask(world_size=8, accelerator="v100-sxm2-16gb", input="real", loader_workers=w) for w in (4, 400)
    )
    assert fast.terms["input_time"] > slow.terms["input_time"]
    assert "input-bound" in fast.verdict
    assert ask(world_size=8).terms["input_time"] == 0
    on_ebs = ask(world_size=8, input="real", loader_workers=400, storage="ebs-gp3")
    assert on_ebs.samples_per_second == pytest.approx(125e6 / 115e3, rel=0.02)  # the volume sets the pace


def test_a_network_twice_as_fast_saves_what_the_verdict_says():
    # ports that bind: over the kernel's TCP at its ceiling two adapters carry less than twice as much
    options = ONE_GPU_NODES | {"inter_link": "ethernet-10g-tcp"}
    slow = ask(world_size=8, **options)
    fast = ask(world_size=8, **options, nics=2)
    saved = (slow.iteration_time - fast.iteration_time) / slow.iteration_time
    assert f"would save {per_cent(saved)}" in slow.verdict


@pytest.mark.parametrize("nics", [None, 1, 2])
@pytest.mark.parametrize("strategy", ["all-reduce", "parameter-server"])
@pytest.mark.parametrize(
    ("node", "link"),
    [
        ("aws-p3.2xlarge", None),
        ("aws-p3.2xlarge", "ethernet-10g-tcp"),
        ("aws-p3.16xlarge", None),
        ("gcp-n1-k80x8", None),
        ("gcp-a3-highgpu-8g", None),
        ("dgx-1v", None),
        ("dgx-1v", "ethernet-25g-tcp"),
        ("azure-nc96ads_a100_v4", None),
    ],
)
def test_a_verdict_says_what_a_link_of_twice_the_bandwidth_really_saves(node, link, strategy, nics):
    given = {"node": node, "inter_link": link, "nics": nics, "strategy": strategy, "workload": "vgg16"}
    asked = {key: value for key, value in given.items() if value is not None}
    answer = ask(world_size=3 * CATALOGUE.node(node).accelerators, **asked)
    setting = resolve(Scenario.model_validate(answer.scenario), CATALOGUE)
    own = setting.inter_link
    faster = setting._replace(inter_link=twice(own, "bandwidth"))
    limit = setting.node.network_bandwidth
    if limit is not None and math.isclose(limit.value, setting.nics * own.bandwidth.value):
        # no limit, but the sum of the adapters
        faster = faster._replace(node=twice(setting.node, "network_bandwidth"))
    exposed, less = (added(evaluate(at, calibration()).terms) for at in (setting, faster))
    saved = (exposed - less) / answer.iteration_time
    if "binds, so " in answer.verdict:
        assert saved == 0
        assert f"twice the bandwidth of {link_words(own)}" not in answer.verdict
    else:
        assert f"twice the bandwidth of {link_words(own)} would save {saving_words(saved)}" in answer.verdict


def test_a_verdict_names_the_machines_network_limit():
    verdict = ask(node="aws-p3.2xlarge", world_size=5).verdict
    assert "the network limit of AWS p3.2xlarge (312 MB/s) binds, so a faster network would" in verdict


def test_adapters_a_machine_does_not_have_are_doubted():
    usual = {"node": "aws-p3.2xlarge", "world_size": 5, "jitter": "none"}
    more = ask(**usual, nics=3)
    assert more.terms == ask(**usual).terms
    assert more.warnings == [
        "AWS p3.2xlarge may send 312 MB/s over all its adapters; 3 of them carry no more"
    ]
    other = ask(**usual, inter_link="ethernet-25g-tcp")
    assert other.warnings == [
        "AWS p3.2xlarge may send 312 MB/s over any link, 25 Gbit/s Ethernet with TCP too: --no-network-cap "
        "predicts it without that limit"
    ]


@pytest.mark.parametrize("form", [(), ("--markdown",), ("--json",)])
def test_what_the_usual_spread_rests_on_is_said_where_stragglers_are_waited_for(invoke, form):
    def said(*more: str) -> str:
        return " ".join(invoke("predict", *form, *more).stdout.split())

    spread, n, draw = calibration().spread_of_steps(loads=False), 256, np.random.default_rng(1)
    cv, length = spread.jitter, spread.stall_length
    steps = draw.lognormal(0, math.sqrt(math.log1p(cv**2)), (4000, n))
    steps *= 1 + length * (draw.random(steps.shape) < spread.stall_probability)
    allowed = steps.mean() / steps.max(axis=1).mean()
    note = f"stragglers cap {n} GPUs at {per_cent(allowed, 0)} if ranks vary {per_cent(cv)} independently"
    assert f"{note} and stall at times" in said("--gpus", str(n))
    for other in (
        ("--gpus", "1"),
        ("--gpus", str(n), "--jitter", "none"),
        ("--gpus", str(n), "--jitter", "lognormal:cv=0.1"),
    ):
        assert "stragglers cap" not in said(*other)


@pytest.mark.parametrize("job", [{}, {"global_batch_size": 16384}, {"input": "real"}], ids=str)
def test_what_the_usual_spread_does_to_this_answer_is_said(job):
    found, without = ask(world_size=256, **job), ask(world_size=256, jitter="none", **job)
    (note,) = (line for line in found.warnings if line.startswith("stragglers cap"))
    assert f"(--jitter none) {show(without.iteration_time, 's')} and an efficiency of " in note
    assert f" {per_cent(without.scaling_efficiency)}, with it " in note
    assert note.endswith(
        f"with it {show(found.iteration_time, 's')} and {per_cent(found.scaling_efficiency)}"
    )


@given(world_size=st.integers(1, 4096), inter_link=st.sampled_from(["ib-edr-100g", "ethernet-10g-tcp"]))
def test_stragglers_get_a_note_where_they_take_a_noted_share_alone(world_size, inter_link):
    found = ask(world_size=world_size, inter_link=inter_link)
    noted = any("stragglers cap" in line for line in found.warnings)
    assert noted == (found.terms["straggler_time"] >= NOTED * found.iteration_time)
    assert not noted or world_size > 8


def test_communication_is_said_in_times_that_the_table_shows(invoke):
    """Of a slow network too, where a share of the rest of the iteration came to hundreds of percent."""
    words = ("--workload", "vgg16", "--gpus", "8", "--node", "pcie-workstation-1gpu")
    exposed = ask(workload="vgg16", world_size=8, node="pcie-workstation-1gpu").terms[
        "exposed_communication_time"
    ]
    printed = invoke("predict", *words, "--verbose").stdout
    [line] = [line for line in printed.splitlines() if line.startswith("communication  ")]
    assert line.endswith(f", {show(exposed, 's')} of it not hidden behind computation")
    assert printed.count(show(exposed, "s")) == 2


def test_json_is_what_pydantic_would_print_and_keeps_its_keys():
    answer = ask(world_size=4)
    table = json.loads(answer.to_json())
    checked = Prediction.model_validate_json(answer.to_json())
    assert checked.model_dump() == answer.model_dump()
    assert json.loads(checked.model_dump_json()) == table
    assert sum(table["terms"].values()) == pytest.approx(table["iteration_time"], rel=0, abs=1e-9)
    promised = {
        "iteration_time",
        "terms",
        "samples_per_second",
        "speedup",
        "epoch_time",
        "scaling_efficiency",
        "scaling",
        "interval",
        "memory",
        "verdict",
        "defaults",
        "warnings",
        "scenario",
    }
    added = {
        "card",
        "mode",
        "model",
        "sample",
        "tokens_per_second",
        "time_without_own_runs",
        "baseline_time",
        "communication_time",
        "communication_overhead",
        "mfu",
        "placement",
        "network_limit",
        "traffic",
        "layout",
        "mfu_nominal",
        "hfu",
        "model_flops",
        "bubble_fraction",
        "updates_per_second",
        "gradients_per_update",
        "mean_staleness",
        "fresh_fraction",
        "update_bounds",
        "startup_time",
        "startup",
        "startup_80",
        "epoch_start_time",
    }
    assert promised | added == table.keys()
    assert {"bytes", "capacity", "fits"} <= table["memory"].keys()
    assert Scenario.model_fields.keys() | {"nodes", "scaling"} == table["scenario"].keys()


def test_a_scenario_read_back_from_its_answer_gives_the_same_answer():
    answer = ask(world_size=16, accelerator="a100-sxm4-40gb", precision="bf16")
    fields = {k: v for k, v in answer.scenario.items() if k in Scenario.model_fields and v is not None}
    fields.pop("global_batch_size")
    assert ask(**fields).iteration_time == pytest.approx(answer.iteration_time, rel=1e-12)


def counts(usual: int, largest: int) -> st.SearchStrategy[int]:
    return st.one_of(st.integers(1, usual), st.integers(1, largest))


QUESTIONS = st.fixed_dictionaries(
    {
        "workload": st.sampled_from(names()),
        "accelerator": st.sampled_from(CATALOGUE.ids("accelerators")),
        "world_size": counts(40, LARGEST_WORLD_SIZE),
        "strategy": st.sampled_from(Strategy.__args__),
    },
    optional={
        "precision": st.sampled_from(Precision.__args__),
        "overlap": st.sampled_from(Overlap.__args__),
        "algorithm": st.sampled_from(Algorithm.__args__),
        "local_batch_size": counts(512, LARGEST_BATCH_SIZE),
        "global_batch_size": counts(4096, LARGEST_BATCH_SIZE),
        "accumulation_steps": counts(16, LARGEST_WORLD_SIZE),
        "sequence_length": counts(1024, LARGEST_WORLD_SIZE),
        "servers": counts(16, LARGEST_WORLD_SIZE),
        "node": st.sampled_from(CATALOGUE.ids("nodes")),
        "accelerators_per_node": st.integers(1, 16),
        "intra_link": st.sampled_from(CATALOGUE.ids("links")),
        "inter_link": st.sampled_from(CATALOGUE.ids("links")),
        "nics": counts(8, LARGEST_WORLD_SIZE),
        "input": st.sampled_from(["synthetic", "real"]),
        "storage": st.sampled_from(["local-ssd", "ebs-gp2", "ebs-gp3", "s3", "ram", "tape"]),
        "loader_workers": counts(128, LARGEST_WORLD_SIZE),
        "optimizer": st.sampled_from(["sgd", "adam", "lamb"]),
        "local_aggregation": st.booleans(),
        "jitter": st.one_of(
            st.sampled_from(["none", "exponential:rate=1", "pareto:scale=1,shape=1.5", "empirical:gone"]),
            st.builds(
                "{}={:g}".format,
                st.sampled_from(["lognormal:cv", "normal:std", "gamma:shape", "weibull:shape"]),
                st.floats(),
            ),
        ),
        "anchor": st.builds(
            "{}={:g}@1".format,
            st.sampled_from(["iteration_time", "samples_per_second"]),
            st.one_of(st.floats(1e-3, 1e3), st.floats()),
        ),
    },
)


def without_contradictions(options: dict[str, Any]) -> dict[str, Any]:
    """The same question, less what contradicts the rest of it."""
    strategy, batch = options["strategy"], options.get("global_batch_size")
    left_out = {"accelerators_per_node"}
    if strategy != "parameter-server":
        left_out.add("servers")
    if strategy in WITHIN_A_NODE:
        left_out.add("overlap")
        options = options | {"world_size": 1 + options["world_size"] % 2, "node": "pcie-workstation-8gpu"}
    if workload(options["workload"]).sequence_length is None:
        left_out.add("sequence_length")
    if options.get("precision") not in CATALOGUE.accelerator(options["accelerator"]).peak_flops:
        left_out.add("precision")
    if batch is not None and batch % (options["world_size"] * options.get("accumulation_steps", 1)):
        left_out.add("global_batch_size")
    elif batch is not None:
        left_out.add("local_batch_size")
    return {key: value for key, value in options.items() if key not in left_out}


@pytest.mark.any_version
@settings(max_examples=300)
@given(st.one_of(QUESTIONS, QUESTIONS.map(without_contradictions)))
def test_every_question_gets_a_finite_answer_or_a_clean_refusal(options):
    answer = answer_or_refusal(options)
    event("refused" if isinstance(answer, str) else "answered")
    if isinstance(answer, str):
        assert answer
        assert "\n" not in answer
        return
    assert math.isfinite(answer.iteration_time)
    assert answer.iteration_time > 0
    assert sum(answer.terms.values()) == pytest.approx(answer.iteration_time, rel=1e-12, abs=1e-9)
    assert all(time >= 0 for time in answer.terms.values()), answer.terms
    rounding = 1e-9 * answer.iteration_time
    assert answer.terms["exposed_communication_time"] <= answer.communication_time + rounding
    assert answer.samples_per_second > 0
    assert answer.mfu > 0
    assert answer.speedup > 0
    assert answer.scaling_efficiency > 0
    waits_for_all = not options["strategy"].startswith("k-")  # else the first of several beats the mean
    if answer.layout is None and waits_for_all:  # replicas that share states update faster than one alone
        assert answer.scaling_efficiency < 1 + 1e-9
    assert Prediction.model_validate_json(answer.to_json()).model_dump() == answer.model_dump()
    json.loads(answer.to_json(), parse_constant=pytest.fail)  # neither NaN nor Infinity


def test_a_provider_limits_each_connection_not_their_sum():
    """5 Gbit/s a connection: one is a fifth of the adapter's 25, sixteen are more than it carries."""

    def communication(**more):
        return predict(
            Scenario(
                workload="vgg16",
                node="aws-p3.2xlarge",
                inter_link="aws-25g",
                world_size=8,
                network_cap=False,
                **more,
            )
        )

    usual, one, five = communication(), communication(connections=1), communication(connections=5)
    assert usual.scenario["connections"] == 16
    assert "--connections 16" in usual.defaults
    assert one.communication_time > 3 * usual.communication_time
    assert usual.communication_time < five.communication_time < 0.5 * one.communication_time
    assert "the kernel's TCP" in five.network_limit


def test_what_nccl_chose_is_told_where_its_choice_was_asked_for():
    asked = predict(Scenario(world_size=512, algorithm="auto")).warnings
    assert any(line.startswith("--algorithm auto chose ") for line in asked)
    for options in ({}, {"algorithm": "ring"}):
        assert not any(
            "--algorithm" in line for line in predict(Scenario(world_size=512, **options)).warnings
        )


@pytest.mark.parametrize("overlap", ["none", "wfbp"])
@pytest.mark.parametrize("batch", [32, 512])
@pytest.mark.parametrize("servers", [1, 16])
def test_a_slower_network_never_makes_parameter_servers_faster(overlap, batch, servers):
    links = ("ib-ndr-400g", "ethernet-100g-rdma", "ethernet-25g-rdma", "ethernet-10g-rdma", "ethernet-1g-tcp")
    times = [
        predict(
            Scenario(
                accelerator="a100-sxm4-80gb",
                world_size=128,
                nics=1,
                strategy="parameter-server",
                servers=servers,
                overlap=overlap,
                local_batch_size=batch,
                inter_link=link,
            )
        ).iteration_time
        for link in links
    ]
    assert times == sorted(times)


@pytest.mark.parametrize(
    "options", [{}, {"strategy": "parameter-server"}, {"overlap": "optimal"}, {"gpus": 1}]
)
def test_times_are_numbers_of_python(options):
    """An anchor is written from one: ``iteration_time=0.145s@1``, and numpy's numbers are not written so."""
    answer = predict(**{"gpus": 16, **options})
    numbers = {
        **answer.terms,
        **{name: value for name, value in answer.model_dump().items() if isinstance(value, float)},
    }
    assert {type(value) for value in numbers.values()} == {float}


@pytest.mark.parametrize("strategy", ["async", "k-async", "k-batch-async"])
def test_one_worker_out_of_step_has_a_verdict_whichever_overlap_is_chosen(strategy):
    answer = predict(workload="resnet50", world_size=1, strategy=strategy, overlap="optimal")
    assert answer.verdict.startswith("compute-bound")
