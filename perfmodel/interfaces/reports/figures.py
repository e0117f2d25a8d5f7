"""Figures of a prediction with labels, shared by text, Markdown and pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from perfmodel.core.sentences import likely_at_most
from perfmodel.core.units import (
    counted,
    dollars,
    duration,
    many,
    per_cent,
    rate,
    show,
    shown_part,
    without_rounding,
)
from perfmodel.decide.chance import run_factors
from perfmodel.decide.commitments import of_commitment
from perfmodel.decide.economics import spans
from perfmodel.decide.price_kinds import kind_words, rate_words
from perfmodel.decide.prices import Price, hour_words
from perfmodel.model.options.risk import PLANNING_CONFIDENCE
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.card import card_of, rests_on, slowest
from perfmodel.model.prediction.intervals.bound import clipped_words
from perfmodel.model.prediction.result import Interval, Prediction
from perfmodel.model.step.memory import listed
from perfmodel.model.step.terms import TERMS, sent
from perfmodel.model.transformers.flops import NOMINAL_WORDS
from perfmodel.model.transformers.layout_words import short
from perfmodel.workloads.recipes.epochs_to_target import outside_published

if TYPE_CHECKING:
    from perfmodel.interfaces.api.ruled_out import RuledOut

Ends = tuple[float, float] | None
"""Ends of the 80 % interval of a step [s]; None where nobody knows it."""
NO_PRICE = "no price is known: give --price"
REMEDIES = 5
"""Changes that make a layout fit, of which the cheapest are listed."""
MEMORY_ROWS = 3
"""Largest uses of memory in a summary; JSON has them all."""


def overflow(prediction: Prediction) -> str | None:
    """Return a message where a job does not fit in memory, or hardly; None where it fits."""
    memory = prediction.memory
    return None if memory.fits else f"{memory.verdict.upper()}: {_held(prediction)}"


def overflows(predictions: Sequence[Prediction]) -> str | None:
    """Return the numbers of accelerators on which a job does not fit, with its memory; None where all fit."""
    lacking = [each for each in predictions if not each.memory.fits]
    if not lacking:
        return None
    first, *more = lacking
    if len(lacking) == len(predictions) and len({each.memory.bytes for each in lacking}) == 1:
        return overflow(first)
    needs = [overflow(first), *(f"{each.memory.bytes / 2**30:.1f}" for each in more)]
    counts = [counted(each.scenario["world_size"], "GPU") for each in lacking]
    return ", ".join(f"{need} at {count}" for need, count in zip(needs, counts, strict=True))


def notes_of(prediction: Prediction) -> list[str]:
    """Return the warnings of a prediction, without that it does not fit: its card says so."""
    unfit = None if prediction.memory.fits else f"{prediction.memory.verdict}: "
    return [line for line in prediction.warnings if unfit is None or not line.startswith(unfit)]


def _held(prediction: Prediction) -> str:
    """Return the memory that a job needs and the capacity, in words."""
    memory = prediction.memory
    whose = "per accelerator"
    if memory.devices:
        _, others = memory.devices
        whose = f"on GPU 0, {others.bytes / 2**30:.1f} on each of the others"
    return f"{memory.bytes / 2**30:.1f} of {memory.capacity / 2**30:.1f} GiB {whose}"


def interval_lines(prediction: Prediction) -> list[tuple[str, str]]:
    """Return intervals of the time, and reasons for their width, with labels."""
    result = prediction.interval
    if result is None:
        return []
    lines = [
        ("80 % interval", f"{show(result.low_80, 's')} to {show(result.high_80, 's')}"),
        ("95 % interval", interval_95(result)),
    ]
    if result.clipped_at is not None:
        lines.append(("cut at", clipped_words(result)))
    return lines + [("" if i else "wider because", why) for i, why in enumerate(result.wider_because)]


def interval_95(interval: Interval) -> str:
    """Return the 95 % interval in words, or why there is none."""
    if interval.low_95 is None or interval.high_95 is None:
        return f"not stated: {interval.no_95}"
    return f"{show(interval.low_95, 's')} to {show(interval.high_95, 's')}"


class Target(NamedTuple):
    """The time to a target in words."""

    counted: str
    """Samples or tokens to the target; empty if the recipe's words have them."""
    outside: str
    """How the batch is outside its publication; empty if it is not."""
    recipe: str
    more: list[str]
    """Steps, phases, note and learning rate."""


def target_words(reached: Mapping[str, Any]) -> Target:
    """Return the parts of the time to a target in words, without the time itself."""
    amount = f"{reached['amount']:,.0f} {reached['unit']}"
    more = [f"{reached['steps']:,} steps"] if reached["tokens"] else []
    for phase in reached["phases"]:
        of = f"{phase['amount']:,.0f} samples of {phase['sequence_length']} tokens"
        more.append(f"{show(phase['time'], 's')} for {of}")
    if reached["note"]:
        more.append(reached["note"])
    if rate := reached["learning_rate"]:
        beyond = "" if rate["within_published"] else "; beyond the batches the rule was shown for"
        more.append(
            f"learning rate {rate['learning_rate']:.4g} by the {rate['rule']} rule, after "
            f"{rate['warm_up_epochs']:g} epochs of warm-up from {rate['warm_up_from']:g}{beyond}"
        )
    outside = "" if reached["within_range"] else outside_published(*reached["batch_sizes"])
    counted = "" if amount in reached["recipe_words"] else amount
    return Target(counted, outside, reached["recipe_words"], more)


def target_lines(reached: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return the time to a target, its recipe and learning rate, with labels."""
    if reached is None:
        return []
    words = target_words(reached)
    first = show(reached["time"], "s")
    first += f" for {words.counted}" if words.counted else ""
    first += f", at a batch {words.outside}" if words.outside else ""
    lines = [first, f"{words.recipe} (--recipe)", *words.more]
    return [("" if i else "time to target", line) for i, line in enumerate(lines)]


def figures(prediction: Prediction) -> list[tuple[str, str]]:
    """Return the figures of a prediction that its card lacks, with labels; few if it does not fit."""
    return [*(_reached(prediction) if prediction.memory.fits else []), *memory_lines(prediction)]


def _reached(prediction: Prediction) -> list[tuple[str, str]]:
    """Return scaling and utilisation with labels."""
    report: list[tuple[str, str]] = [("model", prediction.model)] if prediction.model else []
    report += update_lines(prediction)
    if prediction.scenario["world_size"] > 1:
        against = "1 accelerator" if prediction.layout is None else "1 replica"
        kind, exposed = prediction.scaling, shown_part(sent(prediction.terms), prediction.iteration_time)
        report += [
            ("speed-up", f"{prediction.speedup:.2f}"),
            (
                "scaling efficiency",
                f"{per_cent(prediction.scaling_efficiency)} ({kind} scaling, against {against})",
            ),
            (
                "communication",
                f"{show(prediction.communication_time, 's')}, {exposed} of it not hidden behind computation",
            ),
        ]
    if prediction.epoch_time:
        first = prediction.epoch_start_time
        before = f", {show(first, 's')} more before its first batch" if first else ""
        report.append(("epoch", show(prediction.epoch_time, "s") + before))
    if prediction.startup_time is not None:
        report.append(("start-up", start_up_line(prediction.startup)))
    report += utilisation_lines(prediction)
    if prediction.bubble_fraction:
        report.append(("pipeline", f"stages wait {per_cent(prediction.bubble_fraction)} of the iteration"))
    return report


def memory_lines(prediction: Prediction) -> list[tuple[str, str]]:
    """Return the memory of a job, its interval and largest uses, with labels."""
    memory = prediction.memory
    what = "batch" if prediction.layout is None else "a micro-batch of"
    word = memory.verdict.replace("does not fit", "DOES NOT FIT")
    if memory.largest_sure_batch_size:
        fits = f"{word}, surely up to {what} {memory.largest_sure_batch_size}"
    else:
        fits = (
            f"{word}, up to {what} {memory.largest_local_batch_size} with even odds" if memory.fits else word
        )
    report = [("memory", f"{_held(prediction)}; {fits}")]
    if memory.low_80 is not None and memory.high_80 is not None:
        ends = f"{memory.low_80 / 2**30:.1f} to {memory.high_80 / 2**30:.1f} GiB with 80 % confidence"
        wider = ", ".join(f"--{name}" for name in memory.not_stated)
        report.append(("", f"{ends}; less wide with {wider}" if wider else ends))
    if memory.host_bytes:
        report.append(("", memory.host_words))
    if memory.states_exceed is not None:
        report.append(("", memory.states_exceed))
    if uses := listed(memory.rows):
        report.append(("", ", ".join(f"{label} {size / 2**30:.1f}" for label, size in uses[:MEMORY_ROWS])))
    return report


def utilisation_lines(prediction: Prediction) -> list[tuple[str, str]]:
    """Return utilisation as computed, as publications count it, and with recomputation, with labels."""
    mfu, nominal, hfu = prediction.mfu, prediction.mfu_nominal, prediction.hfu
    lines = [("utilisation (MFU)", f"{per_cent(mfu)} of the {prediction.scenario['precision']} peak")]
    if nominal is not None and nominal != mfu:
        words = "as most publications count" if prediction.tokens_per_second is None else NOMINAL_WORDS
        lines.append(("", f"{per_cent(nominal)} {words} (nominal)"))
    if hfu is not None and hfu > mfu:
        lines.append(("", f"{per_cent(hfu)} with recomputation (HFU)"))
    return lines


def start_up_line(parts: dict[str, float]) -> str:
    """Return the time before the first iteration, with the basis of each part, in words."""
    from perfmodel.model.prediction.training.start_up import BASIS, start_up_interval

    listed = (f"{name} {show(time, 's')} ({BASIS[name]})" for name, time in parts.items() if time)
    low, high = (show(end, "s") for end in start_up_interval(parts))
    return f"{show(sum(parts.values()), 's')} ({low} to {high} with 80 % confidence): {', '.join(listed)}"


def update_lines(prediction: Prediction) -> list[tuple[str, str]]:
    """Return rate of updates and staleness of asynchronous strategies, with labels."""
    if prediction.updates_per_second is None or prediction.update_bounds is None:
        return []
    bounds, gradients = prediction.update_bounds, prediction.gradients_per_update
    each = "1 gradient" if gradients == 1 else f"{gradients} gradients"
    line = f"{rate(prediction.updates_per_second)}/s, of {each} each"
    low, high = rate(bounds.low), rate(bounds.high)
    if bounds.status != "exact" and low != high:
        line += f"; between {low} and {high}"
    fresh = prediction.fresh_fraction
    known = "" if fresh is None else f"; {per_cent(fresh)} of gradients fresh"
    return [("updates", line), ("staleness", f"{prediction.mean_staleness:.2f} updates on average{known}")]


def term_rows(prediction: Prediction) -> list[tuple[str, float]]:
    """Return label and time of every term above rounding [s]."""
    whole = prediction.iteration_time
    return [
        (TERMS[name].label, time) for name, time in prediction.terms.items() if without_rounding(time, whole)
    ]


def cost_rows(money: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return time, cost, energy and carbon of an iteration, an epoch and the run, as rows of a table.

    Parameters
    ----------
    money : result of ``perfmodel.decide.economics.economics``
    """
    return [
        {
            "cost": f"run of {_length(span)}" if name == "run" else name,
            "time": show(span["time"], "s"),
            "USD": amount(span["cost"]),
            "kWh": amount(span["energy"]),
            "kg CO2": amount(span["carbon"], 1e-3),
        }
        for name, span in spans(money).items()
    ]


def _length(span: Mapping[str, Any]) -> str:
    """Return the length of a run in words."""
    if span["epochs"] is not None:
        return f"{span['epochs']:g} epochs"
    if span.get("tokens") is not None:
        return f"{many(span['tokens'])} tokens"
    return f"{many(span['samples'])} samples"


def run_time_words(length: str, run: Mapping[str, Any], time: float, ends: Ends) -> str:
    """Return how long a run takes as text.

    Parameters
    ----------
    length : number of tokens or samples in words
    run : of the result of ``economics``
    time, ends : time of one step, and the ends of its 80 % interval or None [s]
    """
    words = duration(run["time"])
    if ends is not None:
        words += " (80 %: {} to {})".format(*(duration(run["time"] * end / time) for end in ends))
    return f"{words} for {length}"


def run_cost_words(money: Mapping[str, Any], time: float, ends: Ends) -> str:
    """Return what a run costs as text; ``money`` is the result of ``economics``, the others as above."""
    cost = money["run"]["cost"]
    spread = "" if ends is None else " (80 %: {} to {})".format(*(dollars(cost * end / time) for end in ends))
    committed = money.get("commitment")
    price, whole = Price(**money["price"]), of_commitment(committed and committed["cost"])
    return f"{dollars(cost)}{spread}, at {hour_words(price)}{kind_words(price.basis)}{whole}"


def card_with(
    prediction: Prediction, money: Mapping[str, Any] | None, confidence: float = PLANNING_CONFIDENCE
) -> Card:
    """Return the answer card of a prediction, with time and cost of the run by ``economics`` if given."""
    card = prediction.card or card_of(prediction, confidence)
    return card if money is None else card.model_copy(update=run_and_cost(prediction, money, confidence))


def run_and_cost(
    prediction: Prediction, money: Mapping[str, Any], confidence: float = PLANNING_CONFIDENCE
) -> dict[str, str]:
    """Return time and cost of the run, or the cost of an hour where its length is not given, for the card.

    Of another confidence than that of the interval's ends, they say what it takes at most.
    """
    interval, run, time = prediction.interval, money["run"], prediction.iteration_time
    ends = None
    if interval is not None:
        low, high = run_factors(money["reliability"], time, interval.low_80, interval.high_80)
        ends = low * time, high * time
    if (each := money["per_iteration"]["cost"]) is None:
        cost = next((line for line in money["unknown"] if line.startswith("no price")), NO_PRICE)
    elif run is None:
        cost = f"{dollars(each * 3600 / time)} an hour; --epochs or --tokens say how long"
    else:
        cost = run_cost_words(money, time, ends)
    rows = {"cost": cost} | ({"run": run_time_words(_length(run), run, time, ends)} if run else {})
    if run and ends is not None and confidence != PLANNING_CONFIDENCE:
        most = slowest(ends[1] / time, confidence)
        rows["run"] += f"; {likely_at_most([duration(run['time'] * most)], confidence)}"
        if run["cost"] is not None:
            rows["cost"] += f"; {likely_at_most([dollars(run['cost'] * most)], confidence)}"
    rate = rate_words(money["assumed"])
    return rows | ({"rests_on": f"{rests_on(prediction)}; {rate}"} if rate else {})


def ruled_out_lines(layout: RuledOut | None) -> list[str]:
    """Return the fastest of all layouts if memory rules it out, and changes that make it fit."""
    if layout is None:
        return []
    passes = f"{layout.layout['micro_batch_size']} x {layout.layout['accumulation_steps']}"
    name = f"{short(layout.layout)}, {passes}, {show(layout.iteration_time, 's')}"
    first = f"faster, but for {layout.memory / 2**30:.1f} GiB: {name}"
    changes = [
        f"{each.change}: {per_cent(each.slowdown, 0, signed=True)} time, {each.memory / 2**30:.1f} GiB"
        for each in layout.remedies[:REMEDIES]
    ]
    if not changes:
        return [first, "no one or two changes make it fit"]
    return [first, f"it fits with {changes[0]}", *(f"          or {each}" for each in changes[1:])]


def amount(value: float | None, scale: float = 1.0) -> str:
    """Return an amount of money, energy or carbon as text; a dash where it is unknown."""
    if value is None:
        return "-"
    value *= scale
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
