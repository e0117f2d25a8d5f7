"""Evidence on a claim: its physical limit, the model's prediction, and measured runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from perfmodel.core.errors import refusal
from perfmodel.core.units import per_cent, show
from perfmodel.decide.quote.comparable import (
    ALIKE,
    SLOWER,
    Difference,
    IsSlower,
    run_differences,
    slower_test,
)
from perfmodel.decide.quote.expected import (
    Expected,
    Measure,
    algorithm_share,
    expected_bus_bandwidth,
    expected_efficiency,
    measure_of,
    measured_bus_bandwidth,
    point_of,
)
from perfmodel.decide.quote.file import Claim
from perfmodel.decide.quote.length import cost_of, length_of
from perfmodel.decide.quote.likely import Likely, likely_of_copies, likely_of_transformer
from perfmodel.decide.quote.limits import (
    Limit,
    accelerators_of,
    best_efficiency,
    best_product,
    bus_bandwidth_limit,
    limit_of_iteration,
    peak_of,
)
from perfmodel.decide.quote.reached import ReachedBy, reached_by
from perfmodel.decide.quote.similar_runs import (
    SHOWN,
    SimilarRun,
    similar_collectives,
    similar_runs,
)
from perfmodel.decide.quote.similar_submissions import similar_submissions
from perfmodel.decide.quote.similar_transformers import similar_transformers, software_of
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import accelerator_words
from perfmodel.model.collectives.place import Point
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.options.layout import caveats
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.limits import replicas_alone
from perfmodel.model.setting.resolve import Setting

COUNTED = ("flops", "mfu")
"""Quantities that count FLOP, to which skipped padding contributes none."""
SUBMISSIONS = 1
"""MLPerf submissions listed in addition to other runs."""


class Near(BaseModel):
    """A measurement similar to a claim."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """Id of the measurement."""
    source: str
    """Source of the measurement."""
    value: float
    """The claimed quantity as measured, or at the measured rate per accelerator."""
    words: str
    """What was measured, in one line."""
    software: str | None = None
    """Software of the measurement, as ``NAME@YEAR``; null where there was none or it is unknown."""
    world_size: int | None = None
    """Accelerators that it ran on; null where they are not counted."""
    differs: list[Difference] = []
    """Properties in which it is too unlike the claimed job to test the claim; empty where it does."""


class FromRun(NamedTuple):
    """A measured run scaled to a claimed job, in the claimed quantity."""

    id: str
    source: str
    words: str
    """Machines, precision and batch of the run."""
    expected: float
    low_80: float
    high_80: float


class Evidence(NamedTuple):
    """Limit, prediction and measurements for a claim, in the claimed quantity."""

    limit: Limit
    expected: Expected | None
    measured: list[Near]
    notes: list[str]
    of_a_workload: bool = True
    """Whether the claim depends on the job's workload, rather than on its machines alone."""
    memory: str | None = None
    """The memory that the job needs, where that is more than its accelerators have."""
    from_run: FromRun | None = None
    """The most similar measured run, where it is more certain than the model's prediction."""
    target: str | None = None
    """Target of training, where the quote states no length."""
    reached: ReachedBy | None = None
    """A measured run that did as well as claimed."""
    best: Measure | None = None
    """Conversion of the least step time to the limit; None where no step time gives it."""
    measure: Measure | None = None
    """Conversion of a predicted step time to the claimed quantity; None where no step time gives it."""


def of_peak(claim: Claim, setting: Setting) -> Evidence:
    """Return the evidence on FLOP/s of hardware alone, or of a named number format."""
    reason = "its number format is named" if claim.format else "no workload is named"
    notes = [f"{reason}: held against the peak"]
    limit, accelerator = peak_of(setting, claim.whose, claim.format), setting.accelerator
    number_format = claim.format or setting.peak_format
    best = best_product(accelerator, number_format)
    if best is None:
        return Evidence(limit, None, [], notes, False)
    on = accelerator_words(accelerator)
    words = f"{show(best.value, 'FLOP/s')} in the best matrix product measured on one {on}"
    source = accelerator.sources[best.source].title if best.source else best.basis
    value = best.value * accelerators_of(claim.whose, setting)
    near = Near(id=accelerator.id, source=source, value=value, words=words)
    return Evidence(limit, None, [near], notes, False)


def of_bandwidth(claim: Claim, setting: Setting) -> Evidence:
    """Return limit, expected range and similar measured collectives for a claimed bandwidth.

    Raises
    ------
    InputError : a single accelerator
    """
    if setting.world_size == 1:
        raise refusal("quote.one_accelerator", "gpus", kind=claim.kind)
    share = 1.0 if claim.kind == "bus_bandwidth" else algorithm_share(claim, setting)
    limit, point = bus_bandwidth_limit(claim.collective, setting), point_of(claim, setting)
    notes = []
    if share != 1:
        n, bus = setting.world_size, show(limit.value, "B/s")
        words = f"its algorithm bandwidth, size over time, is {share:.3g} of that among {n}: {bus} is "
        limit = Limit(limit.value * share, (*limit.because, f"{words}{show(limit.value * share, 'B/s')}"))
    if not claim.message_bytes:
        notes.append(f"no size is given: {show(point.message_bytes, 'B')} is predicted")
    near = []
    for measured in similar_collectives(point):
        if measured.point is None:
            continue
        at, rate = measured.point, share * measured_bus_bandwidth(measured.point, measured.time)
        over = f" on {at.nodes} nodes" if at.nodes > 1 else ""
        words = f"{show(rate, 'B/s')}: {show(at.message_bytes, 'B')}, {at.group_size} ranks{over}"
        near.append(
            Near(
                id=measured.run_id,
                source=measured.source,
                value=rate,
                words=words,
                differs=_differences_of_collective(at, point),
            )
        )
    expected = Expected(*(share * each for each in expected_bus_bandwidth(point)))
    return Evidence(limit, expected, near, notes, False)


def of_efficiency(claim: Claim, scenario: Scenario, setting: Setting, catalogue: Catalogue) -> Evidence:
    """Return the evidence on a scaling efficiency or speed-up."""
    prediction = predict(scenario, catalogue)
    expected = expected_efficiency(claim, scenario, prediction, catalogue)
    n, m = setting.world_size, claim.from_gpus
    notes = _alone(setting)
    if setting.layout is not None and "from_gpus" not in claim.model_fields_set:
        m = n // setting.layout.data_parallel
        notes.append(f"against one replica, {m} accelerators, as no from_gpus is given")
    speedup = claim.kind == "speedup"
    limit = best_efficiency(m, n, setting.scaling, claim.number * (m / n if speedup else 1))
    if speedup:
        ideal = (
            f"{n} are {n / m:g} times {m}: a speed-up of {n / m:g}, or {limit.value * n / m:.3g} with that"
        )
        limit = Limit(limit.value * n / m, (*limit.because, ideal))
    time = prediction.iteration_time  # software that computes slowly scales better
    near, is_slower = [], slower_test(setting, time, catalogue, but=("framework",))
    for similar in similar_runs(setting, catalogue, several=True)[:SHOWN] if setting.layout is None else []:
        if similar.scaling_efficiency is not None:
            value = similar.scaling_efficiency * (n / m if speedup else 1)
            differs: list[Difference] = ["baseline"] if m > 1 else []
            prefix = f"{per_cent(similar.scaling_efficiency)} efficiency on"
            near.append(_near(similar, setting, value, prefix, catalogue, is_slower, differs))
    if near and m > 1:
        notes.insert(0, "the measured ones are against one accelerator")
    return Evidence(limit, expected, near, notes, memory=_too_much(prediction))


def of_rate(claim: Claim, scenario: Scenario, setting: Setting, catalogue: Catalogue) -> Evidence:
    """Return the evidence on a quantity that follows from the time of a step."""
    prediction, cost = predict(scenario, catalogue), cost_of(claim, setting, catalogue)
    length = length_of(claim, scenario, setting, prediction, catalogue)
    usd_per_second = cost.usd_per_second if cost else 0.0
    measure = measure_of(claim, setting, length.samples, usd_per_second)
    best = measure_of(claim, setting, length.fewest, usd_per_second)
    iteration_limit = limit_of_iteration(_possibly_padded(claim, setting))
    reasons = [*iteration_limit.because, *([cost.words] if cost else [])]
    if length.is_fewer:
        reasons.append(f"no published recipe trains on fewer than {length.fewest / 1e6:.3g} M samples")
    near, likely = _of_layout(setting, measure, prediction, catalogue)
    notes = [*setting.workload.notes, *_alone(setting), *_unequal(setting)]
    if setting.layout is None:
        near, likely = _of_copies(setting, measure, prediction, catalogue)
        if near:
            notes.append(_per_accelerator(claim, measure, setting))
    expected = measure.expected(prediction)
    if expected is not None and length.spread:
        expected = _widened(expected, length.spread)
    from_run = None if likely is None else _from_run(likely, measure, length.spread)
    reached = reached_by(claim, setting, measure, prediction.model_flops, catalogue)
    return Evidence(
        Limit(best.of(iteration_limit.value), tuple(reasons)),
        expected,
        near,
        notes,
        memory=next(filter(None, map(_too_much, (prediction, *length.phases))), None),
        from_run=from_run,
        target=length.target,
        reached=reached,
        best=best,
        measure=measure,
    )


def limit_of(claim: Claim, setting: Setting, evidence: Evidence) -> float:
    """Return the physical limit of a claim as its evidence counts it, on a setting of another peak."""
    if evidence.best is None:
        return peak_of(setting, claim.whose).value
    return evidence.best.of(limit_of_iteration(_possibly_padded(claim, setting)).value)


def _of_layout(
    setting: Setting, measure: Measure, prediction: Prediction, catalogue: Catalogue
) -> tuple[list[Near], Likely | None]:
    """Return the measured transformers most like a model-parallel job, and the most certain scaled run."""
    if setting.layout is None:
        return [], None
    similar = similar_transformers(setting, prediction, catalogue)
    flops = prediction.model_flops or math.nan
    near = [
        Near(
            id=each.run.run_id,
            source=each.run.source,
            value=measure.of(flops / (each.flops_per_second * setting.world_size)),
            words=each.words,
            software=software_of(each.run),
            differs=list(each.differs),
        )
        for each in similar[:SHOWN]
    ]
    return near, _surest(likely_of_transformer(each, prediction) for each in similar)


def _surest(likely: Iterable[Likely | None]) -> Likely | None:
    """Return the run with the narrowest interval; None where there is none."""
    return min((each for each in likely if each is not None), key=lambda each: each.half_width, default=None)


def _of_copies(
    setting: Setting, measure: Measure, prediction: Prediction, catalogue: Catalogue
) -> tuple[list[Near], Likely | None]:
    """Return the measured runs most like a data-parallel job, and the most certain scaled run."""
    similar, submitted = similar_runs(setting, catalogue), similar_submissions(setting, catalogue)
    near, is_slower = [], slower_test(setting, prediction.iteration_time, catalogue)
    for each in (*similar[:SHOWN], *submitted[:SUBMISSIONS]):
        value = measure.of(setting.local_batch_size * setting.accumulation_steps / each.rate)
        prefix = f"{each.rate:.4g} {setting.workload.sample}s/s on each of"
        near.append(_near(each, setting, value, prefix, catalogue, is_slower))
    framework = setting.scenario.framework
    tried = (likely_of_copies(each, prediction, catalogue, framework) for each in (*similar, *submitted))
    return near, _surest(tried)


def _from_run(likely: Likely, measure: Measure, spread: float) -> FromRun:
    """Return a similar run in the claimed quantity, with the spread of the training length added."""
    half = math.hypot(likely.half_width, NORMAL_80 * spread)
    point = measure.of(likely.time)
    low, high = point / math.exp(half), point * math.exp(half)
    return FromRun(likely.id, likely.source, likely.words, point, low, high)


def _widened(expected: Expected, spread: float) -> Expected:
    """Return a prediction with the spread of the training length added to its interval."""
    point = expected.expected

    def end(value: float) -> float:
        off = math.hypot(math.log(value / point), NORMAL_80 * spread)
        return point * math.exp(math.copysign(off, value - point))

    return Expected(point, end(expected.low_80), end(expected.high_80))


def _possibly_padded(claim: Claim, setting: Setting) -> Setting:
    """Return a setting with real input if padding may be skipped: sources may count padded tokens."""
    scenario = setting.scenario
    if claim.kind in COUNTED or not setting.workload.padded or "input" in scenario.model_fields_set:
        return setting
    return setting._replace(scenario=scenario.model_copy(update={"input": "real"}))


def _alone(setting: Setting) -> list[str]:
    """Return a note for a data-parallel transformer: a vendor may have used model parallelism."""
    words = replicas_alone(setting.workload) if setting.layout is None else None
    return [words] if words is not None else []


def _unequal(setting: Setting) -> list[str]:
    """Return notes on the layout of a job: uneven stages and the like."""
    model = setting.workload.architecture
    return [] if setting.layout is None or model is None else caveats(setting.layout, model)


def _too_much(prediction: Prediction) -> str | None:
    """Return the memory a job needs in words, where it does not fit; None where it fits."""
    if prediction.memory.fits:
        return None
    need, have = (f"{size / 2**30:.1f}" for size in (prediction.memory.bytes, prediction.memory.capacity))
    return f"needs {need} GiB of each accelerator's {have} GiB"


def _per_accelerator(claim: Claim, measure: Measure, setting: Setting) -> str:
    """Return the throughput of one accelerator that a claim means, in words."""
    value, factor = claim.number, measure.factor
    time = factor / value if measure.higher_is_better else value / factor
    rate = setting.local_batch_size * setting.accumulation_steps / time
    words = f"{rate:,.0f}" if rate >= 1000 else f"{rate:.4g}"
    return f"the claim means {words} {setting.workload.sample}s/s on each accelerator"


def _near(
    similar: SimilarRun,
    setting: Setting,
    value: float,
    prefix: str,
    catalogue: Catalogue,
    is_slower: IsSlower,
    differs: Sequence[Difference] = (),
) -> Near:
    """Return a similar run as a measurement near a claim."""
    run = similar.run
    return Near(
        id=run.run_id,
        source=run.source,
        value=value,
        words=f"{prefix} {similar.words}",
        software=similar.software,
        world_size=run.world_size,
        differs=[*differs, *run_differences(run, similar.software, setting, catalogue, is_slower)],
    )


def _differences_of_collective(measured: Point, claimed: Point) -> list[Difference]:
    """Return the properties in which a measured collective is harder than a claimed one."""
    result: list[Difference] = []
    if measured.group_size > ALIKE * claimed.group_size:
        result.append("number of accelerators")
    if measured.message_bytes * ALIKE < claimed.message_bytes:
        result.append("message size")
    alike = measured.of(claimed.collective, claimed.message_bytes)
    if expected_bus_bandwidth(alike).expected * SLOWER < expected_bus_bandwidth(claimed).expected:
        result.append("network link")
    return result
