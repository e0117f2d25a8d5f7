"""Update the shipped fit by own runs: those of transformers with a layout, and all others."""

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


def update_by_own_runs(
    runs: Sequence[OwnRun], constants: Calibration, components: dict[str, float], file: str
) -> Update:
    """Return the update of a fit by a user's runs, and the errors of each run before, after and left out.

    Parameters
    ----------
    runs : measured runs
    constants : the shipped fit
    components : from ``shipped_components``, with ``freedom``
    file : name of the file that the result is written to
    """
    known = dict(components)
    freedom = known.pop("freedom")
    laid_out = [run for run in runs if run.setting.layout is not None]
    others = [run for run in runs if run.setting.layout is None]
    together, answers_of = _transformer_answers(laid_out, constants)
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
        errors = (float(shift - run.miss) for shift in (0.0, left_out, after.shift))
        widths = (float(NORMAL_80 * spread) for spread in (run.spread, after.spread()))
        answers.append(Answer(own.where, own.name, own.time, *errors, *widths))
    return together, answers


def _half_width(setting: Setting, constants: Calibration) -> float:
    """Return the log half-width of a data-parallel job's 80 % interval from specs, all options stated."""
    step = evaluate(setting, constants)
    strengths: dict[str, Any] = widening_strengths(setting, step.work, step.terms, constants)
    near, *_ = factors(strengths | {OPEN: {}}, "specs", constants)
    return math.log(near)


def _jobs(runs: Sequence[OwnRun]) -> dict[str, tuple[float, float]]:
    """Return by job the geometric mean of its times [s] and the noise of a repeat (``OwnEffects.jobs``)."""
    logs: dict[str, list[float]] = {}
    for run in runs:
        logs.setdefault(job_key(run.setting), []).append(math.log(run.time))
    result = {}
    for key, of in logs.items():
        mean, count = fmean(of), len(of)
        noise = repeat_noise(sum((log - mean) ** 2 for log in of), count) * math.sqrt(1 + 1 / count)
        result[key] = float(f"{math.exp(mean):.9g}"), float(f"{noise:.6g}")
    return result
