"""Time between updates of the variants of distributed SGD, if workers' times vary."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from perfmodel.core.errors import InputError, refusal, unknown_name
from perfmodel.core.units import show
from perfmodel.equations.distribution import Distribution
from perfmodel.equations.heterogeneous import heterogeneous_order_statistic
from perfmodel.equations.order_statistics import order_statistic
from perfmodel.equations.renewal import (
    LARGEST_COUNT,
    batch_async_fresh_fraction,
    batch_sync_time,
    k_async_estimate,
)
from perfmodel.equations.staleness import (
    k_async_fresh_fraction,
    k_async_staleness,
    k_batch_async_fresh_fraction,
    k_batch_async_staleness,
)
from perfmodel.equations.update_times import k_batch_async_time, server_update_rate

Status = Literal["exact", "bound", "approximation"]
Variant = Literal[
    "sync", "k-sync", "k-batch-sync", "async", "k-async", "k-batch-async", "backup", "local-sgd", "elastic"
]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
AVERAGING: tuple[Variant, ...] = ("local-sgd", "elastic")
"""Variants that average parameters after local steps; for these no bound on the same error is known."""
Classes = Sequence[tuple[Distribution, int]]
"""Classes of workers: distribution and number of each."""


def sync_over_async(law: Distribution, workers: int) -> tuple[float, float]:
    """Return the ratio of the times of synchronous to asynchronous SGD, per update and per gradient.

    Per update it is P E[X_(P:P)] / E[X]; per gradient, and so per epoch, 1/P of that.

    Returns
    -------
    ratio per update, ratio per gradient

    Examples
    --------
    Times between 0 and 1 s, three workers: 3 x 0.75 / 0.5.

    >>> sync_over_async(Distribution("uniform", (0.0, 1.0)), 3)
    (4.5, 1.5)
    """
    _mean(law)
    per_gradient = float(order_statistic(law, workers, workers)[0]) / law.mean
    return workers * per_gradient, per_gradient


@dataclass(frozen=True, repr=False)
class StragglerPrediction:
    """Time per update, staleness and bounds of one variant of SGD, for one distribution of times."""

    variant: str
    """Name of the variant of SGD."""
    update_time: float
    """Mean time between two updates of the shared parameters [s]; of local SGD, between two averages; of
    elastic averaging, between two visits of workers to the centre."""
    time_per_gradient: float
    """update_time / gradients_per_update [s], to which the time of an epoch is proportional."""
    gradients_per_update: int
    mean_staleness: float
    """Updates between reading the parameters and applying the gradient."""
    fresh_fraction: float | None
    """Share of gradients without staleness; None if it is not computed."""
    status: Status
    """Status of update_time.  exact: the true mean of the law, to the precision of arithmetic; bound: only
    low <= mean <= high is proven, and update_time is an estimate between them; approximation: a model
    whose error is bounded by low and high alone."""
    low: float
    """Lower bound of the update time [s]."""
    high: float
    """Upper bound of the update time [s]; both bounds equal it if it is exact."""
    fresh_status: Status = "exact"
    """Status of fresh_fraction."""

    def records(self) -> list[dict[str, Any]]:
        """Return the prediction as one row of a table."""
        return [asdict(self)]

    def to_json(self) -> str:
        """Return the JSON that ``perfmodel stragglers --json`` prints for one variant."""
        return json.dumps(asdict(self))

    def __repr__(self) -> str:
        bounds = "" if self.status == "exact" else f" ({show(self.low, 's')} to {show(self.high, 's')})"
        return (
            f"<StragglerPrediction: {self.variant}: {show(self.update_time, 's')} per update{bounds} of "
            f"{self.gradients_per_update} gradients, {show(self.time_per_gradient, 's')} per gradient, "
            f"{self.mean_staleness:.2f} updates stale; {self.status}>"
        )

    def epoch_time(self, gradients: float) -> float:
        """Return the time of an epoch with that number of gradients (mini-batches of all workers) [s]."""
        return gradients * self.time_per_gradient


def straggler_variant(
    variant: str,
    distribution: Distribution | Classes,
    workers: int,
    *,
    k: int | None = None,
    local_steps: int = 1,
    communication_time: float = 0.0,
    server_time: float = 0.0,
) -> StragglerPrediction:
    """Return time per update, gradients per update and staleness of one variant of distributed SGD.

    Parameters
    ----------
    variant : one of ``VARIANTS``
    distribution : of one worker's time for one gradient, its push and pull included; or law and count of
        several classes of workers (sync, k-sync, backup, async and k-batch-async)
    workers : number of all started workers, backup workers included
    k : number of gradients that an update waits for.  sync and async fix it; K-sync, backup and K-async need
        1..workers of different workers; the batch variants at least 1.
    local_steps : of local-sgd, steps between two averages; of elastic, between two visits to the centre
    communication_time : after the barrier, the same for all [s]; sync variants and local-sgd
    server_time : a parameter server's time for one push and pull [s]; async, k-batch-async and elastic

    Raises
    ------
    InputError : unknown variant, k out of its range, an option the variant does not take, a law with no mean

    Examples
    --------
    Shifted exponential times, the first 6 of 8: 1 + (1/8 + ... + 1/3) / 2.

    >>> law = Distribution("shifted-exponential", (1.0, 2.0))
    >>> round(straggler_variant("k-sync", law, 8, k=6).update_time, 9)
    1.608928571
    """
    if variant not in VARIANTS:
        raise unknown_name("variant", variant, VARIANTS)
    classes = [(distribution, workers)] if isinstance(distribution, Distribution) else list(distribution)
    if workers != int(workers) or workers < 1 or sum(count for _, count in classes) != workers:
        raise refusal("updates.workers", "workers", workers=workers)
    _check_extras(variant, classes, local_steps, communication_time, server_time)
    gradients = _gradients(variant, int(workers), k)
    return _VARIANT[variant](
        variant, classes, gradients, _Extras(int(local_steps), communication_time, server_time)
    )


@dataclass(frozen=True)
class _Extras:
    """Options that only some variants take."""

    local_steps: int
    communication_time: float
    server_time: float


def _check_extras(
    variant: str, classes: Classes, local_steps: float, communication_time: float, server_time: float
) -> None:
    """Check the options of a variant; InputError if one does not fit."""
    if not (communication_time >= 0 and server_time >= 0):
        raise refusal("updates.negative", "communication_time", "server_time")
    if local_steps != int(local_steps) or local_steps < 1:
        raise refusal("updates.local_steps", "local_steps", local_steps=local_steps)
    if local_steps != 1 and variant not in AVERAGING:
        raise refusal("updates.no_local_steps", "local_steps", variant=variant)
    if communication_time and variant in ("async", "k-async", "k-batch-async", "elastic"):
        raise refusal("updates.no_barrier", "communication_time", variant=variant)
    if server_time and variant not in ("async", "k-batch-async", "elastic"):
        raise refusal("updates.no_server_time", "server_time", variant=variant)
    if len(classes) > 1 and (variant in ("k-async", "k-batch-sync", *AVERAGING) or server_time):
        raise refusal("updates.classes", "variant", variant=variant)
    for law, _ in classes:
        if law.lower < 0 and float(law.cdf(0.0)) > 1e-3:
            raise refusal("updates.negative_times", "distribution", law=law)


def _gradients(variant: str, workers: int, k: int | None) -> int:
    """Return the number of gradients that an update waits for; InputError if ``k`` does not fit."""
    fixed = {"sync": workers, "local-sgd": workers, "async": 1, "elastic": 1}.get(variant)
    if fixed is not None:
        if k not in (None, fixed):
            raise refusal("updates.fixed_k", "k", variant=variant, workers=workers, fixed=fixed, k=k)
        return fixed
    if k is None:
        raise refusal("updates.k_missing", "k", variant=variant)
    if k != int(k) or k < 1:
        raise refusal("updates.k_whole", "k", k=k)
    if "batch" not in variant and k > workers:
        raise refusal("updates.k_range", "k", variant=variant, k=k, workers=workers)
    return int(k)


def _mean(law: Distribution) -> float:
    """Return the mean of a distribution; InputError if it has none."""
    if not math.isfinite(law.mean):
        raise refusal("updates.no_mean", "distribution", law=law)
    return law.mean


def _order_mean(classes: Classes, order: int) -> float:
    """Return the mean of the ``order``-th smallest time of all workers."""
    if len(classes) == 1:
        return float(order_statistic(classes[0][0], order, classes[0][1])[0])
    return heterogeneous_order_statistic(classes, order)[0]


def _exact(variant: str, time: float, gradients: int, staleness: float, fresh: float) -> StragglerPrediction:
    return StragglerPrediction(
        variant, time, time / gradients, gradients, staleness, fresh, "exact", time, time
    )


def _barrier(variant: str, classes: Classes, k: int, extras: _Extras) -> StragglerPrediction:
    time = _order_mean(classes, k) + extras.communication_time
    return _exact(variant, time, k, 0.0, 1.0)


def _batch_sync(variant: str, classes: Classes, k: int, extras: _Extras) -> StragglerPrediction:
    (law, workers) = classes[0]
    common = extras.communication_time
    if k == 1 or (k <= workers and law.upper <= 2 * law.lower):
        # the first gradient suffices, or no worker can finish twice before all have finished once
        return _barrier(variant, classes, k, extras)
    if workers == 1:
        return _exact(variant, k * _mean(law) + common, k, 0.0, 1.0)
    low, high = (bound + common for bound in _batch_sync_bounds(law, workers, k))
    if k <= LARGEST_COUNT or law.name == "exponential":
        time, change = batch_sync_time(law, workers, k)
        if change < 1e-4 and not law.atoms:
            return _exact(variant, time + common, k, 0.0, 1.0)
        status: Status = "approximation"
    else:
        time, status = k * _mean(law) / workers, "bound"
    time = min(max(time + common, low), high)
    return StragglerPrediction(variant, time, time / k, k, 0.0, 1.0, status, low, high)


def _batch_sync_bounds(law: Distribution, workers: int, k: int) -> tuple[float, float]:
    """Return bounds on the mean time in which workers that start together compute k gradients.

    If the remaining time of a worker grows with its age, the time between two gradients is at least that of
    the fastest new worker, else at most; Wald's identity bounds the whole by k E[X] / P the other way.
    """
    first = float(order_statistic(law, 1, workers)[0])
    rate_time = k * law.mean / workers
    low, high = first, (k + workers) * law.mean / workers
    if k <= workers:
        try:
            high = min(high, float(order_statistic(law, k, workers)[0]))
        except InputError:  # this order statistic has no mean, and so is no bound
            high = high if math.isfinite(high) else math.inf
    if law.ageing in ("better", "memoryless"):
        low, high = max(low, rate_time), min(high, k * first)
    if law.ageing in ("worse", "memoryless"):
        low, high = max(low, k * first), min(high, rate_time)
    return low, high


def _async(variant: str, classes: Classes, k: int, extras: _Extras) -> StragglerPrediction:
    workers = sum(count for _, count in classes)
    staleness = float(k_batch_async_staleness(workers, k))
    mean = workers / sum(count / _mean(law) for law, count in classes)
    time = float(k_batch_async_time(workers, k, mean))
    fresh, fresh_status = _async_freshness(classes, k)
    status: Status = "exact"
    low = high = time
    if extras.server_time:
        law, service = classes[0][0], extras.server_time
        time = k / float(server_update_rate(workers, law.mean, service))
        low = k * max((law.mean + service) / workers, service)
        high = k * (law.mean + workers * service) / workers
        status, fresh, fresh_status = "approximation", None, "approximation"
    return StragglerPrediction(variant, time, time / k, k, staleness, fresh, status, low, high, fresh_status)


def _async_freshness(classes: Classes, k: int) -> tuple[float | None, Status]:
    """Return the share of fresh gradients of an asynchronous variant, None if unknown, and its status."""
    law, workers = classes[0]
    if len(classes) > 1:
        return None, "approximation"
    if law.name == "exponential" or workers == 1:
        return float(k_batch_async_fresh_fraction(workers, k)), "exact"
    if k == 1:
        return k_async_estimate(law, workers, 1)[1], "approximation" if law.atoms else "exact"
    if k > LARGEST_COUNT:
        return None, "approximation"
    return batch_async_fresh_fraction(law, workers, k), "approximation"


def _k_async(variant: str, classes: Classes, k: int, extras: _Extras) -> StragglerPrediction:
    """Return K-async SGD by the shorter of two estimates.

    Late workers are independent of those that start, as in ``k_async_estimate``, or, if times hardly vary,
    in cohorts of K that started together and end their updates in turn.
    """
    law, workers = classes[0]
    staleness = float(k_async_staleness(workers, k))
    if k == 1:
        return _async(variant, classes, k, extras)
    if k == workers:
        return _barrier(variant, classes, k, extras)
    if law.name == "exponential":
        fresh = float(k_async_fresh_fraction(workers, k))
        return _exact(variant, _order_mean(classes, k), k, staleness, fresh)
    low, high = _k_async_bounds(law, workers, k)
    time, fresh = k_async_estimate(law, workers, k)
    if (in_turn := float(order_statistic(law, k, k)[0]) / (workers // k)) < time:
        # a gradient is then fresh if it takes less time than an update
        time, fresh = in_turn, min(fresh, float(law.cdf(in_turn)))
    time = min(max(time, low), high)
    return StragglerPrediction(
        variant, time, time / k, k, staleness, fresh, "bound", low, high, "approximation"
    )


def _k_async_bounds(law: Distribution, workers: int, k: int) -> tuple[float, float]:
    """Return bounds on the mean time per update of K-async SGD.

    No worker delivers more than one gradient per E[X]; K new workers alone end an update.  E[X_(K:P)] is an
    upper bound if the remaining time of a worker decreases with its age, a lower bound if it increases.
    """
    low = k * _mean(law) / workers
    high = float(order_statistic(law, k, k)[0])
    middle = float(order_statistic(law, k, workers)[0])
    if law.ageing == "better":
        high = min(high, middle)
    if law.ageing == "worse":
        low = max(low, middle)
    return low, high


def _local(variant: str, classes: Classes, k: int, extras: _Extras) -> StragglerPrediction:
    from perfmodel.equations.local_sgd import slowest_mean

    law, workers = classes[0]
    steps = extras.local_steps
    _mean(law)
    step_time, status = slowest_mean(law, workers, steps)
    low, high = (
        (step_time, step_time)
        if status == "exact"
        else (law.mean, float(order_statistic(law, workers, workers)[0]))
    )
    common = extras.communication_time
    time = steps * step_time + common
    return StragglerPrediction(
        variant,
        time,
        time / (workers * steps),
        workers * steps,
        0.0,
        1.0,
        status,
        steps * low + common,
        steps * high + common,
    )


def _elastic(variant: str, classes: Classes, k: int, extras: _Extras) -> StragglerPrediction:
    """Return elastic averaging; its share of fresh gradients is known for exponential times, one step."""
    (law, workers), steps, service = classes[0], extras.local_steps, extras.server_time
    if steps == 1:
        return replace(_async("elastic", classes, 1, extras), variant=variant)
    visit = steps * _mean(law)
    time = low = high = float(k_batch_async_time(workers, 1, visit))
    status: Status = "exact"
    if service:
        time = 1 / float(server_update_rate(workers, visit, service))
        low, high = max((visit + service) / workers, service), (visit + workers * service) / workers
        status = "approximation"
    staleness = float(k_batch_async_staleness(workers, 1))
    return StragglerPrediction(
        variant, time, time / steps, steps, staleness, None, status, low, high, "approximation"
    )


_VARIANT: dict[str, Callable[[str, Classes, int, _Extras], StragglerPrediction]] = {
    "sync": _barrier,
    "k-sync": _barrier,
    "backup": _barrier,
    "k-batch-sync": _batch_sync,
    "async": _async,
    "k-async": _k_async,
    "k-batch-async": _async,
    "local-sgd": _local,
    "elastic": _elastic,
}
