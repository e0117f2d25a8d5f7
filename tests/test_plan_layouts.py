"""Plans of transformers that are shared out: equal to brute force over predict, and said in full."""

from __future__ import annotations

import itertools
import json
import pickle

import pytest

import perfmodel
from perfmodel import Catalogue, InputError, Scenario, predict
from perfmodel.core.candidates import TooManyCandidates, at_most
from perfmodel.decide.economics import economics
from perfmodel.decide.planning import Goal, search
from perfmodel.hardware.machine_words import distinct_names
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.layout import DEGREES
from perfmodel.model.prediction.memory_odds import stated_odds
from perfmodel.model.transformers.enumeration import LARGEST_MICRO_BATCH, MOST_CHUNKS
from perfmodel.workloads import workload

CLOUDS = ("p5.48xlarge", "Standard_ND96isr_H100_v5", "a3-megagpu-8g", "a3-highgpu-8g")
SMALL = {
    "workload": "llama-3-8b",
    "instances": ("p4d.24xlarge", "Standard_NC80adis_H100_v5"),
    "max_gpus": 8,
    "global_batch_size": 8,
    "tokens": 1e10,
}


def every_layout(world, batch, layers=32):
    """Yield the options of every layout of Llama 3 8B on so many accelerators, as predict takes them."""

    def divisors(number):
        return [each for each in range(1, number + 1) if number % each == 0]

    for tensor, pipeline, context in itertools.product(divisors(world), repeat=3):
        replica = tensor * pipeline * context
        if world % replica or batch % (world // replica) or 32 % tensor or context > 2:
            continue
        local = batch // (world // replica)
        for micro in (size for size in divisors(local) if size <= LARGEST_MICRO_BATCH):
            steps = local // micro
            stages = layers // pipeline
            chunks = [1] + [
                each
                for each in divisors(stages)
                if pipeline > 1 and 1 < each <= MOST_CHUNKS and steps % pipeline == 0
            ]
            shardings = ("none", "zero1", "zero2", "zero3") if pipeline == 1 else ("none", "zero1")
            shardings = shardings if world > tensor * pipeline else ("none",)
            ways = itertools.product(chunks, shardings, ("none", "selective", "full"))
            for virtual, sharding, recompute in ways:
                yield {
                    **dict(zip(DEGREES, (tensor, pipeline, virtual, context, 1), strict=True)),
                    "sharding": sharding,
                    "recompute": recompute,
                    "micro_batch_size": micro,
                    "accumulation_steps": steps,
                }


def fits_surely(size, capacity):
    """Whether the memory has at most half of the risk that is accepted by default, 20 %."""
    return stated_odds(size, 0.0, capacity).fits_probability >= 0.9


@pytest.mark.any_version
def test_the_plan_is_the_best_of_every_layout_by_predict():
    """All layouts of each machine and size, one by one by predict, priced one by one by economics."""
    failing = Conditions(node_failure_interval=1e7, checkpoint_time=60.0, restart_time=300.0, host_power=1e3)
    found = search(Goal(**SMALL, options={"framework": "megatron-core"}, conditions=failing))
    rows = [found.row(i) for i in range(len(found))]
    brute = {}
    sizes = {"aws-p4d.24xlarge": (1, 2, 4, 8), "azure-nc80adis_h100_v5": (1, 2, 4, 6, 8)}
    for node, size in ((node, size) for node, each in sizes.items() for size in each):
        job = {"workload": "llama-3-8b", "node": node, "world_size": size, "framework": "megatron-core"}
        each = [predict(Scenario(**job, **layout)) for layout in every_layout(size, 8)]
        able = [one for one in each if one.memory.fits]
        able = [one for one in able if fits_surely(one.memory.bytes, one.memory.capacity)] or able
        if able:
            brute[node, size] = min(able, key=lambda one: one.iteration_time)
    assert {(row["node"], row["world_size"]) for row in rows} == brute.keys()
    assert len(brute) > 4
    samples, costs = 1e10 / 8192, {}
    for row in rows:
        best = brute[row["node"], row["world_size"]]
        assert row["iteration_time"] == pytest.approx(best.iteration_time, rel=1e-9)
        again = predict(Scenario(**found.options_of(row)))
        assert again.iteration_time == pytest.approx(row["iteration_time"], rel=1e-9)
        assert again.memory.bytes == pytest.approx(row["memory_bytes"], rel=1e-9)
        assert again.layout == row["layout"]
        for name in ("mfu", "samples_per_second", "tokens_per_second"):
            assert row[name] == pytest.approx(getattr(best, name), rel=1e-9)
        for end in ("low_80", "high_80"):
            ratio = getattr(best.interval, end) / best.iteration_time
            assert row[f"run_time_{end}"] / row["run_time"] == pytest.approx(ratio, rel=1e-9)
        conditions = failing.model_copy(update={"price": row["usd_per_hour"], "samples": samples})
        run = economics(best, conditions, Catalogue.built_in())["run"]
        for name, value in (("run_time", run["time"]), ("cost", run["cost"]), ("energy", run["energy"])):
            assert row[name] == pytest.approx(value, rel=1e-9)
        costs[row["node"], row["world_size"]] = run["cost"]
    assert found.chosen["cost"] == pytest.approx(min(costs.values()), rel=1e-9)


@pytest.mark.any_version
def test_four_clouds_are_compared_for_a_trillion_tokens(invoke):
    """Machines of eight H100 at four prices; the answer names the layout, its memory, rate and price."""
    words = ("plan", "--workload", "llama-3-70b", "--tokens", "1T", "--instance", ",".join(CLOUDS))
    limits = ("--deadline", "60 days", "--budget", "$2,500,000", "--max-nodes", "32")
    answer = json.loads(invoke(*words, *limits, "--json").stdout)
    chosen = answer["chosen"]
    assert {row["name"] for row in [chosen, *answer["lost"]]} == set(CLOUDS)
    assert chosen["layout"]["tensor_parallel"] > 1
    assert chosen["memory_bytes"] < chosen["memory_capacity"]
    assert chosen["nodes"] <= 32
    assert chosen["run_time"] == pytest.approx(1e12 / chosen["tokens_per_second"] / chosen["goodput"])
    assert chosen["cost_low_80"] < chosen["cost"] < chosen["cost_high_80"]
    for name, part in (("deadline", "run_time"), ("budget", "cost")):
        over = answer["goal"][name] < chosen[f"{part}_high_80"]
        assert (chosen[f"{name}_risk"] > 0.1) == over
    again = json.loads(invoke(*answer["launch"]["predict"].split()[1:], "--json").stdout)
    assert again["iteration_time"] == pytest.approx(chosen["iteration_time"], rel=1e-9)
    assert "--tensor-model-parallel-size" in answer["launch"]["torchrun"]
    shown = invoke(*words, *limits).stdout
    assert f"tensor {chosen['layout']['tensor_parallel']} x " in " ".join(shown.split())
    assert all(len(line) <= 80 for line in shown.splitlines() if not line.startswith("perfmodel predict "))
    for row in (chosen, *answer["front"]):  # words are whole
        (name,) = distinct_names([row["accelerator_name"]]).values()
        assert f"{row['world_size']} x {name}, {row['provider']}" in shown
        assert f"{row['provider']} {row['name']})" in " ".join(shown.split())


EIGHT = {"workload": "llama-3-8b", "instances": "p5.48xlarge", "max_gpus": 16, "tokens": "10B"}


@pytest.mark.parametrize(
    ("workload", "framework", "model"),
    [
        ("gpt2", None, "transformer"),
        ("gpt2", "PyTorch", "transformer"),
        ("gpt2", "nemo@2024", "transformer"),
        ("bert-large", None, "data-parallel"),
        ("bert-large", "pytorch@2020", "data-parallel"),
    ],
)
def test_the_network_decides_which_model_answers_for_a_plan(workload, framework, model):
    asked = {"workload": workload, "samples": 1e6, "instances": "p4d.24xlarge", "max_gpus": 8}
    found = perfmodel.plan(**asked, framework=framework).search
    rows = [found.row(i) for i in range(len(found))]
    for row in (rows[0], rows[-1]):
        assert found.predicted(row).iteration_time == pytest.approx(row["iteration_time"], rel=1e-9)
        assert found.predicted(row).model == model


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithms": "ring"}, "algorithm ring does not go with"),
        ({"precisions": "fp32"}, "precision fp32: under a layout megatron-core@2026 is known to train in"),
        ({"framework": "torch7"}, "torch7: it trains no transformers such as gpt2"),
        (
            {"workload": "bert-large", "framework": "megatron-core"},
            "framework megatron-core goes with a layout, e.g. sharding zero1; of bert-large",
        ),
    ],
)
def test_a_plan_refuses_what_the_model_that_answers_does_not_know(options, message):
    asked = {"workload": "gpt2", "samples": 1e6, "instances": "p4d.24xlarge", "max_gpus": 8}
    with pytest.raises(InputError, match=message):
        perfmodel.plan(**asked | options)


@pytest.mark.parametrize(
    "options",
    [
        {"lora": 8},
        {"lora_targets": "q"},
        {"loss": "fused"},
        {"document_length": 512},
        {"sequence_parallel": True},
        {"attention_kernel": "flash2"},
        {"recompute_modules": "layernorm"},
        {"workload": "llama-3-8b", "recompute_modules": "norms"},
        {"workload": "llama-3-8b", "frozen_weights": "nf4"},
    ],
)
def test_what_refuses_every_candidate_is_what_predict_refuses(options):
    job = {"workload": "resnet50"} | options
    with pytest.raises(InputError) as refused:
        predict(Scenario(**job, node="dgx-a100-80gb", world_size=8))
    with pytest.raises(InputError) as refused_plan:
        perfmodel.plan(**job, samples=1e6, nodes=("dgx-a100-80gb", "dgx-h100"), max_gpus=64)
    assert str(refused_plan.value) == str(refused.value)
    assert refused_plan.value.problems == refused.value.problems


@pytest.mark.any_version
@pytest.mark.parametrize(
    ("workload", "options"),
    [
        ("llama-3-8b", {"schedule": "zb-v", "embedding_slots": True}),
        ("llama-3-8b", {"context_method": "ulysses", "sequence_length": 32768, "mtp_layers": 1}),
        ("llama-3-8b", {"framework": "torchtitan", "shard_group": 8}),
        (
            "mixtral-8x7b",
            {
                "expert_imbalance": 1.3,
                "expert_tensor_parallel": 1,
                "routing_nodes": 1,
                "schedule": "dualpipe",
            },
        ),
        ("mixtral-8x7b", {"capacity_factor": 1.0}),
    ],
)
def test_a_plan_takes_the_options_of_layouts(workload, options):
    """Each plan is the first layout of as many accelerators that surely fits, and what predict says of it."""
    run = {"samples": 1e6, "nodes": ("dgx-h100",), "max_gpus": 32, "global_batch_size": 64}
    found = search(Goal(workload=workload, **run, options=options))
    for index in range(len(found)):
        row = found.row(index)
        job = {"node": "dgx-h100", "gpus": row["world_size"], "global_batch_size": 64, **options}
        rows = perfmodel.layouts(workload, **job, top=500).rows
        sure = (one for one in rows if fits_surely(one.memory["bytes"], one.memory["capacity"]))
        first = next(sure, rows[0])
        assert row["layout"] == first.layout
        assert row["iteration_time"] == pytest.approx(first.iteration_time, rel=1e-9)
        assert found.predicted(row).iteration_time == pytest.approx(first.iteration_time, rel=1e-9)
    assert row["world_size"] == 32


def test_a_plan_says_which_options_change_nothing():
    options = {"schedule": "zb-v", "routing_nodes": 2}
    plans = perfmodel.plan("resnet50", epochs=90, nodes=("dgx-1v",), max_gpus=16, **options)
    for said in ("schedule changes nothing without", "routing-nodes changes nothing without experts"):
        assert any(said in note.replace("_", "-") for note in plans.notes)


def test_a_script_has_the_schedule_and_kernels_of_the_plan():
    job = {"samples": 1e6, "nodes": ("aws-p5.48xlarge",), "max_gpus": 64, "global_batch_size": 64}
    plans = perfmodel.plan("llama-3-70b", **job, embedding_slots=True, attention_kernel="flash3")
    assert plans.chosen.layout["embedding_slots"] is True
    assert "--attention-backend flash" in plans.launch.torchrun


def test_the_note_of_an_error_is_the_error_in_another_process():
    note = pickle.loads(pickle.dumps(InputError("no such thing").note()))
    assert (note, note.about, str(note.error)) == ("no such thing", "unsorted", "no such thing")


def test_a_plan_exchanges_gradients_of_copies_and_under_layouts():
    """Each plan is what predict says of it, whichever way gradients go."""
    asked = {"workload": "gpt2", "samples": 1e6, "instances": "p4d.24xlarge", "max_gpus": 16}
    found = perfmodel.plan(**asked, strategies=("all-reduce", "parameter-server")).search
    rows = [found.row(i) for i in range(len(found))]
    assert {(row["strategy"], row["layout"] is None) for row in rows} == {
        ("all-reduce", False),
        ("parameter-server", True),
    }
    for row in (
        next(row for row in rows if row["strategy"] == name) for name in ("all-reduce", "parameter-server")
    ):
        assert found.predicted(row).iteration_time == pytest.approx(row["iteration_time"], rel=1e-9)
    served = perfmodel.plan(**asked, strategies="parameter-server").search
    assert {served.row(i)["strategy"] for i in range(len(served))} == {"parameter-server"}


@pytest.mark.parametrize("options", [{"input": "real", "storage": "ebs-gp3"}, {"jitter": "lognormal:cv=0.1"}])
def test_waiting_for_samples_or_stragglers_is_part_of_the_layout_that_is_chosen(options):
    found = perfmodel.plan(**EIGHT, framework="megatron-core", **options).search
    for row in (found.row(i) for i in range(len(found))):
        assert found.predicted(row).iteration_time == pytest.approx(row["iteration_time"], rel=1e-9)


def test_a_risk_is_that_of_the_interval():
    """At the upper end of an 80 % interval one run in ten is later, at the prediction every other."""
    first = perfmodel.plan(**EIGHT).chosen
    for end, risk in (("_high_80", 0.1), ("", 0.5), ("_low_80", 0.9)):
        limits = {"deadline": getattr(first, f"run_time{end}"), "budget": getattr(first, f"cost{end}")}
        plans = perfmodel.plan(**EIGHT, **limits)
        rows = map(plans.search.row, range(plans.candidates))
        row = next(row for row in rows if row["world_size"] == first.world_size and row["layout"])
        assert row["layout"] == first.layout
        assert row["deadline_risk"] == pytest.approx(risk, abs=1e-4)
        assert row["budget_risk"] == pytest.approx(risk, abs=1e-4)
    shown = " ".join(plans.verdict)
    assert "; the risks are the deadline " in shown or "No plan" in shown or "Nothing meets" in shown


def test_power_and_machines_limit_a_job():
    """Two machines of eight H100 draw 11.2 kW at 700 W each; their hosts and the building come on top."""
    plans = perfmodel.plan(**EIGHT | {"max_gpus": 64}, power_limit="12kW")
    assert max(plan.world_size for plan in plans.front) == 16
    assert plans.chosen.power == pytest.approx(700 * plans.chosen.world_size)
    assert any("12 kW" in reason for reason in plans.left_out)
    with_hosts = perfmodel.Conditions(host_power=2000, pue=1.2)
    plans = perfmodel.plan(**EIGHT | {"max_gpus": 64}, power_limit="12kW", conditions=with_hosts)
    assert max(plan.world_size for plan in plans.front) == 8
    assert max(plan.nodes for plan in perfmodel.plan(**EIGHT | {"max_gpus": 64}, max_nodes=3).front) == 3
    with pytest.raises(InputError, match=r"power_limit 100 W: the least that a plan draws is 1\.4 kW"):
        perfmodel.plan(**EIGHT, power_limit=100.0)
    with pytest.raises(InputError, match=r"no plan's power is known; .* rated power of tpu-v5e$"):
        perfmodel.plan("resnet50", epochs=1, nodes="tpu-v5e-slice", max_gpus=8, power_limit="1MW")


def test_what_fits_shared_out_is_not_said_to_fit_nowhere():
    plans = perfmodel.plan(**EIGHT)
    assert plans.chosen is not None
    assert not [reason for reason in plans.left_out if reason.startswith("not one sample")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--deadline", "tomorrow"), "'tomorrow' is not a time; expected for example 48h or 2 days, 145ms"),
        (("--budget", "€20k"), "'€20k' is not an amount of money in US dollars; expected for example $20"),
        (("--budget", "a lot"), "$20,000, 20k or 1.5M"),
        (("--tokens", "1t"), "t may mean T"),
        (("--tokens", "1T", "--epochs", "2"), "--epochs and --tokens: give one"),
        (("--workload", "resnet50", "--tokens", "1T"), "--tokens: a sample of resnet50 has none"),
        (("--power-limit", "2 hours"), "not a power"),
        (("--max-nodes", "0"), "'0' is not a whole number"),
        (("--price", "p5.48xlarge=cheap"), "$20,000"),
    ],
)
def test_what_nobody_can_read_is_said_in_a_line(words, message, invoke):
    given = ("--workload", "llama-3-8b") if "--workload" not in words else ()
    length = () if "--tokens" in words else ("--tokens", "1B")
    result = invoke("plan", *given, *length, *words)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


@pytest.mark.any_version
def test_a_transformer_without_a_length_takes_its_usual_tokens(invoke):
    words = ("plan", "--workload", "llama-3.1-405b", "--instance", "p5.48xlarge")
    usual = invoke(*words)
    assert "for 15.6 T tokens" in " ".join(usual.stdout.split())
    said = "the run has 15.6 T tokens, as its publisher trained it; --tokens changes it"
    assert said in " ".join(usual.stdout.split())
    given = invoke(*words, "--tokens", "15.6T", "--json")
    plans = [json.loads(each.stdout) for each in (invoke(*words, "--json"), given)]
    assert plans[0]["chosen"] == plans[1]["chosen"]
    assert said in plans[0]["notes"]
    assert said not in plans[1]["notes"]


def test_a_fine_tuning_has_no_usual_length(invoke):
    result = invoke("plan", "--workload", "llama-3-8b", "--instance", "p5.48xlarge", "--lora", "16")
    assert result.exit_code == 2
    assert "--tokens or --samples: give one" in result.stderr
    assert "epochs" not in result.stderr


def test_limits_are_read_alike_by_every_door(invoke):
    words = ("--deadline", "2 weeks 1 day", "--budget", "$20,000", "--power-limit", "0.1MW")
    asked = ("--workload", "llama-3-8b", "--instance", "p5.48xlarge", "--max-gpus", "16", "--tokens", "10B")
    goal = json.loads(invoke("plan", *asked, *words, "--json").stdout)["goal"]
    limits = {"deadline": "2 weeks 1 day", "budget": "20k", "power_limit": "100 kW"}
    same = perfmodel.plan(**EIGHT, **limits).search.goal
    for name, value in (("deadline", 15 * 86400), ("budget", 2e4), ("power_limit", 1e5), ("tokens", 1e10)):
        assert goal[name] == getattr(same, name) == value


def test_a_large_job_fails_as_llama_3_did_and_says_so():
    """Checkpoints of 12 B a parameter by each machine at 1 GB/s, a failure every 6,335 h of a machine."""
    said = {"node_failure_interval": 2048 * 54 * 86400 / 419, "checkpoint_bandwidth": 2e12 / 2048}
    usual, given = (
        perfmodel.plan(**EIGHT, conditions=perfmodel.Conditions(**each)).chosen for each in ({}, said)
    )
    assert usual == given
    network = workload("llama-3-8b")
    by_time = said | {
        "checkpoint_bandwidth": None,
        "checkpoint_time": 12 * network.parameters / usual.nodes / (2e12 / 2048),
    }
    timed = perfmodel.plan(**EIGHT, conditions=perfmodel.Conditions(**by_time)).chosen
    long = EIGHT | {"tokens": "10T"}
    for conditions in (said, by_time):
        plan = perfmodel.plan(**long, conditions=perfmodel.Conditions(**conditions))
        row = next(row for row in map(plan.search.row, range(plan.candidates)) if row["nodes"] == timed.nodes)
        assert 0.99 < row["goodput"] < 1
        prediction = plan.search.predicted(row)
        of_run = perfmodel.Conditions(**conditions, price=55.04, samples=1e13 / 8192)
        run = economics(prediction, of_run, Catalogue.built_in())["run"]
        assert row["run_time"] == pytest.approx(run["time"], rel=1e-9)
    notes = " ".join(plan.notes)
    assert (
        "10 T tokens are 62 x the 161 B at which llama-3-8b trained from nothing is compute-optimal" in notes
    )
    small = perfmodel.plan("gpt2", samples=1e6, instances="p4d.24xlarge", max_gpus=8)
    assert any("nothing fails" in note for note in small.notes)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--checkpoint-time", "60s", "--checkpoint-bandwidth", "1GB/s"), "give one"),
        (("--checkpoint-bandwidth", "1GB"), "'1GB' is not a bandwidth"),
    ],
)
def test_a_checkpoint_has_a_time_or_a_bandwidth(words, message, invoke):
    asked = ("--workload", "llama-3-8b", "--tokens", "1B", "--instance", "p5.48xlarge", "--max-gpus", "8")
    result = invoke("plan", *asked, *words)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.any_version
@pytest.mark.parametrize(
    ("limit", "wanted"), [({"deadline": "30 days"}, "cost"), ({"budget": "$184,250"}, "run_time")]
)
def test_no_count_of_machines_between_those_tried_first_is_better(limit, wanted):
    """The best of plans that are each for at most so many machines, of which the most is always tried."""
    asked = {"workload": "llama-3-8b", "instances": "p5.48xlarge", "tokens": "1T"}
    plans = perfmodel.plan(**asked, max_gpus=96, **limit)
    every = {}
    for machines in range(1, 13):
        rows = perfmodel.plan(**asked, max_gpus=8 * machines)
        every |= {row["world_size"]: row for row in map(rows.search.row, range(rows.candidates))}
    assert set(range(8, 97, 8)) <= every.keys()
    able = [
        row
        for row in every.values()
        if (row["run_time"] <= 30 * 86400 if "deadline" in limit else row["cost"] <= 184_250)
    ]
    best = min(able, key=lambda row: row[wanted])
    assert best["world_size"] not in (8, 16, 24, 32, 48, 64, 96)
    found = plans.cheapest if wanted == "cost" else plans.fastest
    assert (found.world_size, found.cost) == (best["world_size"], best["cost"])


@pytest.mark.any_version
@pytest.mark.parametrize(
    ("asked", "wanted", "best"),
    [
        ({"workload": "llama-2-70b", "tokens": 1e12, "max_gpus": 96, "confidence": 0.5}, "cheapest", 56),
        ({"workload": "gpt3-175b", "max_gpus": 128}, "cheapest", 80),
        ({"workload": "llama-3-8b", "max_gpus": 128, "global_batch_size": 240}, "fastest", 120),
    ],
)
def test_without_a_limit_the_best_of_every_count_is_found(asked, wanted, best, monkeypatch):
    instances = ("p4de.24xlarge",) if asked["workload"] == "gpt3-175b" else ("p5.48xlarge",)
    goal = Goal(**{"tokens": 3e11} | asked, instances=instances)
    chosen = getattr(search(goal), wanted)
    monkeypatch.setattr(
        "perfmodel.decide.planning.layouts.doubled", lambda most, held: (*range(held, most + 1, held),)
    )
    every = getattr(search(goal), wanted)
    assert every["world_size"] == chosen["world_size"] == best
    assert every["cost"] == pytest.approx(chosen["cost"])


def test_counts_between_are_counted_before_they_are_timed():
    """What a limit of candidates leaves no room for is not tried, and the answer says so."""
    asked = {"workload": "llama-3-8b", "instances": "p5.48xlarge", "tokens": "1T", "max_gpus": 96}
    asked["deadline"] = "30 days"
    finer = perfmodel.plan(**asked)
    with at_most(1_000_000):
        assert perfmodel.plan(**asked).layouts == finer.layouts
    coarse, allowed = None, 1
    while coarse is None:
        try:
            with at_most(allowed):
                coarse = perfmodel.plan(**asked)
        except TooManyCandidates as refused:
            allowed = refused.requested
    assert coarse.layouts < finer.layouts
    assert [reason for reason in coarse.search.left_out if reason.startswith("a count next to the best")]
