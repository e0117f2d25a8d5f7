"""Fit the model of transformers' steps to measured ones: to all, or to all but one source."""

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
"""Standard deviation of ln(measured / model) of a good row; one that is missed by more pulls no harder."""
SOURCE_ROWS = 10.0
"""That the rows of a source count for at most: sources differ by more than the rows of one."""
EXPERTS_WEIGHT = 0.4
"""Of a run with experts, whose dispatcher, capacity and balance no source states."""
STEP = 1e-3
"""Of a standard score, for differences."""
ROUNDS = 5
"""Of linearisation; the numbers move by less than a hundredth of a spread in the last."""
LEAST_SOURCES = 2


class Data(NamedTuple):
    """Measured runs as arrays, shape (runs,)."""

    jobs: Job
    logs: Array
    """Logarithm of the measured time [s]."""
    sources: Names
    kinds: Names
    """Classes of ``TransformerRun.kind``."""

    def rows(self, which: Any) -> Data:
        """Return some of the runs."""
        return Data(*(rows(column, which) for column in self))


def data_of(measured: Sequence[TransformerRun]) -> Data:
    """Return runs as arrays; each must have a case."""
    return Data(
        jobs_of([run.case for run in measured if run.case is not None]),
        np.log([run.time for run in measured]),
        np.array([run.source for run in measured]),
        np.array([run.kind for run in measured]),
    )


def log_times(scores: Array, jobs: Job) -> Array:
    """Logarithm of the predicted time [s], shape (jobs,), by parameters' standard scores."""
    with np.errstate(divide="ignore", invalid="ignore"):  # of experts, where there are none
        return np.asarray(np.log(step_of(jobs, named(scores)).iteration_time))


class Tangent(NamedTuple):
    """The model near some parameters."""

    at: Array
    logs: Array
    """Shape (runs,)."""
    slopes: Array
    """Shape (runs, parameters)."""

    def rows(self, which: Flags) -> Tangent:
        """Return some of the runs."""
        return Tangent(self.at, self.logs[which], self.slopes[which])


def tangent(scores: Array, jobs: Job) -> Tangent:
    """Return the model linearised at some parameters."""
    now = log_times(scores, jobs)
    moved = [log_times(scores + STEP * unit, jobs) for unit in np.eye(len(scores))]
    return Tangent(scores, now, (np.stack(moved, axis=1) - now[:, None]) / STEP)


def weights(data: Data) -> Array:
    """Return the weight of each run: no source counts for more than ``SOURCE_ROWS``."""
    each = np.minimum(1.0, SOURCE_ROWS / rows_of_source(data.sources))
    return np.asarray(each * np.where(data.kinds == "experts", EXPERTS_WEIGHT, 1.0))


def solved(near: Tangent, data: Data, weight: Array, drawn_to: Array) -> Array:
    """Return the standard scores nearest to measured times by a linearised model, drawn towards others."""
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
"""Standard scores of the means of all priors."""


def fit(data: Data, drawn_to: Array = PRIORS) -> Array:
    """Return the standard scores of the parameters nearest to the measured times.

    Parameters
    ----------
    drawn_to : standard scores that they are drawn towards, shape (parameters,)
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
    """Return the logarithm of each run's time by a fit to the other sources [s].

    Each such fit is linear around the fit to all, which moves what is said of a source by 0.2 % at most.

    Parameters
    ----------
    data : measured runs
    scores : of the fit to all that is learned from, around which each of the others is linear
    learned : which runs are learned from, shape (runs,); all by default
    groups : what each run is left out with, shape (runs,); its source by default
    drawn_to : as of ``fit``
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
"""Standard scores by which a fit may move from where the model was linearised."""


def fit_near(near: Tangent, data: Data, drawn_to: Array = PRIORS) -> Array:
    """Return the standard scores of a fit to some runs, from the model linearised at a fit to more of them.

    It is linearised anew where the fit leaves it by more than ``MOVED``, so that much may be left out.

    Parameters
    ----------
    near : of these runs
    data : runs to learn from
    drawn_to : as of ``fit``
    """
    weight = weights(data)
    for _ in range(ROUNDS):
        scores = solved(near, data, weight, drawn_to)
        if np.abs(scores - near.at).max() <= MOVED:
            break
        near = tangent(scores, data.jobs)
    return scores


def spreads(data: Data, logs: Array, without: str | None = None) -> dict[str, float]:
    """Return the standard deviation of ln(measured / predicted) by class, every source alike.

    Parameters
    ----------
    data : measured runs
    logs : what each is predicted to take, left out
    without : a source that must not be looked at
    """
    result = {}
    for kind in np.unique(data.kinds).tolist():
        seen = (data.kinds == kind) & (data.sources != without)
        if len(np.unique(data.sources[seen])) < LEAST_SOURCES:
            seen = data.sources != without
        result[kind] = covering(np.abs(logs - data.logs)[seen], data.sources[seen])
    return result


def spread_between(data: Data, logs: Array, groups: Names) -> float:
    """Return by how much groups are missed that no fit has seen: the root mean square of their means.

    Parameters
    ----------
    data : measured runs
    logs : what each is predicted to take, its group left out
    groups : of each run: its accelerator, or its software; every source of one alike
    """
    misses = data.logs - logs

    def mean(group: str) -> float:
        of = groups == group
        return float(np.mean([misses[of & (data.sources == each)].mean() for each in set(data.sources[of])]))

    return math.hypot(*map(mean, set(groups.tolist()))) / math.sqrt(len(set(groups.tolist())))


def learned_from(measured: Sequence[TransformerRun]) -> list[TransformerRun]:
    """Return the runs that a fit learns from: trusted ones that have a case."""
    return [run for run in measured if run.case is not None and run.trust in TRUSTED]
