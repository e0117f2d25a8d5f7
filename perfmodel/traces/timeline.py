"""A predicted step as a Chrome trace that Perfetto and chrome://tracing open: every rank, its streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from perfmodel.errors import InputError
from perfmodel.prediction.result import Prediction
from perfmodel.step.terms import ANY_TERM, TRAFFIC, sent
from perfmodel.writing import write_whole

MICROSECOND = 1e-6
COMPUTE_STREAM, COMMUNICATION_STREAM, HOST_THREAD = 7, 20, 1
MOST_RANKS = 1024
LEAST_LEFT = 1e-9
"""Least hidden time drawn [s]; less is rounding."""
PIECES = 8
"""Kernels that stand for each pass."""
LAUNCHES = "perfmodel launch_overhead_time"
STRAGGLERS = "perfmodel straggler_time"
HIDDEN = "perfmodel hidden_communication_time"
"""What hides longer than kernels run, in the gaps between them."""
DRAWN = (
    "forward_time",
    "backward_time",
    "launch_overhead_time",
    "update_time",
    "exposed_communication_time",
    "straggler_time",
    "input_time",
)
"""Terms that are drawn in ways of their own; any other is drawn by its kind."""
STREAMS = {"busy": COMPUTE_STREAM, "network": COMMUNICATION_STREAM}
PASS = "perfmodel pass"
"""Argument of a kernel that says whether it stands for forward, backward or update."""


def timeline(prediction: Prediction) -> dict[str, Any]:
    """Return the step of every rank as an object with ``traceEvents``.

    Computation and exposed communication are kernels; what is hidden runs on the communication stream beside
    the backward pass, and what is left of it beside the forward pass, where the messages of the step before
    go on; gaps of launches lie between the kernels; waiting for stragglers is marked and is no kernel.
    The mean step is drawn, so all ranks look alike: the model knows how long they wait, not which is slow.

    Raises
    ------
    InputError : more ranks than a viewer opens
    """
    ranks = prediction.scenario["world_size"]
    if ranks > MOST_RANKS:
        raise InputError(f"--timeline draws up to {MOST_RANKS} ranks, and {ranks} are asked for")
    per_node = prediction.scenario["accelerators_per_node"]
    events: list[dict[str, Any]] = []
    for rank in range(ranks):
        events += _named(rank, f"rank {rank}: {prediction.scenario['accelerator']}")
        events += _rank(prediction, rank)
    return {
        "schemaVersion": 1,
        "displayTimeUnit": "ms",
        "distributedInfo": {"world_size": ranks},
        "deviceProperties": [
            {"id": rank, "name": prediction.scenario["accelerator"], "node": rank // per_node}
            for rank in range(ranks)
        ],
        "traceEvents": events,
    }


def write_timeline(path: Path, prediction: Prediction) -> None:
    """Write the trace whole or not at all.

    Raises
    ------
    InputError : the file cannot be written, or too many ranks
    """
    write_whole(path, json.dumps(timeline(prediction)) + "\n")


def _named(rank: int, name: str) -> list[dict[str, Any]]:
    threads = {HOST_THREAD: "host", COMPUTE_STREAM: "computation", COMMUNICATION_STREAM: "communication"}
    return [
        {"ph": "M", "name": "process_name", "pid": rank, "tid": 0, "args": {"name": name}},
        *(
            {"ph": "M", "name": "thread_name", "pid": rank, "tid": thread, "args": {"name": label}}
            for thread, label in threads.items()
        ),
    ]


class _Clock:
    """Events of one rank, one after another."""

    def __init__(self, rank: int) -> None:
        self.rank, self.now = rank, 0.0
        self.events: list[dict[str, Any]] = []

    def add(
        self, name: str, category: str, start: float, duration: float, thread: int, part: str | None = None
    ) -> None:
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
        """Kernels of ``time`` in all with launch gaps of ``gaps`` in all before them."""
        for piece in range(PIECES):
            if gaps:
                self.add(LAUNCHES, "user_annotation", self.now, gaps / PIECES, HOST_THREAD)
            self.now += gaps / PIECES
            self.add(f"{name} {piece + 1}/{PIECES}", "kernel", self.now, time / PIECES, COMPUTE_STREAM, name)
            self.now += time / PIECES


def _rank(prediction: Prediction, rank: int) -> list[dict[str, Any]]:
    terms = prediction.terms
    clock = _Clock(rank)
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
    passes = {name: terms[f"{name}_time"] for name in ("forward", "backward") if f"{name}_time" in terms}
    gaps = terms["launch_overhead_time"]
    for name, time in passes.items():
        clock.run(name, time, gaps * time / sum(passes.values()))
        if name == "forward":
            _others(clock, terms, "between")
    if gaps and not passes:
        clock.add(LAUNCHES, "user_annotation", clock.now, gaps, HOST_THREAD)
        clock.now += gaps
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


def _others(clock: _Clock, terms: dict[str, float], place: str) -> None:
    """Terms that are drawn by their kind alone: kernels where the accelerator is at work, else marks."""
    for name, time in terms.items():
        term = ANY_TERM[name]
        if name in DRAWN or term.place != place or not time:
            continue
        if term.kind in STREAMS:
            part = term.label if term.kind == "busy" and place == "passes" else None
            # as trace readers recognise what travels
            label = f"ncclKernel_SendRecv (predicted, {term.label})" if name in TRAFFIC else term.label
            clock.add(label, "kernel", clock.now, time, STREAMS[term.kind], part)
        else:
            clock.add(f"perfmodel {name}", "user_annotation", clock.now, time, HOST_THREAD)
        clock.now += time


def _communicate(clock: _Clock, prediction: Prediction) -> None:
    """Hidden messages end with the backward pass, on top of kernels; what is exposed follows."""
    exposed = prediction.terms["exposed_communication_time"]
    hidden = max(0.0, prediction.communication_time - sent(prediction.terms))
    kernels = [event for event in clock.events if PASS in event["args"]]
    left = hidden
    for event in reversed(kernels):
        part = min(left, event["dur"] * MICROSECOND)
        if part <= 0:
            break
        end = (event["ts"] + event["dur"]) * MICROSECOND
        _draw(clock, prediction, end - part, part)
        left -= part
    if left > LEAST_LEFT * hidden:
        clock.add(HIDDEN, "user_annotation", 0.0, left, HOST_THREAD)
    if exposed:
        _draw(clock, prediction, clock.now, exposed)
        clock.now += exposed


def _draw(clock: _Clock, prediction: Prediction, start: float, time: float) -> None:
    """Draw messages between replicas as kernels one after another, each as long as the others."""
    names = _kernels(prediction)
    for place, name in enumerate(names):
        each = time / len(names)
        clock.add(name, "kernel", start + place * each, each, COMMUNICATION_STREAM)


KERNELS = {"all-reduce": "AllReduce", "reduce-scatter": "ReduceScatter", "all-gather": "AllGather"}
"""Collectives of replicas by the library's words."""


def _kernels(prediction: Prediction) -> list[str]:
    """Return names that trace readers recognise as communication kernels."""
    if prediction.layout is not None:
        rows = [row.collective for row in prediction.traffic if row.group == "replicas"] or ["all-reduce"]
        return [f"ncclKernel_{KERNELS[each]} (predicted)" for each in rows[0].split(", ")]
    if prediction.scenario["strategy"] == "all-reduce":
        return ["ncclKernel_AllReduce (predicted)"]
    return [f"ncclKernel_SendRecv (predicted, {prediction.scenario['strategy']})"]
