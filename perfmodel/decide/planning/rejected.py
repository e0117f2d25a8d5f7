"""Why a plan was not chosen: over a limit, dominated, dearer or slower, and by how much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.core.units import dollars, duration
from perfmodel.decide.planning.front import LIKELY, TIE, likely, spreads_within

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = dict[str, NDArray[Any]]


SMALL = 0.01
"""Share that a whole per cent would show as 0 or 1."""


class Rejected(NamedTuple):
    """The best plan of one machine, or of another size of the chosen one, and what is against it."""

    row: int
    """Of the candidates."""
    reason: str
    """``over the deadline``, ``over the budget``, ``at risk`` of a limit that the chosen plan keeps with more
    probability, ``dominated``, ``dearer``, ``slower`` or ``as good``."""
    text: str


def rejected_plans(
    table: Table, chosen: int, deadline: float | None, budget: float | None, by_cost: bool
) -> list[Rejected]:
    """Return the best plan of each machine that was not chosen, the nearest to the chosen first.

    The chosen machine itself is held against its next smaller and its next larger size.

    Parameters
    ----------
    table : of candidates, those without a price among them
    chosen : row of the plan that was
    deadline, budget : [s], [$] of the run
    by_cost : whether the cheapest or the fastest was looked for
    """
    machine, size = table["machine"], table["world_size"]
    mine = machine == machine[chosen]
    rivals = [np.flatnonzero(machine == other) for other in np.unique(machine[~mine])]
    sizes = np.unique(size[mine])
    at = int(np.searchsorted(sizes, size[chosen]))
    beside = [i for i in (at - 1, at + 1) if 0 <= i < len(sizes)]
    rivals += [np.flatnonzero(mine & (size == sizes[i])) for i in beside]
    safe, result = likely(table, deadline, budget), []
    for rows in rivals:
        rows = rows[np.isfinite(table["cost"][rows]) & np.isfinite(table["run_time"][rows])]
        if len(rows):
            best = _best(table, rows, safe[rows], deadline, budget, by_cost)
            result.append(_held_against(table, best, chosen, safe, deadline, budget, by_cost))
    order = ("dearer", "slower", "dominated", "over the budget", "over the deadline")
    first, second = ("cost", "run_time") if by_cost else ("run_time", "cost")

    def place(one: Rejected) -> tuple[Any, ...]:
        failed = one.reason.startswith("over")
        key = second if one.reason == order[4] or (failed and not by_cost) else first
        return failed, order.index(one.reason) if failed else 0, float(table[key][one.row])

    return sorted(result, key=place)


def _best(
    table: Table, rows: Any, safe: Any, deadline: float | None, budget: float | None, by_cost: bool
) -> int:
    """Return the best plan of a machine within the limits, else the one nearest to them."""
    time, cost = table["run_time"][rows], table["cost"][rows]
    in_time = time <= (np.inf if deadline is None else deadline)
    in_budget = cost <= (np.inf if budget is None else budget)
    for able in (safe, in_time & in_budget, in_time if by_cost else in_budget):
        if able.any():
            rows = rows[able]
            first, second = (cost, time) if by_cost else (time, cost)
            return int(rows[np.lexsort((second[able], first[able]))[0]])
    return int(rows[np.argmin(time if by_cost else cost)])


def _held_against(
    table: Table,
    one: int,
    chosen: int,
    safe: Any,
    deadline: float | None,
    budget: float | None,
    by_cost: bool,
) -> Rejected:
    time, cost = float(table["run_time"][one]), float(table["cost"][one])
    longer, more = _beyond(time, table["run_time"][chosen]), _beyond(cost, table["cost"][chosen])
    if deadline is not None and time > deadline:
        return Rejected(one, "over the deadline", f"over the deadline by {duration(time - deadline)}")
    if budget is not None and cost > budget:
        return Rejected(one, "over the budget", f"over the budget by {dollars(cost - budget)}")
    limit = "deadline" if deadline is not None else "budget"
    if safe[chosen] and not safe[one]:
        money = f"cheaper by {dollars(-more)}" if more < 0 else f"dearer by {dollars(more)}"
        words = f"keeps within the {limit} with less than {100 * LIKELY:.0f} %; {money}"
        return Rejected(one, "at risk", words)
    dearer = f"dearer by {dollars(more)} ({_share(more, table['cost'][chosen])})"
    slower = f"slower by {duration(longer)}"
    if longer >= 0 and more >= 0:
        both = " and ".join(text for text, by in ((dearer, more), (slower, longer)) if by > 0)
        return Rejected(one, "dominated", f"dominated: {both}" if both else "as good")
    is_better = (more if by_cost else longer) < 0
    if is_better and not safe[chosen]:
        within = spreads_within(table, deadline, budget)
        if within[one] < within[chosen]:
            by = f"cheaper by {dollars(-more)}" if by_cost else f"faster by {duration(-longer)}"
            return Rejected(one, "at risk", f"less probable within the {limit}; {by}")
    if is_better:  # the chosen plan replaced it on the front: see ``startable_front``
        against = f"; {dearer}" if more > 0 and not by_cost else "; torchrun and NCCL do not start it"
        return Rejected(one, "as good", f"as good within 1 %{against}")
    if by_cost:
        return Rejected(one, "dearer", f"{dearer}, faster by {duration(-longer)}")
    return Rejected(one, "slower", f"{slower}, cheaper by {dollars(-more)}")


def _beyond(amount: float, chosen: Any) -> float:
    """Return the difference in words; empty if it is rounding alone."""
    more = amount - float(chosen)
    return 0.0 if abs(more) <= TIE * abs(amount) else more


def _share(part: float, whole: Any) -> str:
    ratio = part / float(whole)
    if ratio < SMALL:
        return f"{ratio:.1%}"
    return f"{ratio:.0%}" if ratio < 2 else f"{1 + ratio:.3g} times"
