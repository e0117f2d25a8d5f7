"""What own runs change for a job on other numbers of accelerators: those measured, and twice the largest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import geometric_mean
from typing import Any, NamedTuple

from perfmodel.core.errors import InputError
from perfmodel.core.units import counted, show, show_range
from perfmodel.evidence.fitting.own_rates import rate_number, unit_of
from perfmodel.evidence.fitting.own_runs import OwnRun, Update
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.hardware.machine_words import accelerator_words
from perfmodel.model.fitted.calibration import Calibration, calibration, with_own_effects
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction, predict
from perfmodel.model.prediction.assemble import prediction_of_setting, settled_by_own_runs
from perfmodel.model.prediction.names import network_name
from perfmodel.model.setting.resolve import Setting
from perfmodel.model.step.evaluate import start_of

TIMES = 2
"""Accelerators of the job that was not measured over those of the largest run."""
MOST = 12
"""Largest number of sizes that are predicted."""
PLACEMENT = ("world_size", "nodes", "accelerators_per_node", "calibration")
"""Options that runs of one job on several numbers of accelerators need not share."""
HEADINGS = ("GPUs", "quantity", "measured", "with your runs (80 %)", "before (80 %)")
GREW = 0.01
"""Least growth of a measured over a predicted time, with each doubling of the GPUs, that is said."""


class Size(NamedTuple):
    """A job on a number of accelerators, predicted without and with own runs; times in seconds."""

    world_size: int
    work: float
    """Samples, or tokens, of an iteration: those that ``OtherSizes.unit`` counts."""
    measured: float | None
    """Geometric mean of its runs; None where it was not measured."""
    before: float
    before_80: tuple[float, float] | None
    """Ends of the 80 % interval."""
    after: float
    after_80: tuple[float, float] | None

    @property
    def rate(self) -> float:
        """Work per second, with own runs."""
        return self.work / self.after

    @property
    def rate_80(self) -> tuple[float, float] | None:
        """Ends of the 80 % interval of the rate, with own runs."""
        return _rates(self.work, self.after_80)

    def rows(self, unit: str) -> list[tuple[str, ...]]:
        """Return the rows of a table, in the order of ``HEADINGS``: the rate in a unit, and the time."""
        none = "not measured"
        predicted = ((self.after, self.after_80), (self.before, self.before_80))
        rates = (
            none if self.measured is None else rate_number(self.work / self.measured),
            *(
                _with_interval(rate_number(self.work / time), _between(_rates(self.work, ends)))
                for time, ends in predicted
            ),
        )
        times = (
            none if self.measured is None else show(self.measured, "s"),
            *(_with_interval(show(time, "s"), ends and show_range(*ends, "s")) for time, ends in predicted),
        )
        return [(str(self.world_size), unit, *rates), (str(self.world_size), "iteration", *times)]

    def to_dict(self) -> dict[str, Any]:
        """Return it as values for JSON."""
        return {**self._asdict(), "rate": self.rate, "rate_80": self.rate_80}


class Growing(NamedTuple):
    """A job whose loss grows on."""

    time: float
    """Of an iteration [s]."""
    words: str
    """As between which numbers of accelerators."""


class OtherSizes(NamedTuple):
    """The job of the largest run on other numbers of accelerators."""

    job: str
    """In words."""
    unit: str
    """Of the rates: images/s, tokens/s."""
    sizes: tuple[Size, ...]
    """Those that were measured, and last one that was not."""
    follows_runs: bool
    """Whether the time that was not measured follows the largest run, by ``anchored_on_own_runs`` or
    ``series_shift``."""

    @property
    def title(self) -> str:
        """What the table of its sizes shows."""
        return f"{self.job}, predicted with and without your runs"

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The cells of the table, in the order of ``HEADINGS``."""
        return [row for size in self.sizes for row in size.rows(self.unit)]

    @property
    def rates(self) -> dict[str, str]:
        """The throughput on the most accelerators that were measured, and on the number that was not."""
        *_, most, more = self.sizes
        assert most.measured is not None
        ends = "" if more.rate_80 is None else f" (80 %: {' to '.join(map(rate_number, more.rate_80))})"
        if (growing := self.if_it_grows) is not None:
            ends += f", or {rate_number(more.work / growing.time)} if the loss grows {growing.words}"
        return {
            counted(
                most.world_size, "GPU"
            ): f"{rate_number(most.work / most.measured)} {self.unit}, measured",
            counted(more.world_size, "GPU"): f"{rate_number(more.rate)} {self.unit}{ends}",
        }

    @property
    def if_it_grows(self) -> Growing | None:
        """The time on more accelerators if the loss grows as between the largest two; None if it did not."""
        *fewer, most, more = self.sizes
        less = fewer[-1] if fewer else most  # runs of the job that state it otherwise are no row here
        doublings = math.log2(most.world_size / less.world_size) or 1.0
        slope = math.log(_factor(most) / _factor(less)) / doublings
        if not self.follows_runs or slope <= GREW:
            return None
        time = more.after * math.exp(slope * math.log2(more.world_size / most.world_size))
        return Growing(time, f"as it did from {less.world_size} to {most.world_size}")

    @property
    def answer(self) -> str:
        """The job and its rates as a sentence."""
        return f"{self.job}: {'; '.join(f'{gpus} {rate}' for gpus, rate in self.rates.items())}."

    @property
    def assumed(self) -> str:
        """What is assumed of the loss on more accelerators than were measured, and what it may take."""
        *_, most, more = self.sizes
        unmeasured, largest = f"{more.world_size} GPUs were not measured", counted(most.world_size, "GPU")
        assert most.measured is not None
        factor, taken = _factor(most), more.after / more.before
        words = f"{unmeasured}: they are taken to need {taken:.2f} x the time predicted without your runs"
        is_equal = f"{taken:.2f}" == f"{factor:.2f}"
        words += f", as {largest} did" if is_equal else f"; {largest} needed {factor:.2f} x"
        if not self.follows_runs:
            return f"{words}."
        sentences = [f"{words}; the loss is assumed not to grow."]
        if (growing := self.if_it_grows) is not None:
            rate = f"{rate_number(more.work / growing.time)} {self.unit}"
            sentences.append(f"If it grows {growing.words}, they take {show(growing.time, 's')}, {rate}.")
        if more.after_80 is not None and more.after_80[0] < most.measured:
            sentences.append(
                "The fast end of their interval allows less loss: some published jobs lost less."
            )
        return " ".join(sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return it as values for JSON."""
        sizes = [size.to_dict() for size in self.sizes]
        return {"job": self.job, "unit": self.unit, "sizes": sizes, "assumed": self.assumed}


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
    unit, of_sample = unit_of(setting, by_size[setting.world_size][0].quantity)
    try:
        sizes = [_measured(by_size[n], of_sample, constants, catalogue) for n in sorted(by_size)[-MOST:]]
        more = _size(TIMES * setting.world_size, setting, None, of_sample, constants, catalogue)
    except InputError:
        return None
    job = f"{network_name(setting.workload.id)} on {accelerator_words(setting.accelerator)}"
    words = f"{job}, batch {setting.local_batch_size} each"
    return OtherSizes(words, unit, (*sizes, more[0]), more[1])


def _options(setting: Setting) -> dict[str, Any]:
    """Return the options that runs of one job on several numbers of accelerators share."""
    stated = setting.scenario.model_dump(exclude_unset=True)
    return {name: value for name, value in stated.items() if name not in PLACEMENT}


def _measured(runs: Sequence[OwnRun], of_sample: int, constants: Calibration, catalogue: Catalogue) -> Size:
    """Return the size of runs on equally many accelerators: of those on the fewest machines."""
    fewest = min(run.setting.nodes for run in runs)
    alike = [run for run in runs if run.setting.nodes == fewest]
    setting, time = alike[0].setting, geometric_mean([run.time for run in alike])
    return _size(setting.world_size, setting, time, of_sample, constants, catalogue)[0]


def _size(
    world_size: int,
    setting: Setting,
    measured: float | None,
    of_sample: int,
    constants: Calibration,
    catalogue: Catalogue,
) -> tuple[Size, bool]:
    """Return the job of a setting on a number of accelerators, predicted without and with own runs.

    Also whether its time with them follows runs of the job on other numbers.

    Parameters
    ----------
    world_size, setting : accelerators of the job, and its other options
    measured : mean time of its runs [s], or None
    of_sample : units of ``OtherSizes.unit`` in a sample
    constants : with the effects of the runs
    """
    assert constants.own is not None
    options = _options(setting) | {"world_size": world_size}
    if (held := setting.scenario.accelerators_per_node) is not None:
        options["accelerators_per_node"] = held
    scenario = Scenario.model_validate(options)
    before = predict(scenario, catalogue)
    scenario = scenario.model_copy(update={"calibration": constants.own.file})
    own, known = settled_by_own_runs(scenario, catalogue, constants)
    after = prediction_of_setting(own, known)
    size = Size(
        *(world_size, of_sample * own.global_batch_size, measured),
        *(before.iteration_time, _interval(before)),
        *(after.iteration_time, _interval(after)),
    )
    start = start_of(own, known)
    return size, own.repeat is not None or bool(start and start.follows_runs)


def _factor(size: Size) -> float:
    """Return the measured time of a job over that predicted without own runs."""
    assert size.measured is not None
    return size.measured / size.before


def _interval(prediction: Prediction) -> tuple[float, float] | None:
    """Return the ends of the 80 % interval of the iteration time [s]."""
    interval = prediction.interval
    return None if interval is None else (interval.low_80, interval.high_80)


def _rates(work: float, times: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return the rates of work at the ends of an interval of times, the lower first."""
    return None if times is None else (work / times[1], work / times[0])


def _between(rates: tuple[float, float] | None) -> str | None:
    """Return the ends of an interval of rates as text."""
    return None if rates is None else "-".join(map(rate_number, rates))


def _with_interval(value: str, ends: str | None) -> str:
    """Return a value with the ends of its interval, if there are any.

    >>> _with_interval("142 ms", "119-206 ms"), _with_interval("142 ms", None)
    ('142 ms (119-206 ms)', '142 ms')
    """
    return value if ends is None else f"{value} ({ends})"
