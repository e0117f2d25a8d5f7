"""``perfmodel validate``: what it reads, what it anchors on, what it reports, and that nothing is dropped."""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from perfmodel.core.errors import InputError
from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy import Row, Run, compare, read_runs, shipped_runs
from perfmodel.evidence.accuracy.anchors import Anchors
from perfmodel.evidence.accuracy.baselines import constant_utilisation
from perfmodel.evidence.accuracy.collectives import collective_compare, collective_rows
from perfmodel.evidence.accuracy.ledger.held_out import learned_bytes
from perfmodel.evidence.accuracy.mlperf import mlperf_section
from perfmodel.evidence.accuracy.report import achievable
from perfmodel.evidence.accuracy.report.error_statistics import GROUPS, compare_own, errors, summary
from perfmodel.evidence.accuracy.report.headline import Headline, headline, percent
from perfmodel.evidence.accuracy.report.measured_report import report, write_report
from perfmodel.evidence.accuracy.report.misses import LIMIT, beyond_limit, explained
from perfmodel.evidence.accuracy.report.out_of_sample_file import NAME, shipped_rows, write_rows
from perfmodel.evidence.accuracy.scenarios import Refused, scenario_of_run
from perfmodel.evidence.fitting import out_of_sample
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import main
from perfmodel.interfaces.commands import validate as command
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict

MEASURED = folder("validation") / "measured"
SHARED = Path(__file__).parents[1].parent / "shared" / "measured"
ROW_KEYS = [
    "run_id",
    "source",
    "measured_iteration_time",
    "predicted_iteration_time",
    "low_80",
    "high_80",
    "mode",
    "anchor",
    "reason",
]
ONE = {
    "run_id": "one",
    "source": "us",
    "locator": "table 1",
    "framework": "PyTorch",
    "workload": "resnet50",
    "seq_len": "",
    "accelerator": "v100-sxm2-16gb",
    "node": "dgx-1v",
    "intra_link": "",
    "inter_link": "",
    "nics_per_node": "",
    "nodes": "1",
    "accelerators_per_node": "1",
    "world_size": "1",
    "precision": "fp32",
    "local_batch_size": "64",
    "accumulation_steps": "1",
    "strategy": "single",
    "servers": "",
    "overlap": "none",
    "input": "synthetic",
    "samples_per_second": "",
    "iteration_time": "0.2",
    "trust": "A",
}
EIGHT = ONE | {
    "run_id": "eight",
    "accelerators_per_node": "8",
    "world_size": "8",
    "strategy": "all-reduce",
    "overlap": "bucketed",
    "iteration_time": "0.21",
}


@pytest.fixture(scope="module")
def specs_rows() -> list[Row]:
    return compare(shipped_runs(), "specs")


@pytest.fixture(scope="module")
def anchored_rows() -> list[Row]:
    return compare(shipped_runs(), "anchored")


@pytest.fixture
def of_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report without the sections that are the same whatever its rows: their fits take twenty seconds."""
    for name in (
        "transformers.transformer_section",
        "report.provenance_section",
        "mlperf.mlperf_section",
        "report.refused_section",
    ):
        monkeypatch.setattr(f"perfmodel.evidence.accuracy.{name}.section", lambda *_: "")
    monkeypatch.setattr("perfmodel.evidence.accuracy.mlperf.mlperf_section.covered", dict)
    monkeypatch.setattr("perfmodel.evidence.accuracy.report.measured_report.coverages", list)


def write(path: Path, *rows: dict[str, str]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def runs(tmp_path: Path, *rows: dict[str, str]) -> list[Run]:
    return read_runs(write(tmp_path / "runs.csv", *rows))


def cli(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["validate", *map(str, arguments)])


def answer_once(patch: pytest.MonkeyPatch) -> None:
    """Let the command predict the same rows once, however often it shows them."""
    patch.setattr(command, "_answer", cache(command._answer))


# --- reading


def test_every_shipped_run_is_read() -> None:
    assert len(shipped_runs()) == 3001
    assert len({run.run_id for run in shipped_runs()}) == 3001


@pytest.mark.skipif(not SHARED.is_dir(), reason="the published files are not beside the checkout")
@pytest.mark.parametrize(
    "file",
    sorted(
        path.name
        for path in MEASURED.glob("*.csv")
        if path.name not in ("mlperf.csv", "achievable_peaks.csv", "transformer_runs.csv")
    ),
)  # of those, some rows and columns come along: other tests compare those
def test_measurements_are_as_published(file: str) -> None:
    assert (MEASURED / file).read_bytes() == (SHARED / file).read_bytes()


@pytest.mark.parametrize("file", sorted(path.name for path in MEASURED.glob("*.csv")))
def test_every_source_is_named(file: str) -> None:
    with (folder("validation") / "sources.csv").open(newline="", encoding="utf-8") as text:
        known = {row["key"]: row for row in csv.DictReader(text)}
    with (MEASURED / file).open(newline="", encoding="utf-8") as text:
        used = {row["source"] for row in csv.DictReader(text)}
    assert used <= set(known)
    assert all(known[key]["title"] and known[key]["conditions"] and known[key]["trust"] for key in used)


@pytest.mark.parametrize(
    ("column", "cell", "wanted"),
    [
        ("world_size", "2", "1 nodes x 1 accelerators"),
        ("world_size", "0", "whole number"),
        ("world_size", "two", "whole number"),
        ("world_size", "1.5", "whole number"),
        ("iteration_time", "-0.2", "a positive number"),
        ("iteration_time", "nan", "a positive number"),
        ("iteration_time", "inf", "a positive number"),
        ("iteration_time", "0.2s", "a positive number"),
        ("local_batch_size", "99999999999999999999", "whole number"),
        ("precision", "fp8", "fp32, tf32"),
        ("strategy", "ring", "single, all-reduce"),
        ("overlap", "some", "none, wfbp"),
        ("input", "fast", "synthetic"),
        ("trust", "A+", "A, B, C, D"),
    ],
)
def test_bad_cell_is_named(tmp_path: Path, column: str, cell: str, wanted: str) -> None:
    path = write(tmp_path / "runs.csv", ONE, ONE | {"run_id": "two", column: cell})
    with pytest.raises(InputError) as error:
        read_runs(path)
    assert f"line 3, column {column}" in str(error.value)
    assert wanted in str(error.value)


@pytest.mark.any_version
@pytest.mark.parametrize("column", ONE)
@pytest.mark.parametrize("row", [ONE, EIGHT], ids=["one", "eight"])
def test_a_blank_cell_is_not_stated(tmp_path: Path, row: dict[str, str], column: str) -> None:
    """In any column: what is left open takes its default, or the row is passed over and says what lacks."""
    found = compare(runs(tmp_path, row | {column: ""}, ONE | {"run_id": "another"}))[0]
    decisive = {
        "workload": "no workload",
        "accelerator": "no accelerator",
        "precision": "no precision",
        "local_batch_size": "no batch size",
        "iteration_time": "no measured time",
    }
    assert found.reason == decisive.get(column)
    if column not in decisive:
        whole = compare(runs(tmp_path, row))[0]
        assert found.predicted == pytest.approx(whole.predicted, rel=0.4)
    if column not in ("run_id", "source"):
        assert found.run.run_id == row["run_id"]


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        (("2", "4", ""), (2, 4, 8)),
        (("2", "", "8"), (2, 4, 8)),
        (("", "4", "8"), (2, 4, 8)),
        (("", "", "1"), (1, 1, 1)),
        (("", "", "8"), (0, 0, 8)),
        (("2", "", ""), (2, 0, 0)),
    ],
)
def test_two_counts_tell_the_third(tmp_path: Path, counts: tuple[str, ...], told: tuple[int, ...]) -> None:
    cells = dict(zip(("nodes", "accelerators_per_node", "world_size"), counts, strict=True))
    row = compare(runs(tmp_path, EIGHT | {"strategy": ""} | cells))[0]
    assert (row.run.nodes, row.run.accelerators_per_node, row.run.world_size) == told
    assert row.reason == (None if told[2] else "no world size")
    assert row.run.strategy == ("single" if told[2] == 1 else "all-reduce")


@pytest.mark.any_version
@pytest.mark.skipif(not SHARED.is_dir(), reason="the published files are not beside the checkout")
@pytest.mark.parametrize(
    ("kind", "file", "rows"),
    [
        ("training", "training_runs.csv", 3791),
        ("transformers", "transformer_runs.csv", 2853),
        ("collectives", "collectives.csv", 4443),
        ("mlperf", "mlperf.csv", 957),
    ],
)
def test_published_files_are_read_as_they_are(
    kind: str, file: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever they hold that nobody models is counted by reason, and every row is in one count."""
    answer_once(monkeypatch)
    told = json.loads(cli("--kind", kind, "--data", SHARED / file, "--json").stdout)
    refused = told["summary"]["refused_by_reason"]
    if kind == "mlperf":
        predicted = sum(row["time_to_train"] is not None for row in told["rows"])
        assert refused["unknown benchmark"] == 489
    else:
        assert len(told["rows"]) == rows
        predicted = sum(row["reason"] is None for row in told["rows"])
    assert predicted + sum(refused.values()) == rows
    assert predicted > 0.2 * rows
    shown = cli("--kind", kind, "--data", SHARED / file)
    assert shown.exit_code == 0
    for reason, count in refused.items():
        assert f"{count:>6}  {reason}" in shown.stdout


def test_single_on_two_accelerators_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 2, column strategy"):
        runs(tmp_path, ONE | {"nodes": "2", "world_size": "2"})


def test_run_id_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"line 3: run_id 'one' is also on line 2"):
        runs(tmp_path, ONE, ONE)


@pytest.mark.parametrize("column", ["run_id", "seq_len", "iteration_time", "trust"])
def test_missing_column_is_named(tmp_path: Path, column: str) -> None:
    with pytest.raises(InputError, match=f"line 1: no column {column}"):
        runs(tmp_path, {key: cell for key, cell in ONE.items() if key != column})


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        (b"", "no column run_id"),
        (b"\xff\xfe\x00", "not UTF-8"),
        ((",".join(ONE) + "\n").encode(), "no runs"),
        ((",".join(ONE) + "\na,b\n").encode(), "2 cells"),
        ((",".join(ONE) + '\n"a\n').encode(), "not CSV"),
    ],
)
def test_file_that_is_no_table(tmp_path: Path, content: bytes, wanted: str) -> None:
    path = tmp_path / "runs.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=wanted):
        read_runs(path)


def test_columns_in_any_order_and_others_passed_over(tmp_path: Path) -> None:
    turned = dict(reversed([*ONE.items(), ("remark", "x")]))
    assert runs(tmp_path, turned) == runs(tmp_path, ONE)


# --- from a run to a scenario


def test_row_becomes_the_scenario_it_describes(tmp_path: Path) -> None:
    cells = EIGHT | {
        "nodes": "4",
        "accelerators_per_node": "2",
        "node": "hkbu-4x2080ti",
        "accelerator": "rtx-2080-ti",
        "intra_link": "pcie3-x16",
        "inter_link": "ethernet-10g-tcp",
        "nics_per_node": "1",
        "strategy": "parameter-server",
        "servers": "3",
        "overlap": "wfbp",
        "accumulation_steps": "2",
        "input": "real",
    }
    assert scenario_of_run(runs(tmp_path, cells)[0], Catalogue.built_in()) == Scenario(
        workload="resnet50",
        accelerator="rtx-2080-ti",
        node="hkbu-4x2080ti",
        accelerators_per_node=2,
        world_size=8,
        intra_link="pcie3-x16",
        inter_link="ethernet-10g-tcp",
        nics=1,
        strategy="parameter-server",
        servers=3,
        overlap="wfbp",
        precision="fp32",
        framework="pytorch",
        local_batch_size=64,
        accumulation_steps=2,
        input="real",
    )


def test_part_of_each_node_takes_part() -> None:
    """Four nodes with one accelerator each talk over the network; one node with four does not."""
    job = {"workload": "vgg16", "accelerator": "t4", "node": "aws-g4dn.12xlarge", "world_size": 4}
    spread = predict(Scenario(**job, accelerators_per_node=1))
    packed = predict(Scenario(**job))
    assert (spread.scenario["nodes"], spread.scenario["accelerators_per_node"]) == (4, 1)
    assert (packed.scenario["nodes"], packed.scenario["accelerators_per_node"]) == (1, 4)
    assert spread.communication_time != packed.communication_time


def test_no_more_accelerators_than_a_node_has() -> None:
    with pytest.raises(InputError, match=r"accelerators_per_node 9: dgx-1v has 8"):
        predict(Scenario(node="dgx-1v", accelerators_per_node=9, world_size=9))


def test_unknown_machine_falls_back_to_one_that_holds_the_run(tmp_path: Path) -> None:
    unknown = runs(tmp_path, EIGHT | {"node": "somebody's"})[0]
    crowded = runs(tmp_path, EIGHT | {"node": "", "accelerator": "t4"})[0]
    assert scenario_of_run(unknown, Catalogue.built_in()).node is None
    assert scenario_of_run(crowded, Catalogue.built_in()).node == "pcie-workstation-8gpu"


def test_servers_not_stated_are_as_many_as_worker_machines(tmp_path: Path) -> None:
    cells = EIGHT | {"strategy": "parameter-server", "nodes": "2", "accelerators_per_node": "4"}
    assert scenario_of_run(runs(tmp_path, cells)[0], Catalogue.built_in()).servers == 2


def test_a_table_names_things_as_people_do(tmp_path):
    as_typed = runs(tmp_path, EIGHT | {"accelerator": "NVIDIA H100 80GB HBM3", "workload": "ResNet-50"})[0]
    by_id = runs(tmp_path, EIGHT | {"accelerator": "h100-sxm5-80gb", "workload": "resnet50"})[0]
    said, meant = (predict(scenario_of_run(run, Catalogue.built_in())) for run in (as_typed, by_id))
    assert said.scenario == meant.scenario
    assert said.iteration_time == meant.iteration_time


AS_TYPED = {
    "accelerator": ("V100 SXM2 16GB", "v100-sxm2-16gb"),
    "framework": ("TF", "TensorFlow"),
    "node": ("DGX 1V", "dgx-1v"),
    "intra_link": ("NVLink2_cube_mesh", "nvlink2-cube-mesh"),
    "inter_link": ("IB EDR", "ib-edr-100g"),
    "precision": ("FP32", "fp32"),
    "strategy": ("DDP", "all-reduce"),
    "overlap": ("Horovod", "fused"),
    "input": ("Synthetic", "synthetic"),
}


@pytest.mark.parametrize("column", AS_TYPED)
def test_a_cell_is_read_as_people_spell_it(tmp_path, column):
    as_typed, meant = (runs(tmp_path, EIGHT | {column: cell})[0] for cell in AS_TYPED[column])
    scenario = scenario_of_run(as_typed, Catalogue.built_in())
    assert scenario == scenario_of_run(meant, Catalogue.built_in())
    assert predict(scenario).warnings == predict(scenario_of_run(meant, Catalogue.built_in())).warnings


def test_what_is_unknown_is_named_and_an_empty_table_left_out(tmp_path):
    unknown = ["zx1", "zx2", "zx2", "zx3", "zx4", "zx5", "zx6"]
    rows = [ONE | {"run_id": str(i), "accelerator": name} for i, name in enumerate(unknown)]
    shown = cli("--data", write(tmp_path / "a.csv", *rows)).stdout
    assert "7  unknown accelerator: zx2, zx1, zx3, zx4 and 2 more" in shown
    assert "──" not in shown
    mixed = cli("--data", write(tmp_path / "a.csv", *rows, EIGHT)).stdout
    assert "──" in mixed
    cells = "measurement_id,source,collective,intra_link,size_bytes,time,world_size,nodes"
    (tmp_path / "b.csv").write_text(f"{cells}\n1,s,AllReduce,pcie9,1000,1e-3,4,1\n")
    shown = cli("--kind", "collectives", "--data", tmp_path / "b.csv").stdout
    assert "1  unknown link: pcie9" in shown
    assert "──" not in shown
    head, first = (MEASURED / "mlperf.csv").read_text("utf-8").splitlines()[:2]
    (tmp_path / "c.csv").write_text(f"{head}\n{first.replace(',resnet50,', ',gnmt,', 1)}\n")
    shown = cli("--kind", "mlperf", "--data", tmp_path / "c.csv").stdout
    assert "1  unknown benchmark: gnmt" in shown
    assert "──" not in shown


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"accelerator": "v1000"}, "unknown accelerator: v1000"),
        ({"accelerator": "v100"}, "unknown accelerator: v100"),
        ({"workload": "resnet51"}, "unknown workload: resnet51"),
        ({"workload": "bert-base"}, "no sequence length: bert-base"),
        ({"local_batch_size": ""}, "no batch size"),
        ({"precision": ""}, "no precision"),
        ({"iteration_time": ""}, "no measured time"),
        ({"accelerator": "k80", "precision": "bf16"}, "refused by the model: "),
        ({"intra_link": "tin-cans"}, "unknown link: tin-cans"),
        ({"inter_link": "string"}, "unknown link: string"),
        ({"inter_link": "infiniband"}, "unknown link: infiniband"),
        # a family's name: which member, nobody says
        ({"workload": "vit"}, "unknown workload: vit"),
        ({"workload": "bert", "seq_len": "128"}, "unknown workload: bert"),
    ],
)
def test_what_cannot_be_predicted_stays_in_with_a_reason(
    tmp_path: Path, cells: dict[str, str], reason: str
) -> None:
    rows = compare(runs(tmp_path, ONE | {"node": ""} | cells, EIGHT))
    assert rows[0].predicted is None
    assert rows[0].reason is not None
    assert rows[0].reason.startswith(reason)
    assert rows[1].predicted is not None
    found = summary(rows)
    assert (found["rows"], found["refused"], found["n"]) == (2, 1, 1)
    assert found["refused_by_reason"] == {reason.split(": ")[0]: 1}


def test_a_network_is_known_however_it_is_spelled(tmp_path: Path) -> None:
    rows = compare(runs(tmp_path, ONE, ONE | {"run_id": "two", "workload": "ResNet-50"}))
    assert rows[0].predicted == rows[1].predicted is not None


def test_time_follows_from_the_rate(tmp_path: Path) -> None:
    """Eight accelerators with 64 images each at 2560 images/s take 0.2 s."""
    row = compare(runs(tmp_path, EIGHT | {"iteration_time": "", "samples_per_second": "2560"}))[0]
    assert row.measured == pytest.approx(0.2)


# --- anchors


def test_prediction_of_the_anchor_itself_would_be_a_circle(tmp_path: Path) -> None:
    one, eight = compare(runs(tmp_path, ONE, EIGHT), "anchored")
    assert (one.predicted, one.anchor) == (None, None)
    assert one.reason is not None
    assert one.reason.startswith("one accelerator")
    assert (eight.anchor, eight.reason, eight.naive) == ("unique", None, 0.2)


def test_anchored_prediction_starts_from_the_measured_time(tmp_path: Path) -> None:
    """Eight accelerators take at least what one was measured to take: no communication beats none."""
    eight = compare(runs(tmp_path, ONE, EIGHT), "anchored")[1]
    double = compare(runs(tmp_path, ONE | {"iteration_time": "0.4"}, EIGHT), "anchored")[1]
    assert eight.predicted is not None
    assert double.predicted is not None
    assert eight.predicted >= 0.2
    assert double.predicted >= 0.4


SIXTEEN = {"run_id": "sixteen", "nodes": "2", "world_size": "16", "iteration_time": "0.24"}


def test_several_machines_are_predicted_from_the_time_of_one(tmp_path: Path) -> None:
    """With as many accelerators in each; a part of one anchors nothing, nor does another strategy."""
    half = EIGHT | {"run_id": "four", "world_size": "4", "accelerators_per_node": "4", "nodes": "1"}
    read = runs(tmp_path, ONE, half, EIGHT, EIGHT | SIXTEEN)
    one, four, eight, sixteen = compare(read, "anchored-machine")
    assert [row.reason and row.reason.split(":")[0] for row in (one, four, eight)] == ["one machine"] * 3
    assert (sixteen.anchor, sixteen.reason, sixteen.naive) == ("unique", None, 0.21)
    scenario = scenario_of_run(read[3], Catalogue.built_in(), 0.21, 8)
    assert sixteen.predicted == predict(scenario).iteration_time > 0.21
    assert Anchors(read).of(read[3]._replace(strategy="parameter-server"), machine=True) is None
    assert Anchors(read[:2]).of(read[3], machine=True) is None
    alone = read[3]._replace(accelerators_per_node=1)
    assert Anchors(read).of(alone, machine=True) == Anchors(read).of(alone) == (0.2, True)


def test_only_training_is_anchored_on_a_machine(tmp_path: Path) -> None:
    for kind in ("mlperf", "collectives", "transformers", "claims"):
        result = cli("--kind", kind, "--mode", "anchored-machine")
        assert result.exit_code == 2
        assert "anchored-machine is of training" in result.stderr
    result = cli("--mode", "anchored-machine", "--report", tmp_path / "report.md")
    assert result.exit_code == 2
    assert "leave --mode anchored-machine out" in result.stderr
    result = cli("--mode", "anchored-machine", "--data", write(tmp_path / "own.csv", EIGHT, EIGHT | SIXTEEN))
    assert "each from the time of one machine" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("source", "them"),
        ("framework", "MXNet"),
        ("workload", "resnet101"),
        ("seq_len", "128"),
        ("accelerator", "p100-sxm2-16gb"),
        ("precision", "amp"),
        ("local_batch_size", "32"),
        ("accumulation_steps", "2"),
        ("input", "real"),
    ],
)
def test_anchor_must_be_of_the_same_plan(tmp_path: Path, column: str, cell: str) -> None:
    read = runs(tmp_path, ONE | {column: cell}, EIGHT)
    assert Anchors(read).of(read[1]) is None
    row = compare(read, "anchored")[1]
    assert (row.predicted, row.anchor) == (None, None)
    assert row.reason is not None
    assert row.reason.startswith("unanchored")


@pytest.mark.parametrize(("column", "cell"), [("node", ""), ("locator", "table 2"), ("overlap", "unknown")])
def test_anchor_may_differ_in_the_rest(tmp_path: Path, column: str, cell: str) -> None:
    read = runs(tmp_path, ONE | {column: cell}, EIGHT)
    assert Anchors(read).of(read[1]) == (0.2, True)


def test_of_several_anchors_those_at_the_same_place_count(tmp_path: Path) -> None:
    elsewhere = ONE | {"run_id": "two", "locator": "table 9", "iteration_time": "0.9"}
    read = runs(tmp_path, elsewhere, ONE, EIGHT)
    assert Anchors(read).of(read[2]) == (0.2, True)


@pytest.mark.parametrize(
    ("other", "unique"), [("0.2", True), ("0.219", True), ("0.22", True), ("0.221", False), ("0.45", False)]
)
def test_anchors_are_averaged_geometrically_and_may_differ_by_a_tenth(
    tmp_path: Path, other: str, unique: bool
) -> None:
    read = runs(tmp_path, ONE, ONE | {"run_id": "two", "iteration_time": other}, EIGHT)
    anchor = Anchors(read).of(read[2])
    assert anchor is not None
    assert anchor.iteration_time == pytest.approx(math.sqrt(0.2 * float(other)))
    assert anchor.unique is unique
    row = compare(read, "anchored")[2]
    assert row.anchor == ("unique" if unique else "ambiguous")
    found = summary([row])
    assert (found["n"], found["ambiguous"]["n"]) == ((1, 0) if unique else (0, 1))


@pytest.mark.any_version
def test_anchors_of_the_shipped_runs(anchored_rows: list[Row]) -> None:
    """Counted in the published file by the rule in words, with another tool: a group-by on nine columns."""
    singles: dict[tuple[str, ...], list[tuple[str, float]]] = {}
    keys = "source framework workload seq_len accelerator precision local_batch_size accumulation_steps input"
    expected = {}
    lines = learned_bytes("training_runs.csv").decode().splitlines()
    cells = [row for row in csv.DictReader(lines) if row["iteration_time"]]
    for row in cells:
        if row["world_size"] == "1":
            key = tuple(row[name] for name in keys.split())
            singles.setdefault(key, []).append((row["locator"], float(row["iteration_time"])))
    for row in cells:
        near = singles.get(tuple(row[name] for name in keys.split()))
        if row["world_size"] != "1" and near:
            times = [time for place, time in near if place == row["locator"]] or [time for _, time in near]
            expected[row["run_id"]] = "unique" if max(times) / min(times) <= 1.1 else "ambiguous"
    got = {row.run.run_id: row.anchor for row in anchored_rows if row.anchor}
    assert got == expected
    assert Counter(expected.values())["unique"] > 1000


# --- baselines and statistics


def test_naive_utilisation_comes_from_other_sources(tmp_path: Path) -> None:
    """Others reach 40 % of the peak where we reach 80 %: the naive answer is twice our time."""
    ours, theirs, third = runs(
        tmp_path,
        ONE,
        ONE | {"run_id": "two", "source": "them", "iteration_time": "0.4"},
        ONE | {"run_id": "three", "source": "third", "trust": "C", "iteration_time": "9"},
    )
    naive = constant_utilisation([ours, theirs, third], Catalogue.built_in())
    assert naive(ours) == pytest.approx(0.4)
    assert naive(theirs) == pytest.approx(0.2)
    assert constant_utilisation([ours], Catalogue.built_in())(ours) is None


def test_naive_answer_does_not_know_communication(tmp_path: Path) -> None:
    ours, eight = runs(tmp_path, ONE, EIGHT | {"source": "them"})
    assert constant_utilisation([ours], Catalogue.built_in())(eight) == pytest.approx(0.2)


def test_statistics_by_hand() -> None:
    """-50, -10, 0, +20 %: 20 on average, 15 in the middle, 10 too fast; two within 10, three within 20."""
    assert errors([-0.5, -0.1, 0.0, 0.2]) == pytest.approx((4, 0.2, 0.15, -0.1, 0.5, 0.75))
    assert errors([]) == (0, None, None, None, None, None)


def test_a_large_source_does_not_drown_the_others_in_the_mean_over_sources(tmp_path: Path) -> None:
    """Three rows of one source and one of another: over rows 3 to 1, over sources 1 to 1."""
    rows = compare(
        runs(
            tmp_path,
            *(ONE | {"run_id": f"ours {i}"} for i in range(3)),
            ONE | {"run_id": "theirs", "source": "them", "iteration_time": "1"},
        )
    )
    found = summary(rows)
    ours, theirs = (found["by"]["source"][name]["mean_absolute_error"] for name in ("us", "them"))
    assert found["mean_absolute_error"] == pytest.approx((3 * ours + theirs) / 4)
    assert (found["sources"], found["mean_over_sources"]) == (2, pytest.approx((ours + theirs) / 2))


def test_each_anchored_line_has_one_beside_it_that_counts_ambiguous_anchors_too() -> None:
    lines = {line.name: line for line in headline(shipped_rows("specs"), shipped_rows("anchored"))}
    every = [row for row in shipped_rows("anchored") if row.error is not None and row.run.trust in ("A", "B")]
    doubtful = [row for row in every if row.anchor == "ambiguous"]
    told = [name for name in lines if name.endswith(", with ambiguous anchors")]
    assert len(told) == 4
    for name in told:
        assert lines[name].of["n"] > lines[name.removesuffix(", with ambiguous anchors")].of["n"]
        assert lines[name].bar == lines[name.removesuffix(", with ambiguous anchors")].bar
    assert lines["anchored, all strategies, with ambiguous anchors"].of["n"] == len(every)
    together = summary(shipped_rows("anchored"))
    assert together["with_ambiguous"]["n"] == together["n"] + together["ambiguous"]["n"] == len(every)
    both = lines["anchored, all-reduce and parameter servers, with ambiguous anchors"]
    alone = lines["anchored, all-reduce and parameter servers"]
    assert both.of["n"] - alone.of["n"] == sum(
        row.run.strategy != "data-parallel-single-process" for row in doubtful
    )


@pytest.mark.any_version
@pytest.mark.usefixtures("of_its_rows")
def test_what_the_report_calls_missed_is_every_bar_that_a_line_breaks() -> None:
    """Over rows and over sources, with ambiguous anchors and without."""
    of = {"mean_absolute_error": 0.10, "median_absolute_error": 0.05, "mean_over_sources": 0.12}
    line = Headline("anchored", (0.09, 0.055), of | {"coverage_80": 0.70})
    assert line.missed() == [
        "anchored: mean 10.0 %, bar 9.0 %",
        "anchored: 80 % covers 70.0 %, bar 75.0 %",
    ]
    assert line.missed_over_sources() == ["anchored: 12.0 %, bar 9.0 %"]
    assert line._replace(of=of | {"mean_over_sources": 0.08}).missed_over_sources() == []
    text = report(shipped_rows("specs"), shipped_rows("anchored"))
    told = text[text.index("\nMissed: ") : text.index("## What was measured")]
    for each in headline(shipped_rows("specs"), shipped_rows("anchored")):
        for missed in (*each.missed(), *each.missed_over_sources()):
            assert missed in told


def test_trust_c_stands_apart_and_d_is_left_out(tmp_path: Path) -> None:
    rows = compare(
        runs(tmp_path, *(ONE | {"run_id": letter, "trust": letter} for letter in ("A", "B", "C", "D")))
    )
    found = summary(rows)
    assert (found["n"], found["trust_c"]["n"], found["trust_d"]) == (2, 1, 1)
    assert found["by"]["source"]["us"]["n"] == 2


@pytest.mark.any_version
@pytest.mark.parametrize("mode", ["specs", "anchored"])
def test_nothing_is_dropped(mode: str, specs_rows: list[Row], anchored_rows: list[Row]) -> None:
    rows = specs_rows if mode == "specs" else anchored_rows
    found = summary(rows)
    assert [row.run for row in rows] == list(shipped_runs())
    assert all((row.predicted is None) == (row.reason is not None) for row in rows)
    assert sum(found["refused_by_reason"].values()) == found["refused"]
    predicted_d = sum(row.run.trust == "D" and row.error is not None for row in rows)
    counted = found["n"] + found["ambiguous"]["n"] + found["trust_c"]["n"] + predicted_d
    assert counted + found["refused"] == found["rows"] == 3001
    for groups in found["by"].values():
        assert sum(group["n"] for group in groups.values()) == found["n"]


@pytest.mark.any_version
def test_only_what_cannot_be_asked_is_refused(specs_rows: list[Row]) -> None:
    """Of known networks on known accelerators 295 rows state no batch, 22 more no sequence length."""
    assert summary(specs_rows)["refused_by_reason"] == {
        "no batch size": 295,
        "unknown workload": 38,
        "unknown accelerator": 13,
        "no sequence length": 22,
    }


def test_anchored_beats_naive_scaling(anchored_rows: list[Row]) -> None:
    found = summary(anchored_rows)
    assert found["mean_absolute_error"] < found["baseline"]["mean_absolute_error"]
    assert found["median_absolute_error"] < found["baseline"]["median_absolute_error"]


@pytest.mark.published(
    "the rows themselves: linear scaling off by 25 % mean and 18 % median, parameter servers"
)
def test_linear_scaling_on_parameter_servers(anchored_rows: list[Row]) -> None:
    group = summary(anchored_rows)["by"]["strategy"]["parameter-server"]
    assert group["n"] == 74
    assert group["baseline"]["mean_absolute_error"] == pytest.approx(0.25, abs=0.005)
    assert group["baseline"]["median_absolute_error"] == pytest.approx(0.18, abs=0.005)


# --- misses and report


def test_every_source_beyond_the_limit_has_an_entry(specs_rows: list[Row], anchored_rows: list[Row]) -> None:
    beyond = beyond_limit([summary(specs_rows), summary(anchored_rows)])
    sources = {family for family in beyond if family[0] == "source"}
    assert sources <= explained(), f"say why in validation/misses.md: {sorted(sources - explained())}"


def test_misses_speak_of_things_that_were_measured() -> None:
    known = {
        "source": {run.source for run in shipped_runs()},
        "accelerator": {run.accelerator for run in shipped_runs()},
        "workload": {run.workload for run in shipped_runs()},
        "strategy": {run.strategy for run in shipped_runs()},
        "world-size": {str(run.world_size) for run in shipped_runs()},
    }
    assert explained()
    assert all(name in known[kind] for kind, name in explained())


def test_every_family_beyond_the_limit_has_an_entry_and_stands_in_the_report() -> None:
    """However small: the report's own table names them, with n in both modes."""
    text = (folder("validation") / "report.md").read_text("utf-8")
    table = text[text.index("## Beyond") :].split("##")[1]
    rows = re.findall(r"^\| ([a-z-]+) (\S+) \| (\w+) \|", table, re.MULTILINE)
    families = {(kind, name) for kind, name, _ in rows if kind != "family"}
    assert ("workload", "yolov3") in families
    assert families <= explained(), f"say why in validation/misses.md: {sorted(families - explained())}"
    shown = re.search(
        r"^\| workload yolov3 \| yes \| [\d.]+ % \| \d+ \| [\d.]+ % \| \d+ \|$", table, re.MULTILINE
    )
    assert shown


def test_small_families_count(tmp_path: Path) -> None:
    found = beyond_limit([summary(compare(runs(tmp_path, ONE | {"iteration_time": "9"})))])
    assert found["workload", "resnet50"]["specs"]["n"] == 1
    assert ("world-size", "1") in found
    assert ("strategy", "single") in found


def test_a_source_off_by_more_than_the_limit_is_found(tmp_path: Path) -> None:
    row = compare(runs(tmp_path, ONE | {"iteration_time": "9"}))[0]
    assert row.error is not None
    assert abs(row.error) > LIMIT
    assert ("source", "us") in beyond_limit([summary([row])])
    assert ("source", "us") not in explained()


@pytest.mark.any_version
@pytest.mark.refits
def test_report_names_every_source_and_refusal(specs_rows: list[Row], anchored_rows: list[Row]) -> None:
    text = report(specs_rows, anchored_rows)
    for run in shipped_runs():
        assert f"| {run.source} |" in text
    for heading in ("From specs alone", "Anchored on one accelerator", "The worst", "Ambiguous anchors"):
        assert heading in text
    assert mlperf_section.section() in text
    assert "* no batch size: 295" in text
    assert report(specs_rows, anchored_rows) == text


def test_the_shipped_rows_give_the_report_its_first_table() -> None:
    """n, mean, median, the naive ones and what intervals cover: every cell is what the file's rows say."""
    text = (folder("validation") / "report.md").read_text("utf-8")
    lines = headline(shipped_rows("specs"), shipped_rows("anchored"))
    assert len(lines) == 11
    for line in lines:
        bar = " / ".join(map(percent, line.bar)) if line.bar else "-"
        names = ("mean_absolute_error", "median_absolute_error")
        errors_told = (
            [line.of[name] for name in ("mean_over_sources", *names)],
            [line.of["baseline"][name] for name in names],
            [line.of["coverage_80"]],
        )
        own, naive, covered = (" | ".join(map(percent, each)) for each in errors_told)
        assert f"\n| {line.name} | {line.of['n']} | {own} | {bar} | {naive} | {covered} |" in text
    for row in (*shipped_rows("specs"), *shipped_rows("anchored")):
        assert (row.predicted is None) == bool(row.reason)


def test_rows_are_written_to_six_figures_for_every_run_and_mode(
    specs_rows: list[Row], anchored_rows: list[Row], tmp_path: Path
) -> None:
    write_rows(tmp_path / "rows.csv", (*specs_rows, *anchored_rows))
    for path in (tmp_path / "rows.csv", folder("validation") / NAME):
        with path.open(newline="", encoding="utf-8") as file:
            written = list(csv.DictReader(file))
        assert [(row["run_id"], row["mode"]) for row in written] == [
            (row.run.run_id, row.mode) for row in (*specs_rows, *anchored_rows)
        ]
        assert all(len(row["predicted_iteration_time"].split("e")[0].lstrip("0.")) <= 7 for row in written)
        kept = [row["predicted_iteration_time"] != "" for row in written]
        assert kept == [row.predicted is not None for row in (*specs_rows, *anchored_rows)]
    with pytest.raises(InputError, match="cannot be written"):
        write_rows(tmp_path / "nowhere" / "rows.csv", specs_rows)


@pytest.mark.any_version
@pytest.mark.usefixtures("of_its_rows")
def test_report_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.md"
    both = [compare(runs(tmp_path, ONE, EIGHT), mode) for mode in ("specs", "anchored")]
    write_report(path, *both)
    assert path.read_text("utf-8").startswith("# The model against")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["report.md", "runs.csv"]
    monkeypatch.setattr("perfmodel.evidence.accuracy.report.measured_report.report", lambda *_: "another")
    with pytest.raises(InputError, match="cannot be written"):
        write_report(tmp_path / "nowhere" / "report.md", *both)
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_report(tmp_path / "folder", *both)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["folder", "report.md", "runs.csv"]


# --- command line


def test_json_rows_have_exactly_these_keys(tmp_path: Path) -> None:
    result = cli("--data", write(tmp_path / "runs.csv", ONE, EIGHT), "--mode", "anchored", "--json")
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert list(answer) == ["rows", "summary"]
    assert [list(row) for row in answer["rows"]] == [ROW_KEYS, ROW_KEYS]
    assert [row["anchor"] for row in answer["rows"]] == [None, "unique"]
    row = answer["rows"][1]
    assert 0 < row["low_80"] < row["predicted_iteration_time"] < row["high_80"]
    assert answer["summary"]["coverage_80"] in (0, 1)
    assert set(answer["summary"]["by"]) == set(GROUPS)


@pytest.mark.any_version
def test_tables_fit_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_once(monkeypatch)
    for by, group in GROUPS.items():
        result = cli("--by", by)
        assert result.exit_code == 0
        assert max(map(len, result.stdout.splitlines())) <= 80
        assert all(str(group(row)) in result.stdout for row in compare(shipped_runs()[100:101]))
        assert "no batch size" in result.stdout


def test_choices_are_the_groups_there_are() -> None:
    assert tuple(GROUPS) == command.GROUPS


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--data", "nowhere.csv"], "nowhere.csv: cannot be read"),
        (["--data", "."], "cannot be read"),
        (["--kind", "weather"], "'weather'"),
        (["--mode", "traced"], "'traced'"),
        (["--by", "colour"], "'colour'"),
        (["--specs", "nowhere"], "nowhere"),
        (["--report", "nowhere/report.md"], "cannot be written"),
    ],
)
def test_bad_options_end_in_one_line(arguments: list[str], wanted: str) -> None:
    result = cli(*arguments)
    assert result.exit_code == 2
    assert wanted in result.stderr
    assert "Traceback" not in result.output
    assert len(result.stderr.strip().splitlines()) <= 2


@pytest.mark.any_version
@pytest.mark.usefixtures("of_its_rows")
def test_own_runs_are_judged_beside_the_shipped_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Judge:
        of = staticmethod(lambda run: None)

    monkeypatch.setattr(out_of_sample, "with_shipped_runs", lambda runs, *_: asked.append(runs) or Judge)
    data = write(tmp_path / "runs.csv", ONE, EIGHT)
    assert cli("--data", data, "--out-of-sample", "--json").exit_code == 0
    assert cli("--data", data, "--report", tmp_path / "report.md").exit_code == 0
    assert len((tmp_path / NAME).read_text().splitlines()) > 1
    assert asked == [read_runs(data)] * 2


FEW = """run_id,source,workload,accelerator,gpus,local_batch_size,overlap,iteration_time,trust
a,us,resnet50,v100-sxm2-16gb,1,64,,0.13,A
b,us,resnet50,v100-sxm2-16gb,8,64,bucketed,135ms,A
c,them,vgg16,v100-sxm2-16gb,16,64,,0.4,B
"""


@pytest.mark.any_version
@pytest.mark.usefixtures("of_its_rows")
def test_the_file_that_calibrate_learns_from_is_judged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns are options of a scenario: predicted as `predict` does, anchored and in a report too."""
    data = tmp_path / "mine.csv"
    data.write_text(FEW)
    rows = json.loads(cli("--data", data, "--json").stdout)["rows"]
    assert [(row["run_id"], row["source"]) for row in rows] == [("a", "us"), ("b", "us"), ("c", "them")]
    assert [row["measured_iteration_time"] for row in rows] == [0.13, 0.135, 0.4]
    job = {"workload": "resnet50", "accelerator": "v100-sxm2-16gb", "local_batch_size": 64}
    software = predict(Scenario(**job)).scenario["framework"]
    said = predict(Scenario(**job, world_size=8, overlap="bucketed", framework=software))
    assert rows[1]["predicted_iteration_time"] == pytest.approx(said.iteration_time)
    assert said.interval is not None
    assert rows[1]["low_80"] == pytest.approx(said.interval.low_80)
    anchored = json.loads(cli("--data", data, "--mode", "anchored", "--json").stdout)["rows"]
    assert [row["anchor"] for row in anchored] == [None, "unique", None]
    few = [run for run in shipped_runs() if run.source in ("timm", "jcjohnson", "paddle", "mxnet-perf")]
    monkeypatch.setattr(out_of_sample, "shipped_runs", lambda: few)  # beside which it is judged
    assert cli("--data", data, "--report", tmp_path / "report.md").exit_code == 0
    learned = tmp_path / "learned.json"
    refit = CliRunner().invoke(main, ["calibrate", "--refit", "--data", str(data), "--output", str(learned)])
    assert refit.exit_code == 0
    assert json.loads(learned.read_text())["runs"]["all"] == 3


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("overlap", "colour", "line 1: unknown column 'colour'"),
        (",A\nb", ",E\nb", "line 2: column trust: 'E'; expected one of A, B, C, D"),
        ("vgg16", "vgg99", "line 4: unknown workload 'vgg99'"),
    ],
)
def test_a_line_of_few_columns_that_cannot_be_is_named(
    tmp_path: Path, old: str, new: str, wanted: str
) -> None:
    data = tmp_path / "mine.csv"
    data.write_text(FEW.replace(old, new))
    refused = cli("--data", data)
    assert refused.exit_code == 2
    assert wanted in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--plots"], "give --report FILE too"),
        (["--kind", "mlperf", "--report", "r.md"], "leave --kind mlperf out"),
    ],
)
def test_options_that_would_do_nothing_are_refused(arguments: list[str], wanted: str) -> None:
    refused = cli(*arguments)
    assert refused.exit_code == 2
    assert wanted in refused.stderr


def test_own_specs_are_used(tmp_path: Path) -> None:
    """A run on hardware only the user knows is refused without the file, predicted with it."""
    built_in = folder("hardware_specs") / "accelerators" / "v100-sxm2-16gb.toml"
    own = tmp_path / "own"
    own.mkdir()
    text = built_in.read_text("utf-8").replace('id = "v100-sxm2-16gb"', 'id = "mine"')
    (own / "mine.toml").write_text(text, "utf-8")
    data = write(tmp_path / "runs.csv", ONE | {"accelerator": "mine", "node": ""})
    without = json.loads(cli("--data", data, "--json").stdout)["rows"][0]
    within = json.loads(cli("--data", data, "--specs", own, "--json").stdout)["rows"][0]
    assert without["reason"] == "unknown accelerator: mine"
    assert within["predicted_iteration_time"] > 0


def test_help_has_examples_that_run() -> None:
    assert "perfmodel validate --mode anchored --by strategy" in cli("--help").stdout
    assert cli("--mode", "anchored", "--by", "strategy").exit_code == 0


def test_refusal_words() -> None:
    assert str(Refused("no batch size")) == "no batch size"
    assert str(Refused("unknown accelerator", "x")) == "unknown accelerator: x"


@pytest.mark.any_version
def test_own_collectives_are_judged_by_the_shipped_ones() -> None:
    """A source that comes along, given as one's own: the same answers as among all others."""
    every = collective_rows.shipped_measurements()
    own = [each for each in every if each.source == "ml-engineering-a100"]
    among = [
        row for row in collective_compare.compare_collectives(every, True) if row.run.source == own[0].source
    ]
    found = compare_own(own, every, lambda of: collective_compare.compare_collectives(of, True))
    assert [row.to_dict() for row in found] == [pytest.approx(row.to_dict()) for row in among]
    assert len(found) == len(own) > 3


# --- matrix products by themselves


def test_products_are_as_published() -> None:
    with (MEASURED / "achievable_peaks.csv").open(newline="", encoding="utf-8") as file:
        ours = list(csv.DictReader(file))
    assert len(ours) == len(achievable.products()) == 12
    beside = SHARED.parent / "specs" / "achievable_peaks.csv"
    if beside.is_file():
        with beside.open(newline="", encoding="utf-8") as file:
            published = [row for row in csv.DictReader(file) if row["precision"] == "bf16"]
        for mine, theirs in zip(ours, published, strict=True):
            assert theirs["source"].endswith(mine["locator"])
            same = {key: cell for key, cell in mine.items() if key not in ("source", "locator")}
            assert same.items() <= theirs.items()


def test_a_product_by_hand_and_in_the_report() -> None:
    """1024 x 10240 x 5120: 107 GFLOP, which an A100 was measured to do at 271 TFLOP/s, in 396 us."""
    products = achievable.compare_products()
    first = next(each for each in products if each.run.accelerator == "a100-sxm4-80gb")
    flops = 2 * 1024 * 10240 * 5120
    assert flops / first.run.measured == pytest.approx(396e-6, rel=0.002)
    assert first.run.measured < first.run.nominal
    assert 100e12 < 1 / first.predicted < first.run.nominal
    assert first.error == pytest.approx(first.run.measured * first.predicted - 1)
    text = (folder("validation") / "report.md").read_text("utf-8")
    assert achievable.section() in text
    assert f"n {len(achievable.compare_products())} of 12" in text
