"""Samples a person names or measures: what they take, in an epoch and in waiting for them."""

from __future__ import annotations

import itertools
import json
import tomllib
from dataclasses import replace

import numpy as np
import pytest

from perfmodel.core.errors import InputError
from perfmodel.core.files.resources import folder
from perfmodel.decide.explanations import explain
from perfmodel.decide.sweeps import sweep
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.dataset import FILE, DataSetFile, data_set, data_sets
from perfmodel.model.input.data import other_sizes
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.setting.resolve import resolve
from perfmodel.workloads import names, workload

CATALOGUE = Catalogue.built_in()
SLOW = {"accelerator": "v100-sxm2-16gb", "world_size": 8, "input": "real", "loader_workers": 1}


def ask(**options):
    return predict(Scenario.model_validate(options))


@pytest.fixture
def network(tmp_path):
    """A network from a file, of which no data set is known."""
    path = tmp_path / "my-net.csv"
    path.write_text(
        "name,kind,tensors,forward_flops,backward_flops,forward_elements,saved_elements\n"
        "stem,conv,9408 64,236027904,236027904,953344,802816\nfc,linear,2049000,4096000,8192000,3048,2048\n"
    )
    return str(path)


# --- the file


def test_every_number_has_a_source_or_says_that_it_is_assumed():
    text = (folder("hardware_specs") / FILE).read_text("utf-8")
    known = DataSetFile.model_validate(tomllib.loads(text))
    assert list(known.data) == list(data_sets())
    for key, one in known.data.items():
        assert one.samples or one.tokens, key
        for quantity in (one.samples, one.tokens, one.bytes):
            assert quantity is None or quantity.source in {None, *known.sources}, key
            assert quantity is None or quantity.source or quantity.basis == "assumed", key
        assert (data_set(key).sample_bytes is None) == (one.sample == "sequence"), key
    assert set(known.sources) == {
        quantity.source
        for one in known.data.values()
        for quantity in (one.samples, one.tokens, one.bytes)
        if quantity and quantity.source
    }


def test_an_image_of_cifar10_is_three_planes_of_32_by_32_and_a_label():
    assert data_set("cifar10").sample_bytes == 3 * 32 * 32 + 1
    assert data_set("cifar100").sample_bytes == 3 * 32 * 32 + 2


@pytest.mark.parametrize("name", ["ImageNet", "imagenet-1k", "CIFAR-10", "COCO 2017", "WMT14"])
def test_a_data_set_is_found_as_people_write_it(name):
    assert data_set(name).name


@pytest.mark.any_version
def test_a_networks_own_data_named_changes_nothing():
    """Each catalogue network of images, by the name of what it is trained on anyway."""
    for name in names():
        own = workload(name)
        keys = [key for key, one in data_sets().items() if one.name == own.dataset]
        if own.sample != "image" or not keys:
            continue
        plain = ask(workload=name, **SLOW, local_batch_size=8)
        named = ask(workload=name, **SLOW, local_batch_size=8, dataset=keys[0])
        assert (plain.iteration_time, plain.epoch_time) == (named.iteration_time, named.epoch_time), name


@pytest.mark.any_version
def test_every_network_on_every_data_set_is_answered_at_a_size_that_is_said():
    """Refused, its own data, or with a note where samples are of another size than the network computes."""
    plain = {name: ask(workload=name).terms for name in names()}
    for name, (key, data) in itertools.product(names(), data_sets().items()):
        own = workload(name)
        finds_objects = own.dataset in ("COCO 2017", "Cityscapes")
        if own.sample != data.sample or (finds_objects and not data.objects):
            with pytest.raises(InputError, match=f"marks no objects|{own.id} takes {own.sample}s"):
                ask(workload=name, dataset=key)
            continue
        found = ask(workload=name, dataset=key)
        assert found.terms == plain[name]  # computed at the network's own size
        [said] = [line for line in found.warnings if key in line] or [""]
        of_unknown = own.dataset not in {each.name for each in data_sets().values()}
        if own.dataset == data.name or data.tokens is not None:
            assert not said
        elif of_unknown and data.sample == "image" and data.image_size is None:
            assert not said  # neither size is known
        elif data.sample == "sequence":
            assert f"counts as a sequence of {own.sequence_length:,} tokens" in said
        else:
            side = round((own.input_elements / 3) ** 0.5)
            sizes = [
                line
                for line in (f"{side} x {side} pixels", f"{own.input_elements / 3:,.0f} pixels")
                if line in said
            ]
            assert len(sizes) == 1, (name, key)
            assert ("32 x 32" in said) == key.startswith("cifar")
            assert ("1024 x 2048" in said) == (key == "cityscapes")


def test_a_network_of_the_data_sets_size_or_of_unknown_size_gets_no_note():
    assert other_sizes(replace(workload("resnet50"), input_elements=3.0 * 32 * 32), "cifar10") is None
    assert other_sizes(replace(workload("resnet50"), input_elements=0.0), "cifar10") is None


@pytest.mark.parametrize("name", ["mask-rcnn-r50-fpn", "yolov3", "deeplab-v3-plus"])
def test_finding_objects_is_not_learnt_from_images_without_any(name):
    with pytest.raises(InputError, match=f"cifar10 marks no objects, which {name} .* coco, cityscapes"):
        ask(workload=name, dataset="cifar10")


# --- what it does


def test_an_epoch_is_of_the_data_set_asked_for():
    imagenet, cifar = ask(workload="resnet50"), ask(workload="resnet50", dataset="cifar10")
    assert cifar.epoch_time / imagenet.epoch_time == pytest.approx(50_000 / 1_281_167)
    own = ask(workload="resnet50", dataset_samples=1000)
    assert own.epoch_time == pytest.approx(1000 / own.samples_per_second)
    text = ask(workload="bert-base", dataset="wikipedia", sequence_length=512)
    assert text.epoch_time * text.samples_per_second == pytest.approx(2.5e9 // 512)


def test_raw_pixels_are_read_and_not_decoded():
    jpeg, raw = ask(workload="resnet50", **SLOW), ask(workload="resnet50", dataset="cifar10", **SLOW)
    assert jpeg.terms["input_time"] > 1
    assert raw.terms["input_time"] == 0


def test_waiting_falls_as_workers_decode_faster_and_samples_shrink(network):
    """By hand: 8 x 64 images by one worker at 20 a second take 25.6 s, whatever the rest of the step."""
    base = {"workload": network, "local_batch_size": 64, "sample_bytes": "115kB", **SLOW}
    slow = ask(**base, decode_rate=20)
    rest = slow.iteration_time - slow.terms["input_time"]
    assert slow.terms["input_time"] == pytest.approx(8 * 64 / 20 - rest)
    times = [ask(**base | {"loader_workers": n}, decode_rate="20/s").iteration_time for n in (1, 4, 16)]
    assert times[0] > times[1] > times[2]
    huge = ask(**base | {"sample_bytes": "1GB"}, decode_rate=1e9, storage="ebs-gp3")
    assert huge.iteration_time == pytest.approx(8 * 64 * 1e9 / 125e6)


def test_real_samples_nobody_knows_are_refused_and_named_ones_are_waited_for(network):
    """Once 32.9 ms with one worker and with four, as if samples cost nothing."""
    with pytest.raises(InputError, match="nothing is known of the data my-net is trained on; give dataset"):
        ask(workload=network, **SLOW)
    with pytest.raises(InputError, match="nothing is known"):
        ask(workload=network, **SLOW, decode_rate=100)
    one, four = (
        ask(workload=network, dataset="imagenet", **SLOW | {"loader_workers": workers}) for workers in (1, 4)
    )
    assert one.iteration_time > four.iteration_time
    assert one.epoch_time == pytest.approx(1_281_167 / one.samples_per_second)
    assert ask(workload=network, input="synthetic").epoch_time is None


def test_numbers_without_effect_are_told():
    told = ask(workload="resnet50", decode_rate=100, sample_bytes=1e5).warnings
    assert any("--sample-bytes and --decode-rate without effect" in line for line in told)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dataset": "imagnet"}, "unknown data set 'imagnet'; nearest: imagenet"),
        (
            {"dataset": "wikipedia"},
            "wikipedia holds sequences and resnet50 takes images; of images: imagenet",
        ),
        ({"workload": "ncf", "dataset": "imagenet"}, "holds images and ncf takes"),
        ({"dataset_samples": 0}, "dataset_samples"),
        ({"sample_bytes": -1}, "sample_bytes"),
        ({"sample_bytes": "3 apples"}, "amount of data"),
        ({"decode_rate": float("nan")}, "decode_rate"),
        ({"decode_rate": float("inf")}, "decode_rate"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ask(**options)


@pytest.mark.parametrize(
    "words",
    [
        ("--dataset", "imagnet"),
        ("--dataset-samples", "0"),
        ("--dataset-samples", "1e9"),
        ("--sample-bytes", "0"),
        ("--sample-bytes", "115kbit"),
        ("--decode-rate", "-3"),
        ("--decode-rate", "1e400"),
        ("--dataset", "cifar10", "--time-to-target"),
    ],
)
def test_the_command_line_refuses_in_a_line_or_two(words, invoke):
    result = invoke("predict", *words)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


# --- everywhere


def test_a_scenario_fed_back_gives_the_same_answer(network):
    first = ask(workload=network, dataset="coco", sample_bytes="50kB", decode_rate="99/s", **SLOW)
    again = ask(**first.scenario)
    assert again.iteration_time == first.iteration_time
    assert again.epoch_time == first.epoch_time


def test_a_sweep_answers_as_predict_does(network):
    crossed = {
        "dataset": ["imagenet", "cifar10", "coco"],
        "dataset_samples": [None, 1000],
        "sample_bytes": [None, 1e6],
        "decode_rate": [None, 50.0],
        "world_size": [1, 8],
    }
    shared = {"workload": network, "input": "real", "loader_workers": 2}
    table = sweep(**shared, **crossed).table()
    assert len(table["iteration_time"]) == 48
    for i, values in enumerate(itertools.product(*crossed.values())):
        asked = dict(zip(crossed, values, strict=True))
        assert table["dataset"][i] == asked["dataset"]
        one = ask(**shared, **{name: value for name, value in asked.items() if value is not None})
        assert table["iteration_time"][i] == pytest.approx(one.iteration_time, rel=1e-9)
        assert table["epoch_time"][i] == pytest.approx(one.epoch_time, rel=1e-9)
    mixed = sweep(workload=["resnet50", "bert-base"], dataset=["cifar10", "wikipedia"])
    assert len(mixed.table()["iteration_time"]) == 2
    assert sum(mixed.refused.values()) == 2
    assert np.isfinite(mixed.table()["epoch_time"]).all()


def test_a_plan_of_ones_own_network_counts_its_epochs_in_its_own_data(network, invoke):
    words = (
        "--workload",
        network,
        "--epochs",
        "10",
        "--instances",
        "p3.16xlarge",
        "--max-gpus",
        "8",
        "--json",
    )
    assert invoke("plan", *words).exit_code == 2  # an epoch of what?
    found = json.loads(invoke("plan", *words, "--dataset", "cifar10", "--deadline", "1d").stdout)
    assert found["cheapest"]["samples"] == 500_000
    refused = invoke("plan", "--dataset", "cifar10", "--instances", "p3.16xlarge")
    assert refused.exit_code == 2
    assert "published for the network's own data" in refused.output


def test_what_time_hangs_on_and_its_equations_take_the_rate_that_was_asked_for(invoke):
    options = ("--gpus", "8", "--input", "real", "--loader-workers", "1", "--decode-rate", "50")
    rows = json.loads(invoke("sensitivity", *options, "--json").stdout)
    told = json.dumps(rows)
    assert '"decode_rate"' in told
    assert "50" in told
    assert "decode_rate = 50 samples/s; the scenario" in invoke("explain", *options).stdout


SHARED = {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 64, "input": "real", "sample_bytes": 1e9}


@pytest.mark.parametrize(
    ("layout", "readers"),
    [
        ({}, 8),
        ({"tensor_parallel": 4}, 2),
        ({"tensor_parallel": 4, "context_parallel": 2, "sequence_length": 8192}, 1),
        ({"tensor_parallel": 8, "context_parallel": 2}, 1),
        ({"pipeline_parallel": 2, "accumulation_steps": 4}, 8),
        ({"pipeline_parallel": 16, "accumulation_steps": 16}, 4),
        ({"gpus": 8, "pipeline_parallel": 8, "accumulation_steps": 8}, 1),
        ({"gpus": 8, "pipeline_parallel": 2, "tensor_parallel": 2, "accumulation_steps": 4}, 2),
    ],
)
def test_one_rank_reads_for_those_that_share_a_sample(layout, readers):
    """1 GB a sample from a disk of 2 GB/s in every node."""
    answer = predict(**SHARED | layout)
    samples = readers * layout.get("accumulation_steps", 1)
    assert answer.iteration_time == pytest.approx(samples * 1e9 / 2e9)
    assert answer.terms["input_time"] > 0
    assert answer.verdict.startswith("input-bound")
    assert answer.baseline_time >= answer.terms["input_time"] / readers
    table = sweep(**SHARED | layout).table()
    for name in ("iteration_time", "input_time", "baseline_time"):
        assert table[name][0] == pytest.approx(getattr(answer, name, answer.terms.get(name)), rel=1e-9)


def test_text_is_read_in_no_time():
    wikipedia = {name: value for name, value in SHARED.items() if name != "sample_bytes"} | {
        "dataset": "wikipedia"
    }
    made, read = predict(**wikipedia | {"input": "synthetic"}), predict(**wikipedia)
    assert read.terms["input_time"] == 0
    assert read.iteration_time == made.iteration_time
    assert "--storage local-ssd" in read.defaults


def test_waiting_for_samples_is_explained():
    result = explain(Scenario(**SHARED, tensor_parallel=2))
    assert result.complete
    assert "exposed_input_time" in result.to_json()


def test_a_profile_does_not_go_with_a_layout():
    with pytest.raises(InputError, match=r"kernels of whole layers.*anchor iteration_time"):
        resolve(Scenario(**SHARED, tensor_parallel=2, profile="measured.json"), CATALOGUE)


@pytest.mark.parametrize("workload", ["resnet50", "gpt2"])
def test_options_that_nothing_reads_are_said_to_be_without_effect(workload):
    told = predict(
        workload=workload, gpus=8, loader_workers=4, storage="nvme", local_aggregation=False
    ).warnings
    assert any(
        "--loader-workers and --storage without effect: samples are synthetic" in line for line in told
    )
    assert "--no-local-aggregation without effect: there are no parameter servers" in told
    served = {"input": "real", "strategy": "parameter-server", "local_aggregation": False}
    told = predict(gpus=8, loader_workers=4, storage="nvme", **served).warnings
    assert not any("without effect" in line for line in told)
