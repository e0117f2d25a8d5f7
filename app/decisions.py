"""The sentences at the top of pages: what to do, with which confidence, and what limits it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from perfmodel.core.units import three_digits
from perfmodel.decide.comparison import Comparison
from perfmodel.model.prediction import Prediction
from perfmodel.model.prediction.result import Ratio, sureness

SURE = 0.9
"""Least probability that a case is faster at which a page recommends it."""
SAME = 0.01
"""Relative difference in speed below which two cases count as equally fast."""
EQUAL = 5e-4
"""Relative difference that is not visible in three digits."""


def without_effect(prediction: Prediction, picked: Mapping[str, Any]) -> list[str]:
    """Return a warning if a network was chosen for a job on one machine without parameter servers."""
    job = prediction.scenario
    if "inter-link" not in picked or job["nodes"] > 1 or job["servers"]:
        return []
    return [f"--inter-link {picked['inter-link']} has no effect: all GPUs are in one machine"]


def taken(result: Comparison, unfit: Sequence[str] = ()) -> str | None:
    """Return the name of the case that ``of_comparison`` recommends; None if it recommends none."""
    fitting = [name for name in result.names if name not in unfit]
    if unfit and len(fitting) == 1:
        return fitting[0]
    ratios = {case.name: case.ratio.value for case in result.cases if case.ratio and case.name not in unfit}
    if not ratios or result.names[0] in unfit:
        return None
    fastest = max(ratios, key=lambda name: ratios[name])
    return fastest if ratios[fastest] >= 1 + SAME else result.names[0]


def of_comparison(result: Comparison, unfit: Sequence[str] = ()) -> str:
    """Return the advice about a comparison: take the first, or the fastest if that is probable enough.

    Parameters
    ----------
    result : the comparison
    unfit : names of cases that do not fit the memory, which are never recommended
    """
    first = result.names[0]
    fitting = [case for case in result.cases if case.name not in unfit]
    others = [(case.name, case.ratio) for case in fitting if case.ratio is not None]
    if unfit and len(fitting) == 1:
        return f"Take {fitting[0].name}: no other fits the memory of its GPUs ({', '.join(unfit)})."
    if not others or first in unfit:
        missing = f"Too large for the memory of the GPUs: {', '.join(unfit)}"
        rest = ", ".join(case.name for case in fitting)
        return (f"{missing}. It fits: {rest}." if rest else f"{missing}.") if unfit else result.verdict
    name, ratio = max(others, key=lambda other: other[1].value)
    faster = f"{_times(ratio)} as {first} ({ratio.words})"
    if abs(ratio.value - 1) < SAME:
        rest = "none of the others is" if len(others) > 1 else f"{name} is not"
        return f"Take {first}: {rest} more than {SAME:.0%} faster. {name} is {faster}."
    may_be_nothing = 1.0 in (ratio.low_80, ratio.high_80)  # surely no worse, and perhaps no better
    costs, sure = _costs(result), ratio.sure is not None and ratio.sure >= SURE and not may_be_nothing
    if sure and ratio.value < 1:
        rest = f"all others are slower, {name} the least" if len(others) > 1 else f"{name} is slower"
        return f"Take {first}: {rest}, {faster}."
    if sure:
        return f"Take {name} for speed: it is {faster}{_at_cost(name, first, costs)}."
    able = [case.name for case in fitting]
    cheapest = min(able, key=lambda case: costs[case]) if set(able) <= set(costs) else ""
    cheaper = f"take the cheaper, which is {cheapest}" if cheapest else "take the cheaper"
    seems = f"{name} seems the fastest, {faster}"
    if ratio.value < 1:
        seems = f"{first} seems the fastest: {name} is {faster}"
    return f"{seems}. That is too little to decide by: {cheaper}, or measure."


def _costs(result: Comparison) -> dict[str, float]:
    """Return the cost of a million samples of each case [USD], where it is known."""
    for row in result.rows:
        if row.quantity == "cost_per_million_samples":
            known = zip(result.names, row.values, strict=True)
            return {name: cost for name, cost in known if cost is not None}
    return {}


def _at_cost(name: str, first: str, costs: Mapping[str, float]) -> str:
    if name not in costs or first not in costs:
        return ""
    return f", at {costs[name] / costs[first]:.3g} times the cost of a sample"


def _times(ratio: Ratio) -> str:
    return "as fast" if abs(ratio.value - 1) < EQUAL else f"{three_digits(ratio.value)} times as fast"


def ratio_words(ratio: Ratio) -> str:
    """Return a speed ratio as text, with its 80 % interval and the probability of its order.

    >>> ratio_words(Ratio(to="A", value=1.42, low_80=1.31, high_80=1.53, sure=0.99))
    '1.42 times as fast (1.31 to 1.53), 99 % sure'
    """
    times = _times(ratio)
    if ratio.low_80 is None or ratio.high_80 is None or ratio.sure is None:
        return times
    ends = f"{three_digits(ratio.low_80)} to {three_digits(ratio.high_80)}"
    return f"{times} ({ends}), {sureness(ratio.sure)}"
