"""Counts of machines between those tried first: around a limit, and around the best plan."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.decide.planning.front import likely
from perfmodel.decide.planning.goal import Goal
from perfmodel.decide.planning.layouts import Job
from perfmodel.decide.planning.machines import Machine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = dict[str, NDArray[Any]]

MOST_OF_ONE = 16
"""Counts tried at once of a machine: up to 64 machines, all that lie between two of ``doubled``."""
MOST = 24
"""Counts tried in all (a choice: a third of a second of four clouds)."""
GAIN = 1.03
"""Times the cost or run time of the best plan, up to which the best of another machine may be overtaken by a
count beside it (a choice: of nine searches of every count none gained 2 %)."""


class _Gap(NamedTuple):
    """Counts that lie between others, and what those would be worth."""

    worth: float
    """Cost [$], or of a budget alone run time [s]: of the count beyond the limit, or of the best plan."""
    jobs: list[Job]
    """Not tried yet, the fewest machines first."""


def between(goal: Goal, machines: Sequence[Machine], table: Table, tried: Set[Job], most: int) -> list[Job]:
    """Return what to try next, so that the answer does not hang on how coarse the counts were.

    Parameters
    ----------
    goal : of which the cheapest plan within the deadline is wanted, or with a budget alone the fastest
        within it
    machines, table : every plan so far, with cost and run time
    tried : of layouts
    most : jobs to return at most; of more that lie between two counts, some in equal steps

    Returns
    -------
    Of the machine and precision that promise most; none where nothing between can be better.
    """
    by_cost = goal.deadline is not None or goal.budget is None
    time, wanted = table["run_time"], table["cost"]
    meets = likely(table, goal.deadline, None if by_cost else goal.budget)
    if not meets.any():
        limited, limit = (time, goal.deadline) if by_cost else (wanted, goal.budget)
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
    """Yield of each machine and precision the counts between those on both sides of the limit."""
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
    """Yield of each machine and precision the counts beside its best plan, up to the next on either side."""
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
    """Every whole number of machines between two counts of accelerators."""
    held = machines[index].accelerators
    asked = precision if goal.precisions else None
    return [Job(index, size, asked) for size in range(-(-(low + 1) // held) * held, high, held)]
