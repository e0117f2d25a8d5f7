"""Machine counts to try between those tried first: around a limit, and around the best plan."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.decide.planning.goal import Goal
from perfmodel.decide.planning.layouts import Job
from perfmodel.decide.planning.machines import Machine
from perfmodel.decide.planning.within import likely, paid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = dict[str, NDArray[Any]]

MOST_OF_ONE = 16
"""Counts of one machine tried at once: up to 64 machines, all between two of ``doubled``."""
MOST = 24
"""Counts tried in all (a choice: a third of a second for four clouds)."""
GAIN = 1.03
"""Largest ratio of another machine's best plan to the best of all, in cost or run time, for which counts
around it are tried (a choice: in nine searches no count that was left out gained 2 %)."""


class _Gap(NamedTuple):
    """Untried counts between two tried ones, with what the better of those would be worth."""

    worth: float
    """Cost [$], or run time [s] with a budget alone: of the count beyond the limit, or of the best plan."""
    jobs: list[Job]
    """Untried jobs, the fewest machines first."""


def between(goal: Goal, machines: Sequence[Machine], table: Table, tried: Set[Job], most: int) -> list[Job]:
    """Return the jobs to try next, so that the answer does not depend on how coarse the first counts were.

    Parameters
    ----------
    goal : its cheapest plan within the deadline is wanted, or with a budget alone the fastest within it
    machines, table : every plan so far, with cost and run time
    tried : jobs with layouts that were tried
    most : largest number of jobs to return; of more between two counts, some in equal steps

    Returns
    -------
    Jobs of the machine and precision that promise most; none where no count between can be better.
    """
    by_cost = goal.limits.by_cost
    time, wanted = table["run_time"], paid(table)
    meets = likely(table, goal.limits._replace(budget=None) if by_cost else goal.limits)
    if not meets.any():
        limited, limit = (time, goal.deadline) if by_cost else (paid(table), goal.budget)
        meets = limited <= (math.inf if limit is None else limit)
    limit = goal.deadline if by_cost else goal.budget
    wanted = wanted if by_cost else time
    able = meets & np.isfinite(wanted)
    if goal.power_limit is not None:
        able &= table["power"] <= goal.power_limit
    best = float(wanted[able].min()) if able.any() else math.inf
    gaps = []
    if limit is not None:
        edges = _gaps(goal, machines, table, meets, wanted, tried)
        gaps += [gap for gap in edges if gap.jobs and gap.worth < best]
    if not gaps:
        around = _around(goal, machines, table, able, wanted, tried)
        gaps += [gap for gap in around if gap.jobs and gap.worth < GAIN * best]
    chosen = min(gaps, key=lambda gap: gap.worth, default=None)
    if chosen is None:
        return []
    most = min(most, MOST_OF_ONE)
    if len(chosen.jobs) <= most:
        return chosen.jobs
    picked = np.linspace(0, len(chosen.jobs) - 1, most + 2)[1:-1].round().astype(int)
    return [chosen.jobs[index] for index in dict.fromkeys(picked.tolist())]


def _gaps(
    goal: Goal, machines: Sequence[Machine], table: Table, meets: Any, wanted: Any, tried: Set[Job]
) -> Iterator[_Gap]:
    """Yield for each machine and precision the untried counts around the one at the limit."""
    for index, precision, rows in _series(table):
        fast = np.flatnonzero(meets[rows])
        if goal.deadline is not None:  # the fewest that meet it, and the next fewer
            edge = int(fast[0]) - 1 if len(fast) else -1
            beyond = edge
        else:  # the most that can be paid for, and the next more
            edge = int(fast[-1]) if len(fast) and fast[-1] + 1 < len(rows) else -1
            beyond = edge + 1
        if edge < 0:
            continue
        low, high = (int(table["world_size"][rows[each]]) for each in (edge, edge + 1))
        jobs = _between(goal, machines, index, precision, low, high)
        yield _Gap(float(wanted[rows[beyond]]), [job for job in jobs if job not in tried])


def _around(
    goal: Goal, machines: Sequence[Machine], table: Table, able: Any, wanted: Any, tried: Set[Job]
) -> Iterator[_Gap]:
    """Yield for each machine and precision the untried counts on both sides of its best plan."""
    for index, precision, rows in _series(table):
        if not able[rows].any():
            continue
        place = int(np.argmin(np.where(able[rows], wanted[rows], math.inf)))
        sizes = table["world_size"][rows[max(place - 1, 0) : place + 2]].tolist()
        jobs: list[Job] = []
        for low, high in pairwise(map(int, sizes)):
            jobs += _between(goal, machines, index, precision, low, high)
        yield _Gap(float(wanted[rows[place]]), [job for job in jobs if job not in tried])


def _series(table: Table) -> Iterator[tuple[int, str, NDArray[np.intp]]]:
    """Yield machine, precision and the rows of their layouts, the fewest accelerators first."""
    layouts = np.array([layout is not None for layout in table["layout"].tolist()])
    of_layouts = np.flatnonzero(layouts)
    for index, precision in dict.fromkeys(
        zip(table["machine"][of_layouts].tolist(), table["precision"][of_layouts].tolist(), strict=True)
    ):
        rows = of_layouts[
            (table["machine"][of_layouts] == index) & (table["precision"][of_layouts] == precision)
        ]
        yield index, precision, rows[np.argsort(table["world_size"][rows], kind="stable")]


def _between(
    goal: Goal, machines: Sequence[Machine], index: int, precision: str, low: int, high: int
) -> list[Job]:
    """Return a job for every whole number of machines between two counts of accelerators."""
    per_machine = machines[index].accelerators
    requested_precision = precision if goal.precisions else None
    return [
        Job(index, size, requested_precision)
        for size in range(-(-(low + 1) // per_machine) * per_machine, high, per_machine)
    ]
