"""How long training takes to a published quality; epochs grow with the batch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from perfmodel.core.errors import InputError, refusal, unknown_name
from perfmodel.core.problem import Words
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.result import Prediction
from perfmodel.model.prediction.training.learning_rates import WARM_UP_EPOCHS, learning_rates
from perfmodel.model.setting.resolve import resolve
from perfmodel.workloads import workload
from perfmodel.workloads.recipes.recipes import NAMES, Recipe, benchmark_of, benchmarks, recipe, usual_recipe
from perfmodel.workloads.recipes.token_recipes import NAME as TOKENS
from perfmodel.workloads.recipes.token_recipes import token_recipe
from perfmodel.workloads.workload import Workload


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


def recipe_of(
    network: Workload,
    name: str | None = None,
    framework: str | None = None,
    *,
    target: str | None = None,
    tokens: float | None = None,
) -> Recipe | None:
    """Return how training of a network goes; None where nothing was published of it and no recipe is named.

    Parameters
    ----------
    network : to be trained
    name : of the recipe; by default what goes with the framework
    framework : of the job; None where nobody names one
    target : quality that ends the run, one of MLPerf's
    tokens : of the run, for the recipe ``tokens``

    Raises
    ------
    InputError : an unknown recipe or target, or one that is not known of the network
    """
    if name is not None and name not in NAMES:
        raise unknown_name("recipe", name, NAMES)
    if name == TOKENS:
        return token_recipe(network, tokens)
    if tokens is not None:
        raise refusal("recipe.tokens", tokens=TOKENS)
    benchmark = benchmark_of(network.id)
    if benchmark is not None:
        return recipe(benchmark, name or usual_recipe(benchmark, framework), target)
    if name is not None:
        raise refusal("recipe.unpublished", name=name, network=Words(unpublished(network)))
    return None


def unpublished(network: Workload) -> str:
    """Return what to say of a network without a published target."""
    model = network.architecture
    words = f"no published epochs to a target for {network.id}; known: {with_target()}"
    if model is not None and model.predicts_next_token:
        words += f"; --recipe {TOKENS} trains it on a number of tokens"
    return words


def for_target(
    scenario: Scenario,
    name: str | None = None,
    catalogue: Catalogue | None = None,
    tokens: float | None = None,
) -> Scenario:
    """Return a scenario with what goes with its recipe, where it does not say itself.

    That is the length of the target's samples, the framework and the optimizer; phases have lengths of
    their own.

    Parameters
    ----------
    scenario : of the job
    name : of the recipe; by default what goes with the framework
    catalogue : hardware its names are looked up in; by default what comes with the package
    tokens : of the run, for the recipe ``tokens``

    Raises
    ------
    InputError : as ``recipe_of``
    """
    network = workload(scenario.workload, scenario.sequence_length)
    chosen = recipe_of(network, name, scenario.framework, tokens=tokens)
    if chosen is None:
        return scenario
    goes_with = {
        "sequence_length": None if chosen.in_phases else target_tokens(network.id),
        "framework": _framework(chosen, scenario, catalogue),
        "optimizer": chosen.optimizer,
    }
    changes = {
        field: value
        for field, value in goes_with.items()
        if value is not None and getattr(scenario, field) is None
    }
    return scenario.model_copy(update=changes) if changes else scenario


def _framework(chosen: Recipe, scenario: Scenario, catalogue: Catalogue | None) -> str | None:
    """The software that goes with a recipe on the accelerator of a job; None where it names software."""
    if chosen.framework is None or scenario.framework is not None:
        return None
    try:
        accelerator = resolve(scenario, Catalogue.of(catalogue)).accelerator
    except InputError:  # which predicting it will say
        return None
    return chosen.framework_on(accelerator)


def recipe_name(scenario: Scenario, name: str | None = None, tokens: float | None = None) -> str | None:
    """Return the recipe of a job: the one named, else what goes with the framework that it names.

    None where nothing was published of its network.

    Raises
    ------
    InputError : as ``recipe_of``
    """
    network = workload(scenario.workload, scenario.sequence_length)
    chosen = recipe_of(network, name, scenario.framework, tokens=tokens)
    return None if chosen is None else chosen.name


def recipe_defaults(asked: Scenario, completed: Scenario) -> list[str]:
    """Return the options that ``for_target`` chose, as answers list what nobody said.

    The framework is listed by ``resolve``, which gives it a year.
    """
    whose = {"sequence_length": "the target's", "optimizer": "the recipe's"}
    return [
        f"--{field.replace('_', '-')} {getattr(completed, field)} ({words})"
        for field, words in whose.items()
        if getattr(completed, field) != getattr(asked, field)
    ]


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
            raise refusal("recipe.own_data", name, asked=asked[name])


def time_to_target(
    prediction: Prediction,
    name: str | None = None,
    catalogue: Catalogue | None = None,
    constants: Calibration | None = None,
    tokens: float | None = None,
) -> dict[str, Any]:
    """Return target, recipe, epochs, steps and time [s] at the batch of a prediction, and its learning rate.

    The prediction should be of ``for_target(scenario, name)``: a target is reached with samples of its own
    length, and a recipe goes with its framework.

    Parameters
    ----------
    prediction : of one iteration
    name : of the recipe; by default what goes with the framework
    catalogue, constants : what it was predicted with: phases of other sequence lengths are predicted too
    tokens : of the run, for the recipe ``tokens``

    Raises
    ------
    InputError : nothing was published for this workload, or no such recipe
    """
    asked = prediction.scenario
    on_its_own_data(asked)
    network = workload(asked["workload"], asked["sequence_length"])
    chosen = recipe_of(network, name, asked["framework"], tokens=tokens)
    if chosen is None:
        raise refusal("recipe.no_target", "workload", said=Words(unpublished(network)))
    fit, batch = chosen.fit, float(asked["global_batch_size"])
    phases = [
        {"sequence_length": phase.sequence_length, "amount": phase.amount, "time": time}
        for phase, time in zip(
            chosen.phases, _phase_times(prediction, chosen, catalogue, constants), strict=True
        )
    ]
    samples = 1.0 if fit.unit == "samples" else float(network.dataset_samples or 1)
    amount = float(fit.epochs(batch))
    time = float(fit.time(batch, prediction.samples_per_second, samples))
    note = tokens_note(asked["workload"], asked["sequence_length"])
    return {
        "target": fit.target,
        "unit": fit.unit,
        "amount": amount,
        "steps": math.ceil(amount * samples / batch),
        "tokens": chosen.tokens,
        "time": sum(phase["time"] for phase in phases) if chosen.in_phases else time,
        "within_range": fit.within_range(batch),
        "batch_sizes": [fit.smallest_batch_size, fit.largest_batch_size],
        "sequence_length": None if chosen.in_phases else asked["sequence_length"],
        "note": None if chosen.in_phases else note,
        "recipe": chosen.name,
        "framework": asked["framework"],
        "recipe_words": chosen.words(asked["framework"]),
        "recipe_source": chosen.source,
        "evidence": [asdict(row) for row in chosen.evidence],
        "phases": phases if chosen.in_phases else [],
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
    from perfmodel.model.prediction.assemble import predict

    times = []
    for phase in chosen.phases:
        answer = prediction
        if phase.sequence_length and phase.sequence_length != prediction.scenario["sequence_length"]:
            asked = prediction.scenario | {"sequence_length": phase.sequence_length}
            answer = predict(asked, catalogue, constants)
        times.append(phase.amount / answer.samples_per_second)
    return times
