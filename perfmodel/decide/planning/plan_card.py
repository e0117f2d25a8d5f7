"""The answer card of a search for machines: what to take, how long, at what cost, how sure, and why."""

from __future__ import annotations

from typing import Any

from perfmodel.core.choices import PriceKind
from perfmodel.core.sentences import capitalised
from perfmodel.core.units import dollars, duration, many, percent, plural
from perfmodel.decide.planning.alternatives import (
    Alternative,
    alternatives,
    beyond_the_cap,
    cap_binds,
    unkept,
)
from perfmodel.decide.planning.each_kind import which_kind
from perfmodel.decide.planning.goal import Goal
from perfmodel.decide.planning.price_words import (
    IN_PARENTHESES,
    basis_words,
    offered,
    paid_words,
    price_notes,
)
from perfmodel.decide.planning.results import SearchResult
from perfmodel.decide.planning.within import HOPELESS, owes_more, payment
from perfmodel.decide.price_kinds import rate_words
from perfmodel.decide.prices import no_price_words
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.card import limit_of, memory_words, rests_on, rough_words
from perfmodel.model.prediction.memory_odds import CERTAIN
from perfmodel.model.prediction.result import Prediction
from perfmodel.model.transformers.layout_words import in_full

Row = dict[str, Any]

SURE = 0.99
"""Probability above which the single risks are not listed."""


def card_of_plan(result: SearchResult) -> Card:
    """Return the answer card of a search: of the chosen plan, or of the surest where none is.

    Examples
    --------
    >>> from perfmodel.decide.planning import Goal, search
    >>> goal = Goal(epochs=90, deadline=86400.0, instances=("p3.16xlarge",), max_gpus=8)
    >>> card_of_plan(search(goal)).machines
    '8 x V100 SXM2 16 GB (AWS p3.16xlarge): all-reduce (auto), amp, 256 samples on each, 2,048 a step'
    """
    plan = result.in_question
    if plan is None:
        return Card.model_construct(**dict.fromkeys(Card.model_fields, "") | {"advice": advice(result)})
    prediction = result.predicted(plan)
    return Card.model_construct(
        advice=advice(result),
        machines=machines_words(plan, result.goal),
        run=run_words(plan, result.goal),
        time=prediction.time_words,
        cost=cost_words(plan, result.goal),
        chance=chance_words(plan, result.goal, prediction),
        memory=memory_words(prediction),
        limit=limit_of(prediction),
        rests_on="; ".join(filter(None, [rests_on(prediction), rate_words(price_notes(result))])),
    )


def advice(result: SearchResult) -> str:
    """Return what to take, or what keeps a search from an answer and what would make one possible."""
    plan = result.in_question
    if plan is None:
        return _without_a_plan(result)
    return _taken(result, plan) if result.met else _not_met(result, plan)


def _taken(result: SearchResult, chosen: Row) -> str:
    """Return the sentence that recommends the chosen plan."""
    limits, superlative = limit_words(result.goal), "cheapest" if result.by_cost else "fastest"
    within = f"the {superlative} within {limits}" if limits else f"the {superlative} of all"
    if limits and chosen["probability"] is None:
        within += " as predicted: how sure that is, is not known"
    amounts = [duration(chosen["run_time"]), *([] if chosen["cost"] is None else [dollars(payment(chosen))])]
    most = at_most_words(result.goal, chosen)
    kind = which_kind(result)
    return f"{kind}{' ' if kind else ''}" + (
        f"Take {offered(chosen)}{basis_words(chosen)}: {', '.join(amounts)}, {within}{most and f'; {most}'}."
    )


def at_most_words(goal: Goal, plan: Row) -> str:
    """Return what a plan takes and costs at most, as surely as asked for; empty where that is the point."""
    if plan["run_time_at_most"] is None or plan["run_time_at_most"] == plan["run_time"]:
        return ""
    cost = "" if plan["cost_at_most"] is None else f" and {dollars(plan['cost_at_most'])}"
    return f"at most {duration(plan['run_time_at_most'])}{cost} with {percent(goal.confidence)}"


def _not_met(result: SearchResult, surest: Row) -> str:
    """Return what no plan does, what would make it possible, and how near the surest plan comes."""
    goal, sure = result.goal, surest["probability"]
    what = f"meets {limit_words(goal)}" if goal.limits.words else "fits into memory"
    capped = cap_binds(result)
    within = f"With at most {goal.max_gpus:,} GPUs (--max-gpus) no" if capped else "No"
    first = f"{within} plan of known price {what} with {percent(goal.confidence)}."
    more = beyond_the_cap(result)
    if more is not None:
        shown = dollars(more.value) if more.option == "budget" else duration(more.value)
        kept = limit_words(goal, but=more.option)
        first += f" With --max-gpus {more.max_gpus} {kept} can be kept with a {more.option} of {shown}:"
        first += f" {offered(more.plan)}."
    would = _would_do(alternatives(result))
    if sure is not None and sure >= 0.5:
        would.append(f"a risk of {percent(1 - sure)} (--confidence {int(100 * sure) / 100:g})")
    possible = "Without more GPUs it" if more is not None else "It"
    possible = f" {possible} would be possible with {'; or '.join(would)}." if would else ""
    possible += "".join(
        _unkept(goal, name, plan)
        for name, plan in unkept(result).items()
        if more is None or name == more.option
    )
    hopeless = sure is not None and sure <= HOPELESS
    which = "None is likely; the nearest is" if hopeless else "The surest is"
    words = "" if sure is None or hopeless else f", with {percent(sure)}"
    return f"{first}{possible} {which} {surest['machines']}{words}{_over(goal, surest)}."


def _would_do(options: list[Alternative]) -> list[str]:
    """Return what would make a goal possible, as texts; of limits that do so only together, one text."""
    limits = [one for one in options if one.option in ("deadline", "budget")]
    alone = [f"{one.words} on {offered(one.plan)}" for one in limits if one.meets]
    alone += [one.words for one in options if one.meets and one not in limits]
    together = [one.words for one in limits if not one.meets]
    if not together:
        return alone
    return [*alone, f"{' and '.join(together)} on {offered(limits[0].plan)}"]


def _unkept(goal: Goal, name: str, plan: Row) -> str:
    """Return that no plan keeps one limit whatever the other is, and which comes nearest."""
    time, cost = plan["run_time_at_most"], plan["cost_at_most"]
    sure = percent(goal.confidence)
    if name == "budget":
        limit, nearest = "budget, however long it takes", f"cheapest costs {dollars(cost)}"
        other = f"in {duration(time)}"
    else:
        limit, nearest = "deadline at any cost", f"fastest takes {duration(time)}"
        other = f"for {dollars(cost)}"
    return f" No plan keeps the {limit}: the {nearest} at most ({sure}), {other} on {offered(plan)}."


def _over(goal: Goal, surest: Row) -> str:
    """Return by how much a plan is over the limits as predicted; empty where it is not."""
    over = []
    if surest["meets_deadline"] is False:
        over.append(f"over the deadline by {duration(surest['run_time'] - (goal.deadline or 0.0))}")
    if surest["within_budget"] is False:
        over.append(f"over the budget by {dollars(payment(surest) - (goal.budget or 0.0))}")
    return f": as predicted it is {' and '.join(over)}" if over else ""


def _without_a_plan(result: SearchResult) -> str:
    """Return the sentence on a search without a plan of known price."""
    if not any(machine.price for machine in result.machines):
        names = ", ".join(machine.typed for machine in result.machines[:3])
        kind: PriceKind = result.goal.pricing[0] if result.goal.pricing else "on-demand"
        first = no_price_words(Catalogue.of(result.catalogue), result.machines[0].node, kind, names)
        or_else = "; or" if ";" in first else ":"
        return f"{capitalised(first)}{or_else} give --price NODE=USD, per hour of one node."
    limits = limit_words(result.goal)
    return f"No plan of known price meets {limits}." if limits else "No run of known price ever ends."


def limit_words(goal: Goal, but: str = "") -> str:
    """Return deadline and budget, but for one of them, in words; empty without either."""
    limits = []
    if goal.deadline is not None and but != "deadline":
        limits.append(f"the deadline of {duration(goal.deadline)}")
    if goal.budget is not None and but != "budget":
        limits.append(f"the budget of {dollars(goal.budget)}")
    return " and ".join(limits)


def machines_words(plan: Row, goal: Goal) -> str:
    """Return the accelerators of a plan, their machine, and how it trains on them."""
    name = IN_PARENTHESES.search(plan["machines"])
    where = f" {name[0]}" if name else ""
    return f"{plan['world_size']:,} x {plan['accelerator_name']}{where}: {used_words(plan, goal)}"


def used_words(plan: Row, goal: Goal) -> str:
    """Return how a plan trains on its machines: layout or strategy, adapters, precision, and batch."""
    batch, length = plan["global_batch_size"], plan["sequence_length"]
    if plan["layout"]:
        rank, frozen = goal.options.get("lora"), goal.options.get("frozen_weights")
        adapters = f"LoRA rank {rank}{f' on {frozen} weights' if frozen else ''}, " if rank else ""
        trained = f"{adapters}{plan['precision']}"
        tokens = f"{many(batch * length)} tokens a step ({batch:,} {plural('sequence', batch)} of {length:,})"
        return f"{in_full(plan['layout'])}, {trained}, {tokens}"
    tokens = f" of {length:,} tokens" if length else ""
    size = plan["local_batch_size"]
    each = f"{size:,} {plural('sample', size)}{tokens} on each"
    return f"{strategy_words(plan)}, {plan['precision']}, {each}, {batch:,} a step"


def strategy_words(plan: Row) -> str:
    """Return how the copies of a network exchange gradients."""
    if plan["world_size"] == 1:
        return "one GPU"
    return f"all-reduce ({plan['algorithm']})" if plan["strategy"] == "all-reduce" else str(plan["strategy"])


def run_words(plan: Row, goal: Goal) -> str:
    """Return time and length of a run, with what it is at most or the interval."""
    if plan["run_time"] is None:
        return ""
    if plan["layout"]:
        length = f"{many(plan['samples'] * plan['sequence_length'])} tokens"
    elif plan["epochs"] is not None:
        length = f"{plan['epochs']:{'.4g' if plan['epochs'] < 1000 else ',.0f'}} epochs"
    else:
        length = f"{many(plan['samples'])} samples"
    return _amount(plan, "run_time", duration, goal, f" for {length}")


def cost_words(plan: Row, goal: Goal) -> str:
    """Return the cost of a run, the kind of price, and what it is at most or the interval."""
    if plan["cost"] is None:
        return "no price is known"
    if owes_more(plan):
        return f"{paid_words(plan)}; the run uses {dollars(plan['cost'])} of it"
    return _amount(plan, "cost", dollars, goal, basis_words(plan))


def _amount(plan: Row, name: str, show: Any, goal: Goal, of: str) -> str:
    """Return an amount of a plan, what it is of, and what it is at most; its interval where that is unknown.

    An interval beside it would be a second bound with another meaning: of runs that fit.
    """
    words, low, high = show(plan[name]), plan[f"{name}_low_80"], plan[f"{name}_high_80"]
    most = plan[f"{name}_at_most"]
    if most is not None and most != plan[name]:
        counted = "" if plan["memory"]["fits_probability"] >= CERTAIN else ", memory risk included"
        return f"{words}{of}; at most {show(most)} with {percent(goal.confidence)}{counted}"
    return (
        f"{words}{of}" if low is None or high is None else f"{words} (80 %: {show(low)} to {show(high)}){of}"
    )


def chance_words(plan: Row, goal: Goal, prediction: Prediction) -> str:
    """Return the probability of keeping within all limits, the risks, and how rough both are."""
    sure = plan["probability"]
    if sure is None or not goal.limits.words:
        return ""
    risks = [
        f"{percent(plan[f'{limit}_risk'])} to miss the {limit}"
        for limit in ("deadline", "budget")
        if plan[f"{limit}_risk"] is not None
    ]
    fits = plan["memory"]["fits_probability"]
    if fits < CERTAIN:
        risks.append(f"{percent(1 - fits)} not to fit into memory")
    words = f"{percent(sure)} to keep the {goal.limits.words.replace(' and ', ' and the ')}"
    if len(risks) > 1 and sure <= SURE:
        words += f"; {', '.join(risks)}"
    return f"{words}{rough_words(prediction, goal.confidence)}"
