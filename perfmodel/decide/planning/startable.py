"""Plans that torchrun and NCCL can start; they are preferred to plans that are at most 1 % better."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from perfmodel.decide.planning.front import best_of, front

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = dict[str, NDArray[Any]]

NCCL_ALGORITHMS: Final = {
    "auto": "",
    "ring": "Ring",
    "tree": "Tree,Ring",
    "nvls": "NVLS,Ring",
    "nvls-tree": "NVLSTree,Ring",
}
"""Values of the environment variable ``NCCL_ALGO`` by algorithm; empty leaves the choice to NCCL.

They include the ring, the only algorithm by which NCCL broadcasts parameters to replicas.
"""
NEARLY: Final = 1.01
"""Ratio of times, or of costs, below which no model distinguishes two plans."""


def startable(table: Table) -> NDArray[np.bool_]:
    """Return which plans need one GPU, or an all-reduce that NCCL has; shape (plans,)."""
    known = np.isin(table["algorithm"], list(NCCL_ALGORITHMS)) | (table["world_size"] == 1)
    report: NDArray[np.bool_] = (table["strategy"] == "all-reduce") & known
    return report


def startable_front(table: Table, limits: list[Any]) -> NDArray[np.intp]:
    """Return the front of time and cost, the fastest first, with startable plans where one is nearly as good.

    A plan of the exact front that torchrun and NCCL cannot start is replaced by one they can, if that takes
    at most 1 % more time and money and meets every limit that the first one meets.  A plan that is at most 1
    % faster than a cheaper one is dropped, unless only it meets a limit.

    Parameters
    ----------
    table : of candidates, with ``run_time``, ``cost`` and ``energy``; shape (plans,)
    limits : for each limit which plans meet it, shape (plans,)
    """
    time, cost, energy = (table[name] for name in ("run_time", "cost", "energy"))
    exact, able = front(time, cost, energy), startable(table)
    kept = np.unique([instead(table, int(row), able, limits) for row in exact]).astype(np.intp)
    return _worth_it(kept[front(time[kept], cost[kept], energy[kept])], time, limits)


def _worth_it(rows: NDArray[np.intp], time: Any, limits: list[Any]) -> NDArray[np.intp]:
    """Return the rows of a front that are more than 1 % faster than the next cheaper row, the fastest first.

    A row that meets a limit which the cheaper one misses stays.
    """
    kept: list[int] = []
    for row in rows[::-1].tolist():
        cheaper = kept[-1:]
        if not any(NEARLY * time[row] >= time[other] and _meets(other, row, limits) for other in cheaper):
            kept.append(row)
    return np.array(kept[::-1], dtype=np.intp)


def _meets(row: int, other: int, limits: list[Any]) -> bool:
    """Return whether one row meets every limit that another meets."""
    return all(met[row] >= met[other] for met in limits)


def instead(table: Table, row: int, able: NDArray[np.bool_], limits: list[Any]) -> int:
    """Return a startable row nearly as good as the given one; the row itself if it is startable or none is.

    Parameters
    ----------
    table, limits : as of ``startable_front``
    row : of a plan with a known price and a finite run time
    able : result of ``startable``
    """
    if able[row]:
        return row
    time, cost = table["run_time"], table["cost"]
    near = able & (time <= NEARLY * time[row]) & (cost <= NEARLY * cost[row])
    for met in limits:
        near &= met >= met[row]
    rows = np.flatnonzero(near)
    if not len(rows):
        return row
    return int(best_of(rows, time / time[row] + cost / cost[row], cost, table["energy"]))
