"""Counts of machines between the largest that misses a limit and the smallest that meets it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.planning.goal import Goal
from perfmodel.planning.layouts import Job
from perfmodel.planning.machines import Machine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = dict[str, NDArray[Any]]

MOST_OF_ONE = 16
"""Counts tried at once of a machine: up to 64 machines, all that lie between two of ``doubled``."""
MOST = 24
"""Counts tried in all (a choice: a third of a second of four clouds)."""


class _Gap(NamedTuple):
    """Two counts on both sides of a limit, and what the one beyond it would be worth."""

    worth: float
    """Cost [$] of the count that misses the deadline, or run time [s] of the one beyond the budget."""
    jobs: list[Job]
    """Not tried yet, the fewest machines first."""


def between(goal: Goal, machines: Sequence[Machine], table: Table, tried: Set[Job], most: int) -> list[Job]:
    """Return what to try next, so that the answer does not hang on how coarse the counts were.

    Parameters
    ----------
    goal : with a deadline, which the cheapest meets, or a budget alone, within which the fastest is
    machines, table : every plan so far, with cost and run time
    tried : of layouts
    most : jobs to return at most; of more that lie between two counts, some in equal steps

    Returns
    -------
    Of the machine and precision that promise most; none where nothing between can be better.
    """
    if goal.deadline is not None:
        limited, limit, wanted = table["run_time"], goal.deadline, table["cost"]
    elif goal.budget is not None:
        limited, limit, wanted = table["cost"], goal.budget, table["run_time"]
    else:
        return []
    meets = limited <= limit
    able = meets & np.isfinite(wanted)
    if goal.power_limit is not None:
        able &= table["power"] <= goal.power_limit
    best = float(wanted[able].min()) if able.any() else math.inf
    gaps = (
        gap for gap in _gaps(goal, machines, table, meets, wanted, tried) if gap.jobs and gap.worth < best
    )
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
    layouts = np.array([layout is not None for layout in table["layout"].tolist()])
    of_layouts = np.flatnonzero(layouts)
    for index, precision in dict.fromkeys(
        zip(table["machine"][of_layouts].tolist(), table["precision"][of_layouts].tolist(), strict=True)
    ):
        rows = of_layouts[
            (table["machine"][of_layouts] == index) & (table["precision"][of_layouts] == precision)
        ]
        rows = rows[np.argsort(table["world_size"][rows], kind="stable")]
        fast = np.flatnonzero(meets[rows])
        if goal.deadline is not None:  # the fewest that meet it, and the next fewer
            edge = int(fast[0]) - 1 if len(fast) else -1
            beyond = edge
        else:  # the most that can be paid for, and the next more
            edge = int(fast[-1]) if len(fast) and fast[-1] + 1 < len(rows) else -1
            beyond = edge + 1
        if edge < 0:
            continue
        held = machines[index].accelerators
        low, high = (int(table["world_size"][rows[each]]) for each in (edge, edge + 1))
        asked = precision if goal.precisions else None
        jobs = [Job(index, size, asked) for size in range(-(-(low + 1) // held) * held, high, held)]
        yield _Gap(float(wanted[rows[beyond]]), [job for job in jobs if job not in tried])
