"""The speed ratio of two predictions, and its probability.

Two predictions share most of their error: the same chip, software and network are off by the same factor.
For transformers with layouts the shared part is computed from the levels that own runs are updated with.  For
data-parallel jobs it is learned from pairs of measured runs of one source, each predicted by a fit to other
sources (``perfmodel.evidence.accuracy.ratio_fit``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from perfmodel.equations.ratio import ratio_half_width
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.link import Link
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.prediction.result import NO_REPEATS, Interval, Prediction, Ratio
from perfmodel.model.setting.anchor import LAYOUT_OPTIONS

RESULT = Path(__file__).with_name("ratio.json")
COPIES, SHARED_OUT = "copies of a network", "a network that is shared out"
"""Kinds of predictions, by the model that makes them; keys of ``ratio.json``."""
ALWAYS = "anything"
"""Key of the error that any two different jobs do not share."""
_LINKS = ("node", "intra_link")
_NETWORK = (
    *("inter_link", "transport", "nics", "connections", "network_cap"),
    *("oversubscription", "rack_nodes", "placement"),
)
_MORE = {"nics": 1, "connections": 1, "network_cap": -1, "oversubscription": -1}
"""Options of a network that are better larger (1) or smaller (-1)."""
SPARE_KERNEL = ("roce", "rdma", "infiniband")
"""Kinds of links whose adapters could also be used by the kernel's TCP."""
_NO_PLAN = {
    *("workload", "sequence_length", "accelerator", "framework", "precision", *_LINKS, *_NETWORK),
    *("world_size", "nodes", "local_batch_size", "global_batch_size", "micro_batch_size", "scaling"),
    *("anchor", "profile", "host_memory"),
}
"""Options outside the training plan, or implied by others."""
_BY_SIZE = ("servers", "k", "backups", "accumulation_steps", "torus_dimensions", "accelerators_per_node")
"""Options whose defaults depend on the number of accelerators; compared only between jobs of equal size."""
UNUSED = "not used"


class Job(NamedTuple):
    """Properties of a job that determine which error it shares with another; absent keys are unknown."""

    kind: str
    """``COPIES`` or ``SHARED_OUT``."""
    workload: tuple[Any, ...]
    accelerator: str
    software: str
    precision: str | None
    fabric: Mapping[str, Any]
    """Machine and links; those between nodes only for several nodes."""
    start: tuple[Any, ...]
    """Anchor and profile of the prediction; empty without any."""
    plan: Mapping[str, Any]
    """Training plan: strategy, overlap, degrees of parallelism."""
    world_size: float
    batch: float
    """Batch of one accelerator, or micro-batch [samples]."""


OF_EXCHANGE = (
    *("strategy", "algorithm", "overlap", "compression", "jitter"),
    *("local_aggregation", "local_steps", "server_node", "server_shards"),
)
"""Options of a plan without effect on one accelerator."""
DISTANCES = ("workload", "accelerator", "software", "precision", "fabric", "plan", "world size", "batch")
"""Distances of two jobs: 0 or 1, or for numbers the logarithm of their ratio."""


def distances(one: Job, other: Job) -> tuple[float, ...]:
    """Return the distance of two jobs in each of ``DISTANCES``.

    One accelerator exchanges nothing: it has the plan of any number of them.  Errors of copies of a network
    hardly grow with more accelerators once there are several.
    """
    sizes = abs(math.log(one.world_size / other.world_size))
    exchange = min(one.world_size, other.world_size) > 1 or one.kind != COPIES
    return (
        float(one.workload != other.workload),
        float(one.accelerator != other.accelerator),
        float(one.software != other.software),
        float(one.precision != other.precision),
        float(_differ(one.fabric, other.fabric)),
        float(_differ(one.plan, other.plan, OF_EXCHANGE if not exchange else ())),
        math.log1p(sizes) if one.kind == COPIES else sizes,
        abs(math.log(one.batch / other.batch)),
    )


def _differ(one: Mapping[str, Any], other: Mapping[str, Any], but: Collection[str] = ()) -> bool:
    """Return whether any key known of both differs, except some."""
    return any(one[name] != other[name] for name in (one.keys() & other.keys()).difference(but))


def job_of(prediction: Prediction) -> Job:
    """Return the ``Job`` of a prediction."""
    scenario: Mapping[str, Any] = prediction.scenario
    fabric = {name: scenario.get(name) for name in _LINKS}
    if scenario["nodes"] > 1:
        fabric |= {name: scenario.get(name) for name in _NETWORK}
    plan = {
        f"{name} of {scenario['world_size']}" if name in _BY_SIZE else name: UNUSED
        if value is None
        else value
        for name, value in scenario.items()
        if name not in _NO_PLAN
    }
    shared_out = prediction.layout is not None
    return Job(
        kind=SHARED_OUT if shared_out else COPIES,
        workload=(scenario["workload"], scenario.get("sequence_length")),
        accelerator=scenario["accelerator"],
        software=scenario["framework"],
        precision=scenario["precision"],
        fabric=fabric,
        start=tuple(scenario[name] for name in ("anchor", "profile") if scenario.get(name)),
        plan=plan,
        world_size=scenario["world_size"],
        batch=scenario["micro_batch_size"] if shared_out else scenario["local_batch_size"],
    )


@cache
def learned() -> Mapping[str, float]:
    """Return the learned share of a data-parallel job's error that each difference makes unshared."""
    table: Mapping[str, float] = json.loads(RESULT.read_text("utf-8"))["unshared"]
    return table


def unshared_of(one: Job, other: Job, half_widths: tuple[float, float], is_again: bool = False) -> float:
    """Return the unshared part of two jobs' errors: 0 for the same job, at most 1.

    Parameters
    ----------
    one, other : the jobs
    half_widths : of their 80 % intervals, in log time
    is_again : whether the same job counts as run by another source
    """
    if one == other and not is_again:
        return 0.0
    if (one.kind, one.start) != (other.kind, other.start):
        return 1.0
    if one.kind == SHARED_OUT:
        both = 2 * half_widths[0] * half_widths[1]
        return min(1.0, NORMAL_80**2 * variance_between(one, other) / both) if both else 1.0
    apart, shares = distances(one, other), learned()
    each = (shares[name] * distance for name, distance in zip(DISTANCES, apart, strict=True))
    return min(1.0, shares[ALWAYS] + sum(each))


def variance_between(one: Job, other: Job, without: str | None = None) -> float:
    """Return the variance of the difference of two transformers' errors, without that of their source.

    Parameters
    ----------
    one, other : the jobs
    without : a source to leave out of the levels
    """
    from perfmodel.model.transformers.levels import NAMED
    from perfmodel.model.transformers.levels import learned as levels_without

    levels, distance = levels_without(without), dict(zip(DISTANCES, distances(one, other), strict=True))
    lengths = [job.workload[1] or 1 for job in (one, other)]
    apart = {name: distance[name] for name in NAMED} | {
        "layout": sum(one.plan.get(name) != other.plan.get(name) for name in LAYOUT_OPTIONS) / 2,
        "world_size": distance["world size"],
        "micro_batch_size": distance["batch"],
        "sequence_length": abs(math.log(lengths[0] / lengths[1])),
    }
    shared = levels.shared(0.0, float(one.workload[0] == other.workload[0]), apart)
    return float(2 * (levels.within - shared))


def network_order(one: Prediction, other: Prediction, catalogue: Catalogue | None = None) -> int:
    """Return 1 if two jobs differ only in their network and the first one's is nowhere worse, else -1 or 0.

    -1 is the reverse, 0 any other pair of jobs.

    Parameters
    ----------
    one, other : predictions
    catalogue : of their links; by default the built-in one
    """
    first, second = one.scenario, other.scenario
    signs = set()
    for name in first.keys() | second.keys():
        values: tuple[Any, Any] = (first.get(name), second.get(name))
        if values[0] == values[1]:
            continue
        if name == "inter_link" and None not in values:
            signs.add(_link_order(*(Catalogue.of(catalogue).link(each) for each in values)))
        elif name in _MORE and None not in values:
            signs.add(_MORE[name] * (1 if values[0] > values[1] else -1))
        else:
            return 0
    return signs.pop() if len(signs) == 1 else 0


def _link_order(one: Link, other: Link) -> int:
    """Return 1 if one link is nowhere worse than another, -1 for the reverse, else 0."""
    for better, worse, sign in ((one, other, 1), (other, one, -1)):
        alike = better.kind == worse.kind or (worse.passes_kernel and better.kind in SPARE_KERNEL)
        flows = better.flow_bandwidth, worse.flow_bandwidth
        bulk = [(each.bulk_hop_latency or each.hop_latency).value for each in (better, worse)]
        if (
            alike
            and better.bandwidth.value >= worse.bandwidth.value
            and better.hop_latency.value <= worse.hop_latency.value
            and bulk[0] <= bulk[1]
            and (flows[0] is None or (flows[1] is not None and flows[0].value >= flows[1].value))
        ):
            return sign
    return 0


def in_order(ratio: Ratio, order: int) -> Ratio:
    """Return a ratio, given that the first job is known to be no slower (1), or the other (-1).

    One end of the interval is moved to 1, or to the ratio itself, and the order is certain.
    """
    if order == 0 or ratio.low_80 is None or ratio.high_80 is None:
        return ratio
    if order > 0:
        moved = {"low_80": max(ratio.low_80, min(1.0, ratio.value))}
    else:
        moved = {"high_80": min(ratio.high_80, max(1.0, ratio.value))}
    agrees = order * (ratio.value - 1) >= 0
    return ratio.model_copy(update={**moved, "sure": 1.0} if agrees else moved)


def ratio_between(one: Prediction, other: Prediction, to: str, catalogue: Catalogue | None = None) -> Ratio:
    """Return the speed of ``one`` over that of ``other``, whose name is ``to``.

    If only their networks differ, and one is nowhere worse, the order is known; ``catalogue`` has their
    links.
    """
    return in_order(_ratio(one, other, to), network_order(one, other, catalogue))


def _ratio(one: Prediction, other: Prediction, to: str) -> Ratio:
    """Return the speed ratio of two predictions without a known order."""
    value = one.samples_per_second / other.samples_per_second
    if one.interval is None or other.interval is None:
        return Ratio.model_construct(to=to, value=value, low_80=None, high_80=None, sure=None)
    jobs = job_of(one), job_of(other)
    if jobs[0] != jobs[1] and (is_measured(one) or is_measured(other) or _is_scaling_alone(*jobs)):
        half = math.hypot(_whole_half_width(one, one.interval), _whole_half_width(other, other.interval))
    else:
        halves = _half_width(one, one.interval), _half_width(other, other.interval)
        half = float(ratio_half_width(*halves, unshared_of(*jobs, halves)))
    low, high, clipped_at = value / math.exp(half), value * math.exp(half), None
    accelerators = _accelerators(jobs[0], jobs[1])
    if accelerators > 1 and high > accelerators:
        high, clipped_at = max(value, accelerators), accelerators
    elif accelerators < 1 and low < accelerators:
        low, clipped_at = min(value, accelerators), accelerators
    return Ratio.model_construct(
        to=to,
        value=value,
        low_80=low,
        high_80=high,
        sure=sure_of(value, half),
        clipped_at=clipped_at,
    )


def _is_scaling_alone(one: Job, other: Job) -> bool:
    """Return whether two jobs start from a measured run and only one of them exchanges gradients.

    The run has removed the error that they would share, that of computing: what is left is that of scaling,
    which the other does not have, and how far runs on one accelerator scatter.
    """
    sizes = one.world_size, other.world_size
    is_started = one.kind == other.kind == COPIES and bool(one.start) and bool(other.start)
    return is_started and min(sizes) == 1 < max(sizes)


def _accelerators(one: Job, other: Job) -> float:
    """Return the ratio of the accelerators of jobs that differ only in it, the largest possible speed-up.

    NaN for other jobs, or if the batch of one accelerator is larger in the job with more of them.
    """
    larger, smaller = sorted((one, other), key=lambda job: -job.world_size)
    apart = dict(zip(DISTANCES, distances(one, other), strict=True))
    kept = [name for name in DISTANCES if name not in ("world size", "batch")]
    if smaller.world_size == 1:
        kept.remove("plan")  # one accelerator has no exchange
    is_alike = not any(apart[name] for name in kept) and (
        (one.kind, one.start) == (other.kind, other.start) or _is_scaling_alone(one, other)
    )
    return one.world_size / other.world_size if is_alike and larger.batch <= smaller.batch else math.nan


def half_width(ratio: Ratio) -> float | None:
    """Return the half-width of a ratio's 80 % interval in log ratio, before clipping; None without one."""
    if ratio.low_80 is None or ratio.high_80 is None:
        return None
    return math.log(max(ratio.high_80 / ratio.value, ratio.value / ratio.low_80))


def is_measured(prediction: Prediction) -> bool:
    """Return whether an anchor or own runs measured the job itself: no other job shares its error, noise."""
    interval = prediction.interval
    return interval is not None and interval.no_95 == NO_REPEATS


def _half_width(prediction: Prediction, interval: Interval) -> float:
    """Return the half-width by development rows; both jobs share the additional error on new sources."""
    return _whole_half_width(prediction, interval) / interval.scale


def _whole_half_width(prediction: Prediction, interval: Interval) -> float:
    """Return the half-width of a prediction's 80 % interval in log time."""
    return math.log(interval.high_80 / prediction.iteration_time)


def sure_of(value: float, half_width: float) -> float:
    """Return the probability that a ratio is on the same side of 1 as predicted.

    >>> sure_of(1.2, 0.0), round(sure_of(1.2, math.log(1.2)), 4)
    (1.0, 0.9)
    """
    return chance_above_one(max(value, 1 / value), half_width)


def chance_above_one(value: float, half_width: float) -> float:
    """Return the probability that a ratio is more than 1.

    Parameters
    ----------
    value : predicted ratio
    half_width : of its 80 % interval in log ratio, which is assumed normal

    >>> [round(chance_above_one(value, math.log(1.2)), 4) for value in (1.2, 1.0, 1 / 1.2)]
    [0.9, 0.5, 0.1]
    """
    if half_width == 0:
        return 0.5 if value == 1 else float(value > 1)
    return 0.5 * (1 + math.erf(math.log(value) * NORMAL_80 / half_width / math.sqrt(2)))
