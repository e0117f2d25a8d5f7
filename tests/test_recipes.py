"""Recipes: how long a network trains, and what the answer says of it."""

from __future__ import annotations

import json

import pytest

from perfmodel import compare
from perfmodel.core.errors import InputError
from perfmodel.decide.planning import Goal, search
from perfmodel.decide.planning.plan_verdict import notes, verdict
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.training.target import for_target, time_to_target
from perfmodel.workloads import workload
from perfmodel.workloads.preset_names import LANGUAGE
from perfmodel.workloads.recipes.recipes import recipe, recipe_names, usual_recipe
from perfmodel.workloads.recipes.token_recipes import published_runs, token_recipe


def asked(invoke, *words):
    return json.loads(invoke("predict", *words, "--time-to-target", "--json").stdout)


def test_stock_software_takes_90_epochs_and_tuned_software_what_mlperf_takes(invoke):
    words = ("--gpus", "32", "--local-batch-size", "64")
    stock = asked(invoke, *words)["time_to_target"]
    assert (stock["recipe"], stock["amount"], stock["within_range"]) == ("stock", 90.0, True)
    tuned = asked(invoke, *words, "--framework", "mxnet-ngc")["time_to_target"]
    assert tuned["recipe"] == "mlperf"
    assert 33 < tuned["amount"] < 40
    named = asked(invoke, *words, "--recipe", "mlperf")["time_to_target"]
    assert named == tuned  # the software that goes with a recipe is taken with it
    apart = asked(invoke, *words, "--recipe", "mlperf", "--framework", "pytorch")["time_to_target"]
    assert apart["time"] == pytest.approx(stock["time"] * tuned["amount"] / 90, rel=1e-9)
    assert "recipe mlperf with framework mxnet-ngc@" in tuned["recipe_words"]
    assert "recipe mlperf with framework pytorch@" in apart["recipe_words"]
    assert "--recipe" in invoke("predict", *words, "--time-to-target").stdout


@pytest.mark.parametrize("form", [(), ("--markdown",)])
@pytest.mark.parametrize(
    "words",
    [
        ("--workload", "resnet50"),
        ("--workload", "resnet50", "--recipe", "mlperf"),
        ("--workload", "bert-large"),
        ("--workload", "bert-large", "--recipe", "stock"),
    ],
)
def test_a_target_is_named_once(words, form, invoke):
    given = ("--gpus", "64", "--accelerator", "v100-sxm2-32gb", "--time-to-target")
    reached = asked(invoke, *words, *given[:-1])["time_to_target"]
    printed = " ".join(invoke("predict", *words, *given, *form).stdout.split())
    assert printed.count(reached["target"]) == printed.count(f"recipe {reached['recipe']}") == 1
    assert printed.count(f"{reached['amount']:,.0f} {reached['unit']}") == 1
    for phase in reached["phases"]:
        assert printed.count(f"{phase['amount']:,.0f} samples of {phase['sequence_length']} tokens") == 1


def test_a_batch_outside_what_was_published_is_said_with_what_was(invoke):
    words = ("--workload", "bert-large", "--gpus", "64", "--recipe", "stock", "--time-to-target")
    printed = " ".join(invoke("predict", *words).stdout.split())
    assert "at a batch outside the published 32,768 to 65,536" in printed


def test_bert_says_that_its_target_starts_from_a_checkpoint_and_how_long_a_sample_is(invoke):
    words = ("--workload", "bert-large", "--gpus", "64", "--accelerator", "v100-sxm2-32gb")
    answer = asked(invoke, *words)
    assert "from MLPerf's checkpoint" in answer["time_to_target"]["recipe_words"]
    assert any(line.startswith("--sequence-length 256") for line in answer["defaults"])
    short = asked(invoke, *words, "--sequence-length", "128")
    assert not any(line.startswith("--sequence-length") for line in short["defaults"])


def test_bert_from_scratch_takes_two_phases():
    """7,038 steps of 65,536 sequences of 128 tokens, then 1,563 of 32,768 of 512."""
    options = {"workload": "bert-large", "world_size": 64, "accelerator": "v100-sxm2-32gb"}
    found = time_to_target(predict(Scenario(**options)), "stock")
    expected = 0.0
    for phase, (tokens, samples) in zip(
        found["phases"], ((128, 7038 * 65536), (512, 1563 * 32768)), strict=True
    ):
        rate = predict(Scenario(**options, sequence_length=tokens)).samples_per_second
        assert (phase["sequence_length"], phase["amount"]) == (tokens, samples)
        assert phase["time"] == pytest.approx(samples / rate, rel=1e-9)
        expected += phase["time"]
    assert found["time"] == pytest.approx(expected, rel=1e-12)
    shorter = time_to_target(predict(Scenario(**options, sequence_length=256)), "mlperf")
    assert found["time"] > 50 * shorter["time"]


def test_a_plan_names_its_recipe_and_counts_its_epochs():
    goal = {"instances": ("p3.16xlarge",), "max_gpus": 16, "strategies": ("all-reduce",)}
    stock, tuned = search(Goal(**goal)), search(Goal(**goal, recipe="mlperf"))
    assert stock.chosen["epochs"] == pytest.approx(90)
    assert tuned.chosen["epochs"] < 40
    assert any("recipe stock" in note for note in notes(stock))
    assert any("recipe mlperf" in note for note in notes(tuned))
    assert stock.candidates["global_batch_size"].max() <= 8192
    with pytest.raises(InputError, match="sequence_length 128 samples 461242368"):
        search(Goal(workload="bert-large", recipe="stock", **goal))
    with pytest.raises(InputError, match="leave out recipe stock"):
        search(Goal(target="top-1 0.759", recipe="stock", **goal))


@pytest.mark.any_version
@pytest.mark.parametrize(
    ("words", "frameworks"),
    [
        ({"workload": "resnet50", "recipe": "mlperf"}, {"mxnet-ngc", None}),
        ({"workload": "resnet50", "recipe": "mlperf", "options": {"framework": "pytorch"}}, {"pytorch"}),
        ({"workload": "bert-large"}, {"pytorch-ngc", "pytorch"}),
    ],
)
def test_a_recipe_has_its_software_in_plans_where_predictions_have_it(words, frameworks):
    """NVIDIA's containers run on its accelerators alone."""
    accelerators = ("v100-sxm2-32gb", "mi300x", "tpu-v6e")
    goal = Goal(accelerators=accelerators, max_gpus=8, strategies=("all-reduce",), **words)
    found = search(goal)
    rows = [found.row(index) for index in range(len(found))]
    assert {row["framework"] for row in rows} == frameworks
    for name in accelerators:
        row = next(row for row in rows if row["accelerator"] == name)
        asked = {**found.options_of(row), **words.get("options", {})}
        if "options" not in words:
            asked.pop("framework", None)
        predicted = predict(for_target(Scenario(**asked), words.get("recipe")))
        assert row["iteration_time"] == pytest.approx(predicted.iteration_time, rel=1e-9)


@pytest.mark.any_version
def test_a_plan_of_software_whose_recipe_has_two_runs_is_one_of_mlperfs_and_says_so(invoke):
    """BERT by stock software: ``predict`` adds up two runs, and a plan is of one."""
    words = ("plan", "--workload", "bert-large", "--framework", "pytorch", "--instance", "p3.16xlarge")
    words = (*words, "--max-gpus", "16", "--json")
    answer, named = (json.loads(invoke(*words, *more).stdout) for more in ((), ("--recipe", "mlperf")))
    assert answer["recipe"] == "mlperf"
    assert answer["chosen"] == named["chosen"]
    (note,) = set(answer["notes"]) - set(named["notes"])
    assert note.startswith("recipe mlperf is planned with framework pytorch; the one that goes with it, s")
    assert "--sequence-length 512 --samples 51216384" in note
    asked = invoke(*words, "--recipe", "stock")
    assert asked.exit_code == 2
    assert "--sequence-length 128 --samples 461242368 and then" in " ".join(asked.stderr.split())


def test_every_recipe_has_a_source():
    for benchmark in ("resnet50", "bert"):
        for name in ("stock", "mlperf"):
            assert recipe(benchmark, name).source
            assert all(row.source for row in recipe(benchmark, name).evidence)
    assert usual_recipe("bert", "pytorch") == "stock"
    with pytest.raises(InputError, match="none is known"):
        recipe("ssd300", "stock")


def test_large_batches_by_lars_and_lamb_hold_for_the_batches_they_were_published_with(invoke):
    words = ("--gpus", "256", "--recipe", "lars")
    large = asked(invoke, *words, "--global-batch-size", "32768")["time_to_target"]
    assert (large["amount"], large["within_range"]) == (90.0, True)
    assert [row["batch_size"] for row in large["evidence"]] == [32768, 65536]
    assert not asked(invoke, *words, "--global-batch-size", "4096")["time_to_target"]["within_range"]
    for batch in (512, 65536):
        bert = ("--workload", "bert-large", "--gpus", "64", "--recipe", "lamb")
        answer = asked(
            invoke, *bert, "--global-batch-size", str(batch), "--accumulation-steps", str(batch // 512)
        )
        assert answer["time_to_target"]["amount"] == 512e6
        assert answer["time_to_target"]["within_range"]
        assert any("--optimizer lamb" in line for line in answer["defaults"])


def test_a_gpt_is_trained_by_tokens_and_says_its_steps(invoke):
    words = ("--workload", "llama-2-7b", "--gpus", "64", "--accelerator", "a100-sxm4-80gb")
    words = (*words, "--global-batch-size", "1024", "--recipe", "tokens")
    published = asked(invoke, *words)
    reached = published["time_to_target"]
    assert (reached["tokens"], reached["steps"]) == (2e12, -(-2 * 10**12 // (1024 * 4096)))
    assert reached["within_range"]
    assert reached["time"] == pytest.approx(2e12 / published["tokens_per_second"])
    given = asked(invoke, *words, "--tokens", "300B")["time_to_target"]
    assert given["time"] == pytest.approx(reached["time"] * 0.15)
    unpublished = token_recipe(workload("mistral-7b"))
    assert unpublished.tokens == 20 * workload("mistral-7b").parameters
    assert "20 for each parameter" in unpublished.fit.target
    plans = search(Goal(workload="llama-2-7b", recipe="tokens", instances=("p4d.24xlarge",), max_gpus=32))
    stated = search(Goal(workload="llama-2-7b", tokens=2e12, instances=("p4d.24xlarge",), max_gpus=32))
    assert plans.chosen["run_time"] == stated.chosen["run_time"]
    assert any(line.startswith("recipe tokens with framework megatron-core") for line in notes(plans))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--recipe", "mlpref"), "nearest: mlperf"),
        (("--recipe", "tokens"), "resnet50 does not predict the next token"),
        (("--recipe", "stock", "--tokens", "1T"), "--tokens goes with --recipe tokens"),
        (("--workload", "vgg16", "--recipe", "lars"), "no published epochs to a target for vgg16"),
        (("--workload", "bert-large", "--recipe", "lars"), "known: stock, mlperf, lamb"),
        (("--workload", "llama-2-7b"), "--recipe tokens trains it on a number of tokens"),
    ],
)
def test_a_recipe_that_is_not_known_of_a_network_is_refused(words, message, invoke):
    result = invoke("predict", "--gpus", "8", "--time-to-target", *words)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_the_list_of_recipes_has_batch_amount_source_and_range_of_each(invoke):
    rows = json.loads(invoke("workloads", "recipes", "--json").stdout)
    assert {(row["workload"], row["recipe"]) for row in rows} >= {
        *(("resnet50", name) for name in ("stock", "mlperf", "lars", "lamb")),
        *(("bert-large", name) for name in ("stock", "mlperf", "lamb")),
        ("gpt3-175b", "tokens"),
    }
    for row in rows:
        assert row["source"]
        assert row["amount"] > 0
        if row["workload"] != "bert-large" or row["recipe"] != "stock":  # whose phases have a batch each
            within = row["batch_size"] or row["smallest_batch_size"]  # of some no batch is published
            assert row["smallest_batch_size"] <= within <= row["largest_batch_size"]
        if row["recipe"] != "tokens":
            assert row["recipe"] in recipe_names({"bert-large": "bert"}.get(row["workload"], "resnet50"))
        else:
            known = workload(row["workload"])
            assert token_recipe(known).tokens == row["amount"]
    printed = " ".join(invoke("workloads", "recipes", "bert").stdout.split())
    assert "512 M samples at 4,096 samples a step: F1 90.548" in printed
    assert "goes with --framework pytorch-ngc" in printed
    wrong = invoke("workloads", "recipes", "lasr")
    assert (wrong.exit_code, "nearest: lars" in wrong.stderr) == (2, True)


@pytest.mark.parametrize(
    ("network", "words"),
    [("VGG-16", "target for vgg16; known: resnet50"), ("gpt2", "--recipe tokens trains it")],
)
def test_a_network_that_is_known_and_has_no_published_recipe_is_called_so(network, words, invoke):
    answer = invoke("workloads", "recipes", network)
    assert answer.exit_code == 2
    assert answer.stderr.startswith("perfmodel: no published epochs")
    assert words in answer.stderr
    assert "unknown" not in answer.stderr
    assert "unknown recipe or network" in invoke("workloads", "recipes", "none.csv").stderr


def test_compare_sets_times_to_target_beside_each_other_each_by_its_own_recipe(invoke):
    words = ("compare", "--gpus", "32", "--local-batch-size", "64", "--set", "framework=mxnet-ngc")
    answer = json.loads(invoke(*words, "--time-to-target", "--json").stdout)
    rows = {row["quantity"]: row["values"] for row in answer["rows"]}
    one = asked(invoke, *words[1:5])
    assert rows["time_to_target"][0] == pytest.approx(one["time_to_target"]["time"])
    assert "recipe stock with framework pytorch@2019" in " ".join(answer["notes"])
    assert "recipe mlperf with framework mxnet-ngc@2019" in " ".join(answer["notes"])
    python = compare({"gpus": 32, "local_batch_size": 64}, {"gpus": 64}, time_to_target=True)
    times = next(row.values for row in python.rows if row.quantity == "time_to_target")
    assert times[0] == rows["time_to_target"][0]
    alike = json.loads(invoke(*words, "--recipe", "lars", "--json").stdout)
    assert sum("at a batch outside the published 32,768 to 65,536" in line for line in alike["notes"]) == 2
    assert "time_to_target" not in {
        row["quantity"] for row in json.loads(invoke(*words, "--json").stdout)["rows"]
    }


def test_figures_stand_at_the_batch_they_were_published_with():
    """NVIDIA's tables are of 8 and 16 GPUs with 256 images each; LAMB's of BERT are in the first version."""
    rows = {row.batch_size: row for row in recipe("resnet50", "stock").evidence}
    assert {batch for batch, row in rows.items() if "NVIDIA" in row.source} == {8 * 256, 16 * 256}
    assert "76.40" in rows[256].quality
    assert "Goyal" in rows[256].source
    assert "76.88" in rows[2048].quality
    assert "77.23" in rows[4096].quality
    assert all("3 days" in row.source for row in recipe("bert", "lamb").evidence)
    assert all("table 3" in row.source for row in recipe("resnet50", "lamb").evidence)


def test_a_range_of_one_batch_is_one_batch(invoke):
    words = ("--gpus", "8", "--recipe", "lamb")
    printed = " ".join(invoke("predict", *words, "--time-to-target").stdout.split())
    assert "at a batch other than the published 16,384" in printed
    compared = " ".join(invoke("compare", *words, "--set", "gpus=16", "--time-to-target").stdout.split())
    assert "at a batch other than the published 16,384" in compared


def test_lars_reads_weights_and_gradients_once_more_than_sgd_for_their_norms(invoke):
    answer = asked(invoke, "--gpus", "64", "--global-batch-size", "32768", "--recipe", "lars")
    assert any("--optimizer lars (the recipe's)" in line for line in answer["defaults"])
    job = {"gpus": 8, "framework": "pytorch"}
    times = {name: predict(Scenario(**job, optimizer=name)) for name in ("sgd", "lars", "lamb")}
    update = {name: one.terms["update_time"] for name, one in times.items()}
    assert update["sgd"] < update["lars"] < update["lamb"]
    assert times["lars"].memory.rows["optimizer"] == times["sgd"].memory.rows["optimizer"]


def test_a_plan_by_lars_takes_a_batch_lars_was_shown_with_or_says_at_once_that_it_is_none():
    goal = {"recipe": "lars", "instances": ("p4d.24xlarge",), "deadline": 86400.0}
    shown = search(Goal(**goal, max_gpus=64))
    assert set(shown.candidates["global_batch_size"].tolist()) == {32768}
    assert any("outside the published 32,768 to 65,536" in reason for reason in shown.left_out)
    assert not any("published 32,768" in line for line in verdict(shown))
    small = search(Goal(**goal, max_gpus=16))
    assert not small.chosen["within_published"]
    assert "is outside the published 32,768 to 65,536: no published run" in verdict(small)[1]
    tight = search(Goal(**goal | {"instances": ("p4d.24xlarge",)}, max_gpus=64, budget=67, confidence=0.5))
    assert tight.met  # what was shown with the recipe is over the budget
    assert "outside the published" in verdict(tight)[1]


@pytest.mark.parametrize(
    ("network", "tokens"),
    [("llama-3-70b", 15e12), ("llama-3.1-405b", 15.6e12), ("llama-2-7b", 2e12), ("deepseek-v3", 14.8e12)],
)
def test_transformers_are_trained_on_the_tokens_that_were_published(network, tokens):
    recipe = token_recipe(workload(network))
    assert recipe.tokens == tokens
    assert recipe.fit.target.endswith("as its publisher trained it")


def test_runs_of_tokens_are_of_one_known_transformer_each():
    networks = [run.workload for run in published_runs()]
    assert len({*networks}) == len(networks)
    assert {*networks} <= {name for families in LANGUAGE.values() for name in families}
