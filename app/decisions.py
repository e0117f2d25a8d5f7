"""The sentences at the top of pages: what to do, with which confidence, and what limits it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app import memory_chart
from app.looks import labelled
from app.memory_chart import GIB
from perfmodel.core.units import show, show_range, three_digits
from perfmodel.decide.comparison import Comparison
from perfmodel.decide.quote import Checked
from perfmodel.decide.quote.claim_words import shown, software_words
from perfmodel.decide.quote.listing import worst_first
from perfmodel.decide.quote.sentence import (
    BETTER,
    asked_of,
    likely_words,
    needed_words,
    needs_reached,
    open_clause,
    reached_words,
)
from perfmodel.interfaces.reports.figures import run_words
from perfmodel.model.prediction import Prediction, card
from perfmodel.model.prediction.result import Ratio, sureness
from perfmodel.model.transformers.layout_words import in_full

SURE = 0.9
"""Least probability that a case is faster at which a page recommends it."""
SAME = 0.01
"""Relative difference in speed below which two cases count as equally fast."""
EQUAL = 5e-4
"""Relative difference that is not visible in three digits."""


def of_prediction(prediction: Prediction, remedy: str = "") -> str:
    """Return the advice about a prediction, and what limits it where it fits.

    Parameters
    ----------
    prediction : of the job
    remedy : text that says how to make a job fit that does not; by default a smaller batch
    """
    words = card.advice(prediction, remedy, where="page “Transformers”")
    if not prediction.memory.fits or prediction.interval is None:
        return words
    limits = "What seems to limit it" if card.is_too_wide(prediction) else "What limits it"
    return f"{words} {limits}: {card.limit_of(prediction)}."


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


def of_quote(claims: Sequence[Checked]) -> str:
    """Return the advice about a quote by its worst claim: what to do, to expect, and what physics allows."""
    index = worst_first(claims)[0]
    worst, count = claims[index], len(claims)

    def words(value: float) -> str:
        return shown(value, worst.quantity, worst.sample, worst.per)

    among = "" if count == 1 else f" (claim {index + 1}, the worst of {count})"
    possible = worst.verdict != "impossible" and worst.probability is not None
    mark = ";" if worst.verdict == "reached" else ","
    run = worst.reached_by
    advice = f"Ask {' and '.join(asked_of(worst))}" if worst.only_with else ADVICE[worst.verdict]
    if worst.verdict == "pessimistic" and not worst.higher_is_better:
        advice = "Expect a lower cost" if "cost" in worst.quantity else "Expect a shorter time"
    how = ""
    if run is not None and needs_reached(worst):
        how = f" with {software_words(run.software_taken)}"
        if worst.verdict in ("optimistic", "reached") and (run.left_open or run.is_other):
            advice = f"Ask which {' and '.join(run.left_open or ['software'])} it holds for"
    likely = f"{mark} {likely_words(worst, how)}" if possible else ""
    what = BETTER if worst.verdict == "reached" else worst.verdict
    what = f"possible {needed_words(worst)}" if worst.only_with else what
    lines = [f"{advice}: {words(worst.value)} is {what}{likely}{among}."]
    if run is not None and needs_reached(worst):
        lines.append(f"{reached_words(worst)}; {open_clause(worst)}.")
    if worst.expected is not None:
        ends = ""
        if worst.low_80 is not None and worst.high_80 is not None:
            ends = f" (80 %: {words(worst.low_80)} to {words(worst.high_80)})"
        lines.append(f"Expect {words(worst.expected)}{ends}.")
    assumed = f" in {worst.precision}" if worst.only_with else ""
    bound = "at most" if worst.higher_is_better else "no less than"
    lines.append(f"What limits it: physics allows {bound} {words(worst.limit)}{assumed}.")
    if not worst.only_with:
        lines += [f"It may be {trick.name}: {trick.ask}." for trick in worst.tricks[:1]]
    return " ".join(lines)


ADVICE = {
    "impossible": "Reject it",
    "oversized": "Ask for less",
    "optimistic": "Ask for the log of a run",
    "reached": "Ask for the log of a run",
    "plausible": "Have it in the contract",
    "possible": "Have it in the contract",
    "pessimistic": "Expect more",
}
"""Verdict of a claim -> advice; that on a conditional one is what to ask."""


def of_layouts(prediction: Prediction) -> str:
    """Return the advice to train by a prediction's layout, with its time, MFU and memory."""
    bar, interval = memory_chart.of_prediction(prediction), prediction.interval
    assert prediction.layout is not None
    ends = ""
    if interval is not None:
        ends = f" ({show_range(interval.low_80, interval.high_80, 's')} with 80 % confidence)"
    mfu = f" at an MFU of {prediction.mfu:.1%}" if prediction.mfu else ""
    return (
        f"Take {in_full(prediction.layout)}: a step takes {show(prediction.iteration_time, 's')}{ends}{mfu}, "
        f"in {bar.needed / GIB:.1f} of {bar.capacity / GIB:.1f} GiB."
    )


def of_runners_up(time: float, others: Sequence[tuple[str, float]], ratio: Ratio | None) -> str:
    """Return text on the next fastest layouts and the probability that the fastest is faster.

    Parameters
    ----------
    time : time of a step of the fastest [s]
    others : names and times [s] of the next, the faster first
    ratio : of the fastest to the next

    >>> of_runners_up(10.0, [("tp4 dp2", 10.1), ("tp2 dp4", 10.24)], None)
    'The next two are within 2.4 %: tp4 dp2; tp2 dp4.'
    """
    if not others:
        return "No other layout fits."
    count = {1: "next is", 2: "next two are", 3: "next three are"}.get(len(others), "next are")
    names = "; ".join(name for name, _ in others)
    slower = others[-1][1] / time - 1
    within = f"{slower * 100:.2g} %" if slower < 0.1 else f"{slower:.0%}"
    sure = ""
    if ratio is not None and ratio.sure is not None:
        sure = f" It is {ratio.value:.3g} times as fast as the next ({ratio.words})"
        if ratio.value < 1 + SAME:
            sure = f" Which of the first two is faster the model does not know ({sureness(ratio.sure)})"
        sure += "." if ratio.sure >= SURE else ": take the simpler, or measure both."
    return f"The {count} within {within}: {names}.{sure}"


def of_run(tokens: str, costs: Mapping[str, Any], prediction: Prediction) -> str:
    """Return text on the time and cost of training on a number of tokens.

    Parameters
    ----------
    tokens : as the user typed it
    costs : as of ``economics``
    prediction : of one step
    """
    interval = prediction.interval
    ends = (interval.low_80, interval.high_80) if interval else None
    return labelled(run_words(f"{tokens} tokens", costs, prediction.iteration_time, ends))
