"""Time of a run on a fleet: by its length, or by the time that it takes on the present machines."""

from __future__ import annotations

from typing import NamedTuple

from perfmodel.core.errors import refusal
from perfmodel.core.problem import Words
from perfmodel.decide.planning.fleets.job import Job
from perfmodel.decide.planning.fleets.result import RunCheck
from perfmodel.decide.planning.fleets.step import FleetStep
from perfmodel.model.prediction.result import Interval, Ratio


class Length(NamedTuple):
    """Length of a run; at most one of the fields is given."""

    epochs: float | None = None
    samples: float | None = None
    tokens: float | None = None


class RunTimes(NamedTuple):
    """Time of a run and the ends of its 80 % interval [s]; None where unknown."""

    time: float | None = None
    low_80: float | None = None
    high_80: float | None = None


def samples_of(job: Job, length: Length) -> float | None:
    """Return the samples of a run; None where its length is not given.

    Raises
    ------
    InputError : several lengths; tokens of a network without a sequence length; epochs of an unknown data set
    """
    given = [name for name, value in length._asdict().items() if value is not None]
    if len(given) > 1:
        raise refusal("options.one_of", known=Words(" and ".join(f"--{name}" for name in given)))
    if length.tokens is not None:
        if not job.network.sequence_length:
            raise refusal("length.no_tokens", name=job.network.id)
        return length.tokens / job.network.sequence_length
    if length.epochs is None:
        return length.samples
    if not job.network.dataset_samples:
        raise refusal("length.unknown_data_set", workload=job.network.id)
    return length.epochs * job.network.dataset_samples


def by_length(samples: float | None, step: FleetStep, interval: Interval | None) -> RunTimes:
    """Return the time of as many samples, with the interval of the iteration time."""
    if samples is None:
        return RunTimes()
    iterations = samples / step.samples
    if interval is None:
        return RunTimes(iterations * step.iteration_time)
    return RunTimes(
        iterations * step.iteration_time, iterations * interval.low_80, iterations * interval.high_80
    )


def from_today(today: float, ratio: Ratio | None) -> RunTimes:
    """Return the time of a run that takes ``today`` [s] on the present fleet.

    Parameters
    ----------
    ratio : speed over that of the present fleet, by two predictions: an error that both share cancels; None
        of the present fleet
    """
    if ratio is None:
        return RunTimes(today)
    if ratio.low_80 is None or ratio.high_80 is None:
        return RunTimes(today / ratio.value)
    return RunTimes(today / ratio.value, today / ratio.high_80, today / ratio.low_80)


def run_check(
    today: float | None, samples: float | None, step: FleetStep, interval: Interval | None
) -> RunCheck | None:
    """Return the time that a run takes today by prediction against the time given; None where one is unknown.

    Parameters
    ----------
    today : time given [s]
    samples : length of the run
    step, interval : of the present fleet
    """
    predicted = by_length(samples, step, interval)
    if today is None or predicted.time is None:
        return None
    is_far = False
    if interval is not None:
        low, high = interval.low_95 or interval.low_80, interval.high_95 or interval.high_80
        is_far = not low <= today / predicted.time * step.iteration_time <= high
    return RunCheck.model_construct(
        given=today,
        predicted=predicted.time,
        low_80=predicted.low_80,
        high_80=predicted.high_80,
        is_far=is_far,
    )
