"""What makes a goal possible that no plan meets: fewer tokens, other limits, other values of defaults."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from perfmodel.core.candidates import TooManyCandidates
from perfmodel.core.choices import PriceKind
from perfmodel.core.errors import InputError
from perfmodel.core.problem import Note
from perfmodel.core.units import dollars, duration, many, percent
from perfmodel.decide.planning.figures import rounded_up
from perfmodel.decide.planning.goal import BATCH_TOO_LARGE, Goal
from perfmodel.decide.planning.price_words import paid_words
from perfmodel.decide.planning.results import SearchResult
from perfmodel.decide.planning.searches import search
from perfmodel.decide.planning.within import likely, paid, payment
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.options.run import LARGEST_SEARCH
from perfmodel.model.setting.sharing import predicts_tokens

Row = dict[str, Any]

TIMES = (2, 4, 8)
"""Multiples of a default that are tried, the nearest first (a choice)."""
FASTER = {"bf16": "fp8", "amp": "fp8", "fp16": "fp8"}
"""Precision -> a faster one that is tried, of accelerators that have it."""
TRIES = 4
"""Lengths of a run that are tried, each as long as the plans of the one before allow (a choice)."""
MOST_GPUS = LARGEST_SEARCH // 1000 * 1000
"""Largest round number of GPUs of a search."""
FEWEST_TOKENS = 0.01
"""Share of a run's tokens below which fewer of them are not offered (a choice)."""
FAR_CHEAPER = 0.8
"""Share of the cost of a plan on the fewest GPUs below which one on more is named (a choice)."""
KINDS: tuple[PriceKind, ...] = ("on-demand", "spot", "reserved-1y", "reserved-3y")
"""Kinds of price that are tried where the default, the first of them, meets no budget."""


class Alternative(NamedTuple):
    """Another length or limit, or another value of a default, with which a plan meets every limit."""

    option: str
    """Name of the option on the command line."""
    default: float | int | str
    """Length or limit that was given, or default that the search used."""
    value: float | int | str
    """Value that would do; a deadline in seconds, a budget in dollars."""
    plan: dict[str, Any]
    """The plan that is chosen then."""
    along_with: Mapping[str, tuple[float, float]] = {}
    """Another limit that must change with it, by name -> what was given, what would do."""

    @property
    def words(self) -> str:
        """The other values, as text."""
        changes = [_change(name, *values) for name, values in self.along_with.items()]
        if self.needs_gpus:
            gpus = f"{self.plan['world_size']:,} GPUs (--max-gpus {self.value})"
            return " and ".join([gpus, *changes])
        return " and ".join([_change(self.option, self.default, self.value), *changes])

    @property
    def needs_gpus(self) -> bool:
        """Whether it needs more GPUs than may be tried."""
        return self.option == "max-gpus"

    @property
    def outcome(self) -> str:
        """Expected time and cost of the plan, behind a comma, where it needs more GPUs; else empty."""
        if not self.needs_gpus:
            return ""
        return f", expected to take {duration(self.plan['run_time'])} and {paid_words(self.plan)}"


def _change(option: str, default: float | int | str, value: float | int | str) -> str:
    """Return another value of an option, and what it is compared with."""
    if option == "tokens":
        tokens, share = many(float(value)), percent(float(value) / float(default))
        return f"{tokens} tokens, {share} of {many(float(default))} (--tokens {tokens.replace(' ', '')})"
    if option in SHOWN:
        shown = SHOWN[option]
        return f"a {option} of {shown(float(value))} ({shown(float(value) - float(default))} more)"
    return f"--{option} {value} (default: {default})"


SHOWN = {"deadline": duration, "budget": dollars}
"""Limits of a goal -> how they are written."""


def cap_binds(result: SearchResult) -> bool:
    """Return whether no plan meets the limits, but one might on more GPUs than may be tried."""
    return not result.met and bool(_bound(result))


def _bound(result: SearchResult) -> list[Row]:
    """Return the plans of the front on most of the GPUs allowed that may be too late, or may not fit."""
    deadline = math.inf if result.goal.deadline is None else result.goal.deadline
    return [
        row
        for row in result.front
        if 2 * row["world_size"] > result.goal.max_gpus and not _longest(row) <= deadline
    ]


def _longest(row: Row) -> float:
    """Return what a plan takes at most [s], as surely as asked; not a number where it fits less surely."""
    time = row["run_time" if row["run_time_high_80"] is None else "run_time_at_most"]
    return math.nan if time is None else float(time)


@lru_cache(maxsize=1)
def alternatives(result: SearchResult) -> list[Alternative]:
    """Return what makes a goal possible: fewer tokens, limits that some plan meets, values of defaults.

    Of each option it is the first value with which a plan meets them with the probability asked for.  Values
    of defaults are tried on the machine of the surest plan only.  What changes least of what was given comes
    first, then the cheapest plan; ways with more GPUs stand together.  Empty where the limits are met or
    nothing helps.
    """
    surest = result.surest_row
    if surest is None or result.met:
        return []
    helping = [*_on_more_gpus(result), *_fewer_tokens(result), *_limits(result), *_other_prices(result)]
    for option, field, default, values in _defaults(result, result.row(surest)):
        tried = (_tried(result, surest, option, field, default, value) for value in values)
        helping += islice(filter(None, tried), 1)
    helping.sort(key=lambda one: (_changes(one, result.goal), one.option == "tokens", payment(one.plan)))
    return sorted(helping, key=lambda one: one.needs_gpus != helping[0].needs_gpus)


def _changes(one: Alternative, goal: Goal) -> int:
    """Return how much another value changes of what was given: limits, length of the run, how it trains."""
    is_free = one.option == "pricing" or (one.needs_gpus and not goal.limits_gpus)
    return len(one.along_with) + (not is_free)


@lru_cache(maxsize=1)
def at_every_price(result: SearchResult) -> SearchResult | None:
    """Return the search at all ``KINDS`` of price, where the default one alone meets no budget; else None."""
    goal = result.goal
    if result.met or goal.budget is None or goal.purchase_prices or goal.pricing not in ((), KINDS[:1]):
        return None
    every = goal.model_copy(update={"pricing": KINDS})
    try:
        answer = search(every, result.catalogue, result.constants, result.known)
    except (InputError, TooManyCandidates):
        return None
    others = any(machine.price and machine.price.kind != KINDS[0] for machine in answer.machines)
    return answer if others else None


def _other_prices(result: SearchResult) -> list[Alternative]:
    """Return another kind of price at which a plan meets the limits, at most one."""
    answer = at_every_price(result)
    price = None if answer is None else answer.price_in_question
    if answer is None or answer.chosen is None or price is None:
        return []
    return [Alternative("pricing", KINDS[0], price.kind, answer.chosen)]


def _fewer_tokens(result: SearchResult) -> list[Alternative]:
    """Return the most tokens that the limits buy, of a run whose tokens are given; empty for too few.

    Fewer tokens allow a smaller batch only, with which a plan may be slower: a length is tried, and shortened
    as far as its own plans need it.
    """
    goal = result.goal
    if goal.tokens is None:
        return []
    tokens, answer = goal.tokens, result
    for _ in range(TRIES):
        share = _share_bought(answer)
        row = int(np.argmax(share))
        tokens = _rounded_down(tokens * float(share[row]))
        if tokens < FEWEST_TOKENS * goal.tokens:
            return []
        shorter = _searched(answer, [answer.row(row)], "tokens", tokens)
        if shorter is None:
            return []
        if shorter.chosen is not None:
            return [Alternative("tokens", goal.tokens, tokens, shorter.chosen)]
        answer = shorter
    return []


def _share_bought(result: SearchResult) -> Any:
    """Return the share of the run that each plan does within the limits, as surely as asked; (plans,).

    It is 0 where a plan does not fit so surely, its price is unknown or its reserved term costs too much.
    """
    table, limits = result.candidates, result.goal.limits
    amounts = _at_most(result)
    share = np.where(np.isfinite(table["cost"]) & (table["fits_probability"] > limits.confidence), 1.0, 0.0)
    for name, amount in amounts.items():
        share = np.minimum(share, np.nan_to_num(getattr(limits, name) / amount))
    if limits.budget is not None:
        owed = paid(table)
        share = np.where((owed > table["cost"]) & (owed > limits.budget), 0.0, share)
    return share


def _rounded_down(tokens: float) -> float:
    """Return a number of two digits that is not above another.

    >>> _rounded_down(4.97e12), _rounded_down(0.0)
    (4900000000000.0, 0.0)
    """
    if tokens <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(tokens)) - 1)
    return math.floor(tokens / unit) * unit


def unkept(result: SearchResult) -> dict[str, dict[str, Any]]:
    """Return the limits of two that no plan keeps, even alone, each with the plan that needs least of it."""
    table, limits = result.candidates, result.goal.limits
    if None in (limits.deadline, limits.budget):
        return {}
    nearest = {}
    for name, amount in _at_most(result).items():
        known = np.isfinite(table["cost"]) & np.isfinite(amount)
        alone = limits._replace(budget=None) if name == "deadline" else limits._replace(deadline=None)
        if known.any() and not (known & likely(table, alone)).any():
            nearest[name] = result.row(int(np.argmin(np.where(known, amount, np.inf))))
    return nearest


def _at_most(result: SearchResult) -> dict[str, Any]:
    """Return the limits of a goal -> what each plan needs of it with the probability asked for."""
    amounts = {"deadline": result.candidates["run_time_at_most"], "budget": result.candidates["cost_at_most"]}
    return {name: amount for name, amount in amounts.items() if getattr(result.goal.limits, name) is not None}


def _limits(result: SearchResult) -> list[Alternative]:
    """Return the deadline that a plan keeps within the budget, and the budget that one keeps in time.

    Where each takes the other to give way, both together, of the plan that is least beyond them.
    """
    table, limits = result.candidates, result.goal.limits
    amounts = _at_most(result)
    beyond = [amount / getattr(limits, name) for name, amount in amounts.items()]
    if not beyond:
        return []
    known = np.isfinite(table["cost"]) & np.isfinite(sum(beyond))
    kept = []
    for name, amount in amounts.items():
        others = limits._replace(deadline=None) if name == "deadline" else limits._replace(budget=None)
        able = known & likely(table, others)
        if able.any():
            row = int(np.argmin(np.where(able, amount, np.inf)))
            kept.append(Alternative(name, *_limit(result, name, amount[row]), result.row(row)))
    if not kept and known.any():
        row = int(np.argmin(np.where(known, np.maximum(*beyond), np.inf)))
        deadline, budget = (_limit(result, name, amount[row]) for name, amount in amounts.items())
        kept = [Alternative("deadline", *deadline, result.row(row), {"budget": budget})]
    return kept


def _limit(result: SearchResult, name: str, amount: float) -> tuple[float, float]:
    """Return a limit and the value of it that ``amount`` keeps: as tables write it, not rounded down."""
    return float(getattr(result.goal, name)), rounded_up(float(amount), "s" if name == "deadline" else "USD")


def _defaults(
    result: SearchResult, surest: dict[str, Any]
) -> Iterator[tuple[str, str, int | str, tuple[int | str, ...]]]:
    """Yield the defaults that may keep plans from the limits: option, field of a goal, value used, others."""
    goal = result.goal
    network = goal.network()
    if goal.global_batch_size is None and goal.max_global_batch_size is None:
        if predicts_tokens(network):
            used = int(surest["global_batch_size"])
            yield "global-batch-size", "global_batch_size", used, tuple(used * times for times in TIMES)
        elif any(isinstance(each, Note) and each.about == BATCH_TOO_LARGE for each in result.left_out):
            used = int(goal.most_samples(network))
            yield "max-global-batch-size", "max_global_batch_size", used, tuple(used * n for n in TIMES)
    if surest["layout"] and not goal.precisions:
        held = Catalogue.of(result.catalogue).accelerator(surest["accelerator"])
        faster = FASTER.get(surest["precision"])
        if faster in held.peak_flops:
            yield "precision", "precisions", surest["precision"], (faster,)


def _on_more_gpus(result: SearchResult) -> list[Alternative]:
    """Return the lowest round limit of GPUs with which a plan meets the others, and a far cheaper one.

    Under a budget the far cheaper one alone; where no plan keeps the budget, it gives way.  The first
    limits tried are those with which plans of the front would be in time if twice the GPUs took half the
    time.
    """
    goal, bound = result.goal, _bound(result)
    if not bound or goal.max_gpus >= MOST_GPUS:
        return []
    in_time = [row["world_size"] * _longest(row) / (goal.deadline or math.inf) for row in bound]
    least = max(goal.max_gpus + 1, math.ceil(min(np.nan_to_num(in_time))))
    if least > MOST_GPUS:
        return []
    first = rounded_gpus(max(2 * goal.max_gpus, least))
    caps = dict.fromkeys(min(rounded_gpus(first * times), MOST_GPUS) for times in (1, *TIMES[:-1]))
    tried = ((cap, _with_gpus(result, bound, cap)) for cap in caps)
    cap, enough = next(((cap, one) for cap, one in tried if one), (0, None))
    if enough is None:
        return []
    rounds = sorted({rounded_gpus(count) for count in range(least, cap + 1)})
    low, high = 0, len(rounds) - 1
    while low < high:
        middle = (low + high) // 2
        fewer = _with_gpus(result, bound, rounds[middle])
        if fewer and len(fewer.along_with) <= len(enough.along_with):
            high, enough = middle, fewer
        else:
            low = middle + 1
    more = _with_gpus(result, bound, min(2 * cap, MOST_GPUS))
    if more and payment(more.plan) < FAR_CHEAPER * payment(enough.plan):
        more = _with_gpus(result, bound, rounded_gpus(more.plan["world_size"]))
        if more:
            return [more] if goal.budget is not None else [enough, more]
    return [enough]


def rounded_gpus(count: int) -> int:
    """Return the least number of two digits and zeros that is not below another.

    >>> rounded_gpus(8), rounded_gpus(328), rounded_gpus(3072)
    (8, 330, 3100)
    """
    unit = int(10 ** max(0, len(str(count)) - 2))
    return -(-count // unit) * unit


def _with_gpus(result: SearchResult, plans: Sequence[Row], cap: int) -> Alternative | None:
    """Return another limit of GPUs if a plan then meets the others on the machines of some plans; else None.

    The budget may have to give way to the deadline.
    """
    answer, option = _searched(result, plans, "max_gpus", cap), ("max-gpus", result.goal.max_gpus, cap)
    if answer is None:
        return None
    if answer.chosen is not None:
        return Alternative(*option, answer.chosen)
    if result.goal.deadline is not None:
        for one in _limits(answer):
            if one.option == "budget":
                budget = {"budget": (float(one.default), float(one.value))}
                return Alternative(*option, one.plan, budget)
    return None


def _tried(
    result: SearchResult, row: int, option: str, field: str, default: int | str, value: int | str
) -> Alternative | None:
    """Return another value of one default if a plan meets the limits then; None where none does."""
    answer = _searched(result, [result.row(row)], field, value)
    if answer is None or answer.chosen is None:
        return None
    return Alternative(option, default, value, answer.chosen)


def _searched(
    result: SearchResult, plans: Sequence[Row], field: str, value: float | int | str
) -> SearchResult | None:
    """Return a search on the machines of some plans with another value of one field of its goal."""
    offers = tuple(dict.fromkeys(plan["instance"] for plan in plans if plan["instance"]))
    nodes = tuple(dict.fromkeys(plan["node"] for plan in plans if not plan["instance"]))
    given = (value,) if field == "precisions" else value
    goal: Goal = result.goal.model_copy(update={field: given, "instances": offers, "nodes": nodes})
    try:
        return search(goal, result.catalogue, result.constants, result.known)
    except (InputError, TooManyCandidates):
        return None
