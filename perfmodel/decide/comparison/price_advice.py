"""One job at several prices: which to take, how much cheaper it is, how surely, and how much slower."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from perfmodel.core.units import duration, percent
from perfmodel.decide.commitments import commitment_words, pays_from
from perfmodel.decide.comparison.case import Case
from perfmodel.decide.comparison.reasons import differing
from perfmodel.decide.comparison.speeds import widths_of_losses
from perfmodel.decide.differences import increase, lost_words, share
from perfmodel.decide.price_kinds import TERMS, kind_words
from perfmodel.decide.prices import kind_of
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
    """Return the cheapest case of those that are preferred to every other; None where no price is known.

    Of two, the one whose cost is less certain has to be the cheaper with the probability asked for.  A
    reserved price of a run of unknown length is taken only where there is no other: nobody knows whether the
    run is worth the term.
    """
    known = [case for case in cases if case.owed is not None]
    of_known_end = [case for case in known if not _is_open(case)]
    rising = sorted(of_known_end or known, key=lambda case: case.owed or 0.0)
    for case in rising:
        if all(_is_preferred(case, other, confidence) for other in rising if other is not case):
            return case
    return next(iter(rising), None)


def _is_preferred(case: Case, other: Case, confidence: float) -> bool:
    """Return whether a case is to be taken rather than another, which it is where both cost the same."""
    ratio, sure = cheaper(case, other)
    chance = sure if ratio <= 1 else 1 - sure
    if _risk(case) > _risk(other):
        return chance >= confidence
    return chance > 1 - confidence if _risk(case) < _risk(other) else ratio <= 1


def _risk(case: Case) -> float:
    """Return how uncertain a case's cost is beside one of the same job: 0 of a commitment, then by losses."""
    return 0.0 if _is_fixed(case) else 1.0 + case.losses.whole


def advice(cases: Sequence[Case], taken: Case, confidence: float) -> str:
    """Return which of the prices of one job to take, how surely it is the cheapest, and what it brings."""
    others = [case for case in cases if case is not taken and case.owed is not None]
    lacking = ", ".join(case.name for case in cases if case.owed is None)
    memory = taken.prediction.memory
    surely = memory.probability >= confidence
    lines = [f"Take {taken.name}" if surely else f"The job {memory.verdict}; if it does, take {taken.name}"]
    less = [other for other in others if _is_less(taken, other)]
    whole = [_over(taken, other) for other in less]
    whole[:1] = [f"it is {first}" for first in whole[:1]]
    whole += [_but(taken, other, confidence) for other in others if other not in less]
    if whole:
        lines[0] += f": {'; '.join(whole)}"
    if lacking:
        lines.append(f"No price is known: {lacking}")
    if why := "; ".join(reasons([taken, *others])):
        lines.append(f"{why[0].upper()}{why[1:]}")
    return f"{'. '.join(lines)}."


def chance_words(cases: Sequence[Case], taken: Case) -> str:
    """Return with which probability one case is cheaper than each other, where that is not certain."""
    lines = []
    for case in cases:
        if case is taken or case.owed is None:
            continue
        ratio, sure = cheaper(taken, case)
        if sure < 1 and abs(ratio - 1) > SAME_COST:
            order = "cheaper" if ratio < 1 else "dearer"
            lines.append(f"{taken.name} is {order} than {case.name} with a probability of {percent(sure)}")
    return "; ".join(lines)


def cheaper(case: Case, other: Case) -> tuple[float, float]:
    """Return what must be paid for a case over that for another, and the probability of their order.

    The time of an iteration is the same in both, so that its error leaves their order alone, except against a
    commitment, which costs the same however long the run takes.
    """
    ratio = (case.owed or math.nan) / (other.owed or math.nan)
    fixed = [one for one in (case, other) if _is_fixed(one)]
    if len(fixed) == 1:
        width = _own_width(other if fixed[0] is case else case)
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
            yield lost_words(case.interruptions, case.goodput)
        elif kind == "spot" and case.goodput < 1:
            yield f"interruptions and checkpoints take {share(1 - case.goodput)} of the time"
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


def _but(taken: Case, other: Case, confidence: float) -> str:
    """Return why another case is not to be taken, though it costs less."""
    ratio, sure = cheaper(other, taken)
    if _is_open(other):
        return f"{other.name} is {_less(ratio)} by the hour, where the run is as long as the term"
    words = f"{other.name} is {_less(ratio)} and {_slower(other, taken)}"
    return f"{words}, but only {percent(sure)} likely to be cheaper, not {percent(confidence)}"


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


def _own_width(case: Case) -> float:
    """Return the half-width of the cost of a case's run in logarithm."""
    interval, losses = case.prediction.interval, case.losses.whole
    if interval is None:
        return losses
    return math.hypot(losses, math.log(interval.high_80 / case.prediction.iteration_time))
