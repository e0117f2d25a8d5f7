"""Diagnose an output of nccl-tests or rccl-tests: each size, and which cause fits the whole listing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from perfmodel.core.errors import InputError, refusal
from perfmodel.core.problem import TAKEN, Note, Words
from perfmodel.core.units import show
from perfmodel.decide.diagnosis.answer import (
    AssumedAdapters,
    DiagnosedCause,
    DiagnosedSize,
    Diagnosis,
    Pace,
    SimilarMeasurement,
    TurningDefault,
    Verdict,
)
from perfmodel.decide.diagnosis.assumptions import ADAPTERS, assumptions_of_listing
from perfmodel.decide.diagnosis.card import with_card
from perfmodel.decide.diagnosis.chances import LEAST
from perfmodel.decide.diagnosis.listed_accelerator import (
    MACHINES,
    OF_MACHINES,
    mismatch_of,
    named_accelerator,
    of_accelerators,
)
from perfmodel.decide.diagnosis.next_listing import next_listings
from perfmodel.decide.diagnosis.turning import Trial, left_open_of_listing, turning_defaults
from perfmodel.decide.diagnosis.verdict_rule import verdict_of
from perfmodel.decide.diagnosis.weighed import Weighed, Weights, weigh
from perfmodel.decide.quote.similar_runs import similar_collectives
from perfmodel.equations.bandwidths import bus_bandwidth
from perfmodel.evidence.accuracy.source_titles import source_titles
from perfmodel.evidence.traces.nccl_tests import Timings
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import accelerator_words, link_words
from perfmodel.model.collectives.place import Point
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.collectives.bus_bandwidth_words import above_ports
from perfmodel.model.prediction.collectives.collective_fabric import fabric_of
from perfmodel.model.prediction.collectives.collective_spread import interval_of
from perfmodel.model.prediction.intervals.ratio import chance_above_one


def diagnose_listing(
    timings: Timings, scenario: Scenario, collective: str | None, catalogue: Catalogue
) -> Diagnosis:
    """Return where a listing lies, size by size, and what may have slowed it.

    Parameters
    ----------
    timings : the listing
    scenario : its machines; options of a job are refused
    collective : what it timed, where the listing does not say it
    catalogue : hardware

    Raises
    ------
    InputError : an option of a job; a listing that does not say its ranks or its collective; hardware that
        cannot hold its ranks
    """
    named = named_accelerator(timings, catalogue)
    mismatch = mismatch_of(timings, scenario, named, catalogue)
    try:
        point = point_of(timings, scenario, collective, catalogue)
    except InputError as error:
        if mismatch is None:
            raise
        raise refusal("diagnose.other_accelerator", mismatch=Words(mismatch)).under(timings.file) from error
    sizes = [row.message_bytes for row in timings.rows]
    weights = _weigh(timings, point, scenario, catalogue)
    rows = [_size(point, *each) for each in zip(sizes, _times(timings), weights.times.tolist(), strict=True)]
    best = max(rows, key=lambda row: row.message_bytes)
    pace = _pace(weights)
    taken = [note for note in point.notes if isinstance(note, Note) and note.about == TAKEN]

    def smaller(ranks: int, nodes: int) -> Point:
        return _fabric(ranks, nodes, point.collective, best.message_bytes, timings, scenario, catalogue)

    hosts = f"{point.hosts} host{'s' * (point.hosts != 1)}{of_accelerators(timings, scenario, named)}"
    return with_card(
        limit="",
        rests_on="data sheets and a fit to published listings",
        pace=pace,
        kind="collective",
        reading=f"listing of {point.collective}: {len(rows)} sizes over {point.group_size} ranks on {hosts}",
        mismatch=mismatch,
        turns=[] if mismatch else _turns(timings, weights, scenario, point, catalogue),
        adapters=None if mismatch else _adapters(timings, weights, scenario, point, catalogue),
        job=_job(point),
        normal=weights.normal,
        unknown=weights.unknown,
        measured=best.measured_bus_bandwidth,
        predicted=best.predicted_bus_bandwidth,
        low_80=_bus(point, best.message_bytes, best.high_80),
        high_80=_bus(point, best.message_bytes, best.low_80),
        quantile=_quantile(best),
        causes=[_cause(each, rows) for each in weights.causes],
        sizes=rows,
        similar=_similar(point, best.message_bytes),
        terms=[],
        next=next_listings(point.of(point.collective, best.message_bytes), weights, catalogue, smaller)
        if pace != "fast"
        else [],
        above_ports=above_ports(point, max(row.predicted_bus_bandwidth for row in rows)),
        defaults=[note.said for note in taken],
        notes=[*(note for note in point.notes if note not in taken), *_partial(point, scenario, catalogue)],
    )


def _turns(
    timings: Timings, own: Weights, scenario: Scenario, point: Point, catalogue: Catalogue
) -> list[TurningDefault]:
    """Return the options of the machines left open on which the verdict turns."""

    def attempt(option: str, value: int | str) -> Trial | None:
        changed = scenario.model_copy(update={option: value})
        at = _point_or_none(timings, changed, point.collective, catalogue)
        if at is None:
            return None
        weights, largest = _weigh(timings, at, changed, catalogue), timings.rows[-1]
        if _size(at, largest.message_bytes, largest.time, float(weights.times[-1])).verdict == "fast":
            return None  # these machines would have to be faster than they are
        return Trial(_pace(weights), float(np.mean(weights.errors)), lambda: _verdict(weights))

    return turning_defaults(_verdict(own), left_open_of_listing(scenario, point, catalogue), attempt)


def _adapters(
    timings: Timings, weights: Weights, scenario: Scenario, point: Point, catalogue: Catalogue
) -> AssumedAdapters | None:
    """Return the adapters that were assumed, with the number that fits best.

    None where no other may explain the listing, or where it has nothing to be explained.
    """
    best = next((each for each in weights.causes if each.cause.id == ADAPTERS), None)
    if best is None or best.probability < LEAST or _verdict(weights) not in ("slow", "unclear"):
        return None
    other = int(best.variant.value or 0)
    changed = scenario.model_copy(update={"nics": other})
    at, largest = point_of(timings, changed, point.collective, catalogue), timings.rows[-1]
    row = _size(at, largest.message_bytes, largest.time, float(best.times[-1]))
    return AssumedAdapters(
        taken=int(point.nics if point.host_nics is None else point.host_nics),
        other=other,
        probability=best.probability,
        predicted=row.predicted_bus_bandwidth,
        low_80=_bus(at, row.message_bytes, row.high_80),
        high_80=_bus(at, row.message_bytes, row.low_80),
    )


def _weigh(timings: Timings, point: Point, scenario: Scenario, catalogue: Catalogue) -> Weights:
    """Return the causes of a listing with their probabilities, that its machines are others included."""

    def point_with(option: str, value: int | str) -> Point | None:
        changed = scenario.model_copy(update={option: value})
        return _point_or_none(timings, changed, point.collective, catalogue)

    sizes = [row.message_bytes for row in timings.rows]
    assumptions = assumptions_of_listing(scenario, point, catalogue, point_with)
    return weigh(point, sizes, _times(timings), catalogue, assumptions=assumptions)


def _point_or_none(
    timings: Timings, scenario: Scenario, collective: str, catalogue: Catalogue
) -> Point | None:
    """Return the collective and fabric of a listing; None on machines that cannot hold its ranks."""
    try:
        return point_of(timings, scenario, collective, catalogue)
    except InputError:
        return None


def _verdict(weights: Weights) -> Verdict:
    faults = [each.probability for each in weights.causes if not each.cause.is_assumption]
    return verdict_of(_pace(weights), weights.normal, weights.unknown, faults)


def point_of(timings: Timings, scenario: Scenario, collective: str | None, catalogue: Catalogue) -> Point:
    """Return the collective and fabric of a listing; errors as of ``diagnose_listing``."""
    allowed = {*OF_MACHINES, "world_size", "accelerators_per_node"}
    for name in sorted(scenario.model_fields_set - allowed):
        raise refusal("diagnose.not_of_a_collective", name)
    kind = collective or timings.collective
    if kind is None:
        raise refusal("diagnose.collective", "collective").under(timings.file)
    stated = scenario.world_size if "world_size" in scenario.model_fields_set else None
    ranks = timings.group_size or stated or _ranks(kind, timings)
    if ranks is None:
        raise refusal("diagnose.ranks", "gpus").under(timings.file)
    if stated not in (None, ranks):
        raise refusal("fit.gpus", "gpus", ranks=ranks, world_size=stated).under(timings.file)
    nodes = timings.hosts
    if scenario.accelerators_per_node is not None:
        nodes = -(-ranks // scenario.accelerators_per_node)
    point = _fabric(ranks, nodes, kind, timings.rows[-1].message_bytes, timings, scenario, catalogue)
    if point.nodes > 1 and point.inter_link is None:
        raise refusal("collective.no_inter_link", "inter_link", hosts=point.hosts).under(timings.file)
    return point


def _fabric(
    ranks: int,
    nodes: int | None,
    collective: str,
    message_bytes: float,
    timings: Timings,
    scenario: Scenario,
    catalogue: Catalogue,
) -> Point:
    """Return a collective over ranks of the machines of a listing."""
    machines = {name: getattr(scenario, name) for name in OF_MACHINES if name in scenario.model_fields_set}
    named = named_accelerator(timings, catalogue)
    if named is not None and not MACHINES & machines.keys():
        machines["accelerator"] = named.id
    return fabric_of(ranks, catalogue, nodes=nodes, **machines).of(collective, message_bytes)


def _ranks(collective: str, timings: Timings) -> int | None:
    """Return the ranks by bus over algorithm bandwidth of the largest message; None where they say nothing.

    Of an all-reduce the ratio is 2 (n - 1) / n, of others (n - 1) / n, or 1.
    """
    row = max(timings.rows, key=lambda each: each.bus_bandwidth)
    if not row.algorithm_bandwidth:
        return None
    whole = float(bus_bandwidth(collective, 1.0, 2**30))
    missing = 1 - row.bus_bandwidth / row.algorithm_bandwidth / whole
    return round(1 / missing) if missing > 1e-3 else None


def _times(timings: Timings) -> list[float]:
    return [row.time for row in timings.rows]


def _bus(point: Point, size: float, time: float) -> float:
    return float(bus_bandwidth(point.collective, size / time, point.group_size))


def _size(point: Point, size: float, measured: float, predicted: float) -> DiagnosedSize:
    """Return one size with its prediction and interval."""
    interval = interval_of(point.of(point.collective, size), predicted)
    verdict: Pace = (
        "slow" if measured > interval.high_80 else "fast" if measured < interval.low_80 else "normal"
    )
    return DiagnosedSize(
        message_bytes=size,
        measured_time=measured,
        predicted_time=predicted,
        low_80=interval.low_80,
        high_80=interval.high_80,
        measured_bus_bandwidth=_bus(point, size, measured),
        predicted_bus_bandwidth=_bus(point, size, predicted),
        ratio=predicted / measured,
        verdict=verdict,
    )


def _quantile(row: DiagnosedSize) -> float:
    """Return the share of such machines that are at least as fast at a size."""
    return chance_above_one(
        row.measured_time / row.predicted_time, math.log(row.high_80 / row.predicted_time)
    )


def _pace(weights: Weights) -> Pace:
    """Return whether the listing is normal, or on the whole slower or faster than that.

    Causes only slow down: what is faster at every size than 80 % intervals is so though none explains it.
    """
    errors = weights.errors / weights.prior.spreads
    if weights.is_normal and np.max(errors) > -NORMAL_80:
        return "normal"
    return "slow" if float(np.mean(errors)) > 0 else "fast"


def _cause(each: Weighed, rows: Sequence[DiagnosedSize]) -> DiagnosedCause:
    row = rows[each.place]
    return DiagnosedCause(
        id=each.cause.id,
        name=each.cause.name,
        words=each.cause.words,
        change=each.variant.words,
        probability=each.probability,
        predicted_time=float(each.times[each.place]),
        measured_time=row.measured_time,
        message_bytes=row.message_bytes,
        next=each.cause.next,
        is_assumption=each.cause.is_assumption,
    )


def _job(point: Point) -> str:
    """Return the machines in words."""
    chip = accelerator_words(point.accelerator) if point.accelerator else "accelerators"
    words = f"{point.group_size} x {chip} by {link_words(point.link)}"
    if point.nodes == 1 or point.inter_link is None:
        return words
    return f"{words}, {point.nodes} nodes by {point.nics:g} x {link_words(point.inter_link)}"


def _similar(point: Point, size: float) -> list[SimilarMeasurement]:
    """Return the published measurements over the same links, at the nearest size."""
    result = []
    for row in similar_collectives(point.of(point.collective, size)):
        at = row.point
        assert at is not None
        rate = _bus(at, at.message_bytes, row.time)
        chip = f" x {accelerator_words(at.accelerator)}" if at.accelerator else " ranks"
        nodes = f"{at.nodes} node{'s' * (at.nodes != 1)}"
        words = f"{show(rate, 'B/s')} at {show(at.message_bytes, 'B')}, {at.group_size}{chip}, {nodes}"
        title = source_titles().get(row.source, row.source)
        result.append(
            SimilarMeasurement(
                id=row.run_id, source=row.source, title=title, value=rate, words=words, software=None
            )
        )
    return result


def _partial(point: Point, scenario: Scenario, catalogue: Catalogue) -> list[str]:
    """Return a note where only some accelerators of each node take part."""
    if scenario.node is None or point.nodes == 1:
        return []
    machine: Any = catalogue.node(scenario.node)
    if point.per_node >= machine.accelerators:
        return []
    whole = point._replace(group_size=machine.accelerators * point.nodes)
    return [
        f"{point.per_node} of {machine.accelerators} accelerators of each node take part: such a listing "
        f"shows what they reach, not what the {whole.group_size} of whole nodes would"
    ]
