"""The verdict of a comparison in one line, and notes on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

from perfmodel.core.errors import InputError
from perfmodel.core.units import per_cent, show
from perfmodel.decide.comparison.case import Case, cost_words, paid_words
from perfmodel.decide.comparison.comparison_card import further_reasons
from perfmodel.decide.comparison.network_advice import whether_it_pays
from perfmodel.decide.comparison.reasons import NETWORK
from perfmodel.decide.comparison.software import software_notes
from perfmodel.decide.comparison.standing import Standing
from perfmodel.decide.prices import Price, price_words
from perfmodel.model.prediction.intervals.bound import clipped_words
from perfmodel.workloads import workload
from perfmodel.workloads.recipes.epochs_to_target import outside_published

NO_PRICE = "no price"
"""How the lines of ``economics`` on a price of a kind that is not known begin."""
ENDS = "80 % intervals: "
"""Beginning of the note on where they begin or end."""
OWN_EVIDENCE = (
    "those of times rest on runs like each case alone, so that of a faster case may begin or end later: "
    "compare cases by the speed, whose interval leaves out the errors that they share"
)
"""What is said where the intervals of times are in another order than the times."""
SAME = 5e-4
"""Relative difference below which two predictions are called equal."""


def verdict(standing: Standing) -> str:
    """Return one line: which case is faster, by how much, at what cost, and which do not fit their memory."""
    cases = standing.cases
    lacking: dict[str, list[str]] = {}
    for case in cases:
        if not case.prediction.memory.fits:
            lacking.setdefault(case.prediction.memory.verdict.upper(), []).append(case.name)
    return "; ".join(
        [_order(standing), *(f"{word} its memory: {', '.join(of)}" for word, of in lacking.items())]
    )


def _order(standing: Standing) -> str:
    """Return which case is fastest and which is cheapest; only iteration times where the work differs."""
    cases = standing.cases
    first, *others = cases
    if not standing.same_work:
        report = ", ".join(f"{case.name} {show(case.prediction.iteration_time, 's')}" for case in cases)
        return f"different work, so only the iterations can be compared: {report}"
    if len(others) == 1:
        return _against(first, others[0], standing) + cost_words(others[0], first, SAME)
    fastest = max(cases, key=lambda case: case.rate)
    speeds = ", ".join(
        f"{case.name} {per_cent(case.rate / fastest.rate)}" for case in cases if case is not fastest
    )
    line = f"fastest: {fastest.name}; of its speed the others reach: {speeds}"
    priced = [case for case in cases if case.owed is not None]
    if len(priced) < 2:
        return line
    least = min(priced, key=lambda case: case.owed or 0.0).name
    if paid_words(priced) == paid_words(()):
        return f"{line}; cheapest per sample: {least}"
    return f"{line}; the least of {paid_words(priced)}: {least}"


def _against(first: Case, other: Case, standing: Standing) -> str:
    """Return how many times as fast a case is as the first, with both rates, in words."""
    unit = f"{first.prediction.sample}s/s"
    rates = f"{other.rate:,.4g} against {first.rate:,.4g} {unit}"
    if max(first.rate, other.rate) >= 1e4:
        rates = f"{other.rate:,.0f} against {first.rate:,.0f} {unit}"
    speed = standing.speed(other, first)
    return f"{other.name} is {speed.sentence}: {rates}"


def _ratios(standing: Standing) -> list[str]:
    """Return a sentence per case: how many times as fast it is as the first."""
    known = ((case.name, standing.to_first(case)) for case in standing.cases)
    return [f"{name} is {ratio.sentence}" for name, ratio in known if ratio]


def notes(standing: Standing) -> list[str]:
    """Return notes on a comparison: differing batches and models, network limits, software, prices."""
    cases = standing.cases
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
    lines += further_reasons(standing)
    lines += _limits(cases)
    lines += software_notes(cases)
    lines += _ends(standing)
    unpriced = [case.name for case in cases if case.cost is None]
    if unpriced:
        whose = "any of them" if len(unpriced) == len(cases) else ", ".join(unpriced)
        of_kinds = dict.fromkeys(
            line
            for case in cases
            if case.economics and case.cost is None
            for line in case.economics["unknown"]
            if line.startswith(NO_PRICE)
        )
        lines += of_kinds or [f"{NO_PRICE} is known for {whose}: give --price, USD per hour of one node"]
    lines += whether_it_pays(cases)
    lines += [f"{case.name}: {price}" for case in cases if (price := _price(case))]
    assumed = dict.fromkeys(line for case in cases if case.economics for line in case.economics["assumed"])
    if len(cases) > 2:
        lines = [*_ratios(standing), *lines]
    return lines + ([f"assumed: {'; '.join(assumed)}"] if assumed else [])


def _ends(standing: Standing) -> list[str]:
    """Return why intervals of times and speeds begin or end where they do, as at most one note."""
    spreads = [case.prediction.interval for case in standing.cases]
    cut = {clipped_words(each) for each in spreads if each and each.is_cut}
    lines = [f"times begin at {words}" for words in cut] if len(cut) == 1 else []
    if standing.same_work and any(_ends_later(*pair) for pair in permutations(standing.cases, 2)):
        lines.append(OWN_EVIDENCE)
    if any(map(standing.is_ordered, standing.cases)):
        lines.append("speeds do not cross 1 x, as a better network is never slower")
    return [f"{ENDS}{'; '.join(lines)}"] if lines else []


def _ends_later(one: Case, other: Case) -> bool:
    """Return whether a case as fast as another, or faster, has an interval that begins or ends later."""
    jobs, spreads = (one.prediction, other.prediction), (one.prediction.interval, other.prediction.interval)
    sizes = {job.scenario["global_batch_size"] for job in jobs}
    if len(sizes) > 1 or spreads[0] is None or spreads[1] is None:
        return False
    if jobs[0].iteration_time > jobs[1].iteration_time:
        return False
    ends = (spreads[0].low_80 / spreads[1].low_80, spreads[0].high_80 / spreads[1].high_80)
    return max(ends) > 1 + SAME


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


def _limits(cases: Sequence[Case]) -> list[str]:
    """Return a note per limit of networks other than their links, with the cases that it limits.

    None where no network option differs, or with two cases, whose reasons name it.
    """
    scenarios = [case.prediction.scenario for case in cases]
    alike = all(one.get(name) == scenarios[0].get(name) for one in scenarios for name in NETWORK)
    if len(cases) == 2 or alike:
        return []
    limits: dict[str, list[str]] = {}
    for case in cases:
        if case.prediction.network_limit is not None:
            limits.setdefault(case.prediction.network_limit, []).append(case.name)
    return [f"{', '.join(names)}: the network's limit is {limit}" for limit, names in limits.items()]


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
