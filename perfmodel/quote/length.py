"""How many samples a claimed job trains on, and by whose account; what a second of it costs."""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.epochs_to_target import EpochsFit
from perfmodel.errors import InputError
from perfmodel.prediction.target import on_its_own_data, tokens_note, with_target
from perfmodel.prices import HOUR, price_of
from perfmodel.quote.expected import tokens_of
from perfmodel.quote.file import GOES_WITH, Claim
from perfmodel.recipes import NAMES, Recipe, benchmark_of, recipe, usual_recipe
from perfmodel.resolve import Setting
from perfmodel.specs.conditions import Conditions
from perfmodel.specs.store import Catalogue
from perfmodel.units import show


class Length(NamedTuple):
    """Samples until trained."""

    samples: float
    fewest: float
    """That any known recipe trains on, which is what a physical limit may count on."""
    spread: float = 0.0
    """Standard deviation of the logarithm of ``samples``."""
    target: str | None = None
    """Whose target was taken, where the quote states no length."""


def length_of(claim: Claim, setting: Setting) -> Length:
    """Return the samples until trained: as stated, or those of a known target.

    Raises
    ------
    InputError : nothing is stated and nothing known; tokens of samples that have none
    """
    if claim.kind == "epoch_time" or claim.epochs is not None:
        return _exactly(_dataset(setting) * (claim.epochs or 1.0))
    if claim.samples is not None:
        return _exactly(claim.samples)
    if claim.token_count is not None:
        return _exactly(claim.token_count / tokens_of(setting))
    if claim.kind not in GOES_WITH["epochs"]:
        return _exactly(0.0)
    return _of_target(claim, setting)


def _exactly(samples: float) -> Length:
    return Length(samples, samples)


def _of_target(claim: Claim, setting: Setting) -> Length:
    workload, batch = setting.workload, float(setting.global_batch_size)
    benchmark = benchmark_of(workload.id)
    if benchmark is None:
        raise InputError(
            f"{claim.quantity} needs epochs, e.g. epochs = 90, or samples, or tokens = '1T': no epochs to a "
            f"target are published for {workload.id}, as they are for {with_target()}"
        )
    on_its_own_data(setting.scenario.model_dump())
    chosen = recipe(benchmark, claim.recipe or usual_recipe(benchmark, setting.scenario.framework))
    if any(phase.sequence_length for phase in chosen.phases):
        raise InputError(
            f"recipe = {chosen.name!r}: its phases have samples of several lengths; claim each with samples "
            "and a scenario of its own sequence_length"
        )
    known = [chosen, *_others(benchmark, chosen)]
    samples = _samples(chosen.fit, batch, setting)
    words = f"{chosen.words}: {_amount(chosen.fit, batch)} at {batch:g} {workload.sample}s a step"
    if not chosen.fit.within_range(batch):
        words += " (beyond the batches it was published for)"
    note = tokens_note(workload.id, workload.sequence_length)
    words += f"; {note}" if note else ""
    return Length(
        samples, min(_samples(each.fit, batch, setting) for each in known), chosen.fit.residual, words
    )


def _others(benchmark: str, chosen: Recipe) -> list[Recipe]:
    """The other recipes of a benchmark whose samples are all alike."""
    result = []
    for name in NAMES:
        try:
            each = recipe(benchmark, name)
        except InputError:
            continue
        if each.name != chosen.name and not any(phase.sequence_length for phase in each.phases):
            result.append(each)
    return result


def _samples(fit: EpochsFit, batch: float, setting: Setting) -> float:
    amount = float(fit.epochs(batch))
    return amount if fit.unit == "samples" else amount * _dataset(setting)


def _amount(fit: EpochsFit, batch: float) -> str:
    amount = float(fit.epochs(batch))
    return f"{amount / 1e6:.3g} M samples" if fit.unit == "samples" else f"{amount:.3g} epochs"


def _dataset(setting: Setting) -> int:
    if setting.workload.dataset_samples is None:
        raise InputError(
            f"the size of {setting.workload.id}'s data set is not known: claim samples_per_second, or "
            "give samples or tokens"
        )
    return setting.workload.dataset_samples


class Cost(NamedTuple):
    """What a job costs."""

    usd_per_second: float
    words: str


def cost_of(claim: Claim, setting: Setting, catalogue: Catalogue) -> Cost | None:
    """Return what a second of a job costs by the claim's price, or the catalogue's; None of other claims.

    Raises
    ------
    InputError : nobody says what a node costs
    """
    if claim.kind not in GOES_WITH["price"]:
        return None
    price = price_of(catalogue, setting.node.id, Conditions(price=claim.usd_per_hour))
    if price is None:
        raise InputError(
            f"no known price of {setting.node.id}: give price, US dollars for an hour of one node"
        )
    given = "as the quote says"
    if price.basis != "given":
        given = ", ".join(str(each) for each in (price.instance, price.region, price.date) if each)
    words = f"{setting.nodes} x {setting.node.id} at {show(price.usd_per_hour, 'USD')} an hour each ({given})"
    return Cost(setting.nodes * price.usd_per_hour / HOUR, words)
