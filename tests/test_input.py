"""Decoders, workers, copies, caches and single files: what feeds accelerators, and what a job starts with."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perfmodel.core.choices import DecoderName
from perfmodel.core.errors import InputError
from perfmodel.decide.explanations import explain
from perfmodel.decide.sensitivity import sensitivity
from perfmodel.decide.sweeps import sweep
from perfmodel.hardware.dataset import data_set
from perfmodel.hardware.decoder import decoders
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.training.start_up import start_up_interval

EIGHT = {"node": "dgx-1v", "world_size": 8, "input": "real"}
FAST = {**EIGHT, "workload": "alexnet", "local_batch_size": 512}
"""A network that waits for most decoders."""
DECODERS = get_args(DecoderName)


def of(**options):
    return predict(Scenario(**options))


def test_every_decoder_is_a_choice_and_says_where_its_rates_are_from():
    known = decoders()
    assert tuple(known.decoder) == DECODERS
    for name, one in known.decoder.items():
        rates = [rate for rate in (one.host_rate, one.accelerator_rate) if rate is not None]
        assert rates, name
        assert all(rate.source in known.sources or rate.basis == "assumed" for rate in rates), name
        assert bool(one.measured_on) == (one.accelerator_rate is not None), name


def test_a_decoder_sets_the_pace_of_a_network_that_waits_for_it():
    """Dlperf's machine: 8 workers of PIL feed 1,070 images/s, 8 threads of DALI on the processor 2,244."""
    paces = {
        name: of(**FAST, loader_workers=8, storage="ram", decoder=name).samples_per_second
        for name in DECODERS
    }
    assert paces["pil"] == pytest.approx(1070, rel=0.01)
    assert paces["dali-cpu"] == pytest.approx(2244, rel=0.01)
    assert paces["pil"] < paces["torchvision"] < paces["pillow-simd"] < paces["dali-cpu"]
    assert paces["dali-cpu"] < paces["dali-gpu"] == paces["torchvision-gpu"]  # a V100 has no JPEG engine
    ampere = {**FAST, "node": "dgx-a100-80gb", "storage": "ram"}
    by_cores, by_engine = (of(**ampere, decoder=name) for name in ("dali-gpu", "torchvision-gpu"))
    assert by_cores.samples_per_second < by_engine.samples_per_second


def test_decoding_by_the_accelerators_own_cores_takes_its_time_from_training():
    by_cores = of(**EIGHT, decoder="dali-gpu")
    by_engine = of(**{**EIGHT, "node": "dgx-a100-80gb"}, decoder="torchvision-gpu")
    assert by_cores.terms["input_time"] == pytest.approx(64 / 6000)
    assert by_engine.terms["input_time"] == 0


@pytest.mark.parametrize("accelerator", ["k80", "t4", "v100-sxm2-16gb", "a10", "a30-24gb", "h100-sxm5-80gb"])
def test_only_chips_with_a_jpeg_engine_decode_beside_training(accelerator):
    asked = {
        "accelerator": accelerator,
        "input": "real",
        "local_batch_size": 32,
        "decoder": "torchvision-gpu",
    }
    answer = of(**asked)
    engine = accelerator.startswith(("a30", "h100"))
    assert answer.terms["input_time"] == (0 if engine else pytest.approx(32 / 6000))
    assert any("no JPEG engine" in warning for warning in answer.warnings) != engine
    assert sweep(**asked).table()["iteration_time"][0] == pytest.approx(answer.iteration_time, rel=1e-9)


@pytest.mark.parametrize(("accelerator", "errs"), [("k80", "takes longer"), ("h100-sxm5-80gb", "takes less")])
def test_a_note_says_which_way_decoding_by_cores_of_another_chip_errs(accelerator, errs):
    warnings = of(accelerator=accelerator, input="real", decoder="dali-gpu").warnings
    assert any(errs in warning for warning in warnings)


@given(more=st.integers(1, 400), decoder=st.sampled_from([None, *DECODERS]))
def test_more_workers_than_cores_decode_no_faster(more, decoder):
    enough = of(**FAST, loader_workers=40, decoder=decoder)
    crowd = of(**FAST, loader_workers=40 + more, decoder=decoder)
    assert crowd.iteration_time == enough.iteration_time
    assert any("no faster than the 40 cores" in warning for warning in crowd.warnings)
    fewer = of(**FAST, loader_workers=39, decoder=decoder)
    assert fewer.iteration_time >= enough.iteration_time


def test_copies_from_pageable_memory_are_slower_and_waited_for():
    beside, blocking, pageable = (
        of(**EIGHT, **options).terms["input_time"]
        for options in ({}, {"non_blocking": False}, {"pinned_memory": False})
    )
    assert beside == 0 < blocking
    assert pageable == pytest.approx(2 * blocking)  # half the rate, whatever non_blocking says
    assert of(**EIGHT, pinned_memory=False, non_blocking=False).terms["input_time"] == pageable


def test_without_prefetching_samples_and_step_take_turns():
    one = of(**EIGHT, prefetch_depth=0)
    hidden = of(**EIGHT)
    blocking = of(**EIGHT, non_blocking=False).terms["input_time"]
    assert one.terms["input_time"] == pytest.approx(64 / 134 + blocking)
    assert one.iteration_time == pytest.approx(hidden.iteration_time + one.terms["input_time"])
    assert of(**EIGHT, prefetch_depth=8).iteration_time == hidden.iteration_time
    with pytest.raises(InputError, match="leave loader_workers out"):
        of(**EIGHT, prefetch_depth=0, loader_workers=3)


def test_persistent_workers_start_once_and_the_first_batch_is_waited_for():
    forked, kept = (of(**EIGHT, persistent_workers=kept) for kept in (False, True))
    assert kept.epoch_start_time == pytest.approx(64 / 134)
    assert forked.epoch_start_time == pytest.approx(64 / 134 + 5 * 0.05)
    assert kept.startup["loaders"] == forked.startup["loaders"] == forked.epoch_start_time
    assert kept.epoch_time == forked.epoch_time
    assert of(node="dgx-1v", world_size=8).epoch_start_time == 0


def test_small_files_meet_the_limit_of_requests():
    """3,000 requests a second of a gp3 volume: images of 3 kB at 3,000 a second, not 41,000."""
    asked = {**FAST, "storage": "ebs-gp3", "dataset": "imagenet", "decode_rate": 1e6}
    assert of(**asked, sample_bytes=3e3).samples_per_second == pytest.approx(3000)
    assert of(**asked, sample_bytes=1e6).samples_per_second == pytest.approx(125)
    packed = of(**{**asked, "dataset": "cifar10"}, sample_bytes=3e3)
    assert packed.samples_per_second > 10_000
    assert data_set("imagenet").has_files_of_one_sample
    assert not data_set("cifar10").has_files_of_one_sample
    assert data_set("cifar10").file_bytes == pytest.approx(30.73e6)


def test_a_cache_in_memory_holds_what_fits():
    asked = {**FAST, "storage": "ebs-gp3", "decoder": "torchvision-gpu"}
    none, cached = of(**asked), of(**asked, cache="ram")
    assert none.samples_per_second == pytest.approx(125e6 / 115.44e3, rel=1e-3)
    assert cached.samples_per_second > 10 * none.samples_per_second
    half = of(**asked, cache="ram", sample_bytes=0.8 * 549755813888 / 1_281_167 * 2)
    stored = 0.8 * 549755813888 / 1_281_167 * 2
    assert half.samples_per_second == pytest.approx(1 / (stored * (0.5 / 20e9 + 0.5 / 125e6)))
    with pytest.raises(InputError, match="nobody knows the memory"):
        of(accelerator="rtx-3090", input="real", cache="ram")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"decoder": "pill"}, "unknown decoder 'pill'; nearest"),
        ({"decoder": "pil", "dataset": "cifar10"}, "holds no encoded images; decode_rate"),
        ({"decoder": "dali-gpu", "workload": "bert-base"}, "holds no encoded images"),
        ({"prefetch_depth": -1}, "prefetch_depth"),
        ({"cache": "disk"}, "known: none, ram"),
    ],
)
def test_bad_input_says_what_would_be_right(options, words):
    with pytest.raises(InputError, match=words):
        of(**EIGHT | options)


def test_options_of_real_samples_are_idle_on_synthetic_ones():
    answer = of(world_size=8, decoder="pil", pinned_memory=False, cache="ram")
    assert any(w.startswith("--decoder and --no-pinned-memory and --cache without") for w in answer.warnings)
    assert answer.iteration_time == of(world_size=8).iteration_time


WAYS = [
    {},
    {"decoder": "dali-gpu", "pinned_memory": False},
    {"decoder": "torchvision-gpu", "storage": "ebs-gp3", "cache": "ram"},
    {"decoder": "pillow-simd", "non_blocking": False, "loader_workers": 3},
    {"prefetch_depth": 0},
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("anchor", [None, "iteration_time=0.2s@1"])
def test_sweep_explain_sensitivity_and_round_trip_say_the_same(way, anchor):
    asked = {**EIGHT, **way, "anchor": anchor}
    answer = of(**asked)
    table = sweep(**{**asked, "world_size": [1, 8, 16]}).table()
    for place, gpus in enumerate((1, 8, 16)):
        one = of(**{**asked, "world_size": gpus})
        assert table["iteration_time"][place] == pytest.approx(one.iteration_time, rel=1e-9)
        assert table["input_time"][place] == pytest.approx(one.terms["input_time"], rel=1e-9, abs=1e-15)
    assert predict(answer.scenario).iteration_time == answer.iteration_time
    explained = explain(Scenario(**asked))
    assert explained.iteration_time == answer.iteration_time
    assert explained.complete
    found = sensitivity(Scenario(**asked))
    assert all(math.isfinite(row.time.value) for row in found.rows)


def test_what_a_job_starts_with_is_a_figure_of_its_own(invoke):
    answer = json.loads(invoke("predict", "--gpus", 16, "--json").stdout)
    assert answer["startup_time"] == pytest.approx(sum(answer["startup"].values()))
    assert list(answer["startup"]) == ["processes", "communicator", "parameters", "first step"]
    low, high = answer["startup_80"]
    assert 0 < low < answer["startup_time"] < high
    assert 0 < answer["startup"]["parameters"] < 0.2  # 102 MB over 100 Gbit/s
    alone = of(world_size=1)
    assert not {"communicator", "parameters"} & set(alone.startup)
    shown = invoke("predict", "--gpus", 8, "--input", "real", "--verbose").stdout
    assert "processes 5 s (measured once, on GTX 980 Ti)" in " ".join(shown.split())
    shared = of(workload="llama-3-8b", node="dgx-h100", world_size=16, tensor_parallel=8)
    assert shared.startup_time > 17


def test_a_communicator_is_joined_where_gradients_travel_by_the_library():
    """NCCL issue 534: 16.3 s for 8 communicators of 8 V100, 130 s for 32 of 32."""
    each = {n: of(world_size=n, node="dgx-1v").startup["communicator"] for n in (8, 32)}
    assert each == {8: pytest.approx(16.3 / 8, rel=0.01), 32: pytest.approx(130 / 32, rel=0.01)}
    for strategy in ("parameter-server", "data-parallel-single-process"):
        assert "communicator" not in of(world_size=8, node="dgx-1v", strategy=strategy).startup
    assert "communicator" not in of(world_size=8, accelerator="tpu-v3").startup


@pytest.mark.published("DLPerf, PyTorch/resnet50v1.5/README.md: the first iteration, beyond a usual one")
@pytest.mark.parametrize(("ranks", "measured"), [(16, 12.05), (32, 13.5)])
def test_the_first_iteration_of_a_published_log(ranks, measured):
    """It joins the communicator, sends parameters and chooses kernels; 16 ranks have set that last number."""
    parts = of(world_size=ranks, node="dgx-1v").startup
    first = sum(parts[name] for name in ("communicator", "parameters", "first step"))
    assert first == pytest.approx(measured, rel=0.02)


@pytest.mark.parametrize("ranks", [2, 4])
def test_a_profile_of_the_synchronisation_of_parameters(ranks):
    """A published profile has 730 to 799 ms: mostly the communicator, which the first broadcast joins."""
    parts = of(world_size=ranks, node="aws-p3.8xlarge", workload="resnet18").startup
    low, high = start_up_interval({name: parts[name] for name in ("communicator", "parameters")})
    assert low < 0.730 < 0.799 < high
    assert parts["parameters"] < 0.01 * parts["communicator"]


PAGE = Path(__file__).parents[1] / "docs" / "course-report.md"
REPORT = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text("utf-8").splitlines()
    if line.startswith("| D")
]
CARD = {"workload": "resnet18", "precision": "fp32", "local_batch_size": 128, "node": "aws-p3.8xlarge"}
"""Stands for the report's own, whose pace is given."""
STRATEGIES = {"DataParallel": "data-parallel-single-process", "DDP": "all-reduce", "DDP + DALI": "all-reduce"}
IMAGES, WORKERS, CORES = 50_000, 7, 16


def own_pace(path, card):
    """Write a profile by which a network trains IMAGES in 10.65 s on one accelerator, and return its path."""
    terms, batch = of(**card).terms, card["local_batch_size"]
    computing = sum(terms.values()) - terms["launch_overhead_time"]
    ratio = batch * 10.65 / IMAGES / computing
    said = f'made_by = "a course report"\nfiles = []\nworkload = "{card["workload"]}"\n'
    said += 'accelerator = "v100-sxm2-16gb"\nprecision = "fp32"\ninput = "synthetic"\n'
    said += f"local_batch_size = {batch}\n"
    for key, value in (("computation", ratio), ("launch_overhead", 0.0)):
        said += f'[{key}]\nvalue = {value!r}\ndeviation = 0.0\nbasis = "the first epoch"\n'
    path.write_text(said)
    return str(path)


def epochs(path, card, **more):
    """The predicted time of an epoch by system and number of GPUs [s]."""
    rate = IMAGES / 32.4 / WORKERS
    known = decoders().decoder
    dali = rate * known["dali-cpu"].host_rate.value / known["pil"].host_rate.value
    profile, predicted = own_pace(path / "own.toml", card), {}
    for system, count, *_ in REPORT:
        processes = 1 if system == "DataParallel" else int(count)
        predicted[system, int(count)] = of(
            **card,
            profile=profile,
            world_size=int(count),
            strategy=STRATEGIES[system],
            dataset="cifar10",
            input="real",
            loader_workers=CORES if "DALI" in system else WORKERS * processes,
            decode_rate=dali if "DALI" in system else rate,
            **more,
        ).epoch_time
    return predicted


def test_a_course_reports_epochs_come_out_in_order_and_as_the_page_says(tmp_path):
    predicted = epochs(tmp_path, CARD, jitter="none")
    assert len(REPORT) == 9
    for system, count, reported, shown, stand_ins, off in REPORT:
        time = predicted[system, int(count)]
        assert stand_ins == "ResNet-18, 128 images a GPU, no jitter"
        assert time == pytest.approx(float(shown), abs=0.05 if "." in shown[:3] else 0.06)
        miss = time / float(reported) - 1
        assert abs(miss) < 0.08
        assert off == "given" or float(off.split()[0]) == pytest.approx(100 * miss, abs=0.1)
    for gpus in (1, 2, 4):
        assert predicted["DataParallel", gpus] >= predicted["DDP", gpus] > predicted["DDP + DALI", gpus]
    for system in ("DDP", "DDP + DALI"):
        assert predicted[system, 1] > predicted[system, 2] >= predicted[system, 4]


@pytest.mark.parametrize(
    ("other", "more"),
    [
        *(({"local_batch_size": batch}, {"jitter": "none"}) for batch in (32, 512)),
        *(({"workload": name}, {"jitter": "none"}) for name in ("resnet50", "vgg16", "mobilenet-v2")),
        ({}, {}),
    ],
)
def test_the_stand_ins_of_a_course_report_that_nothing_chose_have_no_say(other, more, tmp_path):
    assert epochs(tmp_path, CARD | other, **more) == pytest.approx(epochs(tmp_path, CARD, jitter="none"))


def test_with_samples_always_ready_the_report_is_missed():
    anchored = {**CARD, "anchor": f"iteration_time={128 * 32.4 / IMAGES}s@1", "dataset": "cifar10"}
    assert of(**anchored, world_size=4).epoch_time == pytest.approx(8.3, abs=0.05)
