"""The convergence bound of a variant of SGD, drawn over time instead of over updates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from perfmodel.core.errors import refusal
from perfmodel.equations.convergence import (
    error_after,
    error_floor,
    largest_async_learning_rate,
    largest_sync_learning_rate,
    staleness_discount,
    updates_in,
)
from perfmodel.equations.sgd_variants import AVERAGING, StragglerPrediction


@dataclass(frozen=True)
class Objective:
    """Constants of a training objective that the bound needs; all positive, or zero where stated."""

    learning_rate: float
    smoothness: float
    """L, Lipschitz constant of the gradient."""
    strong_convexity: float
    """c, at most L; of the Polyak-Lojasiewicz condition where the objective is not convex."""
    gradient_variance: float
    """Of the gradient of one sample."""
    local_batch_size: float
    """Samples in one gradient."""
    initial_error: float
    gradient_noise_growth: float = 0.0
    """M_G, how that variance grows with the squared gradient; may be zero."""
    staleness_bound: float = 1.0
    """gamma in 0..1, change of a gradient while it travels, relative to its size; 1 is the worst."""


@dataclass(frozen=True)
class ErrorBound:
    """The bound of one variant: e(t) = floor + decay^(t / update_time) (initial_error - floor)."""

    floor: float
    decay: float
    """Factor per update."""
    update_time: float
    initial_error: float

    def at(self, wall_time: Any) -> Any:
        """Return the bound on the error after ``wall_time`` [s], number or array."""
        # the exponent of error_after with its decay already multiplied out
        return error_after(
            self.initial_error, self.floor, 1 - self.decay, 1, 1, updates_in(wall_time, self.update_time)
        )


def error_bound(prediction: StragglerPrediction, objective: Objective) -> ErrorBound:
    """Return the bound on the error of a variant of SGD with a fixed learning rate.

    The time between updates comes from the variant, the gain of an update from its gradients and its
    staleness: asynchronous variants update more often and gain less each time.  Updates are counted by their
    mean rate, so take spans of many updates.

    Parameters
    ----------
    prediction : of ``straggler_variant``; not of local-sgd or elastic
    objective : the constants of the bound

    Returns
    -------
    the bound, a function of time

    Raises
    ------
    InputError : averaging, an unknown share of fresh gradients, or a learning rate for which the bound does
        not hold

    Examples
    --------
    One worker, one update a second, no noise: each update removes 0.1 x 0.5 of the error.

    >>> from perfmodel.equations.distributions import distribution
    >>> from perfmodel.equations.sgd_variants import straggler_variant
    >>> alone = straggler_variant("sync", distribution("exponential", rate=1), 1)
    >>> bound = error_bound(alone, Objective(0.1, 1, 0.5, 0, 1, 2))
    >>> round(bound.at(2), 9) == round(2 * 0.95**2, 9)
    True
    """
    if prediction.variant in AVERAGING:
        raise refusal("bound.variant", "variant", variant=prediction.variant)
    if prediction.fresh_fraction is None:
        raise refusal("bound.no_share", "variant", variant=prediction.variant)
    gradients = prediction.gradients_per_update
    stale = prediction.mean_staleness > 0
    limit = (largest_async_learning_rate if stale else largest_sync_learning_rate)(
        objective.smoothness, objective.gradient_noise_growth, gradients, objective.local_batch_size
    )
    if not 0 < objective.learning_rate <= limit:
        raise refusal(
            "bound.learning_rate",
            "learning_rate",
            variant=prediction.variant,
            limit=limit,
            learning_rate=objective.learning_rate,
        )
    discount = (
        float(staleness_discount(objective.staleness_bound, prediction.fresh_fraction)) if stale else 1.0
    )
    if discount <= 0:
        raise refusal(
            "bound.staleness", variant=prediction.variant, staleness_bound=objective.staleness_bound
        )
    floor = error_floor(
        objective.learning_rate,
        objective.smoothness,
        objective.gradient_variance,
        objective.strong_convexity,
        discount,
        gradients,
        objective.local_batch_size,
    )
    decay = 1 - objective.learning_rate * objective.strong_convexity * discount
    return ErrorBound(float(floor), decay, prediction.update_time, objective.initial_error)
