"""The same collective on every rank: the least time is the transfer, the rest waiting for the last peer."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from perfmodel.evidence.traces.device_trace import Collective, DeviceTrace, length, overlap

UNEVEN = ("all-to-all", "send-receive")
"""Collectives whose size may differ by rank."""
STRAGGLES = 1.5
"""Times a fair share of what ranks are waited for, from which one is named."""
NOTICED = 0.02
"""Share of its computation for which a rank must be waited for to be named."""
_Key = tuple[str, float | None, int | None]


def over_ranks(traces: Sequence[DeviceTrace]) -> list[dict[str, Any]]:
    """Return each collective that all ranks have, in the order of the first.

    Ranks run the same collectives in the same order, but files begin and end where they like, and several
    groups of ranks may take turns: the n-th of a kind, size and group on one rank is the n-th of it on the
    others.  Those that not every rank has as often are left out.
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
    """Return what each rank did, and who of them is waited for; empty for one rank.

    Parameters
    ----------
    traces : of one job
    rows : of ``over_ranks``

    Returns
    -------
    a row for each rank with times [s] of the whole file: ``compute_time``, ``overlap_time``,
    ``transfer_time`` (of the messages of ``rows``, without waiting), ``waiting_time``; ``last_in``: messages
    the others waited for this rank in; ``waited_for``: mean over the others of what they waited for it;
    ``straggler``: whether that is more than a fair share, and more than ``NOTICED`` of the computation
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


def _last(row: dict[str, Any]) -> str:
    """The rank that waits least: it came last."""
    waits: dict[str, float] = row["waiting_time"]
    return min(waits, key=lambda name: waits[name])


def _numbered(result: Sequence[Collective]) -> dict[tuple[_Key, int], Collective]:
    """Collectives by what they are, and how many of that there were before."""
    before: defaultdict[_Key, int] = defaultdict(int)
    numbered = {}
    for one in result:
        key = (one.kind, None if one.kind in UNEVEN else one.message_bytes, one.group_size)
        numbered[key, before[key]] = one
        before[key] += 1
    return numbered


def _names(ranks: Sequence[DeviceTrace]) -> list[str]:
    """Name each by its rank, or by its device or file where ranks are not unique."""
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
