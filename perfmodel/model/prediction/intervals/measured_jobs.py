"""Anchoring of a job on own runs of itself, on its accelerators and on other numbers of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from perfmodel.core.errors import InputError
from perfmodel.core.units import counted
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.fitted.ledger_scales import REPEAT
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.intervals.node_anchor import anchored_setting, setting_of_ranks
from perfmodel.model.prediction.intervals.own_runs import job_key
from perfmodel.model.setting.anchor import Repeat
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.evaluate import outcome

LEAST_RUNS = 2
"""Least number of world sizes that a job was measured on, for its time on others to follow from them."""


class _Jobs(NamedTuple):
    """Own runs, and what it takes to find those of one job."""

    measured: Mapping[str, Sequence[float]]
    """``OwnEffects.jobs``"""
    scenario: Scenario
    catalogue: Catalogue
    constants: Calibration

    def on(self, ranks: int, setting: Setting) -> Sequence[float] | None:
        """Return the entry of some accelerators with the work of each in the job; None if it has none."""
        try:
            one = setting_of_ranks(self.scenario, setting, ranks, self.catalogue)
        except InputError:  # such a job cannot run on that number
            return None
        return self.measured.get(job_key(one))

    def anchored(self, time: float, ranks: int) -> Setting | None:
        """Return the setting anchored on a time of some accelerators [s]; None if that is impossible."""
        scenario = self.scenario.model_copy(update={"anchor": f"iteration_time={time!r}s@{ranks}"})
        run = f"your run on {counted(ranks, 'accelerator')}"
        try:
            return anchored_setting(scenario, self.catalogue, self.constants, run)
        except InputError:  # the predicted exchange alone takes longer
            return None


def anchored_on_own_runs(
    setting: Setting,
    measured: Mapping[str, Sequence[float]],
    scenario: Scenario,
    catalogue: Catalogue,
    constants: Calibration,
) -> Setting:
    """Return the setting anchored on own runs of the job, if there are any and they are possible.

    If the job was also measured on one accelerator, or on one machine, with the same work of each, that run
    sets the time of computation, and what the job takes beyond its prediction from there is
    ``measured_loss``: it appears only with more accelerators, so computation is not what it belongs to, and
    the two times do not tell which other term it is.  A job that loses no more than repeats of it scatter, or
    that was measured on its accelerators alone, sets the time of computation itself.

    Parameters
    ----------
    setting : of the job
    measured : ``OwnEffects.jobs``
    scenario, catalogue, constants : of the job, without its calibration; constants with the own runs' effects
    """
    if not measured:
        return setting
    jobs = _Jobs(measured, scenario, catalogue, constants)
    alone = jobs.on(1, setting)
    if alone is not None and setting.world_size > 1 and setting.scaling != "strong":
        setting = setting._replace(measured_alone=alone[0])
    itself = measured.get(job_key(setting))
    time, noise = itself[:2] if itself else (_time_between(setting, jobs), 0.0)
    if time is None:
        return setting
    for ranks in (1, setting.node.accelerators):
        fewer = jobs.on(ranks, setting) if ranks < setting.world_size else None
        started = None if fewer is None else jobs.anchored(fewer[0], ranks)
        if started is None:
            continue
        lost = time - float(outcome(started, constants).iteration_time)
        if lost > (noise or REPEAT) * time:
            return _as_own(started, setting, noise)._replace(measured_loss=lost)
    anchored = jobs.anchored(time, setting.world_size)
    return setting if anchored is None else _as_own(anchored, setting, noise)


def measured_words(repeat: Repeat, path: str) -> str:
    """Return a note that own runs of a job set its time.

    >>> measured_words(Repeat(None, 0.0), "mine.json")
    'your runs measured this job on other GPU counts (mine.json): its time is on the curve through them'
    """
    if repeat.noise:
        return f"this job was measured itself ({path}): its time is the mean of its repeats"
    return f"your runs measured this job on other GPU counts ({path}): its time is on the curve through them"


def _as_own(anchored: Setting, setting: Setting, noise: float) -> Setting:
    """Return an anchored setting of a job as one that own runs anchored."""
    return anchored._replace(repeat=Repeat(None, noise), measured_alone=setting.measured_alone)


def _time_between(setting: Setting, jobs: _Jobs) -> float | None:
    """Return the time of a job from own runs of it on other numbers of accelerators [s]; None with too few.

    With r = ln(measured / predicted), by the fit with the runs' effects, the time is the predicted one times
    exp(r(n)): r runs straight in log2(n) from each measured number to the next, and stays as it is beyond the
    first and the last, so that the curve passes through all own runs and no larger job is faster than one
    that was measured.  Runs of published series, each left out in turn, are missed by 12.4 % over four
    sources, by the effects alone by 12.3: three by less (5.9 -> 3.9, 8.1 -> 7.4, 9.0 -> 8.6 %), one of
    changing placements by more (26.0 -> 29.9 %).
    """
    sizes = sorted({int(each[2]) for each in jobs.measured.values() if len(each) > 2})
    of_job = {ranks: jobs.on(ranks, setting) for ranks in sizes} if len(sizes) >= LEAST_RUNS else {}
    beyond = {ranks: each[3] for ranks, each in of_job.items() if each is not None and len(each) > 2}
    if len(beyond) < LEAST_RUNS:
        return None
    here = np.interp(math.log2(setting.world_size), np.log2([*beyond]), [*beyond.values()])
    return float(outcome(setting, jobs.constants).iteration_time) * math.exp(float(here))
