"""What a user's own runs of transformers say: of each other, and beside the shipped fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from perfmodel.calibration import Calibration
from perfmodel.fitting.own_runs import Answer, OwnRun
from perfmodel.step.profiled import NORMAL_80
from perfmodel.transformers.levels import Run, is_same
from perfmodel.transformers.own_runs import merged, run_of, update_of


class Learned(NamedTuple):
    """What runs of transformers taught."""

    runs: list[Run]
    """Repeats of a job as one."""
    answers: list[Answer]


def learned_of(runs: Sequence[OwnRun], constants: Calibration) -> Learned:
    """Return what runs of transformers say, and how far each is missed before, left out, and after.

    A run is left out with all repeats of its job.
    """
    each = [run_of(run.setting, run.time, constants) for run in runs]
    together = merged(each)
    answers = []
    for own, run in zip(runs, each, strict=True):
        others = [other for other in together if not is_same(run.traits, other.traits)]
        left_out = update_of(own.setting, others).shift if others else 0.0
        after = update_of(own.setting, together)
        errors = (float(shift - run.miss) for shift in (0.0, left_out, after.shift))
        widths = (float(NORMAL_80 * spread) for spread in (run.spread, after.spread()))
        answers.append(Answer(own.where, own.name, own.time, *errors, *widths))
    return Learned(together, answers)
