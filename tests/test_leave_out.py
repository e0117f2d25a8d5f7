"""Leave-out tests: which rows are left out together, that no fit has seen them, and what is said of them."""

from __future__ import annotations

import csv
import json
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy.by_source import JudgedRow, summarise
from perfmodel.evidence.accuracy.collectives import leave_out_collectives
from perfmodel.evidence.accuracy.collectives.collective_fit import learned_from as learned_collectives
from perfmodel.evidence.accuracy.collectives.collective_rows import shipped_measurements
from perfmodel.evidence.accuracy.leave_out import (
    BEFORE,
    CATEGORIES,
    Evidence,
    Facts,
    Fold,
    Judged,
    _before,
    compare_with_before,
    folds,
    leave_out,
    publishers,
)
from perfmodel.evidence.accuracy.measured_runs import measured, shipped_whole_transformers
from perfmodel.evidence.accuracy.measured_table import records
from perfmodel.evidence.accuracy.report import leave_out_file
from perfmodel.evidence.accuracy.training_rows import shipped_runs
from perfmodel.evidence.accuracy.transformers import leave_out_transformers
from perfmodel.evidence.accuracy.transformers.transformer_fit import fit, learned_from, left_out, tangent
from perfmodel.evidence.accuracy.transformers.transformer_rows import shipped_transformer_runs
from perfmodel.evidence.fitting import learning_curve
from perfmodel.evidence.fitting import leave_out as fitting
from perfmodel.evidence.fitting.learning_curve import DRAWS, GIVEN, _transformers, draws
from perfmodel.evidence.fitting.out_of_sample import OutOfSample
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.learned import origins
from perfmodel.model.transformers.parameters import neutral_scores

SOURCES = ("torchtitan", "internevo", "nanotron", "maxtext-tpu", "dlperf-gpt", "kempnerforge")
COLLECTIVE_SOURCES = (
    "nccl-tests-aws-p4de",
    "nccl-tests-aws-p5",
    "nvidia-deepops",
    "nccl-tests-abci",
    "amd-aac-notes",
)


@pytest.fixture(scope="module")
def transformers() -> leave_out_transformers.TransformerFolds:
    runs = [run for run in learned_from(shipped_transformer_runs()) if run.source in SOURCES]
    return leave_out_transformers.TransformerFolds(runs)


@pytest.fixture(scope="module")
def collectives() -> leave_out_collectives.CollectiveFolds:
    return leave_out_collectives.CollectiveFolds(
        [each for each in learned_collectives(shipped_measurements()) if each.source in COLLECTIVE_SOURCES]
    )


@pytest.fixture(scope="module")
def training() -> OutOfSample:
    return OutOfSample(
        [run for run in shipped_runs() if run.source in ("timm", "jcjohnson", "paddle", "mxnet-perf")]
    )


def _of(evidence: Evidence, **where: str) -> dict[str, set[str]]:
    """The categories of the rows of a category."""
    ((name, value),) = where.items()
    rows = evidence.of(name) == value
    assert rows.any()
    return {each: set(evidence.of(each)[rows].tolist()) for each in CATEGORIES}


def test_transformers_are_left_out_with_their_like(transformers):
    evidence = leave_out_transformers.evidence_of(transformers)
    assert all(any(evidence.of(name)) for name in CATEGORIES)
    titan = _of(evidence, source="torchtitan")
    assert titan["publisher"] == {"Meta"}
    assert titan["software"] == {"pytorch fsdp"}
    assert titan["network"] == {"llama"}
    assert titan["accelerator"] == {"Ampere", "Hopper"}
    assert _of(evidence, software="jax")["accelerator"] == {"TPU"}
    assert _of(evidence, software="pytorch fsdp")["source"] == {"torchtitan", "kempnerforge"}
    assert _of(evidence, network="internlm")["source"] == {"internevo"}
    assert all(name.startswith("inside ") for name in _of(evidence, source="nanotron")["fabric"]) or (
        evidence.of("size")[evidence.of("source") == "nanotron"].max() > 8
    )


def test_transformers_of_data_parallel_training_are_learned_from_but_not_judged(transformers):
    """A network's or an accelerator's rows are left out of either table."""
    whole = [run for run in shipped_whole_transformers() if run.source in ("hkbu-ddl-benchmarks", "timm")]
    facts = [leave_out_transformers.facts_of_whole(run) for run in whole]
    evidence = leave_out_transformers.evidence_of(transformers)
    evidence = evidence._replace(rows=[*evidence.rows, *facts])
    ours = np.arange(len(evidence.rows)) >= len(transformers.runs)
    for test in ("accelerator", "network", "size"):
        for name, fold in folds(evidence, test).items():
            assert not (fold.judged & ours).any()
            if test != "size":
                assert (fold.seen[ours] == (evidence.of(test)[ours] != name)).all()


def test_collectives_are_left_out_with_their_like(collectives):
    evidence = leave_out_collectives.evidence_of(collectives)
    assert not any(evidence.of("network"))
    assert not folds(evidence, "network")
    amazon = _of(evidence, publisher="Amazon")
    assert amazon["source"] == {"nccl-tests-aws-p4de", "nccl-tests-aws-p5"}
    assert "efa" in amazon["fabric"]
    assert _of(evidence, software="RCCL")["source"] == {"amd-aac-notes"}
    assert _of(evidence, software="RCCL")["accelerator"] <= {"CDNA2", "CDNA3", "CDNA4"}


def test_data_parallel_training_is_left_out_with_its_like():
    rows = measured(shipped_runs(), Catalogue.built_in())
    evidence = fitting.evidence_of(SimpleNamespace(measured=rows, transformers=None))  # type: ignore[arg-type]
    assert _of(evidence, software="tensorflow")["source"] >= {"lambda-tf", "tf-benchmarks-2017"}
    assert _of(evidence, publisher="OneFlow")["source"] == {"dlperf"}
    assert "Ampere" in _of(evidence, source="timm")["accelerator"]
    alone = evidence.of("size") == 1
    assert set(evidence.of("fabric")[alone]) == {""}
    assert "" not in evidence.of("fabric")[~alone]
    assert {"resnet", "bert", "vgg"} <= set(evidence.of("network"))


def _made(judge: Any = None, **groups: list[str]) -> Evidence:
    blank = Facts("", "", "", "", "", "", 0, 0.0)
    rows = [
        blank._replace(
            id=f"r{place}", year=2019 + place // 2, size=2.0**place, **dict(zip(groups, of, strict=True))
        )
        for place, of in enumerate(zip(*groups.values(), strict=True))
    ]
    return Evidence("made", rows, judge or (lambda fold: Judged(*np.ones((3, int(fold.judged.sum()))))))


def test_a_fold_has_no_row_that_its_fit_has_seen():
    evidence = _made(source=[*"abcdefgh"], software=["x", "x", "y", "y", "z", "z", "", ""])
    every = folds(evidence, "software")
    assert set(every) == {"x", "y", "z"}
    for fold in every.values():
        assert (fold.judged ^ fold.seen).all()
        assert fold.seen[6:].all()
    (year,) = folds(evidence, "year:2021").values()
    assert evidence.of("year")[year.seen].max() < 2021 <= evidence.of("year")[year.judged].min()
    (size,) = folds(evidence, "size").values()
    assert evidence.of("size")[size.judged].min() > 2 * evidence.of("size")[size.seen].max()
    assert not (size.judged & size.seen).any()
    assert not folds(evidence, "fabric")


def test_a_fit_to_fewer_than_three_sources_judges_nothing():
    assert set(folds(_made(source=[*"abc"]), "source")) == set()
    assert set(folds(_made(source=[*"abcd"]), "source")) == {*"abcd"}
    assert not folds(_made(source=[*"abcd"]), "year:2020")


def test_every_row_is_judged_once_in_its_own_category():
    def judge(fold: Fold) -> Judged:
        return Judged(*(np.flatnonzero(fold.judged) + shift for shift in (0.0, 0.5, 1.0)))

    rows = leave_out(_made(judge, source=[*"aabbccdd"], software=[*"xyxyxyzz"]), "software")
    assert {row.id: (row.category, row.error) for row in rows} == {
        f"r{place}": (name, place) for place, name in enumerate("xyxyxyzz")
    }
    by_year = leave_out(_made(judge, source=[*"abcdefgh"]), "year:2021")
    assert [row.category for row in by_year] == [*"efgh"]


def test_what_is_said_of_rows():
    rows = [
        JudgedRow("1", "a", 0.1, 0.2, 0.3),
        JudgedRow("2", "a", -0.25, 0.2, 0.3),
        JudgedRow("3", "b", 0.5, 0.4, 0.45),
    ]
    said = summarise("made", "now", rows)
    assert (said.categories, said.rows) == (2, 3)
    assert said.coverage_80 == pytest.approx(1 / 3)
    assert said.coverage_80_over_categories == pytest.approx(0.25)
    assert said.coverage_95 == pytest.approx(2 / 3)
    assert said.coverage_95_over_categories == pytest.approx(0.5)
    errors = [1 - math.exp(-0.1), math.exp(0.25) - 1, 1 - math.exp(-0.5)]
    assert said.mean_error == pytest.approx(sum(errors) / 3)
    assert said.median_error == pytest.approx(errors[1])
    assert said.half_width == 0.2
    # 0.4 and 0.4 + 10 x 0.05 of the one, 0.8 + 10 x 0.1 of the other
    assert said.score == pytest.approx((0.65 + 1.8) / 2)
    assert summarise("made", "now", []).coverage_80 is None


def test_the_version_before_is_held_against_the_same_rows():
    id, known = next(iter(_before()["transformers"].items()))
    now, before = compare_with_before(
        "transformers", [JudgedRow(id, "a", 0.0, 1.0, 2.0), JudgedRow("none", "a", 0.0, 1.0, 2.0)]
    )
    assert (now.by, now.rows, before.by, before.rows) == ("now", 2, BEFORE, 1)
    assert before.half_width == known["half_80"]
    (alone,) = compare_with_before("made", [JudgedRow(id, "a", 0.0, 1.0, 2.0)])
    assert alone.by == "now"
    learned = {run.run_id for run in learned_from(shipped_transformer_runs())}
    assert set(_before()["transformers"]) == learned


@pytest.mark.any_version
@pytest.mark.parametrize("test", ["software", "accelerator"])
def test_transformers_left_out_are_not_seen(transformers, test):
    """Their times thrice as long move what is said of them by no more than linearising elsewhere does."""
    evidence = leave_out_transformers.evidence_of(transformers)
    fold = max(folds(evidence, test).values(), key=lambda each: int(each.judged.sum()))
    data = transformers.data
    slower = data._replace(logs=data.logs + np.where(fold.judged, math.log(3.0), 0.0))
    others = object.__new__(leave_out_transformers.TransformerFolds)
    vars(others).update(vars(transformers), data=slower)
    at = leave_out_transformers.fit(slower)
    others._near = tangent(at, slower.jobs)
    assert np.abs(at - transformers._near.at).max() > 0.5  # the fit to all is another
    assert others.logs(fold) == pytest.approx(transformers.logs(fold), abs=0.03)


def test_collectives_left_out_are_not_seen(collectives):
    evidence = leave_out_collectives.evidence_of(collectives)
    fold = folds(evidence, "fabric")["efa"]
    times = np.where(fold.judged, 3.0, 1.0)
    slower = leave_out_collectives.CollectiveFolds(
        [
            each._replace(time=each.time * factor)
            for each, factor in zip(collectives.measured, times.tolist(), strict=True)
        ]
    )
    before, after = collectives.judge(fold), slower.judge(fold)
    assert after.errors - before.errors == pytest.approx(math.log(3.0), abs=1e-9)


@pytest.mark.any_version
def test_training_left_out_is_not_seen(training):
    """The source left out by a test is that of ``validate --out-of-sample``."""
    sources = np.array([row.run.source for row in training.measured])
    for source in ("timm", "mxnet-perf"):
        by_test, usual = training.from_some(sources != source), training.calibration(source)
        assert training.efficiency.numbers(sources != source) != training.efficiency.numbers()
        assert by_test.spread["specs"] == usual.spread["specs"]
        assert (by_test.seen, by_test.reach) == (usual.seen, usual.reach)


@pytest.mark.any_version
def test_a_source_left_out_is_missed_as_by_the_fits_that_the_report_shows(transformers):
    """Where no prior rests on it: others are neutral in all fits."""
    evidence, data = leave_out_transformers.evidence_of(transformers), transformers.data
    usual = left_out(data, fit(data), drawn_to=neutral_scores(SOURCES))
    by_test = {row.id: row.error for row in leave_out(evidence, "source")}
    errors = np.array([by_test[run.run_id] for run in transformers.runs])
    apart = np.abs(errors - (data.logs - usual))
    rests_on = {each.only_source for each in origins("transformers").values()}
    others = ~np.isin(data.sources, [*rests_on & {*SOURCES}])
    assert np.median(apart[others]) < 0.005
    assert apart[others].max() < 0.06
    # this one shaped a prior, of which nothing is known without it
    assert np.median(apart[data.sources == "maxtext-tpu"]) > 0.02


def test_publishers_are_of_sources():
    with (folder("validation") / "sources.csv").open(newline="", encoding="utf-8") as file:
        known = {row["key"] for row in csv.DictReader(file)}
    assert set(publishers()) <= known
    assert publishers()["vtrain-single"] == publishers()["vtrain-nccl"]


def test_the_runs_given_are_not_judged():
    sources = np.array([*"a" * 20, *"b" * 6, *"c" * 7])
    drawn = [*draws(sources)]
    assert [draw.source for draw in drawn] == ["a"] * DRAWS + ["c"] * DRAWS
    for draw, again in zip(drawn, draws(sources), strict=True):
        assert len(draw.given) == GIVEN[-1]
        assert not set(draw.given.tolist()) & set(draw.judged.tolist())
        assert len(draw.given) + len(draw.judged) == (sources == draw.source).sum()
        assert (draw.given == again.given).all()


@pytest.mark.any_version
def test_transformers_with_runs_given_move_and_narrow(transformers):
    rows: dict[int, list[JudgedRow]] = {count: [] for count in GIVEN}
    for kind, count, judged in _transformers(transformers):
        assert kind in ("transformers", "transformers, ledger")
        rows[count] += judged
    assert len({tuple(row.id for row in of) for of in rows.values()}) == 1
    assert np.median([row.half_80 for row in rows[6]]) < 0.9 * np.median([row.half_80 for row in rows[0]])
    assert any(a.error != b.error for a, b in zip(rows[0], rows[6], strict=True))


@pytest.mark.any_version
def test_training_with_runs_given_is_updated(training, monkeypatch):
    monkeypatch.setattr(learning_curve, "DRAWS", 1)
    sources = {row.run.source for row in training.measured}
    rows: dict[int, list[JudgedRow]] = {count: [] for count in GIVEN}
    for _, count, judged in learning_curve._training(training):
        rows[count] += judged
    assert {row.category for row in rows[0]} == sources
    assert all(math.isfinite(number) for of in rows.values() for row in of for number in row[2:])
    errors = [np.mean([abs(row.error) for row in rows[count]]) for count in (0, 6)]
    assert errors[1] < errors[0]


@pytest.fixture
def few(monkeypatch):
    """Leave-out tests of eight made rows."""
    evidence = _made(source=[*"abcdefgh"], software=[*"xxyyzzww"])
    monkeypatch.setattr(fitting, "evidence_of_all_kinds", lambda jobs: [evidence])


@pytest.mark.usefixtures("few")
def test_the_command_prints_and_writes(invoke, tmp_path):
    file = tmp_path / "lines.csv"
    shown = invoke("validate", "--leave-out", "software", "--leave-out", "fabric", "--write", file)
    assert shown.exit_code == 0, shown.stderr
    assert "family of software" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
    again = invoke("validate", "--leave-out", "size", "--leave-out", "software", "--write", file, "--json")
    answers = json.loads(again.stdout)
    assert [each["test"] for each in answers] == ["size", "software"]
    assert {row["category"] for row in answers[1]["rows"]} == {*"wxyz"}
    assert answers[1]["summary"][0]["categories"] == 4
    with file.open(newline="", encoding="utf-8") as lines:
        assert [row["test"] for row in csv.DictReader(lines)] == ["fabric", "size", "software"]
    (said,) = leave_out_file.summaries(records(file))["software"]
    assert (said.kind, said.by, said.rows, said.coverage_80) == ("made", "now", 8, 1.0)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--leave-out", "sofware"), "unknown leave-out test 'sofware'"),
        (("--leave-out", "year:1024"), "expected a year from 2000 to 2100, as year:2024"),
        (("--leave-out", "size", "--kind", "collectives"), "--kind: leave-out tests take"),
        (("--learning-curve", "--data", "x.csv"), "--data: leave-out tests take"),
        (("--write", "x.csv"), "--write belongs to leave-out tests"),
        (("--leave-out", "size", "--write", "/nowhere/x.csv"), "cannot be written"),
    ],
)
def test_what_does_not_go_with_them_is_refused(invoke, words, message):
    refused = invoke("validate", *words)
    assert refused.exit_code == 2
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr


def test_the_report_shows_what_was_written():
    text = leave_out_file.section()
    assert text.startswith("## Leave-out tests")
    for heading in ("Each source left out", "Each family of networks left out", "Rows from 2024 on"):
        assert heading in text
