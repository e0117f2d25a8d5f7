"""Measured runs that did as well as a quote claims, MLPerf's among them, with the software that they used."""

from __future__ import annotations

import csv
import json

import pytest
from click.testing import CliRunner

from perfmodel.core.files.resources import folder
from perfmodel.decide.quote import Claim, Quote, check_quote
from perfmodel.decide.quote.card import card_of_quote
from perfmodel.decide.quote.sentence import BETTER
from perfmodel.decide.quote.similar_submissions import submitted
from perfmodel.evidence.accuracy.mlperf.mlperf_rows import shipped_submissions
from perfmodel.interfaces.cli import main
from perfmodel.interfaces.reports.quoted import page_of_quote
from tests.test_app import opened, words

RESNET = {"workload": "resnet50-v1.5", "accelerator": "a100-sxm4-80gb", "gpus": 8}
BERT = {"workload": "bert-large", "sequence_length": 512, "accelerator": "a100-sxm4-80gb", "gpus": 8}
LLAMA = {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 64}
PER_GPU = {"quantity": "samples_per_second", "per": "accelerator"}
A100 = PER_GPU | {"value": 3105}
"""MLPerf's ResNet-50 on each A100."""


def quoted(scenario, **claim):
    return Quote(title="a quote", scenario=scenario, claims=(Claim(**claim),))


def checked(scenario, **claim):
    return check_quote(quoted(scenario, **claim))[0]


def rows():
    with (folder("validation") / "measured" / "mlperf.csv").open(encoding="utf-8") as file:
        return {row["run_id"]: row for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def unnamed():
    """A claim that stock software does not reach, of a quote that names none."""
    return checked(RESNET, **A100)


@pytest.mark.published("MLPerf Training v2.0, result logs")
def test_a_claim_that_other_software_reached_is_possible_and_the_run_is_named(unnamed):
    run = unnamed.reached_by
    row = rows()[run.id]
    assert run.value == pytest.approx(float(row["samples_per_second"]) / int(row["world_size"]))
    assert run.value >= A100["value"]
    assert row["accelerator"] == RESNET["accelerator"]
    assert (run.software.partition("@")[0], run.left_open) == ("mlperf-mxnet", ["software", "batch"])
    assert (unnamed.verdict, unnamed.judgement) == ("reached", "possible")
    assert unnamed.probability < 0.1
    assert run.software_taken.startswith("pytorch@")
    words = f"{run.source} reached 3,458 images/s per accelerator with mlperf-mxnet (2022)"
    assert words in unnamed.sentence
    assert "The quote states no software and no batch" in unnamed.sentence


def test_mlperf_stands_among_the_measured_runs_with_its_software(unnamed):
    listed = [near for near in unnamed.measured if near.source.startswith("MLPerf Training")]
    assert [near.software.partition("@")[0] for near in listed] == ["mlperf-mxnet"]
    assert all(near.software for near in unnamed.measured)


def test_other_software_that_the_quote_names_stays_doubtful():
    named = checked(RESNET | {"framework": "pytorch", "local_batch_size": 408}, **A100)
    assert named.verdict == "optimistic"
    assert (named.judgement, named.reached_by.is_other, named.reached_by.left_open) == ("doubtful", True, [])
    assert "The quote states pytorch" in named.sentence
    assert "reached" in named.sentence


def test_the_software_of_the_run_makes_the_claim_likely():
    named = checked(RESNET | {"framework": "mlperf-mxnet", "local_batch_size": 408}, **A100)
    assert named.similar_run.source.startswith("MLPerf Training")
    assert named.probability > 0.9
    assert named.similar_run.high_80 / named.similar_run.low_80 > 1.03  # runs of one job scatter


@pytest.mark.parametrize(
    ("scenario", "value"),
    [
        (RESNET, 4000),  # nobody's
        (RESNET | {"gpus": 8192}, 3000),  # nobody's at that size
        (RESNET | {"precision": "fp32"}, 1500),
        (RESNET | {"framework": "mlperf-mxnet", "local_batch_size": 32}, 3300),
        (RESNET | {"strategy": "parameter-server"}, 3000),
    ],
)
def test_a_run_of_an_easier_job_reached_nothing(scenario, value):
    assert checked(scenario, **PER_GPU, value=value).reached_by is None


def test_a_claim_of_bert_is_held_against_submissions_that_skip_padding():
    claim = checked(BERT, **PER_GPU, value=290)
    assert claim.reached_by.source.startswith("MLPerf Training")
    assert "up to 512 tokens without padding" in claim.reached_by.words
    assert claim.judgement == "possible"
    whole = checked(BERT | {"input": "synthetic"}, **PER_GPU, value=290)
    assert whole.reached_by is None
    assert whole.limit < claim.limit


def test_a_transformer_that_a_narrower_format_reached_stays_doubtful():
    claim = checked(LLAMA, quantity="flops", per="accelerator", value=829e12, convention="palm")
    assert claim.reached_by.left_open == ["software", "precision"]
    assert claim.judgement == "doubtful"
    assert "fp8" in claim.sentence
    utilisation = checked(LLAMA, quantity="mfu", value=0.75)
    assert utilisation.reached_by is None  # fp8's is of another peak


def fastest():
    """The fastest submission on each accelerator of each benchmark."""
    best = {}
    for each in submitted():
        key = each.submission.benchmark, each.run.accelerator
        if key not in best or best[key].rate < each.rate:
            best[key] = each
    known = {"v100-sxm2-16gb", "a100-sxm4-40gb", "a100-sxm4-80gb", "a100-pcie-80gb", "h100-sxm5-80gb"}
    return [each for (_, accelerator), each in sorted(best.items()) if accelerator in known]


@pytest.mark.any_version
@pytest.mark.parametrize("similar", fastest(), ids=lambda similar: similar.run.run_id)
def test_no_rate_that_was_submitted_is_called_impossible(similar):
    scenario = {"workload": similar.run.workload, "accelerator": similar.run.accelerator}
    scenario |= {"gpus": similar.run.world_size, "sequence_length": similar.padded}
    given = {key: value for key, value in scenario.items() if value is not None}
    claim = checked(given, **PER_GPU, value=similar.rate)
    assert claim.verdict != "impossible"
    assert claim.reached_by is not None or claim.memory
    if claim.verdict == "optimistic":
        assert claim.judgement == "doubtful"


def test_rows_that_name_several_containers_are_left_out():
    names = {each.run.run_id: each.run.framework for each in submitted()}
    assert len(names) < len(shipped_submissions())
    assert not [name for name in names.values() if {"MXNet", "TensorFlow"} <= set(name.split())]


def test_every_door_says_by_whom_it_was_reached(unnamed, tmp_path):
    run, quote = unnamed.reached_by, quoted(RESNET, **A100)
    file = tmp_path / "quote.toml"
    file.write_text(
        'title = "a quote"\n[scenario]\nworkload = "resnet50-v1.5"\n'
        'accelerator = "a100-sxm4-80gb"\ngpus = 8\n'
        '[[claims]]\nquantity = "samples_per_second"\nper = "accelerator"\nvalue = 3105\n'
    )

    def output(*options):
        result = CliRunner().invoke(main, ["check-quote", str(file), *options])
        assert result.exit_code == 0, result.output
        return result.output

    found = json.loads(output("--json"))["claims"][0]
    assert found["reached_by"] == run.model_dump()
    assert (found["verdict"], found["judgement"]) == ("reached", "possible")
    for text in (output(), output("--markdown")):
        assert BETTER in " ".join(text.split())
        assert "optimistic" not in text.lower()
        assert f"reached {run.value:,.0f} images/s" in " ".join(text.split())
    page = page_of_quote(quote, [unnamed], None)
    assert page.tables[1].rows[0][1] == f"reached: {BETTER}"
    assert page.answer[1] == "1 claim: 1 reached."
    assert "So it is possible, though better than the model expects. MLPerf" in page.answer[2]
    assert any(run.source in cell for table in page.tables for row in table.rows for cell in map(str, row))
    assert any(run.source in answer for answer in page.answer)
    sentence = card_of_quote([unnamed]).advice
    assert sentence.startswith("Ask which software and batch it holds for: 3,105 images/s per accelerator")
    assert f"{run.source} reached" in sentence
    assert "with pytorch (2022)" in sentence
    assert f"is {BETTER}; under 1 % likely to be reached with pytorch (2022). MLPerf" in sentence


def test_the_page_says_once_that_a_run_reached_a_claim(unnamed):
    query = {name.replace("_", "-"): str(value) for name, value in RESNET.items()}
    test = opened("quote", **query, quantity="images_per_second_per_gpu", value="3105")
    assert unnamed.sentence in [code.value for code in test.code]
    said = words(test)
    assert any(each.label.startswith("1\\. Reached") for each in test.expander)
    assert f"Possible: {BETTER}; under 1 % likely to be reached with pytorch (2022)." in said
    assert "optimistic" not in said.lower()
