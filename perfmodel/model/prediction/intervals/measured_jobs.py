"""Anchoring of a job on own runs of itself, on its accelerators and on fewer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from perfmodel.core.errors import InputError
from perfmodel.core.units import counted
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.fitted.calibration import Calibration
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction.intervals.node_anchor import anchored_setting, setting_of_ranks
from perfmodel.model.prediction.intervals.own_runs import job_key
from perfmodel.model.setting.anchor import Repeat
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.evaluate import outcome


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
    if itself is None:
        return setting
    time, noise = itself
    for ranks in (1, setting.node.accelerators):
        fewer = jobs.on(ranks, setting) if ranks < setting.world_size else None
        started = None if fewer is None else jobs.anchored(fewer[0], ranks)
        if started is None:
            continue
        lost = time - float(outcome(started, constants).iteration_time)
        if lost > noise * time:
            return _as_own(started, setting, noise)._replace(measured_loss=lost)
    anchored = jobs.anchored(time, setting.world_size)
    return setting if anchored is None else _as_own(anchored, setting, noise)


def _as_own(anchored: Setting, setting: Setting, noise: float) -> Setting:
    """Return an anchored setting of a job as one that own runs anchored."""
    return anchored._replace(repeat=Repeat(None, noise), measured_alone=setting.measured_alone)
