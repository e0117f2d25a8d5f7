"""Errors of one source's runs of transformers, and what the most alike other run says of each."""

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
    """Errors of one source's rows."""

    name: str
    is_new: bool
    """Whether they are the ledger's."""
    ids: tuple[str, ...]
    misses: Array
    """ln(measured / predicted), shape (rows,)."""
    spreads: Array
    """Standard deviations that intervals stand for without any run given, shape (rows,)."""
    apart: dict[str, Array]
    """By each of ``DISTANCES``, shape (rows, rows)."""
    is_same_network: Array
    """Shape (rows, rows)."""

    def covariance(self, levels: Levels, of_source: Any) -> Array:
        """Return that of the errors, shape (rows, rows), by the deviation of the source's error."""
        source = of_source * np.broadcast_to(of_source, len(self.misses))[:, None]
        rest = levels.rest**2 * np.eye(len(self.misses))
        return np.asarray(levels.shared(source, self.is_same_network, self.apart) + rest)


def source_of(
    name: str, is_new: bool, runs: Sequence[TransformerRun], misses: Array, spreads: Array
) -> Source:
    """Return runs of a source, each with a case, as arrays."""
    traits: Traits = stacked([traits_of(run) for run in runs])
    one: Traits = rows_of(traits, (slice(None), None))
    same = np.asarray(one.network == traits.network, float)
    ids = tuple(run.run_id for run in runs)
    return Source(name, is_new, ids, misses, spreads, apart(one, traits), same)


def traits_of(run: TransformerRun) -> Traits:
    """Return the traits of a published run, which is never known to be the same as another."""
    case = run.case
    assert case is not None
    software = f"{run.framework} {run.year}"
    return Traits(run.workload, run.accelerator, run.precision, software, case.layout, case.sequence_length)


class Anchored(NamedTuple):
    """What is said of runs, each from the most alike other of its network and source; shape (runs,)."""

    shifts: Array
    """Of logarithms of predicted times."""
    spreads: Array
    is_anchored: Flags


def anchored(
    runs: Sequence[TransformerRun], misses: Array, spreads: Array, levels: dict[str, Levels]
) -> Anchored:
    """Predict each run from the most alike other one of its network and source.

    Parameters
    ----------
    runs : measured, each with a case
    misses, spreads : without any run given, shape (runs,)
    levels : by source
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
