"""Update the shipped fit by own runs of every kind: those of transformers, and all others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from perfmodel.evidence.fitting.own_runs import Answer, OwnRun, Update, nothing_learned, update
from perfmodel.model.fitted.calibration import NORMAL_80, Calibration
from perfmodel.model.fitted.ledger_scales import repeat_noise
from perfmodel.model.prediction.intervals.interval import factors
from perfmodel.model.prediction.intervals.own_runs import job_key
from perfmodel.model.prediction.intervals.widening import OPEN, widening_strengths
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.evaluate import evaluate
from perfmodel.model.transformers.levels import Run, is_same
from perfmodel.model.transformers.own_runs import merged, row_of, run_of, update_of


def updated(
    runs: Sequence[OwnRun], constants: Calibration, components: dict[str, float], file: str
) -> Update:
    """Return what runs move of a fit, and how far each is missed before, after, and left out.

    Parameters
    ----------
    runs : measured
    constants : the shipped fit
    components : of ``shipped_components``, with the freedom of the noise
    file : name of what is to be written
    """
    known = dict(components)
    freedom = known.pop("freedom")
    laid_out = [run for run in runs if run.setting.layout is not None]
    others = [run for run in runs if run.setting.layout is None]
    together, answers_of = learned_of(laid_out, constants)
    result = update(others, constants, known, freedom, file) if others else nothing_learned(known, file)
    jobs = _jobs([run for run in others if not run.message_bytes])
    answers = {
        id(run): answer
        for run, answer in zip((*laid_out, *others), (*answers_of, *result.answers), strict=True)
    }
    for run in (run for run in others if not run.message_bytes):
        time, noise = jobs[job_key(run.setting)]
        answers[id(run)] = answers[id(run)]._replace(
            after=math.log(time / run.time),
            width_before=_half_width(run.setting, constants),
            width_after=NORMAL_80 * noise,
        )
    own = result.own._replace(runs=len(runs), jobs=jobs, transformers=[row_of(run) for run in together])
    return result._replace(own=own, answers=[answers[id(run)] for run in runs])


def learned_of(runs: Sequence[OwnRun], constants: Calibration) -> tuple[list[Run], list[Answer]]:
    """Return runs of transformers, repeats of a job as one, and how far each is missed.

    A run is left out with all repeats of its job.
    """
    each = [run_of(run.setting, run.time, constants) for run in runs]
    together, answers = merged(each), []
    for own, run in zip(runs, each, strict=True):
        others = [other for other in together if not is_same(run.traits, other.traits)]
        left_out = update_of(own.setting, others).shift if others else 0.0
        after = update_of(own.setting, together)
        errors = (float(shift - run.miss) for shift in (0.0, left_out, after.shift))
        widths = (float(NORMAL_80 * spread) for spread in (run.spread, after.spread()))
        answers.append(Answer(own.where, own.name, own.time, *errors, *widths))
    return together, answers


def _half_width(setting: Setting, constants: Calibration) -> float:
    """Return half the 80 % interval of a job of copies from specs, in log time, its options known."""
    step = evaluate(setting, constants)
    strengths: dict[str, Any] = widening_strengths(setting, step.work, step.terms, constants)
    near, *_ = factors(strengths | {OPEN: {}}, "specs", constants)
    return math.log(near)


def _jobs(runs: Sequence[OwnRun]) -> dict[str, tuple[float, float]]:
    """Return what ``OwnEffects.jobs`` holds."""
    logs: dict[str, list[float]] = {}
    for run in runs:
        logs.setdefault(job_key(run.setting), []).append(math.log(run.time))
    result = {}
    for key, of in logs.items():
        mean, count = fmean(of), len(of)
        noise = repeat_noise(sum((log - mean) ** 2 for log in of), count) * math.sqrt(1 + 1 / count)
        result[key] = float(f"{math.exp(mean):.9g}"), float(f"{noise:.6g}")
    return result
