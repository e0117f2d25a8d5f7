"""Embedding tables shared out over accelerators: rows touched, exchanged and kept."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel import InputError, collective, explain, predict, sweep
from perfmodel.equations.tables import table_memory_bytes, table_message_bytes, touched_parameters
from perfmodel.model.setting.embedding_tables import tables_apart
from perfmodel.workloads import workload

ROWS = Path(__file__).parents[1] / "validation" / "measured" / "training_runs.csv"
COUNTS = st.integers(1, 10**6)


@given(samples=st.integers(1, 10**6), rows=COUNTS, lookups=st.integers(1, 40), width=st.integers(1, 256))
def test_no_more_rows_are_touched_than_there_are_or_are_looked_up(samples, rows, lookups, width):
    touched = touched_parameters(
        samples, np.array([rows * width * 1.0]), np.array([lookups * width * 1.0]), 1
    )
    assert 0 < touched <= min(rows, samples * lookups) * width * (1 + 1e-12)


def test_touched_rows_are_those_of_random_lookups():
    rows, lookups, draws = 1000, 1500, 400
    generator = np.random.default_rng(1)
    answer = [len(np.unique(generator.integers(0, rows, lookups))) for _ in range(draws)]
    error = np.std(answer) / math.sqrt(draws)
    expected = float(touched_parameters(lookups, np.array([rows * 1.0]), np.array([1.0]), 1))
    # the Poisson law of the formula differs by at most half a row
    assert np.mean(answer) == pytest.approx(expected, abs=4 * error + 0.5)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=40), st.integers(1, 64))
def test_no_dealing_of_whole_tables_needs_less(tables, ranks):
    held = [0] * ranks
    counts = [0] * ranks
    for table in sorted(tables, reverse=True):
        held[held.index(min(held))] += table
    for number in range(len(tables)):
        counts[number % ranks] += 1
    assert table_memory_bytes(sum(tables), max(tables), ranks, 1) <= max(held) * (1 + 1e-12)
    sent = table_message_bytes(1, len(tables), 1, len(tables), ranks)
    assert sent == pytest.approx(max(counts) * ranks)  # tables of one element a sample, dealt out evenly


def test_a_step_does_not_touch_what_it_does_not_look_up():
    """Dense gradients of all tables took 14 times what was measured."""
    few, many = (
        predict(workload="dlrm", accelerator="a100-sxm4-80gb", local_batch_size=32768, embedding=embedding)
        for embedding in ("sharded", "replicated")
    )
    assert few.iteration_time < many.iteration_time / 4
    rows = few.memory.rows
    tables = sum(workload("dlrm").column("parameters")[workload("dlrm").kinds == "embedding"])
    assert rows["tables"] == 4 * tables  # no gradients and no moments of every row
    assert rows["gradients"] < 0.01 * rows["tables"]
    assert many.memory.rows["tables"] == 0
    assert few.defaults.count("--embedding sharded") == 0


def test_tables_are_shared_out():
    one, eight = (predict(workload="dlrm", node="dgx-1v-32gb", world_size=n) for n in (1, 8))
    assert "--embedding sharded" in eight.defaults
    assert eight.scenario["embedding"] == "sharded"
    assert eight.memory.rows["tables"] < one.memory.rows["tables"] / 4
    gradients, tables = eight.traffic
    assert (tables.group, tables.collective, tables.messages) == ("tables", "all-to-all", 2)
    assert gradients.time + tables.time == pytest.approx(eight.communication_time)
    assert gradients.message_bytes < 10e6  # of dense layers alone
    assert one.traffic == []


@pytest.mark.parametrize("ranks", [8, 16])
def test_the_exchange_is_the_all_to_all_of_the_collective_command(ranks):
    answer = predict(workload="dlrm", node="dgx-a100-80gb", world_size=ranks, framework="pytorch@2022")
    tables = answer.traffic[1]
    alone = collective("all-to-all", ranks=ranks, size=tables.message_bytes, node="dgx-a100-80gb")
    assert tables.time == pytest.approx(2 * alone.time, rel=0.1)


@pytest.mark.parametrize(
    ("network", "ranks", "most"),
    [("dlrm", 64, 0.6), ("dlrm", 128, 0.6), ("ncf", 128, 0.6), ("dlrm", 8, 1.1)],
)
def test_accelerators_without_tables_leave_the_adapters_to_others(network, ranks, most):
    """Eight GPUs share four adapters; all of them seemed to send what the fullest does."""
    node = "dgx-1v-32gb"
    answer = predict(
        workload=network, embedding="sharded", world_size=ranks, node=node, framework="pytorch@2022"
    )
    row = answer.traffic[1]
    tables = tables_apart(workload(network)).tables
    mean = answer.scenario["local_batch_size"] * tables.all_looked_up * 2
    assert row.message_bytes == pytest.approx(mean * ranks * math.ceil(tables.number / ranks) / tables.number)
    by_mean, by_fullest = (
        2 * collective("all-to-all", ranks=ranks, size=size, node=node).time
        for size in (mean, row.message_bytes)
    )
    assert 0.99 * by_mean < row.time < most * by_fullest


@pytest.mark.parametrize("ranks", [1, 8, 26, 64, 128])
def test_the_fullest_accelerator_looks_up_and_updates_for_all(ranks):
    """A table belongs to one accelerator, which looks it up for the samples of every other."""
    job = {"workload": "dlrm", "node": "dgx-1v-32gb", "local_batch_size": 2048}
    one, many = (predict(**job, world_size=n) for n in (1, ranks))
    share = ranks * math.ceil(26 / ranks) / 26
    moved = one.terms["forward_time"] + one.terms["backward_time"]
    longer = many.terms["forward_time"] + many.terms["backward_time"] - moved
    assert (longer > 0) == (share > 1)
    tables = tables_apart(workload("dlrm")).tables
    each = -tables.parameters * np.expm1(-2048 * ranks * tables.looked_up / tables.parameters)
    rows = touched_parameters(2048.0, tables.parameters, tables.looked_up, float(ranks))
    assert rows == pytest.approx(max(each.sum() / ranks, each.max()))
    # one accelerator, which has all tables
    assert many.baseline_time == pytest.approx(one.iteration_time, rel=1e-12)
    strong = predict(**job | {"local_batch_size": None}, world_size=ranks, global_batch_size=26 * 8 * 64)
    assert strong.baseline_time == pytest.approx(
        predict(**job | {"local_batch_size": 26 * 8 * 64}).iteration_time
    )


@pytest.mark.parametrize("anchor", [None, "iteration_time=20ms@1"])
def test_a_sweep_of_tables_is_what_predict_says(anchor):
    job = {"workload": "dlrm", "node": "dgx-1v-32gb", "anchor": anchor}
    for batch in ({"local_batch_size": [512, 4096]}, {"global_batch_size": [65536]}):
        table = sweep(**job, **batch, world_size=[1, 8, 16, 64]).table()
        for i in range(len(table["world_size"])):
            asked = {name: int(table[name][i]) for name in ("world_size", *batch)}
            alone = predict(**job, **asked)
            for name in ("iteration_time", "baseline_time", "speedup"):
                assert table[name][i] == pytest.approx(getattr(alone, name), rel=1e-9)


def test_more_accelerators_than_tables_are_told():
    warned = [
        any("stay whole" in w for w in predict(workload="dlrm", world_size=n).warnings) for n in (26, 32)
    ]
    assert warned == [False, True]


def test_racks_slow_the_exchange_of_tables():
    asked = {"workload": "dlrm", "node": "dgx-a100-80gb", "world_size": 64, "rack_nodes": 2}
    flat, narrow = (predict(**asked, oversubscription=factor).traffic[1].time for factor in (1.0, 4.0))
    assert narrow > 1.5 * flat


@pytest.mark.parametrize(
    "better",
    [{"nics": 3}, {"nics": 8}, {"nics": 4, "oversubscription": 1.0}, {"nics": 8, "network_cap": False}],
    ids=str,
)
def test_better_adapters_slow_no_exchange_of_tables_under_a_cap(better):
    """The rank with most tables has all that its machine may send: with more adapters it had less."""
    asked = {"workload": "dlrm", "accelerator": "rtx-a4000", "gpus": 62, "local_batch_size": 77}
    asked |= {"node": "gcp-a2-ultragpu-8g", "inter_link": "roce-400g", "overlap": "bucketed"}
    asked |= {"rack_nodes": 2, "oversubscription": 1.5, "placement": "random", "nics": 2}
    assert predict(**asked | better).iteration_time <= predict(**asked).iteration_time * (1 + 1e-9)


@pytest.mark.parametrize("nics", [1, 4, 8])
def test_it_is_explained_completely(nics):
    answer = explain(workload="dlrm", node="dgx-1v-32gb", world_size=16, nics=nics)
    assert answer.complete
    assert {
        f"tables.{name}" for name in ("touched_parameters", "fullest_activations", "busiest_port_time")
    } <= set(answer.recorded)


def test_networks_are_trained_as_their_trainers_do():
    defaults = {
        name: predict(workload=name, world_size=8).scenario["embedding"]
        for name in ("dlrm", "two-tower", "ncf", "wide-and-deep", "vgg16")
    }
    assert defaults == {
        "dlrm": "sharded",
        "two-tower": "sharded",
        "ncf": "replicated",
        "wide-and-deep": "replicated",
        "vgg16": None,
    }
    servers = predict(workload="dlrm", world_size=8, strategy="parameter-server")
    assert servers.scenario["embedding"] == "replicated"
    assert "--embedding replicated" in servers.defaults


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "resnet50 has no tables"),
        ({"workload": "bert-base"}, "bert-base has no tables"),
        ({"workload": "dlrm", "strategy": "async"}, "goes with strategy all-reduce"),
        ({"workload": "dlrm", "embedding": "dense"}, "replicated"),
    ],
)
def test_what_cannot_be_shared_out_is_refused(asked, words):
    with pytest.raises(InputError, match=words):
        predict(**{"embedding": "sharded", "world_size": 4} | asked)


def test_the_layers_are_the_same_but_for_the_tables():
    whole = workload("dlrm")
    apart = tables_apart(whole)
    assert apart.tables is not None
    assert apart.parameters + apart.tables.all_parameters == whole.parameters
    for field in ("forward_elements", "backward_elements", "forward_flops"):
        assert apart.column(field).sum() == pytest.approx(whole.column(field).sum())
    assert apart.tables.all_looked_up == 26 * 128


BATCH = 65_536
"""Of the whole job where the table of a README says 64k of a GPU: the default of ``--batch_size`` of
``dist_main.py``, which it divides by the GPUs; the last README says 8k for 8."""


@pytest.mark.published("NVIDIA DeepLearningExamples, DLRM for PyTorch, README 2020-2022")
def test_measured_runs_of_dlrm():
    """They are in no fit; before, predictions on one GPU took 2.8 to 14.7 times as long."""
    ratios: dict[str, list[float]] = {"1": [], "8": []}
    with ROWS.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["workload"] == "dlrm":
                asked = {
                    "accelerator": row["accelerator"],
                    "world_size": int(row["world_size"]),
                    "precision": row["precision"],
                    "global_batch_size": int(row["local_batch_size"] or BATCH),
                    "framework": f"pytorch@{row['year']}",
                    "input": "real",
                }
                rate = predict(workload="dlrm", **asked).samples_per_second
                ratios[row["world_size"]].append(float(row["samples_per_second"]) / rate)
    one, eight = (np.array(answer) for answer in ratios.values())
    assert (len(one), len(eight)) == (22, 28)
    assert 0.5 < one.min() < np.median(one) < 1.7
    assert one.max() < 1.8
    assert 0.4 < eight.min() < np.median(eight) < 1.7
    assert eight.max() < 1.9
