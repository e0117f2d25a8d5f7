"""One job at several prices: which to take, how much cheaper it is, how surely, and how much slower."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from perfmodel.core.sentences import capitalised, likely_to_be
from perfmodel.core.units import duration, percent
from perfmodel.decide.chance import half_width
from perfmodel.decide.commitments import commitment_words, pays_from
from perfmodel.decide.comparison.case import Case
from perfmodel.decide.comparison.reasons import differing
from perfmodel.decide.comparison.speeds import widths_of_losses
from perfmodel.decide.differences import increase, lost_words, share
from perfmodel.decide.price_kinds import TERMS, kind_words
from perfmodel.decide.prices import kind_of
from perfmodel.decide.unknown_prices import UnknownPrice, even_rent, to_ask
from perfmodel.model.prediction.intervals.ratio import chance_above_one

SAME_COST = 5e-3
"""Relative difference below which two costs count as equal."""
SAME_TIME = 1e-3
"""Relative difference below which two runs take as long."""


def differ_in_price(cases: Sequence[Case]) -> bool:
    """Return whether all cases are the same job, at different prices or conditions."""
    first = cases[0]
    alike = not any(differing(first, case) for case in cases[1:])
    return alike and any(case.conditions != first.conditions for case in cases[1:])


def price_to_take(cases: Sequence[Case], confidence: float) -> Case | None:
    """Return the case to take of one job at several prices; None where no price is known.

    From the cost that is most certain on, a less certain one is taken where it is cheaper with the
    probability asked for than every one taken before it.  A reserved price of a run of unknown length is
    taken only where there is no other: nobody knows whether the run is worth the term.
    """
    known = [case for case in cases if case.owed is not None]
    of_known_end = [case for case in known if not _is_open(case)]
    left = sorted(of_known_end or known, key=lambda case: (_risk(case), case.owed or 0.0))
    taken = None
    while left:
        taken, *others = left
        left = [case for case in others if _is_preferred(case, taken, confidence)]
    return taken


def _is_preferred(case: Case, other: Case, confidence: float) -> bool:
    """Return whether a case is to be taken rather than another whose cost is as certain, or more."""
    ratio, sure = cheaper(case, other)
    return ratio < 1 and (sure >= confidence or _risk(case) == _risk(other))


def _risk(case: Case) -> float:
    """Return how uncertain a case's cost is beside one of the same job: 0 of a commitment, then by losses."""
    return 0.0 if _is_fixed(case) else 1.0 + case.losses.whole


def advice(cases: Sequence[Case], taken: Case | None, confidence: float) -> str:
    """Return which of the prices of one job to take, how surely it is the cheapest, and what it brings.

    Parameters
    ----------
    taken : by ``price_to_take``; None where no price is known
    """
    lacking = [case for case in cases if case.owed is None]
    known = [case for case in cases if case.owed is not None]
    memory = cases[0].prediction.memory
    lines = [prices_to_ask(lacking, taken)] if lacking else []
    if taken is not None and len(known) > 1:
        others = [case for case in known if case is not taken]
        less = [other for other in others if _is_less(taken, other)]
        whole = [_over(taken, other) for other in less]
        whole[:1] = [f"it is {first}" for first in whole[:1]]
        whole += [_but(taken, other, known, confidence) for other in others if other not in less]
        head = f"of the known ones, take {taken.name}" if lacking else f"take {taken.name}"
        lines.append(f"{head}: {'; '.join(whole)}")
    if memory.probability < confidence:
        lines[0] = f"the job {memory.verdict}; if it does, {lines[0]}"
    if why := "; ".join(reasons(sorted(cases, key=lambda case: case is not taken))):
        lines.append(why)
    return f"{'. '.join(capitalised(line) for line in lines)}."


def prices_to_ask(lacking: Sequence[Case], taken: Case | None) -> str:
    """Return which prices to ask for, and below which each is cheaper than the case to take of the others."""
    unknown = [
        UnknownPrice(
            case.name,
            None if taken is None else even_price(case, taken),
            kind_of(case.price, case.conditions),
        )
        for case in lacking
    ]
    return to_ask(unknown, None if taken is None else taken.name)


def even_price(case: Case, other: Case) -> float | None:
    """Return the rent of a machine at which a case of no known price costs as much as another [USD/h].

    A reserved one is paid for every term that the run begins.  None of machines bought, with parameter
    servers, which have a price of their own, and of a term that a run of unknown length may not fill.
    """
    scenario, kind = case.prediction.scenario, kind_of(case.price, case.conditions)
    run = case.economics and case.economics["run"]
    if other.owed is None or kind == "owned" or scenario["servers"] or (kind in TERMS and not run):
        return None
    time, samples = (run["time"], run["samples"]) if run else (1.0, case.rate)
    return even_rent(other.owed * samples, time, scenario["nodes"], kind)


def chance_words(cases: Sequence[Case], taken: Case) -> str:
    """Return with which probability one case is cheaper than each other, where that is not certain."""
    lines = []
    for case in cases:
        if case is taken or case.owed is None:
            continue
        ratio, sure = cheaper(taken, case)
        if sure < 1 and abs(ratio - 1) > SAME_COST:
            order = "cheaper" if ratio < 1 else "dearer"
            lines.append(f"{percent(sure)} that {taken.name} is {order} than {case.name}")
    return "; ".join(lines)


def cheaper(case: Case, other: Case) -> tuple[float, float]:
    """Return what must be paid for a case over that for another, and the probability of their order.

    The time of an iteration is the same in both, so that its error leaves their order alone, except against a
    commitment, which costs the same however long the run takes.
    """
    ratio = (case.owed or math.nan) / (other.owed or math.nan)
    fixed = [one for one in (case, other) if _is_fixed(one)]
    if len(fixed) == 1:
        width = _width(other if fixed[0] is case else case)
    elif fixed:
        width = 0.0
    else:
        slower, faster = widths_of_losses(case, other)
        width = slower if ratio < 1 else faster
    return ratio, chance_above_one(max(ratio, 1 / ratio), width)


def reasons(cases: Sequence[Case]) -> Iterator[str]:
    """Yield what comes with the price of each case: its interruptions, or its commitment."""
    standard = next((case.price for case in cases if case.price and case.price.kind == "on-demand"), None)
    for case in cases:
        kind, money = kind_of(case.price, case.conditions), case.economics
        if kind == "spot" and case.interruptions:
            yield f"with {case.name}, {lost_words(case.interruptions, case.goodput)}"
        elif kind == "spot" and case.goodput < 1:
            lost = share(1 - case.goodput)
            yield f"with {case.name}, interruptions and checkpoints take {lost} of the time"
        elif kind in TERMS and money and money["commitment"] and case.price:
            words = f"{case.name} needs {commitment_words(money['commitment'])}"
            if standard is not None:
                words += f"; {pays_from(kind, case.price.usd_per_hour, standard.usd_per_hour)}"
            yield words


def kind_after(case: Case) -> str:
    """Return the kind of a case's price behind a comma; empty where it is usual, or in the name."""
    basis = case.price and case.price.basis
    return "" if basis and basis in case.name else kind_words(basis)


def _is_less(taken: Case, other: Case) -> bool:
    """Return whether what must be paid for the case to take is not more."""
    return cheaper(taken, other)[0] < 1 + SAME_COST


def _over(taken: Case, other: Case) -> str:
    """Return how much cheaper, how surely, and how much slower the case to take is than another."""
    ratio, sure = cheaper(taken, other)
    if ratio > 1 - SAME_COST:
        return f"at the cost of {other.name} and {_slower(taken, other)}"
    likely = f", likely ({percent(sure)})," if sure < 1 else ""
    return f"{_less(ratio)} than {other.name}{likely} and {_slower(taken, other)}"


def _but(taken: Case, other: Case, cases: Sequence[Case], confidence: float) -> str:
    """Return why another case is not to be taken, though it costs less: of which it is not surely cheaper."""
    ratio, _ = cheaper(other, taken)
    if _is_open(other):
        return f"{other.name} is {_less(ratio)} by the hour, where the run is as long as the term"
    safer = [case for case in cases if _risk(case) < _risk(other) and not _is_open(case)]
    unsure = [case for case in safer if not _is_preferred(other, case, confidence)]
    over = taken if taken in unsure else next(iter(unsure), taken)
    than = "" if over is taken else f" than {over.name}"
    words = f"{other.name} is {_less(ratio)} and {_slower(other, taken)}"
    likely = f"{likely_to_be('cheaper', _chance(other, over))}{than}"
    return f"{words}, but only {likely}, not {percent(confidence)}"


def _chance(case: Case, other: Case) -> float:
    """Return the probability that a case is cheaper than another."""
    ratio, sure = cheaper(case, other)
    return sure if ratio <= 1 else 1 - sure


def _less(ratio: float) -> str:
    return f"{share(1 - ratio)} cheaper"


def _slower(case: Case, other: Case) -> str:
    """Return how much slower or faster a run is than another of the same job, by time where that is known."""
    runs = [one.economics and one.economics["run"] for one in (case, other)]
    times = other.rate / case.rate
    if abs(times - 1) < SAME_TIME:
        return "as fast"
    order = "slower" if times > 1 else "faster"
    if runs[0] and runs[1]:
        return f"{duration(abs(runs[0]['time'] - runs[1]['time']))} {order}"
    return f"takes {increase(times, 'longer', 'as long')}" if times > 1 else f"{share(1 - times)} faster"


def _is_open(case: Case) -> bool:
    """Return whether a price is reserved for a run of unknown length."""
    money = case.economics
    return bool(money and money["commitment"] and not money["run"])


def _is_fixed(case: Case) -> bool:
    """Return whether a commitment, not the run, is what must be paid."""
    return case.owed is not None and case.cost is not None and case.owed > case.cost


def _width(case: Case) -> float:
    """Return the half-width of the cost of a case's run in logarithm."""
    one, interval = case.prediction.iteration_time, case.prediction.interval
    return half_width(one, interval.high_80 if interval else one, case.losses.whole)
