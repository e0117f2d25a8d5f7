"""No interval reaches what physics forbids, wherever it is shown."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.decide.quote import Claim, Quote, check_quote
from perfmodel.decide.quote.file import KINDS
from perfmodel.decide.quote.limits import limit_of_iteration
from perfmodel.decide.sweeps import sweep
from perfmodel.evidence.accuracy.collectives.collective_compare import compare_collectives
from perfmodel.evidence.accuracy.collectives.collective_rows import shipped_measurements
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.intervals.bound import end_at, least_iteration_time
from perfmodel.model.prediction.network_cuts import cuts_of, least_time
from perfmodel.model.setting.resolve import resolve
from perfmodel.workloads import names

CATALOGUE = Catalogue.built_in()
WIDE = {
    "workload": "vgg16",
    "accelerator": "h100-sxm5-80gb",
    "inter_link": "ethernet-10g-tcp",
    "world_size": 512,
    "local_batch_size": 32,
}
"""No run of this network, accelerator, link and size: its interval is cut."""
SCENARIOS = st.fixed_dictionaries(
    {
        "workload": st.sampled_from(names()),
        "accelerator": st.sampled_from(CATALOGUE.ids("accelerators")),
        "world_size": st.sampled_from([1, 2, 8, 12, 64, 512, 4096]),
        "strategy": st.sampled_from(["all-reduce", "all-reduce", "parameter-server"]),
        "local_batch_size": st.sampled_from([1, 32, 512]),
        "accumulation_steps": st.sampled_from([1, 4]),
    },
    optional={
        "algorithm": st.sampled_from(["ring", "auto", "best", "tree", "nvls", "hierarchical"]),
        "overlap": st.sampled_from(["none", "wfbp", "bucketed"]),
        "inter_link": st.sampled_from(CATALOGUE.ids("links")),
        "nics": st.sampled_from([1, 8]),
        "rack_nodes": st.just(4),
        "oversubscription": st.sampled_from([1.0, 8.0]),
        "anchor": st.sampled_from(["iteration_time=1us@1", "iteration_time=50ms@1", "iteration_time=9s@1"]),
        "input": st.sampled_from(["synthetic", "real"]),
    },
)


def answered(options: dict[str, Any]) -> Prediction | None:
    try:
        return predict(Scenario.model_validate(options))
    except InputError as error:
        event(str(error)[:20])
        return None


@given(SCENARIOS)
def test_no_interval_reaches_below_what_physics_allows(options):
    answer = answered(options)
    if answer is None:
        return
    least = least_iteration_time(resolve(Scenario.model_validate(options), CATALOGUE))
    point, found = answer.iteration_time, answer.interval
    assert found is not None
    assert found.low_80 <= point <= found.high_80
    assert found.low_80 >= min(least, point) * (1 - 1e-12)
    if found.clipped_at is not None:
        event(f"cut by {found.clipped_by}")
        assert found.clipped_at >= least
        assert (found.clipped_at == least) == (found.clipped_by == "peaks and links")
        assert min(found.clipped_at, point) == found.low_80
    too_fast = [line for line in answer.warnings if "allow: check" in line]
    assert len(too_fast) <= 1
    assert too_fast or point >= least
    if too_fast:  # the whole, or what an anchor says of one accelerator alone
        event("faster than physics")
        assert "anchor" in options  # from specs a prediction never is


@given(SCENARIOS)
def test_no_interval_reaches_below_that_of_one_accelerator_with_the_same_work(options):
    answer = answered(options)
    if answer is None or answer.scaling == "strong" or "anchor" in options or options.get("input") == "real":
        return
    alone = answered({**options, "world_size": 1, "strategy": "all-reduce", "servers": None})
    if alone is not None and alone.model == "data-parallel":
        assert answer.interval.low_80 >= alone.interval.low_80 * (1 - 1e-12)


@pytest.mark.parametrize("strategy", ["all-reduce", "data-parallel-single-process"])
def test_a_measured_time_of_one_accelerator_is_the_least_of_several(strategy):
    gpus = 4096 if strategy == "all-reduce" else 2
    found = predict(gpus=gpus, strategy=strategy, anchor="iteration_time=0.0954s@1").interval
    assert found.low_80 >= 0.0954 * (1 - 1e-12)
    assert (found.clipped_by == "one accelerator") == (found.low_80 == pytest.approx(0.0954))


def test_a_layouts_interval_ends_at_what_peaks_allow(monkeypatch):
    asked = {"gpus": 8, "node": "dgx-h100", "global_batch_size": 64}
    least = perfmodel.layouts("llama-3-8b", **asked).rows[0].interval["low_80"]
    monkeypatch.setattr("perfmodel.model.transformers.uncertainty.NORMAL_80", 10.0)
    bounded = perfmodel.layouts("llama-3-8b", **asked).rows[0]
    setting = resolve(Scenario(workload="llama-3-8b", **asked), CATALOGUE)
    assert bounded.interval["low_80"] == pytest.approx(least_iteration_time(setting))
    assert bounded.interval["low_80"] < least


@pytest.mark.parametrize("gpus", [1, 16, 256, 1024])
def test_an_impossible_anchor_is_said_however_much_communication_hides_it(gpus):
    answer = predict(Scenario(workload="vgg16", world_size=gpus, anchor="iteration_time=0.1ms@1"))
    said = [line for line in answer.warnings if "check the anchor's unit and batch" in line]
    assert len(said) == 1
    assert "100 µs on each accelerator" in said[0]
    assert not any("multiplication of a direct convolution" in line for line in answer.warnings)


@given(SCENARIOS)
def test_the_bound_is_the_limit_a_quote_is_held_against(options):
    try:
        setting = resolve(Scenario.model_validate(options), CATALOGUE)
    except InputError:
        return
    assert limit_of_iteration(setting).value == pytest.approx(least_iteration_time(setting), rel=1e-12)


def test_a_sweep_cuts_as_predict_does_even_where_racks_and_servers_bind():
    cuts = 0
    for asked in (
        {"oversubscription": [1.0, 40.0], "rack_nodes": 2, "world_size": [1, 8, 16, 32, 512]},
        {
            "strategy": "parameter-server",
            "servers": [1, 8],
            "inter_link": "ethernet-10g-tcp",
            "world_size": [1, 8, 32, 512],
        },
        {"accelerator": "h100-sxm5-80gb", "anchor": "iteration_time=1us@1", "world_size": [1, 512]},
    ):
        table = sweep(workload=["gpt2", "bert-base", "vgg16"], node="dgx-h100", **asked).table()
        cuts += int(np.isfinite(table["clipped_at"]).sum())
        for i, size in enumerate(table["world_size"].tolist()):
            options = {"workload": table["workload"][i], "node": "dgx-h100", "world_size": size}
            options |= {
                name: table[name][i] if isinstance(values, list) else values
                for name, values in asked.items()
                if name != "world_size"
            }
            options = {k: int(v) if k == "servers" else v for k, v in options.items()}
            one = predict(Scenario(**options)).interval
            assert one is not None
            assert table["low_80"][i] == pytest.approx(one.low_80, rel=1e-9)
            cut = table["clipped_at"][i]
            assert cut == pytest.approx(one.clipped_at, rel=1e-9) if one.clipped_at else math.isnan(cut)
    assert cuts > 10


def test_an_end_never_passes_its_own_point():
    assert end_at(1.0, 4.0, 2.0) == 2.0  # moved up to the bound
    assert end_at(3.0, 4.0, 2.0) == 3.0  # above it already
    assert end_at(1.0, 4.0, 5.0) == 4.0  # the point lies below the bound: no further than the point
    moved = end_at(np.array([1.0, 3.0, 1.0]), np.array([4.0, 4.0, 4.0]), np.array([2.0, 2.0, 5.0]))
    assert moved.tolist() == [2.0, 3.0, 4.0]


def test_every_form_of_the_answer_says_that_an_interval_was_cut(invoke):
    words = "the least that peaks and links allow"
    given_as = [f"--{name.replace('_', '-')}" for name in WIDE]
    options = [word for pair in zip(given_as, map(str, WIDE.values()), strict=True) for word in pair]
    options[options.index("--world-size")] = "--gpus"
    for form in (["--verbose"], ["--markdown"]):
        assert words in " ".join(invoke("predict", *options, *form).stdout.split())
    told = json.loads(invoke("predict", *options, "--json").stdout)["interval"]
    assert told["low_80"] == told["clipped_at"]
    on_many = json.loads(invoke("scale", *options[:4], "--gpus", "8,512", "--json").stdout)["rows"]
    assert all("clipped_at" in row["interval"] for row in on_many)


# --- quotes


@pytest.mark.parametrize("quantity", sorted(KINDS))
@pytest.mark.parametrize("gpus", [64, 512])
def test_what_a_quote_is_expected_to_reach_stays_within_its_limit(quantity, gpus):
    units = {"iteration_time": "1s", "epoch_time": "1h", "time_to_train": "1h", "flops": "1PFLOP/s"}
    value = units.get(quantity, 0.5 if quantity in ("mfu", "scaling_efficiency") else 30.0)
    if quantity == "bus_bandwidth":
        value = "50GB/s"
    more = {"flops": {"per": "job"}, "time_to_train": {"epochs": 90}}.get(quantity, {})
    claim = Claim(quantity=quantity, value=value, **more)
    job = {"workload": "bert-large", "accelerator": "h100-sxm5-80gb", "gpus": gpus}
    if quantity in ("epoch_time", "time_to_train"):
        job["workload"] = "resnet50"
    try:
        found = check_quote(Quote(title="a job", scenario=job, claims=(claim,)))[0]
    except InputError as error:
        pytest.skip(str(error))
    if found.expected is None:
        return
    assert found.low_80 <= found.expected <= found.high_80
    best = found.high_80 if found.higher_is_better else found.low_80
    over = best / found.limit if found.higher_is_better else found.limit / best
    assert over <= 1 + 1e-9, found.arithmetic
    cut = any("interval is cut at this limit" in line for line in found.arithmetic)
    assert cut == (over > 1 - 1e-9)


def test_an_efficiency_is_not_expected_beyond_its_limit():
    """Over a slow network the interval was 36 to 180 % under a limit of 110 %."""
    claim = Claim(quantity="scaling_efficiency", value="95%")
    job = {"accelerator": "h100-sxm5-80gb", "gpus": 512, "inter_link": "ethernet-100g-tcp"}
    found = check_quote(Quote(title="a job", scenario=job, claims=(claim,)))[0]
    assert found.expected < found.high_80 <= 1 + 1e-12 < found.limit == pytest.approx(1.1)


# --- collectives


def test_intervals_of_collectives_keep_to_the_narrowest_link():
    rows = [row for row in compare_collectives(shipped_measurements()) if row.low_80 is not None]
    cut = 0
    for row in rows:
        at = row.run.point
        assert at is not None
        assert row.predicted is not None
        least = max(
            float(least_time(at.collective, at.group_size, at.message_bytes, one)) for one in cuts_of(at)
        )
        assert row.low_80 >= min(least, row.predicted) * (1 - 1e-12), row.run.run_id
        cut += row.low_80 == least
    assert cut > 40


def test_an_answer_whose_end_was_moved_can_be_written():
    """Times of embedding tables are numpy's numbers, a choice of which is an array that JSON refuses."""
    asked = {"workload": "dlrm", "accelerator": "v100-sxm2-16gb", "gpus": 2, "local_batch_size": 8192}
    answer = predict(**asked, embedding="sharded", overlap="bucketed", anchor="iteration_time=0.2s@1")
    assert answer.interval.clipped_at is not None
    assert json.loads(answer.to_json())["interval"]["clipped_at"] == answer.interval.clipped_at
