"""Asynchronous and partially synchronous updates: exchange, waits and staleness.

An iteration is then a round: the mean time in which as many gradients count as there are workers, so that
rates, speed-up and cost are comparable with synchronous training.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.core import ops
from perfmodel.core.tracing.tracing import numeric, remembered
from perfmodel.core.updates import Updates
from perfmodel.equations.exchange import queue_behind_wait
from perfmodel.equations.iteration import iteration_time
from perfmodel.equations.sgd_variants import StragglerPrediction, straggler_variant
from perfmodel.equations.slowest_worker import waiting_time
from perfmodel.equations.update_rounds import (
    averaged_time,
    cut_short_time,
    discarded_time,
    queued_time,
    repeated_time,
    round_time,
    shared_port_time,
    time_away,
    updates_per_second,
)
from perfmodel.equations.update_times import server_update_rate
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.computation import Computation
from perfmodel.model.step.fabric import Fabric
from perfmodel.model.step.messages import layer_bytes
from perfmodel.model.step.server_shards import imbalance
from perfmodel.model.step.stragglers import ALIKE, law_of, push_share

if TYPE_CHECKING:
    from perfmodel.equations.distribution import Distribution

Exchange = Callable[[Setting, Computation, Fabric, Fabric, Calibration], tuple[Any, Any, Any]]
"""Returns communication without overlap, exposed communication, and slowdown of computation [s]."""


class Round(NamedTuple):
    """Effects of jitter on an update strategy, over the mean time of a gradient; numbers or arrays."""

    factor: Any
    """Time of a round, without communication."""
    low: Any
    high: Any
    """``low`` and ``high``: proven bounds on the factor."""
    update: Any
    """Time between two updates."""
    gradients: Any
    """Gradients of an update."""
    staleness: Any
    fresh: Any
    """Share of gradients computed on the newest parameters; NaN if unknown."""
    status: Any
    """Status of these means, as in ``StragglerPrediction``."""


@numeric
@remembered(maxsize=4096)
def _round(updates: Updates, law: Distribution, workers: int) -> Round:
    """Return the effects of a distribution of times on a strategy, without communication."""
    workers = int(workers)
    if workers == 1 and updates.kind.option != "k":  # no staleness, no waits
        steps = updates.local_steps
        return Round(1.0, 1.0, 1.0, float(steps), steps, 0.0, 1.0, "exact")
    one = variant_of(updates, law, workers)
    each = workers / (one.gradients_per_update * law.mean)
    bounds = (_rounded_to_one(one.low * each), _rounded_to_one(one.high * each))
    fresh = np.nan if one.fresh_fraction is None else float(one.fresh_fraction)
    factor, update = _rounded_to_one(one.update_time * each), _rounded_to_one(one.update_time / law.mean)
    return Round(factor, *bounds, update, one.gradients_per_update, one.mean_staleness, fresh, one.status)


def _rounded_to_one(factor: Any) -> float:
    """Return a factor with rounding errors around 1 removed, which would give negative waits."""
    return 1.0 if math.isclose(factor, 1.0, rel_tol=1e-12) else float(factor)


def variant_of(updates: Updates, law: Distribution, workers: int) -> StragglerPrediction:
    """Return the prediction of a strategy for one distribution of times, without communication."""
    k = int(updates.awaited(workers)) if updates.kind.option in ("k", "backups") else None
    variant = updates.variant
    if variant == "k-async" and k == workers:
        variant = "k-sync"
    return straggler_variant(variant, law, workers, k=k, local_steps=updates.local_steps)


def round_of(setting: Setting, constants: Calibration) -> Round:
    """Return the effects of jitter on a setting's strategy; arrays if its world size is one.

    Raises
    ------
    InputError : a distribution without the moments that the strategy needs
    """
    law, updates = law_of(setting, constants) or ALIKE, _updates(setting)
    if np.ndim(setting.world_size) == 0:
        return _round(updates, law, setting.world_size)
    sizes, where = np.unique(setting.world_size, return_inverse=True)
    rows = [_round(updates, law, int(size)) for size in sizes.tolist()]
    shape = np.shape(setting.world_size)
    return Round(*(np.array(column)[where].reshape(shape) for column in zip(*rows, strict=True)))


def _updates(setting: Setting) -> Updates:
    """Return the update strategy of a setting, which must have one."""
    assert setting.updates is not None
    return setting.updates


def alone(setting: Setting) -> Setting:
    """Return the setting of a single worker."""
    return setting._replace(world_size=1, nodes=1, accelerators_per_node=1)


def in_step(setting: Setting) -> Any:
    """Return whether every update synchronises all workers."""
    return _updates(setting).in_step(setting.world_size)


def without_message_axis(setting: Setting) -> Setting:
    """Return a setting whose counts lack the last axis, that of messages in a sweep."""
    counts = {name: _without_last_axis(getattr(setting, name)) for name in ("world_size", "nodes", "servers")}
    return setting._replace(**counts)


def _without_last_axis(number: Any) -> Any:
    """Return an array without its last axis, of length 1; numbers unchanged."""
    return number[..., 0] if np.ndim(number) else number


def busy_time(setting: Setting, work: Computation) -> Any:
    """Return the mean time of one gradient [s]; with a profile that of its passes only."""

    steps = setting.accumulation_steps
    return work.alone(steps) if setting.profile is None else steps * work.pass_time


def exchange_of_round(
    setting: Setting,
    work: Computation,
    fabric: Fabric,
    variants: Fabric,
    constants: Calibration,
    exchange: Exchange,
) -> tuple[Any, Any, Any]:
    """Return the communication of a round: without overlap, exposed, and as slowdown of computation [s].

    Parameters
    ----------
    setting, work, fabric, variants, constants : as for ``perfmodel.model.step.parts.exchange``
    exchange : returns the communication of all workers of a setting in one exchange
    """
    counts = without_message_axis(setting)
    barrier = in_step(counts)
    kinds = [
        kind
        for kind, there in (
            (_synchronous_exchange, np.any(barrier)),
            (_asynchronous_exchange, not np.all(barrier)),
        )
        if there
    ]
    result = [kind(setting, counts, work, fabric, variants, constants, exchange) for kind in kinds]
    if len(result) == 1:
        return result[0]
    whole, exposed, slowed = (np.where(barrier, *each) for each in zip(*result, strict=True))
    return whole, exposed, slowed


def _synchronous_exchange(
    setting: Setting,
    counts: Setting,
    work: Computation,
    fabric: Fabric,
    variants: Fabric,
    constants: Calibration,
    exchange: Exchange,
) -> tuple[Any, Any, Any]:
    """Return the communication of a round in which all workers exchange for every update."""
    times = exchange(setting, work, fabric, variants, constants)
    updates = _updates(setting)
    if updates.variant == "local-sgd":
        whole, exposed, slowed = (averaged_time(time, updates.local_steps) for time in times)
    else:
        n, gradients = counts.world_size, round_of(counts, constants).gradients
        whole, exposed, slowed = (repeated_time(n, gradients, time) for time in times)
    return whole, exposed, slowed


def _asynchronous_exchange(
    setting: Setting,
    counts: Setting,
    work: Computation,
    fabric: Fabric,
    variants: Fabric,
    constants: Calibration,
    exchange: Exchange,
) -> tuple[Any, Any, Any]:
    """Return the communication of a round in which workers exchange at any time and share one port."""
    n, steps = counts.world_size, _updates(setting).local_steps
    own, exposed, slowed = exchange(alone(setting), work, fabric, variants, constants)
    visit = iteration_time(exposed_communication_time=exposed, contention_time=slowed)
    factor, busy = round_of(counts, constants).factor, busy_time(setting, work)
    service = service_time(counts, variants)
    rate = server_update_rate(n, time_away(busy, factor, steps, visit, service), service)
    queued = queued_time(round_time(n, rate, steps), busy, factor)
    return queued + (own - visit) / steps, queued, 0.0


def service_time(setting: Setting, fabric: Fabric) -> Any:
    """Return the time that one worker's gradients occupy the port that all workers share [s].

    Parameters
    ----------
    setting : whose counts have no axis of messages
    fabric : whose bandwidths have that axis, if they are arrays
    """
    between, servers = (
        _without_last_axis(fabric.inter_link_bandwidth),
        _without_last_axis(fabric.server_bandwidth),
    )
    whole = ops.number(layer_bytes(setting).sum())
    return shared_port_time(whole, setting.nodes, between, setting.servers, servers, imbalance(setting))


def update_wait(setting: Setting, work: Computation, exposed: Any, constants: Calibration) -> Any:
    """Return the time of a round for waits and discarded work, beyond the mean of its gradients [s].

    Parameters
    ----------
    setting : of the job
    work : times of one accelerator
    exposed : time that communication adds to the round [s]
    constants : with the default jitter
    """
    round_means, busy = round_of(setting, constants), busy_time(setting, work)
    idle = waiting_time(busy, round_means.factor)
    barrier = in_step(setting)
    if _updates(setting).variant == "local-sgd" or not np.any(barrier):
        return idle
    n = setting.world_size
    # with more gradients than workers all work continues until the update, and nothing hides behind it
    again = repeated_time(n, ops.minimum(n, round_means.gradients), busy)
    wait = waiting_time(again, ops.minimum(round_means.update, round_means.factor))
    queued = queue_behind_wait(wait, push_share(setting), exposed, n)
    lost = discarded_time(again, counted(setting, busy, constants), wait, queued)
    return lost if np.all(barrier) else np.where(barrier, lost, idle)


def counted(setting: Setting, time: Any, constants: Calibration) -> Any:
    """Return the mean time of the gradients that count [s]; late gradients may be discarded early."""
    factor = round_of(setting, constants).factor
    return time if np.all(factor >= 1) else cut_short_time(time, factor)


def counted_work(setting: Setting, work: Computation, constants: Calibration) -> Computation:
    """Return the times of one accelerator for the gradients that count."""
    if setting.updates is None or np.all(round_of(setting, constants).factor >= 1):
        return work
    times = (
        "forward_time",
        "backward_time",
        "launch_overhead_time",
        "update_time",
        "iteration_overhead_time",
    )
    return work._replace(**{name: counted(setting, getattr(work, name), constants) for name in times})


def update_figures(setting: Setting, iteration_time: Any, constants: Calibration) -> dict[str, Any]:
    """Return the figures of a round, by the names of a ``Prediction``; numbers or arrays."""
    round_means = round_of(setting, constants)
    return {
        "updates_per_second": updates_per_second(setting.world_size, round_means.gradients, iteration_time),
        "gradients_per_update": round_means.gradients,
        "mean_staleness": round_means.staleness,
        "fresh_fraction": round_means.fresh,
    }


def round_bounds(
    setting: Setting, work: Computation, exposed: float, visit: float, fabric: Fabric, constants: Calibration
) -> tuple[float, float]:
    """Return the bounds of a round, given its computation and bandwidths [s].

    Synchronous: all pushes hide behind the wait, or none.  Asynchronous, by the extremes of a queue: its port
    is never idle, or every visit waits for all others.

    Parameters
    ----------
    setting, work, fabric : of one scenario
    exposed : time that communication adds to the round [s]
    visit : time that it adds to a worker without contention [s]
    constants : with the default jitter
    """
    round_means, busy = round_of(setting, constants), float(busy_time(setting, work))
    n, steps = setting.world_size, _updates(setting).local_steps
    low, high = round_means.low * busy, round_means.high * busy
    if in_step(setting):
        hidden = push_share(setting) * (n - 1) / n if setting.strategy == "parameter-server" else 0.0
        return low + exposed * (1 - hidden), high + exposed
    service = float(service_time(setting, fabric))
    # in an update of several gradients each may wait for all
    again = 1.0 if round_means.low == round_means.high else n / round_means.gradients
    most = high + again * (visit + (n - 1) * service) / steps
    return max(low + visit / steps, n * service / steps), most
