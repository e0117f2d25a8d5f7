"""What own runs change for a job on other numbers of accelerators: those measured, and twice the largest."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import geometric_mean
from typing import Any, NamedTuple

from perfmodel.core.errors import InputError
from perfmodel.core.units import show, show_range
from perfmodel.evidence.fitting.own_runs import OwnRun, Update
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import accelerator_words
from perfmodel.model.fitted.calibration import Calibration, calibration, with_own_effects
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.assemble import prediction_of_setting, settled_by_own_runs
from perfmodel.model.prediction.names import network_name
from perfmodel.model.setting.resolve import Setting

TIMES = 2
"""Accelerators of the job that was not measured over those of the largest run."""
MOST = 12
"""Largest number of sizes that are predicted."""
PLACEMENT = ("world_size", "nodes", "accelerators_per_node", "calibration")
"""Options that runs of one job on several numbers of accelerators need not share."""
HEADINGS = ("GPUs", "measured", "before (80 %)", "with your runs (80 %)")


class Size(NamedTuple):
    """A job on a number of accelerators, predicted without and with own runs; times in seconds."""

    world_size: int
    measured: float | None
    """Geometric mean of its runs; None where it was not measured."""
    before: float
    before_80: tuple[float, float] | None
    """Ends of the 80 % interval."""
    after: float
    after_80: tuple[float, float] | None

    @property
    def words(self) -> tuple[str, ...]:
        """The cells of a table, in the order of ``HEADINGS``."""
        measured = "not measured" if self.measured is None else show(self.measured, "s")
        predicted = ((self.before, self.before_80), (self.after, self.after_80))
        return (str(self.world_size), measured, *(_with_interval(*each) for each in predicted))


class OtherSizes(NamedTuple):
    """The job of the largest run on other numbers of accelerators."""

    job: str
    """In words."""
    sizes: tuple[Size, ...]

    @property
    def title(self) -> str:
        """What the table of its sizes shows."""
        return f"Iteration of {self.job}, predicted without and with your runs"

    def to_dict(self) -> dict[str, Any]:
        """Return it as values for JSON."""
        return {"job": self.job, "sizes": [size._asdict() for size in self.sizes]}


def other_sizes(runs: Sequence[OwnRun], learned: Update, catalogue: Catalogue) -> OtherSizes | None:
    """Return the largest run's job on the numbers it was measured on, and on more; None without such a job.

    Parameters
    ----------
    runs, learned : measured runs, and the update by them
    catalogue : where hardware is looked up
    """
    trained = [run for run in runs if not run.message_bytes]
    if not trained:
        return None
    setting = max((run.setting for run in trained), key=lambda each: each.world_size)
    by_size: dict[int, list[OwnRun]] = {}
    for run in trained:
        if _options(run.setting) == _options(setting):
            by_size.setdefault(run.setting.world_size, []).append(run)
    constants = with_own_effects(calibration(), learned.own)
    try:
        sizes = [_measured(by_size[n], constants, catalogue) for n in sorted(by_size)[-MOST:]]
        sizes.append(_size(TIMES * setting.world_size, setting, None, constants, catalogue))
    except InputError:
        return None
    job = f"{network_name(setting.workload.id)} on {accelerator_words(setting.accelerator)}"
    return OtherSizes(f"{job}, batch {setting.local_batch_size} each", tuple(sizes))


def _options(setting: Setting) -> dict[str, Any]:
    """Return the options that runs of one job on several numbers of accelerators share."""
    stated = setting.scenario.model_dump(exclude_unset=True)
    return {name: value for name, value in stated.items() if name not in PLACEMENT}


def _measured(runs: Sequence[OwnRun], constants: Calibration, catalogue: Catalogue) -> Size:
    """Return the size of runs on equally many accelerators: of those on the fewest machines."""
    fewest = min(run.setting.nodes for run in runs)
    alike = [run for run in runs if run.setting.nodes == fewest]
    setting, time = alike[0].setting, geometric_mean([run.time for run in alike])
    return _size(setting.world_size, setting, time, constants, catalogue)


def _size(
    world_size: int, setting: Setting, measured: float | None, constants: Calibration, catalogue: Catalogue
) -> Size:
    """Return the job of a setting on a number of accelerators, predicted without and with own runs."""
    assert constants.own is not None
    options = _options(setting) | {"world_size": world_size}
    if (held := setting.scenario.accelerators_per_node) is not None:
        options["accelerators_per_node"] = held
    scenario = Scenario.model_validate(options)
    before = predict(scenario, catalogue)
    scenario = scenario.model_copy(update={"calibration": constants.own.file})
    after = prediction_of_setting(*settled_by_own_runs(scenario, catalogue, constants))
    return Size(
        *(world_size, measured),
        *(before.iteration_time, _interval(before)),
        *(after.iteration_time, _interval(after)),
    )


def _interval(prediction: Prediction) -> tuple[float, float] | None:
    """Return the ends of the 80 % interval of the iteration time [s]."""
    interval = prediction.interval
    return None if interval is None else (interval.low_80, interval.high_80)


def _with_interval(time: float, interval: tuple[float, float] | None) -> str:
    """Return a time with its interval.

    >>> _with_interval(0.142, (0.119, 0.206)), _with_interval(0.142, None)
    ('142 ms (119-206 ms)', '142 ms')
    """
    return f"{show(time, 's')} ({show_range(*interval, 's')})" if interval else show(time, "s")
