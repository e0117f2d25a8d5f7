"""A sweep says of every scenario what ``predict`` says of it alone."""

from __future__ import annotations

import csv
import json
import math
import random
from typing import Any

import pytest

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.decide.sweeps import sweep
from perfmodel.decide.sweeps.groups import LARGEST_BLOCK
from perfmodel.decide.sweeps.table import answer_columns
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.step.terms import only_of

OPTIONS = tuple(Scenario.model_fields)
SIZES = (1, 2, 3, 8, 12, 16, 64, 500)
LINKS = ("ethernet-10g-tcp", "ib-edr-100g")
LAWS = ("none", "exponential:rate=1", "shifted-exponential:shift=1,rate=4", "lognormal:cv=0.1")
SWEEPS: dict[str, dict[str, Any]] = {
    "links, precisions and overlaps": {
        "workload": ["resnet50", "vgg16", "mobilenet-v2"],
        "accelerator": ["k80", "v100-sxm2-16gb", "h100-sxm5-80gb", "rtx-2080-ti"],
        "precision": ["fp32", "amp", "bf16"],
        "overlap": [None, "none", "wfbp", "bucketed", "priority"],
        "local_batch_size": [1, 32, 100],
        "world_size": SIZES,
        "inter_link": LINKS,
        "intra_link": [None, "pcie3-x16"],
        "nics": [None, 2],
    },
    "algorithms": {
        "workload": ["resnet50", "bert-base"],
        "accelerator": ["v100-sxm2-16gb", "h100-sxm5-80gb"],
        "algorithm": ["auto", "best", "hierarchical", "tree", "leader", "halving-doubling", "hub", "nvls"],
        "overlap": ["none", "bucketed"],
        "world_size": SIZES,
        "local_batch_size": [2, 16],
        "inter_link": LINKS,
    },
    "parameter servers": {
        "strategy": "parameter-server",
        "accelerator": ["p100-sxm2-16gb", "v100-sxm2-16gb"],
        "servers": [None, 2, 7],
        "local_aggregation": [True, False],
        "overlap": [None, "none", "bucketed", "priority"],
        "world_size": SIZES,
        "inter_link": LINKS,
        "jitter": [None, *LAWS],
    },
    "servers of a framework, and machines for them": {
        "strategy": "parameter-server",
        "workload": ["vgg16", "resnet50"],
        "node": "aws-p3.2xlarge",
        "framework": ["tensorflow", "mxnet", "pytorch"],
        "server_shards": [None, "greedy"],
        "server_node": [None, "dgx-1v", "aws-p2.8xlarge"],
        "servers": [None, 2, 7],
        "world_size": SIZES,
        "local_batch_size": [4],
    },
    "one machine": {
        "workload": ["resnet18", "vgg16"],
        "accelerator": ["titan-xp", "rtx-3090", "v100-sxm2-16gb", "tpu-v3"],
        "strategy": ["parameter-server-local", "data-parallel-single-process", "all-reduce"],
        "framework": ["pytorch", "tensorflow", "mxnet", "tensorflow-xla@2020"],
        "world_size": [1, 2, 3, 4, 5, 8, 9],
        "accelerators_per_node": [None, 4],
        "local_batch_size": [4, 64],
        "optimizer": ["none", "sgd", "adam"],
    },
    "a batch that is shared out": {
        "workload": ["resnet50", "bert-large"],
        "accelerator": ["v100-sxm2-16gb", "a100-sxm4-80gb"],
        "global_batch_size": [256, 512, 1000, 8192],
        "accumulation_steps": [1, 2, 4],
        "world_size": SIZES,
        "inter_link": LINKS,
    },
    "samples that are waited for": {
        "workload": ["resnet50", "alexnet", "bert-base"],
        "accelerator": ["k80", "a100-sxm4-80gb"],
        "input": "real",
        "storage": ["local-ssd", "ebs-gp2", "ram"],
        "loader_workers": [None, 3, 40],
        "world_size": SIZES,
        "local_batch_size": [32, 128],
        "accumulation_steps": [1, 3],
        "anchor": [None, "samples_per_second=100@1", "iteration_time=0.3s@1"],
    },
    "a shared batch, anchored, with samples": {
        "accelerator": ["v100-sxm2-16gb", "p100-sxm2-16gb"],
        "node": ["dgx-1v", "aws-p3.16xlarge", "pcie-workstation-4gpu"],
        "input": ["real", "synthetic"],
        "loader_workers": [None, 8],
        "global_batch_size": [512, 960],
        "world_size": [1, 2, 4, 8, 16, 32],
        "anchor": [None, "samples_per_second=300@1"],
        "jitter": [None, "lognormal:cv=0.1"],
    },
    "machines that say what is in them": {
        "node": ["dgx-h100", "dgx-1v", "aws-p3.16xlarge", "pcie-workstation-8gpu"],
        "world_size": [1, 8, 16],
        "local_batch_size": [None, 16],
    },
    "no fp32 at all": {
        "accelerator": ["tpu-v6e", "tpu-v3", "v100-sxm2-16gb"],
        "precision": [None, "fp32", "bf16"],
        "world_size": [1, 4, 8],
    },
    "racks": {
        "accelerator": ["a100-sxm4-80gb"],
        "node": ["dgx-a100-80gb", "pcie-workstation-1gpu"],
        "oversubscription": [1.0, 4.0, 40.0],
        "rack_nodes": [None, 4],
        "placement": ["contiguous", "random"],
        "world_size": SIZES,
        "inter_link": LINKS,
    },
    "NVLink domains of several nodes": {
        "node": ["gb300-nvl72", "gcp-a4x-highgpu-4g"],
        "intra_link": [None, "nvlink5-nvswitch"],
        "accelerators_per_node": [None, 3],
        "strategy": ["all-reduce", "parameter-server"],
        "algorithm": ["auto", "ring", "best", "switch-tree"],
        "oversubscription": [1.0, 4.0],
        "rack_nodes": [8],
        "world_size": [1, 4, 6, 54, 72, 76, 100, 576],
        "inter_link": LINKS,
    },
    "sequences": {
        "workload": ["bert-base", "bert-large"],
        "sequence_length": [64, 128, 512],
        "optimizer": ["adam", "lamb"],
        "accelerator": ["v100-sxm2-32gb", "t4", "mi250x"],
        "precision": ["fp32", "tf32", "fp16", "amp"],
        "world_size": [1, 8, 24],
        "local_batch_size": [1, 8],
    },
    "tables shared out": {
        "workload": ["dlrm", "ncf", "resnet18"],
        "embedding": [None, "replicated", "sharded"],
        "accelerator": ["v100-sxm2-32gb", "tpu-v3"],
        "strategy": ["all-reduce", "parameter-server"],
        "overlap": [None, "fused"],
        "rack_nodes": [2],
        "oversubscription": [1.0, 4.0],
        "anchor": [None, "iteration_time=0.02s@1"],
        "world_size": [1, 8, 16, 40],
        "local_batch_size": [1000, 8192],
        "accumulation_steps": [1, 2],
        "inter_link": LINKS,
    },
    "tables, a batch that is shared out": {
        "workload": ["dlrm", "wide-and-deep"],
        "embedding": [None, "sharded"],
        "global_batch_size": [65536],
        "world_size": [1, 4, 8, 64],
    },
    "merged for each plan": {
        "workload": ["resnet50", "alexnet"],
        "overlap": "fused",
        "world_size": SIZES,
        "local_batch_size": [8, 64],
        "inter_link": LINKS,
        "strategy": ["all-reduce", "parameter-server"],
    },
    "merged for each scenario": {
        "workload": ["resnet18"],
        "overlap": "optimal",
        "world_size": [1, 4, 16],
        "local_batch_size": [8, 64],
        "inter_link": LINKS,
    },
}
SAMPLES = 2000
COUNTS = ("rack_nodes", "nics", "servers", "loader_workers", "accelerators_per_node", "sequence_length")


def _scenario(row: dict[str, Any], strong: bool) -> Scenario:
    """The one scenario a row of a sweep stands for."""
    left_open = "local_batch_size" if strong else "global_batch_size"
    asked = {name: row[name] for name in OPTIONS if name != left_open}
    asked = {name: value for name, value in asked.items() if value is not None and value == value}
    return Scenario(**{name: int(v) if name in COUNTS else v for name, v in asked.items()})


def _expected(scenario: Scenario) -> dict[str, Any]:
    answer = predict(scenario)
    found = {name: getattr(answer, name) for name in answer_columns() if hasattr(answer, name)}
    found |= answer.terms | {"memory_bytes": answer.memory.bytes, "memory_capacity": answer.memory.capacity}
    found |= {n: getattr(answer.memory, n) for n in ("fits", "largest_local_batch_size")}
    assert answer.interval is not None
    found |= {name: getattr(answer.interval, name) for name in ("low_80", "high_80", "low_95", "high_95")}
    found["clipped_at"] = answer.interval.clipped_at
    return found | {"nodes": answer.scenario["nodes"]}


@pytest.mark.any_version
@pytest.mark.parametrize("name", SWEEPS)
def test_every_answer_is_that_of_predict(name):
    asked = SWEEPS[name]
    driven = "data-parallel-single-process" in asked.get("strategy", ())
    columns = answer_columns(one_process=driven)
    found = sweep(columns=(*OPTIONS, *columns), **asked)
    table = found.table()
    rows = len(table["iteration_time"])
    assert rows + sum(found.refused.values()) == len(found)
    chosen = random.Random(name).sample(range(rows), min(rows, math.ceil(SAMPLES / len(SWEEPS))))
    for index in chosen:
        row = {
            column: table[column][index].item()
            if hasattr(table[column][index], "item")
            else table[column][index]
            for column in table
        }
        expected = _expected(_scenario(row, "global_batch_size" in asked))
        expected = (
            dict.fromkeys((*only_of("replicas"), *only_of("one process")) if driven else (), 0.0) | expected
        )
        assert set(expected) == set(columns)
        for column, value in expected.items():
            if isinstance(value, float):
                assert row[column] == pytest.approx(value, rel=1e-9, abs=1e-15), (column, row)
            else:
                assert row[column] == value or (value is None and math.isnan(row[column])), (column, row)


def test_a_profile_is_swept_as_it_is_predicted(tmp_path):
    measured = 'deviation = 0, basis = "measured"'
    path = tmp_path / "profile.toml"
    path.write_text(
        'made_by = "a test"\nfiles = []\nworkload = "vgg16"\naccelerator = "t4"\n'
        'precision = "fp32"\nlocal_batch_size = 16\n'
        f"computation = {{ value = 1.2, {measured} }}\nlaunch_overhead = {{ value = 3e-3, {measured} }}\n"
    )
    for asked in ({}, {"workload": "resnet50", "local_batch_size": [32, 64]}, {"node": "dgx-1v"}):
        found = sweep(profile=str(path), accumulation_steps=[1, 3], world_size=[1, 8, 24], **asked)
        table = found.table()
        assert len(table["iteration_time"]) == len(found)
        for index, time in enumerate(table["iteration_time"]):
            one = {n: int(table[n][index]) for n in ("world_size", "local_batch_size", "accumulation_steps")}
            one |= {name: value for name, value in asked.items() if isinstance(value, str)}
            assert time == pytest.approx(predict(Scenario(profile=str(path), **one)).iteration_time, rel=1e-9)


@pytest.mark.any_version
def test_chunks_stay_small_however_many_scenarios_there_are():
    for sizes in (200, 20_000):
        found = perfmodel.sweep(local_batch_size=range(1, 9), world_size=range(1, sizes + 1))
        chunks = [len(chunk["iteration_time"]) for chunk in found.chunks()]
        assert sum(chunks) == len(found) == 8 * sizes
        assert max(chunks) <= LARGEST_BLOCK


def test_what_cannot_be_is_left_out_and_counted_with_its_reason():
    found = sweep(global_batch_size=[64, 100], world_size=[1, 8], columns=["world_size", "global_batch_size"])
    table = found.table()
    assert sorted(zip(*(table[name].tolist() for name in found.columns), strict=True)) == [
        (1, 64),
        (1, 100),
        (8, 64),
    ]
    assert list(found.refused.values()) == [1]
    assert "a global batch of 100 does not divide over 8 GPUs" in next(iter(found.refused))
    with pytest.raises(InputError, match="none of 1 scenarios can be predicted: a global batch of 100"):
        sweep(global_batch_size=100, world_size=8).table()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"gpu": 3}, "unknown option 'gpu'"),
        ({"workload": ["resnet50", "resnet51"]}, "unknown workload 'resnet51'; nearest: resnet50"),
        ({"world_size": []}, "world_size: expected at least one value"),
        ({"world_size": [1, 0]}, "world_size = 0: expected greater than or equal to 1"),
        ({"world_size": ["many"]}, "world_size = 'many': expected a whole number"),
        ({"local_batch_size": 8, "global_batch_size": 64}, "give one, the other follows"),
        ({"columns": ["iteration"]}, "unknown column 'iteration'; nearest: iteration_time"),
    ],
)
def test_a_slip_is_told_before_anything_is_computed(asked, message):
    with pytest.raises(InputError, match=message):
        sweep(**asked)


def test_the_command_writes_what_the_function_returns(tmp_path, invoke):
    words = ("--gpus", "1-4,16", "--workload", "resnet18,vgg16", "--local-batch-size", "16-48:16")
    expected = sweep(
        world_size=[1, 2, 3, 4, 16], workload=["resnet18", "vgg16"], local_batch_size=[16, 32, 48]
    ).table()
    path = tmp_path / "sweep.csv"
    said = invoke("sweep", *words, "--output", path)
    assert said.stdout == f"30 of 30 scenarios written to {path}\n"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["iteration_time"]) for row in rows] == expected["iteration_time"].tolist()
    assert invoke("sweep", *words, "--csv").stdout == path.read_text()
    told = json.loads(invoke("sweep", *words, "--json").stdout)
    assert [row["iteration_time"] for row in told["rows"]] == expected["iteration_time"].tolist()
    parquet = pytest.importorskip("pyarrow.parquet")
    invoke("sweep", *words, "--output", tmp_path / "sweep.parquet")
    table = parquet.read_table(tmp_path / "sweep.parquet")
    assert table["iteration_time"].to_pylist() == expected["iteration_time"].tolist()
    assert table["workload"].to_pylist() == expected["workload"].tolist()


def test_a_file_may_hold_lists_and_a_failed_write_leaves_nothing(tmp_path, invoke):
    (tmp_path / "many.toml").write_text(
        'gpus = [1, 8]\nworkload = "vgg16"\ninter-link = ["ethernet-10g-tcp"]\n'
    )
    told = json.loads(invoke("sweep", "--scenario", tmp_path / "many.toml", "--json").stdout)
    assert [(row["world_size"], row["workload"]) for row in told["rows"]] == [(1, "vgg16"), (8, "vgg16")]
    (tmp_path / "many.toml").write_text("gpus = [1, 8]\nlocal_batch_size = 16\n")
    words = ("--global-batch-size", "64", "--columns", "global_batch_size", "--json")
    told = json.loads(invoke("sweep", "--scenario", tmp_path / "many.toml", *words).stdout)
    assert [row["global_batch_size"] for row in told["rows"]] == [64, 64]  # an option is laid over the file
    refused = invoke("sweep", "--global-batch-size", "7", "--gpus", "4", "--output", tmp_path / "no.csv")
    assert refused.exit_code == 2
    assert "none of 1 scenarios" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["many.toml"]
    for text, told in (
        ('gpus = [1, 2, "x"]', "gpus = 'x': expected a whole number"),
        ("world-size = [1, 0]", "world-size = 0: expected greater"),
        ("gpuz = 2", "unknown option 'gpuz'; nearest: gpus"),
        ("gpus = 2\nworld_size = 2", "gpus and world_size: give one"),
        ('workload = "resnet5"', "unknown workload 'resnet5'; nearest"),
        ('output = "sweep.csv"', "unknown option 'output'"),  # which is of the shell
    ):
        (tmp_path / "slip.toml").write_text(text)
        said = invoke("sweep", "--scenario", tmp_path / "slip.toml").stderr
        assert said.startswith(f"perfmodel: {tmp_path / 'slip.toml'}: {told}"), said
    (tmp_path / "fine.toml").write_text("gpus = [1, 2]\ncolumns = ['gpus']\n")
    typed = invoke("sweep", "--scenario", tmp_path / "fine.toml", "--workload", "resnet5")
    assert typed.stderr.startswith("perfmodel: unknown workload 'resnet5'")  # not of the file
    odd = invoke("sweep", "--output", tmp_path / "sweep.xlsx")
    assert odd.exit_code == 2
    assert ".csv or .parquet" in odd.stderr


def test_what_does_not_fit_is_marked_in_the_table(invoke):
    words = ("sweep", "--workload", "llama-3-8b", "--node", "dgx-h100", "--gpus", "8")
    shown = invoke(*words, "--micro-batch-size", "1,2").stdout
    assert "fits" in shown
    assert shown.count(" NO ") == 2
    assert "DO NOT FIT: 2 of 2, by memory" in shown
    both = invoke(*words, "--tensor-parallel", "1,8", "--columns", "tensor_parallel,mfu").stdout
    assert "DO NOT FIT: 1 of 2, by memory" in both
    assert "fits" not in invoke("sweep", "--gpus", "1-2").stdout
    asked = invoke("sweep", "--gpus", "1-2", "--columns", "gpus,fits").stdout
    assert asked.count("yes") == 2
