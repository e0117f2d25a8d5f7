"""Time to train of MLPerf submissions: rules, the other rounds' curves, a row by hand, the report's line."""

from __future__ import annotations

import csv
import json
import math
import re
from pathlib import Path
from statistics import median

import pytest
from click.testing import CliRunner

from perfmodel.accuracy import shipped_runs
from perfmodel.accuracy.mlperf import Answer, compare_mlperf, curve_without, errors_by
from perfmodel.accuracy.mlperf_kernels import JOINED, iteration_time, joined
from perfmodel.accuracy.mlperf_rows import ROUNDS, Submission, read_submissions, shipped_submissions
from perfmodel.accuracy.mlperf_rules import (
    IMAGES,
    evaluation_of,
    framework_of,
    scenario_of_submission,
    target_of,
)
from perfmodel.accuracy.mlperf_section import KERNELS, LATER, SEEN, SUBMITTED, covered, headline, section
from perfmodel.accuracy.scenarios import Refused
from perfmodel.accuracy.summary import by_reason
from perfmodel.calibration import FITTED, calibration
from perfmodel.cli import main as command
from perfmodel.errors import InputError
from perfmodel.prediction import predict
from perfmodel.resources import folder
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue
from perfmodel.workloads import workload

MEASURED = folder("validation") / "measured" / "mlperf.csv"
SHARED = Path(__file__).parents[1].parent / "shared" / "measured" / "mlperf.csv"
CATALOGUE = Catalogue.built_in()


@pytest.fixture(scope="module")
def specs() -> list[Answer]:
    return compare_mlperf("specs")


@pytest.fixture(scope="module")
def anchored() -> list[Answer]:
    return compare_mlperf("anchored")


def _submission(run_id: str) -> Submission:
    return next(each for each in shipped_submissions() if each.run_id == run_id)


def _answer(answers: list[Answer], run_id: str) -> Answer:
    return next(each for each in answers if each.submission.run_id == run_id)


@pytest.mark.skipif(not SHARED.is_file(), reason="the published file is not beside the checkout")
def test_rows_are_as_published():
    with MEASURED.open(newline="", encoding="utf-8") as file:
        ours = list(csv.DictReader(file))
    with SHARED.open(newline="", encoding="utf-8") as file:
        published = [row for row in csv.DictReader(file) if row["workload"] in ("resnet50", "bert")]
    assert [row["run_id"] for row in ours] == [row["run_id"] for row in published]
    for mine, theirs in zip(ours, published, strict=True):
        assert {key: value for key, value in mine.items() if key != "source"}.items() <= theirs.items()


@pytest.mark.any_version
def test_coverage_of_rows_in_no_fit_is_told_as_it_is(specs):
    """The share inside, from the file and `predict`'s own interval; and its line in the report."""
    with MEASURED.open(newline="", encoding="utf-8") as file:
        cells = {row["run_id"]: row for row in csv.DictReader(file)}
    inside, n = 0, 0
    for each in specs:
        row = cells[each.submission.run_id]
        if each.interval is None or not row["samples_per_second"]:
            continue
        n += 1
        measured = float(row["global_batch_size"]) / float(row["samples_per_second"])
        inside += each.interval.low_80 <= measured <= each.interval.high_80
    first = covered()[0]
    assert (first.n, first.share) == (n, pytest.approx(inside / n))
    text = (folder("validation") / "report.md").read_text("utf-8")
    for line in covered():
        assert f"| {line.name} | {line.n} | {line.mean:.1%} | {line.median:.1%} |" in text
        assert f"| {line.name} * | {line.n} | " in text
    assert {f"MLPerf, {mode}, above 64" for mode in ("from specs", "anchored")} <= {
        line.name for line in covered()
    }
    assert calibration().reach["world size"][1] == SEEN


def test_nothing_was_learned_from_these_rows():
    assert "mlperf-training-v0.5-v1.1" not in {run.source for run in shipped_runs()}
    assert "mlperf" not in FITTED.read_text("utf-8")


def test_a_row_by_hand(specs):
    """One DGX A100 of v1.1: its curve, its iteration and its evaluations, one after another."""
    asked = _submission("mlperf-0470")
    assert (asked.world_size, asked.global_batch_size, asked.time_to_train) == (8, 3264, 1748.796)
    found = predict(
        Scenario(
            workload="resnet50-v1.5",
            accelerator="a100-sxm4-80gb",
            world_size=8,
            local_batch_size=408,
            precision="fp16",
            optimizer="sgd",
            framework="mxnet-ngc@2021",
            overlap="fused",
            algorithm="auto",
        )
    )
    curve = curve_without("v1.1", "resnet50", shipped_submissions())
    samples = curve.smallest_samples * (1 + 3264 / curve.critical_batch_size)
    assert 35 < samples / IMAGES < 42  # 35 epochs were needed
    # every 4 epochs and at the end: after 4, 8, ... 36 and 40 for 38.5 epochs
    evaluations = 1 + math.ceil(samples / IMAGES / 4 - 1)
    # 50,000 images are 15.3 batches of 3264
    time = samples / 3264 * found.iteration_time + evaluations * 16 * found.terms["forward_time"]
    row = _answer(specs, "mlperf-0470")
    assert row.time_to_train == pytest.approx(time, rel=1e-9)
    assert row.error == pytest.approx(time / 1748.796 - 1, rel=1e-9)


@pytest.mark.any_version
def test_report_says_what_the_rows_say(specs, anchored):
    """The lines people read first, from the shipped rows again; and the section stands in the report."""
    report = (folder("validation") / "report.md").read_text("utf-8")
    told = report[report.index("Against the goal") :]
    line = r"^\* .*: median absolute error ([\d.]+)%, n (\d+): (met|missed)\.$"
    shown = re.findall(line, told, re.MULTILINE)
    with MEASURED.open(newline="", encoding="utf-8") as file:
        times = {row["run_id"]: float(row["time_to_train"]) for row in csv.DictReader(file)}
    submitted = compare_mlperf("specs", changes=SUBMITTED)
    modes = (specs, submitted, anchored, compare_mlperf("anchored", earlier=True))
    for answers, (error, n, verdict) in zip(modes, shown, strict=True):
        wrong = [
            abs(each.time_to_train / times[each.submission.run_id] - 1)
            for each in answers
            if each.time_to_train is not None
        ]
        assert len(wrong) == int(n)
        assert 100 * median(wrong) == pytest.approx(float(error), abs=0.051)
        assert verdict == ("met" if median(wrong) <= 0.15 else "missed")
    assert [found.n for found in headline(*modes).values()] == [int(n) for _, n, _ in shown]
    assert section() in report


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
        each._replace(samples_per_second=2 * each.samples_per_second)
        if each.round == "v1.0" and each.samples_per_second
        else each
        for each in rows
    ]
    after = {each.submission.run_id: each for each in compare_mlperf("anchored", faster)}
    for before in compare_mlperf("anchored", rows):
        now = after.get(before.submission.run_id)
        if now is None or before.time_to_train is None:
            continue
        if before.submission.round == "v1.0":
            assert now.time_to_train == before.time_to_train
        elif before.submission.round == "v1.1":
            assert now.time_to_train < before.time_to_train


@pytest.mark.any_version
def test_a_forecast_sees_no_later_round():
    """v1.0 comes out the same whether v1.1 was held or not; hindsight is another answer."""
    early = ROUNDS[: ROUNDS.index("v1.1")]
    before = compare_mlperf("anchored", [s for s in shipped_submissions() if s.round in early], earlier=True)
    after = compare_mlperf("anchored", earlier=True)
    assert before == [each for each in after if each.submission.round in early]
    assert {each.submission.round for each in after if each.error is not None} >= {"v1.0", "v1.1"}
    assert all(each.error is None for each in after if each.submission.round == "v0.5")


@pytest.mark.parametrize("run_id", ["mlperf-0470", "mlperf-0382"])  # ResNet-50, BERT
def test_an_anchored_machine_is_met_again(run_id):
    """Anchored on its twin of another round, it comes out at its own time: evaluations count once."""
    twin = _submission(run_id)
    others = [
        each
        for each in shipped_submissions()
        if each.benchmark == twin.benchmark
        and each.round != twin.round
        and not each.accelerator.startswith("a100")
    ]
    rows = [twin._replace(run_id="twin", round="v1.0"), twin, *others]
    found = _answer(compare_mlperf("anchored", rows), run_id)
    assert found.time_with(samples=twin.samples_to_target) == pytest.approx(twin.time_to_train, rel=0.03)
    if twin.benchmark == "resnet50":  # whose rate has no evaluations in it
        # where a fused buffer closes one message earlier the iteration jumps: messages
        # gather while one is on its way, so times in between are not met
        assert found.samples_per_second == pytest.approx(twin.samples_per_second, rel=1e-2)


def test_curve_takes_the_same_target_where_it_can():
    assert curve_without("v1.1", "bert", shipped_submissions()).same_target
    assert not curve_without("v0.7", "bert", shipped_submissions()).same_target
    assert not curve_without("v0.5", "resnet50", shipped_submissions()).same_target
    few = [each for each in shipped_submissions() if each.round == "v0.5"]
    with pytest.raises(Refused, match="no other round"):
        curve_without("v0.5", "resnet50", few)


@pytest.mark.parametrize(
    ("run_id", "framework"),
    [
        ("mlperf-0011", "tensorflow@2018"),
        ("mlperf-0470", "mxnet-ngc@2021"),
        ("mlperf-0436", "paddle-ngc@2021"),
        ("mlperf-0106", "pytorch-apex@2020"),
        ("mlperf-0232", "pytorch-ngc@2021"),  # the row says MXNet
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
    assert (target_of(early), target_of(late)) == ("masked-LM accuracy 0.712", "masked-LM accuracy 0.720")
    # at 3M and 3.5M samples
    assert evaluation_of(early).evaluations(3.4e6, 256) == 2
    # the submitted configuration of 448 sequences evaluates every 150,000
    assert evaluation_of(late).evaluations(2_700_096, 448) == 19


def test_joined_kernels_take_traffic_and_no_arithmetic():
    for name, benchmark, length in (("resnet50-v1.5", "resnet50", None), ("bert-large", "bert", 256)):
        whole = workload(name, length)
        less = joined(whole, benchmark, "v1.1")
        assert less.training_flops == whole.training_flops
        assert less.parameters == whole.parameters
        assert less.column("forward_elements").sum() < whole.column("forward_elements").sum()
        assert (less.column("backward_elements") <= whole.column("backward_elements")).all()
    assert all(0 <= rule.forward <= 1 and 0 <= rule.backward <= 1 for rule in JOINED)
    # no BERT of v0.7 joined anything: the same traffic
    assert (
        joined(workload("bert-large", 256), "bert", "v0.7").column("forward_elements")
        == workload("bert-large", 256).column("forward_elements")
    ).all()


def test_replayed_graphs_cost_the_host_nothing():
    asked = _submission("mlperf-0468")
    scenario = scenario_of_submission(asked, CATALOGUE)
    plain, replay, before = (
        iteration_time(scenario, "resnet50", round_, CATALOGUE, frozenset(changes))
        for round_, changes in (("v1.1", ()), ("v1.1", ("replayed",)), ("v0.6", ("replayed",)))
    )
    assert plain == before == pytest.approx(predict(scenario).iteration_time, rel=1e-12)
    assert replay < 0.7 * plain


def test_bert_by_the_model_of_transformers():
    """Rounds that no list of kernels had seen: closer than by layers' traffic, and no row is lost."""
    ours, layers = (
        [
            each.error
            for each in compare_mlperf("specs", changes=changes)
            if each.submission.benchmark == "bert" and each.submission.round in LATER
        ]
        for changes in (SUBMITTED, KERNELS)
    )
    assert [error is None for error in ours] == [error is None for error in layers]
    missed, before = (median(abs(error) for error in each if error is not None) for each in (ours, layers))
    assert missed < 0.25 < 0.4 < before


def test_one_kernel_for_attention_and_graphs_are_faster():
    asked = next(each for each in shipped_submissions() if each.benchmark == "bert" and each.round == "v1.1")
    scenario = scenario_of_submission(asked, CATALOGUE)
    late, first = (
        iteration_time(scenario, "bert", round_, CATALOGUE, SUBMITTED) for round_ in ("v1.1", "v0.7")
    )
    assert late < first


def test_command(specs):
    """``validate --kind mlperf`` prints the same rows, for people and as JSON."""
    arguments = ["validate", "--kind", "mlperf"]
    answer = json.loads(CliRunner().invoke(command, [*arguments, "--json"], catch_exceptions=False).output)
    assert [row["run_id"] for row in answer["rows"]] == [each.submission.run_id for each in specs]
    shown = errors_by(specs)["all"]["all"]
    assert answer["summary"]["all"]["all"]["median_absolute_error"] == shown.median_absolute_error
    told = CliRunner().invoke(command, [*arguments, "--mode", "anchored"], catch_exceptions=False).output
    assert "325 submissions" in told
    assert "bert v1.1" in told


def test_who_is_refused(specs):
    reasons = {each.reason.split(": ")[0] for each in specs if each.reason}
    assert reasons <= {"accelerator without a spec", "no machine that large"}
    families = {each.submission.accelerator.split("-")[0] for each in specs}
    assert families == {"v100", "v100s", "a100", "a30", "a40", "h100", "rtx"}
    assert sum(each.error is not None for each in specs) > 200
    assert errors_by(specs)["benchmark"]["bert"].n + errors_by(specs)["benchmark"]["resnet50"].n == (
        errors_by(specs)["all"]["all"].n
    )


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("time_to_train", "time", "no column time_to_train"),
        ("v0.5", "v9", "expected one of v0.5"),
        ("8268.012", "-1", "line 2, column time_to_train: '-1'; expected a positive number"),
        ("8268.012", "nan", "expected a positive number"),
        (",1,8,8,", ",1,8,16,", "expected nodes x accelerators_per_node"),
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
    read = read_submissions(path)
    assert ([each.run_id for each in read.known], by_reason(read.skipped)) == (["mlperf-0021"], {reason: 1})


@pytest.mark.parametrize("held", ROUNDS)
def test_rounds_to_come_have_a_name(tmp_path, held):
    """The data end at v2.1; a file of later rounds is read, and its year follows from the round's name."""
    path = tmp_path / "rows.csv"
    text = "".join(MEASURED.read_text("utf-8").splitlines(keepends=True)[:2])
    path.write_text(text.replace(",v0.5,2018,", f",{held},,").replace(",1,8,8,", ",1,,8,"))
    (row,) = read_submissions(path).known
    assert (row.round, row.accelerators_per_node) == (held, 8)
    assert row.year == 2018 + {"0": 0, "1": 3, "2": 4, "3": 5, "4": 6, "5": 7}[held[1]] + (
        {"5": 0, "6": 1, "7": 2}[held[3]] if held[1] == "0" else 0
    )
    assert ROUNDS[-1] == "v5.1"
