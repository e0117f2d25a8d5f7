"""Update the shipped fit by own runs of every kind: those of transformers, and all others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from perfmodel.calibration import Calibration
from perfmodel.evidence import repeat_noise
from perfmodel.fitting.own_runs import OwnRun, Update, nothing_learned, update
from perfmodel.fitting.own_transformers import learned_of
from perfmodel.prediction.interval import factors, widening_strengths
from perfmodel.prediction.own_runs import job_key
from perfmodel.resolve import Setting
from perfmodel.step.evaluate import evaluate
from perfmodel.step.profiled import NORMAL_80
from perfmodel.transformers.own_runs import row_of


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
    laid_out = learned_of([run for run in runs if run.setting.layout is not None], constants)
    others = [run for run in runs if run.setting.layout is None]
    result = update(others, constants, known, freedom, file) if others else nothing_learned(known, file)
    jobs = _jobs([run for run in others if not run.message_bytes])
    answers = {each.where: each for each in (*result.answers, *laid_out.answers)}
    for run in others:
        if not run.message_bytes:
            after = NORMAL_80 * jobs[job_key(run.setting)][1]
            before = _half_width(run.setting, constants)
            answers[run.where] = answers[run.where]._replace(width_before=before, width_after=after)
    own = result.own._replace(
        runs=len(runs),
        jobs=jobs,
        transformers=[row_of(run) for run in laid_out.runs],
    )
    return result._replace(own=own, answers=[answers[run.where] for run in runs])


def _half_width(setting: Setting, constants: Calibration) -> float:
    """Return half the 80 % interval of a job of copies from specs, in log time."""
    step = evaluate(setting, constants)
    near, _ = factors(widening_strengths(setting, step.work, step.terms, constants), "specs", constants)
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
