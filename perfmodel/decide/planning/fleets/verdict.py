"""A comparison of fleets in sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

from perfmodel.core.units import dollars, duration, per_cent, rate, three_digits
from perfmodel.decide.planning.fleets.market import Market
from perfmodel.decide.planning.fleets.option_words import (
    GROWS,
    SHARES_SAID,
    check_words,
    gain_words,
    grown_step,
    name_of,
    policy_words,
)
from perfmodel.decide.planning.fleets.payback_words import basis_words, payback_words, worth_words
from perfmodel.decide.planning.fleets.result import FleetOption, Fleets
from perfmodel.decide.price_kinds import HOUR
from perfmodel.decide.prices import DEFAULT_SERVICE_YEARS
from perfmodel.model.prediction.names import network_name

LEAST = 1.01
"""Speed over that of the present fleet below which an option adds nothing worth mentioning."""
_COUNT: Final = re.compile(r"\b\d+ x ")
"""Matches how many machines of a kind an option has."""
SHARES = "shares by speed"
MOST_NUMBERS = 2
"""Other numbers of the same machines that are said; the table has all."""


def startable(answer: Fleets) -> list[FleetOption]:
    """Return the options that stock software trains; all where it trains none.

    Left out are those with shares by speed, unless what one has takes such shares.
    """
    if answer.have.policy == SHARES:
        return list(answer.options)
    return [one for one in answer.options if one.policy != SHARES] or list(answer.options)


def fastest_of(options: Sequence[FleetOption]) -> FleetOption:
    """Return the fastest of options; of those as fast the one whose speed is surest."""
    return max(as_fast_as_the_fastest(options), key=_least_speed)


def fastest_of_kinds(answer: Fleets, options: Sequence[FleetOption]) -> FleetOption:
    """Return the fastest of options, of those that differ only in their number of machines the first.

    That the most machines are the fastest tells nothing.  Where no first one adds anything, all count.  More
    of the same machines come first, unless another option is surely faster.
    """
    first = _first_of_kinds(options)
    fastest = same_machines_or(answer, fastest_of(first), first)
    return fastest_of(options) if fastest.ratio is None or fastest.ratio.value < LEAST else fastest


def _first_of_kinds(options: Sequence[FleetOption]) -> list[FleetOption]:
    """Return the first of the options that differ only in their number of machines."""
    first: dict[tuple[str, str], FleetOption] = {}
    for one in options:
        first.setdefault(_kind_of(one), one)
    return list(first.values())


def same_machines_or(answer: Fleets, best: FleetOption, options: Sequence[FleetOption]) -> FleetOption:
    """Return the fastest option of more machines of those one has; another best one if it is surely faster.

    Surely: the 80 % intervals of their speeds do not overlap.
    """
    more = [one for one in options if _adds_the_same(answer, one)]
    if not more or best in more:
        return best
    same = fastest_of(more)
    return best if _least_speed(best) > _most_speed(same) else same


def _adds_the_same(answer: Fleets, one: FleetOption) -> bool:
    """Return whether an option gains by machines of the kinds, and on the network, that one has."""
    if one.ratio is None or one.ratio.value < LEAST:
        return False
    names = [{kind.name for kind in each.kinds} for each in (one, answer.have)]
    adds = one.machines > answer.have.machines and one.network in (answer.have.network, None)
    return adds and names[0] == names[1]


def _kind_of(one: FleetOption) -> tuple[str, str]:
    """Return what an option has in common with those that differ only in their number of machines."""
    return _COUNT.sub("", one.option), one.policy


def as_fast_as_the_fastest(options: Sequence[FleetOption]) -> list[FleetOption]:
    """Return the options whose speed differs from the fastest by less than is worth mentioning."""
    most = max(one.samples_per_second for one in options)
    return [one for one in options if LEAST * one.samples_per_second > most]


def as_fast_as(one: FleetOption, options: Sequence[FleetOption]) -> list[FleetOption]:
    """Return the options whose speed differs from that of one by less than is worth mentioning."""
    speed = one.samples_per_second
    return [each for each in options if speed < LEAST * each.samples_per_second < LEAST**2 * speed]


def _least_speed(one: FleetOption) -> float:
    """Return the lower end of an option's speed over what one has; its speed where no end is known."""
    ratio = one.ratio
    if ratio is None:
        return 0.0
    return ratio.value if ratio.low_80 is None else ratio.low_80


def _most_speed(one: FleetOption) -> float:
    """Return the upper end of an option's speed over what one has; its speed where no end is known."""
    assert one.ratio is not None
    return one.ratio.value if one.ratio.high_80 is None else one.ratio.high_80


def first_to_pay(answer: Fleets) -> FleetOption | None:
    """Return the option that first pays back before it is written off; None where none does."""
    able = [one for one in startable(answer) if one.payback is not None and one.payback.within_life]
    return min(able, key=_first, default=None)


def in_time(answer: Fleets) -> FleetOption | None:
    """Return the option that meets the deadline at the least cost of a run; None where none does.

    Those count that meet it at the upper end of their 80 % interval too, or where none does, all that are
    expected to.  Without a known cost it is the fastest of the fewest machines of each kind.
    """
    able = [one for one in startable(answer) if one.meets_deadline]
    limit = answer.deadline or 0.0
    able = [one for one in able if (one.run_time_high_80 or math.inf) <= limit] or able
    priced = [one for one in able if one.cost_of_run is not None]
    if priced or not able:
        return min(priced, key=lambda one: one.cost_of_run or 0.0, default=None)
    fewest = _first_of_kinds(sorted(able, key=lambda one: one.machines))
    return same_machines_or(answer, fastest_of(fewest), fewest)


def words_of(answer: Fleets) -> list[str]:
    """Return the answer in sentences."""
    return [*checks_of(answer), *reasons_of(answer), *alternatives_of(answer)]


def checks_of(answer: Fleets, best: FleetOption | None = None) -> list[str]:
    """Return whether what was given is plausible, what meets the deadline, and what was taken.

    Parameters
    ----------
    answer, best : as of ``reasons_of``
    """
    return [*_far_off(answer), *_on_deadline(answer, best), *_taken(answer)]


def _leading(answer: Fleets) -> FleetOption:
    """Return the fastest option, or the first to pay back where that is as fast."""
    fastest, first = fastest_of_kinds(answer, startable(answer)), first_to_pay(answer)
    as_fast = first is not None and LEAST * first.samples_per_second > fastest.samples_per_second
    return first if first is not None and as_fast else fastest


def reasons_of(answer: Fleets, best: FleetOption | None = None) -> list[str]:
    """Return sentences on the fastest option, and on the first to pay back.

    Parameters
    ----------
    answer : without its words
    best : option whose figures stand before these sentences, which do not repeat them
    """
    options = startable(answer)
    fastest, first = _leading(answer), first_to_pay(answer)
    ratio, shared = fastest.ratio, _with_shares(answer, fastest)
    most = "Fastest with equal shares" if shared else "Fastest"
    lines: list[str] = []
    is_best = best is not None and _kind_of(fastest) == _kind_of(best)
    is_said = is_best and first in (None, best)
    paying = [one for one in options if one.payback is not None and one.payback.time is not None]
    if ratio is not None and ratio.value < LEAST:
        most_words = f"{name_of(fastest)}, {ratio.words}"
        lines.append(
            f"No option is {per_cent(LEAST - 1, 0)} faster than what you have; the most is {most_words}."
        )
    elif ratio is not None and is_said:
        is_fastest = len({_kind_of(one) for one in options}) > 1 and not _rivals(answer, fastest)
        ahead = ["fastest"] if is_fastest and not shared else []
        ahead += ["first to pay back"] if first is not None and len(paying) > 1 else []
        lines += [f"It is {' and '.join(ahead)}."] if ahead else []
    elif ratio is not None and not is_best:
        lines.append(f"{most}: {name_of(fastest)}, {gain_words(answer, fastest, in_full=True)}.")
    if first is fastest and ratio is not None and ratio.value >= LEAST and not is_best:
        lines[-1] = (
            f"{most} and first to pay back: {name_of(fastest)}, {gain_words(answer, fastest, in_full=True)}, "
            f"which {payback_words(first)}."
        )
    elif first is not None and first is best:
        lines += [] if is_said else [f"First to pay back: {name_of(first)}."]
    elif first is not None:
        lines.append(f"First to pay back: {name_of(first)}, which {payback_words(first)}.")
    elif paying:
        first = min(paying, key=_first)
        lines.append(
            "Of the options of known price none pays back before it is written off; the first is "
            f"{name_of(first)}, after {duration(_first(first)[0])} at work."
        )
    elif any(one.payback is not None and one is not best for one in options):
        lines.append("Of the options of known price none ever pays back.")
    return lines


def alternatives_of(answer: Fleets, best: FleetOption | None = None) -> list[str]:
    """Return sentences on other numbers of machines, other kinds, unknown prices and other software.

    Parameters
    ----------
    answer, best : as of ``reasons_of``
    """
    fastest, lines = _leading(answer), list[str]()
    if fastest.ratio is not None and fastest.ratio.value >= LEAST:
        ahead = best if best is not None and _kind_of(fastest) == _kind_of(best) else fastest
        lines += _other_numbers(answer, best or fastest) + _rivals(answer, ahead, ahead is not best)
    return [*lines, *_without_price(answer), *_with_shares(answer, fastest)]


def _on_deadline(answer: Fleets, best: FleetOption | None) -> list[str]:
    """Return which option meets the deadline, in a sentence; none without one, and where the best does."""
    if answer.deadline is None or answer.have.run_time is None:
        return []
    least, limit = in_time(answer), duration(answer.deadline)
    if answer.have.meets_deadline:
        return [f"What you have meets the deadline of {limit} already."]
    if least is not None and least is best:
        return []
    if least is not None:
        return [f"In {limit}: {name_of(least)}, {duration(least.run_time or 0.0)}."]
    return [f"No option meets the deadline of {limit}{_enough(answer)}."]


def _taken(answer: Fleets) -> list[str]:
    """Return which workload was taken, in a sentence; none where it was given."""
    if not any(line.startswith("--workload ") for line in answer.defaults):
        return []
    return [f"Taken as {network_name(answer.workload)} (default): give --workload if it is another."]


def _far_off(answer: Fleets) -> list[str]:
    """Return that the time given is far from the prediction, in a sentence; none where it is not."""
    check = answer.run_check
    if check is None or not check.is_far:
        return []
    return [
        f"Your {duration(check.given)} are far off: {check_words(check)}; check workload, batch and machines."
    ]


def _other_numbers(answer: Fleets, best: FleetOption) -> list[str]:
    """Return what other numbers of the best option's machines bring, at most ``MOST_NUMBERS`` of them."""
    others = [one for one in startable(answer) if one is not best and _kind_of(one) == _kind_of(best)]
    return [
        f"{name_of(one)}: {gain_words(answer, one, with_condition=False)}{grown_step(answer, one)}."
        for one in others[:MOST_NUMBERS]
        if one.ratio
    ]


def _rivals(answer: Fleets, fastest: FleetOption, is_named: bool = False) -> list[str]:
    """Return other kinds expected to be as fast as an option, which may be named, or faster."""
    options = [one for one in _first_of_kinds(startable(answer)) if _kind_of(one) != _kind_of(fastest)]
    alike = as_fast_as(fastest, options)
    most = LEAST * fastest.samples_per_second
    faster = [one for one in options if one.samples_per_second >= most and one not in alike]
    named = name_of(fastest) if is_named else ""
    less = ", less surely" if all(LEAST * _least_speed(one) < _least_speed(fastest) for one in alike) else ""
    groups = {
        f"Expected to be as fast{named and f' as {named}'}{less}": alike,
        f"Faster{named and f' than {named}'}, but not surely": faster,
    }
    return [f"{words}: {'; '.join(map(_with_speed, some))}." for words, some in groups.items() if some]


def _with_speed(one: FleetOption) -> str:
    """Return an option with its speed and interval."""
    return f"{name_of(one)}, {one.ratio.speed()}" if one.ratio else name_of(one)


def _without_price(answer: Fleets) -> list[str]:
    """Return what options of unknown price may cost, which are not compared with those of known price.

    None where no option of known price ever pays back.
    """
    may_cost: dict[str, list[str]] = {}
    grown = set()
    for one in startable(answer):
        if one.purchase is not None and one.purchase.capital is None and one.worth is not None:
            may_cost.setdefault(worth_words(one), []).append(one.words)
            grown.add(one.same_batch is not None)
    is_compared = any(one.payback is not None and one.payback.time is not None for one in startable(answer))
    if not is_compared or not may_cost:
        return []
    each = "; ".join(f"{' or '.join(names)} {worth}" for worth, names in may_cost.items())
    step = f", {'machines only ' if False in grown else ''}{GROWS} with the GPUs" if True in grown else ""
    return [f"Only known prices are compared: {each}{basis_words(answer.work_value)}{step}."]


def _with_shares(answer: Fleets, fastest: FleetOption) -> list[str]:
    """Return what software adds that gives each kind of machine a share of the samples by its speed."""
    divided = [one for one in answer.options if one.policy == SHARES]
    if not divided or answer.have.policy == SHARES:
        return []
    best = fastest_of_kinds(answer, divided)
    if best is fastest or best.ratio is None or best.samples_per_second < LEAST * fastest.samples_per_second:
        return []
    alike = sorted(as_fast_as(best, divided), key=lambda one: one is not best)
    likely = [f"{one.words} ({one.ratio.order})" for one in alike if one.ratio and one.ratio.order]
    names = " or ".join(likely if len(likely) == len(alike) else [one.words for one in alike])
    is_alone = best.payback is not None and len(alike) == 1
    pays = f" ({payback_words(best, in_full=False)})" if is_alone else ""
    return [
        f"With software that gives faster GPUs more samples, {names} would be "
        f"{three_digits(best.ratio.value)} x as fast{pays}; stock data parallelism does not do that."
    ]


def _enough(answer: Fleets) -> str:
    """Return how much faster than what there is a fleet must be for the deadline, and what that takes."""
    have = answer.have
    assert answer.deadline is not None
    assert have.run_time is not None
    times = have.run_time / answer.deadline
    more = math.ceil(have.machines * (times - 1))
    least = f", at least {more:,} more of the same" if len(have.kinds) == 1 else ""
    return f": that takes {three_digits(times)} x the speed of what you have{least}"


def _first(one: FleetOption) -> tuple[float, float]:
    """Sort key: time until an option pays back; then the larger gain."""
    assert one.payback is not None
    return one.payback.time or 0.0, -one.payback.gain_per_hour


def notes_of(answer: Fleets, market: Market, life: float) -> list[str]:
    """Return sentences with assumptions of a comparison, and options that change them.

    Parameters
    ----------
    answer : without its notes
    market : prices as given
    life : time at work until a purchase is written off [s]
    """
    lines: list[str] = []
    value = answer.work_value
    if value is None:
        lines.append(
            "no offer rents out such machines at a known price: --hour-value USD says what an hour is worth"
        )
    else:
        lines.append(f"an hour of what you have is worth {dollars(value.usd_per_hour)}: {value.source}")
    years = market.conditions.service_years or DEFAULT_SERVICE_YEARS
    assumed = [] if market.conditions.service_years else [f"written off in {years:g} years (--service-years)"]
    assumed += [] if market.conditions.used_fraction else ["always at work (--used-fraction)"]
    assumed += [] if market.conditions.electricity_price else ["electricity left out (--electricity-price)"]
    if any(one.purchase is not None and one.purchase.capital != 0 for one in answer.options):
        lines.append(
            f"assumed: {'; '.join(assumed)}" if assumed else f"written off after {life / HOUR:,.0f} h"
        )
    bare = [line for one in answer.options if one.purchase is not None for line in one.purchase.left_out]
    lines += [f"left out of costs: {line}" for line in dict.fromkeys(bare)]
    if len(answer.options) and any(one.policy != "one kind" for one in answer.options):
        lines.append(
            f"{SHARES_SAID}; the step is that of the slowest worker, and what its exchange or that of a "
            "faster kind adds to it; its interval combines those of each kind"
        )
    if len(answer.have.kinds) > 1 and len(answer.ways) > 1:
        ways = ", ".join(
            f"{policy_words(policy)} {rate(speed)} samples/s" for policy, speed in answer.ways.items()
        )
        lines.append(f"each policy is compared with the same policy on what you have: {ways}")
    batches: dict[int, dict[str, None]] = {}
    for one in (answer.have, *answer.options):
        batches.setdefault(one.global_batch_size, {})[name_of(one)] = None
    if len(batches) > 1:
        each = "; ".join(f"{batch:,} of {', '.join(names)}" for batch, names in batches.items())
        basis = ", assumed" if answer.is_batch_assumed else ""
        lines.append(
            f"samples a step{basis}: {each}; a run takes as many samples all the same (--global-batch-size "
            "says how many a step has)"
        )
    doubtful = [
        f"{name_of(one)} ({one.ratio.order or 'as fast'})"
        for one in answer.options
        if one.ratio is not None and (one.ratio.sure or 1) < 0.6
    ]
    if doubtful:
        lines.append(f"hardly distinguishable from what you have: {', '.join(doubtful)}")
    return lines
