"""Why plans were not chosen: over a limit, dominated, dearer or slower, and by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.core.units import dollars, duration, per_cent, percent
from perfmodel.decide.planning.front import TIE
from perfmodel.decide.planning.within import Limits, likely, paid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = dict[str, NDArray[Any]]


SMALL = 0.01
"""Share below which a whole per cent would show 0 or 1; it is shown with a decimal."""


class Rejected(NamedTuple):
    """The best plan of a machine, or of another size of the chosen machine, and why it was not chosen."""

    row: int
    """Index of the plan among the candidates."""
    reason: str
    """``over the deadline``, ``over the budget``, ``at risk`` (less likely to fit and keep within a
    limit than the chosen plan), ``dominated``, ``dearer``, ``slower`` or ``as good``."""
    text: str


def rejected_plans(table: Table, chosen: int, limits: Limits) -> list[Rejected]:
    """Return the best plan of each machine that was not chosen, the nearest to the chosen first.

    Of the chosen machine the next smaller and the next larger size are compared.

    Parameters
    ----------
    table : of candidates, including those without a price
    chosen : row of the chosen plan, or of the surest where none is
    limits : of the run
    """
    machine, size = table["machine"], table["world_size"]
    same_machine = machine == machine[chosen]
    rivals = [np.flatnonzero(machine == other) for other in np.unique(machine[~same_machine])]
    sizes = np.unique(size[same_machine])
    at = int(np.searchsorted(sizes, size[chosen]))
    neighbours = [i for i in (at - 1, at + 1) if 0 <= i < len(sizes)]
    rivals += [np.flatnonzero(same_machine & (size == sizes[i])) for i in neighbours]
    safe, result = likely(table, limits), []
    for rows in rivals:
        rows = rows[np.isfinite(table["cost"][rows]) & np.isfinite(table["run_time"][rows])]
        if len(rows):
            best = _best(table, rows, safe[rows], limits)
            result.append(_held_against(table, best, chosen, safe, limits))
    by_cost = limits.by_cost
    order = ("dearer", "slower", "dominated", "over the budget", "over the deadline")
    first, second = ("cost", "run_time") if by_cost else ("run_time", "cost")

    def place(one: Rejected) -> tuple[Any, ...]:
        failed = one.reason.startswith("over")
        key = second if one.reason == order[4] or (failed and not by_cost) else first
        return failed, order.index(one.reason) if failed else 0, float(table[key][one.row])

    return sorted(result, key=place)


def _best(table: Table, rows: Any, safe: Any, limits: Limits) -> int:
    """Return the best plan of a machine within the limits, else the one nearest to them."""
    deadline, budget, by_cost = limits.deadline, limits.budget, limits.by_cost
    time, cost = table["run_time"][rows], table["cost"][rows]
    in_time = time <= (np.inf if deadline is None else deadline)
    in_budget = paid(table)[rows] <= (np.inf if budget is None else budget)
    for able in (safe, in_time & in_budget, in_time if by_cost else in_budget):
        if able.any():
            rows = rows[able]
            first, second = (cost, time) if by_cost else (time, cost)
            return int(rows[np.lexsort((second[able], first[able]))[0]])
    return int(rows[np.argmin(time if by_cost else cost)])


def _held_against(table: Table, one: int, chosen: int, safe: Any, limits: Limits) -> Rejected:
    """Return why a plan was not chosen, with the differences from the chosen plan in words."""
    deadline, budget, by_cost = limits.deadline, limits.budget, limits.by_cost
    time, cost = float(table["run_time"][one]), float(table["cost"][one])
    longer, more = _beyond(time, table["run_time"][chosen]), _beyond(cost, table["cost"][chosen])
    if deadline is not None and time > deadline:
        return Rejected(one, "over the deadline", f"over the deadline by {duration(time - deadline)}")
    pays = float(paid(table)[one])
    if budget is not None and pays > budget:
        return Rejected(one, "over the budget", f"over the budget by {dollars(pays - budget)}")
    sure = table["probability"]
    if not safe[one] and (safe[chosen] or sure[one] < sure[chosen]):
        money = f"cheaper by {dollars(-more)}" if more < 0 else f"dearer by {dollars(more)}"
        what = f"within the {limits.words}" if limits.words else "fits into memory"
        return Rejected(one, "at risk", f"{what} with {percent(float(sure[one]))}; {money}")
    dearer = f"dearer by {dollars(more)} ({_share(more, table['cost'][chosen])})"
    slower = f"slower by {duration(longer)}"
    if longer >= 0 and more >= 0:
        both = " and ".join(text for text, by in ((dearer, more), (slower, longer)) if by > 0)
        return Rejected(one, "dominated", f"dominated: {both}" if both else "as good")
    if (more if by_cost else longer) < 0:  # the chosen plan replaced it on the front: see ``startable_front``
        against = f"; {dearer}" if more > 0 and not by_cost else "; torchrun and NCCL do not start it"
        return Rejected(one, "as good", f"as good within 1 %{against}")
    if by_cost:
        return Rejected(one, "dearer", f"{dearer}, faster by {duration(-longer)}")
    return Rejected(one, "slower", f"{slower}, cheaper by {dollars(-more)}")


def _beyond(amount: float, chosen: Any) -> float:
    """Return how much more an amount is than the chosen plan's; 0 where only rounding differs."""
    more = amount - float(chosen)
    return 0.0 if abs(more) <= TIE * abs(amount) else more


def _share(part: float, whole: Any) -> str:
    """Return an increase as per cent, or as a multiple where it at least doubles."""
    ratio = part / float(whole)
    if ratio < SMALL:
        return per_cent(ratio)
    return per_cent(ratio, 0) if ratio < 2 else f"{1 + ratio:.3g} times"
