"""Sweeps whose scenarios differ in their layout: many degrees in one evaluation, each as ``predict`` says."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import perfmodel
from perfmodel import predict
from perfmodel.core.errors import InputError
from perfmodel.decide.sweeps import layout_rows
from perfmodel.model.transformers.many import distinct

ASKED = (
    "world_size",
    "inter_link",
    "tensor_parallel",
    "pipeline_parallel",
    "virtual_stages",
    "context_parallel",
    "expert_parallel",
    "expert_tensor_parallel",
    "sharding",
    "recompute",
    "micro_batch_size",
)
ANSWERS = ("iteration_time", "baseline_time", "communication_time", "scaling_efficiency", "mfu", "nodes")


def several(*values):
    return st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True)


def sweeps():
    return st.fixed_dictionaries(
        {
            "workload": st.sampled_from(["llama-3-8b", "mixtral-8x7b", "bert-large"]),
            "gpus": several(8, 16, 64, 128, 96),
            "inter_link": several("ib-hdr-200g", "ethernet-100g-rdma"),
            "tensor_parallel": several(1, 2, 3, 4, 8),
            "pipeline_parallel": several(1, 2, 4),
            "virtual_stages": several(1, 2),
            "context_parallel": several(1, 2),
            "expert_parallel": several(1, 2, 4),
            "expert_tensor_parallel": several(None, 1, 2, 4),
            "sharding": several(None, "none", "zero1", "zero2", "zero3"),
            "recompute": several(None, "none", "selective", "full"),
            "micro_batch_size": several(None, 1, 2, 6),
            "accumulation_steps": several(1, 4, 8),
            "global_batch_size": st.sampled_from([None, [768, 1536]]),
            "anchor": st.sampled_from([None, "iteration_time=2s@64,tensor_parallel=2"]),
        }
    )


@pytest.mark.any_version
@settings(max_examples=15, deadline=None)
@given(asked=sweeps(), seed=st.integers(0, 2**16))
def test_each_of_many_layouts_is_that_of_predict(asked, seed):
    """Rows drawn of sweeps that cross accelerators, places, degrees, sharding, recomputation and batches."""
    asked = {name: value for name, value in asked.items() if value is not None}
    if "global_batch_size" in asked:
        del asked["accumulation_steps"]
    batch = "global_batch_size" if "global_batch_size" in asked else "accumulation_steps"
    alike = {name: asked[name] for name in ("workload", "anchor") if name in asked}
    columns = (*ASKED, batch, *ANSWERS, "memory_bytes", "low_80", "largest_local_batch_size")
    swept = perfmodel.sweep(node="dgx-a100-80gb", columns=columns, **asked)
    try:
        table = swept.table()
    except InputError:
        assert sum(swept.refused.values()) == len(swept)
        return
    count = len(table["iteration_time"])
    assert count + sum(swept.refused.values()) == len(swept)
    for row in random.Random(seed).sample(range(count), min(count, 12)):
        one = {name: table[name][row] for name in (*ASKED, batch)}
        one = {name: each.item() if hasattr(each, "item") else each for name, each in one.items()}
        answer = predict(node="dgx-a100-80gb", **alike, **{k: v for k, v in one.items() if v is not None})
        for name in ANSWERS[:-1]:
            assert table[name][row] == pytest.approx(getattr(answer, name), rel=1e-9), (name, one)
        assert table["nodes"][row] == answer.scenario["nodes"]
        assert table["memory_bytes"][row] == pytest.approx(answer.memory.bytes, rel=1e-9)
        assert table["largest_local_batch_size"][row] == answer.memory.largest_local_batch_size
        assert table["low_80"][row] == pytest.approx(answer.interval.low_80, rel=1e-9)


def test_parts_stay_small_and_lose_no_row(monkeypatch):
    asked = {
        "workload": "llama-3-8b",
        "gpus": [8, 16, 24, 64],
        "tensor_parallel": [1, 2, 8],
        "sharding": ["zero1", "zero3"],
    }
    whole = perfmodel.sweep(**asked).table()
    monkeypatch.setattr(layout_rows, "ROWS", 5)
    swept = perfmodel.sweep(**asked)
    parts = list(swept.chunks())
    assert max(len(part["fits"]) for part in parts) <= 5
    for name in ("world_size", "tensor_parallel", "sharding", "iteration_time"):
        assert np.concatenate([part[name] for part in parts]).tolist() == whole[name].tolist()


def test_copies_are_kept_where_nothing_shares_a_network_out():
    swept = perfmodel.sweep(
        workload="resnet50", gpus=[1, 8], tensor_parallel=[1, 2], micro_batch_size=[None, 4]
    )
    assert swept.table()["world_size"].tolist() == [1, 8]
    assert sum(swept.refused.values()) == len(swept) - 2
    assert all("resnet50 is no transformer" in reason for reason in swept.refused)


def test_a_layout_that_is_given_is_one_for_transformers_alone():
    swept = perfmodel.sweep(workload=["resnet50", "bert-large"], gpus=8, sharding=[None, "none"])
    assert swept.table()["workload"].tolist() == ["resnet50", "bert-large", "bert-large"]
    assert swept.table()["sharding"].tolist() == [None, None, "none"]
    assert swept.table()["model"].tolist() == ["data-parallel"] * 3
    assert sum(swept.refused.values()) == 1


def test_values_that_share_nothing_out_keep_the_model_of_copies():
    asked = {"workload": "bert-large", "node": "dgx-h100", "gpus": 8, "precision": "bf16"}
    swept = perfmodel.sweep(
        **asked,
        virtual_stages=[2, 1],
        recompute=["full", "none"],
        sharding=["none", "zero1"],
        micro_batch_size=[4, None],
    )
    table = swept.table()
    for shared in (True, False):
        rows = [
            row
            for row in range(len(table["model"]))
            if (table["recompute"][row] == "full" or table["sharding"][row] == "zero1") == shared
        ]
        assert {table["model"][row] for row in rows} == {"transformer" if shared else "data-parallel"}
        assert len(rows) == (12 if shared else 2)
        for row in rows:
            names = ("virtual_stages", "recompute", "sharding", "micro_batch_size")
            one = {name: table[name][row] for name in names if table[name][row] is not None}
            one = {name: getattr(value, "item", lambda value=value: value)() for name, value in one.items()}
            assert table["iteration_time"][row] == pytest.approx(predict(**asked, **one).iteration_time)
    assert sum(swept.refused.values()) == 2
    assert all("--local-batch-size" in reason for reason in swept.refused)
    assert not swept.notes


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 2**50), st.booleans()), min_size=1))
def test_distinct_rows_stand_for_all(rows):
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    first, which = distinct(*columns, 7)
    for column in columns:
        assert np.array_equal(column[first][which], column)
    assert len(first) <= len(rows)


@pytest.mark.parametrize(
    "asked",
    [
        {"workload": ["resnet50", "vgg16"], "input": ["real", "synthetic"], "local_batch_size": [8, 64]},
        {"workload": "bert-large", "strategy": ["all-reduce", "parameter-server"], "node": "dgx-1v"},
        {"workload": "resnet50", "input": "real", "anchor": "iteration_time=0.3s@1", "node": "dgx-1v"},
        {"workload": "llama-3-8b", "tensor_parallel": [1, 2, 8], "input": ["real", "synthetic"]},
    ],
)
def test_start_up_is_a_column_where_it_is_named(asked):
    asked = asked | {"gpus": [1, 4, 8, 16, 24]}
    named = ("startup_time", "epoch_start_time")
    table = perfmodel.sweep(columns=["world_size", *asked, *named], **asked).table()
    assert len(table["startup_time"]) >= 5
    for row in range(0, len(table["startup_time"]), 3):
        one = {name: table[name][row] for name in asked if name != "gpus"}
        one = {name: each.item() if hasattr(each, "item") else each for name, each in one.items()}
        answer = predict(gpus=int(table["world_size"][row]), **one)
        for name in named:
            assert table[name][row] == pytest.approx(getattr(answer, name), rel=1e-9), (name, one)
    assert not set(named) & set(perfmodel.sweep(**asked).columns)


def test_exchanges_that_no_layout_has_are_swept_as_predicted():
    axes = {
        "strategy": ["all-reduce", "parameter-server", "local-sgd"],
        "precision": ["bf16", "fp32"],
        "local_batch_size": [4, 16],
        "world_size": [8, 16],
    }
    swept = perfmodel.sweep(workload="gpt2", node="dgx-a100-80gb", **axes)
    rows = swept.records()
    assert len(rows) == 20  # in fp32 no layout is trained
    for row in rows:
        asked = {name: row[name] for name in axes}
        assert row["iteration_time"] == pytest.approx(
            predict(workload="gpt2", node="dgx-a100-80gb", **asked).iteration_time, rel=1e-12
        ), asked
