"""The result of a search in sentences: which machines to hire, whether limits are met, and notes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfmodel.core.units import dollars, duration, many, plural
from perfmodel.decide.economics import COMMUNICATING, IDLE
from perfmodel.decide.planning.alternatives import alternatives
from perfmodel.decide.planning.caveats import extrapolated, harder_batches, of_options
from perfmodel.decide.planning.front import LIKELY, SLACK
from perfmodel.decide.planning.goal import USUAL_CHECKPOINT_BANDWIDTH, USUAL_FAILURE_INTERVAL, Goal
from perfmodel.decide.planning.results import SearchResult
from perfmodel.decide.prices import DEFAULT_SERVICE_YEARS
from perfmodel.equations.transformer import compute_optimal_tokens
from perfmodel.hardware.software import DEFAULT_SOFTWARE
from perfmodel.model.options.conditions import Conditions
from perfmodel.model.prediction.limits import replicas_alone
from perfmodel.model.prediction.memory_odds import CERTAIN
from perfmodel.model.prediction.memory_odds import verdict as fit_words
from perfmodel.model.prediction.training.target import tokens_note
from perfmodel.model.setting.sharing import predicts_tokens
from perfmodel.workloads import workload
from perfmodel.workloads.catalogue import LENGTHS
from perfmodel.workloads.workload import Workload

Row = dict[str, Any]


def verdict(result: SearchResult) -> list[str]:
    """Return sentences: which plan to take first, then how sure it is and what else to consider."""
    chosen, goal = result.chosen, result.goal
    if chosen is None:
        return _none(result)
    limits = []
    if goal.deadline is not None:
        limits.append(f"the deadline of {duration(goal.deadline)}")
    if goal.budget is not None and chosen["within_budget"]:
        limits.append(f"the budget of {dollars(goal.budget)}")
    superlative = "cheapest" if result.by_cost else "fastest"
    within = f", the {superlative} within {' and '.join(limits)}" if limits else f", the {superlative} of all"
    best = result.cheapest if result.by_cost else result.fastest
    if limits and result.likely_row is not None:
        within += f" with a probability of {100 * LIKELY:.0f} % or more"
    elif best is not None and chosen != best:
        near_optimal = (
            f"cost at most {SLACK:.0%} more" if result.by_cost else f"take at most {SLACK:.0%} longer"
        )
        within = f", the most probable within {' and '.join(limits)} of those that {near_optimal} than the "
        within += superlative
    if goal.budget is not None and not chosen["within_budget"]:
        over = dollars(chosen["cost"] - goal.budget)
        lines = [
            f"Nothing meets the deadline of {duration(goal.deadline or 0.0)} within {dollars(goal.budget)}.",
            f"The cheapest in time is over the budget by {over}: {named(chosen)}: {_words(chosen)}.",
            *_otherwise(result),
        ]
    else:
        lines = [f"Take {named(chosen)}: {_words(chosen)}{within}."]
    if (chance := chosen["memory"]["fits_probability"]) < CERTAIN:
        lines.append(f"It {fit_words(chance)}.")
    if result.fit is not None and not chosen["within_published"]:
        batch = f"{chosen['global_batch_size']:,}"
        lines.append(
            f"Its global batch, {batch}, is {result.fit.outside}: no published run reached the target so."
        )
    recipe = goal.chosen_recipe() if result.fit is not None else None
    if recipe is not None and recipe.starts:
        lines.append(f"Its run starts {recipe.starts}.")
    if chosen["run_time_high_80"] is not None:
        lines += [_interval(result, chosen), *_risks(result, chosen)]
    if result.met:
        lines += _otherwise(result)
    lines += _riskier(result, chosen)
    surest = result.surest
    if chosen["sure_of_deadline"] is False and surest is not None:
        lines.append(f"To be that sure of it: {named(surest)}: {_words(surest)}.")
    fastest = result.fastest
    if result.by_cost and goal.budget is not None and fastest is not None and fastest != chosen:
        lines.append(f"Fastest within {dollars(goal.budget)}: {named(fastest)}: {_words(fastest)}.")
    return lines


def _none(result: SearchResult) -> list[str]:
    """Return sentences for a search without a chosen plan: why, and which plan is nearest."""
    goal = result.goal
    if not any(machine.price for machine in result.machines):
        names = ", ".join(machine.name for machine in result.machines[:3])
        return [f"No price is known of {names}: give --price NODE=USD, per hour of one node."]
    limit = f"the deadline of {duration(goal.deadline)}" if goal.deadline is not None else ""
    if not result.by_cost:
        limit = f"the budget of {dollars(goal.budget or 0.0)}"
    lines = [f"No plan of known price meets {limit}." if limit else "No run of known price ever ends."]
    nearest = result.nearest
    if nearest is not None and goal.deadline is not None:
        over = duration(nearest["run_time"] - goal.deadline)
        lines.append(f"The nearest is over it by {over}: {named(nearest)}: {_words(nearest)}.")
    elif nearest is not None and goal.budget is not None:
        over = dollars(nearest["cost"] - goal.budget)
        lines.append(f"The nearest is over it by {over}: {named(nearest)}: {_words(nearest)}.")
    lines += _otherwise(result)
    able = [row["name"] for row in result.unpriced if row["best"]["meets_deadline"]]
    if able:
        lines.append(f"In time, were their price known: {', '.join(able)}.")
    return lines


def _riskier(result: SearchResult, chosen: Row) -> list[str]:
    """Return a sentence on the best plan as predicted, if the chosen plan is likelier within the limit."""
    limit = "deadline" if result.goal.deadline is not None else "budget"
    other = result.cheapest if result.by_cost else result.fastest
    risk = None if other is None else other[f"{limit}_risk"]
    if other is None or risk is None or other == chosen:
        return []
    if risk <= 1 - LIKELY:
        return []
    better = "Cheaper" if result.by_cost else "Faster"
    return [f"{better} at a risk of {share_words(risk)}: {named(other)}: {_words(other)}."]


def _otherwise(result: SearchResult) -> list[str]:
    """Return a sentence for each other value of a default that helps to meet the limits."""
    lines = []
    for one in alternatives(result):
        risk = one.plan["deadline_risk" if result.goal.deadline is not None else "budget_risk"]
        at_risk = f", at a risk of {share_words(risk)}" if one.meets and risk is not None else ""
        lines.append(
            f"{'With' if one.meets else 'Nearer with'} --{one.option} {one.value} (default: {one.default}): "
            f"{named(one.plan)}: {_words(one.plan)}{at_risk}."
        )
    if any("batch" in one.option for one in alternatives(result)):
        lines.append("A larger batch may need more samples to the same quality.")
    return lines


def _interval(result: SearchResult, chosen: Row) -> str:
    """Return a sentence with the 80 % interval of the run time, compared with the deadline."""
    low, high = duration(chosen["run_time_low_80"]), duration(chosen["run_time_high_80"])
    line = f"The run takes {low} to {high} with 80 % confidence"
    if result.goal.deadline is None:
        return f"{line}."
    holds = "holds" if chosen["sure_of_deadline"] else "does not hold"
    return f"{line}: the deadline {holds} at the upper end."


def _risks(result: SearchResult, chosen: Row) -> list[str]:
    """Return a sentence with the 80 % interval of the cost, and the risk of missing each limit."""
    risks = [
        f"{share_words(chosen[f'{limit}_risk'])} to miss the {limit}"
        for limit in ("deadline", "budget")
        if chosen[f"{limit}_risk"] is not None
    ]
    risk = f"The risk is {', and '.join(risks)}." if risks else ""
    if chosen["cost_high_80"] is None:
        return [risk] if risk else []
    low, high = dollars(chosen["cost_low_80"]), dollars(chosen["cost_high_80"])
    return [f"It costs {low} to {high} with 80 % confidence.{' ' if risk else ''}{risk}"]


def share_words(share: float) -> str:
    """Return a probability in per cent, with as many digits as are known.

    >>> share_words(0.123), share_words(0.0123), share_words(0.0001), share_words(0.9999)
    ('12 %', '1.2 %', 'under 1 in 1,000', 'over 99 %')
    """
    if share < 0.001:
        return "under 1 in 1,000"
    return f"{100 * share:.2g} %" if share <= 0.99 else "over 99 %"


def named(row: Mapping[str, Any]) -> str:
    """Return the machines of a plan in words: number, name, provider, accelerators, parameter servers.

    >>> plan = {"name": "p3.16xlarge", "nodes": 4, "world_size": 32, "accelerator": "v100", "servers": 2}
    >>> plan |= {"node": "aws-p3.16xlarge", "server_node": "aws-p3.16xlarge"}
    >>> named(plan | {"provider": "AWS"})
    '4 x p3.16xlarge of AWS (32 x v100) with 2 parameter servers'
    >>> named(plan | {"name": "dgx-1v", "servers": None, "provider": None})
    '4 x dgx-1v (32 x v100)'
    """
    provider = f" of {row['provider']}" if row["provider"] else ""
    servers = row["servers"] or 0
    more = f" with {servers} {plural('parameter server', servers)}" if servers else ""
    if servers and row["server_node"] != row["node"]:
        more += f" on {row['server_node']}"
    return f"{row['nodes']} x {row['name']}{provider} ({row['world_size']} x {row['accelerator']}){more}"


def _words(row: Row) -> str:
    """Return run time and cost of a plan in words."""
    cost = "price unknown" if row["cost"] is None else dollars(row["cost"])
    return f"{duration(row['run_time'])}, {cost}"


def notes(result: SearchResult) -> list[str]:
    """Return sentences with assumptions and caveats of a search, and options that change them."""
    goal, chosen = result.goal, result.chosen
    lines = [
        *goal.meant,
        "the time to get the machines, to start and to evaluate is not in it",
        *extrapolated(result),
        *of_options(result),
    ]
    network = workload(goal.workload, *map(goal.options.get, LENGTHS))
    lines += network.notes
    shares_out = predicts_tokens(network)
    if not shares_out and (alone := replicas_alone(network)) is not None:
        lines.append(alone)
    if goal.tokens is not None and network.architecture is not None:
        lines.append(_compute_optimal(goal.tokens, network))
    if chosen is not None and chosen["layout"]:
        lines += _of_layout(goal, chosen)
    if goal.options.get("input", "synthetic") == "synthetic":
        lines.append("samples are ready when they are needed: --input real counts reading and decoding")
    lines += harder_batches(result)
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
            f"accelerators draw their rated power at work, {COMMUNICATING:.0%} of it communicating, "
            f"{IDLE:.0%} waiting; hosts and cooling draw nothing without --host-power and --pue"
        )
    if chosen is not None and chosen["servers"]:
        lines.append(
            f"a parameter server is a {chosen['server_node']}, paid for as one, whose accelerators wait"
            " (--server-node)"
        )
    lines += _of_ones_own(result)
    lines += _of_failures(goal.conditions)
    if goal.conditions.node_failure_interval is None:
        lines.append("nothing fails: --node-mtbf and --checkpoint-time count failures")
    return lines


def _software(result: SearchResult) -> str:
    """Return the software of the chosen plan, else that of the goal, else the default."""
    chosen, named = result.chosen, result.goal.options.get("framework")
    return str((chosen and chosen["framework"]) or named or DEFAULT_SOFTWARE)


def _compute_optimal(tokens: float, network: Workload) -> str:
    """Return a sentence that compares the tokens of a run with the compute-optimal number."""
    assert network.architecture is not None
    optimal = float(compute_optimal_tokens(network.architecture.active_parameters))
    return (
        f"{network.id} at {many(tokens)} tokens is {tokens / optimal:.2g} x the compute-optimal "
        f"{many(optimal)}, 20 for each {'active ' if network.architecture.experts else ''}parameter "
        "(Hoffmann et al. 2022)"
    )


def _of_layout(goal: Goal, chosen: Row) -> list[str]:
    """Return a sentence on the default batch of a model-parallel transformer; none where it is given."""
    if goal.global_batch_size is not None:
        return []
    tokens = chosen["global_batch_size"] * chosen["sequence_length"]
    return [
        f"a step has {tokens / 1e6:.2f} M tokens, as Llama 2's had 4 M; a smaller or larger one is "
        "--global-batch-size"
    ]


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
    if not any(machine.price and machine.price.basis == "purchase" for machine in result.machines):
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
