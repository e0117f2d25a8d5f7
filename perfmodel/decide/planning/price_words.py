"""The plan in question at other kinds of price, and what those rest on, in sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from perfmodel.core.choices import PriceKind
from perfmodel.core.units import dollars, duration, plural
from perfmodel.decide.commitments import Commitment, commitment_words, pays_from, reserved_time
from perfmodel.decide.differences import increase, interruptions_words, lost_words, share
from perfmodel.decide.planning.machines import Machine
from perfmodel.decide.planning.results import SearchResult
from perfmodel.decide.planning.within import owes_more, payment
from perfmodel.decide.price_kinds import BASIS, HOUR, TERMS, interruption_words, kind_words, rate_from
from perfmodel.decide.prices import Price, offers_of
from perfmodel.hardware.catalogue.store import Catalogue

Row = dict[str, Any]

SAME = ("world_size", "servers", "strategy", "precision", "global_batch_size", "iteration_time")
"""Columns in which a plan is the same at every price of its machine."""
IN_PARENTHESES: Final = re.compile(r"\([^)]*\)")
"""The machine in what a plan is called."""
FEW = 4
"""Machines named of those without a kind of price."""


def basis_words(row: Mapping[str, Any]) -> str:
    """Return the kind of a plan's price behind a comma; empty where it is on demand or given.

    >>> basis_words({"price_basis": "spot"}), basis_words({"price_basis": "on demand"})
    (', spot', '')
    """
    return kind_words(row.get("price_basis"))


def priced_name(row: Mapping[str, Any]) -> str:
    """Return the machines of a plan with the kind of its price, which tells plans of one machine apart."""
    return f"{row['machines']}{basis_words(row)}"


def paid_words(row: Mapping[str, Any]) -> str:
    """Return what must be paid for a plan, with the kind of its price.

    >>> paid_words({"cost": 1074.0, "committed_cost": 152540.0, "price_basis": "reserved for 1 year"})
    '$152,540 to pay, reserved for 1 year'
    >>> paid_words({"cost": 98.0, "price_basis": "spot"})
    '$98, spot'
    """
    return f"price unknown{basis_words(row)}" if row["cost"] is None else f"{to_pay(row)}{basis_words(row)}"


def to_pay(row: Mapping[str, Any]) -> str:
    """Return what must be paid for a plan of known price, whole terms called so."""
    return f"{dollars(payment(row))}{' to pay' if owes_more(row) else ''}"


def offered(plan: Mapping[str, Any]) -> str:
    """Return the machines of a plan with the name of who rents them out, or their own where nobody does.

    >>> offered({"machines": "8 x H100 SXM5 80 GB (AWS p5.48xlarge)", "provider": "AWS"})
    '8 x H100 SXM5 80 GB (AWS)'
    """
    machines, provider = str(plan["machines"]), plan["provider"]
    return IN_PARENTHESES.sub(f"({provider})", machines, count=1) if provider else machines


def offered_at(plan: Mapping[str, Any]) -> str:
    """Return the machines of a plan as ``offered`` does, with the kind of its price.

    >>> offered_at({"machines": "8 x H100 (AWS p5.48xlarge)", "provider": "AWS", "price_basis": "spot"})
    '8 x H100 (AWS), spot'
    """
    return f"{offered(plan)}{basis_words(plan)}"


class PriceRow(NamedTuple):
    """The price of one machine as tables show it."""

    machine: str
    """One machine as people call it, with the kind of its price where it is not on demand."""
    usd_per_hour: float
    region: str | None
    date: str | None
    source: str | None
    """Who says so; a given price and one's own purchase are their own source."""


def price_rows(result: SearchResult, plans: Iterable[Mapping[str, Any]]) -> list[PriceRow]:
    """Return the prices of the machines of plans, in the order of the plans."""
    names = list(dict.fromkeys(row["name"] for row in plans))
    machines = {machine.name: machine.words(1, machine.accelerators) for machine in result.machines}
    prices = [price for price in result.prices() if price["name"] in names]
    return [
        PriceRow(
            machines[price["name"]] + basis_words({"price_basis": price["basis"]}),
            price["usd_per_hour"],
            price["region"],
            price["date"],
            price["source"] or {"given": "as given", "owned": "as bought"}.get(price["basis"]),
        )
        for price in sorted(prices, key=lambda price: names.index(price["name"]))
    ]


def prices_compared(result: SearchResult) -> list[str]:
    """Return sentences on the plan in question at its kind of price, and at the others that were compared."""
    index = result.surest_row if result.chosen_row is None else result.chosen_row
    if index is None:
        return []
    known = dict(_at_every_price(result, index))
    own, mine = result.price_in_question, result.in_question
    if own is None or mine is None:
        return []
    lines = []
    if own.kind in TERMS:
        lines.append(f"Its price needs {commitment_words(_commitment(own, mine))}.")
    standard = known.get("on-demand") or next(iter(known.values()))
    for kind, (price, row) in known.items():
        if price is standard[0]:
            continue
        against = BASIS[standard[0].kind]
        if price is own:
            words = _saving(row, standard[1], against)
        elif kind in TERMS:
            commitment = commitment_words(_commitment(price, row))
            words = f"would need {commitment}; the run itself {_would_cost(row, standard[1], against)}"
        else:
            words = f"on {_these(row)} {_would_cost(row, standard[1], against)}"
        if kind == "spot":
            lines.append(f"{_spot(row, standard[1], words, price is own)}{_rate_of(result, price)}.")
        elif kind in TERMS:
            pays = pays_from(kind, price.usd_per_hour, standard[0].usd_per_hour)
            whose = "Its run" if price is own else f"{BASIS[kind].capitalize()}, {_these(row)}"
            lines.append(f"{whose} {words}{_too_late(row)}; {pays}.")
        else:
            whole = "" if price is own else _too_late(row)
            lines.append(f"Bought, the same machines are written off: the run {words}{whole}.")
    if own.kind == "spot":
        rate = _rate_of(result, own)
        if len(known) == 1:
            lines.append(f"At spot prices {lost_words(mine['interruptions'] or 0.0, mine['goodput'])}{rate}.")
        if "on-demand" not in result.goal.pricing:
            lines.append(_on_demand(result, mine))
    return lines


def _rate_of(result: SearchResult, price: Price) -> str:
    """Return of which machine the assumed rate of interruptions is, as a clause; empty of a given one."""
    if result.goal.conditions.interruptions is not None:
        return ""
    which = rate_from(price.provider, Catalogue.of(result.catalogue))
    return which and f", if taken back as often as {which}"


def _on_demand(result: SearchResult, plan: Row) -> str:
    """Return what the machines of a plan at a spot price cost on demand, where none can be had at that."""
    catalogue, region = Catalogue.of(result.catalogue), result.goal.conditions.region
    offers = offers_of(catalogue, plan["node"], region)
    if not offers:
        return "On demand, to fall back on: no price of these machines is known."
    rent = offers[0][1].usd_per_hour
    cost = plan["nodes"] * rent * plan["run_time"] * plan["goodput"] / HOUR
    run = "" if plan["servers"] else f", about {dollars(cost)} for the run without interruptions"
    return f"On demand, to fall back on: {dollars(rent)} an hour of a machine{run} (--pricing compares)."


def price_notes(result: SearchResult) -> list[str]:
    """Return what spot prices rest on, and the machines whose price of a kind is not known."""
    lines: dict[str, None] = {}
    conditions = result.goal.conditions
    spot = [each for each in result.machines if each.price is not None and each.price.kind == "spot"]
    chosen = result.in_question
    spot.sort(key=lambda each: chosen is None or each.node != chosen["node"])
    if spot:
        price = spot[0].price
        assert price is not None
        lines |= dict.fromkeys(
            interruption_words(conditions, price.provider, price.instance, Catalogue.of(result.catalogue))
        )
    for kind in result.goal.pricing if len(result.goal.pricing) > 1 else ():
        missing = _without(result.machines, kind)
        if missing:
            some = ", ".join(missing[:FEW]) + (f" and {len(missing) - FEW} more" if missing[FEW:] else "")
            lines[f"no price {BASIS[kind]} is known of {some}"] = None
    return list(lines)


def _without(machines: tuple[Machine, ...], kind: str) -> list[str]:
    """Return the names of machines that have a price, but none of a kind."""
    known = {each[:2] for each in machines if each.price is not None and each.price.kind == kind}
    priced = {each[:2]: each.name for each in machines if each.price is not None}
    return [name for key, name in priced.items() if key not in known]


def _at_every_price(result: SearchResult, index: int) -> Iterator[tuple[PriceKind, tuple[Price, Row]]]:
    """Yield the plan at an index at each kind of price, by kind: that of the index included."""
    table = result.candidates
    machine = result.machines[int(table["machine"][index])]
    alike = [i for i, each in enumerate(result.machines) if each[:2] == machine[:2]]
    if len(alike) == 1:
        if machine.price is not None:
            yield machine.price.kind, (machine.price, result.row(index))
        return
    for of in (table, result.wasted):
        if of is None or not len(of["machine"]):
            continue
        rows = np.isin(of["machine"], alike)
        for name in SAME:
            rows &= of[name] == table[name][index]
        for row in np.flatnonzero(rows).tolist():
            price = result.machines[int(of["machine"][row])].price
            if price is not None:
                yield price.kind, (price, replace(result, candidates=of).row(row))


def _these(row: Row) -> str:
    """Return the machines of a plan and their number, as another plan may be the best at that price."""
    return "this machine" if row["nodes"] == 1 else f"these {row['nodes']} machines"


def _commitment(price: Price, row: Row) -> Commitment:
    term = reserved_time(TERMS[price.kind], row["run_time"])
    return {"term": term, "cost": row["committed_cost"], "unused": row["unused_cost"]}


def _saving(row: Row, standard: Row, against: str) -> str:
    """Return how much less or more a run costs than at a standard price, and the difference, in words."""
    if row["cost"] is None or not standard["cost"]:
        return "has no known end"
    times, less = row["cost"] / standard["cost"], standard["cost"] - row["cost"]
    how = f"saves {share(1 - times)}" if times <= 1 else f"costs {increase(times, 'more', 'as much')}"
    return f"{how} ({dollars(abs(less))}) against {against}"


def _would_cost(row: Row, standard: Row, against: str) -> str:
    """Return what a run would cost at a kind of price, and that against a standard one, in words."""
    if row["cost"] is None or not standard["cost"]:
        return "would have no known end"
    times = row["cost"] / standard["cost"]
    how = f"{share(1 - times)} less than" if times <= 1 else increase(times, "more than", "as much as")
    return f"would cost {dollars(row['cost'])} ({how} {against})"


def _too_late(row: Row) -> str:
    """Return that a run is too late as predicted, as a clause; empty where it is not."""
    return f", but takes {duration(row['run_time'])}: too late" if row["meets_deadline"] is False else ""


def _spot(row: Row, standard: Row, words: str, own: bool) -> str:
    """Return what spot prices change, or would change, in words."""
    if row["run_time"] is None or not standard["run_time"]:
        count = f"{row['nodes']} {plural('machine', row['nodes'])}"
        return f"Spot never gets this plan done: {count} would be taken back faster than work restarts"
    late = "" if own else _too_late(row)
    expected = interruptions_words(row["interruptions"] or 0.0)
    longer = increase(row["run_time"] / standard["run_time"], "longer", "as long")
    return f"Spot {words}{late or f' and takes {longer}'}, with {expected} expected"
