"""Stages of a pipeline as processes with queues, which know no list of passes: each decides what to run next.

Imports nothing from perfmodel.  A stage that is free takes, of the passes that it may run by the rules of its
schedule, the one that the rules put first, and waits for its input if that has not come.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Step(NamedTuple):
    """What a simulated step takes."""

    makespan: float
    """From the start of the first pass to the end of the last [s]."""
    longest_span: float
    """Of the stages, each from its own first pass to its own last [s]."""
    most_kept: list[int]
    """Micro-batches whose activations each stage keeps at most."""


def simulate(
    schedule: str,
    forward: Sequence[float],
    inputs: Sequence[float],
    weights: Sequence[float],
    micro_batches: int,
) -> Step:
    """Run a step of stages of one chunk each by 1F1B, ZB-H1 or ZB-H2.

    Parameters
    ----------
    schedule : "1f1b", "zb-h1" or "zb-h2"
    forward, inputs, weights : times of the three passes of a micro-batch on each stage [s]
    micro_batches : of a step
    """
    stages = [
        _Stage(place, len(forward), schedule, (forward[place], inputs[place], weights[place]), micro_batches)
        for place in range(len(forward))
    ]
    while any(not stage.is_done for stage in stages):
        # of all stages that can start a pass the one that starts first; what it sends cannot come too early
        able = [(start, stage.place) for stage in stages if (start := stage.next_start(stages)) is not None]
        stages[min(able)[1]].run(stages)
    return Step(
        max(stage.clock for stage in stages),
        max(stage.clock - stage.began for stage in stages),
        [stage.most for stage in stages],
    )


class _Stage:
    def __init__(
        self, place: int, count: int, schedule: str, times: tuple[float, float, float], batches: int
    ) -> None:
        deep = {"1f1b": 1, "zb-h1": 1, "zb-h2": 2}[schedule]
        self.place, self.last, self.batches = place, count - 1, batches
        self.window = deep * (count - 1 - place) + 1
        """Forward passes that may be ahead of backward passes to inputs."""
        self.lag = 0 if schedule == "1f1b" else deep * place
        """Backward passes to weights that wait while others are to run."""
        self.whole = schedule == "1f1b"
        self.times = times
        self.clock = self.began = 0.0
        self.forward_ends: list[float] = []
        self.inputs_ends: list[float] = []
        self.weights_done = self.most = 0

    @property
    def is_done(self) -> bool:
        return self.weights_done == self.batches

    def choice(self) -> str:
        """The pass that the rules put first."""
        if len(self.inputs_ends) - self.weights_done > self.lag or len(self.inputs_ends) == self.batches:
            return "weights"
        ahead = len(self.forward_ends) - len(self.inputs_ends)
        return "forward" if len(self.forward_ends) < self.batches and ahead < self.window else "inputs"

    def next_start(self, stages: list[_Stage]) -> float | None:
        """When the chosen pass can start; None where another stage has yet to send its input."""
        if self.is_done:
            return None
        choice = self.choice()
        ready = 0.0
        if choice == "forward" and self.place:
            sent, number = stages[self.place - 1].forward_ends, len(self.forward_ends)
            if number >= len(sent):
                return None
            ready = sent[number]
        if choice == "inputs" and self.place < self.last:
            sent, number = stages[self.place + 1].sent_back, len(self.inputs_ends)
            if number >= len(sent):
                return None
            ready = sent[number]
        return max(self.clock, ready)

    @property
    def sent_back(self) -> list[float]:
        """When gradients of inputs left: of 1F1B with those of weights."""
        if not self.whole:
            return self.inputs_ends
        return [end + self.times[2] for end in self.inputs_ends]

    def run(self, stages: list[_Stage]) -> None:
        """Run the chosen pass."""
        choice, start = self.choice(), self.next_start(stages)
        assert start is not None
        if not self.forward_ends:
            self.began = start
        self.clock = start + self.times[("forward", "inputs", "weights").index(choice)]
        if choice == "forward":
            self.forward_ends.append(self.clock)
            self.most = max(self.most, len(self.forward_ends) - self.weights_done)
        elif choice == "inputs":
            self.inputs_ends.append(self.clock)
        else:
            self.weights_done += 1
