"""The best plan of a search at each kind of price that was asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core.choices import PriceKind
from perfmodel.core.units import dollars, duration, percent
from perfmodel.decide.planning.results import SearchResult
from perfmodel.decide.planning.within import payment
from perfmodel.decide.price_kinds import BASIS

NO_PRICE = "no price known; give --price"
COLUMNS = ("kind of price", "best plan", "to pay", "run", "chance")


class OfKind(NamedTuple):
    """A kind of price, and the plan that is best at it."""

    kind: PriceKind
    plan: dict[str, Any] | None
    """The plan that would be chosen were no other kind asked for, else the surest; None without a price."""

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of a table with ``COLUMNS``."""
        name, plan = BASIS[self.kind], self.plan
        if plan is None:
            return (name, NO_PRICE, "-", "-", "-")
        late = ", too late" if plan["meets_deadline"] is False else ""
        sure = plan["probability"]
        return (
            name,
            plan["machines"],
            dollars(payment(plan)),
            f"{duration(plan['run_time'])}{late}",
            "-" if sure is None else percent(sure),
        )


def best_of_each_kind(result: SearchResult) -> list[OfKind]:
    """Return the best plan at each kind of price; empty where one kind was asked for.

    Plans whose reserved term costs more than their runs do by the hour are no candidates of the search, but
    count here, where the question is what a reservation would cost.
    """
    kinds = result.goal.pricing
    return [OfKind(kind, _best(result, kind)) for kind in kinds] if len(kinds) > 1 else []


def _best(result: SearchResult, kind: PriceKind) -> dict[str, Any] | None:
    """Return the plan that a search of one kind of price would be about."""
    of_kind = [each.price is not None and each.price.kind == kind for each in result.machines]
    tables = [result.candidates, *([] if result.wasted is None else [result.wasted])]
    kept = [np.isin(table["machine"], np.flatnonzero(of_kind)) for table in tables]
    rows = {
        name: np.concatenate([table[name][keep] for table, keep in zip(tables, kept, strict=True)])
        for name in result.candidates
    }
    return replace(result, candidates=rows, wasted=None).in_question if len(rows["machine"]) else None
