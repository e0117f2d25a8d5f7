"""How wide the interval of a job is that was not measured: twice the accelerators of the largest own run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from perfmodel.core.errors import InputError
from perfmodel.core.units import per_cent
from perfmodel.evidence.fitting.own_runs import OwnRun, Update
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import accelerator_words
from perfmodel.model.fitted.calibration import Calibration, calibration, with_own_effects
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import predict
from perfmodel.model.prediction.names import network_name

TIMES = 2
"""Accelerators of the job over those of the largest run."""


class Unmeasured(NamedTuple):
    """A job that was not measured, and how wide its interval is."""

    job: str
    """The job in words."""
    before: float
    """Upper end of its 80 % interval by the shipped fit, over the prediction, less 1."""
    after: float
    """The same after the update by the runs."""

    @property
    def words(self) -> str:
        """The intervals in a sentence."""
        widths = f"to +{per_cent(self.before, 0)} before, to +{per_cent(self.after, 0)} now"
        return f"80 % interval of {self.job}, not measured: {widths}"


def unmeasured_job(runs: Sequence[OwnRun], learned: Update, catalogue: Catalogue) -> Unmeasured | None:
    """Return the interval of the largest run's job on more accelerators; None where there is no such job.

    Parameters
    ----------
    runs, learned : measured runs, and the update by them
    catalogue : where hardware is looked up
    """
    trained = [run.setting for run in runs if not run.message_bytes]
    if not trained:
        return None
    setting = max(trained, key=lambda each: each.world_size)
    world_size = TIMES * setting.world_size
    table = setting.scenario.model_dump(exclude_unset=True) | {"world_size": world_size}
    table = {name: value for name, value in table.items() if name not in ("nodes", "calibration")}
    shipped = calibration()
    try:
        scenario = Scenario.model_validate(table)
        ends = [_end(scenario, catalogue, each) for each in (shipped, with_own_effects(shipped, learned.own))]
    except InputError:
        return None
    before, after = ends
    if before is None or after is None:
        return None
    job = f"{network_name(setting.workload.id)} on {world_size} x {accelerator_words(setting.accelerator)}"
    return Unmeasured(job, before, after)


def _end(scenario: Scenario, catalogue: Catalogue, constants: Calibration) -> float | None:
    """Return the upper end of a prediction's 80 % interval over the prediction, less 1."""
    prediction = predict(scenario, catalogue, constants)
    interval = prediction.interval
    return None if interval is None else interval.high_80 / prediction.iteration_time - 1
