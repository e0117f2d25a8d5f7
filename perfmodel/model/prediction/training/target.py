"""Time of training to a published quality, with epochs that grow with the batch."""

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
    """Return the tokens of a sample in the data with which a workload's target was reached.

    None if samples have no tokens, or nothing was published.

    >>> target_tokens("bert-large"), target_tokens("resnet50")
    (256, None)
    """
    benchmark = benchmark_of(workload_id)
    return benchmarks()[benchmark].sample_tokens if benchmark else None


def with_target() -> str:
    """Return, as text, the names of all networks with published epochs to a target."""
    return ", ".join(name for each in benchmarks().values() for name in each.workloads)


def recipe_of(
    network: Workload,
    name: str | None = None,
    framework: str | None = None,
    *,
    target: str | None = None,
    tokens: float | None = None,
) -> Recipe | None:
    """Return the training recipe of a network; None if none is published and none is named.

    Parameters
    ----------
    network : to be trained
    name : of the recipe; by default the one of the framework
    framework : of the job; None if not stated
    target : quality that ends the run, one of MLPerf's
    tokens : of the run, for the recipe ``tokens``

    Raises
    ------
    InputError : an unknown recipe or target, or one not published for the network
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
    """Return the message for a network without a published target."""
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
    """Return a scenario with open options filled in from its recipe.

    These are the length of the target's samples, the framework and the optimizer; phases have their own
    lengths.

    Parameters
    ----------
    scenario : of the job
    name : of the recipe; by default the one of the framework
    catalogue : of hardware; by default the built-in one
    tokens : of the run, for the recipe ``tokens``

    Raises
    ------
    InputError : as for ``recipe_of``
    """
    network = workload(scenario.workload, scenario.sequence_length, scenario.image_tokens)
    chosen = recipe_of(network, name, scenario.framework, tokens=tokens)
    if chosen is None:
        return scenario
    recipe_options = {
        "sequence_length": None if chosen.in_phases else target_tokens(network.id),
        "framework": _framework(chosen, scenario, catalogue),
        "optimizer": chosen.optimizer,
    }
    changes = {
        field: value
        for field, value in recipe_options.items()
        if value is not None and getattr(scenario, field) is None
    }
    return scenario.model_copy(update=changes) if changes else scenario


def _framework(chosen: Recipe, scenario: Scenario, catalogue: Catalogue | None) -> str | None:
    """Return the recipe's software for a job's accelerator; None if the job states its software."""
    if chosen.framework is None or scenario.framework is not None:
        return None
    try:
        accelerator = resolve(scenario, Catalogue.of(catalogue)).accelerator
    except InputError:  # a prediction will report it
        return None
    return chosen.framework_on(accelerator)


def recipe_name(scenario: Scenario, name: str | None = None, tokens: float | None = None) -> str | None:
    """Return the name of a job's recipe: the stated one, else that of its framework.

    None if nothing was published for its network.

    Raises
    ------
    InputError : as for ``recipe_of``
    """
    network = workload(scenario.workload, scenario.sequence_length, scenario.image_tokens)
    chosen = recipe_of(network, name, scenario.framework, tokens=tokens)
    return None if chosen is None else chosen.name


def recipe_defaults(scenario: Scenario, completed: Scenario) -> list[str]:
    """Return notes on the defaults that ``for_target`` filled in.

    The framework is listed by ``resolve``, which gives it a year.
    """
    whose = {"sequence_length": "the target's", "optimizer": "the recipe's"}
    return [
        f"--{field.replace('_', '-')} {getattr(completed, field)} ({words})"
        for field, words in whose.items()
        if getattr(completed, field) != getattr(scenario, field)
    ]


def tokens_note(workload_id: str, sequence_length: int | None) -> str | None:
    """Return a note on the length of the counted samples; None if the target has no tokens.

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


def on_its_own_data(options: Mapping[str, Any]) -> None:
    """Refuse a target on other data than it was published for.

    Raises
    ------
    InputError : a data set, or its size, is given
    """
    for name in ("dataset", "dataset_samples"):
        if options.get(name) is not None:
            raise refusal("recipe.own_data", name, asked=options[name])


def time_to_target(
    prediction: Prediction,
    name: str | None = None,
    catalogue: Catalogue | None = None,
    constants: Calibration | None = None,
    tokens: float | None = None,
) -> dict[str, Any]:
    """Return target, recipe, epochs, steps, time [s] and learning rate at a prediction's batch, by name.

    The prediction should be of ``for_target(scenario, name)``, since targets need samples of their own
    length, and recipes their framework.

    Parameters
    ----------
    prediction : of one iteration
    name : of the recipe; by default the one of the framework
    catalogue, constants : of the prediction; used to predict phases of other sequence lengths
    tokens : of the run, for the recipe ``tokens``

    Raises
    ------
    InputError : nothing was published for this workload, or no such recipe
    """
    scenario = prediction.scenario
    on_its_own_data(scenario)
    network = workload(scenario["workload"], scenario["sequence_length"], scenario["image_tokens"])
    chosen = recipe_of(network, name, scenario["framework"], tokens=tokens)
    if chosen is None:
        raise refusal("recipe.no_target", "workload", said=Words(unpublished(network)))
    fit, batch = chosen.fit, float(scenario["global_batch_size"])
    phases = [
        {"sequence_length": phase.sequence_length, "amount": phase.amount, "time": time}
        for phase, time in zip(
            chosen.phases, _phase_times(prediction, chosen, catalogue, constants), strict=True
        )
    ]
    samples = 1.0 if fit.unit == "samples" else float(network.dataset_samples or 1)
    amount = float(fit.epochs(batch))
    time = float(fit.time(batch, prediction.samples_per_second, samples))
    note = tokens_note(scenario["workload"], scenario["sequence_length"])
    return {
        "target": fit.target,
        "unit": fit.unit,
        "amount": amount,
        "steps": math.ceil(amount * samples / batch),
        "tokens": chosen.tokens,
        "time": sum(phase["time"] for phase in phases) if chosen.in_phases else time,
        "within_range": fit.within_range(batch),
        "batch_sizes": [fit.smallest_batch_size, fit.largest_batch_size],
        "sequence_length": None if chosen.in_phases else scenario["sequence_length"],
        "note": None if chosen.in_phases else note,
        "recipe": chosen.name,
        "framework": scenario["framework"],
        "recipe_words": chosen.words(scenario["framework"]),
        "recipe_source": chosen.source,
        "evidence": [asdict(row) for row in chosen.evidence],
        "phases": phases if chosen.in_phases else [],
        "learning_rate": _learning_rate(chosen, batch),
    }


def _learning_rate(chosen: Recipe, batch: float) -> dict[str, Any] | None:
    """Return the rate of a recipe at a batch by the linear rule, after a warm-up; None if not published."""
    if chosen.learning_rate is None:
        return None
    rates = learning_rates(*chosen.learning_rate, batch)
    return asdict(rates.rows[0]) | {"warm_up_epochs": WARM_UP_EPOCHS, "warm_up_from": chosen.learning_rate[0]}


def _phase_times(
    prediction: Prediction, chosen: Recipe, catalogue: Catalogue | None, constants: Calibration | None
) -> list[float]:
    """Return the time of each phase [s]; those of another sequence length are predicted separately."""
    from perfmodel.model.prediction.assemble import predict

    times = []
    for phase in chosen.phases:
        answer = prediction
        if phase.sequence_length and phase.sequence_length != prediction.scenario["sequence_length"]:
            scenario = prediction.scenario | {"sequence_length": phase.sequence_length}
            answer = predict(scenario, catalogue, constants)
        times.append(phase.amount / answer.samples_per_second)
    return times
