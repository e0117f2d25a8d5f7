"""Update the shipped fit by own runs: those of transformers with a layout, and all others."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from perfmodel.evidence.fitting.own_rates import unit_of
from perfmodel.evidence.fitting.own_runs import Answer, OwnRun, Update, nothing_learned, update
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import NORMAL_80, Calibration, with_own_effects
from perfmodel.model.fitted.ledger_scales import repeat_noise
from perfmodel.model.prediction.intervals.interval import factors
from perfmodel.model.prediction.intervals.measured_jobs import anchored_on_own_runs
from perfmodel.model.prediction.intervals.own_runs import job_key
from perfmodel.model.prediction.intervals.widening import OPEN, widening_strengths
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.evaluate import evaluate
from perfmodel.model.transformers.levels import Run, is_same
from perfmodel.model.transformers.own_runs import merged, row_of, run_of, update_of


def update_by_own_runs(
    runs: Sequence[OwnRun],
    constants: Calibration,
    components: dict[str, float],
    file: str,
    catalogue: Catalogue,
) -> Update:
    """Return the update of a fit by a user's runs, and the errors of each run before, after and left out.

    Parameters
    ----------
    runs : measured runs
    constants : the shipped fit
    components : from ``shipped_components``, with ``freedom``
    file : name of the file that the result is written to
    catalogue : that the settings of the runs are of
    """
    known = dict(components)
    freedom = known.pop("freedom")
    laid_out = [run for run in runs if run.setting.layout is not None]
    others = [run for run in runs if run.setting.layout is None]
    together, answers_of = _transformer_answers(laid_out, constants)
    result = update(others, constants, known, freedom, file) if others else nothing_learned(known, file)
    trained = [run for run in others if not run.message_bytes]
    learned = with_own_effects(constants, result.own)
    jobs = _jobs(trained, learned)
    answers = {
        id(run): answer
        for run, answer in zip((*laid_out, *others), (*answers_of, *result.answers), strict=True)
    }
    for run in trained:
        time, noise, *_ = jobs[job_key(run.setting)]
        answer = answers[id(run)]
        answers[id(run)] = answer._replace(
            left_out=_followed(run, jobs, learned, catalogue, answer.left_out),
            after=math.log(time / run.time),
            width_before=_half_width(run.setting, constants),
            width_after=NORMAL_80 * noise,
        )
    own = result.own._replace(runs=len(runs), jobs=jobs, transformers=[row_of(run) for run in together])
    return result._replace(own=own, answers=[_described(answers[id(run)], run) for run in runs])


def _described(answer: Answer, run: OwnRun) -> Answer:
    """Return the errors of a run with its accelerators, and with its throughput if it trains."""
    answer = answer._replace(world_size=run.setting.world_size)
    if run.message_bytes:
        return answer
    unit, of_sample = unit_of(run.setting, run.quantity)
    return answer._replace(rate=of_sample * run.setting.global_batch_size / run.time, unit=unit)


def _followed(
    run: OwnRun,
    jobs: Mapping[str, Sequence[float]],
    learned: Calibration,
    catalogue: Catalogue,
    by_effects: float,
) -> float:
    """Return the error of a run by own runs of its job on other accelerators, ln(predicted / measured).

    Their times over their predictions are those of the fit to all runs: what the run left out teaches of
    them all cancels.  Without such runs the error is the one of the effects of all others, ``by_effects``.
    """
    others = {key: job for key, job in jobs.items() if key != job_key(run.setting)}
    setting = anchored_on_own_runs(run.setting, others, run.setting.scenario, catalogue, learned)
    if setting.repeat is None:
        return by_effects
    return math.log(float(evaluate(setting, learned).iteration_time) / run.time)


def _transformer_answers(runs: Sequence[OwnRun], constants: Calibration) -> tuple[list[Run], list[Answer]]:
    """Return runs of transformers, with repeats of a job merged, and the errors of each run.

    A run is left out together with all repeats of its job.
    """
    each = [run_of(run.setting, run.time, constants) for run in runs]
    together, answers = merged(each), []
    for own, run in zip(runs, each, strict=True):
        others = [other for other in together if not is_same(run.traits, other.traits)]
        left_out = update_of(own.setting, others).shift if others else 0.0
        after = update_of(own.setting, together)
        answers.append(
            Answer(
                *(own.where, own.name, own.time),
                before=float(-run.miss),
                left_out=float(left_out - run.miss),
                after=float(after.shift - run.miss),
                width_before=float(NORMAL_80 * run.spread),
                width_after=float(NORMAL_80 * after.spread()),
            )
        )
    return together, answers


def _half_width(setting: Setting, constants: Calibration) -> float:
    """Return the log half-width of a data-parallel job's 80 % interval from specs, all options stated."""
    step = evaluate(setting, constants)
    strengths: dict[str, Any] = widening_strengths(setting, step.work, step.terms, constants)
    near, *_ = factors(strengths | {OPEN: {}}, "specs", constants)
    return math.log(near)


def _jobs(runs: Sequence[OwnRun], constants: Calibration) -> dict[str, tuple[float, ...]]:
    """Return by job what ``OwnEffects.jobs`` has of it; its time is the geometric mean of its repeats.

    Parameters
    ----------
    runs : measured runs that train
    constants : the fit updated by them
    """
    of_jobs: dict[str, list[OwnRun]] = {}
    for run in runs:
        of_jobs.setdefault(job_key(run.setting), []).append(run)
    result: dict[str, tuple[float, ...]] = {}
    for key, repeats in of_jobs.items():
        of, setting = [math.log(run.time) for run in repeats], repeats[0].setting
        mean, count = fmean(of), len(of)
        noise = repeat_noise(sum((log - mean) ** 2 for log in of), count) * math.sqrt(1 + 1 / count)
        beyond = mean - math.log(float(evaluate(setting, constants).iteration_time))
        result[key] = (
            float(f"{math.exp(mean):.9g}"),
            float(f"{noise:.6g}"),
            float(setting.world_size),
            float(f"{beyond:.9g}"),
        )
    return result
