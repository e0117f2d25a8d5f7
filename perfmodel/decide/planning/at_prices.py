"""Plans at each kind of price: every candidate at every price of its machine, valued."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from perfmodel.decide.planning.goal import Goal
from perfmodel.decide.planning.layouts import Job
from perfmodel.decide.planning.machines import Machine
from perfmodel.decide.planning.valued import valued
from perfmodel.decide.price_kinds import TERMS, interrupted, rate_spread, uninterrupted
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.conditions import Conditions
from perfmodel.workloads.recipes.epochs_to_target import EpochsFit
from perfmodel.workloads.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Table = dict[str, NDArray[Any]]

WASTED = "reserved for a term that costs more than the run by the hour"
"""Reason for plans at a reserved price whose whole term costs more than the run at another kind of price."""


class Priced(NamedTuple):
    """Machines at each kind of price."""

    machines: tuple[Machine, ...]
    """The machines as they are predicted, each at its first price, then those at other prices."""
    base: tuple[int, ...]
    """Index of the machine that each is."""
    conditions: tuple[Conditions, ...]
    """Of a job on each."""

    @classmethod
    def of(cls, machines: Sequence[Machine], goal: Goal, catalogue: Catalogue) -> Priced:
        """Return machines at each of their prices, with the conditions of each.

        Raises
        ------
        InputError : interruptions without a spot price, or a spot price without a known rate
        """
        every, base = list(machines), list(range(len(machines)))
        for index, machine in enumerate(machines):
            for price in machine.other_prices:
                instance, provider = price.instance or machine.instance, price.provider or machine.provider
                at = machine._replace(instance=instance, provider=provider)
                every.append(at._replace(price=price, other_prices=()))
                base.append(index)
        kinds = [machine.price.kind for machine in every if machine.price is not None]
        others = uninterrupted(goal.conditions, {*kinds, *goal.pricing})
        spot: dict[str | None, Conditions] = {}
        conditions = []
        for machine in every:
            if machine.price is None or machine.price.kind != "spot":
                conditions.append(others)
                continue
            provider = machine.price.provider
            if provider not in spot:
                known = interrupted(goal.conditions, provider, catalogue)
                spot[provider] = next((each for each in spot.values() if each == known), known)
            conditions.append(spot[provider])
        return cls(tuple(every), tuple(base), tuple(conditions))

    @property
    def several(self) -> bool:
        """Whether some machine has more than one price."""
        return len(self.machines) > len(set(self.base))

    def tried(self, jobs: set[Job]) -> set[Job]:
        """Return jobs on machines as predicted as jobs at each price."""
        at = [(index, base) for index, base in enumerate(self.base) if index != base]
        of_others = {job._replace(machine=i) for i, base in at for job in jobs if job.machine == base}
        return jobs | of_others

    def predicted(self, jobs: Sequence[Job]) -> list[Job]:
        """Return jobs at any price as jobs on the machines that are predicted, each once."""
        return list(dict.fromkeys(job._replace(machine=self.base[job.machine]) for job in jobs))


def at_every_price(
    table: Table, goal: Goal, priced: Priced, network: Workload, fit: EpochsFit | None, catalogue: Catalogue
) -> tuple[Table, Table]:
    """Return every plan at every price of its machine, and apart those that reserve more than they use.

    Parameters
    ----------
    table : predicted plans, as of ``valued``; ``machine`` is an index of the first of ``priced.machines``
    """
    plan = np.arange(len(table["machine"]))
    if priced.several:
        plans, machines = [plan], [table["machine"]]
        for index, base in enumerate(priced.base):
            if index != base:
                rows = np.flatnonzero(table["machine"] == base)
                plans.append(rows)
                machines.append(np.full(len(rows), index))
        plan = np.concatenate(plans)
        table = rows_of(table, plan) | {"machine": np.concatenate(machines)}
    result = _by_conditions(table, goal, priced, network, fit, catalogue)
    wasted = _wasted(result, plan, priced)
    return rows_of(result, ~wasted) if wasted.any() else result, rows_of(result, wasted)


def rows_of(table: Table, rows: Any) -> Table:
    """Return some rows of a table."""
    return {name: column[rows] for name, column in table.items()}


def _by_conditions(
    table: Table, goal: Goal, priced: Priced, network: Workload, fit: EpochsFit | None, catalogue: Catalogue
) -> Table:
    """Return a table valued under the conditions of each machine, in the same order."""
    distinct = list(dict.fromkeys(map(id, priced.conditions)))
    group = np.array([distinct.index(id(each)) for each in priced.conditions])[table["machine"]]
    conditions = {id(each): each for each in priced.conditions}
    parts, order = [], []
    spread = [
        rate_spread(goal.conditions, each.price and each.price.provider, catalogue)
        for each in priced.machines
    ]
    for number, key in enumerate(distinct):
        rows = np.flatnonzero(group == number)
        if len(rows):
            under = goal.model_copy(update={"conditions": conditions[key]})
            part = table if len(rows) == len(group) else rows_of(table, rows)
            parts.append(valued(part, under, priced.machines, network, fit, catalogue, spread))
            order.append(rows)
    if len(parts) == 1:
        return parts[0]
    back = np.argsort(np.concatenate(order), kind="stable")
    return {name: np.concatenate([part[name] for part in parts])[back] for name in parts[0]}


def _wasted(table: Table, plan: NDArray[np.intp], priced: Priced) -> NDArray[np.bool_]:
    """Return which plans reserve machines for a term that costs more than the run at another kind of price.

    Parameters
    ----------
    plan : number of the plan of each row, whatever its price
    """
    reserved = np.array([bool(each.price and each.price.kind in TERMS) for each in priced.machines])
    rows = reserved[table["machine"]]
    if not rows.any() or rows.all():
        return np.zeros(len(rows), dtype=bool)
    least = np.full(int(plan.max()) + 1, np.inf)
    known = ~rows & np.isfinite(table["cost"])
    np.minimum.at(least, plan[known], table["cost"][known].astype(np.float64))
    with np.errstate(invalid="ignore"):
        paid: NDArray[np.bool_] = rows & (table["cost"] + table["unused_cost"] > least[plan])
    return paid
