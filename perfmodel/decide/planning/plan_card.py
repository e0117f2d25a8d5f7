"""The answer card of a search for machines: what to take, how long, at what cost, how sure, and why."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from perfmodel.core.choices import PriceKind
from perfmodel.core.sentences import capitalised, in_a_list, likely_to, likely_to_be
from perfmodel.core.units import dollars, duration, many, percent, plural
from perfmodel.decide.planning.alternatives import KINDS, alternatives, at_every_price, cap_binds, unkept
from perfmodel.decide.planning.each_kind import which_kind
from perfmodel.decide.planning.figures import ends, is_fixed, likely_amounts, rounded_up
from perfmodel.decide.planning.goal import Goal
from perfmodel.decide.planning.price_words import (
    IN_PARENTHESES,
    basis_words,
    offered,
    offered_at,
    paid_words,
    price_notes,
    to_pay,
)
from perfmodel.decide.planning.results import SearchResult
from perfmodel.decide.planning.within import HOPELESS, owes_more, payment, wanted
from perfmodel.decide.price_kinds import rate_words
from perfmodel.decide.prices import Price, no_price_words
from perfmodel.hardware.catalogue.store import Catalogue
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.card import limit_of, memory_words, rests_on, rough_words
from perfmodel.model.prediction.memory_odds import CERTAIN
from perfmodel.model.prediction.result import Prediction
from perfmodel.model.transformers.layout_words import in_full
from perfmodel.workloads.recipes.token_recipes import token_recipe

Row = dict[str, Any]

NAMED_RISK = 0.1
"""Share of the largest risk from which another is named with it."""
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
        run=run_words(plan),
        time=prediction.time_words,
        throughput="",  # the figures of a plan have it
        cost=cost_words(plan),
        chance=chance_words(plan, result.goal, prediction),
        memory=memory_words(prediction),
        limit=limit_of(prediction),
        rests_on="; ".join(
            filter(
                None,
                [
                    rests_on(prediction),
                    _rent_words(result.price_in_question),
                    rate_words(price_notes(result)),
                ],
            )
        ),
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
    if limits:
        within += _sureness(result.goal, chosen)
    amounts = [duration(chosen["run_time"]), *([] if chosen["cost"] is None else [dollars(payment(chosen))])]
    taken = f"Take {offered_at(chosen)}: {', '.join(amounts)}, {within}."
    return " ".join(filter(None, [which_kind(result), taken, _may_not_fit(result, chosen)]))


def _may_not_fit(result: SearchResult, chosen: Row) -> str:
    """Return how likely a plan fits, and what one that surely does costs more; empty of one that does."""
    fits = chosen["memory"]["fits_probability"]
    if fits >= CERTAIN:
        return ""
    first, safe = "It may not fit into memory", result.surely_fitting
    if safe is None:
        return f"{first}; no plan{' within the limits' if result.goal.limits.words else ''} is sure to."
    more = round(wanted(safe, result.by_cost) - wanted(chosen, result.by_cost), 2)  # to the cent
    show, worse = (dollars, "costs {} more") if result.by_cost else (duration, "takes {} longer")
    than = worse.format(show(more) if more > 0 else "no")
    sure = percent(safe["memory"]["fits_probability"])
    return f"{first}; one that fits with {sure} {than}: {compared(safe, result)}."


def compared(plan: Row, result: SearchResult) -> str:
    """Return the machines of a plan; where they are those chosen, what the plan does differently on them."""
    chosen = result.chosen
    if chosen is None or plan["machines"] != chosen["machines"]:
        return offered(plan)
    return f"the same machines, {changed_words(plan, chosen, result.goal)}"


def changed_words(plan: Row, other: Row, goal: Goal) -> str:
    """Return what a plan does differently from another on the same machines; empty where it is the same."""
    known = used_words(other, goal).split(", ")
    return ", ".join(part for part in used_words(plan, goal).split(", ") if part not in known)


def _sureness(goal: Goal, plan: Row) -> str:
    """Return the probability of keeping within all limits, as the end of a sentence that names them."""
    if plan["probability"] is None:
        return " as predicted: how sure that is, is not known"
    fit = "fit and to " if plan["probability"] <= SURE and "memory" in _largest_risks(plan) else ""
    them = "it" if None in (goal.deadline, goal.budget) else "both"
    return f"; {likely_to(f'{fit}keep {them}', plan['probability'])}"


def _not_met(result: SearchResult, surest: Row) -> str:
    """Return what no plan does and why, what would make it possible, and how near the surest plan comes."""
    goal, sure = result.goal, surest["probability"]
    what = f"meet {limit_words(goal)}" if goal.limits.words else "fit into memory"
    given = "" if goal.limits_gpus else "the default of "
    within = f"With at most {goal.max_gpus:,} GPUs ({given}--max-gpus) no" if cap_binds(result) else "No"
    length = f": {_length_words(goal)}" if goal.tokens is not None and goal.limits.words else ""
    first = f"{within} plan of known price is {likely_to(what, goal.confidence)}{length}."
    would = _possible_with(result)
    possible = f" It would be {percent(goal.confidence)} likely {would}." if would else ""
    if sure is not None and sure >= 0.5:
        too, option = " too" if would else "", f"--confidence {int(100 * sure) / 100:g}"
        possible += f" At a risk of {percent(1 - sure)} ({option}) it is possible{too}."
    possible += f"{_unkept(result)}{_at_other_prices(result)}"
    hopeless = sure is not None and sure <= HOPELESS
    which = "None is likely; the nearest is" if hopeless else "The surest is"
    words = "" if sure is None or hopeless else f", with {percent(sure)}"
    same = [one.plan for one in alternatives(result) if one.plan["machines"] == surest["machines"]]
    changed = changed_words(surest, same[0], goal) if same and surest not in same else ""
    differs = f", {changed}" if changed else ""
    return f"{first}{possible} {which} {offered(surest)}{differs}{words}{_over(goal, surest)}."


def _possible_with(result: SearchResult) -> str:
    """Return what would make a goal possible; where more GPUs are a way, the others are within the limit."""
    ways = alternatives(result)
    within = f"within {result.goal.max_gpus:,} GPUs " if any(one.needs_gpus for one in ways) else ""
    groups = [
        f"{'' if needs_gpus else within}with "
        + "; or ".join(f"{one.words} on {offered(one.plan)}{one.outcome}" for one in group)
        for needs_gpus, group in groupby(ways, lambda one: one.needs_gpus)
    ]
    return "; or ".join(groups)


def _length_words(goal: Goal) -> str:
    """Return the tokens of a run, against those that its network is usually trained on."""
    tokens, usual = float(goal.tokens or 0.0), token_recipe(goal.network())
    if usual.tokens is None or tokens == usual.tokens:
        return f"the run has {usual.fit.target}"
    share = percent(tokens / usual.tokens) if tokens < usual.tokens else f"{tokens / usual.tokens:.2g} x"
    return f"the run has {many(tokens)} tokens, {share} of the usual {many(usual.tokens)}"


def _unkept(result: SearchResult) -> str:
    """Return which limits no plan keeps whatever the other is, and which plan comes nearest to each."""
    goal, plans = result.goal, unkept(result)
    said = {
        "deadline": "the deadline at any cost: the fastest",
        "budget": f"the budget{_at_prices(result)}, however long it takes: the cheapest",
    }
    words = [f"{said[name]}, {_nearest_words(plan, goal)}" for name, plan in plans.items()]
    return f" With at most {goal.max_gpus:,} GPUs no plan keeps {'; and none '.join(words)}." if words else ""


def _nearest_words(plan: Row, goal: Goal) -> str:
    """Return the plan that comes nearest to a limit, with what it takes and costs at most."""
    fixed = f", {to_pay(plan)}" if is_fixed(plan) else ""
    return f"{offered_at(plan)}{fixed}, is {likely_amounts(plan, goal.confidence)}"


def _at_prices(result: SearchResult) -> str:
    """Return the kinds of price that were tried, as a clause; empty of prices given and machines bought."""
    prices = [machine.price for machine in result.machines if machine.price]
    kinds = dict.fromkeys(price.kind.partition("-1y")[0].partition("-3y")[0] for price in prices)
    if "owned" in kinds or any(price.basis == "given" for price in prices):
        return ""
    return f" at {in_a_list(kinds)} prices"


def _at_other_prices(result: SearchResult) -> str:
    """Return that other kinds of price do not help either, with the cheapest plan then; empty where one does.

    Also empty where such prices were asked for or none are known.
    """
    answer = at_every_price(result)
    if answer is None or answer.met:
        return ""
    limits = result.goal.limits.words.replace(" and ", " and the ")
    words = f" At spot and reserved prices (--pricing {','.join(KINDS)}) no plan keeps the {limits} either"
    cheapest = unkept(answer).get("budget")
    if cheapest is None:
        return f"{words}."
    late = "too late" if cheapest["run_time_at_most"] > (result.goal.deadline or 0.0) else "in time"
    return f"{words}: the cheapest, {_nearest_words(cheapest, result.goal)}, {late}."


def _over(goal: Goal, surest: Row) -> str:
    """Return by how much a plan may be over the limits, as surely as asked for; empty where it is not."""
    time, cost = surest["run_time_at_most"], surest["cost_at_most"]
    over = []
    if goal.deadline is not None and time is not None and time > goal.deadline:
        over.append(f"{duration(rounded_up(time, 's') - goal.deadline)} over the deadline")
    if goal.budget is not None and cost is not None and cost > goal.budget:
        over.append(f"{dollars(rounded_up(cost, 'USD') - goal.budget)} over the budget")
    return f": {likely_to_be(f'at most {in_a_list(over)}', goal.confidence)}" if over else ""


def _without_a_plan(result: SearchResult) -> str:
    """Return the sentence on a search without a plan of known price."""
    if not any(machine.price for machine in result.machines):
        names = ", ".join(machine.typed for machine in result.machines[:3])
        kind: PriceKind = result.goal.pricing[0] if result.goal.pricing else "on-demand"
        first = no_price_words(Catalogue.of(result.catalogue), result.machines[0].node, kind, names)
        or_else = "; or" if ";" in first else ":"
        return f"{capitalised(first)}{or_else} give --price NODE=USD, per hour of one node."
    return "No run of known price ever ends: machines are taken back, or fail, faster than work restarts."


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


def run_words(plan: Row) -> str:
    """Return time and length of a run, with the interval."""
    if plan["run_time"] is None:
        return ""
    if plan["layout"]:
        length = f"{many(plan['samples'] * plan['sequence_length'])} tokens"
    elif plan["epochs"] is not None:
        length = f"{plan['epochs']:{'.4g' if plan['epochs'] < 1000 else ',.0f'}} epochs"
    else:
        length = f"{many(plan['samples'])} samples"
    return _amount(plan, "run_time", duration, f" for {length}")


def cost_words(plan: Row) -> str:
    """Return the cost of a run, with the interval and the kind of price."""
    if plan["cost"] is None:
        return "no price is known"
    if owes_more(plan):
        return f"{paid_words(plan)}; the run uses {dollars(plan['cost'])} of it"
    return _amount(plan, "cost", dollars, basis_words(plan))


def _rent_words(price: Price | None) -> str:
    """Return the price of an hour of a machine, with its region and date; empty without one."""
    if price is None or price.kind == "owned":
        return ""
    listed = f" in {price.region}, {price.date}" if price.region and price.date else ", as given"
    return f"a machine is {dollars(price.usd_per_hour)} an hour{listed}"


def _amount(plan: Row, name: str, show: Any, of: str) -> str:
    """Return an amount of a plan with its interval, and what it is of."""
    interval = ends(plan, name, show)
    return f"{show(plan[name])}{f' (80 %: {interval})' if interval else ''}{of}"


def _largest_risks(plan: Row) -> dict[str, float]:
    """Return the risks of a plan that are worth a name, the largest first."""
    risks = {limit: plan[f"{limit}_risk"] or 0.0 for limit in ("deadline", "budget")}
    risks["memory"] = 1 - plan["memory"]["fits_probability"]
    named = sorted(risks, key=lambda name: -risks[name])
    return {name: risks[name] for name in named if risks[name] >= NAMED_RISK * risks[named[0]]}


def chance_words(plan: Row, goal: Goal, prediction: Prediction) -> str:
    """Return the probability of keeping within all limits, the risks, and how rough both are."""
    sure = plan["probability"]
    if sure is None or not goal.limits.words:
        return ""
    named = _largest_risks(plan)
    may_not_fit = plan["memory"]["fits_probability"] < CERTAIN
    is_one = (goal.deadline is None or goal.budget is None) and not may_not_fit and "memory" not in named
    words = f"{percent(sure)} to fit and to keep the {goal.limits.words.replace(' and ', ' and the ')}"
    if not is_one and sure <= SURE:
        largest = in_a_list(f"the {name}" for name in named)
        words += f"; the {'risk is' if len(named) == 1 else 'risks are'} {largest}"
    return f"{words}{rough_words(prediction, goal.confidence)}"
