"""How much is enough: servers, adapters, a network, until a share of linear scaling."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from click.testing import CliRunner

import perfmodel
from perfmodel.core.choices import Varied
from perfmodel.core.errors import InputError
from perfmodel.core.units import per_cent
from perfmodel.decide.sensitivity.until import AXES, Enough
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import main

pytestmark = pytest.mark.any_version
SERVED = {"workload": "vgg16", "gpus": 32, "strategy": "parameter-server"}
RING = {"workload": "vgg16", "gpus": 32}


def efficiency(**options):
    return perfmodel.predict(**options).scaling_efficiency


def run(*words):
    return CliRunner().invoke(main, ["sensitivity", *words])


def test_the_fewest_servers_are_those_that_predict_says():
    answer = perfmodel.enough("servers", until=0.9, **SERVED)
    assert isinstance(answer.answer, int)
    assert efficiency(**SERVED, servers=answer.answer) >= 0.9
    assert all(efficiency(**SERVED, servers=n) < 0.9 for n in range(1, answer.answer))
    assert [row.value for row in answer.tried] == [*range(1, 65)]
    assert [row.scaling_efficiency for row in answer.tried[:4]] == [
        efficiency(**SERVED, servers=n) for n in (1, 2, 3, 4)
    ]


def test_the_slowest_network_that_suffices_is_named_with_those_as_slow():
    answer = perfmodel.enough("inter-link", until="94.3%", **RING)
    links, rows = Catalogue.built_in(), {row.value: row for row in answer.tried}
    slowest = links.link(answer.answer).bandwidth.value
    assert efficiency(**RING, inter_link=answer.answer) == rows[answer.answer].scaling_efficiency >= 0.943
    assert not any(row.reaches for row in answer.tried if row.bandwidth < slowest)
    assert answer.also
    assert all(rows[name].reaches and rows[name].bandwidth == slowest for name in answer.also)
    assert not rows["ethernet-400g-tcp"].reaches  # a faster link whose protocol is what binds


def test_adapters_and_accelerators():
    job = {"workload": "vgg16", "node": "dgx-a100-80gb", "gpus": 32}
    adapters = perfmodel.enough("nics", until=0.84, **job)
    assert efficiency(**job, nics=adapters.answer) >= 0.84 > efficiency(**job, nics=adapters.answer - 1)
    most = perfmodel.enough("gpus", until=0.9, workload="resnet50", node="dgx-a100-80gb")
    counts = [row.value for row in most.tried]
    after = counts[counts.index(most.answer) + 1]
    of = {"workload": "resnet50", "node": "dgx-a100-80gb"}
    assert efficiency(**of, gpus=most.answer) >= 0.9 > efficiency(**of, gpus=after)


def test_the_interval_is_that_of_the_ratio_to_one_accelerator():
    row = perfmodel.enough("inter-link", values=["ib-edr-100g"], **RING).tried[0]
    assert row.low_80 < row.scaling_efficiency < row.high_80 <= 1
    ratio = perfmodel.scale(workload="vgg16", gpus=[1, 32], inter_link="ib-edr-100g").rows[1].ratio
    assert row.low_80 == pytest.approx(ratio.low_80 / 32)
    assert 0 < row.chance < 0.5  # it lies below 95 %, and may be wrong


def test_none_that_suffices_is_said_plainly_and_ends_with_1():
    done = run("--gpus", "32", "--workload", "vgg16", "--vary", "inter-link", "--until", "99%")
    assert done.exit_code == 1
    assert done.stdout.startswith("no link tried reaches 99 % scaling efficiency: the most is 94.4 %")
    assert "its limit: compute-bound" in done.stdout
    assert "*: the answer" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_transformer_that_is_shared_out():
    job = {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 64}
    answer = perfmodel.enough("inter-link", until=0.9, **job)
    rows = {row.value: row.scaling_efficiency for row in answer.tried}
    assert rows[answer.answer] == efficiency(**job, inter_link=answer.answer)
    assert max(v for k, v in rows.items() if "50g" in k or "40g" in k) < 0.9 <= rows[answer.answer]


def test_text_csv_markdown_and_json_say_the_same():
    words = ("--gpus", "16", "--workload", "vgg16", "--vary", "nics=1-2", "--until", "60%")
    answer = Enough.model_validate(json.loads(run(*words, "--json").stdout))
    assert answer.vary == "nics"
    assert [row.value for row in answer.tried] == [1, 2]
    printed = run(*words).stdout
    assert answer.words in " ".join(printed.split())
    assert f"{answer.answer}* " in printed
    assert "\n*: the answer\n" in printed
    lines = run(*words, "--csv").stdout.splitlines()
    assert lines[0].startswith("value,bandwidth,scaling_efficiency")
    assert len(lines) == 3
    assert answer.words in run(*words, "--markdown").stdout
    assert set(Enough.model_json_schema()["properties"]) == set(answer.model_dump())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--gpus 32 --vary servers", "has no parameter servers; give --strategy parameter-server"),
        ("--gpus 4 --node dgx-1v --vary inter-link", "the job is on one dgx-1v"),
        ("--vary colour", "expected one of servers, inter-link, nics, gpus"),
        ("--until 0.9", "say what to vary"),
        ("--until 110% --vary gpus", "not a number above 0 up to 1"),
        ("--gpus 32 --vary nics=1-x", "expected whole numbers"),
        ("--gpus 32 --vary inter-link=ib-edr-101g", "ib-edr-101g"),
        ("--gpus 32 --vary nics --price 3", "prices, power and failures have no effect"),
    ],
)
def test_what_cannot_be_varied_is_refused_in_words(words, message):
    done = run(*words.split())
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) <= 2


def test_python_refuses_as_the_command_does():
    with pytest.raises(InputError, match="expected a share such as"):
        perfmodel.enough("gpus", until="many")
    with pytest.raises(InputError, match="a whole number"):
        perfmodel.enough("nics", values=[1.5], **RING)
    assert set(AXES) == set(get_args(Varied))


def test_one_accelerator_is_all_of_linear_scaling_whatever_rounding_leaves_of_it():
    done = run("--gpus", "32", "--vary", "gpus=1", "--until", "100%")
    assert done.exit_code == 0
    assert done.stdout.startswith("100 % scaling efficiency holds up to 1 GPU: 100.0 %")


def test_counts_below_the_most_that_miss_are_said():
    answer = perfmodel.enough("gpus", until=0.93, workload="vgg16", node="dgx-1v", values=[1, 2, 4, 8])
    two = answer.tried[1]
    assert answer.answer == 8
    assert not two.reaches
    assert f"but not with 2 GPUs: {per_cent(two.scaling_efficiency)}; no more tried" in answer.words
    every = perfmodel.enough("gpus", until=0.85, workload="vgg16", node="dgx-1v", values=[1, 2, 4, 8])
    assert "but not" not in every.words


def test_underscores_of_a_name_with_values_are_hyphens_too():
    words = ("--gpus", "32", "--workload", "vgg16", "--until", "50%")
    done = run(*words, "--vary", "inter_link=ib-hdr-200g")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == run(*words, "--vary", "inter-link=ib-hdr-200g").stdout
