"""Anchors: measured runs on one accelerator or one machine that predictions of larger runs start from."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Literal, NamedTuple

from perfmodel.evidence.accuracy.scenarios import measured_time
from perfmodel.evidence.accuracy.training_rows import Run

AGREEMENT = 1.10
"""Largest ratio between the longest and the shortest time of candidates that count as repeats of one
measurement."""


class Measured(NamedTuple):
    """Measured iteration time of an anchor, which is one accelerator or one machine."""

    iteration_time: float
    """Geometric mean over the candidate runs [s]."""
    unique: bool
    """Whether the times of the candidate runs agree within ``AGREEMENT``."""

    @property
    def agreement(self) -> Literal["unique", "ambiguous"]:
        """``unique`` if the candidate runs agree, else ``ambiguous``."""
        return "unique" if self.unique else "ambiguous"


class Anchors:
    """Measured runs on one accelerator or one machine, indexed by what a larger run must share with them."""

    def __init__(self, runs: Iterable[Run]) -> None:
        """Index the timed runs on one accelerator or one whole machine; ignore all others."""
        self._by_key: dict[tuple[object, ...], list[tuple[str, float]]] = defaultdict(list)
        for run in runs:
            time = measured_time(run)
            if time is None:
                continue
            if run.world_size == 1:
                self._by_key[_key(run)].append((run.locator, time))
            elif run.nodes == 1 and run.world_size == run.accelerators_per_node:
                self._by_key[_machine_key(run)].append((run.locator, time))

    def of(self, run: Run, machine: bool = False) -> Measured | None:
        """Return the anchor of a run, or None if nobody measured one.

        Candidates with the run's own locator (the same table of the source) take precedence over all others.

        Parameters
        ----------
        run : the run to anchor
        machine : anchor it on one whole machine with as many accelerators, instead of on one accelerator
        """
        whole = machine and run.accelerators_per_node != 1
        candidates = self._by_key.get(_machine_key(run) if whole else _key(run), [])
        times = [time for locator, time in candidates if locator == run.locator]
        times = times or [time for _, time in candidates]
        if not times:
            return None
        mean = math.exp(math.fsum(map(math.log, times)) / len(times)) if len(times) > 1 else times[0]
        return Measured(mean, max(times) <= AGREEMENT * min(times))


def _machine_key(run: Run) -> tuple[object, ...]:
    """Return what a run on one machine must share with the larger run that it anchors."""
    return (*_key(run), run.strategy, run.overlap, run.accelerators_per_node)


def _key(run: Run) -> tuple[object, ...]:
    """Return what a run on one accelerator must share with the larger run that it anchors."""
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
