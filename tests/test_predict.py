"""A prediction adds up, keeps to its definitions, and answers or refuses whatever is asked."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from perfmodel.errors import InputError
from perfmodel.prediction import Prediction, predict
from perfmodel.prediction.computation import Computation
from perfmodel.prediction.messages import messages
from perfmodel.resolve import resolve
from perfmodel.specs.scenario import Algorithm, Overlap, Precision, Scenario, Strategy
from perfmodel.specs.store import Catalogue
from perfmodel.workloads import names

CATALOGUE = Catalogue.built_in()
ONE_GPU_NODES = {"accelerator": "v100-sxm2-16gb", "node": "aws-p3.2xlarge", "inter_link": "ethernet-25g-tcp"}


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
    assert many.baseline_time == alone.iteration_time
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

    servers = {n: communication("parameter-server", n) for n in (2, 8, 64)}
    rings = {n: communication("all-reduce", n) for n in (2, 8, 64)}
    assert servers[64] / servers[8] == pytest.approx(8, rel=0.01)
    assert servers[8] / servers[2] == pytest.approx(4, rel=0.01)
    assert rings[64] / rings[8] < 1.3
    assert servers[64] > 15 * rings[64]


def test_a_node_sums_its_gradients_before_a_server_sees_them_unless_told_not_to():
    plan = {"strategy": "parameter-server", "servers": 1, "world_size": 32, "accelerator": "v100-sxm2-16gb"}
    summed = ask(**plan, overlap="none").communication_time
    apart = ask(**plan, overlap="none", local_aggregation=False).communication_time
    assert apart / summed == pytest.approx(8, rel=0.15)  # eight accelerators in each machine


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
    largest = ask(workload=workload, accelerator="v100-sxm2-16gb").memory.largest_local_batch_size
    assert largest >= 1
    assert ask(workload=workload, accelerator="v100-sxm2-16gb", local_batch_size=largest).memory.fits
    too_large = ask(workload=workload, accelerator="v100-sxm2-16gb", local_batch_size=largest + 1)
    assert not too_large.memory.fits
    assert any(f"the largest batch that does is {largest}" in warning for warning in too_large.warnings)


def test_an_anchor_is_met_at_one_accelerator_and_moves_the_rest():
    anchored = ask(world_size=1, anchor="iteration_time=0.145s@1")
    assert anchored.mode == "anchored"
    assert anchored.iteration_time == pytest.approx(0.145, rel=1e-9)
    by_rate = ask(world_size=1, local_batch_size=64, anchor="samples_per_second=220@1")
    assert by_rate.samples_per_second == pytest.approx(220, rel=1e-9)
    many = ask(world_size=8, anchor="iteration_time=0.145s@1")
    assert many.baseline_time == pytest.approx(0.145, rel=1e-9)
    assert many.iteration_time >= 0.145


@pytest.mark.published("PyTorch reducer.cpp: first bucket 1 MiB, then 25 MiB, never splitting a tensor")
def test_resnet50_gradients_travel_in_five_buckets():
    setting = resolve(Scenario(workload="resnet50-v1.5", world_size=8, precision="fp32"), CATALOGUE)
    layers = setting.workload.column("parameters")
    ones = layers * 0 + 1.0
    work = Computation(0.0, 0.0, 0.0, 0.0, 0.0, ones, ones)
    sent = messages(setting, work, lambda sizes: sizes)
    assert sent.message_bytes.tolist() == [8196000, 31502336, 26255360, 26550272, 9724160]
    assert sent.ready_times.tolist() == sorted(sent.ready_times.tolist())


def test_defaults_are_named_and_choices_are_not():
    answer = ask(workload="resnet50", world_size=32)
    assert "--accelerator v100-sxm2-16gb" in answer.defaults
    assert not any(default.startswith("--workload") for default in answer.defaults)
    assert any(default.startswith("--local-batch-size") for default in answer.defaults)


def test_a_job_that_does_not_fill_its_nodes_says_how_it_lies():
    answer = ask(accelerator="v100-sxm2-16gb", world_size=12)
    assert answer.placement == "1 x 8 + 4 accelerators on 2 nodes"
    assert any("12 GPUs fill 1 node of 8" in warning for warning in answer.warnings)


@pytest.mark.parametrize("card", ["k80", "m60"])
def test_half_a_board_is_said(card):
    assert any("one of two dies" in warning for warning in ask(accelerator=card).warnings)


@pytest.mark.parametrize("card", ["k80", "gtx-1080", "titan-xp", "p100-sxm2-16gb"])
def test_slow_fp16_is_predicted_not_refused(card):
    half, full = (ask(accelerator=card, precision=p) for p in ("fp16", "fp32"))
    assert 0 < half.iteration_time <= full.iteration_time
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
    slow = ask(world_size=8, **ONE_GPU_NODES)
    fast = ask(world_size=8, **ONE_GPU_NODES, nics=2)
    saved = (slow.iteration_time - fast.iteration_time) / slow.iteration_time
    assert f"would save {saved:.1%}" in slow.verdict


def test_json_is_what_pydantic_would_print_and_keeps_its_keys():
    answer = ask(world_size=4)
    table = json.loads(answer.to_json())
    assert Prediction.model_validate(table).model_dump() == answer.model_dump()
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
    assert promised <= table.keys()
    assert {"bytes", "capacity", "fits"} <= table["memory"].keys()


def test_a_scenario_read_back_from_its_answer_gives_the_same_answer():
    answer = ask(world_size=16, accelerator="a100-sxm4-40gb", precision="bf16")
    fields = {k: v for k, v in answer.scenario.items() if k in Scenario.model_fields and v is not None}
    fields.pop("global_batch_size")
    assert ask(**fields).iteration_time == pytest.approx(answer.iteration_time, rel=1e-12)


SMALL_NAMES = sorted(set(names()) - {"gpt2-xl", "gpt2-large", "mask-rcnn-r50-fpn", "deeplab-v3-plus"})


@settings(max_examples=300)
@given(
    st.fixed_dictionaries(
        {
            "workload": st.sampled_from(SMALL_NAMES),
            "accelerator": st.sampled_from(CATALOGUE.ids("accelerators")),
            "world_size": st.one_of(st.integers(1, 40), st.integers(1, 1_000_000)),
            "strategy": st.sampled_from(Strategy.__args__),
        },
        optional={
            "precision": st.sampled_from(Precision.__args__),
            "overlap": st.sampled_from(Overlap.__args__),
            "algorithm": st.sampled_from(Algorithm.__args__),
            "local_batch_size": st.integers(1, 4096),
            "global_batch_size": st.integers(1, 1_000_000),
            "accumulation_steps": st.integers(1, 64),
            "servers": st.integers(1, 64),
            "node": st.sampled_from(CATALOGUE.ids("nodes")),
            "inter_link": st.sampled_from(CATALOGUE.ids("links")),
            "nics": st.integers(1, 16),
            "input": st.sampled_from(["synthetic", "real"]),
            "loader_workers": st.integers(1, 128),
            "optimizer": st.sampled_from(["sgd", "adam", "lamb"]),
            "local_aggregation": st.booleans(),
            "anchor": st.sampled_from(["iteration_time=0.1s@1", "samples_per_second=10@1"]),
        },
    )
)
def test_every_question_gets_a_finite_answer_or_a_clean_refusal(options):
    answer = answer_or_refusal(options)
    event("refused" if isinstance(answer, str) else "answered")
    if isinstance(answer, str):
        assert answer
        assert "\n" not in answer
        return
    assert math.isfinite(answer.iteration_time)
    assert answer.iteration_time > 0
    assert sum(answer.terms.values()) == pytest.approx(answer.iteration_time, rel=1e-9)
    assert all(time >= 0 for time in answer.terms.values()), answer.terms
    assert 0 <= answer.terms["exposed_communication_time"] <= answer.communication_time * (1 + 1e-9) + 1e-12
    assert answer.samples_per_second > 0
    assert answer.mfu > 0
    json.loads(answer.to_json())
