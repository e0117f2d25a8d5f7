"""Compare ranks: waits in the same collective, and what of the spread of their steps is independent.

The shortest time of a collective on any rank is the transfer, the rest is waiting.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from perfmodel.evidence.traces.device_trace import Collective, DeviceTrace, length, overlap

UNEVEN = ("all-to-all", "send-receive")
"""Collectives whose size may differ by rank."""
STRAGGLES = 1.5
"""Ratio to the mean waiting time over ranks above which a rank is a straggler."""
NOTICED = 0.02
"""Share of a rank's computation that the others must wait for it to be a straggler."""
_Key = tuple[str, float | None, int | None]


def over_ranks(traces: Sequence[DeviceTrace]) -> list[dict[str, Any]]:
    """Return each collective that all ranks recorded, with its transfer time and waiting times [s].

    Ranks run the same collectives in the same order, but recordings begin and end at different times, and
    groups of ranks alternate.  So the n-th collective of a type, size and group size on one rank is matched
    with the n-th on the others; those that some rank lacks are left out.
    """
    ranks = [trace for trace in traces if trace.collectives]
    if len(ranks) < 2:
        return []
    names = _names(ranks)
    numbered = [_numbered(trace.collectives) for trace in ranks]
    rows = []
    for index, key in enumerate(numbered[0]):
        if not all(key in other for other in numbered):
            continue
        members = [own[key] for own in numbered]
        wire = min(member.duration for member in members)
        rows.append(
            {
                "index": index,
                "collective": members[0].kind,
                "message_bytes": members[0].message_bytes,
                "wire_time": wire,
                "waiting_time": {
                    name: member.duration - wire for name, member in zip(names, members, strict=True)
                },
            }
        )
    return rows


def by_rank(traces: Sequence[DeviceTrace], rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the times of each rank, and which of them are stragglers; empty for a single rank.

    Parameters
    ----------
    traces : of one job
    rows : from ``over_ranks``

    Returns
    -------
    a row for each rank with times [s] of the whole file: ``compute_time``, ``overlap_time``,
    ``transfer_time`` (of the collectives of ``rows``, without waiting), ``waiting_time``; ``last_in``: number
    of collectives in which this rank was the last; ``waited_for``: time that the others waited for it, their
    mean; ``straggler``: whether that exceeds ``STRAGGLES`` times the mean over ranks and ``NOTICED`` of the
    computation
    """
    ranks = [trace for trace in traces if trace.collectives]
    if not rows:
        return []
    result = []
    for name, trace in zip(_names(ranks), ranks, strict=True):
        last = [row for row in rows if _last(row) == name]
        waited_for = sum(sum(row["waiting_time"].values()) for row in last) / (len(ranks) - 1)
        result.append(
            {
                "rank": name,
                "compute_time": length(trace.compute),
                "overlap_time": overlap(trace.compute, trace.communication),
                "transfer_time": sum(row["wire_time"] for row in rows),
                "waiting_time": sum(row["waiting_time"][name] for row in rows),
                "last_in": len(last),
                "waited_for": waited_for,
            }
        )
    fair = sum(row["waited_for"] for row in result) / len(result)
    for row in result:
        row["straggler"] = row["waited_for"] > max(STRAGGLES * fair, NOTICED * row["compute_time"])
    return result


class StepSpread(NamedTuple):
    """How step times of several ranks spread, as standard deviations over the mean [1]."""

    independent: float
    """Of each rank on its own: a job waits for the slowest."""
    shared: float
    """Of all ranks alike: it costs no wait."""


def spread_over_ranks(times: Sequence[Sequence[float]]) -> StepSpread:
    """Return what is independent and what is shared in the spread of step times.

    What ranks share shows in the covariance of two ranks over steps, here its mean over all pairs.  A rank
    that is slower in every step moves neither.

    Parameters
    ----------
    times : of the same steps of each rank [s], shape (ranks, steps), at least two of each

    Examples
    --------
    Both ranks are slower in the second step, and by turns in the third and fourth.

    >>> spread = spread_over_ranks([[1.0, 1.4, 1.3, 1.1], [1.0, 1.4, 1.1, 1.3]])
    >>> round(spread.independent, 3), round(spread.shared, 3)
    (0.096, 0.118)
    """
    table = np.asarray(times, dtype=float)
    table = table / table.mean(axis=1, keepdims=True)
    covariance = np.atleast_2d(np.cov(table))
    ranks = len(table)
    own = float(np.trace(covariance)) / ranks
    shared = (float(covariance.sum()) - ranks * own) / (ranks * (ranks - 1))
    shared = min(max(shared, 0.0), own)
    return StepSpread(math.sqrt(own - shared), math.sqrt(shared))


def _last(row: dict[str, Any]) -> str:
    """Return the rank that waited least, which was the last to arrive."""
    waits: dict[str, float] = row["waiting_time"]
    return min(waits, key=lambda name: waits[name])


def _numbered(result: Sequence[Collective]) -> dict[tuple[_Key, int], Collective]:
    """Return collectives by type, size and group size, and the number of such ones before."""
    before: defaultdict[_Key, int] = defaultdict(int)
    numbered = {}
    for one in result:
        key = (one.kind, None if one.kind in UNEVEN else one.message_bytes, one.group_size)
        numbered[key, before[key]] = one
        before[key] += 1
    return numbered


def _names(ranks: Sequence[DeviceTrace]) -> list[str]:
    """Return a unique name for each trace: its rank, or else its device or file."""
    files = [trace.file.rsplit("/", 1)[-1] for trace in ranks]
    for names in (
        [str(trace.rank) for trace in ranks if trace.rank is not None],
        [str(trace.device) for trace in ranks],
        files,
        [f"{file} device {trace.device}" for file, trace in zip(files, ranks, strict=True)],
    ):
        if len(names) == len(ranks) and max(Counter(names).values()) == 1:
            return names
    return [f"{file} #{index}" for index, file in enumerate(files)]
