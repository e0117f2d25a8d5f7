"""Transformers that are shared out, wherever a scenario is asked: predict, scale, sweep, explain, compare."""

from __future__ import annotations

import itertools
import json
import math
import re

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.core.records.options import declared
from perfmodel.decide.explanations import explain
from perfmodel.decide.quote import Claim, Quote, check_quote
from perfmodel.decide.sensitivity.elasticity import sensitivity
from perfmodel.decide.sweeps import sweep
from perfmodel.evidence.traces.collective_names import is_collective, kind_of
from perfmodel.evidence.traces.kineto import read_kineto
from perfmodel.evidence.traces.summary import summary
from perfmodel.evidence.traces.timeline import timeline, write_timeline
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.software import LATEST_RELEASE
from perfmodel.interfaces.cli import main
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.layout import DEGREES, NEUTRAL
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.pipeline import pipeline_of_scenario
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.step.terms import names_of, of_kind, sent
from perfmodel.workloads import workload

LLAMA = {"workload": "llama-3-8b", "node": "dgx-h100"}
SHARED = LLAMA | {"gpus": 64, "tensor_parallel": 4, "pipeline_parallel": 2, "global_batch_size": 256}
BUILT_IN = Catalogue.built_in()


def refused(message, **options):
    with pytest.raises(InputError, match=message):
        predict(**options)


@pytest.mark.parametrize("name", ["llama-3-8b", "vit-h-14"])  # an image's tokens are its patches
def test_predict_and_layouts_agree_on_every_layout(name):
    result = perfmodel.layouts(name, gpus=16, node="dgx-h100", global_batch_size=64)
    for row in result.rows[::97]:
        names = (*DEGREES, "sharding", "recompute", "micro_batch_size")
        layout = {name: row.layout[name] for name in names}
        asked = {"workload": name, "node": "dgx-h100", "precision": "bf16", "framework": "megatron-core"}
        answer = predict(**asked, gpus=16, global_batch_size=64, **layout)
        assert answer.iteration_time == pytest.approx(row.iteration_time, rel=1e-9)
        assert answer.mfu == pytest.approx(row.mfu, rel=1e-9)
        assert answer.hfu == pytest.approx(row.hfu, rel=1e-9)
        assert answer.memory.bytes == pytest.approx(row.memory["bytes"], rel=1e-9)
        assert answer.bubble_fraction == pytest.approx(row.bubble_fraction, abs=1e-12)
        assert answer.interval.high_80 == pytest.approx(row.interval["high_80"], rel=1e-9)
        assert {**layout, "data_parallel": row.layout["data_parallel"]}.items() <= answer.layout.items()


def test_the_run_of_a_network_whose_samples_are_no_sequences_has_a_cost():
    found = perfmodel.layouts(
        "vit-h-14", gpus=8, node="dgx-h100", global_batch_size=64, top=1, conditions=Conditions(samples=1e6)
    )
    steps = found.economics["run"]["time"] / found.rows[0].iteration_time
    assert steps == pytest.approx(1e6 / 64, rel=1e-3)


def test_the_terms_sum_and_are_those_of_the_table():
    answer = predict(**SHARED)
    assert list(answer.terms) == list(names_of("layout"))
    assert sum(answer.terms.values()) == pytest.approx(answer.iteration_time, rel=1e-12)
    assert json.loads(answer.to_json())["layout"]["tensor_parallel"] == 4
    tensors = {"weights", "gradients", "optimizer", "activations", "logits", "other", "placeholders"}
    assert set(answer.memory.rows) == tensors | {"reserved", "allocator"}


def test_an_answers_scenario_has_the_same_answer():
    for more in ({}, {"accumulation_steps": 8, "global_batch_size": None}, {"strategy": "fsdp"}):
        answer = predict(**{name: value for name, value in (SHARED | more).items() if value is not None})
        assert predict(answer.scenario).iteration_time == answer.iteration_time
        assert predict(json.loads(answer.to_json())["scenario"]).iteration_time == answer.iteration_time


@pytest.mark.parametrize("name", ["llama-3-8b", "gpt2", "mixtral-8x7b"])
def test_on_one_accelerator_every_way_to_share_is_the_same(name):
    alone = predict(workload=name, node="dgx-h100").iteration_time
    for same in (
        {"tensor_parallel": 1},
        {"sharding": "none"},
        {"strategy": "fsdp", "framework": "megatron-core"},
    ):
        assert predict(workload=name, node="dgx-h100", **same).iteration_time == pytest.approx(
            alone, rel=1e-9
        )


def test_network_and_layout_decide_which_model_answers():
    for one in ("resnet50", "bert-large", "vit-base-16"):
        assert predict(workload=one, gpus=8).model == "data-parallel"
    for more in ({}, {"framework": "pytorch"}, {"accelerator": "k80"}, {"strategy": "fsdp"}):
        assert predict(workload="gpt2", gpus=8, **more).model == "transformer"
    for layout in (
        {"tensor_parallel": 2},
        {"sharding": "zero1"},
        {"recompute": "full"},
        {"strategy": "fsdp"},
    ):
        assert predict(workload="bert-large", gpus=8, node="dgx-a100-80gb", **layout).model == "transformer"


VALUES = {
    "accelerator": ("k80", "h100-sxm5-80gb", "mi300x", "tpu-v5e"),
    "node": ("dgx-1v", "dgx-h100"),
    "inter_link": ("ethernet-25g-tcp", "ib-ndr-400g"),
    "framework": tuple(Catalogue.built_in().ids("software")),
    "compression": ("fp16", "topk:0.01"),
    "jitter": ("none", "lognormal:cv=0.1"),
    "anchor": ("iteration_time=0.5s@1", "iteration_time=0.5s@8"),
    "torus_dimensions": ("2x4",),
}
"""Of options that are texts."""


@pytest.mark.parametrize("network", ["resnet50", "bert-large", "gpt2", "mixtral-8x7b"])
def test_no_option_switches_the_model_that_answers(network):
    plain = {"workload": network, "gpus": 8, "node": "dgx-a100-80gb"}
    model = predict(**plain).model
    answered = 0
    for name, one in declared(Scenario).items():
        values = VALUES.get(name) or one.choices
        if one.type in (int, bool):
            values = (True, False) if one.type is bool else (1, 2, 8)
        if name in ("workload", *NEUTRAL):
            continue
        for value in set(values) - {"fsdp"}:
            try:
                answer = predict(**plain | {"gpus" if name == "world_size" else name: value})
            except InputError:
                continue
            answered += 1
            of_copies = name == "compression" or (name == "strategy" and value != "all-reduce")
            assert answer.model == ("data-parallel" if of_copies else model), (name, value)
    assert answered > 50


@pytest.mark.parametrize(
    "exchange",
    [
        {"strategy": "parameter-server"},
        {"strategy": "parameter-server-local"},
        {"strategy": "data-parallel-single-process"},
        {"strategy": "k-async", "k": 2},
        {"strategy": "local-sgd", "local_steps": 4},
        {"compression": "powersgd:4"},
    ],
)
def test_what_an_accelerator_computes_is_the_same_however_gradients_are_exchanged(exchange):
    """Of a network that predicts tokens, under a layout of replicas and as whole copies."""
    job = {"workload": "gpt2", "gpus": 8, "node": "dgx-a100-80gb", "local_batch_size": 16}
    job["framework"] = "pytorch@2024"
    summed, other = predict(**job), predict(**job, **exchange)
    assert (summed.model, other.model) == ("transformer", "data-parallel")
    computed = sum(summed.terms[f"{of}_time"] for of in ("products", "attention", "elementwise", "logits"))
    assert other.terms["forward_time"] + other.terms["backward_time"] == pytest.approx(computed, rel=1e-12)
    assert other.terms["launch_overhead_time"] == pytest.approx(
        summed.terms["launch_overhead_time"] + summed.terms["iteration_overhead_time"], rel=1e-6
    )


def test_networks_that_predict_tokens_take_the_software_of_today_however_gradients_are_exchanged():
    served = predict(workload="gpt2", gpus=8, node="dgx-a100-80gb", strategy="parameter-server")
    assert served.scenario["framework"] == f"pytorch@{LATEST_RELEASE}"


def test_a_sweep_names_the_model_of_each_row():
    swept = sweep(
        workload=["gpt2", "resnet50"],
        gpus=8,
        overlap=[None, "bucketed"],
        framework=[None, "pytorch", "tensorflow", "nemo"],
    )
    rows = {(row["workload"], row["framework"], row["overlap"]): row["model"] for row in swept.records()}
    assert {key for key, model in rows.items() if model == "transformer"} == {
        ("gpt2", name, None) for name in (None, "pytorch", "tensorflow", "nemo")
    }
    assert {key[0] for key, model in rows.items() if model == "data-parallel"} == {"resnet50"}
    assert len(swept.records()) + sum(swept.refused.values()) == len(swept)


def test_a_comparison_of_two_models_says_so():
    plain = Scenario(workload="bert-large", gpus=8, node="dgx-a100-80gb")
    found = perfmodel.compare(plain, plain.model_copy(update={"tensor_parallel": 2}), names=["one", "two"])
    assert [case.model for case in found.cases] == ["data-parallel", "transformer"]
    assert any(
        note.startswith("predicted one by the data-parallel model, two by the") for note in found.notes
    )


@pytest.mark.parametrize(
    ("framework", "more", "stack"),
    [
        ("pytorch", {}, "pytorch@2026"),
        ("PyTorch@2023", {}, "pytorch@2023"),
        ("pytorch", {"strategy": "fsdp"}, "fsdp@2026"),
        ("pytorch", {"sharding": "zero3"}, "fsdp@2026"),
        ("pytorch-ddp", {}, "pytorch@2026"),
        ("pytorch-channels-last", {}, "pytorch@2026"),
        ("fsdp", {"sharding": "none"}, "pytorch@2026"),
        ("tensorflow", {}, "tensorflow@2026"),
        ("oneflow", {}, "oneflow@2026"),
    ],
)
def test_software_of_both_models_is_what_the_one_that_answers_knows(framework, more, stack):
    answer = predict(**LLAMA, gpus=8, framework=framework, **more)
    assert answer.model == "transformer"
    assert answer.scenario["framework"] == stack
    year_alone = " (its year)" * (stack.partition("@")[0] == framework.removesuffix("-ddp"))
    assert f"--framework {stack}{year_alone}" in answer.defaults or "@" in framework


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tensor_parallel": 3}, "does not divide 64 GPUs; the nearest possible: tensor_parallel 4$"),
        (
            {"tensor_parallel": 64},
            "tensor_parallel 64 does not divide 32 heads; the nearest possible: tensor_parallel 32$",
        ),
        ({"workload": "resnet50", "tensor_parallel": 2}, "tensor_parallel: resnet50 is no transformer"),
        (
            {"workload": "resnet50", "framework": "nemo"},
            "framework nemo: it trains transformers alone, which resnet50 is not; pytorch",
        ),
        ({"framework": "torch7"}, "torch7: it trains no transformers such as llama-3-8b; megatron-core, pyt"),
        ({"workload": "bert-large", "framework": "megatron-core"}, "with a layout, e.g. sharding zero1"),
        (
            {"workload": "bert-large", "micro_batch_size": 8},
            "without one the batch of a GPU is local_batch",
        ),
        ({"workload": "resnet50", "micro_batch_size": 8}, "the batch of a GPU is local_batch_size"),
        ({"workload": "resnet50", "sharding": "none"}, "sharding: resnet50 is no transformer"),
        ({"strategy": "parameter-server", "sharding": "zero1"}, "gradients all-reduce or fsdp sums"),
        ({"overlap": "bucketed"}, "overlap bucketed does not go with megatron-core@2026"),
        ({"algorithm": "best"}, "algorithm best does not go with megatron-core@2026"),
        ({"precision": "fp32"}, "precision fp32: under a layout megatron-core@2026 is known to train in"),
        (
            {"tensor_parallel": 2, "precision": "fp32"},
            "precision fp32: under a layout megatron-core@2026 is known to train in",
        ),
        ({"tensor_parallel": 2, "overlap": "fused"}, "overlap fused does not go with megatron-core@2026"),
        ({"tensor_parallel": 2, "optimizer": "lamb"}, "optimizer lamb"),
        (
            {"global_batch_size": 100},
            "100 does not divide over 64 replicas; the nearest possible: global_batch_size 128$",
        ),
        ({"micro_batch_size": 2, "local_batch_size": 4}, "give one, they are the same here"),
        (
            {"workload": "resnet50", "framework": "megatron-core"},
            "it trains transformers alone, which resnet50",
        ),
        ({"strategy": "fsdp", "sharding": "zero1"}, "strategy fsdp is sharding zero3, not zero1"),
        ({"accelerator": "a100-sxm4-80gb", "node": "dgx-a100-80gb", "precision": "fp8"}, "no peak for fp8"),
    ],
)
def test_what_does_not_go_together_is_refused_with_what_would(options, message):
    refused(message, **LLAMA | {"gpus": 64} | options)


EXPERTS = {"workload": "qwen3-30b-a3b", "node": "dgx-h100", "gpus": 8, "tensor_parallel": 8}


def test_parts_of_experts_are_not_dealt_out_twice():
    """Eight ranks that share each expert's products hold all 29 B weights of experts among them."""
    parts = EXPERTS | {"expert_tensor_parallel": 8}
    why = "does not divide the {} GPUs of a stage"
    both = "expert_parallel 8 x expert_tensor_parallel 8 "
    refused(f"{both}{why.format(8)}.* expert_parallel 1$", **parts, expert_parallel=8)
    whole, alone = predict(**EXPERTS, expert_parallel=8).memory, predict(**parts).memory
    assert alone.rows["weights"] == pytest.approx(whole.rows["weights"])
    assert alone.bytes / 2**30 == pytest.approx(69.9, abs=0.1)  # 6.4 of tokens that all of them gather
    assert predict(**parts | {"gpus": 64}, expert_parallel=8).layout["data_parallel"] == 8
    refused(why.format(16), **parts | {"gpus": 16}, expert_parallel=8)
    swept = perfmodel.sweep(**parts, expert_parallel=[1, 8])
    assert list(swept.table()["expert_parallel"]) == [1]
    ((words, count),) = swept.refused.items()
    assert why.format(8) in words
    assert count == 1
    claim = Claim(quantity="tokens_per_second", value=1e4)
    with pytest.raises(InputError, match=why.format(8)):
        check_quote(Quote(title="t", scenario=parts | {"expert_parallel": 8}, claims=(claim,)))


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from(["llama-3-8b", "mixtral-8x7b", "gpt2", "t5-base", "deepseek-v3"]),
    gpus=st.integers(1, 4096),
    degrees=st.fixed_dictionaries({each: st.integers(1, 96) for each in DEGREES}),
    batch=st.fixed_dictionaries(
        {},
        optional={
            "micro_batch_size": st.integers(1, 9),
            "global_batch_size": st.integers(1, 5000),
            "accumulation_steps": st.integers(1, 40),
        },
    ),
)
def test_the_layout_that_a_refusal_advises_is_possible(name, gpus, degrees, batch):
    options = {"workload": name, "node": "dgx-h100", "gpus": gpus, "sharding": "zero1"} | degrees | batch
    said = None
    try:
        resolve(Scenario(**options), BUILT_IN)
    except InputError as error:
        said = error.note()
    if said is None:
        return
    _, _, words = said.partition("the nearest possible: ")
    written = re.findall(r"--([a-z-]+) (\d+)", words)
    assert written
    changed = {option.replace("-", "_"): int(value) for option, value in written}
    assert resolve(Scenario(**options | changed), BUILT_IN)


def test_the_advice_changes_as_little_as_it_can():
    for options, words in (
        ({"gpus": 63, "tensor_parallel": 3}, "tensor_parallel 1$"),
        (
            {"gpus": 16, "pipeline_parallel": 4, "virtual_stages": 2, "accumulation_steps": 6},
            "accumulation_steps 8$",
        ),
        ({"gpus": 24, "tensor_parallel": 5, "pipeline_parallel": 2}, "tensor_parallel 4$"),
        ({"gpus": 64, "pipeline_parallel": 64}, "pipeline_parallel 32$"),
        ({"gpus": 8, "expert_parallel": 2}, "expert_parallel 1$"),
    ):
        refused(f"the nearest possible: {words}", **LLAMA | options)


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        ({"sharding": "none"}, {"all-reduce"}),
        ({"sharding": "zero1"}, {"reduce-scatter", "all-gather"}),
        ({"strategy": "fsdp"}, {"reduce-scatter", "all-gather"}),
    ],
)
def test_the_timeline_names_the_collectives_of_replicas(options, kinds):
    events = timeline(predict(**LLAMA, gpus=8, **options))["traceEvents"]
    named = [each["name"] for each in events if each["ph"] == "X" and is_collective(each["name"])]
    assert {kind_of(name) for name in named} == kinds


def test_one_sequence_is_one():
    assert "1 sequence of 8,192 tokens a step" in str(predict(**LLAMA))
    assert "8 sequences of 8,192 tokens a step" in str(predict(**LLAMA, gpus=8))


def test_what_is_possible_and_poor_is_remarked():
    notes = predict(**LLAMA, gpus=16, tensor_parallel=16, recompute="selective").warnings
    assert any("leaves NVLink 4 through NVSwitch, which joins 8" in each for each in notes)
    assert any("selective changes nothing" in each for each in notes)
    notes = predict(**LLAMA, gpus=16, framework="deepspeed", sharding="zero2", pipeline_parallel=2).warnings
    assert any("is not known to share zero2" in each for each in notes)
    (remark,) = [each for each in predict(**LLAMA, gpus=64, pipeline_parallel=8).warnings if "idle" in each]
    assert remark.startswith("1 micro-batch keeps 8 stages idle")


def axes():
    degrees = st.lists(st.sampled_from([1, 2, 3, 4, 8]), min_size=1, max_size=2, unique=True)
    return st.fixed_dictionaries(
        {
            "workload": st.sampled_from(["llama-3-8b", "mixtral-8x7b", "gpt2", "t5-base"]),
            "gpus": st.lists(st.sampled_from([8, 16, 24]), min_size=1, max_size=2, unique=True),
            "tensor_parallel": degrees,
            "pipeline_parallel": degrees,
            "virtual_stages": st.just([1, 2]),
            "context_parallel": st.just([1, 2]),
            "expert_parallel": st.just([1, 2]),
            "sharding": st.sampled_from([[None], ["zero1", "zero3"]]),
            "recompute": st.sampled_from([[None], ["full", "selective"]]),
            "micro_batch_size": st.sampled_from([[None], [1, 3]]),
            "accumulation_steps": st.sampled_from([[None], [1, 4]]),
            "global_batch_size": st.sampled_from([[None], [48, 64]]),
        }
    )


@settings(max_examples=12, deadline=None)
@given(asked=axes())
def test_a_sweep_is_predict(asked):
    expected, reasons = {}, {}
    lists = {name: values if isinstance(values, list) else [values] for name, values in asked.items()}
    for values in itertools.product(*lists.values()):
        one = dict(zip(lists, values, strict=True))
        try:
            answer = predict(node="dgx-h100", **{k: v for k, v in one.items() if v is not None})
        except InputError as error:
            reasons[error.note()] = reasons.get(error.note(), 0) + 1
            continue
        key = tuple(None if value is None else value for value in values)
        expected[key] = answer
    swept = perfmodel.sweep(node="dgx-h100", **asked)
    if not expected:
        with pytest.raises(InputError):
            swept.table()
        return
    table = swept.table()
    assert swept.refused == reasons
    assert len(table["iteration_time"]) == len(expected)
    times = sorted(answer.iteration_time for answer in expected.values())
    assert sorted(table["iteration_time"]) == pytest.approx(times, rel=1e-9)
    for name in ("mfu", "speedup", "scaling_efficiency", "communication_time", "baseline_time"):
        values = sorted(getattr(answer, name) for answer in expected.values())
        assert sorted(table[name]) == pytest.approx(values, rel=1e-9)
    needed = sorted(answer.memory.bytes for answer in expected.values())
    assert sorted(table["memory_bytes"]) == pytest.approx(needed, rel=1e-9)


def test_a_sweep_leaves_out_what_predict_refuses_and_keeps_the_rest():
    swept = perfmodel.sweep(
        workload=["llama-3-8b", "resnet50"],
        node="dgx-h100",
        gpus=8,
        strategy="fsdp",
        sharding=["zero1", "zero3"],
    )
    table = swept.table()
    assert table["sharding"].tolist() == ["zero3"]
    assert sum(swept.refused.values()) == 3
    assert any("--strategy fsdp is --sharding zero3, not zero1" in each for each in swept.refused)


def test_stacks_share_by_default_what_they_can():
    for framework, sharding in (
        ("megatron-lm@2020", "none"),
        ("megatron-core", "zero1"),
        ("fsdp", "zero3"),
        ("maxtext", "none"),
    ):
        assert predict(**LLAMA, gpus=8, framework=framework).layout["sharding"] == sharding


def test_the_hosts_wait_for_routed_tokens_is_no_traffic():
    answer = predict(workload="mixtral-8x7b", node="dgx-h100")
    assert answer.communication_time == 0
    assert answer.terms["launch_overhead_time"] > 0


def test_a_sweep_over_both_kinds_has_the_terms_of_both():
    table = perfmodel.sweep(workload=["resnet50", "llama-3-8b"], node="dgx-h100", gpus=8).table()
    assert math.isnan(table["products_time"][0])
    assert math.isnan(table["forward_time"][1])
    assert table["products_time"][1] > 0


@pytest.mark.any_version
def test_an_explanation_is_complete_and_multiplies_out():
    for more in ({}, {"workload": "mixtral-8x7b", "expert_parallel": 4, "recompute": "full"}):
        asked = SHARED | more
        result, answer = explain(**asked), predict(**asked)
        assert result.complete
        assert result.iteration_time == answer.iteration_time
        assert result.terms == pytest.approx(answer.terms, rel=1e-12)
        by_number = {equation.number: equation for equation in result.equations}
        for equation in result.equations:
            for symbol in equation.symbols:
                assert symbol.equation is not None or symbol.note, (equation.formula, symbol.parameter)
                if symbol.equation is not None:
                    assert symbol.value == by_number[symbol.equation].value
        sums = [each for each in result.equations if each.formula == "iteration.iteration_time"]
        assert sum(symbol.value for symbol in sums[-1].symbols) == pytest.approx(answer.iteration_time)


def test_elasticities_have_the_sign_of_physics():
    rows = {row.name: row.time.value for row in sensitivity(SHARED).rows}
    for name in ("peak_flops", "memory_bandwidth", "intra_link_bandwidth", "inter_link_bandwidth"):
        assert rows[name] <= 1e-12
    assert -1 < sum(rows.values()) < 0


def test_a_degree_is_varied_with_the_batch_of_the_step_as_it_is():
    counts = {count.name: count for count in sensitivity(SHARED).counts}
    assert counts["tensor_parallel"].time is not None
    assert abs(counts["tensor_parallel"].time.value) < 0.3


@pytest.mark.parametrize("worse", ["intra_link", "inter_link"])
def test_no_time_falls_when_a_link_gets_worse(worse):
    slower = {"intra_link": "pcie-gen4-x16", "inter_link": "ethernet-25g-tcp"}[worse]
    for degrees in (
        {"tensor_parallel": 8},
        {"pipeline_parallel": 4},
        {"context_parallel": 2},
        {"sharding": "zero3"},
    ):
        asked = LLAMA | {"gpus": 64, "accumulation_steps": 8} | degrees
        assert predict(**asked, **{worse: slower}).iteration_time >= predict(**asked).iteration_time


def test_commands_take_the_options_of_the_layout(tmp_path):
    options = [
        "--workload",
        "llama-3-8b",
        "--node",
        "dgx-h100",
        "--tensor-parallel",
        "4",
        "--recompute",
        "full",
    ]
    for command, more in (
        ("predict", ["--gpus", "16", "--timeline", str(tmp_path / "timeline.json")]),
        ("scale", ["--gpus", "8,16"]),
        ("sweep", ["--gpus", "8,16", "--csv"]),
        ("explain", ["--gpus", "16"]),
        ("sensitivity", ["--gpus", "16"]),
        ("compare", ["--gpus", "16", "--set", "tensor_parallel=8"]),
        ("emulate", ["--gpus", "8", "--steps", "1", "--speed", "1e6"]),
    ):
        result = CliRunner().invoke(main, [command, *options, *more])
        assert result.exit_code == 0, (command, result.output)
    events = json.loads((tmp_path / "timeline.json").read_text())["traceEvents"]
    assert "matrix products" in {event["name"] for event in events}


def test_a_timeline_is_as_long_as_the_iteration():
    answer = predict(**SHARED)
    steps = [each for each in timeline(answer)["traceEvents"] if each["name"] == "ProfilerStep#0"]
    assert steps[0]["dur"] * 1e-6 == pytest.approx(answer.iteration_time, rel=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        {"lora": 16},  # whose gradients leave 1e-10 s that nothing hides
        {"sharding": "zero3"},
        {"sharding": "none"},
        {"tensor_parallel": 8},
        {"pipeline_parallel": 2, "accumulation_steps": 4},
        {"workload": "mixtral-8x7b", "expert_parallel": 8},
    ],
)
def test_a_timeline_of_a_transformer_has_no_kernel_of_nothing(tmp_path, options):
    scenario = Scenario(**LLAMA | {"gpus": 16} | options)
    answer = predict(scenario)
    write_timeline(tmp_path / "step.json", answer, pipeline_of_scenario(scenario))
    events = json.loads((tmp_path / "step.json").read_text())["traceEvents"]
    least = 1e-9 * answer.iteration_time * 1e6
    assert all(event["dur"] > least for event in events if event.get("cat") == "kernel")
    for device in summary(read_kineto(tmp_path / "step.json"))["devices"]:
        assert all(time > 0 for time in device["passes"].values())
        assert all(row["least_time"] > 1e-9 * answer.iteration_time for row in device["collectives"])
        if answer.layout["pipeline_parallel"] == 1:
            computed = of_kind(answer.terms, "busy") + answer.terms["node_growth_time"]
            assert device["per_step"]["compute_time"] == pytest.approx(computed, rel=1e-6)
            exposed = device["per_step"]["exposed_communication_time"]
            assert exposed == pytest.approx(sent(answer.terms), rel=1e-6, abs=1e-9)
            if len(answer.traffic) == 1:  # each collective is one message, however much of it hides
                names = answer.traffic[0].collective.split(", ")
                assert {row["collective"]: row["count"] for row in device["collectives"]} == dict.fromkeys(
                    names, 1
                )


def test_scenarios_take_the_words_of_frameworks():
    asked = Scenario(workload="llama-3-8b", strategy="fully-sharded", recompute="full-recomputation")
    assert (asked.strategy, asked.recompute) == ("fsdp", "full")
    assert workload("llama-3-8b").architecture is not None


def test_what_travels_is_listed_by_the_group_that_sends_it():
    answer = predict(**SHARED, context_parallel=2)
    rows = {row.group: row for row in answer.traffic}
    assert list(rows) == ["tensor", "context", "stages", "replicas"]
    assert {name: row.ranks for name, row in rows.items()} == {
        "tensor": 4,
        "context": 2,
        "stages": 2,
        "replicas": 8,
    }
    passes = answer.layout["accumulation_steps"]
    assert (
        rows["tensor"].messages == 4 * 32 / 2 * passes
    )  # two forward, two backward, of each layer of a stage
    assert rows["tensor"].message_bytes == 2 * 8192 / 2 * 4096
    assert sum(row.time for row in rows.values()) == pytest.approx(answer.communication_time, rel=1e-12)
    for row in rows.values():
        assert 0 <= row.exposed_time <= row.time * (1 + 1e-9)
    assert rows["tensor"].exposed_time == answer.terms["tensor_parallel_time"]
    (gradients,) = predict(workload="resnet50", gpus=8).traffic
    assert (gradients.group, gradients.collective, gradients.ranks) == ("replicas", "all-reduce", 8)
    assert predict(workload="resnet50").traffic == []


def test_a_slice_of_tpus_is_one_machine_for_predict_as_for_layouts():
    row = perfmodel.layouts(
        "llama-3-8b", gpus=64, node="tpu-v5p-slice", global_batch_size=128, framework="maxtext"
    ).rows[0]
    names = (*DEGREES, "sharding", "recompute", "micro_batch_size")
    asked = {name: row.layout[name] for name in names} | {"workload": "llama-3-8b", "gpus": 64}
    answer = predict(node="tpu-v5p-slice", global_batch_size=128, **asked)
    assert answer.iteration_time == pytest.approx(row.iteration_time, rel=1e-9)
    assert not any("inter-link" in each for each in answer.defaults)
    assert predict(answer.scenario).iteration_time == answer.iteration_time


def test_every_generation_of_tpu_trains_transformers_by_the_software_of_tpus():
    tpus = [name for name in Catalogue.built_in().ids("accelerators") if name.startswith("tpu")]
    assert len(tpus) > 4
    for name in tpus:
        assert (
            predict(workload="llama-3-8b", accelerator=name, gpus=64)
            .scenario["framework"]
            .startswith("maxtext")
        )


@pytest.mark.parametrize("options", [{}, {"local_batch_size": 32}, {"sequence_length": 512}])
def test_copies_keep_what_a_layout_of_replicas_keeps(options):
    """Local SGD has no buffers of its own: activations, logits and states are those of the same step."""
    job = {"workload": "gpt2", "gpus": 8, "node": "dgx-h100", "framework": "pytorch@2026", "precision": "amp"}
    job |= {"local_batch_size": 8} | options
    laid_out, copies = predict(**job).memory, predict(**job, strategy="local-sgd", local_steps=4).memory
    rows = laid_out.rows
    assert copies.rows["activations"] == pytest.approx(rows["activations"] + rows["logits"], rel=1e-9)
    assert copies.bytes == pytest.approx(laid_out.bytes, rel=0.1)


def test_an_interval_of_copies_is_no_narrower_than_that_of_transformers_of_their_kind():
    job = {"workload": "mixtral-8x7b", "gpus": 8, "node": "dgx-a100-80gb", "framework": "pytorch@2026"}
    job["local_batch_size"] = 8
    laid_out = predict(**job, sharding="none", recompute="none")
    copies = predict(**job, strategy="local-sgd", local_steps=4)
    far = [one.interval.high_80 / one.iteration_time for one in (laid_out, copies)]
    assert far[1] >= 0.99 * far[0]
    assert any("mixtures of experts" in why for why in copies.interval.wider_because)


@pytest.mark.parametrize("network", ["bert-large", "gpt2"])
def test_software_has_one_year_with_and_without_a_layout(network):
    job = {"workload": network, "gpus": 8, "node": "dgx-a100-80gb", "framework": "pytorch"}
    job["strategy"] = "all-reduce" if network == "bert-large" else "parameter-server"
    copies = predict(**job).scenario["framework"]
    assert copies == predict(**job | {"strategy": "all-reduce", "sharding": "zero1"}).scenario["framework"]


def test_chips_without_fp16_train_copies_in_bf16():
    assert predict(workload="gpt2", gpus=8, accelerator="tpu-v4", strategy="local-sgd").scenario[
        "precision"
    ] == ("bf16")
