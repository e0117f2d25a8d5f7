"""Comparisons: differences add up, what changed is named, and a saved prediction stands for itself."""

from __future__ import annotations

import csv
import io
import json

import pytest

from perfmodel.core.errors import InputError
from perfmodel.decide.comparison import case_of, compare, saved_case
from perfmodel.decide.economics import economics
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict

SLOW = Scenario(node="aws-p3.16xlarge", world_size=16)
FAST = Scenario(node="aws-p4d.24xlarge", world_size=16)


@pytest.fixture(scope="module")
def found():
    return compare([case_of("slow", SLOW), case_of("fast", FAST)])


def row(found, quantity):
    return next(row for row in found.rows if row.quantity == quantity)


def test_values_are_those_of_predict(found):
    answers = [predict(SLOW), predict(FAST)]
    assert row(found, "iteration_time").values == [answer.iteration_time for answer in answers]
    assert row(found, "samples_per_second").values == [answer.samples_per_second for answer in answers]
    assert row(found, "memory_bytes").values == [answer.memory.bytes for answer in answers]


def test_differences_and_ratios_by_hand():
    one = case_of("one", Scenario(world_size=1))
    four = case_of("four", Scenario(world_size=4))
    batch = row(compare([one, four]), "speedup")
    assert batch.values[0] == pytest.approx(1)
    assert batch.differences == [None, pytest.approx(batch.values[1] - 1)]
    assert batch.relative == [None, pytest.approx(batch.values[1] - 1)]  # over 1


def test_differences_of_the_terms_sum_to_that_of_the_iteration(found):
    names = predict(SLOW).terms
    told = {row.quantity: row.differences[1] for row in found.rows}
    assert sum(told.get(name, 0.0) for name in names) == pytest.approx(told["iteration_time"])


def test_what_changed_is_named_and_nothing_else(found):
    changed = {entry.option: entry.values for entry in found.inputs}
    assert changed["node"] == ["aws-p3.16xlarge", "aws-p4d.24xlarge"]
    assert changed["accelerator"] == ["v100-sxm2-16gb", "a100-sxm4-40gb"]
    assert not {"world_size", "precision", "workload", "nodes"} & changed.keys()


def test_cost_is_that_of_a_million_samples_at_a_price_with_its_source(found):
    costs = row(found, "cost_per_million_samples").values
    for cost, scenario in zip(costs, (SLOW, FAST), strict=True):
        answer = predict(scenario)
        price = economics(answer, Conditions(), Catalogue.built_in())["price"]["usd_per_hour"]
        assert cost == pytest.approx(1e6 / answer.samples_per_second / 3600 * 2 * price)
    assert all(
        any(f"{name}: " in note and "on demand" in note for note in found.notes) for name in found.names
    )


def test_a_price_nobody_knows_is_asked_for():
    cases = [case_of(str(n), Scenario(node="dgx-1v", world_size=n)) for n in (8, 16)]
    found = compare(cases)
    assert not any("cost" in row.quantity for row in found.rows)
    assert any("--price" in note for note in found.notes)


def test_the_verdict_says_which_is_faster_and_at_what_cost(found):
    rates = row(found, "samples_per_second").values
    assert found.verdict.startswith(f"fast is {rates[1] / rates[0]:.3g} x as fast as slow")
    assert "x the cost of a sample" in found.verdict
    back = compare([case_of("fast", FAST), case_of("slow", SLOW)])
    assert back.verdict.startswith(f"slow is {rates[0] / rates[1]:.3g} x as fast as fast")
    assert " % likely to be slower" in back.verdict
    same = compare([case_of("a", SLOW), case_of("b", SLOW)])
    assert same.verdict.startswith("b is as fast as a")
    assert same.inputs == []
    assert all(not row.differences[1] for row in same.rows)


def test_different_work_is_not_called_faster():
    cases = [case_of(name, Scenario(workload=name, world_size=8)) for name in ("resnet50", "vgg16")]
    assert compare(cases).verdict.startswith("different work")


def test_three_are_ranked():
    cases = [case_of(str(n), Scenario(node="aws-p3.16xlarge", world_size=n)) for n in (8, 16, 32)]
    found = compare(cases)
    rates = {case.name: case.prediction.samples_per_second for case in cases}
    assert found.verdict.startswith(f"fastest: {max(rates, key=rates.get)}; ")
    assert "cheapest per sample: 8" in found.verdict  # one machine, no network
    assert any("512 and 1,024 and 2,048 samples" in note for note in found.notes)


def test_what_does_not_fit_is_told():
    large = Scenario(local_batch_size=4096)
    found = compare([case_of("x", SLOW), case_of("large", large)])
    assert found.verdict.endswith("; DOES NOT FIT its memory: large")


# --- the command


def told(invoke, *words):
    result = invoke("compare", *words, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout, parse_constant=pytest.fail)


def test_files_sets_and_saved_agree(tmp_path, invoke):
    (tmp_path / "a.toml").write_text("gpus = 8\nlocal-batch-size = 32\n")
    (tmp_path / "b.toml").write_text('gpus = 8\nlocal-batch-size = 32\nprecision = "fp32"\n')
    (tmp_path / "a.json").write_text(predict(Scenario(world_size=8, local_batch_size=32)).to_json())
    files = told(invoke, tmp_path / "a.toml", tmp_path / "b.toml")
    sets = told(invoke, tmp_path / "a.toml", "--set", "precision=fp32")
    saved = told(invoke, tmp_path / "b.toml", "--compare-to", tmp_path / "a.json")
    assert (files["names"], sets["names"], saved["names"]) == (
        ["a", "b"],
        ["a", "precision=fp32"],
        ["a.json", "b"],
    )
    assert files["rows"] == sets["rows"] == saved["rows"]
    assert files["inputs"] == sets["inputs"] == saved["inputs"]


def test_options_are_laid_over_every_file(tmp_path, invoke):
    for name, precision in (("a", "amp"), ("b", "fp32")):
        (tmp_path / f"{name}.toml").write_text(f'gpus = 8\nprecision = "{precision}"\n')
    both = told(invoke, tmp_path / "a.toml", tmp_path / "b.toml", "--gpus", "4")
    assert [scenario["world_size"] for scenario in both["scenarios"]] == [4, 4]


@pytest.mark.parametrize(
    ("change", "option", "value"),
    [
        ("gpus=4", "world_size", 4),
        ("local-batch-size=16", "local_batch_size", 16),
        ("oversubscription=4,rack_nodes=1", "oversubscription", 4.0),
        ("local_aggregation=false", "local_aggregation", False),
        ("jitter=gamma:shape=4,scale=1", "jitter", "gamma:shape=4,scale=1"),
        ("anchor=iteration_time=0.145s@1", "anchor", "iteration_time=0.145s@1"),
        ('precision="fp32"', "precision", "fp32"),
    ],
)
def test_a_set_may_be_any_option(change, option, value, invoke):
    variant = told(invoke, "--gpus", "16", "--set", change)["scenarios"][1]
    assert variant[option] == value


def test_a_set_replaces_the_other_batch(tmp_path, invoke):
    file = tmp_path / "a.toml"
    file.write_text("gpus = 8\nlocal_batch_size = 32\n")
    variant = told(invoke, file, "--set", "global_batch_size=64")["scenarios"][1]
    assert (variant["local_batch_size"], variant["global_batch_size"]) == (8, 64)


def test_csv_holds_what_json_says(tmp_path, invoke):
    words = ("--gpus", "8", "--set", "precision=fp32", "--set", "gpus=16")
    rows = list(csv.DictReader(io.StringIO(invoke("compare", *words, "--csv").stdout)))
    answer = told(invoke, *words)
    for row, other in zip(rows, answer["rows"], strict=True):
        assert (row["quantity"], row["unit"]) == (other["quantity"], other["unit"])
        assert float(row["base"]) == other["values"][0]
        assert float(row["gpus=16 difference"]) == other["differences"][2]


@pytest.mark.parametrize("variants", [1, 2, 3, 6])
def test_text_fits_80_columns(variants, invoke):
    words = [word for n in range(variants) for word in ("--set", f"gpus={8 * 10**n}")]
    shown = invoke("compare", "--node", "aws-p3.16xlarge", *words, "--workload", "bert-large")
    assert shown.exit_code == 0, shown.stderr
    assert max(map(len, shown.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "perfmodel compare --node dgx-1v,dgx-a100-80gb --gpus 16"),
        (["a.toml"], "nothing to compare with"),
        (["a.toml", "a.toml"], "given twice"),
        (["a.toml", "b.toml", "--set", "gpus=4"], "--set varies one"),
        (["a.toml", "--scenario", "a.toml"], "give one"),
        (["a.toml", "no.toml"], "no.toml: cannot be read"),
        (["a.toml", "slip.toml"], "slip.toml: unknown option 'gpuz'; nearest: gpus"),
        (["a.toml", "none.toml"], "none.toml: gpus = 0: expected"),
        (["--set", "gpus=2,world_size=4"], "give one, they are the same"),
        (
            ["--set", "gpus=16,gpus=32"],
            "gpus is given twice: one scenario has one value, another is --set gpus=32",
        ),
        (["--set", "gpus"], "expected KEY=VALUE"),
        (["--set", "gpus="], "expected KEY=VALUE"),
        (["--set", "gpu=4"], "unknown option 'gpu'; nearest: gpus"),
        (["--set", "gpus=0"], "--set gpus=0: gpus = 0: expected"),
        (["--set", "workload=resnet5"], "workload=resnet5: unknown workload 'resnet5'; nearest"),
        (["--set", "gpus=2", "--set", "gpus=2"], "given twice"),
        (["--compare-to", "no.json"], "no.json: cannot be read"),
        (["--compare-to", "a.toml"], "a.toml: not JSON; expected the output of perfmodel predict"),
        (["--compare-to", "list.json"], "expected the output of perfmodel predict --json"),
        (["--compare-to", "empty.json"], "iteration_time: the key is missing"),
        (["--compare-to", "nan.json"], "not JSON"),
        (["--set", "gpus=2", "--json", "--csv"], "give one of them"),
    ],
)
def test_bad_input_is_told_in_a_line(words, told, tmp_path, monkeypatch, invoke):
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "a.toml": "gpus = 8\n",
        "b.toml": "gpus = 16\n",
        "slip.toml": "gpuz = 16\n",
        "none.toml": "gpus = 0\n",
        "list.json": "[1]",
        "empty.json": "{}",
        "nan.json": '{"iteration_time": NaN}',
    }.items():
        (tmp_path / name).write_text(text)
    result = invoke("compare", *words)
    assert result.exit_code == 2
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        (("scenario", "node"), None, "scenario: node = None: expected text"),
        (("scenario", "world_size"), [8], r"scenario: world_size = \[8\]: expected a whole number"),
        (
            ("scenario", "global_batch_size"),
            "x",
            "scenario: global_batch_size = 'x': expected a whole number",
        ),
        (("scenario", "nodes"), 0, "scenario: nodes = 0: expected greater than"),
        (("iteration_time",), -1.0, "iteration_time: expected a number from 0"),
        (("terms", "update_time"), 1e300, r"terms\.update_time: expected a number from 0"),
        (("terms", "update_time"), 1.0, "terms: they do not sum to iteration_time"),
        (("interval", "low_80"), 0.0, "interval: expected times above 0"),
        (("memory", "fits"), "maybe", r"memory\.fits = 'maybe': expected true or false"),
    ],
)
def test_a_saved_prediction_that_cannot_be_one_is_refused(key, value, told, tmp_path):
    answer = json.loads(predict(Scenario(world_size=8)).to_json())
    place = answer
    for name in key[:-1]:
        place = place[name]
    place[key[-1]] = value
    (tmp_path / "saved.json").write_text(json.dumps(answer))
    with pytest.raises(InputError, match=rf"saved\.json: {told}.*expected the output of perfmodel predict"):
        saved_case(tmp_path / "saved.json")


def test_a_saved_prediction_with_a_layout_is_read(tmp_path):
    answer = predict(workload="gpt2", gpus=8, tensor_parallel=2)
    (tmp_path / "saved.json").write_text(answer.to_json())
    assert saved_case(tmp_path / "saved.json").prediction.terms == answer.terms


def test_a_saved_prediction_with_a_term_of_no_iteration_is_refused(tmp_path):
    answer = json.loads(predict(Scenario(world_size=8)).to_json())
    answer["terms"]["moment_time"] = 0.0
    (tmp_path / "saved.json").write_text(json.dumps(answer))
    with pytest.raises(InputError, match=r"terms\.moment_time: no term of an iteration"):
        saved_case(tmp_path / "saved.json")


def test_a_saved_prediction_that_lacks_a_key_names_it(tmp_path):
    answer = json.loads(predict(Scenario(world_size=2)).to_json())
    del answer["scenario"]["node"]
    (tmp_path / "saved.json").write_text(json.dumps(answer))
    with pytest.raises(InputError, match=r"saved\.json: scenario: node: the key is missing"):
        saved_case(tmp_path / "saved.json")


def test_what_predict_saves_with_costs_can_be_read(tmp_path, invoke):
    (tmp_path / "saved.json").write_text(
        invoke("predict", "--gpus", "8", "--cost", "--time-to-target", "--json").stdout
    )
    assert saved_case(tmp_path / "saved.json").prediction == predict(Scenario(world_size=8))


@pytest.mark.parametrize("change", ["foo=1", "inter-link"])
def test_a_wrong_change_is_named_once(invoke, change):
    done = invoke("compare", "--gpus", "8", "--set", change)
    assert done.exit_code == 2
    assert done.stderr.count("--set") == 1


def test_frameworks_side_by_side_say_what_tells_them_apart(invoke):
    said = invoke(
        *("compare", "--gpus", 8, "--framework", "pytorch@2020", "--json"),
        *("--set", "framework=tensorflow-xla@2020", "--set", "framework=mxnet@2020"),
    )
    answer = json.loads(said.stdout)
    facts = [note for note in answer["notes"] if note.partition(":")[0].endswith("@2020")]
    assert facts == [
        "pytorch@2020: a kernel for each elementwise operation; gradients added to cleared buffers; "
        "images channels first",
        "tensorflow-xla@2020: elementwise operations fused; gradients written once; images channels last",
        "mxnet@2020: a kernel for each elementwise operation; gradients written once; images channels first",
    ]
    assert any("measured ones lie further apart" in note for note in answer["notes"])
    rates = next(row["values"] for row in answer["rows"] if row["quantity"] == "samples_per_second")
    assert max(rates) / min(rates) > 1.15
    years = invoke("compare", "--framework", "pytorch@2019", "--set", "framework=pytorch@2022", "--json")
    assert any("the year of the software" in note for note in json.loads(years.stdout)["notes"])
    alike = invoke("compare", "--gpus", 8, "--set", "gpus=16", "--json")
    assert not any("frameworks differ" in note for note in json.loads(alike.stdout)["notes"])


def test_an_option_of_all_jobs_is_refused_as_none_of_theirs(invoke):
    alike = invoke("compare", "--gpus", 16, "--node", "dgx1", "--inter-link", "25g,100g")
    assert alike.stderr.startswith("perfmodel: node 'dgx1' fits dgx-1p ")
    one = invoke("compare", "--gpus", 16, "--node", "dgx-1v", "--inter-link", "nope,ethernet-25g-tcp")
    assert one.stderr.startswith("perfmodel: nope: unknown link 'nope'")
