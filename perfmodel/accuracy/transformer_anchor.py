"""A measured run of the same network and source as what another is predicted from, shrunk as was learned."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perfmodel.accuracy.runs import TRUSTED
from perfmodel.accuracy.transformer_rows import TransformerRun
from perfmodel.transformers.anchor import OTHER, REACH, SAME, Place, distance, place_of, weight
from perfmodel.transformers.job import Job, jobs_of
from perfmodel.transformers.parameters import PARAMETERS
from perfmodel.transformers.step import step_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]
    Pairs = Mapping[str, Mapping[str, Array]]
    """By kind of anchor, then by source: mean error of the pairs of runs, shape (reaches, shares)."""

REACHES = np.geomspace(0.25, 16.0, 13)
"""Distances at which 1/e of an anchor's share is left, of which one is learned."""
SHARES = np.linspace(0.0, 1.0, 41)
"""Shares of an anchor's miss at no distance, of which one is learned for each kind."""
STEP_OF_DISTANCE = 0.01
"""Of a step, spent otherwise, that one unit of distance counts for where an anchor is chosen (assumed)."""


class Anchor(NamedTuple):
    """The run that another is anchored on."""

    row: int
    kind: str
    """``SAME`` or ``OTHER``."""
    apart: float
    """Distance of the two."""


class Group(NamedTuple):
    """Runs of one network and source, and each run's distance to each."""

    rows: list[int]
    apart: Array
    """Shape (rows, rows)."""
    is_same: NDArray[np.bool_]
    """Whether two are of one machine and precision, shape (rows, rows)."""


def groups_of(runs: Sequence[TransformerRun]) -> dict[str, list[Group]]:
    """Return the groups of each source."""
    members: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row, run in enumerate(runs):
        if run.case is not None and not math.isnan(run.time):
            members[run.source, run.workload].append(row)
    result: dict[str, list[Group]] = defaultdict(list)
    for (source, _), rows in members.items():
        cases = [case for row in rows if (case := runs[row].case) is not None]
        places = np.array([place_of(case.layout, case.sequence_length) for case in cases])
        machines = np.array([f"{runs[row].accelerator} {runs[row].precision}" for row in rows])
        apart = np.array(distance(Place(*places.T[:, :, None]), Place(*places.T[:, None, :])))
        result[source].append(Group(rows, apart, machines[:, None] == machines))
    return result


def anchors_of(runs: Sequence[TransformerRun], given: NDArray[np.bool_] | None = None) -> list[Anchor | None]:
    """Return for each run the most alike other of its source and network; None for one that stands alone.

    What the model misses is missed by its terms, so that a run tells most of another whose step is made of
    the same shares of them.  A run on the same accelerator in the same precision is more alike than any
    other; one of trust C anchors none that is better.

    Parameters
    ----------
    runs : measured
    given : which of them may anchor others, shape (runs,); all by default
    """
    shares = _shares(runs)
    result: list[Anchor | None] = [None] * len(runs)
    for group in (each for of_source in groups_of(runs).values() for each in of_source):
        unsure = np.array([runs[row].trust not in TRUSTED for row in group.rows])
        of_group = np.array([shares[row] for row in group.rows])
        for place, row in enumerate(group.rows):
            unlike = term_distance(of_group, of_group[place]) + STEP_OF_DISTANCE * group.apart[place]
            ranked = unlike + np.where(group.is_same[place], 0.0, 1e3)
            if not unsure[place]:
                ranked[unsure] = np.inf
            ranked[place] = np.inf
            if given is not None:
                ranked[~given[group.rows]] = np.inf
            best = int(np.argmin(ranked))
            if np.isfinite(ranked[best]):
                kind = SAME if group.is_same[place, best] else OTHER
                result[row] = Anchor(group.rows[best], kind, float(group.apart[place, best]))
    return result


def _shares(runs: Sequence[TransformerRun]) -> dict[int, Array]:
    """Return the shares of the terms of each run that has a case, by its row."""
    cases = {row: case for row, run in enumerate(runs) if (case := run.case) is not None}
    return dict(zip(cases, term_shares(jobs_of([*cases.values()])), strict=True)) if cases else {}


def term_shares(jobs: Job) -> Array:
    """Return what each term takes of the steps of some jobs, shape (jobs, terms).

    By the priors of the parameters, which no measured run moved.
    """
    priors = {name: prior.mean for name, prior in PARAMETERS.items()}
    with np.errstate(divide="ignore", invalid="ignore"):  # of experts, where there are none
        step = step_of(jobs, priors)
        whole = np.asarray(step.iteration_time)
        return np.stack([np.broadcast_to(term, whole.shape) / whole for term in step], axis=1)


def term_distance(one: Array, other: Array) -> Array:
    """Return the part of a step that two runs spend otherwise, of shares of terms on the last axis."""
    return np.asarray(0.5 * np.abs(one - other).sum(axis=-1))


def pairs_of(runs: Sequence[TransformerRun], misses: Array) -> Pairs:
    """Return how far all pairs of runs of a network and source miss each other, by reach and share.

    Parameters
    ----------
    runs : measured
    misses : ln(measured / predicted) of each, shape (runs,)
    """
    result: dict[str, dict[str, Array]] = {SAME: {}, OTHER: {}}
    for source, groups in groups_of(runs).items():
        for kind, of_sources in result.items():
            count, left_over = 0, np.zeros((len(REACHES), len(SHARES)))
            for group in groups:
                which = group.is_same == (kind == SAME)
                np.fill_diagonal(which, False)
                run, anchor = np.nonzero(which)
                count += len(run)
                of_run, of_anchor = misses[group.rows][run], misses[group.rows][anchor]
                for place, reach in enumerate(REACHES):
                    reached = of_anchor * np.exp(-group.apart[which] / reach)
                    left_over[place] += [float(np.abs(of_run - share * reached).sum()) for share in SHARES]
            if count:
                of_sources[source] = left_over / count
    return result


def anchor_weights(pairs: Pairs, without: str | None = None) -> dict[str, float]:
    """Return share by kind and the reach of anchors: least errors over all pairs, every source alike.

    Sizes of errors, not their squares: a run that is missed twofold has mostly a reason of its own.

    Parameters
    ----------
    pairs : of all sources
    without : a source that must not be looked at
    """
    by_kind = {
        kind: sum(
            (each for source, each in sources.items() if source != without),
            np.zeros((len(REACHES), len(SHARES))),
        )
        for kind, sources in pairs.items()
    }
    best = int(np.argmin(sum(each.min(axis=1) for each in by_kind.values())))
    shares = {kind: float(SHARES[np.argmin(each[best])]) for kind, each in by_kind.items()}
    return shares | {REACH: float(REACHES[best])}


def anchored_logs(
    anchors: Sequence[Anchor | None], logs: Array, misses: Array, weights: Mapping[str, float]
) -> Array:
    """Return the logarithm of predicted times moved by a share of what the anchor was missed by [s].

    Parameters
    ----------
    anchors : of each run
    logs : of its predicted time, shape (runs,)
    misses : ln(measured / predicted), shape (runs,)
    weights : share by kind, and reach
    """
    moved = [
        0.0 if each is None else weight(each.kind, each.apart, weights) * misses[each.row] for each in anchors
    ]
    return np.asarray(logs + np.array(moved))
