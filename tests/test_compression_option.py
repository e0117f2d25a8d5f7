"""Compressed gradients as an option of ``predict`` and everything beside it."""

from __future__ import annotations

import numpy as np
import pytest

import perfmodel
from perfmodel import explain, predict, sweep
from perfmodel.core.errors import InputError
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.collectives import all_gather
from perfmodel.model.collectives.model import curve, fitted, ranks_of
from perfmodel.model.collectives.place import place_of
from perfmodel.model.fitted.calibration import calibration
from perfmodel.model.options.compression import KINDS, parse_scheme
from perfmodel.model.prediction.collectives.collective_fabric import fabric_of

SCHEMES = [str(parse_scheme(name)) for name in KINDS]
JOB = {"workload": "vgg16", "gpus": 16, "inter_link": "ethernet-10g-tcp"}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    "job", [JOB, {"gpus": 8}, {"gpus": 32, "node": "dgx-a100"}, {"gpus": 4, "accelerator": "k80"}]
)
def test_predict_says_what_the_command_says(scheme, job):
    (row,) = perfmodel.compression(scheme, **job).rows
    answer = predict(compression=scheme, overlap="none", **job)
    assert answer.terms["coding_time"] == pytest.approx(row.encode_time + row.decode_time, rel=1e-12)
    assert answer.communication_time == pytest.approx(row.communication_time, rel=1e-9)
    (traffic,) = answer.traffic
    ranks = job["gpus"] if row.collective == "all-gather" else 1
    assert traffic.collective == row.collective
    assert traffic.message_bytes == pytest.approx(row.sent_bytes * ranks)
    assert sum(answer.terms.values()) == pytest.approx(answer.iteration_time, rel=1e-12)
    assert any(f"[{row.source}]" in note for note in answer.warnings)
    assert predict(answer.scenario).iteration_time == pytest.approx(answer.iteration_time, rel=1e-12)


@pytest.mark.parametrize("scheme", ["fp16", "topk:0.001", "powersgd:2"])
@pytest.mark.parametrize("overlap", ["none", "wfbp", "bucketed", "fused"])
def test_a_sweep_gives_what_predict_gives(scheme, overlap):
    crossed = {"gpus": [1, 4, 8, 16, 64], "local_batch_size": [8, 64], "compression": [None, scheme]}
    rows = list(sweep(**crossed, overlap=overlap, inter_link="ethernet-10g-tcp").rows())
    assert len(rows) == 20
    for row in rows:
        names = ("gpus", "local_batch_size", "compression")
        one = dict(zip(names, (row["world_size"], row["local_batch_size"], row["compression"]), strict=True))
        answer = predict(**one, overlap=overlap, inter_link="ethernet-10g-tcp")
        for name in ("iteration_time", "low_80", "communication_time", *answer.terms):
            own = answer.terms.get(name, getattr(answer, name, None))
            own = answer.interval.low_80 if name == "low_80" else own
            assert row[name] == pytest.approx(own, rel=1e-9, abs=1e-15), (one, name)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_explain_is_complete(scheme):
    for gpus in (1, 16):
        assert explain(gpus=gpus, compression=scheme, inter_link="ethernet-10g-tcp").complete


def test_a_gather_from_a_steps_ranks_is_that_of_collectives():
    """The same curve from the same numbers, whichever way they are written."""
    p, catalogue = fitted().parameters, Catalogue.built_in()
    for node, ranks in (("dgx-1v", 8), ("dgx-a100", 32), ("dgx-h100", 64), ("pcie-workstation-8gpu", 4)):
        chip = "v100-sxm2-16gb" if node == "pcie-workstation-8gpu" else None
        fabric = fabric_of(ranks, catalogue, node=node, accelerator=chip, nodes=max(1, ranks // 8))
        point = fabric.of("all-gather", 1e8)
        at = place_of(point)
        own = all_gather.curve(ranks_of(at, p), p, point.link.kind == "pcie")
        sizes = np.array([1e3, 1e6, 1e9])
        assert own.time(sizes) == pytest.approx(curve(at, p).time(sizes), rel=1e-12)


def test_one_accelerator_codes_nothing():
    assert predict(compression="topk").iteration_time == predict().iteration_time


def test_smaller_gradients_pay_on_slow_networks_alone():
    slow = {"workload": "vgg16", "gpus": 16, "inter_link": "ethernet-10g-tcp", "framework": "pytorch@2024"}
    assert predict(compression="powersgd:4", **slow).iteration_time < 0.65 * predict(**slow).iteration_time
    fast = {"workload": "resnet50", "gpus": 8, "node": "dgx-h100"}
    assert predict(compression="topk:0.01", **fast).iteration_time > predict(**fast).iteration_time


def test_what_is_left_out_is_kept_in_memory():
    plain, kept = (predict(gpus=8, compression=each).memory for each in ("signsgd", "topk"))
    assert plain.rows["left_out"] == 0
    assert kept.rows["left_out"] == pytest.approx(4 * 25.557e6, rel=1e-3)
    lost = kept.rows["allocator"] - plain.rows["allocator"]
    assert kept.bytes - plain.bytes == pytest.approx(kept.rows["left_out"] + lost)
    assert lost == pytest.approx(calibration().allocator_share * kept.rows["left_out"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"compression": "zip"}, "unknown compression"),
        ({"compression": "topk:2"}, "density"),
        ({"compression": "fp16:3"}, "no parameter"),
        ({"compression": "fp16", "strategy": "parameter-server"}, "goes with strategy all-reduce"),
        ({"compression": "fp16", "strategy": "local-sgd"}, "goes with strategy all-reduce"),
        ({"compression": "fp16", "overlap": "priority"}, "overlap priority"),
        ({"compression": "topk", "algorithm": "tree"}, "gathered"),
        (
            {"compression": "topk", "workload": "llama-3-8b", "tensor_parallel": 2},
            "gradients are sent whole; leave it out",
        ),
    ],
)
def test_nonsense_is_refused(options, words):
    with pytest.raises(InputError, match=words):
        predict(gpus=8, **options)


def test_where_it_turns_is_in_sensitivity(invoke):
    done = invoke(
        "sensitivity", "--gpus", "16", "--compression", "powersgd:4", "--inter-link", "ethernet-10g-tcp"
    )
    assert done.exit_code == 0, done.stderr
    (row,) = perfmodel.compression("powersgd:4", gpus=16, inter_link="ethernet-10g-tcp").rows
    from perfmodel.core.units import show

    assert f"powersgd:4 pays below {show(row.break_even_bandwidth, 'B/s')} a port" in " ".join(
        done.stdout.split()
    )


def test_one_accelerator_compresses_nothing_in_the_baseline_of_a_global_batch():
    asked = {"workload": "bert-large", "gpus": 16, "global_batch_size": 144}
    plain = predict(**asked)
    for scheme in ("powersgd:4", "topk:0.01"):
        answer = predict(**asked, compression=scheme)
        assert answer.baseline_time == plain.baseline_time
        assert sweep(**asked, compression=scheme).table()["baseline_time"][0] == answer.baseline_time
