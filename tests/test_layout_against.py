"""A layout that somebody names is held against the first of a search, by what predictions say of both."""

from __future__ import annotations

import pytest

from perfmodel import layouts, predict
from perfmodel.core.errors import InputError
from perfmodel.model.options.layout import Layout
from perfmodel.model.prediction.intervals.ratio import ratio_between
from perfmodel.model.transformers.layout_words import options_of_short, short

JOB = {"workload": "llama-3-70b", "node": "dgx-h100", "gpus": 512, "global_batch_size": 1024}
BRIEF = {"precision": "bf16", "framework": "megatron-core"}


@pytest.mark.parametrize(
    "named",
    [
        {"tensor_parallel": 8, "pipeline_parallel": 4, "virtual_stages": 5, "sharding": "zero1"},
        {"tensor_parallel": 2, "sharding": "zero3", "recompute": "full"},
        {"tensor_parallel": 8, "pipeline_parallel": 8, "schedule": "zb-h1", "sharding": "zero1"},
    ],
)
def test_a_named_layout_is_what_predict_says_of_it(named):
    text = ",".join(f"{name.replace('_', '-')}={value}" for name, value in named.items())
    answer = layouts(**JOB, against=text)
    against, first = answer.against, answer.rows[0]
    own, of_first = (predict(**JOB, **BRIEF, **asked) for asked in (named, asked_of(first)))
    assert against.row.iteration_time == pytest.approx(own.iteration_time, rel=1e-9)
    assert against.row.memory["bytes"] == pytest.approx(own.memory.bytes, rel=1e-9)
    assert against.rank == 1 + sum(
        row.iteration_time < own.iteration_time * (1 - 1e-8) for row in answer.rows
    )
    ratio = ratio_between(own, of_first, "the first")
    assert against.row.time_ratio["value"] == pytest.approx(1 / ratio.value, rel=1e-9)
    assert against.row.time_ratio["high_80"] == pytest.approx(1 / ratio.low_80, rel=0.02)
    assert sum(against.difference.values()) == pytest.approx(
        own.iteration_time - of_first.iteration_time, abs=0.02 * of_first.iteration_time
    )
    for name, by in against.difference.items():
        assert by == pytest.approx(own.terms[name] - of_first.terms[name], rel=1e-6)
    sizes = list(map(abs, against.difference.values()))
    assert sizes == sorted(sizes, reverse=True)


def asked_of(row):
    names = ("tensor_parallel", "pipeline_parallel", "virtual_stages", "context_parallel", "sharding")
    return {name: row.layout[name] for name in (*names, "recompute", "micro_batch_size")}


def test_what_is_listed_is_found_in_the_list():
    answer = layouts(**JOB, top=40)
    for row in (answer.rows[0], answer.rows[39]):
        named = ",".join(f"{name}={value}" for name, value in asked_of(row).items())
        against = layouts(**JOB, against=named).against
        assert against.not_listed == ""
        assert against.row == row


def test_a_layout_is_named_as_the_table_prints_it():
    answer = layouts(**JOB, top=40)
    for row in (answer.rows[0], *[each for each in answer.rows if " v" in each.words][:2], answer.rows[39]):
        passes = f"{row.layout['micro_batch_size']} x {row.layout['accumulation_steps']}"
        assert layouts(**JOB, top=1, against=f"{row.words}, {passes}").against.row == row


@pytest.mark.parametrize(
    "layout",
    [
        Layout(8, 2, 4, data_parallel=8, sharding=3, shard_group=4, recompute=2),
        Layout(context_parallel=8, data_parallel=8, sharding=1, context_method=2),
        Layout(2, expert_parallel=8, expert_tensor_parallel=2, data_parallel=4, end_slots=1),
        Layout(),
    ],
)
def test_every_part_of_the_short_form_is_read_again(layout):
    words = layout.words()
    stated = options_of_short(short(words))
    assert {name: words.get(name, 1) for name in stated} == stated
    assert short({**words, **stated}) == short(words)


@pytest.mark.parametrize(
    ("named", "why"),
    [
        ("sharding=zero1", "it does not fit"),
        ("tensor_parallel=8,schedule=zb-h1,pipeline_parallel=8", "not try"),
    ],
)
def test_why_a_layout_is_not_in_the_list(named, why):
    assert why in layouts(**JOB, top=1, against=named).against.not_listed


def test_a_micro_batch_that_is_no_power_of_2_is_not_tried():
    job = JOB | {"global_batch_size": 768}
    against = layouts(
        **job, top=1, against="tensor_parallel=8,pipeline_parallel=4,micro_batch_size=3"
    ).against
    assert against.not_listed == "the search does not try it: micro-batches are powers of 2"


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("tp8 zero4", "--against 'tp8 zero4': expected options and values, e.g. tensor_parallel=8"),
        ("tp8 tp4 dp64", "or a layout as tables print it"),
        ("", "or a layout as tables print it"),
        ("tp8 dp32", "--against 'tp8 dp32': dp32, but the other degrees leave dp64 on 512 GPUs"),
        ("tensor_parallel=8,tp8", "'tp8': expected an option=value"),
        ("tensr_parallel=8", "unknown option of --against 'tensr_parallel'; nearest: tensor_parallel"),
        ("workload=gpt2", "unknown option of --against"),
        ("recompute=full,recompute=none", "recompute is given twice"),
        ("tensor_parallel=7", "does not divide 512 GPUs; the nearest possible"),
        ("micro_batch_size=0", "micro_batch_size = 0"),
    ],
)
def test_what_is_no_layout_is_refused(named, message, invoke):
    with pytest.raises(InputError) as refused:
        layouts(**JOB, against=named)
    options = [word for name, value in JOB.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    result = invoke("layouts", *options, "--against", named)
    assert result.exit_code == 2
    assert message in result.stderr + str(refused.value)


def test_text_says_rank_difference_and_memory(invoke):
    options = [word for name, value in JOB.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    said = " ".join(invoke("layouts", *options, "--against", "sharding=zero1").stdout.split())
    assert "against the first: dp512 zero1, 1 x 2" in said
    assert "not among them: it does not fit" in said
    assert "difference of" in said
