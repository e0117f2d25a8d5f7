"""Measured listings and runs are read, held against predictions, and explained by what was changed."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import perfmodel
from app.diagnosis_charts import in_interval
from perfmodel import collective, diagnose
from perfmodel.core.errors import InputError
from perfmodel.core.units import percent, show, show_range
from perfmodel.decide.diagnosis import judged_listings
from perfmodel.decide.diagnosis.assumptions import assumptions_of_listing
from perfmodel.decide.diagnosis.card import own_error
from perfmodel.decide.diagnosis.chances import chance, listed, named_causes, shares
from perfmodel.decide.diagnosis.faults import FAULTS, spoiled, wire_of
from perfmodel.decide.diagnosis.first_action import LISTED, TRACE, checks, expected_words, explains, tied
from perfmodel.decide.diagnosis.measured import parse_speed, read_measured
from perfmodel.decide.diagnosis.verdict_rule import faults_of, verdict_of
from perfmodel.decide.diagnosis.weighed import UNCHANGED, weigh
from perfmodel.evidence.traces.nccl_tests import read_nccl_tests
from perfmodel.evidence.traces.timeline import write_timeline
from perfmodel.evidence.traces.training_logs import KNOWN, read_training_log
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import main
from perfmodel.interfaces.reports.diagnosed import causes, page_of_diagnosis
from perfmodel.interfaces.service.commands import answer
from perfmodel.model.collectives import all_reduce
from perfmodel.model.collectives.model import curve, fitted, ranks_of
from perfmodel.model.collectives.place import place_of, traffic_of
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.collectives.collective_fabric import fabric_of
from perfmodel.model.prediction.collectives.size_errors import NOISES, SizeErrors, correlations, narrowed

PERF = Path(__file__).parent / "frozen" / "files" / "all_reduce_perf.txt"
ALPS = {"intra_link": "nvlink4-quad-mesh", "inter_link": "slingshot11-200g", "nics": 4}
"""Two nodes of four GH200 as ``cscs-docs-nccl`` states them."""


def listing(one, program="all_reduce", header=True):
    """Return a measured listing as nccl-tests prints it."""
    point, lines = one.point, []
    if header:
        lines += [
            f"# Collective test starting: {program}_perf",
            "# nThread 1 nGpus 1 minBytes 8",
            "# Using devices",
        ]
        lines += [
            f"#  Rank {rank:2d} Group  0 Pid {rank} on node{rank // point.per_node} device  0 [0x01] GPU"
            for rank in range(point.group_size)
        ]
    lines.append("#       size         count      type   redop    root     time   algbw   busbw #wrong")
    redop = "sum" if program.startswith(("all_reduce", "reduce")) else "none"
    for size, time in zip(one.sizes.tolist(), one.times.tolist(), strict=True):
        rate = size / time / 1e9
        bus = rate * traffic_of(point.collective, point.group_size)
        lines.append(
            f"{size:12.0f} {size // 4:12.0f} float {redop} -1 {time * 1e6:9.4f} {rate:9.4f} {bus:9.4f} 0"
        )
    return "\n".join(lines) + "\n"


def measured(id):
    return next(each for each in judged_listings.listings() if each.id == id)


# --- the logs of training software ---

LOGS = {
    "Megatron-LM": (
        " [2026-01-02 03:04:0{n}] iteration        {n}/     100 | consumed samples:          {n} | "
        "elapsed time per iteration (ms): {ms} | throughput per GPU (TFLOP/s/GPU): 245.3 | "
        "global batch size:   256 |",
        ("iteration_time", 0.5, False),
    ),
    "torchtitan": (
        "[rank0]:2026-01-02 03:04:05,678 - root - INFO - \x1b[31mstep: {n}  \x1b[32mloss:  8.0152  "
        "\x1b[33mmemory: 49.48GiB(62.52%)  \x1b[34mtps: {rate:,}  \x1b[36mtflops: 300.5  \x1b[35mmfu: 30.30%",
        ("tokens_per_second", 2000.0, True),
    ),
    "NeMo": (
        "Training epoch 0, iteration {n}/249 | lr: 1.961e-06 | global_batch_size: 256 | global_step: {n} | "
        "reduced_train_loss: 1.315 | train_step_timing in s: {s}",
        ("iteration_time", 0.5, False),
    ),
    "DeepSpeed": (
        "[2026-01-02 03:04:05,678] [INFO] [timer.py:260:stop] epoch=0/micro_step={n}/global_step={n}, "
        "RunningAvgSamplesPerSec=1.5, CurrSamplesPerSec={rate}, MemAllocated=4.32GB, MaxMemAllocated=38.49GB",
        ("samples_per_second", 2000.0, False),
    ),
    "DeepSpeed's pipelines": (
        "steps: {n} loss: 8.0152 iter time (s): {s} samples/sec: 512.000",
        ("iteration_time", 0.5, False),
    ),
    "Horovod's synthetic benchmark": (
        "Iter #{n}: {rate} img/sec per GPU",
        ("samples_per_second", 2000.0, True),
    ),
    "tf_cnn_benchmarks": (
        "{n}\timages/sec: {rate} +/- 2.0 (jitter = 1.1)\t8.004",
        ("samples_per_second", 2000.0, False),
    ),
}
"""A line of each software, written after its source, and what it means at 0.5 s or 2000/s."""


def log(software, slow=3, steady=20):
    """Return a log whose first lines are of the warm-up."""
    line, _ = LOGS[software]
    first = [line.format(n=n, ms="9000.0", s="9.0", rate=100) for n in range(1, slow + 1)]
    return "\n".join(
        first + [line.format(n=n, ms="500.0", s="0.5", rate=2000) for n in range(slow + 1, slow + steady + 1)]
    )


def test_every_known_software_has_a_log_here():
    assert {*LOGS} == {*KNOWN}


@pytest.mark.parametrize("software", LOGS)
def test_logs_are_read_without_their_warm_up(software):
    read = read_training_log("x.log", log(software))
    assert read.software == software
    assert (read.quantity, read.value, read.per_accelerator) == pytest.approx(LOGS[software][1])
    assert (read.lines, read.skipped) == (21, 2)  # a tenth of 23
    assert read_training_log("x.log", log(software), skip=3).lines == 20
    assert read.global_batch_size == (256 if software in ("Megatron-LM", "NeMo") else None)
    assert "median of 21 lines, the first 2 left out" in read.words


@pytest.mark.parametrize(
    ("lines", "quantity", "value", "per_accelerator"),
    [
        ("total images/sec: 238.68", "samples_per_second", 238.68, False),
        ("Img/sec per GPU: 1488.1 +-2.2\nTotal img/sec on 2 GPU(s): 9", "samples_per_second", 1488.1, True),
        ("0/20, SamplesPerSec=227.48", "samples_per_second", 227.48, False),
        ("Epoch 0: 100%|x| 100/100, train_step_timing in s=3.130]", "iteration_time", 3.13, False),
        (
            " iteration 4/ 9 | elapsed time per iteration (ms): 13100.0/13240.9 |",
            "iteration_time",
            13.1,
            False,
        ),
        ("step: 7  loss: 8.1  memory: 1GiB(2%)  wps: 5,721  mfu: 30%", "tokens_per_second", 5721.0, True),
    ],
)
def test_other_lines_of_these_logs_are_read(lines, quantity, value, per_accelerator):
    read = read_training_log("x.log", lines + "\n")
    assert (read.quantity, read.value, read.per_accelerator) == (quantity, value, per_accelerator)
    assert read.lines == 1


def test_a_summary_of_tf_cnn_benchmarks_goes_before_its_steps():
    text = log("tf_cnn_benchmarks") + "\n" + "-" * 64 + "\ntotal images/sec: 1900.0\n"
    assert read_training_log("x.log", text).value == 1900.0


def test_accelerators_that_a_log_states_are_those_of_the_job():
    text = "Iter #0: 300.0 img/sec per GPU\nTotal img/sec on 16 GPU(s): 4800.0 +-4.3\n"
    assert diagnose(measured=text).job.startswith("ResNet-50 on 16 x")
    with pytest.raises(InputError, match="16 accelerators; gpus 8"):
        diagnose(measured=text, gpus=8)


@pytest.mark.parametrize(
    ("options", "precision", "is_default"),
    [
        ({}, "fp32", True),
        ({"node": "dgx-a100"}, "tf32", True),  # as frameworks compute products of fp32 there
        ({"precision": "amp"}, "amp", False),
    ],
)
def test_a_log_of_horovod_means_fp32_unless_told(options, precision, is_default):
    text = "Model: resnet50\nBatch size: 32\nNumber of GPUs: 16\nIter #0: 300.0 img/sec per GPU\n"
    read = diagnose(measured=text, **options)
    assert read.job.endswith(f"{precision}, batch 32 each")
    assert any(line.startswith(f"--precision {precision}") for line in read.defaults) == is_default
    assert "--framework" in {line.split()[0] for line in read.defaults}  # as predict lists them


# --- speeds ---


@pytest.mark.parametrize(
    ("text", "quantity", "value", "per_accelerator"),
    [
        ("0.145s", "iteration_time", 0.145, False),
        ("1.2M tokens/s", "tokens_per_second", 1.2e6, False),
        ("1,234 tok/s/gpu", "tokens_per_second", 1234.0, True),
        ("360 images/s", "samples_per_second", 360.0, False),
        ("45 samples/s per gpu", "samples_per_second", 45.0, True),
        ("7seq/sec/device", "samples_per_second", 7.0, True),
    ],
)
def test_speeds_that_people_type(text, quantity, value, per_accelerator):
    assert parse_speed(text)[:3] == (quantity, pytest.approx(value), per_accelerator)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("12 flurbs", "neither a time"),
        ("12/s", "a rate of what"),
        ("0ms", "neither a time"),
        ("no_such.log", "no such file"),
        ("", "no name|no such|empty|folder"),
        ("loss: 3\nloss: 2\n", "no speed of a step is in it"),
    ],
)
def test_what_is_no_measurement_is_refused(given, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=words):
        read_measured(given)


def test_options_that_say_nothing_of_a_measurement_are_refused():
    with pytest.raises(InputError, match="skip"):
        diagnose(measured="145ms", skip=2)
    with pytest.raises(InputError, match="listing of nccl-tests"):
        diagnose(measured="145ms", collective="all-reduce")
    with pytest.raises(InputError, match="no tokens"):
        diagnose(measured="145 tokens/s")
    text = listing(measured("cscs-ofi-8"))
    with pytest.raises(InputError, match="workload: not of a listing"):
        diagnose(measured=text, workload="vgg16", **ALPS)
    with pytest.raises(InputError, match="8 ranks"):
        diagnose(measured=text, gpus=4, **ALPS)


def test_the_service_reads_no_file_of_its_own():
    with pytest.raises(Exception, match="files of the server are not read"):
        answer("diagnose", json.dumps({"measured": "/etc/hostname"}).encode())


def test_a_trace_is_a_measurement(tmp_path):
    job = predict(gpus=2)
    write_timeline(tmp_path / "step.json", job)
    read = diagnose(measured=tmp_path / "step.json", gpus=2)
    assert read.measured == pytest.approx(job.iteration_time, rel=1e-3)
    assert read.reading.startswith("trace: median of 2 marked steps")


# --- listings ---


def test_nccl_tests_say_program_and_hosts():
    one = measured("cscs-ofi-8")
    read = read_nccl_tests("x", listing(one, "alltoall"))
    assert (read.collective, read.hosts, read.group_size) == ("all-to-all", 2, 8)
    assert read_nccl_tests("x", listing(one, header=False)).hosts is None


def test_a_plug_in_that_was_not_loaded_is_named():
    """The published listing of machines whose plug-in was missing, which no fit has seen."""
    slow = diagnose(measured=listing(measured("cscs-tcp-8")), **ALPS)
    assert (slow.verdict, slow.causes[0].id) == ("slow", "tcp")
    assert slow.normal < 0.01
    assert slow.sizes[-1].ratio < 0.1
    usual = diagnose(measured=listing(measured("cscs-ofi-8")), **ALPS)
    assert usual.verdict == "normal"
    assert all(size.low_80 <= size.predicted_time <= size.high_80 for size in usual.sizes)


def test_a_ring_over_one_adapter_is_named_as_one_adapter():
    """Two faults at once: neither one adapter nor a ring has their curve alone."""
    catalogue, learned = Catalogue.built_in(), fitted().parameters
    point, sizes = fabric_of(64, catalogue, node="dgx-h100").of("all-reduce", 2**30), 2.0 ** np.arange(10, 33)
    left = place_of(point)._replace(adapters=1.0)
    times = all_reduce.curve(ranks_of(left, learned), learned, "ring").time(sizes)
    first = weigh(point, sizes, times, catalogue).causes[0]
    assert (first.cause.id, first.variant.words) == ("few-adapters", "1 adapter of 8, ring for all sizes")


def test_what_was_taken_of_the_machines_is_among_the_defaults():
    one = measured("gke-h200-dranet-1gpu-0001")
    read = diagnose(measured=listing(one), accelerator="h200-sxm-141gb")
    assert any(line.startswith("--node ") for line in read.defaults)
    assert not any(line.startswith("taken") for line in read.notes)


def test_a_cause_is_shown_at_a_size_where_it_changes_the_time():
    """Latency changes small messages alone; between two ranks every algorithm sends the same."""
    answer = diagnose(measured=PERF, node="dgx-1v", accelerators_per_node=1, nics=1)
    shown = {cause.id: cause for cause in answer.causes}
    sizes = {row.message_bytes: row for row in answer.sizes}
    assert (shown["latency"].message_bytes, shown["slow-rank"].message_bytes) == (2**23, 2**27)
    assert "algorithm" not in shown
    told = "One slow rank may give any of them." in expected_words(answer)
    assert told == (shown["slow-rank"].probability >= LISTED)
    for cause in answer.causes:
        row = sizes[cause.message_bytes]
        assert abs(cause.predicted_time / row.predicted_time - 1) >= UNCHANGED
        assert cause.measured_time == row.measured_time
    assert "algorithm" in {cause.id for cause in diagnose(measured=of_h100(SMALL), node="dgx-h100").causes}


def test_a_cause_that_changes_no_measured_size_is_none():
    large = [2**power for power in (38, 39, 40)]
    point = fabric_of(16, Catalogue.built_in(), node="dgx-h100").of("all-reduce", large[-1])
    times = curve(place_of(point), fitted().parameters).time(np.array(large, float))
    assert "latency" not in {
        each.cause.id for each in weigh(point, large, times, Catalogue.built_in()).causes
    }


def test_that_nothing_is_wrong_comes_first_where_it_is_likeliest():
    usual = diagnose(measured=PERF, node="dgx-1v", accelerators_per_node=1, nics=1)
    slow = diagnose(measured="400ms", gpus=32)
    assert [rows[0] for rows in (shares(usual, 1), shares(slow, 1)[::-1])] == [
        (usual.normal, "nothing is wrong"),
        (slow.normal, "nothing is wrong and the job is as assumed"),
    ]
    assert (usual.verdict, causes(usual).heading, causes(slow).heading) == (
        "normal",
        "Is something wrong?",
        "Likely causes",
    )
    assert (named_causes(usual), named_causes(slow)) == (2, 4)
    assert own_error(usual) is None
    assert own_error(slow) == (
        "10 % of such jobs take over 1.59 x the predicted time: a cause that predicts under 252 ms hardly "
        "explains the 400 ms alone, but may with another"
    )
    less = own_error(diagnose(measured="200ms", gpus=32))
    assert less is not None
    assert less.endswith(", so a cause that predicts less than was measured may still be the one")
    first, *_ = slow.causes
    assert slow.card.chance.startswith(f"{percent(first.probability)} {first.name}; ")
    assert slow.card.chance.endswith(", under 1 % that nothing is wrong and the job is as assumed")
    assert not slow.card.limit  # what limits a normal run does not say what slows this one
    assert diagnose(measured="110ms", gpus=32).card.limit.startswith("as predicted: ")


def test_all_probabilities_sum_to_one():
    for slow in (
        diagnose(measured=listing(measured("cscs-tcp-8")), **ALPS),
        diagnose(measured="400ms", gpus=32),
    ):
        whole = slow.normal + slow.unknown + sum(cause.probability for cause in slow.causes)
        assert whole == pytest.approx(1, rel=1e-9)
        assert sum(share for share, _ in shares(slow, 1)) == pytest.approx(1, rel=1e-9)
        said: dict[str, float] = {}
        for share, what in (each for most in (1, 2, 5) for each in shares(slow, most)):
            words = what if isinstance(what, str) else what.words
            assert said.setdefault(words, share) == share  # one number for one phrase
        known = [cause.probability for cause in slow.causes[1:] if not cause.is_assumption]
        assert f"; {percent(sum(known))} one of {len(known)} other causes we know, " in slow.card.chance
        unknown = f", {percent(slow.unknown)} a cause that we do not know, "  # nor that said first
        assert unknown in slow.card.chance


def of_h100(factors, device="NVIDIA H100 80GB HBM3"):
    """Return a listing of 16 ranks at factors on predicted times, and its sizes."""
    sizes = 2.0 ** np.arange(20, 34)
    point = fabric_of(16, Catalogue.built_in(), node="dgx-h100").of("all-reduce", sizes[-1])
    times = curve(place_of(point), fitted().parameters).time(sizes) * factors
    one = judged_listings.Listing("own", "own", point, sizes, times, "A", False)
    return listing(one).replace("[0x01] GPU", f"[0x01] {device}")


SMALL = np.where(np.arange(14) < 4, 7.0, 1.27)
"""Factors on the times of 1 MiB to 8 GiB, of which the first four are far too long."""


@pytest.mark.parametrize(
    ("factors", "verdict", "said"),
    [
        (
            SMALL,
            "slow",
            "Slow below 16 MiB (559 µs at 2 MiB, where 35.3-181 µs are expected), while large messages are "
            "normal (376 GB/s of 478 GB/s at 8 GiB)",
        ),
        (SMALL[::-1], "slow", "Slow from 1 GiB: "),
        (np.full(14, 10.0), "slow", "Slow at every size: 47.8 GB/s at 8 GiB where "),
        (np.ones(14), "normal", "Normal for these machines: 478 GB/s at 8 GiB where "),
        (
            np.r_[np.ones(13), 2.2],
            "normal",
            "Normal for these machines as a whole, but slow at the largest: 217 GB/s at 8 GiB where ",
        ),
        (
            np.r_[np.ones(12), 0.6, 0.6],
            "normal",
            "Normal for these machines as a whole, but faster than predicted at the largest: 796 GB/s at ",
        ),
    ],
)
def test_a_listing_is_judged_by_the_sizes_that_decide(factors, verdict, said):
    answer = diagnose(measured=of_h100(factors), node="dgx-h100")
    assert answer.verdict == verdict
    assert answer.card.advice.startswith(said)
    assert answer.sentence.startswith(said)
    assert answer.mismatch is None


def test_a_listing_names_its_accelerators():
    text = of_h100(SMALL)
    read = diagnose(measured=text)
    stated = diagnose(measured=text, node="dgx-h100")
    assert read.sizes == stated.sizes
    assert any(line.startswith("--node dgx-h100") for line in read.defaults)
    assert "if the machines are NVIDIA DGX H100, the default. First: give --node (with " in read.card.advice
    assert "--node" not in stated.card.advice
    wrong = diagnose(measured=text, node="dgx-a100-80gb")
    assert wrong.mismatch == (
        "the listing is of NVIDIA H100 80GB HBM3, not of A100 SXM4 80 GB as given: leave out --node, or give "
        "--node dgx-h100"
    )
    assert wrong.card.advice.startswith("The listing is of NVIDIA H100 80GB HBM3, not of")
    assert " First" not in wrong.card.advice  # nothing comes before giving the machines of the listing
    card = diagnose(measured=text, node="dgx-h100", accelerator="rtx-4090").mismatch
    assert card is not None
    assert card.endswith("not of RTX 4090 as given: leave out --accelerator")
    with pytest.raises(InputError, match="not of RTX 4090 as given: leave out accelerator"):
        diagnose(measured=text, accelerator="rtx-4090")
    assert diagnose(measured=of_h100(SMALL, "Unheard-of 9"), node="dgx-h100").mismatch is None
    with pytest.raises(InputError, match="accelerator"):
        diagnose(measured=of_h100(SMALL, "Unheard-of 9"))


def test_ranks_without_a_header_come_from_the_bandwidths():
    text = listing(measured("cscs-ofi-8"), header=False)
    read = diagnose(measured=text, accelerators_per_node=4, **ALPS)
    assert read.reading.endswith("8 ranks on 2 hosts")


def test_one_accelerator_of_each_node_is_said():
    one = measured("gke-h200-dranet-1gpu-0001")
    read = diagnose(measured=listing(one), node="gcp-a3-ultragpu-8g")
    assert any(note.startswith("1 of 8 accelerators of each node") for note in read.notes)


def test_the_likelihood_of_errors_is_that_of_a_normal_law():
    """A second method: the density of a multivariate normal law, written out."""
    sizes, spreads = np.array([1e3, 4e4, 1e9]), np.array([0.5, 0.4, 0.3])
    errors = np.array([0.3, -0.1, 0.2])
    prior = SizeErrors(sizes, spreads)
    for noise, log in zip(NOISES, prior.log_likelihoods(errors), strict=True):
        shared = (1 - noise) * correlations(sizes, sizes) + noise * np.eye(3)
        covariance = shared * np.outer(spreads, spreads)
        square = errors @ np.linalg.inv(covariance) @ errors
        expected = -0.5 * (square + math.log(np.linalg.det(2 * math.pi * covariance)))
        assert log == pytest.approx(expected, rel=1e-12)


def test_a_size_far_from_all_measured_ones_keeps_its_interval():
    prior = SizeErrors(np.array([8.0]), np.array([0.4]))
    far = narrowed(prior, np.array([0.4]), [2.0**300], np.array([0.3]))
    assert far.spreads[0] == pytest.approx(0.3, rel=1e-3)
    assert far.errors[0] == pytest.approx(0.0, abs=1e-3)


def test_faults_change_times_as_they_say():
    one = measured("cscs-ofi-8")
    wire, best = wire_of(one.point, one.sizes, one.times)
    faults = {fault.id: fault for fault in FAULTS}
    slow = spoiled(faults["slow rank, 25 %"], one.point, one.sizes, one.times)
    place = int(np.argmax(wire / one.times))
    assert slow[place] == pytest.approx(4 * one.times[place])
    late = spoiled(faults["late"], one.point, one.sizes, one.times)
    assert late.min() == pytest.approx(8 * one.times.min())
    assert best == pytest.approx(122.6e9, rel=0.01)


@pytest.mark.any_version
def test_wrong_listings_are_found_and_normal_ones_are_not_called_wrong():
    """On sources on which no constant was chosen; each is judged by a fit without it."""
    of = judged_listings.rates()
    assert not {each.case.listing.source for each in (*of.wrong, *of.normal)} & judged_listings.chosen_on()
    assert len(of.wrong) >= 30
    assert len(of.normal) >= 30
    assert of.detected >= 0.9
    assert of.detected_by_source >= 0.9
    assert of.false_alarms <= 0.1
    assert of.false_alarms_by_source <= 0.1


def test_validate_counts_what_the_diagnosis_says():
    from perfmodel import validate

    answer_of = validate("diagnose")
    of = judged_listings.rates()
    reported = answer_of.summary["halves"]["reported"]
    assert reported["wrong"]["alarms"] == of.detected
    assert reported["normal"]["alarms"] == of.false_alarms
    assert len(answer_of.rows) == answer_of.summary["rows"]
    rows = json.loads(answer_of.to_json())["rows"]
    assert sum(row["called_wrong"] for row in rows if row["half"] == "reported" and not row["fault"]) == sum(
        each.alarm for each in of.normal
    )
    assert type(answer_of).of_json(json.loads(answer_of.to_json())).to_json() == answer_of.to_json()
    with pytest.raises(InputError, match="right or wrong"):
        _ = answer_of.errors
    with pytest.raises(InputError, match="takes no data"):
        validate("diagnose", data="x.csv")


# --- a listing next to a prediction ---


def test_a_listing_narrows_a_predicted_collective():
    text = listing(measured("cscs-ofi-8"))
    row = collective(ranks=8, nodes=2, size=2**20, measured=text, **ALPS)
    alone = collective(ranks=8, nodes=2, size=2**20, **ALPS)
    assert row.time == alone.time
    before = math.log(row.interval.high_80 / row.interval.low_80)
    after = math.log(row.after_listing.high_80 / row.after_listing.low_80)
    assert after < 0.3 * before
    assert row.after_listing.low_80 <= row.measured_time <= row.after_listing.high_80
    assert (row.measured_verdict, row.measured_interpolated) == ("normal", False)


def of_times(*times):
    """Return a listing of sizes [B] and times [us]."""
    lines = [
        f"{size} {size // 4} float sum -1 {us} {size / us / 1e3:.4g} {1.75 * size / us / 1e3:.4g}"
        for size, us in times
    ]
    return "\n".join(["# all_reduce_perf", *lines, ""])


def test_between_sizes_of_a_listing_a_power_law_is_taken_and_marked():
    """20 us between 10 and 40 us at twice and half the size; past the end the root of the size's factor."""
    text = of_times((2**20, 10), (2**22, 40), (2**24, 80))
    sizes = [2**20, 2**21, 2**24 * 1.05, 2**26]
    rows = collective(ranks=8, nodes=2, size=sizes, measured=text, **ALPS).rows
    assert [each.measured_interpolated for each in rows] == [False, True, True, False]
    times = [each.measured_time for each in rows]
    assert times[3] is None
    assert times[:3] == pytest.approx([10e-6, 20e-6, 80e-6 * 1.05**0.5])
    assert rows[0].measured_bus_bandwidth == pytest.approx(1.75 * 2**20 / 10e-6)
    assert rows[3].measured_bus_bandwidth is None
    assert rows[0].warnings[-1].startswith("the listing has 3 sizes, from 1 MiB to 16 MiB; a time with ~ is ")
    assert rows[0].warnings[-1].endswith("; --size 1MiB..16MiB takes sizes of the listing")
    own = collective(ranks=8, nodes=2, size=[2**20, 2**22], measured=text, **ALPS).rows
    assert not any("the listing has" in note for note in own[0].warnings)
    uneven = collective(ranks=8, nodes=2, size=2**21, measured=of_times((2**20, 10), (3 * 2**20, 40)), **ALPS)
    assert uneven.warnings[-1].endswith("by a power law")


def test_a_table_next_to_a_listing_ends_with_a_verdict_and_the_next_command(tmp_path, invoke):
    file = tmp_path / "slow.txt"
    file.write_text(of_times((2**20, 90), (2**30, 90_000)))
    command = ("collective", "--ranks=16", "--size=1MB..1GB", "--node=dgx-h100", "--measured", str(file))
    said = " ".join(invoke(*command).stdout.replace("\\\n", "").split())
    assert "the listing is slower than the 80 % interval at " in said
    assert "what to check: perfmodel diagnose --measured" in said
    assert "--gpus 16 --node dgx-h100" in said
    said = " ".join(invoke(*command, "--nodes=2").stdout.replace("\\\n", "").split())
    line = shlex.split(said.partition("what to check: perfmodel ")[2].partition(" note:")[0])
    assert line[-2:] == ["--accelerators-per-node", "8"]  # diagnose has no number of nodes
    assert invoke(*line).exit_code == 0


def test_a_listing_of_another_collective_is_refused():
    text = listing(measured("cscs-ofi-8"))
    with pytest.raises(InputError, match="a listing of all-reduce"):
        collective("broadcast", ranks=8, nodes=2, size=2**20, measured=text, **ALPS)
    with pytest.raises(InputError, match="a listing of 8 ranks"):
        collective(ranks=16, nodes=4, size=2**20, measured=text, **ALPS)
    with pytest.raises(InputError, match="not the output of an nccl-tests"):
        collective(ranks=8, nodes=2, size=2**20, measured="145ms", **ALPS)


# --- training runs ---


def test_the_ends_of_the_interval_are_at_a_tenth_and_nine_tenths():
    options = {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 64, "sharding": "zero3"}
    job = predict(**options)
    low, high = job.interval.low_80, job.interval.high_80
    assert job.interval.clipped_at is None
    ends = [diagnose(measured=f"{time!r}s", **options) for time in (low, high, 0.99 * low, 1.01 * high)]
    assert [each.quantile for each in ends[:2]] == pytest.approx([0.1, 0.9], abs=1e-3)
    assert [each.verdict for each in ends] == ["normal", "normal", "fast", "unclear"]


@pytest.mark.parametrize("per", ["", "/gpu"])
def test_rates_mean_the_time_of_the_same_job(per):
    options = {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 16, "sharding": "zero3"}
    job = predict(**options)
    rate = job.tokens_per_second / (16 if per else 1)
    assert diagnose(measured=f"{rate!r} tokens/s{per}", **options).measured == pytest.approx(
        job.iteration_time
    )


LLAMA = {"workload": "llama-3-8b", "node": "dgx-h100", "sharding": "zero3"}


@pytest.mark.parametrize(
    ("cause", "changed", "options"),
    [
        ("precision", {"precision": "fp32"}, {"gpus": 8, "workload": "vgg16", "precision": "amp"}),
        ("input", {"input": "real", "loader_workers": 1}, {"gpus": 8}),
        ("tcp", {"inter_link": "ethernet-400g-tcp"}, {**LLAMA, "gpus": 64}),
        ("unfused-attention", {"attention_kernel": "unfused"}, {**LLAMA, "gpus": 8}),
    ],
)
def test_a_run_with_one_option_changed_is_explained_by_it(cause, changed, options):
    time = predict(**{**options, **changed}).iteration_time
    slow = diagnose(measured=f"{time!r}s", **options)
    assert slow.causes[0].id == cause
    assert slow.causes[0].predicted_time == pytest.approx(time)
    assert cause in {term.by for term in slow.terms if term.plausible}


def test_every_term_would_have_to_grow_by_the_whole_gap():
    slow = diagnose(measured="400ms", gpus=32)
    gaps = [term.needed - term.time for term in slow.terms]
    assert gaps == pytest.approx([slow.measured - slow.predicted] * len(gaps))
    assert all(term.reached >= term.time for term in slow.terms)


def test_published_runs_are_rows_of_the_package():
    from perfmodel import explain_row

    similar = diagnose(measured="400ms", gpus=32).similar
    assert similar
    (explained,) = explain_row(similar[0].id).rows
    assert explained.line.source == similar[0].source


def test_the_next_measurement_tells_causes_apart():
    slow = diagnose(measured="400ms", gpus=32)
    synthetic = next(each for each in slow.next if each.options == {"input": "synthetic"})
    assert synthetic.expected["normal"] == pytest.approx(0.4)
    assert synthetic.expected["input"] < 0.2
    assert [each.spread for each in slow.next] == sorted((each.spread for each in slow.next), reverse=True)


def test_verdict_sentence_and_card_follow_one_rule_at_every_time():
    """Slow is what lies above the interval and is likelier wrong than not; between the two it is unclear."""
    seen = []
    for milliseconds in (60, 101, 150, 160, 190, 250, 400, 1000):
        answer = diagnose(measured=f"{milliseconds}ms", gpus=32, local_batch_size=64, precision="amp")
        wrong = max(answer.unknown, answer.causes[0].probability)
        above = answer.measured > answer.high_80
        agree = above == (wrong > answer.normal)
        expected = "fast" if answer.measured < answer.low_80 else "unclear" if not agree else None
        assert answer.verdict == (expected or ("slow" if above else "normal"))
        for text in (answer.sentence, answer.card.advice):
            assert text.lower().startswith(answer.verdict)
            assert ("nothing is wrong" in text) == (answer.verdict == "unclear")
            named = any(each in text.lower() for each in ("likely cause", "the likeliest known cause is"))
            assert named == (answer.verdict == "slow")
        seen.append(answer.verdict)
    assert [*dict.fromkeys(seen)] == ["fast", "normal", "unclear", "slow"]


@pytest.mark.parametrize(
    ("pace", "odds", "verdict"),
    [
        ("normal", (0.5, 0.1, [0.4]), "normal"),
        ("normal", (0.3, 0.1, [0.6]), "unclear"),
        ("slow", (0.4, 0.3, [0.3]), "unclear"),
        ("slow", (0.1, 0.6, [0.3]), "slow"),
        ("slow", (0.9, 0.1, []), "unclear"),
        ("fast", (0.0, 1.0, []), "fast"),
    ],
)
def test_a_verdict_that_the_likeliest_contradicts_is_unclear(pace, odds, verdict):
    assert verdict_of(pace, *odds) == verdict


def test_a_verdict_that_turns_on_a_default_says_so():
    """Each value that is named gives the verdict that is said of it, and a stated one is not named."""
    for options in ({"gpus": 16}, {"gpus": 16, "workload": "bert-large"}):
        answer = diagnose(measured="0.4s", **options)
        assert [turn.option for turn in answer.turns][:1] == ["local_batch_size"]
        for turn in answer.turns:
            other = diagnose(measured="0.4s", **options, **{turn.option: turn.other})
            assert other.verdict == turn.verdict != answer.verdict
            assert turn.option not in {each.option for each in other.turns}
            flag = f"--{turn.option.replace('_', '-')} {turn.other}"
            assert flag in {cause.change for cause in listed(answer, 1)}
            assert f"--{turn.option.replace('_', '-')}" in answer.card.advice
    assert answer.card.advice.startswith(
        "Depends on --local-batch-size and --precision, which were not given: slow (2.8 x the predicted "
        "time) if the batch is 16 each and the precision is amp, the defaults. First: give "
        "--local-batch-size (with 64 it is within the 80 % interval) and --precision (with fp32 it is within "
        "the 80 % interval). "
    )
    assert diagnose(measured="0.1s", gpus=16, local_batch_size=64, precision="amp").turns == []


def test_a_listing_that_turns_on_its_adapters_says_so():
    """Of a machine that is given the network is its own; how many adapters it has is open until said."""
    answer = diagnose(measured=PERF, node="dgx-1v")
    (turn,) = answer.turns
    assert (turn.option, turn.taken, answer.verdict) == ("nics", 1, "normal")
    said = ", if each machine uses 1 network adapter, the default. First: give --nics (with 2 it is slow)."
    assert said in answer.card.advice
    assert answer.card.advice.startswith("Depends on --nics, which was not given; normal for these machines")
    stated = diagnose(measured=PERF, node="dgx-1v", nics=turn.other)
    assert (stated.verdict, stated.turns) == ("slow", [])


def test_a_batch_that_was_not_given_is_a_cause_like_others():
    slow = diagnose(measured="400ms", gpus=32, precision="amp")
    (batch,) = (cause for cause in slow.causes if cause.is_assumption)
    assert (batch.id, batch.change) == ("batch", "--local-batch-size 256")
    assert batch.predicted_time == pytest.approx(predict(gpus=32, local_batch_size=256).iteration_time)
    for each in slow.next:  # of the job as it then ran
        job = {"world_size": 32, **each.options, "local_batch_size": 256}
        ratio = predict(**job).iteration_time / batch.predicted_time
        assert each.expected[batch.id] == pytest.approx(0.4 * ratio)
    assert batch.id not in {term.by for term in slow.terms}
    (chart,) = page_of_diagnosis(slow, None, Catalogue.built_in()).charts
    assert f"with {batch.name}" in {span.label for span in chart.spans}
    drawn = in_interval(slow).data
    assert [batch.name] in [trace["y"] for trace in drawn]
    assert {trace["name"] for trace in drawn if trace.get("showlegend", True)} == {
        "80 % of such jobs",
        "with a cause, and its chance",
        "with another job than assumed, and its chance",
        "published runs like it",
    }
    assert show(slow.predicted, "s") in "".join(text for trace in drawn for text in trace.get("text", ()))
    stated = diagnose(measured="400ms", gpus=32, local_batch_size=64, precision="amp")
    assert not any(cause.is_assumption for cause in stated.causes)
    rate = diagnose(measured=f"{32 * 64 / 0.4!r} images/s", gpus=32, precision="amp")
    other = next(cause for cause in rate.causes if cause.is_assumption)
    many = predict(gpus=32, local_batch_size=int(other.change.split()[-1]))
    assert other.predicted_time == pytest.approx(32 * 64 / many.samples_per_second)


def of_dgx1(rate=5.92e9):
    """Return a listing of 16 V100 in two machines that move bytes at a rate, and starts of 0.2 ms."""
    sizes = 2.0 ** np.arange(20, 31, 2)
    point = fabric_of(16, Catalogue.built_in(), node="dgx-1v").of("all-reduce", sizes[-1])
    one = judged_listings.Listing("own", "own", point, sizes, 2e-4 + sizes / rate, "A", False)
    return listing(one).replace("[0x01] GPU", "[0x01] Tesla V100-SXM2-16GB")


def test_of_causes_that_tie_the_measurement_that_tells_them_apart_comes_first():
    answer = diagnose(measured=of_dgx1())
    assert [each.id for each in tied(answer)] == ["no-peer-access", "no-gpudirect"]
    first = answer.next[0]
    inside = collective(ranks=8, size=answer.sizes[-1].message_bytes, node="dgx-1v")
    assert first.expected["normal"] == pytest.approx(inside.bus_bandwidth)
    assert first.expected["no-gpudirect"] == first.expected["normal"]  # nothing leaves the machine
    assert first.expected["no-peer-access"] < 0.2 * first.expected["normal"]
    order = (
        "slow at every size: ",
        "First: look up how many ",
        "Likeliest causes, about equal: ",
        "Then: run the all-reduce inside each machine alone, 8 ranks: ",
        "Taken as --node dgx-1v",
    )
    places = [answer.card.advice.index(each) for each in order]
    assert places == sorted(places)
    assert answer.next[1].expected["no-peer-access"] > 2 * answer.next[1].expected["no-gpudirect"]
    assert "gpudirect" not in diagnose(measured=PERF, node="dgx-1v").card.advice


def test_adapters_that_nobody_stated_are_assumed_and_said_first():
    """With four adapters all is wrong; with one, which is as usual, the listing is nearly normal."""
    answer, one = diagnose(measured=of_dgx1()), diagnose(measured=of_dgx1(), nics=1)
    adapters = answer.adapters
    assert adapters is not None
    assert (adapters.taken, adapters.other) == (4, 1)
    assert (adapters.predicted, adapters.low_80, adapters.high_80) == (one.predicted, one.low_80, one.high_80)
    (cause,) = (each for each in answer.causes if each.id == "adapters")
    assert (cause.is_assumption, cause.change) == (True, "--nics 1")
    assert cause.probability == adapters.probability > 0.05
    advice, _, rest = answer.card.advice.partition(". First: ")
    assert advice.startswith("With 4 network adapters a machine (assumed), slow at every size: ")
    known = percent(sum(each.probability for each in answer.causes[1:] if not each.is_assumption))
    assert advice.endswith(
        f". With one (--nics 1), {show(one.predicted, 'B/s')} would be predicted (80 %: "
        f"{show_range(one.low_80, one.high_80, 'B/s')}), "
        f"and {show(one.measured, 'B/s')} is just below that interval"
    )
    assert answer.sentence.startswith("With 4 network adapters a machine (assumed), slow at every size: ")
    assert "; with one (--nics 1), " in answer.sentence
    assert rest.startswith("look up how many network adapters each machine uses, and give --nics. ")
    assert answer.causes[0].id == "no-peer-access"
    assert f"; {known} one of 6 other causes we know, " in answer.card.chance
    assert f"{percent(adapters.probability)} that the machines are not as assumed" in answer.card.chance
    assert "over 99 %" not in answer.card.chance
    assert "adapters" not in answer.next[0].expected  # it is looked up, not run


@pytest.mark.parametrize(
    ("options", "is_assumed"),
    [
        ({"nics": 4}, False),
        ({"node": "dgx-1v"}, False),
        ({"accelerator": "v100-sxm2-16gb"}, True),
        ({"inter_link": "ib-edr-100g"}, True),
        ({"node": "dgx-1v", "inter_link": "ib-edr-100g"}, True),
    ],
)
def test_adapters_are_assumed_unless_they_or_their_machine_are_stated(options, is_assumed):
    answer = diagnose(measured=of_dgx1(), **options)
    assert (answer.adapters is not None) == is_assumed
    assert ("adapters" in {cause.id for cause in answer.causes}) == is_assumed
    whose = "its own" if "node" in options else "assumed"
    assert answer.card.advice.startswith(f"With 4 network adapters a machine ({whose}), ") == is_assumed


def test_of_machines_that_differ_in_adapters_alone_the_number_is_the_option():
    """DLPerf's machines are DGX-1V with one adapter."""
    others = {cause.change for cause in diagnose(measured=of_dgx1()).causes if cause.is_assumption}
    assert others == {"--nics 1", "AWS p3.16xlarge"}


FACTORS = 0.1, 0.3, 0.9, 1.5, 2, 4, 8, 12, 15, 40
"""On a rate or a time, from far too small to far too large."""


@pytest.mark.parametrize("factor", FACTORS)
def test_what_was_assumed_of_the_machines_changes_no_verdict(factor):
    """All but the causes that something was assumed is to each other as where it is stated."""
    text = of_dgx1(5.92e9 * factor)
    answer, stated = diagnose(measured=text), diagnose(measured=text, node="dgx-1v")
    assert answer.verdict == stated.verdict
    assert not any(cause.is_assumption for cause in stated.causes)
    assert odds_as_assumed(answer) == pytest.approx(odds_as_assumed(stated))
    if answer.measured > answer.predicted:
        assert answer.verdict in ("normal", "fast")
        assert "slow" not in answer.card.advice
        assert answer.adapters is None
    if answer.verdict != "slow":
        assert "(assumed)" not in answer.card.advice


@pytest.mark.parametrize("factor", FACTORS)
def test_what_was_assumed_of_a_job_changes_no_verdict(factor):
    time = f"{0.1 * factor}s"
    answer, stated = (diagnose(measured=time, gpus=32, **job) for job in ({}, {"local_batch_size": 64}))
    assert (answer.verdict, answer.normal < stated.normal) == (stated.verdict, True)
    assert odds_as_assumed(answer) == pytest.approx(odds_as_assumed(stated))


def odds_as_assumed(answer):
    """Return the probabilities of what may be the case if nothing that was assumed is otherwise."""
    faults = {cause.id: cause.probability for cause in answer.causes if not cause.is_assumption}
    odds = {"normal": answer.normal, "unknown": answer.unknown, **faults}
    return {name: share / sum(odds.values()) for name, share in odds.items()}


def test_a_listing_that_is_faster_than_predicted_is_not_called_slow():
    """Eight adapters explain it best, and with four nothing is wrong either."""
    answer = diagnose(measured=of_dgx1(5.92e9 * 8))
    assert (answer.causes[0].id, answer.causes[0].change) == ("adapters", "--nics 8")
    assert answer.causes[0].probability > answer.normal
    assert answer.card.advice.startswith(
        "Normal for these machines as a whole, but faster than predicted at the largest: "
    )
    nothing = percent(answer.normal)
    assert answer.card.chance.endswith(f", {nothing} that nothing is wrong and the machines are as assumed")


@pytest.mark.parametrize(
    ("accelerator", "link"),
    [
        ("v100-sxm2-16gb", "ib-edr-100g"),  # of machines that differ in their network alone
        ("a100-sxm4-80gb", "ib-ndr-400g"),
        ("b200-sxm-180gb", "ib-ndr-400g"),
        ("h200-sxm-141gb", None),  # p5e and p5en have more adapters than eight accelerators fill
    ],
)
def test_what_was_assumed_may_be_otherwise_in_one_way_each(accelerator, link):
    """What predicts the same times is one cause, not two that share its probability."""
    catalogue, options = Catalogue.built_in(), {"accelerator": accelerator, "inter_link": link}

    def point_with(**changed):
        given = {name: value for name, value in {**options, **changed}.items() if value is not None}
        try:
            return fabric_of(16, catalogue, nodes=2, **given).of("all-reduce", 2**30)
        except InputError:  # machines that cannot hold its ranks
            return None

    causes = assumptions_of_listing(
        Scenario(**options), point_with(), catalogue, lambda option, value: point_with(**{option: value})
    )
    forms = [variant for cause in causes for variant in cause.variants]
    assert len({form.curve for form in forms}) == len(forms) > 0
    assert any(form.value == 1 for form in forms)


def test_machines_that_differ_in_adapters_alone_over_the_given_network_are_the_number():
    answer = diagnose(measured=of_dgx1(), inter_link="ib-edr-100g")
    assert {cause.id for cause in answer.causes if cause.is_assumption} == {"adapters"}
    assert "--node (with" not in answer.card.advice


def test_a_machine_that_is_stated_has_the_adapters_that_it_has():
    """With one adapter the listing would be normal; then few of those stated are used, which is a cause."""
    text = of_dgx1(8.6e9)
    assert diagnose(measured=text, nics=1).verdict == "normal"
    answer = diagnose(measured=text, node="dgx-1v")
    assert (answer.turns, answer.adapters) == ([], None)
    assert answer.card.advice.startswith("Slow from 16 MiB: ")
    assert answer.causes[0].id == "few-adapters"
    assert "--nics" not in answer.card.advice
    assert answer.card.chance.endswith(" that nothing is wrong")


def test_a_normal_listing_has_no_adapters_to_offer():
    """Eight adapters are not unlikely, but there is nothing to explain."""
    answer = diagnose(measured=of_dgx1(5.92e9 * 7))
    (cause,) = (each for each in answer.causes if each.id == "adapters")
    assert cause.probability > 0.05
    assert (answer.verdict, answer.adapters) == ("normal", None)


def test_a_precision_that_was_not_given_is_assumed_and_one_that_was_is_stated():
    """What decides is to look it up: no run in fp32 is advised to tell whether it was fp32."""
    job = {"workload": "resnet50", "accelerator": "v100", "gpus": 8, "local_batch_size": 64}
    left_open = diagnose(measured="0.18s", **job)
    first = left_open.causes[0]
    assert (first.id, first.is_assumption, first.next) == (
        "precision",
        True,
        "look it up, and give --precision",
    )
    assert left_open.card.advice.startswith("Depends on --precision, which was not given: ")
    likeliest = f"Most likely cause: the precision is not amp, the default ({percent(first.probability)})."
    assert likeliest in left_open.card.advice
    assert "in fp32:" not in left_open.card.advice
    both = diagnose(measured="0.3s", **job | {"local_batch_size": None})
    assert [turn.option for turn in both.turns] == ["local_batch_size"]
    assert "Likeliest causes, about equal: the batch is not 64 each, the default" in both.card.advice
    assert both.card.advice.endswith("Then: look it up, and give --precision.")
    (in_fp32,) = (each for each in left_open.next if each.words == "the same job in fp32")
    assert in_fp32.expected["precision"] == pytest.approx(0.18)  # it was that already
    given = diagnose(measured="0.18s", **job, precision="amp")
    (fault,) = (cause for cause in given.causes if cause.id == "precision")
    assert (fault.is_assumption, fault.change) == (False, first.change)
    assert fault.words == "products run in a slower number format than stated"


def test_the_card_and_the_list_count_the_same_causes():
    """What was assumed is no cause among them: it has a share of its own."""
    job = {"accelerator": "v100", "gpus": 16, "measured": "2000samples/s"}
    answer = diagnose(**job)
    assert any(cause.is_assumption for cause in answer.causes[1:])
    rows = {what: share for share, what in shares(answer, 1) if isinstance(what, str)}
    for words in (
        f"one of {len(faults_of(answer.causes[1:]))} other causes we know",
        "the job is not as assumed",
    ):
        assert f"{percent(rows[words])} {'that ' * words.startswith('the')}{words}, " in answer.card.chance
    first, fault = answer.causes[0], answer.causes[1].model_copy(update={"is_assumption": False})
    for left, words in (([fault], "the one cause we know"), ([first, fault], "another cause we know")):
        few = answer.model_copy(update={"causes": left, "normal": 0.0 if first in left else 0.9})
        assert f" {words}, " in chance(few)


def test_what_was_assumed_is_among_the_results_of_the_first_test():
    """With another batch synthetic samples change nothing."""
    answer = diagnose(measured="400ms", gpus=32, precision="amp")
    (batch,) = (cause for cause in answer.causes if cause.is_assumption)
    assert explains(batch, answer)
    assert "point to waiting for samples; 400 ms to another batch." in answer.card.advice
    weak = batch.model_copy(update={"predicted_time": 0.2})
    assert not explains(weak, answer)
    assert not explains(weak.model_copy(update={"predicted_time": 40.0}), answer)  # far too long


def test_a_slow_measurement_that_nothing_decides_still_gets_an_action():
    answer = diagnose(measured="400ms", gpus=32, local_batch_size=64)
    for unknown in (0.9, 0.2):
        others = [cause.model_copy(update={"probability": 0.02}) for cause in answer.causes]
        alone = answer.model_copy(update={"next": [], "causes": others, "unknown": unknown})
        assert checks(alone) == [TRACE]
        none = alone.model_copy(update={"causes": []})
        assert checks(none) == [TRACE]
    slow = diagnose(measured=of_dgx1())
    likeliest = next(cause for cause in slow.causes if not cause.is_assumption)
    assert checks(slow.model_copy(update={"next": [], "unknown": 0.99})) == [likeliest.next]


def test_causes_too_weak_for_a_run_are_no_outcome_of_the_first_test():
    """A slower number format, slower ranks and a slow host take under half of the 400 ms."""
    answer = diagnose(measured="400ms", gpus=32, local_batch_size=64)
    share, unknown = percent(answer.causes[0].probability), percent(answer.unknown)
    assert answer.unknown > answer.causes[0].probability
    assert answer.card.advice == (
        "Slow (4 x the predicted time), and why is open. The likeliest known cause is waiting "
        f"for samples ({share}), and {unknown} are left for a cause that we do not know. First: run the same "
        "job with synthetic samples: 84.5 ms (400 ms times the predicted change) would point to waiting for "
        "samples. 400 ms would rule out waiting for samples, and no other cause that we know explains 400 ms "
        "alone: then trace a step and look for what takes longer than predicted (page Trace, or perfmodel "
        "trace diff)."
    )
    weak = {cause.id for cause in answer.causes if not explains(cause, answer)}
    assert {"precision", "stragglers", "host"} <= weak
    assert "input" not in weak


def test_machines_that_would_have_to_be_faster_than_they_are_turn_no_verdict():
    """AWS p3.16xlarge has one port of 25 Gbit/s, which cannot carry what was measured."""
    answer = diagnose(measured=of_dgx1())
    assert answer.turns == []
    assert diagnose(measured=of_dgx1(), node="aws-p3.16xlarge").sizes[-1].verdict == "fast"
    slower = diagnose(measured=of_dgx1(rate=2.1e9))
    assert ("node", "aws-p3.16xlarge") in {(turn.option, turn.other) for turn in slower.turns}
    assert "machine" in {cause.id for cause in listed(slower, 1)}
    assert "give --node (with AWS p3.16xlarge it is normal)" in slower.card.advice


def test_a_bus_bandwidth_above_the_ports_is_explained():
    """Sixteen ranks count 2 x 15/16 bytes; between two machines one byte crosses."""
    words = (
        "a bus bandwidth above the 50 GB/s of a machine's ports is possible: it counts 1.88 bytes for each "
        "byte of the message, with only 1 through the ports"
    )
    answer = diagnose(measured=of_dgx1())
    assert answer.predicted > 50e9
    assert answer.above_ports == words
    large = collective(ranks=16, size="1GB", node="dgx-1v")
    assert (large.bus_bandwidth > 50e9, large.warnings[-1]) == (True, words)
    small = collective(ranks=16, size="1MB", node="dgx-1v")
    assert words not in small.warnings
    assert diagnose(measured=PERF, node="dgx-1v").above_ports is None


def test_faster_than_possible_is_said():
    fast = diagnose(measured="1ms", gpus=8, workload="bert-large", node="dgx-a100")
    assert fast.verdict == "fast"
    assert any(note.startswith("less than is possible") for note in fast.notes)
    assert fast.next == []


def test_an_answer_reads_its_own_json():
    from perfmodel.decide.diagnosis.answer import Diagnosis

    slow = diagnose(measured="400ms", gpus=32)
    assert Diagnosis.model_validate_json(slow.to_json()) == slow
    assert repr(slow).startswith("<Diagnosis: Depends on --local-batch-size, which was ")
    assert slow.records()[0]["id"] == slow.causes[0].id


def test_the_shell_prints_a_listing_at_80_columns(tmp_path):
    path = tmp_path / "listing.txt"
    path.write_text(listing(measured("cscs-tcp-8")))
    words = [f"--{name.replace('_', '-')}={value}" for name, value in ALPS.items()]
    done = CliRunner().invoke(main, ["diagnose", "--measured", str(path), *words])
    assert done.exit_code == 0, done.stderr
    assert "fallen back to kernel TCP" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert perfmodel.__version__


def test_the_shell_names_sources_and_says_what_its_words_mean():
    done = CliRunner().invoke(main, ["diagnose", "--measured=400ms", "--gpus=32"])
    slow = diagnose(measured="400ms", gpus=32)
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    joined = " ".join(done.stdout.split())
    assert all(each.title in joined and each.id not in joined for each in slow.similar)
    names = {cause.id: cause.name for cause in slow.causes}
    told = {names[cause] for each in slow.next for cause in each.expected if cause != "normal"}
    assert all(joined.count(name) > 1 for name in told)  # in the list of causes, and in what to run next
    assert "84.5 ms: waiting for samples 400 ms: another batch, another number format, slower ranks" in joined
    assert "Each time is the 400 ms measured times the change that the model predicts if that is" in joined
    assert "with it an iteration would take 478 ms, 19 % more than the 400 ms measured" in joined
    assert joined.index("none of these causes") < joined.index("as assumed 10 % of such jobs take over")
    assert "what it needed to explain the 400 ms alone, and what it takes at most with a cause" in joined
    assert "defaults  --workload resnet50" in done.stdout
