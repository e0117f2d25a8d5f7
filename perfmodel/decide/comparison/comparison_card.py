"""The answer card of a comparison: what to take, how much faster it is, how sure that is, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

from perfmodel.core.sentences import capitalised
from perfmodel.core.units import counted, dollars, duration, percent, show, three_digits
from perfmodel.decide.chance import run_factors
from perfmodel.decide.commitments import of_commitment
from perfmodel.decide.comparison import price_advice
from perfmodel.decide.comparison.case import Case, cost_words
from perfmodel.decide.comparison.choice import LITTLE, Choice, cheapest, lesser, network_hardly_matters
from perfmodel.decide.comparison.gains import gains
from perfmodel.decide.comparison.network_advice import (
    as_fast_because,
    is_as_fast,
    on_networks,
    other_adapters,
    others_named,
    whether_it_pays,
)
from perfmodel.decide.comparison.price_advice import SAME_COST
from perfmodel.decide.comparison.reasons import (
    NETWORK,
    differ_in_network,
    differing,
    network_limits,
    why,
    why_nothing,
)
from perfmodel.decide.comparison.standing import Best, Standing
from perfmodel.decide.price_kinds import rate_words
from perfmodel.model.options.risk import USUAL_CONFIDENCE
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.card import limit_of, memory_words, rests_on
from perfmodel.model.prediction.intervals.ratio import network_order
from perfmodel.model.prediction.memory_odds import CERTAIN
from perfmodel.model.prediction.names import accelerator_name, link_name
from perfmodel.model.prediction.speed_words import SAME, range_words

SAYS_COST = "perfmodel plan --have says what a faster one may cost"
"""What the advice says where no price of a network is known."""
MOST = 4
"""Cases that the card names; all of them are in the tables."""
PER_MILLION = 1e6
HARDWARE = ("accelerator", "world_size", "node", "intra_link", "servers", "server_node", *NETWORK)
"""Options by which jobs may cost different prices an hour."""


def card_of_comparison(standing: Standing, choice: Choice) -> Card:
    """Return the answer card of a comparison with the first case.

    Parameters
    ----------
    choice : by ``choose``

    Examples
    --------
    >>> from perfmodel.decide.comparison import case_of
    >>> from perfmodel.decide.comparison.choice import choose
    >>> two = Standing([case_of(f"{gpus} GPUs", {"gpus": gpus}) for gpus in (8, 16)])
    >>> card_of_comparison(two, choose(two)).advice.partition(":")[0]
    'Take 16 GPUs for speed'
    """
    cases, best = standing.cases, standing.best
    named = _named(cases, best)
    taken = standing.price_to_take
    chance = _chance(named, standing) if best is not None and not standing.differ_in_price else ""
    if taken is not None:
        chance = price_advice.chance_words(standing.able, taken)
    return Card.model_construct(
        advice=_advice(standing, choice),
        machines=_each(named, cases, _machines(cases)),
        run=_run(named, cases),
        time=_each(named, cases, lambda case: [case.prediction.time_words]),
        cost=_cost(named, cases),
        chance=chance,
        memory=_memory(named, cases),
        limit=_limit(named, cases, None if standing.differ_in_price else best),
        rests_on=_each(named, cases, _grounds, "; "),
    )


def _grounds(case: Case) -> list[str]:
    """Return what the interval of a case rests on, an assumed rate of interruptions included."""
    rate = rate_words(case.economics["assumed"]) if case.economics else ""
    return [*rests_on(case.prediction).split("; "), *([rate] if rate else [])]


def _named(cases: Sequence[Case], best: Best | None) -> list[Case]:
    """Return the cases that the card names, in their order: the first and the best, then the next."""
    wanted = [cases[0], *([] if best is None else [best.first, best.case]), *cases[1:]]
    names = [*dict.fromkeys(case.name for case in wanted)][:MOST]
    return [case for case in cases if case.name in names]


def _each(
    named: Sequence[Case], cases: Sequence[Case], of: Callable[[Case], list[str]], joint: str = ", "
) -> str:
    """Return what the parts of all cases begin with once, then the rest of each after its name."""
    words = {case.name: of(case) for case in cases}
    shared = [*takewhile(lambda parts: len({*parts}) == 1, zip(*words.values(), strict=False))]
    each = [f"{case.name}: {joint.join(rest)}" for case in named if (rest := words[case.name][len(shared) :])]
    left = len(cases) - len(named)
    begin = [joint.join(parts[0] for parts in shared)] if shared else []
    return "; ".join([*begin, *each, *([f"and {left} more"] if each and left else [])])


def _machines(cases: Sequence[Case]) -> Callable[[Case], list[str]]:
    """Return what words the machines of a case, with their network where that differs."""
    scenarios = [case.prediction.scenario for case in cases]
    networks = {tuple(one.get(name) for name in NETWORK) for one in scenarios}

    def words(case: Case) -> list[str]:
        one = case.prediction.scenario
        called = accelerator_name(one["accelerator"], case.catalogue)
        parts = [f"{one['world_size']} x {called}: {case.prediction.placement}"]
        joined = len(networks) > 1 and one["nodes"] > 1
        if not joined:
            return parts
        link = link_name(one["inter_link"], case.catalogue)
        adapters = f"{counted(one['nics'], 'network adapter')} a node"
        return [*parts, adapters, *([] if link in case.name else [f"{link} between"])]

    return words


def _run(named: Sequence[Case], cases: Sequence[Case]) -> str:
    """Return the time of the run of each case, to a target where one was asked for; else empty."""

    def words(case: Case) -> list[str]:
        run = case.reached or (case.economics and case.economics["run"])
        return [_spread(case, run["time"], duration)] if run else []

    return _each(named, cases, words)


def _spread(case: Case, amount: float, show_it: Callable[[float], str]) -> str:
    """Return an amount that goes with the time of a case's run, with its 80 % interval, as text."""
    one, interval = case.prediction.iteration_time, case.prediction.interval
    if interval is None:
        return show_it(amount)
    losses = case.economics and case.economics["reliability"] if not case.reached else None
    ends = (show_it(amount * end) for end in run_factors(losses, one, interval.low_80, interval.high_80))
    return f"{show_it(amount)} (80 %: {' to '.join(ends)})"


def _cost(named: Sequence[Case], cases: Sequence[Case]) -> str:
    """Return the cost of a million samples of each case, over the first's; empty where none is known.

    Of jobs at several kinds of price it is that of the run, where its length is known.
    """
    first = cases[0].cost
    runs = [case.economics and case.economics["run"] for case in cases]
    of_runs = all(runs) and len({case.price and case.price.kind for case in cases}) > 1

    def words(case: Case) -> list[str]:
        money = case.economics
        if case.cost is None or money is None:
            return ["no price is known"]
        apart = first and abs(case.cost / first - 1) > SAME_COST
        times = f" ({three_digits(case.cost / first)} x)" if first and apart else ""
        whole = of_commitment(money["commitment"] and money["commitment"]["cost"])
        if of_runs:
            run = f"{_spread(case, money['run']['cost'], dollars)} for the run"
            return [f"{run}{price_advice.kind_after(case)}{whole}"]
        return [f"{dollars(case.cost * PER_MILLION)} for a million samples{times}{whole}"]

    return _each(named, cases, words) if any(case.cost is not None for case in cases) else ""


def _chance(named: Sequence[Case], standing: Standing) -> str:
    """Return with which probability each case is faster or slower than the first to choose from.

    Not of a network that is never slower, or never faster: that is known of every such pair.
    """
    first, *others = standing.able
    lines = []
    for case in named:
        if case not in others:
            continue
        ratio = standing.speed(case, first)
        if ratio.sure is not None and ratio.direction:
            lines.append(f"{percent(ratio.sure)} that {case.name} is {ratio.direction} than {first.name}")
    return "; ".join(lines)


def _memory(named: Sequence[Case], cases: Sequence[Case]) -> str:
    """Return whether the cases fit into memory; empty where all do for certain."""
    if all(case.prediction.memory.probability >= CERTAIN for case in cases):
        return ""
    return _each(named, cases, lambda case: [memory_words(case.prediction)])


def _limit(named: Sequence[Case], cases: Sequence[Case], best: Best | None) -> str:
    """Return what limits each case; empty where the advice says why their speeds differ."""
    if best is None or best.gains_nothing:
        return _each(named, cases, lambda case: [limit_of(case.prediction)])
    return ""


def further_reasons(standing: Standing) -> list[str]:
    """Return why the speeds of cases differ as they do, beyond the reason that the advice names."""
    cases, best = standing.cases, standing.best
    if best is None or best.gains_nothing:
        return []
    first, fastest = best.first, best.case
    lines = why(first, fastest)[1:]
    if len(cases) == 2:
        lines += network_limits(first, fastest)
    for case in standing.able:
        if case in (first, fastest, *others_named(standing, best)) or not is_as_fast(case, first):
            continue
        lines.append(as_fast_because(standing, case, first))
    return lines[:MOST]


def _advice(standing: Standing, choice: Choice) -> str:
    """Return what to take."""
    cases, able, best = standing.cases, standing.able, standing.best
    if choice.ground == "other work":
        times = ", ".join(f"{case.name} {show(case.prediction.iteration_time, 's')}" for case in cases[:MOST])
        return f"Different work, so only the times of an iteration can be compared: {times}."
    misfits = [case for case in cases if not case.prediction.memory.fits]
    unfit = [case.name + _chance_of_misfit(case) for case in misfits]
    if choice.ground == "nothing fits":
        none = "None is likely to fit" if any(map(_chance_of_misfit, misfits)) else "None fits"
        return f"{none} the memory of its GPUs: {', '.join(unfit)}."
    risky = [case for case in cases if case.prediction.memory.fits and case not in able]
    chances = ", ".join(f"{case.name} with {percent(case.prediction.memory.probability)}" for case in risky)
    if best is None:
        memory = able[0].prediction.memory
        surely = "" if memory.probability >= CERTAIN else f", which {memory.verdict}"
        left = f"no other fits the memory of its GPUs ({', '.join(unfit)})"
        if risky:
            left = f"no other fits with {percent(standing.confidence)} ({', '.join([*unfit, chances])})"
        return f"Take {able[0].name}{surely}: {left}."
    probably = "probably " if any(map(_chance_of_misfit, misfits)) else ""
    lines = [f"{', '.join(unfit)} {probably}{'does' if len(unfit) == 1 else 'do'} not fit."] if unfit else []
    lines += [f"Of too little memory for {percent(standing.confidence)}: {chances}."] if risky else []
    if choice.ground == "kind of price":
        return " ".join([*lines, price_advice.advice(able, choice.taken, standing.confidence)])
    which, others = _which(standing, best, choice), other_adapters(standing, best)
    lines += [capitalised(which)] if others is None else [f"{others.assumed} {which}", others.sentence]
    lines += [*_why(best), *on_networks(standing, best)]
    if LITTLE > best.ratio.value > 1 - SAME:
        lines.append(_what_would(best))
    return " ".join(line for line in lines if line)


def _chance_of_misfit(case: Case) -> str:
    """Return the probability that a case fits which more likely does not, behind its name; empty if small."""
    chance = case.prediction.memory.probability
    return f" ({percent(chance)} that it does)" if chance > 1 - CERTAIN else ""


def _which(standing: Standing, best: Best, choice: Choice) -> str:
    """Return which case to take of those to choose from, as a sentence with a small first letter, or two."""
    able, ratio, sure = standing.able, best.ratio, standing.confidence
    other = best.case.name
    if choice.ground == "price of equals":
        cheaper = _cheaper((best.first, best.case), sure)
        return f"the fastest are {best.first.name} and {other}, one job at two prices: {cheaper}."
    if choice.ground == "lesser of equals":
        less, more = lesser(best)
        whole = more.name if best.others == 1 or less is best.case else "none of the others"
        within = range_words(standing.speed(more, less))
        verb = "is about as fast" if within else "gains nothing over it"
        if whole != more.name:
            verb = "gains anything over it"
        why_so = why_nothing(best.first, best.case)
        return f"take {_taken(less, sure)}: {whole} {verb}{within}, because {why_so}."
    if choice.ground == "speed":
        return f"{_at_cost(best, sure)}."
    if choice.ground == "little":
        is_fastest = best.others > 1 and ratio.value > 1
        cheaper = _cheaper(able, sure)
        if not network_hardly_matters(standing):
            change, place = "gain" if ratio.value > 1 else "lose", "the fastest, " * is_fastest
            return f"{cheaper}: {other} is {place}{ratio.sentence}, but may {change} nothing."
        known = f"; {SAYS_COST}" if whether_it_pays(standing.cases) else ""
        return f"the network hardly matters here; {cheaper}: {_at_most_apart(standing, best)}{known}."
    fastest, most = best.faster, "fastest" if best.others > 1 else "faster"
    is_faster = f"{'it' if fastest is best.case else other} is {ratio.sentence}"
    if choice.ground == "speed and cost":
        return f"take {_taken(fastest, sure)}, which is cheaper and seems the {most}: {is_faster}."
    return (
        f"{_instead(able, best, sure)}, or measure: {_taken(fastest, sure)} seems the {most}, "
        f"too little to decide by{_asked(sure)}: {is_faster}."
    )


def _at_most_apart(standing: Standing, best: Best) -> str:
    """Return how far apart the first case and another are at most: the fastest, else the slowest."""
    case, ratio, degree, place = best.case, best.ratio, "only", "fastest"
    if ratio.value < 1:
        first, *others = standing.able
        case = min(others, key=lambda each: standing.speed(each, first).value)
        ratio, degree, place = standing.speed(case, first), "still", "slowest"
    whole = f"even {case.name}, the {place}," if best.others > 1 else case.name
    return f"{whole} is {degree} {ratio.sentence}"


def _why(best: Best) -> list[str]:
    """Return the first reason why two speeds differ, in at most one sentence."""
    return [] if best.gains_nothing else [f"{capitalised(why(best.first, best.case)[0])}."]


def _asked(confidence: float) -> str:
    """Return how sure an order has to be, where somebody asked for another than the usual confidence."""
    return "" if confidence == USUAL_CONFIDENCE else f" with {percent(confidence)}"


def _instead(able: Sequence[Case], best: Best, confidence: float) -> str:
    """Return what to decide by where speed is too uncertain: cost, else memory, else simplicity."""
    if differing(best.first, best.case) & {*HARDWARE}:
        return _cheaper(able, confidence)
    chances = [case.prediction.memory.probability for case in (best.first, best.case)]
    if abs(chances[0] - chances[1]) > 1 - CERTAIN:
        surer = best.first if chances[0] > chances[1] else best.case
        return f"take {surer.name}, which {surer.prediction.memory.verdict}"
    return "take the simpler"


def _at_cost(best: Best, confidence: float) -> str:
    """Return which of two cases to take, the faster for sure, with their costs of a sample where known."""
    other, cost, base = best.case.name, best.case.owed, best.first.owed
    is_faster = best.faster is best.case
    cases = (best.case, best.first) if is_faster else (best.first, best.case)
    taken, left = (_taken(case, confidence) for case in cases)
    words = f"{'it' if is_faster else other} is {best.ratio.sentence}"
    if not is_faster and best.others > 1:
        words = f"all others are slower, of which {words}"
    if cost is None or base is None:
        return f"take {taken}{' for speed' if is_faster else ''}: {words}"
    at_cost = cost_words(best.case, best.first, SAME_COST)
    if abs(cost / base - 1) < SAME_COST:
        return f"take {taken}: {words}{at_cost}"
    is_dearer = (cost > base) == is_faster
    choice = f"take {taken} for speed, {left} for cost" if is_dearer else f"take {taken}"
    return f"{choice}: {words}{at_cost}"


def _cheaper(able: Sequence[Case], confidence: float) -> str:
    """Return that the cheaper case is to be taken, and which that is; to ask for prices that nobody knows."""
    lacking = [case for case in able if case.owed is None]
    if lacking:
        known = [case for case in able if case.owed is not None]
        return price_advice.prices_to_ask(
            lacking, min(known, key=lambda case: case.owed or 0.0, default=None)
        )
    least = cheapest(able)
    return "take the cheaper" if least is None else f"take the cheaper, which is {_taken(least, confidence)}"


def _taken(case: Case, confidence: float) -> str:
    """Return the name of a recommended case, with the probability that it fits where that is small."""
    chance = case.prediction.memory.probability
    return case.name if chance >= confidence else f"{case.name} (fits with only {percent(chance)})"


def _what_would(best: Best) -> str:
    """Return what would gain more than the compared cases, in a sentence."""
    network = differ_in_network(best.first, best.case)
    base = best.case if network_order(best.case.prediction, best.first.prediction) > 0 else best.first
    known = gains(base if network else best.case, network)
    words = "; ".join([*(gain.sentence for gain in known[:1]), *(gain.words for gain in known[1:])])
    return f"{capitalised(words)}." if known else ""
