"""Weights with all states in the host's memory: FSDP's offload_params, DeepSpeed's offload_param."""

import json
from typing import Any

import pytest
from click.testing import CliRunner

from perfmodel import fits, layouts, predict
from perfmodel.core.errors import InputError
from perfmodel.interfaces.cli import main
from tests.test_fits import QLORA

FULL: dict[str, Any] = {
    "workload": "llama-3-8b",
    "node": "dgx-h100",
    "gpus": 8,
    "framework": "fsdp",
    "sharding": "zero3",
    "sequence_length": 2048,
}
TWICE = {"accumulation_steps": 2}
"""Gradients of several passes are there at the peak, which those of one may be later than."""
STATES = ("weights", "gradients", "optimizer")


@pytest.mark.parametrize("job", [QLORA, FULL], ids=["adapters", "all weights"])
def test_the_shards_of_all_states_move_to_the_host(job):
    here, there = predict(**job, **TWICE).memory, predict(**job, **TWICE, offload="weights").memory
    assert not any(there.rows[name] for name in STATES)
    assert there.rows["other"] == here.rows["other"]  # what is gathered stays
    assert there.host_bytes == pytest.approx(job["gpus"] * sum(here.rows[name] for name in STATES))
    assert here.host_bytes == 0
    assert here.host_capacity is None


@pytest.mark.parametrize("job", [QLORA, FULL], ids=["adapters", "all weights"])
def test_copies_from_the_host_hide_behind_the_passes_with_the_gathers(job):
    here, there = predict(**job, **TWICE), predict(**job, **TWICE, offload="weights")
    weights, gradients, _ = (here.memory.rows[name] for name in STATES)
    fastest = 31.5e9 if job is QLORA else 63e9  # PCIe 4 and 5
    least = 2 * (2 * weights + gradients) / fastest
    added = there.terms["host_copy_time"]
    assert here.terms["host_copy_time"] == 0
    assert 0 < added < least / 0.7
    assert there.terms["exposed_communication_time"] == here.terms["exposed_communication_time"]
    unhidden = predict(**job, **TWICE, offload="weights", overlap="none").terms["host_copy_time"]
    assert unhidden == pytest.approx(least / 0.76, rel=0.05)


def test_what_moves_weights_updates_on_the_host_as_an_offloaded_optimizer_does():
    times = [predict(**FULL, offload=what).terms["update_time"] for what in ("optimizer", "weights", "all")]
    assert times[0] == times[1] == times[2] > predict(**FULL).terms["update_time"]


def test_all_moves_activations_too():
    weights, everything = (predict(**FULL, offload=what).memory for what in ("weights", "all"))
    assert everything.host_bytes > weights.host_bytes
    assert everything.bytes < weights.bytes


def test_one_accelerator_holds_the_layers_that_it_computes():
    alone = predict(**{**QLORA, "gpus": 1}, offload="weights")
    assert alone.memory.rows["other"] > 0
    assert alone.memory.host_bytes == pytest.approx(predict(**QLORA, offload="weights").memory.host_bytes)
    assert alone.terms["host_copy_time"] > 0


def test_weights_that_nobody_shards_stay():
    with pytest.raises(InputError, match="it needs sharding zero3"):
        predict(**{**FULL, "sharding": "none"}, offload="weights")
    job = {name: value for name, value in FULL.items() if name != "sharding"}
    prediction = predict(**{**job, "framework": "megatron-core"}, offload="weights")
    assert prediction.layout is not None
    assert prediction.layout["sharding"] == "zero3"
    assert any("is not known to keep weights in the host's memory" in line for line in prediction.warnings)
    assert not any("host's memory" in line for line in predict(**FULL, offload="weights").warnings)
    rows = layouts(
        "llama-3-8b", gpus=8, node="dgx-h100", framework="fsdp", global_batch_size=8, offload="weights"
    ).rows
    assert {row.layout["sharding"] for row in rows} == {"zero3"}


def test_a_host_with_less_memory_is_refused():
    """A g5.xlarge has 16 GiB next to its A10G."""
    job = {**QLORA, "node": "aws-g5.xlarge", "gpus": 1, "offload": "weights"}
    del job["accelerator"]
    prediction = predict(**job)
    assert prediction.memory.bytes < prediction.memory.capacity
    assert not prediction.memory.fits
    assert prediction.memory.fits_probability == 0
    assert "it needs 39.9 GiB of 16 GiB of each machine's host memory" in prediction.card.advice
    assert "39.9 GiB of 16 GiB of each machine's host memory" in prediction.card.memory


def test_the_hosts_memory_may_be_stated():
    job = {**QLORA, "offload": "weights"}
    for size in ("128GB", 128e9):
        prediction = predict(**job, host_memory=size)
        assert prediction.memory.host_capacity == 128e9
        assert prediction.scenario["host_memory"] == 128e9
        assert "; 39.9 GiB of 128 GB of each machine's host memory" in prediction.card.memory
        assert prediction.memory.probability == pytest.approx(predict(**job).memory.probability, rel=1e-3)
    assert predict(**prediction.scenario).memory.host_capacity == 128e9
    small = predict(**{**FULL, "offload": "weights"}, host_memory="100GB").memory
    assert small.probability == 0  # a DGX H100 has 2 TB, which the option replaces
    assert small.largest_local_batch_size == small.largest_sure_batch_size == 0
    line = ["fits", *(f"--{name.replace('_', '-')}={value}" for name, value in job.items())]
    done = CliRunner().invoke(main, [*line, "--host-memory", "128GB"])
    assert "39.9 GiB of 128 GB of each machine's host memory" in " ".join(done.stdout.split())


def test_a_job_fits_where_card_and_host_do():
    """By the law of a card's memory; all that lies on the host beyond states are activations."""
    job = {**FULL, "offload": "all", "micro_batch_size": 4, "recompute": "full", "optimizer": "adam"}
    free = predict(**job).memory
    tight = predict(**job, host_memory=1.02 * free.host_bytes).memory
    assert 0.5 * free.probability < tight.probability < 0.9 * free.probability
    assert free.largest_sure_batch_size is not None
    assert tight.largest_local_batch_size == 4 < free.largest_sure_batch_size
    assert tight.largest_sure_batch_size is not None
    assert tight.largest_sure_batch_size < 4
    most = predict(**{**job, "micro_batch_size": 5}, host_memory=1.02 * free.host_bytes).memory
    assert not most.fits


def test_changes_find_room_on_the_host():
    """States and activations of 8,192 tokens need 68 GB there, and states alone 46 GB."""
    job = {name: QLORA[name] for name in ("accelerator", "gpus", "lora", "frozen_weights")}
    answers = [fits(workload="llama-3-70b", **job, host_memory=size) for size in ("128GB", "64GB")]
    everything, weights = (answer.fitting for answer in answers)
    assert everything is not None
    assert everything.options["offload"] == "all"
    assert weights is not None
    assert weights.options["offload"] == "weights"
    assert weights.host_bytes < 64e9 < everything.host_bytes
    lines = answers[0].change_starts["axolotl"]
    assert {"gradient_checkpointing: true", "activation_offloading: hidden_states"} <= set(lines)
    assert "  offload_params: true" in lines


def test_layouts_are_of_hosts_with_room():
    job = {"gpus": 8, "node": "dgx-h100", "framework": "fsdp", "global_batch_size": 8, "offload": "weights"}
    free, stated = (layouts("llama-3-8b", **job, host_memory=size) for size in (None, "1TB"))
    assert len(free.rows) == len(stated.rows)
    with pytest.raises(InputError, match="host"):
        layouts("llama-3-8b", **job, host_memory="64GB")


@pytest.mark.published("Answer.AI, You can now train a 70b language model at home, 2024-03-06")
@pytest.mark.parametrize(("sequence_length", "micro_batch_size"), [(512, 2), (1024, 1)])
def test_qlora_of_70b_fits_on_two_cards_of_24_gb(sequence_length, micro_batch_size):
    """With FSDP, QLoRA, recomputation and offloading, in a desktop with 128 GB."""
    job = {**QLORA, "sequence_length": sequence_length, "micro_batch_size": micro_batch_size}
    with_it = predict(**job, offload="weights").memory
    assert with_it.probability > 0.95 > predict(**job).memory.probability
    assert with_it.host_bytes < 128e9


def test_it_is_the_first_advice_where_it_is_known_to_work():
    answer = fits(**QLORA)
    assert answer.changes[0].options == {"offload": "weights"}
    advice = answer.card.advice
    assert (
        "take weights and optimizer in host memory (FSDP's offload_params): it then fits with over 99 %"
        in advice
    )
    assert (
        "39.9 GiB of each machine's host memory (how much it has is not known: state --host-memory)" in advice
    )
    assert "Not modelled" not in advice
    assert answer.card.limit.startswith("memory; if it fitted, computing, ")
    assert answer.change_starts["axolotl"][-1] == "  offload_params: true"
    others = fits(**{**QLORA, "framework": "megatron-core"}).changes
    assert not any("weights" in str(each.options.get("offload")) for each in others)


def test_the_exit_code_says_whether_it_fits():
    line = ["fits", "--json"]
    for name, value in QLORA.items():
        line += [f"--{name.replace('_', '-')}", str(value)]
    short = CliRunner().invoke(main, line)
    enough = CliRunner().invoke(main, [*line, "--offload", "weights"])
    assert (short.exit_code, enough.exit_code) == (1, 0)
    assert json.loads(short.stdout)["changes"][0]["host_bytes"] == json.loads(enough.stdout)["host_bytes"]


@pytest.mark.parametrize(
    ("software", "options", "line"),
    [
        ("fsdp", {}, "  fsdp_offload_params: true"),
        ("deepspeed", {}, '    "offload_param": {'),
        ("torchtitan", {}, "--training.enable_cpu_offload"),
        ("axolotl", {}, "  offload_params: true"),
    ],
)
def test_it_starts_by_the_settings_of_each_software(software, options, line):
    for what in (None, "weights"):
        starts = fits(**FULL, offload=what, **options).starts
        assert (line in starts[software]) == (what is not None)
    assert "megatron-core" not in fits(**FULL, offload="weights").starts
