"""Draw a predicted step as a Chrome trace, which Perfetto and chrome://tracing open.

It has a row of streams for every rank or, for a pipeline, for every stage, with the passes of its
micro-batches.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfmodel.core.errors import refusal
from perfmodel.core.files.writing import write_whole
from perfmodel.core.units import without_rounding
from perfmodel.model.prediction.result import Prediction
from perfmodel.model.step.terms import TERMS, of_kind, sent

if TYPE_CHECKING:
    from perfmodel.model.transformers.pipeline import Pipeline
    from perfmodel.model.transformers.schedule import Schedule

MICROSECOND = 1e-6
COMPUTE_STREAM, OVERLAPPING_STREAM, COMMUNICATION_STREAM, HOST_THREAD = 7, 8, 20, 1
MOST_RANKS = 1024
LEAST_LEFT = 1e-9
"""Least share of a time that is drawn; smaller ones are rounding errors."""
PIECES = 8
"""Number of kernels that each pass is drawn as."""
LAUNCHES = "perfmodel launch_overhead_time"
STRAGGLERS = "perfmodel straggler_time"
HIDDEN = "perfmodel hidden_communication_time"
"""Name of the mark for hidden communication that is longer than all kernels."""
DRAWN = (
    "forward_time",
    "backward_time",
    "launch_overhead_time",
    "update_time",
    "exposed_communication_time",
    "straggler_time",
    "input_time",
)
"""Terms that have their own functions; any other term is drawn by its kind."""
IN_BLOCKS = (
    "products_time",
    "attention_time",
    "elementwise_time",
    "logits_time",
    "recomputation_time",
    "launch_overhead_time",
    "tensor_parallel_time",
    "context_parallel_time",
    "expert_parallel_time",
)
"""Terms that the passes of a pipeline's schedule consist of."""
WAITED = ("bubble_time", "unequal_stages_time")
"""Terms that are gaps between the passes of a pipeline's schedule."""
STREAMS = {"busy": COMPUTE_STREAM, "network": COMMUNICATION_STREAM}
PASS = "perfmodel pass"
"""Argument of a kernel that has its pass: forward, backward or update."""


def timeline(prediction: Prediction, pipeline: Pipeline | None = None) -> dict[str, Any]:
    """Return the step of every rank, or of every stage of a pipeline, as an object with ``traceEvents``.

    Computation and exposed communication are kernels.  Hidden communication runs on the communication stream
    at the same time as the backward pass and, if it is longer, as the forward pass, to which messages of the
    previous step extend.  Launch gaps lie between the kernels; waiting for stragglers is a mark, not a
    kernel.  All ranks are equal, because the mean step is drawn: the model predicts how long ranks wait, not
    which of them is slow.

    The passes of a stage are at the times of the schedule, each split into kernels, gaps and traffic in the
    proportions of the whole step.  Sends between stages, which the schedule does not have, follow the last
    pass.  The step is longer than predicted by ``pipeline.beyond_prediction``.

    Parameters
    ----------
    prediction : of any job
    pipeline : schedule of a job with stages; without it, the passes of all micro-batches are drawn as one

    Raises
    ------
    InputError : the job has more ranks than a viewer can show
    """
    world = prediction.scenario["world_size"]
    rows = world if pipeline is None else len(pipeline.schedule.stages)
    if rows > MOST_RANKS:
        raise refusal("trace.timeline", rows=rows, most_ranks=MOST_RANKS)
    per_node = prediction.scenario["accelerators_per_node"]
    accelerator, each = prediction.scenario["accelerator"], world // rows
    events: list[dict[str, Any]] = []
    for row in range(rows):
        name = f"rank {row}: {accelerator}"
        if pipeline is not None:
            alike = f"rank {row}" if each == 1 else f"ranks {row * each} to {(row + 1) * each - 1}"
            name = f"stage {row + 1} of {rows}: {alike}, {accelerator}"
        events += _named(row, name)
        events += _rank(prediction, row, None if pipeline is None else pipeline.schedule)
    return {
        "schemaVersion": 1,
        "displayTimeUnit": "ms",
        "distributedInfo": {"world_size": world},
        "deviceProperties": [
            {"id": row, "name": accelerator, "node": row * each // per_node} for row in range(rows)
        ],
        "traceEvents": events,
    }


def write_timeline(path: Path, prediction: Prediction, pipeline: Pipeline | None = None) -> None:
    """Write the trace of a predicted step as JSON.

    Parameters
    ----------
    path : of the file
    prediction, pipeline : as in ``timeline``

    Raises
    ------
    InputError : the file cannot be written (it is then unchanged), or the job has too many ranks
    """
    write_whole(path, json.dumps(timeline(prediction, pipeline)) + "\n")


def _named(rank: int, name: str) -> list[dict[str, Any]]:
    """Return the events that name a row and its streams."""
    threads = {HOST_THREAD: "host", COMPUTE_STREAM: "computation", COMMUNICATION_STREAM: "communication"}
    return [
        {"ph": "M", "name": "process_name", "pid": rank, "tid": 0, "args": {"name": name}},
        *(
            {"ph": "M", "name": "thread_name", "pid": rank, "tid": thread, "args": {"name": label}}
            for thread, label in threads.items()
        ),
    ]


class _Clock:
    """Collects the events of one rank in the order of time; drops kernels as short as rounding errors."""

    def __init__(self, rank: int, step: float) -> None:
        self.rank, self.now, self._least = rank, 0.0, LEAST_LEFT * step
        self.events: list[dict[str, Any]] = []

    def add(
        self, name: str, category: str, start: float, duration: float, thread: int, part: str | None = None
    ) -> None:
        """Add an event with start and duration [s]; ``part`` is the pass of a kernel."""
        if category == "kernel" and duration <= self._least:
            return
        arguments: dict[str, Any] = {"device": self.rank, "stream": thread} if category == "kernel" else {}
        if part is not None:
            arguments[PASS] = part
        self.events.append(
            {
                "ph": "X",
                "name": name,
                "cat": category,
                "pid": self.rank,
                "tid": thread,
                "ts": start / MICROSECOND,
                "dur": duration / MICROSECOND,
                "args": arguments,
            }
        )

    def run(self, name: str, time: float, gaps: float) -> None:
        """Add a pass as ``PIECES`` kernels of ``time`` [s] together, and launch gaps of ``gaps`` [s]."""
        for piece in range(PIECES):
            if gaps:
                self.add(LAUNCHES, "user_annotation", self.now, gaps / PIECES, HOST_THREAD)
            self.now += gaps / PIECES
            self.add(f"{name} {piece + 1}/{PIECES}", "kernel", self.now, time / PIECES, COMPUTE_STREAM, name)
            self.now += time / PIECES


def _rank(prediction: Prediction, rank: int, schedule: Schedule | None = None) -> list[dict[str, Any]]:
    """Return the events of one rank or stage."""
    terms = prediction.terms
    clock = _Clock(rank, prediction.iteration_time)
    if terms.get("input_time"):
        clock.add(
            "enumerate(DataLoader)#perfmodel.__next__",
            "user_annotation",
            0.0,
            terms["input_time"],
            HOST_THREAD,
        )
        clock.now += terms["input_time"]
    for place in ("before", "start"):
        _others(clock, terms, place)
    if schedule is None:
        _passes(clock, terms)
    else:
        _scheduled(clock, terms, schedule)
        terms = {name: time for name, time in terms.items() if name not in (*IN_BLOCKS, *WAITED)}
    _others(clock, terms, "passes")
    _communicate(clock, prediction)
    if terms["straggler_time"]:
        clock.add(STRAGGLERS, "user_annotation", clock.now, terms["straggler_time"], HOST_THREAD)
        clock.now += terms["straggler_time"]
    _others(clock, terms, "after")
    if terms["update_time"]:
        clock.add("update", "kernel", clock.now, terms["update_time"], COMPUTE_STREAM, "update")
        clock.now += terms["update_time"]
    _others(clock, terms, "update")
    clock.add("ProfilerStep#0", "user_annotation", 0.0, clock.now, HOST_THREAD)
    return clock.events


def _passes(clock: _Clock, terms: dict[str, float]) -> None:
    """Draw forward and backward pass, each of all micro-batches together."""
    passes = {name: terms[f"{name}_time"] for name in ("forward", "backward") if f"{name}_time" in terms}
    gaps = terms["launch_overhead_time"]
    for name, time in passes.items():
        clock.run(name, time, gaps * time / sum(passes.values()))
        if name == "forward":
            _others(clock, terms, "between")
    if gaps and not passes:
        clock.add(LAUNCHES, "user_annotation", clock.now, gaps, HOST_THREAD)
        clock.now += gaps


def _scheduled(clock: _Clock, terms: dict[str, float], schedule: Schedule) -> None:
    """Draw the passes of a stage at the times of its schedule, and move to the end of the whole schedule.

    Of two passes that run at the same time, the second is on a stream of its own.
    """
    inside = {name: terms[name] for name in IN_BLOCKS}
    gaps, traffic = (of_kind(inside, kind) / sum(inside.values()) for kind in ("host", "network"))
    start, before = clock.now, None
    for block in schedule.stages[clock.rank]:
        part = "forward" if block.is_forward else "backward"
        name = f"{block.words} {block.micro_batch + 1}"
        name += f", chunk {block.chunk + 1}" if schedule.chunks > 1 else ""
        clock.now, time = start + block.start, block.end - block.start
        if before is not None and block.overlaps(before):
            computed = (1 - gaps - traffic) * time
            clock.add(name, "kernel", clock.now + gaps * time, computed, OVERLAPPING_STREAM, part)
            before = None
            continue
        before = block
        if gaps > LEAST_LEFT:
            clock.add(LAUNCHES, "user_annotation", clock.now, gaps * time, HOST_THREAD)
            clock.now += gaps * time
        clock.add(name, "kernel", clock.now, (1 - gaps - traffic) * time, COMPUTE_STREAM, part)
        if traffic:
            sends = "ncclKernel_SendRecv (predicted, inside a stage)"
            clock.add(
                sends, "kernel", start + block.end - traffic * time, traffic * time, COMMUNICATION_STREAM
            )
    clock.now = start + schedule.end


def _others(clock: _Clock, terms: dict[str, float], place: str) -> None:
    """Draw the terms of a place that have no own function: kernels for work of the device, else marks."""
    for name, time in terms.items():
        term = TERMS[name]
        if name in DRAWN or term.place != place or not time:
            continue
        if term.kind in STREAMS:
            part = term.label if term.kind == "busy" and place == "passes" else None
            # a name that trace readers recognise as communication
            label = f"ncclKernel_SendRecv (predicted, {term.label})" if term.travels else term.label
            clock.add(label, "kernel", clock.now, time, STREAMS[term.kind], part)
            if name == "contention_time":  # a kernel's duration does not show it
                clock.add(f"perfmodel {name}", "user_annotation", clock.now, time, HOST_THREAD)
        else:
            clock.add(f"perfmodel {name}", "user_annotation", clock.now, time, HOST_THREAD)
        clock.now += time


def _communicate(clock: _Clock, prediction: Prediction) -> None:
    """Draw hidden messages so that they end with the backward pass, and exposed ones after it.

    Adjacent parts become one message, because readers of traces count messages.
    """
    exposed = without_rounding(prediction.terms["exposed_communication_time"], prediction.iteration_time)
    hidden = max(0.0, prediction.communication_time - sent(prediction.terms))
    kernels = [event for event in clock.events if PASS in event["args"]]
    spans, left = [(clock.now, clock.now + exposed)], hidden
    for event in reversed(kernels):
        part = min(left, event["dur"] * MICROSECOND)
        if part <= 0:
            break
        end = (event["ts"] + event["dur"]) * MICROSECOND
        if abs(spans[-1][0] - end) <= LEAST_LEFT * prediction.iteration_time:
            end = spans.pop()[1]
        spans.append(((event["ts"] + event["dur"]) * MICROSECOND - part, end))
        left -= part
    for start, end in spans:
        _draw(clock, prediction, start, end - start)
    if left > LEAST_LEFT * hidden:
        clock.add(HIDDEN, "user_annotation", 0.0, left, HOST_THREAD)
    clock.now += exposed


def _draw(clock: _Clock, prediction: Prediction, start: float, time: float) -> None:
    """Draw the messages between replicas as successive kernels of equal duration."""
    names = _kernels(prediction)
    for place, name in enumerate(names):
        each = time / len(names)
        clock.add(name, "kernel", start + place * each, each, COMMUNICATION_STREAM)


KERNELS = {"all-reduce": "AllReduce", "reduce-scatter": "ReduceScatter", "all-gather": "AllGather"}
"""Collective between replicas -> word in the library's kernel names."""


def _kernels(prediction: Prediction) -> list[str]:
    """Return the names of the kernels between replicas, which trace readers recognise as communication."""
    if prediction.layout is not None:
        rows = [row.collective for row in prediction.traffic if row.group == "replicas"] or ["all-reduce"]
        return [f"ncclKernel_{KERNELS[each]} (predicted)" for each in rows[0].split(", ")]
    if prediction.scenario["strategy"] == "all-reduce":
        return ["ncclKernel_AllReduce (predicted)"]
    return [f"ncclKernel_SendRecv (predicted, {prediction.scenario['strategy']})"]
