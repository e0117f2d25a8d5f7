"""How long training takes to a published quality; epochs grow with the batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from perfmodel.calibration import Calibration
from perfmodel.errors import InputError
from perfmodel.prediction.learning_rates import WARM_UP_EPOCHS, learning_rates
from perfmodel.prediction.result import Prediction
from perfmodel.recipes import Recipe, benchmark_of, benchmarks, recipe, usual_recipe
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue
from perfmodel.workloads import understood, workload


def target_tokens(workload_id: str) -> int | None:
    """Return the tokens of a sample of the data that a workload's target was reached with.

    None where a sample has none, or nothing was published.

    >>> target_tokens("bert-large"), target_tokens("resnet50")
    (256, None)
    """
    benchmark = benchmark_of(workload_id)
    return benchmarks()[benchmark].sample_tokens if benchmark else None


def with_target() -> str:
    """Return the names of all networks whose epochs to a target have been published."""
    return ", ".join(name for each in benchmarks().values() for name in each.workloads)


def for_target(scenario: Scenario) -> Scenario:
    """Return a scenario whose samples are the target's, where it does not say how long they are."""
    tokens = target_tokens(understood(scenario.workload).id)
    if tokens is None or scenario.sequence_length is not None:
        return scenario
    return scenario.model_copy(update={"sequence_length": tokens})


def tokens_note(workload_id: str, sequence_length: int | None) -> str | None:
    """Return what must be said of the length of the samples that are counted; None where there is none.

    >>> tokens_note("bert-large", 128)
    'samples of 128 tokens; those that reach the target have about 256 (at most 512) without padding'
    """
    tokens = target_tokens(workload_id)
    if tokens is None:
        return None
    if sequence_length == tokens:
        return f"samples of {tokens} tokens: the target's have at most {2 * tokens}, half of it padding"
    return (
        f"samples of {sequence_length} tokens; those that reach the target have about {tokens} "
        f"(at most {2 * tokens}) without padding"
    )


def on_its_own_data(asked: Mapping[str, Any]) -> None:
    """Refuse a target on other data than it was published for.

    Raises
    ------
    InputError : a data set, or its size, is given
    """
    for name in ("dataset", "dataset_samples"):
        if asked.get(name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise InputError(
                f"{option} {asked[name]}: a target was published for the network's own data; "
                f"leave {option} out, or give --epochs"
            )


def time_to_target(
    prediction: Prediction,
    name: str | None = None,
    catalogue: Catalogue | None = None,
    constants: Calibration | None = None,
) -> dict[str, Any]:
    """Return target, recipe, epochs and time [s] at the batch of a prediction, its learning rate and samples.

    The prediction should be of ``for_target(scenario)``: a target is reached with samples of its own length.

    Parameters
    ----------
    prediction : of one iteration
    name : of the recipe, ``stock`` or ``mlperf``; by default what goes with the framework
    catalogue, constants : what it was predicted with: phases of other sequence lengths are predicted too

    Raises
    ------
    InputError : nothing was published for this workload, or no such recipe
    """
    asked = prediction.scenario
    on_its_own_data(asked)
    benchmark = benchmark_of(asked["workload"])
    if benchmark is None:
        raise InputError(f"no published epochs to a target for {asked['workload']}; known: {with_target()}")
    chosen = recipe(benchmark, name or usual_recipe(benchmark, asked["framework"]))
    network = workload(asked["workload"], asked["sequence_length"])
    fit, batch = chosen.fit, float(asked["global_batch_size"])
    phases = [
        {"sequence_length": phase.sequence_length, "amount": phase.amount, "time": time}
        for phase, time in zip(
            chosen.phases, _phase_times(prediction, chosen, catalogue, constants), strict=True
        )
    ]
    in_phases = any(phase.sequence_length for phase in chosen.phases)
    samples = float(network.dataset_samples or 1)
    time = float(fit.time(batch, prediction.samples_per_second, samples))
    note = tokens_note(asked["workload"], asked["sequence_length"])
    return {
        "target": fit.target,
        "unit": fit.unit,
        "amount": float(fit.epochs(batch)),
        "time": sum(phase["time"] for phase in phases) if in_phases else time,
        "within_range": fit.within_range(batch),
        "batch_sizes": [fit.smallest_batch_size, fit.largest_batch_size],
        "sequence_length": None if in_phases else asked["sequence_length"],
        "note": None if in_phases else note,
        "recipe": chosen.name,
        "recipe_words": chosen.words,
        "recipe_source": chosen.source,
        "phases": phases if in_phases else [],
        "learning_rate": _learning_rate(chosen, batch),
    }


def _learning_rate(chosen: Recipe, batch: float) -> dict[str, Any] | None:
    """The rate of a recipe at a batch by the linear rule, after a warm-up; None where none was published."""
    if chosen.learning_rate is None:
        return None
    rates = learning_rates(*chosen.learning_rate, batch)
    return asdict(rates.rows[0]) | {"warm_up_epochs": WARM_UP_EPOCHS, "warm_up_from": chosen.learning_rate[0]}


def _phase_times(
    prediction: Prediction, chosen: Recipe, catalogue: Catalogue | None, constants: Calibration | None
) -> list[float]:
    """Time of each phase [s], those of another sequence length predicted anew."""
    from perfmodel.prediction.assemble import predict

    times = []
    for phase in chosen.phases:
        answer = prediction
        if phase.sequence_length and phase.sequence_length != prediction.scenario["sequence_length"]:
            asked = prediction.scenario | {"sequence_length": phase.sequence_length}
            answer = predict(asked, catalogue, constants)
        times.append(phase.amount / answer.samples_per_second)
    return times
