"""Summarise traces: parts of a step, collectives, memory, and waiting times between ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from perfmodel.core.errors import refusal
from perfmodel.equations import bandwidths
from perfmodel.evidence.traces.activity import filling, shares
from perfmodel.evidence.traces.device_trace import (
    Collective,
    DeviceTrace,
    intervals,
    length,
    overlap,
    union,
    within,
)
from perfmodel.evidence.traces.over_ranks import by_rank, over_ranks
from perfmodel.model.step.terms import TERMS

if TYPE_CHECKING:
    from numpy.typing import NDArray

PARTS = {
    "compute_time": "computation",
    "exposed_communication_time": "exposed communication",
    "hidden_communication_time": "hidden communication",
    "input_time": "waiting for input",
    "copy_time": "copies to the device",
    "idle_time": "idle",
}
"""Keys of ``per_step`` in words."""
INPUT_SHARE = 0.10
"""Share of a step spent waiting for samples above which input is the bottleneck."""
BUSY_SHARE = 0.90
"""Utilisation from which computation is the bottleneck."""
EXPOSED_SHARE = 0.20
"""Share of a step in exposed communication above which communication can be the bottleneck."""
MOST_RANGES = 200
"""Largest number of ranges of a file that are returned; the shortest are left out."""
BUS_KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "reduce")


def summary(traces: Sequence[DeviceTrace], skip: int = 0, names: Sequence[str] = ()) -> dict[str, Any]:
    """Return the summary of traces as a dictionary for JSON.

    ``totals`` and ``collectives`` cover the whole file, or what follows the skipped steps.  ``per_step``,
    ``passes``, ``shares``, utilisation, efficiency and verdict cover the time from the first to the last
    marked step, if steps are marked.

    Parameters
    ----------
    traces : of one job, one or several ranks
    skip : number of marked steps to leave out at the beginning, such as warm-up
    names : ids of accelerators for files that do not name them, by device or one for all

    Raises
    ------
    InputError : all marked steps are to be left out
    """
    devices = [_device(trace, skip, names) for trace in traces]
    collectives = over_ranks(traces)
    return {
        "devices": devices,
        "collectives": collectives,
        "ranks": by_rank(traces, collectives),
        "ranges": _ranges(traces),
    }


def _ranges(traces: Sequence[DeviceTrace]) -> list[dict[str, Any]]:
    """Return the marked ranges of each file, by descending time on the device."""
    files = {trace.file: trace.activity.ranges for trace in traces if trace.activity is not None}
    return [
        {"file": file.rsplit("/", 1)[-1], **one._asdict()}
        for file, ranges in files.items()
        for one in ranges[:MOST_RANGES]
    ]


def kept_steps(trace: DeviceTrace, skip: int) -> NDArray[np.float64]:
    """Return the marked steps without the first ``skip``; InputError if none is left."""
    if skip and 0 < len(trace.steps) <= skip:
        raise refusal("trace.skip_steps", skip=skip, count=len(trace.steps)).under(trace.file)
    return trace.steps[skip:]


def _device(trace: DeviceTrace, skip: int, names: Sequence[str]) -> dict[str, Any]:
    """Return the summary of one device; parameters are those of ``summary``."""
    steps = kept_steps(trace, skip)
    first = float(steps[0, 0]) if skip and len(steps) else -np.inf
    compute = within(trace.compute, first, np.inf)
    file_wide = _Watched(trace, first, np.inf)
    marked = _Watched(trace, float(steps[0, 0]), float(steps[:, 1].max())) if len(steps) else file_wide
    durations = steps[:, 1] - steps[:, 0]
    iteration_time = float(np.median(durations)) if len(steps) else None
    step = _per_step(marked, len(steps), iteration_time, trace.marked)
    whole = marked.end - marked.start if len(steps) else file_wide.totals["span"]
    utilisation = min(1.0, marked.busy_time / whole) if whole > 0 else 0.0
    start, end = (marked.start, marked.end) if len(steps) else file_wide.busy
    filled = filling(trace.activity, start, end, utilisation)
    return {
        "file": trace.file.rsplit("/", 1)[-1],
        "device": trace.device,
        "accelerator": _named(trace, names),
        "rank": trace.rank,
        "world_size": trace.world_size,
        "steps": len(steps),
        "iteration_time": iteration_time,
        "totals": file_wide.totals,
        "per_step": step,
        "passes": marked.passes or None,
        "iteration_times": durations.tolist(),
        "iteration_time_cv": _spread(durations),
        "collectives": _collectives([c for c in trace.collectives if c.start >= first], compute),
        "utilisation": utilisation,
        "shares": shares(trace, start, end),
        "sm_efficiency": filled.sm_efficiency,
        "achieved_occupancy": filled.achieved_occupancy,
        "peak_memory": trace.peak_memory,
        "memory": trace.activity.held._asdict() if trace.activity and trace.activity.held else None,
        "verdict": _predicted_verdict(step)
        if step and trace.marked
        else _verdict(whole, marked.waited, marked.exposed, utilisation),
        "notes": [] if trace.marked else _notes(trace, utilisation),
    }


class _Watched:
    """Times of a device in a time window."""

    def __init__(self, trace: DeviceTrace, start: float, end: float) -> None:
        self.start, self.end = start, end
        compute, talk = within(trace.compute, start, end), within(trace.communication, start, end)
        busy = union(intervals([*map(tuple, compute.tolist()), *map(tuple, talk.tolist())]))
        waits = within(trace.input_waits, start, end)
        self.totals = {
            "span": float(busy[-1, 1] - busy[0, 0]) if len(busy) else 0.0,
            "compute_time": length(compute),
            "communication_time": length(talk),
            "overlap_time": overlap(compute, talk),
        }
        self.busy_time = length(busy)
        self.busy = (float(busy[0, 0]), float(busy[-1, 1])) if len(busy) else (0.0, 0.0)
        self.waited = length(waits) - overlap(waits, busy)
        self.copied = length(within(trace.copies, start, end))
        self.exposed = self.totals["communication_time"] - self.totals["overlap_time"]
        self.passes = {f"{name}_time": length(within(spans, start, end)) for name, spans in trace.passes}


def _spread(durations: NDArray[np.float64]) -> float | None:
    """Return the standard deviation of durations over their mean; None for fewer than two steps."""
    mean = float(durations.mean()) if len(durations) > 1 else 0.0
    return float(durations.std()) / mean if mean > 0 else None


def _named(trace: DeviceTrace, names: Sequence[str]) -> str | None:
    """Return the accelerator of a trace: as the file states it, else from ``names``."""
    if trace.accelerator is not None or not names:
        return trace.accelerator
    return names[trace.device] if trace.device < len(names) else names[-1]


def _per_step(
    watched: _Watched, steps: int, iteration_time: float | None, marked: Sequence[tuple[str, float]]
) -> dict[str, float] | None:
    """Return the parts of a step, means over the marked steps [s]; None without marked steps."""
    if not steps or iteration_time is None:
        return None
    result = {
        "compute_time": watched.totals["compute_time"] / steps,
        "exposed_communication_time": watched.exposed / steps,
        "hidden_communication_time": watched.totals["overlap_time"] / steps,
        "input_time": watched.waited / steps,
        "copy_time": watched.copied / steps,
    }
    used = result["compute_time"] + result["exposed_communication_time"] + result["input_time"]
    result["idle_time"] = max(0.0, iteration_time - used)
    for name, time in marked:
        result[name] = result.get(name, 0.0) + time / steps
    return result


def _predicted_verdict(step: dict[str, float]) -> str:
    """Return the verdict of a predicted timeline: its largest term."""
    slowed = step.get("contention_time", 0.0)
    shares = {
        "compute-bound": step["compute_time"] - slowed,
        "host-bound": sum(step.get(name, 0.0) for name, term in TERMS.items() if term.kind == "host"),
        "communication-bound": step["exposed_communication_time"] + slowed,
        "input-bound": step["input_time"],
        "straggler-bound": step.get("straggler_time", 0.0),
    }
    return max(shares, key=lambda name: shares[name])


def _verdict(whole: float, waited: float, exposed: float, utilisation: float) -> str:
    """Return the bottleneck, in the words of a prediction's verdict.

    Parameters
    ----------
    whole : length of the window [s]
    waited : time waiting for samples [s]
    exposed : time of exposed communication [s]
    utilisation : share of the time in which a kernel ran
    """
    if whole and waited / whole > INPUT_SHARE:
        return "input-bound"
    if whole and exposed / whole > EXPOSED_SHARE and exposed / whole > 1 - utilisation:
        return "communication-bound"
    return "compute-bound" if utilisation >= BUSY_SHARE else "host-bound"


def _notes(trace: DeviceTrace, utilisation: float) -> list[str]:
    """Return caveats on a trace in words."""
    notes = []
    if utilisation < 0.5 and len(trace.steps):
        notes.append(
            "host gaps dominate the step; a profiler slows the host"
            + (", all the more with call stacks recorded" if trace.stacks else "")
            + ": compare the accelerator's busy time, not the step"
        )
    if any(c.message_bytes is None for c in trace.collectives):
        notes.append("the file does not say how large its messages are")
    if len(trace.collectives) and trace.world_size != 1:
        notes.append(
            "a collective's time contains the wait for its last peer; the least over ranks is the wire's"
        )
    return notes


def _collectives(result: Sequence[Collective], compute: Any) -> list[dict[str, Any]]:
    """Return a row for each type, size, algorithm and protocol of collectives, by descending total time."""
    groups: defaultdict[tuple[Any, ...], list[Collective]] = defaultdict(list)
    for one in result:
        groups[(one.kind, one.message_bytes, one.dtype, one.group_size, one.algorithm, one.protocol)].append(
            one
        )
    rows = []
    for (kind, size, dtype, group_size, algorithm, protocol), members in groups.items():
        times = [member.duration for member in members]
        spans = intervals((member.start, member.start + member.duration) for member in members)
        rows.append(
            {
                "collective": kind,
                "message_bytes": size,
                "dtype": dtype,
                "group_size": group_size,
                "algorithm": algorithm,
                "protocol": protocol,
                "count": len(times),
                "time": median(times),
                "least_time": min(times),
                "total_time": sum(times),
                "overlap_time": overlap(spans, compute),
                "bus_bandwidth": bus_bandwidth(kind, size, group_size, median(times)),
            }
        )
    return sorted(rows, key=lambda row: -row["total_time"])


def bus_bandwidth(kind: str, size: float | None, group_size: int | None, time: float) -> float | None:
    """Return the bus bandwidth as nccl-tests defines it [B/s]; None if size or ranks are unknown."""
    if not size or not group_size or group_size < 2 or time <= 0:
        return None
    if kind not in BUS_KINDS:
        return None
    return float(bandwidths.bus_bandwidth(kind, size / time, group_size))
