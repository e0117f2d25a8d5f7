"""Which further measurement would tell the causes of a slow run apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from perfmodel.decide.diagnosis.answer import NextMeasurement
from perfmodel.decide.diagnosis.changes import Change, predicted
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.scenario import Scenario
from perfmodel.model.prediction import Prediction
from perfmodel.model.setting.resolve import Setting, resolve

SHOWN = 3
"""Measurements that are listed."""
TELLING = 0.02
"""Least spread of expected times, as a logarithm, for which a measurement is worth its while."""


class Explained(NamedTuple):
    """What may explain a slow run: a cause, that something was assumed wrongly, or that nothing is wrong."""

    probability: float
    change: Change
    """Its likeliest form."""
    time: float
    """Predicted iteration time with the whole change [s]."""
    is_assumption: bool = False
    """Whether the job ran with the changed options, and so do the further runs of it."""


class _Experiment(NamedTuple):
    words: str
    options: Mapping[str, Any]


def next_measurements(
    scenario: Scenario,
    setting: Setting,
    measured: float,
    causes: Mapping[str, Explained],
    catalogue: Catalogue,
) -> list[NextMeasurement]:
    """Return further runs, that which tells the causes apart best first.

    The expected time of a run under a cause is the measured one times the predicted ratio: what the model
    misses of this job it misses of its neighbours too.  If the job is not as it was taken, neither are the
    further runs of it.

    Parameters
    ----------
    scenario, setting : of the job
    measured : its iteration time [s]
    causes : by their ids; ``normal`` has no change
    catalogue : hardware
    """
    measurements = []
    own = {each.words: each for each in _experiments(scenario, setting)}
    otherwise = {
        cause: _experiments_otherwise(scenario, each.change, catalogue)
        for cause, each in causes.items()
        if each.is_assumption
    }
    for words, experiment in own.items():
        known: dict[tuple[Any, ...], Prediction | None] = {}
        expected: dict[str, float] = {}
        weights: dict[str, float] = {}
        for cause, (probability, change, now, _) in causes.items():
            if (of_job := otherwise.get(cause, own).get(words)) is None:
                continue
            options = dict(change.options) | dict(of_job.options)
            of = tuple(options.items())
            if of not in known:
                known[of] = predicted(scenario, options, catalogue)
            if (then := known[of]) is None:
                continue
            expected[cause] = measured * change.time(then) / now
            weights[cause] = probability
        spread = spread_of(expected, weights)
        if spread >= TELLING:
            options = {name: value for name, value in experiment.options.items() if value is not None}
            measurements.append(
                NextMeasurement(words=experiment.words, options=options, expected=expected, spread=spread)
            )
    return sorted(measurements, key=lambda each: -each.spread)[:SHOWN]


def spread_of(expected: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return the weighed standard deviation of the logarithm of the expected times."""
    whole = sum(weights.values())
    if len(expected) < 2 or not whole:
        return 0.0
    logs = {cause: math.log(time) for cause, time in expected.items()}
    mean = sum(weights[cause] * log for cause, log in logs.items()) / whole
    return math.sqrt(sum(weights[cause] * (log - mean) ** 2 for cause, log in logs.items()) / whole)


def _experiments_otherwise(
    scenario: Scenario, change: Change, catalogue: Catalogue
) -> dict[str, _Experiment]:
    """Return the runs of a job that is not as it was taken, by their words."""
    job = scenario.model_copy(update=dict(change.options))
    return {each.words: each for each in _experiments(job, resolve(job, catalogue))}


def _experiments(scenario: Scenario, setting: Setting) -> Iterator[_Experiment]:
    """Yield runs that differ from a job in one thing."""
    yield _Experiment("the same job with synthetic samples", {"input": "synthetic"})
    if setting.layout is None:
        batch = {"local_batch_size": int(setting.local_batch_size), "global_batch_size": None}
        if setting.world_size > 1:
            yield _Experiment("one accelerator with its share of the batch", {"world_size": 1, **batch})
        if setting.nodes > 1:
            count = int(setting.accelerators_per_node)
            yield _Experiment(f"one machine, {count} accelerators", {"world_size": count, **batch})
    elif setting.layout.data_parallel > 1:
        count = int(setting.world_size // setting.layout.data_parallel)
        samples = int(setting.global_batch_size // setting.layout.data_parallel)
        options = {"world_size": count, "global_batch_size": samples}
        yield _Experiment(f"one replica, {count} accelerator{'s' * (count > 1)}", options)
    more = {"accumulation_steps": int(setting.accumulation_steps) * 4, "global_batch_size": None}
    if setting.layout is None and setting.world_size > 1:
        yield _Experiment("four times the micro-batches in an iteration", more)
    yield _Experiment("the same job in fp32", {"precision": "fp32"})
