"""Diagnose a training run: where it lies in its interval, what may hold the gap, what to measure next."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from perfmodel.core.errors import refusal
from perfmodel.core.problem import default
from perfmodel.decide.diagnosis.answer import (
    DiagnosedCause,
    DiagnosedTerm,
    Diagnosis,
    Pace,
    SimilarMeasurement,
    TurningDefault,
    Verdict,
)
from perfmodel.decide.diagnosis.assumptions import assumptions_of_job, fits
from perfmodel.decide.diagnosis.card import with_card
from perfmodel.decide.diagnosis.changes import SUSPECTS, Change, Suspect, predicted
from perfmodel.decide.diagnosis.measured import Speed
from perfmodel.decide.diagnosis.next_measurement import Explained, next_measurements
from perfmodel.decide.diagnosis.turning import BATCH, Trial, left_open_of_job, turning_defaults
from perfmodel.decide.diagnosis.verdict_rule import verdict_of
from perfmodel.decide.diagnosis.weighed import NORMAL, UNCHANGED, UNKNOWN, UNKNOWN_WIDTH
from perfmodel.decide.quote.claim_words import job_words
from perfmodel.decide.quote.evidence import Near, of_rate
from perfmodel.decide.quote.file import Claim
from perfmodel.evidence.accuracy.source_titles import source_titles
from perfmodel.hardware.accelerator import Accelerator
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import NORMAL_80
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.card import limit_of, rests_on
from perfmodel.model.prediction.intervals.ratio import chance_above_one
from perfmodel.model.prediction.result import Interval
from perfmodel.model.setting.resolve import Setting, resolve
from perfmodel.workloads import workload

SHOWN = 4
"""Faults that the next measurements tell apart."""


class _Completed(NamedTuple):
    """The job with what its measurement says of it."""

    scenario: Scenario
    defaults: list[str]
    """Options that are usual of the software that wrote the log."""
    notes: list[str]


class Weighed(NamedTuple):
    """A cause with its likeliest form."""

    suspect: Suspect
    change: Change
    prediction: Prediction
    """Of the job with the changed options; its longer terms are not in it."""
    time: float
    """Predicted iteration time with the whole change [s]."""
    probability: float


def diagnose_training(speed: Speed, scenario: Scenario, catalogue: Catalogue) -> Diagnosis:
    """Return where a training run lies in the interval of its job, and what may explain it.

    Parameters
    ----------
    speed : measured
    scenario : the job as it is believed to be
    catalogue : hardware

    Raises
    ------
    InputError : the job cannot be predicted; the measurement is of another number of accelerators
    """
    scenario, taken, notes = _completed(speed, scenario, catalogue)
    prediction, setting = predict(scenario, catalogue), resolve(scenario, catalogue)
    interval = prediction.interval
    if interval is None:
        raise refusal("diagnose.no_interval")
    time = iteration_time(speed, prediction, setting)
    normal, unknown, causes = _weigh(speed, prediction, interval, scenario, setting, catalogue)
    as_stated = Explained(normal, Change("as stated"), prediction.iteration_time)
    odds = {"normal": as_stated} | _explained(causes)
    pace = pace_of(time, interval)
    quantile = chance_above_one(
        time / prediction.iteration_time, math.log(interval.high_80 / prediction.iteration_time)
    )
    published = of_rate(
        Claim(quantity="iteration_time", value=time, scenario={}), scenario, setting, catalogue
    )
    if time < published.limit.value:
        notes.append(f"less than is possible: {'; '.join(published.limit.because)}")
    return with_card(
        limit=f"as predicted: {limit_of(prediction)}",
        rests_on=rests_on(prediction),
        pace=pace,
        kind="training",
        reading=speed.words,
        turns=_turns(speed, (pace, normal, unknown, causes), scenario, setting, catalogue),
        job=job_words(setting),
        normal=normal,
        unknown=unknown,
        measured=time,
        predicted=prediction.iteration_time,
        low_80=interval.low_80,
        high_80=interval.high_80,
        quantile=quantile,
        causes=[_cause(each, time) for each in causes],
        sizes=[],
        terms=_terms(time, prediction, interval, causes),
        similar=[_similar(each) for each in published.measured],
        next=next_measurements(scenario, setting, time, odds, catalogue) if pace != "fast" else [],
        defaults=[*taken, *prediction.defaults],
        notes=notes,
    )


def _turns(
    speed: Speed,
    own: tuple[Pace, float, float, list[Weighed]],
    scenario: Scenario,
    setting: Setting,
    catalogue: Catalogue,
) -> list[TurningDefault]:
    """Return the options left open on which the verdict turns."""

    def verdict(pace: Pace, normal: float, unknown: float, causes: list[Weighed]) -> Verdict:
        faults = [each.probability for each in causes if not each.suspect.is_assumption]
        return verdict_of(pace, normal, unknown, faults)

    def attempt(option: str, value: int | str) -> Trial | None:
        changed = scenario.model_copy(update={option: value})
        prediction = predicted(changed, {}, catalogue)
        if prediction is None or not fits(prediction):
            return None
        interval = prediction.interval
        if interval is None:
            return None
        of = resolve(changed, catalogue)
        then = iteration_time(speed, prediction, of)
        pace = pace_of(then, interval)
        return Trial(
            pace,
            math.log(then / prediction.iteration_time),
            lambda: verdict(pace, *_weigh(speed, prediction, interval, changed, of, catalogue)),
        )

    return turning_defaults(verdict(*own), left_open_of_job(scenario, setting), attempt)


def pace_of(time: float, interval: Interval) -> Pace:
    """Return where a time lies: inside, above or below an interval."""
    return "slow" if time > interval.high_80 else "fast" if time < interval.low_80 else "normal"


def iteration_time(speed: Speed, prediction: Prediction, setting: Setting) -> float:
    """Return the measured iteration time of a job [s].

    Raises
    ------
    InputError : a rate of tokens of a network that has none
    """
    if speed.quantity == "iteration_time":
        return speed.value
    rate = speed.value * (float(setting.world_size) if speed.per_accelerator else 1.0)
    samples = prediction.samples_per_second * prediction.iteration_time
    if speed.quantity == "samples_per_second":
        return samples / rate
    length = setting.workload.sequence_length
    if length is None:
        raise refusal("diagnose.no_tokens", "measured", workload=setting.workload.id)
    return samples * length / rate


def _completed(speed: Speed, scenario: Scenario, catalogue: Catalogue) -> _Completed:
    """Return the job with what the measurement says of it, defaults of its software, and notes."""
    defaults: list[str] = []
    notes: list[str] = []
    if speed.world_size is not None:
        if "world_size" not in scenario.model_fields_set:
            scenario = scenario.model_copy(update={"world_size": speed.world_size})
            notes.append(f"--gpus {speed.world_size}: as the measurement says")
        elif speed.world_size != scenario.world_size:
            ranks = {"ranks": speed.world_size, "world_size": scenario.world_size}
            raise refusal("diagnose.gpus", "gpus", **ranks).under(speed.file)
    scenario = _as_logged(speed, scenario, catalogue, notes)
    batch = speed.global_batch_size
    if batch is not None:
        stated = [
            name for name in ("global_batch_size", "local_batch_size") if getattr(scenario, name) is not None
        ]
        if not stated:
            scenario = scenario.model_copy(update={"global_batch_size": batch})
            notes.append(f"--global-batch-size {batch}: as the log says")
        elif scenario.global_batch_size not in (None, batch):
            notes.append(
                f"the log states a global batch size of {batch}, the job {scenario.global_batch_size}"
            )
    if speed.precision is not None and "precision" not in scenario.model_fields_set:
        precision = _usual_format(speed.precision, resolve(scenario, catalogue).accelerator)
        scenario = scenario.model_copy(update={"precision": precision})
        defaults.append(default("precision", precision, ", as the software of the log computes"))
    return _Completed(scenario, defaults, notes)


def _usual_format(precision: str, accelerator: Accelerator) -> str:
    """Return the number format in which frameworks compute products of 32-bit numbers by default.

    PyTorch's convolutions (``torch.backends.cudnn.allow_tf32``) and TensorFlow's products are TF32 where the
    accelerator has it.
    """
    return "tf32" if precision == "fp32" and "tf32" in accelerator.peak_flops else precision


def _as_logged(speed: Speed, scenario: Scenario, catalogue: Catalogue, notes: list[str]) -> Scenario:
    """Return the job with the network and the batch that a log names, where neither is stated."""
    network, batch = speed.model, speed.local_batch_size
    if network is not None:
        if "workload" in scenario.model_fields_set:
            if workload(scenario.workload).id != network:
                notes.append(f"the log is of {network}, the job of {scenario.workload}")
        elif predicted(scenario, {"workload": network}, catalogue) is None:
            notes.append(f"the log is of {network}, which is no network here: {scenario.workload} is taken")
        else:
            scenario = scenario.model_copy(update={"workload": network})
            notes.append(f"--workload {network}: as the log says")
    if batch is not None:
        if all(getattr(scenario, name) is None for name in BATCH):
            scenario = scenario.model_copy(update={"local_batch_size": batch})
            notes.append(f"--local-batch-size {batch}: as the log says")
        elif scenario.local_batch_size not in (None, batch):
            notes.append(f"the log states a batch of {batch} each, the job {scenario.local_batch_size}")
    return scenario


def _weigh(
    speed: Speed,
    prediction: Prediction,
    interval: Interval,
    scenario: Scenario,
    setting: Setting,
    catalogue: Catalogue,
) -> tuple[float, float, list[Weighed]]:
    """Return the probabilities that nothing is wrong and that no cause explains it, and the causes.

    The time with another batch is that of as many samples as an iteration of the job, where a rate was
    measured.  That something was assumed wrongly is as likely before the measurement as one cause, and comes
    on top: what else may be the case is to each other as of a job that is stated.
    """
    time = iteration_time(speed, prediction, setting)
    suspected: list[tuple[Suspect, list[tuple[Change, Prediction, float, float]]]] = []
    assumed = {suspect.id: suspect for suspect in assumptions_of_job(scenario, setting)}
    for suspect in (*(each for each in SUSPECTS if each.id not in assumed), *assumed.values()):
        forms = []
        for change in suspect.changes(scenario, setting, catalogue):
            changed = predicted(scenario, change.options, catalogue) if change.options else prediction
            if changed is None or (suspect.is_assumption and not fits(changed)):
                continue
            expected = change.time(changed)
            if suspect.is_assumption:
                of = resolve(scenario.model_copy(update=dict(change.options)), catalogue)
                expected *= time / iteration_time(speed, changed, of)
            if abs(expected / prediction.iteration_time - 1) >= UNCHANGED:
                wide = changed.interval or interval
                forms.append(
                    (change, changed, expected, _density(time, expected, changed.iteration_time, wide))
                )
        if forms:
            suspected.append((suspect, forms))
    faults = sum(not suspect.is_assumption for suspect, _ in suspected)
    share = (1 - NORMAL - UNKNOWN) / max(faults, 1)
    usual = prediction.iteration_time
    weights = [
        NORMAL * _density(time, usual, usual, interval),
        UNKNOWN * _density(time, usual, usual, interval, UNKNOWN_WIDTH),
        *(share * float(np.mean([form[3] for form in forms])) for _, forms in suspected),
    ]
    odds = [weight / sum(weights) for weight in weights]
    causes = []
    for (suspect, forms), odd in zip(suspected, odds[2:], strict=True):
        change, changed, expected, _ = max(forms, key=lambda form: form[3])
        causes.append(Weighed(suspect, change, changed, expected, odd))
    causes.sort(key=lambda each: -each.probability)
    return odds[0], odds[1], causes


def _density(
    measured: float, expected: float, point: float, interval: Interval, widths: float = 1.0
) -> float:
    """Return the density of a measured time, on a logarithmic scale.

    Parameters
    ----------
    measured, expected : measured and expected time [s]
    point, interval : of the prediction whose relative width the expected time has
    widths : factor on that width
    """
    deviation = widths * max(math.log(interval.high_80 / point) / NORMAL_80, 1e-3)
    off = math.log(measured / expected) / deviation
    return math.exp(-0.5 * off * off) / deviation


def _explained(causes: list[Weighed]) -> dict[str, Explained]:
    """Return what a further run tells apart, by its id: the likeliest faults, and what was assumed."""
    wrong = [each for each in causes if not each.suspect.is_assumption]
    weighed = [*wrong[:SHOWN], *(each for each in causes if each.suspect.is_assumption)]
    return {
        each.suspect.id: Explained(
            each.probability,
            each.change,
            each.change.time(each.prediction),
            each.suspect.is_assumption,
        )
        for each in weighed
    }


def _cause(each: Weighed, measured: float) -> DiagnosedCause:
    return DiagnosedCause(
        id=each.suspect.id,
        name=each.suspect.name,
        words=each.suspect.words,
        change=each.change.words,
        probability=each.probability,
        predicted_time=each.time,
        measured_time=measured,
        message_bytes=None,
        next=each.suspect.next,
        is_assumption=each.suspect.is_assumption,
    )


def _terms(
    time: float, prediction: Prediction, interval: Interval, causes: list[Weighed]
) -> list[DiagnosedTerm]:
    """Return each term with the time at which it alone would explain what was measured."""
    gap = time - prediction.iteration_time
    near = math.log(interval.high_80 / prediction.iteration_time)
    result = []
    for name, value in sorted(prediction.terms.items(), key=lambda pair: -pair[1]):
        grown = {each.suspect.id: _term_with(each, name) for each in causes if not each.suspect.is_assumption}
        by = max(grown, key=lambda cause: grown[cause]) if grown else None
        reached = grown[by] if by is not None else value
        if reached <= value * (1 + UNCHANGED):
            by, reached = None, value
        if value == 0 and by is None:
            continue
        needed = max(value + gap, 0.0)
        with_it = prediction.iteration_time - value + reached
        plausible = by is not None and gap > 0 and with_it * math.exp(near) >= time
        result.append(
            DiagnosedTerm(name=name, time=value, needed=needed, reached=reached, by=by, plausible=plausible)
        )
    return result


def _term_with(each: Weighed, name: str) -> float:
    """Return a term's time with a cause [s]."""
    terms: Mapping[str, float] = each.prediction.terms
    return terms.get(name, 0.0) * each.change.longer.get(name, 1.0)


def _similar(each: Near) -> SimilarMeasurement:
    """Return a published run like the job."""
    return SimilarMeasurement(
        id=each.id,
        source=each.source,
        title=source_titles().get(each.source, each.source),
        value=each.value,
        words=each.words,
        software=each.software,
    )
