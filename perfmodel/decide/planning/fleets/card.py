"""The answer card of what may be bought for machines: what to add, if anything, and what that does."""

from __future__ import annotations

from perfmodel.core.units import dollars, duration, show
from perfmodel.decide.planning.fleets.option_words import (
    assumed_batch_words,
    check_words,
    gain_words,
    grown_step,
    grown_words,
    more_of,
    name_of,
    run_words,
)
from perfmodel.decide.planning.fleets.payback_words import payback_words
from perfmodel.decide.planning.fleets.result import FleetOption, Fleets
from perfmodel.decide.planning.fleets.verdict import (
    LEAST,
    alternatives_of,
    checks_of,
    fastest_of_kinds,
    first_to_pay,
    in_time,
    reasons_of,
    startable,
)
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.names import link_name
from perfmodel.model.prediction.result import Ratio


def card_of_fleets(answer: Fleets, catalogue: Catalogue) -> Card:
    """Return the answer card of a comparison of fleets: of the best option, else of the present fleet.

    Parameters
    ----------
    answer : without its card
    catalogue : hardware, for the name of the link between machines
    """
    one = best_of(answer) or answer.have
    first, rest = advice_beside_chart(answer)
    kinds = " + ".join(kind.words for kind in one.kinds)
    network = f", {one.nics} x {link_name(one.network, catalogue)}" if one.network else ""
    return Card.model_construct(
        advice=" ".join([first, *rest]),
        machines=f"{kinds}: {one.gpus:,} GPUs{network}",
        run=_run(answer, one),
        time=_iteration(one),
        cost=_cost(answer, one),
        chance=_chance(one.ratio, grown_step(answer, one)),
        limit=one.limit,
        rests_on=_basis(answer, one),
    )


def advice_beside_chart(answer: Fleets) -> tuple[str, list[str]]:
    """Return what to do and on which condition, and the rest of the advice, next to a chart and a table.

    Parameters
    ----------
    answer : with or without its card
    """
    best = best_of(answer)
    reasons, more = reasons_of(answer, best), alternatives_of(answer, best)
    if best is None:  # why nothing is added
        return " ".join([_head(answer), *checks_of(answer), *reasons]), more
    same, others = _at_same_batch(answer, best), _at_other_batches(answer, best)
    first = [_head_of(answer, best), *(same or others), *checks_of(answer, best)]
    return " ".join(first), [*(others if same else ()), *reasons, *more]


def _chance(ratio: Ratio | None, condition: str = "") -> str:
    """Return how likely an option is faster than the present fleet, then how much faster it is.

    Parameters
    ----------
    ratio : speed over that of the present fleet
    condition : on which both rest, as text

    Examples
    --------
    >>> _chance(Ratio(to="what you have", value=1.5, low_80=1.4, high_80=1.6, sure=0.9))
    '90 % likely to be faster: 1.5 x as fast (80 %: 1.4 to 1.6)'
    >>> _chance(Ratio(to="what you have", value=1.5, low_80=None, high_80=None, sure=None))
    '1.5 x as fast as what you have (no interval is known)'
    """
    if ratio is None:
        return ""
    if not ratio.direction:
        return ratio.sentence
    return f"{ratio.order}{condition}: {ratio.speed()}"


def best_of(answer: Fleets) -> FleetOption | None:
    """Return the option that meets the deadline at least cost, else pays back first, else is the fastest.

    None where what there is meets the deadline and nothing pays back, or no option is worth adding.  That
    nothing pays back is no reason where the time of a run is given, but no price.
    """
    able = in_time(answer)
    if answer.deadline is not None and answer.have.meets_deadline is False:
        return able
    paying = first_to_pay(answer)
    if paying is not None:
        return paying
    options = startable(answer)
    is_priced = any(one.payback is not None for one in options)
    asks_for_speed = answer.run_time is not None and not _is_about_money(answer)
    if answer.have.meets_deadline or (is_priced and not asks_for_speed):
        return None
    fastest = fastest_of_kinds(answer, options)
    return None if fastest.ratio is None or fastest.ratio.value < LEAST else fastest


def _head(answer: Fleets) -> str:
    """Return that nothing is to be added."""
    late = answer.deadline is not None and answer.have.meets_deadline is False
    stay = "Add nothing for this deadline" if late else "Keep what you have"
    if not answer.is_batch_assumed:
        return f"{stay}."
    return f"{stay}, assuming {assumed_batch_words(answer)}; state yours (--global-batch-size)."


def _head_of(answer: Fleets, best: FleetOption) -> str:
    """Return what to add, on which condition, and what that does, in a sentence."""
    name = f"Add {name_of(best)}" if is_advised(best) else f"With {more_of(best)}"
    parts = [gain_words(answer, best, with_condition=False)]
    if best.payback is not None or _is_about_money(answer):
        parts.append(payback_words(best, answer.work_value, in_full=False))
    if best.meets_deadline and answer.have.meets_deadline is False:
        parts.append(f"meets the deadline of {duration(answer.deadline or 0.0)}")
    condition = grown_words(answer, best)
    if condition:
        name += f", {condition}" if "," in name else f" {condition}"
    elif answer.is_batch_assumed:
        name += f", assuming {assumed_batch_words(answer)}"
    return f"{name}: {'; '.join(parts)}."


def _at_other_batches(answer: Fleets, best: FleetOption) -> list[str]:
    """Return in a sentence that a batch nobody gave decides, and what the best option is with larger ones."""
    if not answer.is_batch_assumed:
        return []
    others = [one for one in best.at_other_batches if one.ratio is not None]
    if not others:
        return ["State your batch (--global-batch-size): another may change this."]
    each = [
        f"{_lead(one)} with {one.global_batch_size:,}{'' if index else ' samples before and after'}"
        f"{_in_brackets(answer, best, one)}"
        for index, one in enumerate(others)
    ]
    return [f"Your batch decides (state it: --global-batch-size): {', '.join(each)}."]


def _lead(one: FleetOption) -> str:
    """Return the time of a run with an option, else its speed."""
    assert one.ratio is not None
    return one.ratio.times() if one.run_time is None else duration(one.run_time)


def _in_brackets(answer: Fleets, best: FleetOption, one: FleetOption) -> str:
    """Return in brackets what ``_lead`` leaves of an option with another batch; empty if nothing."""
    assert one.ratio is not None
    parts = [] if one.run_time is None else [one.ratio.times()]
    parts += _drawbacks(answer, best, one)
    return f" ({'; '.join(parts)})" if parts else ""


def _drawbacks(answer: Fleets, best: FleetOption, one: FleetOption) -> list[str]:
    """Return when the best option pays back with another batch, and whether it is too late then."""
    parts = []
    if best.payback is not None or _is_about_money(answer):
        parts.append(payback_words(one, in_full=False))
    if best.meets_deadline and not one.meets_deadline:
        parts.append("too late for the deadline")
    return parts


def _at_same_batch(answer: Fleets, best: FleetOption) -> list[str]:
    """Return what the best option is with about as many samples a step as today, in a sentence.

    None where its step is not larger.  ``Not if`` begins it where the option would not be advised then.
    """
    same = best.at_same_batch
    if same is None or same.ratio is None:
        return []
    parts = [] if same.run_time is None else [duration(same.run_time)]
    parts += [same.ratio.times(), same.ratio.order] if same.ratio.order else [same.ratio.speed()]
    drawbacks = _drawbacks(answer, best, same)
    start = "Not if" if is_advised(best) and not is_advised(same) else "If"
    stays = f"{start} it must stay at {answer.have.global_batch_size:,}{_why(answer, same)}"
    return [f"{stays}: {'; '.join([', '.join(parts), *drawbacks])}."]


def _why(answer: Fleets, same: FleetOption) -> str:
    """Return the samples of a step of both fleets where they are not those of today, in brackets."""
    size, gpus = same.global_batch_size, sorted({answer.have.gpus, same.gpus})
    if size == answer.have.global_batch_size:
        return ""
    return f" (taken as {size:,}, which {' and '.join(f'{each:,}' for each in gpus)} GPUs share equally)"


def is_advised(best: FleetOption) -> bool:
    """Return whether adding the best option is advised: it pays back or meets a deadline."""
    pays_back = best.payback is not None and best.payback.within_life
    return pays_back or bool(best.meets_deadline)


def _is_about_money(answer: Fleets) -> bool:
    """Return whether the user gave a price, or what an hour of the work is worth."""
    sources = [item.source for one in answer.options if one.purchase for item in one.purchase.items]
    return "given" in (*sources, answer.work_value and answer.work_value.source)


def _run(answer: Fleets, one: FleetOption) -> str:
    """Return the time of a run with its interval, and what it takes today; empty where it is unknown."""
    words, today, is_given = run_words(one), answer.have.run_time, answer.run_time is not None
    if not words or today is None:
        return words
    if one.ratio is None:
        return f"{words} as given" if is_given else words
    return f"{words}{grown_step(answer, one)}; today {'' if is_given else 'a predicted '}{duration(today)}"


def _iteration(one: FleetOption) -> str:
    """Return the iteration time with its interval."""
    if one.interval is None:
        return f"{show(one.iteration_time, 's')} (no interval is known)"
    ends = f"{show(one.interval.low_80, 's')} to {show(one.interval.high_80, 's')}"
    return f"{show(one.iteration_time, 's')} (80 %: {ends})"


def _cost(answer: Fleets, one: FleetOption) -> str:
    """Return what is bought and rented, and when it has paid back; empty of the present fleet."""
    if one.purchase is None:
        return ""
    capital, rent = one.purchase.capital, one.purchase.rent
    if capital is None or rent is None:
        worth = f"; {payback_words(one, answer.work_value)}" if one.worth is not None else ""
        return f"no price is known{worth}"
    parts = [f"{dollars(capital)} bought"] if capital else []
    parts += [f"{dollars(rent)} an hour of rent"] if rent else []
    return "; ".join([", ".join(parts) or "nothing", payback_words(one, same_batch=False)])


def _basis(answer: Fleets, one: FleetOption) -> str:
    """Return what the time of a run is made from, and what its interval was learned from.

    An option that is surely faster may have an interval that reaches over the time of what there is: the
    clause on errors says why.
    """
    today, ratio = answer.have.run_time, one.ratio
    learned = "data sheets and a fit to published runs" if one.interval else "jobs whose errors nobody knows"
    if ratio is None or today is None:
        return learned
    if answer.run_time is not None:
        check = answer.run_check
        given = f"your {duration(today)}{f', for which {check_words(check)},' if check else ''}"
        return f"{given} times the ratio of two predictions, in which their common error cancels; {learned}"
    is_surely_faster = ratio.low_80 is not None and ratio.low_80 > 1
    if not is_surely_faster or (one.run_time_high_80 or 0.0) < today:
        return learned
    return f"{learned}; the times with it and of today share most of their error"
