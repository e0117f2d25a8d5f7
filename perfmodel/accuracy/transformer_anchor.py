"""A measured run of the same network and source as what another is predicted from, shrunk as was learned."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perfmodel.accuracy.runs import TRUSTED
from perfmodel.accuracy.transformer_rows import TransformerRun

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

NEAR = 1.0
"""Distance of runs of which little but the layout differs."""
KINDS = ("near", "far", "other machine or precision")
ELSEWHERE = KINDS.index("other machine or precision")


class Anchor(NamedTuple):
    """The run that another is anchored on."""

    row: int
    kind: str
    """Of ``KINDS``."""


def anchors_of(runs: Sequence[TransformerRun]) -> list[Anchor | None]:
    """Return for each run the nearest other of its source and network; None for one that stands alone.

    A run on the same accelerator in the same precision is nearer than any other; one of trust C anchors none
    that is better.
    """
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row, run in enumerate(runs):
        if run.case is not None and not math.isnan(run.time):
            groups[run.source, run.workload].append(row)
    result: list[Anchor | None] = [None] * len(runs)
    for group in groups.values():
        for row, anchor in zip(group, _nearest([runs[row] for row in group]), strict=True):
            result[row] = anchor and Anchor(group[anchor.row], anchor.kind)
    return result


def _nearest(runs: list[TransformerRun]) -> list[Anchor | None]:
    """Return the nearest other of each run of a group."""
    cases = [run.case for run in runs if run.case is not None]
    places = np.array(
        [
            (
                2 * math.log(case.layout.world_size),
                math.log(case.layout.micro_batch_size),
                math.log(case.sequence_length),
                math.log(case.layout.tensor_parallel),
                math.log(case.layout.pipeline_parallel),
            )
            for case in cases
        ]
    )
    machines = np.array([f"{run.accelerator} {run.precision}" for run in runs])
    unsure = np.array([run.trust not in TRUSTED for run in runs])
    anchors: list[Anchor | None] = []
    for row, place in enumerate(places):
        apart = 0.5 * np.abs(places - place).sum(axis=1)
        ranked = apart + np.where(machines == machines[row], 0.0, 1e3)
        if not unsure[row]:
            ranked[unsure] = np.inf
        ranked[row] = np.inf
        best = int(np.argmin(ranked))
        if not np.isfinite(ranked[best]):
            anchors.append(None)
            continue
        alike = 0 if apart[best] < NEAR else 1
        anchors.append(Anchor(best, KINDS[alike if machines[best] == machines[row] else ELSEWHERE]))
    return anchors


def anchor_weights(
    runs: Sequence[TransformerRun], misses: Array, without: str | None = None
) -> dict[str, float]:
    """Return by kind how much of an anchor's miss another run shares: least squares, every source alike.

    Parameters
    ----------
    runs : measured
    misses : ln(measured / predicted) of each, shape (runs,)
    without : a source that must not be looked at
    """
    anchors = anchors_of(runs)
    sums: dict[str, dict[str, list[float]]] = {kind: {} for kind in KINDS}
    for row, anchor in enumerate(anchors):
        if anchor is not None and runs[row].source != without:
            of_source = sums[anchor.kind].setdefault(runs[row].source, [0.0, 0.0, 0.0])
            of_source[0] += float(misses[row] * misses[anchor.row])
            of_source[1] += float(misses[anchor.row] ** 2)
            of_source[2] += 1.0
    result = {}
    for kind, sources in sums.items():
        shared = sum(both / count for both, _, count in sources.values())
        whole = sum(own / count for _, own, count in sources.values())
        result[kind] = min(max(shared / whole, 0.0), 1.0) if whole else 0.0
    return result


def anchored_logs(
    anchors: Sequence[Anchor | None], logs: Array, misses: Array, weights: Mapping[str, float]
) -> Array:
    """Return the logarithm of predicted times moved by a share of what the anchor was missed by [s].

    Parameters
    ----------
    anchors : of each run
    logs : of its predicted time, shape (runs,)
    misses : ln(measured / predicted), shape (runs,)
    weights : by the anchor's kind
    """
    moved = [0.0 if each is None else weights[each.kind] * misses[each.row] for each in anchors]
    return np.asarray(logs + np.array(moved))
