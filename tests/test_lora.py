"""Adapters of low rank: what is left of a step, its memory and its traffic when weights are frozen."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.decide.explanations import explain
from perfmodel.decide.sweeps import sweep
from perfmodel.evidence.accuracy.transformers.transformer_rows import shipped_transformer_runs
from perfmodel.interfaces.cli import main
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.transformers.held import held_parameters, trained_parameters
from perfmodel.model.transformers.job import job_of

LLAMA = {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 8}
ADAPTED = 16 * (4 * 4096 + (32 + 2 * 8) * 128 + 4096) * 32
"""Rank 16, 32 layers: 4 h, the features of queries, keys and values, and those into the output."""


def test_adapters_have_gradients_and_states_and_frozen_weights_have_none():
    full, lora = predict(**LLAMA, sharding="none"), predict(**LLAMA, sharding="none", lora=16)
    rows = lora.memory.rows
    assert rows["weights"] == pytest.approx(full.memory.rows["weights"] + 2 * ADAPTED, rel=1e-12)
    share = ADAPTED / (full.memory.rows["weights"] / 2)
    for name in ("gradients", "optimizer"):
        assert rows[name] == pytest.approx(share * full.memory.rows[name], rel=1e-3)
    (sent,) = lora.traffic
    (before,) = full.traffic
    assert sent.message_bytes == pytest.approx(before.message_bytes * share, rel=1e-3)


def test_frozen_products_keep_no_inputs():
    """Of a layer and token: the 2 h that the feed-forward part reads, and what its last product reads."""
    full, lora = (predict(**LLAMA, **more).memory.rows["activations"] for more in ({}, {"lora": 16}))
    assert full - lora == pytest.approx(32 * 8192 * 2 * (4096 + 14336))


@pytest.mark.published("NVIDIA DGX Cloud Benchmarking v25.02, llama3/finetuning/README_8b.md: a log's line")
def test_the_published_peak_of_a_run_with_adapters():
    """Llama 3 8B in 16 bits on 16 H100, 4,096 tokens: 16.21 GB kept, 35.48 GB at most, as PyTorch counts."""
    rows = predict(
        workload="llama-3-8b", sequence_length=4096, node="dgx-h100", gpus=16, lora=8, framework="nemo@2025",
        micro_batch_size=1, accumulation_steps=4, precision="bf16",
    ).memory.rows  # fmt: skip
    kept = rows["weights"] + rows["gradients"] + rows["optimizer"]
    assert kept == pytest.approx(16.209e9, rel=0.01)
    assert sum(rows.values()) - rows["reserved"] - rows["allocator"] == pytest.approx(35.475e9, rel=0.1)


def test_products_with_the_gradients_of_weights_are_left_out():
    """Three products become two, and adapters add a few per cent; attention stays."""
    full, lora = predict(**LLAMA), predict(**LLAMA, lora=16)
    ratio = lora.terms["products_time"] / full.terms["products_time"]
    assert 2 / 3 < ratio < 0.72
    assert lora.terms["attention_time"] == full.terms["attention_time"]
    assert lora.terms["elementwise_time"] == full.terms["elementwise_time"]
    assert lora.terms["update_time"] < 0.01 * full.terms["update_time"]
    tokens = lora.scenario["global_batch_size"] * 8192
    products = 8.03e9 - 128256 * 4096  # a table of embeddings has none
    assert (full.model_flops - lora.model_flops) / tokens == pytest.approx(2 * products, rel=1e-3)
    assert lora.hfu == lora.mfu


@settings(max_examples=20, deadline=None)
@given(
    rank=st.integers(1, 256),
    more=st.sampled_from(
        [
            {},
            {"tensor_parallel": 2},
            {"sharding": "zero3"},
            {"recompute": "full"},
            {"pipeline_parallel": 2, "accumulation_steps": 4},
            {"workload": "mixtral-8x7b", "expert_parallel": 8},
            {"framework": "torchtitan"},
        ]
    ),
)
def test_it_costs_less_than_training_all_and_more_with_rank(rank, more):
    full = predict(**LLAMA | more)
    small, large = (predict(**LLAMA | more, lora=each) for each in (rank, 2 * rank))
    assert small.iteration_time < large.iteration_time < full.iteration_time
    assert small.memory.bytes < large.memory.bytes < full.memory.bytes
    assert small.interval.low_80 <= small.iteration_time
    assert small.interval.clipped_at is None


def test_sharded_weights_still_travel():
    full, lora = (predict(**LLAMA, strategy="fsdp", **more) for more in ({}, {"lora": 16}))
    assert lora.traffic[-1].message_bytes > 0.9 * full.traffic[-1].message_bytes
    assert 0.5 * full.traffic[-1].time < lora.traffic[-1].time < full.traffic[-1].time


def test_every_door_says_the_same():
    options = LLAMA | {"lora": 16}
    one = predict(**options)
    assert predict(one.scenario).iteration_time == one.iteration_time
    table = sweep(**LLAMA, lora=[None, 16]).table()
    assert table["iteration_time"][1] == pytest.approx(one.iteration_time, rel=1e-9)
    assert table["mfu"][1] == pytest.approx(one.mfu, rel=1e-9)
    result = explain(Scenario(**options))
    assert result.complete
    assert result.iteration_time == one.iteration_time
    assert "adapter_parameters" in result.to_json()
    found = perfmodel.layouts("llama-3-8b", gpus=8, node="dgx-h100", global_batch_size=8, lora=16)
    row = next(each for each in found.rows if each.words == "dp8 zero1")
    assert row.iteration_time == pytest.approx(one.iteration_time, rel=1e-9)
    assert row.mfu == pytest.approx(one.mfu, rel=1e-9)
    assert row.memory["bytes"] == pytest.approx(one.memory.bytes, rel=1e-9)
    assert row.flags == []
    flags = ["--workload", "llama-3-8b", "--node", "dgx-h100", "--gpus", "8", "--lora", "16", "--json"]
    done = CliRunner().invoke(main, ["predict", *flags])
    assert json.loads(done.stdout)["iteration_time"] == one.iteration_time
    done = CliRunner().invoke(main, ["layouts", *flags, "--global-batch-size", "8"])
    assert json.loads(done.stdout)["layouts"][0]["iteration_time"] == found.rows[0].iteration_time


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workload": "resnet50"}, "lora: resnet50 is no transformer"),
        ({"lora": 5000}, "lora 5000: the most is 4096, the features of a layer"),
        ({"lora": 0}, "lora"),
    ],
)
def test_what_has_no_adapters_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        predict(**LLAMA | {"lora": 16} | options)


def test_measured_rows_that_say_lora_take_the_same_path():
    rows = [run for run in shipped_transformer_runs() if run.case and run.case.stack.adapts]
    assert len(rows) == 19
    for run in rows:
        job = job_of(run.case)
        held = held_parameters(job)
        assert 0.0005 < trained_parameters(job, held).dense / held.dense < 0.004


def test_packed_samples_attend_within_themselves():
    """SQuAD's are of 250 tokens, in sequences of 4,096; the pre-training of the same sources is as it was."""
    sources = ("nemo-24.07", "dgxc-v25.02")
    runs = [run for run in shipped_transformer_runs() if run.case and run.source in sources]
    tuned = [run for run in runs if "LoRA" in run.workload or "SFT" in run.workload]
    assert len(tuned) == 35
    assert all(run.case.model.attended == pytest.approx(250 / 4096) for run in tuned)
    assert all(run.case.model.attended == 1 for run in runs if run not in tuned)
