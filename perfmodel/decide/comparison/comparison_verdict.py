"""The verdict of a comparison in one line, and notes on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfmodel.core.errors import InputError
from perfmodel.core.units import show
from perfmodel.decide.comparison.case import Case
from perfmodel.decide.comparison.software import software_notes
from perfmodel.decide.prices import Price, price_words
from perfmodel.model.prediction.intervals.ratio import ratio_between
from perfmodel.model.prediction.result import Ratio
from perfmodel.workloads import workload
from perfmodel.workloads.catalogue import LENGTHS
from perfmodel.workloads.recipes.epochs_to_target import outside_published

SAME = 5e-4
"""Relative difference below which two predictions are called equal."""


def verdict(cases: Sequence[Case]) -> str:
    """Return one line: which case is faster, by how much, at what cost, and which do not fit their memory."""
    lacking: dict[str, list[str]] = {}
    for case in cases:
        if not case.prediction.memory.fits:
            lacking.setdefault(case.prediction.memory.verdict.upper(), []).append(case.name)
    return "; ".join(
        [_order(cases), *(f"{word} its memory: {', '.join(of)}" for word, of in lacking.items())]
    )


def _order(cases: Sequence[Case]) -> str:
    """Return which case is fastest and which is cheapest; only iteration times where the work differs."""
    first, *others = cases
    if not _same_work(cases):
        report = ", ".join(f"{case.name} {show(case.prediction.iteration_time, 's')}" for case in cases)
        return f"different work, so only the iterations can be compared: {report}"
    if len(others) == 1:
        return _against(first, others[0]) + _money(first, others[0])
    fastest = max(cases, key=lambda case: case.rate)
    speeds = ", ".join(f"{case.name} {case.rate / fastest.rate:.1%}" for case in cases if case is not fastest)
    line = f"fastest: {fastest.name}; of its speed the others reach: {speeds}"
    priced = [(cost, case.name) for case in cases if (cost := case.cost) is not None]
    return f"{line}; cheapest per sample: {min(priced)[1]}" if len(priced) > 1 else line


def _against(first: Case, other: Case) -> str:
    """Return how many times as fast a case is as the first, with both rates, in words."""
    ratio = other.rate / first.rate
    unit = f"{first.prediction.sample}s/s"
    rates = f"{other.rate:,.4g} against {first.rate:,.4g} {unit}"
    if max(first.rate, other.rate) >= 1e4:
        rates = f"{other.rate:,.0f} against {first.rate:,.0f} {unit}"
    speed = ratio_between(other.prediction, first.prediction, first.name, other.catalogue)
    if abs(ratio - 1) < SAME:
        return f"{other.name} is as fast as {first.name}: {rates}{_suffices(first, other, speed)}"
    faster = f"{ratio:.3g} times as fast as" if ratio > 1 else f"slower, at {ratio:.3g} of the speed of"
    return f"{other.name} is {faster} {first.name} ({speed.words}): {rates}{_suffices(first, other, speed)}"


def _ratios(cases: Sequence[Case]) -> list[str]:
    """Return a sentence per case: how many times as fast it is as the first."""
    known = ((case.name, ratio_to_first(case, cases)) for case in cases)
    return [f"{name} is {ratio.sentence}" for name, ratio in known if ratio]


def ratio_to_first(case: Case, cases: Sequence[Case]) -> Ratio | None:
    """Return a case's speed over the first one's; None for the first itself, and where the work differs."""
    first = cases[0]
    if case is first or not _same_work(cases):
        return None
    return ratio_between(case.prediction, first.prediction, first.name, case.catalogue)


ROUNDING = 1e-9
"""Relative difference of speeds that are the same."""
ENOUGH = 1.05
"""Speed ratio of two networks below which the slower one suffices, where the interval includes 1."""


def _suffices(first: Case, other: Case, ratio: Ratio) -> str:
    """Return a clause that the slower network suffices, where the faster one may bring nothing.

    Where something other than the links limits both networks, the clause names that.  Empty where
    neither holds.
    """
    if ratio.low_80 is None or ratio.high_80 is None:
        return ""
    one, two = (case.prediction.scenario for case in (first, other))
    differing = {name for name, value in one.items() if two.get(name) != value}
    limit = first.prediction.network_limit
    if differing & set(NETWORK) and limit is not None and limit == other.prediction.network_limit:
        return f"; in both binds {limit}"
    slower = one if ratio.value > 1 else two
    is_open = ratio.low_80 <= 1 <= ratio.high_80
    if differing == {"inter_link"} and is_open and max(ratio.value, 1 / ratio.value) < ENOUGH:
        either = abs(ratio.value - 1) < ROUNDING
        return "; either network suffices" if either else f"; {slower['inter_link']} suffices"
    return ""


def _money(first: Case, other: Case) -> str:
    """Return a clause with the ratio of costs per sample; empty where a cost is unknown."""
    base, cost = first.cost, other.cost
    if base is None or cost is None:
        return ""
    if abs(cost / base - 1) < SAME:
        return ", at the same cost per sample"
    return f", at {cost / base:.3g} times the cost per sample"


def _same_work(cases: Sequence[Case]) -> bool:
    """Return whether all cases train the same network on samples of the same length."""
    works = [
        (scenario["workload"], *map(scenario.get, LENGTHS))
        for scenario in (case.prediction.scenario for case in cases)
    ]
    return all(work == works[0] for work in works)


def notes(cases: Sequence[Case]) -> list[str]:
    """Return notes on a comparison: differing batches and models, network limits, software, prices."""
    lines = []
    batches = {case.prediction.scenario["global_batch_size"] for case in cases}
    if len(batches) > 1:
        sizes = " and ".join(f"{case.prediction.scenario['global_batch_size']:,}" for case in cases)
        lines.append(f"an iteration takes {sizes} samples: a larger batch may need more epochs")
    lines += [f"{case.name}: {_trained(case.reached)}" for case in cases if case.reached is not None]
    if len({case.prediction.scaling for case in cases}) > 1:
        lines.append("speed-up and efficiency are of weak scaling in some and of strong scaling in others")
    lines += _models(cases)
    lines += dict.fromkeys(note for case in cases for note in _of_network(case))
    lines += _limits(cases)
    lines += software_notes(cases)
    unpriced = [case.name for case in cases if case.cost is None]
    if unpriced:
        whose = "any of them" if len(unpriced) == len(cases) else ", ".join(unpriced)
        lines.append(f"no price is known for {whose}: give --price, USD per hour of one node")
    lines += [f"{case.name}: {price}" for case in cases if (price := _price(case))]
    assumed = dict.fromkeys(line for case in cases if case.economics for line in case.economics["assumed"])
    if len(cases) > 2:
        lines = [*_ratios(cases), *lines]
    return lines + ([f"assumed: {'; '.join(assumed)}"] if assumed else [])


def _trained(reached: Mapping[str, Any]) -> str:
    """Return the recipe of a case in words, and whether its batch is outside the published ones."""
    beyond = "" if reached["within_range"] else f", at a batch {outside_published(*reached['batch_sizes'])}"
    return f"{reached['recipe_words']}{beyond}"


def _of_network(case: Case) -> list[str]:
    """Return notes on what the prediction of a case's network leaves out; none if its file is gone."""
    scenario = case.prediction.scenario
    try:
        lengths = (scenario.get("sequence_length"), scenario.get("image_tokens"))
        return workload(scenario["workload"], *lengths).notes
    except InputError:
        return []


NETWORK = ("inter_link", "transport", "nics", "connections", "network_cap")
"""Options that have no effect where the network has another limit."""


def _limits(cases: Sequence[Case]) -> list[str]:
    """Return a note per case whose network is limited by something other than its links.

    None where no network option differs, or where the verdict of two cases names the common limit.
    """
    limits = {case.name: case.prediction.network_limit for case in cases}
    known = {limit for limit in limits.values() if limit is not None}
    if not known or (len(cases) == 2 and len(set(limits.values())) == 1):
        return []
    scenarios = [case.prediction.scenario for case in cases]
    if all(one.get(name) == scenarios[0].get(name) for one in scenarios for name in NETWORK):
        return []
    return [f"{name}: the network's limit is {limit}" for name, limit in limits.items() if limit is not None]


def _models(cases: Sequence[Case]) -> list[str]:
    """Return a note with the model that predicted each case, where they differ."""
    models = {case.name: case.prediction.model for case in cases}
    if len(set(models.values())) < 2:
        return []
    answered = ", ".join(f"{name} by the {model} model" for name, model in models.items() if model)
    return [f"predicted {answered}: part of the difference is between the models"]


def _price(case: Case) -> str | None:
    """Return a case's price with its source, in words; None where no price is known."""
    price = case.economics and case.economics["price"]
    if not price:
        return None
    return price_words(Price(**price))
