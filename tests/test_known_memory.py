"""What is known of a memory need: states that options imply, below which no interval reaches."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import perfmodel
from perfmodel import fits, predict
from perfmodel.evidence.accuracy.by_source import mean_of_means
from perfmodel.evidence.accuracy.memory_fit import half_widths, kind_of, shipped_peaks
from perfmodel.interfaces.cli import main
from perfmodel.model.prediction.memory_odds import OPEN
from perfmodel.model.transformers.job import bare_job
from perfmodel.model.transformers.memory import known_of

PARAMETERS = 8030261248
"""Of Llama 3 8B, by its model card on Hugging Face."""
JOB = {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 8, "micro_batch_size": 1}
STATED = JOB | {"framework": "torchtitan", "sharding": "zero3", "recompute": "full"}
SMALL = {"workload": "llama-3-8b", "accelerator": "rtx-4090", "gpus": 2}


@pytest.mark.parametrize(
    ("options", "bytes_per_parameter"),
    [
        (STATED, 16 / 8),  # weight, gradient and two moments in fp32, on eight ranks
        (STATED | {"sharding": "none"}, 16),
        (STATED | {"recompute": None}, 16 / 8),  # changes activations alone
        (STATED | {"sharding": None}, 16 / 8),  # its software may shard them all
        (STATED | {"framework": None}, 8 / 8),  # other software may keep all four in 16 bits
        (JOB, 8 / 8),
        (STATED | {"offload": "optimizer"}, 4 / 8),  # gradients may go to the host at once
        (STATED | {"optimizer": "adam-bf16"}, 12 / 8),
        (STATED | {"optimizer": "adam-in-backward", "sharding": "none"}, 12),
    ],
)
def test_known_states_by_hand(options, bytes_per_parameter):
    stated = {name: value for name, value in options.items() if value is not None}
    memory = predict(**stated).memory
    assert memory.known_bytes == pytest.approx(bytes_per_parameter * PARAMETERS, rel=1e-4)
    assert memory.known_bytes < memory.low_80 < memory.bytes < memory.high_80


def test_frozen_weights_are_known_as_they_are_stored():
    full, whole, quarter = (
        predict(**SMALL, **more).memory for more in ({}, {"lora": 16}, {"lora": 16, "frozen_weights": "nf4"})
    )
    assert 2 * PARAMETERS / 2 < whole.known_bytes < 1.05 * 2 * PARAMETERS / 2
    assert quarter.known_bytes < 0.5 * whole.known_bytes
    assert full.known_bytes == pytest.approx(8 * PARAMETERS / 2, rel=1e-4)


def test_a_data_parallel_job_knows_its_states():
    memory = predict(workload="resnet50", accelerator="v100-sxm2-16gb", gpus=8).memory
    rows = memory.rows
    assert memory.known_bytes == rows["weights"] + rows["gradients"] + rows["optimizer"]
    assert memory.known_bytes < memory.low_80


def test_states_that_exceed_the_memory_do_not_fit_for_certain():
    job = SMALL | {"framework": "torchtitan", "sharding": "zero3", "recompute": "full"}
    memory = predict(**job).memory
    needed = 16 * PARAMETERS / 2 / 2**30
    assert memory.fits_probability == 0
    assert memory.verdict == "does not fit"
    assert memory.states_exceed == (
        f"weights, gradients and optimizer states alone need at least {needed:.1f} of 24.0 GiB"
    )
    assert any(memory.states_exceed in note for note in predict(**job).warnings)
    words = [f"--{name.replace('_', '-')}={value}" for name, value in job.items()]
    for command in ("fits", "predict"):
        printed = " ".join(CliRunner().invoke(main, [command, *words]).output.split())
        assert memory.states_exceed in printed
    assert fits(**job).places[0].fits_probability == 0
    assert fits(**job).known_bytes == memory.known_bytes


def test_less_memory_never_makes_a_job_likelier_to_fit():
    """On accelerators of 24 to 180 GB."""
    names = ("rtx-4090", "a100-sxm4-40gb", "h100-sxm5-80gb", "b200-sxm-180gb")
    for options in ({}, {"lora": 16}, {"framework": "torchtitan", "sharding": "zero3", "recompute": "full"}):
        found = [
            predict(workload="llama-3-8b", gpus=8, accelerator=name, precision="bf16", **options).memory
            for name in names
        ]
        chances = [each.fits_probability for each in sorted(found, key=lambda each: each.capacity)]
        assert chances == sorted(chances)
        assert chances[0] < chances[-1]


@pytest.mark.parametrize("stages", [1, 4])
def test_the_fullest_stage_is_as_likely_to_fit_as_the_job(stages):
    options = {"workload": "llama-3-70b", "node": "dgx-h100", "gpus": 32, "tensor_parallel": 8}
    answer = fits(**options, pipeline_parallel=stages)
    fullest = max(answer.places, key=lambda place: place.bytes)
    assert answer.known_bytes <= answer.low_80
    assert fullest.fits_probability == pytest.approx(answer.fits_probability, rel=0.02)


def test_intervals_of_predict_cover_peaks_whose_software_and_layout_are_not_stated():
    """With what ``predict`` knows of such jobs, where the widths are learned with nothing known."""
    inside = []
    for peak in shipped_peaks():
        if kind_of(peak) != OPEN:
            continue
        known = float(known_of(bare_job(peak.run.case), ("framework", "sharding")))
        width = half_widths(peak.run.source)[OPEN]
        inside.append((peak.run.source, peak._replace(known=known).missed <= width))
    assert sum(each for _, each in inside) / len(inside) >= 0.8
    assert mean_of_means(inside) >= 0.75


def test_a_single_micro_batch_is_not_several():
    answer = fits(workload="llama-3-8b", node="dgx-h100", gpus=8, pipeline_parallel=8, global_batch_size=1)
    assert any("that of 1 micro-batch in 8 stages" in note for note in answer.warnings)
    assert not any("1 micro-batches" in note for note in answer.warnings)


@pytest.mark.parametrize(
    "options",
    [
        {"workload": "llama-3-8b", "instances": "p4d.24xlarge", "tokens": "1B", "max_gpus": 8},
        {"workload": "resnet50", "instances": "p3.16xlarge", "max_gpus": 8},
    ],
)
def test_a_plan_has_the_interval_of_its_prediction(options):
    plan = perfmodel.plan(**options).chosen
    stated = {"framework": plan.framework, "recompute": "none", "sharding": "none"} if plan.layout else {}
    again = predict(
        workload=options["workload"],
        node=plan.node,
        gpus=plan.world_size,
        precision=plan.precision,
        **(stated | {name: value for name, value in (plan.layout or {}).items() if name != "data_parallel"}),
        **({} if plan.layout else {"local_batch_size": plan.local_batch_size}),
    ).memory
    assert plan.memory == pytest.approx(
        {"fits_probability": again.fits_probability, "low_80": again.low_80, "high_80": again.high_80}
    )
    assert again.known_bytes < plan.memory["low_80"]
