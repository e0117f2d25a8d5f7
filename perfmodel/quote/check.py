"""Check each claim of a quote: can it be, would the model expect it, and what has been measured."""

from __future__ import annotations

from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from perfmodel.arguments import TEXT, a, expect
from perfmodel.errors import InputError
from perfmodel.prediction import Prediction, predict
from perfmodel.prediction.bound import above_peak
from perfmodel.prediction.limits import replicas_alone
from perfmodel.quote.expected import (
    Expected,
    Measure,
    expected_bus_bandwidth,
    expected_efficiency,
    measure_of,
    measured_bus_bandwidth,
    point_of,
)
from perfmodel.quote.file import KINDS, SYNONYMS, Claim, Quote, scenario_of_claim
from perfmodel.quote.limits import (
    Limit,
    best_efficiency,
    bus_bandwidth_limit,
    limit_of_iteration,
    origin_of,
    peak_of,
)
from perfmodel.quote.similar_runs import SimilarRun, similar_collectives, similar_runs
from perfmodel.resolve import Setting, resolve
from perfmodel.specs.scenario import Scenario
from perfmodel.specs.store import Catalogue
from perfmodel.units import show

Verdict = Literal["impossible", "oversized", "optimistic", "plausible", "pessimistic", "possible"]
"""``possible``: below the limit, and nothing the model could expect was asked.  ``oversized``: below it too,
but the job does not fit its accelerators' memory by the model's count."""
_EXACT = 1e-9


class Near(BaseModel):
    """A measurement near a claim."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    source: str
    value: float
    """The claimed quantity, as this measurement has it or, at its rate per accelerator, would make it."""
    words: str


class Checked(BaseModel):
    """A claim and the result of its check; values in SI."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    quantity: str
    per: Literal["job", "accelerator"]
    value: float
    unit: str
    sample: str
    """What one sample is, of which throughputs count."""
    higher_is_better: bool
    verdict: Verdict
    limit: float
    """The best that physics allows."""
    expected: float | None
    """The model's own answer; None where it has none."""
    low_80: float | None
    high_80: float | None
    low_95: float | None
    high_95: float | None
    memory: str | None
    """What the job needs, where that is more than its accelerators have."""
    arithmetic: list[str]
    """The check in words, line by line."""
    measured: list[Near]
    """Published measurements most like it, the nearest first."""
    scenario: str
    """The job in short."""
    defaults: list[str]
    """Options the quote left open, with what they were taken to be."""
    source: str | None
    reading: str


class _Evidence(NamedTuple):
    limit: Limit
    expected: Expected | None
    measured: list[Near]
    notes: list[str]
    of_a_workload: bool = True
    """Whether the job's workload, and how it is trained, have a part in it."""
    memory: str | None = None


_OF_MACHINES = ("accelerator", "node", "accelerators-per-node", "intra-link", "inter-link", "precision")


def check_quote(quote: Quote, catalogue: Catalogue | None = None, where: str = "quote") -> list[Checked]:
    """Check every claim of a quote.

    Parameters
    ----------
    quote : as ``read_quote`` returns it
    catalogue : hardware its names are looked up in; by default what comes with the package
    where : the file's name, for errors

    Raises
    ------
    InputError : a scenario that cannot be predicted, or a claim that its workload cannot have; the
        message names file and claim

    Examples
    --------
    Eight V100 cannot train a million images per second:

    >>> from perfmodel.quote import Quote, Claim
    >>> claim = Claim(quantity="images_per_second", value=1e6)
    >>> quote = Quote(title="Too good", scenario={"gpus": 8}, claims=(claim,))
    >>> check_quote(quote)[0].verdict
    'impossible'
    """
    expect(a(Quote), quote=quote)
    expect(TEXT, where=where)
    catalogue = Catalogue.of(catalogue)
    checked = []
    for index, claim in enumerate(quote.claims, 1):
        here = f"{where}: claim {index}"
        scenario = scenario_of_claim(quote, claim, here)
        try:
            checked.append(_check(claim, scenario, catalogue))
        except InputError as error:
            raise InputError(f"{here}: {error}") from None
    return checked


def _check(claim: Claim, scenario: Scenario, catalogue: Catalogue) -> Checked:
    setting = resolve(scenario, catalogue)
    wanted = SYNONYMS.get(claim.quantity)
    if wanted is not None and wanted != setting.workload.sample:
        raise InputError(f"quantity = '{claim.quantity}': a sample of {setting.workload.id} is no {wanted}")
    if claim.kind == "bus_bandwidth":
        result = _bus_bandwidth(claim, setting)
    elif claim.kind == "flops" and (claim.format or "workload" not in scenario.model_fields_set):
        asked = "its number format is named" if claim.format else "no workload is named"
        notes = [f"{asked}: held against the peak"]
        result = _Evidence(peak_of(setting, claim.per, claim.format), None, [], notes, False)
    elif claim.kind in ("scaling_efficiency", "speedup"):
        result = _efficiency(claim, scenario, setting, catalogue)
    else:
        result = _rate(claim, scenario, setting, catalogue)
    kind, value = KINDS[claim.kind], claim.number
    expected = None
    if result.expected is not None and result.memory is None:
        expected = result.expected.within(result.limit.value, kind.higher_is_better)
    ratio = value / result.limit.value if kind.higher_is_better else result.limit.value / value
    verdict = _verdict(value, ratio, kind.higher_is_better, expected)
    if result.memory is not None and verdict == "possible":
        verdict = "oversized"
    origin = origin_of(ratio, claim.kind, setting.accelerator)
    lines = [*result.limit.because, _compared(claim, result.limit.value, ratio, setting)]
    lines += [*([origin] if origin and verdict == "impossible" else []), *result.notes]
    if expected is not None:
        lines += _cut(expected, result.limit.value, kind.higher_is_better)
    if result.memory is not None:
        lines.append(f"the job {result.memory}: smaller batches, or more and larger accelerators, would fit")
    return Checked(
        text=claim.text,
        quantity=claim.kind,
        per=claim.per,
        value=value,
        unit=kind.unit,
        sample=setting.workload.sample,
        higher_is_better=kind.higher_is_better,
        verdict=verdict,
        limit=result.limit.value,
        memory=result.memory,
        **(expected._asdict() if expected else dict.fromkeys(Expected._fields)),
        arithmetic=lines,
        measured=result.measured,
        scenario=_job(setting) if result.of_a_workload else _machines(setting),
        defaults=[
            option
            for option in setting.defaults
            if result.of_a_workload or option.split()[0].removeprefix("--") in _OF_MACHINES
        ],
        source=claim.source,
        reading=claim.reading,
    )


def _cut(expected: Expected, limit: float, higher_is_better: bool) -> list[str]:
    """Say whether the model's interval ends at the limit, or its prediction lies beyond."""
    beyond = _EXACT if higher_is_better else -_EXACT
    if (expected.expected > limit * (1 + beyond)) == higher_is_better:
        return ["the model's own point lies beyond this limit: check what it starts from"]
    end = expected.high_95 if higher_is_better else expected.low_95
    if abs(end / limit - 1) > _EXACT:
        return []
    return ["the model's interval is cut at this limit"]


def _verdict(value: float, ratio: float, higher_is_better: bool, expected: Expected | None) -> Verdict:
    if ratio > 1 + _EXACT:
        return "impossible"
    if expected is None:
        return "possible"
    above, below = value > expected.high_80, value < expected.low_80
    if above or below:
        return "optimistic" if above == higher_is_better else "pessimistic"
    return "plausible"


def _bus_bandwidth(claim: Claim, setting: Setting) -> _Evidence:
    if setting.world_size == 1:
        raise InputError("bus_bandwidth needs at least two accelerators: gpus in the scenario")
    limit, point = bus_bandwidth_limit(claim.collective, setting), point_of(claim, setting)
    notes = (
        [] if claim.message_bytes else [f"no size is given: {show(point.message_bytes, 'B')} is predicted"]
    )
    near = []
    for measured in similar_collectives(point):
        if measured.point is None:
            continue
        at, rate = measured.point, measured_bus_bandwidth(measured.point, measured.time)
        over = f" on {at.nodes} nodes" if at.nodes > 1 else ""
        words = f"{show(rate, 'B/s')}: {show(at.message_bytes, 'B')}, {at.group_size} ranks{over}"
        near.append(Near(id=measured.measurement_id, source=measured.source, value=rate, words=words))
    return _Evidence(limit, expected_bus_bandwidth(point), near, notes, False)


def _efficiency(claim: Claim, scenario: Scenario, setting: Setting, catalogue: Catalogue) -> _Evidence:
    prediction = predict(scenario, catalogue)
    expected = expected_efficiency(claim, scenario, prediction, catalogue)
    n, m = setting.world_size, claim.from_gpus
    speedup = claim.kind == "speedup"
    limit = best_efficiency(m, n, setting.scaling, claim.number * (m / n if speedup else 1))
    if speedup:
        ideal = (
            f"{n} are {n / m:g} times {m}: a speed-up of {n / m:g}, or {limit.value * n / m:.3g} with that"
        )
        limit = Limit(limit.value * n / m, (*limit.because, ideal))
    near = []
    for similar in similar_runs(setting, catalogue, several=True):
        if similar.scaling_efficiency is not None:
            value = similar.scaling_efficiency * (n / m if speedup else 1)
            near.append(_near(similar, value, f"{similar.scaling_efficiency:.1%} efficiency on"))
    notes = ["the measured ones are against one accelerator"] if near and m > 1 else []
    return _Evidence(limit, expected, near, [*notes, *_alone(setting)], memory=_too_much(prediction))


def _alone(setting: Setting) -> list[str]:
    """What to say of a transformer, of which a vendor may have shared out the layers."""
    return [words] if (words := replicas_alone(setting.workload)) is not None else []


def _rate(claim: Claim, scenario: Scenario, setting: Setting, catalogue: Catalogue) -> _Evidence:
    measure = measure_of(claim, setting)
    least, prediction = limit_of_iteration(setting), predict(scenario, catalogue)
    limit = Limit(measure.of(least.value), least.because)
    notes = _alone(setting)
    near = []
    for similar in similar_runs(setting, catalogue):
        value = measure.of(setting.local_batch_size * setting.accumulation_steps / similar.rate)
        near.append(_near(similar, value, f"{similar.rate:.4g} {setting.workload.sample}s/s on each of"))
    if near:
        notes.append(_per_accelerator(claim, measure, setting))
    return _Evidence(limit, measure.expected(prediction), near, notes, memory=_too_much(prediction))


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
    return f"the claim means {rate:.4g} {setting.workload.sample}s/s on each accelerator"


def _near(similar: SimilarRun, value: float, prefix: str) -> Near:
    run = similar.run
    words = f"{prefix} {run.world_size} x {run.accelerator}, {run.precision or 'precision not stated'}"
    if run.local_batch_size:
        words += f", batch {run.local_batch_size}"
    return Near(id=run.run_id, source=run.source, value=value, words=words)


def _compared(claim: Claim, limit: float, ratio: float, setting: Setting) -> str:
    best = shown(limit, claim.kind, setting.workload.sample, claim.per)
    if claim.kind == "mfu" and limit > 1.001:
        best += f" ({above_peak(setting)})"
    ends = "at most" if KINDS[claim.kind].higher_is_better else "at least"
    if ratio > 1 + _EXACT:
        times = f"{ratio:.3g}" if ratio > 1.01 else f"{ratio:.6g}"
        return f"so {ends} {best}; the claim is {times} times {'that' if ends == 'at most' else 'as fast'}"
    return f"so {ends} {best}; the claim reaches {ratio:.1%} of it"


def shown(value: float, kind: str, sample: str = "sample", per: str = "job") -> str:
    """Return a claimed quantity as people write it."""
    each = " per accelerator" if per == "accelerator" else ""
    if kind in ("samples_per_second", "tokens_per_second"):
        unit = "tokens" if kind == "tokens_per_second" else f"{sample}s"
        return f"{value:,.0f} {unit}/s{each}" if value >= 1000 else f"{value:.4g} {unit}/s{each}"
    if kind in ("scaling_efficiency", "mfu"):
        return f"{100 * value:.3g}%"
    return f"{value:.4g}" if kind == "speedup" else f"{show(value, KINDS[kind].unit)}{each}"


def _job(setting: Setting) -> str:
    how = f"{setting.precision}, batch {setting.local_batch_size} each"
    return f"{setting.workload.id} on {_machines(setting)}, {how}"


def _machines(setting: Setting) -> str:
    between = f" in {setting.nodes} nodes with {setting.nics} x {setting.inter_link.id}"
    return f"{setting.world_size} x {setting.accelerator.id}{between if setting.domains > 1 else ''}"
