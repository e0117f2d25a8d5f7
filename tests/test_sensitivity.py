"""What a prediction hangs on: other specs, dimensional analysis, both sides of a kink."""

from __future__ import annotations

import json
import math
import shutil

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from perfmodel.core.files.resources import folder
from perfmodel.decide.economics import economics
from perfmodel.decide.explanations import explain
from perfmodel.decide.sensitivity import sensitivity
from perfmodel.decide.sensitivity.arms import choices
from perfmodel.decide.sensitivity.case import Case, answer
from perfmodel.decide.sensitivity.crossovers import crossovers
from perfmodel.decide.sensitivity.elasticity import STEP, derivatives, sums
from perfmodel.decide.sensitivity.inputs import INPUTS
from perfmodel.decide.sensitivity.levers import decision, faster_now, ranking
from perfmodel.decide.sensitivity.per_sample import effects
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import link_words
from perfmodel.interfaces.cli import main
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.step.terms import added
from tests.test_app import opened

BUILT_IN = Catalogue.built_in()
SCENARIOS = {
    "one accelerator": {},
    "a ring over Ethernet": {
        "world_size": 32,
        "accelerator": "p100-pcie-16gb",
        "node": "pcie-workstation-8gpu",
        "precision": "fp32",
    },
    "a ring in the cloud": {"world_size": 32, "node": "aws-p3.16xlarge"},
    "a ring of cards": {"world_size": 4, "accelerator": "k80", "workload": "vgg16"},
    "a tree": {"world_size": 8, "accelerator": "gtx-1080-ti", "algorithm": "tree", "overlap": "wfbp"},
    "after the pass": {
        "world_size": 16,
        "node": "aws-p3.16xlarge",
        "overlap": "none",
        "workload": "vgg16",
    },
    "parameter servers": {
        "world_size": 16,
        "node": "aws-p3.16xlarge",
        "strategy": "parameter-server",
        "servers": 3,
        "workload": "vgg16",
    },
    "a fast network to servers": {
        "world_size": 16,
        "node": "dgx-1v",
        "strategy": "parameter-server",
        "servers": 1,
        "workload": "vgg16",
    },
    "whole tensors to servers of another kind": {
        "world_size": 16,
        "node": "aws-p3.16xlarge",
        "strategy": "parameter-server",
        "servers": 4,
        "server_node": "aws-p2.8xlarge",
        "framework": "tensorflow",
        "workload": "vgg16",
    },
    "variables on the host": {
        "world_size": 4,
        "node": "aws-p3.16xlarge",
        "strategy": "parameter-server-local",
    },
    "one process": {"world_size": 4, "strategy": "data-parallel-single-process"},
    "anchored": {"world_size": 16, "anchor": "iteration_time=0.145s@1", "inter_link": "ethernet-10g-tcp"},
    "anchored by a rate": {"world_size": 16, "anchor": "samples_per_second=400@1"},
    "real input": {"world_size": 8, "input": "real", "loader_workers": 30, "storage": "local-ssd"},
    "slow storage": {"world_size": 8, "input": "real", "storage": "ebs-gp2"},
    "micro-batches": {
        "world_size": 8,
        "accumulation_steps": 4,
        "workload": "resnet50",
        "precision": "bf16",
    },
}
SCENARIOS["micro-batches"]["accelerator"] = "a100-sxm4-40gb"


def of(name, **conditions):
    return sensitivity(Scenario(**SCENARIOS[name]), conditions=Conditions(**conditions))


@pytest.mark.any_version
@pytest.mark.parametrize("name", SCENARIOS)
def test_elasticities_sum_as_dimensions_demand(name):
    """A clock twice as slow doubles the time, whatever else is counted in seconds: sum of e_x times the
    exponent of s in x is 1, and likewise 0 for bytes, FLOP and joules."""
    here = derivatives(of(name).case)
    told = [(which, here.elasticity(which)[0]) for which, _ in here.inputs(inner=True)]
    for unit, whole in (("s", 1), ("B", 0), ("FLOP", 0), ("J", 0)):
        moved = [(which.dimension[unit], each) for which, each in told if which.dimension.get(unit)]
        if not any(each.is_kink for _, each in moved):
            total = sum(exponent * each.value for exponent, each in moved)
            assert total == pytest.approx(whole, abs=1e-6), unit


LLAMA = {"workload": "llama2-7b", "accelerator": "h100-sxm5-80gb", "world_size": 64}
SHARED = {
    "by tensors": {**LLAMA, "tensor_parallel": 8},
    "by stages": {**LLAMA, "tensor_parallel": 2, "pipeline_parallel": 4, "accumulation_steps": 16},
    "by positions": {**LLAMA, "context_parallel": 4, "sequence_length": 32768},
    "by replicas": {**LLAMA, "sharding": "zero3", "rack_nodes": 2, "oversubscription": 2.0},
    "by experts": {**LLAMA, "workload": "mixtral-8x7b", "expert_parallel": 8, "framework": "megatron-core"},
    "anchored": {**LLAMA, "tensor_parallel": 8, "anchor": "iteration_time=2s@64"},
    "anchored by tokens": {**LLAMA, "tensor_parallel": 8, "anchor": "tokens_per_second=3e5@32"},
}


@pytest.mark.any_version
@pytest.mark.parametrize("options", [*SCENARIOS.values(), *SHARED.values()])
def test_elasticities_are_central_differences(options):
    """Those of one backward pass, against whole answers with each input a little smaller and larger."""
    here = derivatives(sensitivity(Scenario(**options), conditions=Conditions(price=10.0)).case)
    compared = 0
    for which, _ in here.inputs(inner=True):
        low, high = (answer(which.scaled(here.case, 1 + side * STEP)) for side in (-1, 1))
        width = math.log1p(STEP) - math.log1p(-STEP)
        for exact, before, after, now in zip(here.elasticity(which), low, high, here.answer, strict=True):
            sides = math.log(now / before) / -math.log1p(-STEP), math.log(after / now) / math.log1p(STEP)
            assert exact.is_kink == (abs(sides[1] - sides[0]) > 1e-4), which.name
            assert exact.value == pytest.approx(math.log(after / before) / width, abs=1e-6), which.name
            compared += 1
    assert compared >= 10


@pytest.mark.any_version
@pytest.mark.parametrize("options", [*SCENARIOS.values(), {"world_size": 32, "node": "dgx-1v"}])
def test_the_sums_are_told_at_kinks_too(options):
    told = sums(sensitivity(Scenario(**options)).case)
    assert told["s"].total == pytest.approx(1, abs=1e-6)
    assert [told[unit].total for unit in ("B", "FLOP", "J")] == pytest.approx([0, 0, 0], abs=1e-6)


def test_a_sum_says_where_it_is_taken():
    assert not any(each.is_together for each in sums(of("a ring over Ethernet").case).values())
    told = sums(sensitivity(Scenario(world_size=32, node="dgx-1v")).case)
    assert {unit for unit, each in told.items() if each.is_together} == {"s", "B"}
    fused = sums(sensitivity(Scenario(world_size=8, overlap="fused", accelerator="gtx-1080-ti")).case)
    assert all(each.total is None for each in fused.values())
    text = run("--gpus", "32").stdout
    assert "s 1.000, B 0.000, FLOP 0.000, J 0.000; at a kink" in " ".join(text.split())
    assert json.loads(run("--gpus", "32", "--json").stdout)["sums_together"] == ["s", "B"]


def test_most_scenarios_lie_off_kinks():
    smooth = [name for name in SCENARIOS if not any(row.time.is_kink for row in of(name).rows)]
    assert len(smooth) >= 8, smooth


@pytest.mark.parametrize("name", ["a ring over Ethernet", "parameter servers", "anchored", "real input"])
@pytest.mark.parametrize("unit", ["s", "B", "FLOP"])
def test_a_change_of_unit_changes_nothing_else(name, unit):
    """Scaled together, all inputs that carry a unit scale the time as a change of the unit would."""
    case = of(name).case
    scaled = case
    # buckets close at a number of bytes: a change that moves none of them
    factor = 1.001 if unit == "B" else 3.0
    for which, _ in derivatives(case).inputs(inner=True):
        scaled = which.scaled(scaled, factor ** which.dimension.get(unit, 0))
    ratio = answer(scaled).iteration_time / answer(case).iteration_time
    assert ratio == pytest.approx(factor if unit == "s" else 1.0, rel=1e-9)


def test_a_quarter_more_is_what_a_changed_spec_file_says(tmp_path):
    """The inputs are scaled in memory; a user would change the file."""
    asked = Scenario(**SCENARIOS["a ring over Ethernet"])
    rows = {row.name: row for row in sensitivity(asked).rows}
    for kind, name, table, number, row in (
        ("links", "ethernet-25g-tcp", "[hop_latency]", "hop_latency", "inter_link_hop_latency"),
        ("accelerators", "p100-pcie-16gb", "[memory_bandwidth]", "memory_bandwidth", "memory_bandwidth"),
    ):
        mine = tmp_path / name
        (mine / kind).mkdir(parents=True)
        file = mine / kind / f"{name}.toml"
        shutil.copy(folder("hardware_specs") / kind / f"{name}.toml", file)
        before, after = file.read_text().split(table)
        spec = getattr(BUILT_IN, kind.removesuffix("s"))(name)
        old = getattr(spec, number).value
        line = next(each for each in after.splitlines() if each.startswith("value"))
        file.write_text(before + table + after.replace(line, f"value = {old * 1.25!r}", 1))
        changed = predict(asked, Catalogue([mine]))
        if number == "hop_latency" and spec.bulk_hop_latency is not None:
            continue
        assert rows[row].high == pytest.approx(changed.iteration_time, rel=1e-12), row


def test_the_point_is_the_prediction():
    for options in SCENARIOS.values():
        asked = Scenario(**options)
        assert sensitivity(asked).answer.iteration_time == pytest.approx(
            predict(asked).iteration_time, rel=1e-14
        )


def test_known_elasticities():
    anchored = {
        row.name: row.time.value for row in sensitivity(Scenario(anchor="iteration_time=0.1s@1")).rows
    }
    assert anchored["measured_iteration_time"] == pytest.approx(1, abs=1e-9)
    assert anchored["memory_bandwidth"] == pytest.approx(0, abs=1e-9)
    fed = {row.name: row.time for row in of("slow storage").rows}
    assert fed["storage_bandwidth"].value == pytest.approx(-1, abs=1e-8)
    assert fed["stored_bytes"].value == pytest.approx(1, abs=1e-8)
    assert fed["peak_flops"].value == pytest.approx(0, abs=1e-8)


def test_cost_follows_the_price_and_the_rate():
    found = of("a ring over Ethernet", price=10.0)
    rows = {row.name: row for row in found.rows}
    assert rows["price"].cost.value == pytest.approx(1, abs=1e-9)
    assert rows["price"].time.value == 0
    for name, row in rows.items():
        if name not in ("price", "local_batch_size"):
            assert row.cost.value == pytest.approx(row.time.value, abs=1e-8)
    # twice the samples for e more time
    batch = rows["local_batch_size"]
    assert batch.cost.value == pytest.approx(batch.time.value - 1, abs=1e-8)
    predicted = predict(Scenario(**SCENARIOS["a ring over Ethernet"]))
    money = economics(predicted, Conditions(price=10.0), BUILT_IN)["per_iteration"]["cost"]
    samples = predicted.scenario["global_batch_size"]
    assert found.answer.cost_per_sample * samples == pytest.approx(money, rel=1e-12)
    assert of("a ring over Ethernet").answer.cost_per_sample is None


def test_a_price_says_where_it_comes_from():
    asked = ["--gpus", "16", "--node", "aws-p3.16xlarge"]
    told = "$24.48 an hour of one AWS p3.16xlarge: p3.16xlarge on demand, us-east-1, 20"
    for form in ([], ["--csv"], ["--markdown"], ["--json"]):
        text = " ".join(run(*asked, *form).stdout.split())
        assert told in text, form
        assert "source karpenter-aws" in text, form
    assert "price $20 an hour of one " in run("--gpus", "8", "--price", "20").stdout


def test_both_sides_of_a_kink():
    """A DGX-1V's cap is just what its four adapters carry: more of either alone does nothing."""
    asked = Scenario(world_size=32, node="dgx-1v", workload="vgg16", overlap="none")
    found = sensitivity(asked)
    row = next(row for row in found.rows if row.name == "inter_link_bandwidth")
    assert row.time.is_kink
    assert row.time.above == pytest.approx(0, abs=1e-9)
    which = next(each for each in INPUTS if each.name == "inter_link_bandwidth")
    less = answer(which.scaled(found.case, 1 - STEP)).iteration_time
    assert row.time.below == pytest.approx(
        # a difference of two times close to one another has but some eight good digits
        math.log(found.answer.iteration_time / less) / -math.log1p(-STEP),
        rel=1e-7,
    )
    assert row.time.below < -0.01
    assert "at a kink" in next(
        arm.words for arm in choices(found.case) if arm.of.startswith("rate of Infini")
    )


def test_counts_are_predictions_of_the_half_and_the_double():
    count = next(count for count in of("a ring over Ethernet").counts if count.name == "world_size")
    times = [
        predict(Scenario(**SCENARIOS["a ring over Ethernet"] | {"world_size": n})).iteration_time
        for n in (16, 32, 64)
    ]
    assert count.time.below == pytest.approx(math.log2(times[1] / times[0]), rel=1e-9)
    assert count.time.above == pytest.approx(math.log2(times[2] / times[1]), rel=1e-9)


def test_half_and_double_the_sequence():
    asked = {"world_size": 16, "node": "aws-p3.16xlarge", "overlap": "none", "workload": "bert-base"}
    found = {count.name: count for count in sensitivity(Scenario(**asked)).counts}
    short, usual, long = (
        predict(Scenario(**asked, sequence_length=n)).iteration_time
        for n in (found["sequence_length"].value // 2, None, 2 * found["sequence_length"].value)
    )
    assert found["sequence_length"].time.below == pytest.approx(math.log2(usual / short), rel=1e-9)
    assert found["sequence_length"].time.above == pytest.approx(math.log2(long / usual), rel=1e-9)


@pytest.mark.parametrize("name", SCENARIOS)
def test_idle_arms_have_no_effect(name):
    found = of(name)
    rows = {row.name: row.time.value for row in found.rows}
    arms = {choice.of: choice for choice in choices(found.case)}
    feeding = arms.get("an iteration and its samples")
    if feeding is not None and feeding.active == "the rest of the iteration":
        assert rows["decode_rate"] == rows["storage_bandwidth"] == rows["sample_bytes"] == 0
    if feeding is not None and feeding.active == "decoding":
        assert rows["decode_rate"] == pytest.approx(-1, abs=1e-8)
    for choice in arms.values():
        if choice.active == "what one server adds up":
            assert rows["server_ceiling"] < 0 == rows["inter_link_bandwidth"]
    rate = next(
        (choice for choice in arms.values() if choice.of.startswith("rate of") and "ring" not in choice.of),
        None,
    )
    if rate is not None and rate.active == "the provider's limit on one connection":
        own = rate.of == f"rate of {link_words(found.case.setting.inter_link)}"
        place = "inter_link" if own else "server_link"
        assert rows[f"{place}_bandwidth"] == 0
        assert rows[f"{place}_flow_bandwidth"] < 0
    for choice in arms.values():
        reached = [value for value in choice.arms.values() if value is not None]
        assert choice.active in choice.arms
        assert choice.arms[choice.active] == (max if choice.kind == "max" else min)(reached)


def test_where_the_ring_overtakes_the_server():
    options = {
        "accelerator": "p100-pcie-16gb",
        "node": "pcie-workstation-8gpu",
        "inter_link": "ethernet-25g-tcp",
    }
    case = sensitivity(Scenario(world_size=32, **options)).case
    turns = crossovers(case.setting, BUILT_IN, calibration())
    slower, faster = (turn for turn in turns if "parameter server" in turn.words)
    at = faster.at
    assert f" with {slower.at} to {at - 1} workers" in slower.words
    assert f" with {at} to 64 workers, the most tried" in faster.words
    assert ["this job's 32 among them" in turn.words for turn in (slower, faster)] == [at > 32, at <= 32]

    def lead(n):
        served = Scenario(world_size=n, strategy="parameter-server", servers=1, **options)
        return predict(served).iteration_time - predict(Scenario(world_size=n, **options)).iteration_time

    assert lead(at) > 0
    assert lead(at - 1) <= 0


def test_where_a_link_stops_being_the_bottleneck():
    options = {
        "accelerator": "p100-pcie-16gb",
        "node": "pcie-workstation-8gpu",
        "inter_link": "ethernet-25g-tcp",
    }
    options |= {"world_size": 32}
    turns = crossovers(sensitivity(Scenario(**options)).case.setting, BUILT_IN, calibration())
    at = next(turn.at for turn in turns if "stops being the bottleneck" in turn.words)

    def exposed_over_busy(batch):
        terms = predict(Scenario(local_batch_size=batch, **options)).terms
        return added(terms) / (terms["forward_time"] + terms["backward_time"])

    assert exposed_over_busy(at) <= 1 < exposed_over_busy(at - 1)
    largest = next(turn.at for turn in turns if "do not fit" in turn.words)
    assert predict(Scenario(local_batch_size=largest - 1, **options)).memory.fits
    assert not predict(Scenario(local_batch_size=largest, **options)).memory.fits


def test_only_changes_near_the_job_are_listed():
    """Weak scaling falls below 90 % beyond 8,192 accelerators: far from 32, near 4,096."""
    near, far = (
        crossovers(sensitivity(Scenario(world_size=n)).case.setting, BUILT_IN, calibration())
        for n in (4096, 32)
    )
    assert any("weak scaling falls below 90 %" in turn.words for turn in near)
    assert not any("weak scaling" in turn.words for turn in far)
    assert all(turn.at is not None for turn in far)  # a value at which something changes, never none
    (full,) = (turn for turn in far if "do not fit" in turn.words)
    assert full.words == f"more than {full.at - 1} images per GPU do not fit into memory"


def run(*args):
    return CliRunner().invoke(main, ["sensitivity", *args])


def test_the_best_of_each_lever_comes_first_in_the_command_and_on_the_page():
    printed = " ".join(run("--gpus", "32").stdout.split())
    answered = json.loads(run("--gpus", "32", "--json").stdout)
    every = effects(answered["inputs"], answered["iteration_time"])
    ranked = [one.saving[0] for _, one in ranking(every)]
    assert len(ranked) == 3
    assert ranked == sorted(ranked, reverse=True)
    said = decision(every, answered["crossovers"])
    assert said in printed
    assert said.startswith(
        "Better software and a change of the job save most, about equally: 15.6 % with 25 % less time in "
        "memory-bound"
    )
    assert "number format" not in said  # of which nobody chooses a quarter less
    (now,) = faster_now(answered["crossovers"])
    assert [turn["words"] for turn in answered["crossovers"] if turn["faster_now"]] == [now]
    assert len(answered["crossovers"]) > 1
    assert now.startswith("for this job one parameter server is 2 % faster than all-reduce; ")
    assert said.endswith(f" {now[0].upper()}{now[1:]}.")
    assert "traffic_inefficiency" not in printed


def test_the_chart_says_from_what_to_what_and_leaves_out_what_nobody_can_choose():
    test = opened("sensitivity", gpus="32")
    figure = json.loads(test.get("plotly_chart")[0].proto.spec)
    drawn = [note["text"] for note in figure["layout"]["annotations"]]
    assert "Memory bandwidth: 900 GB/s to 1.12 TB/s" in drawn
    assert "Batch per GPU: 64 samples to 80 samples" in drawn
    assert "Time in memory-bound kernels: 25 % less" in drawn
    assert not any(text.startswith("Bytes of each number") for text in drawn)


def test_the_command_tells_the_same(tmp_path):
    asked = ("--gpus", "32", "--workload", "vgg16", "--overlap", "none")
    answered = json.loads(run(*asked, "--price", "20", "--json").stdout)
    job = Scenario(world_size=32, workload="vgg16", overlap="none")
    found = sensitivity(job, conditions=Conditions(price=20.0))
    assert answered["iteration_time"] == found.answer.iteration_time
    assert [row["name"] for row in answered["inputs"]] == [row.name for row in found.rows]
    kinked = {row["name"]: row["time"] for row in answered["inputs"]}["inter_link_bandwidth"]
    assert kinked["elasticity"] is None
    assert kinked["below"] < kinked["above"]
    text = run(*asked).stdout
    assert f"{kinked['below']:+.3f} | +0.000" in text
    assert "no known price of NVIDIA DGX-1" in text
    assert "| input |" in run("--gpus", "8", "--markdown").stdout
    assert run("--gpus", "8", "--csv").stdout.startswith("name,value,unit")


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (["--gpus", "0"], "whole number"),
        (["--workload", "resnet5"], "resnet50"),
        (["--price", "-1"], "above 0"),
        (["--price", "1", "--purchase-price", "2"], "give one"),
        (["--json", "--csv"], "give one"),
        (["--anchor", "fast"], "iteration_time=0.145s@1"),
    ],
)
def test_bad_input_is_told_in_a_line(bad, told):
    result = run(*bad)
    assert result.exit_code == 2
    assert told in result.stderr
    assert "Traceback" not in result.stderr


@settings(max_examples=25, deadline=None)
@given(
    workers=st.integers(1, 32),
    gpus=st.integers(1, 8),
    storage=st.sampled_from(["local-ssd", "ebs-gp2"]),
    anchor=st.sampled_from([None, "iteration_time=10ms@1"]),
)
def test_the_longest_stage_of_the_input_is_what_a_prediction_waits_for(workers, gpus, storage, anchor):
    options = {"loader_workers": workers, "storage": storage, "anchor": anchor}
    options = {name: value for name, value in options.items() if value is not None}
    scenario = Scenario(workload="resnet50", world_size=gpus, input="real", **options)
    arms = choices(Case(resolve(scenario, BUILT_IN), calibration()))[-1].arms
    rest = arms.pop("the rest of the iteration")
    waited = predict(scenario).terms["input_time"]
    assert max(0.0, max(arms.values()) - rest) == pytest.approx(waited, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {"workload": "llama-3-8b", "node": "dgx-h100", "world_size": 8},
        {"workload": "bert-large", "local_batch_size": 4096},
    ],
)
def test_that_a_job_does_not_fit_is_said_first(options, tmp_path):
    words = [word for name, value in options.items() for word in (_option(name), str(value))]
    done = CliRunner().invoke(main, ["sensitivity", *words])
    said = next(
        each for each in predict(**options).warnings if each.startswith(predict(**options).memory.verdict)
    )
    assert " ".join(done.stdout.split()).index(f"the job {said}") < done.stdout.index("iteration time")
    page = tmp_path / "page.html"
    done = CliRunner().invoke(main, ["sensitivity", *words, "--json", "--report", str(page)])
    assert json.loads(done.stdout)["unfit"] == said
    assert f"The job {said}." in page.read_text()
    assert said in explain(**options).notes
    assert json.loads(CliRunner().invoke(main, ["sensitivity", "--json"]).stdout)["unfit"] is None


def _option(name):
    return "--gpus" if name == "world_size" else f"--{name.replace('_', '-')}"
