"""A measured run of the same network and source as what another is predicted from, shrunk as was learned."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perfmodel.accuracy.runs import TRUSTED
from perfmodel.accuracy.transformer_rows import TransformerRun
from perfmodel.transformers.anchor import OTHER, REACH, SAME, Place, distance, place_of, weight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

REACHES = np.geomspace(0.25, 16.0, 25)
"""Distances at which 1/e of an anchor's share is left, of which one is learned."""


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


def anchors_of(runs: Sequence[TransformerRun]) -> list[Anchor | None]:
    """Return for each run the nearest other of its source and network; None for one that stands alone.

    A run on the same accelerator in the same precision is nearer than any other; one of trust C anchors none
    that is better.
    """
    result: list[Anchor | None] = [None] * len(runs)
    for group in (each for of_source in groups_of(runs).values() for each in of_source):
        unsure = np.array([runs[row].trust not in TRUSTED for row in group.rows])
        ranked = group.apart + np.where(group.is_same, 0.0, 1e3)
        ranked[~unsure[:, None] & unsure] = np.inf
        np.fill_diagonal(ranked, np.inf)
        for place, row in enumerate(group.rows):
            best = int(np.argmin(ranked[place]))
            if np.isfinite(ranked[place, best]):
                kind = SAME if group.is_same[place, best] else OTHER
                result[row] = Anchor(group.rows[best], kind, float(group.apart[place, best]))
    return result


class Shared(NamedTuple):
    """Means over the pairs of one source, by reach: shape (reaches,)."""

    both: Array
    """Product of the two misses, as far as the anchor reaches."""
    own: Array
    """Square of the anchor's, likewise."""


Pairs = Mapping[str, Mapping[str, Shared]]
"""By kind of anchor, then by source."""


def pairs_of(runs: Sequence[TransformerRun], misses: Array) -> Pairs:
    """Return what the misses of all pairs of runs of a network and source have in common.

    Parameters
    ----------
    runs : measured
    misses : ln(measured / predicted) of each, shape (runs,)
    """
    result: dict[str, dict[str, Shared]] = {SAME: {}, OTHER: {}}
    for source, groups in groups_of(runs).items():
        for kind, of_sources in result.items():
            count, both, own = 0, np.zeros(len(REACHES)), np.zeros(len(REACHES))
            for group in groups:
                which = (group.is_same if kind == SAME else ~group.is_same) & ~np.eye(
                    len(group.rows), dtype=bool
                )
                run, anchor = np.nonzero(which)
                at = misses[group.rows]
                count += len(run)
                for place, reach in enumerate(REACHES):
                    left = np.exp(-group.apart[which] / reach)
                    both[place] += float(np.sum(at[run] * at[anchor] * left))
                    own[place] += float(np.sum((at[anchor] * left) ** 2))
            if count:
                of_sources[source] = Shared(both / count, own / count)
    return result


def anchor_weights(pairs: Pairs, without: str | None = None) -> dict[str, float]:
    """Return share by kind and the reach of anchors: least squares over all pairs, every source alike.

    Parameters
    ----------
    pairs : of all sources
    without : a source that must not be looked at
    """
    gain, shares = np.zeros(len(REACHES)), {}
    for kind, sources in pairs.items():
        seen = [each for source, each in sources.items() if source != without]
        both, own = (sum((each[part] for each in seen), np.zeros(len(REACHES))) for part in (0, 1))
        shares[kind] = np.clip(both / np.where(own > 0, own, 1.0), 0.0, 1.0)
        gain += 2 * shares[kind] * both - shares[kind] ** 2 * own
    best = int(np.argmax(gain))
    return {kind: float(share[best]) for kind, share in shares.items()} | {REACH: float(REACHES[best])}


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
