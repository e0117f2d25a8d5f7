"""Adaptive synchronisation as the error falls: K of AdaSync, local steps of AdaComm."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from perfmodel.core.errors import refusal
from perfmodel.core.files.tables import Record, Table, aligned
from perfmodel.equations import adaptive_synchrony as rules
from perfmodel.equations.convergence import nonconvex_gradient_bound
from perfmodel.equations.distribution import Distribution
from perfmodel.equations.sgd_variants import straggler_variant
from perfmodel.model.prediction.training.sgd_error_bound import (
    GRADIENT_VARIANCE,
    INITIAL_ERROR,
    LOCAL_BATCH_SIZE,
    SMOOTHNESS,
)

LEVELS = 6
"""Number of errors in the schedule, each a quarter of the previous one."""
SPAN = 20
"""Default interval of choices, in mean gradient times of one worker."""
LONGEST = 1e9
"""Longest interval of choices, in mean gradient times of one worker."""
_OBJECTIVE = SMOOTHNESS, GRADIENT_VARIANCE


@dataclass(frozen=True)
class Choice:
    """The best settings until the next choice, at one error."""

    error: float
    """Objective minus its lower bound."""
    k_sync: int
    """Gradients that an update waits for."""
    k_sync_bound: float
    """Bound on the mean squared gradient until the next choice."""
    k_batch: int
    """The same for the batch variants, whose workers continue."""
    k_by_rule: int
    """K by AdaSync's rule, from the first K and the error."""
    local_steps: int
    local_bound: float
    """Bound on the mean squared gradient of local SGD with these steps."""
    local_steps_by_rule: int
    """Local steps by AdaComm's rule, from the first ones and the error."""


@dataclass(frozen=True, repr=False)
class Schedule(Table):
    """The schedule of choices as the error falls."""

    choices: tuple[Choice, ...]
    """The choice at each error, the largest error first."""
    interval: float
    """Time between two choices [s]."""
    note: str
    """Assumptions."""

    def records(self) -> list[Record]:
        """Return a row for each error."""
        return [asdict(choice) for choice in self.choices]

    def to_json(self) -> str:
        """Return the schedule as JSON, as ``perfmodel stragglers --adaptive --json`` prints it."""
        return json.dumps(asdict(self))

    def cells(self) -> list[tuple[str, ...]]:
        """Return the rows as text, in the order of ``HEADINGS``."""
        return [
            (
                f"{each.error:.3g}",
                str(each.k_sync),
                f"{each.k_sync_bound:.3g}",
                str(each.k_batch),
                str(each.k_by_rule),
                str(each.local_steps),
                f"{each.local_bound:.3g}",
                str(each.local_steps_by_rule),
            )
            for each in self.choices
        ]

    def __repr__(self) -> str:
        return aligned(f"Schedule: {self.note}", HEADINGS, self.cells(), left=0)


HEADINGS = ("error", "K-sync", "bound", "K-batch", "by rule", "local steps", "bound", "by rule")


def _whole(gradients: Any, workers: int) -> int:
    """Return the gradients of an update as a whole number from 1 to ``workers``."""
    return int(min(workers, max(1, round(gradients))))


def schedule(
    distribution: Distribution,
    workers: int,
    *,
    learning_rate: float,
    communication_time: float = 0.0,
    interval: float | None = None,
) -> Schedule:
    """Return the schedule of gradients that an update waits for, and of local steps, as the error falls.

    Parameters
    ----------
    distribution : of one worker's time for one gradient; K is computed for an exponential one with its mean
    workers : number of workers
    learning_rate : above 0, at most 1
    communication_time : time of one average [s]
    interval : time until the next choice [s]; by default 20 mean gradients

    Raises
    ------
    InputError : a learning rate or an interval out of its range, a distribution without a mean
    """
    if not 0 < learning_rate <= 1:
        raise refusal("updates.learning_rate", learning_rate=learning_rate)
    mean = float(distribution.mean)
    if not 0 < mean < float("inf"):
        raise refusal("updates.adaptive_mean", distribution=distribution)
    span = SPAN * mean if interval is None else interval
    if not 0 < span <= LONGEST * mean:
        raise refusal("updates.interval_range", span=span, longest=LONGEST * mean)
    step_time = straggler_variant("sync", distribution, workers).update_time
    per_batch = GRADIENT_VARIANCE / LOCAL_BATCH_SIZE
    choices: list[Choice] = []
    for level in range(LEVELS):
        error = INITIAL_ERROR / 4**level
        arguments = (learning_rate, *_OBJECTIVE, span, workers, 1 / mean, LOCAL_BATCH_SIZE, error)
        k = _whole(rules.adasync_k_sync_gradients(*arguments), workers)
        update_time = straggler_variant("k-sync", distribution, workers, k=k).update_time
        average = communication_time, learning_rate
        steps: Any = rules.best_local_steps(error, *average, SMOOTHNESS, per_batch, span)
        local = max(1, round(steps))
        of_k: Any = nonconvex_gradient_bound(
            error, span / update_time, learning_rate, 1.0, *_OBJECTIVE, k, LOCAL_BATCH_SIZE
        )
        times = span, step_time, communication_time
        of_local: Any = rules.local_sgd_gradient_bound(
            error, learning_rate, *times, local, SMOOTHNESS, per_batch, workers
        )
        first = choices[0] if choices else None
        by_rule: Any = rules.adasync_gradients(first.k_sync, INITIAL_ERROR, error, workers) if first else k
        local_rule: Any = (
            rules.adacomm_local_steps(first.local_steps, INITIAL_ERROR, error) if first else local
        )
        batch = _whole(rules.adasync_batch_gradients(*arguments), workers)
        choices.append(
            Choice(error, k, float(of_k), batch, int(by_rule), local, float(of_local), int(local_rule))
        )
    note = (
        f"example objective: L = {SMOOTHNESS:g}, variance {GRADIENT_VARIANCE:g} a sample, "
        f"{LOCAL_BATCH_SIZE} samples a gradient; K for exponential times, a choice every {span:.3g} s"
    )
    return Schedule(tuple(choices), span, note)
