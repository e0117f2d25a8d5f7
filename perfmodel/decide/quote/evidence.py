"""What speaks for and against a claim: its limit, the model's prediction, and runs that were measured."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from perfmodel.core.errors import refusal
from perfmodel.core.units import show
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
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.options.layout import caveats
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.limits import replicas_alone
from perfmodel.model.setting.resolve import Setting

COUNTED = ("flops", "mfu")
"""Quantities that count arithmetic, which padding that is skipped has none of."""
SUBMISSIONS = 1
"""Of MLPerf's, so many are listed beside other runs."""


class Near(BaseModel):
    """A measurement near a claim."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """Of the measurement."""
    source: str
    """Who measured it."""
    value: float
    """The claimed quantity, as this measurement has it or, at its rate per accelerator, would make it."""
    words: str
    """What was measured, in a line."""
    software: str | None = None
    """What ran it, as ``NAME@YEAR``; None of what no framework ran, or nobody knows."""


class FromRun(NamedTuple):
    """What a measured run lets one expect, in the claimed quantity."""

    id: str
    source: str
    expected: float
    low_80: float
    high_80: float
    half_width: float


class Evidence(NamedTuple):
    """What speaks for and against a claim; in the claimed quantity."""

    limit: Limit
    expected: Expected | None
    measured: list[Near]
    notes: list[str]
    of_a_workload: bool = True
    """Whether the job's workload, and how it is trained, have a part in it."""
    memory: str | None = None
    """What the job needs, where that is more than its accelerators have."""
    from_run: FromRun | None = None
    """By the measured run most like it, where that says more than the model alone."""
    target: str | None = None
    reached: ReachedBy | None = None
    """A measured run that did as well as claimed."""


def of_peak(claim: Claim, setting: Setting) -> Evidence:
    """Return the evidence on arithmetic of hardware, or of a named number format."""
    asked = "its number format is named" if claim.format else "no workload is named"
    notes = [f"{asked}: held against the peak"]
    limit, accelerator = peak_of(setting, claim.whose, claim.format), setting.accelerator
    own = claim.format or setting.peak_format
    best = best_product(accelerator, own)
    if best is None:
        return Evidence(limit, None, [], notes, False)
    words = f"{show(best.value, 'FLOP/s')} in the best matrix product measured on one {accelerator.id}"
    source = accelerator.sources[best.source].title if best.source else best.basis
    value = best.value * accelerators_of(claim.whose, setting)
    near = Near(id=accelerator.id, source=source, value=value, words=words)
    return Evidence(limit, None, [near], notes, False)


def of_bandwidth(claim: Claim, setting: Setting) -> Evidence:
    """Return the evidence on a collective's bandwidth.

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
        near.append(Near(id=measured.run_id, source=measured.source, value=rate, words=words))
    expected = Expected(*(share * each for each in expected_bus_bandwidth(point)))
    return Evidence(limit, expected, near, notes, False)


def of_efficiency(claim: Claim, scenario: Scenario, setting: Setting, catalogue: Catalogue) -> Evidence:
    """Return the evidence on scaling efficiency or speed-up."""
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
    near = []
    for similar in similar_runs(setting, catalogue, several=True)[:SHOWN] if setting.layout is None else []:
        if similar.scaling_efficiency is not None:
            value = similar.scaling_efficiency * (n / m if speedup else 1)
            near.append(_near(similar, value, f"{similar.scaling_efficiency:.1%} efficiency on"))
    if near and m > 1:
        notes.insert(0, "the measured ones are against one accelerator")
    return Evidence(limit, expected, near, notes, memory=_too_much(prediction))


def of_rate(claim: Claim, scenario: Scenario, setting: Setting, catalogue: Catalogue) -> Evidence:
    """Return the evidence on anything that follows from the time of a step."""
    prediction, cost = predict(scenario, catalogue), cost_of(claim, setting, catalogue)
    length = length_of(claim, scenario, setting, prediction, catalogue)
    paid = cost.usd_per_second if cost else 0.0
    measure = measure_of(claim, setting, length.samples, paid)
    best = measure_of(claim, setting, length.fewest, paid)
    least = limit_of_iteration(_possibly_padded(claim, setting))
    because = [*least.because, *([cost.words] if cost else [])]
    if length.is_fewer:
        because.append(f"no published recipe trains on fewer than {length.fewest / 1e6:.3g} M samples")
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
        Limit(best.of(least.value), tuple(because)),
        expected,
        near,
        notes,
        memory=next(filter(None, map(_too_much, (prediction, *length.phases))), None),
        from_run=from_run,
        target=length.target,
        reached=reached,
    )


def _of_layout(
    setting: Setting, measure: Measure, prediction: Prediction, catalogue: Catalogue
) -> tuple[list[Near], Likely | None]:
    """Runs of transformers most like one that is shared out, and what one of them lets expect."""
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
        )
        for each in similar[:SHOWN]
    ]
    return near, _surest(likely_of_transformer(each, prediction) for each in similar)


def _surest(likely: Iterable[Likely | None]) -> Likely | None:
    return min((each for each in likely if each is not None), key=lambda each: each.half_width, default=None)


def _of_copies(
    setting: Setting, measure: Measure, prediction: Prediction, catalogue: Catalogue
) -> tuple[list[Near], Likely | None]:
    similar, submitted = similar_runs(setting, catalogue), similar_submissions(setting, catalogue)
    near = []
    for each in (*similar[:SHOWN], *submitted[:SUBMISSIONS]):
        value = measure.of(setting.local_batch_size * setting.accumulation_steps / each.rate)
        near.append(_near(each, value, f"{each.rate:.4g} {setting.workload.sample}s/s on each of"))
    framework = setting.scenario.framework
    tried = (likely_of_copies(each, prediction, catalogue, framework) for each in (*similar, *submitted))
    return near, _surest(tried)


def _from_run(likely: Likely, measure: Measure, spread: float) -> FromRun:
    half = math.hypot(likely.half_width, NORMAL_80 * spread)
    point = measure.of(likely.time)
    return FromRun(likely.id, likely.source, point, point / math.exp(half), point * math.exp(half), half)


def _widened(expected: Expected, spread: float) -> Expected:
    """The same with what is not known of how long training takes."""
    point = expected.expected

    def end(value: float) -> float:
        off = math.hypot(math.log(value / point), NORMAL_80 * spread)
        return point * math.exp(math.copysign(off, value - point))

    return Expected(point, end(expected.low_80), end(expected.high_80))


def _possibly_padded(claim: Claim, setting: Setting) -> Setting:
    """The setting of which a rate's limit is sure: sources count padded sequences, and may not say so."""
    asked = setting.scenario
    if claim.kind in COUNTED or not setting.workload.padded or "input" in asked.model_fields_set:
        return setting
    return setting._replace(scenario=asked.model_copy(update={"input": "real"}))


def _alone(setting: Setting) -> list[str]:
    """What to say of a transformer, of which a vendor may have shared out the layers."""
    words = replicas_alone(setting.workload) if setting.layout is None else None
    return [words] if words is not None else []


def _unequal(setting: Setting) -> list[str]:
    """What is possible and poor of the layout that a job is predicted with."""
    model = setting.workload.architecture
    return [] if setting.layout is None or model is None else caveats(setting.layout, model)


def _too_much(prediction: Prediction) -> str | None:
    """What a job needs of its accelerators' memory, where it does not fit."""
    if prediction.memory.fits:
        return None
    need, have = (f"{size / 2**30:.1f}" for size in (prediction.memory.bytes, prediction.memory.capacity))
    return f"needs {need} GiB of each accelerator's {have} GiB"


def _per_accelerator(claim: Claim, measure: Measure, setting: Setting) -> str:
    value, factor = claim.number, measure.factor
    time = factor / value if measure.higher_is_better else value / factor
    rate = setting.local_batch_size * setting.accumulation_steps / time
    words = f"{rate:,.0f}" if rate >= 1000 else f"{rate:.4g}"
    return f"the claim means {words} {setting.workload.sample}s/s on each accelerator"


def _near(similar: SimilarRun, value: float, prefix: str) -> Near:
    run = similar.run
    words = f"{prefix} {similar.words}"
    return Near(id=run.run_id, source=run.source, value=value, words=words, software=similar.software)
