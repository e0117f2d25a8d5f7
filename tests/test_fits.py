"""Whether a job fits: the memory of every stage, and the changes that make it fit."""

import re
from itertools import product
from typing import Any

import pytest
from click.testing import CliRunner

from perfmodel import fits, predict
from perfmodel.core.errors import InputError
from perfmodel.core.units import percent
from perfmodel.decide.fits import answer as answer_module
from perfmodel.decide.fits.listing import largest_words, unstarted_words
from perfmodel.decide.fits.words import change_words
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.interfaces.cli import command_of, main
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.card import throughput_words
from perfmodel.model.prediction.result import Prediction
from perfmodel.model.setting.resolve import Setting, resolve
from perfmodel.model.transformers.evaluate import case_of_setting
from perfmodel.model.transformers.job import job_of
from perfmodel.model.transformers.memory import memory_of
from perfmodel.model.transformers.stage_memory import memory_of_each_stage

TOO_LARGE: dict[str, Any] = {
    "workload": "llama-3-8b",
    "accelerator": "h100-sxm5-80gb",
    "gpus": 8,
    "framework": "megatron-core@2025",
    "sharding": "zero1",
    "recompute": "none",
    "micro_batch_size": 2,
}


@pytest.mark.parametrize(
    ("schedule", "stages"),
    [
        *product(("1f1b", "zb-h1", "zb-h2", "zb-v", "v-half", "v-min"), (2, 4, 8)),
        ("interleaved", 4),
        ("dualpipe", 4),
    ],
)
@pytest.mark.parametrize("workload", ["llama-3-8b", "mixtral-8x7b", "llama-3.1-405b", "deepseek-v3"])
def test_the_fullest_stage_is_what_predict_says(workload: str, schedule: str, stages: int) -> None:
    """Stage by stage and the largest of all are computed apart: ends, remainders and what a stage keeps."""
    chunks = 2 if schedule == "interleaved" else 1
    job = Scenario(
        workload=workload,
        accelerator="h100-sxm5-80gb",
        world_size=8 * stages,
        tensor_parallel=8,
        pipeline_parallel=stages,
        virtual_stages=chunks,
        schedule=schedule,
        accumulation_steps=3 * stages,
        micro_batch_size=1,
    )
    each = job_of(case_of_setting(resolve(job, Catalogue.built_in())))
    places = memory_of_each_stage(each)
    assert len(places) == stages
    copies = 2 if schedule == "dualpipe" else 1
    assert sum(place.layers for place in places) >= copies * each.model.layers
    fullest = max(float(place.memory.total) for place in places)
    said = float(memory_of(each).total)
    if schedule in ("zb-v", "v-half", "v-min"):
        # said of the first stage, which has both ends: with the layers and activations of the fullest
        assert 0.92 * said < fullest <= said * (1 + 1e-9)
    else:
        assert fullest == pytest.approx(said, rel=1e-9)


def test_what_it_says_is_what_predict_says() -> None:
    answer, prediction = fits(**TOO_LARGE), predict(**TOO_LARGE)
    assert answer.bytes == prediction.memory.bytes
    assert answer.fits_probability == prediction.memory.probability
    assert answer.places[0].bytes == pytest.approx(answer.bytes)
    assert sum(answer.places[0].rows.values()) == pytest.approx(answer.bytes)


def test_each_change_makes_the_same_batch_fit() -> None:
    """Each is predicted anew, as one who types its options would."""
    answer = fits(**TOO_LARGE, confidence=0.9)
    assert answer.fits_probability < 0.9
    assert answer.changes
    batch = 2 * TOO_LARGE["gpus"]
    for change in answer.changes:
        length = change.options.get("sequence_length", 8192)
        of_step = batch * 8192 // length  # as many tokens
        options = {**TOO_LARGE, **change.options, "global_batch_size": of_step}
        options["gpus"] = options.pop("world_size", TOO_LARGE["gpus"])
        prediction = predict(**options)
        assert prediction.memory.probability >= 0.9, change.words
        assert prediction.iteration_time == pytest.approx(change.iteration_time, rel=1e-9)
        assert prediction.scenario["global_batch_size"] == of_step
        assert change.options.get("global_batch_size", of_step) == of_step


def test_a_shorter_sequence_is_among_the_changes() -> None:
    """Of a long sequence most of the memory are activations; it is other training, so it comes last."""
    job: dict[str, Any] = {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 8, "sharding": "zero3"}
    answer = fits(**job, sequence_length=65536, confidence=0.5)
    (shorter,) = (change for change in answer.changes if "sequence_length" in change.options)
    assert not shorter.same_training
    assert shorter.options["sequence_length"] * shorter.options["global_batch_size"] == 8 * 65536


def test_lines_to_start_are_those_of_a_job_that_can_run() -> None:
    """Where the job fits hardly, those of the first change stand beside them; where it cannot, alone."""
    job = {**TOO_LARGE, "micro_batch_size": 1}
    hardly = fits(**job)
    first = {**job, **hardly.changes[0].options, "global_batch_size": job["gpus"]}
    assert hardly.starts
    assert hardly.change_starts == fits(**first).starts
    never = fits(workload="llama-3-70b", accelerator="h100-sxm5-80gb", gpus=64, sharding="none")
    assert never.verdict == "does not fit"
    assert never.starts == {}
    assert never.change_starts


def test_a_bar_is_drawn_beyond_the_memory() -> None:
    done = CliRunner().invoke(
        main, ["fits", "--workload=llama-3-70b", "--node=dgx-h100", "--gpus=64", "--sharding=none"]
    )
    answer = fits(workload="llama-3-70b", node="dgx-h100", gpus=64, sharding="none")
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("every accelerator"))
    inside, beyond = line.removeprefix("every accelerator ").split(" GiB")[0].rsplit(None, 1)[0].split("|")
    drawn = len((inside + beyond).strip()) / len(inside)
    assert drawn == pytest.approx(answer.bytes / answer.capacity, rel=0.15)
    assert drawn > 5
    assert "megatron-core starts the first change that fits" in " ".join(done.stdout.split())


def test_the_batch_to_take_surely_fits() -> None:
    """The largest sure one has 95 %, one sample more has less; the largest of all has even odds."""
    job: dict[str, Any] = {"workload": "resnet152", "accelerator": "k80", "gpus": 1}
    answer = fits(**job, local_batch_size=256)
    sure, most = answer.largest_sure_batch, answer.largest_batch
    assert 0 < sure < most < 256
    sizes = (sure, sure + 1, most, most + 1)
    chances = [fits(**job, local_batch_size=size).fits_probability for size in sizes]
    assert chances[0] >= 0.95 > chances[1]
    assert chances[2] >= 0.5 > chances[3]
    assert f"at most {sure} to be sure" in predict(**job, local_batch_size=256).card.advice


@pytest.mark.parametrize(
    ("job", "confidence", "begin"),
    [
        ({"workload": "llama-3-70b", "gpus": 16}, 0.8, "Llama 3 70B does not fit; to make it fit, take "),
        ({"workload": "llama-3-8b", "gpus": 16}, 0.8, "Llama 3 8B probably does not fit ("),
        (
            {**TOO_LARGE, "micro_batch_size": 1, "context_parallel": 2},
            0.95,
            "Llama 3 8B fits with probability ",
        ),
    ],
)
def test_the_advice_is_the_first_change_and_nothing_else(
    job: dict[str, Any], confidence: float, begin: str
) -> None:
    """It once said to take GPUs with more memory, above changes by which the job fits on these."""
    answer = fits(**{"accelerator": "h100-sxm5-80gb", **job}, confidence=confidence)
    advice, first = answer.card.advice, answer.changes[0]
    assert advice.startswith(begin)
    assert (answer.fits_probability < 0.5) == ("not fit" in advice)
    stated = f" ({first.if_as_assumed})" if first.if_as_assumed else ""
    taken = f", take {change_words(first.options)}: it then fits with {percent(first.fits_probability)}"
    assert f"{taken}{stated}, " in advice
    assert "more memory" not in advice


def test_the_advice_says_that_nothing_was_found() -> None:
    answer = fits(workload="llama-3.1-405b", accelerator="v100-sxm2-16gb", gpus=1)
    assert not answer.changes or answer.changes[0].fits_probability < answer.confidence
    assert ("nothing tried makes it fit with 80 %" if answer.changes else "no change") in answer.card.advice


def test_changes_on_as_many_gpus_that_keep_the_training_come_first() -> None:
    kinds = [(each.more_gpus, not each.same_training) for each in fits(**TOO_LARGE, confidence=0.95).changes]
    assert kinds == sorted(kinds)


QLORA: dict[str, Any] = {
    "workload": "llama-2-70b",
    "accelerator": "rtx-4090",
    "gpus": 2,
    "framework": "axolotl",
    "lora": 16,
    "frozen_weights": "nf4",
    "sharding": "zero3",
    "recompute": "full",
    "sequence_length": 1024,
}


def test_what_the_software_does_is_advised_before_what_it_is_not_known_to_do() -> None:
    """Of tensor parallelism over 4-bit weights nothing is documented: what is known to work stands first."""
    answer = fits(**{**QLORA, "framework": "levanter"}, confidence=0.9)
    known, unknown, near = answer.changes
    assert known is answer.fitting
    assert known.options == {"world_size": 4, "global_batch_size": 4}
    assert unknown.options["tensor_parallel"] == 2
    assert any("not known to share nf4-double weights" in line for line in unknown.warnings)
    assert unknown.fits_probability > answer.confidence > near.fits_probability > answer.fits_probability
    advice = answer.card.advice
    assert advice.startswith("QLoRA of Llama 2 70B probably does not fit (")
    assert f"take {change_words(known.options)}: it then fits with over 99 %" in advice
    assert f"Or else {change_words(unknown.options)}: {percent(unknown.fits_probability)}, " in advice
    assert f"known to do, 2 GPUs fit it with {percent(near.fits_probability)} at most." in advice
    # of more GPUs, where it comes from
    assert " as much GPU time as without it (a step of 4 samples takes " in advice
    assert known.limit.startswith("communication, ")
    assert f": {known.limit})" in advice
    assert "perfmodel fits" in predict(**QLORA).card.advice


def test_4_bit_weights_are_trained_by_software_that_does_and_the_card_says_which() -> None:
    bare = {name: QLORA[name] for name in ("workload", "accelerator", "gpus", "lora", "frozen_weights")}
    answer = fits(**bare)
    assert answer.bytes == fits(**bare, framework="axolotl").bytes
    assert answer.card.machines.endswith("; axolotl@2026 by default")
    assert fits(**bare, framework="axolotl").card.machines.endswith("; axolotl (year 2026 by default)")
    assert "default" not in fits(**bare, framework="axolotl@2026").card.machines
    one = {"workload": "llama-3-8b", "accelerator": "rtx-4090", "gpus": 1}
    first = fits(**one).changes[0]
    assert first.options["framework"] == "axolotl"
    assert predict(**one, **first.options).memory.bytes == first.bytes


def test_longer_sequences_fit_on_twice_the_gpus_with_one_more_change() -> None:
    answer = fits(**{**QLORA, "framework": "megatron-core", "sequence_length": 4096}, confidence=0.9)
    assert answer.fitting is not None
    assert answer.fitting.options["world_size"] == 4


def test_8_bit_adam_of_sharded_weights_is_that_of_torchao() -> None:
    """Axolotl refuses that of bitsandbytes with FSDP2."""
    lines = fits(**{**QLORA, "gpus": 8}, optimizer="adam-8bit").starts["axolotl"]
    assert "optimizer: adamw_torch_8bit" in lines


def test_nothing_is_changed_where_it_fits() -> None:
    answer = fits(workload="resnet50", gpus=4)
    assert answer.verdict == "fits"
    assert answer.changes == []


def test_a_network_without_layouts_takes_smaller_passes() -> None:
    answer = fits(workload="resnet152", accelerator="k80", local_batch_size=64, confidence=0.95)
    first = answer.changes[0]
    assert first.options == {"local_batch_size": 32, "accumulation_steps": 2}
    assert first.fits_probability >= 0.95


@pytest.mark.parametrize(
    ("job", "by"),
    [
        (
            {"workload": "llama3-8b", "gpus": 1, "accelerator": "h100-sxm5-80gb", "recompute": "full"},
            ({"tensor_parallel"}, {"sharding", "global_batch_size"}),
        ),
        (
            {
                **QLORA,
                "framework": "megatron-core",
                "workload": "llama-65b",
                "accelerator": "a100-sxm4-40gb",
                "gpus": 1,
            },
            ({"tensor_parallel"},),
        ),
    ],
)
def test_more_gpus_share_the_network(job: dict[str, Any], by: tuple[set[str], ...]) -> None:
    """No option that shares is open to the job as it is: on one GPU there is nothing to share with."""
    job = {name: value for name, value in job.items() if name != "sharding"}
    answer = fits(**job, confidence=0.8)
    assert answer.fits_probability < 0.8
    larger = [each for each in answer.changes if each.more_gpus]
    found = [{*each.options} - {"world_size"} for each in larger]
    assert all(options in found for options in by)
    for each in larger:
        options = {**job, "global_batch_size": 1, **each.options, "gpus": each.options["world_size"]}
        del options["world_size"]
        assert predict(**options).memory.probability == pytest.approx(each.fits_probability)


def test_a_change_that_costs_much_is_not_named_alone() -> None:
    answer = fits(workload="llama3-8b", gpus=1, accelerator="h100-sxm5-80gb", recompute="full")
    first, other = answer.changes[0], next(each for each in answer.changes if each.more_gpus)
    assert first.slowdown > 10 > 0.5 > other.slowdown
    assert answer.card.advice.index(change_words(first.options)) < answer.card.advice.index(
        f"Or else {change_words(other.options)}"
    )


def test_as_many_options_are_changed_as_help() -> None:
    answer = fits(workload="llama3-70b", gpus=1, accelerator="v100-sxm2-16gb")
    assert answer.fitting is not None
    assert answer.fitting.options["tensor_parallel"] == 8
    assert len(answer.fitting.options) > 6


@pytest.mark.parametrize(("batch", "sizes"), [(225, {75: True}), (227, {1: True, 76: False})])
def test_odd_batches_are_cut_into_as_many_passes_as_need_be(batch: int, sizes: dict[int, bool]) -> None:
    """225 is 3 times 75; 227 is a prime number: 227 passes of 1, or 3 of 76, one sample more."""
    answer = fits(workload="resnet50", gpus=1, local_batch_size=batch, accelerator="k80")
    assert {each.options["local_batch_size"]: each.same_training for each in answer.changes} == sizes
    for each in answer.changes:
        samples = each.options["local_batch_size"] * each.options["accumulation_steps"]
        assert samples - batch == (0 if each.same_training else 1)


def test_what_comes_closest_is_said_where_nothing_fits() -> None:
    answer = fits(workload="llama-3.1-405b", accelerator="rtx-4090", gpus=2, lora=16, sequence_length=1024)
    assert answer.changes
    assert all(change.fits_probability < answer.confidence for change in answer.changes)


def test_lines_that_start_a_job() -> None:
    starts = fits(
        workload="llama-2-7b",
        accelerator="rtx-4090",
        gpus=2,
        framework="axolotl",
        lora=16,
        frozen_weights="nf4",
        sharding="zero3",
        lora_targets="q,v",
        micro_batch_size=2,
    ).starts
    assert "megatron-core" not in starts
    lines = starts["axolotl"]
    assert {"adapter: qlora", "load_in_4bit: true", "micro_batch_size: 2", "fsdp_version: 2"} <= set(lines)
    assert [line for line in lines if line.startswith("  - ")] == ["  - q_proj", "  - v_proj"]
    sharded = fits(workload="llama-3-8b", accelerator="h100-sxm5-80gb", gpus=8, strategy="fsdp").starts
    assert "  fsdp_reshard_after_forward: true" in sharded["fsdp"]
    assert '    "stage": 3' in sharded["deepspeed"]


def test_activations_on_the_host_start_by_what_moves_them() -> None:
    job: dict[str, Any] = {"workload": "llama-3-8b", "node": "dgx-h100", "gpus": 8, "sharding": "zero3"}
    kept = fits(**job, offload="activations", recompute="none")
    assert {"gradient_checkpointing: true", "activation_offloading: true"} <= set(kept.starts["axolotl"])
    words = "# of train.py: activations in the host's memory (torch.autograd.graph.save_on_cpu)"
    assert all(words in kept.starts[name] for name in ("deepspeed", "fsdp"))
    assert not {"megatron-core", "torchtitan"} & kept.starts.keys()
    assert unstarted_words(kept) == "no settings of megatron-core are known that start it"
    assert not unstarted_words(fits(**job, offload="activations", framework="fsdp"))
    assert not unstarted_words(fits(workload="resnet50"))


def test_what_fits_is_not_said_to_fit_with_none() -> None:
    job = {name: value for name, value in QLORA.items() if name not in ("recompute", "sequence_length")}
    answer = fits(**{**job, "workload": "llama-3-70b"}, offload="all")
    assert answer.largest_sure_batch == 0
    odds = percent(answer.fits_probability)
    assert largest_words(answer) == f"{answer.largest_batch} samples with even odds (now 1, with {odds})"


def test_a_change_has_the_interval_and_the_odds_of_its_job_with_defaults_stated() -> None:
    job = {"workload": "llama-3-70b", "accelerator": "rtx-4090", "gpus": 2, "lora": 16}
    job |= {"frozen_weights": "nf4", "sequence_length": 1024, "host_memory": "128GB"}
    first = fits(**job).fitting
    assert first is not None
    changed = {**job, **first.options}
    interval = predict(**changed).interval
    assert interval is not None
    assert (first.iteration_time_low_80, first.iteration_time_high_80) == (interval.low_80, interval.high_80)
    said = fits(**job).card.advice
    assert f"It then does {first.throughput.partition('; ')[0]}." in said
    assert first.throughput == throughput_words(predict(**changed))
    assert [each.count("(80 %: ") for each in (first.time, first.throughput)] == [1, 2]
    card = fits(**job).card
    assert card.throughput == f"with the change {first.throughput}"
    assert card.time.startswith(f"with the change {first.time}; if it fitted, ")
    stated = fits(**changed, framework="axolotl", recompute="full")
    odds = f"{percent(stated.fits_probability)} if --framework and --recompute are as assumed"
    assert f"fits with {percent(first.fits_probability)} ({odds}), " in said
    assert f" ({odds}): " in predict(**changed).card.memory
    assert "as assumed" not in stated.card.memory


def test_only_the_change_that_is_advised_is_predicted_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = []
    real = answer_module.prediction_of_setting

    def counted(setting: Setting, constants: Calibration) -> Prediction:
        whole.append(setting)
        return real(setting, constants)

    monkeypatch.setattr(answer_module, "prediction_of_setting", counted)
    answer = answer_module.fits(Scenario(**TOO_LARGE), 0.95)
    assert len(answer.changes) > 2
    assert len(whole) == 2  # the job as it is, and with the advised change
    assert all(each.iteration_time_low_80 < each.iteration_time for each in answer.changes)
    assert len(whole) == 1 + len(answer.changes)


def test_an_assumed_length_is_said_in_the_card() -> None:
    job = {name: value for name, value in QLORA.items() if name != "sequence_length"}
    advice = fits(**job).card.advice
    assert "Samples of 4,096 tokens are assumed, while adapters are often trained on 512 to 2,048" in advice
    assert "are assumed" not in fits(**QLORA).card.advice
    assert (
        "tokens are assumed: state yours with --sequence-length."
        in fits(**{**job, "lora": None, "frozen_weights": None}).card.advice
    )


def test_every_option_that_it_names_is_its_own() -> None:
    """``--verbose`` is of other commands."""
    known = {name for one in command_of("fits").params for name in (*one.opts, *one.secondary_opts)}
    for words in (["--gpus", "8"], ["--workload", "llama-3-8b", "--gpus", "8"]):
        printed = CliRunner().invoke(main, ["fits", *words]).stdout
        assert set(re.findall(r"--[a-z][a-z-]*", printed.replace("-\n", "-"))) <= known


def test_a_confidence_beyond_all_is_refused() -> None:
    with pytest.raises(InputError, match="confidence"):
        fits(workload="resnet50", confidence=1.5)


ANCHORED: dict[str, Any] = {"workload": "resnet50", "node": "dgx-1v", "gpus": 32, "local_batch_size": 1024}


def test_an_anchor_measures_the_job_as_it_is_and_not_its_changes() -> None:
    """With the same anchor read as one of the change, four passes of a quarter cost nothing."""
    free, held = fits(**ANCHORED), fits(**ANCHORED, anchor="iteration_time=400ms@32")
    assert [each.options for each in held.changes] == [each.options for each in free.changes]
    assert held.changes[0].slowdown == pytest.approx(free.changes[0].slowdown, rel=0.2)
    assert held.changes[0].slowdown > 0.01
    change = held.changes[0]
    assert change.iteration_time_high_80 is not None
    assert change.iteration_time_high_80 / change.iteration_time > 1.1  # not the noise of repeats
    again = predict(**ANCHORED | change.options, anchor=change.anchor)
    assert again.iteration_time == pytest.approx(change.iteration_time)
    assert f"--anchor {change.anchor}" in change.command


def test_an_anchor_of_a_layout_is_of_the_layout_as_it_is() -> None:
    """The run was measured without the recomputation that a change adds, and costs it in full."""
    job = TOO_LARGE | {"sharding": "zero3", "micro_batch_size": 8}
    measured = 1.05 * predict(**job).iteration_time
    free, held = (fits(**job, **more) for more in ({}, {"anchor": f"iteration_time={measured:.6g}s@8"}))
    slower = {str(each.options): each.slowdown for each in free.changes if not each.more_gpus}
    for each in held.changes:
        if not each.more_gpus:
            assert each.slowdown == pytest.approx(slower[str(each.options)], abs=0.05)
    assert max(slower.values()) > 0.2


def test_a_data_parallel_job_keeps_its_anchor_in_a_change_that_has_a_layout() -> None:
    job: dict[str, Any] = {"workload": "bert-large", "accelerator": "v100-sxm2-16gb", "gpus": 8}
    job |= {"local_batch_size": 64, "anchor": "iteration_time=490ms@8"}
    assert predict(**job).layout is None
    change = next(each for each in fits(**job).changes if each.options == {"recompute": "full"})
    assert 0.05 < change.slowdown < 0.4
    assert change.anchor is not None
    assert "sharding=none,recompute=none,micro_batch_size=64,global_batch_size=512" in change.anchor


def test_a_change_states_its_throughput_as_numbers_too() -> None:
    first = fits(**TOO_LARGE).changes[0]
    assert first.tokens_per_second is not None
    assert first.throughput.startswith(f"{first.tokens_per_second:,.0f} tokens/s")
    assert first.samples_per_second * 8192 == pytest.approx(first.tokens_per_second)
