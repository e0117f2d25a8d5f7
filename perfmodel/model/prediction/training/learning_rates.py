"""Learning rates of a batch by the published rules, each with its validity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from perfmodel.core.files.tables import Rows, aligned
from perfmodel.equations.learning_rate import (
    adagrad_learning_rate,
    distance_learning_rate,
    gradient_staleness_learning_rate,
    linear_scaled_learning_rate,
    mean_gradient_staleness_learning_rate,
    mean_staleness_learning_rate,
    noise_scaled_learning_rate,
    square_root_scaled_learning_rate,
    warmed_up_learning_rate,
)
from perfmodel.equations.staleness import k_async_staleness_probability

WARM_UP_EPOCHS = 5.0
"""Epochs of the warm-up in Goyal et al. 2017."""
UNLISTED = 0.01
"""Share of the stalest gradients, whose rates are not listed."""
MOST_LISTED = 20
PUBLISHED_BATCHES = 64, 8192
"""Global batches over which the linear rule left the accuracy of ResNet-50 unchanged (Goyal et al. 2017)."""


@dataclass(frozen=True)
class LearningRate:
    """The learning rate by one rule."""

    rule: str
    """Name of the rule."""
    learning_rate: float
    validity: str
    """Conditions under which the rule was shown, and its assumptions."""
    within_published: bool | None
    """Whether the batch is in the measured range of the rule; None if no range was published."""
    source: str
    """Key of ``references.toml``."""
    formula: str
    """``module.function`` below ``perfmodel.equations``, with the equation on its page."""


@dataclass(frozen=True)
class WarmUpPoint:
    """The learning rate at one time of the warm-up."""

    epochs_done: float
    learning_rate: float


@dataclass(frozen=True)
class StaleRate:
    """The learning rate of gradients of one staleness."""

    staleness: int
    """Updates between reading and applying."""
    share: float
    """Share of all gradients, for geometric staleness."""
    learning_rate: float


@dataclass(frozen=True, repr=False)
class LearningRates(Rows):
    """Learning rates of a batch by every rule whose inputs are known."""

    reference_learning_rate: float
    reference_batch_size: float
    global_batch_size: float
    rows: tuple[LearningRate, ...]
    """A row for each rule."""
    warm_up: tuple[WarmUpPoint, ...]
    """From the reference rate to that of the linear rule; empty without a warm-up."""
    left_out: dict[str, str]
    """Rules without a rate -> the options that they need."""
    by_staleness: tuple[StaleRate, ...] = ()
    """Rates of the rule "own staleness" by staleness, except for the stalest 1 %; empty without staleness."""

    def __repr__(self) -> str:
        rows = [(row.rule, f"{row.learning_rate:.6g}", row.source) for row in self.rows]
        return aligned(f"learning rates {self.headline}", ("rule", "rate", "source"), rows)

    @property
    def headline(self) -> str:
        """The batch and the reference of the rates, as text."""
        return (
            f"for {self.global_batch_size:,.0f} samples an update, from {self.reference_learning_rate:g} "
            f"for {self.reference_batch_size:,.0f}"
        )


class _Given(NamedTuple):
    base: float
    base_batch: float
    batch: float
    staleness: float | None
    distance_constant: float | None
    squared_distance: float | None
    squared_gradient_sum: float | None
    noise_scale: float | None

    @property
    def linear(self) -> float:
        """The rate by the linear rule."""
        return float(linear_scaled_learning_rate(self.base, self.batch, self.base_batch))


class _Rule(NamedTuple):
    name: str
    needs: tuple[str, ...]
    function: Callable[..., object]
    arguments: Callable[[_Given], tuple[float | None, ...]]
    source: str
    validity: str
    published: tuple[float, float] | None = None


def _batch_arguments(given: _Given) -> tuple[float | None, ...]:
    """Return the arguments of the rules that scale with the batch."""
    return given.base, given.batch, given.base_batch


def _from_noise(given: _Given) -> tuple[float | None, ...]:
    """Return the noise-free rate that gives the reference rate at the reference batch, noise, and batch."""
    noise = given.noise_scale or 0.0
    return given.base * (1 + noise / given.base_batch), noise, given.batch


RULES = (
    _Rule(
        "linear",
        (),
        linear_scaled_learning_rate,
        _batch_arguments,
        "goyal2017",
        "SGD with momentum and a warm-up; ResNet-50 lost no accuracy from 64 to 8,192 samples, and loses "
        "beyond",
        PUBLISHED_BATCHES,
    ),
    _Rule(
        "square root",
        (),
        square_root_scaled_learning_rate,
        _batch_arguments,
        "krizhevsky2014",
        "keeps the variance of an update; its author found the linear rule better for AlexNet",
    ),
    _Rule(
        "noise scale",
        ("noise_scale",),
        noise_scaled_learning_rate,
        _from_noise,
        "mccandlish2018",
        "SGD near a quadratic optimum, with the noise scale measured: linear below it, constant above",
    ),
    _Rule(
        "mean staleness",
        ("staleness",),
        mean_staleness_learning_rate,
        lambda given: (given.linear, given.staleness),
        "gupta2016",
        "asynchronous SGD, one rate for all gradients: the linear one over the mean staleness",
    ),
    _Rule(
        "own staleness",
        ("staleness",),
        mean_gradient_staleness_learning_rate,
        lambda given: (given.linear, given.staleness),
        "zhang2016",
        "asynchronous SGD, each gradient's rate over its own staleness: here the mean over gradients, where "
        "staleness is geometric, as of exponential times",
    ),
    _Rule(
        "distance",
        ("distance_constant", "squared_distance"),
        distance_learning_rate,
        lambda given: (given.linear, given.distance_constant, given.squared_distance),
        "dutta2018",
        "asynchronous SGD: falls with how far parameters moved since they were read; at most the linear one",
    ),
    _Rule(
        "Adagrad",
        ("squared_gradient_sum",),
        adagrad_learning_rate,
        lambda given: (given.base, given.squared_gradient_sum),
        "duchi2011",
        "of one parameter, from the sum of its squared gradients; DistBelief's servers kept it",
    ),
)
"""Every rule, in the order in which it is listed."""


def learning_rates(
    base: float,
    base_batch: float,
    global_batch_size: float,
    *,
    staleness: float | None = None,
    warm_up_epochs: float = WARM_UP_EPOCHS,
    distance_constant: float | None = None,
    squared_distance: float | None = None,
    squared_gradient_sum: float | None = None,
    noise_scale: float | None = None,
) -> LearningRates:
    """Return the rate by each rule, and those of the warm-up; the caller has checked the numbers."""
    given = _Given(
        base,
        base_batch,
        global_batch_size,
        staleness,
        distance_constant,
        squared_distance,
        squared_gradient_sum,
        noise_scale,
    )
    known = {rule: [getattr(given, name) is not None for name in rule.needs] for rule in RULES}
    rows = tuple(_row(rule, given) for rule in RULES if all(known[rule]))
    left_out = {
        rule.name: " and ".join(f"--{name.replace('_', '-')}" for name in rule.needs)
        for rule in RULES
        if not all(known[rule])
    }
    return LearningRates(
        base,
        base_batch,
        global_batch_size,
        rows,
        _warm_up(base, given.linear, warm_up_epochs),
        left_out,
        () if staleness is None else _by_staleness(given.linear, staleness),
    )


def _row(rule: _Rule, given: _Given) -> LearningRate:
    """Return the learning rate by one rule."""
    published = rule.published
    function = rule.function
    return LearningRate(
        rule.name,
        float(function(*rule.arguments(given))),  # type: ignore[arg-type]
        rule.validity,
        None if published is None else published[0] <= given.batch <= published[1],
        rule.source,
        f"{function.__module__.removeprefix('perfmodel.equations.')}.{function.__name__}",
    )


def _by_staleness(rate: float, mean_staleness: float) -> tuple[StaleRate, ...]:
    """Return the rates of gradients by staleness, from fresh ones up to a limit."""
    rows: list[StaleRate] = []
    left = 1.0
    while left > UNLISTED and len(rows) < MOST_LISTED:
        late = len(rows)
        share = float(k_async_staleness_probability(1 + mean_staleness, 1, late))
        rows.append(StaleRate(late, share, float(gradient_staleness_learning_rate(rate, late))))
        left -= share
    return tuple(rows)


def _warm_up(base: float, rate: float, epochs: float) -> tuple[WarmUpPoint, ...]:
    """Return the rates of a warm-up, one for each epoch."""
    if not epochs:
        return ()
    times = [*range(int(epochs)), *([int(epochs)] if int(epochs) < epochs else []), epochs]
    return tuple(
        WarmUpPoint(float(time), float(warmed_up_learning_rate(rate, base, time, epochs))) for time in times
    )
