"""Time to train of MLPerf submissions: rules, the other rounds' curves, a row by hand, the report's line."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path
from statistics import fmean, median

import pytest
from click.testing import CliRunner

from perfmodel.core.errors import InputError
from perfmodel.core.files.resources import folder
from perfmodel.core.units import per_cent
from perfmodel.evidence.accuracy import shipped_runs
from perfmodel.evidence.accuracy.mlperf.mlperf import (
    OTHERS,
    SEEN,
    SIZES,
    Row,
    compare_mlperf,
    curve_without,
    held_out_rows,
    shipped_rows,
    summarise_mlperf,
)
from perfmodel.evidence.accuracy.mlperf.mlperf_rows import (
    Submission,
    framework_of,
    held_out_submissions,
    read_submissions,
    scenario_of_submission,
    shipped_submissions,
)
from perfmodel.evidence.accuracy.mlperf.mlperf_rules import ROUNDS
from perfmodel.evidence.accuracy.mlperf.mlperf_section import covered, section
from perfmodel.evidence.accuracy.report.error_statistics import by_reason
from perfmodel.evidence.accuracy.scenarios import Refused
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import main as command
from perfmodel.model.fitted.calibration import FITTED, calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict

pytestmark = pytest.mark.any_version

MEASURED = folder("validation") / "measured" / "mlperf.csv"
SHARED = Path(__file__).parents[1].parent / "shared" / "measured" / "mlperf.csv"
CATALOGUE = Catalogue.built_in()
IMAGES = 1_281_167
"""In one epoch of ImageNet."""


@pytest.fixture(scope="module")
def specs() -> list[Row]:
    return shipped_rows("specs")


@pytest.fixture(scope="module")
def anchored() -> list[Row]:
    return shipped_rows("anchored")


def _submission(run_id: str) -> Submission:
    return next(each for each in shipped_submissions() if each.job.run_id == run_id)


def _answer(answers: list[Row], run_id: str) -> Row:
    return next(each for each in answers if each.run.job.run_id == run_id)


@pytest.mark.skipif(not SHARED.is_file(), reason="the published file is not beside the checkout")
def test_rows_are_as_published():
    with MEASURED.open(newline="", encoding="utf-8") as file:
        ours = list(csv.DictReader(file))
    with SHARED.open(newline="", encoding="utf-8") as file:
        published = [row for row in csv.DictReader(file) if row["workload"] in ("resnet50", "bert")]
    assert [row["run_id"] for row in ours] == [row["run_id"] for row in published]
    for mine, theirs in zip(ours, published, strict=True):
        assert {key: value for key, value in mine.items() if key != "source"}.items() <= theirs.items()


def test_coverage_of_rows_in_no_fit_is_told_as_it_is(specs):
    """The share inside, from the file and `predict`'s own interval; and its line in the report."""
    with MEASURED.open(newline="", encoding="utf-8") as file:
        cells = {row["run_id"]: row for row in csv.DictReader(file)}
    inside, n = 0, 0
    for each in specs:
        row = cells[each.run.job.run_id]
        interval = each.made.iteration
        if interval.low_80 is None or not row["samples_per_second"]:
            continue
        n += 1
        measured = float(row["global_batch_size"]) / float(row["samples_per_second"])
        inside += interval.low_80 <= measured <= interval.high_80
    first = covered()["MLPerf, from specs"]
    assert (first["n"], first["coverage_80"]) == (n, pytest.approx(inside / n))
    text = (folder("validation") / "report.md").read_text("utf-8")
    for name, line in covered().items():
        wrong = " | ".join(per_cent(line[of]) for of in ("mean_absolute_error", "median_absolute_error"))
        assert f"| {name} | {line['n']} | {wrong} |" in text
        assert f"| {name} * | {line['n']} | " in text
    assert {f"MLPerf, {mode}, above 64" for mode in ("from specs", "anchored")} <= set(covered())
    assert calibration().reach["world size"][1] == SEEN


def test_nothing_was_learned_from_these_rows():
    assert "mlperf-training-v0.5-v1.1" not in {run.source for run in shipped_runs()}
    assert "mlperf" not in FITTED.read_text("utf-8")


def test_a_row_by_hand(specs):
    """One DGX A100 of v1.1: its curve, its iteration and its evaluations, one after another."""
    asked = _submission("mlperf-0470")
    assert (asked.job.world_size, asked.batch, asked.time_to_train) == (8, 3264, 1748.796)
    found = predict(
        Scenario(
            workload="resnet50-v1.5",
            accelerator="a100-sxm4-80gb",
            world_size=8,
            local_batch_size=408,
            precision="fp16",
            optimizer="sgd",
            framework="mlperf-mxnet@2021",
            overlap="fused",
            algorithm="auto",
        )
    )
    curve = curve_without("v1.1", "resnet50", shipped_submissions())
    samples = curve.smallest_epochs * (1 + 3264 / curve.critical_batch_size)
    assert 35 < samples / IMAGES < 42  # 35 epochs were needed
    # every 4 epochs and at the end: after 4, 8, ... 36 and 40 for 38.5 epochs
    evaluations = 1 + math.ceil(samples / IMAGES / 4 - 1)
    # 50,000 images are 15.3 batches of 3264
    time = samples / 3264 * found.iteration_time + evaluations * 16 * found.terms["forward_time"]
    row = _answer(specs, "mlperf-0470")
    assert row.predicted == pytest.approx(time, rel=1e-9)
    assert row.error == pytest.approx(time / 1748.796 - 1, rel=1e-9)


@pytest.mark.refits
def test_report_says_what_the_rows_say(specs, anchored):
    """The lines people read first, from the shipped rows again; and the section stands in the report."""
    report = (folder("validation") / "report.md").read_text("utf-8")
    told = report[report.index("Against the goal") :]
    line = r"^\* (.*): median absolute error ([\d.]+) %, n (\d+): (met|missed)\.$"
    shown = {name: figures for name, *figures in re.findall(line, told, re.MULTILINE)}
    with MEASURED.open(newline="", encoding="utf-8") as file:
        times = {row["run_id"]: float(row["time_to_train"]) for row in csv.DictReader(file)}
    modes = {
        "From specs alone": specs,
        "Anchored on machines of the other rounds": anchored,
        "The same with the rounds before alone": shipped_rows("anchored", earlier=True),
    }
    for name, answers in modes.items():
        error, n, verdict = shown[name]
        wrong = [
            abs(each.predicted / times[each.run.job.run_id] - 1)
            for each in answers
            if each.predicted is not None
        ]
        assert len(wrong) == int(n)
        assert 100 * median(wrong) == pytest.approx(float(error), abs=0.051)
        assert verdict == ("met" if median(wrong) <= 0.15 else "missed")
    assert {line for line in section().splitlines() if line.startswith("| ")} <= set(report.splitlines())


def test_a_round_does_not_see_its_own_epochs():
    """The curve of a round is the same whatever that round's samples were."""
    rows = shipped_submissions()
    changed = [
        each._replace(samples_to_target=7 * each.samples_to_target)
        if each.round == "v1.1" and each.samples_to_target
        else each
        for each in rows
    ]
    assert curve_without("v1.1", "resnet50", changed) == curve_without("v1.1", "resnet50", rows)
    assert curve_without("v1.0", "resnet50", changed) != curve_without("v1.0", "resnet50", rows)


def test_an_anchor_comes_from_another_round():
    """Making one round's machines twice as fast moves every other round's answer, and not its own."""
    rows = [
        each
        for each in shipped_submissions()
        if each.benchmark == "resnet50" and ROUNDS.index(each.round) <= ROUNDS.index("v1.1")
    ]
    faster = [
        each._replace(job=each.job._replace(samples_per_second=2 * each.job.samples_per_second))
        if each.round == "v1.0" and each.job.samples_per_second
        else each
        for each in rows
    ]
    after = {each.run.job.run_id: each for each in compare_mlperf("anchored", faster)}
    for before in compare_mlperf("anchored", rows):
        now = after.get(before.run.job.run_id)
        if now is None or before.predicted is None:
            continue
        if before.run.round == "v1.0":
            assert now.predicted == before.predicted
        elif before.run.round == "v1.1":
            assert now.predicted < before.predicted


def test_a_forecast_sees_no_later_round():
    """v1.0 comes out the same whether v1.1 was held or not; hindsight is another answer."""
    early = ROUNDS[: ROUNDS.index("v1.1")]
    before = compare_mlperf("anchored", [s for s in shipped_submissions() if s.round in early], earlier=True)
    after = shipped_rows("anchored", earlier=True)
    assert before == [each for each in after if each.run.round in early]
    assert {each.run.round for each in after if each.error is not None} >= {"v1.0", "v1.1"}
    assert all(each.error is None for each in after if each.run.round == "v0.5")


@pytest.mark.parametrize("run_id", ["mlperf-0470", "mlperf-0382"])  # ResNet-50, BERT
def test_an_anchored_machine_is_met_again(run_id):
    """Anchored on its twin of another round, it comes out at its own time: evaluations count once."""
    twin = _submission(run_id)
    others = [
        each
        for each in shipped_submissions()
        if each.benchmark == twin.benchmark
        and each.round != twin.round
        and not each.job.accelerator.startswith("a100")
    ]
    rows = [twin._replace(job=twin.job._replace(run_id="twin"), round="v1.0"), twin, *others]
    found = _answer(compare_mlperf("anchored", rows), run_id)
    rate = found.made.samples_per_second
    time = twin.samples_to_target / rate + found.made.evaluation_time
    assert time == pytest.approx(twin.time_to_train, rel=0.03)
    if twin.benchmark == "resnet50":  # whose rate has no evaluations in it
        # where a fused buffer closes one message earlier the iteration jumps: messages
        # gather while one is on its way, so times in between are not met
        assert rate == pytest.approx(twin.job.samples_per_second, rel=1e-2)


def test_curve_takes_the_same_target_where_it_can():
    assert curve_without("v1.1", "bert", shipped_submissions()).target
    assert not curve_without("v0.7", "bert", shipped_submissions()).target
    assert not curve_without("v0.5", "resnet50", shipped_submissions()).target
    few = [each for each in shipped_submissions() if each.round == "v0.5"]
    with pytest.raises(Refused, match="no other round"):
        curve_without("v0.5", "resnet50", few)


@pytest.mark.parametrize(
    ("run_id", "framework"),
    [
        ("mlperf-0011", "tensorflow@2018"),
        ("mlperf-0470", "mlperf-mxnet@2021"),
        ("mlperf-0468", "mlperf-mxnet-graph@2021"),
        ("mlperf-0436", "paddle-ngc@2021"),
        ("mlperf-0106", "mlperf-bert@2020"),
        ("mlperf-0232", "mlperf-bert@2021"),  # the row says MXNet
    ],
)
def test_software(run_id, framework):
    assert framework_of(_submission(run_id)) == framework


def test_a_batch_that_does_not_fit_is_accumulated():
    """36 sequences of a DGX-1's V100s with 16 GB; the submission took six micro-batches."""
    scenario = scenario_of_submission(_submission("mlperf-0101"), CATALOGUE)
    assert scenario.local_batch_size * scenario.accumulation_steps == 36
    assert scenario.accumulation_steps > 1
    assert predict(scenario).memory.fits


def test_evaluations_and_targets():
    early, late = _submission("mlperf-0106"), _submission("mlperf-0382")
    assert (early.rules.target, late.rules.target) == ("masked-LM accuracy 0.712", "masked-LM accuracy 0.720")
    # at 3M and 3.5M samples
    assert early.rules.evaluations(3.4e6, 256) == 2
    # the submitted configuration of 448 sequences evaluates every 150,000
    assert late.rules.evaluations(2_700_096, 448) == 19


def test_command(specs):
    """``validate --kind mlperf`` prints the same rows, for people and as JSON."""
    arguments = ["validate", "--kind", "mlperf"]
    answer = json.loads(CliRunner().invoke(command, [*arguments, "--json"], catch_exceptions=False).output)
    rows = [*specs, *held_out_rows("specs")]
    assert [row["run_id"] for row in answer["rows"]] == [each.run.job.run_id for each in rows]
    shown = summarise_mlperf(rows)["all"]["all"]
    assert answer["summary"]["all"]["all"]["median_absolute_error"] == shown["median_absolute_error"]
    told = CliRunner().invoke(command, [*arguments, "--mode", "anchored"], catch_exceptions=False).output
    assert "468 submissions" in told
    assert "bert v1.1" in told
    assert "resnet50 v3.1" in told


def test_iterations_are_counted_by_size_of_job_and_held_out_rounds_apart(specs):
    late = held_out_rows("specs")
    shown = summarise_mlperf([*specs, *late])["iteration_time"]
    large = [each.made.iteration for each in late if each.run.job.world_size > SEEN]
    errors = [abs(each.error) for each in large if each.error is not None]
    assert shown["iterations of v3.0, v3.1, above 64"]["mean_absolute_error"] == pytest.approx(fmean(errors))
    assert [each["mean_absolute_error"] for name, each in shown.items() if "v3" not in name] == [
        covered()[f"MLPerf, from specs{size}"]["mean_absolute_error"] for size in SIZES
    ]


@pytest.mark.parametrize("mode", ["specs", "anchored"])
def test_held_out_rounds_serve_no_curve_and_no_anchor(mode, monkeypatch):
    """v3.0 is the same however v3.1 turned out, which no earlier round sees either."""
    before = held_out_rows(mode)
    late = [
        each._replace(
            samples_to_target=each.samples_to_target and 7 * each.samples_to_target,
            job=each.job._replace(samples_per_second=2 * (each.job.samples_per_second or 1.0)),
        )
        if each.round == "v3.1"
        else each
        for each in held_out_submissions()
    ]
    monkeypatch.setattr("perfmodel.evidence.accuracy.mlperf.mlperf.held_out_submissions", lambda: late)
    after = held_out_rows(mode)
    assert {each.run.round for each in before} == {"v3.0", "v3.1"}
    assert sum(each.predicted is not None for each in before) > 100
    assert [each.predicted for each in after] == [each.predicted for each in before]


def test_who_is_refused(specs):
    reasons = {each.reason.split(": ")[0] for each in specs if each.reason}
    assert reasons <= {"unknown accelerator", "no machine that large", OTHERS}
    families = {each.run.job.accelerator.split("-")[0] for each in specs if each.reason != OTHERS}
    assert families == {"v100", "v100s", "a100", "a30", "a40", "h100", "rtx"}
    assert sum(each.error is not None for each in specs) > 200
    shown = summarise_mlperf(specs)
    assert sum(each["n"] for each in shown["benchmark"].values()) == shown["all"]["all"]["n"]


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("time_to_train", "time", "no column time_to_train"),
        ("v0.5", "v9", "expected one of v0.5"),
        ("8268.012", "-1", "line 2, column time_to_train: '-1'; expected a positive number"),
        ("8268.012", "nan", "expected a positive number"),
        (",1,8,8,", ",1,8,16,", "expected 1 nodes x 8 accelerators = 8"),
        (",2048,", ",20.5,", "expected a whole number from 1 to"),
    ],
)
def test_bad_files_are_refused(tmp_path, old, new, wanted):
    path = tmp_path / "rows.csv"
    path.write_text("".join(MEASURED.read_text("utf-8").splitlines(keepends=True)[:2]).replace(old, new))
    with pytest.raises(InputError, match=re.escape(wanted)):
        read_submissions(path)
    with pytest.raises(InputError, match="cannot be read"):
        read_submissions(tmp_path / "absent.csv")
    path.write_text(MEASURED.read_text("utf-8").partition("\n")[0])
    with pytest.raises(InputError, match="no submissions below the header line"):
        read_submissions(path)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (",resnet50,", ",gnmt,", "unknown benchmark"),
        (",resnet50,", ",,", "no workload"),
        (",v0.5,", ",,", "no round"),
        (",v100-sxm2-16gb,", ",,", "no accelerator"),
        (",1,8,8,", ",,,8,", "no nodes and accelerators per node"),
        (",2048,", ",,", "no global batch size"),
        (",8268.012,", ",,", "no time to train"),
    ],
)
def test_what_a_row_leaves_open_is_counted(tmp_path, old, new, reason):
    path = tmp_path / "rows.csv"
    lines = MEASURED.read_text("utf-8").splitlines(keepends=True)[:3]
    path.write_text("".join([lines[0], lines[1].replace(old, new, 1), lines[2]]))
    known, skipped = read_submissions(path)
    assert ([each.job.run_id for each in known], by_reason(skipped)) == (["mlperf-0021"], {reason: 1})


@pytest.mark.parametrize("held", ROUNDS)
def test_rounds_to_come_have_a_name(tmp_path, held):
    """The data end at v2.1; a file of later rounds is read, and its year follows from the round's name."""
    path = tmp_path / "rows.csv"
    text = "".join(MEASURED.read_text("utf-8").splitlines(keepends=True)[:2])
    path.write_text(text.replace(",v0.5,2018,", f",{held},,").replace(",1,8,8,", ",1,,8,"))
    ((row,), _) = read_submissions(path)
    assert (row.round, row.job.accelerators_per_node) == (held, 8)
    assert row.job.year == 2018 + {"0": 0, "1": 3, "2": 4, "3": 5, "4": 6, "5": 7}[held[1]] + (
        {"5": 0, "6": 1, "7": 2}[held[3]] if held[1] == "0" else 0
    )
    assert ROUNDS[-1] == "v5.1"
