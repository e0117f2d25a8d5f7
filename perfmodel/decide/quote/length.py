"""Samples that a claimed job trains on, and the cost of a second of it."""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.core.errors import refusal
from perfmodel.core.units import show
from perfmodel.decide.price_kinds import HOUR
from perfmodel.decide.prices import price_of
from perfmodel.decide.quote.completed_job import changed
from perfmodel.decide.quote.expected import tokens_of
from perfmodel.decide.quote.file import GOES_WITH, Claim
from perfmodel.decide.quote.limits import limit_of_iteration
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.training.target import on_its_own_data, recipe_of, tokens_note, with_target
from perfmodel.model.setting.resolve import Setting, resolve
from perfmodel.workloads.recipes.epochs_to_target import EpochsFit
from perfmodel.workloads.recipes.recipes import Recipe, recipe, recipe_names
from perfmodel.workloads.recipes.token_recipes import NAME as TOKENS


class Length(NamedTuple):
    """Samples until trained; for a run in phases, the number that takes as long."""

    samples: float
    fewest: float
    """Fewest samples of any known recipe, for the physical limit."""
    spread: float = 0.0
    """Standard deviation of the logarithm of ``samples``."""
    target: str | None = None
    """Recipe and target in words, where the quote states no length."""
    is_fewer: bool = False
    """Whether another recipe has fewer samples than the chosen one."""
    phases: tuple[Prediction, ...] = ()
    """Prediction of each phase of a run in phases."""


def length_of(
    claim: Claim, scenario: Scenario, setting: Setting, prediction: Prediction, catalogue: Catalogue
) -> Length:
    """Return the samples until trained: as stated, or those of a published target.

    Parameters
    ----------
    claim, scenario, setting, prediction : the claim, the job and its prediction
    catalogue : where hardware is looked up, for phases with samples of other lengths

    Raises
    ------
    InputError : neither a stated length nor a published target; tokens of samples without tokens
    """
    if claim.kind == "epoch_time" or claim.epochs is not None:
        return _exactly(_dataset(setting) * (claim.epochs or 1.0))
    if claim.samples is not None:
        return _exactly(claim.samples)
    if claim.token_count is not None:
        return _exactly(claim.token_count / tokens_of(setting))
    if claim.kind not in GOES_WITH["epochs"]:
        return _exactly(0.0)
    chosen = recipe_of(setting.workload, claim.recipe, setting.scenario.framework)
    if chosen is None:
        raise refusal(
            "quote.length", quantity=claim.quantity, workload=setting.workload.id, with_target=with_target()
        )
    on_its_own_data(setting.scenario.model_dump())
    if chosen.in_phases:
        return _of_phases(chosen, scenario, setting, prediction, catalogue)
    return _of_target(chosen, setting, str(prediction.scenario["framework"]))


def _exactly(samples: float) -> Length:
    """Return a length that is known exactly."""
    return Length(samples, samples)


def _of_target(chosen: Recipe, setting: Setting, framework: str) -> Length:
    """Return the samples to the target of a recipe, at the job's batch."""
    workload, batch = setting.workload, float(setting.global_batch_size)
    samples = _samples(chosen.fit, batch, setting)
    words = f"{chosen.words(framework)}: {_amount(chosen.fit, batch)} at {batch:g} {workload.sample}s a step"
    words += _beyond(chosen, batch)
    note = tokens_note(workload.id, workload.sequence_length)
    words += f"; {note}" if note else ""
    fewest = min([samples, *(_samples(each.fit, batch, setting) for each in _others(chosen))])
    return Length(samples, fewest, chosen.fit.residual, words, fewest < samples)


def _of_phases(
    chosen: Recipe, scenario: Scenario, setting: Setting, prediction: Prediction, catalogue: Catalogue
) -> Length:
    """Return the length of a run in phases: samples of the job's length that take as long as all phases."""
    least = limit_of_iteration(setting).value
    samples, fewest, phases = 0.0, 0.0, []
    for phase in chosen.phases:
        of_phase = changed(scenario, sequence_length=phase.sequence_length)
        phases.append(predict(of_phase, catalogue))
        samples += phase.amount * phases[-1].iteration_time / prediction.iteration_time
        fewest += phase.amount * limit_of_iteration(resolve(of_phase, catalogue)).value / least
    batch = float(setting.global_batch_size)
    amounts = " and then ".join(
        f"{phase.amount / 1e6:.3g} M samples of {phase.sequence_length} tokens" for phase in chosen.phases
    )
    words = f"{chosen.words(str(prediction.scenario['framework']))}: {amounts}, {batch:g} a step"
    return Length(samples, fewest, 0.0, words + _beyond(chosen, batch), phases=tuple(phases))


def _beyond(chosen: Recipe, batch: float) -> str:
    """Return a remark for a batch outside the published ones; empty for others."""
    return "" if chosen.fit.within_range(batch) else " (beyond the batches it was published for)"


def _others(chosen: Recipe) -> list[Recipe]:
    """Return the other one-phase recipes of a benchmark with the same start."""
    if chosen.name == TOKENS:
        return []
    benchmark = chosen.fit.benchmark
    each = (recipe(benchmark, name) for name in recipe_names(benchmark) if name != chosen.name)
    return [one for one in each if not one.in_phases and one.starts == chosen.starts]


def _samples(fit: EpochsFit, batch: float, setting: Setting) -> float:
    """Return the samples of a recipe at a batch."""
    amount = float(fit.epochs(batch))
    return amount if fit.unit == "samples" else amount * _dataset(setting)


def _amount(fit: EpochsFit, batch: float) -> str:
    """Return the samples or epochs of a recipe at a batch, in words."""
    amount = float(fit.epochs(batch))
    return f"{amount / 1e6:.3g} M samples" if fit.unit == "samples" else f"{amount:.3g} epochs"


def _dataset(setting: Setting) -> int:
    """Return the samples of the data set; an InputError where that is unknown."""
    if setting.workload.dataset_samples is None:
        raise refusal("quote.data_set", workload=setting.workload.id)
    return setting.workload.dataset_samples


class Cost(NamedTuple):
    """Cost of a job per second, with its price in words."""

    usd_per_second: float
    words: str


def cost_of(claim: Claim, setting: Setting, catalogue: Catalogue) -> Cost | None:
    """Return the cost of a job by the claim's price or the catalogue's; None for claims that need no price.

    Raises
    ------
    InputError : the price of a node is unknown
    """
    if claim.kind not in GOES_WITH["price"]:
        return None
    price = price_of(catalogue, setting.node.id, Conditions(price=claim.usd_per_hour))
    if price is None:
        raise refusal("quote.price", "price", node=setting.node.id)
    given = "as the quote says"
    if price.basis != "given":
        given = ", ".join(str(each) for each in (price.instance, price.region, price.date) if each)
    words = f"{setting.nodes} x {setting.node.id} at {show(price.usd_per_hour, 'USD')} an hour each ({given})"
    return Cost(setting.nodes * price.usd_per_hour / HOUR, words)
