"""Fit the model of transformers' steps to measured times: to all, or without one source."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core.arrays import Array, Flags, Names
from perfmodel.core.least_squares import least_squares
from perfmodel.evidence.accuracy.by_source import covering, rows_of_source
from perfmodel.evidence.accuracy.training_rows import TRUSTED
from perfmodel.evidence.accuracy.transformers.transformer_rows import TransformerRun
from perfmodel.model.transformers.job import Job, jobs_of, rows
from perfmodel.model.transformers.parameters import PARAMETERS, named
from perfmodel.model.transformers.step import step_of

NOISE = 0.20
"""Standard deviation of ln(measured / model) of a good row; the pull of a row is limited at this error."""
SOURCE_ROWS = 10.0
"""Largest weight of a source, in rows: sources differ more from each other than the rows of one do."""
EXPERTS_WEIGHT = 0.4
"""Weight of a run with experts: no source states its dispatcher, capacity and balance."""
STEP = 1e-3
"""Step of a standard score in finite differences."""
ROUNDS = 5
"""Number of linearisations; the scores change by less than 0.01 in the last."""
LEAST_SOURCES = 2
"""Least number of sources from which the spread of a class is learned."""


class Data(NamedTuple):
    """Measured runs as arrays, shape (runs,)."""

    jobs: Job
    logs: Array
    """ln(measured time [s])."""
    sources: Names
    kinds: Names
    """Classes of ``TransformerRun.kind``."""

    def rows(self, which: Any) -> Data:
        """Return the selected runs."""
        return Data(*(rows(column, which) for column in self))


def data_of(measured: Sequence[TransformerRun]) -> Data:
    """Return runs as arrays; each run must have a case."""
    return Data(
        jobs_of([run.case for run in measured if run.case is not None]),
        np.log([run.time for run in measured]),
        np.array([run.source for run in measured]),
        np.array([run.kind for run in measured]),
    )


def log_times(scores: Array, jobs: Job) -> Array:
    """Return ln(predicted time [s]), shape (jobs,), for standard scores of the parameters."""
    with np.errstate(divide="ignore", invalid="ignore"):  # divisions by the number of experts, which may be 0
        return np.asarray(np.log(step_of(jobs, named(scores)).iteration_time))


class Tangent(NamedTuple):
    """The model, linearised at given parameters."""

    at: Array
    """Standard scores of the parameters, shape (parameters,)."""
    logs: Array
    """ln(predicted time [s]) there, shape (runs,)."""
    slopes: Array
    """Slopes by standard scores, shape (runs, parameters)."""

    def rows(self, which: Flags) -> Tangent:
        """Return the selected runs."""
        return Tangent(self.at, self.logs[which], self.slopes[which])


def tangent(scores: Array, jobs: Job) -> Tangent:
    """Return the model linearised at standard scores of the parameters, by finite differences."""
    now = log_times(scores, jobs)
    moved = [log_times(scores + STEP * unit, jobs) for unit in np.eye(len(scores))]
    return Tangent(scores, now, (np.stack(moved, axis=1) - now[:, None]) / STEP)


def weights(data: Data) -> Array:
    """Return the weight of each run, shape (runs,): those of a source sum to at most ``SOURCE_ROWS``."""
    each = np.minimum(1.0, SOURCE_ROWS / rows_of_source(data.sources))
    return np.asarray(each * np.where(data.kinds == "experts", EXPERTS_WEIGHT, 1.0))


def solved(near: Tangent, data: Data, weight: Array, drawn_to: Array) -> Array:
    """Return the standard scores with which a linearised model fits measured times best.

    Parameters
    ----------
    near : linearised model of the runs
    data : measured runs
    weight : of each run
    drawn_to : prior means of the standard scores
    """
    one = np.ones(len(PARAMETERS))
    return least_squares(
        lambda scores: (near.logs + near.slopes @ (scores - near.at), near.slopes),
        data.logs,
        weight,
        drawn_to,
        one,
        noise=NOISE,
        robust=NOISE,
        start=near.at,
        longest_step=1.0,
        iterations=30,
        converged=1e-3,
    )


PRIORS: Array = np.zeros(len(PARAMETERS))
"""Standard scores of the prior means: all 0."""


def fit(data: Data, drawn_to: Array = PRIORS) -> Array:
    """Return the standard scores of the parameters that fit measured times best.

    Parameters
    ----------
    data : measured runs
    drawn_to : prior means of the standard scores, shape (parameters,)
    """
    scores, weight = drawn_to, weights(data)
    for _ in range(ROUNDS):
        scores = solved(tangent(scores, data.jobs), data, weight, drawn_to)
    return scores


def left_out(
    data: Data,
    scores: Array,
    learned: Flags | None = None,
    groups: Names | None = None,
    drawn_to: Array = PRIORS,
) -> Array:
    """Return ln(time [s]) of each run by a fit to the other sources, shape (runs,).

    Each such fit is linear around the fit to all, which changes predictions by at most 0.2 %.

    Parameters
    ----------
    data : measured runs
    scores : standard scores of the fit to all learned runs, at which the model is linearised
    learned : which runs fits learn from, shape (runs,); all by default
    groups : group with which each run is left out, shape (runs,); its source by default
    drawn_to : as in ``fit``
    """
    groups = data.sources if groups is None else groups
    usable = np.ones(len(data.logs), dtype=bool) if learned is None else learned
    near, result, weight = tangent(scores, data.jobs), np.empty_like(data.logs), np.zeros_like(data.logs)
    weight[usable] = weights(data.rows(usable))
    for group in np.unique(groups):
        out = groups == group
        seen = ~out & usable
        by_others = solved(near.rows(seen), data.rows(seen), weight[seen], drawn_to)
        result[out] = log_times(by_others, rows(data.jobs, out))
    return result


MOVED = 0.3
"""Largest change of a standard score that a fit may make from where the model was linearised."""


def fit_near(near: Tangent, data: Data, drawn_to: Array = PRIORS) -> Array:
    """Return the standard scores of a fit to a part of the runs, from the model linearised at another fit.

    The model is linearised again whenever a score changes by more than ``MOVED``.

    Parameters
    ----------
    near : model of these runs, linearised at a fit to more runs
    data : runs to learn from
    drawn_to : as in ``fit``
    """
    weight = weights(data)
    for _ in range(ROUNDS):
        scores = solved(near, data, weight, drawn_to)
        if np.abs(scores - near.at).max() <= MOVED:
            break
        near = tangent(scores, data.jobs)
    return scores


def spreads(data: Data, logs: Array, without: str | None = None) -> dict[str, float]:
    """Return the standard deviation of ln(measured / predicted) by class, every source with the same weight.

    A class with fewer than ``LEAST_SOURCES`` sources has that of all runs.

    Parameters
    ----------
    data : measured runs
    logs : ln(time [s]) of each by a fit without its source
    without : a source whose runs must not be used
    """
    result = {}
    for kind in np.unique(data.kinds).tolist():
        seen = (data.kinds == kind) & (data.sources != without)
        if len(np.unique(data.sources[seen])) < LEAST_SOURCES:
            seen = data.sources != without
        result[kind] = covering(np.abs(logs - data.logs)[seen], data.sources[seen])
    return result


def spread_between(data: Data, logs: Array, groups: Names) -> float:
    """Return the standard deviation of the error of unseen groups: the root mean square of their mean errors.

    Parameters
    ----------
    data : measured runs
    logs : ln(time [s]) of each by a fit without its group
    groups : accelerator or software of each run; within a group every source has the same weight
    """
    misses = data.logs - logs

    def mean(group: str) -> float:
        of = groups == group
        return float(np.mean([misses[of & (data.sources == each)].mean() for each in set(data.sources[of])]))

    return math.hypot(*map(mean, set(groups.tolist()))) / math.sqrt(len(set(groups.tolist())))


def learned_from(measured: Sequence[TransformerRun]) -> list[TransformerRun]:
    """Return the runs that a fit learns from: those of trust A and B that have a case."""
    return [run for run in measured if run.case is not None and run.trust in TRUSTED]
