"""Mixtures of experts: where they lie, what travels to them, what hides that, and what a search finds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import perfmodel
from perfmodel import InputError, explain, predict, sweep
from perfmodel.core.errors import InputError as Refused
from perfmodel.equations.expert_exchange import (
    distinct_destinations,
    exposed_exchange_time,
    token_message_bytes,
    tokens_of_expert,
    unpaired_in_dualpipe,
)
from perfmodel.equations.pipeline_orders import passes_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.laid_out import LaidOut
from perfmodel.model.setting.resolve import resolve
from perfmodel.model.transformers.search import search

QWEN = {"workload": "qwen3-30b-a3b", "node": "dgx-h100", "gpus": 64, "framework": "megatron-core@2026"}
MIXTRAL = {"workload": "mixtral-8x7b", "node": "dgx-h100", "gpus": 64, "framework": "megatron-core@2026"}
DEEPSEEK = {
    "workload": "deepseek-v3",
    "accelerator": "h800-sxm5-80gb",
    "gpus": 2048,
    "framework": "hai-llm",
    "precision": "fp8",
    "pipeline_parallel": 16,
    "expert_parallel": 64,
    "schedule": "dualpipe",
    "global_batch_size": 15360,
    "sequence_length": 4096,
    "sharding": "zero1",
}


def exchanged(answer):
    """Return the row of the tokens that travel to experts."""
    (row,) = [each for each in answer.traffic if each.group == "experts"]
    return row


# --- equations


@pytest.mark.published(
    "DeepSeek-AI 2024, arXiv:2412.19437, section 2.1.2: at most 4 nodes for 8 of 256 experts"
)
def test_a_routing_limit_reaches_the_nodes_that_draws_reach():
    rng = np.random.default_rng(0)
    reached = []
    for _ in range(4000):
        nodes = rng.choice(8, 4, replace=False)
        experts = rng.choice(
            np.concatenate([np.arange(32 * n, 32 * n + 32) for n in nodes]), 8, replace=False
        )
        reached.append(len({*(experts // 32).tolist()}))
    mean = distinct_destinations(4, 8, 128)
    assert mean == pytest.approx(np.mean(reached), abs=0.02)
    assert round(mean, 1) == 3.6


PLACES = [(1, 2, 8), (2, 2, 8), (4, 3, 12), (8, 8, 64), (8, 2, 8)]


@pytest.mark.parametrize(("places", "top", "experts"), PLACES)
def test_destinations_are_those_of_every_choice(places, top, experts):
    each = experts // places
    if experts <= 12:
        choices = itertools.combinations(range(experts), top)
        mean = np.mean([len({one // each for one in choice}) for choice in choices])
        assert distinct_destinations(places, top, experts) == pytest.approx(mean, rel=1e-9)
    assert 1 <= distinct_destinations(places, top, experts) + 1e-9 <= min(places, top) + 1e-6


def test_every_token_is_computed_whatever_the_degrees():
    """Tokens x experts of a rank x its part of their width: no degree changes the products of a rank."""
    tokens, top, experts, tensor = 4096, 8, 128, 4
    for group, parts in itertools.product((1, 8, 64), (1, 2, 4)):
        each = tokens_of_expert(tokens, top, experts, group, parts, tensor, 1.0)
        assert each * (experts / group) / parts == pytest.approx(tokens * top / tensor)


@pytest.mark.parametrize("stages", [4, 8, 16])
def test_passes_without_a_partner_are_those_of_dualpipe_played(stages):
    """By the order of DualPipe's own passes, to half a micro-batch."""
    orders = passes_of("dualpipe", stages, 2, 4 * stages)
    alone = [
        sum(one.kind == "forward" for one in each) - sum(one.overlaps for one in each) for each in orders
    ]
    assert unpaired_in_dualpipe(stages) == pytest.approx(np.mean(alone), abs=0.5)


def test_passes_without_a_partner_are_those_of_interleaved_warm_up():
    """Megatron-Core's combined 1F1B: 2 (p - 1 - r) + (v - 1) p forward chunks and one more run alone."""
    stages, chunks = 8, 4
    alone = [2 * (stages - 1 - rank) + (chunks - 1) * stages + 1 for rank in range(stages)]
    assert np.mean(alone) / chunks == stages


def test_what_is_hidden_never_exceeds_computation_or_the_exchange():
    assert exposed_exchange_time(5.0, 3.0, 1.0, 0.0) == 2.0
    assert exposed_exchange_time(2.0, 3.0, 1.0, 0.0) == 0.0
    assert exposed_exchange_time(2.0, 3.0, 0.0, 0.5) == 2.0


# --- where experts lie


def test_experts_of_a_node_stay_there_next_to_context_parallelism():
    """Context parallelism does not hold inside experts: 8 neighbours have them, no token leaves a node."""
    job = QWEN | {
        "expert_parallel": 8,
        "context_parallel": 8,
        "sequence_length": 32768,
        "global_batch_size": 64,
    }
    fast, slow = predict(**job), predict(**job, inter_link="ethernet-25g-tcp")
    assert fast.terms["expert_parallel_time"] == slow.terms["expert_parallel_time"]
    assert fast.terms["expert_parallel_time"] < 0.1 * fast.iteration_time
    apart = predict(**job | {"expert_parallel": 64})
    assert apart.terms["expert_parallel_time"] > 3 * fast.terms["expert_parallel_time"]


def test_weights_of_experts_are_divided_by_both_degrees_and_no_other():
    """29 B of 30.5 B weights are of experts."""
    degrees = [(8, 1), (4, 2), (2, 4), (1, 8)]
    asked = QWEN | {"gpus": 8, "tensor_parallel": 8}
    kept = [
        predict(**asked, expert_parallel=group, expert_tensor_parallel=parts).memory.rows["weights"]
        for group, parts in degrees
    ]
    assert kept == [pytest.approx(kept[0])] * 4
    whole = predict(**asked, expert_parallel=1, expert_tensor_parallel=1).memory.rows["weights"]
    of_experts = 2 * 48 * 128 * 3 * 2048 * 768
    assert whole - kept[0] == pytest.approx(of_experts * 7 / 8)


def test_all_ranks_together_hold_every_state_once():
    """With ZeRO 1 a rank keeps 12 B of each parameter over 64 ranks, however experts are divided."""
    job = QWEN | {"tensor_parallel": 4, "sharding": "zero1"}
    kept = [
        predict(**job, expert_parallel=group, expert_tensor_parallel=parts).memory.rows["optimizer"]
        for group, parts in ((1, 1), (1, 4), (8, 1), (16, 4), (32, 2), (64, 1))
    ]
    assert kept == [pytest.approx(12 * 30.53e9 / 64, rel=1e-3)] * 6


@pytest.mark.parametrize(
    ("framework", "parts"),
    [("megatron-core@2026", 1), ("megatron-lm@2026", 4), ("nemo@2024", 4), ("torchtitan@2026", 1)],
)
def test_how_experts_are_split_is_a_fact_of_the_software(framework, parts):
    asked = MIXTRAL | {"framework": framework, "tensor_parallel": 4, "expert_parallel": 8}
    answer = predict(**asked)
    assert answer.layout["expert_tensor_parallel"] == parts
    assert answer.scenario["expert_tensor_parallel"] == parts
    assert predict(answer.scenario).iteration_time == answer.iteration_time
    stated = predict(**asked, expert_tensor_parallel=parts)
    assert stated.iteration_time == answer.iteration_time


def test_parts_of_experts_gather_the_tokens_of_all_their_ranks():
    """An all-gather and a reduce-scatter of k copies of each token, forward; none where experts are whole."""
    asked = MIXTRAL | {"tensor_parallel": 4, "expert_parallel": 8}
    rows = {row.group: row for row in predict(**asked, expert_tensor_parallel=4).traffic}
    row = rows["expert parts"]
    assert row.ranks == 4
    assert row.message_bytes == 2 * 4096 * 4096 * 2  # 2 B, sequence, width, 2 experts a token
    assert row.exposed_time > 0
    assert "expert parts" not in {each.group for each in predict(**asked).traffic}


# --- what travels


def test_tokens_travel_in_8_bits_where_software_sends_them_so():
    ours, megatron = predict(**DEEPSEEK), predict(**DEEPSEEK | {"framework": "megatron-core"})
    narrow = token_message_bytes(1, 7168, 1, 4 / 128)
    ratio = (narrow + 2 * 7168) / (4 * 7168)
    assert exchanged(ours).message_bytes / exchanged(megatron).message_bytes == pytest.approx(ratio)
    in_16 = predict(**DEEPSEEK | {"precision": "bf16"})
    assert exchanged(in_16).message_bytes == exchanged(megatron).message_bytes


def test_a_limit_of_nodes_is_the_networks_own_unless_stated():
    job = DEEPSEEK | {"schedule": "1f1b"}
    times = {nodes: exchanged(predict(**job, routing_nodes=nodes)).time for nodes in (1, 2, 4, 8, 64)}
    assert exchanged(predict(**job)).time == times[4]
    assert list(times.values())[:4] == sorted(times.values())[:4]
    assert times[64] == times[8]  # 64 ranks are on 8 nodes
    of_nodes = distinct_destinations(8, 8, 256) / distinct_destinations(4, 8, 128)
    assert times[8] / times[4] == pytest.approx(of_nodes, rel=0.02)


def test_a_limit_of_nodes_leaves_as_many_as_hold_a_tokens_experts():
    """Of experts in 8 parts a node holds one, so the 8 of a token are on 8 nodes, whatever the limit."""
    job = DEEPSEEK | {"pipeline_parallel": 1, "schedule": None, "tensor_parallel": 8}
    job |= {"expert_parallel": 256, "expert_tensor_parallel": 8}
    times = {nodes: exchanged(predict(**job, routing_nodes=nodes)).time for nodes in (1, 4, 8, 64)}
    assert list(times.values()) == pytest.approx([times[64]] * 4, rel=1e-9)


@pytest.mark.published("DeepSeek-AI 2024, arXiv:2412.19437, section 1: 180,000 H800 hours for 10^12 tokens")
def test_deepseek_v3_takes_what_its_publisher_states():
    """15,360 sequences of 4,096 tokens on 2,048 accelerators: 19.9 s; nothing is fitted to it."""
    published = 180e3 * 3600 / 1e12 * 15360 * 4096 / 2048
    answer = predict(**DEEPSEEK)
    assert answer.iteration_time == pytest.approx(published, rel=0.25)
    assert answer.interval.low_80 < published < answer.interval.high_80
    alone = predict(**DEEPSEEK | {"schedule": "1f1b"})
    row = exchanged(answer)
    assert row.exposed_time < 0.5 * row.time
    assert exchanged(alone).exposed_time == pytest.approx(exchanged(alone).time)


def test_interleaved_stages_hide_the_exchange_of_software_that_can():
    job = MIXTRAL | {"pipeline_parallel": 4, "virtual_stages": 2, "expert_parallel": 8, "gpus": 64}
    job |= {"global_batch_size": 512, "micro_batch_size": 1}
    able = exchanged(predict(**job))
    unable = exchanged(predict(**job | {"framework": "megatron-core@2024"}))
    assert able.exposed_time < 0.6 * able.time
    assert unable.exposed_time == pytest.approx(unable.time)
    few = exchanged(predict(**job | {"global_batch_size": 64}))  # all passes fill and drain the pipeline
    assert few.exposed_time == pytest.approx(few.time)


# --- balance


def test_the_fullest_expert_sets_the_pace():
    job = MIXTRAL | {"expert_parallel": 8, "global_batch_size": 64}
    even, uneven = predict(**job), predict(**job, expert_imbalance=1.4)
    for name in ("products_time", "elementwise_time", "expert_parallel_time"):
        assert even.terms[name] < uneven.terms[name] < 1.41 * even.terms[name]
    assert uneven.terms["attention_time"] == even.terms["attention_time"]
    assert any("--expert-imbalance" in words for words in even.warnings)
    assert not any("--expert-imbalance" in words for words in uneven.warnings)


def test_capacity_bounds_what_every_expert_takes():
    job = MIXTRAL | {"expert_parallel": 8, "global_batch_size": 64}
    times = [predict(**job, capacity_factor=each).terms["products_time"] for each in (0.8, 1.0, 1.25)]
    assert times == sorted(times)
    assert times[1] == predict(**job).terms["products_time"]
    dropped = predict(**job, capacity_factor=1.0)  # shapes are known, and the host waits for none
    assert dropped.terms["launch_overhead_time"] < predict(**job).terms["launch_overhead_time"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"workload": "llama-3-8b", "expert_imbalance": 1.2},
            "imbalance changes nothing without experts",
        ),
        ({"workload": "resnet50", "routing_nodes": 2}, "--routing-nodes changes nothing without experts"),
        ({**MIXTRAL, "routing_nodes": 2}, "--routing-nodes changes nothing without --expert-parallel"),
        (
            {**MIXTRAL, "capacity_factor": 1.0, "expert_imbalance": 1.2},
            "--expert-imbalance changes nothing where",
        ),
    ],
)
def test_an_option_without_effect_says_so(options, words):
    assert any(words in each for each in predict(**{"gpus": 8, "node": "dgx-h100", **options}).warnings)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"workload": "llama-3-8b", "expert_tensor_parallel": 2},
            "the network has no experts",
        ),
        (
            {"expert_tensor_parallel": 3, "gpus": 24},
            "3 does not divide 14336 features",
        ),
        (
            {"expert_parallel": 8, "expert_tensor_parallel": 2},
            "the 8 GPUs of a stage.*nearest",
        ),
        ({"expert_imbalance": 0.5}, "expert_imbalance"),
        ({"capacity_factor": 0}, "capacity_factor"),
        ({"workload": "resnet50", "expert_tensor_parallel": 2}, "expert_tensor_parallel"),
    ],
)
def test_what_no_job_can_have_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        predict(**MIXTRAL | {"gpus": 8} | options)


# --- everywhere else


@pytest.mark.parametrize(
    "more", [{}, {"expert_tensor_parallel": 2, "expert_imbalance": 1.3, "routing_nodes": 2}]
)
def test_an_explanation_is_complete(more):
    job = DEEPSEEK | {"schedule": "interleaved", "virtual_stages": 2, "tensor_parallel": 2} | more
    result = explain(**job)
    assert result.complete
    assert result.iteration_time == predict(**job).iteration_time
    formulas = {equation.formula.rpartition(".")[2] for equation in result.equations}
    assert {"distinct_destinations", "exposed_exchange_time", "overlapped_fraction"} <= formulas


def test_a_sweep_crosses_both_degrees_and_their_balance():
    job = MIXTRAL | {"gpus": 16, "tensor_parallel": 2}
    axes = {
        "expert_parallel": [1, 2, 8],
        "expert_tensor_parallel": [None, 1, 2],
        "expert_imbalance": [1.0, 1.5],
    }
    table = sweep(**job, **axes).table()
    assert len(table["iteration_time"]) == 18
    for row in range(18):
        one = {name: table[name][row] for name in axes}
        one = {name: each.item() if hasattr(each, "item") else each for name, each in one.items()}
        assert predict(**job, **one).iteration_time == pytest.approx(table["iteration_time"][row], rel=1e-9)


def test_a_search_tries_whole_experts_and_parts_like_brute_force():
    """All pairs of degrees of one tensor-parallel degree, one by one by predict."""
    job = {
        "workload": "mixtral-8x7b",
        "node": "dgx-h100",
        "world_size": 16,
        "framework": "megatron-core@2026",
    }
    found = search(resolve(LaidOut(**job, micro_batch_size=1), Catalogue.built_in()), 64)
    layouts = found.layouts
    plain = (layouts.pipeline_parallel == 1) & (layouts.sharding == 1) & (layouts.recompute == 0)
    plain &= (
        (layouts.tensor_parallel == 4) & (layouts.context_parallel == 1) & (layouts.micro_batch_size == 1)
    )
    rows = np.flatnonzero(plain)
    assert len(rows)
    seen = set()
    for row in rows.tolist():
        layout = found.layout(row)
        pair = int(layout.expert_parallel), int(layout.expert_tensor_parallel)
        seen.add(pair)
        degrees = {"tensor_parallel": 4, "expert_parallel": pair[0], "expert_tensor_parallel": pair[1]}
        one = predict(**job, **degrees, sharding="zero1", micro_batch_size=1, global_batch_size=64)
        assert one.iteration_time == pytest.approx(found.iteration_time[row], rel=1e-9)
        assert one.memory.bytes == pytest.approx(found.memory_bytes[row], rel=1e-9)
    able = set()
    for group, parts in itertools.product((1, 2, 4, 8), (1, 4)):
        options = {"tensor_parallel": 4, "expert_parallel": group, "expert_tensor_parallel": parts}
        try:
            one = predict(**job, **options, sharding="zero1", micro_batch_size=1, global_batch_size=64)
        except Refused:
            continue
        able |= {(group, parts)} if one.memory.fits else set()
    assert seen == able


@pytest.mark.published("NVIDIA-NeMo/Megatron-Bridge@0fa501a, scripts/performance/configs; arXiv:2412.19437")
@pytest.mark.parametrize(
    ("job", "batch", "layout"),
    [
        (
            {"workload": "deepseek-v3", "node": "dgx-h100", "world_size": 1024},
            8192,
            {"tensor_parallel": 2, "pipeline_parallel": 8, "virtual_stages": 4, "expert_parallel": 64},
        ),
        (
            {"workload": "qwen3-235b-a22b", "node": "dgx-h100", "world_size": 256},
            2048,
            {"tensor_parallel": 2, "pipeline_parallel": 8, "virtual_stages": 4, "expert_parallel": 32},
        ),
        (
            {"workload": "qwen3-30b-a3b", "node": "dgx-h100", "world_size": 16},
            1024,
            {"tensor_parallel": 1, "pipeline_parallel": 2, "virtual_stages": 12, "expert_parallel": 8},
        ),
        (
            {
                "workload": "deepseek-v3",
                "accelerator": "h800-sxm5-80gb",
                "world_size": 2048,
                "framework": "hai-llm",
                "schedule": "dualpipe",
            },
            15360,
            {"tensor_parallel": 1, "pipeline_parallel": 16, "expert_parallel": 64},
        ),
    ],
    ids=lambda each: each["workload"] if isinstance(each, dict) and "workload" in each else "",
)
def test_published_layouts_are_among_the_candidates(job, batch, layout):
    setting = resolve(LaidOut(**job, precision="fp8", micro_batch_size=1), Catalogue.built_in())
    layouts = search(setting, batch).layouts
    alike = np.ones(len(layouts.sharding), dtype=bool)
    for name, value in (layout | {"expert_tensor_parallel": 1}).items():
        alike &= getattr(layouts, name) == value
    assert alike.any()


def test_layouts_of_experts_start_with_their_degrees():
    found = perfmodel.layouts("mixtral-8x7b", gpus=16, node="dgx-h100", global_batch_size=64)
    for row in found.rows[:5]:
        assert f"--expert-tensor-parallel-size {row.layout['expert_tensor_parallel']}" in row.flags
    only = perfmodel.layouts(
        "mixtral-8x7b", gpus=16, node="dgx-h100", global_batch_size=64, expert_tensor_parallel=2
    )
    assert {row.layout["expert_tensor_parallel"] for row in only.rows} == {2}
