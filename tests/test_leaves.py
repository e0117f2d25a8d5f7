"""A prediction on traced numbers: the very answers of one on plain numbers, and exact derivatives."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perfmodel.core.tracing.gradients import slopes
from perfmodel.core.tracing.traced import Traced, leaf, plain
from perfmodel.core.tracing.traced_run import tracing
from perfmodel.decide.sensitivity.case import answer, with_numbers
from perfmodel.decide.sensitivity.elasticity import case_of
from perfmodel.decide.sensitivity.inputs import INPUTS
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.layout import DEGREES
from perfmodel.model.prediction.assemble import settled
from perfmodel.model.setting.leaves import COUNTS, with_leaves
from perfmodel.model.step.evaluate import outcome

CATALOGUE = Catalogue.of(None)
STEP = 1e-5
ROUNDED = ("head_size", "vocabulary")
WHOLE = {*COUNTS, *DEGREES, "data_parallel", *ROUNDED} - {"local_batch_size", "accumulation_steps"}
"""Counts that an evaluation rounds or looks things up by: no derivative of theirs is a difference."""
OF_RUNS = {"local_batch_size", "sequence_length"}
"""By these a job is less like its measured runs the further away it is, to either side: a kink."""
SCENARIOS = [
    {"world_size": 1, "workload": "resnet50"},
    {"world_size": 8, "workload": "resnet50", "node": "dgx-1v", "accumulation_steps": 2},
    {"world_size": 32, "workload": "resnet50"},
    {"world_size": 32, "workload": "resnet50", "accelerator": "a100-sxm4-80gb"},
    {"world_size": 32, "workload": "resnet50", "accelerator": "k80"},
    {"world_size": 64, "workload": "bert-base", "accelerator": "h100-sxm5-80gb"},
    {"world_size": 8, "workload": "transformer-base", "framework": "tensorflow"},
    {"world_size": 4, "workload": "alexnet", "overlap": "none"},
    {"world_size": 32, "workload": "resnet50", "overlap": "bucketed", "algorithm": "ring"},
    {"world_size": 32, "workload": "resnet50", "overlap": "wfbp", "algorithm": "tree"},
    {"world_size": 32, "workload": "resnet50", "algorithm": "hierarchical"},
    {"world_size": 32, "workload": "resnet50", "jitter": "exponential:rate=1"},
    {"world_size": 32, "workload": "resnet50", "jitter": "none"},
    {"world_size": 16, "workload": "resnet50", "strategy": "parameter-server", "servers": 4},
    {"world_size": 4, "workload": "resnet50", "strategy": "parameter-server-local"},
    {"world_size": 8, "workload": "resnet50", "input": "real"},
    {"world_size": 8, "workload": "resnet50", "anchor": "iteration_time=0.145s@1"},
    {"world_size": 32, "workload": "resnet50", "overlap": "priority"},
    {"world_size": 32, "workload": "resnet50", "local_batch_size": 48, "overlap": "fused"},
    {"world_size": 32, "workload": "alexnet", "overlap": "optimal", "algorithm": "best"},
    {"world_size": 64, "workload": "resnet50", "algorithm": "torus", "node": "dgx-1v"},
    {"world_size": 4, "workload": "resnet50", "strategy": "data-parallel-single-process"},
    {"world_size": 64, "workload": "resnet50", "rack_nodes": 4, "oversubscription": 3.0},
    {"world_size": 16, "workload": "resnet50", "compression": "topk:0.01"},
    {"world_size": 16, "workload": "vgg16", "compression": "powersgd:4"},
    {"world_size": 16, "workload": "dlrm", "accelerator": "a100-sxm4-80gb"},
    {"world_size": 16, "workload": "resnet50", "strategy": "async"},
    {"world_size": 16, "workload": "resnet50", "strategy": "k-sync", "k": 8},
    {"world_size": 16, "workload": "resnet50", "strategy": "local-sgd", "local_steps": 4},
    {"world_size": 16, "workload": "resnet50", "strategy": "parameter-server", "server_shards": "greedy"},
    {"world_size": 16, "workload": "resnet50", "jitter": "pareto:scale=1,shape=4"},
    {"world_size": 8, "workload": "resnet50", "input": "real", "prefetch_depth": 0, "cache": "ram"},
]
LLAMA = {"workload": "llama2-7b", "accelerator": "h100-sxm5-80gb"}
MIXTRAL = {**LLAMA, "workload": "mixtral-8x7b", "framework": "megatron-core", "world_size": 64}
MEGATRON = {**LLAMA, "framework": "megatron-core", "world_size": 64, "tensor_parallel": 4}
PIPELINE = {**MEGATRON, "pipeline_parallel": 4, "accumulation_steps": 16}
SCENARIOS += [
    {**LLAMA, "world_size": 8, "sharding": "zero3"},
    {**LLAMA, "world_size": 64, "tensor_parallel": 8, "micro_batch_size": 2, "accumulation_steps": 4},
    PIPELINE,
    {**PIPELINE, "virtual_stages": 3},
    {**MEGATRON, "context_parallel": 4, "sequence_length": 32768},
    {**MEGATRON, "precision": "fp8"},
    {**LLAMA, "world_size": 32, "sharding": "zero1", "framework": "megatron-core@2023"},
    {**LLAMA, "world_size": 32, "sharding": "zero2", "accumulation_steps": 4, "framework": "deepspeed"},
    {**LLAMA, "world_size": 32, "sharding": "zero3", "recompute": "full", "framework": "fsdp"},
    {**LLAMA, "world_size": 32, "sharding": "zero3", "recompute": "selective", "framework": "torchtitan"},
    {**LLAMA, "world_size": 8, "sharding": "zero3", "lora": 16},
    {**MIXTRAL, "expert_parallel": 8, "pipeline_parallel": 2, "accumulation_steps": 8},
    {**MIXTRAL, "expert_parallel": 8, "rack_nodes": 2, "oversubscription": 4.0},
    {**MEGATRON, "rack_nodes": 2, "oversubscription": 3.0},
    {**MEGATRON, "anchor": "iteration_time=2s@64"},
    {**MEGATRON, "anchor": "tokens_per_second=3e5@64,tensor_parallel=8; iteration_time=2s@32"},
    {**MEGATRON, "jitter": "lognormal:cv=0.1"},
    {**MEGATRON, "input": "real"},
    {"world_size": 16, "workload": "t5-3b", "accelerator": "a100-sxm4-80gb", "tensor_parallel": 2},
    {"world_size": 16, "workload": "bert-large", "accelerator": "a100-sxm4-80gb", "tensor_parallel": 2},
    {"world_size": 64, "workload": "llama2-7b", "accelerator": "tpu-v4", "tensor_parallel": 8},
    {"world_size": 16, "workload": "llama2-7b", "accelerator": "mi300x", "tensor_parallel": 8},
]


def named(scenario):
    return ",".join(f"{value}" for value in scenario.values())


def evaluated(setting, constants, change):
    """Return one evaluation on changed numbers."""
    with tracing() as trace:
        changed = with_leaves(setting, constants, change)
        trace.learned.update(changed.learned)
        return outcome(changed.setting, changed.constants)


@pytest.mark.any_version
@pytest.mark.parametrize("scenario", SCENARIOS, ids=named)
def test_traced_numbers_give_the_same_answer_and_its_derivatives(scenario):
    setting, constants = settled(scenario, CATALOGUE, calibration())
    values: dict[str, float] = {}

    def traced(value, name, source):
        assert source
        assert np.array_equal(values.setdefault(name, value), value), f"{name} names two numbers"
        return leaf(value, name, source)

    step = evaluated(setting, constants, traced)
    same = outcome(setting, constants)
    assert plain(step.iteration_time) == same.iteration_time
    assert {name: plain(time) for name, time in step.terms.items()} == same.terms
    assert not any(isinstance(time, Traced) for time in same.terms.values())

    exact: dict[str, float] = {}
    kinks = set()
    for each in slopes(step.iteration_time):
        name = each.leaf.leaf.name
        exact[name] = exact.get(name, 0.0) + each.elasticity(same.iteration_time)
        kinks |= {name} if each.is_at_kink else set()
    at_kink = kinks | (OF_RUNS if setting.measured else set())
    # some hundred are of other hardware
    names = [
        name
        for name in sorted(values.keys() - at_kink)
        if name.rpartition(".")[2] not in WHOLE
        and (name in exact or not name.startswith(("efficiency.", "collectives.")))
    ]

    def is_difference(of):
        """Whether the time moves as it should where each of some numbers moves by its share of a step."""
        logs = [
            math.log(
                evaluated(
                    setting,
                    constants,
                    lambda value, name, _, step=step: value * (1 + step * of[name]) if name in of else value,
                ).iteration_time
            )
            for step in (-STEP, STEP)
        ]
        expected = sum(exact.get(name, 0.0) * share for name, share in of.items())
        return (logs[1] - logs[0]) / (2 * STEP) == pytest.approx(expected, abs=1e-6)

    # all at once by shares that no two errors cancel at; where a kink lies that way, one by one
    shares = np.random.default_rng(0).uniform(1, 2, len(names)).tolist()
    if not is_difference(dict(zip(names, shares, strict=True))):
        assert not [name for name in names if not is_difference({name: 1.0})]


@pytest.mark.parametrize(
    "scenario",
    [
        {"world_size": 32, "workload": "resnet50"},
        {"world_size": 16, "workload": "dlrm", "accelerator": "a100-sxm4-80gb"},
        {"world_size": 8, "workload": "resnet50", "input": "real", "anchor": "iteration_time=0.145s@1"},
        {**MIXTRAL, "expert_parallel": 8, "rack_nodes": 2, "oversubscription": 4.0},
    ],
    ids=named,
)
def test_only_numbers_that_a_change_reaches_are_gone_through(scenario):
    case = case_of(scenario, CATALOGUE, calibration(), Conditions())
    for each in INPUTS:
        changed = each.scaled(case, 1.25)
        seen: list[str] = []

        def change(value, name, source, *, changed=changed, seen=seen):
            seen.append(name)
            return changed.multiplied(value, name, source)

        with_leaves(changed.setting, changed.constants, change, changed.reaches)
        some = len(seen)
        with_leaves(changed.setting, changed.constants, change)
        assert some < len(seen) - some
        with with_numbers(changed, changed.multiplied) as whole:
            assert answer(changed) == answer(whole), each.name
