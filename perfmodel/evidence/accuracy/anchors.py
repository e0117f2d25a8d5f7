"""The measured run on one accelerator, or on one machine, that a run on several can start from."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Literal, NamedTuple

from perfmodel.evidence.accuracy.scenarios import measured_time
from perfmodel.evidence.accuracy.training_rows import Run

AGREEMENT = 1.10
"""Largest ratio between the times of candidates that are still one measurement."""


class Measured(NamedTuple):
    """Measured time of one accelerator, or of one machine."""

    iteration_time: float
    """Geometric mean of the candidates [s]."""
    unique: bool
    """Whether the candidates agree."""

    @property
    def agreement(self) -> Literal["unique", "ambiguous"]:
        """How well the anchors agree, in a word."""
        return "unique" if self.unique else "ambiguous"


class Anchors:
    """The runs on one accelerator, or one machine, by what must be the same in a run they anchor."""

    def __init__(self, runs: Iterable[Run]) -> None:
        """Take every run; those on several machines, or on a part of one, are passed over."""
        self._by_key: dict[tuple[object, ...], list[tuple[str, float]]] = defaultdict(list)
        for run in runs:
            time = measured_time(run)
            if time is None:
                continue
            if run.world_size == 1:
                self._by_key[_key(run)].append((run.locator, time))
            elif run.nodes == 1 and run.world_size == run.accelerators_per_node:
                self._by_key[_of_machine(run)].append((run.locator, time))

    def of(self, run: Run, machine: bool = False) -> Measured | None:
        """Return the anchor of a run on one accelerator, or on one machine with as many of them, or None.

        Of several candidates those with the run's own locator count, else all of them.
        """
        whole = machine and run.accelerators_per_node != 1
        candidates = self._by_key.get(_of_machine(run) if whole else _key(run), [])
        times = [time for locator, time in candidates if locator == run.locator]
        times = times or [time for _, time in candidates]
        if not times:
            return None
        mean = math.exp(math.fsum(map(math.log, times)) / len(times)) if len(times) > 1 else times[0]
        return Measured(mean, max(times) <= AGREEMENT * min(times))


def _of_machine(run: Run) -> tuple[object, ...]:
    return (*_key(run), run.strategy, run.overlap, run.accelerators_per_node)


def _key(run: Run) -> tuple[object, ...]:
    return (
        run.source,
        run.framework,
        run.workload,
        run.sequence_length,
        run.accelerator,
        run.precision,
        run.local_batch_size,
        run.accumulation_steps,
        run.input,
    )
