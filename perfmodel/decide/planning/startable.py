"""Which plans torchrun and NCCL can start; these are preferred where they are nearly as good."""

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
"""What the environment variable ``NCCL_ALGO`` calls the algorithms NCCL has; nothing leaves it the choice.

Replicas also broadcast their parameters, which NCCL does around a ring alone; without it, it fails.
"""
NEARLY: Final = 1.01
"""Times the time and the cost of another plan: less than any model tells apart."""


def startable(table: Table) -> NDArray[np.bool_]:
    """Return which plans are an all-reduce between equal ranks that NCCL has, or one GPU."""
    known = np.isin(table["algorithm"], list(NCCL_ALGORITHMS)) | (table["world_size"] == 1)
    report: NDArray[np.bool_] = (table["strategy"] == "all-reduce") & known
    return report


def startable_front(table: Table, limits: list[Any]) -> NDArray[np.intp]:
    """Return the front of time against cost, the fastest first, by plans that can be started where it may be.

    A plan of the exact front that torchrun and NCCL cannot start gives way to one they can, if that takes at
    most 1 % more time and money and meets every limit that the first one meets.  A plan that is at most 1 %
    faster than a cheaper one leaves, unless a limit asks for it.

    Parameters
    ----------
    table : of candidates, with ``run_time``, ``cost`` and ``energy``; shape (plans,)
    limits : of each limit which plans meet it, shape (plans,)
    """
    time, cost, energy = (table[name] for name in ("run_time", "cost", "energy"))
    exact, able = front(time, cost, energy), startable(table)
    kept = np.unique([instead(table, int(row), able, limits) for row in exact]).astype(np.intp)
    return _worth_it(kept[front(time[kept], cost[kept], energy[kept])], time, limits)


def _worth_it(rows: NDArray[np.intp], time: Any, limits: list[Any]) -> NDArray[np.intp]:
    """The rows of a front, the fastest first, that are faster than every cheaper one by more than any model
    tells apart; one that meets a limit which the cheaper one misses stays."""
    kept: list[int] = []
    for row in rows[::-1].tolist():
        cheaper = kept[-1:]
        if not any(NEARLY * time[row] >= time[other] and _meets(other, row, limits) for other in cheaper):
            kept.append(row)
    return np.array(kept[::-1], dtype=np.intp)


def _meets(row: int, other: int, limits: list[Any]) -> bool:
    """Whether one row meets every limit that another meets."""
    return all(met[row] >= met[other] for met in limits)


def instead(table: Table, row: int, able: NDArray[np.bool_], limits: list[Any]) -> int:
    """Return the row to take for another: itself, or one nearly as good that can be started.

    Parameters
    ----------
    table, limits : as of ``startable_front``
    row : of a plan with a price and an end
    able : what ``startable`` says of the table
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
