"""Update the shipped fit by own runs of every kind: those of transformers, and all others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from perfmodel.calibration import Calibration
from perfmodel.evidence import repeat_noise
from perfmodel.fitting.own_runs import OwnRun, Update, nothing_learned, update
from perfmodel.fitting.own_transformers import learned_of
from perfmodel.prediction.interval import OPEN, factors, widening_strengths
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
    of_others, of_layouts = iter(result.answers), iter(laid_out.answers)
    answers = []
    for run in runs:
        answer = next(of_others if run.setting.layout is None else of_layouts)
        if run.setting.layout is None and not run.message_bytes:
            time, noise = jobs[job_key(run.setting)]
            widths = _half_width(run.setting, constants), NORMAL_80 * noise
            after = math.log(time / run.time)
            answer = answer._replace(after=after, width_before=widths[0], width_after=widths[1])
        answers.append(answer)
    own = result.own._replace(
        runs=len(runs),
        jobs=jobs,
        transformers=[row_of(run) for run in laid_out.runs],
    )
    return result._replace(own=own, answers=answers)


def _half_width(setting: Setting, constants: Calibration) -> float:
    """Return half the 80 % interval of a job of copies from specs, in log time, its options known."""
    step = evaluate(setting, constants)
    strengths = widening_strengths(setting, step.work, step.terms, constants) | {OPEN: {}}
    near, _ = factors(strengths, "specs", constants)
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
