"""The answer card of a scaling table: up to how many accelerators it scales, how fast, how sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from perfmodel.core.units import counted, per_cent, percent, three_digits
from perfmodel.model.prediction import card as prediction_card
from perfmodel.model.prediction.alone import efficiency_range
from perfmodel.model.prediction.answer_card import Card
from perfmodel.model.prediction.card import is_too_wide, samples_per_second, throughput_range
from perfmodel.model.prediction.intervals.ratio import ratio_between
from perfmodel.model.prediction.result import Prediction
from perfmodel.model.prediction.speed_words import about_as_fast

PAYS = 0.5
"""Least throughput that a further accelerator adds, as a share of that of one alone, at which it pays."""
FASTEST = {
    "one accelerator": "the fast end of what each accelerator does alone",
    "peaks and links": "the most that peaks and links allow",
}
"""Reason for which an interval is cut -> what the throughput at its upper end is."""
NOTHING = 0.005
"""Such a share that counts as nothing."""


def card_of_scaling(
    predictions: Sequence[Prediction],
    others: Mapping[str, Sequence[Prediction]] = {},
    alone: Prediction | None = None,
) -> Card:
    """Return the answer card of the same job on different numbers of accelerators.

    Parameters
    ----------
    predictions : of the job, in rising numbers of accelerators
    others : name -> predictions of other jobs on the same numbers
    alone : prediction of the job on one accelerator or replica; None where that is impossible

    Examples
    --------
    >>> from perfmodel import predict
    >>> one, *several = (predict(gpus=gpus) for gpus in (1, 8, 16))
    >>> card_of_scaling(several, alone=one).advice.partition(":")[0]
    'It scales to 16 GPUs, the most tried, at 96 % of linear scaling (80 %'
    """
    first, most = predictions[0], up_to(predictions)
    of_most = prediction_card.card_of(most)
    chance = f"{gpus(most)}: {ratio_between(most, first, gpus(first)).sentence}" if most is not first else ""
    return Card.model_construct(
        advice=_advice(predictions, most, others, alone),
        machines=of_most.machines,
        time=of_most.time,
        throughput=_throughput(most, others) if most.memory.fits else "",
        chance=chance,
        memory=of_most.memory,
        limit=of_most.limit,
        rests_on=of_most.rests_on,
    )


def gpus(prediction: Prediction) -> str:
    """Return the number of accelerators of a prediction, as text."""
    return counted(prediction.scenario["world_size"], "GPU")


def added_share(before: Prediction, after: Prediction) -> float:
    """Return the throughput that each further accelerator adds, as a share of that of one alone.

    Of two, the second adds 1.93 - 1 of one alone.

    >>> from perfmodel import predict
    >>> round(added_share(*(predict(gpus=gpus) for gpus in (1, 2))), 2)
    0.93
    """
    more = after.scenario["world_size"] - before.scenario["world_size"]
    alone = after.samples_per_second / (after.scaling_efficiency * after.scenario["world_size"])
    return float((after.samples_per_second - before.samples_per_second) / (more * alone))


def up_to(predictions: Sequence[Prediction]) -> Prediction:
    """Return the prediction on the most accelerators that pay; the last one where none fits.

    More pay where each adds at least ``PAYS`` over the most that paid before: the step from one machine to
    two costs once.
    """
    fitting = [each for each in predictions if each.memory.fits]
    most = fitting[0] if fitting else predictions[-1]
    for each in fitting[1:]:
        if added_share(most, each) >= PAYS:
            most = each
    return most


def _advice(
    predictions: Sequence[Prediction],
    most: Prediction,
    others: Mapping[str, Sequence[Prediction]],
    alone: Prediction | None,
) -> str:
    """Return up to how many accelerators it pays, and the throughput there of this job or each other one."""
    if not most.memory.fits:
        return f"On {gpus(most)} it {most.memory.verdict}."
    beyond = predictions[[each is most for each in predictions].index(True) + 1 :]
    is_last = not beyond and len(predictions) > 1
    reach = f"It scales {'to' if is_last else 'up to'} {gpus(most)}"
    start = f"On {gpus(most)}" if len(predictions) == 1 else reach
    start += f"{', the most tried' if is_last else ''}, at {efficiency_words(most, alone)}"
    further = [_further(most, beyond[0])] if beyond else []
    faster, rest = _by_certainty(others, most)
    if faster or rest:
        none = f"no other {_differing(others, most)} is surely faster"
        lines = [f"{start}; {f'{next(iter(faster))} is faster' if faster else none}.", *faster.values()]
        lines += [*further, *rest.values()]
    else:
        lines = [f"{start}: {speed_words(most)}.", *further]
    if is_too_wide(most):
        lines.append("This is too wide to plan with: measure first.")
    return " ".join(lines)


def efficiency_words(prediction: Prediction, alone: Prediction | None) -> str:
    """Return the scaling efficiency as text, with its 80 % interval unless it is certain or unknown."""
    words = f"{per_cent(prediction.scaling_efficiency, 0)} of linear scaling"
    ends = efficiency_range(prediction, alone)
    if ends is None or ends[0] == ends[1]:
        return words
    return f"{words} (80 %: {' to '.join(per_cent(end, 0) for end in ends)})"


def _differing(others: Mapping[str, Sequence[Prediction]], own: Prediction) -> str:
    """Return what the other jobs are another of: network, strategy, or job where they differ in more."""
    chosen = own.scenario
    each = [rows[-1].scenario for rows in others.values()]
    if all(one["strategy"] == chosen["strategy"] for one in each):
        return "network"
    return "strategy" if all(one["inter_link"] == chosen["inter_link"] for one in each) else "job"


def _throughput(own: Prediction, others: Mapping[str, Sequence[Prediction]]) -> str:
    """Return the throughput, and at which one the intervals of all jobs end, and why, if it is the same."""
    said = speed_words(own)
    at_same = [
        each
        for rows in others.values()
        for each in rows
        if each.scenario["world_size"] == own.scenario["world_size"] and each.memory.fits
    ]
    cut, rates = own.interval, throughput_range(own)
    if cut is None or rates is None or not cut.is_cut:
        return said
    end = three_digits(rates[1])
    if any(three_digits((throughput_range(each) or rates)[1]) != end for each in at_same):
        return said
    ends = "the intervals end" if others else "the interval ends"
    return f"{said}; {ends} at {end}, {FASTEST[cut.clipped_by or 'peaks and links']}"


def _by_certainty(
    others: Mapping[str, Sequence[Prediction]], own: Prediction
) -> tuple[dict[str, str], dict[str, str]]:
    """Return a sentence on each other job on as many accelerators as the own one, by its name.

    Those surely faster, the fastest first, and the rest.
    """
    faster: dict[str, str] = {}
    rest: dict[str, str] = {}
    at_same = [
        (name, each, rows)
        for name, rows in others.items()
        for each in rows
        if each.scenario["world_size"] == own.scenario["world_size"]
    ]
    for name, each, rows in sorted(at_same, key=lambda one: -one[1].samples_per_second):
        if not each.memory.fits:
            rest[name] = f"{name}: {each.memory.verdict}."
            continue
        ratio, most = ratio_between(each, own, "the chosen"), up_to(rows)
        ends = "" if most is each else f"; it scales up to {gpus(most)}"
        is_faster = ratio.low_80 is not None and ratio.low_80 > 1
        (faster if is_faster else rest)[name] = f"{name}: {speed_words(each)}, {about_as_fast(ratio)}{ends}."
    return faster, rest


def _further(most: Prediction, after: Prediction) -> str:
    """Return what accelerators beyond the most that pay would add, in a sentence."""
    if not after.memory.fits:
        return f"On {gpus(after)} it {after.memory.verdict}."
    share = added_share(most, after)
    adds = "nothing" if share < NOTHING else f"{percent(share)} of what one alone does, less than half"
    return f"From there to {gpus(after)} each further one adds {adds}."


def speed_words(prediction: Prediction) -> str:
    """Return a throughput with its 80 % interval, as text."""
    speed, rates = samples_per_second(prediction, prediction.samples_per_second), throughput_range(prediction)
    return speed if rates is None else f"{speed} (80 %: {' to '.join(map(three_digits, rates))})"
