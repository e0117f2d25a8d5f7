"""Software as data: releases by year, software based on other, one's own, and what it is refused for."""

import itertools
import re

import pytest

import perfmodel
from perfmodel.core.errors import InputError
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.releases import release
from perfmodel.hardware.software import Release, Software

BUILT_IN = Catalogue.built_in()
MINE = """
id = "mine"
name = "My trainer"
aliases = ["our-trainer"]
based_on = "megatron-core"

[versions.2024]
gradient_bytes = 4

[versions.2026]
gradient_bytes = 2

[[provenance]]
facts = ["gradient_bytes"]
basis = "documented"
source = "manual"

[sources.manual]
title = "Its manual"
read_on = 2026-11-01
"""


def own(tmp_path, text, name="mine"):
    (tmp_path / f"{name}.toml").write_text(text)
    return Catalogue([tmp_path])


@pytest.mark.parametrize("id", BUILT_IN.ids("software"))
def test_every_fact_says_where_it_comes_from(id):
    software = BUILT_IN.software(id)
    assert {name for name, _ in software.statements()} <= Release.model_fields.keys()
    for name, fact in software.statements():
        assert fact.source in software.sources or fact.basis == "assumed", name
        assert fact.words
    assert set(software.versions) == {str(int(year)) for year in software.versions}


def test_a_release_has_the_facts_of_the_latest_that_holds_and_of_what_it_is_based_on(tmp_path):
    catalogue = own(tmp_path, MINE)
    for name, year, gradient_bytes in (("mine", 2020, 4), ("mine", 2025, 4), ("our trainer", 2027, 2)):
        facts = release(f"{name}@{year}", catalogue)
        base = release(f"megatron-core@{year}", BUILT_IN)
        assert facts == base.model_copy(update={"gradient_bytes": gradient_bytes})


def test_software_of_ones_own_trains(tmp_path):
    catalogue = own(tmp_path, MINE)
    job = {"workload": "gpt2", "gpus": 8, "accelerator": "a100-sxm4-80gb"}
    mine = perfmodel.predict(**job, framework="our-trainer@2024", catalogue=catalogue)
    assert mine.scenario["framework"] == "mine@2024"
    lm = perfmodel.predict(**job, framework="megatron-core@2024")
    assert mine.iteration_time >= lm.iteration_time
    assert any("no measured run of mine" in why for why in mine.interval.wider_because)
    with pytest.raises(InputError, match="unknown software 'mine'"):
        perfmodel.predict(**job, framework="mine")
    job = {"workload": "llama-3-8b", "gpus": 8, "node": "dgx-h100", "global_batch_size": 64}
    assert perfmodel.layouts(**job, framework="mine", catalogue=catalogue).rows


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("gradient_bytes = 4", "gradient_bytes = 3", "gradient_bytes = 3: expected 2 or 4"),
        ("gradient_bytes = 4", "gradient_byte = 4", "unknown key 'gradient_byte'; nearest: gradient_bytes"),
        ("versions.2024", "versions.24", "24"),
        ('facts = ["gradient_bytes"]', 'facts = ["fused"]', "provenance of fused: no release states"),
        ('facts = ["gradient_bytes"]', 'facts = ["gradient_bytes", "fused"]', "provenance of fused"),
        ('"documented"', '"guessed"', "basis"),
        ('source = "manual"', "", "names no known source"),
        ('based_on = "megatron-core"', 'based_on = "megatron-cor"', "unknown software 'megatron-cor'"),
        ('based_on = "megatron-core"', 'based_on = "mine"', "leads back to itself"),
    ],
)
def test_what_a_file_of_software_may_not_say(tmp_path, old, new, message):
    assert old in MINE
    with pytest.raises(InputError) as refused:
        release("mine", own(tmp_path, MINE.replace(old, new)))
    assert message in str(refused.value)
    assert "mine" in str(refused.value) or "megatron-cor" in str(refused.value)


def test_a_file_without_facts_is_refused():
    with pytest.raises(ValueError, match="expected the facts of a release"):
        Software(id="empty", name="Empty")


def test_own_software_of_a_request_is_taken_as_a_file_is():
    table = {"name": "My trainer", "based_on": "nemo"}
    catalogue = Catalogue.with_tables({"software": {"mine": table}})
    assert release("mine@2024", catalogue) == release("nemo@2024", BUILT_IN)


NETWORKS = {
    "resnet50": "v100-sxm2-16gb",
    "vgg16": "a100-sxm4-80gb",
    "mobilenet-v2": "t4",
    "bert-large": "a100-sxm4-80gb",
    "vit-base-16": "a100-sxm4-80gb",
    "gnmt": "v100-sxm2-16gb",
    "dlrm": "a100-sxm4-80gb",
    "ncf": "v100-sxm2-16gb",
    "gpt2": "a100-sxm4-80gb",
    "llama-3-8b": "h100-sxm5-80gb",
    "mixtral-8x7b": "h100-sxm5-80gb",
}
"""Convolutional, encoding, recurrent, recommending and GPT-like ones, and what each is trained on."""


def answers_of(network):
    """Return the prediction by each software that trains a network, by its id."""
    result, refused = {}, {}
    for id in BUILT_IN.ids("software"):
        try:
            result[id] = perfmodel.predict(
                workload=network, gpus=8, accelerator=NETWORKS[network], framework=id
            )
        except InputError as error:
            refused[id] = str(error)
    reasons = re.compile("transformers alone|no transformers|goes with a layout")
    assert all(reasons.search(why) for why in refused.values())
    return result


@pytest.mark.any_version
@pytest.mark.parametrize("network", NETWORKS)
def test_software_alone_separates_answers_only_by_what_was_measured(network):
    answers = answers_of(network)
    assert len(answers) > 15
    apart = 0
    for one, other in itertools.combinations(answers, 2):
        first, second = answers[one].interval, answers[other].interval
        if first.low_80 <= second.high_80 and second.low_80 <= first.high_80:
            continue
        apart += 1
        job = {"workload": network, "gpus": 8, "accelerator": NETWORKS[network]}
        notes = perfmodel.compare(*({**job, "framework": name} for name in (one, other))).notes
        names = [answers[name].scenario["framework"] for name in (one, other)]
        named = [note for note in notes if all(name in note for name in names)]
        longer = [note for note in named if "longer than" in note]
        known = "learned from runs of", "layers recomputed by default"
        assert any(words in note for note in longer for words in known), (one, other)
    assert apart == 0 or network in ("gpt2", "llama-3-8b", "bert-large", "vit-base-16")


@pytest.mark.parametrize(
    ("network", "options", "names"),
    [
        ("gpt2", {}, ("pytorch", "torch", "pytorch-ddp", "DDP", "pytorch-channels-last", "nhwc pytorch")),
        ("gpt2", {"sharding": "zero3"}, ("pytorch", "fsdp", "FSDP2", "pytorch-ddp", "pytorch-channels-last")),
        ("gpt2", {"sharding": "none"}, ("pytorch", "fsdp", "pytorch-fsdp")),
        ("gpt2", {"strategy": "fsdp"}, ("pytorch", "fsdp")),
        ("gpt2", {}, ("megatron-core", "mcore", "Megatron-Bridge")),
        ("resnet50", {}, ("pytorch", "torch", "pytorch-ddp", "ddp", "fsdp", "pytorch-fsdp")),
        ("bert-large", {}, ("pytorch", "pytorch-ddp", "fsdp", "pytorch-channels-last")),
        ("dlrm", {}, ("pytorch", "pytorch-ddp", "fsdp", "pytorch-channels-last")),
    ],
)
def test_one_job_in_any_words_of_software_has_one_answer(network, options, names):
    job = {"workload": network, "gpus": 8, "accelerator": NETWORKS[network]} | options
    first, *others = (perfmodel.predict(**job, framework=name) for name in names)
    for other in others:
        assert other.scenario == first.scenario
        assert other.terms == first.terms
        assert other.interval.high_80 == first.interval.high_80


def test_layouts_take_software_by_any_of_its_names():
    job = {"workload": "llama-3-8b", "gpus": 8, "node": "dgx-h100", "global_batch_size": 64}
    first, *others = (perfmodel.layouts(**job, framework=name) for name in ("megatron-core", "mcore"))
    assert all(other.rows == first.rows for other in others)
    with pytest.raises(InputError, match="torch7: it trains no transformers such as llama-3-8b"):
        perfmodel.layouts(**job, framework="torch7")
