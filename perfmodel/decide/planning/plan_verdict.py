"""The result of a search in sentences: which machines to hire, whether limits are met, and notes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from perfmodel.core.units import dollars, duration, many, per_cent, percent
from perfmodel.decide.cost_words import COMMUNICATING, IDLE
from perfmodel.decide.failures import USUAL_CHECKPOINT_BANDWIDTH
from perfmodel.decide.planning.alternatives import SHOWN, alternatives
from perfmodel.decide.planning.binding import binding, next_best
from perfmodel.decide.planning.caveats import extrapolated, harder_batches, of_options
from perfmodel.decide.planning.each_kind import on_other_machines, prices_to_ask
from perfmodel.decide.planning.goal import USUAL_FAILURE_INTERVAL, Goal
from perfmodel.decide.planning.plan_card import NAMED_RISK, advice, compared
from perfmodel.decide.planning.price_words import (
    offered,
    offered_at,
    paid_words,
    price_notes,
    prices_compared,
)
from perfmodel.decide.planning.results import SearchResult
from perfmodel.decide.planning.within import payment, wanted
from perfmodel.decide.price_kinds import BASIS
from perfmodel.decide.prices import DEFAULT_SERVICE_YEARS
from perfmodel.equations.transformer import compute_optimal_tokens
from perfmodel.hardware.software import DEFAULT_SOFTWARE
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.prediction.card import rough_words
from perfmodel.model.prediction.limits import replicas_alone
from perfmodel.model.prediction.memory_odds import CERTAIN
from perfmodel.model.prediction.training.target import tokens_note
from perfmodel.model.setting.sharing import predicts_tokens
from perfmodel.workloads.recipes.token_recipes import largest_batch_run
from perfmodel.workloads.workload import Workload

Row = dict[str, Any]

NAMED = 4
"""Machines without a price that a sentence names."""
HARDLY_DEARER, MUCH_SOONER = 0.05, 0.8
"""Share by which a plan may cost more, and of the time that it may take, to be named beside the cheapest."""
NOT_WORTH_A_RISK = 0.02
"""Share of the cost, or of the time, below which a riskier plan that is better by it is not mentioned."""


def verdict(result: SearchResult) -> list[str]:
    """Return the advice of the answer card, then sentences on what else to consider."""
    plan, goal = result.in_question, result.goal
    first = advice(result)
    if plan is None:
        no_price = not any(machine.price for machine in result.machines)
        return [first, *([] if no_price else _were_prices_known(result))]
    lines = [first]
    if result.fit is not None and not plan["within_published"]:
        batch = f"{plan['global_batch_size']:,}"
        lines.append(
            f"Its global batch, {batch}, is {result.fit.outside}: no published run reached the target so."
        )
    if result.fit is not None:
        lines.append(f"The run ends at the published target: {result.fit.target}.")
    recipe = goal.chosen_recipe() if result.fit is not None else None
    if recipe is not None and recipe.starts:
        lines.append(f"Its run starts {recipe.starts}.")
    lines += harder_batches(result)
    lines += prices_compared(result)
    asked = prices_to_ask(result)
    lines += [asked] if asked and asked not in first else []
    lines += filter(None, [on_other_machines(result)])
    lines += binding(result)
    lines += _otherwise(result)
    lines += _riskier(result, plan)
    lines += _sooner(result)
    lines += _surer(result)
    fastest = result.fastest
    if result.by_cost and goal.budget is not None and fastest is not None and fastest != plan:
        lines.append(
            f"Fastest within {dollars(goal.budget)} as predicted{_risk_words(fastest)}: "
            f"{offered(fastest)}: {_words(fastest)}."
        )
    lines += next_best(result)
    return lines + (_were_prices_known(result) if not result.met else []) + _without_price(result)


def _without_price(result: SearchResult) -> list[str]:
    """Return a sentence on the machines that were left out because nobody has said their price."""
    names = list(dict.fromkeys(map(_unpriced, result.unpriced)))
    if not names:
        return []
    more = f" and {len(names) - NAMED} more" if names[NAMED:] else ""
    kinds = result.goal.pricing or ("on-demand",)
    option = "--purchase-price" if kinds == ("owned",) else "--price"
    words = " or ".join("to buy them" if kind == "owned" else BASIS[kind] for kind in kinds)
    return [f"Left out, no price {words} being known ({option}): {', '.join(names[:NAMED])}{more}."]


def _were_prices_known(result: SearchResult) -> list[str]:
    """Return a sentence on machines without a price that meet the deadline, if any do."""
    able = dict.fromkeys(_unpriced(row) for row in result.unpriced if row["best"]["meets_deadline"])
    return [f"In time, were their price known: {', '.join(able)}."] if able else []


def _unpriced(row: Row) -> str:
    """Return a machine without a price by its accelerators and who rents it out."""
    return offered({"machines": row["machine"], "provider": row["best"]["provider"]})


def _risk_words(plan: Row, but: Collection[str] = ()) -> str:
    """Return how likely a plan misses its limits, and which, behind a comma; empty where that is unknown.

    Parameters
    ----------
    but : limits that are other ones for the plan
    """
    risks = {limit: plan[f"{limit}_risk"] for limit in ("deadline", "budget") if limit not in but}
    risks = {limit: risk for limit, risk in risks.items() if risk is not None}
    if not risks:
        return ""
    fits = plan["memory"]["fits_probability"]
    if fits < CERTAIN:
        risks["memory"] = 1 - fits
    most = max(risks.values())
    named = [name for name, risk in risks.items() if risk >= NAMED_RISK * most]
    missed = " or the ".join(name for name in named if name != "memory")
    words = [f"to miss the {missed}"] * bool(missed) + ["not to fit"] * ("memory" in named)
    within = 1 - max(risk for limit, risk in risks.items() if limit != "memory")
    return f", {percent(1 - within * fits)} likely {' or '.join(words)}"


def _riskier(result: SearchResult, plan: Row) -> list[str]:
    """Return a sentence on the best plan as predicted, if its risk is larger than asked for."""
    other = result.cheapest if result.by_cost else result.fastest
    if other is None or other["probability"] is None or other == plan:
        return []
    if other["probability"] >= result.goal.confidence or False in (
        other["meets_deadline"],
        other["within_budget"],
    ):
        return []
    by_cost = result.by_cost
    better = "Cheaper" if by_cost else "Faster"
    if wanted(other, by_cost) > (1 - NOT_WORTH_A_RISK) * wanted(plan, by_cost):
        return []
    return [f"{better}{_risk_words(other)}: {offered(other)}: {_words(other)}."]


def _sooner(result: SearchResult) -> list[str]:
    """Return a sentence on the fastest plan that costs hardly more than that chosen, if much faster."""
    plan = result.chosen
    if plan is None or not result.by_cost:
        return []
    for row in result.front:
        more = payment(row) / payment(plan) - 1
        if row["run_time"] > MUCH_SOONER * plan["run_time"]:
            return []
        if 0 < more <= HARDLY_DEARER and (row["probability"] or 0.0) >= (plan["probability"] or 0.0):
            sure = "" if row["probability"] is None else f", {percent(row['probability'])} sure"
            sooner = duration(plan["run_time"] - row["run_time"])
            return [f"{offered_at(row)}: {100 * more:.2g} % dearer, {sooner} sooner{sure}."]
    return []


def _surer(result: SearchResult) -> list[str]:
    """Return a sentence for each surer setting, on what it takes; none without limits or a chosen plan."""
    if not result.met or not result.goal.limits.words:
        return []
    lines: list[str] = []
    seen = result.chosen
    for confidence, plan in result.by_confidence.items():
        if confidence <= result.goal.confidence or plan == seen:
            continue
        if plan is None:
            return [*lines, f"None of the plans tried is sure to {percent(confidence)}."]
        rough = rough_words(result.predicted(plan), confidence)
        lines.append(
            f"To be sure to {percent(confidence)}, of those tried: {compared(plan, result)}: "
            f"{_words(plan)}{rough}."
        )
        seen = plan
    return lines


def _otherwise(result: SearchResult) -> list[str]:
    """Return a sentence for each other value of a default with which a plan meets the limits.

    Other lengths, limits and more GPUs are in the advice.
    """
    helping = [one for one in alternatives(result) if one.option not in (*SHOWN, "tokens", "max-gpus")]
    lines = [
        f"With {one.words}: {offered(one.plan)}: {_words(one.plan)}{_risk_words(one.plan, one.along_with)}."
        for one in helping
    ]
    if any("batch" in one.option for one in helping):
        lines.append("A larger batch may need more samples to the same quality.")
    if any(one.option == "precision" for one in helping):
        lines.append("Numbers of fewer bits may train less well.")
    return lines


def _words(row: Row) -> str:
    """Return run time of a plan and what must be paid for it, in words."""
    return f"{duration(row['run_time'])}, {paid_words(row)}"


def that_matter(result: SearchResult) -> list[str]:
    """Return the notes that a first look needs: what names were taken for, risks, the batch, prices."""
    goal, chosen = result.goal, result.in_question
    batch = _of_layout(goal, chosen) if chosen is not None and chosen["layout"] else []
    return [*goal.meant, *extrapolated(result), *of_options(result), *batch, *price_notes(result)]


def notes(result: SearchResult) -> list[str]:
    """Return sentences with assumptions and caveats of a search, and options that change them."""
    goal, chosen = result.goal, result.in_question
    lines = [
        *goal.meant,
        "the time to get the machines, to start and to evaluate is not in it",
        *extrapolated(result),
        *of_options(result),
    ]
    network = goal.network()
    lines += network.notes
    shares_out = predicts_tokens(network)
    if not shares_out and (alone := replicas_alone(network)) is not None:
        lines.append(alone)
    if goal.tokens is not None and network.architecture is not None and goal.options.get("lora") is None:
        lines.append(_compute_optimal(goal.tokens, network))
    if chosen is not None and chosen["layout"]:
        lines += _of_layout(goal, chosen)
    if goal.options.get("input", "synthetic") == "synthetic":
        lines.append("samples are ready when they are needed: --input real counts reading and decoding")
    if goal.recipe is not None and (recipe := goal.chosen_recipe()) is not None:
        lines.append(f"{recipe.words(_software(result))} (--recipe)")
    if result.fit is not None:
        if result.fit.critical_batch_size is not None:
            lines.append(
                f"epochs grow with the batch as in {result.fit.runs} published runs to {result.fit.target}"
            )
        tokens = tokens_note(goal.workload, goal.options.get("sequence_length"))
        lines += [tokens] if tokens else []
    elif goal.published() is None and goal.max_global_batch_size is None and not shares_out:
        lines.append(
            f"nobody has published how {goal.workload} trains with large batches: offered are those that "
            f"some network was trained with; --max-global-batch-size sets the limit"
        )
    if chosen is not None and chosen["energy"] is not None:
        lines.append(
            f"accelerators draw their rated power at work, {per_cent(COMMUNICATING, 0)} of it communicating, "
            f"{per_cent(IDLE, 0)} waiting; hosts and cooling draw nothing without --host-power and --pue"
        )
    if chosen is not None and chosen["servers"]:
        lines.append(
            f"a parameter server is a {chosen['server_node']}, paid for as one, whose accelerators wait"
            " (--server-node)"
        )
    lines += _of_ones_own(result)
    lines += price_notes(result)
    lines += _of_failures(goal.conditions)
    if goal.conditions.node_failure_interval is None and not (chosen and chosen["interruptions"]):
        lines.append("nothing fails: --node-mtbf and --checkpoint-time count failures")
    return lines


def _software(result: SearchResult) -> str:
    """Return the software of the plan in question, else that of the goal, else the default."""
    chosen, named = result.in_question, result.goal.options.get("framework")
    return str((chosen and chosen["framework"]) or named or DEFAULT_SOFTWARE)


def _compute_optimal(tokens: float, network: Workload) -> str:
    """Return a sentence that compares the tokens of a run with the compute-optimal number."""
    assert network.architecture is not None
    optimal = float(compute_optimal_tokens(network.architecture.active_parameters))
    return (
        f"{many(tokens)} tokens are {tokens / optimal:.2g} x the {many(optimal)} at which {network.id} "
        "trained from nothing is compute-optimal, "
        f"20 for each {'active ' if network.architecture.experts else ''}parameter (Hoffmann et al. 2022)"
    )


def _of_layout(goal: Goal, chosen: Row) -> list[str]:
    """Return a sentence on the default batch of a model-parallel transformer; none where it is given."""
    if goal.global_batch_size is not None:
        return []
    network = goal.network()
    tokens, model = chosen["global_batch_size"] * chosen["sequence_length"], network.architecture
    run = largest_batch_run(goal.tokens_of(network), bool(model and model.experts))
    why = ""
    if run is not None and goal.max_global_batch_size is None and goal.published() is None:
        batch = many(run.batch_tokens or 0.0)
        why = f"; the most published of a run on no more tokens in all is {batch}, of {run.workload}"
    return [f"a step has {many(tokens)} tokens{why} (--global-batch-size, --max-global-batch-size)"]


def _of_failures(conditions: Conditions) -> list[str]:
    """Return sentences on default failure rates and storage, those of Llama 3."""
    lines = []
    if conditions.node_failure_interval == USUAL_FAILURE_INTERVAL:
        hours = USUAL_FAILURE_INTERVAL / 3600
        lines.append(
            f"a machine fails every {hours:,.0f} h, as those of Llama 3 did: 419 unexpected interruptions of "
            "2,048 machines in 54 days (--node-mtbf)"
        )
    if conditions.checkpoint_bandwidth == USUAL_CHECKPOINT_BANDWIDTH:
        lines.append(
            "fp32 weights and moments are written at 1 GB/s by each machine, as Llama 3's storage sustained "
            "(--checkpoint-bandwidth, --checkpoint-time)"
        )
    if lines and conditions.restart_time is None:
        lines.append("a restart takes no time (--restart-time)")
    return lines


def _of_ones_own(result: SearchResult) -> list[str]:
    """Return sentences with assumptions on purchased machines; none where none is purchased."""
    if not any(machine.price and machine.price.kind == "owned" for machine in result.machines):
        return []
    conditions, lines = result.goal.conditions, []
    if conditions.service_years is None:
        years = f"{DEFAULT_SERVICE_YEARS:g}"
        lines.append(f"a machine that is bought is written off in {years} years (--service-years)")
    if conditions.used_fraction is None:
        lines.append("it is always at work (--used-fraction)")
    if conditions.electricity_price is None:
        lines.append("its electricity is not in the cost: --electricity-price")
    return lines
