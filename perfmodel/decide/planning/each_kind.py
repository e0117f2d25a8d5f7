"""The best plan of a search at each kind of price that was asked for, and which kind to take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from perfmodel.core.candidates import TooManyCandidates
from perfmodel.core.choices import PriceKind
from perfmodel.core.errors import InputError
from perfmodel.core.sentences import capitalised, in_a_list, likely_to_be
from perfmodel.core.units import dollars, duration, percent
from perfmodel.decide.failures import goodput_of, states_bytes
from perfmodel.decide.planning.price_words import offered, to_pay
from perfmodel.decide.planning.results import SearchResult
from perfmodel.decide.planning.searches import search
from perfmodel.decide.planning.within import owes_more, payment
from perfmodel.decide.price_kinds import BASIS, TERMS, interrupted, uninterrupted
from perfmodel.decide.unknown_prices import UnknownPrice, even_rent, to_ask
from perfmodel.hardware.catalogue.store import Catalogue

Row = dict[str, Any]

NO_PRICE = "no price known; give --price"
NEVER_ENDS = "no run ends"
OTHERS = "other machines"
FAR_BELOW = 0.2
"""Share of a known price that no reservation goes down to (a choice)."""
COLUMNS = ("kind of price", "best plan", "to pay", "run", "chance")


class OfKind(NamedTuple):
    """A kind of price, and the plan that is best at it."""

    kind: PriceKind
    plan: dict[str, Any] | None
    """On the machine of the plan in question where that has such a price, else on any.

    It is the plan that would be chosen were no other kind asked for, else the surest; None without a price.
    """
    same_machine: bool = True
    """Whether it is on the machine of the plan in question."""
    wins_below_usd_per_hour: float | None = None
    """Rent of the machine in question at which it costs as much at this kind, whose price is not known."""
    never_ends: bool = False
    """Whether the price is known, of the machine in question or else of any, but no run at it ends."""

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of a table with ``COLUMNS``."""
        name, plan = BASIS[self.kind], self.plan
        if plan is None:
            return (name, NEVER_ENDS if self.never_ends else NO_PRICE, "-", "-", "-")
        late = ", too late" if plan["meets_deadline"] is False else ""
        sure = plan["probability"]
        return (
            name,
            offered(plan) if self.same_machine else f"{OTHERS}: {offered(plan)}",
            f"{dollars(payment(plan))}{name.removeprefix('reserved') if owes_more(plan) else ''}",
            f"{duration(plan['run_time'])}{late}",
            "-" if sure is None else percent(sure),
        )


_KNOWN: WeakKeyDictionary[SearchResult, tuple[OfKind, ...]] = WeakKeyDictionary()
"""Search -> its best plans; several sentences ask for them, and they go with the search."""


def best_of_each_kind(result: SearchResult) -> tuple[OfKind, ...]:
    """Return the best plan at each kind of price; empty where one kind was asked for.

    Plans whose reserved term costs more than their runs do by the hour are no candidates of the search, but
    count here, where the question is what a reservation would cost.
    """
    if result not in _KNOWN:
        kinds, mine = result.goal.pricing, result.in_question
        _KNOWN[result] = tuple(_best(result, kind, mine) for kind in kinds) if len(kinds) > 1 else ()
    return _KNOWN[result]


def _best(result: SearchResult, kind: PriceKind, mine: Row | None) -> OfKind:
    """Return the plan that a search of one kind of price would be about, on the same machine where it can."""
    if mine is not None and kind == _own_kind(result):
        return OfKind(kind, mine)
    of_kind = [each.price is not None and each.price.kind == kind for each in result.machines]
    if mine is None:
        plan = _alone(result, kind, of_kind)
        return OfKind(kind, plan, never_ends=plan is None and any(of_kind))
    machine = mine["node"], mine["accelerator"]
    same = [able and each[:2] == machine for able, each in zip(of_kind, result.machines, strict=True)]
    if any(same) and (plan := _alone(result, kind, same)) is not None:
        return OfKind(kind, plan)
    plan = _alone(result, kind, of_kind)
    if any(same) or (plan is None and any(of_kind)):
        return OfKind(kind, plan, False, never_ends=True)
    return OfKind(kind, plan, False, _even(result, mine, kind))


def _alone(result: SearchResult, kind: PriceKind, able: Sequence[bool]) -> Row | None:
    """Return the plan in question of a search of one kind of price on some machines; None without any.

    Of layouts the machine counts that are tried between others depend on the price; the layouts of those
    that were tried are known.
    """
    some = [each for each, keep in zip(result.machines, able, strict=True) if keep]
    if not result.layouts or not some:
        return _plan_on(result, able)
    offers = {each.instance: None for each in some if each.instance}
    nodes = {each.node: None for each in some if not each.instance}
    on_these = {"pricing": (kind,), "instances": tuple(offers), "nodes": tuple(nodes)}
    try:
        goal = result.goal.model_copy(update=on_these)
        return search(goal, result.catalogue, result.constants, result.known).in_question
    except (InputError, TooManyCandidates):
        return _plan_on(result, able)


def _own_kind(result: SearchResult) -> PriceKind | None:
    """Return the kind of price of the plan in question; None without one."""
    price = result.price_in_question
    return None if price is None else price.kind


def _plan_on(result: SearchResult, able: Sequence[bool]) -> Row | None:
    """Return the plan in question on some machines alone; None where none is on them."""
    tables = [result.candidates, *([] if result.wasted is None else [result.wasted])]
    kept = [np.isin(table["machine"], np.flatnonzero(able)) for table in tables]
    rows = {
        name: np.concatenate([table[name][keep] for table, keep in zip(tables, kept, strict=True)])
        for name in result.candidates
    }
    return replace(result, candidates=rows, wasted=None).in_question if len(rows["machine"]) else None


def _even(result: SearchResult, mine: Row, kind: PriceKind) -> float | None:
    """Return the rent at which a plan costs as much at another kind of price as it does [USD/h].

    None of machines bought, and with parameter servers, which have a price of their own.
    """
    if kind == "owned" or mine["servers"] or mine["cost"] is None:
        return None
    goal, catalogue = result.goal, Catalogue.of(result.catalogue)
    conditions = uninterrupted(goal.conditions, goal.pricing)
    if kind == "spot":
        conditions = interrupted(goal.conditions, mine["provider"], catalogue)
    network = goal.network()
    states = states_bytes(network.parameters, result.predicted(mine).scenario["optimizer"])
    work = mine["run_time"] * mine["goodput"]
    goodput, *_ = goodput_of(mine["nodes"], 0, conditions, work, states)
    return even_rent(payment(mine), work / goodput, mine["nodes"], kind) if goodput > 0 else None


def which_kind(result: SearchResult) -> str:
    """Return which kind of price to take and which not, with what each costs; empty where that is not asked.

    Of a kind that the same machine has no price of it is the best of other machines, which are named.  Where
    nobody knows any, it says which prices to ask for.
    """
    kinds, mine = best_of_each_kind(result), result.chosen
    own = _own_kind(result)
    if not kinds or mine is None or own is None:
        return ""
    known = [(each, each.plan) for each in kinds if each.plan is not None and each.kind != own]
    endless = " or ".join(BASIS[each.kind] for each in kinds if each.plan is None and each.never_ends)
    if not known:
        first = f"{BASIS[own].capitalize()}, not {endless}, at which {NEVER_ENDS}." if endless else ""
        return " ".join(filter(None, [first, prices_to_ask(result)]))
    names = " or ".join(BASIS[each.kind] for each, _ in known)
    head = f"{BASIS[own].capitalize()}, not {names}: {_amount(result, mine)} against "
    amounts = [_against(result, plan, each.kind, own) for each, plan in known]
    where = [_where(plan, mine, each.same_machine) for each, plan in known]
    lacking = [BASIS[each.kind] for each in kinds if each.plan is None and not each.never_ends]
    none = f"; no price {' or '.join(lacking)} is known" if lacking else ""
    none += f"; {NEVER_ENDS} at {endless} prices" if endless else ""
    if len(set(where)) == 1:
        return f"{head}{in_a_list(amounts)}{where[0]}{none}."
    return f"{head}{'; and '.join(map(''.join, zip(amounts, where, strict=True)))}{none}."


def on_other_machines(result: SearchResult) -> str:
    """Return what other machines cost at a kind of price that those to take have none of and at theirs.

    Empty where no other machine has both.
    """
    mine, own = result.chosen, _own_kind(result)
    lines = []
    for each in best_of_each_kind(result):
        plan = each.plan
        if mine is None or own is None or plan is None or each.same_machine:
            continue
        machine = plan["node"], plan["accelerator"]
        kinds = [one.price.kind if one.price and one[:2] == machine else None for one in result.machines]
        both = _alone(result, own, [kind == own for kind in kinds]) if own in kinds else None
        if both is None:
            continue
        as_many = plan["nodes"] == both["nodes"]
        amounts = [
            f"{BASIS[kind]}{'' if as_many else f', {offered(one)}:'} {to_pay(one)}{_drawbacks(result, one)}, "
            f"{duration(one['run_time'])}"
            for kind, one in ((each.kind, plan), (own, both))
        ]
        which = offered(plan) if as_many else "Other machines"
        lines.append(f"{which} have both prices: {'; '.join(amounts)}.")
    return " ".join(lines)


def _where(plan: Row, mine: Row, same_machine: bool) -> str:
    """Return on which machines, or how many of the same, a plan at another kind of price is, as a clause."""
    if not same_machine:
        return f", on {offered(plan)}"
    some = "" if plan["world_size"] == mine["world_size"] else f"{plan['nodes']} of "
    return f", on {some}the same machines"


def _against(result: SearchResult, plan: Row, kind: PriceKind, own: PriceKind) -> str:
    """Return what a plan costs at another kind of price, and what speaks against it.

    Of a whole term it is how many runs as the plan to take cost as much.
    """
    mine, as_many = result.chosen, []
    if mine is not None and mine["cost"] and owes_more(plan) and not owes_more(mine):
        runs = payment(plan) / mine["cost"]
        count = f"{runs:.2g}" if runs < 10 else f"{runs:,.0f}"
        as_many = [f"as much as {count} such runs, {BASIS[own]}"]
    return f"{_amount(result, plan)} {BASIS[kind]}{_drawbacks(result, plan, as_many)}"


def _drawbacks(result: SearchResult, plan: Row, first: Sequence[str] = ()) -> str:
    """Return what speaks against a plan, behind other words, in parentheses; empty without either."""
    sure, goal = plan["probability"], result.goal
    drawbacks = ["too late"] * (plan["meets_deadline"] is False)
    drawbacks += ["over the budget"] * (plan["within_budget"] is False)
    if not drawbacks and goal.limits.words and sure is not None and sure < goal.confidence:
        drawbacks = [likely_to_be("within the limits", sure)]
    words = "; ".join(filter(None, [*first, ", ".join(drawbacks)]))
    return f" ({words})" if words else ""


def _amount(result: SearchResult, plan: Row) -> str:
    """Return what must be paid for a plan; after its time where the fastest one is wanted."""
    return to_pay(plan) if result.by_cost else f"{duration(plan['run_time'])} for {to_pay(plan)}"


def prices_to_ask(result: SearchResult) -> str:
    """Return which prices of the machine in question to ask for; empty where all that matter are known.

    Of a reserved one that would have to be far below the price to take it says that it does not pay.
    """
    price = result.price_in_question
    lacking = [
        each
        for each in best_of_each_kind(result)
        if not each.same_machine and not each.never_ends and each.kind != "owned"
    ]
    if price is None or not lacking:
        return ""
    own, rent = price.kind, price.usd_per_hour
    evens = {each.kind: each.wins_below_usd_per_hour or rent for each in lacking}
    hopeless = {kind: even for kind, even in evens.items() if kind in TERMS and even < FAR_BELOW * rent}
    lines = [
        f"Reserving these machines {BASIS[kind].removeprefix('reserved ')} does not pay for this run alone: "
        f"every hour of the term is paid, so one would have to cost less than {dollars(even)} an hour, "
        f"against {dollars(rent)} {BASIS[own]}."
        for kind, even in hopeless.items()
    ]
    lacking = [each for each in lacking if each.kind not in hopeless]
    if not lacking:
        return " ".join(lines)
    names = [BASIS[each.kind] for each in lacking]
    names[0] = f"these machines {names[0]}"
    unknown = [
        UnknownPrice(name, each.wins_below_usd_per_hour, each.kind)
        for name, each in zip(names, lacking, strict=True)
    ]
    return " ".join([f"{capitalised(to_ask(unknown, BASIS[own]))}.", *lines])
