"""Errors of transformer runs of one source, and predictions that start from the most similar other run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core.arrays import Array, Flags
from perfmodel.evidence.accuracy.training_rows import TRUSTED
from perfmodel.evidence.accuracy.transformers.transformer_rows import TransformerRun
from perfmodel.model.transformers.job import rows as rows_of
from perfmodel.model.transformers.job import stacked
from perfmodel.model.transformers.levels import Levels, Traits, apart, conditioned


class Source(NamedTuple):
    """Errors of the rows of one source, and how similar the rows are to each other."""

    name: str
    is_new: bool
    """Whether the rows are entries of the ledger."""
    ids: tuple[str, ...]
    misses: Array
    """ln(measured / predicted), shape (rows,)."""
    spreads: Array
    """Standard deviations of the errors if no own run is given, shape (rows,)."""
    apart: dict[str, Array]
    """Distance between rows by each of ``DISTANCES``, shape (rows, rows)."""
    is_same_network: Array
    """Shape (rows, rows)."""

    def covariance(self, levels: Levels, of_source: Any) -> Array:
        """Return the covariance of the errors, shape (rows, rows).

        Parameters
        ----------
        levels : standard deviations of the parts of an error
        of_source : standard deviation of the part that all rows share, scalar or shape (rows,)
        """
        source = of_source * np.broadcast_to(of_source, len(self.misses))[:, None]
        rest = levels.rest**2 * np.eye(len(self.misses))
        return np.asarray(levels.shared(source, self.is_same_network, self.apart) + rest)


def source_of(
    name: str, is_new: bool, runs: Sequence[TransformerRun], misses: Array, spreads: Array
) -> Source:
    """Return the runs of a source, each of which must have a case, as arrays.

    Parameters
    ----------
    name : of the source
    is_new : whether the rows are entries of the ledger
    runs : measured runs
    misses : ln(measured / predicted), shape (runs,)
    spreads : standard deviations of the errors if no own run is given, shape (runs,)
    """
    traits: Traits = stacked([traits_of(run) for run in runs])
    one: Traits = rows_of(traits, (slice(None), None))
    same = np.asarray(one.network == traits.network, float)
    ids = tuple(run.run_id for run in runs)
    return Source(name, is_new, ids, misses, spreads, apart(one, traits), same)


def traits_of(run: TransformerRun) -> Traits:
    """Return the traits by which a published run, which must have a case, is compared with other runs."""
    case = run.case
    assert case is not None
    software = f"{run.framework} {run.year}"
    return Traits(run.workload, run.accelerator, run.precision, software, case.layout, case.sequence_length)


class Anchored(NamedTuple):
    """Corrections of predicted runs by the most similar run of the same network and source; shape (runs,)."""

    shifts: Array
    """Added to the logarithm of the predicted time."""
    spreads: Array
    """Standard deviation of the error that is left."""
    is_anchored: Flags
    """Whether there is another run to start from."""


def anchored(
    runs: Sequence[TransformerRun], misses: Array, spreads: Array, levels: dict[str, Levels]
) -> Anchored:
    """Correct each prediction by the error of the most similar other run of the same network and source.

    A run of trust A or B never starts from one of lower trust.

    Parameters
    ----------
    runs : measured, each with a case
    misses : ln(measured / predicted) without a correction, shape (runs,)
    spreads : standard deviations of those errors, shape (runs,)
    levels : standard deviations of the parts of an error, by source
    """
    result = Anchored(np.zeros(len(runs)), np.array(spreads), np.zeros(len(runs), dtype=bool))
    unsure = np.array([run.trust not in TRUSTED for run in runs])
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for place, run in enumerate(runs):
        groups[run.source, run.workload].append(place)
    for (name, _), of in groups.items():
        if len(of) == 1:
            continue
        known = levels[name]
        each = source_of(name, False, [runs[n] for n in of], misses[of], result.spreads[of])
        matrix = each.covariance(known, known.of_source(each.spreads))
        doubted = unsure[of] & ~unsure[of][:, None]  # anchors nothing better
        alike = np.where(doubted, -np.inf, matrix)
        np.fill_diagonal(alike, -np.inf)
        nearest = alike.argmax(axis=1)
        able = np.isfinite(alike.max(axis=1))
        variances, own = np.diag(matrix), matrix[np.arange(len(of)), nearest]
        among = variances[nearest][:, None, None]
        shift, left = conditioned(variances, own[:, None], among, each.misses[nearest][:, None])
        result.shifts[of] = np.where(able, shift, 0.0)
        result.spreads[of] = np.where(able, np.sqrt(left), each.spreads)
        result.is_anchored[of] = able
    return result
