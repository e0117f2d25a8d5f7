"""Experts by software: ranks with the same tokens, kernels of experts, unfused norms, nothing hidden."""

from __future__ import annotations

from fnmatch import fnmatchcase

import numpy as np
import pytest

from perfmodel import InputError, explain, explain_row, predict, sweep
from perfmodel.core.files.resources import folder
from perfmodel.evidence.accuracy.measured_table import measured_lines, records
from perfmodel.evidence.accuracy.transformers.transformer_details import with_details
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.laid_out import LaidOut
from perfmodel.model.options.layout import layout_of
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.transformers.search import search

JOB = {
    "workload": "qwen3-30b-a3b",
    "accelerator": "h100-sxm5-80gb",
    "world_size": 8,
    "framework": "transformers@2026",
    "sharding": "zero3",
    "recompute": "none",
    "micro_batch_size": 1,
}


def rows_of(answer):
    return {row.group: row for row in answer.traffic}


@pytest.mark.parametrize(("degree", "replicas"), [(1, 8), (2, 4), (4, 2), (8, 1)])
def test_ranks_with_other_experts_share_the_tokens(degree, replicas):
    answer = predict(**JOB, expert_parallel=degree)
    assert answer.layout["data_parallel"] == replicas
    assert answer.layout.get("token_copies", 1) == degree
    assert answer.scenario["global_batch_size"] == replicas


def test_only_experts_are_divided_among_ranks_with_the_same_tokens():
    one, eight = (predict(**JOB, expert_parallel=degree).terms for degree in (1, 8))
    for same in ("attention_time", "logits_time", "elementwise_time"):
        assert one[same] == pytest.approx(eight[same], rel=1e-9)
    assert eight["products_time"] < one["products_time"]
    assert one["expert_parallel_time"] == 0 < eight["expert_parallel_time"]


def test_their_outputs_are_summed_once_in_each_pass_of_a_layer():
    answer = predict(**JOB, expert_parallel=4)
    summed = rows_of(answer)["expert parts"]
    assert "experts" not in rows_of(answer)  # no all-to-all
    assert (summed.ranks, summed.messages) == (4, 48 * 2)
    assert summed.message_bytes == 4096 * 2048 * 2  # tokens x width in 16 bits


def test_what_is_not_an_expert_is_sharded_over_different_tokens_alone():
    assert rows_of(predict(**JOB, expert_parallel=4))["replicas"].ranks == 2
    assert "replicas" not in rows_of(predict(**JOB, expert_parallel=8))


def test_a_sweep_and_an_explanation_agree_with_a_prediction():
    table = sweep(**JOB, expert_parallel=[1, 2, 4, 8], global_batch_size=8).table()
    for row, degree in enumerate([1, 2, 4, 8]):
        job = JOB | {"global_batch_size": 8, "expert_parallel": degree, "micro_batch_size": 1}
        assert predict(**job).iteration_time == pytest.approx(table["iteration_time"][row], rel=1e-9)
    result = explain(**JOB, expert_parallel=4)
    assert result.complete
    assert result.iteration_time == predict(**JOB, expert_parallel=4).iteration_time


def test_a_search_has_their_layouts_as_a_prediction_times_them():
    job = {name: JOB[name] for name in ("workload", "accelerator", "world_size", "framework")}
    found = search(resolve(LaidOut(**job, micro_batch_size=1), Catalogue.built_in()), 8)
    at = found.layouts
    several = at.expert_parallel > 1
    assert several.any()
    assert np.array_equal(at.token_copies, at.expert_parallel)
    assert (
        at.tensor_parallel * at.pipeline_parallel * at.context_parallel * at.data_parallel * at.token_copies
        == 8
    ).all()
    plain = several & (at.tensor_parallel == 1) & (at.pipeline_parallel == 1) & (at.context_parallel == 1)
    plain &= (at.sharding == 3) & (at.recompute == 0) & (at.micro_batch_size == 1)
    for row in np.flatnonzero(plain).tolist():
        degree = int(at.expert_parallel[row])
        one = predict(**JOB, expert_parallel=degree, global_batch_size=8)
        assert one.iteration_time == pytest.approx(found.iteration_time[row], rel=1e-9)


def test_degrees_that_do_not_divide_name_the_experts():
    with pytest.raises(InputError, match="x expert_parallel = 4 does not divide 6 GPUs"):
        layout_of(6, expert_parallel=4, copies_tokens=True)
    with pytest.raises(InputError, match="the nearest possible: expert_parallel 2"):
        predict(**JOB | {"world_size": 6}, expert_parallel=4)


def test_a_loop_over_experts_launches_kernels_for_each():
    """One token: kernels are too small to hide their launches; 128 experts of 13 kernels, or 5 for all."""
    tiny = JOB | {"sequence_length": 8, "world_size": 1, "sharding": "none", "expert_parallel": 1}
    loop, grouped = (
        predict(**tiny | {"framework": f"transformers@{year}"}).terms["launch_overhead_time"]
        for year in (2025, 2026)
    )
    assert loop - grouped > 48 * 2.6 * (13 * 128 - 5 - (54 - 20)) * 8e-6 * 0.9


def test_unfused_norms_take_time_unless_compiled():
    job = {"workload": "llama-3-8b", "accelerator": "h100-sxm5-80gb", "sharding": "zero3", "world_size": 8}
    fused, unfused = (
        predict(**job, framework=name).terms["elementwise_time"] for name in ("fsdp@2024", "torchtune@2024")
    )
    assert 1.5 < unfused / fused < 4


def test_nothing_is_hidden_where_a_job_says_so():
    job = {"workload": "llama-3-8b", "node": "dgx-h100", "world_size": 16, "tensor_parallel": 2}
    usual, none = (predict(**job, **more) for more in ({}, {"overlap": "none"}))
    for row in (rows_of(none)[group] for group in ("replicas", "tensor")):
        assert row.exposed_time == pytest.approx(row.time)
    assert none.terms.get("contention_time", 0) == 0
    assert none.iteration_time > usual.iteration_time
    with pytest.raises(InputError, match="or say none"):
        predict(**job, overlap="fused")


def test_every_detail_of_a_source_is_of_a_row():
    folder_of = folder("validation") / "measured"
    lines = [
        (name, column, line)
        for name, column in (("transformer_runs", "run_id"), ("transformer_memory", "memory_id"))
        for line in measured_lines(folder_of / f"{name}.csv", (column, "source"), None)
    ]
    details = records(folder("validation") / "transformer_details.csv")
    assert len(details) > 10
    for each in details:
        rows = [
            line
            for _, column, line in lines
            if line.source == each["source"] and fnmatchcase(line.text(column), each["rows"])
        ]
        assert rows, each
        for line in rows:
            cell = with_details(line, "run_id" if line.text("run_id") else "memory_id").text(each["column"])
            assert each["value"] in cell.split("+"), each


def test_a_row_says_what_its_source_adds():
    row = explain_row("primerl-0002", kind="transformers").rows[0]
    also = {each.what: (each.read_as, each.stated) for each in row.readings if each.what.startswith("also: ")}
    assert also["also: options"][0] == "compiled"
    assert "docs/performance.md" in also["also: options"][1]
    shown = {each.what: each.read_as for each in row.readings}
    assert shown["adapters of a node"] == "16"  # of the usual machine, as no link is stated
    assert "fused" in shown["kernels"]
    assert shown["scores of attention"] == "2.6 % of all"
