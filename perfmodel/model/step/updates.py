"""Workers whose gradients become updates otherwise than all in step: exchange, waits, staleness.

An iteration is then a round: the time in which as many gradients count as there are workers, so that rates,
speed-up and cost compare with those of synchronous training.
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
"""Communication on its own, what is exposed, and by how much the rest slows computation [s]."""


class Round(NamedTuple):
    """What the spread of workers' times makes of a strategy, in means of one gradient; numbers or arrays."""

    factor: Any
    """A round, communication apart."""
    low: Any
    high: Any
    """Proven bounds on it."""
    update: Any
    """The time between two updates."""
    gradients: Any
    """Of an update."""
    staleness: Any
    fresh: Any
    """Share of gradients computed on the newest parameters; NaN where it is not known."""
    status: Any
    """Of these means of the law, as of ``StragglerPrediction``."""


@numeric
@remembered(maxsize=4096)
def _round(updates: Updates, law: Distribution, workers: int) -> Round:
    """Return what a law of times makes of a strategy, communication apart."""
    workers = int(workers)
    if workers == 1 and updates.kind.option != "k":  # nobody is behind, nobody waits
        steps = updates.local_steps
        return Round(1.0, 1.0, 1.0, float(steps), steps, 0.0, 1.0, "exact")
    one = variant_of(updates, law, workers)
    each = workers / (one.gradients_per_update * law.mean)
    bounds = (_of_rounding(one.low * each), _of_rounding(one.high * each))
    fresh = np.nan if one.fresh_fraction is None else float(one.fresh_fraction)
    factor, update = _of_rounding(one.update_time * each), _of_rounding(one.update_time / law.mean)
    return Round(factor, *bounds, update, one.gradients_per_update, one.mean_staleness, fresh, one.status)


def _of_rounding(factor: Any) -> float:
    """Return a factor without what rounding leaves of 1, of which a wait below nothing would come."""
    return 1.0 if math.isclose(factor, 1.0, rel_tol=1e-12) else float(factor)


def variant_of(updates: Updates, law: Distribution, workers: int) -> StragglerPrediction:
    """Return what a strategy comes to under one law of times, communication apart."""
    k = int(updates.awaited(workers)) if updates.kind.option in ("k", "backups") else None
    variant = updates.variant
    if variant == "k-async" and k == workers:
        variant = "k-sync"
    return straggler_variant(variant, law, workers, k=k, local_steps=updates.local_steps)


def round_of(setting: Setting, constants: Calibration) -> Round:
    """Return what the spread makes of a setting's strategy; arrays where its world size is one.

    Raises
    ------
    InputError : a law of times without the means that the strategy needs
    """
    law, updates = law_of(setting, constants) or ALIKE, _updates(setting)
    if np.ndim(setting.world_size) == 0:
        return _round(updates, law, setting.world_size)
    sizes, where = np.unique(setting.world_size, return_inverse=True)
    rows = [_round(updates, law, int(size)) for size in sizes.tolist()]
    shape = np.shape(setting.world_size)
    return Round(*(np.array(column)[where].reshape(shape) for column in zip(*rows, strict=True)))


def _updates(setting: Setting) -> Updates:
    assert setting.updates is not None
    return setting.updates


def alone(setting: Setting) -> Setting:
    """Return the setting of one worker that meets nobody on its way."""
    return setting._replace(world_size=1, nodes=1, accelerators_per_node=1)


def in_step(setting: Setting) -> Any:
    """Return whether an update ends the work of all."""
    return _updates(setting).in_step(setting.world_size)


def flat(setting: Setting) -> Setting:
    """Return a setting whose counts lack the axis that messages take in a sweep."""
    counts = {name: _shorter(getattr(setting, name)) for name in ("world_size", "nodes", "servers")}
    return setting._replace(**counts)


def _shorter(number: Any) -> Any:
    return number[..., 0] if np.ndim(number) else number


def busy_time(setting: Setting, work: Computation) -> Any:
    """Return the mean time of one gradient [s]: of a profile the passes alone spread."""

    steps = setting.accumulation_steps
    return work.alone(steps) if setting.profile is None else steps * work.pass_time


def exchange_of_round(
    setting: Setting,
    work: Computation,
    on: Fabric,
    variants: Fabric,
    constants: Calibration,
    exchange: Exchange,
) -> tuple[Any, Any, Any]:
    """Return communication of a round on its own, exposed, and as it slows computation [s].

    Parameters
    ----------
    setting, work, on, variants, constants : as of ``perfmodel.model.step.parts.exchange``
    exchange : that of all workers of a setting at once
    """
    counts = flat(setting)
    barrier = in_step(counts)
    kinds = [kind for kind, there in ((_together, np.any(barrier)), (_apart, not np.all(barrier))) if there]
    result = [kind(setting, counts, work, on, variants, constants, exchange) for kind in kinds]
    if len(result) == 1:
        return result[0]
    whole, exposed, slowed = (np.where(barrier, *each) for each in zip(*result, strict=True))
    return whole, exposed, slowed


def _together(
    setting: Setting,
    counts: Setting,
    work: Computation,
    on: Fabric,
    variants: Fabric,
    constants: Calibration,
    exchange: Exchange,
) -> tuple[Any, Any, Any]:
    """The exchange that ends every update, of all workers."""
    times = exchange(setting, work, on, variants, constants)
    updates = _updates(setting)
    if updates.variant == "local-sgd":
        whole, exposed, slowed = (averaged_time(time, updates.local_steps) for time in times)
    else:
        n, gradients = counts.world_size, round_of(counts, constants).gradients
        whole, exposed, slowed = (repeated_time(n, gradients, time) for time in times)
    return whole, exposed, slowed


def _apart(
    setting: Setting,
    counts: Setting,
    work: Computation,
    on: Fabric,
    variants: Fabric,
    constants: Calibration,
    exchange: Exchange,
) -> tuple[Any, Any, Any]:
    """Visits of workers at any time, which queue for the port that all share."""
    n, steps = counts.world_size, _updates(setting).local_steps
    own, exposed, slowed = exchange(alone(setting), work, on, variants, constants)
    visit = iteration_time(exposed_communication_time=exposed, contention_time=slowed)
    factor, busy = round_of(counts, constants).factor, busy_time(setting, work)
    service = service_time(counts, variants)
    rate = server_update_rate(n, time_away(busy, factor, steps, visit, service), service)
    queued = queued_time(round_time(n, rate, steps), busy, factor)
    return queued + (own - visit) / steps, queued, 0.0


def service_time(setting: Setting, on: Fabric) -> Any:
    """Return for how long one worker's gradients keep the port busy that all share [s].

    Parameters
    ----------
    setting : counts without the axis of messages
    on : whose bandwidths have that axis, where they are arrays
    """
    between, servers = _shorter(on.inter_link_bandwidth), _shorter(on.server_bandwidth)
    whole = ops.number(layer_bytes(setting).sum())
    return shared_port_time(whole, setting.nodes, between, setting.servers, servers, imbalance(setting))


def update_wait(setting: Setting, work: Computation, exposed: Any, constants: Calibration) -> Any:
    """Return what a round waits, and works for nothing, beyond the mean of the gradients that count [s].

    Parameters
    ----------
    setting : whose workers they are
    work : of one accelerator
    exposed : what communication adds to the round [s]
    constants : hold the usual spread
    """
    came, busy = round_of(setting, constants), busy_time(setting, work)
    idle = waiting_time(busy, came.factor)
    barrier = in_step(setting)
    if _updates(setting).variant == "local-sgd" or not np.any(barrier):
        return idle
    n = setting.world_size
    # of more gradients than workers all work goes on until the update ends, and nothing hides behind work
    again = repeated_time(n, ops.minimum(n, came.gradients), busy)
    wait = waiting_time(again, ops.minimum(came.update, came.factor))
    queued = queue_behind_wait(wait, push_share(setting), exposed, n)
    lost = discarded_time(again, counted(setting, busy, constants), wait, queued)
    return lost if np.all(barrier) else np.where(barrier, lost, idle)


def counted(setting: Setting, time: Any, constants: Calibration) -> Any:
    """Return a mean time of gradients as those that count take it [s]: late ones may be cut short."""
    factor = round_of(setting, constants).factor
    return time if np.all(factor >= 1) else cut_short_time(time, factor)


def counted_work(setting: Setting, work: Computation, constants: Calibration) -> Computation:
    """Return the times of one accelerator with those of its gradients as the ones that count take them."""
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
    """Return what a round comes to, by the names of a ``Prediction``; numbers or arrays."""
    came = round_of(setting, constants)
    return {
        "updates_per_second": updates_per_second(setting.world_size, came.gradients, iteration_time),
        "gradients_per_update": came.gradients,
        "mean_staleness": came.staleness,
        "fresh_fraction": came.fresh,
    }


def round_bounds(
    setting: Setting, work: Computation, exposed: float, visit: float, on: Fabric, constants: Calibration
) -> tuple[float, float]:
    """Return what a round lies between, given its computation and bandwidths [s].

    In step: pushes may hide behind the wait, or none of them.  Otherwise by what no queue can pass: its port
    is never idle, or every visit finds all others before it.

    Parameters
    ----------
    setting, work, on : of one scenario
    exposed : what communication adds to the round [s]
    visit : what it adds to a worker that meets nobody [s]
    constants : hold the usual spread
    """
    came, busy = round_of(setting, constants), float(busy_time(setting, work))
    n, steps = setting.world_size, _updates(setting).local_steps
    low, high = came.low * busy, came.high * busy
    if in_step(setting):
        hidden = push_share(setting) * (n - 1) / n if setting.strategy == "parameter-server" else 0.0
        return low + exposed * (1 - hidden), high + exposed
    service = float(service_time(setting, on))
    # an update that waits for several may have each of them wait for all
    again = 1.0 if came.low == came.high else n / came.gradients
    most = high + again * (visit + (n - 1) * service) / steps
    return max(low + visit / steps, n * service / steps), most
