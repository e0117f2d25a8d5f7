"""The interval of a ratio: narrower than of its parts, by what measured pairs have shown."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel import compare, layouts, plan, predict, scale
from perfmodel.core.files.resources import folder
from perfmodel.decide.planning.goal import OF_SCENARIO
from perfmodel.equations.ratio import ratio_half_width
from perfmodel.evidence.accuracy import ratio_fit, ratio_pairs
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.laid_out import LaidOut
from perfmodel.model.options.layout import DEGREES, RECOMPUTE, SHARDING
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.alone import efficiency_range
from perfmodel.model.prediction.card import throughput_range
from perfmodel.model.prediction.intervals.ratio import (
    COPIES,
    DISTANCES,
    SHARED_OUT,
    Job,
    distances,
    job_of,
    learned,
    ratio_between,
    unshared_of,
    variance_between,
)
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.transformers.levels import covariance, traits_of
from perfmodel.model.transformers.levels import learned as learned_levels
from perfmodel.model.transformers.search import search

BASE = {"gpus": 32, "inter_link": "ethernet-25g-tcp"}
CHANGES = (
    {"inter_link": "ib-edr-100g"},
    {"gpus": 64},
    {"accelerator": "a100-sxm4-40gb", "node": "dgx-a100-40gb"},
    {"workload": "vgg16"},
    {"precision": "fp32"},
    {"framework": "tensorflow"},
    {"overlap": "none"},
    {"local_batch_size": 32},
)
HALF = st.floats(0.01, 1.0)
HOW = (
    "tensor_parallel",
    "pipeline_parallel",
    "virtual_stages",
    "context_parallel",
    "sharding",
    "recompute",
    "micro_batch_size",
)


def half(ratio):
    return math.log(max(ratio.high_80 / ratio.value, ratio.value / ratio.low_80))


def width(prediction):
    return math.log(prediction.interval.high_80 / prediction.iteration_time) / prediction.interval.scale


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_a_ratio_is_surer_than_its_parts(change):
    one, other = predict(**BASE), predict(**{**BASE, **change})
    ratio = ratio_between(other, one, "one")
    back = ratio_between(one, other, "other")
    assert ratio.value == pytest.approx(other.samples_per_second / one.samples_per_second)
    assert ratio.low_80 < ratio.value < ratio.high_80
    assert abs(width(one) - width(other)) <= half(ratio) <= math.hypot(width(one), width(other)) + 1e-12
    assert (back.value * ratio.value, back.low_80 * ratio.high_80) == pytest.approx((1, 1))
    assert back.sure == pytest.approx(ratio.sure)
    assert 0.5 <= ratio.sure <= 1


HALVES = 0.3, 0.3
SWITCHED = (
    {"compression": "fp16"},
    {"compression": "topk:0.01"},
    {"jitter": "none"},
    {"accelerators_per_node": 4},
    {"input": "real", "decoder": "dali-gpu"},
    {"strategy": "parameter-server", "servers": 4},
    {"strategy": "parameter-server", "servers": 8},
    {"optimizer": "adam"},
    {"connections": 1},
)


@pytest.mark.parametrize("change", SWITCHED, ids=str)
def test_whatever_is_switched_on_is_not_shared(change):
    """None of a scenario is what a job does without, and not what is unknown of it."""
    one, other = job_of(predict(**BASE)), job_of(predict(**{**BASE, **change}))
    assert unshared_of(one, other, HALVES) > learned()["anything"] - 1e-12
    if change.keys() != {"connections", "accelerators_per_node"} & change.keys():
        assert dict(zip(DISTANCES, distances(one, other), strict=True))["plan"]


def test_a_measured_start_shares_nothing_with_specs():
    specs, anchored = predict(**BASE), predict(**BASE, anchor="iteration_time=0.1s@1")
    assert unshared_of(job_of(specs), job_of(anchored), HALVES) == 1
    more = predict(**{**BASE, "gpus": 64}, anchor="iteration_time=0.1s@1")
    assert unshared_of(job_of(more), job_of(anchored), HALVES) < 0.2


@pytest.mark.parametrize("measured_on", [1, 8, 64])
def test_an_anchored_efficiency_is_no_surer_than_the_throughput_or_the_time_on_one(measured_on):
    job = {"inter_link": "ethernet-25g-tcp", "anchor": f"iteration_time=0.4s@{measured_on}"}
    alone, many = predict(**job, gpus=1), predict(**job, gpus=64)
    ends, rates = efficiency_range(many, alone), throughput_range(many)
    of_rate = rates[0] / many.samples_per_second
    of_one = alone.interval.low_80 / alone.iteration_time
    assert ends[0] / many.scaling_efficiency < min(of_rate, of_one)
    assert ends[0] / many.scaling_efficiency > of_rate * of_one
    assert ends[1] <= 1 + 1e-12


def test_more_of_the_same_machines_is_another_size_and_nothing_else():
    small, large = (
        job_of(predict(gpus=gpus, strategy=strategy)) for gpus, strategy in [(8, "ps"), (64, "ps")]
    )
    apart = dict(zip(DISTANCES, distances(small, large), strict=True))
    assert {name for name, each in apart.items() if each} == {"world size"}


def test_the_same_job_twice_is_as_fast_for_certain():
    one = predict(**BASE)
    ratio = ratio_between(predict(**BASE), one, "itself")
    assert (ratio.value, ratio.low_80, ratio.high_80, ratio.sure) == (1, 1, 1, 0.5)


def test_copies_and_layouts_share_nothing():
    options = {"workload": "llama-3-8b", "accelerator": "h100-sxm5-80gb", "node": "dgx-h100", "gpus": 8}
    whole = predict(**options, framework="pytorch")
    cut = predict(**options, tensor_parallel=8)
    assert half(ratio_between(whole, cut, "cut")) == pytest.approx(math.hypot(width(whole), width(cut)))


@given(HALF, HALF, st.floats(0, 2))
def test_half_widths_by_what_two_normal_errors_of_that_correlation_would_have(one, other, unshared):
    correlation = 1 - min(unshared, 1)
    expected = math.sqrt(max(one**2 + other**2 - 2 * correlation * one * other, 0.0))
    assert ratio_half_width(one, other, unshared) == pytest.approx(expected, abs=1e-7)


def test_what_is_unknown_of_one_is_no_difference():
    job = Job(COPIES, ("resnet50", None), "v100", "pytorch 2019", "amp", {"node": "dgx-1v"}, (), {}, 8, 64)
    assert not any(distances(job, job._replace(fabric={})))
    assert not any(distances(job, job._replace(fabric={"node": "dgx-1v", "inter_link": "ib"})))
    apart = dict(
        zip(DISTANCES, distances(job, job._replace(fabric={"node": "dgx-2"}, world_size=16)), strict=True)
    )
    assert {name: each for name, each in apart.items() if each} == {
        "fabric": 1,
        "world size": math.log1p(math.log(2)),
    }


def test_shares_are_found_again():
    """Pairs of normal errors with known shares: 5 % whatever differs, 40 % by the network, 10 % by size."""
    draw = np.random.default_rng(0)
    count, shares = 6000, np.zeros(1 + len(DISTANCES))
    shares[[0, 1, 7]] = 0.05, 0.4, 0.1
    apart = np.zeros((count, len(DISTANCES)))
    apart[:, 0] = draw.integers(0, 2, count)
    apart[:, 6] = draw.choice([0.7, 1.4, 2.1], count)
    half_width = np.full(count, 0.3)
    deviation = 0.3 * np.sqrt(2 * (shares[0] + apart @ shares[1:])) / ratio_fit.NORMAL_80
    pairs = ratio_pairs.Pairs(
        np.array(["one", "other"] * (count // 2)),
        apart[:, 0].astype(int) + 64,
        abs(draw.normal(0, deviation)),
        half_width,
        half_width,
        apart,
        np.zeros(count),
    )
    assert ratio_fit.fit(pairs) == pytest.approx(shares, abs=0.04)


def test_shares_that_come_along():
    assert all(share >= 0 for share in learned().values())
    assert learned().keys() == {"anything", *DISTANCES}


def test_transformers_share_what_own_runs_share():
    """The variance between two jobs is that of the levels by which one, measured, moves the other."""
    job = {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 64, "global_batch_size": 256}
    changes = ({"tensor_parallel": 4}, {"gpus": 128}, {"workload": "llama-2-13b"}, {"precision": "fp8"})
    one = predict(**job)
    for change in changes:
        other = predict(job | change)
        settings = [resolve(Scenario(**job | each), Catalogue.built_in()) for each in ({}, change)]
        traits = [traits_of(each) for each in settings]
        levels = learned_levels()
        by_hand = 2 * (levels.within - covariance(*traits, 0.0, levels))
        assert variance_between(job_of(one), job_of(other)) == pytest.approx(float(by_hand), rel=1e-9)
    again = unshared_of(job_of(one), job_of(one), HALVES, is_again=True)
    assert 0 < again < 0.2
    assert unshared_of(job_of(one), job_of(one), HALVES) == 0


def test_coverage_in_the_report():
    """Out of sample, over all pairs: the bar is 75 to 87 %."""
    lines = (folder("validation") / "report.md").read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
    covered = {cells[0]: float(cells[4].rstrip("%")) for cells in rows if cells[1:2] == ["anything"]}
    assert covered.keys() == {COPIES, SHARED_OUT}
    assert all(75 <= share <= 87 for share in covered.values())


def test_compare_and_scale_say_it():
    result = compare(BASE, {**BASE, "gpus": 64}, names=["A", "B"])
    first, second = result.model_dump(mode="json")["cases"]
    assert first == {
        "name": "A",
        "ratio": None,
        "model": "data-parallel",
        "defaults": predict(**BASE).defaults,
    }
    assert second["ratio"].keys() == {"to", "value", "low_80", "high_80", "sure", "clipped_at"}
    assert second["ratio"]["to"] == "A"
    assert f"(80 %: {second['ratio']['low_80']:.3g} to {second['ratio']['high_80']:.3g}), " in result.verdict
    rows = scale(gpus=[32, 64], inter_link="ethernet-25g-tcp").rows
    assert rows[0].ratio is None
    assert rows[1].ratio.model_dump() == second["ratio"] | {"to": "32 GPUs"}
    other = compare(BASE, {**BASE, "workload": "vgg16"})
    assert [case.ratio for case in other.cases] == [None, None]


@pytest.mark.parametrize("more", [{}, {"strategy": "parameter-server"}, {"workload": "gpt2"}], ids=str)
@pytest.mark.parametrize(("few", "many"), [(1, 8), (1, 16384), (64, 1024)])
def test_no_speed_up_is_larger_than_the_ratio_of_accelerators(more, few, many):
    one, other = (predict(gpus=n, **more) for n in (few, many))
    up, down = ratio_between(other, one, "few"), ratio_between(one, other, "many")
    assert up.high_80 <= max(up.value, many / few) * (1 + 1e-12)
    assert down.low_80 >= min(down.value, few / many) * (1 - 1e-12)
    assert up.clipped_at in (None, many / few)


def test_a_ratio_of_other_jobs_is_cut_at_nothing():
    small = predict(gpus=8, local_batch_size=1)
    for more in ({"local_batch_size": 64}, {"accelerator": "h100-sxm5-80gb"}, {"precision": "fp32"}):
        assert ratio_between(predict(gpus=16, **more), small, "small").clipped_at is None


def test_the_slower_network_suffices_where_the_faster_brings_little():
    slow, fast = ({"gpus": 16, "inter_link": f"ib-{link}"} for link in ("hdr-200g", "ndr-400g"))
    for jobs in ([slow, fast], [fast, slow]):
        advice = compare(*jobs, names=[job["inter_link"] for job in jobs]).card.advice
        assert advice.startswith("Take ib-hdr-200g: ib-ndr-400g is about as fast (80 %: ")
    slower = compare({**fast, "inter_link": "ethernet-1g-tcp"}, fast).card.advice
    assert "gains nothing" not in slower


def test_a_plan_says_it_of_the_best_of_every_other_machine():
    found = plan(workload="resnet50", epochs=1, nodes=["aws-p3.16xlarge", "aws-p4d.24xlarge"], max_gpus=32)
    chosen = found.chosen
    assert chosen is not None
    assert found.rejected
    of_chosen, name = predict(**asked_of(chosen)), chosen.machines
    for row in found.rejected:
        assert row.ratio == ratio_between(predict(**asked_of(row)), of_chosen, name)
        assert row.ratio.value == pytest.approx(row.samples_per_second / chosen.samples_per_second)


def asked_of(row):
    decided = {name: getattr(row, name) for name in OF_SCENARIO}
    return {"workload": "resnet50"} | {name: value for name, value in decided.items() if value is not None}


def test_a_layout_that_is_hardly_slower_may_be_the_faster_one():
    """As sure as the ratio of two predictions of them, and within the same interval."""
    job = {"workload": "llama-3-8b", "gpus": 64, "node": "dgx-h100", "global_batch_size": 256}
    rows = layouts(**job).rows
    assert rows[0].slower_than_first is None
    assert rows[0].time_ratio == {"value": 1.0, "low_80": 1.0, "high_80": 1.0}
    chances = [row.slower_than_first for row in rows[1:]]
    assert all(0.5 <= chance <= 1 for chance in chances)
    assert chances[-1] > chances[0]
    first = predict(**job, **{name: rows[0].layout[name] for name in HOW})
    for far in (rows[1], rows[50], rows[-1]):
        ratio = ratio_between(predict(**job, **{name: far.layout[name] for name in HOW}), first, "first")
        assert far.slower_than_first == pytest.approx(ratio.sure, abs=0.02)
        assert far.time_ratio["value"] == pytest.approx(1 / ratio.value, rel=1e-9)
        assert far.time_ratio["low_80"] == pytest.approx(1 / ratio.high_80, rel=0.02)
        assert far.time_ratio["high_80"] == pytest.approx(1 / ratio.low_80, rel=0.02)
        assert far.ties_with_first == (ratio.low_80 <= 1 <= ratio.high_80)


@pytest.mark.parametrize(("top", "confidence"), [(None, 0.95), (3, 0.95), (3, 0.5)])
def test_the_simplest_of_nearly_the_fastest_that_surely_fit_is_taken(top, confidence):
    """The layout taken is the first by brute force over every row, however many are listed."""
    job = {"workload": "llama-3-70b", "node": "dgx-h100", "gpus": 512, "global_batch_size": 1024}
    rows, ties = layouts(**job).rows, layouts(**job, top=top, confidence=confidence).ties
    tied = [row for row in rows if row.time_ratio["low_80"] <= 1]
    assert [row.ties_with_first for row in rows] == [row in tied for row in rows]
    assert ties.layouts == len(tied) < len(rows)
    factors = [row.time_ratio["high_80"] / row.time_ratio["value"] for row in tied[1:]]
    assert (ties.least_factor, ties.largest_factor) == pytest.approx((min(factors), max(factors)))

    def unlike(row):
        degrees = [row.layout[name] for name in (*DEGREES, "expert_tensor_parallel")]
        levels = SHARDING.index(row.layout["sharding"]) + RECOMPUTE.index(row.layout["recompute"])
        return math.prod(degrees) * 2**levels, row.iteration_time

    able = [row for row in rows if row.memory["fits_probability"] >= confidence]
    near = [row for row in able if row.iteration_time <= 1.03 * able[0].iteration_time]
    assert ties.preferred == min(near, key=unlike)
    assert 1 < len(near) < len(able) <= len(rows)


def test_of_layouts_that_take_as_long_the_simpler_comes_first():
    setting = resolve(
        LaidOut(workload="llama-3-8b", node="dgx-h100", world_size=64, micro_batch_size=1),
        Catalogue.built_in(),
    )
    found = search(setting, 256)
    keys = zip(
        np.round(np.log(found.iteration_time), 9),
        np.round(np.log(found.memory_bytes), 9),
        found.layouts.complexity,
        found.layouts.context_parallel,
        strict=True,
    )
    kept = list(keys)
    assert kept == sorted(kept)
    assert len({key[:2] for key in kept}) < len(kept)


def test_a_pipeline_of_64_stages_is_not_the_simple_one():
    """Few degrees may be large ones: of the ties that surely fit, one of fewer stages is taken."""
    job = {"workload": "llama-3.1-405b", "node": "dgx-h100", "gpus": 1024, "global_batch_size": 2048}
    assert layouts(**job, top=1).ties.preferred.layout["pipeline_parallel"] < 64
