"""Exchanges of a layout: keys and heads between context-parallel ranks; states in groups of replicas."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from click.testing import CliRunner

from perfmodel import layouts, predict, sweep
from perfmodel.core.errors import InputError
from perfmodel.decide.explanations.derivation import derivation
from perfmodel.decide.sensitivity.elasticity import case_of
from perfmodel.equations.context_exchange import head_exchange_bytes, repeated_key_heads, ring_head_share
from perfmodel.equations.hybrid_sharding import group_sum_bytes
from perfmodel.equations.transformer_exchange import context_message_bytes
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import main
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import scenario_of

LONG = {
    "workload": "llama-3-8b",
    "node": "dgx-h100",
    "gpus": 64,
    "global_batch_size": 64,
    "sequence_length": 32768,
}
METHODS = ("ring", "all-gather", "ulysses", "nested")


def rows_of(prediction):
    """Return the rows of a prediction's traffic by group."""
    return {row.group: row for row in prediction.traffic}


def pieces(context, heads, positions):
    """Return the (position, head) pairs of each rank before an all-to-all, and after it, as sets."""
    own = [
        {(position, head) for position in range(positions) if position % context == rank for head in heads}
        for rank in range(context)
    ]
    share = len(heads) // context
    wanted = [
        {(position, head) for position in range(positions) for head in heads[rank * share :][:share]}
        for rank in range(context)
    ]
    return own, wanted


@pytest.mark.parametrize(("context", "heads", "key_heads"), [(2, 8, 8), (4, 8, 4), (4, 8, 2), (8, 8, 1)])
def test_bytes_of_exchanged_heads_are_those_of_a_simulation(context, heads, key_heads):
    """Every rank sends what another needs of its positions; keys are repeated until each rank has one."""
    positions, head_size = 4 * context, 16
    sent_heads = repeated_key_heads(key_heads, context)
    sent = np.zeros(context)
    for count in (heads, sent_heads, sent_heads, heads):  # queries, keys, values, output
        own, wanted = pieces(context, list(range(count)), positions)
        for rank, other in itertools.permutations(range(context), 2):
            sent[rank] += 2 * head_size * len(own[rank] & wanted[other])
    tokens = positions / context
    whole = head_exchange_bytes(tokens, heads, sent_heads, head_size, head_size)
    assert sent == pytest.approx(np.full(context, whole * (context - 1) / context))


@pytest.mark.parametrize(("ring", "inner"), [(4, 1), (2, 2), (4, 2), (2, 4)])
def test_keys_of_a_nested_ring_are_those_of_a_simulation(ring, inner):
    """A rank receives, of its share of the key heads, the positions that its own group lacks."""
    positions, key_heads, head_size, context = 32, 4, 16, ring * inner
    sent_heads = repeated_key_heads(key_heads, inner)
    held = positions // ring  # positions of a group after its all-to-all
    received = (positions - held) * (sent_heads // inner) * 2 * head_size * 2
    share = ring_head_share(sent_heads, key_heads, inner)
    whole = context_message_bytes(1, positions, key_heads * head_size * share)
    assert received == whole * (ring - 1) / ring
    assert context == ring * inner


@pytest.mark.parametrize(("shards", "copies"), [(2, 3), (4, 2), (8, 1), (1, 4)])
def test_groups_of_shards_sum_all_gradients(shards, copies):
    """A reduce-scatter in each group and all-reduces of the shards give every rank its part of the sum."""
    rng = np.random.default_rng(1)
    gradients = rng.normal(size=(copies, shards, 8 * shards))
    scattered = np.stack([np.split(each.sum(0), shards) for each in gradients])
    summed = scattered.sum(0)
    assert np.concatenate(summed) == pytest.approx(gradients.sum((0, 1)))
    assert scattered[0, 0].nbytes == group_sum_bytes(gradients[0, 0].nbytes, shards)


def test_a_ring_is_the_default_and_an_exchange_needs_context():
    assert predict(**LONG, context_parallel=8).iteration_time == (
        predict(**LONG, context_parallel=8, context_method="ring").iteration_time
    )
    alone = [predict(**LONG, context_method=method) for method in METHODS]
    assert len({each.iteration_time for each in alone}) == 1
    assert all(any("--context-parallel" in words for words in each.warnings) for each in alone)


def test_only_a_ring_hides_behind_attention():
    """A gather and all-to-alls are exposed whole; 32k tokens give a ring enough attention to hide behind."""
    made = {each: predict(**LONG, context_parallel=8, context_method=each) for each in METHODS}
    assert made["ring"].terms["context_parallel_time"] == 0
    gathered = rows_of(made["all-gather"])["context"]
    assert gathered.exposed_time == pytest.approx(gathered.time)
    heads = rows_of(made["ulysses"])["heads"]
    assert heads.exposed_time == pytest.approx(heads.time)
    assert heads.message_bytes == 2 * 32768 / 8 * (32 + 8) * 256 / 4
    assert made["ulysses"].terms["context_parallel_time"] == pytest.approx(heads.time)


def test_an_all_to_all_over_nodes_is_bounded_by_adapters():
    """16 ranks on two machines: each sends half of its bytes by one of 8 adapters of 50 GB/s."""
    heads = rows_of(predict(**LONG, context_parallel=16, context_method="ulysses"))["heads"]
    wire = heads.message_bytes / 2 / 50e9
    assert wire < heads.time / heads.messages < 3 * wire + 150e-6
    inside = rows_of(predict(**LONG, context_parallel=8, context_method="ulysses"))["heads"]
    wire = inside.message_bytes * 7 / 8 / 450e9
    assert wire < inside.time / inside.messages < 3 * wire + 150e-6


def test_an_all_to_all_moves_less_than_a_gather_without_shared_key_heads():
    """With as many key heads as heads, c ranks exchange 4/c of the tokens' features, and gather 2 of them."""
    job = {**LONG, "workload": "llama-2-7b"}
    gather = rows_of(predict(**job, context_parallel=8, context_method="all-gather"))["context"]
    heads = rows_of(predict(**job, context_parallel=8, context_method="ulysses"))["heads"]
    assert 4 * heads.message_bytes / gather.message_bytes == pytest.approx(4 / 8 / 2)


def test_a_gather_holds_the_keys_of_all_positions():
    ring, gather = (predict(**LONG, context_parallel=8, context_method=each) for each in METHODS[:2])
    more = 4 * 32768 * 8 * 128
    assert gather.memory.bytes - ring.memory.bytes == pytest.approx(more, rel=0.1)


def test_repeated_key_heads_are_kept_and_named():
    """16 ranks share 8 key heads: each is sent twice, and kept twice."""
    few = predict(**LONG, context_parallel=8, context_method="ulysses")
    many = predict(**LONG, context_parallel=16, context_method="ulysses")
    assert rows_of(few)["heads"].message_bytes == 2 * 4096 * 40 * 256 / 4
    assert rows_of(many)["heads"].message_bytes == 2 * 2048 * 48 * 256 / 4
    assert any("repeated" in words for words in many.warnings)
    assert not any("repeated" in words for words in few.warnings)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"context_parallel": 64, "context_method": "ulysses"}, "the most is 32"),
        ({"context_parallel": 8, "context_method": "nested", "context_inner": 3}, "needs a divisor of 8"),
        ({"context_parallel": 2, "context_method": "nested"}, "needs a divisor of 2"),
        ({"sharding": "zero3", "shard_group": 12}, "12 does not divide"),
    ],
)
def test_impossible_exchanges_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        predict(**LONG, **options)


def test_groups_of_experts_and_shards_divide_each_other():
    job = {"workload": "mixtral-8x7b", "node": "dgx-h100", "gpus": 48, "global_batch_size": 48}
    with pytest.raises(InputError, match="one must divide the other"):
        predict(**job, expert_parallel=8, sharding="zero1", shard_group=12)
    predict(**job, expert_parallel=8, sharding="zero1", shard_group=16)


def test_a_group_changes_nothing_without_sharding():
    plain = predict(**LONG, sharding="none")
    grouped = predict(**LONG, sharding="none", shard_group=8)
    assert grouped.iteration_time == plain.iteration_time
    assert any("--shard-group changes nothing" in words for words in grouped.warnings)


def test_memory_follows_the_group():
    """States of zero3 are divided by the ranks of a group, not by all."""
    job = {**LONG, "framework": "torchtitan", "sharding": "zero3"}
    every, eight = predict(**job), predict(**job, shard_group=8)
    for name in ("weights", "gradients", "optimizer"):
        assert eight.memory.rows[name] == pytest.approx(8 * every.memory.rows[name])
    assert predict(**job, shard_group=64).memory.bytes == every.memory.bytes
    assert predict(**job, shard_group=64).iteration_time == pytest.approx(every.iteration_time)


def test_groups_inside_nodes_leave_only_sums_to_the_network():
    job = {**LONG, "framework": "torchtitan", "sharding": "zero3", "shard_group": 8}
    fast, slow = (rows_of(predict(**job, inter_link=link)) for link in ("ib-ndr-400g", "ib-hdr-200g"))
    assert fast["copies"].ranks == 8
    assert fast["copies"].message_bytes == pytest.approx(fast["replicas"].message_bytes / 8)
    assert slow["copies"].time > 1.3 * fast["copies"].time
    gathers = {**job, "shard_group": 16}
    spans = [
        rows_of(predict(**gathers, inter_link=link))["replicas"].time
        for link in ("ib-ndr-400g", "ib-hdr-200g")
    ]
    assert spans[1] > 1.3 * spans[0]


def test_deferred_scatters_come_once():
    """AutoModel synchronises gradients after the last micro-batch; torchtitan after each."""
    job = {**LONG, "sharding": "zero3", "accumulation_steps": 4, "global_batch_size": 256, "shard_group": 8}
    each = rows_of(predict(**job, framework="torchtitan"))
    last = rows_of(predict(**job, framework="nemo-automodel"))
    assert (each["copies"].messages, last["copies"].messages) == (4, 1)
    assert last["copies"].time < each["copies"].time


def test_a_sweep_agrees_with_predictions():
    axes = {
        "context_parallel": [1, 8, 16],
        "context_method": [None, *METHODS],
        "context_inner": [None, 4],
        "sharding": ["none", "zero3"],
        "shard_group": [None, 16, 24],
    }
    table = sweep(**LONG, **axes, columns=["iteration_time", "memory_bytes", *axes]).table()
    count = len(table["iteration_time"])
    crossed = math.prod(map(len, axes.values()))
    assert 0 < count < crossed
    for row in range(0, count, 7):
        options = {name: table[name][row] for name in axes}
        options = {name: value for name, value in options.items() if value is not None and value == value}
        options = {name: value if isinstance(value, str) else int(value) for name, value in options.items()}
        alone = predict(**LONG, **options)
        assert table["iteration_time"][row] == pytest.approx(alone.iteration_time, rel=1e-12)
        assert table["memory_bytes"][row] == pytest.approx(alone.memory.bytes, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_layouts_keep_the_exchanges_that_are_given(method):
    answer = layouts(
        "llama-3-8b",
        gpus=64,
        node="dgx-h100",
        global_batch_size=64,
        sequence_length=65536,
        framework="torchtitan",
        context_method=method,
        shard_group=16,
    )
    for row in answer.rows[:5]:
        assert row.layout["context_method"] == method
        assert row.layout["sharding"] == "none" or row.layout["shard_group"] == 16
        options = {
            name: row.layout[name]
            for name in (
                "tensor_parallel",
                "pipeline_parallel",
                "virtual_stages",
                "context_parallel",
                "sharding",
                "recompute",
                "micro_batch_size",
            )
        }
        job = {**LONG, "sequence_length": 65536, "framework": "torchtitan"}
        alone = predict(**job, **options, context_method=method, shard_group=16)
        assert alone.iteration_time == pytest.approx(row.iteration_time, rel=1e-9)


LINES = [
    {"context_parallel": 8, "context_method": "all-gather"},
    {"context_parallel": 8, "context_method": "ulysses"},
    {"context_parallel": 16, "context_method": "nested", "context_inner": 8, "recompute": "full"},
    {"sharding": "zero3", "shard_group": 8, "framework": "torchtitan"},
    {"sharding": "zero2", "shard_group": 16, "framework": "deepspeed"},
    {"sharding": "zero1", "shard_group": 8},
]


@pytest.mark.parametrize("options", LINES)
def test_every_number_has_an_origin(options):
    scenario = scenario_of(
        {**LONG, **options} | {"world_size": LONG["gpus"]} if False else _scenario(options)
    )
    result = derivation(case_of(scenario, Catalogue.of(None), calibration(), Conditions(price=1.0)))
    assert [(node.name, node.value) for node in result.gaps] == []


def _scenario(options):
    """Return the options of a long job, by the fields of a scenario."""
    named = {**LONG, **options}
    named["world_size"] = named.pop("gpus")
    return named


def test_anchors_and_the_shell_take_exchanges():
    job = {**LONG, "context_parallel": 8}
    anchored = predict(**job, anchor="iteration_time=5.5s@64,context_method=ulysses")
    assert anchored.iteration_time != predict(**job).iteration_time
    words = "predict --workload llama-3-8b --node dgx-h100 --gpus 64 --context-parallel 8"
    answer = CliRunner().invoke(main, [*words.split(), "--context-method", "ulysses", "--json"])
    assert '"context_method": "ulysses"' in answer.stdout


def test_software_starts_with_the_exchanges():
    options = {"gpus": 64, "node": "dgx-h100", "global_batch_size": 64, "sequence_length": 65536}
    megatron = layouts("llama-3-8b", **options, context_method="nested", shard_group=16).rows
    both = next(
        row for row in megatron if row.layout["context_parallel"] == 8 and row.layout["sharding"] == "zero1"
    )
    copies = 64 // (both.layout["tensor_parallel"] * both.layout["pipeline_parallel"] * 16)
    assert "--cp-comm-type a2a+p2p" in both.flags
    inner = both.layout["context_inner"]
    assert f"--hierarchical-context-parallel-sizes {inner} {8 // inner}" in both.flags
    assert copies == 1 or f"--num-distributed-optimizer-instances {copies}" in both.flags
    titan = layouts(
        "llama-3-8b", **options, framework="torchtitan", shard_group=16, context_method="all-gather"
    ).rows
    flags = next(
        row.flags
        for row in titan
        if row.layout["context_parallel"] == 8 and row.layout["pipeline_parallel"] == 1
    )
    assert "--parallelism.data_parallel_shard_degree 2" in flags


# --- attention to the keys of each rank in turn


IN_TURN = {
    "workload": "llama-3-8b",
    "accelerator": "h100-sxm5-80gb",
    "world_size": 8,
    "sharding": "zero3",
    "recompute": "none",
    "micro_batch_size": 1,
    "sequence_length": 131072,
    "framework": "torchtitan@2025",
}


def test_pytorch_gathers_keys_by_default_and_merges_what_each_rank_makes():
    one, eight = (predict(**IN_TURN, context_parallel=ranks) for ranks in (1, 8))
    assert eight.layout["context_method"] == "all-gather"
    # as many tokens on each rank, which merge seven times, with gradients of eight blocks
    tokens, width = 131072 / 8, 4096
    moved = tokens * width * (38 * 7 + 8 * (10 + 36))
    own = predict(**IN_TURN | {"sequence_length": 131072 // 8}, context_parallel=1)
    merged = eight.terms["elementwise_time"] - own.terms["elementwise_time"]
    rate = 32 * moved / merged
    assert 0.3 * 3.35e12 < rate < 3.35e12  # of the memory
    assert one.terms["context_parallel_time"] == 0


def test_keys_repeated_for_all_heads_are_what_travels():
    """Llama 3 8B has four heads for each of keys."""
    sizes = {
        name: next(
            row
            for row in predict(**IN_TURN | {"framework": name}, context_parallel=8).traffic
            if row.group == "context"
        )
        for name in ("torchtitan@2025", "fsdp@2025")
    }
    repeated, own = (sizes[name].message_bytes for name in ("torchtitan@2025", "fsdp@2025"))
    assert repeated == 4 * own == 4 * 131072 * 4 * 1024


def test_a_gather_next_to_the_first_block_is_hidden_as_long_as_that():
    """Between nodes a gather of many heads is longer than an eighth of attention."""
    far = IN_TURN | {"world_size": 64, "tensor_parallel": 8, "sequence_length": 65536}
    ring = predict(**far, context_parallel=8, context_method="ring").terms["context_parallel_time"]
    gather = predict(**far, context_parallel=8).terms["context_parallel_time"]
    assert gather > ring > 0


def test_whole_sequences_of_some_heads_need_no_long_blocks():
    """MegaScale-MoE runs 8,192 tokens on 8 ranks by Ulysses: 1,024 positions of each, whole in attention."""
    job = {"workload": "mixtral-8x7b", "node": "dgx-h100", "gpus": 64, "global_batch_size": 64}
    job |= {"sequence_length": 8192}
    most = {
        method: max(row.layout["context_parallel"] for row in layouts(**job, context_method=method).rows)
        for method in ("ring", "ulysses")
    }
    assert most["ring"] == 2
    assert most["ulysses"] >= 8
